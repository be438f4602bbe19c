"""`make worksheet CHAPTER=online-softmax SEED=7` writes a worksheet and its key into build/."""

import re
import sys

from scripts.chapters import worksheets
from scripts.records import ROOT


def main(chapter: str = "", seed: str = "") -> None:
    """Writes both files, whose names have the chapter and the seed."""
    if not re.fullmatch(r"[\w-]{0,40}", seed):
        sys.exit(f"SEED={seed}: up to 40 letters, digits, - and _ are wanted: it is part of a file's name")
    try:
        sheet = worksheets.make(chapter, seed or "A")
    except ValueError as error:
        sys.exit(f"CHAPTER={chapter}: {error}")
    folder = ROOT / "build" / "worksheets"
    folder.mkdir(parents=True, exist_ok=True)
    for name, key in (("worksheet", False), ("key", True)):
        path = folder / f"{chapter}-{seed or 'A'}-{name}.html"
        path.write_text(sheet.html(seed or "A", key), encoding="utf-8")
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main(*sys.argv[1:])
