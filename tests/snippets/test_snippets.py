"""Every snippet keeps the rules that records and pages rely on, runs on a CPU, and has a record, or is listed."""

import ast
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.records import ROOT, Reader

READER = Reader()
ALLOWED_PACKAGES = {"kernels", "numpy", "torch", "triton"}
READING_FUNCTIONS = {"open", "read_text", "read_bytes", "fromfile", "from_file", "loadtxt", "genfromtxt", "memmap"}
MAX_LINES = 60
EXTRA_IMPORTS = {
    "kernels/bench/table.py": {"IPython"},
    "kernels/bench/forward_backward.py": {"flash_attn"},
}  # Table.show(), and a peer


def used_names(tree):
    """Every name and attribute that is used."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute):
            yield node.id if isinstance(node, ast.Name) else node.attr


def breaches_of_imports(tree, allowed):
    """A digest follows ``from kernels.X import name``, and nothing else may bring code or data in."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = ["." * node.level + (node.module or "")]
            if node.names[0].name == "*":
                yield f"{ast.unparse(node)}: names are wanted"
        else:
            continue
        for module in modules:
            top = module.partition(".")[0]
            if top == "kernels" and not (isinstance(node, ast.ImportFrom) and module.startswith("kernels.")):
                yield f"{ast.unparse(node)}: `from kernels.X import name` is wanted"
            elif top == "importlib" or (top not in allowed and top not in sys.stdlib_module_names):
                yield f"{ast.unparse(node)}: may come from {', '.join(sorted(allowed))} and the standard library"


def breaches_of_files(tree):
    for name in used_names(tree):
        if name in READING_FUNCTIONS or name == "__import__":
            yield f"{name}: a digest does not see what it brings in"


NOT_PLAIN = {
    "maths": r"\$|\\\(|\\\[",
    "a link": r"\]\(|\]\[|\]:|https?://",
    "a callout": r"^\s*(!!!|\?\?\?|>)",
    "an attribute list": r"\{\s*[:.#]",
    "HTML": r"<[A-Za-z/!]",
}


def breaches_of_prose(text):
    """Cells are rendered by mistune, which leaves all of this raw."""
    plain = re.sub(r"`[^`]*`", "", text)
    return [f"prose holds {what}: {text!r}" for what, mark in NOT_PLAIN.items() if re.search(mark, plain, re.MULTILINE)]


def breaches_of_length(cells):
    """Code without its imports, which say where each thing is taught."""
    lines = []
    for text in cells:
        imports = [each for each in ast.parse(text).body if isinstance(each, ast.Import | ast.ImportFrom)]
        import_lines = {number for each in imports for number in range(each.lineno, each.end_lineno + 1)}
        lines += [line for number, line in enumerate(text.splitlines(), start=1) if number not in import_lines]
    count = sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in lines)
    if count > MAX_LINES:
        yield f"{count} lines of code, and a snippet has at most {MAX_LINES}"


def breaches_of_data(name, tree):
    """A file beside the snippet that it names, and that its digest doesn't count."""
    beside, counted = {path.name for path in READER.path(name).parent.iterdir()}, READER.digests(name)
    strings = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    for text in strings:
        if isinstance(text, str) and text in beside - {f"{name}.py"} and not any(text in each for each in counted):
            yield f"{text} is read, and the digest of {name} doesn't count it"


@pytest.mark.parametrize("name", READER.names())
def test_a_snippet_keeps_the_rules_that_records_and_pages_rely_on(name):
    snippet = READER.snippet(name)
    prose = [cell.source for cell in snippet.notebook().cells if cell.cell_type == "markdown"]
    tree = ast.parse("\n".join(snippet.code.values()))
    assert snippet.source.startswith("# %%") and snippet.code and prose[0].startswith("# ")  # its page needs a title
    found = [*breaches_of_imports(tree, ALLOWED_PACKAGES), *breaches_of_files(tree), *breaches_of_data(name, tree)]
    found += [breach for text in prose for breach in breaches_of_prose(text)]
    found += breaches_of_length(snippet.code.values())
    assert not found, f"{READER.path(name).relative_to(ROOT)}: {'; '.join(found)}"


def test_a_kernel_file_imports_modules_of_kernels_by_name_and_reads_no_file():
    found = {}
    for path in sorted((ROOT / "kernels").rglob("*.py")):
        tree, place = ast.parse(path.read_text(encoding="utf-8")), path.relative_to(ROOT).as_posix()
        files = [] if path.stem == "__init__" else breaches_of_files(tree)  # no digest holds an __init__, which is lazy
        found[place] = [
            *breaches_of_imports(tree, {"kernels", "torch", "triton"} | EXTRA_IMPORTS.get(place, set())),
            *files,
        ]
    assert found and {place: breaches for place, breaches in found.items() if breaches} == {}


@pytest.fixture(scope="module")
def run_on_a_cpu(tmp_path_factory):
    """Runs a script and returns its exit status, stdout and stderr: without a GPU, and without TRITON_INTERPRET."""
    folder = tmp_path_factory.mktemp("run")
    environment = os.environ | {"PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    environment.pop("TRITON_INTERPRET", None)
    command = [sys.executable, Path(__file__).with_name("fork_runner.py"), folder]
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, process_group=0
    )

    def run(path: Path) -> tuple[int, str, str]:
        print(path, file=process.stdin, flush=True)
        status = int(process.stdout.readline())
        return status, (folder / "stdout").read_text(), (folder / "stderr").read_text()

    yield run
    os.killpg(process.pid, signal.SIGKILL)  # and a snippet that has not come to its end
    process.communicate()


@pytest.mark.parametrize("name", READER.names())
def test_a_snippet_runs_by_hand_on_a_cpu(run_on_a_cpu, name):
    status, printed, complaints = run_on_a_cpu(READER.path(name))
    assert status == 0, complaints
    assert complaints == ""
    assert printed.strip()


INTERPRETER = "import os; os.environ['TRITON_INTERPRET'] = '{}'; from triton.runtime import interpreter as made; "
INTERPRETER += "print(made._patch_lang.__name__)"


@pytest.mark.parametrize(
    "script, expected",
    [
        (
            "print(__name__, __file__, 'TRITON_INTERPRET' in __import__('os').environ)",
            (0, "__main__ {path} False\n", ""),
        ),
        (INTERPRETER.format("1"), (0, "patch_once\n", "")),
        ("import sys; sys.exit('in vain')", (1, "", "in vain\n")),
        ("import os, kernels, state; os.environ['LEFT'] = state.word = 'here'; print(1)", (0, "1\n", "")),
        ("import os, state; print('LEFT' in os.environ, state.word)", (0, "False there\n", "")),
        ("import os; os.kill(os.getpid(), 9)", (-9, "", "")),
    ],
)
def test_a_script_is_run_as_by_hand_and_leaves_nothing_to_the_next(run_on_a_cpu, tmp_path, script, expected):
    (tmp_path / "state.py").write_text("word = 'there'\n")
    path = tmp_path / "script.py"
    path.write_text(script)
    status, printed, complaints = expected
    assert run_on_a_cpu(path) == (status, printed.format(path=path), complaints)


def test_every_record_is_current_or_listed_has_its_snippet_and_names_each_table_once():
    assert READER.faults() == {}
    recorded = [path.name.removesuffix(".record.ipynb") for path in (ROOT / "snippets").glob("*/*.record.ipynb")]
    assert recorded and {*recorded} <= {*READER.names()}
    for name in recorded:
        tables = [table["name"] for table in READER.read(name).tables()]
        assert len({*tables}) == len(tables), name


@pytest.mark.parametrize(
    "line",
    [
        "import kernels",
        "from kernels import flash",
        "from . import flash",
        "from kernels.flash import *",
        "import importlib",
        "import plotly",
        "from scripts.records import read",
        "open('data.json')",
        "Path('data.json').read_text()",
        "__import__('kernels.flash')",
    ],
)
def test_the_rules_reject(line):
    tree = ast.parse(line)
    assert [*breaches_of_imports(tree, ALLOWED_PACKAGES), *breaches_of_files(tree)]


@pytest.mark.parametrize(
    "text",
    [
        "the square of $N$",
        r"the square of \(N\)",
        "see [the chapter](../chapters/one.md)",
        "see [the chapter][one]",
        "see https://example.org",
        '!!! note "A callout"',
        "text\n\n> a quotation",
        "text { .drawing }",
        "x<sup>2</sup>",
    ],
)
def test_the_rules_reject_prose_that_is_not_plain(text):
    assert breaches_of_prose(text)


def test_the_rules_let_plain_prose_pass():
    assert breaches_of_prose("# A title\n\nRows and *shares*, 1 < 2 and 3 > 2: `TRITON_INTERPRET=1 python $x`") == []
