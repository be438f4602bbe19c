"""The tensors of a case as the reader's function gets them: each in a guarded buffer."""

from __future__ import annotations

from torch import Tensor

from scripts.labs.grading.guarded_tensor import GuardedTensor, guard, guard_output
from scripts.labs.lab import Case


def guarded_case(case: Case, device: str) -> tuple[list[GuardedTensor], list[GuardedTensor]]:
    """The case's tensors in guarded buffers, on that device: inputs and outputs."""
    tensors = {name: each for name, each in case.inputs.items() if isinstance(each, Tensor)}
    inputs = [guard(name, tensor, case.layouts.get(name, "contiguous"), device) for name, tensor in tensors.items()]
    outputs = [
        guard_output(name, output, case.layouts.get(name, "contiguous"), device)
        for name, output in case.outputs.items()
    ]
    return inputs, outputs
