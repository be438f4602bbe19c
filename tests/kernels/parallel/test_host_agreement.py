"""Processes compare what they call before one waits for another on its GPU, and name those that never come.

A process is a thread here, and all have one store.
"""

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from types import SimpleNamespace

import pytest
import torch
from torch.distributed import FileStore, HashStore

from kernels.parallel import host_agreement
from kernels.parallel.call import AttentionCall
from kernels.parallel.decode import DecodeCall
from kernels.parallel.host_agreement import COMPLETE, agree, all_gather_objects

CALL = AttentionCall((1, 2, 8, 16), (1, 2, 8, 16), torch.float32, "cuda", "ring", "zigzag", None, True, 0.25)
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
    monkeypatch.setattr(host_agreement.dist, "get_rank", lambda group: group.rank)

    def runs(function, ranks, store_of=None):
        shared = HashStore()
        store_of = store_of or (lambda rank: shared)
        with ThreadPoolExecutor(ranks) as threads:
            return list(threads.map(lambda rank: function(Group(rank, ranks, store_of(rank))), range(ranks)))

    return runs


def error_of(function, *arguments):
    try:
        function(*arguments)
    except (RuntimeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def test_what_is_told_later_is_not_what_was_told_before(run):
    def tell(group):
        answers = []
        for message in ("first", {"then": torch.float16}):
            time.sleep(0.2 * group.rank)
            answers.append(all_gather_objects((group.rank, message), group))
        return answers

    expected = [[(rank, message) for rank in range(3)] for message in ("first", {"then": torch.float16})]
    assert run(tell, 3) == [expected] * 3


def test_who_tells_nothing_is_named_within_the_timeout(run):
    def tell(group):
        start = time.monotonic()
        error = None if group.rank in (1, 3) else error_of(all_gather_objects, group.rank, group)
        return error, time.monotonic() - start

    (first, seconds), _, (third, _), _ = run(tell, 4)
    assert re.match(r"RuntimeError: process 1, 3 of 4 has not made the call that process [02] made 1.5 s ago", first)
    assert first.endswith("1.5 s ago: it has failed, or does something else; all must call alike") and third == first
    assert PATIENCE <= seconds < 3 * PATIENCE


@pytest.mark.parametrize("kind", ["in memory", "a file"])
def test_who_comes_when_others_have_given_up_does_not_go_on_alone(run, kind, tmp_path):
    file = str(tmp_path / "store")
    store_of = (lambda rank: FileStore(file, 3)) if kind == "a file" else None

    def tell(group):
        start = time.monotonic()
        if group.rank == 1:
            time.sleep(PATIENCE + 1.5)  # a FileStore takes half a second longer to give up
        return error_of(all_gather_objects, group.rank, group), time.monotonic() - start

    (first, _), (late_error, seconds), (third, _) = run(tell, 3, store_of)
    assert "process 1 of 3 has not made the call" in first and "process 1 of 3 has not" in third
    assert re.fullmatch(
        "RuntimeError: process [02] waited 1.5 s for process 1 of 3 to make this call, and gave up", late_error
    )
    assert seconds < PATIENCE + 2.5  # it is told, and does not wait itself


def test_who_is_late_does_not_wait_for_others_that_are(run):
    def tell(group):
        if group.rank == 3:
            return None, 0
        time.sleep((PATIENCE + 0.5) * (group.rank == 1))
        start = time.monotonic()
        return error_of(all_gather_objects, group.rank, group), time.monotonic() - start

    _, (late_error, seconds), _, _ = run(tell, 4)
    assert re.match(r"RuntimeError: process [02] waited 1.5 s for process 1, 3 of 4 to make this call", late_error)
    assert seconds < 0.5 * PATIENCE


class Meanwhile(HashStore):
    """A store in which a process comes while another notes that it is missing, and one of them decides first."""

    def __init__(self, first):
        super().__init__()
        self.first, self.comes, self.decided = first, threading.Event(), threading.Event()

    def check(self, keys):
        is_complete = super().check(keys)
        if not is_complete and not keys[0].endswith("decided"):
            self.comes.set()
        return is_complete

    def compare_set(self, key, expected, decision):
        if (decision == COMPLETE) != (self.first == "who was late"):
            self.decided.wait(5)
        stored = super().compare_set(key, expected, decision)
        self.decided.set()
        return stored


@pytest.mark.parametrize("first", ["who waited", "who was late"])
def test_who_comes_as_another_gives_up_and_the_other_go_on_both_or_neither(run, monkeypatch, first):
    store = Meanwhile(first)
    monkeypatch.setitem(globals(), "HashStore", lambda: store)

    def tell(group):
        if group.rank == 1:
            store.comes.wait(5)
        return error_of(all_gather_objects, group.rank, group)

    waited, late = run(tell, 2)
    if first == "who was late":
        assert waited is late is None
    else:
        assert "process 1 of 2 has not made the call that process 0 made" in waited
        assert late == "RuntimeError: process 0 waited 1.5 s for process 1 of 2 to make this call, and gave up"


def test_who_waits_until_the_last_moment_goes_on(run, monkeypatch):
    """All come between the end of its wait and its look at who is missing."""
    store = HashStore()
    monkeypatch.setitem(globals(), "HashStore", lambda: store)
    told = threading.Event()

    class Slowed(Group):
        """Rank 0 looks who is missing once rank 1 has told, and before that decides."""

        def get_group_store(self):
            mine = {"wait": self.wait_in_vain} if self.rank == 0 else {"compare_set": self.decide_later}
            rest = {name: getattr(store, name) for name in ("set", "get", "check", "wait", "compare_set")}
            return SimpleNamespace(**rest | mine)

        def wait_in_vain(self, keys, timeout):
            assert told.wait(5)
            raise host_agreement.dist.DistStoreError("in vain")

        def decide_later(self, *arguments):
            told.set()
            time.sleep(0.5)
            return store.compare_set(*arguments)

    def tell(group):
        return all_gather_objects(group.rank, Slowed(group.rank, 2, store))

    assert run(tell, 2) == [[0, 1]] * 2


def test_what_calls_differ_in_is_named_on_every_process(run):
    other = CALL._replace(query_shape=(1, 2, 6, 16), scheme="all_gather")
    first, second = run(lambda group: error_of(agree, group, (CALL, other)[group.rank]), 2)
    assert first.startswith("ValueError: process 0 and process 1 differ in query_shape, (1, 2, 8, 16) and (1, 2, 6")
    assert "; scheme, 'ring' and 'all_gather': all must call alike" in first
    assert "process 1 and process 0 differ in query_shape, (1, 2, 6, 16) and (1, 2, 8, 16); scheme, 'all_g" in second


def test_another_function_is_another_call(run):
    decode = DecodeCall((1, 2, 1, 16), torch.float32, "cuda", 0.25)
    first, second = run(lambda group: error_of(agree, group, (CALL, decode)[group.rank]), 2)
    assert "differ in call, 'AttentionCall' and 'DecodeCall'; query_shape, (1, 2, 8, 16) and (1, 2, 1, 16)" in first
    assert "differ in call, 'DecodeCall' and 'AttentionCall'" in second


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
