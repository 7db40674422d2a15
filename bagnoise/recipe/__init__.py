"""Recipes: YAML <-> `Recipe`, presets, overrides, JSON schema, errors with file, line, column."""

from __future__ import annotations
