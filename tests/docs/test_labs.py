"""A lab's page has the task, three hints and, folded at its end, the solution, which stands nowhere else."""

import re

import pytest

from scripts.records import ROOT
from scripts.site.pages import labs

DOCS = ROOT / "docs"
LABS = labs.every(ROOT)
COLUMNS = 84  # of a listing, on a screen of 1280 pixels
SOLUTION = re.compile(r"^ *``` source\n *tests\.labs\.", re.MULTILINE)


def text(lab):
    return (DOCS / lab.page).read_text(encoding="utf-8")


def test_every_page_is_a_labs_and_every_lab_has_its_page():
    pages = {path.stem for path in (DOCS / "labs").glob("*.md")}
    assert pages == {lab.name for lab in LABS}


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_a_page_has_the_task_three_hints_and_the_solution_folded_at_its_end(lab):
    page = text(lab)
    headings = re.findall(r"^## (.+)$", page, re.MULTILINE)
    assert headings == ["Hints", "What to notice once it passes", "The solution"]
    assert re.findall(r'^\?\?\? question "Hint (\d): .+"$', page, re.MULTILINE) == ["1", "2", "3"]
    assert re.search(
        r"^!\[.+\]\(\.\./assets/drawings/[\w-]+\.svg\)\{ \.drawing \}$|^``` (live|figure)", page, re.MULTILINE
    )
    before, solution = page.split("## The solution")
    assert not SOLUTION.search(before)
    assert re.fullmatch(
        r'\n+\?\?\? question ".+"\n(    ``` source\n    tests\.labs\.\w+\.right_\d\S*\n    ```\n+)+', solution
    )
    task = labs.TASK.search(page)
    assert task and task["task"].count("\n") < 20


def test_no_other_page_quotes_a_solution():
    assert [
        path.name for path in DOCS.rglob("*.md") if path.parent.name != "labs" and SOLUTION.search(path.read_text())
    ] == []


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_the_chapter_of_a_lab_leads_to_it(lab):
    chapter = (DOCS / "chapters" / f"{lab.chapter}.md").read_text(encoding="utf-8")
    assert f"<!-- labs of {lab.chapter} -->" in chapter


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_no_line_of_a_start_file_is_cut_on_a_window_of_1280_pixels(lab):
    start = ROOT / labs.CATALOGUE / lab.name.replace("-", "_") / "start.py"
    assert [line for line in start.read_text(encoding="utf-8").splitlines() if len(line) > COLUMNS] == []
