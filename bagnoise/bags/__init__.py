"""Containers: MCAP, rosbag2 directories (mcap, sqlite3), ROS 1 bags.

This folder knows nothing of cones or clouds. It is the only one that imports rosbags' readers and
writers or mcap. Its two doors are `open_bag` and `rewrite`.
"""

from __future__ import annotations

from bagnoise.bags.opening import open_bag
from bagnoise.bags.rewriting import rewrite

__all__ = ["open_bag", "rewrite"]
