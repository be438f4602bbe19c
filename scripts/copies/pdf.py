"""Pages of the site as one PDF, with bookmarks and page numbers, and links that lead within it where they can.

Each page is printed by itself, so that it begins on a leaf of its own and none is left over.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path

from playwright.sync_api import Browser, Page
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, NameObject, TextStringObject

TITLE = "The Attention Kernel Handbook"
SCALES = (1, 0.98, 0.96, 0.94)
FEW_WORDS = 120  # a quarter of a leaf: a last one with fewer is worth saving
LOAD_IMAGES = """Promise.all([...document.images].map((one) => {
  one.loading = "eager";
  return one.decode().catch(() => {});
}))"""
FOOTER_STYLE = """
<style>
  @page { margin: 0; } body { margin: 0; }
  div { box-sizing: border-box; break-after: page; color: #54525a; display: flex; font: 8pt system-ui, sans-serif;
    height: 100vh; justify-content: space-between; align-items: flex-end; padding: 0 14mm 6mm; }
  div:last-child { break-after: auto; }
</style>
"""


@dataclass(frozen=True)
class PrintedPage:
    """A page of the site as it was printed."""

    path: str
    title: str
    reader: PdfReader


def write(browser: Browser, url: str, paths: Iterable[str], target: Path, site_url: str, paper: str = "A4") -> None:
    """Print the pages at these paths below ``url`` into one PDF.

    site_url: where the site will stand, for links to what is not among the pages
    """
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    page = context.new_page()
    printed_pages = [print_page(page, url, path, paper) for path in paths]
    document = PdfWriter()
    first_leaf: dict[str, int] = {}
    for printed_page in printed_pages:
        first_leaf[printed_page.path] = len(document.pages)
        document.append(printed_page.reader, import_outline=True)
    add_footers(context.new_page(), document, printed_pages, paper)
    context.close()
    link_within(document, url, first_leaf, site_url)
    document.add_metadata({"/Title": TITLE})
    document.page_mode = "/UseOutlines"  # a reader opens with the bookmarks
    document.compress_identical_objects(remove_unreferenced=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    document.write(target)


def print_page(page: Page, url: str, path: str, paper: str) -> PrintedPage:
    """One page, printed once all of its figures have been drawn, and with what it folds away."""
    assert page.goto(url + path).ok, path
    page.wait_for_selector("[data-opens]", state="attached")
    page.evaluate("window.print = () => { window.drawn = true; }")
    page.keyboard.press("Control+p")
    if page.query_selector(".hb-plot"):
        page.wait_for_function("window.drawn")
    page.evaluate(LOAD_IMAGES)
    page.add_style_tag(content="html, body { background: #fff !important; }")  # paper has its own colour
    title = page.locator("h1").first.text_content().removesuffix("¶")
    return PrintedPage(path, title, to_pdf(page, paper))


def to_pdf(page: Page, paper: str) -> PdfReader:
    """The page as a PDF; a little smaller, where its last leaf has few words and is saved so."""
    options = {"format": paper, "outline": True, "tagged": True, "print_background": True}
    sizes = (PdfReader(io.BytesIO(page.pdf(scale=scale, **options))) for scale in SCALES)
    full_size = next(sizes)
    if len(full_size.pages[-1].extract_text().split()) >= FEW_WORDS:
        return full_size
    return next((smaller for smaller in sizes if len(smaller.pages) < len(full_size.pages)), full_size)


def add_footers(page: Page, document: PdfWriter, printed_pages: list[PrintedPage], paper: str) -> None:
    """Below each leaf the title of its page, and its number.

    page: a new one, since a script of the site that has still something to do would put it after the last footer
    """
    titles = [each.title for each in printed_pages for _ in each.reader.pages]
    footers = [
        f"<div><span>{escape(title)}</span><span>{number}</span></div>" for number, title in enumerate(titles, 1)
    ]
    page.set_content(FOOTER_STYLE + "".join(footers))
    stamps = PdfReader(io.BytesIO(page.pdf(format=paper))).pages
    assert len(stamps) == len(titles), (len(stamps), len(titles))
    for leaf, stamp in zip(document.pages, stamps, strict=True):
        leaf.merge_page(stamp)
        leaf.compress_content_streams()


def link_within(document: PdfWriter, url: str, first_leaf: dict[str, int], site_url: str) -> None:
    """Links to a page that is in the PDF lead to its first leaf, those to other pages to the site."""
    for leaf in document.pages:
        for annotation in leaf.get("/Annots") or []:
            action = annotation.get_object().get("/A", DictionaryObject())
            address = str(action.get("/URI", ""))
            if not address.startswith(url):
                continue
            path = address.removeprefix(url).partition("#")[0].partition("?")[0]
            if path in first_leaf:
                action.pop("/URI")
                action[NameObject("/S")] = NameObject("/GoTo")
                target = document.pages[first_leaf[path]].indirect_reference
                action[NameObject("/D")] = ArrayObject([target, NameObject("/Fit")])
            else:
                action[NameObject("/URI")] = TextStringObject(site_url + address.removeprefix(url))
