"""Every figure draws the rows that its snippet leaves, here on a CPU, and keeps the rules of the page's script."""

import contextlib
import importlib
import io
import re
import runpy

import pytest
import torch

from kernels.bench.table import Table
from scripts import records
from scripts.records import ROOT
from scripts.site.fences import figures

FIGURES = figures.paths(ROOT)
ROLES = {"query", "key", "value", "accent", "soft"}


@pytest.fixture(scope="module")
def rows():
    """What every snippet that a figure reads leaves when it runs on this machine: (snippet, table) -> rows.

    What only a GPU can measure is left out without one; a figure of it is drawn from the record.
    """
    read = {name for path in FIGURES.values() for name in re.findall(r'records\.table\("(\w+)"', path.read_text())}
    left = {}
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()):
        for snippet in sorted(read):
            patch.setattr(Table, "show", lambda self, snippet=snippet: left.update({(snippet, self.name): self.rows}))
            with torch.enable_grad():  # a snippet may turn gradients off, for itself
                runpy.run_module(f"snippets.{snippet}")
    return left


@pytest.fixture(autouse=True)
def record(rows, monkeypatch):
    recorded = records.table
    monkeypatch.setattr(records, "table", lambda *names: rows.get(names) or recorded(*names))


def module(name):
    return importlib.import_module(f"scripts.figures.{FIGURES[name].parent.name}.{name}")


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


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_leaves_colours_and_template_to_the_page(name):
    figure = module(name).figure().to_plotly_json()
    assert list(fixed_colours(figure)) == []
    assert not figure["layout"].get("template")
    assert {trace["meta"]["role"] for trace in figure["data"] if "meta" in trace} <= ROLES


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_fits_a_page(name):
    layout = module(name).figure().to_plotly_json()["layout"]
    assert layout["height"] <= 420 and "width" not in layout
    for control in [*layout.get("updatemenus", []), *layout.get("sliders", [])]:
        assert control["name"]
        assert all(choice["label"] for choice in control.get("buttons", control.get("steps")))


@pytest.mark.parametrize("name", FIGURES)
def test_a_text_alternative_is_sentences_without_measured_numbers(name):
    alternative = module(name).ALT
    assert re.fullmatch(r"[A-Z][^\d]{80,}\.", alternative)


def choose(figure, choice):
    """Apply a button or a step, as Plotly's restyle does: a list gives one value to each trace that is named."""
    changes, *traces = choice["args"]
    for attribute, values in changes.items():
        for index, trace in enumerate(traces[0] if traces else range(len(figure.data))):
            figure.data[trace][attribute] = values[index]


def test_the_grid_shows_every_score_and_for_a_word_its_row_and_its_shares(rows):
    figure = module("score_grid").figure()
    scores, shares = rows["sentence", "scores"], rows["sentence", "shares"]
    words = [row["word"] for row in scores]
    grid = [[row[word] for word in words] for row in scores]
    assert [list(row) for row in figure.data[1].z] == grid
    assert figure.layout.yaxis.autorange == "reversed"  # the first word on top, as in the printed table

    everyone, *each = figure.layout.updatemenus[0].buttons
    assert [button.label for button in each] == [word.replace("_", " ") for word in words]
    for asks, button in enumerate(each):
        choose(figure, button)
        shown = [list(row) for row in figure.data[1].z]
        assert shown == [row if index == asks else [None] * len(words) for index, row in enumerate(grid)]
        for column, text in zip(words, figure.data[1].text[asks], strict=True):
            assert text == f"{scores[asks][column]}<br>{shares[asks][column]:.0f} %"
    choose(figure, everyone)
    assert [list(row) for row in figure.data[1].z] == grid


def test_a_pie_is_the_row_of_one_word_at_one_sharpness(rows):
    figure = module("softmax_shares").figure()
    sharpness = {(row["word"], row["times"]): row for row in rows["sentence", "sharpness"]}
    words = list(dict.fromkeys(row["word"] for row in rows["sentence", "sharpness"]))
    (menu,), (slider,) = figure.layout.updatemenus, figure.layout.sliders
    drawn_first = slider.steps[slider.active].label
    for step in [None, *slider.steps]:
        if step:
            choose(figure, step)
        times = float(step.label if step else drawn_first)
        for word, pie in zip(words, figure.data, strict=True):
            wanted = {other.replace("_", " "): sharpness[word, times][other] for other in words}
            assert dict(zip(pie.labels, pie.values, strict=True)) == wanted
            assert sum(pie.values) == pytest.approx(100)

    assert [trace.visible for trace in figure.data].index(True) == menu.active
    for word, button in zip(words, menu.buttons, strict=True):
        choose(figure, button)
        (pie,) = [trace for trace in figure.data if trace.visible]
        assert pie.name == button.label == word.replace("_", " ")


def test_scaling_draws_both_forms_of_three_quantities_on_logarithmic_axes(rows):
    figure = module("scaling").figure()
    table = rows["scaling", "scaling"]
    columns = ["spread_raw", "spread", "largest_raw", "largest", "gradient_raw", "gradient"]
    assert [list(trace.y) for trace in figure.data] == [[row[column] for row in table] for column in columns]
    assert all(list(trace.x) == [row["d"] for row in table] for trace in figure.data)
    axes = [axis for name, axis in figure.to_plotly_json()["layout"].items() if re.match("[xy]axis", name)]
    assert {axis["type"] for axis in axes} == {"log"}
    assert sorted({trace.name for trace in figure.data if trace.showlegend}) == ["divided by √d", "not divided"]


def test_scaling_measures_what_the_chapter_proves(rows):
    for row in rows["scaling", "scaling"]:
        assert row["spread_raw"] == pytest.approx(row["d"] ** 0.5, rel=0.02)
        assert row["spread"] == pytest.approx(1, rel=0.02)
    first, *_, last = rows["scaling", "scaling"]
    assert last["largest_raw"] > 90 > 20 > last["largest"]
    assert last["gradient_raw"] < 1e-20 < last["gradient"]
    assert last["gradient"] > first["gradient"] / 2 / last["d"] ** 0.5  # it falls as the root of d
