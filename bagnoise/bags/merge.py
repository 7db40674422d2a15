"""Merge the files of a split recording by time, with as few of them open as possible."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class _Timed(Protocol):
    @property
    def log_ns(self) -> int: ...


Item = TypeVar("Item", bound=_Timed)


def merge_by_time(sources: Sequence[tuple[int, Callable[[], Iterator[Item]]]]) -> Iterator[Item]:
    """Yield all items by log time, ties in the order of the sources.

    Each source is (its first log time, how to open it) and is opened only when the merge has
    come to its first time, so a recording in a hundred files that follow each other has one open.
    """
    if len(sources) == 1:
        yield from sources[0][1]()
        return
    waiting = sorted(range(len(sources)), key=lambda index: (sources[index][0], index))
    waiting.reverse()
    heads: list[tuple[int, int, Item, Iterator[Item]]] = []

    def advance(index: int, items: Iterator[Item]) -> None:
        for item in items:
            heapq.heappush(heads, (item.log_ns, index, item, items))
            return

    while waiting or heads:
        while waiting and (not heads or sources[waiting[-1]][0] <= heads[0][0]):
            index = waiting.pop()
            advance(index, sources[index][1]())
        if heads:
            _, index, item, items = heapq.heappop(heads)
            yield item
            advance(index, items)
