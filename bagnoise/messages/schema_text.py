"""What a channel's definition says: the types a message is made of, and what is on the wire.

Policy: an embedded definition is believed if it can be read. If a channel has none, the type is
looked up among ours and ROS's. A definition that refers to a type it does not contain (cut text)
gets that type from the same place. Nothing else is guessed: a broken definition is an error.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from bagnoise.errors import MessageError
from bagnoise.messages.definitions import ENCODING, shipped_definition
from bagnoise.messages.msg_text import (
    BASE_TYPES,
    Field,
    FieldType,
    MessageText,
    full_type_name,
    parse_definition,
)

if TYPE_CHECKING:
    from bagnoise.bags.model import Schema

_MAX_UNROLLED = 4096  # rosbags unrolls arrays of structs into code
_MAX_DEPTH = 64
_PREPROCESSOR = re.compile(r"^[ \t]*#.*$", re.MULTILINE)  # includes: the sections hold all
_EVENT = re.compile(r"(?P<service>[^/]+/srv/\w+)_Event")


@lru_cache(maxsize=512)
def message_texts(schema: Schema) -> dict[str, MessageText]:
    """Return every type that a schema's type is made of, by full name, itself first.

    Raises:
        MessageError: the definition cannot be read or refers to a type nobody knows.
    """
    name = full_type_name(schema.name)
    own = _own_sections(schema, name)
    needed: dict[str, MessageText] = {}
    _require(name, own, needed, (), schema.name)
    return needed


def _own_sections(schema: Schema, name: str) -> dict[str, MessageText]:
    if not schema.data.strip():
        shipped = shipped_definition(name)
        if shipped is None:
            msg = f"the bag brings no definition of {name} and none is known; give --msgs FOLDER"
            raise MessageError(msg)
        schema = shipped
    try:
        text = schema.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = f"the definition of {name} is not text: {error}"
        raise MessageError(msg) from None
    if schema.encoding in {ENCODING, ""}:
        return _from_msg(text, name)
    if schema.encoding in {"ros2idl", "omgidl"}:
        return _from_idl(text, name)
    msg = f"{name} is defined in {schema.encoding!r}; bagnoise reads ros2msg and ros2idl"
    raise MessageError(msg)


def _from_msg(text: str, name: str) -> dict[str, MessageText]:
    origin = f"definition of {name}"
    event = _EVENT.fullmatch(name)
    lines = text.split("\n")
    if event and "---" in (line.strip() for line in lines):
        return _service_event(lines, name, event["service"], origin)
    return parse_definition(text, name, origin)


def _service_event(
    lines: list[str], name: str, service: str, origin: str
) -> dict[str, MessageText]:
    """Make the event type out of a service's text, which some recorders store in its place."""
    cut = [line.strip() for line in lines].index("---")
    request = parse_definition("\n".join(lines[:cut]), f"{service}_Request", origin)
    response = parse_definition("\n".join(lines[cut + 1 :]), f"{service}_Response", origin)
    fields = (
        Field("info", FieldType("service_msgs/msg/ServiceEventInfo")),
        Field("request", FieldType(f"{service}_Request", "sequence", 1)),
        Field("response", FieldType(f"{service}_Response", "sequence", 1)),
    )
    return {name: MessageText(name, fields, {}, "", origin), **request, **response}


def _from_idl(text: str, name: str) -> dict[str, MessageText]:
    from rosbags.typesys import get_types_from_idl  # noqa: PLC0415 - loaded when needed

    separator = "=" * 80 + "\n"
    parts = text.replace("\r\n", "\n").split(separator)
    found: dict[str, MessageText] = {}
    for part in parts:
        head, _, rest = part.partition("\n")
        body = _PREPROCESSOR.sub("", rest if head.startswith("IDL:") else part)
        if not body.strip():
            continue
        try:
            types = get_types_from_idl(body)
        except Exception as error:  # the parser fails in many ways
            msg = f"the IDL definition of {name} cannot be read: {reason(error)}"
            raise MessageError(msg) from error
        for key, (_, fields) in types.items():
            found[key] = MessageText(key, tuple(_idl_fields(fields)), {}, body, f"IDL of {name}")
    return found


def _idl_fields(fields: Any) -> list[Field]:
    return [Field(name, _idl_type(kind)) for name, kind in fields]


def _idl_type(kind: Any) -> FieldType:
    code, value = kind
    if code == 1:
        return FieldType(value[0], limit=value[1])
    if code == 2:  # noqa: PLR2004 - rosbags' Nodetype: BASE, NAME, ARRAY, SEQUENCE
        return FieldType(value)
    element = _idl_type(value[0])
    return element._replace(array="array" if code == 3 else "sequence", size=value[1])  # noqa: PLR2004


def _require(
    name: str,
    own: dict[str, MessageText],
    needed: dict[str, MessageText],
    path: tuple[str, ...],
    origin: str,
) -> None:
    """Add a type and all that it refers to."""
    if name in path:
        msg = f"the definition of {origin} is circular: {' -> '.join((*path, name))}"
        raise MessageError(msg)
    if len(path) > _MAX_DEPTH:
        msg = f"the definition of {origin} nests deeper than {_MAX_DEPTH} types"
        raise MessageError(msg)
    if name in needed:
        return
    text = own.get(name) or _elsewhere(name, own)
    if text is None:
        inside = f" (referred to by {path[-1]})" if path else ""
        msg = f"the definition of {origin} does not contain {name}{inside}, and none is known"
        raise MessageError(msg)
    needed[name] = text
    for field in text.fields:
        kind = field.type
        if kind.base not in BASE_TYPES:
            _require(kind.base, own, needed, (*path, name), origin)
        if kind.array == "array" and kind.size > _MAX_UNROLLED and not _is_number(kind.base):
            msg = f"{name}.{field.name} is an array of {kind.size}: more than bagnoise can read"
            raise MessageError(msg)


def _is_number(base: str) -> bool:
    return base in BASE_TYPES and not base.endswith("string")


def _elsewhere(name: str, own: dict[str, MessageText]) -> MessageText | None:
    """Find a type under another spelling (``srv`` for ``msg``), else among the known ones."""
    package, _, short = name.split("/")
    for key, text in own.items():
        parts = key.split("/")
        if (parts[0], parts[-1]) == (package, short):
            return text
    shipped = shipped_definition(name)
    if shipped is None:
        return None
    return parse_definition(shipped.data.decode(), name, f"definition of {name}")[name]


@lru_cache(maxsize=512)
def structure(schema: Schema) -> tuple[Any, ...]:
    """Return what a schema puts on the wire, as nested tuples: equal if and only if compatible."""
    return _structure(full_type_name(schema.name), message_texts(schema))


def _structure(name: str, texts: dict[str, MessageText]) -> tuple[Any, ...]:
    return tuple(
        (
            field.name,
            kind.base if kind.base in BASE_TYPES else _structure(kind.base, texts),
            kind.array,
            kind.size if kind.array == "array" else 0,
        )
        for field in texts[name].fields
        for kind in [field.type]
    )


def reason(error: Exception) -> str:
    """Tell a library's error in one line."""
    text = str(error).split("\n")[0][:200]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
