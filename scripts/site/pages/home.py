"""What the home page shows of the chapters, of a record, and of the sentence: each takes the place of a comment.

``<!-- the path -->`` is filled with a card for each chapter, in its part. A chapter's question comes from the front
matter of its page, or else from ``questions`` in that of the home page, which also says a line on each part.
"""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

from markupsafe import Markup
from mkdocs.exceptions import PluginError
from mkdocs.utils.meta import get_data

from scripts.records import Missing, Reader, Record, machine_name
from scripts.site.fences import outputs
from scripts.site.live import Pieces
from scripts.site.meta import reading
from scripts.site.pages.navigation import ROMAN, Chapter

RACE_SNIPPET = "flash_first"  # timed the textbook's attention and FlashAttention
PRINTED_SHAPE = re.compile(r"\[batch, heads, sequence, head_dim\] = \[(\d+), (\d+), (\d+), (\d+)\]")
BYTES_PER_NUMBER = 2  # in FP16
TILES_PER_ROW = 8  # of the square
EMPTY = Markup()
RACE_BUTTON = Markup(  # over the whole picture, with its mark between the squares
    '<button type="button" class="replay" aria-label="Watch them race" hidden><svg viewBox="0 0 52 52" '
    'aria-hidden="true"><circle cx="26" cy="26" r="26"/><path d="M20 15.5v21l17-10.5z"/></svg><span>race</span>'
    "</button>"
)


def front_matter(text: str) -> dict:
    return get_data(text)[1]


def chapter_path(chapters: list[Chapter], docs: Path) -> Markup:
    """The parts with a card for each chapter; chapters before the first part count as its own."""
    home = front_matter((docs / "index.md").read_text(encoding="utf-8"))
    first = next((chapter.part for chapter in chapters if chapter.part), "")
    parts = groupby(chapters, key=lambda chapter: chapter.part or first)
    return Markup('<div class="parts">{}</div>').format(
        EMPTY.join(
            part_of_path(ROMAN[number], title, list(of_part), home, docs)
            for number, (title, of_part) in enumerate(parts, 1)
        )
    )


def part_of_path(number: str, title: str, chapters: list[Chapter], home: dict, docs: Path) -> Markup:
    summary = home.get("parts", {}).get(title, "")
    cards = EMPTY.join(chapter_card(chapter, home, docs) for chapter in chapters)
    minutes = sum(reading.minutes(chapter.all_text) for chapter in chapters)
    return Markup(
        '<div class="part" style="--chapters: {}"><header>'
        "<small>Part {} · {} min</small><h3>{}</h3><p>{}</p></header><ol>{}</ol></div>"
    ).format(len(chapters), number, minutes, title, summary, cards)


def chapter_card(chapter: Chapter, home: dict, docs: Path) -> Markup:
    file = docs / "assets" / "drawings" / f"path-{chapter.name}.svg"
    if not file.is_file():
        raise PluginError(f"the card of {chapter.name} on the home page wants docs/assets/drawings/{file.name}")
    drawing = file.read_text(encoding="utf-8")
    drawing = re.sub(r"<(title|desc)>.*?</\1>|\n\s*", "", drawing, flags=re.DOTALL)  # the words beside it say more
    return Markup('<li>{}<h4><span>{}</span> <a href="chapters/{}/">{}</a></h4><p>{}</p></li>').format(
        Markup(drawing.replace("<svg", '<svg aria-hidden="true"', 1)),
        chapter.number,
        chapter.name,
        chapter.title,
        question(chapter, home),
    )


def question(chapter: Chapter, home: dict) -> str:
    """What a chapter asks; nothing if neither its page nor the home page says so."""
    text = front_matter(chapter.text).get("question") or home.get("questions", {}).get(chapter.name, "")
    return text.replace("'", "’")  # noqa: RUF001


def sentence_html(pieces: Pieces) -> Markup:
    """The sentence as it looks before anybody has asked it anything."""
    ((view,)) = pieces.calls("home.view.js", "drawStatic", [[]])
    return Markup(re.sub(r"\s*\n\s*", " ", view["text"]))


def race_record(reader: Reader) -> Record | None:
    try:
        return reader.read(RACE_SNIPPET)
    except Missing:
        return None


def race_style(reader: Reader) -> str:
    """The two times and the longer as CSS properties, from which the stylesheet makes bars; empty without a record."""
    record = race_record(reader)
    rows = next((table["rows"] for table in record.tables() if table["name"] == "times"), []) if record else []
    times = {row["form"]: row["median"] for row in rows}
    properties = [f"--{form.replace('_', '-')}: {time:.4f}" for form, time in times.items()]
    return "; ".join([*properties, f"--longest: {max(times.values()):.4f}"]) if times else ""


def race_shape(reader: Reader) -> tuple[int, ...]:
    """How many texts, heads, words and numbers a word the two were timed with."""
    record = race_record(reader)
    printed = "".join(output.get("text", "") for output in record.outputs["compare"]) if record else ""
    match = PRINTED_SHAPE.search(printed)
    return tuple(map(int, match.groups())) if match else ()


def race_setting(reader: Reader) -> str:
    """On which machine, and the shape in words."""
    record, shape = race_record(reader), race_shape(reader)
    if not record or not shape:
        return ""
    texts, heads, words, numbers = shape
    gpu = machine_name(record.provenance).removeprefix("NVIDIA ")
    return f"on an {gpu}: {texts} {'text' if texts == 1 else 'texts'} of {words} words, {heads} heads of {numbers}"


def race_provenance(reader: Reader) -> Markup:
    """On which machine and when, with its software."""
    record = race_record(reader)
    return outputs.ran_html({RACE_SNIPPET: record}, "snippets/{}/".format) if record else EMPTY


def race_picture(reader: Reader) -> Markup:
    """The tables of the run that was timed, to scale, with the square between them written down, and never written."""
    texts, heads, words, numbers = race_shape(reader) or (2, 16, 4096, 64)
    square, sliver = (bytes_text(texts * heads * words * width * BYTES_PER_NUMBER) for width in (words, numbers))
    shows = (
        f"Twice the same tables, to scale. Q, K, V and O are slivers of {sliver} each. Left, the square between them, "
        f"every word with every word, is written down: {square}. Right, it's a dashed outline. A tile of it at a time "
        "is computed, used and forgotten, and nothing is written down."
    )
    tiles = EMPTY.join(map(race_tile, range(TILES_PER_ROW**2)))
    written = Markup('<span class="square written"><span><b>{}</b> every word with every word</span></span>').format(
        square
    )
    unwritten = Markup(
        '<span class="square unwritten"><svg viewBox="0 0 {0} {0}" preserveAspectRatio="none"><g>{1}</g>'
        '<rect width="{0}" height="{0}"/></svg><span><b>0 bytes</b> a tile at a time, then forgotten</span></span>'
    ).format(TILES_PER_ROW, tiles)
    return Markup(
        '<div class="picture"><div class="panels" role="img" aria-label="{}" style="--times: {}">{}{}</div>{}</div>'
    ).format(
        shows,
        words // numbers,
        race_panel("written down", written),
        race_panel("never written", unwritten),
        RACE_BUTTON,
    )


def race_panel(name: str, square: Markup) -> Markup:
    return Markup(
        '<div class="panel"><span class="name">{}</span><i class="query"></i><i class="key"></i><i class="value"></i>'
        '{}<i class="output"></i><span class="tables"><b class="query">Q</b> <b class="key">K</b> '
        '<b class="value">V</b></span><b class="output">O</b></div>'
    ).format(name, square)


def race_tile(number: int) -> Markup:
    place = number % TILES_PER_ROW, number // TILES_PER_ROW
    return Markup('<rect x="{}" y="{}" width="1" height="1" style="--n:{}"/>').format(*place, number)


def bytes_text(count: int) -> str:
    """Bytes in the largest unit of which they're a whole number."""
    for unit, exponent in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if count % 2**exponent == 0:
            return f"{count >> exponent} {unit}"
    return f"{count} bytes"
