"""What the chapter on Hopper concludes from its records."""

from __future__ import annotations

from scripts.facts import compares, phrases

OURS, CUDNN, FA4 = "hopper_attention", "sdpa_cudnn", "flash_attention_4"


def _wins_and_losses(rows: list[dict], form: str, other: str) -> str:
    """Says how often a form wins and loses beside another, as graphs. ``ratio``: cuDNN's time over the form's."""
    ratios = {(row["form"], row["head_dim"], row["n"], row["causal"]): row["ratio"] for row in rows}
    settings = [key[1:] for key in ratios if key[0] == form]
    apart = [ratios[other, *key] / ratios[form, *key] for key in settings if (other, *key) in ratios]
    return phrases.wins_and_losses([phrases.with_margin(each, "ratio_of_one_setting") for each in apart], "settings")


@compares("beside_cudnn.forward", key_column="form", keys=(OURS, CUDNN), value_column="ratio")
def forward_beside_cudnn(rows: list[dict]) -> str:
    """Says in how many settings our kernel is sure to be ahead of cuDNN, forward."""
    return _wins_and_losses(rows, OURS, CUDNN)


@compares("beside_cudnn.backward", key_column="form", keys=(OURS, CUDNN), value_column="ratio")
def backward_beside_cudnn(rows: list[dict]) -> str:
    """Says in how many settings our kernel is sure to be ahead of cuDNN, backward."""
    return _wins_and_losses(rows, OURS, CUDNN)


@compares("beside_cudnn.forward", key_column="form", keys=(OURS, FA4), value_column="ratio")
def forward_beside_fa4(rows: list[dict]) -> str:
    """Says in how many settings our kernel is sure to be ahead of FlashAttention-4, forward."""
    return _wins_and_losses(rows, OURS, FA4)


@compares("beside_cudnn.backward", key_column="form", keys=(OURS, FA4), value_column="ratio")
def backward_beside_fa4(rows: list[dict]) -> str:
    """Says in how many settings our kernel is sure to be ahead of FlashAttention-4, backward."""
    return _wins_and_losses(rows, OURS, FA4)
