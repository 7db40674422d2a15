"""The channels that a recipe adds to a bag, and the rules on who may publish where."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from bagnoise.bags.model import QOS_KEY, Channel
from bagnoise.bags.qos import NEW_TOPIC_QOS
from bagnoise.errors import UsageError
from bagnoise.messages.msg_text import full_type_name, is_ros_type

if TYPE_CHECKING:
    from bagnoise.bags.model import Bag, Schema
    from bagnoise.messages.definitions import DefinitionFinder

_ROS_TOPIC = re.compile(r"/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*")
VARIANT = "variant"  # the type option that chooses between layouts of one name


class TargetBook:
    """Keeps account of the topics that streams publish."""

    def __init__(
        self, bag: Bag, find_definition: DefinitionFinder, *, replace_target: bool
    ) -> None:
        """Start with the bag's own channels."""
        self._bag = bag
        self._find_definition = find_definition
        self._replace_target = replace_target
        self._next_id = max((channel.id for channel in bag.channels), default=-1) + 1
        self._publishers: Counter[str] = Counter()
        self._replaced: Counter[str] = Counter()
        self.adds: list[Channel] = []

    def schema(self, type_name: str, options: dict[str, Any]) -> Schema:
        """Return the definition of a type: the bag's own wins, then shipped or the user's.

        Raises:
            UsageError: nobody knows the type.
        """
        variant = options.get(VARIANT)
        name = full_type_name(type_name)
        if variant is None:
            for channel in self._bag.channels:
                is_cdr = channel.message_encoding == "cdr" and channel.schema.data
                if is_cdr and is_ros_type(channel.type_name, name):
                    return channel.schema
        found = self._find_definition(name, variant)
        if found is None:
            msg = f"no definition of type {type_name!r}; give a folder of .msg files with --msgs"
            raise UsageError(msg)
        return found

    def channel(
        self, topic: str, schema: Schema, encoding: str, metadata: dict[str, str] | None
    ) -> Channel:
        """Return the new channel of a topic; ``metadata`` None: that of a new topic."""
        if metadata is None:
            self._publishers[topic] += 1
            metadata = {QOS_KEY: NEW_TOPIC_QOS}
        for known in self.adds:
            if (known.topic, known.schema, known.metadata) == (topic, schema, metadata):
                return known
        channel = Channel(self._next_id, topic, schema, encoding, metadata)
        self._next_id += 1
        self.adds.append(channel)
        return channel

    def replace(self, topic: str) -> None:
        """Note that a stream replaces a source topic."""
        self._replaced[topic] += 1

    @property
    def removed(self) -> set[int]:
        """Ids of the bag's channels whose topic a target takes over."""
        return {channel.id for channel in self._bag.channels if self._publishers[channel.topic]}

    def warnings(self) -> list[str]:
        """Say which targets no ROS node could publish; other readers of bags take any."""
        advice = "letters, digits, _ and / make one, e.g. /camera/cones"
        return [
            f"target {topic!r} is no name of a ROS topic; {advice}"
            for topic in self._publishers
            if not _ROS_TOPIC.fullmatch(topic)
        ]

    def problems(self) -> list[str]:
        """Say which topics have too many publishers."""
        found = [
            f"topic {topic} is replaced by {count} streams; give all but one a target"
            for topic, count in self._replaced.items()
            if count > 1
        ]
        if self._replace_target:
            return found
        present = {channel.topic for channel in self._bag.channels}
        advice = "choose another target, or allow it with --replace-target"
        for topic, count in self._publishers.items():
            if topic in present:
                found.append(f"target {topic} is already in the bag; {advice}")
            elif count > 1:
                found.append(f"target {topic} is shared by {count} streams; {advice}")
        return found
