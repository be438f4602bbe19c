"""Set-up does each step once, says which one failed and what to do, and the locks are what they should be."""

import json
import re
import subprocess
import tomllib
from dataclasses import dataclass, field

import pytest
from plotly.offline import get_plotlyjs_version

from scripts import setup

REAL_ROOT = setup.ROOT


@dataclass
class Machine:
    has: set[str] = field(default_factory=lambda: {"npm", "apt-get", "chromium"})
    ubuntu: bool = False
    fails: str = "none of these"
    commands: list[str] = field(default_factory=list)
    libraries: set[str] = field(default_factory=lambda: {"libatomic.so.1"})

    def has_library(self, name):
        if name not in self.libraries:
            raise OSError(name)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """An empty clone on a machine that has what `machine.has` names; its commands are noted and not run."""

    machine = Machine()
    playwrights = tmp_path / "chrome"
    playwrights.touch()

    def note(command, **_):
        machine.commands.append(" ".join(command))
        if machine.fails in machine.commands[-1]:
            raise subprocess.CalledProcessError(1, command)
        if "apt-get install -y --no-install-recommends chromium" in machine.commands[-1]:
            machine.has = machine.has | {"chromium"}
        if "-m venv" in machine.commands[-1]:
            (setup.VENV / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
        return subprocess.CompletedProcess(command, 0, stdout=f"{playwrights}\n")

    def which(name):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
        return str(path) if name in machine.has else None

    for name in ("pyproject.toml", "requirements.lock", "package.json", "package-lock.json"):
        (tmp_path / name).write_text((REAL_ROOT / name).read_text())
    monkeypatch.setattr(setup, "ROOT", tmp_path)
    monkeypatch.setattr(setup, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(setup, "PYTHON", tmp_path / ".venv" / "bin" / "python")
    monkeypatch.setattr(setup, "BROWSER", tmp_path / ".venv" / "browser")
    monkeypatch.setattr(setup.subprocess, "run", note)
    monkeypatch.setattr(setup.shutil, "which", which)
    monkeypatch.setattr(setup, "is_ubuntu", lambda: machine.ubuntu)
    monkeypatch.setattr(setup.os, "geteuid", lambda: 0)
    monkeypatch.setattr(setup.ctypes, "CDLL", machine.has_library)
    return machine


def installed(machine):
    return {group for group in re.findall(r"--group (\w+)", "\n".join(machine.commands))}


@pytest.mark.parametrize("has", [{"npm", "chromium"}, {"apt-get"}, set()])
def test_a_second_call_runs_nothing(machine, has):
    machine.has = has
    setup.main("test")
    assert machine.commands
    machine.commands.clear()
    setup.main("test")
    setup.main("site")
    assert machine.commands == []


def test_the_site_needs_no_torch(machine):
    setup.main("site")
    assert installed(machine) == {"site"}


def test_a_snippet_needs_the_library_alone(machine):
    setup.main("run")
    assert installed(machine) == {"library"}
    assert not any("npm" in command or "chromium" in command for command in machine.commands)


def test_another_lock_sets_up_again(machine):
    setup.main("site")
    machine.commands.clear()
    (setup.ROOT / "requirements.lock").write_text("mkdocs==1.6.1\n")
    setup.main("site")
    assert installed(machine) == {"site"}


def test_no_npm_brings_one_from_pypi(machine):
    machine.has = machine.has - {"npm"}
    setup.main("site")
    assert installed(machine) == {"site", "node"}


@pytest.mark.parametrize(("has", "groups"), [({"npm"}, {"lock"}), (set(), {"lock", "node"})])
def test_to_lock_needs_an_npm(machine, has, groups):
    machine.has = has
    setup.main("lock")
    assert installed(machine) == groups


@pytest.mark.parametrize("step", ["-m venv", "--group site", "npm ci"])
def test_a_step_that_failed_is_named_and_done_again(machine, step):
    machine.fails = step
    with pytest.raises(setup.SetupError, match=r"(?s)Set-up stopped at: .*(Python|npm).*(apt-get|reachable)"):
        setup.main("site")
    machine.fails = "none of these"
    machine.commands.clear()
    setup.main("site")
    assert any(step in command for command in machine.commands)


def test_a_step_that_was_interrupted_is_done_again(tmp_path):
    def interrupted():
        raise KeyboardInterrupt

    done = []
    setup.once("step", tmp_path / "stamp", "old", lambda: done.append("old"))
    with pytest.raises(KeyboardInterrupt):
        setup.once("step", tmp_path / "stamp", "new", interrupted)
    setup.once("step", tmp_path / "stamp", "old", lambda: done.append("old again"))
    assert done == ["old", "old again"]


def chosen(machine):
    setup.VENV.mkdir()
    setup.browser()
    return setup.BROWSER.read_text().rsplit("/", 1)[1]


@pytest.mark.parametrize(
    ("has", "ubuntu", "browser"),
    [
        ({"chromium"}, False, "chromium"),
        ({"google-chrome"}, False, "google-chrome"),
        ({"google-chrome", "chromium", "apt-get"}, True, "google-chrome"),
        ({"apt-get"}, False, "chromium"),  # Debian's package
        ({"chromium", "apt-get"}, True, "chrome"),  # Ubuntu's is a stub: Playwright's own
        (set(), False, "chrome"),
    ],
)
def test_the_browser_that_is_taken(machine, capsys, has, ubuntu, browser):
    machine.has, machine.ubuntu = has, ubuntu
    assert chosen(machine) == browser
    assert str(setup.BROWSER.read_text()) in capsys.readouterr().out


def test_the_library_that_playwright_lacks_is_installed(machine):
    machine.libraries = set()
    assert chosen(machine) == "chromium"
    assert any(re.search(r"apt-get install .* libatomic1$", command) for command in machine.commands)


def test_where_apt_fails_playwright_brings_the_browser(machine):
    machine.has, machine.fails = {"apt-get"}, "apt-get install"
    assert chosen(machine) == "chrome"


def test_without_root_or_sudo_the_package_is_named(machine, monkeypatch):
    monkeypatch.setattr(setup.os, "geteuid", lambda: 1000)
    with pytest.raises(setup.SetupError, match=r"root, or sudo.*apt-get install python3\.11-venv"):
        setup.apt("python3.11-venv")


def test_a_script_finds_the_library_from_anywhere(tmp_path):
    subprocess.run([setup.PYTHON, "-c", "import kernels"], cwd=tmp_path, check=True)


def lock():
    lines = (REAL_ROOT / "requirements.lock").read_text().splitlines()
    return [line for line in lines if not line.startswith("#")]


def test_the_lock_pins_exactly_and_names_no_host():
    assert [line for line in lock() if not re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*", line)] == []
    assert "torch==2.13.0" in lock()
    assert "triton==3.7.1" in lock()


def test_the_lock_holds_what_the_groups_name():
    groups = tomllib.loads((REAL_ROOT / "pyproject.toml").read_text())["dependency-groups"]
    pins = dict(line.split("==") for line in lock())
    for wanted in (package for group, packages in groups.items() if group != "lock" for package in packages):
        if isinstance(wanted, dict):  # another group
            continue
        name, _, version = wanted.partition("==")
        assert pins[name] == (version or pins[name])


@pytest.mark.parametrize("folder", [".", "scripts/lighthouse"])
def test_the_npm_lock_is_exact_and_names_no_host(folder):
    package = json.loads((REAL_ROOT / folder / "package.json").read_text())
    lock = json.loads((REAL_ROOT / folder / "package-lock.json").read_text())
    wanted, packages = package["dependencies"], lock["packages"]
    assert lock["name"] == package["name"]  # where none is given, npm takes that of the clone's folder
    assert packages[""]["dependencies"] == wanted
    assert all(packages[f"node_modules/{name}"]["version"] == version for name, version in wanted.items())
    assert not any("resolved" in package for package in packages.values())


def test_the_pages_load_the_plotly_that_plotly_py_carries():
    wanted = json.loads((REAL_ROOT / "package.json").read_text())["dependencies"]
    assert wanted["plotly.js-cartesian-dist-min"] == get_plotlyjs_version()
