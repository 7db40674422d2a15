"""Makes outputs on a Dask cluster: an `Engine` whose workers share this machine's storage."""

from __future__ import annotations

import logging
import queue
import secrets
import time
import warnings
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bagnoise.bags.publish import PARTIAL_PREFIX
from bagnoise.bags.remote_path import RemotePath, location
from bagnoise.dataset.make import failed
from bagnoise.dataset.once import Order, make_once, present
from bagnoise.dataset.sight import byte_versions, report, require_sight, version_difference
from bagnoise.errors import BagnoiseError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bagnoise.dataset.engine import Task
    from bagnoise.dataset.manifest import Line
    from bagnoise.dataset.variant import Variant

CONNECT_S = 5.0
ASK_S = 30.0  # for all workers to say what they see
WINDOW_PER_WORKER = 4  # outputs handed out at once: workers are never idle, the client holds few
_LOOK_S = 1.0  # between looks at the cluster's size and health
_FETCH_S = 30.0


class DaskEngine:
    """Each output is a task of its own; Dask gives it to another worker when one is lost.

    At most `WINDOW_PER_WORKER` x workers tasks are with the scheduler at any time, so that neither
    it nor this process holds a large plan's results.
    """

    def __init__(self, address: str) -> None:
        """Connect.

        Raises:
            UsageError: ``distributed`` is not installed, or nothing usable is at the address.
        """
        self._address = address
        self._client = _connect(address)
        self._tasks: deque[Task] = deque()
        self._given: dict[Any, Task] = {}
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._workers: tuple[str, ...] = ()
        self._looked = 0.0

    def submit(self, task: Task) -> None:
        """Take an output to make."""
        self._tasks.append(task)

    @property
    def running(self) -> int:
        """How many workers are busy."""
        return min(len(self._workers), len(self._given))

    def lines(self) -> Iterator[Line]:
        """Hand out tasks, a few for each worker, and give their lines as they are done.

        Raises:
            UsageError: a worker sees other files or has other versions; nothing was begun.
            BagnoiseError: the scheduler went away.
        """
        if self._tasks:
            self._check_workers()
        while self._tasks or self._given:
            self._look()
            while self._tasks and len(self._given) < WINDOW_PER_WORKER * max(1, len(self._workers)):
                self._give(self._tasks.popleft())
            try:
                future = self._done.get(timeout=_LOOK_S)
            except queue.Empty:
                continue
            line = self._line(future)
            if line is not None:
                del self._given[future]
                future.release()
                yield line

    def stop(self) -> None:
        """Cancel what is handed out and let go of the cluster."""
        given, self._given = list(self._given), {}
        try:
            if given and self._client.status == "running":
                self._client.cancel(given, force=True)
        except Exception:  # the scheduler may be gone; it forgets our tasks anyway
            logging.getLogger(__name__).debug("tasks could not be cancelled", exc_info=True)
        self._client.close(timeout=CONNECT_S)

    def _check_workers(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=CONNECT_S)
        except TimeoutError:
            at = self._address
            msg = f"{at}: the scheduler has no workers; start: dask worker {at} --nthreads 1"
            raise UsageError(msg) from None
        inputs = {anywhere(t.variant).source: t.input_digest["bytes"] for t in self._tasks}
        variant = anywhere(self._tasks[0].variant)
        folder = Path(variant.target[: -len(Path(variant.name).as_posix())])
        require_sight(self._ask, inputs, folder)

    def _ask(self, inputs: dict[str, int], folders: dict[str, str]) -> Mapping[str, Any]:
        workers = list(self._client.scheduler_info(n_workers=-1)["workers"])
        marks = {worker: f"{PARTIAL_PREFIX}{secrets.token_hex(8)}" for worker in workers}
        said: dict[str, Any] = {}
        for worker, mark in marks.items():
            said |= self._client.run(
                report, inputs, folders, mark, workers=[worker], on_error="return"
            )
        return said

    def _look(self) -> None:
        if time.monotonic() < self._looked + _LOOK_S:
            return
        self._looked = time.monotonic()
        if self._client.status != "running":
            msg = f"{self._address}: the scheduler is gone; run again to make what is left"
            raise BagnoiseError(msg)
        self._workers = tuple(self._client.scheduler_info(n_workers=-1)["workers"])

    def _give(self, task: Task) -> None:
        variant = anywhere(task.variant)
        order = Order(variant, task.input_digest, present(Path(variant.target)), byte_versions())
        key = f"bagnoise-{secrets.token_hex(8)}"
        future = self._client.submit(carry_out, order, key=key, pure=False)
        self._given[future] = task
        future.add_done_callback(self._done.put)

    def _line(self, future: Any) -> Line | None:
        """Fetch the line of a task; None if it has to be asked for again."""
        task = self._given[future]
        try:
            line: Line = future.result(timeout=_FETCH_S)
        except TimeoutError:  # its worker was lost with the result; it is being made again
            self._done.put(future)
            return None
        except Exception as error:  # noqa: BLE001 - each is the fate of one output
            self._looked = 0.0
            self._look()
            return failed(task.variant, task.input_digest, _in_words(error))
        return {**line, "variant_sha256": task.variant.digest}


def anywhere(variant: Variant) -> Variant:
    """Spell paths in full: a worker stands in another folder.

    Raises:
        UsageError: a path is a URL, which the workers cannot be asked about yet.
    """
    if any(isinstance(location(path), RemotePath) for path in (variant.source, variant.target)):
        msg = "--dask needs inputs and outputs in folders that all workers see, not on a store"
        raise UsageError(msg)
    msgs = variant.settings["msgs"]
    settings = {**variant.settings, "msgs": msgs and str(Path(msgs).absolute())}
    source, target = Path(variant.source).absolute(), Path(variant.target).absolute()
    return replace(variant, source=str(source), target=str(target), settings=settings)


def carry_out(order: Order) -> Line:
    """Make an output on a worker, which may have joined after the others were asked."""
    difference = version_difference(order.byte_versions, byte_versions())
    if difference:
        text = f"its worker would make other bytes: it has {difference}"
        return failed(order.variant, order.input_digest, text)
    return make_once(order)


def _in_words(error: Exception) -> str:
    if type(error).__name__ == "KilledWorker":
        return "its worker was lost, and so were those that tried it again (out of memory?)"
    return f"on the cluster: {type(error).__name__}: {error}"


def _connect(address: str) -> Any:
    try:
        from distributed import Client  # noqa: PLC0415 - an extra
    except ImportError:
        msg = "--dask needs the package 'distributed': pip install 'bagnoise[dask]'"
        raise UsageError(msg) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters we say ourselves
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of versions: those that matter are compared
            return Client(  # type: ignore[no-untyped-call]
                address, timeout=CONNECT_S, set_as_default=False
            )
    except (OSError, TimeoutError) as error:
        hint = "'dask scheduler' prints the address, such as tcp://HOST:8786"
        msg = f"{address}: no Dask scheduler answers within {CONNECT_S:g} s; {hint}"
        raise UsageError(msg) from error
    except ValueError as error:
        msg = f"{address}: not a scheduler's address ({error}); it looks like tcp://HOST:8786"
        raise UsageError(msg) from None
