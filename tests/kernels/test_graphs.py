"""A replayed call computes again, from what its inputs hold then, and is launched whole."""

import pytest
import torch

from kernels.bench.timing import replayed


@pytest.mark.gpu
def test_a_replay_computes_again(device):
    x, y = torch.ones(5, device=device), torch.empty(5, device=device)
    calls = []

    def double():
        calls.append(1)
        torch.mul(x, 2, out=y)

    replay = replayed(double)
    x.fill_(3)
    y.zero_()
    replay()
    assert y.eq(6).all() and len(calls) == 2


def test_without_a_gpu_it_says_so(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(RuntimeError, match="replayed needs a GPU"):
        replayed(lambda: pytest.fail("called"))
