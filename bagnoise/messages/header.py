"""Header stamps of any message, read and moved in the bytes without decoding the rest."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from bagnoise.errors import MessageError
from bagnoise.messages.msg_text import BASE_TYPES, full_type_name
from bagnoise.messages.schema_text import message_texts
from bagnoise.messages.typestore import check_encapsulation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bagnoise.bags.model import Schema

HEAD = 4
NS_PER_S = 1_000_000_000
HeaderKind = Literal["first", "list"]
_HEADER = "std_msgs/msg/Header"
_TIME = "builtin_interfaces/msg/Time"
_STAMP = {True: struct.Struct("<iI"), False: struct.Struct(">iI")}
_LENGTH = {True: struct.Struct("<I"), False: struct.Struct(">I")}


class Shifted(NamedTuple):
    """A message with its stamps moved."""

    data: bytes
    unset: int  # stamps of 0, which mean unset and stay
    below_zero: int  # stamps that would have gone below zero and stay


class HeaderAccess(NamedTuple):
    """Where the stamps of a type are.

    ``kind``: ``first`` for one header at the front of the message, ``list`` for one in each
    element of its only sequence (tf2_msgs/TFMessage, visualization_msgs/MarkerArray).
    """

    kind: HeaderKind
    schema: Schema

    def read_stamp_ns(self, data: bytes | memoryview) -> int | None:
        """Return the (first) stamp; 0 where unset, None where the list is empty."""
        little = check_encapsulation(self.schema.name, data)
        for at in self._positions(data, little):
            sec, nanosec = _STAMP[little].unpack_from(data, at)
            return int(sec) * NS_PER_S + int(nanosec)
        return None

    def read_frame_id(self, data: bytes | memoryview) -> str | None:
        """Return the (first) frame, None where the list is empty."""
        little = check_encapsulation(self.schema.name, data)
        for at in self._positions(data, little):
            (length,) = _LENGTH[little].unpack_from(data, at + 8)
            raw = bytes(data[at + 12 : at + 12 + length])
            if len(raw) < length:
                msg = f"a message of {self.schema.name} is cut off in its frame_id"
                raise MessageError(msg)
            return raw.rstrip(b"\x00").decode(errors="replace")
        return None

    def shift_stamps(self, data: bytes | memoryview, shift_ns: int) -> Shifted:
        """Move every stamp by whole nanoseconds; a stamp of 0 means unset and stays.

        A stamp that would fall below zero stays too and is counted, never wrapped.

        Raises:
            MessageError: bytes that do not fit, or a stamp beyond 32 bits of seconds.
        """
        little = check_encapsulation(self.schema.name, data)
        moved = bytearray(data)
        unset = below = 0
        for at in self._positions(data, little):
            sec, nanosec = _STAMP[little].unpack_from(data, at)
            stamp_ns = sec * NS_PER_S + nanosec
            if stamp_ns == 0:
                unset += 1
            elif stamp_ns + shift_ns < 0:
                below += 1
            else:
                self._put(moved, at, stamp_ns + shift_ns, little)
        return Shifted(bytes(moved), unset, below)

    def set_stamps(self, data: bytes | memoryview, stamp_ns: int) -> bytes:
        """Write one stamp into every header.

        Raises:
            MessageError: bytes that do not fit, or a stamp that no header can hold.
        """
        little = check_encapsulation(self.schema.name, data)
        moved = bytearray(data)
        for at in self._positions(data, little):
            self._put(moved, at, stamp_ns, little)
        return bytes(moved)

    def _put(self, data: bytearray, at: int, stamp_ns: int, little: bool) -> None:  # noqa: FBT001
        try:
            _STAMP[little].pack_into(data, at, *divmod(stamp_ns, NS_PER_S))
        except struct.error:
            msg = f"the stamp {stamp_ns} ns does not fit a ROS header (32 bits of seconds)"
            raise MessageError(msg) from None

    def _positions(self, data: bytes | memoryview, little: bool) -> Iterator[int]:  # noqa: FBT001
        if self.kind == "list":
            return _list_positions(self.schema, data, little)
        if len(data) < HEAD + 12:
            msg = f"a message of {self.schema.name} ({len(data)} bytes) is cut off in its header"
            raise MessageError(msg)
        return iter((HEAD,))


@lru_cache(maxsize=512)
def header_access(schema: Schema) -> HeaderAccess | None:
    """Return access to the stamps of a type, None where it has no header (or no definition)."""
    try:
        kind = _kind(schema)
    except MessageError:
        return None
    return None if kind is None else HeaderAccess(kind, schema)


def header_kind(schema: Schema) -> HeaderKind | None:
    """Say where a type has its header: ``first``, ``list`` (one an element) or None."""
    access = header_access(schema)
    return None if access is None else access.kind


def _kind(schema: Schema) -> HeaderKind | None:
    texts = message_texts(schema)
    fields = texts[full_type_name(schema.name)].fields
    if not fields:
        return None
    first = fields[0].type
    if not first.array and _is_header(first.base, schema):
        return "first"
    if len(fields) > 1 or first.array != "sequence" or first.base in BASE_TYPES:
        return None
    inner = texts[first.base].fields
    has_header = inner and not inner[0].type.array and _is_header(inner[0].type.base, schema)
    return "list" if has_header else None


def _is_header(name: str, schema: Schema) -> bool:
    if name != _HEADER:
        return False
    fields = message_texts(schema)[name].fields
    return [(field.name, field.type.base) for field in fields] == [
        ("stamp", _TIME),
        ("frame_id", "string"),
    ]


def _list_positions(schema: Schema, data: bytes | memoryview, little: bool) -> Iterator[int]:  # noqa: FBT001
    """Find the header of each element by walking over what lies between."""
    from bagnoise.messages.walk import Walker  # noqa: PLC0415 - only lists need it

    return Walker(schema, data, little=little).element_starts()
