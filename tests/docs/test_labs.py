"""A lab's page has the task, three hints and, folded at its end, the solution, which stands nowhere else."""

import re

import pytest

from scripts.records import ROOT
from scripts.site.fences import symbols
from scripts.site.pages import labs

DOCS = ROOT / "docs"
LABS = labs.all_labs(ROOT)
SOLUTION = re.compile(r"^ *``` source\n *scripts\.labs\.catalogue\.\w+\.solution", re.MULTILINE)


def page_text(lab):
    return (DOCS / lab.page).read_text(encoding="utf-8")


def test_every_page_is_a_labs_and_every_lab_has_its_page():
    pages = {path.stem for path in (DOCS / "labs").glob("*.md")}
    assert pages == {lab.name for lab in LABS}


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_a_page_has_the_task_three_hints_and_the_solution_folded_at_its_end(lab):
    page = page_text(lab)
    headings = re.findall(r"^## (.+)$", page, re.MULTILINE)
    assert headings == ["Hints", "What to notice once it passes", "The solution"]
    assert re.findall(r'^\?\?\? question "Hint (\d): .+"$', page, re.MULTILINE) == ["1", "2", "3"]
    assert re.search(
        r"^!\[.+\]\(\.\./assets/drawings/[\w-]+\.svg\)\{ \.drawing \}$|^``` (live|figure)", page, re.MULTILINE
    )
    before, solution = page.split("## The solution")
    assert not SOLUTION.search(before)
    quoted = r"    ``` source\n    scripts\.labs\.catalogue\.\w+\.solution\S*\n    ```\n+"
    assert re.fullmatch(rf'\n+\?\?\? question ".+"\n({quoted})+', solution)
    task = labs.TASK.search(page)
    assert task and task["task"].count("\n") < 20


def test_no_other_page_quotes_a_solution():
    assert [
        path.name for path in DOCS.rglob("*.md") if path.parent.name != "labs" and SOLUTION.search(path.read_text())
    ] == []


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_the_chapter_of_a_lab_leads_to_it(lab):
    chapter = (DOCS / "chapters" / lab.chapter / "index.md").read_text(encoding="utf-8")
    assert f"<!-- labs of {lab.chapter} -->" in chapter


MAX_WIDTH = 84  # characters of a listing that a window of 1280 pixels shows
LISTING = re.compile(r"^``` source\n(scripts\.labs\.catalogue\.\w+\.start\S*)$", re.MULTILINE)


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_a_page_shows_the_file_to_begin_with_by_the_readers_name_and_cuts_no_line(lab):
    (mark,) = LISTING.findall(page_text(lab))
    listing = symbols.quote(mark, ROOT)
    assert [line for line in listing.text.splitlines() if len(line) > MAX_WIDTH] == []
    assert listing.title.partition(" · ")[0] == f"labs/{lab.file}"
