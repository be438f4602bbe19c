"""Each work is on the references page, once, in the same words wherever it is cited; and each on that page is cited."""

import ast
import re
from functools import cache
from urllib.parse import urldefrag

import pytest

from scripts.records import ROOT

DOCS = ROOT / "docs"
CHAPTERS = sorted((DOCS / "chapters").glob("*/index.md"))
KERNELS = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((ROOT / "kernels").rglob("*.py"))
}
# A work up to the end of its sentence: authors, title, year and the link; a point before a digit ends nothing.
WORK = re.compile(r"- (?P<words>.*?\]\((?P<address>https?://[^)]+)\)(?:[^.]|\.(?=\d))*)\.")
FILE = re.compile(r"`((?:kernels|snippets|scripts|tests|docs)/[\w/-]+\.\w+)`")
OUTSIDE = re.compile(r"""https?://(?!127\.0\.0\.1|localhost)[^\s)>"'`]+""")


def items(text):
    """The entries of a list, each on one line."""
    return [" ".join(item.split()) for item in re.findall(r"^- .*(?:\n {2}.*)*", text, re.MULTILINE)]


def section(text, heading):
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def works(text):
    """address -> (the work, the whole entry)"""
    found = [(WORK.match(item), item) for item in items(text)]
    return {match["address"]: (match["words"], item) for match, item in found if match}


@cache
def docstrings(module):
    tree = ast.parse(KERNELS[module].read_text(encoding="utf-8"))
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    found = [ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, kinds)]
    return " ".join(" ".join(filter(None, found)).split())


def plain(words):
    """A work as a docstring writes it: without links and emphasis."""
    return re.sub(r"\[(.*?)\]\(.*?\)", r"\1", words).replace("*", "")


PAGE = (DOCS / "references.md").read_text(encoding="utf-8")
ON_PAGE = works(PAGE)
FURTHER = works(section(PAGE, "Going further"))
LISTS = {page.parent.name: section(page.read_text(encoding="utf-8"), "References") for page in CHAPTERS}
CITED = {chapter: works(text) for chapter, text in LISTS.items()}


@pytest.mark.parametrize("name, text", [("the page", PAGE), *LISTS.items()], ids=["the page", *LISTS])
def test_each_entry_is_a_work_with_an_address_and_stands_once(name, text):
    assert items(text)
    found = [(WORK.match(item), item) for item in items(text)]
    assert [item for match, item in found if not match] == []
    assert len({match["address"] for match, _ in found}) == len(found)
    assert re.findall(r"^ +\d+\. .*", text, re.MULTILINE) == [], "Markdown begins a numbered list here"


@pytest.mark.parametrize("chapter", CITED)
def test_a_chapter_cites_works_of_the_page_in_its_words(chapter):
    for address, (words, _) in CITED[chapter].items():
        assert address in ON_PAGE, f"{address} is missing on the references page"
        assert words == ON_PAGE[address][0]


@pytest.mark.parametrize("module", KERNELS)
def test_a_docstring_cites_works_of_the_page_in_its_words(module):
    text = docstrings(module)
    for number in re.findall(r"arXiv:(\d{4}\.\d{5})", text):
        address = f"https://arxiv.org/abs/{number}"
        assert address in ON_PAGE, f"{address} is missing on the references page"
        assert plain(ON_PAGE[address][0]) in text


def test_an_entry_names_those_who_cite_it():
    for address, (words, item) in ON_PAGE.items():
        chapters = {chapter for chapter in CITED if address in CITED[chapter]}
        modules = {module for module in KERNELS if plain(words) in docstrings(module)}
        if address in FURTHER:
            assert not chapters | modules, f"{address} is cited: it belongs to a group above"
            continue
        assert chapters, f"no chapter cites {address}"
        assert set(re.findall(r"\(chapters/([\w-]+)/index\.md\)", item)) == chapters, address
        assert set(re.findall(r"\(api\.md#(kernels[\w.]*)\)", item)) == modules, address


def test_an_entry_has_an_anchor_of_its_own():
    anchors = [re.findall(r"\{ #([\w-]+) \}$", item) for _, item in ON_PAGE.values()]
    assert all(len(found) == 1 for found in anchors)
    assert len({found[0] for found in anchors}) == len(anchors)


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.relative_to(DOCS).as_posix())
def test_no_page_leads_outside_but_to_a_work_of_the_page(page):
    found = {urldefrag(address).url for address in OUTSIDE.findall(page.read_text(encoding="utf-8"))}
    assert found <= set(ON_PAGE)


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.relative_to(DOCS).as_posix())
def test_a_file_that_a_page_names_is_there(page):
    named = FILE.findall(page.read_text(encoding="utf-8"))
    assert [path for path in named if "NAME" not in path and not (ROOT / path).exists()] == []


def test_a_number_of_arxiv_is_the_address_it_leads_to():
    for words, _ in ON_PAGE.values():
        for kind, number, address in re.findall(r"\[(arXiv|doi):(.*?)\]\((.*?)\)", words):
            host = {"arXiv": "https://arxiv.org/abs/", "doi": "https://doi.org/"}[kind]
            assert address == host + number
