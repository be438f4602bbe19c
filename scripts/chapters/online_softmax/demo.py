"""Sheet 7: two scores at a time, one factor for everything that is added up, and two readers."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from kernels.softmax import OnlineSoftmax, exp_below, softmax
from scripts.chapters.demo import DEVICE, table
from scripts.chapters.online_softmax.worked import BLOCK, SCORES, VALUES, vector

SNIPPET = "online_softmax"


def lines() -> Iterator[str]:
    scores, values = (torch.tensor(rows, dtype=torch.float32) for rows in (SCORES, VALUES))
    state, blend = OnlineSoftmax.empty(), torch.zeros(2)
    rows, parts, blends = [], [], []
    for number, (block, value) in enumerate(zip(scores.split(BLOCK), values.split(BLOCK), strict=True), 1):
        parts.append(OnlineSoftmax.empty().update(block))
        blends.append(exp_below(block, parts[-1].running_max) @ value)
        before, state = state, state.update(block)
        factor, grown = (exp_below(each, state.running_max) for each in (before.running_max, parts[-1].running_max))
        blend = factor * blend + grown * blends[-1]
        kept = f"{factor:.3g}" if number > 1 else "-"
        sums = [f"{parts[-1].running_sum:.3f}", f"{state.running_sum:.3f}"]
        rows.append([number, f"{state.running_max:g}", kept, *sums, text(blend), text(blend / state.running_sum)])
    at_once = OnlineSoftmax.empty().update(scores)
    yield (
        f"The same factor for everything added up: {state.running_sum:.3f} in blocks, "
        f"{at_once.running_sum:.3f} at once."
    )
    yield from table(["block", "max", "factor", "new", "sum", "accumulator", "so far"], *rows)
    shares = softmax(scores[None].to(DEVICE), block=BLOCK)[0].cpu()
    yield f"the kernel, one pair at a time: {text(shares @ values)}"
    wrong, lost = sum(part.running_sum for part in parts), sum(blends)
    yield f"the factor forgotten: {text(lost)} ÷ {wrong:.3f} = {text(lost / wrong)}"
    rest = parts[1].merge(parts[2])
    one, other, both, exchanged = map(state_text, (parts[0], rest, parts[0].merge(rest), rest.merge(parts[0])))
    yield f"two readers: {one} and {other} are {both}; exchanged, {exchanged}"
    yield f"lse: {state.running_max:g} + ln {state.running_sum:.3f} = {state.lse:.3f}"


def text(numbers: torch.Tensor) -> str:
    return vector(numbers.tolist())


def state_text(state: OnlineSoftmax) -> str:
    return f"({state.running_max:g}, {state.running_sum:.3f})"
