"""CUDA graphs of a ring and calls that are none give the same numbers in any order, though one GPU fetches late."""

import pytest

from tests.kernels.parallel import graphs

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("processes")]  # one process of the tests' has them all


@pytest.mark.parametrize("backward", [False, True], ids=["forward", "with backward"])
def test_replays_and_other_calls_in_turn_while_one_gpu_fetches_late(processes, backward):
    """Two of each.  With two places in turn, and no barrier before a call that is no graph writes, one of the two calls
    wrote where the replay before it was still to be read.
    """
    assert all(processes.run(graphs.replays_between_calls, backward))


def test_a_graph_outlives_a_longer_call(processes):
    """The memory that the graph reads and writes is not what the longer call has grown into."""
    assert all(processes.run(graphs.replay_after_growth))


def test_a_capture_that_no_call_came_before_is_refused(processes):
    for error in processes.run(graphs.capture_of_an_unseen_shape):
        assert "make the same call once before, on every process" in error


def test_a_buffer_does_not_grow_in_a_capture(processes):
    for error in processes.run(graphs.capture_that_outgrows_the_buffer):
        assert "memory that it offers to other GPUs is to be mapped first" in error
