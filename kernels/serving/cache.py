"""A paged cache of keys and values, in 16 bits, FP8 or NVFP4: append, gather, bytes.

While a model generates, each new token needs the keys and values of all tokens before it.  We
keep them, and each token adds one row for each head and layer.  Nobody knows how long a
sequence will be, so memory comes in pages of ``page_size`` rows, as in an operating system:

    page_table  [batch, pages_per_sequence]     sequence, position // page_size -> page
    keys        [pages, kv_heads, page_size, row]     page, head, position % page_size -> row

The pages of a sequence may be anywhere, and all but its last one are full.  A token is
converted or quantised once, when it's appended, and nothing touches it again: a block scale of
NVFP4 covers 16 numbers of one row, and the tensor scales are given beforehand.

Source: W. Kwon et al., "Efficient Memory Management for Large Language Model Serving with
PagedAttention", 2023, arXiv:2309.06180.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from kernels.formats.block import (
    Quantized,
    dequantize,
)
from kernels.launch_cache import entry_for, memoized
from kernels.serving.append import append_rows, check_rows
from kernels.serving.pages import (
    SCHEMES,
    STORAGE_DTYPES,
    _as_ints,
    _check_int,
    _check_scale,
    _pages_by_sequence,
    _upload,
)


class KVCache:
    """The keys and values of a batch of sequences, by pages.

    page_table: [batch, pages_per_sequence] int32 or int64, copied; -1 where there's no page yet
    format: "bf16" (wrong in Triton's interpreter), "fp16", "fp8" (E4M3) or "nvfp4"
    page_size: a power of two, 16 or more   head_dim: a multiple of 16, at most 256
    pages: as many as the table needs if None   device: the page table's if None
    key_scale, value_scale: the FP32 tensor scales of FP8 and NVFP4; 1.0 in 16 bits

    The cache holds these tensors on the device, all zeros at first:
    keys, values: [pages, kv_heads, page_size, row]: BF16 or FP16, or uint8: E4M3 codes, or
    E2M1 codes in pairs, row = head_dim / 2
    key_block_scales, value_block_scales: the same with row = head_dim / 16, uint8: E4M3 codes;
    None unless the format is NVFP4
    page_table int32; lengths, capacities [batch] int32: how many tokens each sequence has, and
    how many its pages can hold.  ``host_pages`` and ``host_lengths`` are the same as lists, so
    no check waits for a GPU.

    Raises a ValueError or TypeError that names the argument, and a RuntimeError if a change
    that the host must see would become part of a CUDA graph.  Then it changes nothing.
    """

    def __init__(
        self,
        page_table: Tensor,
        *,
        kv_heads: int,
        head_dim: int,
        format: str = "bf16",
        page_size: int = 64,
        pages: int | None = None,
        key_scale: float = 1.0,
        value_scale: float = 1.0,
        device: torch.device | str | None = None,
    ):
        if not isinstance(format, str) or format not in STORAGE_DTYPES:
            raise ValueError(f"format is {format!r}, one of {list(STORAGE_DTYPES)} is wanted")
        _check_int("kv_heads", kv_heads, 1)
        _check_int("head_dim", head_dim, 16)
        if head_dim % 16 or head_dim > 256:
            raise ValueError(f"head_dim is {head_dim}, a multiple of 16 up to 256 is wanted")
        _check_int("page_size", page_size, 16)
        if page_size & (page_size - 1):
            raise ValueError(f"page_size is {page_size}, a power of two is wanted")
        _check_scale("key_scale", key_scale, format)
        _check_scale("value_scale", value_scale, format)
        self.host_pages = _pages_by_sequence(page_table)
        min_pages = 1 + max((page for row in self.host_pages for page in row), default=-1)
        pages = min_pages if pages is None else pages
        _check_int("pages", pages, 0)
        if pages < min_pages:
            raise ValueError(
                f"page_table has page {min_pages - 1}, the cache has {pages} pages, from 0"
            )
        if pages > 2**31:
            raise TypeError(
                f"pages is {pages}, page_table has page {min_pages - 1}: page numbers are "
                "int32, and at most 2^31 pages are wanted"
            )

        self.format, self.page_size = format, page_size
        self.kv_heads, self.head_dim, self.pages = kv_heads, head_dim, pages
        # Round to FP32, as the kernels will see them.
        scales = torch.tensor([key_scale, value_scale], dtype=torch.float32)
        self.key_scale, self.value_scale = scales.tolist()
        self.device = page_table.device if device is None else torch.device(device)
        self.page_table = page_table.to(self.device, torch.int32, copy=True).contiguous()
        self.device = self.page_table.device  # with its number: cuda is cuda:0
        self.host_lengths = [0] * len(self.host_pages)
        self.lengths = torch.zeros(len(self.host_pages), dtype=torch.int32, device=self.device)
        capacities = [len(pages) * page_size for pages in self.host_pages]
        self.capacities = torch.tensor(capacities, dtype=torch.int32, device=self.device)
        row = head_dim // 2 if format == "nvfp4" else head_dim
        dtype = STORAGE_DTYPES[format]
        self.keys, self.values = (self._new_pages(row, dtype) for _ in range(2))
        self.key_block_scales = self.value_block_scales = None
        if format == "nvfp4":
            self.key_block_scales, self.value_block_scales = (
                self._new_pages(head_dim // 16, torch.uint8) for _ in range(2)
            )

        # Everything that a launch depends on, except the scales.
        device, table = self.page_table.get_device(), self.page_table.shape
        self.launch_key = (format, page_size, kv_heads, head_dim, pages, *table, device)

    def _new_pages(self, row: int, dtype: torch.dtype) -> Tensor:
        shape = (self.pages, self.kv_heads, self.page_size, row)
        return torch.zeros(shape, dtype=dtype, device=self.device)

    @property
    def batch(self) -> int:
        return len(self.host_lengths)

    @property
    def bytes(self) -> int:
        """The bytes of all tensors of the cache: also page table, lengths and capacities."""
        tensors = (*self._page_tensors(), self.page_table, self.lengths, self.capacities)
        return sum(x.numel() * x.element_size() for x in tensors)

    @property
    def bytes_per_token(self) -> int:
        """The bytes of one key row and one value row of every head, with their block scales."""
        return sum(x.shape[1] * x.shape[3] * x.element_size() for x in self._page_tensors())

    def _page_tensors(self) -> list[Tensor]:
        paged = (self.keys, self.values, self.key_block_scales, self.value_block_scales)
        return [x for x in paged if x is not None]

    def assign(self, sequence: int, pages: Sequence[int]) -> None:
        """Gives a sequence further pages, behind those that it has.

        Raises a ValueError if a page doesn't exist or is used already, and if the sequence's
        row of the page table has no room for them.
        """
        self._check_not_capturing("assign")
        self._check_sequence(sequence)
        pages = _as_ints("pages", pages)
        used_pages = {page for row in self.host_pages for page in row}
        for page in pages:
            if not 0 <= page < self.pages:
                raise ValueError(f"pages has {page}, the cache has {self.pages} pages, from 0")
            if page in used_pages:
                raise ValueError(f"pages has {page}, which is used already")
            used_pages.add(page)
        begin = len(self.host_pages[sequence])
        end, capacity = begin + len(pages), self.page_table.shape[1]
        if end > capacity:
            raise ValueError(
                f"pages has {len(pages)} pages, sequence {sequence} has {begin}: "
                f"a row of the page table holds {capacity}"
            )
        self.page_table[sequence, begin:end] = _upload(pages, self.device)
        self.capacities[sequence] += len(pages) * self.page_size
        self.host_pages[sequence] += pages

    def append(self, k: Tensor, v: Tensor, sequences: Sequence[int] | None = None) -> None:
        """Adds new tokens to each of n sequences, converted or quantised by one kernel.

        k, v: [n, kv_heads, new_tokens, head_dim] FP32, FP16 or BF16, any strides; if rows
        aren't contiguous, they are copied first
        sequences: n different ones, in any order; all if None
        BF16 and FP16 round to nearest, ties to even.  FP8 and NVFP4 store bit for bit what
        ``formats.block.quantize(k, FP8 or NVFP4, tensor_scale=key_scale)`` makes of each row.
        It reads k and v once, writes their rows once, and doesn't wait for the GPU.  An
        addition advances ``lengths``, in a graph also a minimum; if sequences are named, their
        list is copied and two small kernels add.  If all sequences grow, it can be part of a
        CUDA graph.  Then the host doesn't count: call ``advance_host_lengths`` before a replay.

        Raises a ValueError or TypeError that names the argument, key or value, and a ValueError
        if a sequence's pages have no room.
        """
        capturing = self._is_capturing()
        indices = range(self.batch) if sequences is None else self._check_sequences(sequences)
        scales, gradients = (self.key_scale, self.value_scale), torch.is_grad_enabled()
        launch_entry = entry_for((k, v), len(indices), gradients, *scales, *self.launch_key)
        memoized(launch_entry, "rows", lambda: check_rows(self, k, v, len(indices)))
        new_tokens = k.shape[2]
        if not capturing:
            self._check_capacity(indices, new_tokens)
        if k.numel() == 0:
            return
        if k.stride(-1) != 1 or v.stride(-1) != 1:
            k, v, launch_entry = k.contiguous(), v.contiguous(), None
        indices_on_device = None if sequences is None else _upload(indices, self.device)
        append_rows(self, k, v, indices_on_device, launch_entry)
        if capturing:  # a token without a page wasn't written, so don't count it
            torch.minimum(self.lengths + new_tokens, self.capacities, out=self.lengths)
            return
        if indices_on_device is None:
            self.lengths += new_tokens
        else:
            increments = torch.full_like(indices_on_device, new_tokens)
            self.lengths.index_add_(0, indices_on_device, increments)
        for sequence in indices:
            self.host_lengths[sequence] += new_tokens

    def advance_host_lengths(self, new_tokens: int) -> None:
        """Counts the tokens that the next replay of a graph will append to each sequence.

        Raises a ValueError if a sequence's pages have no room: assign it further ones, and
        call this again before the replay.  A replay that wasn't counted writes nothing outside
        the pages, but the host doesn't know of its tokens: ``gather`` leaves them out, and
        later checks assume too short a length.
        """
        self._check_not_capturing("advance_host_lengths")
        _check_int("new_tokens", new_tokens, 0)
        self._check_capacity(range(self.batch), new_tokens)
        self.host_lengths = [length + new_tokens for length in self.host_lengths]

    def reset(self) -> None:
        """Sets all lengths to 0; sequences keep their pages, which later tokens overwrite."""
        self._check_not_capturing("reset")
        self.host_lengths = [0] * self.batch
        self.lengths.zero_()

    def gather(self, sequence: int) -> tuple[Tensor, Tensor]:
        """Returns the keys and values of a sequence, [kv_heads, length, head_dim] each, FP32.

        They are dequantised in PyTorch: exactly the numbers that attention attends to.  Their
        length is that of ``host_lengths``.
        """
        self._check_sequence(sequence)
        keys = self._gather(sequence, self.keys, self.key_block_scales, self.key_scale)
        return keys, self._gather(
            sequence, self.values, self.value_block_scales, self.value_scale
        )

    def _gather(
        self, sequence: int, paged: Tensor, block_scales: Tensor | None, scale: float
    ) -> Tensor:
        pages = self.page_table[sequence, : len(self.host_pages[sequence])]

        def rows(paged: Tensor) -> Tensor:
            """Returns the sequence's pages, one behind the other: [kv_heads, length, row]."""
            all_rows = paged[pages].transpose(0, 1).flatten(1, 2)
            return all_rows[:, : self.host_lengths[sequence]]

        if self.format not in SCHEMES:
            return rows(paged).float()
        shape = (self.kv_heads, self.host_lengths[sequence], self.head_dim)
        tensor_scale = torch.tensor(scale, dtype=torch.float32, device=self.device)
        scales = None if block_scales is None else rows(block_scales)
        return dequantize(
            Quantized(rows(paged), scales, tensor_scale, SCHEMES[self.format], shape)
        )

    def _is_capturing(self) -> bool:
        return self.device.type == "cuda" and torch.cuda.is_current_stream_capturing()

    def _check_not_capturing(self, what: str) -> None:
        if self._is_capturing():
            raise RuntimeError(
                f"{what} cannot be part of a CUDA graph, for the cache counts on the host: "
                f"{what} first, then replay what reads the cache"
            )

    def _check_sequences(self, sequences: Sequence[int]) -> list[int]:
        self._check_not_capturing("append with sequences")
        sequences = _as_ints("sequences", sequences)
        for sequence in sequences:
            self._check_sequence(sequence)
        if len(set(sequences)) < len(sequences):
            raise ValueError(f"sequences is {sequences}: each may be named once")
        return sequences

    def _check_capacity(self, sequences: Sequence[int], new_tokens: int) -> None:
        for sequence in sequences:
            length = self.host_lengths[sequence]
            capacity = len(self.host_pages[sequence]) * self.page_size
            if length + new_tokens > capacity:
                raise ValueError(
                    f"{new_tokens} new tokens, sequence {sequence} has {length}, and pages for "
                    f"{capacity}: assign it further pages first"
                )

    def _check_sequence(self, sequence: int) -> None:
        _check_int("sequence", sequence, 0)
        if sequence >= self.batch:
            raise ValueError(f"sequence is {sequence}, the cache has {self.batch}")
