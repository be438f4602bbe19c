"""Which program wrote a number, and what that program had read: told from what was traced."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from scripts.labs.formatting import join_words, pluralize
from scripts.labs.grading.accesses import AccessTracer, program_name

MAX_TABLES = 6  # tables that are listed
MAX_LISTED = 6  # indices, one by one


def describe_number(tracer: AccessTracer, table: str, index: tuple[int, ...], actual: Tensor) -> tuple[str, bool]:
    """A sentence or two about one number of an output, of which ``actual`` stands there; "" where nobody wrote it.

    The second says whether it is the NaN of a load without ``other``.
    """
    tensor = tracer.tables[table].tensor
    place = sum(each * step for each, step in zip(index, tensor.stride(), strict=True))
    writes = [
        i for i, access in enumerate(tracer.accesses) if access.kind == "writes" and touches(access, table, place)
    ]
    if not writes:
        return "", False
    last = tracer.accesses[writes[-1]]
    programs = {tracer.accesses[i].program for i in writes}
    others = f", the last of {len(programs)} that did" if len(programs) > 1 else ""
    read: dict[str, list[np.ndarray]] = {}
    loaded_without_other = set()
    for each in tracer.accesses[: writes[-1]]:
        if each.kind == "reads" and each.table and each.program == last.program:
            read.setdefault(each.table, []).append(each.places[each.places >= 0].ravel())
            loaded_without_other |= {each.table} if each.filled else set()
    tables_read = [f"{name}{box(np.concatenate(places), tracer.tables[name].tensor)}" for name, places in read.items()]
    and_others = (
        f" and some of {pluralize(len(tables_read) - MAX_TABLES, 'other table')}"
        if len(tables_read) > MAX_TABLES
        else ""
    )
    had_read = (
        f", after it had read {', '.join(tables_read[:MAX_TABLES])}{and_others}"
        if tables_read
        else ", and had read nothing"
    )
    is_hidden_nan = bool(loaded_without_other) and actual.is_floating_point() and bool(actual[index].isnan())
    nan = ""
    if is_hidden_nan:
        nan = (
            f" What a mask hides of {join_words(sorted(loaded_without_other))} it loads without other, and on "
            "a GPU anything may stand there then; here it is NaN. Say what stands there: other=0.0, for one."
        )
    return f"{program_name(last.program).capitalize()} wrote it{others}{had_read}.{nan}", is_hidden_nan


def touches(access, table: str, place: int) -> bool:
    return access.table == table and bool((access.places == place).any())


def box(places: np.ndarray, tensor: Tensor) -> str:
    """The smallest box of indices that holds these places: ``[0…15, 0…31]``, ``[256]``, or ``[0 and 4, 0…7]``."""
    ends: dict[int, str] = {}
    rest = places
    for dimension in sorted(range(tensor.ndim), key=tensor.stride, reverse=True):
        step = max(1, tensor.stride(dimension))
        indices, rest = np.unique(rest // step), rest % step
        is_range = indices[-1] - indices[0] + 1 == len(indices) or len(indices) > MAX_LISTED
        text = str(indices[0]) if len(indices) == 1 else f"{indices[0]}…{indices[-1]}"
        ends[dimension] = text if is_range else join_words(map(str, indices))
    return f"[{', '.join(ends[dimension] for dimension in range(tensor.ndim))}]"
