"""Lists the kernels that a reader can take away, and writes how each file checks itself, and on a GPU times itself."""

from __future__ import annotations

from typing import NamedTuple

FP32 = "float32"


class Kernel(NamedTuple):
    """A function to take away, what PyTorch calls it, and the inputs of its check on a GPU and elsewhere."""

    module: str
    function: str
    peer: str = "scaled_dot_product_attention"
    shapes: tuple[tuple[int, ...], tuple[int, ...]] = ((1, 4, 1024, 64), (1, 2, 24, 16))
    tensors: int = 3
    options: tuple[str, ...] = ("is_causal=False", "is_causal=True")
    dtype: str = "float16"
    gradients: bool = False


KERNELS = (
    Kernel("kernels.first.add", "add", "torch.add", ((2**24,), (2500,)), 2, ("",)),
    Kernel("kernels.softmax", "softmax", "partial(torch.softmax, dim=-1)", ((4096, 4096), (5, 70)), 1, ("",)),
    Kernel(
        "kernels.first.one_head", "one_head_attention", shapes=((1024, 64), (9, 16)), options=("",), dtype="float32"
    ),
    Kernel("kernels.first.one_key", "one_key_attention"),
    Kernel("kernels.first.key_blocks", "key_blocks_attention"),
    Kernel("kernels.first.three_kernels", "three_kernel_attention"),
    Kernel("kernels.flash.attention", "flash_attention", gradients=True),
)


RESULTS = """\
    def results(function, *tensors):
        return (function(*tensors),)
"""
WITH_GRADIENTS = """\
    def results(function, *tensors):
        leaves = [x.detach().requires_grad_() for x in tensors]
        out = function(*leaves)
        return out, *torch.autograd.grad(out.sin().sum(), leaves)  # the output and three gradients
"""


def main_block(kernel: Kernel) -> str:
    """What the file does when it's run: the check, and the timing."""
    names = ", ".join({1: "x", 2: "xy", 3: "qkv"}[kernel.tensors])
    gpu, cpu = kernel.shapes
    random_tensor = "torch.randn(shape, device=device).to(dtype)"
    cases = ", ".join(f"dict({each})" for each in kernel.options)
    return f"""\
if __name__ == "__main__":

{WITH_GRADIENTS if kernel.gradients else RESULTS}
    torch.manual_seed(0)
    on_gpu = torch.cuda.is_available()
    device, dtype = "cuda" if on_gpu else "cpu", torch.{kernel.dtype}
    shape = {gpu} if on_gpu else {cpu}
    {names} = {f"({random_tensor} for _ in range({kernel.tensors}))" if kernel.tensors > 1 else random_tensor}
    for options in [{cases}]:
        ours, pytorchs = (partial(f, **options) for f in ({kernel.function}, {kernel.peer}))
        truth = results(pytorchs, *(x.double() for x in ({names},)))
        for x, y, exact in zip(results(ours, {names}), results(pytorchs, {names}), truth, strict=True):
            error, allowed = (x - exact).abs().max().item(), 2 * (y - exact).abs().max().item() + 1e-6
            print(f"{{options or ''}} largest error {{error:.2g}}, allowed {{allowed:.2g}}")
            assert error <= allowed
        if on_gpu:
            from triton.testing import do_bench

            times = [do_bench(partial(f, {names})) for f in (ours, pytorchs)]
            print(f"{{times[0]:.3f}} ms, PyTorch {{times[1]:.3f}} ms")
"""
