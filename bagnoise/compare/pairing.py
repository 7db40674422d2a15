"""Which topics of two bags belong together: by the recorded recipe, by name, or as asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bagnoise.augment.provenance import history
from bagnoise.errors import UsageError
from bagnoise.messages.registry import kind_of
from bagnoise.recipe.check import recipe_of
from bagnoise.recipe.document import read_document
from bagnoise.recipe.model import step_labels
from bagnoise.steps.header import Header
from bagnoise.steps.timing import Latency, Shift

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bagnoise.bags.model import Bag, Channel
    from bagnoise.recipe.model import Also, Recipe, Stream
    from bagnoise.steps.base import Step

Options = dict[str, Any]


@dataclass(frozen=True)
class Pair:
    """A topic with the truth, and a topic to measure against it.

    Attributes:
        kind: ``cones`` or ``cloud``.
        how: why they belong together.
        stream: its name in the recorded recipe, or None.
        steps: labelled steps that the recipe put between them.
        options: how to read the types of the two topics, as the recipe says.
    """

    truth: str
    noisy: str
    kind: str
    how: str
    stream: str | None = None
    steps: tuple[tuple[str, Step], ...] = ()
    options: tuple[Options, Options] = ({}, {})

    @property
    def makes_moments(self) -> bool:
        """Whether the recipe makes messages at times that are not those of the truth's messages."""
        return any(step.name == "from_track" for _, step in self.steps)

    @property
    def keeps_stamps(self) -> bool:
        """Whether header stamps are still the measurement's, as far as the recipe tells."""
        return not any(_moves_stamps(step) for _, step in self.steps)


def _moves_stamps(step: Step) -> bool:
    if isinstance(step, Header):
        return step.stamp != "keep"
    if isinstance(step, Latency):
        return step.move_stamp
    if isinstance(step, Shift):
        return step.header_s != 0
    return step.name == "clock"


def recorded_recipe(bag: Bag) -> Recipe | None:
    """Return the recipe that a bag was made with last, None if bagnoise did not make it."""
    records = history(bag)
    if not records or "recipe" not in records[-1]:
        return None
    return recipe_of(read_document(records[-1]["recipe"], f"the recipe in {bag.path}"))


def find_pairs(
    truth: Bag, noisy: Bag, recipe: Recipe | None, asked: Sequence[tuple[str, str]] = ()
) -> list[Pair]:
    """Pair the topics of cones and clouds that can be compared.

    Raises:
        UsageError: an asked topic is not there, or the two hold different things.
    """
    known = {(p.truth, p.noisy): p for p in (_of_recipe(truth, noisy, recipe) if recipe else ())}
    if asked:
        return [known.get(names) or _asked(truth, noisy, *names) for names in asked]
    pairs = list(known.values())
    taken = {pair.noisy for pair in pairs}
    for topic, channels in _topics(noisy).items():
        if topic not in taken:
            pairs += _by_name(truth, topic, channels)
    return pairs


def _of_recipe(truth: Bag, noisy: Bag, recipe: Recipe) -> Iterator[Pair]:
    here, there = _topics(noisy), _topics(truth)
    for name, stream in recipe.streams.items():
        how = f"recipe, stream {name!r}"
        for topic, steps, written in _published(stream):
            options = (stream.source_options, written)
            kinds = _kinds(here.get(topic, ()), options[1])
            source_kinds = _kinds(there.get(stream.source, ()), options[0])
            for kind in kinds & source_kinds:
                yield Pair(stream.source, topic, kind, how, name, steps, options)


def _published(stream: Stream) -> Iterator[tuple[str, tuple[tuple[str, Step], ...], Options]]:
    """Yield each topic of a stream with the labelled steps and the type options of its own."""
    labelled = tuple(zip(step_labels(stream.steps), stream.steps, strict=True))
    yield stream.target or stream.source, labelled, _written(stream, stream)
    for also in stream.also:
        own = zip(step_labels(also.steps), also.steps, strict=True)
        yield also.target, (*labelled, *own), _written(stream, also)


def _written(stream: Stream, target: Stream | Also) -> Options:
    """Say how to read a topic that was written: its own options, or the source's."""
    if target.type_options:
        return target.type_options
    return stream.source_options if target.type is None else {}


def _asked(truth: Bag, noisy: Bag, truth_topic: str, noisy_topic: str) -> Pair:
    kinds = []
    for bag, topic in ((truth, truth_topic), (noisy, noisy_topic)):
        channels = _topics(bag).get(topic)
        if channels is None:
            listed = ", ".join(sorted(_topics(bag))) or "none"
            msg = f"no topic {topic!r} in {bag.path}; its topics: {listed}"
            raise UsageError(msg)
        kinds.append(_kinds(channels))
    common = kinds[0] & kinds[1]
    if not common:
        msg = f"{truth_topic} and {noisy_topic} are not both cones or both clouds"
        raise UsageError(msg)
    return Pair(truth_topic, noisy_topic, common.pop(), "as asked")


def _by_name(truth: Bag, topic: str, channels: Sequence[Channel]) -> Iterator[Pair]:
    """Pair equal names; cones of another name with the truth's busiest topic of cones."""
    there = _topics(truth)
    for kind in _kinds(channels):
        if kind in _kinds(there.get(topic, ())):
            yield Pair(topic, topic, kind, "equal names")
        elif kind == "cones":
            able = [t for t, c in there.items() if "cones" in _kinds(c)]
            counts = {t: sum(truth.counts[c.id] for c in there[t]) for t in able}
            if counts:
                busiest = max(counts, key=lambda t: counts[t])
                yield Pair(busiest, topic, kind, "the truth's busiest topic of cones")


def _topics(bag: Bag) -> dict[str, list[Channel]]:
    topics: dict[str, list[Channel]] = {}
    for channel in bag.channels:
        topics.setdefault(channel.topic, []).append(channel)
    return topics


def _kinds(channels: Iterable[Channel], options: Options | None = None) -> set[str]:
    found = {kind_of(c.schema, options) for c in channels if c.message_encoding == "cdr"}
    return {kind for kind in found if kind is not None}
