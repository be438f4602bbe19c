"""What warps wait for is told as shares of their time, setting by setting."""

import shutil
import sys
from types import SimpleNamespace

import pytest
import torch

from kernels.bench.profiling import stalls
from kernels.bench.profiling.stalls import METRICS, REASONS, Profile, Setting, profilable, profiles
from kernels.hopper.plan import plan_for

SETTINGS = [Setting(1, 16, 16384, 128, False), Setting(1, 32, 16384, 64, True)]
NUMBERS = {"nanoseconds": "4,000,000", "clocks": "7,000,000", "instructions": "8,400,000.0", "tensor": "72.5"}
NUMBERS |= {"exp2": "30", "fma": "25", "alu": "20"} | dict.fromkeys(REASONS, "0")
NUMBERS |= {"selected": "1.00", "gmma": "2.50", "long_scoreboard": "1.25", "wait": "0.25"}
QUOTED = ",".join(f'"{metric}"' for metric in METRICS.values())


def row(kernel="hopper_kernel", **changed):
    return ",".join(f'"{x}"' for x in ["0", "41", kernel, *(NUMBERS | changed).values()])


def ncu_output(*rows):
    units = ",".join('""' for _ in range(3 + len(METRICS)))
    lines = ["==PROF== Connected to process 41", f'"ID","Process ID","Kernel Name",{QUOTED}', units, *rows]
    return "\n".join(lines) + "\n"


def test_shares_are_of_the_clocks_and_of_the_warps_time(ncu):
    folder = ncu(ncu_output(row(), row(nanoseconds="2,000,000", wait="5")))
    first, second = profiles("ping-pong", SETTINGS)
    assert first[:8] == Profile("hopper_kernel", 4.0, 1.75, 0.3, 0.725, 0.3, 0.25, 0.2, {})[:8]
    assert list(first.waits)[:4] == ["gmma", "long_scoreboard", "selected", "wait"]
    assert [first.waits[reason] for reason in ("gmma", "selected", "barrier")] == [0.5, 0.2, 0.0]
    assert sum(first.waits.values()) == pytest.approx(1)
    assert second.milliseconds == 2 and next(iter(second.waits)) == "wait"
    arguments = (folder / "arguments").read_text().split("\n")[:-1]
    assert arguments[-6:] == [
        sys.executable,
        "-m",
        "kernels.bench.profiling.stalls",
        "ping-pong",
        "1,16,16384,128,0",
        "1,32,16384,64,1",
    ]
    assert arguments[arguments.index("--metrics") + 1] == ",".join(METRICS.values())
    assert arguments[arguments.index("--cache-control") + 1] == "all"


def test_of_several_kernels_a_setting_counts_the_longest(ncu):
    ncu(ncu_output(row("fill", nanoseconds="1,000"), row("first"), row("second"), row("fill", nanoseconds="1,000")))
    assert [kernel.kernel for kernel in profiles("sdpa_cudnn", SETTINGS)] == ["first", "second"]


@pytest.mark.parametrize("count", [1, 3])
def test_each_setting_counts_equally_many_kernels(ncu, count):
    ncu(ncu_output(*[row()] * count))
    with pytest.raises(RuntimeError, match=f"counted {count} kernels of ping-pong in 2 settings"):
        profiles("ping-pong", SETTINGS)


@pytest.mark.parametrize("name, changed", stalls.PLAN_OVERRIDES.items())
def test_a_change_is_a_change_of_the_plan(name, changed, monkeypatch):
    plans = []
    monkeypatch.setattr(stalls, "hopper_attention", lambda q, k, v, *, is_causal, plan: plans.append(plan))
    inputs = [torch.empty(1, 1, 256, head_dim) for head_dim in (64, 128, 256)]
    for q in inputs:
        profilable()[name](q, q, q, is_causal=False)
    theirs = [plan_for(q.shape[-1], False, 256) for q in inputs]
    assert plans == [plan._replace(**changed) for plan in theirs] != theirs


def test_a_form_is_called_twice_and_counted_once(monkeypatch):
    happened = []

    def form(q, k, v, *, is_causal):
        happened.append((tuple(q.shape), q.dtype, is_causal))

    profiler = SimpleNamespace(start=lambda: happened.append("start"), stop=lambda: happened.append("stop"))
    monkeypatch.setattr(torch.cuda, "profiler", profiler)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    randn = torch.randn
    monkeypatch.setattr(torch, "randn", lambda *shape, device, dtype: randn(*shape, dtype=dtype))
    monkeypatch.setattr(stalls, "profilable", lambda: {"form": form})
    stalls._call_for_ncu("form", "1,2,8,16,0", "1,1,4,8,1")
    one, other = ((1, 2, 8, 16), torch.bfloat16, False), ((1, 1, 4, 8), torch.bfloat16, True)
    assert happened == [one, "start", one, "stop", other, "start", other, "stop"]


@pytest.mark.gpu
@pytest.mark.skipif(not shutil.which("ncu"), reason="needs ncu, which comes with CUDA")
def test_a_consumer_that_does_not_overlap_leaves_the_tensor_cores_idle():
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("needs a Hopper GPU")
    setting = [Setting(1, 16, 8192, 128, False)]
    (ours,), (alone,) = (profiles(name, setting) for name in ("hopper_attention", "no overlap"))
    for kernel in (ours, alone):
        assert 0.3 < kernel.clock < 2.5 and kernel.milliseconds > 0 and sum(kernel.waits.values()) == pytest.approx(1)
        assert all(0 < share < 1 for share in kernel[3:8])
    assert alone.tensor < ours.tensor
