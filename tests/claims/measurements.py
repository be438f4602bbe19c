"""What the page of measurements claims in words."""

from tests.claims.rows import row, rows


def _ratios(snippet, direction, form):
    """To cuDNN's speed, in every setting of a run."""
    return [found["ratio"] for d in (64, 128, 256) for found in rows(snippet, f"{direction}_{d}", form=form)]


def where_ours_stand(settings):
    """In all 18 settings, forward and backward, the Hopper kernel is ahead of cuDNN, by its interval; the portable
    kernel is behind cuDNN in more than half of the settings of each pass.

    In words: ahead, cudnn, all, behind, cudnn, most, both.
    """
    for work in ("forward", "backward"):
        found = rows("beside_cudnn", work, form="hopper_attention")
        assert len(found) == settings and all(each["low"] > 1 for each in found)
    for direction in ("forward", "backward"):
        portable = _ratios("prefill_speed", direction, "flash_attention")
        assert sum(ratio < 1 for ratio in portable) > len(portable) / 2


def fa4_forward_beside_ours(short, long, head_dim):
    """As graphs forward FlashAttention-4's mean by cuDNN is below ours, each interval apart; in every setting of
    N = 1024 it takes more time than ours, and in both of N = 16,384 with heads of 64 less, each interval apart.

    In words: behind, each, ahead, both.
    """
    ours, theirs = (
        {
            (found["head_dim"], found["n"], found["causal"]): found
            for found in rows("beside_cudnn", "forward", form=form)
        }
        for form in ("hopper_attention", "flash_attention_4")
    )
    means = [
        row("beside_cudnn", "overall", work="forward", way="graph", form=form)
        for form in ("hopper_attention", "flash_attention_4")
    ]
    assert means[1]["high"] < means[0]["low"]
    at_once = [key for key in ours if key[1] == short]
    assert len(at_once) == 6 and all(theirs[key]["ratio"] < ours[key]["ratio"] for key in at_once)
    both = [key for key in ours if key[:2] == (head_dim, long)]
    assert len(both) == 2 and all(theirs[key]["low"] > ours[key]["high"] for key in both)
