"""`make copies`: beside the built site, in ``site/downloads``, two PDFs of it and an archive that opens from a disk."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import sync_playwright

from scripts import browser
from scripts.browser.static_server import serve
from scripts.copies import offline, pdf
from scripts.records import ROOT

LINK = re.compile(r'href="([^":#?]+/)"')
BACK_MATTER = ("glossary/", "corrections/", "references/")  # what stands behind the chapters and their notes


def main(site: Path) -> None:
    """Raises SystemExit if there is no site."""
    if not (site / "index.html").is_file():
        sys.exit(f"{site} holds no site: `make copies` builds it first")
    downloads, site_url = site / "downloads", os.environ.get("SITE_URL", "")
    with serve(site) as url, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser.executable(), args=browser.FLAGS)
        pdfs = [
            ("handbook.pdf", handbook_paths(site), "A4"),
            ("sheets.pdf", sheet_paths(site), "A4"),
            ("sheets-letter.pdf", sheet_paths(site), "Letter"),
        ]
        for name, paths, paper in pdfs:
            start = time.monotonic()
            pdf.write(chromium, url, paths, downloads / name, site_url or url, paper)
            report(downloads / name, start)
        chromium.close()
    start = time.monotonic()
    offline.write(site, downloads / "attention-handbook.zip")
    report(downloads / "attention-handbook.zip", start)


def report(path: Path, start: float) -> None:
    size = path.stat().st_size / 1e6
    print(f"{path.name}: {size:.1f} MB in {time.monotonic() - start:.0f} s", flush=True)


def handbook_paths(site: Path) -> list[str]:
    """The first page, each chapter with its further pages in the order of the navigation, the notes, and what stands
    behind."""
    linked = dict.fromkeys(linked_pages(site, "chapters/primer/", "chapters/*", "chapters/*/*"))
    chapters = [page for page in linked if not page.endswith(("/notes/", "/sheet/"))]
    notes = [note for chapter in chapters if (site / (note := f"{chapter}notes/")).is_dir()]
    return ["", *chapters, *notes, *BACK_MATTER]


def sheet_paths(site: Path) -> list[str]:
    """The sheets in the order of the navigation."""
    return [*dict.fromkeys(linked_pages(site, "whiteboard/", "chapters/*/sheet")), "whiteboard/talk/"]


def linked_pages(site: Path, page: str, *patterns: str) -> Iterator[str]:
    """The pages like one of ``patterns``, ``chapters/*``, to which a page links, in their order."""
    html = (site / page / "index.html").read_text(encoding="utf-8")
    wanted = {folder for pattern in patterns for folder in site.resolve().glob(pattern)}
    for link in LINK.findall(html.partition("<body")[2]):  # the head names the next page
        target = (site / page / link).resolve()
        if (target / "index.html").is_file() and target in wanted:
            yield f"{target.relative_to(site.resolve()).as_posix()}/"


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site")
