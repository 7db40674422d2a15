"""A file on an object store, read by position as a local one is.

What is fetched is kept in a sparse temporary file without a name (in ``TMPDIR``), so that nothing
is fetched twice to be read twice, and memory holds only the answers on their way. Readers say with
`advise` which ranges come next, and these are fetched ahead, several at a time.
"""

from __future__ import annotations

import os
import tempfile
import threading
from bisect import bisect_right
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from bagnoise.bags.mcap_source import Source
from bagnoise.errors import BagError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

PAGE_BYTES = 1 << 14
_REQUEST_PAGES = 256  # 4 MiB
_SMALL_FILE_PAGES = 16  # is fetched whole
_TAIL_PAGES = 4  # where the summary mostly fits
_BRIDGE_PAGES = 4  # so few are fetched again rather than to ask twice
_AHEAD = 8  # requests
_THREADS = 6
_MISSING, _ASKED, _HERE = 0, 1, 2

Pages = tuple[int, int]  # first, and behind the last


class RemoteSource(Source):
    """An object, read by position; see the head of this file."""

    takes_advice = True

    def _open(self, path: Path) -> None:
        from bagnoise.bags.remote_path import RemotePath  # noqa: PLC0415 - for URLs only

        assert isinstance(path, RemotePath)
        try:
            self._entry = path.entry()
        except FileNotFoundError:
            msg = f"{path}: no such file or folder"
            raise BagError(msg) from None
        self._store = path.store
        self.size = self._entry.size
        self._file = tempfile.TemporaryFile(prefix="bagnoise-", buffering=0)  # noqa: SIM115 - closed by `close`
        self.fd = self._file.fileno()
        self._pages = bytearray(-(-self.size // PAGE_BYTES))
        self._asked: dict[Pages, Future[None]] = {}
        self._plan: list[Pages] = []
        self._starts: list[int] = []
        self._next_page, self._window_pages = 0, 1
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._pool = ThreadPoolExecutor(_THREADS, "bagnoise-fetch")
        self.requests = self.fetched_bytes = 0
        count = len(self._pages)
        with self._lock:
            if count <= _SMALL_FILE_PAGES:
                self._ask_missing(0, count)
            else:
                self._ask_missing(0, 1)
                self._ask_missing(count - _TAIL_PAGES, count)

    def close(self) -> None:
        """Let go of what is on its way, and of what was kept."""
        self._stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)
        super().close()

    def notes(self) -> list[str]:
        """Say how much was fetched."""
        fetched, size = self.fetched_bytes, self.size
        return [f"{self.path}: {fetched} of {size} bytes fetched in {self.requests} requests"]

    def read_into(self, buffer: bytearray, offset: int, count: int) -> memoryview:
        """Return these bytes in a buffer, or in a new one if it is too small."""
        self.fetch(offset, count)
        return super().read_into(buffer, offset, count)

    def read(self, offset: int, count: int) -> memoryview:
        """Return exactly these bytes."""
        self.fetch(offset, count)
        return super().read(offset, count)

    def peek(self, offset: int, count: int) -> memoryview:
        """Return these bytes, or fewer at the end of the file."""
        self.fetch(offset, count)
        return memoryview(os.pread(self.fd, max(0, min(count, self.size - offset)), offset))

    def advise(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Learn which (offset, length) are read next; near ones are fetched together."""
        plan: list[Pages] = []
        for offset, length in sorted(ranges):
            if length <= 0 or offset >= self.size:
                continue
            first, behind = _pages(offset, min(length, self.size - offset))
            if plan and first <= plan[-1][1] + _BRIDGE_PAGES:
                last = plan.pop()
                first, behind = last[0], max(last[1], behind)
            plan.append((first, behind))
        with self._lock:
            self._plan = [part for pages in plan for part in _split(pages)]
            self._starts = [first for first, _ in self._plan]

    def fetch(self, offset: int, count: int) -> None:
        """Wait until these bytes, as far as the file goes, can be read from `fd`."""
        count = min(count, self.size - offset)
        if count <= 0 or offset < 0:
            return
        first, behind = _pages(offset, count)
        while self._pages.count(_HERE, first, behind) < behind - first:
            with self._lock:
                self._ask_for(first, behind)
                waiting = [f for (a, b), f in self._asked.items() if a < behind and b > first]
            for future in waiting:
                future.result()

    def _ask_for(self, first: int, behind: int) -> None:
        """Ask for what is missing of some pages, and for what was said to come after them."""
        at = bisect_right(self._starts, first) - 1
        if at >= 0 and self._plan[at][1] > first:
            for pages in self._plan[at : at + _AHEAD]:
                self._ask_missing(*pages)
        missing = self._pages.find(_MISSING, first, behind)
        if missing < 0:
            return
        sequential = missing == self._next_page
        self._window_pages = min(2 * self._window_pages, 4 * _REQUEST_PAGES) if sequential else 1
        self._next_page = min(max(behind, missing + self._window_pages), len(self._pages))
        self._ask_missing(missing, self._next_page)

    def _ask_missing(self, first: int, behind: int) -> None:
        """Ask for the missing pages of a range, bridging small gaps between them."""
        start = self._pages.find(_MISSING, first, behind)
        while start >= 0:
            end = at = start
            while 0 <= at <= end + _BRIDGE_PAGES:
                end = at + 1
                at = self._pages.find(_MISSING, end, behind)
            for part in _split((start, end)):
                self._ask(part)
            start = at

    def _ask(self, pages: Pages) -> None:
        first, behind = pages
        for page in range(first, behind):
            if self._pages[page] == _MISSING:
                self._pages[page] = _ASKED
        self._asked[pages] = self._pool.submit(self._get, pages)

    def _get(self, pages: Pages) -> None:
        first, behind = pages
        start, end = first * PAGE_BYTES, min(behind * PAGE_BYTES, self.size)
        state = _MISSING
        try:
            data = memoryview(self._store.read(self._entry, start, end, self._stop))
            at = start
            while data:
                done = os.pwrite(self.fd, data, at)
                data, at = data[done:], at + done
            state = _HERE
        except OSError as error:
            msg = f"{self.path}: no room to keep what is read of it (set TMPDIR): {error.strerror}"
            raise BagError(msg) from None
        finally:
            with self._lock:
                for page in range(first, behind):
                    if self._pages[page] != _HERE:
                        self._pages[page] = state
                self._asked.pop(pages, None)
                self.requests += 1
                self.fetched_bytes += end - start


def _pages(offset: int, count: int) -> Pages:
    return offset // PAGE_BYTES, (offset + count - 1) // PAGE_BYTES + 1


def _split(pages: Pages) -> list[Pages]:
    first, behind = pages
    return [(at, min(at + _REQUEST_PAGES, behind)) for at in range(first, behind, _REQUEST_PAGES)]
