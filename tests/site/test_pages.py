"""The built HTML: every block of code is a quotation, every link leads somewhere, nothing is asked of another host."""

import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from bs4 import BeautifulSoup

from scripts import records
from scripts.records import ROOT
from scripts.site import quotes

BASE = "http://127.0.0.1/handbook/"
DOCS = "\n".join(path.read_text() for path in sorted((ROOT / "docs").rglob("*.md")))


@cache
def soup(file: Path) -> BeautifulSoup:
    return BeautifulSoup(file.read_text(), "html.parser")


@pytest.fixture
def articles(site, pages):
    return {page: soup(site / page / "index.html").article for page in pages}


def test_there_is_a_page_for_everything(pages):
    assert {f"snippets/{name}/" for name in records.names()} | {"", "chapters/three-matmuls/"} <= set(pages)


def test_every_pre_is_a_quotation(articles):
    for page, article in articles.items():
        for block in article.find_all("pre"):
            where = f"{page}: {block.get_text()[:60]!r}"
            if mark := block.get("data-record"):
                name, _, tag = mark.partition(":")
                printed = [
                    output.get("text") or output.data["text/plain"] for output in records.read(name).outputs[tag]
                ]
                assert block.get_text() in [text.rstrip() for text in printed], where
                continue
            quoted = block.find_parent(attrs={"data-quote": True})
            assert quoted, f"{where} was typed on the page"
            assert block.get_text().rstrip("\n") == todays(quoted["data-quote"]).rstrip("\n"), where


def todays(mark: str) -> str:
    if mark.startswith("kernels."):
        return quotes.quote(mark).text
    name, _, tag = mark.partition(":")
    return next(cell.source for cell in records.snippet(name).cells if cell.id == tag)


def test_every_output_says_where_and_when_it_ran(articles):
    for page, article in articles.items():
        for block in article.find_all(attrs={"data-record": True}):
            name = block["data-record"].partition(":")[0]
            ran = records.read(name).provenance
            lines = [line.get_text() for line in article.find_all(class_="hb-provenance")]
            assert any(name in line and ran["gpu"] in line and ran["driver"] in line for line in lines), page


def test_every_value_is_the_records(articles):
    for article in articles.values():
        for value in article.find_all(class_="hb-value", attrs={"data-value": True}):
            snippet, column = value["data-value"].split()[0].split(".", 1)
            numbers = [
                row[column] for table in records.read(snippet).tables() for row in table["rows"] if column in row
            ]
            assert value.get_text() in {format(number, value["data-value"].split()[-1]) for number in numbers}


def test_every_link_and_anchor_leads_somewhere(site, pages):
    for page in [*pages, "404.html"]:
        html = soup(site / page / "index.html" if page != "404.html" else site / page)
        for tag, attribute in (("a", "href"), ("link", "href"), ("script", "src"), ("img", "src")):
            for found in html.find_all(tag, attrs={attribute: True}):
                target = urlsplit(urljoin(BASE + page, found[attribute]))
                if target.netloc != "127.0.0.1" or found[attribute].startswith(("data:", "mailto:")):
                    continue
                file = site / unquote(target.path.removeprefix("/handbook/"))
                file = file / "index.html" if file.is_dir() else file
                assert target.path.startswith("/handbook/") and file.is_file(), f"{page or 'index'}: {found[attribute]}"
                if target.fragment and file.suffix == ".html":
                    assert soup(file).find(id=unquote(target.fragment)), f"{page or 'index'}: {found[attribute]}"


def test_nothing_is_fetched_from_another_host(site):
    for file in [*site.rglob("*.html"), *site.rglob("*.css")]:
        text = file.read_text()
        fetched = re.findall(
            r'(?:src|srcset)="(https?:[^"]*)"|url\(["\']?(https?:[^)]*)|@import\s+["\'](https?:[^"\']*)', text
        )
        fetched += re.findall(r'<link(?![^>]*rel="canonical")[^>]*href="(https?:(?!//127\.0\.0\.1/)[^"]*)"', text)
        assert not fetched, file


def test_no_formula_is_left_raw_and_none_stands_in_a_heading(articles):
    for page, article in articles.items():
        assert not re.search(r"\\\(|\\\[", article.get_text()), page
        for heading in article.find_all(re.compile("^h[1-6]$")):
            assert not heading.find(class_=["katex", "hb-value"]), f"{page}: {heading.get_text()}"
            assert "\\" not in heading.get_text(), f"{page}: {heading.get_text()}"


def test_headings_and_ids(articles):
    for page, article in articles.items():
        assert len(article.find_all("h1")) == 1, page
        ids = [tag["id"] for tag in article.find_all(id=True)]
        assert len(ids) == len(set(ids)), f"{page}: {sorted(name for name in ids if ids.count(name) > 1)}"
        levels = [int(tag.name[1]) for tag in article.find_all(re.compile("^h[1-6]$"))]
        assert all(after <= before + 1 for before, after in pairwise(levels)), f"{page}: {levels}"


def test_every_figure_has_a_caption_and_a_text_alternative(articles):
    figures = [figure for article in articles.values() for figure in article.find_all(class_="hb-figure")]
    assert figures
    for figure in figures:
        assert figure.figcaption.get_text(strip=True) and figure.find(class_="hb-alternative").get_text(strip=True)


def test_snippet_pages_are_lean_and_offer_script_and_notebook(site, articles):
    for name in records.names():
        assert (site / "snippets" / f"{name}.py").read_text() == (ROOT / "snippets" / f"{name}.py").read_text()
        article = articles[f"snippets/{name}/"]
        assert not article.find_all(["style", "script"])
        assert {link["href"] for link in article.find_all("a", download=True)} == {f"../{name}.py", f"../{name}.ipynb"}
        assert article.find(class_="hb-provenance"), name


@pytest.mark.parametrize("name", records.names())
def test_every_snippet_is_used_by_a_page(name):
    assert re.search(rf"^``` run\n\s*{name}:|snippets/{name}\.ipynb", DOCS, re.MULTILINE)


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "scripts/figures").glob("*.py")))
def test_every_figure_is_used_by_a_page(name):
    assert re.search(rf"^\s*``` figure [^\n]*\n\s*{name}\n", DOCS, re.MULTILINE)


def test_no_code_is_typed_on_a_page():
    fences = re.findall(r"^\s*(?:```|~~~)[ {.]*(\w+)", DOCS, re.MULTILINE)
    assert set(fences) <= {"source", "run", "figure"}
