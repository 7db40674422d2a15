"""A recipe's streams bound to the channels of a bag: what is read, what is written, and how."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bagnoise.augment.chain import Chain, PayloadStage, build_chain
from bagnoise.augment.clocks import clock_warning, stream_clocks
from bagnoise.augment.context import collect
from bagnoise.augment.sources import find_sources, mean_rate_hz
from bagnoise.augment.summary import StreamSummary
from bagnoise.augment.targets import VARIANT, TargetBook
from bagnoise.errors import MessageError, UsageError
from bagnoise.messages.cloud_labels import CLOUD_LABELS_TYPE
from bagnoise.messages.cone_labels import LABELS_SUFFIX, LABELS_TYPE
from bagnoise.messages.msg_text import full_type_name, is_ros_type
from bagnoise.messages.registry import CLOUD_TYPE, codec_of, kind_of, shared_codec
from bagnoise.recipe.model import step_labels
from bagnoise.steps.base import DepthStep, TimeStep, works_on
from bagnoise.steps.context import NOTHING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bagnoise.bags.model import Bag, Channel, Selection
    from bagnoise.messages.definitions import DefinitionFinder
    from bagnoise.messages.payload import Codec
    from bagnoise.recipe.model import Also, Recipe, Stream
    from bagnoise.steps.base import Step
    from bagnoise.steps.context import Context, Needs


@dataclass(frozen=True)
class Target:
    """One topic that a stream publishes.

    Attributes:
        topic: where.
        channel: the new channel; None: the channel that the source message came on.
        codec: how the payload is written; None: raw bytes, as they came.
        stages: payload steps of this topic only.
        labels: channel of the truth about what is written here, if it is asked for.
    """

    topic: str
    channel: Channel | None
    codec: Codec[Any] | None
    stages: tuple[PayloadStage, ...] = ()
    labels: Channel | None = None


@dataclass(frozen=True)
class BoundStream:
    """A stream that is ready to run.

    Attributes:
        channels: source channels, by id.
        decoders: codec by channel id; empty where the stream moves raw bytes.
        chain: the running steps.
        targets: the main target first.
        replaces: whether the source topic no longer passes through.
    """

    summary: StreamSummary
    channels: dict[int, Channel]
    decoders: dict[int, Codec[Any]]
    chain: Chain
    targets: tuple[Target, ...]
    replaces: bool


@dataclass(frozen=True)
class Binding:
    """All streams of a recipe, bound."""

    streams: tuple[BoundStream, ...]
    adds: tuple[Channel, ...]
    removed: frozenset[int]  # source channels of topics that a target takes over
    warnings: tuple[str, ...]


def bind(
    recipe: Recipe,
    bag: Bag,
    find_definition: DefinitionFinder,
    *,
    selection: Selection,
    replace_target: bool = False,
) -> Binding:
    """Bind a recipe to a bag.

    Raises:
        UsageError: with everything that does not fit, nothing having been written.
    """
    book = TargetBook(bag, find_definition, replace_target=replace_target)
    context = collect(bag, _needs(recipe))
    binder = _Binder(recipe.seed, bag, book, selection, context)
    problems: list[str] = []
    for name, stream in recipe.streams.items():
        try:
            binder.add(name, stream)
        except (UsageError, MessageError) as error:
            problems.append(f"stream {name!r}: {error}")
    problems += book.problems()
    if problems:
        raise UsageError("\n".join(problems))
    warnings = (*binder.warnings, *book.warnings())
    return Binding(tuple(binder.streams), tuple(book.adds), frozenset(book.removed), warnings)


class _Binder:
    def __init__(
        self, seed: int, bag: Bag, book: TargetBook, selection: Selection, context: Context
    ) -> None:
        self._seed = seed
        self._bag = bag
        self._book = book
        self._selection = selection
        self._context = context
        self.streams: list[BoundStream] = []
        self.warnings: list[str] = []

    def add(self, name: str, stream: Stream) -> None:
        """Bind one stream, or one for each topic that a pattern matches."""
        needs_payload = _needs_payload(stream)
        for key, topic, channels in find_sources(self._bag, name, stream.source, self._selection):
            if needs_payload:
                stream = _as_cloud(stream, channels)
            decoders = {}
            if needs_payload or _changes_type(stream, channels):
                decoders = {c.id: _decoder(c, stream) for c in channels}
            self.streams.append(self._bound(key, topic, stream, channels, decoders))

    def _bound(
        self,
        key: str,
        topic: str,
        stream: Stream,
        channels: Sequence[Channel],
        decoders: dict[int, Codec[Any]],
    ) -> BoundStream:
        ids = [channel.id for channel in channels]
        summary = StreamSummary(key, topic)
        clocks = stream_clocks(self._bag, ids, stream.steps)
        warning = clock_warning(self._bag, ids, stream.steps, clocks)
        if warning is not None:
            self.warnings.append(f"stream {key!r}, topic {topic}: {warning}")
        labelled = list(zip(step_labels(stream.steps), stream.steps, strict=True))
        summary.tally.source_hz = mean_rate_hz(self._bag, ids)
        span = self._bag.span(ids) if self._selection.is_everything else None
        chain = build_chain(
            labelled,
            (self._seed, key),
            clocks,
            span.end_ns if span else None,
            summary.tally,
            self._context,
            (self._selection.start_ns, self._selection.end_ns),
        )
        main = self._target(stream, channels, stream.target or topic, bool(decoders))
        further = [
            self._target(also, channels, also.target, bool(decoders), (self._seed, key), summary)
            for also in stream.also
        ]
        if decoders:
            carried = kind_of(channels[0].schema, stream.source_options)
            _check_kind(main, stream, carried)
            for target, also in zip(further, stream.also, strict=True):
                _check_kind(target, also, carried)
        replaces = stream.target is None
        if replaces:
            self._book.replace(topic)
        if stream.labels:
            main = replace(
                main, labels=self._labels(main, channels, decoders, stream.source_options)
            )
        targets = (main, *further)
        summary.targets = {target.topic: 0 for target in targets}
        if main.labels is not None:
            summary.targets[main.labels.topic] = 0
        by_id = {channel.id: channel for channel in channels}
        return BoundStream(summary, by_id, decoders, chain, targets, replaces)

    def _labels(
        self,
        main: Target,
        channels: Sequence[Channel],
        decoders: dict[int, Codec[Any]],
        options: dict[str, Any],
    ) -> Channel | None:
        """Add the channel of the labels; streams of neither cones nor clouds have none."""
        kinds = {kind_of(channel.schema, options) for channel in channels}
        if not decoders or kinds not in ({"cones"}, {"cloud"}):
            names = ", ".join(sorted({channel.type_name for channel in channels}))
            self.warnings.append(
                f"no labels for {main.topic}: bagnoise changes no cones or clouds in {names}"
            )
            return None
        labels_type = LABELS_TYPE if kinds == {"cones"} else CLOUD_LABELS_TYPE
        schema = self._book.schema(labels_type, {})
        return self._book.channel(main.topic + LABELS_SUFFIX, schema, "cdr", None)

    def _target(
        self,
        wanted: Stream | Also,
        channels: Sequence[Channel],
        topic: str,
        decoded: bool,  # noqa: FBT001
        key: tuple[int | str, ...] = (),
        summary: StreamSummary | None = None,
    ) -> Target:
        """Find the channel and the codec of a target."""
        source = channels[0]
        keeps_type = wanted.type is None or _same(wanted.type, source.type_name)
        if wanted.target is None and keeps_type:
            channel, schema = None, source.schema
        else:
            schema = (
                source.schema
                if keeps_type
                else self._book.schema(str(wanted.type), wanted.type_options)
            )
            metadata = dict(source.metadata) if wanted.target is None else None
            encoding = source.message_encoding if keeps_type else "cdr"
            channel = self._book.channel(topic, schema, encoding, metadata)
        options = wanted.type_options or (
            getattr(wanted, "source_options", {}) if keeps_type else {}
        )
        options = {key: value for key, value in options.items() if key != VARIANT}
        codec = codec_of(schema, options) if decoded else None
        stages: tuple[PayloadStage, ...] = ()
        if summary is not None:
            labels = step_labels(wanted.steps)
            stages = tuple(
                PayloadStage(step, (*key, f"{topic} {label}"), summary.tally, self._context)
                for label, step in zip(labels, wanted.steps, strict=True)
            )
        return Target(topic, channel, codec, stages)


def _needs(recipe: Recipe) -> Needs:
    """Put together what the steps of all streams ask for."""
    needs = NOTHING
    for stream in recipe.streams.values():
        for step in (*stream.steps, *(s for also in stream.also for s in also.steps)):
            needs |= step.needs()
    return needs


def _needs_payload(stream: Stream) -> bool:
    further = [step for also in stream.also for step in also.steps]
    return any(not isinstance(step, TimeStep) for step in (*stream.steps, *further))


def _changes_type(stream: Stream, channels: Sequence[Channel]) -> bool:
    wanted = [stream.type, *(also.type for also in stream.also)]
    return any(
        name is not None and not _same(name, channel.type_name)
        for name in wanted
        for channel in channels
    )


_A: dict[str | None, str] = {"cones": "cones", "cloud": "a point cloud", "depth": "a depth image"}


def _check_kind(target: Target, wanted: Stream | Also, carried: str | None) -> None:
    """Refuse a target whose type holds something else than the stream carries."""
    if wanted.type is None or target.channel is None:
        return
    carried = "cloud" if carried == "depth" else carried  # what becomes of it
    made = kind_of(target.channel.schema, wanted.type_options)
    if made in {carried, None}:  # a type without a codec is told as such
        return
    msg = f"target {target.topic}: {wanted.type} holds {_A[made]}, the stream has {_A[carried]}"
    if (carried, made) == ("cones", "cloud"):
        msg += "; with type_options {layout: fssim} it is a cloud of cones, as FSSIM writes it"
    raise UsageError(msg)


def _decoder(channel: Channel, stream: Stream) -> Codec[Any]:
    """Make the codec of a source channel, and check that every step works on its payload."""
    if channel.message_encoding != "cdr":
        msg = (
            f"topic {channel.topic} is encoded as {channel.message_encoding!r}; steps on its "
            "content need cdr (rate, latency, shift and drop work on any topic)"
        )
        raise UsageError(msg)
    kind = kind_of(channel.schema, stream.source_options)
    if kind is None:
        steps = ", ".join(s.name for s in stream.steps if not isinstance(s, TimeStep))
        msg = (
            f"topic {channel.topic} is {channel.type_name}, which bagnoise cannot decode; "
            f"{steps or 'a change of type'} needs cones or a point cloud "
            "(rate, latency, shift and drop work on any type)"
        )
        raise UsageError(msg)
    further: list[Step] = [step for also in stream.also for step in also.steps]
    if kind == "depth" and not any(isinstance(step, DepthStep) for step in stream.steps):
        msg = f"topic {channel.topic} is an image; of images, camera_lidar takes depth images"
        raise UsageError(msg)
    for step in (*stream.steps, *further):
        if not works_on(step, kind):
            msg = f"step {step.name!r} does not work on {kind} ({channel.type_name})"
            raise UsageError(msg)
        if kind == "depth" and isinstance(step, DepthStep):
            kind = "cloud"  # what it makes
    return shared_codec(channel.schema, stream.source_options)


def _as_cloud(stream: Stream, channels: Sequence[Channel]) -> Stream:
    """Publish a cloud where the source is a depth image."""
    kinds = {kind_of(channel.schema, stream.source_options) for channel in channels}
    if kinds != {"depth"} or stream.type is not None:
        return stream
    return stream.model_copy(update={"type": CLOUD_TYPE})


def _same(one: str, other: str) -> bool:
    return one == other or is_ros_type(one, full_type_name(other))
