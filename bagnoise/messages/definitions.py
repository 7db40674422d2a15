"""Definitions of message types that a bag does not bring: shipped, ROS's own, or a user's folder.

The shipped texts lie in ``definitions/<package>/msg/<Name>.msg``; where teams use two layouts
under one name, the other one lies in ``definitions/<package>@<variant>/msg``. Those of ROS that
bagnoise's own outputs are made of are shipped, too: loading all of ROS's takes 0.2 s.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bagnoise.bags.model import Schema
from bagnoise.errors import MessageError, UsageError
from bagnoise.messages.msg_text import (
    SEPARATOR,
    MessageText,
    full_type_name,
    parse_definition,
    parse_message,
)
from bagnoise.messages.ros_types import ros_definition_text

if TYPE_CHECKING:
    from collections.abc import Callable

ENCODING = "ros2msg"
_SHIPPED = Path(__file__).parent / "definitions"


def shipped_definition(type_name: str, variant: str | None = None) -> Schema | None:
    """Return the definition of a type that bagnoise or ROS ships, with all it depends on.

    Args:
        type_name: with or without ``/msg/``.
        variant: which of several layouts of one name, see `variants`; None is the usual one.

    Raises:
        MessageError: no such variant of this type is shipped.
    """
    name = full_type_name(type_name)
    if variant is not None and variant not in variants(name):
        known = ", ".join(variants(name)) or "none"
        msg = f"{name} has no layout {variant!r}; known ones beside the usual: {known}"
        raise MessageError(msg)
    return _shipped(name, variant)


@lru_cache(maxsize=256)
def _shipped(name: str, variant: str | None) -> Schema | None:
    return _combined(name, lambda wanted: _shipped_text(wanted, variant))


@lru_cache(maxsize=256)
def variants(type_name: str) -> tuple[str, ...]:
    """Name the layouts of a type that are shipped beside the usual one."""
    package = full_type_name(type_name).split("/")[0]
    found = sorted(folder.name for folder in _SHIPPED.glob(f"{package}@*"))
    names = [folder.split("@", 1)[1] for folder in found]
    base = _shipped(full_type_name(type_name), None)
    return tuple(name for name in names if _shipped(full_type_name(type_name), name) != base)


def shipped_types() -> tuple[str, ...]:
    """Name every type whose definition bagnoise itself brings."""
    return tuple(
        sorted(
            f"{path.parent.parent.name}/msg/{path.stem}"
            for path in _SHIPPED.glob("*/msg/*.msg")
            if "@" not in path.parent.parent.name
        )
    )


def _shipped_text(name: str, variant: str | None) -> MessageText | None:
    package, _, short = name.split("/")
    folders = [package] if variant is None else [f"{package}@{variant}", package]
    for folder in folders:
        path = _SHIPPED / folder / "msg" / f"{short}.msg"
        if path.is_file():
            return _read(path, name)
    return None


def _read(path: Path, name: str) -> MessageText:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"cannot read the message definition {path}: {error}"
        raise MessageError(msg) from None
    return parse_message(text, name, str(path))


def _combined(name: str, find: Callable[[str], MessageText | None]) -> Schema | None:
    """Put a type's text and those of its dependencies together; None where nobody knows it."""
    root = find(name)
    if root is None:
        text = ros_definition_text(name)
        return None if text is None else Schema(name, ENCODING, text.encode())
    sections: dict[str, str] = {}
    _collect(root, find, sections)
    text = _with_newline(root.text)
    for section, body in sections.items():
        package, _, short = section.split("/")
        text += f"{SEPARATOR}\nMSG: {package}/{short}\n{body}"
    return Schema(name, ENCODING, text.encode())


def _collect(
    message: MessageText, find: Callable[[str], MessageText | None], sections: dict[str, str]
) -> None:
    """Add the texts of all that a message refers to, in the order of first mention."""
    for wanted, line in message.references().items():
        if wanted in sections or wanted == message.name:
            continue
        found = find(wanted)
        if found is not None:
            sections[wanted] = _with_newline(found.text)
            _collect(found, find, sections)
            continue
        text = ros_definition_text(wanted)
        if text is None:
            msg = f"{message.origin}, line {line}: there is no definition of {wanted}"
            raise MessageError(msg)
        for name, section in parse_definition(text, wanted, wanted).items():
            sections.setdefault(name, _with_newline(section.text))


def _with_newline(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


class DefinitionFinder(Protocol):
    """Looks a type's definition up; usable wherever `Definitions` are asked for."""

    def __call__(self, type_name: str, variant: str | None = None) -> Schema | None:
        """Return the definition, None where nobody knows the type."""


def definitions_from(directory: Path) -> DefinitionFinder:
    """Look definitions up in a folder of `.msg` files, then among the shipped ones.

    The folder may be a workspace: ``**/<package>/msg/<Name>.msg`` and ``<package>/<Name>.msg``
    are found.

    Raises:
        UsageError: there is no such folder, or it holds no `.msg` file.
    """
    if not directory.is_dir():
        msg = f"there is no folder {directory} to take message definitions from"
        raise UsageError(msg)
    files = _index(directory)
    if not files:
        msg = f"no <package>/msg/<Name>.msg below {directory}"
        raise UsageError(msg)

    def find(name: str) -> MessageText | None:
        path = files.get(name)
        return _shipped_text(name, None) if path is None else _read(path, name)

    @lru_cache(maxsize=256)
    def lookup(type_name: str, variant: str | None = None) -> Schema | None:
        if variant is not None:  # only shipped layouts have names
            return shipped_definition(type_name, variant)
        return _combined(full_type_name(type_name), find)

    return lookup


def definition_finder(directory: Path | None = None) -> DefinitionFinder:
    """Return the finder over a user's folder of ``.msg`` files (if any) and the shipped ones.

    Raises:
        UsageError: the folder holds no definitions.
        MessageError: a definition in it is wrong.
    """
    lookup = shipped_definition if directory is None else definitions_from(directory)

    def find(type_name: str, variant: str | None = None) -> Schema | None:
        try:
            full_type_name(type_name)
        except MessageError:
            return None  # not even the name of a ROS type
        return lookup(type_name, variant)

    return find


def _index(directory: Path) -> dict[str, Path]:
    """Map type names to files; of several the first in path order counts."""
    found: dict[str, Path] = {}
    for path in sorted(directory.rglob("*.msg")):
        folder = path.parent
        package = folder.parent.resolve().name if folder.name == "msg" else folder.name
        if folder.name == "msg" or folder.parent == directory:
            found.setdefault(f"{package}/msg/{path.stem}", path)
    return found
