"""Attention of one query with the roundings of a GPU, in NumPy.

On an H200, Triton 3.6.0 computes ``tl.sum(query * keys, 0)`` like this: each thread has a product, and an FMA adds the
product of the thread half a row away.  One of the two products is rounded, the other isn't.  So the two halves of the
threads end up with two copies of a score.  The threads share the numbers of the output: some weigh the values by one
copy, some by the other, but the sum of the powers comes from one of them.  A power of e is computed as a power of 2, by
an instruction that's off by up to 2**-22 of its result.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from scripts.labs.catalogue.paged_decode import reference as paged
from scripts.labs.lab import Case

F32, F64 = np.float32, np.float64
LOG2E = 1.4426950408889634
FORMS = ("by e", "by 2", "by 2, at once")
Row = tuple[str, tuple, np.ndarray, np.ndarray, np.ndarray, float]


def attend(
    query: np.ndarray, keys: np.ndarray, values: np.ndarray, scale: float, form: str, copy: int = 0
) -> tuple[np.ndarray, F32]:
    """The output and its lse.

    form: ``by e`` scales scores and takes the maximum off, then multiplies by log₂ e; ``by 2`` scales by both at once;
        ``by 2, at once`` takes the maximum off in the same FMA
    copy: which of the two copies of the scores gives the maximum and the sum, 0 or 1
    """
    query, keys, values = (each.astype(F32) for each in (query, keys, values))
    scale = F32(scale) if form == "by e" else F32(scale * LOG2E)
    sums = two_copies(query, keys)
    scores = [(each * scale).astype(F32) for each in sums]
    largest = scores[copy].max()
    if form == "by 2, at once":
        exponents = [fma(each, scale, -largest) for each in sums]
    else:
        exponents = [(score - largest).astype(F32) for score in scores]
    base = F32(LOG2E if form == "by e" else 1.0)
    powers = [exp2((exponent * base).astype(F32)) for exponent in exponents]
    total = powers[copy].sum(dtype=F32)
    halves = np.array_split(values, 2, axis=1)
    blends = [(each[:, None] * half).sum(0, dtype=F32) for each, half in zip(powers, halves, strict=True)]
    natural_max = largest if form == "by e" else F32(largest * F32(1 / LOG2E))
    return np.concatenate(blends) / total, natural_max + np.log(total)


def two_copies(query: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The scores, not scaled, [keys], as the first half of the threads has them, and as the second half does."""
    padded_dim = max(2, 1 << (len(query) - 1).bit_length())
    query = np.pad(query, (0, padded_dim - len(query)))
    keys = np.pad(keys, ((0, 0), (0, padded_dim - keys.shape[1])))
    half, rounded = padded_dim // 2, (query * keys).astype(F32)
    first = fma(query[:half], keys[:, :half], rounded[:, half:])
    second = fma(query[half:], keys[:, half:], rounded[:, :half])
    return pairwise(first), pairwise(second)


def pairwise(numbers: np.ndarray) -> np.ndarray:
    """The sum of each row: each step adds its second half to its first."""
    while (half := numbers.shape[1] // 2) > 0:
        numbers = (numbers[:, :half] + numbers[:, half:]).astype(F32)
    return numbers[:, 0]


def fma(a, b, c) -> np.ndarray:
    return (np.asarray(a, F64) * b + c).astype(F32)


def exp2(x: np.ndarray) -> np.ndarray:
    error = np.random.default_rng(len(x)).uniform(-(2.0**-22), 2.0**-22, x.shape)
    return np.where(x == 0, 1, np.exp2(x.astype(F64)) * (1 + error)).astype(F32)


def rows(slug: str, case: Case) -> Iterator[Row]:
    """Each query of a case that sees a key: its output's name and index, the query, keys, values and scale."""
    inputs = case.inputs
    if slug == "paged-decode":
        for sequence, length in enumerate(inputs["lengths"].tolist()):
            for piece, tokens in enumerate(paged.pieces(length, inputs["keys"].shape[1], inputs["splits"])):
                if tokens:
                    table = inputs["page_table"][sequence]
                    tables = (paged.token_rows(inputs[name], table, tokens).numpy() for name in ("keys", "values"))
                    yield "part_out", (sequence, piece), inputs["q"][sequence].numpy(), *tables, inputs["scale"]
        return
    q, k, v = (tensor if tensor.ndim == 3 else tensor[None] for tensor in (inputs["q"], inputs["k"], inputs["v"]))
    for head, query in np.ndindex(*q.shape[:2]):
        visible_keys = min(query + 1, k.shape[1]) if inputs.get("is_causal") else k.shape[1]
        if visible_keys:
            index = (head, query) if inputs["q"].ndim == 3 else (query,)
            tables = (tensor[head, :visible_keys].numpy() for tensor in (k, v))
            yield "out", index, q[head, query].numpy(), *tables, q.shape[2] ** -0.5


def gpu_outputs(slug: str, case: Case, form: str, copy: int) -> Iterator[tuple[str, tuple, torch.Tensor]]:
    """The rows of a case's outputs as a GPU would make them: the output's name, the index, the number or numbers."""
    for name, index, *row in rows(slug, case):
        out, lse = attend(*row, form, copy)
        yield name, index, torch.from_numpy(out)
        if (lse_name := name.replace("out", "lse")) in case.outputs:
            yield lse_name, index, torch.tensor(lse)
