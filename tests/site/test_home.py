"""The first page: what one sees of it, where it leads, what it counts; and the page that says how to get it running."""

import re
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup
from mkdocs.config import load_config

from kernels.bench.cost import eager_traffic, qkvo_bytes, square_bytes
from kernels.formats.value import E2M1, representable_numbers
from scripts import records
from scripts.records import ROOT
from scripts.site.meta import reading
from scripts.site.pages import home as home_page
from scripts.site.pages import navigation
from tests.docs.page_text import DRAWINGS

SVG = "{http://www.w3.org/2000/svg}"
CHAPTERS = navigation.chapters(load_config(str(ROOT / "mkdocs.yml")).extra["chapters"], ROOT / "docs")
SHAPE = "[batch, heads, sequence, head_dim] = [{}, {}, {}, {}]"
# What moves by itself, and not as something is scrolled.
MOVING = "document.getAnimations().filter(({ timeline }) => timeline === document.timeline)"


@pytest.fixture
def home_article(site):
    return BeautifulSoup((site / "index.html").read_text(), "html.parser").article


def drawing(name):
    return ElementTree.parse(DRAWINGS / f"{name}.svg").getroot()


def medians():
    tables = records.Reader(preview=True).read("flash_first").tables()
    return {row["form"]: row["median"] for table in tables if table["name"] == "times" for row in table["rows"]}


def css_lengths(style: str) -> dict[str, float]:
    return {name: float(value) for name, value in re.findall(r"--([\w-]+): ([\d.]+)", style)}


def test_the_path_has_a_card_for_every_chapter_with_a_drawing_and_a_question(home_article):
    cards = home_article.select(".part li")
    assert len(cards) == len(CHAPTERS)
    for card, chapter in zip(cards, CHAPTERS, strict=True):
        assert card.a["href"] == f"chapters/{chapter.name}/"
        assert card.h4.get_text() == f"{chapter.number} {chapter.title}"
        assert card.svg["aria-hidden"] and card.p.get_text().endswith("?")
    parts = list(dict.fromkeys(chapter.part for chapter in CHAPTERS if chapter.part))
    assert [part.h3.get_text() for part in home_article.select(".part")] == parts
    assert all(part.header.p.get_text() for part in home_article.select(".part"))
    minutes = [int(re.search(r"(\d+) min", part.small.get_text())[1]) for part in home_article.select(".part")]
    assert sum(minutes) == sum(reading.minutes(chapter.all_text) for chapter in CHAPTERS)


def test_a_new_chapter_appears_by_itself(tmp_path):
    drawings = tmp_path / "assets" / "drawings"
    drawings.mkdir(parents=True)
    (drawings / "path-new.svg").write_text("<svg><title>New</title></svg>")
    (tmp_path / "index.md").write_text("# Home")
    text = "---\nquestion: What's new?\n---\n\n# New & <old>"
    html = BeautifulSoup(
        home_page.chapter_path([navigation.Chapter("new", 0, "", "New & <old>", text, {})], tmp_path), "html.parser"
    )
    assert html.li.a.get_text() == "New & <old>" and html.li.p.get_text() == "What\u2019s new?"


def test_the_bars_are_as_long_as_the_run_took_and_the_numbers_are_its(home_article):
    recorded = medians()
    drawn = css_lengths(home_article.select_one(".signature")["style"])
    assert drawn["longest"] == max(drawn["attention"], drawn["flash-attention"])
    assert drawn["attention"] == pytest.approx(recorded["attention"], abs=1e-4)
    assert drawn["flash-attention"] == pytest.approx(recorded["flash_attention"], abs=1e-4)
    shown = [float(value.get_text()) for value in home_article.select(".race .hb-value")]
    assert shown == [round(recorded["attention"], 1), round(recorded["flash_attention"], 2)]


def fake_reader(text: str) -> SimpleNamespace:
    """A reader whose run printed this."""
    record = SimpleNamespace(outputs={"compare": [{"text": text}]}, provenance={"gpu": "NVIDIA H200"}, tables=list)
    return SimpleNamespace(read=lambda name: record)


@pytest.mark.parametrize(
    "shape, square, sliver", [((2, 16, 4096, 64), "1 GiB", "16 MiB"), ((1, 1, 512, 64), "512 KiB", "64 KiB")]
)
def test_the_tables_are_to_scale_and_have_the_size_of_those_that_were_timed(shape, square, sliver):
    text = SHAPE.format(*shape)
    panels = BeautifulSoup(home_page.race_picture(fake_reader(text)), "html.parser").select_one(".panels")
    assert css_lengths(panels["style"])["times"] == shape[2] / shape[3]
    assert panels.select_one(".written b").get_text() == square
    assert square in panels["aria-label"] and sliver in panels["aria-label"]
    _, heads, words, width = shape
    assert f"{words} words, {heads} heads of {width}" in home_page.race_setting(fake_reader(text))


def test_without_a_run_there_is_no_bar_and_no_case():
    def missing(name):
        raise records.Missing(name)

    reader = SimpleNamespace(read=missing)
    assert home_page.race_style(reader) == home_page.race_setting(reader) == ""
    assert "0 bytes" in home_page.race_picture(reader)


@pytest.mark.parametrize("width, height", [(1440, 900), (1280, 800), (390, 844)])
def test_the_claim_the_picture_and_the_ways_in_are_on_the_first_screen(visit, width, height):
    page = visit("", width=width)
    bottom = "(place) => document.querySelector(place).getBoundingClientRect().bottom"
    places = ["h1", ".panels", ".race", ".ways"]
    assert all(page.evaluate(bottom, place) <= height for place in places)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    tops = page.evaluate(
        "['.panels', '.start p'].map((place) => document.querySelector(place).getBoundingClientRect().top)"
    )
    assert tops[0] < tops[1], "the picture comes before the words"
    on_picture = "document.elementFromPoint({x}, {y}).closest('button').getAttribute('aria-label')"
    for square in (".written", ".unwritten"):
        box = page.locator(square).bounding_box()
        spot = on_picture.format(x=box["x"] + 9, y=box["y"] + 9)
        assert page.evaluate(spot) == "Watch them race", "the picture is the button"
    ways = page.locator(".ways a")
    assert ways.all_inner_texts() == ["Start with chapter 1", "Teach it", "Run it"]
    assert min(box.bounding_box()["height"] for box in [ways.first, page.locator(".word").first]) >= 44
    scale = page.evaluate(
        "['.panel .query', '.written'].map((part) => document.querySelector(part).getBoundingClientRect().width)"
    )
    assert scale[1] / scale[0] == pytest.approx(64)


def test_the_race_is_run_when_asked_and_again(visit):
    page = visit("")
    assert page.evaluate(f"{MOVING}.length") == 0, "on load the end is drawn"
    page.get_by_role("button", name="Watch them race").click()
    race = f"{MOVING}.filter(({{ animationName }}) => animationName === 'race')"
    first = page.evaluate(f"{race}.map((bar) => bar.effect.getTiming())")
    longer, shorter = (bar["duration"] for bar in first)
    assert longer / shorter == pytest.approx(medians()["attention"] / medians()["flash_attention"], rel=1e-3)
    assert {bar["iterations"] for bar in first} == {1} and len({bar["delay"] for bar in first}) == 1
    page.evaluate(f"{MOVING}.forEach((each) => {{ each.pause(); each.currentTime = 500; }})")
    hidden = "['.race b', '.square > span'].map((all) => getComputedStyle(document.querySelector(all)).visibility)"
    assert page.evaluate(hidden) == ["hidden", "hidden"], "no number before its bar has come"
    tile = "(({ opacity, visibility }) => visibility === 'visible' && opacity > 0)"
    place = "document.querySelector('.unwritten g rect:nth-child(10)')"
    assert page.evaluate(f"{tile}(getComputedStyle({place}))"), "the tile that's at work can be seen"
    moving = page.evaluate(f"{MOVING}.map((each) => [each.animationName, each.effect.getTiming().duration])")
    assert ["fill", longer] in moving and [name for name, _ in moving].count("forget") == 64, "the squares move, too"
    page.evaluate(f"{MOVING}.forEach((each) => each.finish())")
    page.wait_for_function("!document.querySelector('.racing')")  # at the end all is as it was
    page.get_by_role("button", name="Watch them race").click()
    assert page.evaluate(f"{race}.filter(({{ playState }}) => playState === 'running').length") == 2


def test_whoever_wants_no_motion_sees_the_end_of_it(visit):
    page = visit.tab("light", 1280)
    page.emulate_media(reduced_motion="reduce")
    visit.go(page, "")
    assert page.evaluate(f"{MOVING}.length") == 0
    assert page.get_by_role("button", name="Watch them race").count() == 0
    page.locator(".stage:enabled").wait_for()
    page.get_by_role("button", name="Change soft to tired").click()
    assert page.locator(".out > span").first.inner_text() == "6.8", "without a movement"


def test_without_scripts_there_are_the_claim_a_still_picture_and_the_path(chromium, url):
    context = chromium.browser.new_context(java_script_enabled=False, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(url)
    assert page.locator("h1").is_visible() and page.locator(".part li a").count() == len(CHAPTERS)
    assert page.locator(".race i").first.bounding_box()["width"] > 200
    assert not page.locator(".controls").is_visible() and not page.locator(".replay").is_visible()
    context.close()


def test_a_whole_card_leads_to_its_chapter(visit, url):
    page = visit("")
    card = page.locator(".part li").nth(3)
    card.scroll_into_view_if_needed()
    box = card.bounding_box()
    page.mouse.click(box["x"] + box["width"] - 4, box["y"] + box["height"] - 4)
    page.wait_for_url(f"{url}chapters/{CHAPTERS[3].name}/")


def test_small_drawings_show_what_their_chapters_say():
    ticks = drawing("path-number-formats").find(f"{SVG}path").get("d")
    places = [float(x) for x in re.findall(r"M(\d+) 21v20", ticks)]
    magnitudes = sorted({abs(number) for number in representable_numbers(E2M1).tolist()})
    scale = (places[-1] - places[0]) / magnitudes[-1]
    assert places == pytest.approx([places[0] + scale * value for value in magnitudes])
    arrows = re.findall(r"v-?19", drawing("path-traffic").findall(f"{SVG}path")[1].get("d").replace("V13", "v-19"))
    moved = sum(step.read + step.written for step in eager_traffic(8192, 128, 2)) - qkvo_bytes(8192, 128, 2)
    assert len(arrows) == moved / square_bytes(8192, 2)


@pytest.mark.parametrize(
    "markdown, words",
    [
        ("Two words.", 2),
        ("It takes `#!value a.b.c .1f` ms<!-- a note -->, so they say.", 6),
        ("It takes [half the time of]{fact=other.name} cuDNN.", 7),
        ("``` run\na:b\n```\n\nOne.\n\n    ``` source\n    a:b\n    ```\n", 1),
        ("One, $$x + y$$ and [two](three.md).", 3),
        ("---\nhide: [toc]\n---\n\nOne.\n", 1),
        ("One.\n\n## Questions\n\nTwo?\n\n## You can now teach\n\nThree.\n\n## References\n\n- Four.\n", 6),
    ],
)
def test_words_are_counted_as_they_are_read(markdown, words):
    assert reading.count_words(markdown) == words


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
