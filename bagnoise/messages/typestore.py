"""Any message type <-> Python objects, from the definition its channel brings (slow, generic)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from bagnoise.errors import MessageError
from bagnoise.messages.msg_text import BASE_TYPES, FieldType, full_type_name
from bagnoise.messages.schema_text import message_texts, reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from rosbags.typesys.store import Typestore

    from bagnoise.bags.model import Schema

_XCDR2 = "XCDR2"
_ENCAPSULATIONS = {
    2: "PL_CDR (parameter list)",
    3: "PL_CDR (parameter list)",
    **dict.fromkeys(range(6, 12), _XCDR2),
}


def decode(schema: Schema, data: bytes | memoryview) -> Any:
    """Read a message of any type.

    Returns:
        An object with one attribute a field (rosbags' class of the type).

    Raises:
        MessageError: the definition cannot be read, or the bytes do not fit it.
    """
    name = full_type_name(schema.name)
    store = _typestore(schema)
    check_encapsulation(name, data)
    try:
        return store.deserialize_cdr(data, name)
    except Exception as error:  # hostile bytes must not show a decoder's insides
        msg = f"cannot decode a message of {name} ({len(data)} bytes): {reason(error)}"
        raise MessageError(msg) from error


def encode(schema: Schema, message: Any) -> bytes:
    """Write a message of any type, little-endian.

    Raises:
        MessageError: the definition cannot be read, or the object does not fit it.
    """
    name = full_type_name(schema.name)
    store = _typestore(schema)
    try:
        return bytes(store.serialize_cdr(message, name, little_endian=True))
    except Exception as error:  # as above
        msg = f"cannot encode a message of {name}: {reason(error)}"
        raise MessageError(msg) from error


def message_class(schema: Schema, type_name: str | None = None) -> Any:
    """Return the class of a schema's type, or of a type it is made of."""
    store = _typestore(schema)
    name = full_type_name(type_name or schema.name)
    if name not in store.types:
        msg = f"the definition of {schema.name} has no {name}"
        raise MessageError(msg)
    return store.types[name]


def blank_message(schema: Schema, type_name: str | None = None) -> Any:
    """Return a message of a schema's type (or of a type inside it) that is all zero and empty."""
    return _maker(schema, full_type_name(type_name or schema.name))()


@lru_cache(maxsize=512)
def _maker(schema: Schema, name: str) -> Callable[[], Any]:
    fields = message_texts(schema)[name].fields
    makers = [_value_maker(schema, field.type) for field in fields]
    made = message_class(schema, name)
    return lambda: made(*[make() for make in makers])


def _value_maker(schema: Schema, kind: FieldType) -> Callable[[], Any]:
    count = kind.size if kind.array == "array" else 0
    if kind.base not in BASE_TYPES:
        inner = _maker(schema, kind.base)
        return (lambda: [inner() for _ in range(count)]) if kind.array else inner
    if kind.base.endswith("string"):
        return (lambda: [""] * count) if kind.array else str
    if kind.array:
        dtype = {"byte": "uint8", "char": "uint8"}.get(kind.base, kind.base)
        return lambda: np.zeros(count, dtype)
    return {"b": bool, "f": float}.get(kind.base[0] if kind.base != "byte" else "", int)


def type_hash(schema: Schema) -> str:
    """Compute the RIHS01 type hash, as ROS 2 Iron and newer record it."""
    store = _typestore(schema)
    try:
        return store.hash_rihs01(full_type_name(schema.name))
    except Exception as error:  # as above
        msg = f"cannot hash the definition of {schema.name}: {reason(error)}"
        raise MessageError(msg) from error


def check_encapsulation(name: str, data: bytes | memoryview) -> bool:
    """Return whether a message is little-endian.

    Raises:
        MessageError: its first four bytes do not say plain CDR.
    """
    if len(data) < 4:  # noqa: PLR2004
        msg = f"a message of {name} has {len(data)} bytes; CDR begins with 4 of encapsulation"
        raise MessageError(msg)
    kind = data[1]
    if data[0] == 0 and kind <= 1:
        return bool(kind)
    known = _ENCAPSULATIONS.get(kind) if data[0] == 0 else None
    what = f"is encoded as {known}" if known else "has an unknown encapsulation"
    msg = f"a message of {name} {what} ({bytes(data[:2]).hex()}); bagnoise reads plain CDR"
    raise MessageError(msg)


@lru_cache(maxsize=512)
def _typestore(schema: Schema) -> Typestore:
    from rosbags.interfaces import Nodetype  # noqa: PLC0415 - loaded when needed
    from rosbags.typesys.store import Typestore as Store  # noqa: PLC0415

    def describe(kind: FieldType) -> Any:
        element = (
            (Nodetype.BASE, (kind.base, kind.limit))
            if kind.base in BASE_TYPES
            else (Nodetype.NAME, kind.base)
        )
        if not kind.array:
            return element
        code = Nodetype.ARRAY if kind.array == "array" else Nodetype.SEQUENCE
        return (code, (element, kind.size))

    texts = message_texts(schema)
    store = Store()
    try:
        store.register(
            {
                name: ([], [(field.name, describe(field.type)) for field in text.fields])
                for name, text in texts.items()
            }
        )
        store.get_msgdef(full_type_name(schema.name))
    except Exception as error:  # a code generator fails in many ways
        msg = f"cannot make a decoder of the definition of {schema.name}: {reason(error)}"
        raise MessageError(msg) from error
    return store
