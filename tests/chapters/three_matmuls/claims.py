"""What chapter 1 claims in words."""

from math import exp

from kernels.bench.cost import attention_flops, qkvo_bytes, square_bytes
from tests.claims.rows import chip_of, rounded, row


def inputs_are_a_sixteenth():
    """At N = 8192 and d = 128, Q, K, V and the output take a sixteenth of the square. In words: sixteenth."""
    assert 16 * qkvo_bytes(8192, 128, 2) == square_bytes(8192, 2)


def flash_errs_less_than_three_lines():
    """FlashAttention's largest error and its mean error are below those of the three lines.

    In words: largest, smaller.
    """
    ours, three_lines = (row("flash_first", "errors", form=form) for form in ("flash_attention", "attention"))
    assert ours["largest"] < three_lines["largest"] and ours["mean"] < three_lines["mean"]


def exp_89_leaves_fp32():
    """e to the 89 is larger than the largest number of FP32. In words: large, fp32."""
    assert exp(89) > (2 - 2**-23) * 2.0**127


def _part_of_the_limit(*forms):
    """Per cent of the fastest of these forms that the arithmetic alone would take at N = 8192 and d = 128."""
    least = attention_flops(8192, 128, heads=16, batch=2) / chip_of("prefill_speed", "bf16 peak")
    moved = qkvo_bytes(8192, 128, 2, heads=16, batch=2)
    assert least > moved / chip_of("prefill_speed", "hbm bandwidth")  # or bytes were the limit
    wanted = {"direction": "forward", "head_dim": 128, "n": 8192, "causal": False}
    return 100 * 1e3 * least / min(row("prefill_speed", "forward_128", form=form, **wanted)["median"] for form in forms)


def three_lines_reach(percent):
    """At N = 8192 and d = 128 the three lines reach so many per cent of what the arithmetic allows."""
    assert rounded(_part_of_the_limit("attention"), percent) == percent


def fused_reaches(percent):
    """There the fastest fused backend of SDPA reaches so many per cent. In words: fastest."""
    assert rounded(_part_of_the_limit("sdpa_flash", "sdpa_cudnn", "sdpa_efficient"), percent) == percent
