"""A record is current, or listed as behind with a reason; everything else stops a build, and says what to do."""

import os
import re

import pytest

from scripts import records
from scripts.records import METADATA, Missing, RecordError, Stale
from scripts.records.record_file import write_atomically

RECORD = "snippets/chapter/chain.record.ipynb"
BEHIND, LISTED = "snippets/behind.toml", 'chain = "It needs a day."'
NEVER, STALE = "snippet chain has never run", "the record of chain is stale: kernels.base, snippet changed"
COMMAND = ".venv/bin/python -m scripts.records chain"
REMEDY = f"; run it on a GPU with: {COMMAND}, or list it in snippets/behind.toml with a reason"


@pytest.fixture
def project(project):
    """A project with one snippet, whose record is current."""
    for name in ("launch", "ranks"):
        (project.root / f"snippets/chapter/{name}.py").unlink()
    project.fake_record("chain")
    return project


def change(project) -> None:
    project.edit("kernels/base.py", "times * x", "x * times")
    project.edit("snippets/chapter/chain.py", "apart(6)", "apart(7)")


def faults(project) -> dict[str, str]:
    return {name: str(fault) for name, fault in project.reader().faults().items()}


@pytest.mark.parametrize("gpu, chip", [("NVIDIA H200", "H200"), ("NVIDIA A100-SXM4-80GB", "A100")])
def test_current(project, gpu, chip):
    project.fake_record("chain", gpu=gpu)
    reader = project.reader()
    with reader.track_reads() as outer, reader.track_reads() as inner:
        record = records.read("chain")
    assert inner == {"chain"} <= outer and record is reader.read("chain") and records.active_reader() is not reader
    assert faults(project) == {} and (record.behind, record.changed, record.chip) == ("", (), chip)
    assert record.outputs["methods"][0].text == "methods\n" and record.sources["methods"].startswith("Counter()")


def test_stale_stops_unless_it_is_listed(project):
    change(project)
    assert faults(project) == {"chain": STALE + REMEDY}
    with pytest.raises(Stale, match=STALE):
        project.reader().read("chain")
    assert project.reader(preview=True).read("chain").behind == "not recorded since its source changed"
    project.write(BEHIND, LISTED)
    record = project.reader().read("chain")
    assert (record.behind, record.changed) == ("It needs a day.", ("kernels.base", "snippet")) and faults(project) == {}


def test_a_module_that_is_not_reached_does_not_matter_nor_whether_it_is_there(project):
    """A run that reached more, by a coarser rule, is of today's source if all that is reached today is as it was."""
    project.edit("kernels/base.py", "class", "import kernels.other\n\n\nclass")
    more = project.reader().digests("chain")
    project.edit("kernels/base.py", "import kernels.other\n\n\n", "")
    project.fake_record("chain", digest=more | project.reader().digests("chain") | {"kernels.bench.gone": "0"})
    project.edit("kernels/other.py", "1", "2")
    assert faults(project) == {}
    (project.root / "kernels/other.py").unlink()
    assert faults(project) == {}


def test_never_run_stops_unless_it_is_listed(project):
    project.path("chain").unlink()
    assert faults(project) == {"chain": NEVER + REMEDY}
    project.write(BEHIND, LISTED)
    assert faults(project) == {}
    with pytest.raises(Missing, match=NEVER):
        project.reader(preview=True).read("chain")


def test_what_is_listed_for_nothing_stops(project):
    project.write(BEHIND, f'{LISTED}\nchian = "Why?"')
    expected = {"chain": "its record is current: take the line out", "chian": "there is no such snippet"}
    assert faults(project) == {name: f"{BEHIND} lists {name}, and {why}" for name, why in expected.items()}


SUM, UNREADABLE = "was changed after it was made: its checksum fails", "can't be read"
REFUSED = [({"gpu": None}, "was made without a GPU"), ({"interpreter": True}, "was made in Triton's interpreter")]
REFUSED += [({"commit": None}, "was made without Git"), ({"executed": []}, "executed nothing of kernels/")]
REFUSED += [({"gpu": "NVIDIA B999"}, "'NVIDIA B999' is none of those in kernels/bench/hardware.py: H100")]
REFUSED += [(("NVIDIA H200", "NVIDIA H100"), SUM), (('"any"', '"all"'), SUM), (('"methods\\n"', '"better\\n"'), SUM)]
REFUSED += [((METADATA, "elsewhere"), UNREADABLE), (('"outputs"', '<<<<<<< ours\n"outputs"'), UNREADABLE)]


@pytest.mark.parametrize("change_of_record, words", REFUSED)
def test_what_is_no_whole_record_of_a_gpu_is_refused_even_if_it_is_listed(project, change_of_record, words):
    project.fake_record("chain", **change_of_record) if isinstance(change_of_record, dict) else project.edit(
        RECORD, *change_of_record
    )
    project.write(BEHIND, LISTED)
    message = faults(project)["chain"]
    assert message.startswith("the record of chain ") and message.endswith(COMMAND) and words in message
    with pytest.raises(RecordError, match="the record of chain "):
        project.reader(preview=True).read("chain")


def test_earlier_reads_the_earlier_record_and_else_the_newest(project):
    assert not project.reader(earlier=True).read("chain").earlier
    project.write("snippets/earlier/chapter/chain.record.ipynb", project.path("chain").read_text())
    change(project)
    project.fake_record("chain", date="1")
    found = [project.reader(earlier=earlier).read("chain") for earlier in (False, True)]
    assert [(record.earlier, record.provenance["date"]) for record in found] == [(False, "1"), (True, "0")]


def test_a_page_has_todays_cells_with_the_recorded_outputs(project):
    change(project)
    project.edit("snippets/chapter/chain.py", '"methods"', '"renamed"')
    _, functions, renamed = project.reader(preview=True).compose("chain").cells
    assert functions.source.endswith("apart(7)))") and functions.outputs[0].text == "functions\n"
    assert (renamed.outputs, renamed.execution_count) == ([], 2)
    project.path("chain").unlink()
    assert [cell.get("outputs") for cell in project.reader().compose("chain").cells] == [None, [], []]


TWICE = '# %% tags=["same"]\n1\n\n# %% tags=["same"]\n2\n'
WRONG = {"1 + 1\n": "has tags [], and needs one", TWICE: "more than one cell is tagged same"}
WRONG |= {'# %% tags=["magic"]\n%timeit 1\n': "cell magic isn't plain Python"}


@pytest.mark.parametrize("text", WRONG)
def test_a_snippet_has_one_tag_a_cell_and_no_magic(project, text):
    project.write("snippets/chapter/wrong.py", text)
    with pytest.raises(RecordError, match=f"snippet wrong: .*{re.escape(WRONG[text])}"):
        project.reader().snippet("wrong")


def test_what_is_no_list_and_a_second_snippet_of_a_name_are_refused(project):
    project.write(BEHIND, "chain = It needs a day.")
    with pytest.raises(RecordError, match=r"snippets/behind\.toml: .*line 1"):
        project.reader().faults()
    project.write("snippets/another/chain.py", "")
    with pytest.raises(RecordError, match=r"called chain: snippets/another/chain\.py and snippets/chapter/chain\.py"):
        project.reader().names()


def test_a_full_disk_leaves_the_old_record_and_nothing_beside_it(project, monkeypatch):
    before, files = project.path("chain").read_bytes(), {*project.path("chain").parent.iterdir()}
    monkeypatch.setattr(os, "fsync", lambda file: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_atomically(project.path("chain"), "new")
    assert project.path("chain").read_bytes() == before and {*project.path("chain").parent.iterdir()} == files
