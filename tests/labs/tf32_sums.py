"""Sums of products in several forms; of some Triton's compiler makes a dot in TF32, and says nothing of it.

``python -m tests.labs.tf32_sums`` compiles each for an H200, which needs none, and prints those of which it does.
"""

import os

import triton
import triton.language as tl

# Form, rows -> whether it becomes a dot in TF32: seen in the IR of Triton 3.6.0 and 3.7.1.
FORMS = {
    ("left upright", 16): True,
    ("left upright", 8): False,
    ("right first", 16): False,
    ("side by side", 16): False,
    ("doubled", 16): False,
}


@triton.jit
def sums(x, y, out, FORM: tl.constexpr, ROWS: tl.constexpr):
    row, column = tl.arange(0, ROWS), tl.arange(0, 16)
    a = tl.load(x + row[:, None] * 16 + column[None, :])
    b = tl.load(y + column[:, None] * 16 + column[None, :])
    if FORM == "left upright":
        total = tl.sum(a[:, :, None] * b[None, :, :], 1)
    if FORM == "right first":
        total = tl.sum(b[None, :, :] * a[:, :, None], 1)
    if FORM == "side by side":
        total = tl.sum(a[:, None, :] * tl.trans(b)[None, :, :], 2)
    if FORM == "doubled":
        total = tl.sum(2.0 * (a[:, :, None] * b[None, :, :]), 1)
    tl.store(out + row[:, None] * 16 + column[None, :], total)


def main() -> None:
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    for form, rows in FORMS:
        signature = {name: "*fp32" for name in ("x", "y", "out")} | {"FORM": "constexpr", "ROWS": "constexpr"}
        source = ASTSource(sums, signature, {"FORM": form, "ROWS": rows})
        if "inputPrecision = tf32 : tensor<16x16xf32>" in triton.compile(source, GPUTarget("cuda", 90, 32)).asm["ttir"]:
            print(form, rows, sep=", ")


if __name__ == "__main__":
    assert os.environ.get("TRITON_INTERPRET") != "1", "the interpreter compiles nothing"
    main()
