"""Turn a clean rosbag into the recording a real car's sensors would have made."""

from __future__ import annotations

__version__ = "0.1.0"
