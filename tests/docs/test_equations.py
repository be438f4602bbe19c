# ruff: noqa: RUF001  (signs as the pages print them)
"""On pages that aren't converted yet, every equation and mark holds to its printed digits."""

import re
from collections import Counter

import pytest

from scripts.facts.quantities import unconverted
from scripts.site.build import MARK
from tests.docs.equations import SAID, equations
from tests.docs.pages import CLAIM, DOCS, blocks, read

# The build writes something in the place of these.
FILLED = re.compile(
    r"<!-- ((a (row|line) for )?every|chapter|hours|labs?|where the two|step|key|poll|demo"
    r"|the (kernels|modules|sheets|handbook|repository|path|sentence|table|two times))\b"
)

ALL = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
PAGES = [page for page in ALL if unconverted((DOCS / page).read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", PAGES)
def test_equations_hold(page):
    found = equations(blocks(page))
    print(page, ", ".join(f"{count} {verdict}" for verdict, count in Counter(each.verdict for each in found).items()))
    wrong = [each for each in found if each.verdict == "fails" or (each.box and each.verdict == "unreadable")]
    assert not wrong, "\n".join(f"{page}:{each.line}: {each.text}: {each.why or each.verdict}" for each in wrong)


@pytest.mark.parametrize("page", PAGES)
def test_a_by_hand_box_has_an_equation_or_a_claim(page):
    boxes = {block.box for block in blocks(page) if block.box and SAID not in block.text}
    said = {block.box for block in blocks(page) if SAID in block.text or CLAIM in block.text}
    checked = {each.box for each in equations(blocks(page)) if each.verdict == "holds"}
    silent = sorted(boxes - said - checked)
    assert not silent, f"{page}: nothing is computed in the boxes that begin in lines {silent}"


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("16 · 8 = **128** numbers", "16 · 8 = **129** numbers"),
        ("3.35 TB/s ÷ 132 ÷ 1.83 GHz = 13.9 bytes", "3.35 TB/s ÷ 132 ÷ 1.83 GHz = 13.8 bytes"),
        ("132 · 4096 · 1.83 GHz = 989 TFLOP/s", "132 · 4096 · 1.83 GHz = 989 GFLOP/s"),
        ("989 ÷ 3.35 = **295 FLOP a byte**", "989 ÷ 3.35 = **296 FLOP a byte**"),
        ("8 · 1024 · 129 · 4 = 4,227,072 bytes = 4.03 MiB", "8 · 1024 · 129 · 4 = 4,227,072 bytes = 4.04 MiB"),
        ("6 · 134.2 + 8.4 MB = 813.6 MB", "6 · 134.2 + 8.4 MB = 814.6 MB"),
        ("2¹³ · 2¹³ · 2 = 2²⁷ bytes = 128 MiB", "2¹³ · 2¹³ · 2 = 2²⁶ bytes = 128 MiB"),
        ("0.9⁹⁹ = 3·10⁻⁵", "0.9⁹⁹ = 3·10⁻⁶"),
        ("$e^{1 - 1.86}$ = 42 %", "$e^{1 - 1.86}$ = 43 %"),
        ("$\\frac{128}{1 + 2 \\cdot 128/8192} = 124$", "$\\frac{128}{1 + 2 \\cdot 128/8192} = 125$"),
        ("[2, 1] · [3, −4] = 6 − 4 = 2", "[2, 1] · [3, −4] = 6 − 3 = 3"),
        ("0.4 · [10, 0] + 0.2 · [0, 10] = [4, 2]", "0.4 · [10, 0] + 0.2 · [0, 10] = [4, 3]"),
        ("$N = 8192$, d = 128. N ÷ d = 8192 ÷ 128 = 64", "$N = 8192$, d = 64. N ÷ d = 8192 ÷ 128 = 64"),
        ("With h = 4, 7h + 2 = 30", "With h = 4, 7h + 2 = 31"),
        ("2 + log₂ 1.5 = 2.58", "2 + log₂ 1.5 = 2.59"),
        ("5 mod 3 = 2, weight 2¹⁻² = ½", "5 mod 3 = 2, weight 2¹⁻² = ¼"),
        ("40 %, 20 %, 40 %<!-- = softmax([1, 0, 1] ÷ √2) -->", "40 %, 21 %, 40 %<!-- = softmax([1, 0, 1] ÷ √2) -->"),
        ("two numbers of 4 bytes = 8 bytes<!-- = 2 · 4 -->", "two numbers of 4 bytes = 9 bytes<!-- = 2 · 4 -->"),
        ("989 ÷ 3.35 = 295<!-- = 590 ÷ 2 -->", "990 ÷ 3.30 = 295<!-- = 590 ÷ 2 -->"),
        (
            "$$\n\\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix} \\begin{pmatrix} 1 & 0 \\\\ 1 & 1 \\end{pmatrix}"
            "= \\begin{pmatrix} 3 & 2 \\\\ 7 & 4 \\end{pmatrix}\n$$",
            "$$\n\\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix} \\begin{pmatrix} 1 & 0 \\\\ 1 & 1 \\end{pmatrix}"
            "= \\begin{pmatrix} 3 & 2 \\\\ 7 & 5 \\end{pmatrix}\n$$",
        ),
    ],
)
def test_what_is_read(right, wrong):
    verdicts = [each.verdict for each in equations(read(right))]
    assert "holds" in verdicts and "fails" not in verdicts
    assert "fails" in [each.verdict for each in equations(read(wrong))]


@pytest.mark.parametrize("page", ALL)
def test_no_mark_reaches_the_reader(page):
    marks = re.findall(r"<!--.*?-->", re.sub(r"`[^`]*`", "", (DOCS / page).read_text(encoding="utf-8")), re.DOTALL)
    assert [mark for mark in marks if MARK.sub("", mark) and not FILLED.match(mark)] == []


def test_what_is_not_read_is_said():
    (equation,) = equations(read('!!! by-hand "By hand"\n    What the room says = 5.'))
    assert (equation.verdict, equation.box) == ("unreadable", 1)
    (equation,) = equations(read(f'!!! by-hand "By hand"\n    What the room says = 5{SAID}.'))
    assert equation.verdict == "said"
