"""The first page: what one sees of it, where it leads, what it counts; and the page that says how to get it running."""

import re
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup
from mkdocs.config import load_config

from kernels.bench.cost import eager_traffic, qkvo_bytes, square_bytes
from kernels.formats.value import E2M1, values
from scripts import records
from scripts.records import ROOT
from scripts.site.meta import reading
from scripts.site.pages import order
from tests.docs.pages import DRAWINGS

SVG = "{http://www.w3.org/2000/svg}"
CHAPTERS = order.chapters(load_config(str(ROOT / "mkdocs.yml")).extra["chapters"], ROOT / "docs")
HOME = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")


@pytest.fixture
def home(site):
    return BeautifulSoup((site / "index.html").read_text(), "html.parser").article


def drawing(name):
    return ElementTree.parse(DRAWINGS / f"{name}.svg").getroot()


def test_the_path_has_a_card_for_every_chapter_with_a_drawing_and_a_question(home):
    cards = home.select(".path > ul > li")
    assert len(cards) == len(CHAPTERS)
    for card, chapter in zip(cards, CHAPTERS, strict=True):
        assert card.a["href"].endswith(f"chapters/{chapter.name}/")
        assert card.a.get_text() == f"{chapter.number} · {chapter.title}"
        assert f"{reading.minutes(chapter.text)} min" in card.get_text()
        assert card.svg["aria-label"] and card.get_text().strip().endswith("?")
        assert f"path-{chapter.name}.svg" in HOME


def test_three_ways_in_lead_where_they_say(home):
    ways = {link.get_text(): link["href"] for link in home.select(".home li strong a")}
    assert ways == {"Read it": "chapters/three-matmuls/", "Teach it": "whiteboard/", "Run it": "start/"}


@pytest.mark.parametrize("width, folds", [(1280, 1), (390, 2)])
def test_the_picture_and_the_ways_in_stand_on_the_first_screen(visit, width, folds):
    """On a phone, the sentence and the ways on the first, and the picture at the latest on the second."""
    page = visit("", width=width)
    bottom = (
        "(places) => Math.max(...places.map((place) => document.querySelector(place).getBoundingClientRect().bottom))"
    )
    assert page.evaluate(bottom, [".home li:last-child", ".home .hb-drawing"]) <= folds * 900
    assert page.evaluate(bottom, [".home li:last-child"]) <= 900
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_squares_and_the_bars_of_the_picture_are_to_scale():
    picture = drawing("never-written")
    times = {row["form"]: row["median"] for row in records.table("flash_first", "times")}
    lines, kernel = (float(bar.get("width")) for bar in picture.iter(f"{SVG}rect") if bar.get("class") == "time")
    assert kernel / lines == pytest.approx(times["flash_attention"] / times["attention"], abs=1 / lines)
    tables = [rect for rect in picture.iter(f"{SVG}rect") if rect.get("height") == "128"]
    widths = sorted(float(rect.get("width")) for rect in tables)
    assert widths == 8 * [128 * 64 / 4096] + 2 * [128]  # d of N


def test_small_drawings_show_what_their_chapters_say():
    ticks = [mark.get("d") for mark in drawing("path-number-formats").iter(f"{SVG}path")][1:]
    places = [float(re.match(r"M([\d.]+)", tick)[1]) for tick in ticks]
    magnitudes = sorted({abs(number) for number in values(E2M1).tolist()})
    scale = (places[-1] - places[0]) / magnitudes[-1]
    assert places == pytest.approx([places[0] + scale * value for value in magnitudes])
    arrows = [mark.get("d") for mark in drawing("path-traffic").iter(f"{SVG}path") if mark.get("fill") != "none"]
    moved = sum(step.read + step.written for step in eager_traffic(8192, 128, 2)) - qkvo_bytes(8192, 128, 2)
    assert len(arrows) == moved / square_bytes(8192, 2)


@pytest.mark.parametrize(
    "markdown, words",
    [
        ("Two words.", 2),
        ("It takes `#!value a.b.c .1f` ms<!-- = 1 + 2 -->, [so they say]{claim=one}.", 6),
        ("It takes [half the time of]{fact=other.name} cuDNN.", 7),
        ("``` run\na:b\n```\n\nOne.\n\n    ``` source\n    a:b\n    ```\n", 1),
        ("One, $$x + y$$ and [two](three.md).", 3),
        ("---\nhide: [toc]\n---\n\nOne.\n", 1),
        ("One.\n\n## Questions\n\nTwo?\n\n## You can now teach\n\nThree.\n\n## References\n\n- Four.\n", 6),
    ],
)
def test_words_are_counted_as_they_are_read(markdown, words):
    assert reading.words(markdown) == words


def test_minutes_come_in_steps_of_five():
    assert [reading.minutes("word " * count) for count in (1, 1000, 1001, 3000)] == [5, 5, 10, 15]


def test_every_command_of_the_start_is_one_of_the_readme_or_runs_a_snippet():
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    code = re.findall(r"`([^`]+)`", (ROOT / "docs" / "start.md").read_text(encoding="utf-8"))
    names = records.Reader().names()
    commands = [each for each in code if re.match(r"make |\.venv/|PYTHONPATH=|python ", each)]
    assert len(commands) > 5
    for command in commands:
        run, _, snippet = command.partition("SNIPPET=")
        assert snippet in names and run in readme if snippet else command in readme, command
