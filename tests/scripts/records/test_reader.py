"""A record is refused unless it is whole and what today's source would leave."""

import ast
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest

from scripts import records

ROOT = Path(__file__).parents[2]
EVERY_SYNTAX = Path(__file__).parent / "every_syntax.txt"
FROZEN = "b571d2af7ae364b1ca7f384cf7d99a9a72b28dc1023d307a3dd48a8f508b6155"


@pytest.fixture(autouse=True)
def in_the_house(house, monkeypatch):
    monkeypatch.setattr(records, "ROOT", house.root)


def record(name, **provenance):
    """Write the record that a run would have left; each cell printed its tag."""
    notebook = records.snippet(name)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [nbformat.v4.new_output("stream", text=f"{cell.id}\n")]
    stated = dict.fromkeys(("driver", "cuda", "torch", "triton", "python", "date"), "0")
    stated |= {"gpu": "A GPU", "executed": ["kernels.base:double"], "interpreter": False}
    notebook.metadata[records.METADATA] = stated | {"digest": records.digest(name)} | provenance
    records.write(name, notebook)


def stale():
    found = []
    for name in records.names():
        try:
            records.read(name)
        except records.Missing:
            pass
        except records.Stale as error:
            assert name in str(error)
            found.append(name)
    return found


# Cells


def test_cells_are_known_by_their_tags(house):
    assert records.names() == ["chain", "kernel", "table"]
    assert [cell.id for cell in records.snippet("chain").cells] == ["prose-1", "functions", "methods"]
    nbformat.validate(records.snippet("chain"))


@pytest.mark.parametrize(
    "text",
    [
        "1 + 1\n",
        "# %%\n1\n",
        '# %% tags=["one", "two"]\n1\n',
        '# %% tags=["two words"]\n1\n',
        '# %% tags=["same"]\n1\n\n# %% tags=["same"]\n2\n',
        '# %% [markdown]\n# prose\n\n# %% tags=["prose-1"]\n2\n',
        '# %% tags=["magic"]\n%timeit 1\n',
        '# %% tags=["magic"]\n!ls\n',
        '# %% tags=["magic"]\nget_ipython().run_line_magic("timeit", "1")\n',
        '# %% [raw]\n# text\n\n# %% tags=["one"]\n1\n',
    ],
)
def test_a_cell_without_one_tag_of_its_own_or_with_a_magic_is_refused(house, text):
    house.snippet("wrong", text)
    with pytest.raises(records.RecordError, match="snippet wrong"):
        records.snippet("wrong")


def test_a_comment_that_looks_like_a_magic_stays_a_comment(house):
    house.snippet("comment", '# %% tags=["one"]\n# %timeit is not run here\n1\n')
    assert records.snippet("comment").cells[0].source.startswith("# %timeit")


def test_an_unknown_snippet_is_named_with_those_that_there_are():
    with pytest.raises(records.RecordError, match=r"no snippet absent; there are: chain, kernel, table"):
        records.read("absent")


# What a record depends on


def test_the_digest_follows_imports_also_inside_functions():
    assert set(records.digest("chain")) == {"snippet", "kernels.base", "kernels.middle"}
    assert set(records.digest("table")) == {"snippet", "kernels.other"}


@pytest.mark.parametrize(
    "line",
    [
        "import kernels",
        "import kernels.base as base",
        "from kernels import base",
        "from . import base",
        "from .base import double",
        "from kernels.absent import double",
    ],
)
def test_an_import_that_the_digest_cannot_follow_is_refused(house, line):
    house.edit("kernels/middle.py", "    from kernels.base import double", f"    {line}")
    with pytest.raises(records.RecordError, match=r"kernels\.(middle|absent)"):
        records.digest("chain")


@pytest.mark.parametrize(
    ("path", "old", "new", "outdated"),
    [
        ("kernels/base.py", "2 * x", "x + x", ["chain"]),
        ("kernels/middle.py", "double(double(x))", "double(x)", ["chain"]),
        ("kernels/launch.py", "return innermost(x)", "return x", ["kernel"]),
        ("kernels/other.py", '"unit": ""', '"unit": "MiB"', ["table"]),
        ("kernels/__init__.py", '"""Imports nothing."""', "changed = True", []),
        ("snippets/chapter/table.py", "n=3", "n=4", ["table"]),
    ],
)
def test_a_change_outdates_what_imports_it_and_nothing_else(house, path, old, new, outdated):
    for name in records.names():
        record(name)
    assert stale() == []
    house.edit(path, old, new)
    assert stale() == outdated


def test_a_stale_record_names_the_module_that_changed(house):
    record("chain")
    house.edit("kernels/base.py", "2 * x", "x + x")
    with pytest.raises(records.Stale, match=r"chain is stale: kernels\.base changed .*python -m scripts\.record chain"):
        records.read("chain")


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("kernels/base.py", "  # twice", "  # two times"),
        ("kernels/base.py", '"""What the others stand on."""', '"""Another."""'),
        ("kernels/base.py", '    """Twice as much."""\n', ""),
        ("kernels/base.py", '    """Counts."""', '    """Counts up\n    and down.\n    """'),
        ("kernels/base.py", "def unused", "\n\n\n# A heading\n\n\ndef unused"),
        ("kernels/base.py", "2 * x", "(2\n        * x)"),
        ("kernels/middle.py", "def quadruple(x):", "def quadruple(x):\n    '''Four times.'''"),
        ("snippets/chapter/chain.py", "print(quadruple(3))", "print(quadruple(3))  # a comment"),
        ("snippets/chapter/chain.py", "# # A chain of imports", "# # Another title"),
    ],
)
def test_a_comment_a_docstring_or_a_line_break_outdates_nothing(house, path, old, new):
    record("chain")
    house.edit(path, old, new)
    assert stale() == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\nprint(quadruple(3))\n", '\n# %% tags=["more"]\nprint(quadruple(3))\n'),
        ('\n# %% tags=["methods"]\nCounter.at(1)', '\nCounter.at(1)\n# %% tags=["methods"]\nCounter.at(1)'),
        ('\n# %% tags=["methods"]\n', "\n"),
        ('tags=["methods"]', 'tags=["classes"]'),
    ],
    ids=["one more cell", "a line moved up", "cells joined", "tag renamed"],
)
def test_a_cell_boundary_or_tag_that_moves_outdates_its_snippet(house, old, new):
    record("chain")
    house.edit("snippets/chapter/chain.py", old, new)
    with pytest.raises(records.Stale, match="the snippet itself"):
        records.read("chain")


def test_the_order_of_cells_counts(house):
    cells = ['# %% tags=["a"]\n1\n', '# %% tags=["b"]\n1\n']
    house.snippet("order", "\n".join(cells))
    before = records.digest("order")
    house.snippet("order", "\n".join(reversed(cells)))
    assert records.digest("order") != before


def test_a_string_that_a_cell_displays_is_no_docstring(house):
    house.snippet("shown", '# %% tags=["a"]\n"one"\n')
    before = records.digest("shown")
    house.snippet("shown", '# %% tags=["a"]\n"two"\n')
    assert records.digest("shown") != before


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1", "x = 1.0"),
        ("x = 1", "x = True"),
        ("x = 1", "x = -1"),
        ("x = 'a'", "x = b'a'"),
        ("x = ''", "x = None"),
        ("x = ...", "x = None"),
        ("x = 'None'", "x = None"),
        ("x = 1e999", "x = 1e308"),
        ("x = '\\ud800'", "x = '\\ud801'"),
        ("x = ['ab', 'c']", "x = ['a', 'bc']"),
        ("{**a, 'b': 1}", "{a: 1, 'b': 1}"),
        ("f'{a}b'", "f'{a}' + 'b'"),
        ("f'{a}'", "f'{a!r}'"),
        ("f'{a:1}'", "f'{a:2}'"),
        ("f'{a}b{c}'", "f'{a}{c}b'"),
        ("def f(a, *, b): ...", "def f(a, b): ..."),
        ("def f(a, b=1): ...", "def f(a=1, b=2): ..."),
        ("def f(*, a, b=1): ...", "def f(*, a=1, b): ..."),
        ("def f(): ...", "async def f(): ..."),
        ("def f(): ...", "@g\ndef f(): ..."),
        ("def f(): return 1", "def f(): return"),
        ("def f():\n  1\n  'text'", "def f():\n  1\n  'other'"),
        ("from a import b", "from .a import b"),
        ("import a as b", "import a"),
        ("[a for a in b]", "(a for a in b)"),
        ("x[1:]", "x[:1]"),
        ("a < b", "a <= b"),
        ("x: int", "(x): int"),
    ],
)
def test_two_programs_have_two_digests(one, other):
    assert records._hash(ast.parse(one)) != records._hash(ast.parse(other))


def test_the_digest_is_the_same_on_every_python(any_python):
    """Our scripts alone, with nothing installed: the other Pythons have no nbformat."""
    script = """
import ast, pathlib, sys, types
sys.modules["jupytext"] = types.ModuleType("jupytext")
sys.modules["nbformat"] = types.SimpleNamespace(NotebookNode=dict)
from scripts import records
print(records._hash(ast.parse(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))))
"""
    run = [any_python, "-W", "ignore", "-c", script, str(EVERY_SYNTAX)]
    assert subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip() == FROZEN


# What is refused


def test_a_missing_record_says_how_to_run_it():
    with pytest.raises(records.Missing, match=r"chain has not been run yet.*python -m scripts\.record chain"):
        records.read("chain")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"functions\\n"', '"better\\n"'),
        ('"A GPU"', '"A faster GPU"'),
        ('"date": "0"', '"date": "1"'),
        ('"kernels.base:double"', '"kernels.flash.call:flash_attention"'),
        ('"interpreter": false', '"interpreter": true'),
        ('   "id": "functions"', '   "id": "methods-too"'),
        ('"checksum"', '"sum"'),
        ('"attention_handbook"', '"elsewhere"'),
        ('"cells"', '"rows"'),
        ('"stream"', '"river"'),
        ('"outputs"', '<<<<<<< ours\n"outputs"'),
    ],
)
def test_a_record_edited_by_hand_is_refused_by_name(house, old, new):
    record("chain")
    house.edit("snippets/chapter/chain.record.ipynb", old, new)
    with pytest.raises(records.Stale, match=r"record of chain .*python -m scripts\.record chain"):
        records.read("chain")


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.9, 0.99])
def test_a_truncated_record_is_refused_by_name(house, share):
    record("chain")
    whole = house.path("chain").read_bytes()
    house.path("chain").write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(records.Stale, match="record of chain cannot be read"):
        records.read("chain")


@pytest.mark.parametrize("content", [b"[]", b"null", b"\xff\xfe", b'{"cells": [], "metadata": {}}'])
def test_what_is_no_record_is_refused_by_name(house, content):
    record("chain")
    house.path("chain").write_bytes(content)
    with pytest.raises(records.Stale, match="record of chain"):
        records.read("chain")


@pytest.mark.parametrize(
    ("provenance", "message"),
    [
        ({"gpu": None}, "without a GPU"),
        ({"gpu": ""}, "without a GPU"),
        ({"interpreter": True}, "in Triton's interpreter"),
    ],
)
def test_a_record_that_was_not_made_on_a_gpu_is_refused(provenance, message):
    record("chain", **provenance)
    with pytest.raises(records.Stale, match=f"record of chain was made {message}"):
        records.read("chain")


def test_a_record_that_leaves_out_where_it_ran_is_refused(house):
    record("chain")
    notebook = nbformat.read(house.path("chain"), as_version=4)
    del notebook.metadata[records.METADATA]["driver"]
    records.write("chain", notebook)
    with pytest.raises(records.Stale, match="record of chain does not state its driver"):
        records.read("chain")


# What is shown


def test_pages_show_todays_cells_with_the_recorded_outputs(house):
    record("chain")
    house.edit("snippets/chapter/chain.py", "print(quadruple(3))", "print(quadruple(3))  # today")
    house.edit("snippets/chapter/chain.record.ipynb", "print(quadruple(3))", "print('of the record')")
    notebook = records.compose("chain")
    nbformat.validate(notebook)
    prose, functions, methods = notebook.cells
    assert prose.source.startswith("# A chain")
    assert functions.source.endswith("# today") and functions.outputs[0].text == "functions\n"
    assert methods.execution_count == 2 and methods.outputs[0].text == "methods\n"
    assert "of the record" not in nbformat.writes(notebook)
    assert notebook.metadata[records.METADATA].gpu == "A GPU"


def test_without_a_record_there_are_cells_and_no_outputs():
    notebook = records.compose("chain")
    nbformat.validate(notebook)
    assert [cell.get("outputs") for cell in notebook.cells] == [None, [], []]
    assert records.METADATA not in notebook.metadata


def test_a_stale_record_is_not_composed(house):
    record("chain")
    house.edit("kernels/base.py", "2 * x", "x + x")
    with pytest.raises(records.Stale):
        records.compose("chain")


def test_tables_are_read_by_name():
    notebook = records.snippet("table")
    payloads = [{"name": name, "columns": [], "rows": [{"n": n}]} for n, name in enumerate(("one", "two", "two"))]
    notebook.cells[0].outputs = [
        nbformat.v4.new_output("stream", text="text\n"),
        *(nbformat.v4.new_output("display_data", {records.TABLE: payload}) for payload in payloads),
    ]
    read = records.Record("table", {"executed": ["a:b"]}, {"rows": notebook.cells[0].outputs})
    assert read.tables() == payloads
    assert read.table("one") == [{"n": 0}]
    assert read.executed == {"a:b"}
    with pytest.raises(records.RecordError, match=r"table holds 0 tables named three.*one, two, two"):
        read.table("three")
    with pytest.raises(records.RecordError, match="2 tables named two"):
        read.table("two")


# Whole or not at all

WRITER = """
import os, signal, sys
from scripts import records
notebook = records.snippet("chain")
notebook.cells[1].outputs = [records.nbformat.v4.new_output("stream", text="new " * 500_000)]
stated = dict.fromkeys(records.PROVENANCE, "new") | dict(interpreter=False, digest=records.digest("chain"), executed=[])
notebook.metadata[records.METADATA] = stated
die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
"""


def write_elsewhere(house, then):
    """Write the record of chain in a process of its own, in which ``then`` has its way."""
    return subprocess.Popen([sys.executable, "-c", WRITER + then], cwd=house.root, stdout=subprocess.PIPE)


@pytest.mark.parametrize(
    ("moment", "after"),
    [
        ("records.nbformat.writes = die", "A GPU"),
        ("records.Path.open = lambda path, *_, **__: open(path, 'w').close() or die()", "A GPU"),
        ("records.os.fsync = die", "A GPU"),
        ("records.Path.replace = die", "A GPU"),
        ("records.os.open = die", "new"),
    ],
)
def test_killed_in_the_write_the_record_is_whole(house, moment, after):
    record("chain")
    process = write_elsewhere(house, f"{moment}; records.write('chain', notebook)")
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGKILL
    assert records.read("chain").provenance["gpu"] == after


def test_killed_at_random_moments_of_many_writes_the_record_is_whole(house):
    moments = random.Random(0)
    for _ in range(3):
        process = write_elsewhere(house, "while True: records.write('chain', notebook); print(flush=True)")
        process.stdout.readline()  # one write is over
        time.sleep(moments.uniform(0, 0.3))
        process.kill()
        process.communicate()
        assert records.read("chain").provenance["gpu"] == "new"


def test_a_full_disk_leaves_the_old_record_and_nothing_beside_it(house, monkeypatch):
    record("chain")
    before = house.path("chain").read_bytes()

    def full(file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        record("chain", gpu="Another")
    assert house.path("chain").read_bytes() == before
    assert house.beside_snippets() == ["chain.record.ipynb"]


def test_a_record_is_an_ordinary_notebook(house):
    record("chain")
    nbformat.validate(json.loads(house.path("chain").read_text()), version=4)
