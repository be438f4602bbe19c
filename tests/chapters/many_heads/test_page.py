"""The library gives what chapter 2 works out by hand, and strides and copies are as it says."""

from math import sqrt

import pytest

torch = pytest.importorskip("torch")

from kernels.multihead import LoopedMultiHeadAttention, MultiHeadAttention  # noqa: E402

X = torch.tensor([[1, 0, 1, 2], [1, 1, 0, 0], [0, 1, 1, 1]]).double()
ASKS, OFFERS = [[1, 0, 0, 0], [0, 1, 0, 0]], [[0, 0, 1, 0], [0, 1, 0, 0]]  # a row for each number that comes out
HANDS_OVER = [[0, 0, 0, 5], [5, 5, 5, -5]]


def head(asks, offers, seen):
    """The output of one head, of the keys that each word sees; zeros for a word that sees none."""
    q, k, v = (X @ torch.tensor(rows).double().T for rows in (asks, offers, HANDS_OVER))
    weights = (q @ k.T / sqrt(2)).masked_fill(~seen, -torch.inf).softmax(-1)
    return weights.nan_to_num(0) @ v


def both_heads(seen):
    return torch.cat([head(ASKS, OFFERS, seen), head(OFFERS, ASKS, seen)], -1)


@pytest.fixture
def forms():
    """Both forms, with the weights of the by-hand boxes, no bias and an output projection that changes nothing."""
    with torch.no_grad():
        loop = LoopedMultiHeadAttention(4, 2).double()
        for parameter in loop.parameters():
            parameter.zero_()
        loop.output.weight.copy_(torch.eye(4))
        for one, rows in zip(loop.heads, [(ASKS, OFFERS, HANDS_OVER), (OFFERS, ASKS, HANDS_OVER)], strict=True):
            for name, weight in zip(("query", "key", "value"), rows, strict=True):
                getattr(one, name).weight.copy_(torch.tensor(weight))
        yield loop, MultiHeadAttention.from_loop(loop)


ALL = torch.ones(3, 3, dtype=torch.bool)
BLIND = ALL.clone()
BLIND[2] = False


@pytest.mark.parametrize(
    "given, seen",
    [
        ({}, ALL),
        ({"is_causal": True}, ALL.tril()),
        ({"attn_mask": torch.tensor([True, True, False])}, torch.tensor([True, True, False]).expand(3, 3)),
        ({"attn_mask": BLIND}, BLIND),
    ],
    ids=["no mask", "causal", "padding", "a word that sees nothing"],
)
def test_the_library_gives_what_was_worked_out_by_hand(forms, given, seen):
    for form in forms:
        torch.testing.assert_close(form(X[None], **given)[0], both_heads(seen))


def test_strides_are_as_said():
    projected = torch.zeros(3, 4)
    assert projected.stride() == (4, 1)
    split = projected.view(3, 2, 2)
    assert split.stride() == (4, 2, 1) and split.transpose(0, 1).stride() == (2, 4, 1)
    blends = torch.arange(12).view(2, 3, 2)
    assert blends.stride() == (6, 2, 1) and blends.transpose(0, 1).stride() == (2, 6, 1)


@pytest.mark.parametrize("batch, copies", [(1, 1), (8, 4)])
def test_more_than_one_sequence_takes_three_more_copies(batch, copies):
    module, x = MultiHeadAttention(512, 8), torch.zeros(batch, 16, 512)
    with torch.no_grad(), torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        module(x)
    assert sum(event.name == "aten::clone" for event in profiler.events()) == copies
