"""Read and write the few CDR primitives that hand-written codecs need."""

from __future__ import annotations

import struct
from typing import Final

from bagnoise.errors import MessageError

ENCAPSULATION_BYTES: Final = 4
LITTLE_ENDIAN: Final = b"\x00\x01\x00\x00"
_ORDERS: Final = {b"\x00\x00": ">", b"\x00\x01": "<"}


class CdrReader:
    """A cursor over one message; every read is checked against the message's end."""

    def __init__(self, data: bytes | memoryview) -> None:
        self.data = memoryview(data).cast("B") if not isinstance(data, bytes) else memoryview(data)
        order = _ORDERS.get(bytes(self.data[:2]))
        if len(self.data) < ENCAPSULATION_BYTES or order is None:
            msg = (
                f"a CDR message starts with 00 00 or 00 01; this one ({len(self.data)} bytes)"
                f" starts with {bytes(self.data[:ENCAPSULATION_BYTES]).hex(' ') or 'nothing'}"
            )
            raise MessageError(msg)
        self.order = order
        self.position = ENCAPSULATION_BYTES

    @property
    def remaining(self) -> int:
        """Bytes not yet read."""
        return len(self.data) - self.position

    def take(self, count: int, what: str) -> memoryview:
        """Return the next bytes as a view."""
        if count > self.remaining:
            msg = (
                f"message ends inside {what}: {count} bytes are announced at byte"
                f" {self.position}, {self.remaining} are left"
            )
            raise MessageError(msg)
        start, self.position = self.position, self.position + count
        return self.data[start : self.position]

    def number(self, code: str, what: str) -> int:
        """Read an integer of a struct code, aligned to its size."""
        size = struct.calcsize(code)
        self.position += -(self.position - ENCAPSULATION_BYTES) % size
        value: int = struct.unpack(self.order + code, self.take(size, what))[0]
        return value

    def text(self, what: str) -> str:
        """Read a string; bytes that are not UTF-8 survive as surrogates."""
        raw = bytes(self.take(self.number("I", what), what))
        return raw.removesuffix(b"\0").decode("utf-8", "surrogateescape")


class CdrWriter:
    """Collects one message's head; alignment counts from the end of the encapsulation."""

    def __init__(self, order: str = "<") -> None:
        self.order = order
        self.parts = bytearray(LITTLE_ENDIAN if order == "<" else bytes(ENCAPSULATION_BYTES))

    def number(self, code: str, value: int, what: str) -> None:
        """Append an integer of a struct code, aligned to its size."""
        size = struct.calcsize(code)
        self.parts.extend(bytes(-(len(self.parts) - ENCAPSULATION_BYTES) % size))
        try:
            self.parts.extend(struct.pack(self.order + code, value))
        except struct.error as error:
            msg = f"{what} is {value}, which does not fit its type: {error}"
            raise MessageError(msg) from None

    def text(self, value: str, what: str) -> None:
        """Append a string."""
        raw = value.encode("utf-8", "surrogateescape")
        self.number("I", len(raw) + 1, what)
        self.parts.extend(raw + b"\0")
