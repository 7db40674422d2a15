"""Dotted paths into decoded messages, and into their definitions."""

from __future__ import annotations

import keyword
from typing import TYPE_CHECKING, Any

from bagnoise.errors import UsageError
from bagnoise.messages.msg_text import BASE_TYPES, FieldType, full_type_name
from bagnoise.messages.schema_text import message_texts

if TYPE_CHECKING:
    from bagnoise.bags.model import Schema


def get(value: Any, path: str) -> Any:
    """Follow a path of attributes."""
    for name in path.split("."):
        value = getattr(value, _attribute(name))
    return value


def put(value: Any, path: str, new: Any) -> None:
    """Set the attribute at the end of a path."""
    *before, last = path.split(".")
    for name in before:
        value = getattr(value, _attribute(name))
    setattr(value, _attribute(last), new)


def _attribute(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name  # as rosbags names them


def type_at(schema: Schema, owner: str, path: str, where: str) -> FieldType:
    """Return the type of the field at a path.

    Args:
        schema: definition of the whole message.
        owner: the type that the path starts in.
        path: names with dots.
        where: which entry of the map this is, for errors.

    Raises:
        UsageError: there is no such field; the text lists those there are.
    """
    texts = message_texts(schema)
    kind = FieldType(full_type_name(owner))
    walked: list[str] = []
    for name in path.split("."):
        inside = ".".join(walked) or kind.base
        if kind.base in BASE_TYPES or kind.array:
            msg = f"field map of {schema.name}, {where}: {inside!r} has no fields to look into"
            raise UsageError(msg)
        fields = {field.name: field.type for field in texts[kind.base].fields}
        if name not in fields:
            msg = (
                f"field map of {schema.name}, {where}: {kind.base} has no field {name!r};"
                f" it has {', '.join(fields) or 'none'}"
            )
            raise UsageError(msg)
        kind = fields[name]
        walked.append(name)
    return kind
