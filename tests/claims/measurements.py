"""What the page of measurements claims in words."""

from tests.claims.rows import row, rows


def _ratios(snippet, direction, form):
    """To cuDNN's speed, in every setting of a run."""
    return [found["ratio"] for d in (64, 128, 256) for found in rows(snippet, f"{direction}_{d}", form=form)]


def where_ours_stand(forward, settings, backward):
    """Of 18 settings forward the Hopper kernel is ahead of cuDNN in 17 and behind in one, by its interval; backward it
    is ahead in all 18; the portable kernel is behind it in more than half of the settings of each pass.

    In words: ahead, cudnn, behind, ahead, all, behind, most, both.
    """
    for work, ahead, behind in (("forward", forward, 1), ("backward", backward, 0)):
        found = rows("beside_cudnn", work, form="hopper_attention")
        assert len(found) == settings
        assert len([each for each in found if each["low"] > 1]) == ahead
        assert len([each for each in found if each["high"] < 1]) == behind
    for direction in ("forward", "backward"):
        portable = _ratios("prefill_speed", direction, "flash_attention")
        assert sum(ratio < 1 for ratio in portable) > len(portable) / 2


def fa4_forward_beside_ours(short, ahead, settings, long):
    """As graphs forward FlashAttention-4's mean by cuDNN is below ours, each interval apart; in every setting of
    N = 1024 it takes more time than ours, and in 3 of 6 of N = 16,384 less.

    In words: behind, each, ahead.
    """
    ours, theirs = (
        {
            (found["head_dim"], found["n"], found["causal"]): found["ratio"]
            for found in rows("beside_cudnn", "forward", form=form)
        }
        for form in ("hopper_attention", "flash_attention_4")
    )
    means = [
        row("beside_cudnn", "overall", work="forward", way="graph", form=form)
        for form in ("hopper_attention", "flash_attention_4")
    ]
    assert means[1]["high"] < means[0]["low"]
    at = {n: [theirs[key] / ours[key] for key in ours if key[1] == n] for n in (int(short), int(long))}
    assert len(at[short]) == len(at[long]) == settings
    assert max(at[short]) < 1 and sum(lead > 1 for lead in at[long]) == ahead
