"""A number with a unit is computed: on a page by a test beside this one, in a snippet or a figure by its code."""

import ast
import importlib
import re
from pathlib import Path

import pytest

from scripts.records import ROOT
from tests.docs.by_hand import without_addresses

DOCS = ROOT / "docs"
SCRIPTS = sorted([*(ROOT / "snippets").glob("*.py"), *(ROOT / "scripts" / "figures").rglob("*.py")])
SCOPES = (ast.Module, ast.FunctionDef, ast.ClassDef)
UNITS = "[TGM]?FLOP/s|[KMGT]i?B(?:/s)?|TB a second|bytes a clock|FLOP a clock|[µmn]?s|seconds|[kMG]Hz|%|percent"
NUMBER = re.compile(rf"\d(?:[\d.,]*\d)?(?: million| billion)? (?:{UNITS})(?!\w)")


def computed():
    """page -> the texts of which a test beside this one computes the numbers."""
    texts = {}
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        for page, found in getattr(importlib.import_module(f"tests.docs.{path.stem}"), "TYPED", {}).items():
            texts.setdefault(page, []).extend(found)
    return texts


def prose(page):
    """The words of a page on one line: no fences, no formulas, no values from records, no addresses."""
    text = (DOCS / page).read_text(encoding="utf-8").replace("**", "").replace("\N{NO-BREAK SPACE}", " ")
    text = re.sub(r"^( *)```.*?^\1```$", " ", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^## References.*", " ", text, flags=re.DOTALL | re.MULTILINE)
    return " ".join(re.sub(r"`[^`]*`", " ", without_addresses(text)).split())


def typed_numbers(page, texts):
    found = prose(page)
    for text in sorted(texts, key=len, reverse=True):
        found = found.replace(" ".join(re.sub(r"`[^`]*`", " ", text).split()), " | ")
    return [found[max(match.start() - 40, 0) : match.end() + 20] for match in NUMBER.finditer(found)]


@pytest.mark.parametrize("page", sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")))
def test_a_number_with_a_unit_on_a_page_is_computed(page):
    assert typed_numbers(page, computed().get(page, [])) == []


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
