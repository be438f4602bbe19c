"""Each work is on the references page, once, in the same words wherever it is cited; and each on that page is cited."""

import ast
import re
from collections import Counter
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
NAMED_FILE = re.compile(r"`((?:kernels|snippets|scripts|tests|docs)/[\w/-]+\.\w+)`")
OUTSIDE_ADDRESS = re.compile(r"""https?://(?!127\.0\.0\.1|localhost)[^\s)>"'`]+""")


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


def plain_text(words):
    """A work as a docstring writes it: without links and emphasis."""
    return re.sub(r"\[(.*?)\]\(.*?\)", r"\1", words).replace("*", "")


PAGE = (DOCS / "references.md").read_text(encoding="utf-8")
WORKS_OF_PAGE = works(PAGE)
FURTHER_WORKS = works(section(PAGE, "Going further"))
REFERENCE_LISTS = {page.parent.name: section(page.read_text(encoding="utf-8"), "References") for page in CHAPTERS}
CITED_WORKS = {chapter: works(text) for chapter, text in REFERENCE_LISTS.items()}


@pytest.mark.parametrize(
    "name, text", [("references.md", PAGE), *REFERENCE_LISTS.items()], ids=["references.md", *REFERENCE_LISTS]
)
def test_each_entry_is_a_work_with_an_address_and_stands_once(name, text):
    page = "docs/references.md" if text is PAGE else f"docs/chapters/{name}/index.md"
    assert items(text), f"{page} wants a list `## References`, each work in the words of docs/references.md"
    found = [(WORK.match(item), item) for item in items(text)]
    strange = [item for match, item in found if not match]
    assert not strange, f"{page}: a work is `- authors, *title*, year, [where](https://…).`: {strange}"
    twice = [address for address, times in Counter(match["address"] for match, _ in found).items() if times > 1]
    assert not twice, f"{page} lists {twice} twice"
    numbered = re.findall(r"^ +\d+\. .*", text, re.MULTILINE)
    assert not numbered, f"{page}: Markdown begins a numbered list here: {numbered}"


@pytest.mark.parametrize("chapter", CITED_WORKS)
def test_a_chapter_cites_works_of_the_page_in_its_words(chapter):
    for address, (words, _) in CITED_WORKS[chapter].items():
        assert address in WORKS_OF_PAGE, (
            f"docs/chapters/{chapter}/index.md cites {address}: add it to docs/references.md"
        )
        known = WORKS_OF_PAGE[address][0]
        assert words == known, f"docs/chapters/{chapter}/index.md says {words!r}, docs/references.md {known!r}"


@pytest.mark.parametrize("module", KERNELS)
def test_a_docstring_cites_works_of_the_page_in_its_words(module):
    text = docstrings(module)
    for number in re.findall(r"arXiv:(\d{4}\.\d{5})", text):
        address = f"https://arxiv.org/abs/{number}"
        assert address in WORKS_OF_PAGE, f"{module} cites {address}: add it to docs/references.md"
        assert plain_text(WORKS_OF_PAGE[address][0]) in text


def test_an_entry_names_those_who_cite_it():
    for address, (words, item) in WORKS_OF_PAGE.items():
        chapters = {chapter for chapter in CITED_WORKS if address in CITED_WORKS[chapter]}
        modules = {module for module in KERNELS if plain_text(words) in docstrings(module)}
        if address in FURTHER_WORKS:
            assert not chapters | modules, f"docs/references.md: {address} is cited, it belongs to a group above"
            continue
        assert chapters, f"docs/references.md: no chapter cites {address}"
        linked = {*re.findall(r"\(chapters/([\w-]+)/index\.md\)", item)}
        assert linked == chapters, f"docs/references.md: {chapters} cite {address}, its line links {linked}"
        linked = {*re.findall(r"\(api\.md#(kernels[\w.]*)\)", item)}
        assert linked == modules, f"docs/references.md: {modules} cite {address}, its line links {linked}"


def test_an_entry_has_an_anchor_of_its_own():
    anchors = [re.findall(r"\{ #([\w-]+) \}$", item) for _, item in WORKS_OF_PAGE.values()]
    assert all(len(found) == 1 for found in anchors)
    assert len({found[0] for found in anchors}) == len(anchors)


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.relative_to(DOCS).as_posix())
def test_no_page_leads_outside_but_to_a_work_of_the_page(page):
    found = {urldefrag(address).url for address in OUTSIDE_ADDRESS.findall(page.read_text(encoding="utf-8"))}
    strange = found - set(WORKS_OF_PAGE)
    assert not strange, (
        f"{page.relative_to(ROOT)} leads to {strange}: add them to docs/references.md, or link its entry"
    )


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.relative_to(DOCS).as_posix())
def test_a_file_that_a_page_names_is_there(page):
    named = NAMED_FILE.findall(page.read_text(encoding="utf-8"))
    gone = [path for path in named if "NAME" not in path and not (ROOT / path).exists()]
    assert not gone, f"{page.relative_to(ROOT)} names {gone}, and there's no such file"


def test_a_number_of_arxiv_is_the_address_it_leads_to():
    for words, _ in WORKS_OF_PAGE.values():
        for kind, number, address in re.findall(r"\[(arXiv|doi):(.*?)\]\((.*?)\)", words):
            host = {"arXiv": "https://arxiv.org/abs/", "doi": "https://doi.org/"}[kind]
            assert address == host + number
