"""The rooms import in one direction: kernels, then snippets, then scripts; docs import nothing."""

import ast
import subprocess
import sys

import grimp
import pytest

from scripts.records import ROOT

FIGURES_READ = {"scripts.records", "kernels.cost", "kernels.hardware"}


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph("kernels", "scripts", include_external_packages=True)


def imports(graph, room: str) -> set[tuple[str, str]]:
    modules = {room} | graph.find_descendants(room)
    return {(module, target) for module in modules for target in graph.find_modules_directly_imported_by(module)}


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


def test_figures_read_records_cost_and_hardware_alone():
    # Figures are scripts that run by their path, so grimp does not see them: their folder is no package.
    for path in (ROOT / "scripts" / "figures").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                names = (
                    {f"{node.module}.{each.name}" for each in node.names} if node.module == "scripts" else {node.module}
                )
                ours = {name for name in names if name.split(".")[0] in ("scripts", "kernels", "snippets", "tests")}
                assert ours <= FIGURES_READ, path.name


def test_importing_the_library_imports_neither_torch_nor_triton():
    code = "import kernels, sys; sys.exit(bool({'torch', 'triton'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
