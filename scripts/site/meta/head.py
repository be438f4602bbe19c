"""Sets what other programs say of a page that is searched for or sent: its title, how it begins, its card."""

from __future__ import annotations

import re
from html import unescape

from markupsafe import escape
from mkdocs.structure.pages import Page

from scripts.site.meta import search
from scripts.site.meta.cards import Card

MAX_LENGTH = 200  # characters, of which more are cut off elsewhere
HEADING = re.compile(r"<h1\b[^>]*>(.*?)</h1>", re.DOTALL)
PARAGRAPH = re.compile(r"<p>(.*?)</p>", re.DOTALL)  # those with a class say where a run was made, or are captions
NEIGHBOUR_CHAPTERS = re.compile(r"\s*<em>Before: ")  # where a chapter stands between two others
# What a piece says, and what a reader has to open.
PIECE_OR_FOLD = re.compile(r"<(live-piece|details)\b.*?</\1>", re.DOTALL)
LINK_OR_MARK = re.compile(r'<a class="headerlink".*?</a>|<span class="hb-stale".*?</span>', re.DOTALL)


def describe(page: Page, card: Card) -> None:
    """Sets what front matter could: a card; a description; a heading, from which the navigation's title may differ."""
    match = HEADING.search(page.content)
    heading = to_plain_text(match[1]) if match else page.title
    page.meta["heading"] = f"Snippet: {heading}" if page.url.startswith("snippets/") else heading
    description_text = page.meta.get("description") or description(page.content, page.meta.get("question", ""))
    page.meta["description"] = escape(description_text)  # Material doesn't
    page.meta["card"] = {"address": card.address, "alternative": card.alternative}


def description(html: str, question: str = "") -> str:
    """The question and the first sentences of the first paragraph that says something, as many as fit, at least one."""
    paragraphs = [
        each
        for each in PARAGRAPH.findall(search.searchable_html(PIECE_OR_FOLD.sub("", html)))
        if not NEIGHBOUR_CHAPTERS.match(each)
    ]
    sentences = re.findall(
        r".+?(?:[.?!](?=\s)|$)",
        next((paragraph for paragraph in map(to_plain_text, paragraphs) if " " in paragraph), ""),
    )
    text = f"{question} " if question else ""
    for sentence in sentences:
        if text and len(text) + len(sentence) > MAX_LENGTH:
            break
        text += sentence
    return shorten(text.strip().removesuffix(":"))


def shorten(text: str) -> str:
    return text if len(text) <= MAX_LENGTH else text[: MAX_LENGTH - 1].rpartition(" ")[0] + "…"


def to_plain_text(html: str) -> str:
    return " ".join(unescape(re.sub("<.*?>", "", LINK_OR_MARK.sub("", html))).split())
