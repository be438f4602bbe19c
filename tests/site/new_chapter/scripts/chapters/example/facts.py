"""What the example concludes from its records."""

from __future__ import annotations

from scripts.facts import compares, phrases


@compares("softmax_order.ways", key_column="way", keys=("a_tree", "first_to_last"), value_column="mean")
def tree_beside_chain(rows: list[dict]) -> str:
    """Says how far off the sum of a tree gets, beside that of a chain."""
    mean = {row["way"]: phrases.with_margin(row["mean"], "exact") for row in rows}
    return phrases.quantity_comparison(mean["a_tree"].divided_by(mean["first_to_last"]), "error")
