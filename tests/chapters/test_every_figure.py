"""Every figure keeps the rules of the page: no colours, roles it knows, controls that lead back, a text in words."""

import json
import re

import pytest

from scripts import facts
from scripts.facts.unchecked_pages import is_unchecked
from scripts.records import ROOT
from scripts.site.fences import figures
from tests.chapters.figure_menus import choose, menus, visible

ROLES = {"query", "key", "value", "accent", "ink", "soft", "grey", "faint"}
NAME_PLACES = {"end", "above", "start", "top", "value", None}


def fixed_colours(part, path=""):
    """Where in a figure a colour or a colour scale is set."""
    if isinstance(part, dict):
        for key, inner in part.items():
            if re.search(r"color(?!bar)", key):
                yield f"{path}.{key}"
            yield from fixed_colours(inner, f"{path}.{key}")
    elif isinstance(part, list):
        for index, inner in enumerate(part):
            yield from fixed_colours(inner, f"{path}[{index}]")


def script_of(name):
    return figures.paths(ROOT)[name].relative_to(ROOT)


def test_each_name_is_the_name_of_one_figure():
    assert len(figures.paths(ROOT)) == len(list(ROOT.glob("scripts/chapters/*/figures/*.py"))) > 0


def test_a_figure_leaves_colours_template_and_width_to_the_page(figure):
    drawn = figure.to_plotly_json()
    assert list(fixed_colours(drawn)) == []
    assert not drawn["layout"].get("template") and "width" not in drawn["layout"]


def test_every_trace_has_a_role_and_one_thing_is_highlighted(figure):
    assert {trace.meta["role"] for trace in figure.data} <= ROLES
    assert {trace.meta.get("named") for trace in figure.data} <= NAME_PLACES
    assert "accent" in {trace.meta["role"] for trace in visible(figure)}


def test_a_figure_fits_a_phone_has_no_legend_and_does_not_move_under_a_finger(figure):
    assert figure.layout.height <= 420 and not figure.layout.legend.to_plotly_json()
    axes = [axis for name, axis in figure.to_plotly_json()["layout"].items() if re.match("[xy]axis", name)]
    assert axes and all(axis["fixedrange"] for axis in axes)


def test_each_control_leads_somewhere_and_back_to_what_is_shown_first(figure):
    start = state(figure)
    for name, (labels, first) in menus(figure).items():
        assert name and all(labels) and len(set(labels)) == len(labels)
        for label in labels:
            choose(figure, name, label)
            assert (state(figure) == start) == (label == first)
        choose(figure, name, first)
    assert state(figure) == start


def state(figure):
    """The traces and the axes: what a control can change."""
    drawn = json.loads(figure.to_json())
    return drawn["data"], {name: axis for name, axis in drawn["layout"].items() if re.match("[xy]axis", name)}


@pytest.mark.parametrize("name", figures.paths(ROOT))
def test_a_text_alternative_is_sentences_without_measured_numbers(name):
    alternative = figures.load(name, ROOT).alternative
    fits = re.fullmatch(r"[A-Z][^\d]{80,}\.", alternative)
    assert fits, f"ALT in {script_of(name)}: sentences of 80 signs or more, without a digit, not {alternative!r}"


# Words that compare or count. What a figure shows is free; what it shows *about its numbers* is a fact.
COMPARING_WORDS = re.compile(
    r"\b(?:most|few|fewer|more|less|longer|shorter|shortest|longest|lowest|highest|faster|slower|nearly|twice|half|"
    r"thirds?|quarters?|tenths?|\w+fold|times (?:as|the)|never|always|every)\b"
)


def figures_of_checked_pages():
    """The figures that a page shows whose numbers are checked."""
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md")]
    checked = "\n".join(page for page in pages if not is_unchecked(page))
    return sorted(set(re.findall(r"^ *``` figure.*\n *(\w+)", checked, re.MULTILINE)))


@pytest.mark.parametrize("name", figures_of_checked_pages())
def test_a_text_alternative_concludes_through_facts_alone(name):
    concludes = COMPARING_WORDS.findall(figures.load(name, ROOT).alternative)
    assert not concludes, f"ALT in {script_of(name)} says {concludes}: leave that to a fact, {{fact=name}}"


def test_a_fact_in_a_text_alternative_is_todays():
    found = figures.load("maximum_moves", ROOT)
    (name,) = facts.MARK.findall(found.alternative)
    assert facts.fill(found.alternative, found.chapter).endswith(f" in {facts.find(name, found.chapter)()}.")
    with pytest.raises(facts.FactError, match="there is no fact nothing"):
        facts.fill("It is {fact=nothing}.", found.chapter)
