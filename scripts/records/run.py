"""One snippet, run in Jupyter kernels of its own, cell by cell, and recorded: whole or not at all."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator

from nbformat import NotebookNode

from kernels.bench.hardware import chip_of
from scripts.records.processes import Unfit, prepared, together
from scripts.records.reader import Reader, record_of
from scripts.records.record import METADATA, too_large, write
from scripts.records.root import ROOT, RecordError
from scripts.records.snippets import is_code
from scripts.records.watched import count_gpus, in_interpreter

ABSOLUTE_PATH = re.compile(r"(?<![\w.:/<+=])/[\w.@+-]+(?:/[\w.@+-]+)+")


def run(name: str) -> None:
    """Runs one snippet and writes its record.

    Raises:
        RecordError: without a GPU that we know, in Triton's interpreter, or if the snippet raises, writes to stderr,
            shows an absolute path or too much, executes nothing of kernels/, or is edited meanwhile. The old record
            stays as it was.
    """
    refuse_interpreter(name)
    reader = Reader()
    before, notebook = reader.digest(name), reader.snippet(name).notebook()
    provenance = execute(name, notebook, ranks_of(name, reader.snippet(name).in_ranks))
    if provenance["interpreter"]:
        raise RecordError(f"{name} switched Triton's interpreter on; a record is made on a GPU")
    if not provenance["commit"]:
        raise RecordError(f"{name}: no Git here tells the commit; set COMMIT to it")
    if not provenance["executed"]:
        raise RecordError(f"{name} executed nothing of kernels/")
    try:
        chip_of(provenance["gpu"])
    except ValueError as error:
        raise RecordError(f"{name} can't be recorded here: {error}. Add the GPU there first") from error
    for cell in filter(is_code, notebook.cells):
        refuse_outputs(name, cell)
    if Reader().digest(name) != before:
        raise RecordError(f"{name}, or a module that it reaches, was edited while it ran; run it again")
    notebook.metadata[METADATA] = {**provenance, "digest": before}
    write(record_of(reader.path(name)), notebook)


def execute(name: str, notebook: NotebookNode, ranks: int = 1) -> dict:
    """Fill in the outputs of the notebook's cells; what ``scripts.records.watched`` tells of the run."""
    return asyncio.run(_execute(name, notebook, ranks))


async def _execute(name: str, notebook: NotebookNode, ranks: int) -> dict:
    cells = [*filter(is_code, notebook.cells)]
    async with prepared(name, cells, ranks) as processes:
        provenance, *_ = await together(each.start() for each in processes)
        for number, cell in enumerate(cells, start=1):
            cell.outputs, *_ = await together(each.execute(number) for each in processes)
            cell.execution_count = number
        told = await together(each.report() for each in processes)
    return provenance | {
        "executed": sorted({place for each in told for place in each["executed"]}),
        "interpreter": any(each["interpreter"] for each in told),
    }


def ranks_of(name: str, in_ranks: bool) -> int:
    """In how many processes a snippet runs here: one, or one a GPU, as many as make a power of two.

    Raises:
        RecordError: if there is one GPU; where there is none, the one process that is started will say so.
    """
    gpus = count_gpus() if in_ranks else 0
    if gpus == 1:
        raise RecordError(f"{name} runs in one process a GPU, and there is one GPU here: two at least are wanted")
    return 1 << (gpus.bit_length() - 1) if gpus else 1


def refuse_interpreter(name: str) -> None:
    if in_interpreter():
        raise Unfit(f"{name} was not run: TRITON_INTERPRET is set, and a record is made on a GPU; unset it")


def refuse_outputs(name: str, cell: NotebookNode) -> None:
    if path := next(absolute_paths(cell.outputs), None):
        raise RecordError(f"an output of {name} shows the absolute path {path}, which is true of one machine only")
    if fault := too_large(cell.outputs):
        raise RecordError(f"cell {cell.id} of {name} {fault}")


def absolute_paths(value: object) -> Iterator[str]:
    """Absolute paths in the text of outputs; images and Plotly's binary arrays are no text."""
    if isinstance(value, str):
        yield from ABSOLUTE_PATH.findall(value)
        if str(ROOT) in value:
            yield str(ROOT)
    elif isinstance(value, list):
        for item in value:
            yield from absolute_paths(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key != "bdata" and not (key.startswith("image/") and key != "image/svg+xml"):
                yield from absolute_paths(item)
