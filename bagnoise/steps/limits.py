"""Numbers that options may hold: beyond them nothing is meant, and squares overflow."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Number = Annotated[float, Field(ge=-1e12, le=1e12)]
Amount = Annotated[float, Field(le=1e12)]  # of options that are above 0, or not below
Coordinate = Annotated[float, Field(ge=-1e6, le=1e6)]  # in metres, degrees or metres a second
Integer = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
Span = Annotated[tuple[Number, Number], Field(strict=False)]
Integers = Annotated[tuple[Integer, ...], Field(strict=False)]
