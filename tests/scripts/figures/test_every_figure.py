"""Every figure keeps the rules of the page: no colours, roles it knows, controls that lead back, a text in words."""

import json
import re
import runpy

import pytest

from scripts.records import ROOT
from scripts.site.fences import figures
from tests.scripts.figures.controls import choose, controls

ROLES = {"query", "key", "value", "accent", "soft"}


@pytest.fixture(scope="module", params=figures.paths(ROOT))
def script(request):
    return runpy.run_path(str(figures.paths(ROOT)[request.param]))


@pytest.fixture(scope="module")
def figure(script):
    return script["figure"]()


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


def test_each_name_is_the_name_of_one_figure():
    assert len(figures.paths(ROOT)) == len(list((ROOT / "scripts" / "figures").glob("*/*.py"))) > 0


def test_a_figure_leaves_colours_template_and_width_to_the_page(figure):
    drawn = figure.to_plotly_json()
    assert list(fixed_colours(drawn)) == []
    assert not drawn["layout"].get("template") and "width" not in drawn["layout"]
    assert {trace["meta"]["role"] for trace in drawn["data"] if "meta" in trace} <= ROLES


def test_a_figure_fits_a_phone_and_does_not_move_under_a_finger(figure):
    assert figure.layout.height <= 420
    axes = [axis for name, axis in figure.to_plotly_json()["layout"].items() if re.match("[xy]axis", name)]
    assert axes and all(axis["fixedrange"] for axis in axes)


def test_a_figure_of_more_than_six_curves_has_their_names_beside_them(figure):
    """The eye cannot go back and forth between a drawing and nine lines of a legend."""
    listed = {trace.name for trace in figure.data if trace.visible is not False and trace.showlegend is not False}
    assert figure.layout.showlegend is False or len(listed - {None}) <= 6


def test_each_control_leads_somewhere_and_back_to_what_is_shown_first(figure):
    start = state(figure)
    for name, (labels, first) in controls(figure).items():
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


def test_a_text_alternative_is_sentences_without_measured_numbers(script):
    assert re.fullmatch(r"[A-Z][^\d]{80,}\.", script["ALT"])
