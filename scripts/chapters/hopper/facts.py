"""What the chapter on Hopper concludes from its records."""

from __future__ import annotations

from scripts.facts import compares, words

OURS, CUDNN, FA4 = "hopper_attention", "sdpa_cudnn", "flash_attention_4"


def _standing(rows: list[dict], form: str, other: str) -> str:
    """Says where a form stands beside another, as graphs. ``ratio`` is cuDNN's time over a form's, in each round."""
    ratios = {(row["form"], row["head_dim"], row["n"], row["causal"]): row["ratio"] for row in rows}
    settings = [key[1:] for key in ratios if key[0] == form]
    apart = [ratios[other, *key] / ratios[form, *key] for key in settings if (other, *key) in ratios]
    return words.standing([words.with_margin(each, "ratio_of_one_setting") for each in apart], "settings")


@compares("beside_cudnn.forward", by="form", forms=(OURS, CUDNN), value_column="ratio")
def forward_beside_cudnn(rows: list[dict]) -> str:
    """Says in how many settings our kernel is sure to be ahead of cuDNN, forward."""
    return _standing(rows, OURS, CUDNN)


@compares("beside_cudnn.backward", by="form", forms=(OURS, CUDNN), value_column="ratio")
def backward_beside_cudnn(rows: list[dict]) -> str:
    """Says in how many settings our kernel is sure to be ahead of cuDNN, backward."""
    return _standing(rows, OURS, CUDNN)


@compares("beside_cudnn.forward", by="form", forms=(OURS, FA4), value_column="ratio")
def forward_beside_fa4(rows: list[dict]) -> str:
    """Says in how many settings our kernel is sure to be ahead of FlashAttention-4, forward."""
    return _standing(rows, OURS, FA4)


@compares("beside_cudnn.backward", by="form", forms=(OURS, FA4), value_column="ratio")
def backward_beside_fa4(rows: list[dict]) -> str:
    """Says in how many settings our kernel is sure to be ahead of FlashAttention-4, backward."""
    return _standing(rows, OURS, FA4)
