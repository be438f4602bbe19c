"""Each room imports what it may: kernels, then snippets, then scripts; docs import nothing."""

import ast
import subprocess
import sys
from fnmatch import fnmatch

import grimp
import pytest

from scripts.records import ROOT

# Each folder of kernels/ imports only from those further down; all import reference, multihead, softmax and checks.
FOLDER_ORDER = ("bench", "parallel", "dispatch", "serving", "hopper", "formats", "flash", "first")
STANDARD = {"__future__", *sys.stdlib_module_names}
REGISTRY = "kernels.bench.hardware"
COUNTING_MODULES = {REGISTRY, "kernels.bench.cost", "kernels.bench.parallel.cost"}
# What a chapter's figures, boards and worksheets share, and what one chapter may take from another.
SHARED = {
    f"scripts.chapters.{name}"
    for name in (
        "board",
        "handwriting",
        "plot",
        "prefill_speed",
        "rounded_shares",
        "worksheets",
        "*.worked",
        "*.board",
        "*.board_*",
        "*.facts",
        "*.steps",
    )
}
# Make records, on a GPU; what reads a record doesn't import them.
MAKE_RECORDS = {f"scripts.records.{name}" for name in ("__main__", "processes", "record_snippet", "run_tracer")}
# Grimp doesn't see what is run by its path or imported by name: these files, and what they may import of our packages.
ALLOWED_IMPORTS = {
    "scripts/chapters/**/*.py": {"scripts.records", "scripts.facts", *SHARED, *COUNTING_MODULES},
    "scripts/chapters/**/demo.py": {*SHARED, "scripts.chapters.demo", "kernels", "torch", "triton"},
    "snippets/**/*.py": {"kernels", "torch", "triton"},
}
PACKAGES = "kernels", "snippets", "scripts", "tests", "torch", "triton", ""  # "" is a relative import


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph("kernels", "scripts", include_external_packages=True)


def transitive_imports(graph, package: str) -> set[str]:
    """The package's modules, and all that they import, and what that imports."""
    modules = {package} | graph.find_descendants(package)
    return modules.union(*map(graph.find_upstream_modules, modules))


def in_packages(modules: set[str], *packages: str) -> set[str]:
    return {module for module in modules if any(f"{module}.".startswith(f"{package}.") for package in packages)}


def imported_modules(source: str) -> set[str]:
    """The modules that a file imports, at its top or inside a function."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            folder = ROOT.joinpath(*module.split(".")).is_dir()
            found |= {f"{module}.{each.name}" for each in node.names} if folder else {module}
    return found


def unexpected_imports(source: str, allowed: set[str]) -> set[str]:
    found = in_packages(imported_modules(source), *PACKAGES)
    return {module for module in found if not any(fnmatch(f"{module}.", f"{each}.*") for each in allowed)}


def test_kernels_import_torch_and_triton_and_one_another_towards_the_simpler(graph):
    imports = transitive_imports(graph, "kernels")
    assert in_packages(imports, "scripts") == set()
    outside = {module for module in imports - STANDARD if not in_packages({module}, "kernels")}
    # IPython in Table.show(), in a notebook; flash_attn is a peer, which is measured where it is there.
    assert outside == {"torch", "triton", "IPython", "flash_attn"}
    assert not graph.find_illegal_dependencies_for_layers(layers=FOLDER_ORDER, containers={"kernels"})


@pytest.mark.parametrize("module", ["kernels.checks", "kernels.reference", "kernels.multihead", "kernels.softmax"])
def test_what_all_folders_import_imports_none(graph, module):
    assert not in_packages(transitive_imports(graph, module), *(f"kernels.{folder}" for folder in FOLDER_ORDER))


@pytest.mark.parametrize("module", sorted(COUNTING_MODULES))
def test_what_figures_count_with_imports_no_torch(graph, module):
    assert not in_packages(transitive_imports(graph, module), "torch", "triton")


@pytest.mark.parametrize("package", ["scripts.site", "scripts.facts", "scripts.records"])
def test_what_builds_the_site_imports_of_kernels_the_registry_alone_and_no_torch(graph, package):
    modules = ({package} | graph.find_descendants(package)) - MAKE_RECORDS
    found = modules.union(*map(graph.find_upstream_modules, modules))
    assert in_packages(found, "kernels", "torch", "triton", "scripts.chapters", "scripts.labs") == {REGISTRY}
    assert not found & MAKE_RECORDS


def test_the_grader_of_the_labs_imports_no_solution(graph):
    found = transitive_imports(graph, "scripts.labs")
    assert not in_packages(found, *(f"kernels.{folder}" for folder in FOLDER_ORDER if folder != "bench"))
    assert not in_packages(found, "kernels.reference", "kernels.multihead", "kernels.softmax")
    assert not in_packages(found, "scripts.site", "scripts.chapters", "snippets", "tests")


@pytest.mark.parametrize("files", ALLOWED_IMPORTS)
def test_what_is_imported_by_name_imports_what_its_folder_may(files):
    own_line = {file for other in ALLOWED_IMPORTS if len(other) > len(files) for file in ROOT.glob(other)}
    found = {
        file: unexpected_imports(file.read_text(), ALLOWED_IMPORTS[files]) for file in {*ROOT.glob(files)} - own_line
    }
    assert found and {file: names for file, names in found.items() if names} == {}


def test_what_a_demo_takes_from_a_board_reads_no_record():
    """What `make run` sets up cannot read one."""
    modules = set.union(*(imported_modules(file.read_text()) for file in ROOT.glob("scripts/chapters/*/demo.py")))
    boards = [ROOT / f"{module.replace('.', '/')}.py" for module in in_packages(modules, "scripts.chapters")]
    files = [file for file in boards if file.exists()]
    imports = {file.name: imported_modules(file.read_text()) for file in files}
    assert imports and [name for name, modules in imports.items() if in_packages(modules, "scripts.records")] == []


@pytest.mark.parametrize(
    "line, expected",
    [
        ("import kernels", {"kernels"}),
        ("import math, kernels.bench", {"kernels.bench"}),
        ("from kernels import flash", {"kernels.flash"}),
        ("from kernels.flash.attention import flash_attention", {"kernels.flash.attention"}),
        ("from scripts import records, watch", {"scripts.watch"}),
        ("from scripts.chapters.hopper.figures import scaling", {"scripts.chapters.hopper.figures.scaling"}),
        ("from scripts.chapters.balloon import demo, worked", {"scripts.chapters.balloon.demo"}),
        ("from snippets import scaling", {"snippets.scaling"}),
        ("import torch.nn", {"torch.nn"}),
        ("from . import scaling", {"..scaling"}),
        ("from .scaling import figure", {".scaling"}),
        ("def figure():\n    import tests.budget", {"tests.budget"}),
        ("import math\nfrom scripts import records\nfrom kernels.bench.cost import flops", set()),
        ("from scripts.chapters.balloon.worked import split_count", set()),
    ],
)
def test_a_figure_that_imports_another_room_is_found(line, expected):
    assert unexpected_imports(line, next(iter(ALLOWED_IMPORTS.values()))) == expected


def test_importing_the_library_imports_neither_torch_nor_triton():
    code = "import kernels, sys; sys.exit(bool({'torch', 'triton'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
