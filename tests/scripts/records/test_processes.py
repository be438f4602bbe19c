"""A snippet in one process a GPU: all run each cell at once, rank 0 is recorded, and one that fails holds up none."""

import time

import pytest

RANKS = """
import os
import tempfile
import time
from pathlib import Path


def start():
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    assert os.environ["LOCAL_RANK"] == os.environ["RANK"] and os.environ["MASTER_ADDR"] == "127.0.0.1"
    meet(rank, ranks)
    return rank, ranks


def meet(rank, ranks):
    place = Path(tempfile.gettempdir())
    arrived = [place / f"{os.environ['MASTER_PORT']}.{each}" for each in range(ranks)]
    arrived[rank].touch()
    until = time.monotonic() + 30
    while not all(each.exists() for each in arrived):
        assert time.monotonic() < until, "nobody came"


def first():
    print("from rank 0")


def second():
    return 2
"""
START = (
    '# %% tags=["start"]\nfrom kernels.bench.parallel.ranks import first, second, start\n\nrank, ranks = start()\n\n'
)
TOGETHER = """# %% tags=["work"]
if rank:
    second()
else:
    first()
    print(ranks)
"""
WAITS = "import time\n\nif rank == 0:\n    time.sleep(60)\n"
FOR_WANT_OF_IT = "import os\n\nif rank:\n    os._exit(1)\nraise RuntimeError('connection closed by peer')\n"
CANNOT_BE_KEPT = {  # by the tag of the cell: the cell, and what is said of it
    "raises": (f"{WAITS}else:\n    1 / 0", "rank 1 of raises failed", "ZeroDivisionError"),
    "dies": (FOR_WANT_OF_IT, "rank 1 of dies failed", "Kernel died"),
    "warns": (f"import warnings\n\n{WAITS}else:\n    warnings.warn('ah')", "rank 1 of warns wrote to stderr", "ah"),
    "prints": (f"{WAITS}else:\n    print('oh')", "rank 1 of prints showed something in cell prints", "oh"),
}


@pytest.fixture
def ranks(house):
    """A house whose snippets can run in several processes."""
    (house.root / "kernels/bench/parallel").mkdir(parents=True)
    (house.root / "kernels/bench/__init__.py").touch()
    (house.root / "kernels/bench/parallel/__init__.py").touch()
    (house.root / "kernels/bench/parallel/ranks.py").write_text(RANKS)
    return house


def test_rank_0_is_recorded_and_what_any_of_them_ran(ranks, tmp_path):
    ranks.snippet("both", START + TOGETHER)
    run = ranks.command("both", GPUS="3", TMPDIR=str(tmp_path))
    assert (run.returncode, run.stderr) == (0, "")
    record = ranks.read("both")
    assert [output.text for output in record.outputs["work"]] == ["from rank 0\n2\n"]
    assert record.executed == {f"kernels.bench.parallel.ranks:{name}" for name in ("start", "meet", "first", "second")}
    stated = record.provenance
    assert (stated["gpu"], stated["gpus"]) == ("A stand-in for a GPU", 2)
    assert (stated["link"], stated["nccl"]) == ("NV18", "2.28.9")
    assert not [path for path in tmp_path.iterdir() if path.is_dir() and path != ranks.root]


def test_a_rank_that_fails_is_named_and_the_others_are_ended(ranks, tmp_path):
    for name, (cell, *_) in CANNOT_BE_KEPT.items():
        ranks.snippet(name, f'{START}# %% tags=["{name}"]\n{cell}\n')
    started = time.monotonic()
    run = ranks.command(*CANNOT_BE_KEPT, GPUS="2", TMPDIR=str(tmp_path))
    assert run.returncode == 1 and time.monotonic() - started < 60
    _, *said = run.stderr.split("not recorded: ")
    for (_, *messages), told in zip(CANNOT_BE_KEPT.values(), said, strict=True):
        assert all(message in told for message in messages), told
    assert ranks.beside_snippets() == []


def test_one_gpu_is_too_few(ranks):
    ranks.snippet("both", START + TOGETHER)
    run = ranks.command("both", GPUS="1")
    assert run.returncode == 1 and ranks.beside_snippets() == []
    assert "both runs in one process a GPU, and there is one GPU here: two at least are wanted" in run.stderr
    assert "no GPU (torch 0.1): both was not run" in ranks.command("both", GPU="none").stderr
