"""One order of chapters makes the navigation, and the folders make the lists: nothing names a page twice."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from mkdocs.exceptions import PluginError

import kernels
from scripts.records import ROOT, Reader
from scripts.site.live import Pieces
from scripts.site.pages import navigation
from scripts.site.pages.placeholders import Placeholders
from scripts.site.pages.sheets import Sheets

ORDER = ["start", {"First part": ["one-two", "three"]}, {"Second part": ["four"]}]
NAV = [
    {"Home": "index.md"},
    "chapters/",
    {"Board": [{"At the board": "whiteboard/index.md"}, "whiteboard/", {"Talk": "whiteboard/talk.md"}]},
    {"Notes": ["notes/"]},
    {"Code": ["snippets/"]},
]
PAGES = {
    "chapters/start/index.md": "# Start here\n",
    "chapters/one-two/index.md": "# One, two\n\n[late](../../snippets/late.ipynb)\n\n``` run\nearly:x\n```\n",
    "chapters/three/index.md": "---\nsearch: x\n---\n\n# Three\n",
    "chapters/four/index.md": "# Four\n",
    "chapters/one-two/notes.md": "# What was found\n",
    "chapters/one-two/why.md": "# Why?\n\n[last](../../snippets/last.ipynb)\n",
    "chapters/three/sheet.md": "# Sheet\n\n## Part\n\nFor [chapter 2](x). 40 minutes, 5 of them for questions.\n"
    "\n</div>\n\n## To be said\n",
    "whiteboard/talk.md": "# The talk\n",
}


@pytest.fixture
def docs(tmp_path):
    for name, text in PAGES.items():
        (tmp_path / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "docs" / name).write_text(text)
    return tmp_path / "docs"


@pytest.fixture
def chapters(docs):
    return navigation.chapters(ORDER, docs)


def paths(*names):
    return {Path(name).stem: Path("snippets") / f"{name}.py" for name in names}


def test_the_navigation_numbers_chapters_and_parts_and_takes_titles_from_the_pages(docs, chapters):
    assert navigation.expand(NAV, chapters, [(chapters[1], ["late"])], docs) == [
        {"Home": "index.md"},
        {"0 · Start here": "chapters/start/index.md"},
        {
            "I · First part": [
                {"1 · One, two": "chapters/one-two/index.md"},
                {"1b · Why?": "chapters/one-two/why.md"},
                {"2 · Three": "chapters/three/index.md"},
            ]
        },
        {"II · Second part": [{"3 · Four": "chapters/four/index.md"}]},
        {
            "Board": [
                {"At the board": "whiteboard/index.md"},
                {"2 · Three": "chapters/three/sheet.md"},
                {"Talk": "whiteboard/talk.md"},
            ]
        },
        {"Notes": [{"1 · One, two": "chapters/one-two/notes.md"}]},
        {"Code": [{"1 · One, two": ["snippets/late.ipynb"]}]},
    ]


def test_snippets_come_by_chapter_as_its_pages_first_speak_of_them(chapters):
    found = paths("four/a", "one_two/early", "one_two/unspoken", "one_two/last", "one_two/late", "start/z")
    start, one_two, _, four = chapters
    assert navigation.snippets(chapters, found) == [
        (start, ["z"]),
        (one_two, ["late", "early", "last", "unspoken"]),
        (four, ["a"]),
    ]


def test_a_chapter_without_its_page_stops_the_build(docs):
    with pytest.raises(PluginError, match=r"there is no docs/chapters/five/index\.md"):
        navigation.chapters([*ORDER, "five"], docs)


def test_a_folder_of_no_chapter_stops_the_build(chapters):
    with pytest.raises(PluginError, match="snippets/five/ is the folder of no chapter"):
        navigation.snippets(chapters, paths("five/a"))


def test_lists_hold_every_chapter_and_every_sheet(docs, chapters):
    nav, root = navigation.expand(NAV, chapters, [], docs), docs.parent
    as_typed = SimpleNamespace(lay_out=lambda text, name, home, is_own_page: text)
    lists = Placeholders(chapters, nav, Reader(root), Pieces(ROOT / "docs" / "live"), {}, as_typed)
    assert lists.fill("<!-- hours to read -->, <!-- hours at the board -->") == "about 0 hours, about 1 hours"
    rows = lists.fill("| a |\n<!-- a row for every sheet -->\n| b |")
    assert rows == "| a |\n| [Three](../chapters/three/sheet.md) | [2](../chapters/three/index.md) | 40 |\n| b |"
    every = lists.fill("# All\n\n<!-- every sheet -->\n")
    assert re.findall("^#+ .*", every, re.MULTILINE) == ["# All", "## Sheet", "### Part", "## The talk"]


def test_a_fact_in_the_caption_of_a_live_piece_is_checked_on_its_own_page_alone(docs, chapters):
    fence = '``` live {caption="It takes [ten times]{fact=slower} as long."}\none_head\n```'
    (docs / "chapters/three/index.md").write_text(f"# Three\n\n{fence}\n")
    chapters, reader = navigation.chapters(ORDER, docs), Reader(docs.parent)
    lists = Placeholders(chapters, [], reader, Pieces(ROOT / "docs" / "live"), {}, Sheets(reader, reader))
    section = lists.fill("<!-- every live piece -->")
    assert "[Chapter 2: Three](chapters/three/index.md#live-one_head)" in section
    assert '``` live {caption="It takes ten times as long."}\none_head\n```' in section


def filled(text, **options):
    """A page with the lists of today's folders."""
    reader = Reader(ROOT)
    pieces, sheets = Pieces(ROOT / "docs" / "live"), Sheets(reader, reader)
    return Placeholders([], [], reader, pieces, {}, sheets, **options).fill(text)


def test_the_measurements_have_a_section_for_every_snippet():
    sections = filled("<!-- every record -->")
    assert re.findall(r"^``` record\n(\w+)$", sections, re.MULTILINE) == Reader(ROOT).names()
    assert "## Why the scores are divided by the square root of d\n\n``` record\nscaling\n" in sections


def test_how_to_clone_is_said_if_the_address_is_known():
    text = "a copy<!-- the repository to clone -->."
    assert filled(text) == "a copy."
    cloned = filled(text, repository="https://x.org/a.git")
    assert cloned == "a copy, `git clone https://x.org/a.git handbook && cd handbook`."


def test_every_public_name_of_the_library_leads_to_where_it_is():
    line = r"^- `(\w+)`: \[`kernels\.([\w.]+)\.\1`\]\(\.\./api\.md#kernels\.\2\.\1\)$"
    assert re.findall(line, filled("<!-- every public name -->"), re.MULTILINE) == [*kernels.MODULE_OF.items()]


def test_labs_come_by_number_each_with_its_chapter(docs, chapters):
    folder = docs.parent / "scripts" / "labs" / "catalogue"
    for number, name in ((2, "first_one"), (1, "second")):
        (folder / name).mkdir(parents=True)
        (folder / name / "about.toml").write_text(
            f'number = {number}\ntitle = "{name}"\nchapter = "three"\nminutes = 9\nfunctions = ["f"]\n'
        )
    nav = navigation.expand([{"Labs": ["labs/"]}], chapters, [], docs)
    assert nav == [{"Labs": [{"1 · second": "labs/second.md"}, {"2 · first_one": "labs/first-one.md"}]}]
    reader = Reader(docs.parent)
    lists = Placeholders(chapters, [], reader, Pieces(ROOT / "docs" / "live"), {}, Sheets(reader, reader))
    rows = lists.fill("<!-- a row for every lab -->")
    assert rows.splitlines()[0] == "| [1 · second](labs/second.md) | [2](chapters/three/index.md) | 9 |"
    assert lists.fill("<!-- labs of three -->") == (
        "Build it yourself: [second](../../labs/second.md), [first_one](../../labs/first-one.md)."
    )
    assert lists.fill("<!-- labs of four -->") == ""
    assert "`labs/02_first_one.py`" in lists.fill("<!-- lab first-one -->")
    with pytest.raises(PluginError, match="has no such lab"):
        lists.fill("<!-- lab nowhere -->")


def test_the_old_addresses_of_notes_and_sheets_lead_to_where_they_are_now(site):
    for old, new in (("notes/hopper", "chapters/hopper/notes"), ("whiteboard/hopper", "chapters/hopper/sheet")):
        assert (site / new / "index.html").is_file()
        assert f'content="0; url=../../{new}/"' in (site / old / "index.html").read_text(encoding="utf-8")
