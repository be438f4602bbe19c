"""Measures how fast the site is built and read; exits 1 and names what was too slow. `make speed` runs it.

Builds as `make site` does, into build/speed, and serves that below a path with its texts compressed.
"""

import gzip
import json
import math
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from scripts.speed import browser
from scripts.speed.static_server import serve

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "speed"
LOG = ROOT / "build" / "speed.log"  # of the last mkdocs
CACHE = ROOT / "build" / "cache"  # what a build keeps for the next
LIGHTHOUSE = ROOT / "scripts" / "speed" / "lighthouse" / "node_modules" / "lighthouse" / "cli" / "index.js"

CLEAN_BUILD = 8.0  # seconds
REBUILD = 3.0  # seconds, from a change of a chapter to the reload
PAGE = 200.0  # kB over the wire before a figure comes near, without the search index, which comes when all else is done
INDEX = "search/search_index.json"
SCORES = ("performance", "accessibility", "best-practices", "seo")  # 100 each, but for:
MOBILE_PERFORMANCE = 95
RUNS = 3

missed: list[str] = []


def report(what: str, value: float, unit: str, most: float = math.inf) -> None:
    """Prints a line; what is over `most` is too slow or too much."""
    bad = value > most
    limit = f"at most {most:g}" if most < math.inf else ""
    print(f"  {what:<42} {value:8.1f} {unit:<2}  {limit}{'  MISSED' if bad else ''}", flush=True)
    if bad:
        missed.append(what)


def mkdocs(*arguments: str, **environment: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "mkdocs", *arguments]
    with LOG.open("w") as log:
        return subprocess.Popen(
            command, cwd=ROOT, env=os.environ | environment, stdout=log, stderr=log, start_new_session=True
        )


def builds(url: str) -> None:
    """From nothing, and once more with what the first build kept."""
    shutil.rmtree(CACHE, ignore_errors=True)
    for what, most in [("clean build", CLEAN_BUILD), ("build with nothing changed", math.inf)]:
        shutil.rmtree(SITE)
        start = time.perf_counter()
        build = mkdocs("build", "--strict", "--site-dir", str(SITE), SITE_URL=url)
        if build.wait():
            sys.exit(f"{LOG.read_text()}\nThe site does not build.")
        report(what, time.perf_counter() - start, "s", most)


def rebuilds() -> None:
    """From the change of one file in each watched folder to the word that the open page waits for."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}/"
    environment = {"SITE_URL": url, "PYTHONDONTWRITEBYTECODE": "1"}  # bytecode would lie in folders that are watched
    server = mkdocs("serve", "--dev-addr", f"127.0.0.1:{port}", **environment)
    try:
        while "Serving on" not in LOG.read_text():
            if server.poll() is not None:
                raise ConnectionError(f"it ended with status {server.returncode}")
            time.sleep(0.1)
        for folder, pattern, most in [
            ("docs", "*.md", REBUILD),
            ("kernels", "*.py", math.inf),
            ("snippets", "*.py", math.inf),
            ("scripts/chapters", "*.py", math.inf),
        ]:
            file = max((ROOT / folder).rglob(pattern), key=lambda path: path.stat().st_size)
            text = file.read_bytes()
            try:
                seconds = reload(url, file, text + b"\n")
            finally:
                reload(url, file, text)
            report(f"rebuild after {file.relative_to(ROOT)}", seconds, "s", most)
    except OSError as error:  # it ended, or does not answer
        sys.exit(f"{LOG.read_text()}\nmkdocs serve: {error}")
    finally:
        server.terminate()
        server.wait()


def reload(url: str, file: Path, text: bytes) -> float:
    """Seconds from when ``text`` is written into the file to the word that the open page waits for."""
    with urllib.request.urlopen(url) as page:
        epoch, request = re.search(r"livereload\((\d+), (\d+)\)", page.read().decode()).groups()
    start = time.perf_counter()
    file.write_bytes(text)
    with urllib.request.urlopen(f"{url}livereload/{epoch}/{request}", timeout=60) as answer:
        changed = int(answer.read()) > int(epoch)
    if not changed:
        sys.exit(f"mkdocs serve does not watch {file.relative_to(ROOT)}")
    return time.perf_counter() - start


def bytes_over_the_wire(chromium: Browser, url: str) -> tuple[float, float]:
    """kB that a first visit to the page loads, headers included, before and after scrolling to its end; without the
    search index."""
    context = chromium.new_context()
    requests = []
    context.on("requestfinished", lambda request: requests.append(request))  # a built-in takes no event
    page = context.new_page()

    def loaded() -> float:
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(500)
        sizes = [request.sizes() for request in requests if not request.url.endswith(INDEX)]
        return sum(size["responseBodySize"] + size["responseHeadersSize"] for size in sizes) / 1000

    page.goto(url)
    before = loaded()
    for _ in range(page.evaluate("Math.ceil(document.body.scrollHeight / 400)")):
        page.mouse.wheel(0, 400)
        page.wait_for_timeout(50)
    after = loaded()
    context.close()
    return before, after


def lighthouse(url: str, name: str, form: str) -> None:
    """Prints the median score of each category, and which audits kept one from what it has to be."""
    node = shutil.which("node", path=f"{os.environ['PATH']}{os.pathsep}{ROOT / '.venv' / 'bin'}")
    flags = " ".join(["--headless=new", *browser.FLAGS])
    command = [node, LIGHTHOUSE, url, "--quiet", "--output=json", f"--chrome-flags={flags}"]
    command += [f"--only-categories={','.join(SCORES)}"]
    if form == "desktop":
        command += ["--preset=desktop"]
    runs = []
    for _ in range(RUNS):
        environment = os.environ | {"CHROME_PATH": browser.executable()}
        result = subprocess.run(command, capture_output=True, text=True, env=environment)
        if result.returncode:
            sys.exit(f"{result.stderr}\nLighthouse failed on {url}")
        runs.append(json.loads(result.stdout))
    medians, bad = [], []
    for category in SCORES:
        median = statistics.median(100 * (run["categories"][category]["score"] or 0) for run in runs)
        medians.append(median)
        if median < (MOBILE_PERFORMANCE if (category, form) == ("performance", "mobile") else 100):
            audits = [audit["id"] for audit in runs[-1]["categories"][category]["auditRefs"] if audit["weight"]]
            low = [audit for audit in audits if (runs[-1]["audits"][audit]["score"] or 0) < 0.9]
            low = [audit for audit in low if runs[-1]["audits"][audit]["scoreDisplayMode"] in ("binary", "numeric")]
            bad.append(f"{name} {form} {category}: {', '.join(low)}")
    print(f"  {name:<42} {form:<8}", *(f"{score:6.0f}" for score in medians), " MISSED" if bad else "", flush=True)
    missed.extend(bad)


def pages() -> list[str]:
    """The address of every page, from the site's root."""
    found = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html") if path.name != "404.html")
    return [path.removesuffix("index.html") for path in found]


def main() -> int:
    SITE.mkdir(parents=True, exist_ok=True)
    with serve(SITE) as url:
        print("Time to build")
        builds(url)
        rebuilds()
        print("Over the wire, first visit: on arrival, then after scrolling to the end")
        report("the search index, for the whole site", len(gzip.compress((SITE / INDEX).read_bytes())) / 1000, "kB")
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=browser.executable(), args=browser.FLAGS)
            for path in pages():
                before, after = bytes_over_the_wire(chromium, url + path)
                report(f"{path or 'home'}", before, "kB", PAGE)
                report(f"{path or 'home'} scrolled", after, "kB")
        print(f"Lighthouse, median of {RUNS}: {', '.join(SCORES)}")
        for path in pages():
            for form in ("mobile", "desktop"):
                lighthouse(url + path, path or "home", form)
    print("\n".join(["", "Missed:", *missed]) if missed else "\nFast enough.")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
