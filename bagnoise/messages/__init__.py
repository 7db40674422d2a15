"""ROS bytes <-> arrays: one codec a message type, one registry."""

from __future__ import annotations
