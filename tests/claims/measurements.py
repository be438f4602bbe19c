"""What the page of measurements claims in words."""

from tests.claims.rows import rows


def _ratios(snippet, direction, form):
    """To cuDNN's speed, in every setting of a run."""
    return [found["ratio"] for d in (64, 128, 256) for found in rows(snippet, f"{direction}_{d}", form=form)]


def where_ours_stand():
    """Forward the Hopper kernel is ahead of cuDNN in every setting but 1, in some by less than 2 %, and backward in
    more than half; the portable kernel is behind it in more than half of the settings of each pass.

    In words: ahead, cudnn, every, nothing, most, behind, most, both.
    """
    hopper, back = (
        sorted(found["ratio"] for found in rows("beside_cudnn", work, form="hopper_attention"))
        for work in ("forward", "backward")
    )
    assert len(hopper) == len(back) == 18 and hopper[0] < 1 < hopper[1] < 1.02
    assert sum(ratio > 1 for ratio in back) > len(back) / 2
    for direction in ("forward", "backward"):
        portable = _ratios("prefill_speed", direction, "flash_attention")
        assert sum(ratio < 1 for ratio in portable) > len(portable) / 2
