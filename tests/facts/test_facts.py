"""A fact can't be empty: it says something else, or nothing, when what it compares swaps or one of them changes."""

import ast
import dataclasses
import inspect
import re
from pathlib import Path

import pytest

from scripts import facts, records
from scripts.facts import phrases

CHAPTERS = sorted(path.parent.name for path in (records.ROOT / "scripts/chapters").glob("*/facts.py"))
FACTS = {f"{chapter}.{name}": fact for chapter in CHAPTERS for name, fact in facts.facts_of_chapter(chapter).items()}
PAGES = {path: path.read_text(encoding="utf-8") for path in (records.ROOT / "docs").rglob("*.md")}
VERDICT = re.compile(r"ahead|behind|less .* than|more .* than")
COMPARES = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|half|third|quarter|twice|all|none|about|faster|slower|"
    r"less|more|fewer|ahead|behind|level|higher|lower|as fast|as long|times|agree)\b"
)


def words_of(fact, rows):
    try:
        return fact(rows)
    except facts.FactError:
        return None


def with_changed_number(fact, rows, one, factor):
    """The rows with one number that it compares changed: a column, or a column in the rows of a key."""
    column = one if fact.columns else fact.value_column
    return [
        row | {column: row[column] * factor}
        if row[column] is not None and (fact.columns or row[fact.key_column] == one)
        else dict(row)
        for row in rows
    ]


def with_swapped_pair(fact, rows):
    one, other = fact.columns or fact.keys
    names = {one: other, other: one}
    if fact.columns:
        return [{names.get(column, column): value for column, value in row.items()} for row in rows]
    return [row | {fact.key_column: names.get(row[fact.key_column], row[fact.key_column])} for row in rows]


@pytest.fixture(params=FACTS)
def fact(request):
    return FACTS[request.param]


@pytest.fixture
def rows(fact):
    return records.table(*fact.table.split("."))


def test_swapping_what_it_compares_changes_what_it_says(fact, rows):
    assert words_of(fact, with_swapped_pair(fact, rows)) != fact(rows)


def test_another_number_of_either_changes_what_it_says(fact, rows):
    """A number by a half; a verdict, when the winner is scaled past the loser."""
    words = fact(rows)
    factors = (1.5, 100, 0.01) if VERDICT.search(words) else (1.5,)
    for one in fact.columns or fact.keys:
        changed = any(words_of(fact, with_changed_number(fact, rows, one, factor)) != words for factor in factors)
        assert changed, f"fact {fact.name} doesn't read {one}"


def test_a_number_that_it_does_not_declare_changes_nothing(fact, rows):
    """Those with a fraction: whole ones may select rows or count them."""
    words = fact(rows)
    fractions = {column for row in rows for column, value in row.items() if isinstance(value, float)}
    for column in fractions - {*fact.columns, fact.value_column}:
        for factor in (1.5, 0.01):
            changed_rows = [row | {column: row[column] and row[column] * factor} for row in rows]
            assert words_of(fact, changed_rows) == words, f"fact {fact.name} reads {column}, and doesn't declare it"


def test_it_declares_two_columns_or_two_rows_that_its_table_has(fact, rows):
    if fact.columns:
        assert not (fact.key_column or fact.keys or fact.value_column)
        assert len(fact.columns) == 2 and {*fact.columns} <= rows[0].keys()
    else:
        assert len(fact.keys) == 2 and {*fact.keys} <= {row[fact.key_column] for row in rows}
        assert fact.value_column in rows[0]


def test_its_own_words_hold_no_number_and_no_comparison(fact):
    tree = ast.parse(inspect.getsource(fact.function))
    (function,) = tree.body
    strings = [
        node.value
        for part in function.body[1:]  # without the docstring
        for node in ast.walk(part)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    names = {
        *fact.columns,
        *fact.keys,
        *phrases.MARGINS,
        *(key for row in records.table(*fact.table.split(".")) for key in row),
    }
    assert [text for text in strings if COMPARES.search(text) and text not in names] == []


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_has_at_most_25_facts_each_on_a_page(chapter):
    chapter_facts = facts.facts_of_chapter(chapter)
    marked_facts = {
        facts.full_name(name, facts.chapter_of_page(str(path)))
        for path, text in PAGES.items()
        for _, _, name in facts.marks(text)
    }
    assert len(chapter_facts) <= 25 and {f"{chapter}.{name}" for name in chapter_facts} <= marked_facts


def test_emptied_facts_are_rejected(fact, rows):
    """A computation that can be taken out without anything noticing guards nothing."""
    said_today = fact(rows)
    empty = dataclasses.replace(fact, function=lambda rows: said_today)
    with pytest.raises(AssertionError):
        test_another_number_of_either_changes_what_it_says(empty, rows)


def range_of(low, high):
    return phrases.Range(low, high)


@pytest.mark.parametrize(
    "ratio, expected",
    [
        (range_of(0.49, 0.52), "about half the time of"),
        (range_of(0.91, 0.953), "91 to 96 % of the time of"),
        (range_of(0.2, 0.9), "less time than"),
        (range_of(1.2, 2.9), "more time than"),
        (range_of(2.31, 2.88), "2.3 to 2.9 times the time of"),
        (range_of(0.97, 1.03), None),
    ],
)
def test_a_range_becomes_the_most_precise_words_that_hold_for_all_of_it(ratio, expected):
    if expected:
        assert phrases.time_comparison(ratio) == expected
    else:
        with pytest.raises(phrases.NoPhrase, match="too close to call; range_of_ratios"):
            phrases.time_comparison(ratio)


@pytest.mark.parametrize("low, expected", [(130.6, "130"), (99.9, "99"), (1999, "1900"), (9.9, None)])
def test_a_large_multiple_is_one_that_it_surely_exceeds(low, expected):
    if expected:
        assert phrases.lower_bound(range_of(low, 1.3 * low)) == f"more than {expected} times"
    else:
        with pytest.raises(phrases.NoPhrase, match=r"rough_multiple .* range_of_ratios"):
            phrases.lower_bound(range_of(low, 1.3 * low))


@pytest.mark.parametrize(
    "low, high, expected",
    [(5.8, 7, "six"), (6.8, 7.2, "seven"), (8.9, 9.2, "nine"), (9.6, 10.4, "ten"), (10.9, 12.1, None), (1, 1.9, None)],
)
def test_a_rough_multiple_is_the_nearest(low, high, expected):
    if expected:
        assert phrases.rough_multiple(range_of(low, high)) == f"roughly {expected} times"
    else:
        with pytest.raises(phrases.NoPhrase, match=r"none of 2, 3, .*, 100; range_of_ratios"):
            phrases.rough_multiple(range_of(low, high))


def test_wins_and_losses_count_what_is_sure():
    ratios = [phrases.with_margin(each, "ratio_of_one_setting") for each in (0.5, 0.9, 0.99, 1.02, 1.2)]
    assert phrases.wins_and_losses(ratios, "settings") == "ahead in 2 of 5 settings, behind in 1"
    with pytest.raises(phrases.NoPhrase, match="level in all 2 settings; range_of_ratios"):
        phrases.wins_and_losses(ratios[2:4], "settings")


@pytest.mark.parametrize("measured, expected", [(100, "to the byte"), (100.3, "to 0.3 %"), (110, None)])
def test_two_counts_agree_or_one_is_more(measured, expected):
    if expected:
        assert phrases.agreement([(measured, 100)], "one", "other", "byte") == f"one and other agree {expected}"
    else:
        with pytest.raises(phrases.NoPhrase, match=r"differ by up to 10\.0 %; quantity_comparison"):
            phrases.agreement([(measured, 100)], "one", "other", "byte")


def test_a_fact_says_at_most_twelve_words():
    talkative = facts.Fact("talkative", "a.b", lambda rows: "word " * 13, columns=("a", "b"))
    with pytest.raises(facts.FactError, match="talkative says"):
        talkative([])


def test_marks_inside_code_are_none():
    text = "A [half]{fact=one}, `[x]{fact=two}`.\n\n```\n[y]{fact=three}\n```\n\n[two\nlines]{fact=other.four}"
    assert [(said, name) for _, said, name in facts.marks(text)] == [("half", "one"), ("two lines", "other.four")]


@pytest.mark.parametrize(
    "sentence, wrong",
    [
        ("From 512 to 8,192 words, heads of 64, a pair grows to.", ""),
        ("At 8192, a pair costs as much.", ""),
        ("From 256 to 8192 words, a pair grows to.", "256"),
        ("From 512 to 16,384 words, a pair grows to.", "16384"),
        ("A pair grows to.", "neither"),
    ],
)
def test_a_sentence_has_the_numbers_that_its_fact_compares(sentence, wrong):
    fact = facts.Fact("growth", "a.b", str, key_column="n", keys=(8192, 512), value_column="clocks")
    message = facts.setting_error(fact, sentence)
    assert message == (wrong and f"fact growth compares 8192 with 512, and its sentence has {wrong}")
    assert not facts.setting_error(dataclasses.replace(fact, keys=("one", "other")), sentence)


def test_the_command_names_each_file_that_imports_a_fact(monkeypatch, tmp_path):
    from scripts.facts import __main__ as command

    for file, statement in {
        "one/board.py": "from scripts.chapters.one.facts import (\n    other,\n    name as words,\n)",
        "one/demo.py": "from scripts.chapters.one.facts import other",
        "two/figures/name.py": "from scripts.chapters.one.facts import name",
        "two/worksheet.py": "from scripts.chapters.two.facts import name",
    }.items():
        path = tmp_path / "scripts/chapters" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{statement}\n")
    monkeypatch.setattr(records, "ROOT", tmp_path)
    files = ("one/board.py", "two/figures/name.py")
    assert [*command.importers_of("one.name")] == [f"also read scripts/chapters/{file}" for file in files]


def test_the_command_writes_todays_words_and_says_where_and_what_to_read(monkeypatch, tmp_path, capsys):
    from scripts.facts import __main__ as command

    chapter, name = "first_kernel", "waits_for_threads"  # also in the ALT of a figure
    fact = FACTS[f"{chapter}.{name}"]
    page = Path(tmp_path, chapter.replace("_", "-"), "index.md")
    page.parent.mkdir()
    page.write_text(f"A first. One [other words]{{fact={name}}} and\n[none]{{fact=nothing}}.\n")
    monkeypatch.setattr(command, "DOCS", tmp_path)
    assert command.main() == 1  # because of the fact that isn't there
    assert page.read_text().startswith(f"A first. One [{fact()}]{{fact={name}}} and")
    changed, sentence, figure, missing = capsys.readouterr().out.splitlines()
    where = f"docs/{chapter.replace('_', '-')}/index.md"
    assert changed == f"{where}:1: 'other words' is now {fact()!r}"
    assert sentence.strip() == f"One {fact()} and none."
    assert figure.strip() == "also read the ALT of figure what_warps_wait_for"
    assert missing.startswith(f"{where}:2: there is no fact nothing")
    page.write_text(f"[{fact()}]{{fact={name}}}")
    assert command.main() == 0
