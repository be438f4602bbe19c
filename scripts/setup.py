"""Sets up, once, what a command needs: `python3 scripts/setup.py site|run|record|test|speed|lock`.

Standard library only: the system's Python runs it before anything is installed. Each step has a stamp that holds a hash
of what went into it, written when the step has ended well; a step whose stamp still matches is passed over.
"""

import ctypes
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:
    sys.exit(f"Python 3.11 or newer is needed, this is {platform.python_version()}: make PYTHON=python3.12 site, say.")

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
BROWSER = VENV / "browser"  # holds the path of the browser that the tests drive
PIP = "26.3"  # the pip that Python 3.11 brings knows no --group

GROUPS = {
    "site": ["site"],
    "run": ["library"],
    "record": ["record", "library", "kernel-test"],
    "test": ["site", "library", "record", "test"],
    "speed": ["site", "test"],
    "lock": ["lock"],
}


class SetupError(Exception):
    """A step failed; says which one and what to do."""


def run(*command: str | Path, advice: str, cwd: Path = ROOT, **environment: str) -> None:
    """Runs a command with its output shown; its failure ends the step with the advice."""
    path = f"{os.environ['PATH']}{os.pathsep}{VENV / 'bin'}"  # last: the venv's npm is for those who have none
    try:
        subprocess.run(
            [str(word) for word in command], check=True, cwd=cwd, env=os.environ | {"PATH": path} | environment
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise SetupError(f"{' '.join(map(str, command))}\n{error}\n{advice}") from error


@contextmanager
def announced(what: str) -> Iterator[None]:
    """Says which step begins, and names it where it fails."""
    print(f"==> {what}", flush=True)
    try:
        yield
    except SetupError as error:
        raise SetupError(f"Set-up stopped at: {what}\n{error}") from error


def once(what: str, stamp: Path, inputs: object, step: Callable[[], None]) -> None:
    """Runs the step unless its stamp says that the same inputs went through it before."""
    digest = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return
    stamp.unlink(missing_ok=True)
    with announced(what):
        step()
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(digest)


def apt(*packages: str) -> None:
    """Installs Debian packages, as root or through sudo."""
    advice = f"Install by hand: apt-get install {' '.join(packages)}"
    if os.geteuid() == 0:
        sudo = []
    elif shutil.which("sudo"):
        sudo = ["sudo"] if sys.stdin.isatty() else ["sudo", "-n"]
    else:
        raise SetupError(f"This needs root, or sudo. {advice}")
    quiet = "DEBIAN_FRONTEND=noninteractive"
    run(*sudo, "apt-get", "update", advice=advice)
    run(*sudo, "env", quiet, "apt-get", "install", "-y", "--no-install-recommends", *packages, advice=advice)


def virtual_environment() -> None:
    """A Python environment in .venv, with a pip that knows dependency groups and the root on its path."""

    def step() -> None:
        package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
        try:
            import ensurepip  # noqa: F401
        except ImportError:
            if not shutil.which("apt-get"):
                raise SetupError("This Python has no ensurepip: install its venv package.") from None
            apt(package)
        run(
            sys._base_executable,
            "-m",
            "venv",
            "--clear",
            VENV,
            advice=f"On Debian or Ubuntu: apt-get install {package}",
        )
        pip("install", f"pip=={PIP}")
        (packages,) = VENV.glob("lib/python*/site-packages")
        (packages / "handbook.pth").write_text(f"{ROOT}\n")  # `python snippets/CHAPTER/NAME.py` finds kernels/

    inputs = [sys.base_prefix, sys.version, str(ROOT), PIP]  # the same when it is .venv's own Python that asks
    once("Python environment (.venv)", VENV / "stamps" / "python", inputs, step)


def pip(*arguments: str) -> None:
    advice = "Is the package index reachable? pip's own settings (PIP_INDEX_URL, PIP_CERT, a proxy) are heeded."
    run(PYTHON, "-m", "pip", *arguments, advice=advice, PIP_DISABLE_PIP_VERSION_CHECK="1")


def python_packages(groups: list[str]) -> None:
    """The named dependency groups of pyproject.toml, at the versions in requirements.lock."""
    lock = (ROOT / "requirements.lock").read_text()
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    for group in groups:
        once(
            f"Python packages: {group}",
            VENV / "stamps" / f"python-{group}",
            [wanted, lock],
            lambda group=group: pip("install", "--group", group, "--constraint", "requirements.lock"),
        )


def npm() -> None:
    """An npm from PyPI, in .venv, where there is none."""
    if not shutil.which("npm"):
        python_packages(["node"])


def node_packages(folder: Path, what: str) -> None:
    """What the folder's package-lock.json names, by npm."""

    def step() -> None:
        npm()
        advice = "Is the npm registry reachable? npm's own settings (~/.npmrc, a proxy) are heeded."
        run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", advice=advice, cwd=folder)

    inputs = [(folder / name).read_text() for name in ("package.json", "package-lock.json")]
    once(what, folder / "node_modules" / ".stamp", inputs, step)


def browser() -> None:
    """A Chromium for the tests; its path goes to .venv/browser."""
    if BROWSER.exists() and Path(BROWSER.read_text()).exists():
        return
    with announced("Browser for the tests"):
        try:
            ctypes.CDLL("libatomic.so.1")  # Playwright's driver is linked against it
        except OSError:
            apt("libatomic1")
        path = installed_chromium() or debian_chromium() or playwright_chromium()
        BROWSER.write_text(path)
        print(f"The tests drive {path}")


def is_ubuntu() -> bool:
    return platform.freedesktop_os_release().get("ID") == "ubuntu"


def installed_chromium() -> str | None:
    # Ubuntu's chromium is a stub for a snap, which cannot see a profile under /tmp.
    names = ["google-chrome", "google-chrome-stable"] if is_ubuntu() else ["chromium", "google-chrome"]
    return next(filter(None, map(shutil.which, names)), None)


def debian_chromium() -> str | None:
    if is_ubuntu() or not shutil.which("apt-get"):
        return None
    try:
        apt("chromium", "fonts-liberation")
    except SetupError as error:
        print(f"{error}\nTaking Playwright's own Chromium in its stead.", flush=True)
    return shutil.which("chromium")


def playwright_chromium() -> str:
    advice = "Install Chromium or Google Chrome by hand and call again: one that is installed is taken."
    may_install = os.geteuid() == 0 or (shutil.which("sudo") and sys.stdin.isatty())
    with_libraries = ["--with-deps"] if may_install and shutil.which("apt-get") else []
    run(PYTHON, "-m", "playwright", "install", *with_libraries, "chromium", advice=advice)
    ask = "from playwright.sync_api import sync_playwright as p\nwith p() as p: print(p.chromium.executable_path)"
    return subprocess.run([str(PYTHON), "-c", ask], check=True, capture_output=True, text=True).stdout.strip()


def main(target: str) -> None:
    virtual_environment()
    python_packages(GROUPS[target])
    if target == "lock":
        npm()
    if target in ("site", "test", "speed"):
        node_packages(ROOT, "Scripts and fonts of the pages (npm)")
    if target == "test":
        node_packages(ROOT / "scripts" / "typescript", "TypeScript (npm)")
    if target in ("test", "speed"):
        browser()
    if target == "speed":
        node_packages(ROOT / "scripts" / "lighthouse", "Lighthouse (npm)")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in GROUPS:
        sys.exit(f"usage: python3 scripts/setup.py {'|'.join(GROUPS)}")
    try:
        main(sys.argv[1])
    except SetupError as error:
        sys.exit(str(error))
