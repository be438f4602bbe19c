"""Finds a figure's script and runs it by its path, so that `serve` always draws today's."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import plotly.graph_objects as go

from scripts import records


class FigureError(Exception):
    """There is no such figure, or it has no text alternative; the message says which."""


@dataclass(frozen=True)
class Figure:
    """
    alternative: the text for those who don't see the drawing; ``{fact=name}`` stands for a fact of ``chapter``
    """

    alternative: str
    chapter: str
    figure: Callable[[], go.Figure]

    def draw(self, reader: records.Reader) -> tuple[str | None, list[str]]:
        """Plotly's JSON, without a template, and the snippets whose records it was drawn from.

        None in place of the JSON if one of these snippets has never run.
        """
        with reader.track_reads() as snippets:
            try:
                drawing = self.figure().update_layout(template=None).to_json()
            except records.Missing:
                drawing = None
        return drawing, sorted(snippets)


def paths(root: Path) -> dict[str, Path]:
    """Where the script of each figure lies: in the folder of the first chapter that shows it."""
    return {path.stem: path for path in sorted((root / "scripts" / "chapters").glob("*/figures/[!.]*.py"))}


def load(name: str, root: Path) -> Figure:
    path = paths(root).get(name)
    if not path:
        raise FigureError(f"{name}: there is no scripts/chapters/*/figures/{name}.py")
    script = runpy.run_path(str(path))
    if not script.get("ALT"):
        raise FigureError(f"{name}: {path.relative_to(root)} has no ALT, its text alternative")
    return Figure(script["ALT"], path.parents[1].name, script["figure"])
