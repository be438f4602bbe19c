"""Starts kernels on a second stream while the kernel before them comes to its end.

Towards the end of a kernel more and more SMs have nothing left to do.  On the same stream the
next kernel waits until the last of them is done; on another it takes each SM once it's free.
"""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor


class Beside:
    """A context in which kernels go to a second stream; after it, the first waits for them.

    They may run beside anything that the first stream was given after this object was made.  On
    a CPU this does nothing.
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
        """Makes the second stream wait for everything that the first has been given."""
        if self.is_cuda:
            self.second.wait_stream(self.first)

    def __exit__(self, *error) -> None:
        if self.is_cuda:
            self.switched.__exit__(*error)
            self.first.wait_stream(self.second)


@cache
def second_stream(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)
