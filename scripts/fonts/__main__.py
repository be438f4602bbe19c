"""`make fonts` cuts the whole fonts, as npm has them, to the characters of the pages, into ``docs/assets/fonts``.

Four files: Source Sans for text, Source Serif for headings and formulas, its italic for emphasis and variables, Source
Code Pro for code. Their licence reserves the name "Source" for whole fonts, so ours are called Handbook. A character
that a cut font lacks comes from the reader's own fonts, so a page never waits for `make fonts`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from fontTools.varLib.instancer import instantiateVariableFont

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TARGET = ROOT / "docs" / "assets" / "fonts"
MAX_BYTES = 60 * 1024  # bytes of all four

LATIN = "".join(map(chr, range(0x20, 0x7F))) + "\N{NO-BREAK SPACE}–—‘’“”…"  # noqa: RUF001
# What KaTeX sets from commands, so that no page has it as a character. It draws large operators and roots itself.
MATHS = "·×÷±−≤≥≈≠∞→∂½²αβγδεθλμπστφΔΣ"  # noqa: RUF001
LETTERS = "αβγδεθλμπστφℓ′−·×"  # noqa: RUF001
ALIASES = {0x22C5: 0xB7}  # KaTeX's dot between factors is the middle dot of all the rest


class CutFont(NamedTuple):
    """One font: its name, where the whole one is, which part of its axes is kept, and what it's to hold."""

    family: str
    source: str
    axes: dict[str, float | tuple[float, float]]
    characters: set[str]


def characters(*patterns: str, lines: str = "") -> set[str]:
    """All that stand in the files of these patterns, or only on lines that begin so; what isn't printed is left out."""
    texts = (path.read_text(encoding="utf-8") for pattern in patterns for path in ROOT.glob(pattern))
    if lines:
        texts = ("".join(re.findall(rf"^(?:{lines}).*", text, re.MULTILINE)) for text in texts)
    return {each for text in texts for each in text if each.isprintable()}


def cut_fonts() -> dict[str, CutFont]:
    """The fonts by the names of their files."""
    modules = HERE / "node_modules"
    page_characters = characters("docs/**/*.md", "docs/**/*.js", "docs/**/*.svg", "kernels/**/*.py", "scripts/**/*.py")
    code_characters = characters("kernels/**/*.py", "snippets/**/*.py", "tests/kernels/**/*.py")
    heading_characters = characters("docs/**/*.md", lines=r"#+ |question: |``` (?:figure|live) ")
    serif = modules / "source-serif" / "VAR"
    regular_weight, weights = 400, (400, 600)
    return {
        "sans": CutFont(
            "Handbook Sans", f"{modules}/source-sans/VF/SourceSans3VF-Upright.ttf", {"wght": weights}, page_characters
        ),
        "serif": CutFont(
            "Handbook Serif",
            f"{serif}/SourceSerif4Variable-Roman.ttf",
            {"wght": weights, "opsz": 20},
            heading_characters | {*MATHS},
        ),
        "serif-italic": CutFont(
            "Handbook Serif",
            f"{serif}/SourceSerif4Variable-Italic.ttf",
            {"wght": regular_weight, "opsz": 20},
            {*LETTERS},
        ),
        "mono": CutFont(
            "Handbook Mono",
            f"{modules}/source-code-pro/VF/SourceCodeVF-Upright.ttf",
            {"wght": regular_weight},
            code_characters,
        ),
    }


def make(cut: CutFont, target: Path) -> TTFont:
    """Cuts, names and writes one font; returns it."""
    font = TTFont(cut.source, recalcTimestamp=False)
    for character, substitute in ALIASES.items():
        for table in font["cmap"].tables:
            if substitute in table.cmap:
                table.cmap.setdefault(character, table.cmap[substitute])
    options = Options(layout_features=["kern", "liga", "mark", "ccmp"], hinting=False, name_IDs=[], notdef_outline=True)
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=[*map(ord, cut.characters | {*LATIN}), *ALIASES])
    subsetter.subset(font)
    font = instantiateVariableFont(font, cut.axes)
    for number, name in ((1, cut.family), (2, "Regular"), (4, cut.family), (6, cut.family.replace(" ", ""))):
        font["name"].setName(name, number, 3, 1, 0x409)
    font.flavor = "woff2"
    font.save(target)
    return font


def licence(fonts: dict[str, CutFont]) -> str:
    """Where each font comes from and whose it is, then the licence, which is the same for all."""
    sources, owners, texts = {}, {}, []
    for name, cut in fonts.items():
        names = TTFont(cut.source)["name"]
        whole_font, version = (
            names.getDebugName(16) or names.getDebugName(1),
            names.getDebugName(5).partition(";")[0].lower(),
        )
        sources[name] = f"{name}.woff2 is {cut.family}, from {whole_font}, {version}"
        owner, _, text = (Path(cut.source).parents[1] / "LICENSE.md").read_text(encoding="utf-8").partition("\n")
        owners[owner.strip()] = None
        texts.append(text.strip())
    source_lines = "\n".join(sources.values())
    return (
        "These fonts are cut to the characters of this handbook, and renamed, because their licence reserves the name\n"
        f'"Source" for the whole ones. `make fonts` makes them.\n\n{source_lines}\n\n'
        + "\n".join(owners)
        + f"\n\n{texts[0]}\n"
    )


def main() -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    fonts, total = cut_fonts(), 0
    for name, cut in fonts.items():
        path = TARGET / f"{name}.woff2"
        covered = make(cut, path).getBestCmap()
        missing = "".join(sorted(character for character in cut.characters if ord(character) not in covered))
        size = path.stat().st_size
        total += size
        print(f"{name:13}{size:7,} bytes, {len(covered)} characters" + (f", none for {missing}" if missing else ""))
    (TARGET / "OFL.txt").write_text(licence(fonts), encoding="utf-8")
    print(f"{'in all':13}{total:7,} bytes of {MAX_BYTES:,}")
    if total > MAX_BYTES:
        raise SystemExit("Too many: the pages would wait for them. Leave characters out, or a weight.")


if __name__ == "__main__":
    main()
