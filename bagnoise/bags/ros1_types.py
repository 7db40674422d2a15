"""Bring ROS 1 types and payloads into the form that ROS 2 gives them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from rosbags.convert.converter import is_same_wireformat, migrate_bytes
from rosbags.serde import SerdeError
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.base import TypesysError

from bagnoise.bags.model import Schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from rosbags.interfaces import Connection
    from rosbags.typesys.store import Typestore

HEADER = "std_msgs/msg/Header"
# What rosbags raises on definitions it cannot parse, resolve or compile.
_UNUSABLE = (TypesysError, SerdeError, KeyError, ValueError, SyntaxError, RecursionError)
_RENAMED = {"tf/msg/tfMessage": "tf2_msgs/msg/TFMessage"}


class Conversion(NamedTuple):
    """How the messages of a connection become ROS 2's; ``note`` says what is special about it."""

    schema: Schema
    encoding: str
    convert: Callable[[memoryview], bytes | memoryview]
    note: str = ""


class Ros1Types:
    """Works out one conversion for each (type, definition)."""

    def __init__(self) -> None:
        self._ros2 = get_typestore(Stores.ROS2_HUMBLE)
        self._known: dict[tuple[str, str], Conversion] = {}

    def conversion(self, connection: Connection) -> Conversion:
        """Return how the messages of this connection are converted."""
        key = (connection.msgtype, connection.msgdef.data)
        if key not in self._known:
            self._known[key] = self._make(*key)
        return self._known[key]

    def _make(self, name: str, text: str) -> Conversion:
        try:
            own = _typestore(name, text)
            own.generate_msgdef(name, ros_version=2)
            own.get_msgdef(name)
        except _UNUSABLE as error:
            note = f"its type {name} has no usable definition; passed as ROS 1 bytes"
            note += f" ({_short(error)})"
            schema = Schema(name, "ros1msg", text.encode("utf-8", "surrogateescape"))
            return Conversion(schema, "ros1", bytes, note)
        target = _RENAMED.get(name, name)
        if target not in self._ros2.fielddefs:
            return self._plain(own, name)
        if is_same_wireformat(own, self._ros2, name, target):
            return self._plain(self._ros2, target)
        decoding = _typestore(name, text, with_counter=True)
        migrate: Callable[..., memoryview] = partial(
            migrate_bytes, decoding, self._ros2, name, target, {}, src_is2=False, dst_is2=True
        )
        note = f"{name} differs between ROS 1 and ROS 2; converted field by field"
        return Conversion(_schema(self._ros2, target), "cdr", migrate, note)

    def _plain(self, store: Typestore, name: str) -> Conversion:
        """Only alignment and the header's counter differ."""
        return Conversion(_schema(store, name), "cdr", partial(store.ros1_to_cdr, typename=name))


def _typestore(name: str, text: str, *, with_counter: bool = False) -> Typestore:
    store = get_typestore(Stores.EMPTY)
    types: dict[str, Any] = dict(get_types_from_msg(text, name))
    if HEADER in types and not with_counter:  # rosbags skips it when it converts bytes
        constants, fields = types[HEADER][0], types[HEADER][1]
        types[HEADER] = (constants, [field for field in fields if field[0] != "seq"])
    store.register(types)
    return store


def _schema(store: Typestore, name: str) -> Schema:
    text, _ = store.generate_msgdef(name, ros_version=2)
    return Schema(name, "ros2msg", text.encode())


def _short(error: BaseException) -> str:
    return (str(error) or type(error).__name__).partition("\n")[0][:120]
