"""The Jupyter kernels in which a snippet runs: one, or one a GPU, and then each runs every cell at the same time.

Of several, what rank 0 leaves is kept, and the others are to leave nothing.  Once one of them fails, the others are
ended: they may be waiting for it.
"""

from __future__ import annotations

import asyncio
import copy
import json
import os
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from scripts.records.record import plain
from scripts.records.root import ROOT, RecordError

HIDDEN = "__import__('scripts.records.watched', fromlist=['watched'])"  # leaves no name behind
NOTICED = 1.5  # seconds: a kernel that died is noticed within one, and those that waited for it may have failed before


class Unfit(RecordError):
    """No record can be made here."""


class Died(RecordError):
    """A kernel is no longer there."""


class Process:
    """A Jupyter kernel of its own, which runs the cells of a snippet.

    who: what a message calls it: the snippet, and its rank if there are several
    """

    def __init__(self, name: str, cells: list[NotebookNode], folder: Path, rank: int, group: dict[str, str]):
        from nbclient import NotebookClient

        ranks = int(group.get("WORLD_SIZE", 1))
        self.who = f"rank {rank} of {name}" if ranks > 1 else name
        self.is_first = rank == 0
        self.log = folder / "log"
        self.environment = environment(folder) | group
        start = nbformat.v4.new_code_cell(f"{HIDDEN}.start({ranks})")
        report = nbformat.v4.new_code_cell(f"{HIDDEN}.report()")
        self.cells = [start, *copy.deepcopy(cells), report]
        self.manager = kernel_manager(folder)
        self.client = NotebookClient(
            nbformat.v4.new_notebook(cells=self.cells),
            km=self.manager,
            timeout=None,
            iopub_timeout=60,
            raise_on_iopub_timeout=True,  # or an output that is late would be lost in silence
            record_timing=False,
            force_raise_errors=True,  # whatever a tag says
            skip_cells_with_tag="",
        )

    async def start(self) -> dict:
        """Where it runs, see ``scripts.records.watched``."""
        with self._failing(), self.log.open("w") as log:
            await self.client.async_start_new_kernel(cwd=str(ROOT), env=self.environment, stderr=log)
            await self.client.async_start_new_kernel_client()
            await self.client.async_execute_cell(self.cells[0], 0, store_history=False)
        provenance = printed(self.cells[0])
        refuse_without_gpu(self.who, provenance)
        self._refuse_stderr("as torch was imported", stream(self.cells[0], "stderr"))
        return provenance

    async def execute(self, number: int) -> list[NotebookNode]:
        """The outputs of a cell, counted from 1."""
        cell = self.cells[number]
        with self._failing():
            await self.client.async_execute_cell(cell, number)
        self._refuse_stderr(f"in cell {cell.id}", stream(cell, "stderr"))
        if cell.outputs and not self.is_first:
            shown = str(cell.outputs[0].get("text") or cell.outputs[0].data.get("text/plain"))
            raise RecordError(f"{self.who} showed something in cell {cell.id}, and only rank 0 may\n{plain(shown)}")
        return plain(in_order(cell.outputs))

    async def report(self) -> dict:
        """What ran, see ``scripts.records.watched``."""
        with self._failing():
            await self.client.async_execute_cell(self.cells[-1], len(self.cells) - 1, store_history=False)
        told = printed(self.cells[-1])
        self._refuse_stderr("from outside Python", told.pop("stderr"))
        return told

    async def end(self, now: bool) -> None:
        """now: it is not asked to end, it is ended"""
        if self.manager.has_kernel:
            await self.manager.shutdown_kernel(now=now)
        if self.client.kc:
            self.client.kc.stop_channels()

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Turns what the snippet raises, and a kernel that dies or does not start, into a message that names it."""
        from nbclient.exceptions import CellExecutionError, DeadKernelError

        try:
            yield
        except (CellExecutionError, RuntimeError) as error:
            what = plain(f"{error}\n{self.log.read_text(errors='replace')}").strip()
            kind = Died if isinstance(error, DeadKernelError) else RecordError
            raise kind(f"{self.who} failed; the record is as it was\n{what}") from error

    def _refuse_stderr(self, where: str, text: str) -> None:
        if text:
            raise RecordError(f"{self.who} wrote to stderr {where}; the record is as it was\n{plain(text)}")


def refuse_without_gpu(name: str, provenance: dict) -> None:
    if not provenance["gpu"]:
        seen = f"torch {provenance['torch']}" if provenance["torch"] else f"no torch in {sys.executable}"
        raise Unfit(f"no GPU ({seen}): {name} was not run, nothing was written")


@asynccontextmanager
async def prepared(name: str, cells: list[NotebookNode], ranks: int) -> AsyncIterator[list[Process]]:
    """The processes of a snippet, to be started; then asked to end, or ended if there are several and one failed."""
    with tempfile.TemporaryDirectory() as place:
        processes = []
        for rank, group in enumerate(groups(ranks)):
            folder = Path(place, str(rank))
            folder.mkdir()
            processes.append(Process(name, cells, folder, rank, group))
        kill = ranks > 1
        try:
            yield processes
            kill = False
        finally:
            await asyncio.gather(*(each.end(kill) for each in processes))


async def together(coroutines: Iterable[Coroutine]) -> list:
    """What each process answers.

    Raises:
        RecordError: as the first that fails; if others failed for want of one that died, as that one.
    """
    tasks = [asyncio.create_task(each) for each in coroutines]
    try:
        _, waiting = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        failed = [task.exception() for task in tasks if task.done() and task.exception()]
        if waiting and not any(isinstance(error, Died) for error in failed):
            await asyncio.wait(waiting, timeout=NOTICED)
            failed += [each for task in waiting if task.done() and (each := task.exception())]
        if failed:
            raise min(failed, key=lambda error: not isinstance(error, Died))
        return [task.result() for task in tasks]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def groups(ranks: int) -> list[dict[str, str]]:
    """What torchrun tells each process of the others; nothing to one that is alone."""
    if ranks == 1:
        return [{}]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    shared |= dict.fromkeys(("WORLD_SIZE", "LOCAL_WORLD_SIZE"), str(ranks))
    return [shared | dict.fromkeys(("RANK", "LOCAL_RANK"), str(rank)) for rank in range(ranks)]


def kernel_manager(folder: Path):
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


def environment(folder: Path) -> dict[str, str]:
    """That of this process, with our rooms importable and nothing of the user's own IPython set-up."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return os.environ | {
        "PYTHONPATH": path,
        "IPYTHONDIR": str(folder),
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
