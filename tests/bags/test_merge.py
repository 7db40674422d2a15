from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from bagnoise.bags.merge import merge_by_time

if TYPE_CHECKING:
    from collections.abc import Iterator


class Item(NamedTuple):
    log_ns: int
    source: int
    place: int


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=6), max_size=6))
def test_sorted_by_time_then_source_then_place(times: list[list[int]]) -> None:
    items = [
        [Item(t, source, place) for place, t in enumerate(sorted(part))]
        for source, part in enumerate(times)
    ]
    sources = [(part[0].log_ns, partial(iter, part)) for part in items]
    assert list(merge_by_time(sources)) == sorted(item for part in items for item in part)


def test_files_that_follow_each_other_are_open_one_at_a_time() -> None:
    opened: set[int] = set()
    most = 0

    def reading(source: int) -> Iterator[Item]:
        nonlocal most
        opened.add(source)
        most = max(most, len(opened))
        yield from (Item(10 * source + place, source, place) for place in range(5))
        opened.discard(source)

    sources = [(10 * n, partial(reading, n)) for n in range(50)]
    assert len(list(merge_by_time(sources))) == 250
    assert most == 1
