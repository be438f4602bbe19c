"""The rooms import in one direction: kernels, then snippets, then scripts; docs import nothing."""

import ast
import subprocess
import sys

import grimp
import pytest

from scripts import records
from scripts.records import ROOT

FIGURES = sorted((ROOT / "scripts" / "figures").rglob("*.py"))
FIGURES_READ = {"scripts.records", "scripts.figures.plot", "kernels.bench.cost", "kernels.bench.hardware"}
CHAPTER_1 = ["three_matmuls", "scaling", "sentence"]  # its snippets; records that no later kernel may stale
CHAPTER_1_READS = {"kernels.reference", "kernels.cost", "kernels.measure"}


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph("kernels", "scripts", include_external_packages=True)


def imports(graph, room: str) -> set[tuple[str, str]]:
    modules = {room} | graph.find_descendants(room)
    return {(module, target) for module in modules for target in graph.find_modules_directly_imported_by(module)}


def imports_of_rooms(source: str) -> set[str]:
    """The modules of this repository that a file imports, at its top or inside a function.

    Grimp does not see a file that is run by its path, as figures and snippets are. What is not written
    ``from kernels.X import name`` or ``from scripts import name`` comes back as it was written, and is no module.
    """
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {f"import {each.name}" for each in node.names if is_ours(each.name)}
        elif isinstance(node, ast.ImportFrom) and node.level:
            found.add(ast.unparse(node))
        elif isinstance(node, ast.ImportFrom) and node.module in ("scripts", "scripts.figures"):
            found |= {f"{node.module}.{each.name}" for each in node.names}
        elif isinstance(node, ast.ImportFrom) and is_ours(node.module):
            found.add(node.module)
    return found


def is_ours(module: str) -> bool:
    return module.split(".")[0] in ("kernels", "snippets", "scripts", "tests")


def test_kernels_import_only_kernels_torch_and_triton(graph):
    allowed = {"kernels", "torch", "triton", "IPython"} | set(sys.stdlib_module_names)
    assert {arrow for arrow in imports(graph, "kernels") if arrow[1].split(".")[0] not in allowed} == set()


@pytest.mark.parametrize("module", ["kernels.cost", "kernels.hardware", "scripts.records"])
def test_what_the_pages_read_reaches_no_torch(graph, module):
    reached = graph.find_upstream_modules(module) | {module}
    assert not reached & {"torch", "triton"}


def test_the_site_reaches_neither_kernels_nor_figures_nor_torch(graph):
    reached = {
        target for module in graph.find_descendants("scripts.site") for target in graph.find_upstream_modules(module)
    }
    assert not [name for name in reached if name.split(".")[0] in ("kernels", "torch", "triton")]
    assert not [name for name in reached if name.startswith("scripts.figures")]


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.stem)
def test_a_figure_reads_records_cost_and_hardware_alone(path):
    assert imports_of_rooms(path.read_text()) <= FIGURES_READ


@pytest.mark.parametrize("name", CHAPTER_1)
def test_a_snippet_of_chapter_1_imports_nothing_that_a_later_kernel_changes(name):
    found = imports_of_rooms(records.path(name).read_text())
    assert found and found <= CHAPTER_1_READS


@pytest.mark.parametrize(
    "line",
    [
        "import kernels",
        "import kernels.flash",
        "import kernels.cost as cost",
        "import math, kernels.flash",
        "from kernels import flash",
        "from kernels.flash import flash_attention",
        "from scripts import record",
        "from scripts import records, watch",
        "from scripts.site import ledger",
        "from scripts.figures.three_matmuls import scaling",
        "from snippets import scaling",
        "from . import scaling",
        "from .scaling import figure",
        "def figure():\n    import kernels.flash",
    ],
)
def test_the_rule_for_figures_rejects(line):
    assert not imports_of_rooms(line) <= FIGURES_READ


@pytest.mark.parametrize(
    "line",
    [
        "import math",
        "import plotly.graph_objects as go",
        "from scripts import records",
        "from scripts.figures import plot",
        "from kernels.bench.cost import attainable",
    ],
)
def test_the_rule_for_figures_lets_pass(line):
    assert imports_of_rooms(line) <= FIGURES_READ


def test_importing_the_library_imports_neither_torch_nor_triton():
    code = "import kernels, sys; sys.exit(bool({'torch', 'triton'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
