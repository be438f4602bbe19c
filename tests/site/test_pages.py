"""The built HTML: every block of code is a quotation, every link leads somewhere, nothing is asked of another host."""

import re
from collections import Counter
from datetime import date
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from bs4 import BeautifulSoup, SoupStrainer

from scripts.facts.unchecked_pages import is_unchecked
from scripts.records import ROOT, Reader, machine_name
from scripts.site.fences import figures, symbols
from scripts.site.pages import glossary
from tests.site.conftest import EARLIER, NEWEST, never_ran

BASE = "http://127.0.0.1/handbook/"
CHAPTER = "chapters/online-softmax/"
LIBRARY = "\n".join(path.read_text() for path in sorted((ROOT / "kernels").rglob("*.py")))
DOCS = "\n".join(path.read_text() for path in sorted((ROOT / "docs").rglob("*.md")))


@cache
def soup(file: Path) -> BeautifulSoup:
    return BeautifulSoup(file.read_text(), "html.parser")


@cache
def ids(file: Path) -> set[str]:
    return {tag["id"] for tag in soup(file).find_all(id=True)}


@pytest.fixture
def articles(site, pages):
    return {page: soup(site / page / "index.html").article for page in pages}


def markdown_of(page: str) -> str:
    """The Markdown of a page; nothing for a snippet's."""
    files = [ROOT / "docs" / f"{page.rstrip('/')}.md", ROOT / "docs" / page / "index.md"]
    return "".join(file.read_text() for file in files if file.is_file())


def reader(page: str) -> Reader:
    """The reader of a page's records: an unchecked page has those of snippets/earlier."""
    return EARLIER if is_unchecked(markdown_of(page)) else NEWEST


def cells_shown(page: str) -> list[str]:
    """The cells that a page shows, ``snippet:tag`` each, in its order."""
    if page.startswith("snippets/"):
        name = page.split("/")[1]
        return [f"{name}:{tag}" for tag in NEWEST.snippet(name).code]
    return re.findall(r"^\s*``` run\b.*\n\s*(\S+)", markdown_of(page), re.MULTILINE)


def says_where_and_when(line, name: str, ran: dict, earlier: bool = False) -> bool:
    day = date.fromisoformat(ran["date"])
    facts = [f"{name} {'an earlier run' if earlier else 'ran'} on {machine_name(ran)}, {day.day} {day:%B %Y}"]
    facts += [f"torch {ran['torch']}", f"triton {ran['triton']}", f"CUDA {ran['cuda']}", f"driver {ran['driver']}"]
    facts += [f"Python {ran['python']}", f"commit {ran['commit']}"]
    return all(fact in line.get_text() for fact in facts)


def says_how_to_run(notice, name: str) -> bool:
    return f"{name} has never run" in notice.get_text() and f"make run SNIPPET={name};" in notice.get_text()


def says_how_it_ran(line, page: str, name: str) -> bool:
    """Whether a line on a page says where a snippet ran, or how to run what has never run."""
    if never_ran(name):
        return says_how_to_run(line, name)
    record = reader(page).read(name)
    return says_where_and_when(line, name, record.provenance, record.earlier)


def test_every_block_of_code_is_a_quotation(articles):
    for page, article in articles.items():
        for block in article.find_all("pre"):
            where = f"{page}: {block.get_text()[:60]!r}"
            if mark := block.get("data-record"):
                name, _, tag = mark.partition(":")
                outputs = reader(page).read(name).outputs[tag]
                printed = [output.get("text") or output.data["text/plain"] for output in outputs]
                assert block.get_text() in [text.rstrip() for text in printed], where
                continue
            if block.find_parent(class_="doc-contents"):  # a drawing within a docstring
                assert all(line.strip() in LIBRARY for line in block.get_text().splitlines()), where
                continue
            quoted = block.find_parent(attrs={"data-quote": True})
            assert quoted, f"{where} was typed on the page"
            assert block.get_text().rstrip("\n") == mark_text(quoted["data-quote"]).rstrip("\n"), where


def mark_text(mark: str) -> str:
    if mark.startswith("kernels.") or symbols.is_lab(mark.partition(" ")[0]):
        return symbols.quote(mark, ROOT).text
    name, _, tag = mark.partition(":")
    return NEWEST.snippet(name).code[tag]


def test_every_output_of_a_record_stands_where_its_cell_is_shown(articles):
    for page, article in articles.items():
        expected = Counter()
        for mark in cells_shown(page):
            name, _, tag = mark.partition(":")
            expected[mark] += 0 if never_ran(name) else len(reader(page).read(name).outputs.get(tag, []))
        found = Counter(block["data-record"] for block in article.find_all(attrs={"data-record": True}))
        assert found == +expected, page


def test_every_output_says_where_and_when_it_ran(articles):
    """A chapter says so beneath each cell, in its own box; a snippet's page once, above all cells."""
    for page, article in articles.items():
        if page.startswith("snippets/"):
            boxes = [(article, page.split("/")[1])]
            first = article.find(class_=["hb-provenance", "hb-notice"])
            assert first and not first.find_previous(attrs={"data-quote": True}), f"{page}: it stands below a cell"
        else:
            boxes = [(box, box.find(attrs={"data-quote": True})["data-quote"]) for box in article.select(".hb-run")]
            assert [mark for _, mark in boxes] == cells_shown(page)
            assert all(output.find_parent(class_="hb-run") for output in article.select("[data-record]")), page
        for box, mark in boxes:
            name = mark.partition(":")[0]
            lines = box.find_all(class_=["hb-provenance", "hb-notice"])
            assert len(lines) == 1 and says_how_it_ran(lines[0], page, name), f"{page}: {mark}"


def test_no_value_is_left_unasked(articles):
    assert [page for page, article in articles.items() if "#!value" in article.get_text()] == []


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
                    assert unquote(target.fragment) in ids(file), f"{page or 'index'}: {found[attribute]}"


def linked_pages(page: str, links) -> list[str]:
    """The pages of the site that these links lead to, in their order."""
    found = [urlsplit(urljoin(BASE + page, link["href"])) for link in links]
    return [target.path.removeprefix("/handbook/") for target in found if target.netloc == "127.0.0.1"]


def test_a_page_shows_its_part_of_the_contents_and_not_all_of_them(site, pages):
    chapters = {page for page in pages if re.fullmatch("chapters/[^/]+/", page)}
    for page in pages:
        html = soup(site / page / "index.html")
        tabs = html.select(".md-tabs__link")
        assert [tab.get_text(strip=True) for tab in tabs] == ["Read", "Teach", "Run", "Reference"]
        assert len(html.select(".md-tabs__item--active")) == 1, page
        sidebar_pages = linked_pages(page, html.select(".md-sidebar--primary .md-nav__item a[href]:not([href^='#'])"))
        assert len(set(sidebar_pages)) < len(pages) / 2, page  # fourteen labs stand one below the other
        if page in chapters:
            assert chapters | {page} <= set(sidebar_pages)
            assert not [link for link in sidebar_pages if link.startswith("snippets/")]
        if page.startswith("snippets/"):
            name = page.split("/")[1]
            folder = NEWEST.path(name).parent
            siblings = {other for other in NEWEST.names() if NEWEST.path(other).parent == folder}
            assert {f"snippets/{other}/" for other in siblings} <= set(sidebar_pages)


def test_every_page_can_be_reached_from_the_home_page(site, pages):
    reached, waiting = set(), [""]
    while waiting:
        page = waiting.pop()
        if page in reached or not (site / page / "index.html").is_file():
            continue
        reached.add(page)
        waiting += linked_pages(page, soup(site / page / "index.html").select("a[href]"))
    assert reached == set(pages)


def test_every_snippet_is_listed_under_its_chapter(articles):
    listed = {}
    for heading in articles["run/"].find_all("h2"):
        listed[heading.get_text()] = [item.code.get_text() for item in heading.find_next("ul").find_all("li")]
    assert sorted(name for names in listed.values() for name in names) == NEWEST.names()
    assert "online_softmax" in next(names for title, names in listed.items() if title.startswith("7 · "))


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


def test_a_page_has_one_title_unique_ids_and_skips_no_level_of_headings(articles):
    for page, article in articles.items():
        assert len(article.find_all("h1")) == 1, page
        ids = [tag["id"] for tag in article.find_all(id=True)]
        assert len(ids) == len(set(ids)), f"{page}: {sorted(name for name in ids if ids.count(name) > 1)}"
        levels = [int(tag.name[1]) for tag in article.find_all(re.compile("^h[1-6]$"))]
        assert all(after <= before + 1 for before, after in pairwise(levels)), f"{page}: {levels}"


def test_a_figure_with_a_note_has_a_headline_of_two_lines_on_a_phone_at_most(articles):
    noted = [note.find_parent("figure") for article in articles.values() for note in article.select("figure .hb-note")]
    assert len(noted) > 10
    for figure in noted:
        assert len(figure.figcaption.get_text()) <= 85, figure["id"]


def test_snippet_pages_are_lean_and_offer_script_and_notebook(site, articles):
    for name in NEWEST.names():
        assert (site / "snippets" / f"{name}.py").read_text() == NEWEST.path(name).read_text()
        article = articles[f"snippets/{name}/"]
        assert not article.find_all(["style", "script"])
        links = {link["href"] for link in article.find_all("a", download=True)}
        assert links == {f"../{name}.{kind}" for kind in ("py", "ipynb", "zip")}
        assert all((site / "snippets" / link.removeprefix("../")).is_file() for link in links)


def test_with_the_address_every_page_leads_to_the_repository_and_to_its_file(small_site):
    for file in (small_site.site / "404.html", *small_site.site.rglob("index.html")):
        text = file.read_text()
        html = BeautifulSoup(text, "html.parser", parse_only=SoupStrainer("a"))
        links = html.select("a.md-source")
        assert {link["href"] for link in links} == {"https://github.com/a/b"}
        assert not re.search(r"data-md-component=\W?source\b", text), "Material would ask the host for its stars"
        assert all(link.get_text(strip=True) == "a/b" for link in links)
        if file.name == "404.html":
            home = html.find("a", string="the first page")["href"]
            assert home.startswith("/") and urljoin(BASE, home) == BASE, "the page is shown at any depth"
            continue
        (edit,) = html.select("a[rel=edit]")
        path = urlsplit(edit["href"]).path.removeprefix("/a/b/edit/main/")
        assert (small_site.root / path).is_file(), path


def test_without_the_address_no_page_has_such_a_link(site, pages):
    for page in pages:
        html = soup(site / page / "index.html")
        assert not html.select(".md-source, [rel=edit]"), page
        assert html.select("a[href]"), page


def test_the_api_has_every_module_on_the_page_of_its_room_and_names_it_in_its_index(articles):
    files = [path.relative_to(ROOT / "kernels") for path in (ROOT / "kernels").rglob("*.py") if path.stem != "__init__"]
    files_by_page = {}
    for file in files:
        files_by_page.setdefault(file.parts[0] if len(file.parts) > 1 else "kernels", set()).add(file)
    pages = {page.split("/")[1]: article for page, article in articles.items() if re.fullmatch(r"api/\w+/", page)}
    assert pages.keys() == files_by_page.keys()
    listed = {anchor["id"]: anchor["href"] for anchor in articles["api/"].select("li > a[id]")}
    for name, article in pages.items():
        modules = {".".join(("kernels", *file.with_suffix("").parts)) for file in files_by_page[name]}
        assert {heading["id"] for heading in article.find_all("h2")} == modules
        assert {module: f"{name}/#{module}" for module in modules}.items() <= listed.items()
    assert len(listed) == len(files)


def test_every_documented_symbol_links_to_the_api(articles):
    api = [page for page in articles if re.fullmatch(r"api/\w+/", page)]
    page_by_symbol = {tag["id"]: page for page in api for tag in headings_with_ids(articles[page])}
    boxes = {(page, box) for page, article in articles.items() for box in article.select(".hb-source")}
    assert boxes
    for page, box in boxes:
        name = box["data-quote"].partition(" ")[0].replace(":", ".")
        link = box.find("a", href=re.compile("/api/"))
        assert bool(link) == (name in page_by_symbol), name
        if link:
            assert urljoin(BASE + page, link["href"]) == f"{BASE}{page_by_symbol[name]}#{name}"


def headings_with_ids(article) -> list:
    return article.select(".doc-heading[id]")


def test_every_function_and_class_of_the_api_has_its_source_folded_below_it(articles):
    shown = 0
    for page in articles:
        if not re.fullmatch(r"api/\w+/", page):
            continue
        for folded in articles[page].select(".doc-contents > details.hb-folded"):
            heading = folded.find_parent(class_="doc-object").select_one(".doc-heading")
            module, _, symbol = heading["id"].rpartition(".")
            assert not folded.has_attr("open") and folded.has_attr("data-search-exclude")
            source = symbols.quote(f"{module}:{symbol}", ROOT)
            shown_source = folded.pre.get_text().replace(symbols.FOR_THE_FORMATTER, "")
            assert shown_source.rstrip() == source.text.rstrip(), heading["id"]
            assert source.title in folded.summary.get_text()
            shown += 1
        functions = articles[page].select(
            ".doc-module > .doc-contents > .doc-children > :is(.doc-function, .doc-class)"
        )
        assert len(functions) == len(articles[page].select("details.hb-folded")), page
    assert shown > 150


def test_terms_are_explained_where_they_are_used(articles):
    terms = glossary.terms(ROOT / "docs")
    assert len(terms) > 40 and all(text.endswith(".") for text in terms.values())
    explained = [tag for page in articles if page.startswith("chapters/") for tag in articles[page].find_all("abbr")]
    assert {tag["title"] for tag in explained} <= set(terms.values())
    assert {"HBM", "warps", "Decode"} <= {tag.get_text() for tag in explained}
    for page, article in articles.items():
        assert not article.select(":is(h1, h2, h3, h4, h5, h6, a) abbr"), page
        titles = [tag["title"] for tag in article.find_all("abbr")]
        assert len(titles) == len({*titles}), f"{page}: explained twice"


def test_a_term_is_explained_where_it_is_first_read_and_folded_only_if_it_is_nowhere_else():
    a, b = (f'<abbr title="{term}.">{term}</abbr>' for term in "AB")
    html = f"<h2>{a}</h2><details>{a} {b} {b}</details><a>{a}</a>{a}s{a}"
    assert glossary.explain_once(html) == f"<h2>A</h2><details>A {b} B</details><a>A</a>{a}sA"


def test_every_snippet_and_every_figure_is_used_by_a_page():
    used_snippets = {
        *re.findall(r"^ *``` run\n\s*(\w+):", DOCS, re.MULTILINE),
        *re.findall(r"snippets/(\w+)\.ipynb", DOCS),
    }
    drawn = re.findall(r"^ *``` figure [^\n]*\n\s*(\w+)\n", DOCS, re.MULTILINE)
    assert {*NEWEST.names()} - used_snippets == set() == figures.paths(ROOT).keys() - {*drawn}


def test_no_code_is_typed_on_a_page():
    fences = re.findall(r"^\s*(?:```|~~~)[ {.]*(\w+)", DOCS, re.MULTILINE)
    assert set(fences) <= {"source", "run", "figure", "live", "suite"}
