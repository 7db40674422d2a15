"""One line of a check."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One thing that was asked, and what was found.

    Attributes:
        subject: topic, and the step where there is one.
        what: the quantity.
        asked, measured: in words, with units.
        p: chance of a value at least as far off if the bag is as recorded; None: not tested.
        note: how it was tested, or why it was not.
    """

    subject: str
    what: str
    asked: str
    measured: str
    p: float | None
    note: str = ""


def certain(*, holds: bool) -> float:
    """Return the p-value of something that must hold without chance."""
    return 1.0 if holds else 0.0


def not_tested(subject: str, what: str, why: str) -> Line:
    """Return the line of what cannot be tested."""
    return Line(subject, what, "", "", None, why)
