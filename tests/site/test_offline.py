"""The copy on a disk: search, figures, pieces and questions work from a file, and nothing asks the network."""

from zipfile import ZipFile

import pytest

from scripts.copies import offline


@pytest.fixture(scope="module")
def archive_folder(site, tmp_path_factory):
    folder = tmp_path_factory.mktemp("copy")
    offline.write(site, folder / "copy.zip")
    with ZipFile(folder / "copy.zip") as packed:
        packed.extractall(folder)
    return folder / "attention-handbook"


@pytest.fixture
def open_page(archive_folder, chromium):
    """Opens a page of the copy; afterwards nothing may have complained or asked for more than files."""
    context = chromium.browser.new_context(viewport={"width": 1280, "height": 900})
    page, wrong = context.new_page(), []
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda each: None if each.url.startswith(("file:", "data:")) else wrong.append(each.url))

    def go(path: str):
        page.goto((archive_folder / path / "index.html").as_uri())
        page.wait_for_selector("[data-opens]", state="attached")
        return page

    yield go
    context.close()
    assert wrong == []


def test_the_search_leads_to_a_page(open_page):
    page = open_page("")
    page.keyboard.press("/")
    page.keyboard.type("rescale factor")
    page.locator(".md-search-result__link").first.click()
    page.wait_for_url("**/chapters/*/index.html*")
    assert page.locator("h1").count() == 1


def test_every_piece_starts(open_page):
    page = open_page("live")
    for piece in page.locator("live-piece").all():
        piece.scroll_into_view_if_needed()
        piece.and_(page.locator("[ready]")).wait_for()


def test_figures_are_drawn_and_questions_are_asked(open_page):
    page = open_page("chapters/online-softmax")
    page.locator(".hb-plot").first.scroll_into_view_if_needed()
    page.locator(".hb-plot--drawn").first.wait_for()
    page.locator("details.question").first.scroll_into_view_if_needed()
    page.wait_for_function("!document.querySelector('ul + details.question')")


def test_every_link_names_a_file_of_the_copy(archive_folder):
    lost = set()
    for path in archive_folder.rglob("*.html"):
        if path.name == "404.html":
            continue  # its links begin at a server's root
        for link in set(offline.LINK.findall(path.read_text(encoding="utf-8"))) - {""}:
            if not (path.parent / link).is_file():
                lost.add((path.relative_to(archive_folder).as_posix(), link))
    assert lost == set()


@pytest.mark.parametrize(
    "address, file",
    [("", ""), (".", "./index.html"), ("..", "../index.html"), ("../a/", "../a/index.html"), ("a/b.svg", "a/b.svg")],
)
def test_a_folder_is_its_first_page(address, file):
    assert offline.file_address(address) == file


def test_what_a_module_exports_is_returned():
    text = 'import { a as b } from "./a.js";\nexport const c = b;\nexport default c;\n'
    code = offline.module_function("c.js", text)
    assert 'const {  a: b  } = requireModule("a.js");' in code and "return { c, default: $default };" in code
