"""One suite for both machines: what can run in Triton's interpreter does, what only a GPU can run says so."""

import itertools
import os
from collections import Counter

import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # before the first @triton.jit
    torch.set_num_threads(1)  # tensors are small here: threads would wait for one another, a third of the time

# Begun first, in this order, so that none of them is left alone at the end.
SLOW_FILES = ["test_browser.py", "test_keyboard.py", "test_rungs.py", "test_snippets.py"]
SLOW_FILES += ["test_flash.py", "test_branches.py", "test_serve.py", "test_pages.py"]


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Everything runs a file a process, on every processor; but on a GPU processes would time each other's kernels."""
    everything = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    is_worker = hasattr(config, "workerinput")  # xdist calls this hook in its workers, too
    if everything and not is_worker and not torch.cuda.is_available() and config.pluginmanager.has_plugin("xdist"):
        if config.option.numprocesses is None:
            config.option.numprocesses = "logical"
        config.option.dist = "loadfile"
        config.option.loadscopereorder = False  # files in our order, not those with the most tests first


@pytest.fixture
def device():
    """Where kernels run: the GPU if there is one, else Triton's interpreter on the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def pytest_terminal_summary(terminalreporter):
    """A line a folder: what its tests took, on all processors together."""
    seconds = Counter()
    for report in itertools.chain(*terminalreporter.stats.values()):
        if isinstance(report, pytest.TestReport):
            seconds["/".join(report.nodeid.split("/")[:2]).partition("::")[0]] += report.duration
    terminalreporter.section("seconds")
    for folder, taken in sorted(seconds.items()):
        terminalreporter.line(f"{taken:6.1f} {folder}")


@pytest.fixture(autouse=True)
def memory_given_back():
    """Processes share a GPU's memory: what a test took, PyTorch would keep for this process."""
    yield
    if torch.cuda.is_available() and torch.cuda.memory_reserved() > 2**30:
        torch.cuda.empty_cache()


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(config, items):
    order = {name: number for number, name in enumerate(SLOW_FILES)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))
    for item in items:
        if item.get_closest_marker("gpu") and not torch.cuda.is_available():
            item.add_marker(pytest.mark.skip(reason="needs a GPU, and torch finds none here"))
        if item.get_closest_marker("large") and config.pluginmanager.has_plugin("xdist"):
            item.add_marker(pytest.mark.xdist_group("large"))  # one process runs them, one after the other
