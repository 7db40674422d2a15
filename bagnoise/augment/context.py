"""What steps may ask of the rest of the bag, collected in one pass before the job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bagnoise.augment.pose_track import PoseTrack
from bagnoise.augment.transforms import TransformTree
from bagnoise.errors import ContextError, UsageError, told_of
from bagnoise.messages.msg_text import is_ros_type
from bagnoise.messages.poses import POSE_TYPES, TF_TYPE, read_pose, read_transforms
from bagnoise.messages.typestore import decode
from bagnoise.steps.context import NOTHING, NoContext

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from bagnoise.bags.model import Bag, Channel, Message, Schema
    from bagnoise.steps.context import Context, Needs

TF_TOPIC, STATIC_TOPIC = "/tf", "/tf_static"
CAMERA_TYPE = "sensor_msgs/msg/CameraInfo"
_STAMP_END = 12  # encapsulation and stamp: what differs between equal CameraInfos


def collect(bag: Bag, needs: Needs) -> Context:
    """Read what steps need, over the whole bag whatever part of it is taken.

    Raises:
        UsageError: a topic is not there, or not of a type that tells a pose or a camera.
        MessageError: a message of these topics cannot be decoded.
    """
    if needs == NOTHING:
        return NoContext()
    context = BagContext()
    channels = _tf_channels(bag) if needs.tf else set()
    for topic in needs.pose_topics:
        found = _of_topic(bag, topic, "pose_topic", POSE_TYPES)
        context.poses[topic] = PoseTrack(f"the pose on {topic}")
        channels |= found
    for topic in needs.camera_topics:
        channels |= _of_topic(bag, topic, "camera", (CAMERA_TYPE,))
        context.cameras[topic] = []
    for message in bag.messages({channel.id for channel in channels}):
        with told_of(f"topic {message.channel.topic}, message at {message.log_ns} ns"):
            context.take(message)
    return context


class BagContext:
    """Implements `bagnoise.steps.context.Context` over arrays."""

    def __init__(self) -> None:
        self.tree = TransformTree()
        self.poses: dict[str, PoseTrack] = {}
        self.cameras: dict[str, list[tuple[int, Schema, bytes]]] = {}
        self._frames: dict[str, tuple[str, str]] = {}

    def take(self, message: Message) -> None:
        """Take a message of one of the topics."""
        topic = message.channel.topic
        if topic in self.poses:
            pose = read_pose(message.channel.type_name, message.data)
            self._frames.setdefault(topic, (pose.frame.lstrip("/"), pose.child.lstrip("/")))
            self.poses[topic].add(message.log_ns, pose)
        elif topic in self.cameras:
            known = self.cameras[topic]
            data = bytes(message.data)
            if not known or known[-1][2][_STAMP_END:] != data[_STAMP_END:]:
                known.append((message.log_ns, message.channel.schema, data))
        else:
            for transform in read_transforms(message.data):
                self.tree.add(message.log_ns, transform, is_static=topic == STATIC_TOPIC)

    def transform(self, target_frame: str, source_frame: str, stamp_ns: int) -> NDArray[np.float64]:
        """Return target_from_source, (4, 4), interpolated at a time."""
        return self.tree.transform(target_frame, source_frame, stamp_ns)

    def pose(self, topic: str, stamp_ns: int) -> NDArray[np.float64]:
        """Return the pose of a topic's child frame in its frame, (4, 4), interpolated."""
        return self._track(topic).at(stamp_ns)

    def pose_frames(self, topic: str) -> tuple[str, str]:
        """Return (frame, child frame) of a pose topic, as its first message names them."""
        self._track(topic)
        return self._frames.get(topic, ("", ""))

    def pose_times(self, topic: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (log_ns, stamp_ns) of every pose of a topic, (k,) each, by stamp."""
        return self._track(topic).times

    def camera(self, topic: str, stamp_ns: int) -> Any:
        """Return the latest CameraInfo of a topic at a time, decoded; the first one before it."""
        known = self.cameras.get(topic, [])
        if not known:
            msg = f"no CameraInfo on {topic!r}"
            raise ContextError(msg)
        earlier = [entry for entry in known if entry[0] <= stamp_ns] or known[:1]
        _, schema, data = earlier[-1]
        return decode(schema, data)

    def _track(self, topic: str) -> PoseTrack:
        if topic not in self.poses:
            msg = f"no step has asked for the poses on {topic!r}"
            raise ContextError(msg)
        return self.poses[topic]


def _tf_channels(bag: Bag) -> set[Channel]:
    return {
        channel
        for channel in bag.channels
        if channel.topic in {TF_TOPIC, STATIC_TOPIC}
        and channel.message_encoding == "cdr"
        and is_ros_type(channel.type_name, TF_TYPE)
    }


def _of_topic(bag: Bag, topic: str, what: str, types: Iterable[str]) -> set[Channel]:
    found = {channel for channel in bag.channels if channel.topic == topic}
    able = sorted({c.topic for c in bag.channels if _is_one_of(c, types)})
    could = f"topics that could serve: {', '.join(able)}" if able else "the bag has none that could"
    if not found:
        msg = f"{what} {topic!r} is not in {bag.path}; {could}"
        raise UsageError(msg)
    for channel in found:
        if not _is_one_of(channel, types):
            known = ", ".join(types)
            msg = f"{what} {topic!r} is {channel.type_name}, not {known}; {could}"
            raise UsageError(msg)
    return found


def _is_one_of(channel: Channel, types: Iterable[str]) -> bool:
    return channel.message_encoding == "cdr" and is_ros_type(channel.type_name, *types)
