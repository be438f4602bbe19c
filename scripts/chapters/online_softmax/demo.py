"""Sheet 7: two scores at a time, one factor for everything that is added up, and two readers."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from kernels.softmax import OnlineSoftmax, exp_below, softmax
from scripts.chapters.demo import DEVICE, table
from scripts.chapters.online_softmax.worked import BLOCK, SCORES, VALUES, vector_text

SNIPPET = "online_softmax"


def lines() -> Iterator[str]:
    scores, values = (torch.tensor(rows, dtype=torch.float32) for rows in (SCORES, VALUES))
    state, blend = OnlineSoftmax.empty(), torch.zeros(2)
    rows, parts, blends = [], [], []
    for number, (block, value) in enumerate(zip(scores.split(BLOCK), values.split(BLOCK), strict=True), 1):
        parts.append(OnlineSoftmax.empty().update(block))
        blends.append(exp_below(block, parts[-1].running_max) @ value)
        before, state = state, state.update(block)
        factor, part_factor = (
            exp_below(each, state.running_max) for each in (before.running_max, parts[-1].running_max)
        )
        blend = factor * blend + part_factor * blends[-1]
        factor_text = f"{factor:.3g}" if number > 1 else "-"
        sums = [f"{parts[-1].running_sum:.3f}", f"{state.running_sum:.3f}"]
        blend_texts = [tensor_text(blend), tensor_text(blend / state.running_sum)]
        rows.append([number, f"{state.running_max:g}", factor_text, *sums, *blend_texts])
    at_once = OnlineSoftmax.empty().update(scores)
    yield (
        f"The same factor for everything added up: {state.running_sum:.3f} in blocks, "
        f"{at_once.running_sum:.3f} at once."
    )
    yield from table(["block", "max", "factor", "new", "sum", "accumulator", "so far"], *rows)
    shares = softmax(scores[None].to(DEVICE), block=BLOCK)[0].cpu()
    yield f"the kernel, one pair at a time: {tensor_text(shares @ values)}"
    wrong_sum, wrong_blend = sum(part.running_sum for part in parts), sum(blends)
    yield f"the factor forgotten: {tensor_text(wrong_blend)} ÷ {wrong_sum:.3f} = {tensor_text(wrong_blend / wrong_sum)}"
    last_two = parts[1].merge(parts[2])
    readers = parts[0], last_two, parts[0].merge(last_two), last_two.merge(parts[0])
    yield "two readers: {} and {} are {}; exchanged, {}".format(*map(state_text, readers))
    yield f"lse: {state.running_max:g} + ln {state.running_sum:.3f} = {state.lse:.3f}"


def tensor_text(numbers: torch.Tensor) -> str:
    return vector_text(numbers.tolist())


def state_text(state: OnlineSoftmax) -> str:
    return f"({state.running_max:g}, {state.running_sum:.3f})"
