"""The state is an algebra, and the kernel is no less exact than PyTorch's own softmax."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.softmax import OnlineSoftmax, naive_softmax, safe_softmax, softmax
from tests.kernels.error_budget import budget_used
from tests.kernels.memory import room_for

UGLY = [(1, 1), (3, 3), (113, 203), (1, 239), (5, 1025)]
DTYPES = [torch.float32, torch.float16, pytest.param(torch.bfloat16, marks=pytest.mark.gpu)]


def softmax_budget_used(kernel, scores):
    truth = scores.double().softmax(-1)
    return budget_used(kernel(scores), scores.softmax(-1), truth, truth.amax(-1, keepdim=True))


@pytest.mark.parametrize("block", [64, 1024], ids=["many blocks", "one block"])
@pytest.mark.parametrize("shape", UGLY)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_kernel_keeps_its_budget(shape, dtype, block, device):
    scores = (10 * torch.randn(shape, device=device)).to(dtype)
    assert softmax_budget_used(lambda x: softmax(x, block=block), scores) <= 1


def test_strides_change_nothing(device):
    scores = torch.randn(37, 50, device=device)
    expected = softmax(scores, block=16)
    assert softmax(scores.t().contiguous().t(), block=16).equal(expected)
    row = scores[:1].expand(37, -1)
    assert softmax(row, block=16).equal(expected[:1].expand(37, -1))


def zeros(scores):
    return torch.zeros_like(scores)


def zeros_in_one_row(scores):
    return scores.softmax(-1) * (torch.arange(len(scores), device=scores.device) > 0)[:, None]


def low_precision(scores):
    return scores.bfloat16().softmax(-1).float()


def nan_in_one_place(scores):
    out = scores.softmax(-1)
    out[0, 0] = torch.nan
    return out


def down_the_columns(scores):
    return scores.softmax(0)


@pytest.mark.parametrize("wrong", [zeros, zeros_in_one_row, low_precision, nan_in_one_place, down_the_columns])
def test_a_wrong_kernel_is_rejected(wrong, device):
    assert softmax_budget_used(wrong, 10 * torch.randn(113, 203, device=device)) > 1


def test_naive_overflows_and_safe_does_not():
    """by hand: FP32 from 88.7228, FP16 from 11.0901; nothing crashes."""
    assert naive_softmax(torch.tensor([88.7, 0.0])).isfinite().all()
    assert naive_softmax(torch.tensor([88.73, 0.0]))[0].isnan()
    assert naive_softmax(torch.tensor([11.08, -1.0]).half()).isfinite().all()
    assert torch.tensor(11.1).half().exp().isinf()
    scores = torch.tensor([1000.0, 999.0, 0.0])
    torch.testing.assert_close(safe_softmax(scores), scores.softmax(-1))


def test_naive_and_safe_take_each_row_by_itself():
    scores = torch.randn(3, 7)
    for function in (naive_softmax, safe_softmax):
        torch.testing.assert_close(function(scores), scores.softmax(-1))


def test_by_hand():
    """Undivided scores [1, 0, 1]: e, 1, e over 6.44."""
    shares = naive_softmax(torch.tensor([1.0, 0.0, 1.0]))
    assert [f"{share:.0%}" for share in shares.tolist()] == ["42%", "16%", "42%"]


def no_rescale(state, block):
    """Wrong on purpose: forgets to rescale the old sum when the maximum moves."""
    new_max = torch.maximum(state.running_max, block.amax(-1))
    return OnlineSoftmax(new_max, state.running_sum + (block - new_max).exp().sum(-1))


def no_maximum(state, block):
    """Wrong on purpose: keeps the first maximum, and overflows."""
    first = torch.where(state.running_max == -torch.inf, block.amax(-1), state.running_max)
    return OnlineSoftmax(first, state.running_sum + (block - first).exp().sum(-1))


@pytest.mark.parametrize("update, is_right", [(OnlineSoftmax.update, True), (no_rescale, False), (no_maximum, False)])
def test_update_is_told_from_a_wrong_one(update, is_right):
    scores = torch.tensor([1.0, 2.0, 150.0, 3.0])
    state = OnlineSoftmax.empty()
    for block in scores.split(2):
        state = update(state, block)
    assert bool(torch.allclose(state.lse, scores.logsumexp(-1)) and state.running_sum.eq(1)) is is_right


def test_scores_far_below_0_are_kept():
    """Were the maximum of nothing 0, every exponential would be 0 here."""
    state = OnlineSoftmax.empty(2).update(torch.tensor([[-200.0, -201.0], [-3e4, -3e4]]))
    torch.testing.assert_close(state.lse, torch.tensor([-200.0 + math.log1p(math.exp(-1)), -3e4 + math.log(2)]))


ROW = st.lists(st.floats(-1e4, 1e4, width=32), min_size=1, max_size=50)
PART = st.lists(st.floats(-1e4, 1e4, width=32), max_size=20).map(
    lambda row: OnlineSoftmax.empty().update(torch.tensor(row))
)
hypothesis_settings = settings(deadline=None, derandomize=True)


@hypothesis_settings
@given(ROW, st.integers(0, 50))
def test_reading_in_two_parts_and_merging_is_reading_at_once(row, cut):
    row = torch.tensor(row)
    left, right = OnlineSoftmax.empty().update(row[:cut]), OnlineSoftmax.empty().update(row[cut:])
    torch.testing.assert_close(left.merge(right).lse, row.logsumexp(-1))
    torch.testing.assert_close(left.update(row[cut:]).lse, row.logsumexp(-1))


@hypothesis_settings
@given(PART, PART, PART)
def test_merge_commutes_exactly_and_associates_up_to_rounding(a, b, c):
    assert all(x.equal(y) for x, y in zip(a.merge(b), b.merge(a), strict=True))
    torch.testing.assert_close(a.merge(b).merge(c).lse, a.merge(b.merge(c)).lse)


@hypothesis_settings
@given(PART)
def test_empty_is_the_identity(state):
    empty = OnlineSoftmax.empty()
    assert all(x.equal(y) for x, y in zip(state.merge(empty), state, strict=True))
    assert all(x.equal(y) for x, y in zip(empty.merge(state), state, strict=True))


def test_the_state_has_one_entry_a_row_and_sums_fp16_in_fp32():
    scores = torch.zeros(2, 3, 70000, dtype=torch.float16)
    state = OnlineSoftmax.empty(2, 3).update(scores)
    assert state.running_sum.dtype == torch.float32 and state.running_sum.eq(70000).all()
    assert state.lse.shape == (2, 3)


def test_nothing_never_makes_nan(device):
    empty = OnlineSoftmax.empty()
    assert empty.merge(empty).lse == -torch.inf
    assert empty.update(torch.full((4,), -torch.inf)).lse == -torch.inf
    assert softmax(torch.full((2, 5), -torch.inf, device=device), block=2).eq(0).all()
    assert softmax(torch.tensor([[-torch.inf] * 4 + [0.0]], device=device), block=2).sum() == 1
    assert softmax(torch.zeros(0, 5, device=device)).shape == (0, 5)
    assert softmax(torch.zeros(5, 0, device=device)).shape == (5, 0)


@pytest.mark.parametrize(
    "scores, options, error, words",
    [
        (torch.zeros(4), {}, ValueError, "scores has 1 dimensions"),
        (torch.zeros(2, 3, 4), {}, ValueError, "scores has 3 dimensions"),
        (torch.zeros(2, 3, dtype=torch.int32), {}, TypeError, r"scores is torch\.int32"),
        (torch.zeros(2, 3), {"block": 48}, ValueError, "block is 48"),
        (torch.zeros(2, 3), {"block": 0}, ValueError, "block is 0"),
        (torch.zeros(2, 3), {"block": 2**25}, ValueError, "block is 33554432: .* at most 1048576 numbers"),
        (torch.zeros(2, 3, requires_grad=True), {}, ValueError, "scores requires a gradient"),
    ],
)
def test_bad_input_is_named(scores, options, error, words, device):
    with pytest.raises(error, match=words):
        softmax(scores.to(device), **options)


def test_a_block_of_no_dimension_is_named():
    with pytest.raises(ValueError, match=r"block has 0 dimensions, \[\.\.\., block\] is wanted"):
        OnlineSoftmax.empty().update(torch.tensor(1.0))


def test_a_block_may_be_one_number_or_as_large_as_triton_has_them(device):
    scores = torch.randn(2, 5, device=device)
    for block in (1, 2**20 if device.type == "cpu" else 2**15):  # a larger one takes a compiler minutes
        torch.testing.assert_close(softmax(scores, block=block), scores.softmax(-1))


@pytest.mark.parametrize("others", [[], [1.0, -2.0], [-torch.inf], [torch.inf]], ids=str)
def test_a_nan_stays_in_the_state(others):
    """Whatever is read before it, beside it or after it."""
    empty = OnlineSoftmax.empty()
    nan_state = empty.update(torch.tensor([*others, torch.nan]))
    earlier, later = (empty.update(torch.tensor(x)) for x in ([0.0], others))
    for state in (
        nan_state,
        nan_state.merge(later),
        earlier.merge(nan_state),
        nan_state.update(torch.tensor([-torch.inf])),
    ):
        assert state.running_sum.isnan() and state.lse.isnan()


@pytest.mark.large
@pytest.mark.gpu
def test_a_row_starts_beyond_2_to_the_31_elements(device):
    scores = torch.empty(2**17 + 2, 2**14, device=device, dtype=torch.float16).normal_()
    last = scores[-1:].clone()
    assert softmax(scores)[-1:].equal(softmax(last))


@pytest.mark.large
@pytest.mark.gpu
def test_columns_further_apart_than_2_to_the_31_elements(device):
    room_for(6)
    storage = torch.empty(20 * 2**27, device=device, dtype=torch.float16)
    scores = storage.as_strided((3, 20), (1, 2**27))
    scores.copy_(torch.randn(3, 20))
    for block in (8, 32):  # with an offset that is added, and one that is multiplied
        assert softmax(scores, block=block).equal(softmax(scores.contiguous(), block=block))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("value", [torch.inf, torch.nan])
def test_inf_and_nan_spread_as_in_torch(value, device):
    scores = torch.randn(3, 9, device=device)
    scores[1, 5] = value
    torch.testing.assert_close(softmax(scores, block=4), scores.softmax(-1), equal_nan=True)
