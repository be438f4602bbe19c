"""A running maximum that is exceeded by little is kept: attention all the same, with numbers that stay small."""

import math
import re
from types import SimpleNamespace

import pytest
import torch

from kernels.hopper import consumer, rescale
from kernels.hopper.attention import hopper_attention
from kernels.hopper.plan import PLANS
from tests.kernels.flash.harness import CAUSAL
from tests.kernels.hopper.harness import BF16, FP16, largest_budget_used, on_hopper

THRESHOLD = rescale.THRESHOLD.value
KEYS = 32  # a block


def largest(scores, _):
    """The largest of a row, in which NaN counts for nothing, as in the GPU's instruction."""
    return scores.nan_to_num(nan=-torch.inf, posinf=torch.inf, neginf=-torch.inf).amax(1)


IN_PYTHON = SimpleNamespace(
    maximum=torch.fmax, max=largest, sum=torch.sum, exp2=torch.exp2,
    where=lambda condition, x, y: torch.where(
        condition, *(torch.as_tensor(z, dtype=torch.float64) for z in (x, y))
    ),
)  # fmt: skip


@pytest.fixture
def gl_in_python(monkeypatch):
    for module in (consumer, rescale):
        monkeypatch.setattr(module, "gl", IN_PYTHON)
    monkeypatch.setattr(rescale, "THRESHOLD", THRESHOLD)
    monkeypatch.setattr(consumer, "reference_max", rescale.reference_max.fn)


def rising_scores(rise):
    """Scores, in powers of two, that rise by so much from block to block in every other row."""

    def scores(random_scores):
        blocks = torch.arange(random_scores.shape[1]) // KEYS
        return random_scores + rise * blocks * (torch.arange(len(random_scores)) % 2)[:, None]

    return scores


SCORES = {
    "random": lambda random_scores: random_scores,
    "large": lambda random_scores: 40 * random_scores,
    "rising by little": rising_scores(0.5),
    "rising by less than the threshold": rising_scores(THRESHOLD - 0.1),
    "rising by more": rising_scores(THRESHOLD + 0.1),
    "falling": rising_scores(-3),
    "nothing at first": lambda random_scores: random_scores.index_fill(1, torch.arange(2 * KEYS), -torch.inf),
    "nothing": lambda random_scores: random_scores.index_fill(0, torch.arange(0, len(random_scores), 3), -torch.inf),
}


def online_attention(scores, values, scale, conditional):
    """Output and log-sum-exp by the kernel's own ``online_softmax``; of blocks but the first, weights and factor."""
    running_max = torch.full((len(scores),), -torch.inf, dtype=torch.float64)
    running_sum, accumulator, block_states = torch.zeros_like(running_max), 0, []
    blocks = zip(scores.split(KEYS, 1), values.split(KEYS), strict=True)
    for number, (block, block_values) in enumerate(blocks):
        weights, running_max, running_sum, factor = consumer.online_softmax.fn(
            block, running_max, running_sum, scale, conditional and number > 0
        )
        accumulator = accumulator * factor[:, None] + weights @ block_values
        if number:
            block_states.append((weights, factor, running_sum))
    total = torch.where(running_sum == 0, 1.0, running_sum)
    return accumulator / total[:, None], (running_max * scale + total.log2()) * math.log(2), block_states


@pytest.mark.parametrize("scale", [1.0, 1e-3, 7.0])
@pytest.mark.parametrize("kind", SCORES)
def test_the_output_and_its_log_sum_exp_are_the_same(kind, scale, gl_in_python):
    """In FP64 as exactly as with the maximum itself, and never is a weight above 2⁸ or a row's sum below 1."""
    torch.manual_seed(0)
    random_scores = torch.randn(64, 8 * KEYS, dtype=torch.float64)
    scores = SCORES[kind](random_scores) / scale
    values = torch.randn(8 * KEYS, 16, dtype=torch.float64)
    out, lse, block_states = online_attention(scores, values, scale, True)
    weights = (scores * scale * math.log(2)).softmax(1).nan_to_num(nan=0)
    torch.testing.assert_close(out, weights @ values, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(lse, (scores * scale * math.log(2)).logsumexp(1), rtol=1e-12, atol=1e-11)
    for weights, _, running_sum in block_states:
        assert weights.max() <= 2**THRESHOLD * (1 + 1e-9)
        assert ((running_sum >= 1) | (running_sum == 0)).all()


def test_random_scores_are_hardly_ever_rescaled(gl_in_python):
    """Each factor is then exactly 1; with the maximum itself most rows have another now and then."""
    torch.manual_seed(0)
    scores, values = torch.randn(64, 64 * KEYS, dtype=torch.float64) * 1.44, torch.zeros(64 * KEYS, 1).double()
    block_states = [online_attention(scores, values, 1.0, conditional)[2] for conditional in (True, False)]
    conditional_factors, exact_factors = ([factor for _, factor, _ in blocks] for blocks in block_states)
    assert all((factor == 1).all() for factor in conditional_factors)
    assert sum(int((factor != 1).sum()) for factor in exact_factors) > 2 * len(scores)


def test_a_row_moves_by_itself(gl_in_python):
    scores = rising_scores(THRESHOLD + 1)(torch.randn(64, 4 * KEYS, dtype=torch.float64) * 0.1)
    for _, factor, _ in online_attention(scores, torch.zeros(4 * KEYS, 1).double(), 1.0, True)[2]:
        assert (factor[::2] == 1).all() and (factor[1::2] < 2**-THRESHOLD).all()


@pytest.mark.parametrize("old_max, new_max, expected_max", [
    (-math.inf, -math.inf, -math.inf), (-math.inf, 3.0, 3.0), (3.0, math.inf, math.inf), (math.inf, math.inf, math.inf),
    (3.0, 3.0 + THRESHOLD, 3.0), (3.0, 3.1 + THRESHOLD, 3.1 + THRESHOLD), (-3e38, 3e38, 3e38),
])  # fmt: skip
def test_a_maximum_is_kept_until_it_is_exceeded_by_more_than_the_threshold(
    old_max, new_max, expected_max, gl_in_python
):
    reference = rescale.reference_max.fn(torch.tensor(new_max), torch.tensor(old_max), 1.0)
    assert reference.double() == torch.tensor(expected_max).double()


@pytest.mark.parametrize("count", [32, 64, 128])
def test_what_the_compiler_is_told(count):
    """Each number is multiplied by its own factor, in its own register, and both rows of a thread are looked at."""
    text, registers = rescale.multiplications.fn(count), rescale.registers.fn(count).split(",")
    products = re.findall(r"mul\.f32 \$(\d+), \$(\d+), \$(\d+);", text)
    assert products == [(str(i), str(i), str(2 * count + i)) for i in range(count)]
    assert registers == ["=f"] * count + [str(i) for i in range(count)] + ["f"] * count
    # Of wgmma's sums a thread has columns 2j and 2j + 1 of a row, then the same of the row 8 below it.
    assert re.findall(r"setp\.neu\.f32 \w+, \$(\d+), 0f3F800000;", text) == [str(2 * count), str(2 * count + 2)]
    assert text.index("vote") < text.index("bra") < text.index("mul") < text.index("KEPT:\n}")


def rising_inputs(device, dtype, head_dim, rise, keys_a_block):
    """Queries of which some have scores that rise by so many powers of two a block, from the last key on.

    Of the 16 rows of a warp the first 8, or the last: a thread has one of each.
    """
    q, k, v = 0.1 * torch.randn(3, 2, 2, 600, head_dim, device=device)
    place = torch.arange(600, device=device) // keys_a_block
    q[..., 0] = torch.arange(600, device=device) // 8 % 4 % 3 == 0
    k[..., 0] = rise * (place.max() - place)
    return (x.to(dtype) for x in (q, k, 30 * v + 1))


@on_hopper
@CAUSAL
@pytest.mark.parametrize(
    "head_dim, dtype", [(64, BF16), (256, BF16), (256, FP16)], ids=["64-bf16", "256-bf16", "256-fp16"]
)
@pytest.mark.parametrize("rise", [0.5, THRESHOLD - 0.5, THRESHOLD + 0.5, 40.0])
def test_scores_that_rise(rise, head_dim, dtype, is_causal, device):
    """By less than the threshold, so that many steps pass before the maximum moves, and by more; in some rows alone."""
    plan = PLANS[head_dim, is_causal]._replace(conditional_rescale=True)
    q, k, v = rising_inputs(device, dtype, head_dim, rise, plan.block_k)
    options = {"is_causal": is_causal, "scale": math.log(2)}
    assert largest_budget_used(lambda *x, **y: hopper_attention(*x, plan=plan, **y), q, k, v, **options) <= 1
