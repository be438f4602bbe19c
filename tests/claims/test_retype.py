"""What a new record changed in a claim is typed anew where only numbers changed, and told where more did."""

from decimal import Decimal
from importlib.util import module_from_spec, spec_from_file_location

import pytest

from tests.claims import retype, test_claims
from tests.claims.retype import retold, retyped
from tests.claims.rows import rounded


def leads_by(*percents):
    """Ours is ahead by 9 to 13 %."""
    assert [rounded(found, typed) for found, typed in zip((8.62, 12.3), percents, strict=True)] == list(percents)


@pytest.mark.parametrize(
    "words, anew",
    [
        ("by 9 to 13 %", "by 9 to 12 %"),
        ("by 8 to 13.1 %", "by 9 to 12.3 %"),
        ("by seven to 13 %, and `13` in code", "by nine to 12 %, and `13` in code"),
        ("Three to 13, or so", "Nine to 12, or so"),
        ("by [9 to 13](../notes/12.md) %", "by [9 to 12](../notes/12.md) %"),
    ],
)
def test_numbers_are_those_that_the_check_finds(words, anew):
    assert retyped(words, leads_by) == anew


@pytest.mark.parametrize(
    "found, words, anew",
    [
        (16384, "8192 words", "16,384 words"),
        (4096, "16,384 words", "4096 words"),
        (13, "twelve of them", "13 of them"),
        (Decimal("0.8"), "nine tenths", "eight tenths"),
        (Decimal("3.5"), "two and a half", "three and a half"),
    ],
)
def test_a_number_is_typed_as_the_one_before_it_was(found, words, anew):
    def check(number):
        assert found == number

    assert retyped(words, check) == anew


def test_a_number_that_was_turned_round_is_found_with_its_sign():
    def saves(percent):
        assert rounded(-4.2, percent) == -percent

    assert retyped("saves 3 %", saves) == "saves 4 %"


def test_a_sentence_that_the_record_turned_is_not_retyped():
    def saves(percent):
        assert rounded(-4.2, percent) == percent

    with pytest.raises(AssertionError, match="3 would have to be below 0: -4"):
        retyped("saves 3 %", saves)


def test_a_sentence_that_is_no_longer_so_is_not_retyped():
    def is_ahead(percent):
        assert rounded(4.2, percent) == percent
        assert 0.9 > 1

    with pytest.raises(AssertionError):
        retyped("ahead by 3 %", is_ahead)


def test_a_number_that_would_have_to_be_two_is_not_retyped():
    def both(percent):
        assert [rounded(each, percent) for each in (4.2, 5.1)] == [percent, percent]

    with pytest.raises(AssertionError, match="3 would have to be 4 and 5"):
        retyped("both by 3 %", both)


def test_a_span_that_has_shrunk_to_a_number_is_not_retyped():
    def lie_between(low, high):
        assert (rounded(5.6, low), rounded(6.1, high)) == (low, high)

    with pytest.raises(AssertionError, match="6 to 6 would be one number"):
        retyped("5 to 6 %", lie_between)
    assert retyped("5.0 to 6.0 %", lie_between) == "5.6 to 6.1 %"


def test_a_part_that_is_no_longer_whole_is_not_retyped():
    def is_about(part):
        assert Decimal("0.85") == part

    with pytest.raises(AssertionError, match="nine tenths would have to be"):
        retyped("nine tenths", is_about)


def test_what_a_check_chooses_by_stays():
    def of(head_dim, speed):
        (found,) = [speed for wide, speed in {64: 512, 128: 640}.items() if wide == int(head_dim)]
        assert found == speed

    assert retyped("with heads of 64, 500", of) == "with heads of 64, 512"


def test_a_bound_stays():
    def below(bound):
        assert bound > 4

    assert retyped("below 5 %", below) == "below 5 %"
    with pytest.raises(AssertionError):
        retyped("below 3 %", below)


def test_a_docstring_gets_the_numbers_of_the_words():
    text = "At d = 128 it takes 0.1 % more full, and 4.1 % causal. In words: more."
    anew = "At d = 128 it takes 0.3 % more full, and 12.0 % causal. In words: more."
    assert retold(text, "0.1 % and 4.1 %", "0.3 % and 12.0 %") == anew
    assert retold("At 3, as always.", "0.1 %", "0.3 %") == "At 3, as always."


CHECKS = '''
from tests.claims.rows import rounded


def leads(percent):
    """Ours is ahead by 3 %. In words: ahead."""
    assert rounded(4.2, percent) == percent


def loses(percent):
    """It is behind by 3 %. In words: behind."""
    assert rounded(-4.2, percent) == percent


def stays():
    """It holds at 64."""
'''


def test_pages_and_docstrings_are_written_and_what_is_left_is_told(tmp_path, monkeypatch, capsys):
    source, page = tmp_path / "checks.py", tmp_path / "page.md"
    source.write_text(CHECKS, encoding="utf-8")
    spec = spec_from_file_location("checks_of_a_page", source)
    spec.loader.exec_module(module := module_from_spec(spec))
    text = "[ahead by\n3 %]{claim=leads}, [behind by 3 %]{claim=loses}, [at 64]{claim=stays}, `[as 3]{claim=leads}`\n"
    page.write_text(text, encoding="utf-8")
    checks = {name: getattr(module, name) for name in ("leads", "loses", "stays")}
    monkeypatch.setattr(retype, "CHECKS", checks)
    monkeypatch.setattr(test_claims, "CHECKS", checks)
    monkeypatch.setattr(retype, "CLAIMS", [(name, "page.md", words) for words, name in test_claims.marks(text)])
    monkeypatch.setattr(retype, "DOCS", tmp_path)
    assert retype.main() == 1
    assert page.read_text(encoding="utf-8") == text.replace("ahead by\n3", "ahead by\n4")
    assert source.read_text(encoding="utf-8") == CHECKS.replace("ahead by 3", "ahead by 4")
    told = capsys.readouterr().out.splitlines()
    assert told == [
        "write anew page.md: [behind by 3 %]{claim=loses}: 3 would have to be below 0: -4",
        "retyped page.md: [ahead by 4 %]{claim=leads}",
    ]
