"""What stands in the tables of a page and in its drawings."""

import re
from xml.etree import ElementTree

from scripts.facts.paragraphs import to_plain_text
from scripts.records import ROOT

DOCS = ROOT / "docs"
DRAWINGS = DOCS / "assets" / "drawings"
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
TABLE = re.compile(r"(?:^ *\|.*\|\n|^<!--.*-->\n(?=\|))+", re.MULTILINE)
ROW = re.compile(r"^ *\|(.*)\|$", re.MULTILINE)


def drawing_text(drawing):
    """The words and numbers of a drawing, without its title and description."""
    root = ElementTree.parse(DRAWINGS / f"{drawing}.svg").getroot()
    texts = [part for part in root.iter() if part.tag.endswith("}text")]
    return " ".join(" ".join("".join(text.itertext()).split()) for text in texts)


def tables(page):
    """Each table of a page, its rows as ``{column: cell}``, the cells as the reader sees them."""
    all_tables = []
    for lines in TABLE.findall((DOCS / page).read_text(encoding="utf-8")):
        titles, _, *rows = (
            [to_plain_text(cell).strip() for cell in re.split(r"(?<!\\)\|", row)] for row in ROW.findall(lines)
        )
        all_tables.append([dict(zip(titles, row, strict=True)) for row in rows])
    return all_tables


def table(page, column):
    """The rows of the one table of a page that has this column."""
    (found,) = [rows for rows in tables(page) if column in rows[0]]
    return found


def numbers(cell):
    """The numbers of a cell as floats: a minus is print's."""
    signed = cell.replace("\N{MINUS SIGN}", "-")
    return [float(number) for number in re.findall(r"-?(?:\d+(?:\.\d+)?|\.\d+)", signed)]
