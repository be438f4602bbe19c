"""Starts kernels on a side stream while the kernel before them comes to its end.

Towards the end of a kernel more and more SMs have nothing left to do.  On the same stream the
next kernel waits until the last of them is done; on another it takes each SM once it's free.
"""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor


class SideStream:
    """A context in which kernels go to a side stream; after it, the main stream waits for them.

    They may run beside anything that the main stream was given after this object was made.  On
    a CPU this does nothing.
    """

    def __init__(self, x: Tensor):
        self.is_cuda = x.is_cuda
        if self.is_cuda:
            self.main, self.side = torch.cuda.current_stream(), _side_stream(x.device)
            self.side.wait_stream(self.main)

    def __enter__(self) -> SideStream:
        if self.is_cuda:
            self.context = torch.cuda.stream(self.side)
            self.context.__enter__()
        return self

    def wait_for_main(self) -> None:
        """Makes the side stream wait for everything that the main stream has been given."""
        if self.is_cuda:
            self.side.wait_stream(self.main)

    def __exit__(self, *error) -> None:
        if self.is_cuda:
            self.context.__exit__(*error)
            self.main.wait_stream(self.side)


@cache
def _side_stream(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)
