"""Which topics to fit, and which is their truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bagnoise.compare.labels import LABELS_SUFFIX
from bagnoise.errors import MessageError, UsageError
from bagnoise.messages.cones.fssim_cloud import LAYOUT, OPTION
from bagnoise.messages.msg_text import full_type_name
from bagnoise.messages.poses import POSE_TYPES
from bagnoise.messages.registry import CLOUD_TYPE, codec_of, kind_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bagnoise.bags.model import Bag, Channel

FOR_THE_EYE = {"sensor_msgs/msg/PointCloud", "visualization_msgs/msg/MarkerArray"}


def cone_topics(bag: Bag, options: Mapping[str, Any] | None = None) -> list[str]:
    """List the topics of cones, the busiest first."""
    counts: dict[str, int] = {}
    for channel in bag.channels:
        if channel.message_encoding != "cdr" or channel.topic.endswith(LABELS_SUFFIX):
            continue
        if kind_of(channel.schema, _options(bag, channel, options)) == "cones":
            counts[channel.topic] = counts.get(channel.topic, 0) + bag.counts[channel.id]
    return sorted(counts, key=lambda topic: -counts[topic])


def options_of(bag: Bag, topic: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return how to read a topic's type: as asked, or what its first message shows."""
    channel = next(c for c in bag.channels if c.topic == topic)
    return _options(bag, channel, asked)


def type_of(bag: Bag, topic: str) -> str:
    """Return the full name of a topic's type."""
    return full_type_name(next(c.type_name for c in bag.channels if c.topic == topic))


def truth_topic_of(bag: Bag, asked: str | None) -> str:
    """Return the topic of the truth.

    Raises:
        UsageError: it is not there, or holds no cones.
    """
    able = cone_topics(bag)
    if asked is not None:
        if asked not in able:
            msg = f"truth topic {asked!r} is no topic of cones in {bag.path}; {_listed(able)}"
            raise UsageError(msg)
        return asked
    if not able:
        msg = f"{bag.path}: no topic of cones; `bagnoise info` shows what is in it"
        raise UsageError(msg)
    return able[0]


def real_topics(
    bag: Bag, truth: Bag, asked: Sequence[str], options: Mapping[str, Any]
) -> list[str]:
    """Return the topics to fit: those asked for, or all of cones that the truth does not have.

    Topics of types that are made for the eye count only where there is no other.

    Raises:
        UsageError: one is not there or holds no cones, or there is none.
    """
    able = cone_topics(bag, options)
    for topic in asked:
        if topic not in able:
            msg = f"topic {topic!r} is no topic of cones in {bag.path}; {_listed(able)}"
            raise UsageError(msg)
    if asked:
        return list(dict.fromkeys(asked))
    there = {channel.topic for channel in truth.channels}
    new = [topic for topic in able if topic not in there]
    found = [topic for topic in new if type_of(bag, topic) not in FOR_THE_EYE] or new
    if not found:
        msg = (
            f"{bag.path}: no topic of cones that {truth.path} does not have, too; {_listed(able)}; "
            "name one with --topic"
        )
        raise UsageError(msg)
    return found


def pose_topic_of(bag: Bag, asked: str | None) -> str | None:
    """Return the busiest topic of the car's pose, or the asked one; None without any."""
    if asked is not None:
        return asked
    counts: dict[str, int] = {}
    for channel in bag.channels:
        if _is_pose(channel):
            counts[channel.topic] = counts.get(channel.topic, 0) + bag.counts[channel.id]
    return max(counts, key=lambda topic: counts[topic], default=None)


def _is_pose(channel: Channel) -> bool:
    try:
        return channel.message_encoding == "cdr" and full_type_name(channel.type_name) in POSE_TYPES
    except MessageError:
        return False


def _options(bag: Bag, channel: Channel, asked: Mapping[str, Any] | None) -> dict[str, Any]:
    """Add FSSIM's layout to a PointCloud2 whose first message has its fields."""
    if asked:
        return dict(asked)
    try:
        if full_type_name(channel.type_name) != CLOUD_TYPE:
            return {}
    except MessageError:
        return {}
    options = {OPTION: LAYOUT}
    codec = codec_of(channel.schema, options)
    for message in bag.messages([channel.id]):
        try:
            if len(codec.decode(bytes(message.data))):
                return options
        except MessageError:
            return {}
    return {}


def _listed(topics: Sequence[str]) -> str:
    return f"topics of cones: {', '.join(topics)}" if topics else "it has no topic of cones"
