"""Every whiteboard sheet is one printed page, on A4 and on Letter."""

import io
from unicodedata import normalize

import pypdf
import pytest

from scripts.records import ROOT

SHEETS = sorted(path.stem for path in (ROOT / "docs" / "whiteboard").glob("*.md") if path.stem not in ("index", "all"))


@pytest.mark.parametrize("paper", ["A4", "Letter"])
@pytest.mark.parametrize("sheet", SHEETS)
def test_a_sheet_is_one_printed_page(browser, url, sheet, paper):
    page = browser.new_page()
    assert page.goto(f"{url}whiteboard/{sheet}/").ok
    printed = pypdf.PdfReader(io.BytesIO(page.pdf(format=paper)))
    page.close()
    assert len(printed.pages) == 1


@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_all_sheets_are_printed_at_once_a_page_each(browser, url, paper):
    page = browser.new_page()
    assert page.goto(f"{url}whiteboard/all/").ok
    printed = pypdf.PdfReader(io.BytesIO(page.pdf(format=paper)))
    titles = page.locator("article h2").all_text_contents()
    page.close()
    assert len(titles) == len(SHEETS) and len(printed.pages) == 1 + len(SHEETS)
    for title, leaf in zip(titles, printed.pages[1:], strict=True):
        text = normalize("NFKC", leaf.extract_text())  # a font may print two letters as one
        assert normalize("NFKC", title.removesuffix("¶")) in " ".join(text.split())
