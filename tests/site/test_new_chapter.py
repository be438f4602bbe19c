"""The smallest chapter, *Example*: how to begin one, and a proof that it's enough.

    cp -r tests/site/new_chapter/* .

puts its files into the folders where they belong. Then add the lines of ``new_chapter_lines.toml``, and run
``make facts``. Put your chapter's name in place of *example*, one file after the other, and in the imports of
``board.py`` and ``demo.py``, which have ``scripts.chapters.example``.

It has no live piece, lab, kernel or worksheet, no test of its own in ``tests/chapters/``, no term in the glossary, no
row in ``README.md``, no card in ``docs/assets/cards/`` and no title of its own. docs/contributing.md says which files
these need.
"""

import shutil
import subprocess
import sys
import tomllib

import pytest
from bs4 import BeautifulSoup

from scripts.records import ROOT
from tests.site.conftest import SiteCopy, mkdocs

FILES = ROOT / "tests" / "site" / "new_chapter"
LINES = tomllib.loads(FILES.with_name("new_chapter_lines.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the repository to which the chapter was added."""
    copy = SiteCopy(tmp_path_factory.mktemp("example") / "copy")
    shutil.copytree(FILES, copy.root, dirs_exist_ok=True)
    for path, lines in LINES.items():
        behind, added = lines["behind"], lines["add"]
        copy.edit(path, lambda text, behind=behind, added=added: text.replace(behind, behind + added, 1))
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


def test_it_passes_the_tests_of_chapters_and_of_docs(copy):
    """Those that name it, and those that look at all chapters at once, but for its row, its card and its title."""
    files = ["tests/docs", *sorted(path.relative_to(ROOT) for path in ROOT.glob("tests/chapters/test_*.py"))]
    options = ["-q", "-p", "no:cacheprovider", "-k", "example or not [", "--ignore", "tests/docs/test_chapter_lists.py"]
    output = run(copy, "pytest", *options, *map(str, files))
    assert " passed" in output
