"""Docstrings as the API page shows them: each argument on a line of its own, as in the source."""

import re

import griffe

ARGUMENT = re.compile(r"\n(?=[\w, …]+: )")


class ArgumentLines(griffe.Extension):
    """Ends a line with Markdown's hard break where the next names an argument."""

    def on_instance(self, *, obj: griffe.Object, **kwargs) -> None:
        if obj.docstring:
            obj.docstring.value = ARGUMENT.sub("  \n", obj.docstring.value)
