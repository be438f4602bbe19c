"""What chapter 1 claims in words."""

from math import exp

from kernels.bench.cost import qkvo_bytes, square_bytes
from tests.claims.rows import row


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
