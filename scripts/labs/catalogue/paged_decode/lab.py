"""Paged decode: pages in any order, NaN behind the last token and in pages of no sequence, pieces without tokens."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scripts.labs.catalogue.paged_decode import reference
from scripts.labs.catalogue.paged_decode.mistakes import DECODE_MISTAKES
from scripts.labs.catalogue.paged_decode.mistakes_of_merge import MERGE_MISTAKES
from scripts.labs.catalogue.roundings_from_scores import output_roundings
from scripts.labs.lab import Case, Task, generator, normal


def decode_inputs(
    seed: int,
    lengths: list[int],
    splits: int,
    page_size=8,
    d=16,
    query_factor=1.0,
    dtype=torch.float32,
    negative_scores=False,
) -> dict:
    """Tables of sequences of these lengths, whose pages lie in any order.

    query_factor: what the queries are multiplied by   negative_scores: whether all scores are below 0
    """
    counts = [-(-length // page_size) for length in lengths]
    pages = sum(counts) + 2  # two belong to no sequence
    free = iter(torch.randperm(pages, generator=generator(seed)).tolist())
    table = torch.full((len(lengths), max([1, *counts])), -1, dtype=torch.int32)
    keys, values = torch.full((2, pages, page_size, d), torch.nan)
    tokens = normal(seed, 2, sum(lengths), d)
    for sequence, length in enumerate(lengths):
        for token in range(length):
            if token % page_size == 0:
                table[sequence, token // page_size] = next(free)
            place = table[sequence, token // page_size], token % page_size
            keys[place], values[place] = tokens[:, sum(lengths[:sequence]) + token]
    q = normal(seed + 10, len(lengths), d) * query_factor
    q, keys = (q.abs(), -keys.abs()) if negative_scores else (q, keys)
    q = q.to(dtype)
    tables = dict(q=q, keys=keys.to(dtype), values=values.to(dtype), page_table=table)
    return tables | dict(lengths=torch.tensor(lengths, dtype=torch.int32), scale=1 / math.sqrt(d), splits=splits)


def decode_cases():
    yield decode_case("one page, one piece", seed=1, lengths=[8], splits=1)
    yield decode_case("two pages, one piece", seed=2, lengths=[16], splits=1)
    yield decode_case("two sequences, one piece", seed=3, lengths=[24, 16], splits=1)
    yield decode_case("a last page that is not full", seed=1, lengths=[13, 1], splits=1)
    yield decode_case("three pieces", seed=2, lengths=[40, 24], splits=3)
    yield decode_case("lengths 0, 3 and 25", seed=3, lengths=[0, 3, 25], splits=4)
    yield decode_case("rows apart", ("q", "keys", "page_table"), seed=2, lengths=[19, 33], splits=2, page_size=16, d=32)
    yield decode_case("large scores", seed=1, lengths=[29], splits=2, query_factor=100.0)
    yield decode_case("scores far below 0", seed=3, lengths=[19], splits=2, query_factor=200.0, negative_scores=True)
    yield decode_case("FP16", seed=2, lengths=[13, 9], splits=2, query_factor=4.0, dtype=torch.float16)


def decode_case(name: str, with_gaps: tuple[str, ...] = (), **sizes) -> Case:
    """with_gaps: the tables whose rows lie apart"""
    inputs = decode_inputs(**sizes)
    (batch, d), splits = inputs["q"].shape, inputs["splits"]
    outputs = {"part_out": torch.empty(batch, splits, d), "part_lse": torch.empty(batch, splits)}
    return Case(name, inputs, outputs, dict.fromkeys(with_gaps, "rows apart"))


def merge_cases():
    yield merge_case("two pieces", seed=1, batch=1, splits=2)
    yield merge_case("three pieces", seed=2, batch=2, splits=3)
    yield merge_case("five pieces, rows apart", seed=3, batch=3, splits=5, d=32, layout="rows apart")
    yield merge_case("pieces without tokens", seed=1, batch=2, splits=4, empty=[(0, 2), (0, 3), (1, 3)])
    yield merge_case("a sequence of length 0", seed=2, batch=3, splits=2, empty=[(1, 0), (1, 1), (2, 1)])
    yield merge_case("large scores", seed=3, batch=2, splits=3, lse_factor=200.0)
    yield merge_case("scores far below 0", seed=1, batch=1, splits=2, lse_factor=5.0, shift=-500.0)
    yield merge_case("to FP16", seed=1, batch=2, splits=6, dtype=torch.float16)


def merge_case(
    name, seed, batch, splits, d=16, empty=(), lse_factor=2.0, shift=0.0, layout="contiguous", dtype=torch.float32
) -> Case:
    part_out, part_lse = normal(seed, batch, splits, d), normal(seed + 10, batch, splits) * lse_factor + shift
    for place in empty:
        part_out[place], part_lse[place] = 0.0, -torch.inf
    outputs = {"out": torch.empty(batch, d, dtype=dtype), "lse": torch.empty(batch)}
    return Case(name, {"part_out": part_out, "part_lse": part_lse}, outputs, {"out": layout})


def error_scale_of_decode(q, keys, values, page_table, lengths, scale, splits) -> tuple[Tensor, Tensor]:
    """Of an output its weights times the sizes of the values, of an lse the largest score."""

    def sizes(scores: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        if not len(scores):
            return reference.attend(scores, values)
        return (scores.softmax(0) @ values.abs()).amax().expand(values.shape[1]), 1 + scores.abs().amax()

    scales = reference.decode_pieces(q, keys, values, page_table, lengths, scale, splits, attend=sizes)
    return tuple(each.masked_fill(each == -torch.inf, 0) for each in scales)


def roundings_of_decode(q, keys, values, page_table, lengths, scale, splits) -> tuple[Tensor, float]:
    """How many roundings each row of an output is granted, which depends on its scores."""
    products, cache = [], (page_table, lengths, scale, splits)

    def remember(scores: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        products.append(scores)
        return reference.attend(scores, values)

    def roundings(scores: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        return output_roundings(scores, products.pop(0), 8).expand(values.shape[1]), scores.sum()

    reference.decode_pieces(q.abs(), keys.abs(), values, *cache, attend=remember)
    return reference.decode_pieces(q, keys, values, *cache, attend=roundings)[0], 8


def error_scale_of_merge(part_out: Tensor, part_lse: Tensor) -> tuple[Tensor, Tensor]:
    """An lse of 500 has lost digits of what stands before it, and so has each exp(part_lse - lse)."""
    largest = part_lse.masked_fill(part_lse == -torch.inf, 0).abs().amax(1)
    sizes = reference.merge_pieces(part_out.abs(), part_lse)[0].amax(1) * (1 + largest / 4)
    return sizes[:, None].expand(part_out[:, 0].shape), largest + (part_lse > -torch.inf).any(1)


TASKS = (
    Task("merge_parts", reference.merge_pieces, merge_cases, MERGE_MISTAKES, error_scale=error_scale_of_merge),
    Task(
        "decode_parts",
        reference.decode_pieces,
        decode_cases,
        DECODE_MISTAKES,
        error_scale=error_scale_of_decode,
        roundings=roundings_of_decode,
    ),
)
