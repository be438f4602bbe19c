"""A number that is quoted stands beside the name of its row and has the unit of its column: it cannot be another's.

The value of each selector is named in the sentence of the number: a number as such, all else as ``NAMES`` says. Where a
sentence quotes several rows, their names come in the order of the numbers; where it quotes one, it is enough that of
all rows this was the last to be named in its section. What a reader knows without being told is said in a mark,
``<!-- for d = 64, 128 at N = 512 -->``.
"""

import re
from itertools import groupby

import pytest

from kernels.bench import hardware
from scripts import records
from scripts.site.fences.values import parse
from tests.docs.pages import DOCS, FENCE

NAMES = {
    "attention": "three lines",
    "flash_attention": "FlashAttention|flash_attention|[Pp]ortable kernel|[Oo]ur kernel|fused",
    "hopper_attention": "kernel of this chapter|[Oo]urs?\\b|same kernel",
    "flash_attention_4": "FlashAttention-4",
    "three_kernel_attention": "three kernels",
    "key_blocks_attention": "[Bb]locks|[Tt]his kernel",
    "one_key_attention": "[Oo]ne key|[Oo]ur kernel|[Tt]he kernel",
    "sdpa_cudnn": "cuDNN|fastest fused",
    "sdpa_flash": "flash backend",
    "ours": "[Oo]urs?\\b|Hopper kernel|with one kernel",
    "at_once": "at once|other form",
    "True": "[Cc]ausal|ran out",
    "False": "in full|without a mask|full",
    "training": "backward|training",
    "yes": "with backward",
    "no": "forward",
    "messages, 4 thread blocks": "messages(?:,| of) 4 thread blocks",
    "persistent": "[Pp]ersisten",
    "paired": "[Pp]airs",
    "consumers=3 registers=160": "[Tt]hree consumers",
    "consumers=2 registers=240": "[Tt]wo consumers",
    "torch_sum": "sum",
    "device": "GPU",
    "outliers": "loud",
    "regrouped": "grouped differently",
    "first_to_last": "one after the other",
    "MXFP4": "MX",
    "nvjet_sm90_hsh_256x128_64x4_1x2_h_bz_coopA_TNT": "QKᵀ|first matmul",
    "nvjet_sm90_hsh_64x128_64x8_2x1_v_bz_NNN": "PV",
    "vectorized_elementwise_kernel": "scale",
    "cunn_SoftMaxForwardReg": "softmax",
}
BLANK = "\N{WHITE SQUARE}"  # stands for a quoted number
UNSAID = {"direction=forward", "passes=forward", "causal=False", "kind=all", "batch=16"}  # what goes without saying
SENTENCE = re.compile(r"(?<=[.?!])[)*\"]*(?:\]\{claim=\w+\})?\s+(?!`#!value)|(?=<!-- for )")
VALUE = re.compile(r"`#!value[ \0]([^`]+)`")
UNIT = re.compile(
    r"(?:(?:,|,? and| to| against| of)\s+`#!value [^`]+`)*(?:[\s*]|<!--.*?-->)*"
    r"((?:[kKMGTP]i?)?B(?:/s| a second)?|[mµnp]?s|[GT]?FLOP/s|[MG]Hz|%)(?!\w)"
)
PAGES = sorted({path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} - {"contributing.md"})


def awaits_its_run(question):
    """Whether what is asked for has no record: the page says so in place of the number."""
    return bool(question.snippet) and isinstance(records.look(question.snippet)[1], records.Missing)


def named(key, value):
    """How a page names the value of a selector."""
    if value.isdigit():
        return re.compile(rf"(?<![\d.,])(?:{int(value):,}|{value})(?!\d|[.,]\d)")
    stride = re.fullmatch(r"stride_(\d+)", value)
    return re.compile(
        rf"{stride[1]}\b" if stride else NAMES.get(value, re.escape(value).replace("_", " ")), re.IGNORECASE
    )


def parts(text):
    """(what stands before it in its section, the part) of each paragraph, item and row of a page."""
    for section in re.split(r"^(?=#)", FENCE.sub("", text), flags=re.MULTILINE):
        before, head = "", ""
        for part in re.split(r"\n\s*\n|\n(?= *(?:[-*|] |\d+\. |\|))", section):
            row = part.lstrip().startswith("|")
            head = (head or part) if row else ""
            yield before, f"{head} {part}" if row else part
            before += f" {VALUE.sub(BLANK, part)}"


def nameless(text):
    """What is wrong with the rows that a page quotes."""
    for before, part in parts(text):
        for sentence in SENTENCE.split(VALUE.sub(lambda value: value[0].replace(" ", "\0"), part)):
            asked = [parse(source.replace("\0", " ")) for source in VALUE.findall(sentence)]
            asked = [question for question in asked if question.snippet and not awaits_its_run(question)]
            words = " ".join(VALUE.sub(BLANK, sentence).split())
            for key in dict.fromkeys(key for question in asked for key in question.selectors):
                values = [question.selectors[key] for question in asked if key in question.selectors]
                if {f"{key}={value}" for value in values} <= UNSAID:
                    continue
                if not in_order(key, values, words) and not last_named(asked, key, values, f"{before} {words}"):
                    yield f"{key}={', '.join(values)} is not named, or not in this order: {words}"
            before += f" {words}"


def in_order(key, values, words):
    """Whether the values of a selector are named in these words, in their order."""
    at = 0
    for value, _ in groupby(values):
        name = named(key, value).search(words, at)
        if not name:
            return False
        at = name.end()
    return True


def last_named(asked, key, values, words):
    """Whether all rows have one value of a selector, and of all that are recorded it was named last."""
    if len(set(values)) > 1:
        return False
    rows = [row for each in asked if key in each.selectors for row in records.table(*each.address.split(".")[:2])]
    said = {str(row[key]): [name.start() for name in named(key, str(row[key])).finditer(words)] for row in rows}
    last = {value: max(places) for value, places in said.items() if places}
    return bool(last) and last.get(values[0]) == max(last.values())


def asked_twice(text):
    """The questions that a sentence asks twice."""
    for _, part in parts(text):
        for sentence in SENTENCE.split(VALUE.sub(lambda value: value[0].replace(" ", "\0"), part)):
            asked = VALUE.findall(sentence)
            yield from (source.replace("\0", " ") for source in {*asked} if asked.count(source) > 1)


def unit(question):
    """The unit of the number that a question prints."""
    if question.snippet:
        snippet, name, column = question.address.split(".")
        (table,) = [table for table in records.read(snippet).tables() if table["name"] == name]
        (own,) = [each["unit"] for each in table["columns"] if each["name"] == column]
    elif question.address.startswith("hardware"):
        chip, name = question.address.removeprefix("hardware.").split(".")
        own = getattr(hardware, chip)[name.strip('"')].unit
    else:
        own = "B"
    return question.scale + own.replace("1/s", "Hz")


def misread(text):
    """The quoted numbers that have another unit on the page than where they come from."""
    text = VALUE.sub(lambda value: " ".join(value[0].split()), FENCE.sub("", text))
    for value in VALUE.finditer(text):
        behind = None if awaits_its_run(parse(value[1])) else UNIT.match(text, value.end())
        if behind and (typed := behind[1].replace(" a second", "/s")) != unit(parse(value[1])):
            yield f"{value[1]} is not in {typed}"


@pytest.mark.parametrize("page", PAGES)
def test_a_quoted_number_stands_beside_the_name_of_its_row(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    assert [*nameless(text), *asked_twice(text)] == []


@pytest.mark.parametrize("page", PAGES)
def test_a_quoted_number_has_the_unit_of_its_column(page):
    assert list(misread((DOCS / page).read_text(encoding="utf-8"))) == []
