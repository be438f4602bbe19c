"""What the page of measurements claims in words."""

from tests.claims.rows import rows


def _ratios(snippet, direction, form):
    """To cuDNN's speed, in every setting of a run."""
    return [found["ratio"] for d in (64, 128, 256) for found in rows(snippet, f"{direction}_{d}", form=form)]


def where_ours_stand():
    """Forward the Hopper kernel is ahead of cuDNN in every setting, in some by less than 1 %, and backward in more than
    half; the portable kernel is behind it in every setting forward and, backward, in more than half of the settings.

    In words: ahead, cudnn, every, nothing, most, behind, every, most.
    """
    hopper = _ratios("hopper_speed", "forward", "hopper_attention")
    assert 1 < min(hopper) < 1.01
    back = [found["ratio"] for found in rows("hopper_backward", "backward", form="hopper")]
    assert sum(ratio > 1 for ratio in back) > len(back) / 2
    assert max(_ratios("prefill_speed", "forward", "flash_attention")) < 1
    backward = _ratios("prefill_speed", "backward", "flash_attention")
    assert sum(ratio < 1 for ratio in backward) > len(backward) / 2
