"""The main job: recipe + bag in -> bag out."""

from __future__ import annotations
