"""The message types that ROS itself brings, as rosbags knows them; loaded when first asked for."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rosbags.typesys import Stores
    from rosbags.typesys.store import Typestore


def ros_typestores() -> Iterator[Typestore]:
    """Yield the types of ROS 2 Humble, then, if asked further, those of the newest ROS."""
    from rosbags.typesys import Stores  # noqa: PLC0415 - 0.1 s, not for --help

    for store in (Stores.ROS2_HUMBLE, Stores.LATEST):
        yield _typestore(store)


@lru_cache(maxsize=2)
def _typestore(store: Stores) -> Typestore:
    from rosbags.typesys import get_typestore  # noqa: PLC0415 - as above

    return get_typestore(store)


@lru_cache(maxsize=256)
def ros_definition_text(type_name: str) -> str | None:
    """Return the full ``ros2msg`` text of a type that ROS ships, None where it ships none."""
    for store in ros_typestores():
        if type_name in store.fielddefs:
            return store.generate_msgdef(type_name, ros_version=2)[0]
    return None
