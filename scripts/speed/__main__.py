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

MAX_CLEAN_BUILD_SECONDS = 8.0
MAX_REBUILD_SECONDS = 3.0  # from a change of a chapter to the reload
MAX_PAGE_KB = 200.0  # over the wire before a figure comes near, without the search index, which comes after all else
SEARCH_INDEX = "search/search_index.json"
SCORES = ("performance", "accessibility", "best-practices", "seo")  # 100 each, but for:
MOBILE_PERFORMANCE = 95
RUNS = 3

missed_limits: list[str] = []


def report(what: str, value: float, unit: str, limit: float = math.inf) -> None:
    """Prints a line; what is over the limit is too slow or too much."""
    is_missed = value > limit
    limit_text = f"at most {limit:g}" if limit < math.inf else ""
    print(f"  {what:<42} {value:8.1f} {unit:<2}  {limit_text}{'  MISSED' if is_missed else ''}", flush=True)
    if is_missed:
        missed_limits.append(what)


def mkdocs(*arguments: str, **environment: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "mkdocs", *arguments]
    with LOG.open("w") as log:
        return subprocess.Popen(
            command, cwd=ROOT, env=os.environ | environment, stdout=log, stderr=log, start_new_session=True
        )


def measure_builds(url: str) -> None:
    """From nothing, and once more with what the first build kept."""
    shutil.rmtree(CACHE, ignore_errors=True)
    for label, limit in [("clean build", MAX_CLEAN_BUILD_SECONDS), ("build with nothing changed", math.inf)]:
        shutil.rmtree(SITE)
        start = time.perf_counter()
        build = mkdocs("build", "--strict", "--site-dir", str(SITE), SITE_URL=url)
        if build.wait():
            sys.exit(f"{LOG.read_text()}\nThe site does not build.")
        report(label, time.perf_counter() - start, "s", limit)


def measure_rebuilds() -> None:
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
        for folder, pattern, limit in [
            ("docs", "*.md", MAX_REBUILD_SECONDS),
            ("kernels", "*.py", math.inf),
            ("snippets", "*.py", math.inf),
            ("scripts/chapters", "*.py", math.inf),
        ]:
            file = max((ROOT / folder).rglob(pattern), key=lambda path: path.stat().st_size)
            text = file.read_bytes()
            try:
                seconds = reload_seconds(url, file, text + b"\n")
            finally:
                reload_seconds(url, file, text)
            report(f"rebuild after {file.relative_to(ROOT)}", seconds, "s", limit)
    except OSError as error:  # it ended, or does not answer
        sys.exit(f"{LOG.read_text()}\nmkdocs serve: {error}")
    finally:
        server.terminate()
        server.wait()


def reload_seconds(url: str, file: Path, text: bytes) -> float:
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

    def loaded_kilobytes() -> float:
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(500)
        sizes = [request.sizes() for request in requests if not request.url.endswith(SEARCH_INDEX)]
        return sum(size["responseBodySize"] + size["responseHeadersSize"] for size in sizes) / 1000

    page.goto(url)
    before = loaded_kilobytes()
    for _ in range(page.evaluate("Math.ceil(document.body.scrollHeight / 400)")):
        page.mouse.wheel(0, 400)
        page.wait_for_timeout(50)
    after = loaded_kilobytes()
    context.close()
    return before, after


def run_lighthouse(url: str, name: str, device: str) -> None:
    """Prints the median score of each category, and which audits kept one from what it has to be."""
    node = shutil.which("node", path=f"{os.environ['PATH']}{os.pathsep}{ROOT / '.venv' / 'bin'}")
    flags = " ".join(["--headless=new", *browser.FLAGS])
    command = [node, LIGHTHOUSE, url, "--quiet", "--output=json", f"--chrome-flags={flags}"]
    command += [f"--only-categories={','.join(SCORES)}"]
    if device == "desktop":
        command += ["--preset=desktop"]
    runs = []
    for _ in range(RUNS):
        environment = os.environ | {"CHROME_PATH": browser.executable()}
        result = subprocess.run(command, capture_output=True, text=True, env=environment)
        if result.returncode:
            sys.exit(f"{result.stderr}\nLighthouse failed on {url}")
        runs.append(json.loads(result.stdout))
    medians, missed = [], []
    for category in SCORES:
        median = statistics.median(100 * (run["categories"][category]["score"] or 0) for run in runs)
        medians.append(median)
        if median < (MOBILE_PERFORMANCE if (category, device) == ("performance", "mobile") else 100):
            audits = [audit["id"] for audit in runs[-1]["categories"][category]["auditRefs"] if audit["weight"]]
            low = [audit for audit in audits if (runs[-1]["audits"][audit]["score"] or 0) < 0.9]
            low = [audit for audit in low if runs[-1]["audits"][audit]["scoreDisplayMode"] in ("binary", "numeric")]
            missed.append(f"{name} {device} {category}: {', '.join(low)}")
    print(f"  {name:<42} {device:<8}", *(f"{score:6.0f}" for score in medians), " MISSED" if missed else "", flush=True)
    missed_limits.extend(missed)


def page_addresses() -> list[str]:
    """The address of every page, from the site's root."""
    paths = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html") if path.name != "404.html")
    return [path.removesuffix("index.html") for path in paths]


def main() -> int:
    SITE.mkdir(parents=True, exist_ok=True)
    with serve(SITE) as url:
        print("Time to build")
        measure_builds(url)
        measure_rebuilds()
        print("Over the wire, first visit: on arrival, then after scrolling to the end")
        report(
            "the search index, for the whole site", len(gzip.compress((SITE / SEARCH_INDEX).read_bytes())) / 1000, "kB"
        )
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=browser.executable(), args=browser.FLAGS)
            for path in page_addresses():
                before, after = bytes_over_the_wire(chromium, url + path)
                report(f"{path or 'home'}", before, "kB", MAX_PAGE_KB)
                report(f"{path or 'home'} scrolled", after, "kB")
        print(f"Lighthouse, median of {RUNS}: {', '.join(SCORES)}")
        for path in page_addresses():
            for device in ("mobile", "desktop"):
                run_lighthouse(url + path, path or "home", device)
    print("\n".join(["", "Missed:", *missed_limits]) if missed_limits else "\nFast enough.")
    return bool(missed_limits)


if __name__ == "__main__":
    sys.exit(main())
