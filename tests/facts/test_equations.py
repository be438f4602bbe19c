# ruff: noqa: RUF001  (signs as pages print them)
"""Equations on a page are found, a wrong one stops the build, and so does a measured number that has no source."""

import pytest

from scripts.facts.equations import equations
from scripts.facts.paragraphs import Paragraph, paragraphs, to_plain_text
from scripts.facts.unchecked_pages import is_unchecked
from scripts.facts.unsourced_numbers import unsourced_numbers

RIGHT_AND_WRONG = [
    ("16 · 8 = **128** numbers", "16 · 8 = **129** numbers"),
    ("3.35 TB/s ÷ 132 ÷ 1.83 GHz = 13.9 bytes", "3.35 TB/s ÷ 132 ÷ 1.83 GHz = 13.8 bytes"),
    ("132 · 4096 · 1.83 GHz = 989 TFLOP/s", "132 · 4096 · 1.83 GHz = 989 GFLOP/s"),
    ("989 ÷ 3.35 = **295 FLOP a byte**", "989 ÷ 3.35 = **296 FLOP a byte**"),
    ("8 · 1024 · 129 · 4 = 4,227,072 bytes = 4.03 MiB", "8 · 1024 · 129 · 4 = 4,227,072 bytes = 4.04 MiB"),
    ("2¹³ · 2¹³ · 2 = 2²⁷ bytes = 128 MiB", "2¹³ · 2¹³ · 2 = 2²⁶ bytes = 128 MiB"),
    ("0.9⁹⁹ = 3·10⁻⁵", "0.9⁹⁹ = 3·10⁻⁶"),
    ("$e^{1 - 1.86}$ = 42 %", "$e^{1 - 1.86}$ = 43 %"),
    (r"$\frac{128}{1 + 2 \cdot 128/8192} = 124$", r"$\frac{128}{1 + 2 \cdot 128/8192} = 125$"),
    ("[2, 1] · [3, −4] = 6 − 4 = 2", "[2, 1] · [3, −4] = 6 − 3 = 3"),
    ("0.4 · [10, 0] + 0.2 · [0, 10] = [4, 2]", "0.4 · [10, 0] + 0.2 · [0, 10] = [4, 3]"),
    ("[15.03, 15.03] / 3.006 = **[5, 5]**", "[15.03, 15.03] / 3.006 = **[5, 6]**"),
    ("2 + ln 3.006 = 3.101.", "2 + ln 3.006 = 3.102."),
    ("1.368 · e⁻¹ = 0.503", "1.368 · e⁻¹ = 0.504"),
    ("√(24 · 10⁹ ÷ (4 · 32)) = 13,693", "√(24 · 10⁹ ÷ (4 · 32)) = 13,694"),
    ("7 mod 3 = 1", "7 mod 3 = 2"),
]
FREE = [
    "x = 2 · N",
    "4N² ÷ 4Nd = 64",
    "N/d = 64",
    "softmax([1, 0]) = [0.73, 0.27]",
    "With N = 512, d = 64",
    "d · 2 = 7",
]


@pytest.mark.parametrize("right, wrong", RIGHT_AND_WRONG)
def test_an_equation_is_computed(right, wrong):
    (found,) = equations(to_plain_text(right))
    assert found.wrong == ""
    assert any(equation.wrong for equation in equations(to_plain_text(wrong)))


@pytest.mark.parametrize(
    "text, result",
    [
        ("64 · 8192 · 4 bytes = 3 MiB", "2 MiB, not 3 MiB"),
        ("64 · 8192 · 4 = 3 MiB", "2 MiB, not 3 MiB"),
        ("64 · 8192 · 4 bytes = 2,097,153 bytes", "2,097,152 bytes, not 2,097,153 bytes"),
        ("2 · 3 = 7 GB", "6 GB, not 7 GB"),
        ("1 ÷ 3 = 32 %", "33.3333 %, not 32 %"),
        ("[1, 2] · 2 = [2, 5] GB", "[2, 4] GB, not [2, 5] GB"),
    ],
)
def test_what_it_comes_to_is_said_in_the_unit_of_the_page(text, result):
    (found,) = equations(text)
    assert found.wrong.endswith(f" is {result}")


@pytest.mark.parametrize("text", FREE)
def test_what_has_names_is_free(text):
    assert not any(equation.wrong for equation in equations(to_plain_text(text)))


@pytest.mark.parametrize(
    "text, typed",
    [
        ("It takes 3.2 ms.", ["3.2 ms"]),
        ("It takes 3ms, at 4 TB/s and 700 W.", ["3ms", "4 TB/s", "700 W"]),
        ("It's 1.8 times as fast, or 1.14 × cuDNN.", ["1.8 times as fast", "1.14 ×"]),
        ("It's twice as fast, and takes half the time of ours.", ["twice as fast", "half the time"]),
        ("Ours takes [half the time of]{fact=name} cuDNN. It's a fifth faster.", ["a fifth faster"]),
        ("Twice the words, twice the memory: each becomes twice as long.", []),
        ("2 · 1.6 ms = 3.2 ms", []),
        ("It takes `#!value a.b.c .1f` ms.", []),
        ("It takes [about half the time of]{fact=name} cuDNN.", []),
        ("Others report 3.2 ms ([their paper](../references.md#theirs)).", []),
        ("It takes 3.2 ms. See [a paper](../references.md#other).", ["3.2 ms"]),
        ("With N = 8192, 128 MiB, 45 % of 16 heads, in chapter 10.", []),
        ("Its side is √2 times as long.", []),
    ],
)
def test_a_number_with_a_measured_unit_needs_something_that_vouches_for_it(text, typed):
    (paragraph,) = paragraphs(text)
    assert [*unsourced_numbers(paragraph, [*equations(paragraph.text)])] == typed


def test_paragraphs_are_what_a_reader_sees_and_know_their_lines():
    text = (
        '---\ntitle: x\n---\nOne\nline.\n\n``` figure {caption="Takes 3 ms."}\nname\n```\n- item\n- more\n\n| a | b |\n'
    )
    text += "\n<!-- hidden -->\n\n## References\n\n3 ms"
    found = [*paragraphs(text)]
    assert [(each.text.strip(), each.line) for each in found] == [
        ("Takes 3 ms.", 7), ("One line.", 4), ("- item", 10), ("- more", 11), ("a", 13), ("b", 13),
    ]  # fmt: skip
    assert isinstance(found[0], Paragraph)


def test_an_equation_goes_on_in_the_next_cell():
    _, equation = paragraphs("| places | 2500 − 2048 | = **453** |\n")
    assert [each.wrong for each in equations(equation.text)] == ["2500 − 2048 is 452, not 453"]


@pytest.mark.parametrize(
    "text, yes",
    [
        ("---\nnumbers: unchecked\n---\n3", True),
        ("---\ntags: [x]\nnumbers: unchecked\n---\n3", True),
        ("3\n\n---\nnumbers: unchecked\n---\n", False),
    ],
)
def test_a_page_that_says_so_is_unchecked(text, yes):
    assert is_unchecked(text) == yes
