"""Lays out the whiteboard sheets: what a writer typed as steps, with the board as it looks after each.

In ``docs/chapters/NAME/sheet.md`` a step is

    <!-- step 9 min, 30: 7, 20: 6 -->
    **Its title.** What is drawn.

    > The sentence of the step.

    *[What you do.]*

    **draw** *[What you do, and then the picture of the board has it, too: the next answer that it keeps back.]*

    **say** What you say, in one breath.

    *if asked* "What they ask?" What you answer.

    **say, 30, 20** What you say only in these shorter lessons, where a step was left out.

    **do, 20** *[What you do only in this one.]*

with the minutes that it has in the whole lesson and in those of 30 and of 20 minutes; one that is not named leaves the
step out.  ``<!-- key -->`` begins the second page, and on it ``<!-- poll after step 3 -->`` a question with its list of
answers, ``- 1.871: what it shows of whoever chose it``, the right one in bold.  The pictures come from
``scripts/chapters/NAME/board.py``, one a step.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from html import escape
from importlib import import_module
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

from scripts import records
from scripts.facts.unchecked_pages import is_unchecked
from scripts.site import cache
from scripts.site.markup.no_break import add_no_breaks
from scripts.site.pages import demos
from scripts.site.pages.navigation import sheet_name

STEP = re.compile(r"^<!-- step (\d+) min((?:, \d+: \d+)*) -->$", re.MULTILINE)
VERSION = re.compile(r", (\d+): (\d+)")
KEY = re.compile(r"^<!-- key -->$", re.MULTILINE)
POLL = re.compile(r"^<!-- poll after step (\d+) -->\n+((?:(?!- ).*\n)+)((?:- .*\n(?: +.*\n)*)+)", re.MULTILINE)
SHEET = re.compile(
    r"(?s)(?P<before>.*?)(?P<steps>^<!-- step .*?)(?P<key>^<!-- key -->.*?)(?P<after>^</div>.*)", re.MULTILINE
)
ANSWER = re.compile(r"^- (.+?): (.*)$", re.MULTILINE)
QUESTION = re.compile(r"^\*\*Ask\.\*\* (.*(?:\n.+)*)|^\*\*say\*\* (.*\?)\n\n(?:\*\*draw\*\* )?\*\[Wait", re.MULTILINE)
LINE_KINDS = {
    "say": re.compile(r"^\*\*say(?P<only>(?:, \d+)*)\*\* "),
    "do": re.compile(r"^(?:\*\*do(?P<only>(?:, \d+)+)\*\* )?\*(?=\[)"),
    "do .hb-draw": re.compile(r"^\*\*draw(?P<only>)\*\* \*(?=\[)"),
    "asked": re.compile(r"^\*if asked\*(?P<only>) "),
}
BOARDS_FOLDER = "assets/boards"
WORKSHEETS_FOLDER = "assets/worksheets"


@dataclass(frozen=True)
class Step:
    """
    minutes: in the whole lesson, under 0, and in each shorter one that it belongs to
    drawing: what is drawn, with the step's title   sentence: as a quotation   speech: all that follows
    """

    minutes: dict[int, int]
    drawing: str
    sentence: str
    speech: str


def steps(text: str) -> list[Step]:
    """The steps of a sheet, none if it is another page.

    Raises:
        PluginError: for a step without its three parts.
    """
    if not (sheet := SHEET.match(text)):
        return []
    read_steps = []
    _, *parts = STEP.split(sheet["steps"])
    for whole, shorter, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        drawing, *rest = body.strip().split("\n\n")
        quotations = [part for part in rest if part.startswith(">")]
        speech = [part for part in rest if not part.startswith(">")]
        if len(quotations) != 1 or not speech or not drawing.startswith("**"):
            raise PluginError(
                f"a step is **Title.** what is drawn, then one quotation, then its speech: {drawing[:60]}"
            )
        minutes = {0: int(whole)} | {int(version): int(each) for version, each in VERSION.findall(shorter)}
        read_steps.append(Step(minutes, drawing, quotations[0], "\n\n".join(speech)))
    return read_steps


def start_minutes(steps: list[Step], version: int = 0) -> list[int | None]:
    """The minute in which each step begins, None for one that is left out."""
    start, minutes = 0, []
    for step in steps:
        minutes.append(start if version in step.minutes else None)
        start += step.minutes.get(version, 0)
    return minutes


class Sheets:
    """The sheets of one build and their pictures."""

    def __init__(self, reader: records.Reader, earlier: records.Reader):
        self.reader, self.earlier, self.root = reader, earlier, reader.root
        self.cache = cache.Cache("worksheets")

    @cached_property
    def boards(self) -> dict:
        folders = [path.parent.name for path in sorted((self.root / "scripts" / "chapters").glob("*/board.py"))]
        return {folder.replace("_", "-"): self._draw(folder) for folder in folders}

    def _draw(self, folder: str):
        """A board; where it needs a record that cannot be had, as many pictures that say so."""
        page = sheet_pages(self.root)[folder.replace("_", "-")]
        with (self.earlier if is_unchecked(page.read_text(encoding="utf-8")) else self.reader).track_reads():
            try:
                return draw_board(folder)
            except records.Missing as fault:
                empty = import_module("scripts.chapters.board").Board()
                for _ in steps(page.read_text(encoding="utf-8")):
                    empty.step(str(fault))
                    empty.erase()
                    empty.write(240, 135, "awaits its run")
                return empty

    @cached_property
    def worksheets(self):
        return import_module("scripts.chapters.worksheets")

    def files(self, config) -> Iterator[File]:
        """The worksheets, what is printed for the board, and the pictures, with one more before each answer."""
        drawn_from = cache.digest(("kernels/bench", "scripts/chapters"))
        pages = self.cache.get(drawn_from) or self.cache.put(list(self.worksheets.pages()), drawn_from)
        for address, html in pages:
            yield File.generated(config, f"{WORKSHEETS_FOLDER}/{address}", content=add_no_breaks(html))
        for name, drawn_board in self.boards.items():
            for step in drawn_board.paper_steps():
                paper = drawn_board.paper_svg(step)
                yield File.generated(config, f"{BOARDS_FOLDER}/{name}/paper-{step}.svg", content=paper)
            for step in range(1, drawn_board.steps + 1):
                yield File.generated(config, f"{BOARDS_FOLDER}/{name}/{step}.svg", content=drawn_board.svg(step))
                for answers_shown, picture in enumerate(pictures_before_answers(drawn_board, step)):
                    yield File.generated(
                        config, f"{BOARDS_FOLDER}/{name}/{picture}", content=drawn_board.svg(step, answers_shown)
                    )

    def lay_out(self, text: str, name: str, home: str, is_own_page: bool = True) -> str:
        """A sheet's Markdown with its steps as a strip of pictures.

        home: from the page's address to the site's root
        is_own_page: it has a page of its own, with speeches, anchors and the presenter

        Raises:
            PluginError: if it has no steps, or not as many pictures as steps.
        """
        text = demos.fill_times(text, name, self.root)
        sheet_steps, sheet = steps(text), SHEET.match(text)
        drawn_board = self.boards.get(name)
        if not sheet_steps or not drawn_board or drawn_board.steps != len(sheet_steps):
            pictures = drawn_board.steps if drawn_board else "no"
            raise PluginError(f"the sheet {name} has {len(sheet_steps)} steps, its board has {pictures} pictures")
        versions = sorted(
            {version for step in sheet_steps for version in step.minutes}, key=lambda version: -version or -99
        )
        starts = {version: start_minutes(sheet_steps, version) for version in versions}
        strip = "\n\n".join(
            self.step(name, number, step, starts, home, is_own_page) for number, step in enumerate(sheet_steps)
        )
        key = POLL.sub(format_poll, KEY.sub("", sheet["key"])).strip() + f"\n\n{questions(sheet_steps)}"
        links = f"{self.links(name, home)}\n\n" * is_own_page
        return (
            f'{sheet["before"]}{links}<div class="hb-strip" markdown>\n\n{strip}\n\n</div>\n\n'
            f'<div class="hb-key" markdown>\n\n{key}\n\n</div>\n\n{sheet["after"]}'
        )

    def links(self, name: str, home: str) -> str:
        """The presenter's button, and the example with fresh numbers."""
        button = '<button type="button" class="hb-present" hidden>Present</button>'
        if name not in self.worksheets.chapters():
            return f'<p class="hb-ways">{button}</p>'
        links = ", ".join(
            f'<a href="{home}{WORKSHEETS_FOLDER}/{name}/{version}.html">{version}</a>'
            f' (<a href="{home}{WORKSHEETS_FOLDER}/{name}/{version}-key.html">key</a>)'
            for version in self.worksheets.VERSIONS
        )
        return f'<p class="hb-ways">{button} Worksheets with fresh numbers: {links}</p>'

    def step(self, name: str, number: int, step: Step, starts: dict, home: str, is_own_page: bool) -> str:
        drawn_board, picture = self.boards[name], f"{home}{BOARDS_FOLDER}/{name}/{number + 1}"
        description = escape(drawn_board.step_descriptions[number])
        ask_pictures = " ".join(
            f"{home}{BOARDS_FOLDER}/{name}/{each}" for each in pictures_before_answers(drawn_board, number + 1)
        )
        ask = f' data-ask="{ask_pictures}"' if ask_pictures else ""
        minutes_data = "".join(f' data-m{version}="{each}"' for version, each in step.minutes.items())
        anchor = f' id="step-{number + 1}"' if is_own_page else ""
        speech = format_speech(step.speech) * is_own_page
        return (
            f'<div class="hb-step"{anchor}{minutes_data} markdown>\n\n'
            f'<figure class="hb-step__board"><a href="{picture}.svg"><img src="{picture}.svg" alt="{description}"{ask} '
            f'loading="lazy" width="960" height="540"></a></figure>\n\n'
            f"{format_times(step, {version: minutes[number] for version, minutes in starts.items()})}\n\n"
            f'<div class="hb-step__draw" markdown>\n\n{step.drawing}\n\n</div>\n\n'
            f'<div class="hb-step__say" markdown>\n\n{step.sentence}\n\n</div>\n\n{speech}</div>'
        )


def pictures_before_answers(drawn_board, step: int) -> list[str]:
    """The names of a step's pictures with no answer, with one, and so on to all but the last."""
    return [f"{step}-ask{answers or ''}.svg" for answers in range(len(drawn_board.answer_numbers(step)))]


def format_speech(speech: str) -> str:
    """Returns what is said, done and answered in a step, each line with its class; a speech in paragraphs is folded."""
    parts = speech.split("\n\n")
    kinds = [next((kind for kind, pattern in LINE_KINDS.items() if pattern.match(part)), None) for part in parts]
    only_in = [
        (LINE_KINDS[kind].match(part)["only"] or "").removeprefix(", ").replace(", ", " or ") if kind else ""
        for part, kind in zip(parts, kinds, strict=True)
    ]
    if not any(kinds):
        return f'<details class="hb-speech" markdown>\n<summary>The speech</summary>\n\n{speech}\n\n</details>\n\n'
    lines = [
        LINE_KINDS[kind].sub("*" if kind.startswith("do") else "", part) if kind else part
        for part, kind in zip(parts, kinds, strict=True)
    ]
    attributes = [f' data-only="{versions}"' if versions else "" for versions in only_in]
    lines_with_class = [
        f"{line}\n{{ .hb-{kind}{versions} }}" if kind else line
        for line, kind, versions in zip(lines, kinds, attributes, strict=True)
    ]
    return f'<div class="hb-speech hb-dialogue" markdown>\n\n{(chr(10) * 2).join(lines_with_class)}\n\n</div>\n\n'


def format_times(step: Step, starts: dict[int, int | None]) -> str:
    """When the step begins and how long it takes, in the whole lesson and in the shorter ones."""
    shorter = [
        f"{version}: {clock(starts[version])}, {step.minutes[version]} min"
        if version in step.minutes
        else f"{version}: \N{EN DASH}"
        for version in starts
        if version
    ]
    versions = "".join(f"<span>{each}</span>" for each in shorter)
    return f'<p class="hb-step__time"><b>{clock(starts[0])}</b> {step.minutes[0]} min {versions}</p>'


def clock(minute: int) -> str:
    return f"0:{minute:02}" if minute < 60 else f"{minute // 60}:{minute % 60:02}"


def questions(steps: list[Step]) -> str:
    """What to ask the room, with the time: for paper, which has no speeches."""
    lines = [
        f"- {clock(minute)} {question[1] or question[2]}"
        for minute, step in zip(start_minutes(steps), steps, strict=True)
        if (question := QUESTION.search(step.speech))
    ]
    return '<div class="hb-asks" data-search-exclude markdown>\n\n**To ask**\n\n' + "\n".join(lines) + "\n\n</div>"


def format_poll(match: re.Match) -> str:
    """A question and its answers, each with what it shows of whoever chose it."""
    answers = re.sub(r"\n +", " ", match[3])
    items = ANSWER.sub(r'- <span class="hb-poll__answer">\1</span><span class="hb-poll__why">: \2</span>', answers)
    return (
        f'<div class="hb-poll" data-step="{match[1]}" markdown>\n\n**Poll, after step {match[1]}.** {match[2].strip()}'
        f"\n\n{items.strip()}\n\n</div>\n"
    )


def sheet_pages(root: Path) -> dict[str, Path]:
    """The page of each sheet, by its name."""
    docs = root / "docs"
    pages = [*sorted(docs.glob("chapters/*/sheet.md")), *sorted(docs.glob("whiteboard/*.md"))]
    return {name: page for page in pages if (name := sheet_name(page.relative_to(docs).as_posix()))}


def draw_board(folder: str):
    return import_module(f"scripts.chapters.{folder}.board").board()
