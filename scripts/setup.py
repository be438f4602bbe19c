"""Sets up, once, what a command needs: `python3 scripts/setup.py site|run|record|test|copies|lock`.

Standard library only: the system's Python runs it before anything is installed. A step that ends well leaves a stamp
with a hash of what went into it; while that matches, the step is passed over.
"""

import ctypes
import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:
    sys.exit(f"Python 3.11 or newer is needed, this is {platform.python_version()}: make PYTHON=python3.12 site, say.")

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
BROWSER = VENV / "browser"  # holds the path of the browser that the tests drive

GROUPS = {
    "site": ["site"],
    "run": ["library", "torch"],
    "record": ["record", "library", "torch", "kernel-test"],
    "test": ["site", "library", "torch", "record", "test"],
    "copies": ["site", "test"],
    "lock": ["uv"],
}


class SetupError(Exception):
    """A command failed; says which one, and what may help."""


def run(*command: str | Path, remedy: str = "", cwd: Path = ROOT, **environment: str) -> None:
    """Runs a command with its output shown; where it fails, names it and its ``remedy``."""
    path = f"{os.environ['PATH']}{os.pathsep}{VENV / 'bin'}"  # last: the venv's npm is for those who have none
    result = subprocess.run(command, cwd=cwd, env=os.environ | {"PATH": path} | environment)
    if result.returncode:
        raise SetupError(f"{' '.join(map(str, command))}\nfailed with exit status {result.returncode}. {remedy}")


def run_once(title: str, stamp: Path, inputs: object, step: Callable[[], None]) -> None:
    """Runs the step unless its stamp says that the same inputs went through it before."""
    digest = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return
    print(f"==> {title}", flush=True)
    stamp.unlink(missing_ok=True)
    step()
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(digest)


def install_debian_packages(*packages: str) -> None:
    """Installs Debian packages, as root or through sudo."""
    by_hand = f"Install by hand: apt-get install {' '.join(packages)}"
    if os.geteuid() and not shutil.which("sudo"):
        raise SetupError(f"This needs root, or sudo. {by_hand}")
    sudo = [] if os.geteuid() == 0 else ["sudo"] if sys.stdin.isatty() else ["sudo", "-n"]
    quiet = "DEBIAN_FRONTEND=noninteractive"
    run(*sudo, "apt-get", "update", remedy=by_hand)
    run(*sudo, "env", quiet, "apt-get", "install", "-y", "--no-install-recommends", *packages, remedy=by_hand)


def make_virtual_environment() -> None:
    """Makes .venv, with the locked pip and the root on its path; makes it anew when a lock changes."""

    def step() -> None:
        package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
        try:
            import ensurepip  # noqa: F401
        except ImportError:
            if not shutil.which("apt-get"):
                raise SetupError("This Python has no ensurepip: install its venv package.") from None
            install_debian_packages(package)
        if VENV.is_symlink():
            raise SetupError(f".venv is a link, and {VENV.resolve()} would be emptied: rm .venv, and call again.")
        run(sys._base_executable, "-m", "venv", "--clear", VENV)
        install_locked("pip")
        pip("uninstall", "--yes", "-qq", "setuptools")  # Python 3.11 brings one that no lock names
        (packages,) = VENV.glob("lib/python*/site-packages")
        (packages / "handbook.pth").write_text(f"{ROOT}\n")  # `python snippets/CHAPTER/NAME.py` finds kernels/

    locks = [path.read_text() for path in sorted((ROOT / "requirements").glob("*.txt"))]
    inputs = [sys.base_prefix, sys.version, str(ROOT), locks]  # the same when it is .venv's own Python that asks
    run_once("Python environment (.venv)", VENV / "stamps" / "python", inputs, step)


def pip(*arguments: str | Path) -> None:
    try:
        run(PYTHON, "-m", "pip", *arguments, PIP_DISABLE_PIP_VERSION_CHECK="1")
    except KeyboardInterrupt:
        (VENV / "stamps" / "python").unlink(missing_ok=True)  # a package may be there in part: .venv is made anew
        raise


def install_locked(group: str) -> None:
    """Installs what requirements/GROUP.txt lists; pip refuses any other file and any package that isn't listed."""
    quiet = [] if group == "torch" else ["--quiet"]  # torch is gigabytes: who waits for them sees them come
    pip("install", *quiet, "--require-hashes", "--requirement", ROOT / "requirements" / f"{group}.txt")


def install_torch() -> None:
    """Installs PyTorch with CUDA as locked, or the build of that version to which pip's settings lead, say for CPUs.

    Such a build has a local version, `+cpu`. The public index does not admit one, so the lock cannot have its hash.
    """
    report = VENV / "torch.json"
    (requirement,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["torch"]
    only_torch = ["install", "--no-deps", "--only-binary", ":all:"]
    pip(*only_torch, "--dry-run", "--quiet", "--ignore-installed", "--report", report, requirement)
    (chosen,) = json.loads(report.read_text())["install"]
    version = chosen["metadata"]["version"]
    if "+" not in version:
        return install_locked("torch")
    print(f"pip's settings lead to torch {version}, whose hash is not locked.", flush=True)
    pip(*only_torch, f"torch=={version}")


def install_python_packages(groups: list[str]) -> None:
    """Installs these dependency groups of pyproject.toml, as locked."""
    for group in groups:
        lock = (ROOT / "requirements" / f"{group}.txt").read_text()
        step = install_torch if group == "torch" else partial(install_locked, group)
        run_once(f"Python packages: {group}", VENV / "stamps" / f"python-{group}", lock, step)


def ensure_npm() -> None:
    """Installs an npm from PyPI in .venv where there is none."""
    if not shutil.which("npm"):
        install_python_packages(["node"])


def install_node_packages(folder: Path, title: str) -> None:
    """Installs what the folder's package-lock.json names, by npm."""

    def step() -> None:
        ensure_npm()
        run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", cwd=folder)

    inputs = [(folder / name).read_text() for name in ("package.json", "package-lock.json")]
    run_once(title, folder / "node_modules" / ".stamp", inputs, step)


def ensure_browser() -> None:
    """Finds or installs a Chromium for the tests; its path goes to .venv/browser."""
    if BROWSER.exists() and Path(BROWSER.read_text()).exists():
        return
    print("==> Browser for the tests", flush=True)
    try:
        ctypes.CDLL("libatomic.so.1")  # Playwright's driver is linked against it
    except OSError:
        install_debian_packages("libatomic1")
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
        install_debian_packages("chromium", "fonts-liberation")
    except SetupError as error:
        print(f"{error}\nTaking Playwright's own Chromium in its stead.", flush=True)
    return shutil.which("chromium")


def playwright_chromium() -> str:
    by_hand = "Install Chromium or Google Chrome by hand and call again: one that is installed is taken."
    may_install = os.geteuid() == 0 or (shutil.which("sudo") and sys.stdin.isatty())
    with_libraries = ["--with-deps"] if may_install and shutil.which("apt-get") else []
    run(PYTHON, "-m", "playwright", "install", *with_libraries, "chromium", remedy=by_hand)
    print_path = (
        "from playwright.sync_api import sync_playwright as p\nwith p() as p: print(p.chromium.executable_path)"
    )
    return subprocess.run([str(PYTHON), "-c", print_path], check=True, capture_output=True, text=True).stdout.strip()


def main(target: str) -> None:
    make_virtual_environment()
    install_python_packages(GROUPS[target])
    if target == "lock":
        ensure_npm()
    if target in ("site", "test", "copies"):
        install_node_packages(ROOT, "Scripts and fonts of the pages (npm)")
    if target == "test":
        install_node_packages(ROOT / "scripts" / "typescript", "TypeScript (npm)")
    if target in ("test", "copies"):
        ensure_browser()


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in GROUPS:
        sys.exit(f"usage: python3 scripts/setup.py {'|'.join(GROUPS)}")
    try:
        with (ROOT / "pyproject.toml").open("r+") as clone:  # as if to write, since NFS locks no other
            fcntl.flock(clone, fcntl.LOCK_EX)  # a second set-up of this clone waits until this one has ended
            main(sys.argv[1])
    except (SetupError, OSError) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)  # the next call does what is left
