"""Every whiteboard sheet is two printed pages, on A4 and on Letter: the board step by step, then the key."""

import io
from unicodedata import normalize

import pypdf

from scripts.records import ROOT
from scripts.site.pages import sheets

SHEETS = sorted(path.stem for path in (ROOT / "docs" / "whiteboard").glob("*.md") if path.stem not in ("index", "all"))
STEPS = {
    sheet: sheets.steps((ROOT / "docs" / "whiteboard" / f"{sheet}.md").read_text(encoding="utf-8")) for sheet in SHEETS
}
LENGTH = 2  # printed pages
PAPERS = ["A4", "Letter"]
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


def test_a_sheet_is_two_printed_pages(visit):
    lengths = {}
    for path, page in visit.each([f"whiteboard/{sheet}/" for sheet in SHEETS]):
        lengths |= {(path, paper): len(printed(page, paper)) for paper in PAPERS}
    assert lengths and {path: length for path, length in lengths.items() if length != LENGTH} == {}


def test_the_first_page_has_every_step_and_the_second_the_key(visit):
    for sheet in SHEETS:
        first, second = map(words, printed(visit(f"whiteboard/{sheet}/"), "A4"))
        for step in STEPS[sheet]:
            assert step.draw.split("**")[1] in first
        assert "Where students trip" in second and second.count("Poll, after step") == 2


def test_each_step_shows_its_picture_and_when_it_begins(visit):
    for sheet in SHEETS:
        shown = visit(f"whiteboard/{sheet}/").locator(".hb-step")
        times = [text.split()[0] for text in shown.locator(".hb-step__time").all_text_contents()]
        assert times == [sheets.clock(start) for start in sheets.starts(STEPS[sheet])]
        pictures = shown.locator("img").evaluate_all(LOADED)
        assert len(pictures) == len(STEPS[sheet]) and all(pictures)


def test_control_p_waits_for_every_picture(visit):
    page = visit("whiteboard/all/")
    page.evaluate(f"() => {{ window.print = () => {{ window.came = {COMPLETE}; }}; }}")
    page.keyboard.press("Control+p")
    page.wait_for_function("window.came !== undefined")
    assert page.evaluate("came") == sum(map(len, STEPS.values()))


def test_all_sheets_are_printed_at_once(visit):
    page = visit("whiteboard/all/")
    titles = [title.removesuffix("¶") for title in page.locator("article h2").all_text_contents()]
    assert len(titles) == len(SHEETS)
    for paper in PAPERS:
        leaves = [words(leaf) for leaf in printed(page, paper)]
        assert len(leaves) == LENGTH * len(SHEETS), paper
        begun = [next(i for i, leaf in enumerate(leaves) if title in leaf) for title in titles]
        assert begun == sorted(begun) and begun[0] == 0, paper
