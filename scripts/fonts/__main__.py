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


class Cut(NamedTuple):
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


def cuts() -> dict[str, Cut]:
    """The fonts by the names of their files."""
    modules = HERE / "node_modules"
    read = characters("docs/**/*.md", "docs/**/*.js", "docs/**/*.svg", "kernels/**/*.py", "scripts/**/*.py")
    code = characters("kernels/**/*.py", "snippets/**/*.py", "tests/kernels/**/*.py")
    heads = characters("docs/**/*.md", lines=r"#+ |question: |``` (?:figure|live) ")
    serif = modules / "source-serif" / "VAR"
    text, bold = 400, (400, 600)
    return {
        "sans": Cut("Handbook Sans", f"{modules}/source-sans/VF/SourceSans3VF-Upright.ttf", {"wght": bold}, read),
        "serif": Cut(
            "Handbook Serif", f"{serif}/SourceSerif4Variable-Roman.ttf", {"wght": bold, "opsz": 20}, heads | {*MATHS}
        ),
        "serif-italic": Cut(
            "Handbook Serif", f"{serif}/SourceSerif4Variable-Italic.ttf", {"wght": text, "opsz": 20}, {*LETTERS}
        ),
        "mono": Cut("Handbook Mono", f"{modules}/source-code-pro/VF/SourceCodeVF-Upright.ttf", {"wght": text}, code),
    }


def make(cut: Cut, target: Path) -> TTFont:
    """Cuts, names and writes one font; returns it."""
    font = TTFont(cut.source, recalcTimestamp=False)
    for wanted, there in ALIASES.items():
        for table in font["cmap"].tables:
            if there in table.cmap:
                table.cmap.setdefault(wanted, table.cmap[there])
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


def licence(found: dict[str, Cut]) -> str:
    """Where each font comes from and whose it is, then the licence, which is the same for all."""
    sources, owners, texts = {}, {}, []
    for name, cut in found.items():
        names = TTFont(cut.source)["name"]
        whole, version = (
            names.getDebugName(16) or names.getDebugName(1),
            names.getDebugName(5).partition(";")[0].lower(),
        )
        sources[name] = f"{name}.woff2 is {cut.family}, from {whole}, {version}"
        owner, _, text = (Path(cut.source).parents[1] / "LICENSE.md").read_text(encoding="utf-8").partition("\n")
        owners[owner.strip()] = None
        texts.append(text.strip())
    said = "\n".join(sources.values())
    return (
        "These fonts are cut to the characters of this handbook, and renamed, because their licence reserves the name\n"
        f'"Source" for the whole ones. `make fonts` makes them.\n\n{said}\n\n' + "\n".join(owners) + f"\n\n{texts[0]}\n"
    )


def main() -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    found, total = cuts(), 0
    for name, cut in found.items():
        path = TARGET / f"{name}.woff2"
        has = make(cut, path).getBestCmap()
        lacks = "".join(sorted(each for each in cut.characters if ord(each) not in has))
        size = path.stat().st_size
        total += size
        print(f"{name:13}{size:7,} bytes, {len(has)} characters" + (f", none for {lacks}" if lacks else ""))
    (TARGET / "OFL.txt").write_text(licence(found), encoding="utf-8")
    print(f"{'in all':13}{total:7,} bytes of {MAX_BYTES:,}")
    if total > MAX_BYTES:
        raise SystemExit("Too many: the pages would wait for them. Leave characters out, or a weight.")


if __name__ == "__main__":
    main()
