"""The page of all measurements: the bars that lead it, and the field that finds rows in its tables."""

import re

import pytest
from bs4 import BeautifulSoup

from kernels.bench import hardware
from scripts import records
from scripts.site.pages import peer_bars
from tests.site.test_browser import axe_violations

PAGE = "measurements/"
FIELD = ".hb-find input"
OURS = {"flash_attention", "hopper_attention"}
CHART = peer_bars.chart_settings(records.ROOT / "docs" / "measurements.md")


@pytest.fixture(scope="module")
def figure(site):
    return BeautifulSoup((site / PAGE / "index.html").read_text(), "html.parser").find(id="peers")


def test_the_bars_stand_before_all_tables_and_say_which_runs_they_are_of(figure):
    assert not figure.find_previous("h2") and figure.find_next("h2")
    lines = [line.get_text() for line in figure.select(".hb-provenance p")]
    runs = ["prefill_speed", "beside_cudnn"]
    assert all(line.startswith(f"{run} ran on") for run, line in zip(runs, lines, strict=True))


def test_each_bar_is_as_long_as_its_part_of_the_limit(figure):
    """At these lengths the arithmetic is the limit."""
    for panel, table in zip(CHART.panels, figure.select("table.hb-bars"), strict=True):
        peak = vars(hardware)[records.read(panel.snippet).chip]["bf16 peak"].value / 1e12
        one_table = panel.snippet == "beside_cudnn"
        rows = records.table(panel.snippet, panel.direction if one_table else f"{panel.direction}_128")
        rows = [row for row in rows if row["n"] == panel.n and not row["causal"] and row["head_dim"] == 128]
        speeds = {row["form"]: row["speed"] for row in rows}
        drawn = {}
        for line in table.tbody.find_all("tr"):
            (form,) = [form for form, name in CHART.forms.items() if name == line.th.get_text()]
            speed, part = (cell.get_text().rstrip("\u00a0%") for cell in line.find_all("td"))
            assert (int(speed), int(part)) == (round(speeds[form]), round(100 * speeds[form] / peak))
            drawn[form] = float(re.search(r"[\d.]+", line.i["style"])[0])
            assert ("hb-ours" in line.get("class", [])) == (form in OURS)
        assert drawn == pytest.approx({form: speed / peak for form, speed in speeds.items()}, abs=1e-4)
        assert list(drawn.values()) == sorted(drawn.values())


def test_the_mean_over_all_settings_stands_beside_it_forward_and_backward(figure):
    lines = [[cell.get_text() for cell in line.find_all("td")] for line in figure.select("table.hb-overall tbody tr")]
    assert [line[0] for line in lines] == ["36", "36", "18", "18"]
    for (_, cudnn, second, fourth), work in zip(lines[2:], ("forward", "backward"), strict=True):
        mean = {}
        for row in records.table("beside_cudnn", "overall"):
            if (row["work"], row["way"]) == (work, "graph"):
                mean[row["form"]] = row["geometric_mean"]
                if row["form"] == "hopper_attention":
                    wanted = [row["geometric_mean"], row["least"], row["most"]]
        assert [float(each) for each in re.findall(r"[\d.]+", cudnn)] == pytest.approx(wanted, abs=0.0051)
        assert second == ""  # the run has no FlashAttention-2
        assert float(fourth.split()[0]) == pytest.approx(
            mean["hopper_attention"] / mean["flash_attention_4"], abs=0.0051
        )
    assert all(line[3] == "" for line in lines[:2])


def test_ratios_pair_rows_of_one_setting():
    rows = [
        {"form": form, "head_dim": d, "n": n, "causal": False, "speed": speed}
        for form, d, n, speed in [("a", 64, 1, 8), ("a", 64, 2, 2), ("b", 64, 1, 4), ("b", 64, 2, 4), ("b", 128, 1, 9)]
    ] + [{"form": "a", "head_dim": 128, "n": 1, "causal": False, "speed": None}]
    assert peer_bars.ratios(rows, "a", "b") == (2, 1.0, 0.5, 2.0)
    assert peer_bars.ratios(rows, "a", "c") is None


def test_a_run_in_rounds_divides_its_ratios_and_not_its_medians():
    row = {"head_dim": 64, "n": 1, "causal": False, "low": 1}
    rows = [row | {"form": form, "speed": speed, "ratio": ratio} for form, speed, ratio in [("a", 8, 5), ("b", 4, 3)]]
    assert peer_bars.ratios(
        [*rows, row | {"form": "sdpa_cudnn", "speed": 2, "ratio": 1}], "a", "sdpa_cudnn"
    ).mean == pytest.approx(5)
    assert peer_bars.ratios(rows, "a", "b").mean == pytest.approx(5 / 3)


def count_visible(page, selector: str) -> int:
    return page.eval_on_selector_all(selector, "(all) => all.filter((each) => each.checkVisibility()).length")


def test_the_field_leaves_what_has_all_words_and_gives_the_rest_back(visit):
    page = visit(PAGE, width=390)
    page.wait_for_selector(FIELD)
    runs = count_visible(page, "article h2")
    page.focus(FIELD)
    page.keyboard.type("prefill_speed cuDNN 16,384".replace(",", ""))
    output = page.inner_text(".hb-find output")
    assert re.fullmatch(r"\d+ rows in \d tables of 1 run", output), output
    rows = page.eval_on_selector_all(
        "article .hb-record tbody tr", "(all) => all.filter((row) => row.checkVisibility()).map((row) => row.innerText)"
    )
    assert len(rows) == int(output.split()[0]) and all("cudnn" in row and "16384" in row for row in rows)
    assert count_visible(page, "article h2") == 1 < runs
    assert count_visible(page, "article .hb-record details.hb-folded") == int(output.split()[3])
    assert not (found := axe_violations(page)), found
    page.keyboard.press("Enter")  # sends nothing, goes nowhere
    assert page.url.endswith(PAGE)
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    assert count_visible(page, "article h2") == runs and not page.query_selector(
        "article .hb-record details.hb-folded[open]"
    )
    page.keyboard.type("no such word")
    assert (
        page.inner_text(".hb-find output") == "0 rows in 0 tables of 0 runs" and count_visible(page, "article h2") == 0
    )
