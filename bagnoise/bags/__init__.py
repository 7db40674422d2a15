"""Containers: MCAP, rosbag2 directories (mcap, sqlite3), ROS 1 bags.

This folder knows nothing of cones or clouds. It is the only one that imports rosbags' readers and
writers or mcap. Its two doors are `open_bag` and `rewrite`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bagnoise.bags.opening import open_bag
    from bagnoise.bags.rewriting import rewrite

__all__ = ["open_bag", "rewrite"]


def __getattr__(name: str) -> Any:
    """Import the doors when they are first used, so that `bagnoise --help` stays quick."""
    if name == "open_bag":
        from bagnoise.bags.opening import open_bag  # noqa: PLC0415

        return open_bag
    if name == "rewrite":
        from bagnoise.bags.rewriting import rewrite  # noqa: PLC0415

        return rewrite
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
