"""Where outputs are made: the one small interface, and processes on this machine behind it."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from bagnoise.dataset.make import failed, make
from bagnoise.dataset.worker import serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

    from bagnoise.dataset.manifest import Line
    from bagnoise.dataset.variant import Variant

GROUP_VARIANTS = 8  # of one input, given to a worker at once: few enough to lose when it is killed
_STOP_S = 10.0


class Task(NamedTuple):
    """A variant, and what its manifest line says of its input."""

    variant: Variant
    input_digest: dict[str, Any]


class Engine(Protocol):
    """Submit variants, get their manifest lines; a cluster can take the place of this machine."""

    def submit(self, task: Task) -> None:
        """Take an output to make. Nothing need happen before `lines` is asked for."""

    def lines(self) -> Iterator[Line]:
        """Give the line of each submitted output as it is done, in any order."""

    @property
    def running(self) -> int:
        """How many workers are busy."""

    def stop(self) -> None:
        """Let go of everything at once; outputs in work are abandoned whole."""


def usable_cores() -> int:
    """Count the cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


class InProcessEngine:
    """Makes one after the other, here."""

    def __init__(self) -> None:
        """Start with nothing to do."""
        self._tasks: list[Task] = []
        self.running = 1

    def submit(self, task: Task) -> None:
        """Take an output to make."""
        self._tasks.append(task)

    def lines(self) -> Iterator[Line]:
        """Make them, one input after the other."""
        for group in groups(self._tasks, 1):
            yield from make([task.variant for task in group], group[0].input_digest)

    def stop(self) -> None:
        """Have nothing to let go of."""


class LocalEngine:
    """Makes outputs in processes of this machine, each busy with some of one input at a time.

    A worker that dies, by the system's hand for want of memory say, fails what it had in work and
    is replaced. Memory is bounded by workers x what one group needs.
    """

    def __init__(self, workers: int) -> None:
        """Start no process yet."""
        self._workers = workers
        self._tasks: list[Task] = []
        self._busy: dict[Connection, _Worker] = {}
        self._idle: list[_Worker] = []

    def submit(self, task: Task) -> None:
        """Take an output to make."""
        self._tasks.append(task)

    @property
    def running(self) -> int:
        """How many workers are busy."""
        return len(self._busy)

    def lines(self) -> Iterator[Line]:
        """Hand groups to workers and gather their lines."""
        todo = deque(groups(self._tasks, self._workers))
        while todo or self._busy:
            while todo and len(self._busy) < self._workers:
                worker = self._idle.pop() if self._idle else _Worker()
                worker.give(todo.popleft())
                self._busy[worker.connection] = worker
            for connection in wait(list(self._busy)):
                yield from self._gather(self._busy[connection])  # type: ignore[index]

    def _gather(self, worker: _Worker) -> Iterator[Line]:
        try:
            line = worker.connection.recv()
        except (EOFError, OSError):
            del self._busy[worker.connection]
            yield from worker.buried()
            return
        if line is None:
            del self._busy[worker.connection]
            self._idle.append(worker)
            return
        worker.left.pop(line["output"], None)
        yield line

    def stop(self) -> None:
        """End the workers; each removes what it had half written."""
        workers = [*self._busy.values(), *self._idle]
        self._busy, self._idle = {}, []
        for worker in workers:
            worker.process.terminate()
        for worker in workers:
            worker.process.join(_STOP_S)
            worker.process.kill()
            worker.process.join()
            worker.connection.close()


class _Worker:
    """A process, our end of the pipe to it, and what it has in work."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")  # a forked one would hold our locks
        self.connection, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(
            target=serve, args=(theirs, os.getpid()), name="bagnoise-dataset", daemon=True
        )
        self.process.start()
        theirs.close()
        self.left: dict[str, Task] = {}

    def give(self, group: list[Task]) -> None:
        self.left = {task.variant.name: task for task in group}
        self.connection.send(([task.variant for task in group], group[0].input_digest))

    def buried(self) -> Iterator[Line]:
        """Give the lines of what the dead worker had in work."""
        self.process.join()
        self.connection.close()
        code = self.process.exitcode or 0
        how = f"by signal {-code} (out of memory?)" if code < 0 else f"with exit code {code}"
        for task in self.left.values():
            yield failed(task.variant, task.input_digest, f"its worker process ended {how}")


def groups(tasks: list[Task], workers: int) -> list[list[Task]]:
    """Put tasks of one input and one way of reading it together, enough for all workers."""
    together: dict[tuple[str, str], list[Task]] = {}
    for task in tasks:
        settings = task.variant.settings
        cut = repr([settings[name] for name in ("start", "end", "only", "exclude", "msgs")])
        together.setdefault((task.variant.source, cut), []).append(task)
    share = max(1, -(-len(tasks) // max(1, workers)))
    size = min(GROUP_VARIANTS, share)
    return [
        some[start : start + size]
        for some in together.values()
        for start in range(0, len(some), size)
    ]
