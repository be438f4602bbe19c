"""TeX to HTML while the site is built: KaTeX from node_modules, in QuickJS."""

from __future__ import annotations

import hashlib
import json
import re
from functools import cached_property
from html import unescape

import quickjs
from mkdocs.exceptions import PluginError

from scripts.site.assets import KATEX
from scripts.site.cache import Cache

FORMULA = re.compile(
    r'(?P<before>[(“]*)<(?P<tag>span|div) class="arithmatex">\\(?P<kind>[(\[])(?P<tex>.*?)\\[)\]]</(?P=tag)>'
    r"(?P<after>[,.:;!?)”’…]*)",  # noqa: RUF001
    re.DOTALL,
)


class Formulas:
    """Typesets formulas; the cache keeps each, so no formula is set twice."""

    def __init__(self):
        self.cache = Cache("formulas")
        self.katex = (KATEX / "katex.min.js").read_text(encoding="utf-8")
        self.version = hashlib.sha256(self.katex.encode()).hexdigest()

    def render(self, page: str, html: str, styles: str) -> str:
        """``html`` with each formula set, and a link to KaTeX's ``styles`` if it has any.

        Raises:
            PluginError: for TeX that KaTeX refuses, naming the page and the formula.
        """

        def formula(match: re.Match) -> str:
            tex, display = unescape(match["tex"]), match["kind"] == "["
            key = (tex, display, self.version)
            rendered = self.cache.get(*key) or self.cache.put(self.typeset(page, tex, display), *key)
            return keep_together(match["before"], rendered, match["after"])

        html, formulas = FORMULA.subn(formula, html)
        return html.replace("</head>", f'<link rel="stylesheet" href="{styles}"></head>', 1) if formulas else html

    def typeset(self, page: str, tex: str, display: bool) -> str:
        options = {"displayMode": display, "throwOnError": True, "strict": "error"}
        call = f"katex.renderToString({json.dumps(tex)}, {json.dumps(options)})"
        try:  # QuickJS joins strings lazily; JSON.stringify makes one piece of them, which Python can take over
            return json.loads(self.engine.eval(f"JSON.stringify({call})"))
        except Exception as error:
            why = str(error).partition("\n")[0]  # the rest is where in KaTeX
            raise PluginError(f"{page}: the formula {tex}: {why}") from error

    @cached_property
    def engine(self) -> quickjs.Context:
        context = quickjs.Context()
        context.eval(self.katex)
        return context


def keep_together(before: str, formula: str, after: str) -> str:
    """Returns a formula with the signs that touch it in one box: a browser could begin a line with the comma behind it.

    A long formula, which may break at an operator, gets no box.
    """
    if (before or after) and formula.count('class="katex-base"') == 1:
        return f'<span class="hb-held">{before}{formula}{after}</span>'
    return before + formula + after
