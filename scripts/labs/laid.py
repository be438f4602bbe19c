"""A case as the reader's function gets it."""

from __future__ import annotations

from torch import Tensor

from scripts.labs import guarded
from scripts.labs.lab import Case
from scripts.labs.watched import interpreted


def laid(case: Case) -> tuple[list[guarded.Guarded], list[guarded.Guarded]]:
    """The case's tensors in guarded buffers, on the machine on which they are judged: inputs and outputs."""
    device = "cpu" if interpreted() else "cuda"
    tensors = {name: each for name, each in case.inputs.items() if isinstance(each, Tensor)}
    inputs = [
        guarded.lay(name, each, case.layouts.get(name, "contiguous"), case.padding.get(name, -1), device)
        for name, each in tensors.items()
    ]
    outputs = [
        guarded.lay_output(name, each, case.layouts.get(name, "contiguous"), device)
        for name, each in case.outputs.items()
    ]
    return inputs, outputs
