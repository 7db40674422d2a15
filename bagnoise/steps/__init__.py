"""Transformations: one declaration of options each, see `registry.STEPS`."""

from __future__ import annotations
