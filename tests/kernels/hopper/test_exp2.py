"""Exponentials by multiply-adds: the kernel's own function, run in Python."""

from types import SimpleNamespace

import pytest
import torch

from kernels.hopper import exp2

IN_PYTHON = SimpleNamespace(maximum=lambda x, least: x.clamp(min=least), int32=torch.int32, float32=torch.float32)
TINY = torch.finfo(torch.float32).tiny


class Number(torch.Tensor):
    """Numbers whose bits can be read, as those of a kernel can."""

    def to(self, dtype, bitcast=False):
        return self.view(dtype) if bitcast else super().to(dtype)


@pytest.fixture
def emulated(monkeypatch):
    monkeypatch.setattr(exp2, "gl", IN_PYTHON)
    for name in ("WHOLE", "FIRST", "SECOND", "THIRD", "FOURTH", "FIFTH"):
        monkeypatch.setattr(exp2, name, getattr(exp2, name).value)
    return lambda x: exp2.emulated_exp2.fn(torch.as_tensor(x, dtype=torch.float32).as_subclass(Number)).double()


def test_powers_of_two(emulated):
    x = torch.cat([torch.linspace(-126, 127, 100_001), torch.randn(100_000)])
    relative = emulated(x) / torch.exp2(x.double()) - 1
    assert relative.abs().max() < 3e-7


def test_whole_powers_are_exact(emulated):
    """Above all 2⁰, the weight of the largest score."""
    x = torch.arange(-126, 128)
    assert torch.equal(emulated(x).as_subclass(torch.Tensor), torch.exp2(x.double()))


def test_what_is_too_small_is_nothing(emulated):
    assert emulated([-torch.inf, -1e30, -200.0, -127.0]).tolist() == [0, 0, 0, 0]
    below = emulated(torch.linspace(-127, -126, 1001))
    assert (below >= 0).all() and (below <= TINY * 1.01).all()
