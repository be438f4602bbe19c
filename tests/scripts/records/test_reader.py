"""A record is refused unless it is whole and what today's source would leave."""

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
from scripts.records import printed
from scripts.records.recorded import write

# Cells


def test_cells_are_known_by_their_tags(house):
    assert house.reader().names() == ["chain", "child", "kernel", "table"]
    assert [cell.id for cell in house.reader().snippet("chain").cells] == ["prose-1", "functions", "methods"]
    nbformat.validate(house.reader().snippet("chain"))


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
        house.reader().snippet("wrong")


def test_a_comment_that_looks_like_a_magic_stays_a_comment(house):
    house.snippet("comment", '# %% tags=["one"]\n# %timeit is not run here\n1\n')
    assert house.reader().snippet("comment").cells[0].source.startswith("# %timeit")


def test_an_unknown_snippet_is_named_with_those_that_there_are(house):
    with pytest.raises(records.RecordError, match=r"no snippet absent; there are: chain, child, kernel, table"):
        house.read("absent")


# What a record depends on


def test_a_stale_record_names_what_changed_and_how_to_run_it(house):
    house.pretend("chain")
    house.edit("kernels/base.py", "2 * x", "x + x")
    with pytest.raises(
        records.Stale, match=r"chain is stale: kernels\.base:double changed .*python -m scripts\.record chain"
    ):
        house.read("chain")


@pytest.mark.parametrize(
    ("path", "old", "new", "outdated"),
    [
        ("kernels/base.py", "2 * x", "x + x", ["chain"]),
        ("kernels/middle.py", "double(double(x))", "double(x)", ["chain"]),
        ("kernels/launch.py", "return innermost(x)", "return x", ["kernel"]),
        ("kernels/launch.py", "bystander(x)\n", "bystander(-x)\n", []),
        ("kernels/other.py", '"unit": ""', '"unit": "MiB"', ["table"]),
        ("kernels/other.py", "table+json", "other+json", ["table"]),
        ("kernels/base.py", "range(3)", "range(4)", []),
        ("snippets/chapter/table.py", "n=3", "n=4", ["table"]),
    ],
)
def test_a_change_outdates_what_ran_it_and_nothing_else(house, path, old, new, outdated):
    for name in house.reader().names():
        house.pretend(name)
    assert house.faults() == {}
    house.edit(path, old, new)
    assert sorted(house.faults()) == outdated


def test_all_faults_are_told_at_once(house):
    for name in ("chain", "kernel"):
        house.pretend(name)
        house.edit(f"snippets/chapter/{name}.py", 'tags=["', 'tags=["the-')
    faults = house.reader().faults()
    assert list(faults) == ["chain", "child", "kernel", "table", records.TESTS, records.RANDOM_CASES]
    stale, missing = records.Stale, records.Missing
    assert [type(fault) for fault in faults.values()] == [stale, missing, stale, missing, missing, missing]


def test_a_stale_record_can_be_looked_at_with_what_is_wrong(house):
    house.pretend("chain")
    assert house.reader().look("chain")[1] is None
    house.edit("kernels/base.py", "2 * x", "x + x")
    found, fault = house.reader().look("chain")
    assert found.outputs["methods"][0].text == "methods\n" and "kernels.base:double changed" in str(fault)
    assert found.executed >= {"kernels.middle:quadruple", "kernels.base:Counter.up", "kernels.base:double"}


def test_what_cannot_be_looked_at_is_none(house):
    found, fault = house.reader().look("chain")
    assert found is None and isinstance(fault, records.Missing)
    house.path("chain").write_text("{")
    found, fault = house.reader().look("chain")
    assert found is None and isinstance(fault, records.Stale)


def test_a_reader_of_stale_records_too_reads_what_it_can(house):
    house.pretend("table")
    house.edit("snippets/chapter/table.py", "n=3", "n=4")
    reader = house.reader(stale_too=True)
    assert reader.read("table").outputs["rows"][0].text == "rows\n"
    assert reader.compose("table").cells[0].outputs[0].text == "rows\n"
    with pytest.raises(records.Missing):
        reader.read("chain")
    house.path("chain").write_text("{")
    with pytest.raises(records.Stale, match="cannot be read"):
        house.reader(stale_too=True).read("chain")


def test_a_preview_shows_a_cell_that_the_stale_record_lacks(house):
    house.pretend("table")
    house.edit("snippets/chapter/table.py", 'tags=["rows"]', 'tags=["new"]')
    (cell,) = house.reader(stale_too=True).compose("table").cells
    assert cell.outputs == []


def test_executed_functions_are_named_as_they_are_today(house):
    house.pretend("chain")
    (house.root / "kernels/base.py").rename(house.root / "kernels/deeper.py")
    for path in ("kernels/middle.py", "snippets/chapter/chain.py"):
        house.edit(path, "kernels.base", "kernels.deeper")
    assert "kernels.deeper:Counter.up" in house.read("chain").executed
    assert house.read("chain").provenance["executed"][0] == "kernels.base:Counter.__init__"


def test_reading_a_record_again_reads_no_file(house, monkeypatch):
    house.pretend("chain")
    reader = house.reader()
    first = reader.read("chain")
    monkeypatch.setattr(Path, "read_text", None)
    assert reader.read("chain") is first


def test_the_reader_in_charge_is_asked_and_notes_of_which_snippets(house):
    house.pretend("chain")
    reader = house.reader()
    with reader.noting() as outer:
        records.read("chain")
        with reader.noting() as inner, pytest.raises(records.Missing):
            records.table("table", "squares")
        assert inner == {"table"}
    assert outer == {"chain", "table"}
    assert records.in_charge() is not reader


# What is refused


def test_a_missing_record_says_how_to_run_it(house):
    with pytest.raises(records.Missing, match=r"chain has not been run yet.*python -m scripts\.record chain"):
        house.read("chain")


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
    house.pretend("chain")
    house.edit("snippets/chapter/chain.record.ipynb", old, new)
    with pytest.raises(records.Stale, match=r"record of chain .*python -m scripts\.record chain"):
        house.read("chain")


def test_a_record_with_a_huge_output_is_refused_by_name(house):
    house.pretend("chain")
    notebook = nbformat.read(house.path("chain"), as_version=4)
    next(cell for cell in notebook.cells if cell.id == "functions").outputs[0].text = "x" * 200_000
    write(house.path("chain"), notebook)
    with pytest.raises(
        records.Stale, match=r"cell functions of the record of chain left an output .* show less; run it"
    ):
        house.read("chain")


@pytest.mark.parametrize(
    "steering",
    [
        "\x1b[31m", "\x1b[1;38;5;9m", "\x1b[2K", "\x1b[3A", "\x1b[?25l", "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\",
        "\x1bPq\x1b\\", "\x1b(B", "\x1bc", "\x9b31m", "\x00", "\x07", "\x08", "\r", "\x7f",
    ],
)  # fmt: skip
def test_what_steers_a_terminal_is_no_part_of_an_output(steering):
    kept = [{"text": f"a{steering}b\tc\n", "count": 1}]
    assert printed.plain(kept) == [{"text": "ab\tc\n", "count": 1}]


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.9, 0.99])
def test_a_truncated_record_is_refused_by_name(house, share):
    house.pretend("chain")
    whole = house.path("chain").read_bytes()
    house.path("chain").write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(records.Stale, match="record of chain cannot be read"):
        house.read("chain")


@pytest.mark.parametrize("content", [b"[]", b"null", b"\xff\xfe", b'{"cells": [], "metadata": {}}'])
def test_what_is_no_record_is_refused_by_name(house, content):
    house.pretend("chain")
    house.path("chain").write_bytes(content)
    with pytest.raises(records.Stale, match="record of chain"):
        house.read("chain")


@pytest.mark.parametrize(
    ("provenance", "message"),
    [
        ({"gpu": None}, "without a GPU"),
        ({"gpu": ""}, "without a GPU"),
        ({"interpreter": True}, "in Triton's interpreter"),
    ],
)
def test_a_record_that_was_not_made_on_a_gpu_is_refused(house, provenance, message):
    house.pretend("chain", **provenance)
    with pytest.raises(records.Stale, match=f"record of chain was made {message}"):
        house.read("chain")


def test_a_record_that_leaves_out_where_it_ran_is_refused(house):
    house.pretend("chain")
    notebook = nbformat.read(house.path("chain"), as_version=4)
    del notebook.metadata[records.METADATA]["driver"]
    write(house.path("chain"), notebook)
    with pytest.raises(records.Stale, match="record of chain does not state its driver"):
        house.read("chain")


# What is shown


def test_pages_show_todays_cells_with_the_recorded_outputs(house):
    house.pretend("chain")
    house.edit("snippets/chapter/chain.py", "print(quadruple(3))", "print(quadruple(3))  # today")
    house.edit("snippets/chapter/chain.record.ipynb", "print(quadruple(3))", "print('of the record')")
    notebook = house.reader().compose("chain")
    nbformat.validate(notebook)
    prose, functions, methods = notebook.cells
    assert prose.source.startswith("# A chain")
    assert functions.source.endswith("# today") and functions.outputs[0].text == "functions\n"
    assert methods.execution_count == 2 and methods.outputs[0].text == "methods\n"
    assert "of the record" not in nbformat.writes(notebook)
    assert notebook.metadata[records.METADATA].gpu == "A GPU"


def test_without_a_record_there_are_cells_and_no_outputs(house):
    notebook = house.reader().compose("chain")
    nbformat.validate(notebook)
    assert [cell.get("outputs") for cell in notebook.cells] == [None, [], []]
    assert records.METADATA not in notebook.metadata


def test_a_stale_record_is_not_composed(house):
    house.pretend("chain")
    house.edit("kernels/base.py", "2 * x", "x + x")
    with pytest.raises(records.Stale):
        house.reader().compose("chain")


def test_tables_are_read_by_name(house):
    notebook = house.reader().snippet("table")
    payloads = [{"name": name, "columns": [], "rows": [{"n": n}]} for n, name in enumerate(("one", "two", "two"))]
    notebook.cells[0].outputs = [
        nbformat.v4.new_output("stream", text="text\n"),
        *(nbformat.v4.new_output("display_data", {records.TABLE: payload}) for payload in payloads),
    ]
    read = records.Record("table", {}, {"rows": notebook.cells[0].outputs}, frozenset({"a:b"}))
    assert read.tables() == payloads
    assert read.table("one") == [{"n": 0}]
    with pytest.raises(records.RecordError, match=r"table holds 0 tables named three.*one, two, two"):
        read.table("three")
    with pytest.raises(records.RecordError, match="2 tables named two"):
        read.table("two")


# Whole or not at all

WRITER = """
import os, signal
from pathlib import Path
import nbformat
from scripts.records import METADATA
from scripts.records.recorded import write
path = Path("snippets/chapter/chain.record.ipynb")
notebook = nbformat.read(path, as_version=4)
notebook.cells[1].outputs = [nbformat.v4.new_output("stream", text="new " * 40_000) for _ in range(13)]
notebook.metadata[METADATA]["gpu"] = "new"
die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
"""


def write_elsewhere(house, then):
    """Write the record of chain in a process of its own, in which ``then`` has its way."""
    return subprocess.Popen([sys.executable, "-c", WRITER + then], cwd=house.root, stdout=subprocess.PIPE)


@pytest.mark.parametrize(
    ("moment", "after"),
    [
        ("nbformat.writes = die", "A GPU"),
        ("Path.open = lambda path, *_, **__: open(path, 'w').close() or die()", "A GPU"),
        ("os.fsync = die", "A GPU"),
        ("Path.replace = die", "A GPU"),
        ("os.open = die", "new"),
    ],
)
def test_killed_in_the_write_the_record_is_whole(house, moment, after):
    house.pretend("chain")
    process = write_elsewhere(house, f"{moment}; write(path, notebook)")
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGKILL
    assert house.read("chain").provenance["gpu"] == after


def test_killed_at_random_moments_of_many_writes_the_record_is_whole(house):
    house.pretend("chain")
    moments = random.Random(0)
    for _ in range(3):
        process = write_elsewhere(house, "while True: write(path, notebook); print(flush=True)")
        process.stdout.readline()  # one write is over
        time.sleep(moments.uniform(0, 0.3))
        process.kill()
        process.communicate()
        assert house.read("chain").provenance["gpu"] == "new"


def test_a_full_disk_leaves_the_old_record_and_nothing_beside_it(house, monkeypatch):
    house.pretend("chain")
    before = house.path("chain").read_bytes()

    def full(file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        house.pretend("chain", gpu="Another")
    assert house.path("chain").read_bytes() == before
    assert house.beside_snippets() == ["chain.record.ipynb"]


def test_a_record_is_an_ordinary_notebook(house):
    house.pretend("chain")
    nbformat.validate(json.loads(house.path("chain").read_text()), version=4)


LATIN_1 = "\xe9 = 1\n".encode("latin-1")


@pytest.mark.parametrize(
    ("content", "said"),
    [(LATIN_1, " is not UTF-8: its byte 0"), (b"x = 1\ny = (\n", ", line 2: "), (b"x = 1\x00\n", ".*null")],
    ids=["latin-1", "syntax", "NUL"],
)
def test_a_module_that_is_no_python_is_named_in_a_sentence(house, content, said):
    before = (house.root / "kernels/base.py").read_bytes()
    (house.root / "kernels/base.py").write_bytes(content)
    with pytest.raises(records.RecordError, match=f"kernels/base.py{said}"):
        house.reader().library  # noqa: B018
    (house.root / "kernels/base.py").write_bytes(before)
    assert house.reader().library.at("kernels.base:double")


def test_a_snippet_that_is_not_utf_8_is_named_in_a_sentence(house):
    (house.root / "snippets/chapter/chain.py").write_bytes(LATIN_1)
    with pytest.raises(records.RecordError, match=r"snippets/chapter/chain\.py is not UTF-8: its byte 0"):
        house.reader().faults()


@pytest.mark.parametrize("name", [".#base.py", "._base.py"])
def test_a_file_that_an_editor_keeps_for_itself_is_none_of_ours(house, name):
    before = house.reader().names()
    for room in ("kernels", "snippets/chapter"):
        (house.root / room / name).symlink_to("nobody@nowhere") if "#" in name else (
            house.root / room / name
        ).write_bytes(b"\x00\x05\x16\xff")
    house.reader().library.at("kernels.base:double")
    assert house.reader().names() == before


@pytest.mark.parametrize("gpu, chip", [("NVIDIA H200", "H200"), ("NVIDIA H100 80GB HBM3", "H100")])
def test_a_record_says_which_chip_it_ran_on(gpu, chip):
    assert records.Record("any", {"gpu": gpu}, {}, frozenset()).chip == chip
