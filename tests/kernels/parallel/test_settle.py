"""Processes compare what they call before one waits for another on its GPU, and name those that never come.

A process is a thread here, and all have one store.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from types import SimpleNamespace

import pytest
import torch
from torch.distributed import HashStore

from kernels.parallel import settle
from kernels.parallel.call import Attention
from kernels.parallel.decode import Decode
from kernels.parallel.settle import agree, gathered

CALL = Attention((1, 2, 8, 16), (1, 2, 8, 16), torch.float32, "cuda", "ring", "zigzag", None, True, 0.25)
PATIENCE = 1.5  # s


class Group:
    """A process group as one of its threads sees it."""

    _device_types = (torch.device("cpu"),)

    def __init__(self, rank, ranks, store):
        self.rank, self.ranks, self.store = rank, ranks, store

    def size(self):
        return self.ranks

    def get_group_store(self):
        return self.store

    def _get_backend(self, device):
        return SimpleNamespace(options=SimpleNamespace(_timeout=timedelta(seconds=PATIENCE)))


@pytest.fixture
def run(monkeypatch):
    """What a function gives for the group of each of so many processes."""
    monkeypatch.setattr(settle.dist, "get_rank", lambda group: group.rank)

    def runs(function, ranks):
        store = HashStore()
        with ThreadPoolExecutor(ranks) as threads:
            return list(threads.map(lambda rank: function(Group(rank, ranks, store)), range(ranks)))

    return runs


def error_of(function, *arguments):
    try:
        function(*arguments)
    except (RuntimeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def test_what_is_told_later_is_not_what_was_told_before(run):
    def tell(group):
        found = []
        for what in ("first", {"then": torch.float16}):
            time.sleep(0.2 * group.rank)
            found.append(gathered((group.rank, what), group))
        return found

    wanted = [[(rank, what) for rank in range(3)] for what in ("first", {"then": torch.float16})]
    assert run(tell, 3) == [wanted] * 3


def test_who_tells_nothing_is_named_within_the_timeout(run):
    def tell(group):
        begun = time.monotonic()
        error = None if group.rank in (1, 3) else error_of(gathered, group.rank, group)
        return error, time.monotonic() - begun

    (first, took), _, (third, _), _ = run(tell, 4)
    assert first.startswith("RuntimeError: process 1, 3 of 4 has not made the call that process 0 made 1.5 s ago")
    assert "that process 2 made 1.5 s ago: it has failed, or" in third
    assert PATIENCE <= took < 3 * PATIENCE


def test_who_comes_when_others_have_given_up_does_not_go_on_alone(run):
    def tell(group):
        begun = time.monotonic()
        if group.rank == 1:
            time.sleep(PATIENCE + 0.5)
        return error_of(gathered, group.rank, group), time.monotonic() - begun

    (first, _), (late, took), (third, _) = run(tell, 3)
    assert "process 1 of 3 has not made the call" in first and "process 1 of 3 has not" in third
    assert late == "RuntimeError: process 0 waited 1.5 s for process 1 of 3 to make this call, and gave up"
    assert took < PATIENCE + 1.5  # it is told, and does not wait itself


def test_what_calls_differ_in_is_named_on_every_process(run):
    other = CALL._replace(query_shape=(1, 2, 6, 16), scheme="all_gather")
    first, second = run(lambda group: error_of(agree, group, (CALL, other)[group.rank]), 2)
    assert first.startswith("ValueError: process 0 and process 1 differ in query_shape, (1, 2, 8, 16) and (1, 2, 6")
    assert "; scheme, 'ring' and 'all_gather': all must call alike" in first
    assert "process 1 and process 0 differ in query_shape, (1, 2, 6, 16) and (1, 2, 8, 16); scheme, 'all_g" in second


def test_another_function_is_another_call(run):
    decode = Decode((1, 2, 1, 16), torch.float32, "cuda", 0.25)
    first, second = run(lambda group: error_of(agree, group, (CALL, decode)[group.rank]), 2)
    assert "differ in function, 'Attention' and 'Decode'; query_shape, (1, 2, 8, 16) and (1, 2, 1, 16)" in first
    assert "differ in function, 'Decode' and 'Attention'" in second


def test_calls_of_one_kind_are_compared_once(run):
    def alone_afterwards(group):
        agree(group, CALL)
        return error_of(agree, group, CALL) if group.rank == 0 else None

    assert run(alone_afterwards, 2) == [None, None]


def test_the_first_call_of_its_kind_is_refused_in_a_capture(run, monkeypatch):
    capturing = []
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: bool(capturing))

    def agreed(group):
        agree(group, CALL)
        capturing.append(True)
        agree(group, CALL)
        return error_of(agree, group, CALL._replace(is_causal=False))

    assert "all processes are to compare their arguments first: make the same call" in run(agreed, 1)[0]
