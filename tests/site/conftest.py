"""The site, built once, below a path, on a machine that seems to have no torch."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock
from playwright.sync_api import sync_playwright

from scripts import browser as chosen
from scripts import records
from scripts.records import ROOT
from scripts.static_server import serve

CHAPTER = "chapters/three-matmuls/"
SCHEMES = ["light", "dark"]
NAMES = {"light": "default", "dark": "slate"}  # what Material calls them
SCHEME = "document.body.dataset.mdColorScheme"

WITHOUT_TORCH = """
import runpy, sys
sys.modules.update(torch=None, triton=None)  # importing either raises
sys.argv[0] = "mkdocs"
runpy.run_module("mkdocs", run_name="__main__")
"""


def command(*arguments: str, root: Path = ROOT, **environment: str) -> dict:
    """How ``mkdocs`` is called, for ``subprocess``."""
    return {
        "args": [sys.executable, "-c", WITHOUT_TORCH, *arguments],
        "cwd": root,
        "env": os.environ | {"NO_MKDOCS_2_WARNING": "1"} | environment,
        "text": True,
    }


def mkdocs(*arguments: str, root: Path = ROOT, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(**command(*arguments, root=root, **environment), capture_output=True)


def awaits(name: str) -> bool:
    """Whether a snippet awaits its run: then its pages say so, and nothing of it can be shown or drawn."""
    try:
        records.read(name)
    except records.Missing:
        return True
    except records.Stale:
        return False  # the build stops, and says why
    return False


class Copy:
    """What the site is built from, in a folder of its own."""

    def __init__(self, root: Path):
        self.root = root
        for name in ("docs", "kernels", "scripts", "snippets", "tests"):
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
        for name in ("mkdocs.yml", "LICENSE"):
            shutil.copy(ROOT / name, root)
        (root / "node_modules").symlink_to(ROOT / "node_modules")

    def edit(self, path: str, change: Callable[[str], str]) -> str:
        """Changes a file all at once, so that who watches never reads half of it; returns what it was."""
        text = (self.root / path).read_text()
        assert change(text) != text, f"{path} does not hold what was to be changed"
        beside = self.root / "edited"
        beside.write_text(change(text))
        beside.replace(self.root / path)
        return text

    def build(self, **environment: str) -> subprocess.CompletedProcess:
        """The strict build, into ``site/`` of the copy."""
        return mkdocs("build", "--strict", root=self.root, SITE_URL="http://127.0.0.1/handbook/", **environment)


@pytest.fixture(scope="session")
def site(tmp_path_factory, worker_id) -> Path:
    """Built once a run: the process that comes first builds, and the others wait for it.

    It is a preview, so that a stale record fails the test of that record and not every test of the site.
    """
    own = tmp_path_factory.getbasetemp()
    shared = own if worker_id == "master" else own.parent
    folder = shared / "site"
    with FileLock(shared / "site.lock"):
        if not folder.exists():
            environment = {"SITE_URL": "http://127.0.0.1/handbook/", "PREVIEW": "1"}
            built = mkdocs("build", "--strict", "--site-dir", str(own / "built"), **environment)
            assert built.returncode == 0, built.stderr
            (own / "built").rename(folder)
    return folder


@pytest.fixture(scope="session")
def pages(site) -> list[str]:
    """The address of every page, relative to the site's root: "", "chapters/three-matmuls/" and so on."""
    found = sorted(path.parent.relative_to(site).as_posix() for path in site.rglob("index.html"))
    return ["" if name == "." else f"{name}/" for name in found]


WALKS = ["some", pytest.param("all", marks=[pytest.mark.every_page, pytest.mark.timeout(3600)])]


@pytest.fixture(params=WALKS)
def one_of_each_kind(request, site, pages) -> list[str]:
    """What a browser goes through: each page of its own kind, and the longest of each folder.

    All pages of a folder come from one template. `make test-all` goes through them all.
    """
    if request.param == "all":
        return pages
    folders = {}
    for page in pages:
        folders.setdefault(page.rpartition("/")[0].rpartition("/")[0], []).append(page)
    of_their_own = folders.pop("")
    longest = [max(alike, key=lambda page: (site / page / "index.html").stat().st_size) for alike in folders.values()]
    return of_their_own + longest


@pytest.fixture
def walked(one_of_each_kind, pages) -> list[str]:
    """The same, and every chapter."""
    return [page for page in pages if page in one_of_each_kind or page.startswith("chapters/")]


@pytest.fixture(scope="session")
def url(site):
    with serve(site, prefix="/handbook/") as address:
        yield address


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chosen.executable(), args=chosen.FLAGS)
        yield running
        running.close()


@pytest.fixture
def copy(tmp_path) -> Copy:
    return Copy(tmp_path / "copy")


@pytest.fixture
def visit(browser, url):
    """Opens a page of the site; afterwards no error may have been logged and no other host asked.

    ``routes``: what answers a request in place of the server, by the pattern of its address.
    """
    contexts, errors, strangers = [], [], []

    def open_page(path: str, scheme: str = "light", width: int = 1280, height: int = 900, routes: dict | None = None):
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on(
            "console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on(
            "request", lambda request: None if request.url.startswith((url, "data:")) else strangers.append(request.url)
        )
        for pattern, handler in (routes or {}).items():
            page.route(pattern, handler)
        assert page.goto(url + path).ok
        page.wait_for_selector("[data-opens]", state="attached")  # scripts run when the page has been shown
        page.evaluate("new Promise((started) => setTimeout(started))")
        return page

    open_page.errors = errors
    yield open_page
    for context in contexts:
        context.close()
    assert not errors and not strangers


def scroll_through(page) -> None:
    """To the end of a page, by steps that pass no figure over; back when all are drawn and pieces are ready."""
    if not page.query_selector(".hb-plot, live-piece, details.question"):
        return
    page.evaluate(
        """async () => {
            for (let y = 0; y < document.documentElement.scrollHeight; y += 800) {
                scrollTo(0, y);
                await new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)));
            }
        }"""
    )
    page.wait_for_function(
        "[...document.querySelectorAll('.hb-plot')].every((plot) => plot.querySelector('.main-svg'))"
    )
    for piece in page.locator("live-piece").all():
        piece.scroll_into_view_if_needed()  # one that was passed before its module was there waits to be near again
        piece.and_(page.locator("[ready]")).wait_for()
    page.wait_for_function("!document.querySelector('ul + details.question')")  # then they are in their fieldset
