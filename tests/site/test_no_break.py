"""On a sheet no line ends within a list of numbers, behind a sign or before a unit; code and tags stay as they are."""

from scripts.site.markup.no_break import SPACE, add_no_breaks


def test_numbers_stay_with_what_belongs_to_them():
    shown = add_no_breaks(
        "The room finds [5, 4] in chapter 7, with d = 64: 4 · 32 KiB = 131 kB, 6 % of all, 0 0011 101."
    )
    expected = "The room finds [5,~4] in chapter~7, with d~=~64: 4~·~32~KiB =~131~kB, 6~% of all, 0~0011~101."
    assert shown.replace(SPACE, "~") == expected
    shown = add_no_breaks(
        "Row 1 is 0.71 0 0.71, its products 1 0 1, and P (dP - D) or P (dP + D) is 4 · 64, 1 · 2 · 3."
    )
    expected = "Row~1 is 0.71~0~0.71, its products 1~0~1, and P (dP - D) or P (dP~+~D) is 4~·~64, 1 ·~2 ·~3."
    assert shown.replace(SPACE, "~") == expected


def test_tags_code_and_words_stay():
    for html in (
        '<img alt="row 1, [5, 4]">',
        "<code>make run N = 4</code>",
        "<svg><text>[5, 4]</text></svg>",
        "In turn (registers, shared memory), 4 words a line.",
    ):
        assert add_no_breaks(html) == html
