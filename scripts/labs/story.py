"""Which program wrote a number, and what that program had read: told from what was watched."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from scripts.labs.watched import Watch, said

MOST = 4  # tables that are listed


def told(watch: Watch, table: str, index: tuple[int, ...]) -> str:
    """A sentence about one number of an output; "" where nobody wrote it."""
    tensor = watch.tables[table].tensor
    place = sum(each * step for each, step in zip(index, tensor.stride(), strict=True))
    writes = [i for i, each in enumerate(watch.accesses) if each.kind == "writes" and touches(each, table, place)]
    if not writes:
        return ""
    last = watch.accesses[writes[-1]]
    programs = {watch.accesses[i].program for i in writes}
    others = f", the last of {len(programs)} that did" if len(programs) > 1 else ""
    read: dict[str, list[np.ndarray]] = {}
    for each in watch.accesses[: writes[-1]]:
        if each.kind == "reads" and each.table and each.program == last.program:
            read.setdefault(each.table, []).append(each.places[each.places >= 0].ravel())
    boxes = [f"{name}{box(np.concatenate(places), watch.tables[name].tensor)}" for name, places in read.items()]
    more = f" and more of {len(boxes) - MOST} other tables" if len(boxes) > MOST else ""
    after = f", after it had read {', '.join(boxes[:MOST])}{more}" if boxes else ", and had read nothing"
    return f"{said(last.program).capitalize()} wrote it{others}{after}."


def touches(access, table: str, place: int) -> bool:
    return access.table == table and bool((access.places == place).any())


def box(places: np.ndarray, tensor: Tensor) -> str:
    """The smallest box of indices that holds these places: ``[0…15, 0…31]``, or ``[256]``."""
    ends: dict[int, str] = {}
    rest = places
    for dimension in sorted(range(tensor.ndim), key=tensor.stride, reverse=True):
        step = max(1, tensor.stride(dimension))
        at, rest = rest // step, rest % step
        ends[dimension] = str(at.min()) if at.min() == at.max() else f"{at.min()}…{at.max()}"
    return f"[{', '.join(ends[dimension] for dimension in range(tensor.ndim))}]"
