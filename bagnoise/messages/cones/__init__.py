"""Codecs of cone messages, one file a family; `bagnoise.messages.registry` lists them."""

from __future__ import annotations
