"""The command line: the only folder that imports click and rich, the only one that prints."""

from __future__ import annotations
