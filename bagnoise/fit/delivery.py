"""How late messages come: a normal delay cut at zero, where no message overtakes an earlier one.

A delivery says its draw exactly, or, where it came at once or waited for the one before, that the
draw was at most that: a censored normal, fitted by maximum likelihood.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.compare.check_delays import observe
from bagnoise.compare.statistics import normal_cdf
from bagnoise.fit.estimate import Estimate, t_quantile
from bagnoise.fit.likelihood import maximize
from bagnoise.fit.rhythm import shortest_within
from bagnoise.steps.timing import Latency

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bagnoise.compare.check_delays import Observed

SECOND_NS = 1_000_000_000
ROUNDING_NS = 3  # stamps taken to log time and back are off by so much
LEAST = 20


@dataclass(frozen=True)
class Delays:
    """Mean and deviation of the normal before the cut; None and why where they are not known."""

    mean_s: Estimate | None
    std_s: Estimate | None
    why: str = ""
    censored: int = 0
    delay_ns: NDArray[np.int64] | None = None


def delays(bases: Sequence[tuple[int, int]]) -> Delays:
    """Fit (base, delivery) times in ns: when a message was ready, and when it was logged."""
    bases = sorted((_snapped(base_ns, log_ns), log_ns) for base_ns, log_ns in bases)
    if len(bases) < LEAST:
        return Delays(None, None, f"only {len(bases)} messages")
    observed = observe(bases, Latency(order="keep"))
    delay_ns = np.array([o.delay_ns for o in observed], np.int64)
    if (delay_ns < 0).any():
        early = int((delay_ns < 0).sum())
        ms = -int(delay_ns.min()) / 1e6
        why = (
            f"{early} of {len(observed)} messages were logged before their measurement, by up to "
            f"{ms:.3f} ms: the clocks of stamps and log differ by at least that"
        )
        return Delays(None, None, why, delay_ns=delay_ns)
    return _fitted(observed, delay_ns)


def _snapped(base_ns: int, log_ns: int) -> int:
    """Take a delay of a rounding error as none: such a message came at once."""
    return log_ns if abs(log_ns - base_ns) <= ROUNDING_NS else base_ns


def _fitted(observed: Sequence[Observed], delay_ns: NDArray[np.int64]) -> Delays:
    at_most = np.array([o.at_most for o in observed])
    exact = delay_ns[~at_most].astype(np.float64)
    n, censored = len(observed), int(at_most.sum())
    if not len(exact):
        zero = Estimate("mean_s", 0.0, 0.0, 0.0, n)
        return Delays(zero, Estimate("std_s", 0.0, 0.0, 0.0, n), "", censored, delay_ns)
    spread = float(exact.std())
    if spread <= ROUNDING_NS and not censored:
        middle = float(np.median(exact)) / SECOND_NS
        room = (float(np.ptp(exact)) + 1) / SECOND_NS
        low, high = middle - room, middle + room
        mean = Estimate("mean_s", shortest_within(low, high), low, high, n)
        return Delays(mean, Estimate("std_s", 0.0, 0.0, room, n), "", censored, delay_ns)
    origin, scale = float(exact.mean()), max(spread, float(ROUNDING_NS))

    def log_likelihood(at: NDArray[np.float64]) -> NDArray[np.float64]:
        mean, std = origin + at[0] * scale, math.exp(min(max(at[1], -30.0), 30.0)) * scale
        z = (delay_ns - mean) / std
        logs: NDArray[np.float64] = -0.5 * z**2 - math.log(std * math.sqrt(2 * math.pi))
        for k in np.flatnonzero(at_most).tolist():
            logs[k] = math.log(max(normal_cdf(float(z[k])), 1e-300))
        return logs

    found = maximize(log_likelihood, np.zeros(2))
    half = t_quantile(found.degrees) * np.sqrt(np.diag(found.covariance))
    mean_s = origin / SECOND_NS + found.at[0] * scale / SECOND_NS
    mean_half = half[0] * scale / SECOND_NS
    low, std, high = (
        float(np.exp(found.at[1] + k * half[1]) * scale / SECOND_NS) for k in (-1, 0, 1)
    )
    return Delays(
        Estimate("mean_s", float(mean_s), float(mean_s - mean_half), float(mean_s + mean_half), n),
        Estimate("std_s", std, low, high, n),
        "",
        censored,
        delay_ns,
    )
