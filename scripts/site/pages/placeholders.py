"""Lists of all chapters, sheets, snippets or labs on a page: a comment marks the place, the folders fill it.

``<!-- lab NAME -->`` is filled with the head of a lab's page, ``<!-- labs of NAME -->`` with the labs of a chapter.
"""

from __future__ import annotations

import posixpath
import re
from types import ModuleType

from mkdocs.exceptions import PluginError
from mkdocs.utils.meta import get_data

from scripts import facts
from scripts.records import Reader
from scripts.site.live import Pieces
from scripts.site.meta import reading
from scripts.site.meta.repository import clone_commands
from scripts.site.pages import api, home, labs, navigation, peer_bars
from scripts.site.pages.navigation import Chapter
from scripts.site.pages.sheets import Sheets

LIVE_FENCE = re.compile(r"^``` live.*\n(\w+).*\n```$", re.MULTILINE)
SHEET = re.compile(r".*?(^</div>$|\Z)", re.DOTALL | re.MULTILINE)
STATED_MINUTES = re.compile(r"\b(\d+) minutes")
SHEET_DOWNLOADS = {"sheets.pdf": "all sheets, A4 (PDF)", "sheets-letter.pdf": "all sheets, Letter (PDF)"}
HANDBOOK_DOWNLOADS = {
    "handbook.pdf": "the whole handbook (PDF)",
    "attention-handbook.zip": "the site, to unpack and to open without a network",
}
LABS_MARK = re.compile(r"<!-- labs of ([\w-]+) -->")
LAB_MARK = re.compile(r"<!-- lab ([\w-]+) -->")


class Placeholders:
    """nav: the navigation, which has the order of sheets and of the pages of the API
    library: the modules that a list asks besides records, as in ``fences.Fences``
    layout: what lays the sheets out   copies: whether PDFs and an archive will stand in downloads/
    repository: what a reader clones, empty if it is not known
    """

    def __init__(
        self,
        chapters: list[Chapter],
        nav: list,
        reader: Reader,
        pieces: Pieces,
        library: dict[str, ModuleType],
        layout: Sheets,
        copies: bool = False,
        repository: str = "",
    ):
        docs = reader.root / "docs"
        self.chapters, self.reader, self.pieces, self.layout = chapters, reader, pieces, layout
        self.labs = labs.all_labs(reader.root)
        self.copies = copies
        pages = list(navigation.pages(nav))
        self.sheets = {page: name for page in pages if (name := navigation.sheet_name(page))}
        self.api_pages = [docs / page for page in pages if page.startswith("api/")]
        self.docs = docs
        self.marks = {
            "<!-- the kernels beside their peers -->": lambda: peer_bars.html(
                peer_bars.chart_settings(docs / "measurements.md"), self.reader, library
            ),
            "<!-- the path -->": lambda: home.chapter_path(self.chapters, docs),
            "<!-- the sentence -->": lambda: home.sentence_html(self.pieces),
            "<!-- the table, written down and never written -->": lambda: home.race_picture(self.reader),
            "<!-- the two times -->": lambda: home.race_style(self.reader),
            "<!-- where the two were timed, and on what -->": lambda: home.race_setting(self.reader),
            "<!-- the run that timed the two -->": lambda: home.race_provenance(self.reader),
            "<!-- hours to read -->": self.hours_to_read,
            "<!-- hours at the board -->": self.hours_at_the_board,
            "<!-- a row for every sheet -->": self.sheet_rows,
            "<!-- every sheet -->": self.all_sheets,
            "<!-- the sheets to take along -->": lambda: self.downloads(SHEET_DOWNLOADS),
            "<!-- the handbook to take along -->": lambda: self.downloads(HANDBOOK_DOWNLOADS),
            "<!-- the repository to clone -->": lambda: f", `{clone_commands(repository)}`" if repository else "",
            "<!-- every public name -->": lambda: api.public_names(docs.parent),
            "<!-- every live piece -->": self.all_pieces,
            "<!-- every record -->": self.all_records,
            "<!-- every snippet -->": self.all_snippets,
            "<!-- a line for every module -->": self.all_modules,
            "<!-- a row for every lab -->": self.lab_rows,
        }

    def fill(self, markdown: str) -> str:
        """The page's Markdown, each mark replaced by what it stands for."""
        for mark, fill in self.marks.items():
            if mark in markdown:
                markdown = markdown.replace(mark, fill())
        markdown = LABS_MARK.sub(lambda mark: self.labs_of(mark[1]), markdown)
        return LAB_MARK.sub(lambda mark: self.head_of_lab(mark[1]), markdown)

    def hours_to_read(self) -> str:
        return in_hours(sum(reading.minutes(chapter.all_text) for chapter in self.chapters))

    def hours_at_the_board(self) -> str:
        texts = [self.read_page(chapter.sheet) for chapter in self.chapters if chapter.sheet in self.sheets]
        return in_hours(sum(int(STATED_MINUTES.search(text)[1]) for text in texts))

    def read_page(self, page: str) -> str:
        """A page without its front matter."""
        return get_data((self.docs / page).read_text(encoding="utf-8"))[0]

    def sheet_rows(self) -> str:
        rows = [
            f"| [{chapter.title}](../{chapter.sheet}) | [{chapter.number}](../{chapter.page}) "
            f"| {STATED_MINUTES.search(self.read_page(chapter.sheet))[1]} |"
            for chapter in self.chapters
            if chapter.sheet in self.sheets
        ]
        return "\n".join(rows)

    def all_sheets(self) -> str:
        """Every sheet, with each heading one level down, without what stands below it for whoever teaches."""
        texts_by_name = [
            (name, rebase_links(SHEET.match(self.read_page(page))[0], page)) for page, name in self.sheets.items()
        ]
        texts = [self.layout.lay_out(text, name, "../../", is_own_page=False) for name, text in texts_by_name]
        return "\n\n".join(re.sub("^#", "##", text, flags=re.MULTILINE) for text in texts)

    def downloads(self, names: dict[str, str]) -> str:
        """Links to what `make copies` puts beside the site, for a page one folder deep."""
        if not self.copies:
            return f"`make copies` makes them: {', '.join(f'`site/downloads/{name}`' for name in names)}."
        return " · ".join(f'<a href="../downloads/{name}">{what}</a>' for name, what in names.items())

    def all_pieces(self) -> str:
        """Each piece as the first chapter that has it shows it, below its title."""
        sections = {}
        for chapter, page, text in [(each, *page) for each in self.chapters for page in each.pages.items()]:
            for fence in LIVE_FENCE.finditer(text):
                where = "The primer" if not chapter.number else f"Chapter {chapter.number}"
                link = f"[{where}: {chapter.title}]({page}#live-{fence[1]})"
                words_of_facts = facts.MARKED_WORDS.sub(r"\1", fence[0])  # the chapter's page holds them to the records
                sections.setdefault(fence[1], f"## {self.pieces.title(fence[1])}\n\n{link}\n\n{words_of_facts}")
        return "\n\n".join(sections.values())

    def all_records(self) -> str:
        """A heading and a fence for each snippet."""
        return "\n\n".join(map(self.record_section, self.reader.names()))

    def all_snippets(self) -> str:
        """A section a chapter, a line a snippet, each with its name: that is what it is asked for by."""
        paths = {name: self.reader.path(name) for name in self.reader.names()}
        return "\n\n".join(
            f"## {chapter.numbered_title}\n\n" + "\n".join(map(self.snippet_line, names))
            for chapter, names in navigation.snippets(self.chapters, paths)
        )

    def snippet_line(self, snippet: str) -> str:
        return f"- [{self.snippet_title(snippet)}](snippets/{snippet}.ipynb): `{snippet}`"

    def snippet_title(self, snippet: str) -> str:
        return self.reader.snippet(snippet).notebook().cells[0].source.splitlines()[0].removeprefix("# ")

    def record_section(self, name: str) -> str:
        title = self.snippet_title(name)
        return f"## {title}\n\n``` record\n{name}\n```"

    def lab_rows(self) -> str:
        titles = {chapter.name: chapter for chapter in self.chapters}
        return "\n".join(
            f"| [{lab.numbered_title}]({lab.page}) | {lab.chapter_link(titles)} | {lab.minutes} |" for lab in self.labs
        )

    def labs_of(self, chapter: str) -> str:
        """The line at a chapter's end; nothing where no lab belongs to it."""
        links = [f"[{lab.title}](../../labs/{lab.name}.md)" for lab in self.labs if lab.chapter == chapter]
        return f"Build it yourself: {', '.join(links)}." if links else ""

    def head_of_lab(self, name: str) -> str:
        """What stands below a lab's title: its chapter, its minutes, its commands, its notebook.

        Raises:
            PluginError: if there is no such lab.
        """
        for lab in self.labs:
            if lab.name == name:
                return lab.head({chapter.name: chapter for chapter in self.chapters})
        raise PluginError(f"<!-- lab {name} -->: scripts/labs/catalogue has no such lab")

    def all_modules(self) -> str:
        return api.module_sections(self.api_pages, self.reader.root)


def rebase_links(text: str, page: str) -> str:
    """The Markdown of a page as it has to be in another one in ``whiteboard/``: its links lead to the same pages."""

    def link(match: re.Match) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page), match[1]))
        return f"]({posixpath.relpath(target, 'whiteboard')}"

    return re.sub(r"\]\((?!\w+:|#)([^)#?\s]+)", link, text)


def in_hours(minutes: int) -> str:
    """In whole hours."""
    return f"about {round(minutes / 60)} hours"
