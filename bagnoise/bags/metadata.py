"""The metadata.yaml of a rosbag2 directory: read any version, write the one asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bagnoise.bags.model import HASH_KEY, QOS_KEY, MetadataRecord
from bagnoise.bags.qos import NAMED_QOS_VERSION, parse_qos, qos_text_for, render_qos
from bagnoise.bags.stats import FileStats, join_spans
from bagnoise.errors import BagError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from bagnoise.bags.model import Channel

METADATA_NAME = "metadata.yaml"
ROOT_KEY = "rosbag2_bagfile_information"
WRITABLE_VERSIONS = (8, 9)
_ROS_DISTRO = "bagnoise"
_RECORD_KEY = re.compile(r"bagnoise\.record\.(\d+)\.(.*)", re.DOTALL)
_MAX_BYTES = 16 << 20
_LARGEST = 1 << 64


@dataclass
class BagMetadata:
    """What a metadata.yaml claims; None where it says nothing usable."""

    version: int | None = None
    storage: str = ""
    files: list[str] = field(default_factory=list)
    start_ns: int | None = None
    duration_ns: int | None = None
    message_count: int | None = None
    topic_counts: dict[str, int] = field(default_factory=dict)
    compression_mode: str = ""
    compression_format: str = ""
    custom_data: dict[str, str] = field(default_factory=dict)


def read_metadata(path: Path) -> BagMetadata:
    """Read a metadata.yaml of any version.

    Raises:
        BagError: It is not YAML, or holds no bag information.
    """
    try:
        if path.stat().st_size > _MAX_BYTES:
            msg = f"{path}: larger than {_MAX_BYTES} bytes, this is no bag's metadata"
            raise BagError(msg)
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{path}: cannot be read: {error}"
        raise BagError(msg) from error
    return parse_metadata(text, str(path))


def parse_metadata(text: str, where: str) -> BagMetadata:
    """Read the text of a metadata.yaml, or of the copy of it inside a storage file."""
    from ruamel.yaml import YAML  # noqa: PLC0415 - slow to import
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415

    try:
        value = YAML(typ="safe").load(text)
    except (YAMLError, ValueError, RecursionError) as error:
        first_line = str(error).partition("\n")[0]
        msg = f"{where}: not readable as YAML: {first_line}"
        raise BagError(msg) from error
    if isinstance(value, Mapping):
        value = value.get(ROOT_KEY, value)
    if not isinstance(value, Mapping):
        msg = f"{where}: holds no {ROOT_KEY}"
        raise BagError(msg)
    return _from_value(value)


def _from_value(value: Mapping[Any, Any]) -> BagMetadata:
    files = value.get("relative_file_paths")
    custom = value.get("custom_data")
    return BagMetadata(
        version=_int(value.get("version")),
        storage=_text(value.get("storage_identifier")),
        files=[_text(item) for item in files] if isinstance(files, list) else [],
        start_ns=_time(value.get("starting_time")),
        duration_ns=_time(value.get("duration")),
        message_count=_int(value.get("message_count")),
        topic_counts=_topic_counts(value.get("topics_with_message_count")),
        compression_mode=_text(value.get("compression_mode")).lower(),
        compression_format=_text(value.get("compression_format")).lower(),
        custom_data={_text(key): _text(item) for key, item in custom.items()}
        if isinstance(custom, Mapping)
        else {},
    )


def _topic_counts(value: object) -> dict[str, int]:
    counts: dict[str, int] = {}
    for item in value if isinstance(value, list) else ():
        if not isinstance(item, Mapping):
            continue
        topic = item.get("topic_metadata", item.get("topic_and_type"))
        count = _int(item.get("message_count"))
        if isinstance(topic, Mapping) and count is not None:
            name = _text(topic.get("name"))
            counts[name] = counts.get(name, 0) + count
    return counts


def _int(value: object) -> int | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if abs(value) < _LARGEST else None


def _text(value: object) -> str:
    """Read a scalar as text; never spell out a structure, which aliases may make endless."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, float) or _int(value) is not None else ""


def _time(value: object) -> int | None:
    """Read a time: a number, or a map with one number (its key differs between versions)."""
    if isinstance(value, Mapping):
        return next((number for item in value.values() if (number := _int(item)) is not None), None)
    return _int(value)


def check_version(version: int) -> None:
    """Refuse a metadata version that we cannot write."""
    if version not in WRITABLE_VERSIONS:
        msg = f"metadata version {version} cannot be written; right would be 8 (Humble) or 9"
        raise UsageError(msg)


def render_metadata(
    files: Sequence[FileStats], storage: str, version: int, custom_data: Mapping[str, str]
) -> str:
    """Write a whole metadata.yaml, true about these storage files."""
    body = render_information(files, storage, version, custom_data)
    return f"{ROOT_KEY}:\n" + "".join(f"  {line}\n" for line in body.splitlines())


def render_information(
    files: Sequence[FileStats], storage: str, version: int, custom_data: Mapping[str, str]
) -> str:
    """Write what stands under the root key; storage files carry a copy of it."""
    check_version(version)
    span = join_spans(list(files))
    lines = [f"version: {version}", f"storage_identifier: {quote(storage)}"]
    lines += _render_times("", span.start_ns if span else 0, span.end_ns if span else 0)
    lines.append(f"message_count: {sum(file.message_count for file in files)}")
    lines += _render_topics(files, version)
    lines += ["compression_format: ''", "compression_mode: ''", "relative_file_paths:"]
    lines += [f"  - {quote(file.name)}" for file in files]
    lines.append("files:")
    for file in files:
        lines.append(f"  - path: {quote(file.name)}")
        lines += _render_times("    ", file.start_ns or 0, file.end_ns or 0)
        lines.append(f"    message_count: {file.message_count}")
    lines.append("custom_data:" if custom_data else "custom_data: {}")
    lines += [f"  {quote(key)}: {quote(value)}" for key, value in custom_data.items()]
    lines.append(f"ros_distro: {_ROS_DISTRO}")
    return "\n".join(lines)


def _render_times(indent: str, start_ns: int, end_ns: int) -> list[str]:
    return [
        f"{indent}duration:",
        f"{indent}  nanoseconds: {end_ns - start_ns}",
        f"{indent}starting_time:",
        f"{indent}  nanoseconds_since_epoch: {start_ns}",
    ]


def _render_topics(files: Sequence[FileStats], version: int) -> list[str]:
    counts: dict[int, int] = {}
    channels: dict[int, Channel] = {}
    for file in files:
        channels.update(file.channels)
        for id_, count in file.counts.items():
            counts[id_] = counts.get(id_, 0) + count
    if not channels:
        return ["topics_with_message_count: []"]
    lines = ["topics_with_message_count:"]
    for id_, channel in channels.items():
        lines += _render_topic(channel, version)
        lines.append(f"    message_count: {counts[id_]}")
    return lines


def _render_topic(channel: Channel, version: int) -> list[str]:
    qos = channel.metadata.get(QOS_KEY, "")
    lines = [
        "  - topic_metadata:",
        f"      name: {quote(channel.topic)}",
        f"      type: {quote(channel.type_name)}",
        f"      serialization_format: {quote(channel.message_encoding)}",
    ]
    if version < NAMED_QOS_VERSION:
        lines.append(f"      offered_qos_profiles: {quote(qos_text_for(qos, version))}")
    elif profiles := parse_qos(qos):
        lines.append("      offered_qos_profiles:")
        lines += [f"        {line}" for line in render_qos(profiles, version).splitlines()]
    else:
        lines.append("      offered_qos_profiles: []")
    lines.append(f"      type_description_hash: {quote(channel.metadata.get(HASH_KEY, ''))}")
    return lines


_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")


def quote(text: str) -> str:
    """Write a text as a YAML double-quoted scalar (JSON's, but for what YAML calls unprintable)."""
    plain = json.dumps(text, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", plain)


def pack_records(
    custom_data: Mapping[str, str], records: Iterable[MetadataRecord]
) -> dict[str, str]:
    """Put metadata records into the flat map that is all a sqlite3 bag has for them."""
    packed = dict(custom_data)
    for number, record in enumerate(records):
        key = f"bagnoise.record.{number:04d}.{record.name}"
        packed[key] = json.dumps(dict(record.values), ensure_ascii=False)
    return packed


def unpack_records(
    custom_data: Mapping[str, str],
) -> tuple[dict[str, str], tuple[MetadataRecord, ...]]:
    """Take the records out of a map again; return what remains, and the records in order."""
    rest: dict[str, str] = {}
    records: list[tuple[int, MetadataRecord]] = []
    for key, text in custom_data.items():
        match = _RECORD_KEY.fullmatch(key)
        values = _record_values(text) if match else None
        if match and values is not None:
            records.append((int(match[1]), MetadataRecord(match[2], values)))
        else:
            rest[key] = text
    records.sort(key=lambda item: item[0])
    return rest, tuple(record for _, record in records)


def _record_values(text: str) -> dict[str, str] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict) and all(isinstance(item, str) for item in value.values()):
        return value
    return None
