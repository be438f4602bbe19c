"""With a part left out the first kernel computes what the module says, and that part is gone from what's compiled."""

import pytest
import torch

from kernels.bench.microbenchmarks.ablation import BY_LEFT_OUT, ablation, ablation_kernel
from kernels.bench.profiling.sass import loops, opcodes
from kernels.first.one_key import one_key_attention


def random_inputs(head_dim, device):
    return torch.randn(2, 2, 3, head_dim, device=device), *torch.randn(2, 2, 2, 5, head_dim, device=device)


@pytest.mark.parametrize("head_dim", [12, 64])
def test_with_nothing_left_out_it_is_the_first_kernel(head_dim, device):
    q, k, v = random_inputs(head_dim, device)
    torch.testing.assert_close(BY_LEFT_OUT["nothing"](q, k, v), one_key_attention(q, k, v))


@pytest.mark.parametrize("head_dim", [12, 64])
def test_without_loads_keys_and_values_are_the_query_plus_a_number(head_dim, device):
    q, k, v = random_inputs(head_dim, device)
    keys = q[:, :, :, None] + torch.arange(1, 6, device=device)[:, None]
    shares = torch.softmax((q[:, :, :, None] * keys).sum(-1) / head_dim**0.5, -1)
    torch.testing.assert_close(BY_LEFT_OUT["loads"](q, k, v), (shares[..., None] * keys).sum(-2))


@pytest.mark.parametrize("head_dim", [12, 64])
def test_without_passes_a_weight_is_the_querys_sum_halved_from_key_to_key(head_dim, device):
    q, k, v = random_inputs(head_dim, device)
    weights = q.sum(-1, keepdim=True) * 0.5 ** torch.arange(1, 6, device=device)
    torch.testing.assert_close(BY_LEFT_OUT["passes"](q, k, v), weights @ v)


@pytest.mark.parametrize("left_out", ["sums", "both"])
@pytest.mark.parametrize("head_dim", [12, 64])
def test_without_sums_every_weight_is_the_scale(left_out, head_dim, device):
    q, k, v = random_inputs(head_dim, device)
    output = (v.sum(-2, keepdim=True) / head_dim**0.5).expand_as(q)
    torch.testing.assert_close(BY_LEFT_OUT[left_out](q, k, v), output)


def test_what_the_kernel_refuses_is_refused(device):
    q, k, v = torch.randn(3, 2, 2, 5, 12, device=device)
    stays = {"loads": True, "sums": True, "passes": True}
    with pytest.raises(ValueError, match="key"):
        ablation(q, k[:, :1], v, **stays)
    assert ablation(q[:, :, :0], k, v, **stays).shape == (2, 2, 0, 12)


# What a loop has for its loads, its sums and its passes.
MARKS = {"loads": "LDG", "sums": "SHFL", "passes": "FSEL"}


@pytest.mark.gpu
@pytest.mark.parametrize("left_out", BY_LEFT_OUT)
def test_what_is_left_out_is_gone_and_the_rest_stays(monkeypatch, left_out):
    compiled = []
    launch = type(ablation_kernel).run
    monkeypatch.setattr(type(ablation_kernel), "run", lambda *a, **b: compiled.append(launch(*a, **b)) or compiled[-1])
    BY_LEFT_OUT[left_out](*torch.randn(3, 1, 1, 512, 128, device="cuda").half())
    gone = {"nothing": set(), "both": {"sums", "passes"}}.get(left_out, {left_out})
    found = [opcodes(loop) for loop in loops(compiled[0].asm["sass"])]
    assert len(found) >= 2
    for part, opcode in MARKS.items():
        assert all((loop[opcode] == 0) == (part in gone) for loop in found), part
