"""Messages of MCAP chunks in log-time order, with few chunks in memory at a time.

Chunks are loaded in the order of their first message; a message is given out once no chunk that is
still to come can hold an earlier one. Buffers are lent and reused: fresh ones of several megabytes
would cost as much as the decompression.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from heapq import heappop, heappush
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from bagnoise.bags import mcap_records as r
from bagnoise.bags.mcap_content import Raw, damaged, indexed_messages, load, messages_of
from bagnoise.bags.mcap_pick import pick

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Executor, Future

    from bagnoise.bags.mcap_chunk import Chunk
    from bagnoise.bags.mcap_source import Source

_MAX_SPARE = 8
FAR_FUTURE_NS = 1 << 65  # beyond what 64 bits hold


class Place(NamedTuple):
    """A chunk of one of several files; ``file`` is the file's position among them."""

    file: int
    source: Source
    chunk: Chunk


def advise(places: Sequence[Place]) -> None:
    """Tell sources that can fetch ahead which chunks, with their indexes, are read next."""
    ranges: dict[Source, list[tuple[int, int]]] = {}
    for place in places:
        if place.source.takes_advice:
            chunk = place.chunk
            wanted = chunk.offset, chunk.length + chunk.index_length
            ranges.setdefault(place.source, []).append(wanted)
    for source, mine in ranges.items():
        source.advise(mine)


@dataclass
class Loan:
    """A chunk in memory; whoever uses it holds it, and its buffer is reused when none does."""

    place: Place
    raws: list[Raw]
    records: memoryview
    buffer: bytearray
    pool: list[bytearray]
    holders: int = 0

    def hold(self) -> None:
        """Keep the buffer."""
        self.holders += 1

    def release(self) -> None:
        """Let go of the buffer."""
        self.holders -= 1
        if self.holders == 0:
            self.records = memoryview(b"")
            if len(self.pool) < _MAX_SPARE:
                self.pool.append(self.buffer)


def borrow(place: Place, pool: list[bytearray]) -> Loan:
    """Load a chunk into a spare buffer, which the one holder gives back.

    Raises:
        DamagedBagError: with file and offset.
    """
    try:
        buffer = pool.pop()
    except IndexError:
        buffer = bytearray()
    records = load(place.source, place.chunk, buffer)
    used = records.obj
    return Loan(place, [], records, used if isinstance(used, bytearray) else buffer, pool, 1)


class Found(NamedTuple):
    """A message in time order; valid until the next is asked for, unless its loan is held."""

    log_ns: int
    file: int
    chunk_offset: int
    start: int
    raw: Raw
    loan: Loan


_by_time = attrgetter("log_ns")
# a chunk's messages by time, and the next of them with its place; no two of those are equal
_Opened = tuple[Found, int, list[Found]]


@dataclass
class Reading:
    """What is to be read: the places, and of each file which channel ids.

    Attributes:
        places: in any order; sorted by first message, then file and offset.
        wanted: channel ids by file position.
        start_ns, end_ns: only messages from here, and before there.
        executor: decompresses ahead of time, if there is one.
        ahead: how many chunks.
        on_load: told of each chunk and how many of its messages will be given.
        is_advised: the sources know already what comes.
        needs_whole: whether a loan must hold the whole chunk, not only the wanted messages.
    """

    places: Sequence[Place]
    wanted: Sequence[set[int]]
    start_ns: int | None = None
    end_ns: int | None = None
    executor: Executor | None = None
    ahead: int = 2
    pool: list[bytearray] = field(default_factory=list)
    on_load: Callable[[Loan, int], None] | None = None
    is_advised: bool = False
    needs_whole: Callable[[Place], bool] = lambda _: False

    def __iter__(self) -> Iterator[Found]:
        """Yield the messages by (log time, file, offset)."""
        opened: list[_Opened] = []
        for loan in self._loans():
            yield from _merged(opened, loan.place.chunk.start_ns)
            found = self._select(loan)
            found.sort(key=_by_time)
            if found:
                heappush(opened, (found[0], 0, found))
        yield from _merged(opened, FAR_FUTURE_NS)

    def _loans(self) -> Iterator[Loan]:
        """Load the chunks in order, some of them ahead."""
        order = sorted(self.places, key=lambda p: (p.chunk.start_ns, p.file, p.chunk.offset))
        if not self.is_advised:
            advise(order)
        if self.executor is None:
            yield from map(self._load, order)
            return
        waiting: deque[Future[Loan]] = deque()
        for place in order:
            waiting.append(self.executor.submit(self._load, place))
            if len(waiting) > self.ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def _load(self, place: Place) -> Loan:
        """Decompress a chunk and find its wanted messages."""
        _, source, chunk = place
        wanted = self.wanted[place.file]
        is_part = chunk.is_sound and not wanted.issuperset(chunk.counts)
        picked = pick(source, chunk, wanted) if is_part and not self.needs_whole(place) else None
        if picked is not None:
            return Loan(place, picked[1], picked[0], bytearray(), [], 1)
        loan = borrow(place, self.pool)
        records = loan.records
        try:
            if is_part:
                loan.raws = indexed_messages(source, chunk, records, wanted)
            else:
                found = messages_of(source, chunk, records)
                loan.raws = [raw for raw in found if raw.channel_id in wanted]
        except r.CutOffError as error:
            raise damaged(source, chunk, error) from None
        return loan

    def _select(self, loan: Loan) -> list[Found]:
        low = -1 if self.start_ns is None else self.start_ns
        high = 1 << 64 if self.end_ns is None else self.end_ns
        file, _, chunk = loan.place
        found = [
            Found(raw.log_ns, file, chunk.offset, raw.start, raw, loan)
            for raw in loan.raws
            if low <= raw.log_ns < high
        ]
        loan.holders += len(found)
        if self.on_load is not None:
            self.on_load(loan, len(found))
        loan.release()
        return found


def _merged(opened: list[_Opened], until_ns: int) -> Iterator[Found]:
    """Yield what lies before a time from a heap of chunks, and take it out of them."""
    while opened and opened[0][0].log_ns < until_ns:
        one, at, found = heappop(opened)
        rival = opened[0][0] if opened else None
        while one.log_ns < until_ns and (rival is None or one < rival):
            yield one
            one.loan.release()
            at += 1
            if at == len(found):
                break
            one = found[at]
        else:
            heappush(opened, (one, at, found))
