"""The backward pass in four parts, each given what the true forward pass left: dV, delta, dQ, dK."""

from __future__ import annotations

import math
from functools import partial

import torch

from scripts.labs.catalogue.access_checks import loads_whole_table
from scripts.labs.catalogue.backward import reference
from scripts.labs.catalogue.backward.mistakes import DELTA_MISTAKES, DV_MISTAKES
from scripts.labs.catalogue.backward.mistakes_of_dq_and_dk import DK_MISTAKES, DQ_MISTAKES
from scripts.labs.lab import Case, Task, normal


def tables(
    seed: int, seq_q: int, seq_k: int, causal=False, d=16, factor=1.0, masked_queries=(), dtype=torch.float32
) -> dict:
    """masked_queries: those that see no key, and whose lse is -inf"""
    random_tables = normal(seed, 2 * (seq_q + seq_k), d).split([seq_q, seq_k, seq_k, seq_q])
    q, k, v, dout = (each.to(dtype) for each in (random_tables[0] * factor, *random_tables[1:]))
    scale = 1 / math.sqrt(d)
    scores = q.double() @ k.double().T * scale
    hidden = ~reference.visible(scores, causal)
    hidden[list(masked_queries)] = True
    scores = scores.masked_fill(hidden, -torch.inf)
    lse = scores.logsumexp(1)
    out = scores.softmax(1).nan_to_num(nan=0.0) @ v.double()
    delta = (out * dout.double()).sum(1)
    inputs = dict(q=q, k=k, v=v, dout=dout, lse=lse.float(), delta=delta.float(), out=out.to(dtype))
    return inputs | dict(scale=scale, causal=causal)


def cases(input_names: tuple[str, ...], output_name: str, shaped_like: str):
    def case(name: str, with_gaps: tuple[str, ...] = (), **sizes) -> Case:
        all_tables = tables(**sizes)
        outputs = {output_name: torch.empty_like(all_tables[shaped_like])}
        inputs = {each: all_tables[each] for each in input_names}
        return Case(
            name, inputs, outputs, {each: "rows apart" for each in with_gaps if each in (*input_names, output_name)}
        )

    def generate():
        with_gaps = ("q", "v", "out", "dq", "dk")  # in other cases the others, so that no table has another's strides
        others = ("k", "dout", "dv")
        yield case("16 queries, 16 keys", seed=1, seq_q=16, seq_k=16)
        yield case("17 queries, 33 keys", seed=2, seq_q=17, seq_k=33)
        yield case("rows apart", with_gaps, seed=3, seq_q=17, seq_k=5, d=32)
        yield case("rows of other tables apart", others, seed=2, seq_q=5, seq_k=18, d=32)
        if "causal" in input_names:
            yield case("causal", seed=1, seq_q=20, seq_k=20, causal=True)
            yield case("causal, more keys than queries", with_gaps, seed=2, seq_q=19, seq_k=37, causal=True)
            yield case("causal, large scores", seed=3, seq_q=33, seq_k=33, causal=True, factor=30.0)
        yield case("queries 0, 3 and 17 saw no key", seed=1, seq_q=18, seq_k=19, masked_queries=(0, 3, 17))
        if output_name in ("dv", "dq"):  # dk has dv's loop
            long = (5, 290) if output_name == "dq" else (290, 5)
            yield case(f"{long[0]} queries, {long[1]} keys", seed=3, seq_q=long[0], seq_k=long[1])
        yield case("FP16", seed=2, seq_q=18, seq_k=20, dtype=torch.float16)
        if "causal" not in input_names:
            yield case("a single row", seed=3, seq_q=1, seq_k=1)

    return generate


DV_ARGUMENTS = ("q", "k", "lse", "dout", "scale", "causal")
DQ_AND_DK_ARGUMENTS = ("q", "k", "v", "dout", "lse", "delta", "scale", "causal")
queries_streamed = partial(loads_whole_table, streamed=("q", "dout"))
TASKS = (
    Task(
        "backward_dv",
        reference.dv_of,
        cases(DV_ARGUMENTS, "dv", "k"),
        DV_MISTAKES,
        error_scale=reference.error_scale_of_dv,
        check_accesses=queries_streamed,
    ),
    Task(
        "backward_delta",
        reference.delta_of,
        cases(("out", "dout"), "delta", "delta"),
        DELTA_MISTAKES,
        error_scale=reference.error_scale_of_delta,
    ),
    Task(
        "backward_dq",
        reference.dq_of,
        cases(DQ_AND_DK_ARGUMENTS, "dq", "q"),
        DQ_MISTAKES,
        error_scale=reference.error_scale_of_dq,
        check_accesses=loads_whole_table,
    ),
    Task(
        "backward_dk",
        reference.dk_of,
        cases(DQ_AND_DK_ARGUMENTS, "dk", "k"),
        DK_MISTAKES,
        error_scale=reference.error_scale_of_dk,
        check_accesses=queries_streamed,
    ),
)
