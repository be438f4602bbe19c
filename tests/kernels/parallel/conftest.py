from pathlib import Path

import pytest

from tests.kernels.parallel.harness import COUNTS, GPUS, LARGEST, Processes


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items):
    """GPUs that wait for each other in a kernel share no GPU with others that do: one process runs these tests."""
    for item in items:
        if GPUS and item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.xdist_group("ranks"))


@pytest.fixture(scope="session")
def processes():
    """As many as there are GPUs, or four on a CPU, which also work in twos."""
    if not COUNTS:
        pytest.skip(f"needs two GPUs, and there is {GPUS}")
    group = Processes(LARGEST)
    yield group
    group.end()
