"""Writes a page at each old address of notes and sheets, which leads to where they are now."""

from pathlib import Path

from markupsafe import Markup

from scripts.site.pages.navigation import Chapter

PAGE = Markup(
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title><meta name="robots" '
    'content="noindex"><link rel="canonical" href="{to}"><meta http-equiv="refresh" content="0; url={to}">'
    '<script>location.replace("{to}" + location.search + location.hash)</script></head>'
    '<body><p>This page has moved: <a href="{to}">{title}</a>.</p></body></html>\n'
)


def write(site: Path, chapters: list[Chapter]) -> None:
    for chapter in chapters:
        for old, page in (("notes", chapter.notes), ("whiteboard", chapter.sheet)):
            address = page.removesuffix(".md")
            if (site / address).is_dir():
                folder = site / old / chapter.name
                folder.mkdir(parents=True, exist_ok=True)
                html = PAGE.format(title=chapter.title, to=f"../../{address}/")
                (folder / "index.html").write_text(html, encoding="utf-8")
