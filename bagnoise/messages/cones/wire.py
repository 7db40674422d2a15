"""CDR by hand: bounds-checked reading and writing of the parts that cone messages are made of.

Positions are counted from the start of the data, with its 4 bytes of encapsulation; alignment
counts from the body behind them. Reading remembers what a plain writer would do otherwise (byte
order, options, filler bytes), so that an untouched message is written back as it was.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from bagnoise.errors import MessageError
from bagnoise.messages.typestore import check_encapsulation

if TYPE_CHECKING:
    from numpy.typing import NDArray

HEAD = 4  # bytes of encapsulation
NS_PER_S = 1_000_000_000
_MAX_TAIL = 3
_ZEROS = bytes(8)
_LITTLE_HEAD = b"\x00\x01\x00\x00"
_COUNT = {True: struct.Struct("<I"), False: struct.Struct(">I")}
_HEADER = {True: struct.Struct("<iII"), False: struct.Struct(">iII")}


@dataclass(frozen=True, eq=False)
class Origin:
    """What a message of this type had beyond the columns of the payload.

    ``rows`` is the codec's own: what each source row (`Cones.index`) had beyond them.
    """

    type_name: str
    head: bytes = _LITTLE_HEAD
    tail: bytes = b""  # filler after the last value
    gaps: dict[int, bytes] = field(default_factory=dict)  # see Reader.gaps
    stamp: tuple[int, int] | None = None  # nanoseconds of a second or more
    rows: Any = None
    layout: Any = None  # which of several layouts of the type, for rows that differ by it
    end: int = 0  # where the tail began


class Reader:
    """Reads one message front to back; every error is a MessageError naming the type."""

    __slots__ = ("data", "gaps", "little", "name", "pos", "size", "stamp")

    def __init__(self, data: bytes | memoryview, name: str) -> None:
        self.little = check_encapsulation(name, data)
        self.data = bytes(data)  # a view may be gone when the payload is used
        self.name = name
        self.pos = HEAD
        self.size = len(data)
        # By position: filler that is not zero, and b"" for an empty string without terminator.
        self.gaps: dict[int, bytes] = {}
        self.stamp: tuple[int, int] | None = None

    def fail(self, what: str) -> NoReturn:
        """Say that the message does not fit its type."""
        msg = (
            f"a message of {self.name} ({self.size} bytes) does not fit its type:"
            f" {what} at byte {self.pos}"
        )
        raise MessageError(msg) from None

    def align(self, to: int) -> None:
        """Skip filler up to the next multiple of ``to`` bytes."""
        skip = (HEAD - self.pos) % to
        if skip:
            start = self.pos
            self.pos += skip
            filler = self.data[start : self.pos]
            if filler != _ZEROS[:skip]:
                self.gaps[start] = filler

    def header(self) -> tuple[int, str]:
        """Read a std_msgs/Header: stamp in ns and frame."""
        self.align(4)
        try:
            sec, nanosec, length = _HEADER[self.little].unpack_from(self.data, self.pos)
        except struct.error:
            self.fail("cut off in the header")
        if nanosec >= NS_PER_S:
            self.stamp = (sec, nanosec)
        self.pos += 8
        frame = self.string(length)
        return sec * NS_PER_S + nanosec, frame

    def count(self) -> int:
        """Read a sequence's or string's length (checked by whoever uses it)."""
        self.align(4)
        try:
            (count,) = _COUNT[self.little].unpack_from(self.data, self.pos)
        except struct.error:
            self.fail("cut off before a length")
        self.pos += 4
        return count  # type: ignore[no-any-return]

    def string(self, length: int | None = None) -> str:
        """Read a string; its length is read already where given (``pos`` still before it)."""
        if length is None:
            length = self.count()
            self.pos -= 4
        start = self.pos + 4
        raw = self.data[start : start + length]
        if len(raw) < length:
            self.fail(f"a string of {length} bytes goes beyond the end")
        self.pos = start + length
        if raw[-1:] == b"\x00":
            raw = raw[:-1]
        elif length == 0:  # some writers leave out the terminator of an empty string
            self.gaps[start - 4] = b""
        else:
            self.fail("a string without terminator")
        try:
            return raw.decode()
        except UnicodeDecodeError:
            self.fail("a string that is not UTF-8")

    def array(self, dtype: np.dtype[Any], count: int, align: int, filler: int = 0) -> NDArray[Any]:
        """Read ``count`` values or structs that lie side by side, as a view where possible.

        Args:
            dtype: little-endian, its item size including the filler between two structs.
            count: how many.
            align: alignment of the first member.
            filler: bytes of ``dtype`` that the last struct does not have.
        """
        if count == 0:
            return np.empty(0, dtype)
        self.align(align)
        size = count * dtype.itemsize - filler
        if size > self.size - self.pos:
            self.fail(f"{count} elements of {dtype.itemsize} bytes go beyond the end")
        start, self.pos = self.pos, self.pos + size
        if not filler and self.little:
            return np.frombuffer(self.data, dtype, count, start)
        whole = np.zeros(count, dtype)
        whole.view(np.uint8)[:size] = np.frombuffer(self.data, np.uint8, size, start)
        return whole if self.little else whole.view(dtype.newbyteorder(">")).astype(dtype)

    def numbers(self, layout: struct.Struct, align: int) -> tuple[Any, ...]:
        """Read a few values; ``layout`` is little-endian and has the filler between them."""
        self.align(align)
        if not self.little:
            layout = struct.Struct(layout.format.replace("<", ">"))
        try:
            values = layout.unpack_from(self.data, self.pos)
        except struct.error:
            self.fail("cut off")
        self.pos += layout.size
        return values

    def sequence(self, dtype: np.dtype[Any], align: int, filler: int = 0) -> NDArray[Any]:
        """Read a length and as many values; see `array`."""
        return self.array(dtype, self.count(), align, filler)

    def finish(self, rows: Any = None, layout: Any = None) -> Origin | None:
        """Check that nothing is left over; return ``rows`` and what was unusual, if anything."""
        tail = self.data[self.pos :]
        if len(tail) > _MAX_TAIL:
            self.fail(f"{len(tail)} bytes are left over")
        head = self.data[:HEAD]
        plain = head == _LITTLE_HEAD and not (tail or self.gaps or self.stamp)
        if plain and rows is None:
            return None
        return Origin(self.name, head, tail, self.gaps, self.stamp, rows, layout, self.pos)


class Writer:
    """Writes one message front to back."""

    __slots__ = ("gaps", "little", "origin", "parts", "pos")

    def __init__(self, origin: Origin | None = None) -> None:
        self.origin = origin
        self.little = origin is None or origin.head[1] == 1
        self.gaps = {} if origin is None else origin.gaps
        self.parts: list[bytes] = [_LITTLE_HEAD if origin is None else origin.head]
        self.pos = HEAD

    def put(self, part: bytes) -> None:
        """Append bytes."""
        self.parts.append(part)
        self.pos += len(part)

    def align(self, to: int) -> None:
        """Fill up to the next multiple of ``to`` bytes."""
        skip = (HEAD - self.pos) % to
        if skip:
            filler = self.gaps.get(self.pos, b"") if self.gaps else b""
            self.put(filler if len(filler) == skip else _ZEROS[:skip])

    def header(self, stamp_ns: int, frame_id: str) -> None:
        """Write a std_msgs/Header.

        Raises:
            MessageError: the stamp does not fit 32 bits of seconds.
        """
        self.align(4)
        sec, nanosec = divmod(stamp_ns, NS_PER_S)
        if self.origin is not None and self.origin.stamp is not None:
            sec0, nanosec0 = self.origin.stamp
            if sec0 * NS_PER_S + nanosec0 == stamp_ns:
                sec, nanosec = sec0, nanosec0
        raw = self._terminated(frame_id, self.pos + 8)
        try:
            self.put(_HEADER[self.little].pack(sec, nanosec, len(raw)) + raw)
        except struct.error:
            msg = f"the stamp {stamp_ns} ns does not fit a ROS header (32 bits of seconds)"
            raise MessageError(msg) from None

    def count(self, count: int) -> None:
        """Write a sequence's length."""
        self.align(4)
        self.put(_COUNT[self.little].pack(count))

    def numbers(self, layout: struct.Struct, align: int, *values: Any) -> None:
        """Write a few values; see `Reader.numbers`."""
        self.align(align)
        if not self.little:
            layout = struct.Struct(layout.format.replace("<", ">"))
        self.put(layout.pack(*values))

    def string(self, text: str) -> None:
        """Write a string."""
        self.align(4)
        raw = self._terminated(text, self.pos)
        self.count(len(raw))
        self.put(raw)

    def _terminated(self, text: str, pos: int) -> bytes:
        if not text and self.gaps.get(pos) == b"":
            return b""
        return text.encode() + b"\x00"

    def array(self, values: NDArray[Any], align: int, filler: int = 0) -> None:
        """Write values or structs side by side; see `Reader.array`."""
        if len(values) == 0:
            return
        self.align(align)
        if not self.little:
            values = values.astype(values.dtype.newbyteorder(">"))
        raw = values.tobytes()
        self.put(raw[:-filler] if filler else raw)

    def sequence(self, values: NDArray[Any], align: int, filler: int = 0) -> None:
        """Write a length and the values; see `Reader.array`."""
        self.count(len(values))
        self.array(values, align, filler)

    def finish(self) -> bytes:
        """Return the message."""
        if self.origin is not None and self.origin.tail:
            same = self.pos == self.origin.end
            self.parts.append(self.origin.tail if same else _ZEROS[: (HEAD - self.pos) % 4])
        return b"".join(self.parts)
