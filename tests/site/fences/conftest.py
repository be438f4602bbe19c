"""The fixture ``renderer``: a small repository with a record that a test can replace, rendered as the site is."""

from types import SimpleNamespace

import markdown
import nbformat
import pytest
from bs4 import BeautifulSoup
from mkdocs.config import load_config

from scripts import records
from scripts.records import ROOT
from scripts.records.kernel_outcomes import RANDOM_CASES, TESTS, digest_of_file, digest_of_random_cases, save_outcomes
from scripts.site.fences import Fences
from scripts.site.fences.page import FenceError, PageContext

TABLE = {
    "name": "times",
    "columns": [{"name": "n", "unit": ""}, {"name": "time", "unit": "ms"}, {"name": "note", "unit": ""}],
    "rows": [{"n": 1, "time": 0.25, "note": None}, {"n": 2, "time": 0.5, "note": "a < b"}],
}
PROVENANCE = {"gpu": "NVIDIA H100", "driver": "1", "cuda": "13.0", "torch": "2", "triton": "3", "python": "3.12"}
PROVENANCE |= {"date": "2026-11-01", "commit": "0123abcd", "interpreter": False}
LIBRARY = {"hardware": "kernels.bench.hardware", "cost": "kernels.bench.cost"}
NEVER_RAN = records.Missing("it has never run")
CELL = 'print("a < b")'
FIGURE = "from scripts import records\n\nALT = 'Two bars.'\n\n\ndef figure():\n    {body}\n"
BARS = """import plotly.graph_objects as go
    return go.Figure(go.Bar(y=[row["time"] for row in records.table("first", "times")]))"""
FILES = {
    "kernels/state.py": "import functools\n\n\nLIMIT = 3\n\n\n"
    "class State:\n    @functools.cache\n    def merge(self):\n        return 1 < 2\n",
    "snippets/chapter/first.py": f'# %% tags=["show"]\n{CELL}\n',
    "snippets/chapter/second.py": f'# %% tags=["show"]\n{CELL}\n',
    "scripts/chapters/chapter/figures/bars.py": FIGURE.format(body=BARS),
    "scripts/chapters/chapter/figures/raising.py": FIGURE.format(body="return {}['nothing']"),
    "scripts/chapters/chapter/figures/mute.py": "def figure():\n    return None\n",
    "tests/kernels/test_late.py": '"""Later."""\n\n\ndef test_a(): ...\n\n\ndef test_b(): ...\n',
    "tests/kernels/test_state.py": '"""1 < 2 <always>.\n\nMore.\n"""\n',
}


def table_output(table):
    return nbformat.v4.new_output("display_data", data={"text/plain": "…", records.TABLE: table})


PRINTED = nbformat.v4.new_output("stream", name="stdout", text="a < b\n")
MERGE_EXECUTED = ("kernels.state:State.merge",)


def record_of(*outputs, executed=MERGE_EXECUTED, **more):
    """The record of ``first``, whose only cell left these outputs."""
    ran = PROVENANCE | {"executed": [*executed]} | more.pop("ran", {})
    return records.Record("first", ran, {"show": [*outputs]}, more.pop("sources", {"show": CELL}), **more)


class FakeReader(records.Reader):
    """A reader with fixed answers: for each snippet a record to return or an error to raise."""

    def __init__(self, root, **answers):
        super().__init__(root)
        self.answers = answers

    def read(self, name):
        self.path(name)
        self._names_read.add(name)
        if isinstance(self.answers[name], Exception):
            raise self.answers[name]
        return self.answers[name]


class Renderer:
    """Renders Markdown as a page of the site.

    record: of the snippet *first*; the other snippet, *second*, has never run
    """

    def __init__(self, root, config):
        self.root, self.first_line = root, 1
        self.reader = FakeReader(root, first=record_of(PRINTED, table_output(TABLE)), second=NEVER_RAN)
        self.fences = Fences(self.reader, FakeReader(root, first=record_of(earlier=True), second=NEVER_RAN), LIBRARY)
        self.config = SimpleNamespace(
            markdown_extensions=list(config.markdown_extensions), mdx_configs=dict(config.mdx_configs)
        )
        self.fences.register(self.config)

    @property
    def record(self):
        return self.reader.answers["first"]

    @record.setter
    def record(self, record):
        self.reader.answers["first"] = record

    @property
    def page(self):
        return self.fences.page

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def save_suite(self, *runs):
        """Saves the outcomes of the suite. Each run: its provenance, and the outcome of each file."""
        files = {
            path: outcome | {"ran": PROVENANCE | where, "digest": digest_of_file(self.reader.modules, path)}
            for where, outcomes in runs
            for path, outcome in outcomes.items()
        }
        save_outcomes(self.root, TESTS, {"files": files})

    def save_cases(self, **outcome):
        save_outcomes(
            self.root,
            RANDOM_CASES,
            {"ran": PROVENANCE, "digest": digest_of_random_cases(self.reader.modules)} | outcome,
        )

    def html(self, text, is_unchecked=False):
        self.fences.set_page(PageContext("chapters/one/", text, self.first_line, "chapters/one/index.md", is_unchecked))
        converter = markdown.Markdown(
            extensions=self.config.markdown_extensions, extension_configs=self.config.mdx_configs
        )
        return converter.convert(text)

    def render(self, text, is_unchecked=False):
        return BeautifulSoup(self.html(text, is_unchecked), "html.parser")

    def render_fence(self, kind, body, options=""):
        return self.render(f"``` {kind} {options}\n{body}\n```\n")

    def render_checked(self, text):
        """Renders a page and checks that what it quotes was executed, as the build does."""
        html = self.html(text)
        return BeautifulSoup(self.page.check(html, self.fences.reader), "html.parser")

    def refusal(self, text):
        """Returns why a page stops the build."""
        with pytest.raises(FenceError) as caught:
            self.render_checked(text)
        return str(caught.value)


@pytest.fixture(scope="session")
def config():
    return load_config(str(ROOT / "mkdocs.yml"))


@pytest.fixture
def renderer(tmp_path, config):
    renderer = Renderer(tmp_path, config)
    for path, text in FILES.items():
        renderer.write(path, text)
    return renderer
