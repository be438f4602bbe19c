"""Run snippets on this machine's GPU, keep what they print and draw: ``python -m scripts.record [--all] [NAME ...]``.

Runs what is stale or missing, or the named ones, or all; each in a Jupyter kernel of its own, cell by cell.  A record
is replaced whole, after the last cell: a snippet that raises or writes to stderr changes nothing.  The others are run
all the same, and the exit status is 1.
Needs torch, triton, nbclient, jupytext, ipykernel and plotly; no network.

``--check`` runs nothing and says what is stale or missing, the outcome of the GPU suite (``scripts.suite``) included.
It needs jupytext alone.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from time import perf_counter

import nbformat
from nbformat import NotebookNode

from scripts import records, watch
from scripts.records import RecordError

ABSOLUTE_PATH = re.compile(r"(?<![\w.:/<+=])/[\w.@+-]+(?:/[\w.@+-]+)+")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
UP_TO_DATE = "every record is up to date"
SNIPPETS_UP_TO_DATE = "every snippet's record is up to date"


class Unfit(RecordError):
    """No record can be made here."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.record", description="Run snippets on this machine's GPU.")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true", help="also those whose record is up to date")
    which.add_argument("--check", action="store_true", help="run nothing; say what is stale or missing, exit 1 if any")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a snippet; without any: what is stale or missing")
    options = parser.parse_args(arguments)
    try:
        if options.check:
            wrong = [*faults(options.names or records.names()).values()]
            if not options.names and (fault := fault_of_suite()):
                wrong.append(fault)
            print("\n".join(wrong) or UP_TO_DATE)
            return int(bool(wrong))
        chosen = choose(options.names, options.all)
        if not chosen:
            print(SNIPPETS_UP_TO_DATE)
        return int(any([not recorded(name) for name in chosen]))
    except RecordError as error:
        print(f"\nstopped: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped: interrupted; the record of the snippet that was running is as it was", file=sys.stderr)
        return 130
    return 0


def recorded(name: str) -> bool:
    """Whether a snippet was recorded; one that was not is told of, and does not keep the others from it.

    Raises:
        Unfit: if none can be, on this machine.
    """
    try:
        record(name)
    except Unfit:
        raise
    except RecordError as error:
        print(f"\nnot recorded: {error}\n", file=sys.stderr)
        return False
    return True


def choose(named: list[str], everything: bool) -> list[str]:
    """The snippets to run.  Raises RecordError for a name that is no snippet."""
    there = records.names()
    if unknown := [name for name in named if name not in there]:
        raise RecordError(f"no snippet is called {', '.join(unknown)}; there are: {', '.join(there)}")
    if named or everything:
        return there if everything else named
    return list(faults(there))


def faults(names: list[str]) -> dict[str, str]:
    """Snippet -> what is wrong, for each whose record is stale or missing."""
    found = {}
    for name in names:
        try:
            records.read(name)
        except (records.Missing, records.Stale) as error:
            found[name] = str(error)
    return found


def fault_of_suite() -> str | None:
    """What is wrong with the record of the GPU suite, if it is stale or missing."""
    try:
        records.read_suite()
    except (records.Missing, records.Stale) as error:
        return str(error)
    return None


def record(name: str) -> None:
    """Run one snippet and write its record.

    Raises:
        RecordError: without a GPU, in Triton's interpreter, or if the snippet raises, writes to stderr, shows an
            absolute path, or is edited while it runs.  The old record stays as it was.
    """
    refuse_interpreter(name)
    before = records.digest(name)
    notebook = records.snippet(name)
    provenance = execute(name, notebook)
    if provenance["interpreter"]:
        raise RecordError(f"{name} switched Triton's interpreter on; a record is made on a GPU")
    if path := next(absolute_paths([cell.get("outputs", []) for cell in notebook.cells]), None):
        raise RecordError(f"an output of {name} shows the absolute path {path}, which is true of one machine only")
    if records.digest(name) != before:
        raise RecordError(f"{name}, or a module that it imports, was edited while it ran; run it again")
    notebook.metadata[records.METADATA] = {**provenance, "digest": before}
    records.write(name, notebook)
    records.read(name)


def execute(name: str, notebook: NotebookNode) -> dict:
    """Fill in the outputs of the notebook's cells; what ``scripts.watch`` tells of the run."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    hidden = "__import__('scripts.watch').watch"  # leaves no name behind
    first = nbformat.v4.new_code_cell(f"{hidden}.start()")
    last = nbformat.v4.new_code_cell(f"{hidden}.report()")
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
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
            with client.setup_kernel(cleanup_kc=True, cwd=str(records.ROOT), env=environment(folder), stderr=log):
                client.execute_cell(first, 0, store_history=False)
                provenance = printed(first)
                refuse_without_gpu(name, provenance)
                refuse_stderr(name, "as torch was imported", stream(first, "stderr"))
                print(f"{name} on {provenance['gpu']}", flush=True)
                for number, cell in enumerate(cells, start=1):
                    print(f"  {number}/{len(cells)}  {cell.id:<24}", end="", flush=True)
                    started = perf_counter()
                    client.execute_cell(cell, number)
                    print(f"{perf_counter() - started:8.1f} s", flush=True)
                    refuse_stderr(name, f"in cell {cell.id}", stream(cell, "stderr"))
                    cell.outputs = in_order(cell.outputs)
                    cell.execution_count = number
                client.execute_cell(last, len(cells) + 1, store_history=False)
        except (CellExecutionError, RuntimeError) as error:  # RuntimeError: the kernel died, or did not start
            log.seek(0)
            what = COLOUR.sub("", f"{error}\n{log.read()}").strip()
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
    path = os.pathsep.join(filter(None, [str(records.ROOT), os.environ.get("PYTHONPATH")]))
    return os.environ | {
        "PYTHONPATH": path,
        "IPYTHONDIR": folder,
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # a warning about frozen modules
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
    if watch.in_interpreter():
        raise Unfit(f"{name} was not run: TRITON_INTERPRET is set, and a record is made on a GPU; unset it")


def refuse_without_gpu(name: str, provenance: dict) -> None:
    if not provenance["gpu"]:
        seen = f"torch {provenance['torch']}" if provenance["torch"] else f"no torch in {sys.executable}"
        raise Unfit(f"no GPU ({seen}): {name} was not run, nothing was written")


def refuse_stderr(name: str, where: str, text: str) -> None:
    if text:
        raise RecordError(f"{name} wrote to stderr {where}; its record is as it was\n{COLOUR.sub('', text)}")


def absolute_paths(value: object) -> Iterator[str]:
    """Absolute paths in the text of outputs; images and Plotly's binary arrays are no text."""
    if isinstance(value, str):
        yield from ABSOLUTE_PATH.findall(value)
        if str(records.ROOT) in value:
            yield str(records.ROOT)
    elif isinstance(value, list):
        for item in value:
            yield from absolute_paths(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key != "bdata" and not (key.startswith("image/") and key != "image/svg+xml"):
                yield from absolute_paths(item)


if __name__ == "__main__":
    sys.exit(main())
