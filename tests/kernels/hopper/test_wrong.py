"""A wrong version of the Hopper kernel is rejected, and the right one is accepted in its place."""

from functools import partial
from pathlib import Path

import pytest
import torch

from kernels.hopper.kernel import hopper_kernel
from tests.kernels.flash.harness import inputs
from tests.kernels.hopper.harness import (
    BF16,
    compiling,
    largest_budget_used,
    on_hopper,
    sms,
)
from tests.kernels.hopper.wrong import MISTAKES, TEXTS, all_versions, mutated_module


@pytest.fixture(scope="module")
def wrong_modules(compiled, hopper_gpu, tmp_path_factory):
    """The module ``attention`` of kernels/hopper as it is, and of a copy with each mistake."""
    folder = tmp_path_factory.mktemp("wrong")
    versions = enumerate(all_versions().items())
    modules = {name: mutated_module(mistake, folder / f"wrong_hopper_{number}") for number, (name, mistake) in versions}
    q = torch.zeros(1, sms(hopper_gpu) + 1, 1, 64, device=hopper_gpu, dtype=BF16)
    with compiling(*modules.values()):
        for name, mistake in all_versions().items():
            options = {"is_causal": mistake.is_causal, "plan": mistake.plan}
            modules[name].hopper_attention(q, q, q, return_lse=True, **options)
    return modules


# Wrong versions.


def worst(module, mistake, device):
    """The share of the budget that a version of the file uses, where this mistake shows."""
    heads = 2 * (sms(device) // 4 + 1)  # so that a batch of 2 has more pairs than there are SMs
    q, k, v = inputs(device, BF16, 300, 400, 64, heads=heads, key_heads=heads // 2)
    attention = partial(module.hopper_attention, plan=mistake.plan)
    return largest_budget_used(attention, q, k, v + 1, is_causal=mistake.is_causal, enable_gqa=True)


@on_hopper
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_version_is_rejected(mistake, wrong_modules, device):
    assert worst(wrong_modules[mistake], MISTAKES[mistake], device) > 1


@on_hopper
@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_right_one_is_accepted_in_its_place(mistake, wrong_modules, device):
    assert worst(wrong_modules["none"], MISTAKES[mistake], device) <= 1


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_version_is_another(mistake, tmp_path):
    """What is to be changed stands in one file; what stands in its place is Python."""
    right, wrong, *_ = MISTAKES[mistake]
    times = [text.count(right) for text in TEXTS.values() if right in text]
    assert times == [1]
    folder = tmp_path / f"wrong_hopper_{list(MISTAKES).index(mistake)}_unlaunched"
    forward_module = mutated_module(MISTAKES[mistake], folder)
    assert Path(forward_module.__file__).parent == folder
    assert any(wrong in path.read_text() for path in folder.glob("*.py"))
    assert forward_module.hopper_kernel is not hopper_kernel
