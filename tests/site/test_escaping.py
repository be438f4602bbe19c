"""Nothing that a record says becomes HTML: a small site is built from records in which every free text is hostile.

A text that is matched against what we know, as a date or the name of a file, isn't free.
"""

import json
import re
import shutil

import nbformat
import pytest
from bs4 import BeautifulSoup

from scripts.records import METADATA, ROOT, TABLE, Reader
from scripts.records.digest import Modules
from scripts.records.reader import record_of
from scripts.records.record import write
from scripts.records.suite import RANDOM_CASES, TESTS, digest_of_file, digest_of_random_cases, keep
from tests.site.conftest import mkdocs

SHORT = "<img src=x onerror=alert(1)>"  # fits in a cell that isn't broken
HOSTILE = f"\"'&amp;</script></style>{SHORT}"
CHAPTER = "chapters/online-softmax/"
PASSED, SKIPPED, WAITS = (f"tests/kernels/test_{name}.py" for name in ("passed", "skipped", "waits"))
NAV = """nav:
  - index.md
  - chapters/
  - tested.md
  - glossary.md
  - snippets/
"""
PAGES = {
    "index.md": "# One\n\nA page.\n",
    "glossary.md": "# Glossary\n\n## Terms\n\nterm\n:   A word.\n",
    "tested.md": "# Tests\n\n``` suite\ntests/kernels/random_cases\n```\n\n``` suite\ntests/kernels\n```\n",
    "chapters/online-softmax.md": "# Chapter\n\n`#!value now.times.n .0f` and `#!value behind.times.n .0f`, "
    "[one row]{fact=rows}.\n\n"
    + "".join(
        f'``` run\n{name}:show\n```\n\n``` record\n{name}\n```\n\n``` figure {{caption="c"}}\nof_{name}\n```\n\n'
        for name in ("now", "behind")
    ),
}
FACTS = """from scripts.facts import compares


@compares("behind.times", by="", forms=("n", "n"))
def rows(rows):
    return "one row"
"""
FIGURE = """import plotly.graph_objects as go

from scripts import records

ALT = "A bar."


def figure():
    return go.Figure(go.Bar(x=[str(row) for row in records.table("{name}", "times")], y=[1]))
"""


class Texts:
    """Hostile texts, each with a name of its own, by which it's found on a page."""

    def __init__(self):
        self.given = []

    def __call__(self, name: str, hostile: str = HOSTILE) -> str:
        self.given.append(f"{name}{hostile}")
        return self.given[-1]

    def ran(self, of: str) -> dict:
        """Where something ran, on several GPUs."""
        words = ("driver", "cuda", "torch", "triton", "python", "commit", "link", "nccl", "gpus")
        gpu = self(f"NVIDIA H200 {of}gpu")
        return {word: self(of + word) for word in words} | {"gpu": gpu, "date": "2026-11-01", "interpreter": False}


def record(texts: Texts, reader: Reader, name: str, changed: bool) -> None:
    column = texts(f"{name}column")
    columns = [{"name": each, "unit": texts(f"{name}unit")} for each in ("n", column)]
    rows = [{"n": 1, column: text} for text in (texts(name, SHORT), f"a_b_{texts(f'{name}long')}")]
    tables = [
        {"name": "times", "columns": columns, "rows": rows[:1]},
        {"name": texts(f"{name}table"), "columns": columns, "rows": rows},
    ]
    notebook = reader.snippet(name).notebook()
    notebook.cells[-1].outputs = [
        nbformat.v4.new_output("stream", name="stdout", text=texts(f"{name}stream")),
        nbformat.v4.new_output("execute_result", {"text/plain": texts(f"{name}plain")}),
        *(nbformat.v4.new_output("display_data", {"text/plain": "…", TABLE: table}) for table in tables),
    ]
    digest = reader.digest(name) | ({"kernels.state": "another"} if changed else {})
    notebook.metadata[METADATA] = texts.ran(name) | {"executed": ["kernels.state:State"], "digest": digest}
    write(record_of(reader.path(name)), notebook)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The built site, and the texts that have to stand in it as they are."""
    root, texts = tmp_path_factory.mktemp("hostile"), Texts()
    config = (ROOT / "mkdocs.yml").read_text()
    for name in ("records", "site", "facts"):
        shutil.copytree(ROOT / "scripts" / name, root / "scripts" / name)
    files = {f"docs/{page}": text for page, text in PAGES.items()} | {
        "mkdocs.yml": re.sub(
            r"(?ms)^watch:.*?$|^nav:.*?^(?=theme:)|^  chapters:.*?^(?=extra_css)",
            lambda part: {"w": "", "n": NAV, " ": "  chapters: [online-softmax]\n"}[part[0][0]],
            config,
        ),
        "LICENSE": "",
        "kernels/state.py": "class State: ...\n",
        "scripts/boards/worksheets/__init__.py": "def pages():\n    return []\n",
        "scripts/chapters/online_softmax/facts.py": FACTS,
        WAITS: '"""Waits."""\n\n\ndef test_b(): ...\n',
    }
    for name in ("now", "behind"):
        files[f"scripts/figures/online_softmax/of_{name}.py"] = FIGURE.format(name=name)
        files[f"snippets/online_softmax/{name}.py"] = (
            f'# %% [markdown]\n# # {name}\n\n# %% tags=["show"]\nfrom kernels.state import State\n'
        )
    files |= {test: f'"""{texts(f"{test} says")}"""\n' for test in (PASSED, SKIPPED)}
    files["snippets/behind.toml"] = f"behind = {json.dumps(texts('reason'))}\n"
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    for path in ("docs/assets", "docs/javascripts", "docs/live", "docs/stylesheets", "node_modules"):
        (root / path).symlink_to(ROOT / path)
    (root / "kernels/bench").mkdir()
    for path in ("scripts/__init__.py", "kernels/__init__.py", "kernels/bench/hardware.py", "kernels/bench/cost.py"):
        shutil.copy(ROOT / path, root / path)

    record(texts, Reader(root), "now", changed=False)
    record(texts, Reader(root), "behind", changed=True)
    modules = Modules(root)
    outcomes = {
        test: {"passed": passed, "skipped": {texts(f"{test} why"): {texts(f"{test} which"): 2}}, "seconds": 1.0}
        | {"ran": texts.ran(test), "digest": digest_of_file(modules, test)}
        for test, passed in ((PASSED, {"test_a": 1}), (SKIPPED, {}))
    }
    keep(root, TESTS, {"files": outcomes})
    failure = {key: texts(key) for key in ("form", "seed", "case", "because")}
    cases = {"forms": {texts("forms"): {"cases": 1, "worst": 0.5}}, "seeds": [texts("seeds")], "seconds": 1.0}
    cases |= {"failed": texts("failed"), "failures": [failure | {"why": failure.pop("because")}]}
    keep(root, RANDOM_CASES, cases | {"ran": texts.ran("cases"), "digest": digest_of_random_cases(modules)})

    build = mkdocs("build", "--strict", root=root, SITE_URL="http://127.0.0.1/")
    assert build.returncode == 0, build.stderr
    return root / "site", texts.given


def parsed(site) -> dict[str, BeautifulSoup]:
    """The pages, and what the search shows of them."""
    pages = {str(path.relative_to(site)): path.read_text() for path in site.rglob("*.html")}
    for entry in json.loads((site / "search/search_index.json").read_text())["docs"]:
        pages[f"search: {entry['location']}"] = f"<div>{entry['title']}</div><div>{entry['text']}</div>"
    return {name: BeautifulSoup(text, "html.parser") for name, text in pages.items()}


def test_no_text_of_a_record_becomes_an_element_or_an_attribute(built):
    found = parsed(built[0])
    assert {"tested/index.html", f"{CHAPTER}index.html", "snippets/behind/index.html"} <= found.keys()
    for name, page in found.items():
        assert not page.select("[onerror], [src=x], img[src^='x']"), name
        # a text that ends an element or an attribute leaves the rest of itself elsewhere
        for tag in page.find_all(True):
            assert not [key for key in tag.attrs if not re.fullmatch(r"[\w:-]+", key)], (name, tag.name)


def test_every_text_of_a_record_stands_on_a_page_as_it_is(built):
    site, given = built
    said = ""
    for page in parsed(site).values():
        scripts = [json.loads(each.string) for each in page.select(".hb-plot script")]
        said += " ".join([page.get_text(), *(tag["title"] for tag in page.select("[title]")), *map(str, scripts)])
    assert [text for text in given if text not in said] == []
