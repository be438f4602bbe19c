"""Runs the live pieces without a browser: the build draws their first state, and the tests ask their models.

The modules of docs/live run in QuickJS as they stand, but for their import and export lines.
"""

from __future__ import annotations

import json
import re
from functools import cached_property
from pathlib import Path

import quickjs

HERE = Path(__file__).parent
SHARED_MODULES = {"bars", "controls", "element", "frame", "quiz", "strokes"}  # modules that are no piece
IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?:(default) |((?:const|let|function\*?|class) (\w+)))", re.MULTILINE)
# Numbers that JSON lacks; strings, too, so that a word inside one is left alone.
STRING_OR_LACKED_NUMBER = re.compile(r'"(?:[^"\\]|\\.)*"|-?Infinity|NaN')
COMMENT = re.compile(r"/\*.*?\*/|^\s*//[^\n]*", re.DOTALL | re.MULTILINE)  # no text of a piece has these marks
NUMBER_IN_WORDS = re.compile(r'(?<!\\)"(NaN|-?Infinity|-0)"')  # not the end of a string that holds a quotation mark


class PieceError(Exception):
    """There is no such piece, or it refuses the state; the message says which."""


class Pieces:
    """The modules of a folder, each loaded when it is first asked for."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.loaded: set[str] = set()

    def names(self) -> list[str]:
        """The pieces; NAME.model.js belongs to NAME.js."""
        return sorted(
            path.stem for path in self.folder.glob("*.js") if "." not in path.stem and path.stem not in SHARED_MODULES
        )

    def title(self, name: str) -> str:
        """What the page that lists all pieces calls one."""
        self.load(f"{name}.js")
        return self.engine.eval(f'modules["{name}.js"].default.title')

    def draw_state(self, name: str, state: dict[str, str]) -> str:
        """The drawing of a piece in the given state, as HTML.

        Raises:
            PieceError: if there is no such piece, or its state cannot be that.
        """
        if name not in self.names():
            raise PieceError(f"{name}: there is no docs/live/{name}.js; there is {', '.join(self.names())}")
        self.load("frame.js")
        self.load(f"{name}.js")
        try:
            return json.loads(self.engine.eval(f"drawStatic({json.dumps(name)}, {json.dumps(json.dumps(state))})"))
        except quickjs.JSException as error:
            raise PieceError(f"{name}: {str(error).partition(chr(10))[0]}") from error

    def calls(self, module: str, name: str, rows: list[list]) -> list:
        """What a function of a module returns for each row of arguments."""
        self.load(module)
        results = self.engine.eval(f"calls({json.dumps(module)}, {json.dumps(name)}, {json.dumps(to_json(rows))})")
        return from_json(results)

    def load(self, module: str) -> None:
        """Run a module, and those that it imports before it."""
        if module in self.loaded:
            return
        self.loaded.add(module)
        path = HERE / "static_lit.js" if module == "lit-html" else self.folder / module
        text = path.read_text(encoding="utf-8")
        exported = ["default: $default" if default else name for default, _, name in EXPORT.findall(text)]
        text = IMPORT.sub(self.import_line, text)
        text = EXPORT.sub(lambda line: "const $default = " if line[1] else line[2], text)
        self.engine.eval(
            f"modules[{json.dumps(module)}] = (() => {{ {text}\nreturn {{ {', '.join(exported)} }}; }})(); 0"
        )

    def import_line(self, line: re.Match) -> str:
        module = line[2].removeprefix("./")
        self.load(module)
        return f"const {{ {line[1].replace(' as ', ': ')} }} = modules[{json.dumps(module)}];"

    @cached_property
    def engine(self) -> quickjs.Context:
        engine = quickjs.Context()
        engine.eval((HERE / "bridge.js").read_text(encoding="utf-8"))
        return engine


def to_json(value) -> str:
    """A value as JSON, in which the numbers that JSON lacks are words: -0.0 is not one of them."""
    text = json.dumps(value)
    if "NaN" not in text and "Infinity" not in text:
        return text
    return STRING_OR_LACKED_NUMBER.sub(lambda match: match[0] if match[0][0] == '"' else f'"{match[0]}"', text)


def from_json(text: str):
    """The reverse; Python's reader knows the words as numbers where they stand without quotes."""
    return json.loads(NUMBER_IN_WORDS.sub(lambda match: "-0.0" if match[1] == "-0" else match[1], text))


def publish(folder: Path) -> None:
    """Takes comments and types out of the modules that a site serves: a quarter of what a reader waits for."""
    for path in folder.glob("*.js"):
        path.write_text(re.sub(r"\n\s*\n", "\n", COMMENT.sub("", path.read_text(encoding="utf-8"))), encoding="utf-8")
