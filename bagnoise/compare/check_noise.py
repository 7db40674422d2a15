"""Tests of position noise, from labels only: a gate would bias the spread it lets through."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bagnoise.compare.lines import Line, certain, not_tested
from bagnoise.compare.statistics import mean_p, spread_p
from bagnoise.steps.base import TimeStep
from bagnoise.steps.color import Classes, Color
from bagnoise.steps.field_of_view import Crop
from bagnoise.steps.header import Header
from bagnoise.steps.noise import Noise
from bagnoise.steps.timing import Rate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from bagnoise.compare.cones import ConeRows
    from bagnoise.compare.run import Stream
    from bagnoise.steps.base import Step

EDGE_SIGMAS = 8.0  # true cones nearer than this to an edge of a crop are left out of the test
EXACT_M = 1e-4  # float32 positions at 500 m are rounded to 3e-5 m
HARMLESS = (Noise, Classes, Color, Header, Crop, TimeStep)


def noise_lines(stream: Stream) -> Iterator[Line]:
    """Test mean and spread of the errors along each axis."""
    steps = [step for _, step in stream.pair.steps]
    if stream.rows is None or not any(isinstance(step, Noise) for step in steps):
        return
    subject = f"{stream.pair.noisy} noise"
    reason = _obstacle(stream, steps)
    if reason:
        yield not_tested(subject, "position noise", reason)
        return
    sigma_m = _sigma_m(steps)
    rows = _usable(stream.rows, steps, sigma_m)
    if not rows.any():
        yield not_tested(subject, "position noise", "no labelled cone away from the crop's edges")
        return
    residual_m = stream.rows.residual_m[rows]
    for axis, name in enumerate("xyz"):
        yield from _axis_lines(subject, name, residual_m[:, axis], float(sigma_m[axis]))
    if sigma_m[0] > 0:  # both together see a smaller error than either
        both_m = residual_m[:, :2].ravel()
        yield _spread_line(subject, "x and y", both_m, float(sigma_m[0]))


def _obstacle(stream: Stream, steps: list[Step]) -> str:
    if stream.matching != "labels":
        return "needs labels: a gate biases the spread it lets through"
    others = [step.name for step in steps if not isinstance(step, HARMLESS)]
    return f"no test for the step {', '.join(others)} beside it" if others else ""


def _axis_lines(
    subject: str, name: str, error_m: NDArray[np.float64], sigma_m: float
) -> Iterator[Line]:
    if sigma_m == 0:
        largest = float(np.abs(error_m).max())
        holds = certain(holds=largest <= EXACT_M)
        yield Line(subject, f"{name} error", "0 m", f"at most {largest:.3g} m", holds, "exact")
        return
    z = error_m / sigma_m
    found, note = f"{error_m.mean():+.5f} m", f"n = {len(z)}, z"
    yield Line(subject, f"mean {name} error", "0 m", found, mean_p(z), note)
    yield _spread_line(subject, name, error_m, sigma_m)


def _spread_line(subject: str, name: str, error_m: NDArray[np.float64], sigma_m: float) -> Line:
    spread = float(np.sqrt((error_m**2).mean()))
    p, note = spread_p(error_m / sigma_m), f"n = {len(error_m)}, chi-square"
    return Line(subject, f"{name} deviation", f"{sigma_m:g} m", f"{spread:.5f} m", p, note)


def _sigma_m(steps: list[Step]) -> NDArray[np.float64]:
    variance = np.zeros(3)
    for step in steps:
        if isinstance(step, Noise):
            variance += np.array([step.std_m, step.std_m, step.std_z_m]) ** 2
    return np.sqrt(variance)


def _usable(rows: ConeRows, steps: list[Step], sigma_m: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Pick independent rows: away from what crops cut by noise, and each draw once."""
    first_noise = next(n for n, step in enumerate(steps) if isinstance(step, Noise))
    usable = np.ones(len(rows.residual_m), bool)
    for step in steps[first_noise:]:
        if isinstance(step, Crop):
            usable &= away_from_edges(step, rows.true_xyz, EDGE_SIGMAS * sigma_m)
    rate = next((n for n, step in enumerate(steps) if isinstance(step, Rate)), None)
    noise_before_rate = rate is None or any(isinstance(s, Noise) for s in steps[:rate])
    if noise_before_rate:  # a tick that repeats a message repeats its noise
        keys = np.column_stack([rows.shown, rows.row])
        _, first = np.unique(keys, axis=0, return_index=True)
        once = np.zeros(len(usable), bool)
        once[first] = True
        usable &= once
    return usable


def away_from_edges(
    crop: Crop, xyz: NDArray[np.float64], margin_m: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Tell which positions (n, 3) noise cannot move over an edge, margin_m (3,) along each axis."""
    values = (*xyz.T, np.linalg.norm(xyz, axis=1))
    margins = (*margin_m, float(np.linalg.norm(margin_m)))
    names = ("x", "y", "z", "range")
    away = np.ones(len(xyz), bool)
    for value, margin, name in zip(values, margins, names, strict=True):
        for end in ("min", "max"):
            edge = getattr(crop, f"{end}_{name}_m")
            if edge is not None:
                away &= np.abs(value - edge) > margin
    return away
