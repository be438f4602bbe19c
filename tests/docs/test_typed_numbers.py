"""A number with a unit is computed: on a page by an equation, a value or a claim, in a script by its code."""

import ast
import re

import pytest

from scripts.records import ROOT
from tests.docs.pages import DOCS, blocks, read
from tests.docs.quantities import NUMBER, known, quantities

SCRIPTS = sorted([*(ROOT / "snippets").rglob("*.py"), *(ROOT / "scripts" / "figures").rglob("*.py")])
SCOPES = (ast.Module, ast.FunctionDef, ast.ClassDef)


@pytest.mark.parametrize("page", sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")))
def test_a_number_with_a_unit_on_a_page_is_computed(page):
    allowed = known(page)
    typed = [
        f"… {before}{found}" for found, sure, before in quantities(blocks(page)) if not sure and found not in allowed
    ]
    assert not typed, f"{page}: nothing computes\n" + "\n".join(typed)


def strings(path):
    """What a script prints or shows: its strings but for docstrings, and its comments."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    docstrings = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, SCOPES)}
    comments = re.sub(r"^(?!# ).*|^# %%.*|^# ", "", source, flags=re.MULTILINE)
    yield " ".join(comments.split())
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in docstrings:
            yield node.value


def settings(path):
    """The numbers that stand in the code, as they are and as percentages."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    numbers = [node.value for node in nodes if isinstance(node, ast.Constant) and type(node.value) in (int, float)]
    return {f"{number:.10g}" for number in numbers} | {f"{100 * number:.10g}" for number in numbers}


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_number_with_a_unit_in_a_script_is_one_of_its_settings(path):
    typed = [match.group() for text in strings(path) for match in NUMBER.finditer(text)]
    assert [found for found in typed if found.split()[0] not in settings(path)] == []


def test_what_is_found_and_what_is_not():
    found = "The kernel takes 3.2 ms, a third, and moves 748 MB at **1.1 TB/s**; 45 % of N = 8192, 4 KiB."
    assert NUMBER.findall(found.replace("**", "")) == ["3.2 ms", "748 MB", "1.1 TB/s", "45 %", "4 KiB"]
    assert NUMBER.findall("In 3 steps, with 2 SMs, 5 Bs and 16 heads of 64: [5, 5], chapter 4, 2 s.") == ["2 s"]


@pytest.mark.parametrize(
    "text, sure",
    [
        ("It takes 3.2 ms.", False),
        ("2 · 1.6 ms = 3.2 ms", True),
        ("2 · 1.6 ms = 3.3 ms", False),
        ("[less than 3.2 ms]{claim=fast}", True),
        ("It takes 3.2 ms<!-- = 2 · 1.6 ms -->.", True),
        ("A card of 80 GB<!-- given -->.", True),
    ],
)
def test_what_vouches_for_a_number(text, sure):
    assert {vouched for _, vouched, _ in quantities(read(text))} == {sure}
