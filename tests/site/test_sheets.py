"""Every whiteboard sheet is one printed page, on A4 and on Letter."""

import io
from unicodedata import normalize

import pypdf

from scripts.records import ROOT

SHEETS = sorted(path.stem for path in (ROOT / "docs" / "whiteboard").glob("*.md") if path.stem not in ("index", "all"))
PAPERS = ["A4", "Letter"]


def printed(page, paper: str) -> list:
    return pypdf.PdfReader(io.BytesIO(page.pdf(format=paper))).pages


def test_a_sheet_is_one_printed_page(visit):
    lengths = {}
    for path, page in visit.each([f"whiteboard/{sheet}/" for sheet in SHEETS]):
        lengths |= {(path, paper): len(printed(page, paper)) for paper in PAPERS}
    assert lengths and lengths == dict.fromkeys(lengths, 1)


def test_all_sheets_are_printed_at_once_a_page_each(visit):
    page = visit("whiteboard/all/")
    titles = [title.removesuffix("¶") for title in page.locator("article h2").all_text_contents()]
    assert len(titles) == len(SHEETS)
    for paper in PAPERS:
        leaves = printed(page, paper)
        assert len(leaves) == 1 + len(SHEETS), paper
        for title, leaf in zip(titles, leaves[1:], strict=True):
            assert title in " ".join(normalize("NFKC", leaf.extract_text()).split()), paper  # fonts join ff
