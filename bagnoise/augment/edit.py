"""The running streams, as the edit that a rewrite of the bag asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bagnoise.augment.stamp_shift import StampShift
from bagnoise.bags.model import Message, Output
from bagnoise.errors import told_of
from bagnoise.messages.cloud import Cloud
from bagnoise.messages.cloud_labels import encode_cloud_labels, with_index, without_index
from bagnoise.messages.cone_labels import encode_labels, written_order
from bagnoise.messages.payload import Cones, with_truth
from bagnoise.steps.base import Sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager

    from bagnoise.augment.binding import Binding, BoundStream, Target
    from bagnoise.bags.model import Channel
    from bagnoise.messages.payload import Codec


class AugmentEdit:
    """Implements `bagnoise.bags.model.Edit` over bound streams."""

    def __init__(self, binding: Binding) -> None:
        """Take the streams of a recipe bound to the bag that is rewritten."""
        self._runs = [_Run(stream) for stream in binding.streams]
        self._by_channel: dict[int, list[_Run]] = {}
        for run in self._runs:
            for channel_id in run.stream.channels:
                self._by_channel.setdefault(channel_id, []).append(run)
        replaced = {
            channel_id
            for run in self._runs
            if run.stream.replaces
            for channel_id in run.stream.channels
        }
        self.replaces = frozenset(replaced | binding.removed)
        kept = {
            channel.id: channel
            for run in self._runs
            if run.stream.targets[0].channel is None
            for channel in run.stream.channels.values()
        }
        self.adds = (*kept.values(), *binding.adds)
        self.reads = frozenset(self._by_channel) | self.replaces

    def process(self, message: Message) -> Iterable[Output]:
        """Run a source message through every stream that reads its channel."""
        return [*self.advance(message.log_ns), *self.take(message, Decoded(message))]

    def note_moments(self, moments: list[int] | None) -> None:
        """Append to a list, for every output from now on, the time at which its making was due."""
        for run in self._runs:
            run.moments = moments

    def take(self, message: Message, decoded: Decoded) -> list[Output]:
        """Do what `process` does after `advance`; several edits can share one decoding."""
        outputs: list[Output] = []
        for run in self._by_channel.get(message.channel.id, ()):
            outputs += run.process(message, decoded)
        return outputs

    def advance(self, log_ns: int) -> Iterable[Output]:
        """Release what is due before a time."""
        return [output for run in self._runs for output in run.advance(log_ns)]

    def finish(self) -> Iterable[Output]:
        """Release the rest."""
        return [output for run in self._runs for output in run.finish()]


class Decoded:
    """A source message, decoded or copied once however many streams read it."""

    def __init__(self, message: Message) -> None:
        """Take the message; its bytes must stay valid while streams ask."""
        self._message = message
        self._payloads: dict[int, Any] = {}

    def payload(self, stream: BoundStream) -> Any:
        """Return the payload as a stream's codec decodes it, or the raw bytes."""
        codec = stream.decoders.get(self._message.channel.id)
        key = 0 if codec is None else id(codec)
        if key not in self._payloads:
            data = self._message.data
            self._payloads[key] = bytes(data) if codec is None else _remembered(codec.decode(data))
        return self._payloads[key]


def _remembered(payload: Any) -> Any:
    return with_truth(payload) if isinstance(payload, Cones) else payload


class _Run:
    """One stream at work."""

    def __init__(self, stream: BoundStream) -> None:
        self.stream = stream
        self.moments: list[int] | None = None
        self._last_ns = -1
        self._occurrence = 0
        self._labelled = 0
        self._stamps = StampShift(stream.summary.tally)
        self._labels_clouds = stream.targets[0].labels is not None

    def process(self, message: Message, decoded: Decoded) -> Iterator[Output]:
        self.stream.summary.read += 1
        same_time = message.log_ns == self._last_ns
        self._occurrence = self._occurrence + 1 if same_time else 0
        self._last_ns = message.log_ns
        with told_of(f"topic {message.channel.topic}, message at {message.log_ns} ns"):
            payload = decoded.payload(self.stream)
        for note in getattr(payload, "notes", ()):
            self.stream.summary.tally.warn(f"topic {message.channel.topic}: {note}")
        if self._labels_clouds and isinstance(payload, Cloud):
            payload = with_index(payload)
        sample = Sample(
            message.log_ns,
            message.log_ns,
            self._occurrence,
            message.publish_ns,
            message.sequence,
            message.channel,
            payload,
            message.log_ns,
        )
        yield from self._publish(self.stream.chain.feed(sample), message.log_ns)

    def advance(self, log_ns: int) -> Iterator[Output]:
        yield from self._publish(self.stream.chain.advance(log_ns), None)

    def finish(self) -> Iterator[Output]:
        yield from self._publish(self.stream.chain.finish(), None)

    def _publish(self, samples: Iterable[Sample], now_ns: int | None) -> Iterator[Output]:
        for sample in samples:
            self.stream.summary.publish(sample.log_ns - sample.source_ns)
            for index, target in enumerate(self.stream.targets):
                for output in self._publish_to(index, target, sample, now_ns):
                    if self.moments is not None:
                        self.moments.append(sample.source_ns)
                    yield output

    def _publish_to(
        self, index: int, target: Target, sample: Sample, now_ns: int | None
    ) -> Iterator[Output]:
        payload = self._final_payload(target, sample)
        if payload is None:
            return
        rows = None
        if self._labels_clouds and isinstance(payload, Cloud):
            payload, rows = without_index(payload)
        data = payload if target.codec is None else self._encode(target, target.codec, payload)
        self.stream.summary.targets[target.topic] += 1
        recorded = index == 0 and self.stream.replaces and sample.publish_ns is not None
        publish_ns, sequence = sample.publish_ns, sample.sequence
        if not recorded or publish_ns is None:
            publish_ns, sequence = sample.log_ns, 0  # as recorders of ROS 2 leave it
        channel = target.channel or sample.channel
        message = Message(channel, sample.log_ns, publish_ns, sequence, data)
        yield Output(message, in_place=recorded and sample.log_ns == now_ns)
        if target.labels is not None and target.codec is not None:
            if rows is None:
                labels = encode_labels(payload, written_order(target.codec, payload))
            else:
                labels = encode_cloud_labels(payload, rows)
            yield self._label_message(target.labels, labels, sample.log_ns)

    def _label_message(self, channel: Channel, data: bytes, log_ns: int) -> Output:
        message = Message(channel, log_ns, log_ns, self._labelled, data)
        self._labelled += 1
        self.stream.summary.targets[channel.topic] += 1
        return Output(message)

    def _final_payload(self, target: Target, sample: Sample) -> Any:
        """Return what is written: bytes without a codec, None where a step drops it."""
        if target.codec is None:
            with self._at(target):
                schema = sample.channel.schema
                return self._stamps.of_bytes(schema, sample.payload, sample.stamp_shift_ns)
        payload = sample.payload
        if sample.stamp_shift_ns:
            payload = self._stamps.of_payload(payload, sample.stamp_shift_ns)
        for stage in target.stages:
            payload = stage.apply(sample, payload)
            if payload is None:
                return None
        return payload

    def _encode(self, target: Target, codec: Codec[Any], payload: Any) -> bytes:
        lost = codec.losses(payload)
        known = self.stream.summary.losses.get(target.topic, ())
        if lost and not set(lost) <= set(known):
            merged = tuple(dict.fromkeys((*known, *lost)))
            self.stream.summary.losses[target.topic] = merged
        with self._at(target):
            return codec.encode(payload)

    def _at(self, target: Target) -> AbstractContextManager[None]:
        return told_of(f"stream {self.stream.summary.name}, target {target.topic}")
