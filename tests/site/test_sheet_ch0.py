"""The sheet of the talk is one printed page, on A4 and on Letter."""

import io

import pypdf
import pytest

SHEETS = ["talk"]


@pytest.mark.parametrize("paper", ["A4", "Letter"])
@pytest.mark.parametrize("sheet", SHEETS)
def test_a_sheet_is_one_printed_page(browser, url, sheet, paper):
    page = browser.new_page()
    assert page.goto(f"{url}whiteboard/{sheet}/").ok
    printed = pypdf.PdfReader(io.BytesIO(page.pdf(format=paper)))
    page.close()
    assert len(printed.pages) == 1
