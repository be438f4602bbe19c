"""What stands in the tables of a page and in its drawings."""

import re
from xml.etree import ElementTree

from tests.docs.pages import CLAIM, DOCS, plain

ROW = re.compile(r"^ *\|(.*)\|$", re.MULTILINE)


def tables(page):
    """Each table of a page, its rows as ``{column: cell}``, the cells as the reader sees them."""
    found = []
    for lines in re.findall(
        r"(?:^ *\|.*\|\n|^<!--.*-->\n(?=\|))+", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE
    ):
        titles, _, *rows = ([read(cell) for cell in re.split(r"(?<!\\)\|", row)] for row in ROW.findall(lines))
        found.append([dict(zip(titles, row, strict=True)) for row in rows])
    return found


def table(page, column):
    """The rows of the one table of a page that has this column."""
    (found,) = [rows for rows in tables(page) if column in rows[0]]
    return found


def read(cell):
    return re.sub(r"<!--.*?-->", "", plain(cell)).replace(CLAIM, "").strip()


def numbers(cell):
    """The numbers of a cell as floats: a minus is print's."""
    signed = cell.replace("\N{MINUS SIGN}", "-")
    return [float(number) for number in re.findall(r"-?(?:\d+(?:\.\d+)?|\.\d+)", signed)]


def drawn(drawing):
    """The words and numbers of a drawing, without its title and description."""
    root = ElementTree.parse(DOCS / "assets" / "drawings" / f"{drawing}.svg").getroot()
    texts = [part for part in root.iter() if part.tag.endswith("}text")]
    return " ".join(" ".join("".join(text.itertext()).split()) for text in texts)
