"""Normal errors seen through a round gate, with strays spread evenly over it.

Of a true cone with exactly one detection within the gate g, the error (along, across) has the
density (1 - w) N(e; mean, deviation) / q + w / (pi g^2): q is the chance that an error lies within
the gate (for equal deviations and no bias 1 - exp(-g^2 / 2 sigma^2), Rayleigh's distribution), and
w the chance that the detection is none of this cone. Its maximum likelihood estimate knows of the
gate, where the deviation of what lies inside is too small.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.fit.likelihood import Maximum, maximize, sandwich

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NODES = 96
_REACH = 8.0
_SQRT2 = math.sqrt(2)
_FLOOR_M = 1e-9


def inside_gate(gate_m: float, mean_m: NDArray[np.float64], std_m: NDArray[np.float64]) -> float:
    """Return q: the chance that N(mean, std^2) in two dimensions, (2,) each, is within the gate.

    Integrates the density along times the chance across, by Gauss and Legendre over the angle
    whose sine is the place along (so that the ends of the chord are smooth).
    """
    if gate_m > _REACH * float(std_m.max()) + float(np.abs(mean_m).max()):
        return 1.0
    low = max(-gate_m, mean_m[0] - _REACH * std_m[0])
    high = min(gate_m, mean_m[0] + _REACH * std_m[0])
    if high <= low:
        return 1e-300
    nodes, weights = _legendre()
    first, last = math.asin(low / gate_m), math.asin(high / gate_m)
    angle = (first + last) / 2 + (last - first) / 2 * nodes
    x, chord = gate_m * np.sin(angle), gate_m * np.cos(angle)
    z = (x - mean_m[0]) / std_m[0]
    density = np.exp(-0.5 * z**2) / (std_m[0] * math.sqrt(2 * math.pi))
    scale = _SQRT2 * std_m[1]
    across = [
        0.5 * (math.erf((c - mean_m[1]) / scale) - math.erf((-c - mean_m[1]) / scale))
        for c in chord.tolist()
    ]
    return max(float((weights * density * across * chord).sum() * (last - first) / 2), 1e-300)


@lru_cache(maxsize=1)
def _legendre() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return nodes, weights


def fit_errors(
    error_m: NDArray[np.float64],
    gate_m: float,
    stray: float,
    clusters: NDArray[np.intp] | None = None,
) -> tuple[Maximum, NDArray[np.float64]]:
    """Fit means and deviations to errors (n, 2) within the gate.

    Args:
        error_m: along and across, each pair within the gate.
        gate_m: its radius.
        stray: w, the share of errors that are of something else.
        clusters: see `maximize`.

    Returns:
        the maximum over (mean along / s, mean across / s, log(std along / s), log(std across / s)),
        and the scale s, (2,), in metres.
    """
    scale = np.maximum(1.4826 * np.median(np.abs(error_m), axis=0), _FLOOR_M)
    if stray == 0 and _is_wide(error_m, gate_m):
        return _plain(error_m, scale, clusters), scale
    even = stray / (math.pi * gate_m**2)

    def log_likelihood(at: NDArray[np.float64]) -> NDArray[np.float64]:
        mean, std = at[:2] * scale, np.exp(np.clip(at[2:], -20, 20)) * scale
        z = (error_m - mean) / std
        inside = inside_gate(gate_m, mean, std)
        logs = -0.5 * (z[:, 0] ** 2 + z[:, 1] ** 2)
        logs -= math.log(2 * math.pi * std[0] * std[1] * inside)
        if stray > 0:
            return np.asarray(np.log((1 - stray) * np.exp(logs) + even))
        return np.asarray(logs)

    found = maximize(log_likelihood, np.zeros(4), clusters)
    return found, scale


def _is_wide(error_m: NDArray[np.float64], gate_m: float) -> bool:
    """Whether the gate is so wide that it cuts nothing."""
    reach = _REACH * float(error_m.std(axis=0).max()) + float(np.abs(error_m.mean(axis=0)).max())
    return gate_m > reach


def _plain(
    error_m: NDArray[np.float64], scale: NDArray[np.float64], clusters: NDArray[np.intp] | None
) -> Maximum:
    """Return the maximum where nothing is cut, which is that of a normal: mean and deviation."""
    mean, std = error_m.mean(axis=0), np.maximum(error_m.std(axis=0), _FLOOR_M)
    z = (error_m - mean) / std
    scores = np.column_stack([z * scale / std, z**2 - 1])
    n = len(error_m)
    curvature = np.diag(np.concatenate([n * (scale / std) ** 2, [2.0 * n, 2.0 * n]]))
    return sandwich(
        np.concatenate([mean / scale, np.log(std / scale)]), curvature, scores, clusters
    )
