"""Makes outputs on a Dask cluster: an `Engine` whose workers share this machine's storage."""

from __future__ import annotations

import logging
import queue
import secrets
import threading
import time
import warnings
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bagnoise.bags.remote_path import RemotePath, location
from bagnoise.dataset.make import failed
from bagnoise.dataset.once import Order, make_once, present
from bagnoise.dataset.sight import (
    Beacon,
    byte_versions,
    report,
    require_fit,
    unseen_inputs,
    version_difference,
)
from bagnoise.errors import BagnoiseError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bagnoise.dataset.engine import Task
    from bagnoise.dataset.manifest import Line
    from bagnoise.dataset.variant import Variant

CONNECT_S = 5.0
ASK_S = 30.0  # for all workers to say what they see
WINDOW_PER_WORKER = 4  # outputs handed out at once: workers are never idle, the client holds few
_LOOK_S = 1.0  # between looks at the cluster's size and health
_FETCH_S = 30.0
SEEN_S = 5.0  # until what a worker has written shows here: network file systems take their time


class DaskEngine:
    """Each output is a task of its own; Dask gives it to another worker when one is lost.

    At most `WINDOW_PER_WORKER` x workers tasks are with the scheduler at any time, so that neither
    it nor this process holds a large plan's results.
    """

    def __init__(self, address: str, warn: Callable[[str], None] = lambda _: None) -> None:
        """Connect; ``warn`` is told of workers that are no more used.

        Raises:
            UsageError: ``distributed`` is not installed, or nothing usable is at the address.
        """
        self._address = address
        self._client, self._warn = _connect(address), warn
        self._tasks: deque[Task] = deque()
        self._given: dict[Any, _Given] = {}
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._workers: frozenset[str] = frozenset()
        self._unfit: dict[str, str] = {}
        self._looked = 0.0
        self._beacon: Beacon | None = None

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
            BagnoiseError: the scheduler went away, or no worker is left that fits.
        """
        if not self._tasks:
            return
        variant = anywhere(self._tasks[0].variant)
        self._beacon = Beacon.lit(Path(variant.target[: -len(Path(variant.name).as_posix())]))
        self._require_fit_workers(self._beacon)
        while self._tasks or self._given:
            self._look()
            while self._tasks and len(self._given) < WINDOW_PER_WORKER * max(1, len(self._fit())):
                self._give(self._tasks.popleft(), self._beacon)
            try:
                future = self._done.get(timeout=_LOOK_S)
            except queue.Empty:
                continue
            if future in self._given:
                line = self._line(future)
                if line is not None:
                    yield line

    def stop(self) -> None:
        """Cancel what is handed out and let go of the cluster."""
        if self._beacon is not None:
            self._beacon.put_out()
        given, self._given = list(self._given), {}
        try:
            if given and self._client.status == "running":
                self._client.cancel(given, force=True)
        except Exception:  # the scheduler may be gone; it forgets our tasks anyway
            logging.getLogger(__name__).debug("tasks could not be cancelled", exc_info=True)
        self._client.close(timeout=CONNECT_S)

    def _require_fit_workers(self, beacon: Beacon) -> None:
        try:
            self._client.wait_for_workers(1, timeout=CONNECT_S)
        except TimeoutError:
            at = self._address
            msg = f"{at}: the scheduler has no workers; start: dask worker {at} --nthreads 1"
            raise UsageError(msg) from None
        inputs = {anywhere(t.variant).source: t.input_digest["bytes"] for t in self._tasks}
        require_fit(self._ask(inputs, beacon), beacon)

    def _ask(self, inputs: dict[str, int], beacon: Beacon) -> dict[str, Any]:
        """Ask all workers at once, each in a thread: one that has hung holds up nobody."""
        names = list(self._client.scheduler_info(n_workers=-1)["workers"])
        said: dict[str, Any] = {}

        def ask(name: str) -> None:
            try:
                said.update(
                    self._client.run(report, inputs, beacon, workers=[name], on_error="return")
                )
            except Exception as error:  # noqa: BLE001 - of the connection: the answer's place
                said[name] = error

        threads = [threading.Thread(target=ask, args=(name,), daemon=True) for name in names]
        for thread in threads:
            thread.start()
        until = time.monotonic() + ASK_S
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        silence = TimeoutError(f"no answer within {ASK_S:g} s")
        return {name: said.get(name, silence) for name in names}

    def _fit(self) -> frozenset[str]:
        return self._workers - self._unfit.keys()

    def _look(self) -> None:
        """See who is there, and hand out again what waits for workers that are gone."""
        if time.monotonic() < self._looked + _LOOK_S:
            return
        self._looked = time.monotonic()
        if self._client.status != "running":
            msg = f"{self._address}: the scheduler is gone; run again to make what is left"
            raise BagnoiseError(msg)
        self._workers = frozenset(self._client.scheduler_info(n_workers=-1)["workers"])
        if self._workers and not self._fit():
            why = "\n".join(f"worker {name} {text}" for name, text in self._unfit.items())
            msg = f"{self._address}: no worker is left that fits; run again with others\n{why}"
            raise BagnoiseError(msg)
        for future, given in list(self._given.items()):
            if given.only and not given.only & self._workers:
                self._take_back(future)
                self._client.cancel([future], force=True)

    def _give(self, task: Task, beacon: Beacon) -> None:
        variant = anywhere(task.variant)
        there = present(Path(variant.target))
        order = Order(variant, task.input_digest, there, byte_versions(), beacon)
        key = f"bagnoise-{secrets.token_hex(8)}"
        only = self._fit() if self._unfit else frozenset()
        future = self._client.submit(
            carry_out, order, key=key, pure=False, workers=list(only) or None
        )
        self._given[future] = _Given(task, only)
        future.add_done_callback(self._done.put)

    def _take_back(self, future: Any) -> None:
        self._tasks.appendleft(self._given.pop(future).task)

    def _line(self, future: Any) -> Line | None:
        """Fetch the line of a task; None if it has to be asked for, or made, again."""
        task = self._given[future].task
        try:
            answer: dict[str, Any] = future.result(timeout=_FETCH_S)
        except TimeoutError:  # its worker was lost with the result; it is being made again
            self._done.put(future)
            return None
        except Exception as error:  # noqa: BLE001 - each is the fate of one output
            self._looked = 0.0
            self._look()
            answer = failed(task.variant, task.input_digest, _in_words(error))
        future.release()
        if "unfit" in answer:
            if answer["worker"] not in self._unfit:
                self._warn("worker {worker} gets no more outputs: it {unfit}".format_map(answer))
            self._unfit[answer["worker"]] = answer["unfit"]
            self._looked = 0.0
            self._take_back(future)
            return None
        del self._given[future]
        return seen({**answer, "variant_sha256": task.variant.digest}, task)


class _Given(NamedTuple):
    """A task that is handed out, to these workers only if any are named."""

    task: Task
    only: frozenset[str]


def seen(line: Line, task: Task) -> Line:
    """Return the line of an output if that is to be seen here too, else that of a failure."""
    if line["state"] != "done":
        return line
    target = Path(anywhere(task.variant).target)
    until = time.monotonic() + SEEN_S
    while (there := present(target)) is None or there["bytes"] != line["output_bytes"]:
        if time.monotonic() > until:
            text = f"{target}: its worker has made it, but it is not to be seen here"
            return failed(task.variant, task.input_digest, text)
        time.sleep(0.1)
    return {**line, **{f"output_{name}": value for name, value in there.items()}}


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


def carry_out(order: Order) -> dict[str, Any]:
    """Make an output on a worker, or say why this one, which may have joined late, is unfit."""
    why = _unfit(order)
    if why:
        from distributed import get_worker  # noqa: PLC0415 - an extra

        return {"worker": get_worker().address, "unfit": why}
    return make_once(order)


def _unfit(order: Order) -> str:
    difference = version_difference(order.byte_versions, byte_versions())
    if difference:
        return f"would make other bytes: it has {difference}"
    inputs = {order.variant.source: order.input_digest["bytes"]}
    return order.beacon.trouble() or next(iter(unseen_inputs(inputs)), "")


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
