"""Fit a recipe to a real recording: how its cone perception sees, errs and is late."""

from __future__ import annotations
