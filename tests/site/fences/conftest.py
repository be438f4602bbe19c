"""A small house: a library of one module, a snippet of one cell, figures, and a record that a test can replace."""

from types import SimpleNamespace

import markdown
import nbformat
import pytest
from bs4 import BeautifulSoup
from mkdocs.config import load_config

from scripts import records
from scripts.records import ROOT
from scripts.site.fences import Fences
from scripts.site.fences.page import FenceError, Page

TABLE = {
    "name": "times",
    "columns": [{"name": "n", "unit": ""}, {"name": "time", "unit": "ms"}, {"name": "note", "unit": ""}],
    "rows": [{"n": 1, "time": 0.25, "note": None}, {"n": 2, "time": 0.5, "note": "a < b"}],
}
RAN = {
    "gpu": "NVIDIA H100",
    "driver": "1",
    "cuda": "13.0",
    "torch": "2",
    "triton": "3",
    "python": "3.12",
    "date": "2026-11-01",
}
SUITE = {
    "tests/kernels/test_late.py": {
        "passed": {},
        "skipped": {"needs <another> GPU": {"test_a": 1, "test_b": 2}},
        "seconds": 0.0,
    },
    "tests/kernels/test_state.py": {"passed": {"test_less": 4, "test_more": 1}, "skipped": {}, "seconds": 12.34},
}
FIGURE = "from scripts import records\n\nALT = 'Two bars.'\n\n\ndef figure():\n    {body}\n"
BARS = """import plotly.graph_objects as go
    return go.Figure(go.Bar(y=[row["time"] for row in records.table("first", "times")]))"""
LIBRARY = {"hardware": "kernels.bench.hardware", "cost": "kernels.bench.cost"}


def record_of(*outputs, executed=("kernels.state:State.merge",)):
    return records.Record("first", RAN, {"show": list(outputs)}, frozenset(executed))


def shown(table):
    return nbformat.v4.new_output("display_data", data={"text/plain": "…", records.TABLE: table})


FAILURE = {"form": "softmax", "seed": 8, "case": 35, "settings": {}, "used": 1.5, "why": "<beyond> the budget"}
CASES = records.RandomCases(
    RAN, {"a & b": {"cases": 32, "worst": 0.514}, "softmax": {"cases": 16, "worst": 1.5}}, [7, 8], 540.0, 1, [FAILURE]
)


class Shelf(records.Reader):
    """A reader of which a test says what stands on it."""

    def __init__(self, root, record, suite):
        super().__init__(root)
        self.record, self.suite, self.cases, self.fault = record, suite, CASES, None

    def look(self, name):
        self.path(name)
        return self.record, self.fault

    def look_at_tests(self):
        return self.suite, self.fault

    def look_at_random_cases(self):
        return self.cases, self.fault


class House:
    """Renders Markdown as a page of the site."""

    def __init__(self, root, config):
        printed = nbformat.v4.new_output("stream", name="stdout", text="a < b\n")
        self.root = root
        self.shelf = Shelf(root, record_of(printed, shown(TABLE)), records.Outcome(RAN, SUITE))
        self.fences = Fences(self.shelf, LIBRARY)
        self.fences.page = Page(url="chapters/one/")
        self.config = SimpleNamespace(
            markdown_extensions=list(config.markdown_extensions), mdx_configs=dict(config.mdx_configs)
        )
        self.fences.register(self.config)

    @property
    def page(self):
        return self.fences.page

    def render(self, text):
        self.page.text = text
        converter = markdown.Markdown(
            extensions=self.config.markdown_extensions, extension_configs=self.config.mdx_configs
        )
        return BeautifulSoup(converter.convert(text), "html.parser")

    def fence(self, kind, body, options=""):
        return self.render(f"``` {kind} {options}\n{body}\n```\n")

    def refused(self, text):
        with pytest.raises(FenceError) as caught:
            self.render(text)
        return str(caught.value)

    def checked(self, text):
        """Render a page and hold it to what was executed, as the build does."""
        self.page.check(str(self.render(text)), self.shelf)

    def preview(self):
        self.shelf.stale_too = True


@pytest.fixture(scope="session")
def config():
    return load_config(str(ROOT / "mkdocs.yml"))


@pytest.fixture
def house(tmp_path, config):
    figures = {
        "bars": BARS,
        "raising": "return {}['nothing']",
        "no_table": "return records.table('first', 'nothing')",
    }
    files = {
        "kernels/state.py": "import functools\n\n\nLIMIT = 3\n\n\n"
        "class State:\n    @functools.cache\n    def merge(self):\n        return 1 < 2\n",
        "snippets/chapter/first.py": '# %% tags=["show"]\nprint("a < b")\n',
        "scripts/figures/chapter/mute.py": "def figure():\n    return None\n",
        "tests/kernels/test_state.py": '"""1 < 2 <always>.\n\nMore.\n"""\n',
        "tests/kernels/test_late.py": '"""Later."""\n',
    } | {f"scripts/figures/chapter/{name}.py": FIGURE.format(body=body) for name, body in figures.items()}
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return House(tmp_path, config)
