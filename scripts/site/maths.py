"""TeX to HTML while the site is built: KaTeX from node_modules, in QuickJS."""

from __future__ import annotations

import json
import re
from functools import cache
from html import unescape

import quickjs
from mkdocs.exceptions import PluginError

from scripts.records import ROOT

KATEX = ROOT / "node_modules" / "katex" / "dist"
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


@cache
def engine() -> quickjs.Context:
    context = quickjs.Context()
    context.eval((KATEX / "katex.min.js").read_text())
    return context


def render(page: str, html: str) -> str:
    """``html`` with each formula set.

    Raises:
        PluginError: for TeX that KaTeX refuses, naming the page and the formula.
    """

    def formula(match: re.Match) -> str:
        tex = unescape(match[3])
        options = {"displayMode": match[2] == "[", "throwOnError": True, "strict": "error"}
        call = f"katex.renderToString({json.dumps(tex)}, {json.dumps(options)})"
        try:  # a rope string must be flattened on that side before it crosses
            return json.loads(engine().eval(f"JSON.stringify({call})"))
        except Exception as error:
            raise PluginError(f"{page}: the formula {tex!r}: {error}") from error

    return FORMULA.sub(formula, html)
