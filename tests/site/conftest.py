"""Fixtures: the site, built once without torch and served below a path, and a browser that opens its pages."""

import ast
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from filelock import FileLock
from playwright.sync_api import BrowserType, Error, Page, TimeoutError, sync_playwright

from scripts import records
from scripts.browser import FLAGS, executable
from scripts.browser.static_server import serve
from scripts.records import ROOT
from scripts.records.reader import record_path
from scripts.records.record_file import write
from tests.site.small_site import write_files

BASE = "http://127.0.0.1/handbook/"
CHAPTER = "chapters/three-matmuls/"
SCHEMES = ["light", "dark"]
MATERIAL_SCHEMES = {"light": "default", "dark": "slate"}  # what Material calls them
CURRENT_SCHEME = "document.body.dataset.mdColorScheme"
RERUN = pytest.StashKey[bool]()

WITHOUT_TORCH = """
import runpy, sys
sys.modules.update(torch=None, triton=None)  # importing either raises
sys.argv[0] = "mkdocs"
runpy.run_module("mkdocs", run_name="__main__")
"""


def mkdocs_process_options(*arguments: str, root: Path = ROOT, **environment: str) -> dict:
    """The arguments of ``subprocess`` that start ``mkdocs``."""
    return {
        "args": [sys.executable, "-c", WITHOUT_TORCH, *arguments],
        "cwd": root,
        "env": os.environ | {"NO_MKDOCS_2_WARNING": "1"} | environment,
        "text": True,
    }


def mkdocs(*arguments: str, root: Path = ROOT, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(**mkdocs_process_options(*arguments, root=root, **environment), capture_output=True)


NEWEST = records.Reader(preview=True)
EARLIER = records.Reader(preview=True, earlier=True)  # for pages that begin with `numbers: unchecked`


def never_ran(name: str) -> bool:
    """Whether a snippet has never run: then its pages say so, and nothing of it can be shown or drawn."""
    return isinstance(NEWEST.inspect(name).fault, records.Missing)


class SiteCopy:
    """What the site is built from, in a folder of its own, where every record is of today's source."""

    def __init__(self, root: Path):
        self.root = root
        for name in ("docs", "kernels", "scripts", "snippets", "tests"):
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
        for name in ("mkdocs.yml", "LICENSE", "pyproject.toml"):
            shutil.copy(ROOT / name, root)
        (root / "node_modules").symlink_to(ROOT / "node_modules")
        reader = records.Reader(root)
        for name in reader.names():
            self.make_current(name, reader)
        never_ran = (name for name in reader.names() if not reader.inspect(name).record)
        (root / "snippets/behind.toml").write_text("".join(f'{name} = "No GPU yet."\n' for name in never_ran))

    def make_current(self, name: str, reader: records.Reader) -> None:
        """Rewrites a stale record as if its run had been of today's source."""
        if not isinstance(reader.inspect(name).fault, records.Stale):
            return
        path, code = record_path(reader.path(name)), reader.snippet(name).code
        notebook = nbformat.read(path, as_version=4)
        ran, today = notebook.metadata[records.METADATA], reader.digests(name)
        modules = {each.partition(":")[0] for each in ran["executed"]} | (today.keys() - ran["digest"].keys())
        executed = [function for module in modules for function in self.functions(module)]  # the new ones ran, too
        ran |= {"digest": today, "executed": sorted({*ran["executed"], *executed})}
        for cell in notebook.cells:
            cell.source = code.get(cell.id, cell.source)
        write(path, notebook)

    def functions(self, module: str) -> list[str]:
        """Returns the functions of a module and of its classes, ``module:qualname``; none if it's gone."""
        path = self.root / f"{module.replace('.', '/')}.py"
        found = ast.parse(path.read_text()).body if path.exists() else []
        found = [(node.name, node) for node in found if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        found += [(f"{name}.{each.name}", each) for name, node in found for each in node.body if hasattr(each, "name")]
        return [f"{module}:{name}" for name, node in found if isinstance(node, ast.FunctionDef)]

    def edit(self, path: str, change: Callable[[str], str]) -> str:
        """Changes a file atomically, so that a watcher never reads half of it; returns the old text."""
        text = (self.root / path).read_text()
        assert change(text) != text, f"{path} does not hold what was to be changed"
        beside = self.root / "edited"
        beside.write_text(change(text))
        beside.replace(self.root / path)
        return text


@pytest.fixture(scope="session")
def site(tmp_path_factory, worker_id) -> Path:
    """Built once a run: the process that comes first builds, and the others wait for it.

    It is a preview, so that a stale record fails the test of that record and not every test of the site.
    """
    worker_folder = tmp_path_factory.getbasetemp()
    shared = worker_folder if worker_id == "master" else worker_folder.parent
    folder = shared / "site"
    with FileLock(shared / "site.lock"):
        if not folder.exists():
            environment = {"SITE_URL": BASE, "PREVIEW": "1"}
            build = mkdocs("build", "--strict", "--site-dir", str(worker_folder / "built"), **environment)
            assert build.returncode == 0, build.stderr
            (worker_folder / "built").rename(folder)
    return folder


@pytest.fixture(scope="session")
def small_site(tmp_path_factory) -> SimpleNamespace:
    """The small site, as it's published: ``site``, its ``root``, the ``texts`` that are on it, what the build said."""
    root = tmp_path_factory.mktemp("small")
    texts = write_files(root)
    build = mkdocs("build", "--strict", root=root, SITE_URL=BASE, REPO_URL="https://github.com/a/b.git")
    assert build.returncode == 0, build.stderr
    return SimpleNamespace(site=root / "site", root=root, texts=texts, output=build.stderr)


@pytest.fixture(scope="session")
def pages(site) -> list[str]:
    """The address of every page that hasn't moved, relative to the site's root: "", "chapters/three-matmuls/" …"""
    paths = [path for path in site.rglob("index.html") if 'http-equiv="refresh"' not in path.read_text()[:400]]
    names = sorted(path.parent.relative_to(site).as_posix() for path in paths)
    return ["" if name == "." else f"{name}/" for name in names]


WALKS = [
    pytest.param("some", marks=pytest.mark.timeout(1200)),
    pytest.param("all", marks=[pytest.mark.every_page, pytest.mark.timeout(3600)]),
]


@pytest.fixture(params=WALKS)
def sample_pages(request, site, pages) -> list[str]:
    """What a browser goes through: each page of its own kind, and the longest of each folder.

    All pages of a folder come from one template. `make test-all` goes through them all.
    """
    if request.param == "all":
        return pages
    folders = {}
    for page in pages:
        kind = re.sub("^chapters/.+?/(?=.)", "chapters/*/", page)  # all notes are alike, and so are all sheets
        folders.setdefault(kind if "*" in kind else page.rpartition("/")[0].rpartition("/")[0], []).append(page)
    single_pages = folders.pop("")
    longest = [max(group, key=lambda page: (site / page / "index.html").stat().st_size) for group in folders.values()]
    return single_pages + longest


@pytest.fixture
def browsed_pages(sample_pages, pages) -> list[str]:
    """The same, and every chapter."""
    return [page for page in pages if page in sample_pages or re.fullmatch("chapters/[^/]+/", page)]


@pytest.fixture(scope="session")
def url(site):
    with serve(site, prefix="/handbook/") as address:
        yield address


class Chromium:
    """The browser that a process's tests share; the errors and requests to other hosts since the test began."""

    def __init__(self, browser_type: BrowserType):
        self.browser_type = browser_type
        self.launch()

    def launch(self) -> None:
        self.browser = self.browser_type.launch(executable_path=executable(), args=FLAGS)
        processes = self.browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
        self.process = next(process["id"] for process in processes if process["type"] == "browser")
        self.errors, self.foreign_requests = [], []
        self.tabs: dict[int, Page] = {}  # by width: see `Visit.reuse_tab`

    def is_drawing(self) -> bool:
        """Whether every open page comes to its third frame within seconds."""
        third = "(window.counted = (window.counted ?? 0) + 1) > 2 && !(window.counted = 0)"
        try:
            for context in self.browser.contexts:
                for page in context.pages:
                    page.wait_for_function(third, timeout=5000)
        except Error:
            return False
        return True

    def kill(self) -> None:
        """Ends the browser at once: Playwright would wait half a minute for it to close by itself."""
        with suppress(ProcessLookupError):
            os.killpg(self.process, signal.SIGKILL)

    def restart(self) -> None:
        self.kill()
        self.browser.close()
        self.launch()


@contextmanager
def kill_browser_after(chromium: Chromium, seconds: float) -> Iterator[threading.Event]:
    """Kills a browser that doesn't answer in time, so that what waits for it fails; yields whether it was killed."""
    was_killed = threading.Event()

    def kill() -> None:
        was_killed.set()
        chromium.kill()

    timer = threading.Timer(seconds, kill)
    timer.start()
    try:
        yield was_killed
    finally:
        timer.cancel()


@pytest.fixture(scope="session")
def chromium():
    with sync_playwright() as playwright:
        started = Chromium(playwright.chromium)
        yield started
        started.browser.close()


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """Repeats a test once, in a new browser, if it failed because the browser had stopped drawing.

    Without a GPU, Chromium stops drawing now and then, and whatever waits for a frame would wait forever. A browser
    that hasn't answered for half of the test's time is killed.
    """
    chromium = pyfuncitem.funcargs.get("chromium")
    if chromium is None or pyfuncitem.stash.get(RERUN, False):
        return (yield)
    mark = pyfuncitem.get_closest_marker("timeout")
    limit = mark.args[0] if mark else float(pyfuncitem.config.getini("timeout"))
    with kill_browser_after(chromium, limit / 2) as was_killed:
        try:
            return (yield)
        except Error as error:
            if not was_killed.is_set() and not (isinstance(error, TimeoutError) and not chromium.is_drawing()):
                raise
    pyfuncitem.stash[RERUN] = True
    warnings.warn(f"the browser drew no frame: it was replaced, and {pyfuncitem.name} begun anew", stacklevel=1)
    chromium.restart()
    return pyfuncitem.ihook.pytest_pyfunc_call(pyfuncitem=pyfuncitem)


class Visit:
    """Opens pages of the site, each as a reader who comes for the first time; ``errors``: what they logged."""

    def __init__(self, chromium: Chromium, url: str):
        self.chromium, self.url = chromium, url

    @property
    def errors(self) -> list[str]:
        return self.chromium.errors

    def __call__(self, path: str, scheme: str = "light", width: int = 1280, routes: dict | None = None) -> Page:
        """``routes``: what answers a request in place of the server, by the pattern of its address."""
        page = self.tab(scheme, width)
        for pattern, handler in (routes or {}).items():
            page.route(pattern, handler)
        return self.go(page, path)

    def go_through(self, paths: list[str], scheme: str = "light", width: int = 1280) -> Iterator[tuple[str, Page]]:
        """One page after the other in one tab: its process has read the site's scripts, which takes half the time."""
        page = self.tab(scheme, width)
        for path in paths:
            yield path, self.go(page, path)

    def reuse_tab(self, path: str, width: int) -> Page:
        """The same in a tab that one test leaves to the next, emptied: half the time of a new one."""
        tabs = self.chromium.tabs
        if width not in tabs:
            tabs[width] = self.tab("light", width)
        return self.go(tabs[width], path)

    def tab(self, scheme: str, width: int, touch: bool = False) -> Page:
        chromium, url = self.chromium, self.url
        size = {"width": width, "height": 900}
        context = chromium.browser.new_context(viewport=size, color_scheme=scheme, has_touch=touch)
        page = context.new_page()
        page.on(
            "console",
            lambda message: chromium.errors.append(message.text) if message.type in ("error", "warning") else None,
        )
        page.on("pageerror", lambda error: chromium.errors.append(str(error)))
        page.on(
            "request",
            lambda request: request.url.startswith((url, "data:")) or chromium.foreign_requests.append(request.url),
        )
        return page

    def go(self, page: Page, path: str) -> Page:
        assert page.goto(self.url + path).ok
        page.wait_for_selector("[data-opens]", state="attached")  # scripts run when the page has been shown
        page.evaluate("new Promise((started) => setTimeout(started))")
        return page


@pytest.fixture
def visit(chromium, url):
    """Opens pages; afterwards no error may have been logged and no other host asked."""
    chromium.errors.clear()
    chromium.foreign_requests.clear()
    yield Visit(chromium, url)
    for page in chromium.tabs.values():
        if page.url != "about:blank":
            page.evaluate("localStorage.clear(), sessionStorage.clear()")
            page.goto("about:blank")
    for context in chromium.browser.contexts:
        if context not in [page.context for page in chromium.tabs.values()]:
            context.close()
    assert not chromium.errors and not chromium.foreign_requests


def scroll_through(page) -> None:
    """Scrolls to the end of a page in steps that skip no figure; returns when all are drawn and pieces are ready.

    Playwright asks at every frame, and no longer than its timeout: where frames stop, this does.
    """
    if not page.query_selector(".hb-plot, live-piece, details.question"):
        return
    page.evaluate("window.next = 0")
    page.wait_for_function(
        """() => {
            scrollTo(0, window.next);
            window.next += 800;
            return window.next >= document.documentElement.scrollHeight;
        }"""
    )
    page.wait_for_function(
        """[...document.querySelectorAll('.hb-plot')].every(
            (plot) => plot.querySelector('.main-svg') || plot.closest('details:not([open])')
        )"""
    )
    for piece in page.locator("live-piece").all():
        piece.scroll_into_view_if_needed()  # one that was passed before its module was there waits to be near again
        piece.and_(page.locator("[ready]")).wait_for()
    page.wait_for_function("!document.querySelector('ul + details.question')")  # then they are in their fieldset
