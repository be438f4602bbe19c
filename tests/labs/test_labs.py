"""Every lab accepts solutions written in three ways, rejects every wrong one, and says whose mistake it is."""

import ast

import pytest

from scripts.labs import about, child, fit, judge
from scripts.labs.about import ROOT
from scripts.labs.lab import load
from scripts.labs.message import told

LABS = {each.slug: each for each in about.every()}
FILES = {each.slug: sorted((ROOT / "tests" / "labs" / each.folder).glob("*.py")) for each in LABS.values()}
RIGHT = [(slug, file) for slug, files in FILES.items() for file in files if file.stem.startswith("right_")]
WRONG = [(slug, file) for slug, files in FILES.items() for file in files if file.stem.startswith("wrong_")]


def ids(value):
    return value if isinstance(value, str) else value.stem


def names(file):
    """Which mistake the grader must name, if the file says so: ``names = "last-block-missing"``."""
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "names":
            return node.value.value
    return None


def verdict(slug, file):
    lab = load(slug)
    if says := fit.unfit(lab.about, file):
        return lab, judge.Verdict(judge.Rejection("", says))
    return lab, judge.judge(lab, judge.functions_of(file), str(file))


@pytest.mark.parametrize("slug, file", RIGHT, ids=ids)
def test_a_right_one_passes(slug, file):
    lab, found = verdict(slug, file)
    assert found.passed, told(lab, found)
    assert "passed" in told(lab, found)
    assert found.seconds < child.SECONDS, "a solution would be stopped before it is judged"


@pytest.mark.parametrize("slug, file", WRONG, ids=ids)
def test_a_wrong_one_is_rejected_and_named(slug, file):
    lab, found = verdict(slug, file)
    assert not found.passed, f"{file.name} passes all cases"
    message = told(lab, found)
    assert "it is not written yet" not in message
    if wanted := names(file):
        assert found.rejection.resembles, message
        assert found.rejection.resembles.name == wanted


@pytest.mark.parametrize("slug", LABS)
def test_there_are_three_right_and_eight_wrong_ones_and_each_says_what_it_is(slug):
    right, wrong = ([file for each, file in files if each == slug] for files in (RIGHT, WRONG))
    assert len(right) >= 3 and len(wrong) >= 8
    assert all(ast.get_docstring(ast.parse(file.read_text())) for file in right + wrong)


@pytest.mark.parametrize("slug", LABS)
def test_every_mistake_can_be_named_and_has_a_heading_to_read(slug):
    named = {names(file) for each, file in WRONG if each == slug}
    for part in load(slug).parts:
        for mistake in part.mistakes:
            assert about.heading(mistake.see)
        unnamed = [mistake.name for mistake in part.mistakes if mistake.name not in named]
        assert len(unnamed) < len(part.mistakes) or not part.mistakes, "no wrong one is named"


@pytest.mark.parametrize("slug", LABS)
def test_the_start_file_is_not_written_yet(slug):
    lab = load(slug)
    assert not fit.unfit(lab.about, lab.about.start)
    found = judge.judge(lab, judge.functions_of(lab.about.start), str(lab.about.start))
    assert "is not written yet" in told(lab, found)


def test_labs_are_numbered_without_a_gap_and_stand_in_the_order_of_their_numbers():
    numbers = [each.number for each in LABS.values()]
    assert len(set(numbers)) == len(numbers)
    assert all(each.chapter in about.chapters() for each in LABS.values())
