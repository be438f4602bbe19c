"""The site, built once as it is published, below a path, on a machine that seems to have no torch."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from scripts import browser as chosen
from scripts.records import ROOT
from scripts.static_server import serve

WITHOUT_TORCH = """
import runpy, sys
sys.modules.update(torch=None, triton=None)  # importing either raises
sys.argv[0] = "mkdocs"
runpy.run_module("mkdocs", run_name="__main__")
"""


def mkdocs(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, *arguments],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"} | environment,
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = mkdocs("build", "--strict", "--site-dir", str(folder), SITE_URL="http://127.0.0.1/handbook/")
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="session")
def pages(site) -> list[str]:
    """The address of every page, relative to the site's root: "", "chapters/three-matmuls/" and so on."""
    found = sorted(path.parent.relative_to(site).as_posix() for path in site.rglob("index.html"))
    return ["" if name == "." else f"{name}/" for name in found]


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
