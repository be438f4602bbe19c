"""The sheet of chapter 10 is one printed page, on A4 and on Letter."""

import io

import pypdf
import pytest


@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_the_sheet_is_one_printed_page(browser, url, paper):
    page = browser.new_page()
    assert page.goto(f"{url}whiteboard/number-formats/").ok
    printed = pypdf.PdfReader(io.BytesIO(page.pdf(format=paper)))
    page.close()
    assert len(printed.pages) == 1
