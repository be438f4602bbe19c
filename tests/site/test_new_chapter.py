"""A new chapter is a folder in each room and one line of order: a chapter *Example* is put into a copy, and built."""

import pytest
from bs4 import BeautifulSoup

from scripts.facts import of_chapter
from tests.site.conftest import Copy, mkdocs

PAGE = """---
question: What does a chapter need?
---

# Example

The tree makes [{words}]{{fact=example_of_a_fact}} the chain, and a table has 4 · 8 = 32 bytes.

``` figure {{caption="One bar is shorter."}}
example_bars
```

``` run
example_run:show
```

[The sheet](sheet.md), [the notes](notes.md).
"""
SHEET = """# Sheet 13: example

<div class="hb-sheet" markdown>

For [the chapter](index.md). 5 minutes.

<!-- step 5 min -->
**One step.** A word.

> "That's all."

**say** Why one word? Because it's an example.

<!-- key -->

**Given.** Nothing.

</div>
"""
FILES = {
    "docs/chapters/example/notes.md": "# Notes: example\n\nA note on an example that is long enough to describe it.\n",
    "docs/chapters/example/sheet.md": SHEET,
    "docs/assets/drawings/path-example.svg": (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><title>One</title>'
        "<desc>A single line that goes from one corner to the other.</desc><path d='M0 0L9 9'/></svg>"
    ),
    "snippets/example/example_run.py": '# %% [markdown]\n# # An example\n\n# %% tags=["show"]\nprint("example")\n',
    "scripts/chapters/example/facts.py": """from scripts.facts import compares, words


@compares("softmax_order.ways", form_column="way", forms=("a_tree", "first_to_last"), value_column="mean")
def example_of_a_fact(rows):
    mean = {row["way"]: words.with_margin(row["mean"], "exact") for row in rows}
    return words.quantity_before_name(mean["a_tree"].divided_by(mean["first_to_last"]), "error")
""",
    "scripts/chapters/example/figures/example_bars.py": """import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = "Bars, one for each way to add, of which one is shorter."


def figure():
    rows = records.table("softmax_order", "ways")
    bars = plot.Style("the mean error", "accent").bars("%{y}: %{x:.2g}")
    return plot.finish(go.Figure(go.Bar(x=[row["mean"] for row in rows], y=[row["way"] for row in rows], **bars)), 300)
""",
    "scripts/chapters/example/worked.py": '"""The example."""\n\nWORD = "one"\n',
    "scripts/chapters/example/board.py": """from scripts.chapters.board import Board
from scripts.chapters.example.worked import WORD


def board():
    board = Board()
    board.step("A word.")
    board.words(240, 100, WORD)
    return board
""",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    copy = Copy(tmp_path_factory.mktemp("example") / "copy")
    words = of_chapter("online-softmax")["a_tree_beside_a_chain"]()
    for path, text in {**FILES, "docs/chapters/example/index.md": PAGE.format(words=words)}.items():
        (copy.root / path).parent.mkdir(parents=True, exist_ok=True)
        (copy.root / path).write_text(text)
    copy.edit(
        "mkdocs.yml", lambda text: text.replace("        - many-gpus\n", "        - many-gpus\n        - example\n")
    )
    copy.edit("snippets/behind.toml", lambda text: text + 'example_run = "No GPU yet."\n')
    ran = mkdocs("build", "--strict", root=copy.root)
    assert ran.returncode == 0, ran.stderr
    return copy.root / "site"


def test_the_example_is_in_every_list(built):
    page = BeautifulSoup((built / "chapters/example/index.html").read_text(), "html.parser")
    assert page.h1.get_text(strip=True).startswith("Example")
    assert page.select_one("#figure-example_bars .hb-plot script")
    assert page.select_one(".hb-fact")["data-fact"] == "example_of_a_fact"
    assert "13" in page.select_one(".md-nav--primary").get_text()
    sheet = BeautifulSoup((built / "chapters/example/sheet/index.html").read_text(), "html.parser")
    (picture,) = sheet.select(".hb-step img")
    assert (built / "chapters/example/sheet" / picture["src"]).resolve().is_file()
    assert (built / "snippets/example_run/index.html").is_file()
    assert "chapters/example/" in (built / "index.html").read_text()
    assert "Sheet 13: example" in (built / "whiteboard/all/index.html").read_text()


@pytest.mark.parametrize(("old", "new"), [("notes", "notes"), ("whiteboard", "sheet")])
def test_an_old_address_leads_to_the_page(built, old, new):
    page = BeautifulSoup((built / old / "example/index.html").read_text(), "html.parser")
    there = page.find("link", rel="canonical")["href"]
    assert page.a["href"] == there and f'"{there}" + location.search + location.hash' in page.script.string
    assert (built / old / "example" / there / "index.html").samefile(built / f"chapters/example/{new}/index.html")
