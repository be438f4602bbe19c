"""What the corrections claim in words beside what the chapters do."""

from kernels.bench.cost import attention_flops, mb, qkvo_bytes, square_bytes
from kernels.bench.hardware import A100, H100, V100
from kernels.hopper.plan import PLANS
from tests.claims.rows import chip, close, rounded, row, rows
from tests.docs.three_words import S
from tests.kernels.error_budget import FACTOR

HEAD_DIMS = (64, 128, 256)


def the_diagonal_loses_one_row():
    """In the three words each word's score of itself is in two rows equal to the best other, and once below it.

    In words: loses.
    """
    others = [max(score for at, score in enumerate(scores) if at != word) for word, scores in enumerate(S)]
    assert sorted(S[word][word] - others[word] for word in range(3)) == [-1, 0, 0]


def flash_is_nearer_to_fp64():
    """In the first run FlashAttention's largest and mean errors are below those of the three lines.

    In words: fp64, smaller.
    """
    lines, flash = (row("flash_first", "errors", form=form) for form in ("attention", "flash_attention"))
    assert flash["largest"] < lines["largest"] and flash["mean"] < lines["mean"]


def the_budget_is_twice():
    """The budget of errors is twice PyTorch's own. In words: twice, same."""
    assert FACTOR == 2


def exp_overflows_above(fp16, fp32):
    """The last score whose exponential is a number is 11.09 in FP16 and 88.7 in FP32. In words: above, fp32, above."""
    for kind, typed in (("FP16", fp16), ("FP32", fp32)):
        assert rounded(row("overflow", "where", type=kind)["last"], typed) == typed


def it_makes_six():
    """With caches kept the counters see 6 squares of traffic."""
    counted = row("hbm_traffic", "whole", form="attention", n=8192)
    assert round(counted["kept"] / mb(square_bytes(8192, 2))) == 6


def squares_counted(trips):
    """With caches flushed the counters see 5.5 squares of traffic."""
    counted = row("hbm_traffic", "whole", form="attention", n=8192)
    assert rounded(counted["flushed"] / mb(square_bytes(8192, 2)), trips) == trips


def fused_prefill_does(operations, n):
    """In 16 bits fused prefill does N/2 FLOP for each byte that must move, 4096 at N = 8192."""
    for length in (1024, int(n)):
        assert attention_flops(length, 128) / qkvo_bytes(length, 128, 2) == length / 2
    assert operations == n / 2


def neither_matmul_reaches_half():
    """QKᵀ and PV of the three lines reach less than half of the peak. In words: neither, half."""
    reached = (row("roofline", "reached", step=step)["reached"] for step in ("QKᵀ", "PV"))
    assert all(1e12 * found < chip("bf16 peak") / 2 for found in reached)


def _softmax(row_of):
    return row("roofline", "softmax", row=row_of)


def softmax_reaches_a_third():
    """For rows of 8192 PyTorch's softmax reaches 0.27 to 0.4 of a copy's speed. In words: third."""
    assert 0.27 < _softmax(8192)["speed"] / _softmax(None)["speed"] < 0.4


def a_few_lines_are_twice_as_fast():
    """For rows of 8192 our softmax is 1.8 to 2.2 times as fast as PyTorch's. In words: few, twice, fast, same."""
    assert 1.8 < _softmax(8192)["time"] / _softmax(8192)["ours"] < 2.2


def tensor_cores_were_eight_times_as_fast():
    """A V100's peak in 16 bits is 8 times that of its FP32 lanes, to the whole number. In words: fp32."""
    assert round(V100["fp16 tensor core peak"].value / V100["fp32 peak"].value) == 8


def they_are_sixteen_times_as_fast():
    """On an A100 the ratio of the peaks is 16, on an H100 that of the FLOP in each clock. In words: each."""
    assert A100["fp16 tensor core peak"].value / A100["fp32 peak"].value == 16
    assert H100["bf16 tensor core"].value / H100["fp32 lanes"].value == 16


def _prefill(direction, head_dim):
    return rows("prefill_speed", f"{direction}_{head_dim}")


def _leads():
    """Forward, full, at d = 64, 128, 256 and N = 4096 and 16384: how many times as fast our kernel is as the three
    lines, where these were measured."""
    times = {
        (found["form"], head_dim, found["n"]): found["median"]
        for head_dim in HEAD_DIMS
        for found in _prefill("forward", head_dim)
        if not found["causal"]
    }
    return {
        (d, n): times["attention", d, n] / times["flash_attention", d, n]
        for n in (4096, 16384)
        for d in HEAD_DIMS
        if ("attention", d, n) in times
    }


def lead_over_the_three_lines(least, most):
    """Forward, full, at N = 4096 and 16384 our kernel is 2 to 9 times, to a half, as fast as the three lines.

    In words: fast.
    """
    leads = _leads().values()
    assert len(leads) >= 5 and least <= min(leads) < least + 1 and abs(max(leads) - float(most)) < 0.5


def the_lead_is_larger_with_small_heads():
    """At either N that lead falls with each doubling of d. In words: more, smaller."""
    leads = _leads()
    assert all(leads[d, n] > leads[2 * d, n] for d, n in leads if (2 * d, n) in leads)


def slower_than_cudnn_in_most_settings():
    """Forward our portable kernel is slower than cuDNN in more than half of the settings.

    In words: slower, cudnn, most.
    """
    ours = [found["ratio"] for d in HEAD_DIMS for found in _prefill("forward", d) if found["form"] == "flash_attention"]
    assert sum(ratio < 1 for ratio in ours) > len(ours) / 2


def turns_give_among_three(short, long, head_dim, consumers, causal):
    """At d = 64 with three consumers turns give 2.3 % and 2.5 % in full, and causal, at N = 16,384, 1.4 %.

    In words: full, long, causal.
    """
    assert head_dim == 64 and PLANS[head_dim, False].consumers == consumers
    found = {(each["n"], each["causal"]): each["gain"] for each in rows("hopper_steps", "steps_64", step="turns")}
    gains = {setting: rounded(100 * (gain - 1), short) for setting, gain in found.items()}
    assert gains == {(1024, False): short, (16384, False): long, (16384, True): causal}


def turns_between_two(two, least, most):
    """With two consumers turns change the speed to 0.97 to 1.01 times, at any d, whether the plan has them or not."""
    steps = [each for d in HEAD_DIMS for each in rows("hopper_steps", f"steps_{d}")]
    three = {("turns", 64)}  # where the ladder has them with three consumers
    turns = [
        each for each in steps if each["step"].startswith("turns") and (each["step"], each["head_dim"]) not in three
    ]
    found = [each["gain"] for each in turns]
    assert (rounded(min(found), least), rounded(max(found), most)) == (least, most)
    assert two == 2


def plans_of_two_have_turns(*head_dims):
    """Of the plans with two consumers those of causal heads of 128 and 256 have turns, and no other.

    In words: only, causal.
    """
    found = [setting for setting, plan in PLANS.items() if plan.consumers == 2 and plan.turns]
    assert found == [(d, True) for d in head_dims]


def _long_causal(step):
    return row("hopper_steps", "steps_128", n=16384, causal=True, step=step)["gain"]


def persistence_cost_a_third():
    """Causal, N = 16,384, d = 128: with persistence alone the speed is lower by a third, to 0.01. In words: third."""
    assert abs(1 - _long_causal("persistent") - 1 / 3) < 0.01


def pairs_bring_it_back():
    """There persistence and pairs together have the speed from before, to 4 %."""
    assert close(_long_causal("persistent") * _long_causal("paired"), 1, 0.04)


def singles_bring_it_back(percent):
    """There persistence, pairs and single blocks together have the speed from before, to 2 %. In words: last."""
    speed = _long_causal("persistent") * _long_causal("paired") * _long_causal("singles")
    assert close(speed, 1, percent / 100)


def counting_predicts_it():
    """There pairs gain more than 2/3 of what was counted. In words: most."""
    counted = row("hopper_shares", "shares", head_dim=128, n=16384)["gain"]
    assert 2 / 3 * (counted - 1) < _long_causal("paired") - 1 < counted - 1


def nvfp4_is_so_much_faster_than_16_bits(least, most):
    """In every setting our decode kernel in NVFP4 is 1.9 to 2.3 times as fast as cuDNN in 16 bits. In words: fast."""
    found = [row["ratio"] for row in rows("decode_speed", "decode", cache="nvfp4", form="ours")]
    assert (rounded(min(found), least), rounded(max(found), most)) == (least, most)


def swapping_changes_no_bit():
    """Of 262,144 sums none changes when two states are swapped. In words: last."""
    swapped = row("softmax_order", "triples", compared="swapped")
    assert (swapped["differ"], swapped["largest"]) == (0, 0)
