"""A small site of its own, built whole: every free text of its records is hostile, and it finds its way onto a page.

A text that is matched against what we know, as a date or the name of a file, isn't free. The snippet *now* has a record
of its source, *behind* has one of an earlier source, and *never* has none.
"""

import json
import re
import shutil
from pathlib import Path

import nbformat

from scripts.records import METADATA, ROOT, TABLE, Reader
from scripts.records.digest import Modules
from scripts.records.kernel_outcomes import RANDOM_CASES, TESTS, digest_of_file, digest_of_random_cases, save_outcomes
from scripts.records.reader import record_path
from scripts.records.record_file import write

SHORT = "<img src=x onerror=alert(1)>"  # fits in a cell that isn't broken
HOSTILE = f"\"'&amp;</script></style>{SHORT}"
PASSED, SKIPPED, WAITS = (f"tests/kernels/test_{name}.py" for name in ("passed", "skipped", "waits"))
SNIPPETS = ("now", "behind", "never")
NAV = "nav: [index.md, chapters/, tested.md, glossary.md, snippets/]\n\n"
QUOTES = """`#!value {0}.times.n .0f`

``` run
{0}:show
```

``` record
{0}
```

``` figure {{caption="c"}}
of_{0}
```

"""
FACTS = """from scripts.facts import compares


@compares("behind.times", columns=("n", "n"))
def rows(rows):
    return "one row"
"""
FIGURE = """import plotly.graph_objects as go

from scripts import records

ALT = "A bar."


def figure():
    return go.Figure(go.Bar(x=[str(row) for row in records.table("{}", "times")], y=[1]))
"""
SNIPPET = """# %% [markdown]
# # The snippet {}

# %% tags=["show"]
from kernels.state import State
"""
FILES = {
    "docs/index.md": "# One\n\nA page.\n",
    "docs/glossary.md": "# Glossary\n\n## Terms\n\nterm\n:   A word.\n",
    "docs/tested.md": "# Tests\n\n``` suite\ntests/kernels/random_cases\n```\n\n``` suite\ntests/kernels\n```\n",
    "docs/chapters/online-softmax/index.md": "# A\n\n[one row]{fact=rows}\n\n" + "".join(map(QUOTES.format, SNIPPETS)),
    "kernels/state.py": "class State: ...\n",
    "scripts/chapters/worksheets.py": "def pages():\n    return []\n",
    "scripts/chapters/online_softmax/facts.py": FACTS,
    WAITS: '"""Waits."""\n\n\ndef test_b(): ...\n',
    "LICENSE": "",
}
FILES |= {f"scripts/chapters/online_softmax/figures/of_{name}.py": FIGURE.format(name) for name in SNIPPETS}
FILES |= {f"snippets/online_softmax/{name}.py": SNIPPET.format(name) for name in SNIPPETS}


class Texts:
    """Hostile texts, each with a name of its own; ``all`` has every one."""

    def __init__(self):
        self.all = []

    def __call__(self, name: str, hostile: str = HOSTILE) -> str:
        self.all.append(f"{name}{hostile}")
        return self.all[-1]

    def provenance(self, prefix: str) -> dict:
        """Where something ran, on several GPUs."""
        words = ("driver", "cuda", "torch", "triton", "python", "commit", "link", "nccl", "gpus")
        gpu = self(f"NVIDIA H200 {prefix}gpu")
        return {word: self(prefix + word) for word in words} | {"gpu": gpu, "date": "2026-11-01", "interpreter": False}


def write_files(root: Path) -> list[str]:
    """Writes what the site is built from; returns the texts that have to be on it."""
    texts = Texts()
    for name in ("records", "site", "facts", "standalone"):
        shutil.copytree(ROOT / "scripts" / name, root / "scripts" / name)
    files = FILES | {test: f'"""{texts(f"{test} says")}"""\n' for test in (PASSED, SKIPPED)}
    reasons = {"behind": texts("reason"), "never": "It has had no GPU."}
    files["snippets/behind.toml"] = "".join(f"{name} = {json.dumps(reason)}\n" for name, reason in reasons.items())
    files["mkdocs.yml"] = re.sub(
        r"(?ms)^watch:.*?$|^nav:.*?^(?=theme:)|^  chapters:.*?^(?=extra_css)",
        lambda part: {"w": "", "n": NAV, " ": "  chapters: [online-softmax]\n"}[part[0][0]],
        (ROOT / "mkdocs.yml").read_text(),
    )
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (root / "kernels/bench").mkdir()
    for path in ("scripts/__init__.py", "kernels/__init__.py", "kernels/bench/hardware.py", "kernels/bench/cost.py"):
        shutil.copy(ROOT / path, root / path)
    for path in ("docs/assets", "docs/javascripts", "docs/live", "docs/stylesheets", "node_modules"):
        (root / path).symlink_to(ROOT / path)
    save_record(texts, Reader(root), "now")
    save_record(texts, Reader(root), "behind", **{"kernels.state": "another"})
    save_suites(texts, root)
    return texts.all


def save_record(texts: Texts, reader: Reader, name: str, **changed: str) -> None:
    column = texts(f"{name}column")
    columns = [{"name": each, "unit": texts(f"{name}unit")} for each in ("n", column)]
    rows = [{"n": 1, column: text} for text in (texts(name, SHORT), f"a_b_{texts(f'{name}long')}")]
    tables = [
        {"name": "times", "columns": columns, "rows": rows[:1]},
        {"name": texts(f"{name}table"), "columns": columns, "rows": rows},
    ]
    notebook = reader.snippet(name).notebook()
    cell = notebook.cells[-1]
    cell.source += "\nState()" * bool(changed)
    cell.outputs = [
        nbformat.v4.new_output("stream", name="stdout", text=texts(f"{name}stream")),
        nbformat.v4.new_output("execute_result", {"text/plain": texts(f"{name}plain")}),
        *(nbformat.v4.new_output("display_data", {"text/plain": "…", TABLE: table}) for table in tables),
    ]
    ran = {"executed": ["kernels.state:State"], "digest": reader.digests(name) | changed}
    notebook.metadata[METADATA] = texts.provenance(name) | ran
    write(record_path(reader.path(name)), notebook)


def save_suites(texts: Texts, root: Path) -> None:
    modules = Modules(root)
    outcomes = {
        test: {"passed": passed, "skipped": {texts(f"{test} why"): {texts(f"{test} which"): 2}}, "seconds": 1.0}
        | {"ran": texts.provenance(test), "digest": digest_of_file(modules, test)}
        for test, passed in ((PASSED, {"test_a": 1}), (SKIPPED, {}))
    }
    save_outcomes(root, TESTS, {"files": outcomes})
    failure = {key: texts(key) for key in ("form", "seed", "case", "why")}
    cases = {"forms": {texts("forms"): {"cases": 1, "worst": 0.5}}, "seeds": [texts("seeds")], "seconds": 1.0}
    cases |= {"failed": texts("failed"), "failures": [failure], "ran": texts.provenance("cases")}
    save_outcomes(root, RANDOM_CASES, cases | {"digest": digest_of_random_cases(modules)})
