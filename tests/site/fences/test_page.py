"""A page quotes only what was executed, shows where each number was measured, and marks each claim as one."""

import re

import pytest

from scripts.records import Missing, Stale
from scripts.site.fences.page import FenceError
from tests.site.fences.conftest import record_of

LINK = "[run](../snippets/first.ipynb)"
QUOTED = "is quoted, and no record that this page shows or links has executed it"


def source(name):
    return f"``` source\n{name}\n```\n"


PART = 'kernels.state:State from="def" to="return"'


@pytest.mark.parametrize("quoted", ["kernels.state:State.merge", "kernels.state:State", "kernels.state", PART])
def test_a_page_quotes_what_a_record_that_it_links_has_executed(house, quoted):
    house.checked(f"{LINK}\n\n{source(quoted)}")


@pytest.mark.parametrize(
    "quoted, text",
    [("kernels.state:LIMIT", LINK), ("kernels.state:State.merge", "no link"), ("kernels.state:State.merge", "first")],
)
def test_a_page_quotes_nothing_else(house, quoted, text):
    with pytest.raises(FenceError, match=re.escape(f"line 4: {quoted} {QUOTED}")):
        house.checked(f"{text} {quoted}\n\n\n{source(quoted)}")


def test_a_name_that_only_begins_alike_was_not_executed(house):
    house.shelf.record = record_of(executed=["kernels.state:State.merged"])
    with pytest.raises(FenceError, match=QUOTED):
        house.checked(f"{LINK}\n\n{source('kernels.state:State.merge')}")


def test_a_run_on_the_page_vouches_too(house):
    house.checked(f"``` run\nfirst:show\n```\n\n{source('kernels.state:State')}")


def test_a_snippet_that_awaits_its_run_vouches_for_anything(house):
    house.shelf.record, house.shelf.fault = None, Missing("not yet")
    house.checked(f"{LINK}\n\n{source('kernels.state:LIMIT')}")


def test_a_stale_record_does_not_switch_the_check_off(house):
    house.preview()
    house.shelf.fault = Stale("changed")
    house.checked(f"{LINK}\n\n{source('kernels.state:State')}")
    for record in (house.shelf.record, None):
        house.shelf.record = record
        with pytest.raises(FenceError, match=QUOTED):
            house.checked(f"{LINK}\n\n{source('kernels.state:LIMIT')}")


def test_another_error_does_not_switch_the_check_off(house):
    with pytest.raises(FenceError, match=r"^line 1: there is no snippet nothing"):
        house.checked(f"[run](../snippets/nothing.ipynb)\n\n{source('kernels.state:State')}")


@pytest.mark.parametrize("shown", ["``` run\nfirst:show\n```", '``` figure {caption="c"}\nbars\n```'])
def test_a_number_has_its_record_shown_on_the_page(house, shown):
    value = "`#!value first.times.time n=1 .2f`"
    with pytest.raises(FenceError, match="line 3: a number of first is quoted, and no run or figure here says"):
        house.checked(f"first.times.time\n\nIt took {value} ms.\n")
    house.checked(f"It took {value} ms.\n\n{shown}\n")


def test_a_constant_of_the_hardware_needs_no_record(house):
    house.checked('`#!value hardware.H100."hbm bandwidth" T .2f`')


def test_words_that_claim_something_are_marked_and_go_on_in_markdown(house):
    page = house.render(
        "**[in `#!value first.times.n n=2 d` *settings* of [all](b.md)]{claim=every_one}**, "
        "$a[1]$ `[z]{claim=a}` \\[x\\]"
    )
    claim = page.strong.find(class_="hb-claim")
    assert claim["data-claim"] == "every_one" and claim.get_text() == "in 2 settings of all"
    assert claim.em.get_text() == "settings" and claim.a["href"] == "b.md"
    assert claim.find(class_="hb-value") and len(page.find_all(class_="hb-claim")) == 1
    assert page.find("code").get_text() == "[z]{claim=a}" and page.get_text().endswith("[x]")


def test_a_claim_goes_over_a_line_and_may_hold_brackets(house):
    claims = house.render("one [two\nthree [1, 2]]{claim=ab} and [four]{claim=cd}").find_all(class_="hb-claim")
    assert [claim.get_text() for claim in claims] == ["two\nthree [1, 2]", "four"]


def test_how_to_mark_a_claim_may_be_told(house):
    house.checked("Write `[words]{claim=name}`.")


@pytest.mark.parametrize("text", ["[words]{claim=not a name}", "words]{claim=ab}", "[words\n\nmore]{claim=ab}"])
def test_a_claim_that_is_marked_wrongly_stops_the_build(house, text):
    with pytest.raises(FenceError, match=r"line \d: a claim is marked `\[words\]\{claim=name\}`"):
        house.checked(f"# One\n\n{text}\n")


def test_a_quotation_mark_behind_a_claim_stops_the_build(house):
    house.checked('He said "one, [two."]{claim=ab}')
    with pytest.raises(FenceError, match="line 2: a closing quotation mark behind a claim"):
        house.checked('First.\nHe said "one, [two.]{claim=ab}"')


@pytest.mark.parametrize("hidden", ["<!-- ../snippets/first.ipynb -->", "<!-- [run](../snippets/first.ipynb) -->"])
def test_a_comment_vouches_for_nothing(house, hidden):
    with pytest.raises(FenceError, match=QUOTED):
        house.checked(f"{hidden}\n\n{source('kernels.state:State')}")
    house.shelf.record, house.shelf.fault = None, Missing("not yet")
    with pytest.raises(FenceError, match=QUOTED):
        house.checked(f"{hidden}\n\n{source('kernels.state:LIMIT')}")


@pytest.mark.parametrize(
    "forged",
    [
        "<pre>x = 1</pre>",
        "<PRE\n>x</PRE>",
        'Say <code style="white-space:pre">x</code>.',
        '<div style="white-space: pre">x</div>',
        '<div class="hb-output">x</div>',
        "Words.\n{ .hb-run }",
        '<p data-quote="three_matmuls:shapes">x</p>',
        "Words.\n{ data-record=x }",
        "<samp>3.2 ms</samp>",
        "<script>1</script>",
        "`a ` <pre>x</pre> ` b`",
        "`a\n<pre>x</pre>\n`",
    ],
)
def test_html_that_could_be_taken_for_a_quotation_is_refused(house, forged):
    house.page.text = f"One.\n\n{forged}\n"
    with pytest.raises(FenceError, match=r"^line [34]: .* is typed on the page"):
        house.page.refuse_forged()


@pytest.mark.parametrize("text", ["`<pre>` and ``a `<code>` b``", '<div class="hb-sheet" markdown>', "a < b, <br>"])
def test_other_html_is_none_of_that(house, text):
    house.page.text = text
    house.page.refuse_forged()


@pytest.mark.parametrize(
    "text, line",
    [
        ("source kernels.state:Nothing\n\n``` source\nkernels.state:Nothing\n```\n", 3),
        ("<!--\n``` source\nkernels.state:Nothing\n```\n-->\n\n``` source\nkernels.state:Nothing\n```\n", 7),
        ('``` figure {caption="Two."}\nbars\n```\n\n``` figure\nbars\n```\n', 5),
        ("first.times.time n=3\n\n``` `#!value first.times.time n=3 .1f` ```\n\n`#!value first.times.time n=3 .1f`", 5),
        ("<!-- `#!value first.times.time n=3 .1f` -->\n\n`#!value first.times.time n=3 .1f`", 3),
    ],
)
def test_an_error_names_the_line_of_its_fence_and_not_of_the_same_words_before(house, text, line):
    assert house.refused(text).startswith(f"line {line}: ")


def test_a_claim_that_is_not_marked_as_one_is_named_by_its_line(house):
    with pytest.raises(FenceError, match=r"^line 3: "):
        house.checked("[words]{claim=first}\n\nwords {claim=second}\n")
