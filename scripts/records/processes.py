"""Runs a snippet in a Jupyter kernel, or in one for each GPU, which then all run each cell at the same time.

With several, we keep what rank 0 shows, and the others must show nothing. When one fails we end the others: they may be
waiting for it.
"""

import asyncio
import json
import os
import socket
import tempfile
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal, DeadKernelError
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from scripts.records.record_file import refuse_unfit, strip_controls
from scripts.records.root import ROOT, RecordError

IMPORT_TRACER = "__import__('scripts.records.run_tracer', fromlist=['run_tracer'])"  # leaves no name behind
DEATH_NOTICE_SECONDS = 1.5  # we notice a dead kernel within one, and those that waited for it may have failed before


class KernelDied(RecordError):
    """A kernel is no longer there."""


async def execute(name: str, cells: list[NotebookNode], ranks: int) -> dict:
    """Runs a snippet's code cells and gives them their outputs; returns where they ran, and what was executed.

    Raises ``UnsuitableMachine`` if no record can be made here, and RecordError if a cell raises or writes to stderr.
    """
    with tempfile.TemporaryDirectory() as folder:
        processes = [
            Process(name, cells, Path(folder, str(rank)), rank_environment)
            for rank, rank_environment in enumerate(rank_environments(ranks))
        ]
        try:
            ran, *_ = await gather_answers(process.start() for process in processes)
            for number, cell in enumerate(cells, start=1):
                cell.outputs, *_ = await gather_answers(process.run(number) for process in processes)
                cell.execution_count = number
            reports = await gather_answers(process.ask(-1, "after the last cell") for process in processes)
        finally:
            await asyncio.gather(*(process.end(now=ranks > 1) for process in processes))
    executed = {function for report in reports for function in report["executed"]}
    return ran | {"executed": sorted(executed), "interpreter": any(report["interpreter"] for report in reports)}


async def gather_answers(coroutines: Iterable[Coroutine]) -> list:
    """Returns what each process answers.

    Raises the error of the first that fails; but if one died, of that one: others may have failed because they lost it.
    """
    tasks = [asyncio.create_task(each) for each in coroutines]
    try:
        done, waiting = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        if waiting:
            await asyncio.wait(waiting, timeout=DEATH_NOTICE_SECONDS)
        failed = [error for task in [*done, *waiting] if task.done() and (error := task.exception())]
        if failed:
            raise min(failed, key=lambda error: not isinstance(error, KernelDied))
        return [task.result() for task in tasks]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def rank_environments(ranks: int) -> list[dict[str, str]]:
    """Returns what torchrun tells each process about the others; nothing to one that's alone."""
    if ranks == 1:
        return [{}]
    with socket.socket() as port_socket:
        port_socket.bind(("127.0.0.1", 0))
        shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port_socket.getsockname()[1])}
    shared |= dict.fromkeys(("WORLD_SIZE", "LOCAL_WORLD_SIZE"), str(ranks))
    return [shared | dict.fromkeys(("RANK", "LOCAL_RANK"), str(rank)) for rank in range(ranks)]


class Process:
    """A Jupyter kernel, which runs the cells of a snippet. ``rank_environment`` tells it about the others."""

    def __init__(self, name: str, cells: list[NotebookNode], folder: Path, rank_environment: dict[str, str]):
        self.rank = int(rank_environment.get("RANK", 0))
        self.name = f"rank {self.rank} of {name}" if rank_environment else name
        folder.mkdir()
        self.log, self.stderr = folder / "log", folder / "stderr"  # until it has started; what C code writes after that
        self.stderr.touch()
        start, report = (new_code_cell(f"{IMPORT_TRACER}.{step}({str(folder)!r})") for step in ("start", "report"))
        self.cells = [start, *(new_code_cell(cell.source, id=cell.id) for cell in cells), report]
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        variables = {"PYTHONPATH": path, "IPYTHONDIR": str(folder)}  # and nothing of the user's own IPython set-up
        self.environment = os.environ | variables | rank_environment
        this_python = KernelSpecManager(kernel_dirs=[])  # whatever Jupyter kernels are installed
        connection = {
            "transport": "ipc",
            "ip": f"{folder}/kernel",
            "connection_file": f"{folder}/kernel.json",
        }  # no network
        manager = AsyncKernelManager(kernel_spec_manager=this_python, **connection)
        # An output that's late would be lost in silence if it didn't raise.
        limits = {"timeout": None, "iopub_timeout": 60, "raise_on_iopub_timeout": True}
        self.client = NotebookClient(new_notebook(cells=self.cells), km=manager, record_timing=False, **limits)

    async def start(self) -> dict:
        """Returns where it runs, as ``run_tracer.provenance``."""
        with self._name_failure(), self.log.open("w") as log:
            await self.client.async_start_new_kernel(cwd=str(ROOT), env=self.environment, stderr=log)
            await self.client.async_start_new_kernel_client()
        ran = await self.ask(0, "as torch was imported")
        refuse_unfit(self.name, ran)
        return ran

    async def run(self, number: int) -> list[NotebookNode]:
        """Returns the outputs of a cell, counted from 1."""
        where = f"in cell {self.cells[number].id}"
        outputs = await self._run(number, where)
        if outputs and self.rank:
            output = outputs[0].get("text") or outputs[0].data.get("text/plain")
            raise RecordError(f"{self.name} showed something {where}, and only rank 0 may\n{output}")
        return outputs

    async def ask(self, number: int, where: str) -> dict:
        """Returns what a cell of ours prints, which isn't counted: the snippet's first is In [1]."""
        outputs = await self._run(number, where, store_history=False)
        return json.loads("".join(output.text for output in outputs if output.get("name") == "stdout"))

    async def end(self, now: bool) -> None:
        """Ends the kernel, which may clear up first, unless it's to end now."""
        if self.client.km.has_kernel:
            await self.client.km.shutdown_kernel(now=now)
        if self.client.kc:
            self.client.kc.stop_channels()

    async def _run(self, number: int, where: str, **options) -> list[NotebookNode]:
        with self._name_failure():
            cell = await self.client.async_execute_cell(self.cells[number], number, **options)
        python_stderr = "".join(output.text for output in cell.outputs if output.get("name") == "stderr")
        if stderr_text := python_stderr + self.stderr.read_text(errors="replace"):
            raise RecordError(
                f"{self.name} wrote to stderr {where}; the record is as it was\n{strip_controls(stderr_text)}"
            )
        return strip_controls(join_text(cell.outputs))

    @contextmanager
    def _name_failure(self) -> Iterator[None]:
        """Turns what the snippet raises, and a kernel that dies or doesn't start, into a message that names it."""
        try:
            yield
        except (CellControlSignal, RuntimeError) as error:
            output = "\n".join([str(error), *(path.read_text(errors="replace") for path in (self.log, self.stderr))])
            kind = KernelDied if isinstance(error, DeadKernelError) else RecordError
            raise kind(f"{self.name} failed; the record is as it was\n{strip_controls(output).strip()}") from error


def join_text(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Returns them as they came, with consecutive text joined: Jupyter cuts it anywhere, differently each time."""
    joined: list[NotebookNode] = []
    for output in outputs:
        if output.output_type == "stream" and joined and joined[-1].get("name") == output.name:
            joined[-1].text += output.text
        else:
            joined.append(output)
    return joined
