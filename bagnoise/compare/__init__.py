"""Compare two bags: what was made of the truth, in numbers; and whether it is what was asked."""

from __future__ import annotations
