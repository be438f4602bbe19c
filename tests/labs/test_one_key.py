"""What the start file of *one key at a time* promises, the grader hands to the reader's kernel."""

import re

from scripts.labs.catalogue.one_key.lab import cases
from scripts.labs.lab_info import ROOT


def test_the_largest_sizes_that_are_promised_are_graded():
    start = (ROOT / "scripts/labs/catalogue/one_key/start.py").read_text()
    (promised,) = re.findall(r"d: up to (\d+)   N_k: (\d+) to (\d+)\n", start)
    keys = [case.inputs["k"].shape for case in cases()]
    graded = max(d for *_, d in keys), min(count for _, count, _ in keys), max(count for _, count, _ in keys)
    assert graded == tuple(map(int, promised))
