import pytest

from tests.kernels.parallel.harness import COUNTS, GPUS, LARGEST, Processes


@pytest.fixture(scope="session")
def processes():
    """As many as there are GPUs, or four on a CPU, which also work in twos."""
    if not COUNTS:
        pytest.skip(f"needs two GPUs, and there is {GPUS}")
    group = Processes(LARGEST)
    yield group
    group.end()
