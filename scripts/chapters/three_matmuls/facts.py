"""What the chapter on three matmuls concludes from its records."""

from __future__ import annotations

from scripts.facts import compares, phrases


@compares("flash_first.times", key_column="form", keys=("flash_attention", "attention"), value_column="median")
def kernel_beside_three_lines(rows: list[dict]) -> str:
    """Says how long the fused kernel takes, beside the three lines. Each was timed by itself."""
    median = {row["form"]: row["median"] for row in rows}
    return phrases.time_comparison(
        phrases.with_margin(median["flash_attention"] / median["attention"], "quotient_of_other_times")
    )
