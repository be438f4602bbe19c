"""A page quotes only what was executed, shows where its numbers were measured, and marks what it concludes."""

import re

import pytest
from bs4 import BeautifulSoup
from markdown import Markdown

from scripts import facts, records
from scripts.site.fences.fact_marks import Marks
from scripts.site.fences.page import FenceError, PageContext
from tests.site.fences.conftest import MERGE_EXECUTED, NEVER_RAN, record_of

LINK, OTHER = "[run](../snippets/first.ipynb)", "[other](../snippets/second.ipynb)"
RUN = "``` run\nfirst:show\n```"
NOT_EXECUTED = "is quoted, and no record that this page shows or links has executed it"
CHANGED = ["this code has changed since the run shown here"]
NEVER_EXECUTED = ["no run has executed this code yet"]
VALUE = "`#!value first.times.time n=1 .2f`"
STATE = "kernels.state:State"
PART_OF_STATE = f'{STATE} from="def" to="return"'


def source(name):
    return f"``` source\n{name}\n```\n"


def marks(page):
    return [mark.get_text() for mark in page.select(".hb-source .hb-stale")]


# Quotations


@pytest.mark.parametrize("shown", [LINK, RUN])
@pytest.mark.parametrize("quoted", [f"{STATE}.merge", STATE, "kernels.state", PART_OF_STATE])
def test_a_page_quotes_what_a_record_that_it_shows_or_links_has_executed(renderer, shown, quoted):
    assert marks(renderer.render_checked(f"{shown}\n\n{source(quoted)}")) == []


@pytest.mark.parametrize(
    "quoted, text",
    [
        ("kernels.state:LIMIT", LINK),
        (STATE, "no link"),
        (STATE, "first"),
        (STATE, "<!-- ../snippets/first.ipynb -->"),
        (STATE, f"<!-- {LINK} -->"),
    ],
)
def test_a_page_quotes_nothing_else(renderer, quoted, text):
    assert renderer.refusal(f"{text} {quoted}\n\n\n{source(quoted)}") == f"line 4: {quoted} {NOT_EXECUTED}"


def test_a_name_that_only_begins_alike_was_not_executed(renderer):
    renderer.record = record_of(executed=[f"{STATE}.merged"])
    assert NOT_EXECUTED in renderer.refusal(f"{LINK}\n\n{source(f'{STATE}.merge')}")


@pytest.mark.parametrize(
    "first, second, quoted, expected",
    [
        ({"changed": ("kernels.state",)}, NEVER_RAN, STATE, CHANGED),
        ({"changed": ("kernels.state",)}, NEVER_RAN, PART_OF_STATE, CHANGED),
        ({"changed": ("kernels.state",)}, {}, STATE, []),  # the second is of today's code
        ({"changed": ("kernels.state",)}, {"changed": ("kernels.state",)}, STATE, CHANGED),
        ({"changed": ("kernels.other",)}, {"changed": ("kernels.state",)}, STATE, []),
        ({"changed": ("kernels.state",)}, {}, "kernels.state:LIMIT", NEVER_EXECUTED),  # it may be new
        ({}, NEVER_RAN, "kernels.state:LIMIT", NEVER_EXECUTED),
        (NEVER_RAN, NEVER_RAN, STATE, NEVER_EXECUTED),
        ({"changed": ("kernels.other",)}, {}, "kernels.state:LIMIT", None),
    ],
)
def test_code_that_changed_since_all_its_runs_or_has_none_yet_is_marked(renderer, first, second, quoted, expected):
    answers = [each if each is NEVER_RAN else record_of(executed=MERGE_EXECUTED, **each) for each in (first, second)]
    renderer.reader.answers = dict(zip(("first", "second"), answers, strict=True))
    text = f"{LINK}, {OTHER}\n\n{source(quoted)}\n{source(quoted)}"
    if expected is None:
        assert NOT_EXECUTED in renderer.refusal(text)
    else:
        assert marks(renderer.render_checked(text)) == expected * 2


@pytest.mark.parametrize(
    "link, words", [("nothing", "line 1: there is no snippet nothing"), ("second", "line 1: it can't be read")]
)
def test_a_record_that_cannot_be_read_stops_the_build_where_it_is_linked(renderer, link, words):
    renderer.reader.answers["second"] = records.RecordError("it can't be read")
    assert renderer.refusal(f"[run](../snippets/{link}.ipynb)\n\n{source(STATE)}").startswith(words)


# Numbers


def test_a_number_has_its_record_shown_or_linked_on_the_page(renderer):
    message = renderer.refusal(f"first.times.time\n\nIt took {VALUE} ms.\n")
    assert message.startswith("line 3: a number of first is quoted, and this page neither shows nor links")
    for shown in (RUN, LINK, '``` figure {caption="c"}\nbars\n```'):
        assert renderer.render_checked(f"It took {VALUE} ms.\n\n{shown}\n").find(class_="hb-value")
    assert renderer.render_checked('`#!value hardware.H100."hbm bandwidth" T .2f`').find(class_="hb-value")


@pytest.mark.parametrize(
    "text, words",
    [
        ("Two by two.\n\n2 · 2 = 5\n", "line 12: 2 · 2 is 4, not 5"),
        ("It takes\n3.2 ms.\n", "line 10: 3.2 ms is typed: a measured number is a value, a fact,"),
        ("2 · 2 = 4, and `2 · 2 = 5`\n", ""),
    ],
)
def test_a_wrong_equation_and_a_typed_measurement_stop_the_build(text, words):
    unchecked, page = PageContext(text=text, is_unchecked=True), PageContext(text=text, first_line=10)
    unchecked.check_numbers()
    page.check_numbers()
    assert unchecked.errors == [] and [str(error)[: len(words)] for error in page.errors] == [words] * bool(words)


@pytest.mark.parametrize(
    "text, why",
    [
        ("[Chapter 9](../hopper/index.md#the-way-back), [chapter 7](index.md).", None),
        ("[*Empty*](index.md#empty) (chapter 7), [a snippet of chapter 5](../../snippets/coalescing.ipynb)", None),
        ("One.\n\n[the kernel of chapter 8](../hopper/index.md)", "line 3: chapter 8 links hopper, which is chapter 9"),
        ("[*Empty*](index.md#empty) (chapter 8)", "line 1: chapter 8 links online-softmax, which is chapter 7"),
    ],
)
def test_a_link_to_a_chapter_has_its_number(text, why):
    page = PageContext(text=text, source="chapters/online-softmax/notes.md")
    numbers = {"online-softmax": 7, "hopper": 9}
    page.check_chapter_numbers(numbers)
    assert [*map(str, page.errors)] == ([why] if why else [])


# Facts


@pytest.fixture
def fact(renderer, monkeypatch):
    """A chapter with a fact that counts the rows of a table."""
    fact = facts.Fact("rows", "first.times", lambda rows: f"all {len(rows)} rows")
    chapters = {"one": {"rows": fact}}
    monkeypatch.setattr(facts, "facts_of_chapter", lambda chapter: chapters.get(chapter, {}))
    return fact


@pytest.mark.parametrize("mark", ["[all 2 rows]{fact=rows}", "[all\n2 rows]{fact=one.rows}"])
def test_a_fact_that_says_what_its_record_says_tells_on_hover_what_it_rests_on(renderer, fact, mark):
    words = renderer.render_checked(f"In {mark}.").find(class_="hb-fact")
    assert " ".join(words.get_text().split()) == "all 2 rows"
    assert words["title"] == "first, measured on NVIDIA H100, 1 November 2026"


def test_a_caption_says_what_its_facts_say(renderer, fact):
    page = renderer.render(
        '``` figure {caption="In [all 2 rows]{fact=rows}." note="Of [all 2 rows]{fact=rows}."}\nbars\n```'
    )
    assert page.figcaption.get_text() == "In all 2 rows." and page.find(class_="hb-note").get_text() == "Of all 2 rows."
    for option in ("caption", "note"):
        text = f'``` figure {{caption="Bars." {option}="In [all 3 rows]{{fact=rows}}."}}\nbars\n```'
        assert "{fact=rows} says 'all 3 rows'" in renderer.refusal(text)


@pytest.mark.parametrize(
    "mark, words",
    [
        ("[all 3 rows]{fact=rows}", "{fact=rows} says 'all 3 rows', and the records give 'all 2 rows': "),
        ("[all 2 rows]{fact=nothing}", "there is no fact nothing in scripts/chapters/one/facts.py; there are: rows"),
        ("[all 2 rows]{fact=two.rows}", "there is no fact two.rows in scripts/chapters/two/facts.py"),
    ],
)
def test_other_words_and_other_names_stop_the_build_and_their_line_is_named(renderer, fact, mark, words):
    assert renderer.refusal(f"# One\n\nIn\n{mark}.\n").startswith(f"line 4: {words}")


@pytest.mark.parametrize(
    "fault, words",
    [(NEVER_RAN, "it has never run"), (records.Stale("a changed"), "a changed"), ({}, "0 tables named times")],
)
def test_a_fact_without_its_record_stops_the_build(renderer, fact, fault, words):
    renderer.record = fault or record_of()
    assert words in renderer.refusal("In [all 2 rows]{fact=rows}.")


def test_words_of_a_fact_go_on_in_markdown(renderer, monkeypatch):
    monkeypatch.setattr(renderer.fences, "fact", lambda name, words: name)
    converter = Markdown(extensions=[Marks(renderer.fences.fact)])
    text = "**[in *all* of [them](b.md)]{fact=every_one}**, `[z]{fact=a}` \\[x\\], [two\nthree [1, 2]]{fact=ab}"
    page = BeautifulSoup(converter.convert(text), "html.parser")
    fact = page.strong.find(class_="hb-fact")
    assert fact["data-fact"] == "every_one" and fact.em.get_text() == "all" and fact.a["href"] == "b.md"
    assert [each.get_text() for each in page.find_all(class_="hb-fact")] == ["in all of them", "two\nthree [1, 2]"]
    assert page.find("code").get_text() == "[z]{fact=a}" and "[x]" in page.get_text()


@pytest.mark.parametrize("text", ["[words]{fact=not a name}", "words]{fact=ab}", "[words\n\nmore]{fact=ab}"])
def test_words_that_are_marked_wrongly_stop_the_build_and_code_may_show_how_to(renderer, text):
    renderer.render_checked("Write `[words]{fact=name}`.")
    assert ": a fact is marked `[words]{fact=name}`" in renderer.refusal(f"# One\n\n{text}\n")


def test_a_quotation_mark_behind_a_fact_stops_the_build(renderer, fact):
    renderer.render_checked('He said "one, [all 2 rows]{fact=rows}."')
    message = renderer.refusal('First.\nHe said "one, [all 2 rows]{fact=rows}"')
    assert message.startswith("line 2: a closing quotation mark behind a mark")


# HTML, and lines


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
        '<span data-fact="x">twice</span>',
        "<samp>3.2 ms</samp>",
        "<script>1</script>",
        "`a ` <pre>x</pre> ` b`",
        "`a\n<pre>x</pre>\n`",
    ],
)
def test_html_that_could_be_taken_for_a_quotation_is_refused(forged):
    page = PageContext(text=f"One.\n\n{forged}\n")
    page.refuse_typed_html()
    assert re.search(r"^line [34]: .* is typed on the page", str(page.errors[0]))


@pytest.mark.parametrize("text", ["`<pre>` and ``a `<code>` b``", '<div class="hb-sheet" markdown>', "a < b, <br>"])
def test_other_html_is_none_of_that(text):
    page = PageContext(text=text)
    page.refuse_typed_html()
    assert page.errors == []


@pytest.mark.parametrize(
    "text, line",
    [
        ("source kernels.state:Nothing\n\n``` source\nkernels.state:Nothing\n```\n", 3),
        ("<!--\n``` source\nkernels.state:Nothing\n```\n-->\n\n``` source\nkernels.state:Nothing\n```\n", 7),
        ('``` figure {caption="Two."}\nbars\n```\n\n``` figure\nbars\n```\n', 5),
        ("first.times.time n=3\n\n``` `#!value first.times.time n=3 .1f` ```\n\n`#!value first.times.time n=3 .1f`", 5),
        ("<!-- `#!value first.times.time n=3 .1f` -->\n\n`#!value first.times.time n=3 .1f`", 3),
        ("`[words]{fact=first}`\n\nwords {fact=second}\n", 3),
    ],
)
def test_an_error_names_the_line_of_its_fence_and_not_of_the_same_words_before(renderer, text, line):
    assert renderer.refusal(text).startswith(f"line {line}: ")


def test_all_errors_of_a_page_are_named_at_once_by_their_lines(renderer, fact):
    text = "[all 3 rows]{fact=rows}\n\n[x]{fact=none}\n\n2 · 2 = 5\n\n`#!value first.times.time n=3 .1f`\n\n"
    text += "``` run\nfirst:none\n```\n\n2 · 2 = 5\n\n[all 4 rows]{fact=rows}\n"
    html = renderer.html(text)
    renderer.page.check_numbers()
    with pytest.raises(FenceError) as caught:
        renderer.page.check(html, renderer.fences.reader)
    messages = str(caught.value).splitlines()
    assert [line.partition(":")[0] for line in messages] == [f"line {line}" for line in (1, 3, 5, 7, 9, 13, 15)]
