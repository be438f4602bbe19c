"""One snippet, run in a Jupyter kernel of its own, cell by cell, and recorded: whole or not at all."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator

import nbformat
from nbformat import NotebookNode

from scripts.records import recorded
from scripts.records.cells import is_code
from scripts.records.digest import digest
from scripts.records.executed import in_interpreter
from scripts.records.printed import plain, too_large
from scripts.records.reader import Reader, record_of
from scripts.records.root import ROOT, RecordError

ABSOLUTE_PATH = re.compile(r"(?<![\w.:/<+=])/[\w.@+-]+(?:/[\w.@+-]+)+")


class Unfit(RecordError):
    """No record can be made here."""


def run(name: str) -> None:
    """Run one snippet and write its record.

    Raises:
        RecordError: without a GPU, in Triton's interpreter, or if the snippet raises, writes to stderr, shows an
            absolute path or too much, or if what it runs is edited meanwhile.  The old record stays as it was.
    """
    refuse_interpreter(name)
    reader = Reader()
    before = reader.library, reader.cells(name)
    notebook = reader.snippet(name)
    provenance = execute(name, notebook)
    if provenance["interpreter"]:
        raise RecordError(f"{name} switched Triton's interpreter on; a record is made on a GPU")
    for cell in filter(is_code, notebook.cells):
        refuse_outputs(name, cell)
    reader = Reader()
    depends = digest(reader.library, reader.cells(name), provenance["executed"])
    if depends != digest(*before, provenance["executed"]):
        raise RecordError(f"{name}, or what it runs of kernels/, was edited while it ran; run it again")
    notebook.metadata[recorded.METADATA] = {**provenance, "digest": depends}
    recorded.write(record_of(reader.path(name)), notebook)
    reader.read(name)


def execute(name: str, notebook: NotebookNode) -> dict:
    """Fill in the outputs of the notebook's cells; what ``scripts.records.executed`` tells of the run."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    hidden = "__import__('scripts.records.executed', fromlist=['executed'])"  # leaves no name behind
    first = nbformat.v4.new_code_cell(f"{hidden}.start()")
    last = nbformat.v4.new_code_cell(f"{hidden}.report()")
    cells = [*filter(is_code, notebook.cells)]
    with tempfile.TemporaryDirectory() as folder, open(f"{folder}/log", "w+") as log:
        client = NotebookClient(
            nbformat.v4.new_notebook(cells=[first, *cells, last]),
            km=kernel_manager(folder),
            timeout=None,
            iopub_timeout=60,
            raise_on_iopub_timeout=True,  # or an output that is late would be lost in silence
            record_timing=False,
            force_raise_errors=True,  # whatever a tag says
            skip_cells_with_tag="",
        )
        try:
            with client.setup_kernel(cleanup_kc=True, cwd=str(ROOT), env=environment(folder), stderr=log):
                client.execute_cell(first, 0, store_history=False)
                provenance = printed(first)
                refuse_without_gpu(name, provenance)
                refuse_stderr(name, "as torch was imported", stream(first, "stderr"))
                for number, cell in enumerate(cells, start=1):
                    client.execute_cell(cell, number)
                    refuse_stderr(name, f"in cell {cell.id}", stream(cell, "stderr"))
                    cell.outputs = plain(in_order(cell.outputs))
                    cell.execution_count = number
                client.execute_cell(last, len(cells) + 1, store_history=False)
        except (CellExecutionError, RuntimeError) as error:  # RuntimeError: the kernel died, or did not start
            log.seek(0)
            what = plain(f"{error}\n{log.read()}").strip()
            raise RecordError(f"{name} failed; its record is as it was\n{what}") from error
    told = printed(last)
    refuse_stderr(name, "from outside Python", told.pop("stderr"))
    return provenance | told


def kernel_manager(folder: str):
    """Starts the interpreter that runs the command: its own torch, whatever kernels are installed."""
    from jupyter_client import AsyncKernelManager
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager

    class ThisPython(KernelSpecManager):
        def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
            argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            return KernelSpec(argv=argv, display_name="Python 3", language="python")

    return AsyncKernelManager(
        kernel_spec_manager=ThisPython(),
        connection_file=f"{folder}/kernel.json",
        transport="ipc",  # files in that folder: no network
        ip=f"{folder}/kernel",
    )


def environment(folder: str) -> dict[str, str]:
    """That of this process, with our rooms importable and nothing of the user's own IPython set-up."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return os.environ | {
        "PYTHONPATH": path,
        "IPYTHONDIR": folder,
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # silences a warning about frozen modules
    }


def in_order(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """As they came, but what was printed between two other outputs in one piece: a kernel sends it in any number."""
    joined: list[NotebookNode] = []
    for output in outputs:
        if output.output_type == "stream" and joined and joined[-1].get("name") == output.name:
            joined[-1].text += output.text
        else:
            joined.append(output)
    return joined


def stream(cell: NotebookNode, stream: str) -> str:
    """All that a cell wrote to stdout or to stderr."""
    return "".join(output.text for output in cell.outputs if output.get("name") == stream)


def printed(cell: NotebookNode) -> dict:
    """The JSON that a cell of ours printed."""
    return json.loads(stream(cell, "stdout"))


def refuse_interpreter(name: str) -> None:
    if in_interpreter():
        raise Unfit(f"{name} was not run: TRITON_INTERPRET is set, and a record is made on a GPU; unset it")


def refuse_without_gpu(name: str, provenance: dict) -> None:
    if not provenance["gpu"]:
        seen = f"torch {provenance['torch']}" if provenance["torch"] else f"no torch in {sys.executable}"
        raise Unfit(f"no GPU ({seen}): {name} was not run, nothing was written")


def refuse_stderr(name: str, where: str, text: str) -> None:
    if text:
        raise RecordError(f"{name} wrote to stderr {where}; its record is as it was\n{plain(text)}")


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
