# ruff: noqa: RUF001  (signs as the pages print them)
"""A number with a unit is computed: on a page by an equation, a value or a claim, in a script by its code."""

import ast
import re

import pytest

from scripts.records import ROOT
from tests.docs.pages import DOCS, blocks, read
from tests.docs.quantities import NUMBER, unvouched

SCRIPTS = sorted([*(ROOT / "snippets").rglob("*.py"), *(ROOT / "scripts" / "figures").rglob("*.py")])
SCOPES = (ast.Module, ast.FunctionDef, ast.ClassDef)


@pytest.mark.parametrize("page", sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")))
def test_a_number_on_a_page_is_computed(page):
    typed = list(map(str, unvouched(page, blocks(page))))
    assert not typed, f"{page}: nothing computes\n" + "\n".join(typed)


def strings(path):
    """What a script prints or shows: its strings but for docstrings, and its comments."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    docstrings = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, SCOPES)}
    comments = re.sub(r"^(?!# ).*|^# %%.*|^# ", "", source, flags=re.MULTILINE)
    yield " ".join(comments.split())
    parts = [part for node in ast.walk(tree) if isinstance(node, ast.FormattedValue) for part in [node.format_spec]]
    formats = {constant for part in parts if part for constant in part.values}
    for node in set(ast.walk(tree)) - formats:
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


# Phrases, one between two bars.
MEASURED = """
    It takes 3.2 ms. | It takes 3.2ms. | It takes 3.2 milliseconds. | It takes 3.2 msec.
    It takes 3.2-ms steps. | It takes 3 ms. | It takes 3ms. | It takes 3 milliseconds.
    It takes three milliseconds. | It takes 4 s. | It takes 3.2 μs. | It takes 3.2 µs. | It takes 3 μs.
    It takes 3 µs. | It takes 3 us. | It takes 3 microseconds. | It takes 3&nbsp;ms. | It takes 3&#160;ms.
    It takes 3&thinsp;ms. | It takes 3&#x202f;ms. | It takes 3\u00a0ms. | It takes 3\u202fms.
    It takes 3\u2009ms. | It takes &#51; ms. | It takes 3\u200b ms. | It takes 3&#8203;&nbsp;ms.
    It takes **3** ms. | It takes *3* ms. | It takes ***3*** ms. | It takes __3__ ms. | It takes _3_ ms.
    It takes <b>3</b> ms. | It takes <span class="x">3</span> ms. | It takes [3](a.md) ms. | It takes `3` ms.
    It takes `3 ms`. | It takes `3.2 ms`. | It takes 3<!-- --> ms. | It takes 3 (ms). | 3 [ms].
    It takes $3$ ms. | It takes $3\\,\\text{ms}$. | It takes $3\\ \\mathrm{ms}$. | It takes $3.2$ ms.
    It runs at 3 TFLOPS. | It runs at 3 TFLOP/s. | It runs at 3 PFLOP/s. | It runs at 3 teraflops. | At 3 TOPS.
    At 3 EFLOP/s. | It reads 3 GB/s. | It reads 3 GBps. | It reads 3 GiB. | It reads 3 Gbit/s.
    It reads 3 gigabytes. | It reads 3 TB a second. | It is 93% busy. | It is 93 % busy. | It is 9% busy.
    It is 9 percent busy. | It is 9 per cent busy. | It is 9\u202f% busy. | It is 9 percentage points.
    It is 9‰. | It makes 9 tokens/s. | It makes 9 tokens per second. | It makes 9 tok/s. | It draws 7 W.
    It draws 7 watts. | It draws 7 kW. | It takes 7 J. | It is at 70 °C. | It is at 7 °C. | It has 2 GHz.
    It is 2 times as fast. | It is two times as fast. | It is 1.8 times as fast. | It is 2× as fast.
    It is 1.8× as fast. | It is 1.8x as fast. | It is 1.8x faster. | It is x1.8 faster. | It is 2x faster.
    It is threefold. | It is 3-fold. | It is two and a half times as fast. | It is 25 times the speed.
    A factor of 1.8. | A speed-up of 40. | half of 1,007 | It takes ½ ms. | It takes 3.2·10⁻³ s.
    It takes 3.2e-3 seconds. | It takes .5 ms. | It takes 3,2 ms. | It takes 1/3 ms. | It takes from 3 to 4 ms.
    It takes 3–4 ms. | It takes ≈3 ms. | It takes <3 ms. | It takes (3 ms). | It takes "3 ms". | # It takes 3 ms
    ## In 3 ms | - It takes 3 ms. | 1. It takes 3 ms. | > It takes 3 ms. | : It takes 3 ms.
"""


@pytest.mark.parametrize("phrase", [each.strip() for each in re.split(r"\||\n", MEASURED) if each.strip()])
def test_a_typed_measurement_is_found(phrase):
    assert unvouched("index.md", read(f"{phrase}\n"))


@pytest.mark.parametrize(
    "markdown",
    [
        "| Form | ms |\n|---|---|\n| loop | 3 |\n",
        "| Form | Time (ms) |\n|---|---|\n| loop | **3** |\n",
        "| Form | Speed, TB/s |\n|---|---|\n| loop | 3 |\n",
        "| Form | Busy % |\n|---|---|\n| loop | 9 |\n",
        "| Form | s |\n|---|---|\n| loop | two |\n",
        "| Form | What |\n|---|---|\n| loop | 3 ms |\n",
        '``` figure {caption="It takes 3 ms."}\nfigure\n```\n',
        "``` figure {caption='It takes 3 ms.'}\nfigure\n```\n",
        '!!! click "It takes 3 ms"\n    Why?\n',
        '??? question "It takes 3 ms"\n    Why?\n',
        '[words](a.md "It takes 3 ms")\n',
        '[words](a.md){ title="It takes 3 ms" }\n',
        '<abbr title="It takes 3 ms">words</abbr>\n',
        "*[words]: It takes 3 ms.\n",
        "Words[^1].\n\n[^1]: It takes 3 ms.\n",
        "![It takes 3 ms](a.png)\n",
    ],
)
def test_a_typed_measurement_is_found_where_it_does_not_stand_in_a_sentence(markdown):
    assert unvouched("index.md", read(markdown))


@pytest.mark.parametrize(
    "text, sure",
    [
        ("It takes 3.2 ms.", False),
        ("2 · 1.6 ms = 3.2 ms", True),
        ("2 · 1.6 ms = 3.3 ms", False),
        ("[less than 3.2 ms]{claim=fast}", True),
        ("It takes 3.2 ms<!-- = 2 · 1.6 ms -->.", True),
        ("It takes three seconds<!-- given -->, and three seconds again.", True),
        ("It takes three seconds<!-- given -->, and four seconds then.", False),
        ("A card of 80 GB<!-- given -->.", True),
        ("With N = 500.", False),
        ("With N = 500, M = 500.", True),
        ("With 500<!-- given --> words, and again 500.", True),
        ("With 500<!-- given --> words, and again 501.", False),
        ("It is four times<!-- = 2² --> as fast.", True),
        ("It is four times<!-- = 2³ --> as fast.", False),
        ("In chapter 10, and in chapters 10 and 11.", True),
        ("In FP16, on an H100.", True),
        ("In FP17.", False),
        ("On an H101.", False),
        ("The bytes D7 20 64 A0.", True),
        ("The numbers 17 20 64 40.", False),
        ("Version 3.6.0.", False),
        ("Three steps, 2 SMs and 5 heads.", True),
    ],
)
def test_what_vouches_for_a_number(text, sure):
    assert bool(unvouched("index.md", read(text))) != sure
