"""A page that shows a person what was done to a bag: one file, no network, no dependency."""

from __future__ import annotations
