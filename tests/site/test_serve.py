"""`make serve` on a copy of the site: what changes is shown at the next reload, and what is stale is marked."""

import os
import re
import signal
import socket
import subprocess
import time
import urllib.request
from contextlib import contextmanager

import pytest
from bs4 import BeautifulSoup

from tests.site.conftest import Copy, awaits, command

CHAPTER, NOTE = "chapters/three-matmuls/", "notes/three-matmuls/"
READY = PATIENCE = 60  # seconds: a build takes some ten, and twice that while other tests run


class Server:
    """``mkdocs serve``, in a process group of its own."""

    def __init__(self, copy: Copy, log):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{probe.getsockname()[1]}"
        self.copy, self.log, self.url = copy, log, f"http://{address}/"
        call = command("serve", "--dev-addr", address, root=copy.root, SITE_URL=self.url, PREVIEW="1")
        self.process = subprocess.Popen(**call, stdout=log, stderr=log, start_new_session=True)

    def stop(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait(timeout=10)

    def said(self) -> str:
        self.log.seek(0)
        return self.log.read()

    def wait(self) -> None:
        """Until it serves."""
        end = time.monotonic() + READY
        while "Serving on" not in self.said():
            assert self.process.poll() is None and time.monotonic() < end, self.said()
            time.sleep(0.05)

    def get(self, path: str, end: float) -> str:
        with urllib.request.urlopen(self.url + path, timeout=max(0.1, end - time.monotonic())) as answer:
            return answer.read().decode()

    def shows(self, what, page: str = NOTE) -> BeautifulSoup:
        """A page's article as soon as ``what`` holds of it: asked again at each reload, as a browser does."""
        end = time.monotonic() + PATIENCE
        try:
            while True:
                html = self.get(page, end)
                article = BeautifulSoup(html, "html.parser").article
                if what(article):
                    assert self.process.poll() is None, self.said()
                    return article
                epoch, request = re.search(r"livereload\((\d+), (\d+)\)", html).groups()
                self.get(f"livereload/{epoch}/{request}", end)
        except OSError as error:  # too late, or gone
            pytest.fail(f"the page did not come to show it ({error}); the server said:\n{self.said()}")

    @contextmanager
    def changed(self, path: str, change):
        before = self.copy.edit(path, change)
        try:
            yield
        finally:
            self.copy.edit(path, lambda text: before)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    with (folder / "log").open("w+") as log:
        serving = Server(Copy(folder / "copy"), log)
        try:
            serving.wait()
            yield serving
        finally:
            serving.stop()


def outputs(article, name: str) -> list[str]:
    return [str(block) for block in article.find_all(attrs={"data-record": re.compile(f"^{name}:")})]


def stale(article, name: str) -> list[str]:
    """Why the outputs of a snippet are marked as those of older source."""
    faults = [mark["title"] for mark in article.select("p.hb-stale")]
    return [fault for fault in faults if f"the record of {name} is stale" in fault]


def plot(article, name: str) -> str:
    found = article.find(id=f"figure-{name}").find(class_="hb-plot")
    return found.script.string if found else ""


def needs(*names: str):
    missing = [name for name in names if awaits(name)]
    return pytest.mark.skipif(bool(missing), reason=f"awaits its run: {', '.join(missing)}")


@needs("three_matmuls", "scaling")
def test_what_is_changed_is_shown_at_the_next_reload_until_it_is_restored(server):
    """A kernel, a figure and a cell at once, and all of it restored at once, since each change is a build."""
    before = server.shows(lambda article: not stale(article, "three_matmuls"))
    assert outputs(before, "three_matmuls") and outputs(before, "scaling") and not stale(before, "scaling")
    kernel = server.changed(
        "kernels/reference.py", lambda text: text.replace("return shares @ v", "return shares @ v * 1")
    )
    figure = server.changed(
        "scripts/figures/three_matmuls/scaling.py", lambda text: text.replace('query", row', 'question", row')
    )
    cell = server.changed(
        "snippets/three_matmuls/scaling.py", lambda text: text.replace("manual_seed(0)", "manual_seed(1)", 1)
    )
    with kernel, figure, cell:
        marked = server.shows(lambda article: stale(article, "three_matmuls") and stale(article, "scaling"))
        assert all("kernels.reference:attention changed" in fault for fault in stale(marked, "three_matmuls"))
        assert not any("kernels.reference" in fault for fault in stale(marked, "scaling"))
        for name in ("three_matmuls", "scaling"):
            assert outputs(marked, name) == outputs(before, name)
        assert "return shares @ v * 1" in marked.get_text()
        assert "manual_seed(1)" in marked.find(attrs={"data-quote": "scaling:measure"}).get_text()
        chapter = server.shows(lambda article: 'of a question"' in plot(article, "scaling"), CHAPTER)
        assert chapter.find(id="figure-scaling").find(class_="hb-stale")
    after = server.shows(lambda article: not stale(article, "scaling") and not stale(article, "three_matmuls"))
    assert str(after) == str(before)
    server.shows(lambda article: 'of a query"' in plot(article, "scaling"), CHAPTER)
