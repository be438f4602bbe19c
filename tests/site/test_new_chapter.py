"""The smallest chapter, *Example*: how to begin one, and a proof that it's enough.

    cp -r tests/site/new_chapter/* .

puts its files into the folders where they belong. Then add ``LINES`` and ``BEHIND`` below, and run ``make facts``. Put
your chapter's name in place of *example*, one file after the other, and in the imports of ``board.py`` and
``demo.py``, which have ``scripts.chapters.example``.

It has no live piece, lab, kernel or worksheet, no test of its own in ``tests/chapters/``, no term in the glossary, no
row in ``README.md`` and no card in ``docs/assets/cards/``. docs/contributing.md says which files these need.
"""

import shutil
import subprocess
import sys

import pytest
from bs4 import BeautifulSoup

from scripts.records import ROOT
from tests.site.conftest import SiteCopy, mkdocs

FILES = ROOT / "tests" / "site" / "new_chapter"
LINES = {  # file -> a line of it, and what comes behind that line
    "mkdocs.yml": ("        - many-gpus\n", "        - example\n"),
    "docs/references.md": (
        "### Softmax and FlashAttention\n\n",
        '- N. J. Higham, "The Accuracy of Floating Point Summation", 1993,\n'
        "  [doi:10.1137/0914050](https://doi.org/10.1137/0914050). Why a tree is more accurate than a chain.\n"
        "  Cited in chapter [13](chapters/example/index.md).\n"
        "  { #higham-1993 }\n",
    ),
    "scripts/chapters/demo_seconds.json": ('  "seconds": {\n', '    "example": 1,\n'),  # by scripts.time_demos
}
BEHIND = 'example_run = "No GPU yet."\n'  # in snippets/behind.toml, until `make record` has run the snippet


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the repository to which the chapter was added."""
    copy = SiteCopy(tmp_path_factory.mktemp("example") / "copy")
    shutil.copytree(FILES, copy.root, dirs_exist_ok=True)
    for path, (line, added) in LINES.items():
        copy.edit(path, lambda text, line=line, added=added: text.replace(line, line + added))
    copy.edit("snippets/behind.toml", lambda text: text + BEHIND)
    run(copy, "scripts.facts")
    return copy


@pytest.fixture(scope="module")
def built(copy):
    build = mkdocs("build", "--strict", root=copy.root)
    assert build.returncode == 0, build.stderr
    return copy.root / "site"


def run(copy, *arguments):
    """``python -m`` in the copy."""
    process = subprocess.run([sys.executable, "-m", *arguments], cwd=copy.root, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout[-5000:] + process.stderr
    return process.stdout


def test_the_example_is_in_every_list(built):
    page = BeautifulSoup((built / "chapters/example/index.html").read_text(), "html.parser")
    assert page.h1.get_text(strip=True).startswith("Example")
    assert page.select_one("#figure-example_bars .hb-plot script")
    assert page.select_one(".hb-fact")["data-fact"] == "tree_beside_chain"
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
    address = page.find("link", rel="canonical")["href"]
    assert page.a["href"] == address and f'"{address}" + location.search + location.hash' in page.script.string
    assert (built / old / "example" / address / "index.html").samefile(built / f"chapters/example/{new}/index.html")


def test_it_passes_the_tests_of_chapters_and_of_docs(copy):
    """Those that name it, and those that look at all chapters at once."""
    files = ["tests/docs", *sorted(path.relative_to(ROOT) for path in ROOT.glob("tests/chapters/test_*.py"))]
    output = run(copy, "pytest", "-q", "-p", "no:cacheprovider", "-k", "example or not [", *map(str, files))
    assert " passed" in output
