"""Set-up does each step once, again where it failed, and installs only what is locked."""

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from plotly.offline import get_plotlyjs_version

from scripts import setup, write_worksheet

REAL_ROOT = setup.ROOT
LOCKS = sorted(path.stem for path in (REAL_ROOT / "requirements").iterdir())
GROUPS = tomllib.loads((REAL_ROOT / "pyproject.toml").read_text())["dependency-groups"]


@dataclass
class Machine:
    programs: set[str] = field(default_factory=lambda: {"npm", "apt-get", "chromium"})
    ubuntu: bool = False
    torch: str = "2.13.0+cpu"
    failing_command: str = "none of these"
    commands: list[str] = field(default_factory=list)
    libraries: set[str] = field(default_factory=lambda: {"libatomic.so.1"})

    def has_library(self, name):
        if name not in self.libraries:
            raise OSError(name)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """An empty clone on a machine that has `machine.programs`; its commands are recorded and not run."""

    machine = Machine()
    playwright_browser = tmp_path / "chrome"
    playwright_browser.touch()

    def record_command(*command, remedy="", **_):
        machine.commands.append(" ".join(map(str, command)))
        if machine.failing_command in machine.commands[-1]:
            raise setup.SetupError(f"{machine.commands[-1]}\n{remedy}")
        if "apt-get install -y --no-install-recommends chromium" in machine.commands[-1]:
            machine.programs = machine.programs | {"chromium"}
        if "-m venv" in machine.commands[-1]:
            shutil.rmtree(setup.VENV, ignore_errors=True)
            (setup.VENV / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
        if "--report" in command:
            report = {"install": [{"metadata": {"version": machine.torch}}]}
            command[command.index("--report") + 1].write_text(json.dumps(report))

    def which(name):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
        return str(path) if name in machine.programs else None

    locks = [f"requirements/{group}.txt" for group in LOCKS]
    npm_files = [f"{folder}package{lock}.json" for folder in ("", "scripts/typescript/") for lock in ("", "-lock")]
    for name in ("pyproject.toml", *npm_files, *locks):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((REAL_ROOT / name).read_text())
    monkeypatch.setattr(setup, "ROOT", tmp_path)
    monkeypatch.setattr(setup, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(setup, "PYTHON", tmp_path / ".venv" / "bin" / "python")
    monkeypatch.setattr(setup, "BROWSER", tmp_path / ".venv" / "browser")
    monkeypatch.setattr(setup, "run", record_command)
    completed = subprocess.CompletedProcess([], 0, stdout=f"{playwright_browser}\n")
    monkeypatch.setattr(setup.subprocess, "run", lambda *_, **__: completed)
    monkeypatch.setattr(setup.shutil, "which", which)
    monkeypatch.setattr(setup, "is_ubuntu", lambda: machine.ubuntu)
    monkeypatch.setattr(setup.os, "geteuid", lambda: 0)
    monkeypatch.setattr(setup.ctypes, "CDLL", machine.has_library)
    return machine


def installed_locks(machine):
    """The locks that pip was given, except that of pip itself, which comes first."""
    locks = re.findall(r"--require-hashes --requirement \S*requirements/([\w-]+)\.txt", "\n".join(machine.commands))
    return set(locks) - {"pip"}


@pytest.mark.parametrize("programs", [{"npm", "chromium"}, {"apt-get"}, set()])
def test_a_second_call_runs_nothing(machine, programs):
    machine.programs = programs
    setup.main("test")
    assert machine.commands
    machine.commands.clear()
    setup.main("test")
    setup.main("site")
    assert machine.commands == []


def test_the_site_needs_no_torch(machine):
    setup.main("site")
    assert installed_locks(machine) == {"site"}


def test_a_snippet_needs_the_library_alone(machine):
    setup.main("run")
    assert installed_locks(machine) == {"library"}
    assert not any("npm" in command or "chromium" in command for command in machine.commands)


@pytest.mark.parametrize(("torch", "locked"), [("2.13.0", {"library", "torch"}), ("2.13.0+cpu", {"library"})])
def test_torch_is_locked_where_it_comes_from_the_public_index(machine, torch, locked):
    machine.torch = torch
    setup.main("run")
    assert installed_locks(machine) == locked
    alone = [
        command
        for command in machine.commands
        if command.endswith("install --no-deps --only-binary :all: torch==2.13.0+cpu")
    ]
    assert len(alone) == (torch == "2.13.0+cpu")


def test_another_lock_makes_the_environment_anew(machine):
    setup.main("site")
    machine.commands.clear()
    (setup.ROOT / "requirements" / "test.txt").write_text("ruff==1.0\n")
    setup.main("site")
    assert installed_locks(machine) == {"site"}
    assert "-m venv --clear" in machine.commands[0]


def test_pip_installs_nothing_but_by_hash(machine):
    machine.programs, machine.torch = set(), "2.13.0"
    setup.main("test")
    setup.main("lock")
    installs = [command for command in machine.commands if "-m pip install" in command and "--dry-run" not in command]
    assert len(installs) == 8
    assert [command for command in installs if "--require-hashes" not in command] == []


@pytest.mark.parametrize(("target", "groups"), [("site", {"site"}), ("lock", {"uv"})])
def test_without_npm_one_comes_from_pypi(machine, target, groups):
    setup.main(target)
    assert installed_locks(machine) == groups
    machine.programs = set()
    shutil.rmtree(setup.ROOT / "node_modules", ignore_errors=True)
    setup.main(target)
    assert installed_locks(machine) == groups | {"node"}


@pytest.mark.parametrize("step", ["-m venv", "site.txt", "npm ci"])
def test_a_step_that_failed_is_done_again(machine, step):
    machine.failing_command = step
    with pytest.raises(setup.SetupError, match=step):
        setup.main("site")
    machine.failing_command = "none of these"
    machine.commands.clear()
    setup.main("site")
    assert any(step in command for command in machine.commands)


def test_where_pip_was_interrupted_the_environment_is_made_anew(machine, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    setup.main("site")
    machine.commands.clear()
    with monkeypatch.context() as patched:
        patched.setattr(setup, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            setup.main("run")
    setup.main("site")
    assert "-m venv --clear" in machine.commands[0]
    assert installed_locks(machine) == {"site"}


@pytest.mark.parametrize("words", [[], ["nonsense"], ["site", "test"]])
def test_another_word_than_its_targets_is_refused(words):
    called = subprocess.run([sys.executable, setup.__file__, *words], capture_output=True, text=True)
    assert (
        called.returncode == 1 and called.stderr == "usage: python3 scripts/setup.py site|run|record|test|copies|lock\n"
    )


def test_a_command_that_failed_is_named_with_its_remedy():
    with pytest.raises(setup.SetupError, match=r"^sh -c exit 3\nfailed with exit status 3\. Do it by hand\.$"):
        setup.run("sh", "-c", "exit 3", remedy="Do it by hand.")


def test_an_environment_that_is_a_link_is_not_emptied(machine, tmp_path):
    (other := tmp_path / "of another clone").mkdir()
    setup.VENV.symlink_to(other)
    with pytest.raises(setup.SetupError, match=r"\.venv is a link, .*of another clone"):
        setup.main("site")
    assert machine.commands == [] and setup.VENV.is_symlink()


@pytest.mark.parametrize(
    "call, words",
    [
        (["run", "SNIPPET={}"], "scripts.run {}"),
        (["run", "SNIPPET={}", "BOARD=1"], "scripts.run {} --board"),
        (["lab", "N={}"], "scripts.labs {}"),
        (["lab"], "scripts.labs"),
        (["worksheet", "CHAPTER={}", "SEED=7"], "scripts.write_worksheet {} 7"),
        (["worksheet", "CHAPTER=balloon", "SEED={}"], "scripts.write_worksheet balloon {}"),
        (["serve", "PORT={}"], "mkdocs serve --dev-addr 127.0.0.1:{}"),
        (["serve"], "mkdocs serve --dev-addr 127.0.0.1:8000"),
    ],
)
@pytest.mark.parametrize("argument", ["a b; touch made", "'", "$$(touch made)"])
def test_what_make_is_told_reaches_no_shell(argument, call, words, tmp_path):
    arguments = [word.format(argument) for word in call]
    command = ["make", "-s", "-f", str(REAL_ROOT / "Makefile"), "SETUP=@true", 'RUN=printf "%s\\n"', *arguments]
    environment = {"PATH": os.environ["PATH"]}
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    expected = [word.format(argument.replace("$$", "$")) for word in words.split()]
    assert result.stdout.splitlines() == expected
    assert not (tmp_path / "made").exists()


def test_make_check_takes_all_steps_though_each_fails(tmp_path):
    shutil.copy(REAL_ROOT / "Makefile", tmp_path)
    command = ["make", "-s", "check", "SETUP=@true", "RUN=echo step; false"]  # tsc isn't there
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode and result.stdout.count("step") == 4
    steps = ("ruff-check", "ruff-format", "types", "drawings-and-facts", "pages")
    assert all(f": {step}] Error" in result.stderr for step in steps)


@pytest.mark.parametrize("seed", ["../7", "a b", "x" * 41, "a/b"])
def test_a_seed_that_is_no_part_of_a_name_is_refused(seed):
    with pytest.raises(SystemExit, match=r"SEED=.*letters, digits"):
        write_worksheet.main("balloon", seed)


def chosen_browser(machine):
    setup.VENV.mkdir()
    setup.ensure_browser()
    return setup.BROWSER.read_text().rsplit("/", 1)[1]


@pytest.mark.parametrize(
    ("programs", "ubuntu", "browser"),
    [
        ({"chromium"}, False, "chromium"),
        ({"google-chrome"}, False, "google-chrome"),
        ({"google-chrome", "chromium", "apt-get"}, True, "google-chrome"),
        ({"apt-get"}, False, "chromium"),  # Debian's package
        ({"chromium", "apt-get"}, True, "chrome"),  # Ubuntu's is a stub: Playwright's own
        (set(), False, "chrome"),
    ],
)
def test_which_browser_is_chosen(machine, capsys, programs, ubuntu, browser):
    machine.programs, machine.ubuntu = programs, ubuntu
    assert chosen_browser(machine) == browser
    assert str(setup.BROWSER.read_text()) in capsys.readouterr().out


def test_the_library_that_playwright_lacks_is_installed(machine):
    machine.libraries = set()
    assert chosen_browser(machine) == "chromium"
    assert any(re.search(r"apt-get install .* libatomic1$", command) for command in machine.commands)


def test_where_apt_fails_playwright_brings_the_browser(machine):
    machine.programs, machine.failing_command = {"apt-get"}, "apt-get install"
    assert chosen_browser(machine) == "chrome"


def test_a_script_finds_the_library_from_anywhere(tmp_path):
    subprocess.run([setup.PYTHON, "-c", "import kernels"], cwd=tmp_path, check=True)


def locked(group):
    """Name and version of each package in a lock."""
    text = (REAL_ROOT / "requirements" / f"{group}.txt").read_text()
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", text, flags=re.MULTILINE))


@pytest.mark.parametrize("group", LOCKS)
def test_a_lock_pins_each_package_by_hash_takes_wheels_alone_and_names_no_host(group):
    package = r"[a-z0-9-]+==[0-9][0-9a-z.]*(?: \\\n    --hash=sha256:[0-9a-f]{64})+\n"
    assert re.fullmatch(
        rf"(?:#.*\n)+--only-binary :all:\n\n(?:{package})+", (REAL_ROOT / "requirements" / f"{group}.txt").read_text()
    )


def test_each_group_has_its_lock():
    assert sorted(GROUPS) == LOCKS
    makefile = (REAL_ROOT / "Makefile").read_text()
    assert sorted(re.search(r"^LOCKS = (.*)", makefile, flags=re.MULTILINE)[1].split()) == LOCKS


@pytest.mark.parametrize("group", LOCKS)
def test_a_lock_holds_what_its_group_names(group):
    pins = locked(group)
    for wanted in GROUPS[group]:
        packages = GROUPS[wanted["include-group"]] if isinstance(wanted, dict) else [wanted]
        for requirement in map(Requirement, packages):
            assert pins[requirement.name] in requirement.specifier


def test_the_locks_agree():
    versions = {}
    for group in LOCKS:
        for name, version in locked(group).items():
            assert versions.setdefault(name, version) == version, (group, name)


def installed_versions():
    """Name and version of each package in the environment that runs this test; a local build counts as its version."""
    packages = importlib.metadata.distributions(
        path=[path for path in sys.path if Path(path).is_relative_to(sys.prefix)]
    )
    return {canonicalize_name(package.name): package.version.partition("+")[0] for package in packages}


@pytest.mark.skipif(
    Path(sys.prefix).resolve() != setup.VENV.resolve(), reason="runs in a Python that set-up did not make"
)
def test_nothing_is_installed_that_no_lock_lists():
    versions = {name: version for group in LOCKS for name, version in locked(group).items()}
    here = installed_versions()
    assert {"torch", "mkdocs", "pip"} <= here.keys()
    assert here.items() - versions.items() == set(), "not of this lock: `make clean` makes room for what is"


def test_what_torch_asks_for_on_every_machine_is_locked_beside_it():
    required = {Requirement(line).name for line in importlib.metadata.requires("torch") if "extra ==" not in line}
    cuda = {name for name in required if name.startswith(("cuda", "nvidia", "triton"))}
    assert required - cuda == {Requirement(line).name for line in GROUPS["library"]} - {"numpy", "triton"}


@pytest.mark.parametrize("folder", [".", "scripts/typescript"])
def test_the_npm_lock_is_exact_and_names_no_host(folder):
    package = json.loads((REAL_ROOT / folder / "package.json").read_text())
    lock = json.loads((REAL_ROOT / folder / "package-lock.json").read_text())
    wanted, packages = package["dependencies"], lock["packages"]
    assert lock["name"] == package["name"]  # where none is given, npm takes that of the clone's folder
    assert packages[""]["dependencies"] == wanted
    assert all(packages[f"node_modules/{name}"]["version"] == version for name, version in wanted.items())
    assert not any("resolved" in package for package in packages.values())
    assert all("integrity" in package for path, package in packages.items() if path)


def test_the_pages_load_the_plotly_that_plotly_py_carries():
    wanted = json.loads((REAL_ROOT / "package.json").read_text())["dependencies"]
    assert wanted["plotly.js-cartesian-dist-min"] == get_plotlyjs_version()
