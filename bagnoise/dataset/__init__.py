"""Data sets: many outputs from one plan, made by workers, resumed after an interruption."""

from __future__ import annotations
