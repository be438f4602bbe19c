"""What the chapter on the balloon concludes from its records."""

from __future__ import annotations

from scripts.facts import compares, phrases

COUNTED = ("expected", "peak")  # columns: what we count beforehand, and what PyTorch's allocator says
TRAINED = 65_536  # words


def _agree(rows: list[dict], form: str = "") -> str:
    """Says how well both columns agree, in the rows that have both; the names are the table's."""
    one, other = [column for column in rows[0] if column in COUNTED]
    pairs = [(row[one], row[other]) for row in rows if row[one] and row[other] and (not form or row["form"] == form)]
    return phrases.agreement(pairs, one, other, "byte")


def _peak(rows: list[dict], form: str) -> phrases.Range:
    (row,) = [row for row in rows if row["form"] == form and row["n"] == TRAINED]
    return phrases.with_margin(row["peak"], "exact")


@compares("prefill_memory.forward", columns=COUNTED)
def three_lines_as_counted(rows: list[dict]) -> str:
    """Says how well the peaks of the three lines agree with the formula, at every length that fits."""
    return _agree(rows, form="attention")


@compares("prefill_memory.forward", columns=COUNTED)
def flash_as_counted(rows: list[dict]) -> str:
    """Says how well the peaks of FlashAttention agree with the formula, at every length."""
    return _agree(rows, form="flash_attention")


@compares("balloon.sentences", columns=COUNTED)
def sentences_as_counted(rows: list[dict]) -> str:
    """Says how well the peaks agree with the formula, for every number of sentences that fits."""
    return _agree(rows)


@compares("balloon.limit", columns=COUNTED)
def limit_as_counted(rows: list[dict]) -> str:
    """Says how well the peaks agree with the formula, at every length that was tried for the limit."""
    return _agree(rows)


@compares(
    "prefill_memory.forward", key_column="form", keys=("three_kernel_attention", "attention"), value_column="peak"
)
def three_kernels_beside_three_lines(rows: list[dict]) -> str:
    """Says how well the peaks of three kernels and three lines agree, at every length that fits."""
    peaks: dict[str, dict[int, float]] = {}
    for row in rows:
        if row["form"] in ("three_kernel_attention", "attention") and row["peak"]:
            peaks.setdefault(row["form"], {})[row["n"]] = row["peak"]
    (one, first), (other, second) = peaks.items()
    return phrases.agreement([(first[n], second[n]) for n in first.keys() & second.keys()], one, other, "byte")


@compares("prefill_memory.training", key_column="form", keys=("flash_attention", "sdpa_flash"), value_column="peak")
def training_beside_the_flash_backend(rows: list[dict]) -> str:
    """Says how much memory our FlashAttention takes forward and backward, beside PyTorch's flash backend."""
    return phrases.quantity_comparison(_peak(rows, "flash_attention").divided_by(_peak(rows, "sdpa_flash")), "memory")
