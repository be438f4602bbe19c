"""Random cases: every form runs and passes, a wrong kernel is caught, and what fails can be run again alone."""

import json
import subprocess
import sys
from functools import partial

import pytest
import torch

from kernels.formats.block import quantize
from kernels.serving.cache import KVCache
from tests.kernels.flash.wrong import WRONG, WRONG_GRADIENT, WRONG_LSE, streaming_attention
from tests.kernels.random_cases import __main__ as command
from tests.kernels.random_cases import run as runs
from tests.kernels.random_cases.formats import BothWays
from tests.kernels.random_cases.rounds import CASES, Failure, settings_of
from tests.kernels.serving import wrong as wrong_decode

FORMS = {form.name: form for form in runs.every_form()}
LSE = FORWARD = "flash_attention, forward"
GRADIENTS = "flash_attention, with gradients"
APPEND, BLOCKS = "KVCache.append", "quantize_blocks and dequantize_blocks"
DECODE = {format: f"decode_attention, {format}, portable" for format in ("16 bits", "FP8", "NVFP4")}


@pytest.mark.parametrize("name", FORMS)
def test_a_round_of_every_form_passes(name):
    found = runs.tally([FORMS[name]], 4, range(1))
    assert 0 < found.cases[name] <= CASES
    assert not found.failures and found.worst[name] <= 1


# Wrong kernels.


def softmax_down_the_columns(scores, block):
    return scores.softmax(-2)


def one_code_off(x, scheme, tensor_scale=None):
    made = quantize(x, scheme, tensor_scale=tensor_scale)
    made.codes.view(-1)[-1] ^= 1
    return made


def keys_and_values_swapped(cache, k, v, sequences=None):
    return KVCache.append(cache, v, k, sequences)


def last_rows_forgotten(cache, k, v, sequences=None):
    """The last row of every page stays as it was."""
    before = [x[..., -1, :].clone() for x in (cache.keys, cache.values)]
    KVCache.append(cache, k, v, sequences)
    cache.keys[..., -1, :], cache.values[..., -1, :] = before


CAUGHT = [
    *((FORWARD, WRONG[name]) for name in (
        "zeros in one head", "zeros in one row", "accumulator in half", "causal mask off by one",
        "last block not masked", "padding not masked", "weights in BF16", "scaled twice", "heads grouped wrongly",
    )),
    *((GRADIENTS, WRONG_GRADIENT[name]) for name in (
        "zeros in one row of dk", "delta left out", "causal mask missing", "grouped heads not summed",
    )),
    *((DECODE["16 bits"], wrong_decode.WRONG[name]) for name in (
        "zeros in one row", "newest key missing", "causal mask missing", "page table ignored",
    )),
    *((DECODE["FP8"], wrong_decode.WRONG[name]) for name in ("key scale forgotten", "value scale forgotten")),
    *((DECODE["NVFP4"], wrong_decode.WRONG[name]) for name in (
        "nibbles of values swapped", "block scale of the neighbour, keys", "block scales of keys for values",
    )),
    (DECODE["16 bits"], wrong_decode.WRONG_LSE["in FP16"]),
    *((LSE, partial(kernel, return_lse=True)) for kernel in WRONG_LSE.values()),
    ("softmax", softmax_down_the_columns),
    (BLOCKS, BothWays(one_code_off, FORMS[BLOCKS].kernel.dequantize)),
    (APPEND, keys_and_values_swapped),
    (APPEND, last_rows_forgotten),
]  # fmt: skip


@pytest.mark.parametrize("name, kernel", CAUGHT, ids=lambda x: x if isinstance(x, str) else None)
def test_a_wrong_kernel_is_caught_and_its_case_fails_again_alone(name, kernel):
    wrong = FORMS[name]._replace(kernel=kernel)
    for number in range(30):
        if failures := runs.tally([wrong], 1, [number]).failures:
            break
    assert failures, "thirty rounds, and it passed them all"
    first = failures[0]
    assert first.case // CASES == number and not first.used <= 1
    *_, (again,) = runs.run_again([wrong], first.seed, first.case)
    assert again._replace(used=None) == first._replace(used=None)
    assert again.used == pytest.approx(first.used, rel=0.1)  # a GPU adds PyTorch's gradients up in any order


@pytest.mark.skipif(torch.cuda.is_available(), reason="there the kernels themselves pass many, in the other record")
def test_a_right_kernel_in_pytorch_passes_many():
    """The judge alone: what it takes for wrong is wrong."""
    right = [FORMS[LSE]._replace(
        kernel=partial(streaming_attention, return_lse=True)
    ), FORMS[DECODE["FP8"]]._replace(kernel=wrong_decode.split_kv_attention)]  # fmt: skip
    found = runs.tally(right, 2, range(25))
    assert not found.failures and sum(found.cases.values()) > 40


# What a failure leaves.


def raising_attention(q, k, v, **options):
    raise RuntimeError("an illegal memory access")


def test_a_kernel_that_raises_is_a_failure_and_does_not_stop_the_others():
    found = runs.tally([FORMS[FORWARD]._replace(kernel=raising_attention)], 1, range(25))
    assert found.failed == 25 and len(found.failures) == runs.KEPT_FAILURES
    assert found.failures[0].used is None and "an illegal memory access" in found.failures[0].why


def test_what_is_printed_says_all_that_is_needed_to_run_it_again():
    failure = Failure(FORWARD, 7, 35, {"seq_q": 3}, 1.25, "beyond the budget")
    line = command.failure_line(failure._asdict())
    assert "--seed 7 --case 35" in line and "1.250 of it" in line and '{"seq_q": 3}' in line


@pytest.mark.skipif(torch.cuda.is_available(), reason="there nothing is interpreted")
def test_without_a_gpu_the_command_runs_a_case_in_the_interpreter():
    """In a Python of its own, which has not imported Triton yet: Triton's own functions must be interpreted too."""
    command = [sys.executable, "-m", "tests.kernels.random_cases", "--seed", "1", "--case", "0"]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0 and "passes" in ran.stdout, ran.stdout + ran.stderr


def test_what_is_drawn_depends_on_seed_and_number_alone():
    drawn = [settings_of(list(FORMS.values()), seed, number) for seed in (1, 2) for number in (0, 1, 0)]
    assert drawn[0] == drawn[2] and drawn[3] == drawn[5]
    assert drawn[0][1] != drawn[1][1] and drawn[0][1] != drawn[3][1]
    assert all(json.loads(json.dumps(settings)) == settings for _, settings in drawn)


def test_tallies_add_up():
    one, other = runs.Tally(), runs.Tally()
    failure = Failure(FORWARD, 7, 35, {}, 1.25, "beyond the budget")
    one.add(FORWARD, 16, 0.5, [])
    other.add(FORWARD, 4, 1.25, [failure])
    other.add("softmax", 2, 0.1, [])
    one.merge(other)
    assert (one.cases, one.worst) == ({FORWARD: 20, "softmax": 2}, {FORWARD: 1.25, "softmax": 0.1})
    assert (one.failures, one.failed) == ([failure], 1)


def test_views_stand_in_memory_that_is_nan():
    from tests.kernels.random_cases.attention import inside_nan

    x = torch.randn(2, 1, 3, 5)
    view = inside_nan(x)
    assert view.equal(x) and view._base.isnan().sum() == view._base.numel() - x.numel()
