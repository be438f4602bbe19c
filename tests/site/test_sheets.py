"""Every whiteboard sheet is two printed pages, on A4 and on Letter: the board step by step, then the key."""

import io
from itertools import product
from unicodedata import normalize

import pypdf
import pytest

from scripts.chapters import worksheets
from scripts.records import ROOT
from scripts.site.pages import sheets
from tests.site.conftest import WALKS

STEPS = {name: sheets.steps(page.read_text(encoding="utf-8")) for name, page in sheets.sheet_pages(ROOT).items()}
ADDRESSES = {name: "whiteboard/talk/" if name == "talk" else f"chapters/{name}/sheet/" for name in STEPS}
PAPERS = {"some": ["Letter"], "all": ["A4", "Letter"]}  # Letter is the lower one; `make test-all` prints on both
COMPLETE = "[...document.images].filter((one) => one.complete && one.naturalWidth).length"
LOADED = """all => Promise.all(all.map(async (one) => {
  one.loading = "eager";  // or those further down would wait
  await one.decode();
  return one.alt;
}))"""


def printed(page, paper: str) -> list:
    return pypdf.PdfReader(io.BytesIO(page.pdf(format=paper))).pages


def words(leaf) -> str:
    return " ".join(normalize("NFKC", leaf.extract_text()).split())  # fonts join ff


@pytest.fixture(params=WALKS)
def paper_sizes(request) -> list[str]:
    return PAPERS[request.param]


def test_a_sheet_is_two_printed_pages_of_all_steps_with_picture_and_time_and_of_its_key(visit, paper_sizes):
    for sheet, (path, page) in zip(STEPS, visit.go_through([*ADDRESSES.values()]), strict=True):
        times = [text.split()[0] for text in page.locator(".hb-step .hb-step__time").all_text_contents()]
        assert times == [sheets.clock(start) for start in sheets.start_minutes(STEPS[sheet])], path
        page.add_style_tag(content="img { visibility: hidden }")  # to read past thousands of strokes takes long
        pictures = page.locator(".hb-step img").evaluate_all(LOADED)
        assert len(pictures) == len(STEPS[sheet]) and all(pictures), path
        leaves = {paper: printed(page, paper) for paper in paper_sizes}
        assert {paper: len(each) for paper, each in leaves.items()} == dict.fromkeys(paper_sizes, 2), path
        first, second = map(words, leaves["Letter"])
        assert [step.drawing for step in STEPS[sheet] if step.drawing.split("**")[1] not in first] == [], path
        assert "Where students trip" in second and second.count("Poll, after step") == 2, path


def test_a_worksheet_is_one_printed_page_and_so_is_its_key(visit, paper_sizes):
    page, lengths = visit.tab("light", 1280), {}
    for name, key in product(worksheets.chapters(), (False, True)):
        page.set_content(worksheets.make(name, "A").html("A", key))
        lengths |= {(name, key, paper): len(printed(page, paper)) for paper in paper_sizes}
    assert lengths and {sheet: count for sheet, count in lengths.items() if count != 1} == {}


def test_control_p_waits_for_every_picture(visit):
    page = visit("whiteboard/all/")
    page.evaluate(f"() => {{ window.print = () => {{ window.came = {COMPLETE}; }}; }}")
    page.keyboard.press("Control+p")
    page.wait_for_function("window.came !== undefined")
    assert page.evaluate("came") == sum(map(len, STEPS.values()))


def test_all_sheets_are_printed_at_once(visit):
    page = visit("whiteboard/all/")
    titles = [title.removesuffix("¶") for title in page.locator("article h2").all_text_contents()]
    assert len(titles) == len(STEPS)
    headings_alone = "body * { visibility: hidden } h2, h2 * { visibility: visible }"  # all of it takes long to read
    page.add_style_tag(content=headings_alone)
    for paper in PAPERS["all"]:
        leaves = [words(leaf) for leaf in printed(page, paper)]
        assert len(leaves) == 2 * len(STEPS), paper
        begun = [next(i for i, leaf in enumerate(leaves) if title in leaf) for title in titles]
        assert begun == sorted(begun) and begun[0] == 0, paper
