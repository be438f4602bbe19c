"""What the grader says: the first wrong number, what was wanted, whose mistake it is, and a drawing of the tile."""

from __future__ import annotations

from textwrap import wrap

import torch
from torch import Tensor

from scripts.labs.formatting import format_heading, format_number, two_digits, with_full_stop
from scripts.labs.lab import Case, Lab
from scripts.labs.lab_info import heading
from scripts.labs.verdict import UNWRITTEN as UNWRITTEN_MESSAGE
from scripts.labs.verdict import Rejection, Verdict

RIGHT = "·"
WRONG = "#"
NAN = "?"
UNWRITTEN = "∅"
KEY = f"{RIGHT} right   {WRONG} wrong   {NAN} NaN   {UNWRITTEN} never written"
TILE_WIDTH = 64
TILE_HEIGHT = 16
MAX_LINE_WIDTH = 110  # of a case's description
MAX_PRINTED = 8  # numbers that are printed
LAYOUT_PHRASES = {
    "transposed": "the numbers of a column lie side by side",
    "every second": "with a gap behind each number",
    "rows apart": "with gaps between the rows",
}


def format_verdict(lab: Lab, verdict: Verdict) -> str:
    """The whole message, a few lines of text."""
    name = f"Lab {lab.info.number}, {lab.info.title}"
    if verdict.passed:
        lines = [f"{name}: passed, {verdict.cases} cases in {verdict.seconds:.1f} s."]
        lines += verdict.remarks
        for function, (reader_ms, handbook_ms) in verdict.times.items():
            times = f"{reader_ms:.3g} ms, the handbook's {handbook_ms:.3g} ms"
            lines.append(f"{function}: {times}, {reader_ms / handbook_ms:.2f} times as long.")
        lines.append("What to notice now stands on the lab's page, below the hints.")
        return "\n".join(lines)
    return "\n".join(rejection_lines(name, verdict))


def rejection_lines(name: str, verdict: Verdict) -> list[str]:
    """The message of what is not right yet, line by line."""
    rejection = verdict.rejection
    line_text = f", line {rejection.line} of your file" if rejection.line else ""
    plural = "s that were right" if verdict.cases > 1 else " that was right"
    passed_so_far = f", after {verdict.cases} case{plural}" if verdict.cases else ""
    if rejection.message == UNWRITTEN_MESSAGE:
        return [
            f"{name}: {rejection.place or rejection.function} is not written yet{line_text}{passed_so_far}.",
            *verdict.remarks,
        ]
    lines = [f"{name}: not right yet{passed_so_far}.", *verdict.remarks]
    if rejection.case:
        case = f"Case of {rejection.function}: {rejection.case.name}; {describe_call(rejection.case)}"
        lines += wrap(case, MAX_LINE_WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
        lines += input_lines(rejection.case)
    if rejection.message:
        lines.append(with_full_stop(f"{rejection.place or rejection.function}{line_text}: {rejection.message}"))
    lines += [f"    {rejection.code}"] if rejection.code else []
    lines += [rejection.advice] if rejection.advice else []
    if rejection.wrong is not None:
        lines += wrong_number_lines(rejection)
    unwritten = rejection.unwritten is not None and rejection.unwritten.all()
    if unwritten and not rejection.mistake and not rejection.explanation:
        lines += [
            "",
            f"Nothing was written to {rejection.expected.name}: is a program started, and does each end by storing it?",
        ]
    if rejection.mistake:
        mistake = rejection.mistake
        lines += ["", f"It behaves like this: {mistake.message}"]
        lines += [f"Read {format_heading(heading(mistake.heading))}."] if mistake.heading else []
    return lines


def describe_call(case: Case) -> str:
    """What the function was called with: shapes, dtypes, and how a table lies if it is not contiguous."""
    parts = []
    for name, value in (case.inputs | case.outputs).items():
        if not isinstance(value, Tensor):
            parts.append(f"{name} = {value:.7g}" if isinstance(value, float) else f"{name} = {value}")
            continue
        layout = case.layouts.get(name, "contiguous")
        parts.append(f"{name} {list(value.shape)} {str(value.dtype).removeprefix('torch.')}")
        parts[-1] += "" if layout == "contiguous" else f" ({LAYOUT_PHRASES.get(layout, layout)})"
    return ", ".join(parts)


def input_lines(case: Case) -> list[str]:
    """The inputs of a few numbers, as they are."""
    short_vectors = {
        name: x for name, x in case.inputs.items() if isinstance(x, Tensor) and x.ndim == 1 and len(x) <= MAX_PRINTED
    }
    return [
        f"    {name} = [{', '.join(f'{each:.6g}' for each in x.tolist())}]"
        for name, x in short_vectors.items()
        if len(x)
    ]


def wrong_number_lines(rejection: Rejection) -> list[str]:
    """The first wrong number, how many are, and the drawing of the tile around it."""
    lines, wrong = [first_wrong_line(rejection)], rejection.wrong
    lines += [rejection.explanation] if rejection.explanation else []
    worth_drawing = wrong.numel() > 1 and len(signs_of(rejection).unique()) > 1  # one sign alone shows nothing
    return lines + draw_tile(rejection, index_of_first(wrong)) if worth_drawing else lines


def index_of_first(wrong: Tensor) -> tuple[int, ...]:
    return tuple(int(each) for each in wrong.nonzero()[0]) if wrong.ndim else ()


def first_wrong_line(rejection: Rejection) -> str:
    """A line: the first wrong number, what is wanted, and how many are wrong."""
    expected, wrong = rejection.expected, rejection.wrong
    index = index_of_first(wrong)
    actual = (
        "nobody wrote there" if rejection.unwritten[index] else f"there stands {format_number(rejection.actual[index])}"
    )
    result = expected.name if expected.name != "the result" else f"{rejection.function}(…)"
    line = f"{result}[{', '.join(map(str, index))}]" if index else result
    line += f": {actual}, and {format_number(expected.truth[index])} is wanted"
    if expected.truth.is_floating_point() and expected.allowed[index] > 0:
        line += f", give or take {two_digits(expected.allowed[index].item())}"
    wrong_count, count = int(wrong.sum()), wrong.numel()
    if count == 1:
        return with_full_stop(line)
    how_many = f"All {count}" if wrong_count == count else f"{wrong_count} of {count}"
    return f"{line}. {how_many} {'is' if wrong_count == 1 else 'are'} wrong."


def draw_tile(rejection: Rejection, index: tuple[int, ...]) -> list[str]:
    """The rows around the first wrong number, a sign a number; a vector is broken into lines."""
    signs = signs_of(rejection)
    if signs.ndim == 1:
        rows = [signs[i : i + TILE_WIDTH] for i in range(0, len(signs), TILE_WIDTH)]
        at, labels = index[0] // TILE_WIDTH, [i * TILE_WIDTH for i in range(len(rows))]
        left = 0
    else:
        for place in index[:-2]:
            signs = signs[place]
        left = max(0, min(index[-1] - TILE_WIDTH // 2, signs.shape[1] - TILE_WIDTH))
        rows, at, labels = [row[left : left + TILE_WIDTH] for row in signs], index[-2], list(range(len(signs)))
    top = max(0, min(at - TILE_HEIGHT // 2, len(rows) - TILE_HEIGHT))
    lines = [""]
    if rejection.wrong.ndim > 2:
        lines.append(f"{rejection.expected.name}[{', '.join(map(str, index[:-2]))}, …]")
    if left:
        lines.append(f"from column {left} on")
    for label, row in list(zip(labels, rows, strict=True))[top : top + TILE_HEIGHT]:
        lines.append(f"{label:6d}  {''.join((RIGHT, WRONG, NAN, UNWRITTEN)[sign] for sign in row.tolist())}")
    if len(rows) > TILE_HEIGHT:
        lines.append(f"        … {len(rows)} lines in all")
    return [*lines, f"        {KEY}"]


def signs_of(rejection: Rejection) -> Tensor:
    """Of each number which sign the drawing gives it."""
    signs = rejection.wrong.to(torch.int8)
    if rejection.actual.is_floating_point():
        signs = signs.masked_fill(rejection.wrong & rejection.actual.isnan(), 2)
    return signs.masked_fill(rejection.wrong & rejection.unwritten, 3)
