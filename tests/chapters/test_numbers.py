"""No figure has a number of its own: change what it reads and what it counts with, and what it plots changes.

What it reads are tables; what it counts with, constants of chips and the functions of kernels.bench.

Not seen: a wrong row, column or formula, and a text in which rounding hides the change. Powers of two are sizes and may
stand in a figure; what else it places itself is listed in tests/chapters/NAME/expected.toml.
"""

import functools
import re
import types
import zlib
from math import frexp

import pytest

from kernels.bench import cost, hardware
from kernels.bench.parallel import cost as parallel
from scripts import records
from scripts.chapters import plot
from tests.chapters.conftest import figure_params, load_figure
from tests.chapters.expected import EXPECTED

PLACED_NUMBERS = {
    figure: set(numbers) for chapter in EXPECTED.values() for figure, numbers in chapter.get("figures", {}).items()
}
FULL_BAR = {100}  # the whole bar, in percent of the limit; a model's ideal, too
SIDE_BY_SIDE = {"percent_of_ideal"}  # its forms of one length stand side by side
PLOTTED_KEYS = ("x", "y", "base", "customdata", "text", "error_x", "error_y")
COST_FUNCTIONS = [
    (module, name, function)
    for module in (cost, parallel)
    for name, function in vars(module).items()
    if isinstance(function, types.FunctionType) and function.__module__ == module.__name__
    if name not in ("mib", "mb", "gib", "gb")
]


def numbers(part, text=False):
    """All numbers in a part of a figure, in a fixed order; in texts those that stand by themselves."""
    if isinstance(part, dict):
        for key in sorted(part):
            yield from numbers(part[key], text or key == "text")
    elif isinstance(part, list | tuple):
        for inner in part:
            yield from numbers(inner, text)
    elif isinstance(part, int | float) and not isinstance(part, bool):
        yield part
    elif isinstance(part, str) and text:
        yield from (float(found.replace(",", "")) for found in re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?", part))


def plotted_numbers(name, figure):
    plotly_json = figure.to_plotly_json()
    chosen = [button["args"][0] for menu in plotly_json["layout"].get("updatemenus", ()) for button in menu["buttons"]]
    return [
        list(numbers(part.get(key), key == "text"))
        for part in (*plotly_json["data"], *(each for each in chosen if isinstance(each, dict)))
        for key in PLOTTED_KEYS
        if not (key == "x" and name in SIDE_BY_SIDE)
    ]


def scaled(value, name):
    """The number times a factor from 1.2 to 1.8, by its name; integers are sizes and stay."""
    return value * (1.2 + zlib.crc32(name.encode()) % 600 / 1000) if isinstance(value, float) else value


def change_all_inputs(monkeypatch):
    """Change every measured number, every constant of a chip and all that is counted."""
    table = records.table

    def scaled_table(snippet, name):
        rows = enumerate(table(snippet, name))
        return [{column: scaled(value, f"{column} {place}") for column, value in row.items()} for place, row in rows]

    def increase_result(result):
        if isinstance(result, list):
            return [step._replace(read=1.25 * step.read, written=1.25 * step.written) for step in result]
        return 1.25 * result

    def with_increased_result(function):
        return functools.wraps(function)(lambda *args, **kwargs: increase_result(function(*args, **kwargs)))

    monkeypatch.setattr(records, "table", scaled_table)
    for chip in (hardware.H100, hardware.H200):
        for quantity, constant in chip.items():
            monkeypatch.setitem(chip, quantity, constant._replace(value=scaled(float(constant.value), quantity)))
    for module, name, function in COST_FUNCTIONS:
        for place in (module, plot):
            if vars(place).get(name) is function:
                monkeypatch.setattr(place, name, with_increased_result(function))


@pytest.mark.parametrize("params", [*figure_params()])
def test_every_number_is_in_a_table_or_follows_from_tables_constants_and_counts(params, monkeypatch):
    name, _ = params
    known_numbers = {0.0, *FULL_BAR, *PLACED_NUMBERS.get(name, ())}
    table = records.table
    with monkeypatch.context() as patch:
        patch.setattr(records, "table", lambda *where: known_numbers.update(numbers(found := table(*where))) or found)
        first = plotted_numbers(name, load_figure(*params))
    change_all_inputs(monkeypatch)
    second = plotted_numbers(name, load_figure(*params))
    assert len(first) == len(second)
    typed_numbers = set()
    for one, other in zip(first, second, strict=True):
        same = zip(one, other, strict=True) if len(one) == len(other) else [(a, a) for a in {*one} & {*other}]
        typed_numbers |= {abs(a) for a, b in same if a == b}
    assert not {number for number in typed_numbers if not is_accounted_for(number, known_numbers)}


def is_accounted_for(number, known_numbers):
    """It's a recorded one or a size, or either in a unit of bytes or a decimal one."""
    near = float(f"{number:.9g}")
    return near in known_numbers or any(
        frexp(near * unit / other)[0] == 0.5 for unit in (1, 1000, 10**6) for other in {1, *known_numbers} if other
    )
