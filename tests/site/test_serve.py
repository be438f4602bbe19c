"""`make serve` on a copy of the site: a reload shows what changed, marks what is stale, or says why a build stopped."""

import html
import os
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest
from bs4 import BeautifulSoup

from tests.site.conftest import SiteCopy, mkdocs_process_options

CHAPTER, NOTE = "chapters/online-softmax/", "chapters/online-softmax/notes/"
READY = PATIENCE = 120  # seconds: a build takes some ten, and many times that on a busy machine


class Server:
    """``mkdocs serve``, in a process group of its own."""

    def __init__(self, copy: SiteCopy, log):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{probe.getsockname()[1]}"
        self.copy, self.log, self.url = copy, log, f"http://{address}/"
        call = mkdocs_process_options("serve", "--dev-addr", address, root=copy.root, SITE_URL=self.url, PREVIEW="1")
        self.process = subprocess.Popen(**call, stdout=log, stderr=log, start_new_session=True)

    def stop(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait(timeout=10)

    def output(self) -> str:
        self.log.seek(0)
        return self.log.read()

    def wait_until_serving(self) -> None:
        """Returns once it serves."""
        end = time.monotonic() + READY
        while "Serving on" not in self.output():
            assert self.process.poll() is None and time.monotonic() < end, self.output()
            time.sleep(0.05)

    def get(self, path: str, end: float) -> str:
        with urllib.request.urlopen(self.url + path, timeout=max(0.1, end - time.monotonic())) as answer:
            return answer.read().decode()

    def wait_for_article(self, condition, page: str = NOTE) -> BeautifulSoup:
        """Returns a page's article as soon as it meets the condition: asks again at each reload, as a browser does."""
        end = time.monotonic() + PATIENCE
        try:
            while True:
                html = self.get(page, end)
                article = BeautifulSoup(html, "html.parser").article
                if condition(article):
                    assert self.process.poll() is None, self.output()
                    return article
                epoch, request = re.search(r"livereload\((\d+), (\d+)\)", html).groups()
                self.get(f"livereload/{epoch}/{request}", end)
        except OSError as error:  # too late, or gone
            pytest.fail(f"the page did not come to show it ({error}); the server said:\n{self.output()}")

    @contextmanager
    def edited(self, path: str, change):
        before = self.copy.edit(path, change)
        try:
            yield
        finally:
            self.copy.edit(path, lambda text: before)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    with (folder / "log").open("w+") as log:
        serving = Server(SiteCopy(folder / "copy"), log)
        try:
            serving.wait_until_serving()
            yield serving
        finally:
            serving.stop()


def outputs(article, name: str) -> list[str]:
    return [str(block) for block in article.find_all(attrs={"data-record": re.compile(f"^{name}:")})]


def marks(article, quoted: str) -> list[str]:
    """What the marks in the box of a quotation say."""
    box = article.find(attrs={"data-quote": quoted})
    return [mark.get_text() for mark in (box.find_parent(class_="hb-run") or box).select("p.hb-stale")]


def plot(article, name: str) -> str:
    return article.find(id=f"figure-{name}").find(class_="hb-plot").script.string


CHANGED = "this code has changed since the run shown here"


def test_what_is_changed_is_shown_at_the_next_reload_until_it_is_restored(server):
    """A kernel, a figure and a cell at once, and all of it restored at once, since each change is a build."""
    quoted_function, cell = "kernels.softmax:exp_below", "softmax_order:moves"
    before = server.wait_for_article(lambda article: not article.select(".hb-stale"))
    assert outputs(before, "softmax_order") and outputs(before, "overflow")
    kernel = server.edited(
        "kernels/softmax.py", lambda text: text.replace("below(score: Tensor", "below(score: object")
    )
    figure = server.edited(
        "scripts/chapters/online_softmax/figures/rescale_factor.py",
        lambda text: text.replace('"title": "block"', '"title": "b"'),
    )
    script = server.edited(
        "snippets/online_softmax/softmax_order.py", lambda text: text.replace("(2, 4, 8, 16", "(2, 4, 16")
    )
    with kernel, figure, script:
        marked = server.wait_for_article(lambda article: marks(article, cell))
        (changed, earlier) = marks(marked, cell)
        assert changed == CHANGED and earlier.startswith("an earlier run, of commit ")
        assert marks(marked, "softmax_order:ways") == [earlier]
        (other,) = marks(marked, "overflow:where")
        assert other.startswith("an earlier run, of commit ")
        assert marks(marked, quoted_function) == [CHANGED]
        assert '"text":"b"' in plot(marked, "rescale_factor")
        assert "(2, 4, 16" in marked.find(attrs={"data-quote": cell}).get_text()
        for name in ("softmax_order", "overflow"):
            assert outputs(marked, name) == outputs(before, name)
    after = server.wait_for_article(lambda article: not article.select(".hb-stale"))
    assert str(after) == str(before)


@pytest.mark.parametrize(
    "mistake, messages",
    [
        ("[A link](nowhere.md)", ["contains a link 'nowhere.md'"]),
        ("[A link](nowhere.md)", ["contains a link 'nowhere.md'"]),  # made again, it's said again
        ("[Two]{fact=none}\n\n2 · 2 = 5", ["there is no fact none", "2 · 2 is 4, not 5"]),
    ],
)
def test_the_browser_is_told_why_a_build_stopped_and_gets_its_page_back(server, mistake, messages):
    server.wait_for_article(lambda article: article.h1)
    with server.edited("docs/chapters/online-softmax/notes.md", lambda text: f"{text}\n{mistake}\n"):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                server.get(NOTE, end)
                time.sleep(0.2)
            except urllib.error.HTTPError as stopped:
                page = html.unescape(stopped.read().decode())
                assert all(words in page for words in messages), page
                break
        else:
            pytest.fail(f"the page was shown all the same; the server said:\n{server.output()}")
        # A page of this kind asks again every two seconds.
    while time.monotonic() < end:
        try:
            assert "nowhere.md" not in server.get(NOTE, end)
            return
        except urllib.error.HTTPError:
            time.sleep(0.2)
    pytest.fail(f"the page did not come back; the server said:\n{server.output()}")
