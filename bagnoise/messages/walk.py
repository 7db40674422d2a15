"""Walks over CDR bytes by a definition without decoding them: where does each element start?"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NoReturn

from bagnoise.errors import MessageError
from bagnoise.messages.msg_text import FieldType, MessageText, full_type_name
from bagnoise.messages.schema_text import message_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bagnoise.bags.model import Schema

HEAD = 4
SIZES = {
    **dict.fromkeys(("bool", "byte", "char", "int8", "uint8"), 1),
    **dict.fromkeys(("int16", "uint16"), 2),
    **dict.fromkeys(("int32", "uint32", "float32"), 4),
    **dict.fromkeys(("int64", "uint64", "float64"), 8),
}
_U32 = {True: struct.Struct("<I"), False: struct.Struct(">I")}


class Walker:
    """A position in a message's bytes that moves over values by their type."""

    def __init__(self, schema: Schema, data: bytes | memoryview, *, little: bool) -> None:
        self.texts = message_texts(schema)
        self.name = full_type_name(schema.name)
        self.data = data
        self.pos = HEAD
        self.u32 = _U32[little]

    def element_starts(self) -> Iterator[int]:
        """Yield where each element of the only sequence starts.

        Raises:
            MessageError: the bytes do not fit the type.
        """
        (field,) = self.texts[self.name].fields
        element = self.texts[field.type.base]
        for _ in range(self._count(1)):
            self._align(4)  # an element begins with a header
            start = self.pos
            self._message(element)
            yield start

    def _count(self, smallest: int) -> int:
        self._align(4)
        if self.pos + 4 > len(self.data):
            self._fail()
        (count,) = self.u32.unpack_from(self.data, self.pos)
        self.pos += 4
        if count * smallest > len(self.data) - self.pos:
            self._fail()
        return int(count)

    def _align(self, to: int) -> None:
        self.pos += (HEAD - self.pos) % to

    def _skip(self, size: int) -> None:
        self.pos += size
        if self.pos > len(self.data):
            self._fail()

    def _message(self, text: MessageText) -> None:
        for field in text.fields:
            self._value(field.type)
        if not text.fields:
            self._skip(1)  # an empty message has one byte on the wire

    def _value(self, kind: FieldType) -> None:
        count = 1
        if kind.array:
            count = self._count(1) if kind.array == "sequence" else kind.size
        size = SIZES.get(kind.base)
        if size:
            if count:
                self._align(size)
                self._skip(size * count)
            return
        if kind.base not in self.texts and kind.base != "string":
            msg = f"{self.name} holds a {kind.base}, which bagnoise cannot read"
            raise MessageError(msg)
        for _ in range(count):
            if kind.base == "string":
                self._skip(self._count(1))
            else:
                self._message(self.texts[kind.base])

    def _fail(self) -> NoReturn:
        msg = (
            f"a message of {self.name} ({len(self.data)} bytes) does not fit its type:"
            f" it goes beyond the end at byte {self.pos}"
        )
        raise MessageError(msg)
