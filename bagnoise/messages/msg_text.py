"""The `.msg` language: text of a message definition to its fields, with errors by file and line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from bagnoise.errors import MessageError

_INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_FLOATS = ("float32", "float64", "float128")
BASE_TYPES = frozenset(("bool", "byte", "char", "string", "wstring", *_INTEGERS, *_FLOATS))
SEPARATOR = "=" * 80
_OLD_NAMES = {
    "time": "builtin_interfaces/msg/Time",
    "duration": "builtin_interfaces/msg/Duration",
    "Header": "std_msgs/msg/Header",
}
_TYPE_NAME = re.compile(r"[A-Za-z]\w*(/[A-Za-z]\w*){1,2}", re.ASCII)
_LINE = re.compile(
    r"(?P<base>[A-Za-z]\w*(?:/[A-Za-z]\w*){0,2})(?:<=(?P<limit>\d{1,9}))?"
    r"(?P<array>\[(?P<bound><=)?(?P<size>\d{0,9})\])?"
    r"[ \t]+(?P<name>[A-Za-z]\w*)[ \t]*(?P<rest>.*)",
    re.ASCII,
)
_SECTION = re.compile(r"={10,}[ \t]*")


class FieldType(NamedTuple):
    """A field's type: ``base`` is a base type or a full name ``package/msg/Name``."""

    base: str
    array: str = ""  # "" one value | "array" fixed length | "sequence"
    size: int = 0  # length of an array, limit of a sequence, 0: none
    limit: int = 0  # longest string, 0: any


class Field(NamedTuple):
    """One field of a message."""

    name: str
    type: FieldType
    line: int = 0


@dataclass(frozen=True)
class MessageText:
    """One parsed section of a definition."""

    name: str
    fields: tuple[Field, ...]
    constants: dict[str, str]
    text: str
    origin: str

    def references(self) -> dict[str, int]:
        """Return the types that fields name, with the line of the first mention."""
        found: dict[str, int] = {}
        for field in self.fields:
            if field.type.base not in BASE_TYPES:
                found.setdefault(field.type.base, field.line)
        return found


def full_type_name(name: str) -> str:
    """Spell a type's name in full: ``package/Name`` becomes ``package/msg/Name``.

    Raises:
        MessageError: it is no name of a ROS type.
    """
    if not _TYPE_NAME.fullmatch(name):
        msg = f"{name!r} is not the name of a ROS type; one looks like 'std_msgs/msg/String'"
        raise MessageError(msg)
    parts = name.split("/")
    return name if len(parts) == 3 else f"{parts[0]}/msg/{parts[1]}"  # noqa: PLR2004


def is_ros_type(name: str, *types: str) -> bool:
    """Whether a schema's name means one of these types, given in full; any name may be asked."""
    return bool(_TYPE_NAME.fullmatch(name)) and full_type_name(name) in types


def parse_message(text: str, name: str, origin: str, first_line: int = 1) -> MessageText:
    """Read one message's text.

    Args:
        text: lines of the `.msg` language, without separators.
        name: full name of the type.
        origin: where the text stands, for errors.
        first_line: line number of the first line there.

    Raises:
        MessageError: a line that cannot be read, by origin and line number.
    """
    fields: list[Field] = []
    constants: dict[str, str] = {}
    for number, raw in enumerate(text.splitlines(), first_line):
        line = raw.strip().lstrip("\ufeff")
        if not line or line[0] in "#@":
            continue
        try:
            _parse_line(line, name, number, fields, constants)
        except MessageError as error:
            msg = f"{origin}, line {number}: {error}"
            raise MessageError(msg) from None
    return MessageText(name, tuple(fields), constants, text, origin)


def _parse_line(
    line: str, owner: str, number: int, fields: list[Field], constants: dict[str, str]
) -> None:
    match = _LINE.fullmatch(line)
    if match is None:
        msg = f"{line[:80]!r} is neither a field ('type name') nor a constant ('type NAME=value')"
        raise MessageError(msg)
    name, rest = match["name"], match["rest"]
    if rest.startswith("="):
        value = rest[1:].strip()
        constants[name] = value if match["base"] == "string" else value.split("#")[0].strip()
        return
    if any(field.name == name for field in fields):
        msg = f"there are two fields {name!r}"
        raise MessageError(msg)
    fields.append(Field(name, _field_type(match, owner), number))


def _field_type(match: re.Match[str], owner: str) -> FieldType:
    base = match["base"]
    if base not in BASE_TYPES:
        base = _OLD_NAMES.get(base, base)
        if "/" not in base:
            base = f"{owner.rsplit('/', 1)[0]}/{base}"
        base = full_type_name(base)
    limit = int(match["limit"] or 0)
    if limit and base not in {"string", "wstring"}:
        msg = f"only strings have a limit, not {match['base']!r}"
        raise MessageError(msg)
    if match["array"] is None:
        return FieldType(base, limit=limit)
    size = int(match["size"] or 0)
    fixed = bool(match["size"]) and not match["bound"]
    if fixed and size == 0:
        msg = f"the array {match['name']!r} has no elements"
        raise MessageError(msg)
    return FieldType(base, "array" if fixed else "sequence", size, limit)


def parse_definition(text: str, name: str, origin: str) -> dict[str, MessageText]:
    """Read a full definition: the type's own text and its dependencies behind ``MSG:`` lines.

    Returns:
        The sections by full name, the type itself first.

    Raises:
        MessageError: as `parse_message`, and for a separator without ``MSG: package/Name``.
    """
    found: dict[str, MessageText] = {}
    for title, first_line, body in _sections(text.replace("\r\n", "\n"), name, origin):
        section = full_type_name(title)
        known = found.get(section)
        if known is None or not (known.fields or known.constants):
            found[section] = parse_message(body, section, origin, first_line)
    return found


def _sections(text: str, name: str, origin: str) -> list[tuple[str, int, str]]:
    title, start = name, 0
    lines = text.split("\n")
    sections: list[tuple[str, int, str]] = []
    for at, line in enumerate(lines):
        if at < start or not _SECTION.fullmatch(line):
            continue
        heading = lines[at + 1].strip() if at + 1 < len(lines) else ""
        if not heading.startswith("MSG:"):
            if not heading and at + 2 >= len(lines):
                break  # a separator at the very end: nothing follows, nothing is lost
            msg = f"{origin}, line {at + 2}: 'MSG: package/Name' must follow a separator line"
            raise MessageError(msg)
        if at or lines[0].strip():
            sections.append((title, start + 1, "\n".join(lines[start:at])))
        title, start = heading[4:].strip(), at + 2
        if not _TYPE_NAME.fullmatch(title):
            msg = f"{origin}, line {at + 2}: {title!r} is not the name of a ROS type"
            raise MessageError(msg)
    sections.append((title, start + 1, "\n".join(lines[start:])))
    return sections
