"""Sets what the search knows of a page: how much its kind weighs, and its words without TeX and outputs."""

from __future__ import annotations

import re
from html import escape, unescape

from mkdocs.structure.pages import Page

# By its address: whoever looks for a word wants it explained first, then where else it stands.
WEIGHTS = {
    "chapters/[^/]+/$": 8,
    "chapters/": 1,
    "whiteboard/": 1,
    "api/bench/": 0.1,  # what measures a kernel names it more often than the kernel does
    "api/": 0.2,
    "snippets/": 0.2,
    "run/": 0.2,
    "measurements/": 0.2,
    "tested/": 0.2,
    "contributing/": 0.2,
}
DEFAULT_WEIGHT = 2  # the glossary, the corrections
NOT_SEARCHED = re.compile(
    r'<div class="hb-provenance">.*?</div>|<pre class="hb-output".*?</pre>|<div class="arithmatex">.*?</div>'
    r'|<p class="hb-(?:notice|stale|alternative)".*?</p>|<span class="filename">.*?</span>',
    re.DOTALL,
)
CODE = re.compile(r"<pre.*?</pre>", re.DOTALL)
COLOUR_SPAN = re.compile(r"</?span[^>]*>")  # in code nothing else is searched than its text
CELL_BORDER = re.compile(r"</(t[dh])><\1\b[^>]*>")  # without a space between them, as in a recorded table
FORMULA = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
SIGN_OF_COMMAND = {"cdot": "·", "times": "×", "sqrt": "√", "infty": "∞", "ell": "ℓ", "pi": "π", "beta": "β", "sum": "Σ"}  # noqa: RUF001
SIGN_OF_COMMAND |= {"ln": "ln", "log": "log"}


def set_boost(page: Page, terms: dict[str, list[str]]) -> None:
    """Sets what front matter could: the factor by which the search multiplies what it finds on the page, and its tags,
    the terms that the page explains, which the search sets before titles; what front matter has comes first.

    terms: by the address of a page
    """
    kinds = [weight for kind, weight in WEIGHTS.items() if re.match(kind, page.url)]
    page.meta["search"] = {"boost": kinds[0] if kinds else DEFAULT_WEIGHT} | page.meta.get("search", {})
    if tags := [*page.meta.get("tags", []), *terms.get(page.url, [])]:
        page.meta["tags"] = tags


def index_entries(raw_entries: list[dict], page: Page) -> list[dict]:
    """What the search index has of a page, as the search should have it: a function is called by its name, and its
    arguments are no title; the page's terms belong to the page, not to each of its sections; a chapter's list of
    references explains no word, and has a page of its own."""
    raw_entries = [entry for entry in raw_entries if entry["location"] != f"{page.url}#references"]
    for entry in raw_entries:
        if page.url.startswith("api/"):
            name, opening, arguments = re.sub("<.*?>", "", entry["title"]).partition("(")
            entry |= {"title": name, "text": f"<p>{opening}{arguments}</p>{entry['text']}"} if opening else {}
        if entry["location"] != page.url:
            entry.pop("tags", None)
    return raw_entries


def searchable_html(html: str) -> str:
    """What of a page's content is searched, and shown among the results: no outputs, no names of files; of
    formulas those that can be read in a line of text. Elements that leave nothing in the index go, too: each that is
    parsed takes time, and code and tables have a hundred thousand of them."""
    html = CODE.sub(lambda code: COLOUR_SPAN.sub("", code[0]), NOT_SEARCHED.sub("", html))
    return FORMULA.sub(lambda formula: tex_to_text(formula[1]), CELL_BORDER.sub("", html))


def tex_to_text(tex: str) -> str:
    text = unescape(tex).replace("{,}", ",").replace("\\,", " ")
    text = re.sub(r"\\(\w+)", lambda sign: SIGN_OF_COMMAND.get(sign[1], sign[0]), text)
    return "…" if re.search(r"[\\{}^_]", text) else escape(text, quote=False)
