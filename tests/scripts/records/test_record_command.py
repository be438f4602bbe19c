"""The command itself, run in real Jupyter kernels; only torch, Triton's launches and the GPU are stand-ins."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import nbformat
import pytest

from scripts.records import ROOT, RecordError
from scripts.records.run import refuse_outputs
from scripts.records.store import STATED
from tests.scripts.records.conftest import House

KERNELS = {"launch", "kernel", "warmed_up", "given", "helper", "innermost"}  # neither forgotten nor bystander
SNIPPETS = ["chain", "child", "kernel", "table"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A house in which every snippet and the kernels' tests have been run, though Jupyter knows another ``python3``."""
    root = tmp_path_factory.mktemp("recorded") / "house"
    house = House(root)
    decoy = root / "jupyter" / "kernels" / "python3" / "kernel.json"
    decoy.parent.mkdir(parents=True)
    decoy.write_text(json.dumps({"argv": ["false"], "display_name": "Not this one", "language": "python"}))
    house.run = house.command(JUPYTER_PATH=str(root / "jupyter"))
    assert house.run.returncode == 0, house.run.stderr
    assert house.record_tests().returncode == 0
    house.pretend_random_cases()
    return house


@pytest.fixture
def read(recorded):
    return recorded.read


def test_every_record_is_up_to_date_after_the_run(recorded):
    assert recorded.run.stderr == ""
    assert recorded.reader().names() == SNIPPETS and recorded.reader().faults() == {}
    assert recorded.beside_snippets() == [f"{name}.record.ipynb" for name in SNIPPETS]


def test_progress_is_a_line_a_snippet_with_its_seconds(recorded):
    lines = [line.split() for line in recorded.run.stdout.splitlines()]
    assert [line[:2] for line in lines] == [[f"{number}/4", name] for number, name in enumerate(SNIPPETS, start=1)]
    assert all(float(line[2]) > 0 and line[3:] == ["s"] for line in lines)


def test_outputs_stand_beside_their_cells(recorded, read):
    functions, methods = read("chain").outputs.values()
    assert functions[0].text == "12\n"
    assert methods[0].data["text/plain"] == "4"
    assert [cell.get("execution_count") for cell in recorded.reader().compose("chain").cells] == [None, 1, 2]
    assert methods[0].execution_count == 2


def test_provenance_comes_from_the_kernel(read):
    stated = read("chain").provenance
    assert stated.keys() == STATED | {"executed"}
    assert (stated["gpu"], stated["torch"], stated["cuda"]) == ("A stand-in for a GPU", "0.1", "0.2")
    assert (stated["triton"], stated["driver"], stated["interpreter"]) == ("0.3", "0.4", False)
    assert stated["python"] == sys.version.split()[0]


def test_executed_lists_functions_and_methods_that_were_called(read):
    assert read("chain").executed == {
        "kernels.base:double",
        "kernels.base:Counter.__init__",
        "kernels.base:Counter.at",
        "kernels.base:Counter.up",
        "kernels.base:Counter.double",
        "kernels.middle:quadruple",
    }


def test_executed_lists_launched_kernels_and_their_helpers(read):
    assert read("kernel").executed == {f"kernels.launch:{name}" for name in KERNELS}


def test_executed_lists_what_another_python_ran_that_the_snippet_started(read):
    names = {"child:apart", "child:command", "child:inside", *(f"launch:{name}" for name in KERNELS)}
    assert read("child").executed == {f"kernels.{name}" for name in names}
    assert read("child").outputs["apart"][0].text == "7\n"


def test_what_watches_leaves_no_name_and_the_kernel_runs_in_the_root_and_imports_from_it(read):
    text = read("kernel").outputs["launch"][0].text
    assert text == "5\nhouse True\n['In', 'Out', 'exit', 'get_ipython', 'launch', 'open', 'os', 'quit']\n"


def test_tables_of_the_run_can_be_read(read):
    assert read("table").table("cubes") == [{"n": 3, "cube": 27.0}]
    assert [table["name"] for table in read("table").tables()] == ["squares", "cubes"]


def test_outputs_keep_their_order_and_what_is_printed_in_between_is_one(house):
    lines = ["print('before')", "show('squares', n=1, square=1.0)", "print('one', flush=True)", "print('two')"]
    house.snippet("mixed", "\n".join(['# %% tags=["rows"]', "from kernels.other import show", "", *lines, ""]))
    assert house.command("mixed").returncode == 0
    (cell,) = json.loads(house.path("mixed").read_text())["cells"]
    assert ["".join(output.get("text", "table")) for output in cell["outputs"]] == ["before\n", "table", "one\ntwo\n"]


def test_running_again_gives_the_same_record(recorded, read):
    before = recorded.path("chain").read_bytes()
    assert recorded.command("chain").returncode == 0
    assert recorded.path("chain").read_bytes() == before


def test_what_is_up_to_date_is_not_run_again(recorded):
    run = recorded.command()
    assert (run.returncode, run.stdout) == (0, "every snippet's record is up to date\n")


def check_without_jupyter(house, *names):
    """``--check`` where Jupyter's packages and a GPU are not to be had."""
    script = "import sys; sys.modules |= dict.fromkeys(['nbclient', 'jupyter_client', 'ipykernel', 'torch']); "
    script += "from scripts.record import main; sys.exit(main(['--check', *sys.argv[1:]]))"
    run = [sys.executable, "-c", script, *names]
    return subprocess.run(run, cwd=house.root, env=house.environment(PYTHONPATH=""), capture_output=True, text=True)


def test_check_says_what_is_stale_or_missing_and_runs_nothing(recorded, tmp_path):
    house = House(tmp_path / "house")
    shutil.copytree(recorded.path("chain").parent, house.path("chain").parent, dirs_exist_ok=True)
    shutil.copy(recorded.outcome_path, house.outcome_path)
    drawn = house.root / "tests/kernels/random_cases/run.py"
    drawn.parent.mkdir()
    drawn.write_text("from kernels.launch import launch\n")
    house.pretend_random_cases()
    check = check_without_jupyter(house)
    assert (check.returncode, check.stdout) == (0, "every record is up to date\n"), check.stderr
    house.edit("kernels/launch.py", "return innermost(x)", "return innermost(-x)")
    house.path("table").unlink()
    check = check_without_jupyter(house)
    child, kernel, missing, tests, cases = check.stdout.splitlines()
    assert check.returncode == 1
    assert "child is stale: kernels.launch:helper changed" in child
    assert "kernel is stale: kernels.launch:helper changed" in kernel and "table has not been run yet" in missing
    assert "1 file of the kernels' tests awaits its run: tests/kernels/test_launch.py" in tests
    assert "random cases" in cases and "is stale: kernels.launch changed" in cases
    assert check_without_jupyter(house, "chain").returncode == 0
    assert "there is no snippet chian" in check_without_jupyter(house, "chian").stderr


@pytest.fixture
def old(house):
    """A house with a record of the snippet ``fails``, from before it failed."""
    house.snippet("fails", '# %% tags=["start"]\nprint("it ran")\n')
    house.pretend("fails")
    house.before = house.path("fails").read_bytes()
    return house


def test_the_others_are_run_when_one_fails(old):
    old.snippet("fails", '# %% tags=["broken"]\n1 / 0\n')
    run = old.command("fails", "table")
    assert run.returncode == 1 and run.stderr.count("not recorded: ") == 1
    assert old.read("table").name == "table" and old.path("fails").read_bytes() == old.before


EDIT = """
from pathlib import Path

from kernels.base import double

double(1)
path = Path("kernels/base.py")
path.write_text(path.read_text().replace("2 * x", "x + x"))
"""
SWITCH = 'import os\n\nos.environ["TRITON_INTERPRET"] = "1"'
STDERR = "wrote to stderr"
CANNOT_BE_KEPT = {  # by the tag of the cell: the cell, and what is said of it
    "broken": ("1 / 0", "broken failed", "ZeroDivisionError"),
    "raises-exception": ("1 / 0", "ZeroDivisionError"),
    "skip-execution": ("1 / 0", "ZeroDivisionError"),
    "dead": ("import os\n\nos._exit(1)", "dead failed"),
    "noisy": ('import warnings\n\nwarnings.warn("careful")', f"{STDERR} in cell noisy", "careful"),
    "outside": ('import os\n\nos.system("echo from C >&2")', f"{STDERR} from outside", "from C"),
    "path": ('print("see /home/someone/file")', "absolute path /home/someone/file"),
    "switch": (SWITCH, "switched Triton's interpreter on"),
    "edit": (EDIT, "edited while it ran"),
}


def test_a_snippet_that_cannot_be_kept_is_named_and_leaves_its_record(house):
    """All in one run: what one of them breaks, the next one does not meet."""
    names = [tag.replace("-", "_") for tag in CANNOT_BE_KEPT]
    start = '# %% tags=["start"]\nprint("it ran")\n'
    for name, (tag, (cell, *_)) in zip(names, CANNOT_BE_KEPT.items(), strict=True):
        house.snippet(name, start)
        house.pretend(name)  # as it was recorded before it failed
        house.snippet(name, f'{start}\n# %% tags=["{tag}"]\n{cell}\n')
    before = [house.path(name).read_bytes() for name in names]
    run = house.command(*names)
    assert run.returncode == 1
    nothing, *said = run.stderr.split("not recorded: ")
    assert not nothing.strip()
    for name, (_, *messages), told in zip(names, CANNOT_BE_KEPT.values(), said, strict=True):
        for message in (name, *messages):
            assert message.format(root=house.root) in told
    assert [house.path(name).read_bytes() for name in names] == before
    assert house.beside_snippets() == sorted(f"{name}.record.ipynb" for name in names)


@pytest.mark.parametrize(
    "text, message",
    [
        (f"in {ROOT} it stands", f"absolute path {ROOT}"),
        ("word " * 50_000, "cell large of some left an output of 250 KB"),
    ],
)
def test_an_output_that_cannot_be_kept_is_refused(text, message):
    cell = nbformat.v4.new_code_cell(id="large", outputs=[nbformat.v4.new_output("stream", text=text)])
    with pytest.raises(RecordError, match=message):
        refuse_outputs("some", cell)


def test_without_a_gpu_nothing_is_run_or_written(house):
    run = house.command(GPU="none")
    assert run.returncode == 1 and run.stdout.split() == ["1/4", "chain"]
    assert "no GPU (torch 0.1): chain was not run, nothing was written" in run.stderr
    assert house.beside_snippets() == []


def test_in_the_interpreter_nothing_is_run(house):
    run = house.command(TRITON_INTERPRET="1")
    assert run.returncode == 1 and run.stdout.split() == ["1/4", "chain"]
    assert "TRITON_INTERPRET is set" in run.stderr
    assert house.beside_snippets() == []


def test_an_unknown_name_is_refused_with_the_list(house):
    run = house.command("chain", "chian")
    assert (run.returncode, run.stdout) == (1, "")
    assert "no snippet is called chian; there are: chain, child, kernel, table" in run.stderr


def test_only_what_is_stale_is_run_unless_asked(house):
    for name in ("child", "kernel"):  # two are enough: each run is a Jupyter kernel
        (house.root / f"snippets/chapter/{name}.py").unlink()
    house.pretend("chain")
    house.pretend("table")
    house.edit("kernels/base.py", "2 * x", "x + x")
    ran = [line.split()[1] for line in house.command().stdout.splitlines()]
    assert ran == ["chain"]
    ran = [line.split()[1] for line in house.command("--all").stdout.splitlines()]
    assert ran == ["chain", "table"]


def test_killed_at_random_moments_every_record_is_whole(house):
    house.snippet("long", '# %% tags=["text"]\nprint("line\\n" * 30_000)\n')
    started = time.monotonic()
    assert house.command("long").returncode == 0
    whole_run = time.monotonic() - started
    before = house.read("long").outputs
    moments = random.Random(0)
    for _ in range(3):
        command = [sys.executable, "-m", "scripts.record", "long", "long"]
        process = subprocess.Popen(command, cwd=house.root, env=house.environment(), start_new_session=True)
        time.sleep(moments.uniform(0, 1.2 * whole_run))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert house.read("long").outputs == before
