"""The message types that ROS itself brings, as rosbags knows them; loaded when first asked for."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rosbags.typesys.store import Typestore


@lru_cache(maxsize=1)
def ros_typestores() -> tuple[Typestore, ...]:
    """Return the types of ROS 2 Humble, then those that only newer distributions have."""
    from rosbags.typesys import Stores, get_typestore  # noqa: PLC0415 - 0.1 s, not for --help

    return get_typestore(Stores.ROS2_HUMBLE), get_typestore(Stores.LATEST)


@lru_cache(maxsize=256)
def ros_definition_text(type_name: str) -> str | None:
    """Return the full ``ros2msg`` text of a type that ROS ships, None where it ships none."""
    for store in ros_typestores():
        if type_name in store.fielddefs:
            return store.generate_msgdef(type_name, ros_version=2)[0]
    return None
