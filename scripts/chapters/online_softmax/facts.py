"""What the chapter on online softmax concludes from its records."""

from __future__ import annotations

from scripts.facts import compares, phrases


@compares("softmax_order.ways", key_column="way", keys=("a_tree", "first_to_last"), value_column="mean")
def a_tree_beside_a_chain(rows: list[dict]) -> str:
    """Says how far off the sum of a tree of merges gets, beside that of a chain."""
    mean = {row["way"]: phrases.with_margin(row["mean"], "exact") for row in rows}
    return phrases.quantity_comparison(mean["a_tree"].divided_by(mean["first_to_last"]), "error")


@compares("softmax_order.ways", key_column="way", keys=("eight_readers", "first_to_last"), value_column="mean")
def eight_readers_beside_one(rows: list[dict]) -> str:
    """Says how far off the sum of eight readers gets, beside that of one."""
    mean = {row["way"]: phrases.with_margin(row["mean"], "exact") for row in rows}
    return phrases.quantity_comparison(mean["eight_readers"].divided_by(mean["first_to_last"]), "error")


@compares("online_softmax.errors", columns=("kernel", "torch"))
def kernel_errors_beside_pytorchs(rows: list[dict]) -> str:
    """Says how many times PyTorch's errors the kernel's are, over the shapes with more than one number a row."""
    both = [
        [phrases.with_margin(row[form], "exact") for form in ("kernel", "torch")] for row in rows if row["columns"] > 1
    ]
    return phrases.range_of_ratios([kernel.divided_by(torch) for kernel, torch in both])


@compares("real_rows.summary", key_column="kind", keys=("real", "random"), value_column="first_block")
def the_first_block_settles(rows: list[dict]) -> str:
    """Says in which part of the rows, real and random, the first block sets the maximum for good."""
    settled = {row["kind"]: phrases.with_margin(row["first_block"] / row["rows"], "exact") for row in rows}
    real, random = (phrases.fraction_of_whole(settled[kind]) for kind in ("real", "random"))
    return f"{real} of real rows and {random} of random ones"


@compares("overflow.where", key_column="type", keys=("FP16", "BF16"), value_column="last")
def where_types_end(rows: list[dict]) -> str:
    """Says which score is the last whose exponential is a number, in either type of 16 bits."""
    (one, first), (other, second) = [(row["type"], row["last"]) for row in rows if row["type"] in ("FP16", "BF16")]
    return f"{one} ends at {round(first, 1)}, {other} at {round(second, 1)}"


def _sorted(rows: list[dict], moves: bool) -> str:
    """Returns the sorted order in which every block moves the maximum, or none but the first does."""
    factors = {order: [row[order] for row in rows[1:]] for order in ("falling", "rising")}
    moved, kept = (
        [order for order, found in factors.items() if all(rule(factor) for factor in found)]
        for rule in (lambda factor: factor < 1, lambda factor: factor == 1)
    )
    if len(moved) != 1 or len(kept) != 1:
        raise phrases.NoPhrase(f"moved with every block: {moved}, kept: {kept}")
    return moved[0] if moves else kept[0]


@compares("softmax_order.factors", columns=("falling", "rising"))
def order_with_every_block_rescaled(rows: list[dict]) -> str:
    """Says in which order every block rescales the sum."""
    return _sorted(rows, moves=True)


@compares("softmax_order.factors", columns=("falling", "rising"))
def order_with_none_rescaled(rows: list[dict]) -> str:
    """Says in which order none does, once the first has come."""
    return _sorted(rows, moves=False)


def _beside_pytorch(rows: list[dict]) -> dict[int, phrases.Range]:
    """Returns by row length how our kernel's time divides by PyTorch's. Both took turns in one run."""
    ratio = {(row["form"], row["scores"]): row["ratio"] for row in rows}
    lengths = sorted({row["scores"] for row in rows})
    ours, other = "softmax_kernel", "torch.softmax"
    return {n: phrases.with_margin(ratio[ours, n] / ratio[other, n], "ratio_of_one_setting") for n in lengths}


SPEED = {"table": "softmax_speed.speed", "key_column": "form", "keys": ("softmax_kernel", "torch.softmax")}


@compares(**SPEED, value_column="ratio")
def long_rows_beside_pytorch(rows: list[dict]) -> str:
    """Says how long our kernel takes for rows of 8,192, where it gains most."""
    return phrases.time_comparison(_beside_pytorch(rows)[8192])


@compares(**SPEED, value_column="ratio")
def short_rows_beside_pytorch(rows: list[dict]) -> str:
    """Says how many times as long our kernel takes for rows of 512, where it loses."""
    return phrases.range_of_ratios([_beside_pytorch(rows)[512]])
