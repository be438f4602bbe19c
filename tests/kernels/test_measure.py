"""A table prints what figures read; a time is a median with its percentiles."""

import subprocess
import sys
from pathlib import Path
from time import sleep
from types import SimpleNamespace

import pytest
import torch

from kernels.measure import TABLE, Table, peak_memory, time

ROOT = Path(__file__).resolve().parents[2]


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


def test_a_time_is_a_median_between_its_percentiles(device):
    small, large = (torch.randn(n, n, device=device) for n in (16, 1024))
    short, long = time(lambda: small @ small), time(lambda: large @ large)
    assert 0 < short.low <= short.median <= short.high
    assert long.median > short.median


def test_a_time_is_in_milliseconds():
    assert 10 <= time(lambda: sleep(0.01)).median < 100


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_json_cannot_hold_is_named(value, table):
    with pytest.raises(ValueError, match="which JSON cannot hold"):
        Table("t", error="").add(error=value)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_peak_memory_without_a_gpu_says_what_else_there_is():
    with pytest.raises(RuntimeError, match=r"kernels\.cost"):
        peak_memory(lambda: None)


@pytest.mark.gpu
def test_peak_memory_counts_results_and_not_inputs(device):
    x = torch.zeros(2**20, device=device)
    assert peak_memory(lambda: x + 1) == 4 * 2**20
    assert peak_memory(lambda: (x + 1) + 1) == 8 * 2**20
    assert peak_memory(lambda: None) == 0


@pytest.mark.gpu
def test_peak_memory_leaves_out_what_the_first_matmul_takes_for_good():
    code = "import torch; from kernels.measure import peak_memory; a = torch.zeros(1024, 1024, device='cuda')"
    code += "; print(peak_memory(lambda: a @ a))"  # in a process of its own, for there it is the first
    printed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert int(printed) == 4 * 2**20
