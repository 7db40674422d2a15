"""JSON that every reader takes: numbers that it has no word for become null."""

from __future__ import annotations

import json
import math
from typing import Any


def json_text(data: Any, *, indent: int | None = None) -> str:
    """Write plain data as JSON; NaN and infinity, which JSON does not know, are null."""
    separators = (",", ":") if indent is None else None
    return json.dumps(_finite(data), indent=indent, separators=separators, allow_nan=False)


def _finite(data: Any) -> Any:
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(value) for value in data]
    return data
