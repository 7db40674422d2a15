"""Compare a bag with its truth."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from bagnoise.bags import open_bag
from bagnoise.bags.remote_path import location
from bagnoise.compare.clouds import CloudSums
from bagnoise.compare.cones import gather, measures
from bagnoise.compare.labels import find_labels
from bagnoise.compare.pairing import find_pairs, recorded_recipe
from bagnoise.compare.samples import Shown, Track, decoded, read_track, shown_messages
from bagnoise.compare.ticks import ticks_of
from bagnoise.compare.timing import delays_ns, latency, rhythm
from bagnoise.compare.topics import compare_topics
from bagnoise.errors import UsageError
from bagnoise.messages.definitions import definition_finder
from bagnoise.recipe.problems import RecipeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from os import PathLike
    from pathlib import Path

    from bagnoise.bags.model import Bag
    from bagnoise.compare.cones import ConeRows
    from bagnoise.compare.pairing import Pair
    from bagnoise.compare.topics import TopicComparison
    from bagnoise.recipe.model import Recipe

DEFAULT_BINS_M = (0.0, 5.0, 10.0, 15.0, 20.0, 30.0, 50.0)
DEFAULT_GATE_M = 1.5


@dataclass(frozen=True)
class Options:
    """How to compare.

    Attributes:
        pairs: (truth topic, noisy topic) to compare; empty: all that belong together.
        gate_m: a detection farther than this from every true cone is a false positive.
        bins_m: lower edges of the range bins; the last is open.
        msgs: folder of ``.msg`` files for types that a bag does not define.
    """

    pairs: Sequence[tuple[str, str]] = ()
    gate_m: float = DEFAULT_GATE_M
    bins_m: Sequence[float] = DEFAULT_BINS_M
    msgs: Path | None = None


@dataclass
class Stream:
    """One pair of topics and what was measured; cones keep their rows for checks and pictures."""

    pair: Pair
    truth: Track
    noisy: Track
    shown: Shown
    ticks_ns: list[int] | None
    matching: str
    measured: dict[str, Any]
    rows: ConeRows | None = None
    warnings: list[str] = field(default_factory=list)

    def to_plain(self) -> dict[str, Any]:
        """Return it as JSON data."""
        delays = delays_ns(self.truth, self.noisy, self.shown)
        return {
            "truth": self.pair.truth,
            "noisy": self.pair.noisy,
            "kind": self.pair.kind,
            "paired_by": self.pair.how,
            "moments_by": self.shown.how,
            "matched_by": self.matching,
            self.pair.kind: self.measured,
            "latency": latency(delays),
            "rhythm": rhythm(self.noisy),
            "truth_rhythm": rhythm(self.truth),
            "warnings": self.warnings,
        }


@dataclass
class Comparison:
    """All of two bags; ``recipe`` is the noisy bag's, None where bagnoise did not make it."""

    truth: str
    noisy: str
    recipe: Recipe | None
    streams: list[Stream]
    topics: list[TopicComparison]
    warnings: list[str] = field(default_factory=list)

    def to_plain(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return {
            "truth": self.truth,
            "noisy": self.noisy,
            "made_by_bagnoise": self.recipe is not None,
            "streams": [stream.to_plain() for stream in self.streams],
            "topics": [topic.to_plain() for topic in self.topics],
            "warnings": self.warnings,
        }


def compare(
    truth: str | PathLike[str], noisy: str | PathLike[str], options: Options | None = None
) -> Comparison:
    """Measure what was made of a bag.

    Raises:
        UsageError: topics that were asked for are not there; bins or gate make no sense.
        BagError: a bag cannot be read.
        MessageError: a message cannot be decoded.
    """
    options = options or Options()
    _check(options)
    find = definition_finder(options.msgs)
    with (
        open_bag(location(truth), definitions=find) as true_bag,
        open_bag(location(noisy), definitions=find) as noisy_bag,
    ):
        recipe, warnings = _recipe(noisy_bag)
        pairs = find_pairs(true_bag, noisy_bag, recipe, options.pairs)
        topics = compare_topics(true_bag, noisy_bag)
        same = {t.topic for t in topics if t.bytes in {"identical", "a part"}}
        worth = [p for p in pairs if options.pairs or p.noisy not in same or p.stream]
        streams = list(_streams(true_bag, noisy_bag, worth, options))
    return Comparison(str(truth), str(noisy), recipe, streams, topics, warnings)


def _recipe(noisy: Bag) -> tuple[Recipe | None, list[str]]:
    """Return the recorded recipe; one that this version does not understand is a warning."""
    try:
        return recorded_recipe(noisy), []
    except RecipeError as error:
        problem = error.problems[0]
        more = f" (and {len(error.problems) - 1} more)" if len(error.problems) > 1 else ""
        return None, [f"{problem.where}: {problem.text}{more}; compared without the recipe"]


def _check(options: Options) -> None:
    bins = list(options.bins_m)
    if not bins or bins != sorted(set(bins)) or bins[0] < 0 or not np.isfinite(bins).all():
        msg = f"range bins {bins}: give rising edges from 0 on, e.g. 0,5,10,20"
        raise UsageError(msg)
    if not 0 < options.gate_m < np.inf:
        msg = f"a gate of {options.gate_m} m matches nothing; give more than 0"
        raise UsageError(msg)


def _streams(truth: Bag, noisy: Bag, pairs: Sequence[Pair], options: Options) -> Iterator[Stream]:
    truths: dict[str, Track] = {}
    for pair in pairs:
        if pair.truth not in truths:
            truths[pair.truth] = read_track(
                truth, pair.truth, pair.options[0], keep=pair.kind == "cones"
            )
        true_track = truths[pair.truth]
        track = read_track(noisy, pair.noisy, pair.options[1], keep=pair.kind == "cones")
        ticks = ticks_of(pair, true_track, track)
        shown = shown_messages(true_track, track, ticks, keeps_stamps=pair.keeps_stamps)
        if pair.kind == "cones":
            yield _cone_stream(noisy, pair, true_track, track, shown, ticks, options)
        else:
            yield _cloud_stream(truth, noisy, pair, true_track, track, shown, ticks, options)


def _cone_stream(
    bag: Bag,
    pair: Pair,
    truth: Track,
    noisy: Track,
    shown: Shown,
    ticks: list[int] | None,
    options: Options,
) -> Stream:
    labels = find_labels(bag, pair.noisy)
    rows = gather(truth, noisy, shown, labels=labels, gate_m=options.gate_m, bins_m=options.bins_m)
    how = "labels" if labels else f"nearest within {options.gate_m:g} m, one to one"
    stream = Stream(pair, truth, noisy, shown, ticks, how, measures(rows), rows)
    if any(rows.nowhere):
        stream.warnings.append(
            f"{rows.nowhere[0]} cones of {pair.truth} and {rows.nowhere[1]} of {pair.noisy} are "
            "left out: their positions are not finite, or farther than any cone"
        )
    frames = {cones.frame_id for track in (truth, noisy) for cones in track.payloads} - {""}
    if len(frames) > 1 and labels is None:
        stream.warnings.append(
            f"{pair.truth} and {pair.noisy} are in different frames "
            f"({', '.join(sorted(frames))}): positions are compared as if they were one"
        )
    return stream


def _cloud_stream(
    truth_bag: Bag,
    noisy_bag: Bag,
    pair: Pair,
    truth: Track,
    noisy: Track,
    shown: Shown,
    ticks: list[int] | None,
    options: Options,
) -> Stream:
    sums = CloudSums(tuple(options.bins_m))
    wanted: dict[int, list[int]] = {}
    for number, index in enumerate(shown.truth):
        if index is not None:
            wanted.setdefault(index, []).append(number)
    noisy_reader = _Reader(noisy_bag, pair)
    for index, (_, _, cloud) in enumerate(decoded(truth_bag, pair.truth, pair.options[0])):
        for number in wanted.get(index, ()):
            sums.add(cloud, noisy_reader.cloud(number))
    measured = sums.measures()
    stream = Stream(pair, truth, noisy, shown, ticks, measured["matching"], measured)
    if sums.true_nowhere or sums.nowhere:
        stream.warnings.append(
            f"{sums.true_nowhere} points of {pair.truth} and {sums.nowhere} of {pair.noisy} are "
            "left out: they are at the lidar itself, or farther than any return"
        )
    return stream


class _Reader:
    """Reads the clouds of a topic by number, mostly rising; one is kept at a time."""

    def __init__(self, bag: Bag, pair: Pair) -> None:
        self._bag, self._pair = bag, pair
        self._rewind()

    def _rewind(self) -> None:
        self._rest = enumerate(decoded(self._bag, self._pair.noisy, self._pair.options[1]))
        self._number, self._cloud = -1, None

    def cloud(self, number: int) -> Any:
        if number < self._number:
            self._rewind()
        while self._number < number:
            self._number, (_, _, self._cloud) = next(self._rest)
        return self._cloud
