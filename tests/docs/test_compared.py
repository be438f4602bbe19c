"""A comparison of what was measured stands in a claim, so that it is computed, or is said to be argued.

What is looked at: each sentence that quotes a number or makes a claim, and in every sentence the words for speed. What
is argued on the page, defined or asked, is marked ``<!-- argued -->`` in its sentence. Headings are let be, and
quotations, but not what is said at the board: a sheet's tables, and its steps' quotations. A caption can hold no
claim, so its words for speed stand in a claim of its page, and their contraries in none.
"""

import re

import pytest

from tests.docs.pages import CLAIM, DOCS, FENCE, VALUE, blocks, options, read
from tests.docs.turning import OTHERS

ARGUED = "<!-- argued -->"
SPEED = "faster|slower|fastest|slowest|cheaper|dearer"
ORDER = (
    "more|less|fewer|(?<!at )(?:most|least)|longer|shorter|larger|smaller|higher|lower|better|worse|best|worst"
    "|rises?|falls?|doubles?|halves?|always|never|every|none"
)
PART = (
    r"twice|half|(?:an?|two|three|four) (?:third|quarter|fifth|sixth|seventh|eighth|ninth|tenth)s?(?= of| \w+er|\W*$)"
)
OF_SPEED = re.compile(rf"(?<![\w-])(?:{SPEED})(?![\w-])", re.IGNORECASE)
OF_ORDER = re.compile(rf"(?<![\w-])(?:{SPEED}|{ORDER}|{PART})(?![\w-])", re.IGNORECASE)
CLAIMED = re.compile(rf"{CLAIM}([^{CLAIM}]*?([.?!:;]?)){CLAIM}")
QUOTED = re.compile(r'"[^"]*"|“[^”]*”')
SENTENCE = re.compile(r"(?<=[.?!:;])[”)]*\s+")
PAGES = sorted(
    {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} - {"references.md", "contributing.md"}
)


def markdown(page):
    return (DOCS / page).read_text(encoding="utf-8")


def body(text):
    """The blocks of a page without its captions."""
    return read(FENCE.sub(lambda fence: "\n" * fence[0].count("\n"), text))


def captions(text):
    return [plain for fence in FENCE.finditer(text) if (plain := options(fence[0]))]


def sentences(text):
    """The sentences of a block, a sign for each claim in them."""
    text = CLAIMED.sub(rf"{CLAIM}\2", text).replace(ARGUED, "\N{THEREFORE}")
    text = text if text.startswith(("|", ">")) else QUOTED.sub(" ", text)
    return SENTENCE.split(re.sub("<!--.*?-->", "", text))


def compared(found):
    """(line, words, sentence) of each sentence that compares, outside of what it claims."""
    for block in found:
        for sentence in [] if block.text.startswith("#") else sentences(block.text):
            words = (OF_ORDER if {VALUE, CLAIM} & set(sentence) else OF_SPEED).findall(sentence)
            if words:
                yield block.line, ", ".join(words), sentence.strip()


def vouched(word, claims):
    return word in claims and not {other.lower() for other in OTHERS[word]} & claims


def bare(text):
    """What compares on a page, and is neither claimed nor argued."""
    found = body(text)
    yield from (f"line {line}: {words}: {said}" for line, words, said in compared(found) if "\N{THEREFORE}" not in said)
    claims = {
        word.lower() for block in found for said, _ in CLAIMED.findall(block.text) for word in OF_SPEED.findall(said)
    }
    for caption in captions(text):
        yield from (
            f"caption: {word}: {caption}" for word in OF_SPEED.findall(caption) if not vouched(word.lower(), claims)
        )


@pytest.mark.parametrize("page", PAGES)
def test_a_comparison_is_claimed_or_argued(page):
    assert list(bare(markdown(page))) == []


@pytest.mark.parametrize("page", PAGES)
def test_what_is_marked_as_argued_compares(page):
    said = [sentence for _, _, sentence in compared(blocks(page))]
    assert sum(block.text.count(ARGUED) for block in blocks(page)) == sum("\N{THEREFORE}" in each for each in said)


@pytest.mark.parametrize(
    "text, is_bare",
    [
        ("The kernel is slower.", True),
        ("[The kernel is slower]{claim=one}.", False),
        ("The kernel is slower<!-- argued -->.", False),
        ("The kernel is slower. It must be<!-- argued -->.", True),
        ("[It takes a third of the time]{claim=one}, and is never late.", True),
        ("It has more words.", False),
        ("[It holds.]{claim=one} It has more words.", False),
        ("[It holds]{claim=one}. It has more words.", False),
        ("What is slower?", True),
        ('| 3 | "It is slower." |', True),
        ('You hear "it is slower".', False),
        ('``` figure {caption="It is slower."}\nfigure\n```\n', True),
        ('[It is slower]{claim=one}\n\n``` figure {caption="It is slower."}\nfigure\n```\n', False),
        ('[It is slower]{claim=one}\n\n``` figure {caption="It is faster."}\nfigure\n```\n', True),
    ],
)
def test_what_is_bare(text, is_bare):
    assert bool(list(bare(text))) == is_bare
