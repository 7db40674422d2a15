"""Tests of position noise, from labels only: a gate would bias the spread it lets through."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bagnoise.compare.lines import Line, certain, not_tested
from bagnoise.compare.statistics import mean_p, spread_p
from bagnoise.steps.base import TimeStep
from bagnoise.steps.color import Classes, Color
from bagnoise.steps.curves import constant
from bagnoise.steps.field_of_view import Crop
from bagnoise.steps.header import Header
from bagnoise.steps.noise import AxisNoise, Noise
from bagnoise.steps.timing import Rate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from bagnoise.compare.cones import ConeRows
    from bagnoise.compare.run import Stream
    from bagnoise.steps.base import Step

EDGE_SIGMAS = 8.0  # true cones nearer than this to an edge of a crop are left out of the test
EXACT_M = 1e-4  # float32 positions at 500 m are rounded to 3e-5 m
HARMLESS_NAMES = {"false_positives", "covariance", "shuffle"}  # move no detection of a true cone
HARMLESS_BEFORE = {"from_track", "field_of_view", "occlusion", "detection", "sensor"}
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
    asked = asked_noise(steps, stream.rows.true_xyz)
    rows = _usable(stream.rows, steps, asked)
    if not rows.any():
        yield not_tested(subject, "position noise", "no labelled cone away from the crop's edges")
        return
    error_m = stream.rows.residual_m[rows, :3] - asked.bias_m
    for axis, name in enumerate("xyz"):
        yield from _axis_lines(subject, name, error_m[:, axis], asked.std_m[rows, axis])
    both_m, std_m = error_m[:, :2].ravel(), asked.std_m[rows, :2].ravel()
    if std_m.all():  # both together see a smaller error than either
        yield _spread_line(subject, "x and y", both_m, std_m)


def _by_range(step: Noise) -> bool:
    curves = (step.std_x_m, step.std_y_m)
    return any(curve is not None and curve.constant is None for curve in curves)


class AskedNoise(NamedTuple):
    """What a recipe's noise steps ask at each true cone: deviations (n, 3) and biases (3,)."""

    std_m: NDArray[np.float64]
    bias_m: NDArray[np.float64]


def asked_noise(steps: Sequence[Step], true_xyz: NDArray[np.float64]) -> AskedNoise:
    """Add up the noise steps; a deviation by range is taken at the true range."""
    variance, bias_m = np.zeros((len(true_xyz), 3)), np.zeros(3)
    for step in steps:
        if isinstance(step, Noise):
            curves = (
                constant(step.std_m) if step.std_x_m is None else step.std_x_m,
                constant(step.std_m) if step.std_y_m is None else step.std_y_m,
                constant(step.std_z_m),
            )
            variance += AxisNoise(None, curves).std_m(true_xyz) ** 2
            bias_m += (step.bias_x_m, step.bias_y_m, step.bias_z_m)
    return AskedNoise(np.sqrt(variance), bias_m)


def _obstacle(stream: Stream, steps: list[Step]) -> str:
    if stream.matching != "labels":
        return "needs labels: a gate biases the spread it lets through"
    dependent = [step for step in steps if isinstance(step, Noise) and _by_range(step)]
    if dependent and sum(isinstance(step, Noise) for step in steps) > 1:
        return "several noise steps, and one depends on the range after the other"
    if dependent and any(step.name == "sensor" for step in steps):
        return "the deviation depends on the range from a sensor that is not at the origin"
    first = next(n for n, step in enumerate(steps) if isinstance(step, Noise))
    others = [
        step.name
        for place, step in enumerate(steps)
        if not isinstance(step, HARMLESS)
        and step.name not in HARMLESS_NAMES
        and not (place < first and step.name in HARMLESS_BEFORE)
    ]
    return f"no test for the step {', '.join(others)} beside it" if others else ""


def _axis_lines(
    subject: str, name: str, error_m: NDArray[np.float64], std_m: NDArray[np.float64]
) -> Iterator[Line]:
    """Test errors (n,), without the asked bias, against their deviations (n,)."""
    if not std_m.any():
        largest = float(np.abs(error_m).max())
        holds = certain(holds=largest <= EXACT_M)
        yield Line(subject, f"{name} error", "0 m", f"at most {largest:.3g} m", holds, "exact")
        return
    if not std_m.all():
        yield not_tested(subject, f"{name} noise", "it is 0 at some ranges and not at others")
        return
    found, note = f"{error_m.mean():+.5f} m", f"n = {len(error_m)}, z, beside the asked bias"
    yield Line(subject, f"mean {name} error", "0 m", found, mean_p(error_m / std_m), note)
    yield _spread_line(subject, name, error_m, std_m)


def _spread_line(
    subject: str, name: str, error_m: NDArray[np.float64], std_m: NDArray[np.float64]
) -> Line:
    low, high = float(std_m.min()), float(std_m.max())
    asked = f"{low:g} m" if low == high else f"{low:.4g} to {high:.4g} m by range"
    z = error_m / std_m
    share = float(np.sqrt((z**2).mean()))
    found = f"{share * high:.5f} m" if low == high else f"{share:.5f} of it"
    note = f"n = {len(z)}, chi-square"
    return Line(subject, f"{name} deviation", asked, found, spread_p(z), note)


def _usable(rows: ConeRows, steps: list[Step], asked: AskedNoise) -> NDArray[np.bool_]:
    """Pick independent rows: away from what crops cut by noise, and each draw once."""
    first_noise = next(n for n, step in enumerate(steps) if isinstance(step, Noise))
    usable = np.ones(len(rows.residual_m), bool)
    margin_m = EDGE_SIGMAS * asked.std_m.max(axis=0, initial=0.0) + np.abs(asked.bias_m)
    for step in steps[first_noise:]:
        if isinstance(step, Crop):
            usable &= away_from_edges(step, rows.true_xyz, margin_m)
    rate = next((n for n, step in enumerate(steps) if isinstance(step, Rate)), None)
    noise_before_rate = rate is None or any(isinstance(s, Noise) for s in steps[:rate])
    if noise_before_rate:  # a tick that repeats a message repeats its noise
        shown = np.where(rows.shown < 0, -1 - rows.message, rows.shown)  # unknown: each its own
        keys = np.column_stack([shown, rows.row])
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
