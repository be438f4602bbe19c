"""A figure script, run by its path so that `serve` always draws today's."""

from __future__ import annotations

import re
import runpy
from dataclasses import dataclass

from scripts.records import ROOT

FOLDER = ROOT / "scripts" / "figures"
READS = re.compile(r'records\.\w+\(\s*"(\w+)"')


class FigureError(Exception):
    """There is no such figure, or it has no text alternative; the message says which."""


@dataclass(frozen=True)
class Figure:
    name: str
    snippets: list[str]  # whose records it draws

    def draw(self) -> tuple[str, str]:
        """The figure as Plotly's JSON, without a template, and its text alternative."""
        script = runpy.run_path(str(FOLDER / f"{self.name}.py"))
        if not script.get("ALT"):
            raise FigureError(f"{self.name}: scripts/figures/{self.name}.py has no ALT, its text alternative")
        return script["figure"]().update_layout(template=None).to_json(), script["ALT"]


def find(name: str) -> Figure:
    path = FOLDER / f"{name}.py"
    if not path.is_file():
        raise FigureError(f"{name}: there is no scripts/figures/{name}.py")
    return Figure(name, sorted(set(READS.findall(path.read_text()))))
