"""A second stream, on which a kernel starts while the one launched before it comes to its end.

Towards the end of a kernel more and more SMs have nothing left to do.  On one stream the next
kernel waits until the last of them is ready; on another it takes each SM as soon as it is free.
"""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor


class Beside:
    """``with`` it, kernels go to a second stream; afterwards the first waits for them.

    They may run beside whatever the first stream was given after this object was made.  On a
    CPU nothing is beside anything.
    """

    def __init__(self, x: Tensor):
        self.is_cuda = x.is_cuda
        if self.is_cuda:
            self.first, self.second = torch.cuda.current_stream(), second_stream(x.device)
            self.second.wait_stream(self.first)

    def __enter__(self) -> Beside:
        if self.is_cuda:
            self.switched = torch.cuda.stream(self.second)
            self.switched.__enter__()
        return self

    def wait_for_first(self) -> None:
        """What comes next on the second stream comes after all that the first was given."""
        if self.is_cuda:
            self.second.wait_stream(self.first)

    def __exit__(self, *error) -> None:
        if self.is_cuda:
            self.switched.__exit__(*error)
            self.first.wait_stream(self.second)


@cache
def second_stream(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)
