"""Quality-of-service profiles as bags store them: YAML text, with numbers or with names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from bagnoise.bags.model import QOS_KEY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bagnoise.bags.model import Channel

NAMED_QOS_VERSION = 9  # metadata.yaml holds a list with names from here on, before a text of ints

# What rmw calls its values, at the place of their number.
_HISTORY = ("system_default", "keep_last", "keep_all", "unknown")
_RELIABILITY = ("system_default", "reliable", "best_effort", "unknown", "best_available")
_DURABILITY = ("system_default", "transient_local", "volatile", "unknown", "best_available")
_LIVELINESS = (
    "system_default",
    "automatic",
    "manual_by_node",
    "manual_by_topic",
    "unknown",
    "best_available",
)
_POLICIES = {
    "history": _HISTORY,
    "reliability": _RELIABILITY,
    "durability": _DURABILITY,
    "liveliness": _LIVELINESS,
}
_MAX_TEXT = 1 << 16


class QosTime(NamedTuple):
    """A duration as QoS profiles spell it."""

    sec: int
    nsec: int


INFINITE = QosTime(9223372036, 854775807)


@dataclass(frozen=True)
class Qos:
    """One offered profile; policies by rmw's names."""

    history: str = "keep_last"
    depth: int = 1
    reliability: str = "reliable"
    durability: str = "volatile"
    deadline: QosTime = INFINITE
    lifespan: QosTime = INFINITE
    liveliness: str = "automatic"
    liveliness_lease_duration: QosTime = INFINITE
    avoid_ros_namespace_conventions: bool = False


LATCHED_QOS = Qos(durability="transient_local")


def parse_qos(text: str) -> tuple[Qos, ...] | None:
    """Read the profiles of a text of any rosbag2 version; None if it is not one."""
    if not text.strip():
        return ()
    if len(text) > _MAX_TEXT:
        return None
    from ruamel.yaml import YAML  # noqa: PLC0415 - slow to import
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415

    try:
        value = YAML(typ="safe").load(text)
    except (YAMLError, ValueError, RecursionError):
        return None
    return qos_from_value(value)


def qos_from_value(value: object) -> tuple[Qos, ...] | None:
    """Read the profiles of a parsed YAML value (list of maps, or text that holds one)."""
    if value is None:
        return ()
    if isinstance(value, str):
        return parse_qos(value)
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        return None
    return tuple(_profile(item) for item in value)


def _profile(item: Mapping[Any, Any]) -> Qos:
    return Qos(
        history=_policy(item, "history"),
        depth=_count(item.get("depth")),
        reliability=_policy(item, "reliability"),
        durability=_policy(item, "durability"),
        deadline=_time(item.get("deadline")),
        lifespan=_time(item.get("lifespan")),
        liveliness=_policy(item, "liveliness"),
        liveliness_lease_duration=_time(item.get("liveliness_lease_duration")),
        avoid_ros_namespace_conventions=item.get("avoid_ros_namespace_conventions") is True,
    )


def _policy(item: Mapping[Any, Any], key: str) -> str:
    names = _POLICIES[key]
    value = item.get(key)
    if isinstance(value, int) and 0 <= value < len(names):
        return names[value]
    if isinstance(value, str) and value.lower() in names:
        return value.lower()
    return "unknown"


def _count(value: object) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


def _time(value: object) -> QosTime:
    if not isinstance(value, Mapping):
        return QosTime(0, 0)
    return QosTime(_count(value.get("sec")), _count(value.get("nsec")))


def render_qos(profiles: Sequence[Qos], version: int = 8) -> str:
    """Write profiles as the YAML text that this metadata version holds (ints before 9)."""
    return "\n".join(_render(profile, version) for profile in profiles)


def _render(qos: Qos, version: int) -> str:
    lines = []
    for key, value in vars(qos).items():
        if isinstance(value, QosTime):
            lines += [f"{key}:", f"  sec: {value.sec}", f"  nsec: {value.nsec}"]
        elif key in _POLICIES and version < NAMED_QOS_VERSION:
            lines.append(f"{key}: {_POLICIES[key].index(value)}")
        elif isinstance(value, bool):
            lines.append(f"{key}: {str(value).lower()}")
        else:
            lines.append(f"{key}: {value}")
    return "- " + "\n  ".join(lines)


def qos_text_for(text: str, version: int) -> str:
    """Bring a stored QoS text into the form that a metadata version expects.

    A text already in that form, or one that cannot be read, comes back as it is.
    """
    profiles = parse_qos(text)
    if not profiles:
        return text
    with_numbers = re.search(r"history[\"']?\s*:\s*\d", text) is not None
    if with_numbers == (version < NAMED_QOS_VERSION):
        return text
    return render_qos(profiles, version)


NEW_TOPIC_QOS = render_qos([Qos()])  # reliable, volatile, keep last 1; every distribution reads it


def is_latched(channel: Channel) -> bool:
    """Whether a late subscriber gets the channel's last message (transient_local)."""
    text = channel.metadata.get(QOS_KEY, "")
    profiles = parse_qos(text)
    return any(profile.durability == "transient_local" for profile in profiles or ())
