"""Tests of what must be there: untouched topics byte for byte, ticks in full, losses as asked."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING

from bagnoise.compare.lines import Line, certain, not_tested
from bagnoise.compare.statistics import binomial_p
from bagnoise.steps.base import TimeStep
from bagnoise.steps.timing import Drop, Rate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bagnoise.compare.run import Comparison, Stream
    from bagnoise.recipe.model import Recipe

MAX_TRIALS = 5_000_000  # messages that a binomial is summed over


def presence_lines(comparison: Comparison) -> Iterator[Line]:
    """Test that nothing else was touched and that what was asked for is there."""
    assert comparison.recipe is not None
    replaced = _replaced(comparison.recipe)
    published = _targets(comparison.recipe)
    for topic in comparison.topics:
        touched = topic.topic in published or _matches(topic.topic, replaced)
        if touched or topic.bytes in {"only in truth", "only in noisy"}:
            continue
        holds = topic.bytes in {"identical", "a part"} and topic.noisy <= topic.truth
        asked, note = "unchanged", "exact"
        yield Line(topic.topic, "bytes", asked, topic.bytes, certain(holds=holds), note)
    for stream in comparison.streams:
        if stream.pair.stream is not None:
            yield from _drop_lines(stream)
            yield from _rate_lines(stream)


def _drop_lines(stream: Stream) -> Iterator[Line]:
    steps = [step for _, step in stream.pair.steps if isinstance(step, TimeStep)]
    drops = [step for step in steps if isinstance(step, Drop)]
    if not drops:
        return
    subject = f"{stream.pair.noisy} drop"
    alone = (
        not stream.pair.makes_moments
        and len(drops) == 1
        and not any(isinstance(step, Rate) for step in steps)
    )
    if not alone or drops[0].burst != 1 or drops[0].keep_every != 1:
        yield not_tested(subject, "messages lost", "bursts, thinning or a rate beside it")
        return
    sent = len(stream.truth)
    if sent > MAX_TRIALS:
        yield not_tested(subject, "messages lost", f"more than {MAX_TRIALS} messages")
        return
    lost = sent - len(stream.noisy)
    chance = drops[0].probability
    p = binomial_p(lost, sent, chance) if 0 <= lost <= sent else 0.0
    found = f"{lost / sent:.5f}" if sent else "none sent"
    yield Line(subject, "share lost", f"{chance:g}", found, p, f"n = {sent}, binomial")


def _rate_lines(stream: Stream) -> Iterator[Line]:
    rates = [step for _, step in stream.pair.steps if isinstance(step, Rate)]
    ticks = stream.ticks_ns
    if len(rates) != 1 or ticks is None or len(ticks) < 2:  # noqa: PLR2004 - an interval needs two
        return
    last_ns = stream.truth.log_ns[-1]
    shown_last = [n for n in stream.shown.truth if n is not None]
    if shown_last:  # where the bag was cut, its last shown message stands for the end
        last_ns = min(last_ns, stream.truth.log_ns[max(shown_last)])
    wanted = sum(tick <= last_ns for tick in _all_ticks(rates[0], min(ticks), last_ns))
    found = sum(tick <= last_ns for tick in ticks)
    line = Line(
        f"{stream.pair.noisy} rate",
        f"ticks at {rates[0].hz:g} Hz",
        f"{wanted} messages",
        f"{found} messages",
        certain(holds=wanted == found),
        "exact",
    )
    yield line


def _all_ticks(rate: Rate, first_ns: int, last_ns: int) -> Iterator[int]:
    k = rate.first_tick_from(first_ns)
    while (tick := rate.tick_ns(k)) <= last_ns:
        yield tick
        k += 1


def _replaced(recipe: Recipe) -> list[str]:
    return [stream.source for stream in recipe.streams.values() if stream.target is None]


def _targets(recipe: Recipe) -> set[str]:
    found = {stream.target for stream in recipe.streams.values() if stream.target}
    return found | {also.target for stream in recipe.streams.values() for also in stream.also}


def _matches(topic: str, patterns: list[str]) -> bool:
    return any(topic == pattern or fnmatch.fnmatchcase(topic, pattern) for pattern in patterns)
