"""What a preset's steps really ask at the cones that a fit rests on, from the steps themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bagnoise.fit.detection import main_class
from bagnoise.fit.position import bin_at
from bagnoise.messages.payload import ConeClass, Cones, source_rows
from bagnoise.steps.base import Moment
from bagnoise.steps.color import Color
from bagnoise.steps.confusion import UNDETECTED
from bagnoise.steps.detection import Detection
from bagnoise.steps.false_positives import FalsePositives
from bagnoise.steps.field_of_view import Crop, FieldOfView
from bagnoise.steps.noise import Noise
from bagnoise.steps.polar import ranges
from bagnoise.steps.polar_noise import PolarNoiseStep
from bagnoise.steps.timing import Latency, Rate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from bagnoise.fit.estimate import Estimate
    from bagnoise.fit.topic import TopicFit
    from bagnoise.steps.base import Step

CLASSES = len(ConeClass)


class Compared(NamedTuple):
    """One fitted value and the one that the preset asks for."""

    parameter: str
    true: float
    estimate: Estimate

    @property
    def covered(self) -> bool:
        """Whether the interval holds the true value (to the rounding of doubles)."""
        slack = 1e-12 * max(1.0, abs(self.true))
        return self.estimate.low - slack <= self.true <= self.estimate.high + slack


def compared(fit: TopicFit, steps: Sequence[Step]) -> Iterator[Compared]:
    """Yield every fitted value beside the true one."""
    yield from _noise(fit, steps)
    yield from _detection(fit, steps)
    yield from _view(fit, steps)
    yield from _colors(fit, steps)
    yield from _strays(fit, steps)
    yield from _times(fit, steps)


def variances(steps: Sequence[Step], xyz: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return variances (n, 3) along the ray, across it and upwards, at positions (n, 3)."""
    n = len(xyz)
    cones = Cones(0, "", xyz, np.zeros(n, np.int8), source_rows(n), n)
    moment = Moment((0, "truth", "noise", 0, 0), 0)
    for step in steps:
        if isinstance(step, Noise | PolarNoiseStep):
            made = step.on_cones(cones, moment)
            assert made is not None
            cones = replace(made, xyz=xyz)
    total = np.zeros((n, 3, 3))
    for model in cones.noise_models:
        total += model.covariance(xyz)
    far = np.maximum(ranges(xyz), 1e-9)[:, None]
    planar = np.maximum(np.hypot(xyz[:, 0], xyz[:, 1]), 1e-9)
    ray = xyz / far
    left = np.column_stack([-xyz[:, 1] / planar, xyz[:, 0] / planar, np.zeros(n)])
    up = np.cross(ray, left)
    return np.column_stack([np.einsum("ni,nij,nj->n", v, total, v) for v in (ray, left, up)])


def _noise(fit: TopicFit, steps: Sequence[Step]) -> Iterator[Compared]:
    for number, members in enumerate(fit.errors.rows):
        xyz = fit.rows.xyz[members]
        true = variances(steps, xyz).mean(axis=0)
        for axis, name in enumerate(("range", "across")):
            deviation = fit.errors.std[name][number]
            yield Compared(f"{name}_std_m by bin", float(np.sqrt(true[axis])), deviation)
            yield Compared(f"{name}_bias_m by bin", 0.0, fit.errors.bias[name][number])
        if fit.errors.elevation:
            up = variances(steps, xyz)[:, 2] / fit.rows.range_m[members] ** 2
            angle = float(np.sqrt(up.mean()))
            yield Compared("elevation_std_rad by bin", angle, fit.errors.elevation[number])
    every = np.concatenate(fit.errors.rows)
    whole = variances(steps, fit.rows.xyz[every]).mean(axis=0)
    for axis, name in enumerate(("range", "across")):
        one = fit.errors.one_std[name]
        if fit.errors.is_one(name):
            yield Compared(f"{name}_std_m as one", float(np.sqrt(whole[axis])), one)
        yield Compared(f"{name}_bias_m as one", 0.0, fit.errors.one_bias[name])
    bearing = _bearing_truth(steps)
    if fit.errors.bearing is not None and bearing is not None:
        yield Compared("across_std_m with bearing", bearing[0], fit.errors.bearing[0])
        yield Compared("bearing_std_rad", bearing[1], fit.errors.bearing[1])
    limit = fit.memory.share
    if limit is not None:
        shown = limit if not fit.memory.found else replace(limit, low=1.0, high=1.0)
        yield Compared("drift share", 0.0, shown)


def _bearing_truth(steps: Sequence[Step]) -> tuple[float, float] | None:
    """Return the constant deviation across and that of the bearing, None for other forms."""
    across, bearing = 0.0, 0.0
    for step in steps:
        if isinstance(step, Noise):
            if step.std_x_m is not None or step.std_y_m is not None:
                return None
            across += step.std_m**2
        elif isinstance(step, PolarNoiseStep):
            if step.across_std_m.constant is None or step.bearing_std_rad.constant is None:
                return None
            across += step.across_std_m.constant**2
            bearing += step.bearing_std_rad.constant**2
    return across**0.5, bearing**0.5


def outcomes(
    steps: Sequence[Step], xyz: NDArray[np.float64], color: NDArray[np.int8]
) -> NDArray[np.float64]:
    """Return the chance of each class seen and of `UNDETECTED`, (n, 6), by the color steps."""
    distance = ranges(xyz)
    mass = np.eye(CLASSES, CLASSES + 1)[color]
    for step in steps:
        if isinstance(step, Color):
            mass = _after(step, xyz, distance, mass)
    return mass


def _after(
    step: Color,
    xyz: NDArray[np.float64],
    distance: NDArray[np.float64],
    mass: NDArray[np.float64],
) -> NDArray[np.float64]:
    if step.confusion or step.correct is not None:
        made = np.zeros_like(mass)
        made[:, UNDETECTED] = mass[:, UNDETECTED]
        for c in range(CLASSES):
            row = step.outcomes(distance, np.full(len(xyz), c, np.int8))
            made += mass[:, c : c + 1] * row
        mass = made
    for old, new in step.map.items():
        a, b = ConeClass[old.upper()], ConeClass[new.upper()]
        mass[:, b] += mass[:, a]
        mass[:, a] = 0
    gone = np.zeros(len(xyz), bool)
    if step.strip_beyond_m is not None:
        gone |= distance > step.strip_beyond_m
    if step.strip_outside is not None:
        gone |= ~step.strip_outside.sees(xyz)
    others = (step.map, step.confusion, step.correct, step.strip_outside)
    if step.strip and not any(others) and step.strip_beyond_m is None:
        gone[:] = True
    stripped = np.zeros_like(mass)
    stripped[:, ConeClass.UNKNOWN] = mass[:, :CLASSES].sum(axis=1)
    stripped[:, UNDETECTED] = mass[:, UNDETECTED]
    return np.where(gone[:, None], stripped, mass)


def seen_chance(
    steps: Sequence[Step], xyz: NDArray[np.float64], color: NDArray[np.int8]
) -> NDArray[np.float64]:
    """Return the chance that a cone in view is seen, (n,)."""
    chance = 1 - outcomes(steps, xyz, color)[:, UNDETECTED]
    for step in steps:
        if isinstance(step, Detection):
            chance = chance * np.clip(step.probability.at(ranges(xyz)), 0, 1)
    return np.asarray(chance)


def _detection(fit: TopicFit, steps: Sequence[Step]) -> Iterator[Compared]:
    rows, used = fit.rows, np.flatnonzero(fit.usable)
    place = bin_at(fit.errors.edges_m, rows.range_m[used])
    color = rows.color[used]
    chance = seen_chance(steps, rows.xyz[used], color)
    shown = fit.shown_color[used]
    main = main_class(fit.detection.by_class, shown)
    for number, estimate in enumerate(fit.detection.probability):
        here = place == number
        if fit.detection.by_class:
            here &= shown == main
        if here.any():
            yield Compared("detection.probability by bin", float(chance[here].mean()), estimate)
    if fit.detection.is_one:
        same = shown == main if fit.detection.by_class else np.ones(len(used), bool)
        yield Compared(
            "detection.probability as one", float(chance[same].mean()), fit.detection.one
        )
    for c, estimate in fit.detection.by_class.items():
        if c != main:
            ratio = chance[shown == c].mean() / chance[shown == main].mean()
            yield Compared("detection.by_class", float(ratio), estimate)


def _view(fit: TopicFit, steps: Sequence[Step]) -> Iterator[Compared]:
    asked: dict[tuple[str, bool], float] = {}
    for step in steps:
        if isinstance(step, FieldOfView):
            asked["range_m", True] = step.max_range_m or np.inf
            asked["range_m", False] = step.min_range_m or 0.0
            asked["horizontal_deg", True] = step.horizontal_deg
            asked["vertical_deg", True] = step.vertical_deg
        if isinstance(step, Crop):
            for axis in "xy":
                for upper, side in ((True, "max"), (False, "min")):
                    value = getattr(step, f"{side}_{axis}_m")
                    if value is not None:
                        asked[f"{axis}_m", upper] = value
    for limit in fit.limits:
        true = asked.get((limit.axis, limit.upper), np.nan)
        yield Compared(f"view {'max' if limit.upper else 'min'} {limit.axis}", true, limit.estimate)
    if fit.crop is not None:
        yield Compared("crop min_x_m", asked.get(("x_m", False), np.nan), fit.crop)


def _colors(fit: TopicFit, steps: Sequence[Step]) -> Iterator[Compared]:
    rows = fit.rows
    asked: dict[tuple[str, bool], float] = {}
    for step in steps:
        if isinstance(step, Color) and step.strip_beyond_m is not None:
            asked["range_m", True] = step.strip_beyond_m
        if isinstance(step, Color) and step.strip_outside is not None:
            asked["range_m", True] = step.strip_outside.max_range_m or np.inf
            asked["horizontal_deg", True] = step.strip_outside.horizontal_deg
    for limit in fit.color_limits:
        true = asked.get((limit.axis, limit.upper), np.nan)
        yield Compared(f"color kept to {limit.axis}", true, limit.estimate)
    if fit.confusion.stripped:
        return
    used = np.flatnonzero(fit.colored & fit.single)
    for c, row in fit.confusion.rows.items():
        mine = used[rows.color[used] == c]
        made = outcomes(steps, rows.xyz[mine], rows.color[mine])
        weight = made[:, :CLASSES] / np.maximum(1 - made[:, UNDETECTED:], 1e-12)
        for k, estimate in row.items():
            yield Compared("color.confusion", float(weight[:, k].mean()), estimate)


def _strays(fit: TopicFit, steps: Sequence[Step]) -> Iterator[Compared]:
    rows = fit.rows
    view = next((s for s in steps if isinstance(s, FieldOfView)), None)
    expected = 0.0
    for step in steps:
        if isinstance(step, FalsePositives):
            inside = np.ones(len(rows.xyz), bool) if view is None else view.sees(rows.xyz)
            chance = step.per_cone.at(rows.range_m[inside])
            expected += float(chance.sum()) / len(rows.true_xy) + step.per_frame
    yield Compared("false_positives.per_frame", expected, fit.strays.per_frame)


def _times(fit: TopicFit, steps: Sequence[Step]) -> Iterator[Compared]:
    late = fit.timing.delays
    latency = next((s for s in steps if isinstance(s, Latency)), Latency())
    mean, std = latency.mean_s, latency.std_s
    if latency.model == "max":
        mean, std = max(0.0, mean, std), 0.0
    if late.mean_s is not None:
        yield Compared("latency.mean_s", mean, late.mean_s)
    if late.std_s is not None:
        yield Compared("latency.std_s", std, late.std_s)
    hz = next((s.hz for s in steps if isinstance(s, Rate)), None) or _track_hz(steps)
    if fit.timing.hz is not None and hz is not None:
        yield Compared("rate.hz", hz, fit.timing.hz)


def _track_hz(steps: Sequence[Any]) -> float | None:
    return next((s.hz for s in steps if s.name == "from_track"), None)
