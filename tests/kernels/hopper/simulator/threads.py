"""Threads of which one runs at a time, and copies that take place when they like: in an order drawn by a seed."""

import random
import threading
from collections.abc import Callable, Iterable


class Hangs(Exception):
    """All threads wait for what never comes."""


class Race(Exception):
    """What one order allows and another does not: a tile changed under its reader, a result asked for too early."""


class StoppedByFailure(BaseException):
    """What a thread gets when another has failed."""


class Worker:
    """A thread, and what it has under way."""

    def __init__(self, number: int, speed: float):
        self.number, self.speed = number, speed
        self.may_run = threading.Semaphore(0)
        self.condition: Callable[[], bool] | None = None
        self.ended = False
        self.products: list = []  # of wgmma, not yet waited for, in the order in which they began
        self.unfenced: list = []  # stores to shared memory that only threads would see
        self.pending_stores: list = []  # copies out of shared memory
        self.polled: dict = {}  # what it saw in global memory when it looked last


class Threads:
    """Functions that take turns: each runs until it comes to a barrier, then chance says who goes on, or which copy.

    Each has a speed of its own, so that in some orders one is far behind.
    """

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.copies: dict[Callable[[], None], float] = {}  # under way, and how soon they are drawn
        self.control = threading.Semaphore(0)
        self.thread_local = threading.local()
        self.failed: BaseException | None = None

    @property
    def current_worker(self) -> Worker | None:
        """The thread that asks; None before they run."""
        return getattr(self.thread_local, "worker", None)

    def run(self, functions: Iterable[Callable[[], None]]) -> None:
        """Raises what any of them raises; Hangs where none can go on."""
        workers = {}
        for number, function in enumerate(functions):
            worker = Worker(number, self.speed())
            workers[worker] = threading.Thread(target=self._work, args=(worker, function), daemon=True)
            workers[worker].start()
        live_workers = [*workers]
        while (live_workers or self.copies) and not self.failed:
            ready_workers = [worker for worker in live_workers if worker.condition is None or worker.condition()]
            if not ready_workers and not self.copies:
                self.failed = Hangs(
                    f"{len(live_workers)} threads wait for ever: {[worker.number for worker in live_workers]}"
                )
                break
            weights = [worker.speed for worker in ready_workers] + [*self.copies.values()]
            [chosen] = self.rng.choices([*ready_workers, *self.copies], weights)
            if isinstance(chosen, Worker):
                chosen.may_run.release()
                self.control.acquire()
                live_workers = [worker for worker in live_workers if not worker.ended]
            else:
                del self.copies[chosen]
                self._do(chosen)
        for worker in live_workers:
            worker.may_run.release()
            workers[worker].join()
        if self.failed:
            raise self.failed

    def speed(self) -> float:
        return 10 ** self.rng.uniform(-3, 0)

    def _do(self, function: Callable[[], None]) -> None:
        try:
            function()
        except StoppedByFailure:
            raise
        except BaseException as error:  # raised again where all began
            self.failed = error

    def _work(self, worker: Worker, function: Callable[[], None]) -> None:
        self.thread_local.worker = worker
        worker.may_run.acquire()
        if self.failed:
            return
        try:
            self._do(function)
        except StoppedByFailure:
            return
        if not self.failed and not all(copy.is_read for copy in worker.pending_stores):
            self.failed = Race("a thread ended before its copies out of shared memory were read")
        worker.ended = True
        self.control.release()

    def pause(self, condition: Callable[[], bool] | None = None) -> None:
        """Lets others go on, and returns when this thread's turn has come and the condition holds."""
        current_worker = self.current_worker
        if current_worker is None:
            return
        current_worker.condition = condition
        self.control.release()
        current_worker.may_run.acquire()
        if self.failed:
            raise StoppedByFailure
        current_worker.condition = None

    def begin(self, copy: Callable[[], None]) -> None:
        """Has it done at some time from now on, soon or much later."""
        self.copies[copy] = self.speed()
