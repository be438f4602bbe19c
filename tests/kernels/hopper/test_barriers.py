"""Barriers have places of their own in shared memory.

The compiler gives the place of a barrier for which nobody waits to the next tile.  To the GPU it is a barrier still,
and PTX leaves open what happens to a tile in such a place.
"""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernels.hopper.plan import PLANS

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def kernels():
    pytest.importorskip("triton.backends.nvidia")
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, "-m", "tests.kernels.hopper.barriers"]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=200)
    assert run.returncode == 0, run.stderr
    return ast.literal_eval(run.stdout)


def test_no_barrier_is_where_a_tile_or_another_barrier_is(kernels):
    for name, tiles, barriers, *_ in kernels:
        assert len(barriers) > 7, name
        assert min(barriers) >= tiles, name
        assert len(set(barriers)) == len(barriers), name


def test_the_forward_pass_makes_no_barrier_for_which_nobody_waits(kernels):
    """Two for each tile of its rings, and with ping-pong one for each consumer."""
    made = {name: len(barriers) for name, _, barriers, *_ in kernels}
    for (head_dim, causal), plan in PLANS.items():
        awaited = 2 * (plan.consumers * plan.q_stages + 2 * plan.stages) + plan.ping_pong * plan.consumers
        assert made[f"forward, {head_dim}{', causal' if causal else ''}"] == awaited, plan


def test_programs_that_keep_an_order_have_their_numbers_from_a_counter(kernels):
    """For CUDA does not promise to start programs in the order of the grid: whoever waits for another might wait for
    one that cannot start before it has ended."""
    asks = {name: in_grid for name, _, _, in_grid, _ in kernels}
    assert [name for name, in_grid in asks.items() if not in_grid] == [
        "keys, 64, deterministic",
        "keys, 128, deterministic",
    ]


def test_who_has_waited_for_its_turn_adds_behind_a_fence(kernels):
    """A load that acquires orders what threads do, and TMA, which adds, is no thread."""
    waits = {name: waits for name, *_, waits in kernels if waits[0]}
    assert waits.keys() == {"keys, 64, deterministic", "keys, 128, deterministic"}
    assert all(loads == fenced for loads, fenced in waits.values())
