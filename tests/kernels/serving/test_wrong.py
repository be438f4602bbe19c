"""A right decode kernel is accepted, and every wrong one is rejected, by its output or its log-sum-exp."""

import pytest
import torch

from tests.kernels.serving.harness import BF16, FP16, HOPPER, Budget, new_cache, queries
from tests.kernels.serving.wrong import WRONG, WRONG_LSE, split_kv_attention

# Rows that are masked may hold anything; what becomes of them may overflow, and is stored nowhere.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


# What is rejected.

CASES = {
    "fp16": ("fp16", FP16, [0, 1, 16, 70, 150], {}),
    "one-hot rows": ("fp16", FP16, [40, 70], {"scale": 10.0}),
    "many keys": ("fp16", FP16, [1000], {}),
    "fp8": ("fp8", FP16, [0, 1, 16, 70, 150], {}),
    "nvfp4": ("nvfp4", FP16, [0, 1, 16, 70, 150], {}),
    "queries beyond FP16": ("fp8", BF16, [70, 2], {"size": 1e6, "scale": 2e-7}),
}


@pytest.fixture(scope="module")
def budgets():
    """The budget of each case."""
    torch.manual_seed(0)
    device, head_dim = ("cuda", HOPPER.head_dim) if torch.cuda.is_available() else ("cpu", 32)
    budgets = {}
    for name, (format, dtype, lengths, options) in CASES.items():
        cache = new_cache(device, format, lengths, kv_heads=2, head_dim=head_dim)
        q = queries(cache, dtype, group=3, new_tokens=3, size=options.get("size", 1.0))
        budgets[name] = Budget(q, cache, scale=options.get("scale"))
    return budgets


@pytest.mark.parametrize("name", CASES)
def test_a_right_kernel_is_accepted(name, decoder, budgets):
    assert max(budgets[name].fractions_used(split_kv_attention)) <= 1
    if CASES[name][1] == FP16 or torch.cuda.is_available():
        assert max(budgets[name].fractions_used(decoder.attention)) <= 1


@pytest.mark.parametrize("mistake", WRONG)
def test_a_wrong_output_is_rejected(mistake, budgets):
    assert any(budget.fractions_used(WRONG[mistake])[0] > 1 for budget in budgets.values())


@pytest.mark.parametrize("mistake", WRONG_LSE)
def test_a_wrong_lse_is_rejected(mistake, budgets):
    assert any(budget.fractions_used(WRONG_LSE[mistake])[1] > 1 for budget in budgets.values())
