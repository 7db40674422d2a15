"""Is it what was asked? Statistical tests of a comparison against the recorded recipe."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from bagnoise.compare.check_delays import delay_lines
from bagnoise.compare.check_noise import noise_lines
from bagnoise.compare.check_presence import presence_lines
from bagnoise.compare.statistics import holm
from bagnoise.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bagnoise.compare.lines import Line
    from bagnoise.compare.run import Comparison

DEFAULT_ALPHA = 1e-6


@dataclass(frozen=True)
class Verdict:
    """All lines of a check and which of them fail.

    Attributes:
        alpha: the chance that a bag made as recorded fails anywhere.
        lines: with ``p`` None where nothing could be tested, and why.
        failed: those that fail by Holm's method over all tested lines.
    """

    alpha: float
    lines: list[Line]
    failed: list[Line]

    @property
    def tested(self) -> int:
        """How many lines were tests."""
        return sum(line.p is not None for line in self.lines)

    def to_plain(self) -> dict[str, Any]:
        """Return it as JSON data."""
        rows = [{**asdict(line), "verdict": self.verdict(line)} for line in self.lines]
        return {
            "alpha": self.alpha,
            "method": "Holm over all tests",
            "tests": self.tested,
            "passed": not self.failed,
            "lines": rows,
        }

    def verdict(self, line: Line) -> str:
        """Say ok, FAIL or not tested."""
        if line.p is None:
            return "not tested"
        return "FAIL" if any(line is bad for bad in self.failed) else "ok"


def check(comparison: Comparison, alpha: float = DEFAULT_ALPHA) -> Verdict:
    """Test what was measured against the recipe recorded in the bag.

    Raises:
        UsageError: the bag records no recipe, or alpha is no chance.
    """
    if not 0 < alpha < 1:
        msg = f"alpha {alpha} is not between 0 and 1"
        raise UsageError(msg)
    if comparison.recipe is None:
        msg = f"{comparison.noisy}: not made by bagnoise, so there is no recipe to check against"
        raise UsageError(msg)
    lines = list(_lines(comparison))
    tested = [line for line in lines if line.p is not None]
    bad = holm([line.p for line in tested if line.p is not None], alpha)
    failed = [line for line, is_bad in zip(tested, bad, strict=True) if is_bad]
    return Verdict(alpha, lines, failed)


def _lines(comparison: Comparison) -> Iterator[Line]:
    assert comparison.recipe is not None
    yield from presence_lines(comparison)
    for stream in comparison.streams:
        if stream.pair.stream is None:
            continue
        yield from noise_lines(stream)
        yield from delay_lines(stream)
