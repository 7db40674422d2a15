"""Errors of position by range: bias and deviation along and across the ray, and upwards."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.fit.estimate import Estimate, is_one_value, t_quantile
from bagnoise.fit.forms import bearing_form, bias_of_bearing
from bagnoise.fit.truncated import fit_errors, inside_gate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bagnoise.fit.sightings import Sightings

EVENLY = 7  # ranges within a bin
LEAST_STD_M = 1e-9
LEAST = 60  # errors that a bin needs
NAMES = ("range", "across")


@dataclass(frozen=True)
class PositionErrors:
    """What was found, by range bin.

    Attributes:
        std, bias: for each of `NAMES` the estimates by bin, and as one value.
        elevation: deviation of the elevation by bin, empty where no heights are carried.
        inside: by bin, the chance that an error lies within the gate.
        rows: by bin, the sightings that it rests on.
        edges_m: upper ends of the bins.
        bearing: (across_std_m, bearing_std_rad) where that form explains the sideways bins and
            one value does not.
        bearing_bias: of the bearing, where that explains the sideways biases and one value in
            metres does not.
    """

    std: dict[str, list[Estimate]]
    bias: dict[str, list[Estimate]]
    one_std: dict[str, Estimate]
    one_bias: dict[str, Estimate]
    elevation: list[Estimate]
    one_elevation: Estimate | None
    inside: NDArray[np.float64]
    rows: list[NDArray[np.intp]]
    edges_m: NDArray[np.float64]
    bearing: tuple[Estimate, Estimate] | None = None
    bearing_bias: Estimate | None = None

    def is_one(self, name: str) -> bool:
        """Whether the deviations of all bins may be one value."""
        return is_one_value(self.std[name])

    def std_at(self, name: str, range_m: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the deviation at ranges, (n,)."""
        values = np.array([e.value for e in self.std[name]])
        return values[bin_at(self.edges_m, range_m)]

    def bias_at(self, name: str, range_m: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the bias at ranges, (n,)."""
        values = np.array([e.value for e in self.bias[name]])
        return values[bin_at(self.edges_m, range_m)]

    def unsure(self, rows: Sightings) -> NDArray[np.float64]:
        """Return how far `inside` is from that of deviations that change evenly with range, (k,).

        Within a bin the deviation may be one, or grow from its neighbours' to its own.
        """
        middles = np.array([float(np.median(rows.range_m[r])) for r in self.rows])
        log_std = {
            name: np.log([max(e.value, LEAST_STD_M) for e in self.std[name]]) for name in NAMES
        }
        found = []
        for number, members in enumerate(self.rows):
            range_m = np.quantile(rows.range_m[members], np.linspace(0.05, 0.95, EVENLY))
            chances = []
            for r in range_m.tolist():
                logs = [float(np.interp(r, middles, log_std[name])) for name in NAMES]
                chances.append(inside_gate(rows.gate_m, np.zeros(2), np.exp(logs)))
            found.append(abs(float(np.mean(chances)) - float(self.inside[number])))
        return np.array(found)


def bin_at(edges_m: NDArray[np.float64], range_m: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the bin of ranges, (n,), as the recipe's table: the first with edge >= range."""
    found = np.searchsorted(edges_m, range_m, side="left")
    return np.minimum(found, len(edges_m) - 1).astype(np.intp)


def range_bins(
    range_m: NDArray[np.float64], edges_m: Sequence[float], least: int = LEAST
) -> NDArray[np.float64]:
    """Return upper ends of bins that hold enough: thin ones join the next, the last the one before.

    Args:
        range_m: of the errors, (n,).
        edges_m: asked upper ends, rising; beyond the last one nothing is binned apart.
        least: errors that a bin needs.
    """
    kept: list[float] = []
    below = 0
    for edge in edges_m:
        here = int((range_m <= edge).sum())
        if here - below >= least:
            kept.append(edge)
            below = here
    top = float(range_m.max())
    if len(range_m) - below < least and kept:
        kept.pop()
    if not kept or kept[-1] < top:
        kept.append(next((e for e in edges_m if e >= top), float(np.ceil(top))))
    return np.array(kept)


def position_errors(
    rows: Sightings,
    usable: NDArray[np.bool_],
    edges_m: NDArray[np.float64],
    stray: NDArray[np.float64],
    clusters: NDArray[np.intp] | None = None,
) -> PositionErrors:
    """Estimate the errors of usable sightings (n,), each with one detection within the gate.

    Args:
        rows: all sightings, n.
        usable: (n,) those to use.
        edges_m: upper ends of the range bins.
        stray: by bin, share of detections within a gate that are of something else.
        clusters: (n,) sightings of one number are not independent; None: all are.
    """
    error, range_m = rows.errors_m(), rows.range_m
    place = bin_at(edges_m, range_m)
    std: dict[str, list[Estimate]] = {name: [] for name in NAMES}
    bias: dict[str, list[Estimate]] = {name: [] for name in NAMES}
    elevation: list[Estimate] = []
    inside, members = [], []
    low = 0.0
    for number, edge in enumerate(edges_m.tolist()):
        some = np.flatnonzero(usable & (place == number))
        group = None if clusters is None else clusters[some]
        found, within = _one_bin(error[some, :2], rows.gate_m, float(stray[number]), group)
        for name, (a_bias, a_std) in zip(NAMES, found, strict=True):
            bias[name].append(replace(a_bias, name=f"{name}_bias_m", bin_m=(low, edge)))
            std[name].append(replace(a_std, name=f"{name}_std_m", bin_m=(low, edge)))
        if rows.has_z:
            angle = error[some, 2] / range_m[some]
            elevation.append(replace(_spread(angle), bin_m=(low, edge)))
        inside.append(within)
        members.append(some)
        low = edge
    every = np.concatenate(members)
    whole = None if clusters is None else clusters[every]
    mean_stray = float(np.average(stray, weights=[max(len(m), 1) for m in members]))
    one, _ = _one_bin(error[every, :2], rows.gate_m, mean_stray, whole)
    one_elevation = _spread(error[every, 2] / range_m[every]) if rows.has_z else None
    squares = np.array([float((range_m[m] ** 2).mean()) for m in members])
    alone = is_one_value(std["across"])
    return PositionErrors(
        std,
        bias,
        {n: replace(s, name=f"{n}_std_m") for n, (_, s) in zip(NAMES, one, strict=True)},
        {n: replace(b, name=f"{n}_bias_m") for n, (b, _) in zip(NAMES, one, strict=True)},
        elevation,
        one_elevation,
        np.array(inside),
        members,
        edges_m,
        None if alone else bearing_form(std["across"], squares),
        bias_of_bearing(bias["across"], [float(range_m[m].mean()) for m in members]),
    )


def _one_bin(
    error_m: NDArray[np.float64],
    gate_m: float,
    stray: float,
    clusters: NDArray[np.intp] | None,
) -> tuple[list[tuple[Estimate, Estimate]], float]:
    """Return (bias, deviation) along and across, and the chance of an error within the gate."""
    count = len(error_m)
    found, scale = fit_errors(error_m, gate_m, stray, clusters)
    width = t_quantile(found.degrees) * np.sqrt(np.diag(found.covariance))
    pairs = []
    for axis in range(2):
        mean, half = found.at[axis] * scale[axis], width[axis] * scale[axis]
        log_std, log_half = found.at[2 + axis], width[2 + axis]
        ends = np.exp((log_std - log_half, log_std, log_std + log_half)) * scale[axis]
        exact = not error_m[:, axis].any()  # a recording that is the truth itself
        low, std, high = (0.0 if exact else float(v) for v in ends)
        pairs.append(
            (
                Estimate("bias", float(mean), float(mean - half), float(mean + half), count),
                Estimate("std", std, low, high, count),
            )
        )
    within = inside_gate(gate_m, found.at[:2] * scale, np.exp(found.at[2:]) * scale)
    return pairs, within


def _spread(values: NDArray[np.float64]) -> Estimate:
    """Estimate a deviation around zero; its interval by the spread of the squares."""
    n = len(values)
    square = values**2
    variance = float(square.mean())
    if variance == 0 or n < 2:  # noqa: PLR2004
        return Estimate("elevation_std_rad", 0.0, 0.0, 0.0, n)
    half = t_quantile(n - 1) * float(square.std(ddof=1)) / variance / 2 / np.sqrt(n)
    std = float(np.sqrt(variance))
    ends = float(std * np.exp(-half)), float(std * np.exp(half))
    return Estimate("elevation_std_rad", std, *ends, n)
