"""Runs one snippet in Jupyter kernels of its own, cell by cell, and records it: whole or not at all."""

import asyncio
import json

from scripts.records.processes import execute
from scripts.records.reader import Reader, record_path
from scripts.records.record_file import METADATA, find_absolute_path, write
from scripts.records.root import RecordError
from scripts.records.snippets import is_code

MAX_KB = 200  # a page is to be read


def record_snippet(name: str) -> None:
    """Runs one snippet and writes its record.

    Raises:
        UnsuitableMachine: if no record can be made on this machine.
        RecordError: if the snippet raises, writes to stderr, shows an absolute path or too much, executes nothing of
            kernels/, switches Triton's interpreter on, or is edited meanwhile. The old record stays as it was.
    """
    reader = Reader()
    snippet, before = reader.snippet(name), reader.digests(name)
    notebook = snippet.notebook()
    cells = [*filter(is_code, notebook.cells)]
    provenance = asyncio.run(execute(name, cells, rank_count(name) if snippet.in_ranks else 1))
    if provenance["interpreter"]:
        raise RecordError(f"{name} switched Triton's interpreter on; a record is made on a GPU")
    if not provenance["executed"]:
        raise RecordError(f"{name} executed nothing of kernels/")
    for cell in cells:
        if path := find_absolute_path(cell.outputs):
            raise RecordError(f"cell {cell.id} of {name} shows the absolute path {path}, true of one machine only")
        if (size := len(json.dumps(cell.outputs)) // 1000) > MAX_KB:
            raise RecordError(f"cell {cell.id} of {name} shows {size} KB, a page takes {MAX_KB} at most: show less")
    if Reader().digests(name) != before:
        raise RecordError(f"{name}, or a module that it reaches, was edited while it ran; run it again")
    notebook.metadata[METADATA] = {**provenance, "digest": before}
    write(record_path(reader.path(name)), notebook)


def rank_count(name: str) -> int:
    """Returns how many GPUs work together here, a power of two; 1 if there are none, which the run refuses."""
    try:
        import torch
    except ImportError:
        return 1
    gpus = torch.cuda.device_count()
    if gpus == 1:
        raise RecordError(f"{name} runs in one process for each GPU, and there is one GPU here: it needs at least two")
    return 1 << max(gpus.bit_length() - 1, 0)
