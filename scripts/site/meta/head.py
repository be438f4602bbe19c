"""What other programs say of a page when somebody searches for it or sends it: its title, how it begins, its card."""

from __future__ import annotations

import re
from html import unescape

from markupsafe import escape
from mkdocs.structure.pages import Page

from scripts.site.meta import search
from scripts.site.meta.cards import Card

LENGTH = 200  # characters, of which more are cut off elsewhere
HEADING = re.compile(r"<h1\b[^>]*>(.*?)</h1>", re.DOTALL)
PARAGRAPH = re.compile(r"<p>(.*?)</p>", re.DOTALL)  # those with a class say where a run was made, or are captions
WAY = re.compile(r"\s*<em>Before: ")  # where a chapter stands between two others
PIECE = re.compile(r"<live-piece\b.*?</live-piece>", re.DOTALL)  # a listing in it may have paragraphs
ASIDE = re.compile(r'<a class="headerlink".*?</a>|<span class="hb-stale".*?</span>', re.DOTALL)


def describe(page: Page, card: Card) -> None:
    """Sets what front matter could: a card; a description; a heading, from which the navigation's title may differ."""
    found = HEADING.search(page.content)
    heading = to_plain_text(found[1]) if found else page.title
    page.meta["heading"] = f"Snippet: {heading}" if page.url.startswith("snippets/") else heading
    page.meta["description"] = escape(page.meta.get("description") or description(page.content))  # Material doesn't
    page.meta["card"] = {"address": card.address, "alternative": card.alternative}


def description(html: str) -> str:
    """The first sentences of the first paragraph that says something, as many as fit, at least one."""
    paragraphs = [each for each in PARAGRAPH.findall(search.words(PIECE.sub("", html))) if not WAY.match(each)]
    sentences = re.findall(
        r".+?(?:[.?!](?=\s)|$)", next((text for text in map(to_plain_text, paragraphs) if " " in text), "")
    )
    said = ""
    for sentence in sentences:
        if said and len(said) + len(sentence) > LENGTH:
            break
        said += sentence
    return cut(said.removesuffix(":"))


def cut(text: str) -> str:
    return text if len(text) <= LENGTH else text[: LENGTH - 1].rpartition(" ")[0] + "…"


def to_plain_text(html: str) -> str:
    return " ".join(unescape(re.sub("<.*?>", "", ASIDE.sub("", html))).split())
