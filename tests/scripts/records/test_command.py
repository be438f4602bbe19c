"""The command itself, in real Jupyter kernels: what a run leaves, and what it refuses and then leaves alone."""

import json
import signal
import sys
import time

import pytest

from scripts.records import RecordError
from tests.scripts.records.conftest import PROVENANCE, Project

SNIPPETS = ["chain", "launch", "ranks"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A project whose snippets have run again, with three GPUs, though Jupyter knows another ``python3``."""
    project = Project(tmp_path_factory.mktemp("recorded") / "project")
    spec = {"argv": ["false"], "display_name": "Not this one", "language": "python"}
    project.write("jupyter/kernels/python3/kernel.json", json.dumps(spec))
    project.write("snippets/behind.toml", 'chain = "It needs a day."')
    for name in SNIPPETS:
        project.fake_record(name)
    project.ran = project.run("-m", "scripts.records", "--all", GPUS="3", JUPYTER_PATH=str(project.root / "jupyter"))
    return project


@pytest.fixture
def read(recorded):
    return recorded.reader().read


def test_every_snippet_is_recorded_a_line_each(recorded):
    assert (recorded.ran.returncode, recorded.ran.stderr) == (0, "")
    *lines, last = recorded.ran.stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [[f"{n}/3", name] for n, name in enumerate(SNIPPETS, start=1)]
    assert all(float(line.split()[2]) > 0 for line in lines) and last == "take out of snippets/behind.toml: chain"
    assert recorded.run("-m", "scripts.records").stdout == "every snippet's record is current\n"


def test_outputs_are_beside_their_cells_in_order_and_text_between_two_is_one(read):
    functions, methods = read("chain").outputs.values()
    assert functions[0].text == "12\n"
    assert (methods[0].data["text/plain"], methods[0].execution_count) == ("4", 2)
    before, _, after = read("launch").outputs["rows"]
    names = ["In", "Out", "display", "exit", "get_ipython", "launch", "open", "os", "quit"]  # and nothing of ours
    assert (before.text, after.text) == (f"project {names}\n", "one\ntwo\n")
    assert read("launch").table("squares") == [{"n": 7}]
    with pytest.raises(RecordError, match="launch holds 0 tables named cubes, and needs one; it holds: squares"):
        read("launch").table("cubes")


def test_several_gpus_run_each_cell_at_once_and_rank_0_is_kept_with_where_it_ran(read):
    record, python = read("ranks"), sys.version.split()[0]
    ran = {"gpu": "NVIDIA H200", "commit": "0123abcd", "interpreter": False, "torch": "0.1", "cuda": "0.2"}
    ran |= {"triton": "0.3", "driver": "0.4", "python": python, "gpus": 2, "link": "NV18", "nccl": "2.28.9"}
    assert record.provenance.items() > ran.items() and record.outputs["work"][0].text == "2\n"
    assert read("chain").provenance.keys() == {*PROVENANCE, "executed", "digest", "checksum"}


FUNCTIONS, LAUNCHED = (
    {"base:double", "base:Counter.up"},
    {f"launch:{name}" for name in ("launch", "kernel", "helper", "given")},
)
EXECUTED = {"chain": {"child:apart", "child:inside"} | FUNCTIONS | LAUNCHED, "launch": LAUNCHED}
EXECUTED |= {"ranks": {"bench.parallel.ranks:meet"} | LAUNCHED}


@pytest.mark.parametrize("name", SNIPPETS)
def test_what_was_executed_is_noted(read, name):
    assert read(name).executed == {f"kernels.{each}" for each in EXECUTED[name]}


WATCH = """
import _thread, os, sys
sys.path.append("scripts/records")
import run_tracer
run_tracer.start("apart")
os.write(2, b"from C")
from kernels.base import Counter
from kernels.launch import launch
def elsewhere(): launch(1), over.release()
over = _thread.allocate_lock()
over.acquire()
_thread.start_new_thread(elsewhere, ())
over.acquire()
Counter().up(2)
run_tracer.report("apart")
"""


def test_every_python_sees_what_runs(project, any_python):
    """Also in a thread that Python didn't start itself, as autograd's. 3.12 watches by another means than 3.11."""
    project.write("apart/stderr", "")
    run = project.run(any_python, "-c", WATCH)
    assert (run.returncode, (project.root / "apart/stderr").read_text()) == (0, "from C")
    executed = json.loads(run.stdout.splitlines()[-1])["executed"]
    assert {*executed} == {f"kernels.{each}" for each in FUNCTIONS | LAUNCHED}


def test_a_commit_has_a_plus_once_code_has_changed(project):
    alone = {"PYTHONPATH": str(project.root / "scripts/records"), "COMMIT": ""}
    git = "git init && git add . && git -c user.name=a -c user.email=a@b -c commit.gpgsign=false commit -m all"
    change, found = "echo 'x = 1' >> kernels/base.py", []
    for step in ("true", git, "touch snippets/chapter/new.record.ipynb", change):
        project.run("sh", "-c", step)
        found.append(project.run("-c", "import run_tracer; print(run_tracer.commit())", **alone).stdout.strip())
    assert len(found[1]) == 8 and found == ["None", found[1], found[1], f"{found[1]}+"]


CHECK = "import sys; sys.modules |= dict.fromkeys(['nbclient', 'jupyter_client', 'ipykernel', 'torch']); "
CHECK += "from scripts.records.__main__ import main; sys.exit(main(['--check', *sys.argv[1:]]))"


def test_check_says_what_would_stop_a_build_and_needs_no_jupyter(project):
    for name in SNIPPETS:
        project.fake_record(name)
    run = project.run("-c", CHECK)
    assert (run.returncode, run.stdout) == (0, "every record is current or listed in snippets/behind.toml\n")
    project.edit("kernels/base.py", "times * x", "x * times")
    run = project.run("-c", CHECK)
    assert run.stdout.startswith("the record of chain is stale") and run.returncode == 1
    assert project.run("-c", CHECK, "chain").stdout == run.stdout and project.run("-c", CHECK, "ranks").returncode == 0
    assert "there is no snippet chian; there are: chain, launch, ranks" in project.run("-c", CHECK, "chian").stderr


USES_DOUBLE = "import os\n\nfrom kernels.base import double\n\n"
REFUSED = {  # by the tag of the cell: the cell, and what's said about it
    "raises-exception": ("1 / 0", "failed; the record is as it was", "ZeroDivisionError"),
    "dies": ("os.system('echo last words >&2')\nos._exit(1)", "failed", "Kernel died", "last words"),
    "warns": ("import warnings\n\nwarnings.warn('careful')", "wrote to stderr in cell warns", "careful"),
    "writes": ("os.system('echo from C >&2')", "wrote to stderr in cell writes", "from C"),
    "switches": ("os.environ['TRITON_INTERPRET'] = '1'", "switched Triton's interpreter on"),
    "idles": ("1 + 1", "idles executed nothing of kernels/"),
    "path": ("print('see /home/someone', double(1))", "cell path of path shows the absolute path /home/someone"),
    "large": ("print('word ' * double(25_000))", "cell large of large shows 250 KB, a page takes 200 at most"),
    "edits": ("open('kernels/base.py', 'a').write('x = 1')\ndouble(1)", "edited while it ran"),
}
MEETS_RANKS = "import os\nimport time\n\nfrom kernels.bench.parallel.ranks import meet\n\nrank, ranks = meet()\n"
IN_RANKS = {  # the other would go on for longer than we wait
    "raises": ("1 / 0 if rank else time.sleep(600)", "rank 1 of raises failed", "ZeroDivisionError"),
    "prints": ("print('oh') if rank else time.sleep(600)", "rank 1 of prints showed something in cell prints", "oh"),
    "loses": ("if rank:\n    os._exit(1)\n1 / 0  # because it lost the other", "rank 1 of loses failed", "Kernel died"),
}


@pytest.mark.parametrize("first, cells", [(USES_DOUBLE, REFUSED), (MEETS_RANKS, IN_RANKS)], ids=["alone", "in ranks"])
def test_what_cannot_be_kept_is_named_and_the_old_record_is_left(project, first, cells):
    """All in one run, and the next snippet is recorded."""
    before = {}
    for tag, (cell, *_) in cells.items():
        project.snippet(tag, "")
        before[tag] = project.fake_record(tag)
        project.snippet(tag, first + cell, tag)
    run = project.run("-m", "scripts.records", *cells, "chain", GPUS="2")
    nothing, *reasons = run.stderr.split("not recorded: ")
    assert run.returncode == 1 and not nothing.strip() and project.reader().read("chain")
    for (tag, (_, *messages)), each in zip(cells.items(), reasons, strict=True):
        assert all(words in each for words in (tag, *messages)) and project.path(tag).read_bytes() == before[tag], each


NO_GPU = "stopped: launch would run without a GPU: torch 0.1 sees none. Nothing was recorded"
ONE_GPU = "ranks runs in one process for each GPU, and there is one GPU here: it needs at least two"


@pytest.mark.parametrize("stale, gpus, message", [("launch", "0", NO_GPU), ("ranks", "1", ONE_GPU)])
def test_what_is_stale_runs_and_there_are_too_few_gpus(project, stale, gpus, message):
    for name in {*SNIPPETS} - {stale}:
        project.fake_record(name)
    run = project.run("-m", "scripts.records", GPUS=gpus)
    assert run.stdout.split()[:2] == ["1/1", stale] and run.returncode == 1
    assert message in run.stderr and not project.path(stale).exists()


def test_interrupted_the_old_record_is_left(project):
    project.snippet("long", "")
    before = project.fake_record("long")
    project.snippet("long", "import time\n\nopen('running', 'w').close()\ntime.sleep(60)")
    process = project.start("-m", "scripts.records", "long")
    while not (project.root / "running").exists():
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    err = process.communicate(timeout=120)[1]
    assert process.returncode == 130 and err.endswith("the record of the snippet that was running is as it was\n")
    assert project.path("long").read_bytes() == before
