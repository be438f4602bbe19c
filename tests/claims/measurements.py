"""What the page of measurements claims in words."""

from tests.claims.rows import rows


def _ratios(snippet, direction, form):
    """To cuDNN's speed, in every setting of a run."""
    return [found["ratio"] for d in (64, 128, 256) for found in rows(snippet, f"{direction}_{d}", form=form)]


def where_ours_stand(forward, settings, level, backward, cudnn):
    """Of 18 settings forward the Hopper kernel is ahead of cuDNN in 16 and 2 intervals have 1 in them; backward it is
    ahead in 12, and cuDNN in 3; the portable kernel is behind it in more than half of the settings of each pass.

    In words: ahead, cudnn, ahead, cudnn, behind, most, both.
    """
    for work, ahead, behind in (("forward", forward, 0), ("backward", backward, cudnn)):
        found = rows("beside_cudnn", work, form="hopper_attention")
        assert len(found) == settings
        assert len([each for each in found if each["low"] > 1]) == ahead
        assert len([each for each in found if each["high"] < 1]) == behind
    assert forward + level == settings
    for direction in ("forward", "backward"):
        portable = _ratios("prefill_speed", direction, "flash_attention")
        assert sum(ratio < 1 for ratio in portable) > len(portable) / 2
