"""Every whiteboard sheet is one printed page, on A4 and on Letter."""

import io

import pypdf
import pytest

from scripts.records import ROOT

SHEETS = sorted(path.stem for path in (ROOT / "docs" / "whiteboard").glob("*.md") if path.stem != "index")


@pytest.mark.parametrize("paper", ["A4", "Letter"])
@pytest.mark.parametrize("sheet", SHEETS)
def test_a_sheet_is_one_printed_page(browser, url, sheet, paper):
    page = browser.new_page()
    assert page.goto(f"{url}whiteboard/{sheet}/").ok
    printed = pypdf.PdfReader(io.BytesIO(page.pdf(format=paper)))
    page.close()
    assert len(printed.pages) == 1
