"""TeX to HTML while the site is built: KaTeX from node_modules, in QuickJS."""

from __future__ import annotations

import json
import re
from functools import cache
from html import unescape

import quickjs
from mkdocs.exceptions import PluginError

from scripts.site.assets import KATEX

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


@cache
def engine() -> quickjs.Context:
    context = quickjs.Context()
    context.eval((KATEX / "katex.min.js").read_text(encoding="utf-8"))
    return context


def render(page: str, html: str, styles: str) -> str:
    """``html`` with each formula set, and a link to KaTeX's ``styles`` if it has any.

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
            why = str(error).partition("\n")[0]  # the rest is where in KaTeX
            raise PluginError(f"{page}: the formula {tex}: {why}") from error

    html, formulas = FORMULA.subn(formula, html)
    return html.replace("</head>", f'<link rel="stylesheet" href="{styles}"></head>', 1) if formulas else html
