"""What MkDocs calls while it builds the site.  Each hook calls plain functions of scripts/site/, so that another
generator could call them too.  `mkdocs serve` reads this file once: a change here wants a restart."""

from __future__ import annotations

import logging
import sys

from mkdocs.exceptions import PluginError

log = logging.getLogger("mkdocs.hooks.handbook")
serving = False


def on_startup(command, dirty):
    global serving
    serving = command == "serve"


def on_files(files, config):
    from scripts.records import RecordError
    from scripts.site import ledger, snippet_pages

    ledger.serving = serving
    try:
        for file in snippet_pages.files(config):
            files.append(file)
    except RecordError as error:
        raise PluginError(str(error)) from error
    return files


def on_page_markdown(markdown, page, config, files):
    from scripts.site import glossary, ledger, measurements, sheets

    markdown = sheets.with_every_sheet(measurements.with_every_record(markdown))
    ledger.current = ledger.Page(url=page.url, text=markdown)
    explained = page.file.src_uri.startswith(("chapters/", "whiteboard/"))
    return f"{markdown}\n\n{glossary.abbreviations()}" if explained else markdown


def on_page_content(html, page, config, files):
    from scripts.site import drawings, ledger

    ledger.current.check()
    return drawings.inline(html, page.file.src_uri)


def on_post_page(output, page, config):
    from mkdocs.utils import get_relative_url

    from scripts.site import maths

    return maths.render(page.file.src_uri, output, get_relative_url("vendor/katex.min.css", page.url))


def on_post_build(config):
    from scripts.site import assets, ledger, snippet_pages

    assets.copy(config.site_dir)
    snippet_pages.copy_downloads(config.site_dir)
    for name in sorted(ledger.awaiting):
        log.info("%s awaits its run on a GPU: its outputs are left out. To record it: make record", name)
    forget_modules()


def on_build_error(error):
    forget_modules()


def forget_modules():
    """`mkdocs serve` builds again in this process: its next build must read today's scripts and kernels."""
    for name in [name for name in sys.modules if name.split(".")[0] in ("scripts", "kernels")]:
        del sys.modules[name]
