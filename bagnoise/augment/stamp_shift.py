"""Moving header stamps, and with them the absolute times that points of a cloud carry."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bagnoise.errors import MessageError
from bagnoise.messages.cloud import Cloud
from bagnoise.messages.cloud_codec import TYPE_NAMES as CLOUD_TYPES
from bagnoise.messages.cloud_codec import PointCloud2Codec
from bagnoise.messages.cloud_time import restamped
from bagnoise.messages.header import header_access

if TYPE_CHECKING:
    from collections import Counter

    from bagnoise.bags.model import Schema

UNSET_STAMPS = "unset header stamps left alone"
LOW_STAMPS = "header stamps left alone that would fall below 0"
ODD_TIMES = "clouds whose point times fit no header stamp, left alone"


class StampShift:
    """Moves stamps of payloads and of raw messages, and counts what it leaves alone."""

    def __init__(self, tally: Counter[str]) -> None:
        self._tally = tally

    def of_bytes(self, schema: Schema, data: bytes, shift_ns: int) -> bytes:
        """Return a raw message with its stamps moved; one without a header as it is."""
        access = header_access(schema) if shift_ns else None
        if access is None:
            return data
        if schema.name in CLOUD_TYPES:
            data = self._with_moved_times(data, shift_ns)
        moved = access.shift_stamps(data, shift_ns)
        self._count(UNSET_STAMPS, moved.unset)
        self._count(LOW_STAMPS, moved.below_zero)
        return moved.data

    def of_payload(self, payload: Any, shift_ns: int) -> Any:
        """Return decoded cones or a cloud with the stamp moved."""
        stamp_ns = payload.stamp_ns + shift_ns
        self._count(UNSET_STAMPS, payload.stamp_ns == 0)
        self._count(LOW_STAMPS, payload.stamp_ns != 0 and stamp_ns < 0)
        if payload.stamp_ns == 0 or stamp_ns < 0:
            return payload
        if isinstance(payload, Cloud):
            return self._restamped(payload, stamp_ns)
        return replace(payload, stamp_ns=stamp_ns)

    def _with_moved_times(self, data: bytes, shift_ns: int) -> bytes:
        """Move absolute point times of a cloud on the wire, but not the header stamp."""
        codec = PointCloud2Codec()
        try:
            cloud = codec.decode(data)
        except MessageError:  # no step needs its content, so it need not be in order
            return data
        stamp_ns = cloud.stamp_ns + shift_ns
        if cloud.stamp_ns == 0 or stamp_ns < 0:
            return data
        moved = self._restamped(cloud, stamp_ns)
        if moved.points is cloud.points:
            return data
        return codec.encode(replace(moved, stamp_ns=cloud.stamp_ns))

    def _restamped(self, cloud: Cloud, stamp_ns: int) -> Cloud:
        try:
            return restamped(cloud, stamp_ns)
        except MessageError:
            self._count(ODD_TIMES, 1)
            return replace(cloud, stamp_ns=stamp_ns)

    def _count(self, what: str, number: int) -> None:
        if number:
            self._tally[what] += number
