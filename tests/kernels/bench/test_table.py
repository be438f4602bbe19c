"""A table prints its rows with names and units, and leaves a notebook the same rows as data."""

import sys
from types import SimpleNamespace

import pytest
import torch

from kernels.bench.table import TABLE, Table


@pytest.fixture
def table():
    table = Table("squares", form="", n="words", square="MiB")
    table.add(form="three lines", n=8192, square=128.0)
    table.add(square=0.001, form="flash", n=16)
    return table


def test_it_prints_names_units_and_aligned_rows(table, capsys):
    table.show()
    assert capsys.readouterr().out.splitlines() == [
        "form         n (words)  square (MiB)",
        "three lines       8192           128",
        "flash               16         0.001",
    ]


def test_in_a_notebook_it_leaves_one_output_with_the_same_text(table, capsys, monkeypatch):
    left = []
    display = SimpleNamespace(display=lambda data, raw: left.append(data))
    shell = SimpleNamespace(kernel="a kernel")
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    table.show()
    assert capsys.readouterr().out == ""
    assert left == [
        {
            "text/plain": str(table),
            TABLE: {
                "name": "squares",
                "columns": [
                    {"name": "form", "unit": ""},
                    {"name": "n", "unit": "words"},
                    {"name": "square", "unit": "MiB"},
                ],
                "rows": [
                    {"form": "three lines", "n": 8192, "square": 128.0},
                    {"form": "flash", "n": 16, "square": 0.001},
                ],
            },
        }
    ]


@pytest.mark.parametrize(
    "value, text",
    [
        (0.40113, "0.4011"),
        (68719.4767, "68719"),
        (3.7e-44, "3.7e-44"),
        (-68719.4767, "-68719"),
        (-9999.4, "-9999"),
        (-0.40113, "-0.4011"),
        (-1e15, "-1e+15"),
        (True, "True"),
        (10**6, "1000000"),
        (None, "None"),
    ],
)
def test_numbers_read_well(value, text):
    table = Table("numbers", n="")
    table.add(n=value)
    assert str(table).split() == ["n", text]


def test_an_empty_table_prints_its_columns():
    assert str(Table("nothing", a="s", b="")) == "a (s)  b"


def test_a_row_that_does_not_fit_is_refused(table):
    with pytest.raises(ValueError, match=r"table squares has columns .* the row has"):
        table.add(form="three lines", n=1)
    with pytest.raises(TypeError, match="square is Tensor"):
        table.add(form="flash", n=1, square=torch.tensor(1.0))
    assert len(table.rows) == 2


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_json_cannot_hold_is_named(value, table):
    with pytest.raises(ValueError, match="which JSON cannot hold"):
        Table("t", error="").add(error=value)
