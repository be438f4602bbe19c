"""A PDF of several pages: each begins on a leaf of its own, leaves have numbers, bookmarks and links lead right."""

import io
import re

import pypdf
import pytest

from scripts.browser.static_server import serve
from scripts.copies import __main__ as command
from scripts.copies import pdf

PATHS = ["whiteboard/", "chapters/traffic/sheet/", "chapters/blocks-of-keys/notes/"]  # the last has a figure
ELSEWHERE = "https://example.org/handbook/"


@pytest.fixture(scope="module")
def pdf_reader(url, chromium, tmp_path_factory):
    target = tmp_path_factory.mktemp("pdf") / "some.pdf"
    pdf.write(chromium.browser, url, PATHS, target, ELSEWHERE)
    return pypdf.PdfReader(target)


def leaf_by_title(pdf_reader) -> dict[str, int]:
    """The bookmarks of the pages, and the leaves to which they lead."""
    top = [each for each in pdf_reader.outline if not isinstance(each, list)]
    return {each.title: pdf_reader.get_destination_page_number(each) for each in top}


def test_each_page_begins_on_a_leaf_of_its_own_and_has_a_bookmark(pdf_reader):
    leaf_of = leaf_by_title(pdf_reader)
    index, sheet, notes = leaf_of.values()
    assert list(leaf_of) == ["At the whiteboard", "Sheet 4: 64× traffic", "Lab notes: blocks of keys"]  # noqa: RUF001
    assert 0 == index < sheet == notes - 2
    for title, leaf in leaf_of.items():
        assert title in " ".join(pdf_reader.pages[leaf].extract_text().split())


@pytest.mark.parametrize(("lines", "leaves_as_printed", "leaves"), [(62, 1, 1), (65, 2, 1), (110, 2, 2)])
def test_a_last_leaf_of_a_few_words_is_saved(chromium, lines, leaves_as_printed, leaves):
    page = chromium.browser.new_page()
    page.set_content("<style>p { margin: 0; font: 16px/18px serif }</style>" + "<p>One line of words</p>" * lines)
    assert len(pypdf.PdfReader(io.BytesIO(page.pdf(format="A4"))).pages) == leaves_as_printed
    assert len(pdf.to_pdf(page, "A4").pages) == leaves
    page.close()


BUSY = """<body data-opens><h1>Busy</h1><p>It adds to itself without end.</p>
<script>setInterval(() => document.body.append(document.createElement("div")), 1)</script>"""


def test_a_page_that_still_adds_to_itself_adds_no_leaf_to_the_feet(chromium, tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text(BUSY)
    with serve(tmp_path / "site") as url:
        pdf.write(chromium.browser, url, [""], tmp_path / "some.pdf", ELSEWHERE)
    assert len(pypdf.PdfReader(tmp_path / "some.pdf").pages) == 1


def test_the_sections_of_a_page_have_bookmarks_below_it(pdf_reader):
    below = [each for each in pdf_reader.outline if isinstance(each, list)][-1]
    assert "Why 32 keys" in [each.title for each in below if not isinstance(each, list)]


def test_each_leaf_has_its_number_and_none_is_empty(pdf_reader):
    for number, leaf in enumerate(pdf_reader.pages, 1):
        words = leaf.extract_text().split()
        assert str(number) in words and len(words) > 20


def test_links_lead_within_the_pdf_or_to_where_the_site_will_stand(pdf_reader, url):
    actions = [
        each.get_object()["/A"]
        for leaf in pdf_reader.pages
        for each in leaf.get("/Annots") or []
        if "/A" in each.get_object()
    ]
    sheet = pdf_reader.pages[leaf_by_title(pdf_reader)["Sheet 4: 64× traffic"]].indirect_reference  # noqa: RUF001
    assert any(each["/S"] == "/GoTo" and each["/D"][0] == sheet for each in actions if isinstance(each.get("/D"), list))
    addresses = [str(each["/URI"]) for each in actions if "/URI" in each]
    assert not [address for address in addresses if address.startswith(url)]
    assert any(address.startswith(f"{ELSEWHERE}chapters/") for address in addresses)


def test_the_handbook_has_every_chapter_in_its_order_and_every_sheet_is_printed(site):
    paths = command.handbook_paths(site)
    first = paths.index("chapters/first-kernel/")
    assert paths[first : first + 2] == ["chapters/first-kernel/", "chapters/first-kernel/bottleneck/"]
    chapters = [path for path in paths if re.fullmatch("chapters/[^/]+/", path)]
    assert chapters[0] == "chapters/primer/" and len(chapters) == len(list((site / "chapters").glob("*/index.html")))
    sheets = command.sheet_paths(site)
    assert sheets[-1] == "whiteboard/talk/" and len(sheets) == len(list((site / "chapters").glob("*/sheet/"))) + 1
