"""The figures of a stream of clouds: range images and bird's-eye views before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bagnoise.compare.clouds import match_points, ranges_m, returns
from bagnoise.errors import MessageError
from bagnoise.messages.cloud_rings import rings
from bagnoise.report.colors import SERIES, cividis, diverging
from bagnoise.report.figures import Figure
from bagnoise.report.png import data_uri, png
from bagnoise.report.svg import Plot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from bagnoise.compare.run import Stream
    from bagnoise.messages.cloud import Cloud

COLUMNS = 720  # of a range image: half a degree each
ROWS = 64
VIEW_PX = 420
NEAR_SHARE = 98.0  # percent of points that a bird's-eye view shows
PAPER = 255


def cloud_figures(stream: Stream, key: str, truth: Cloud, noisy: Cloud) -> Iterator[Figure]:
    """Draw one cloud before and after, the error between, and residuals by range and ring."""
    images = _RangeImages(truth, noisy)
    for name, title, picture, caption in images.pictures():
        plot = Plot(
            (-180, 180),
            images.y_range,
            labels=("azimuth, deg", images.y_label),
            size=(1080, 210),
            title=title,
        )
        plot.image(data_uri(png(picture)), (-180, 180), images.y_range)
        yield Figure(f"{key}-{name}", title, caption, plot.text(), wide=True)
    view = _view(truth, noisy)
    yield _from_above(f"{key}-above-before", "From above, before", truth, view)
    yield _from_above(f"{key}-above-after", "From above, after", noisy, view)
    yield from _residual_figures(stream.measured, key)


class _RangeImages:
    """Puts two clouds into rows (rings, or elevation) and columns of azimuth."""

    def __init__(self, truth: Cloud, noisy: Cloud) -> None:
        self._truth, self._noisy = truth, noisy
        self._rows_of = self._ring_rows() or self._elevation_rows()
        pairs = match_points(truth, noisy)
        self._pairs = pairs
        ranges = ranges_m(truth)[returns(truth)]
        self._far_m = float(np.percentile(ranges, NEAR_SHARE)) if len(ranges) else 1.0
        self._how = pairs.how

    def _ring_rows(self) -> Any:
        try:
            numbers = [rings(cloud)[returns(cloud)] for cloud in (self._truth, self._noisy)]
        except MessageError:
            return None
        largest = max((int(n.max()) for n in numbers if len(n)), default=0)
        if largest >= 4 * ROWS or min((int(n.min()) for n in numbers if len(n)), default=0) < 0:
            return None
        self.y_label, self.y_range = "ring", (-0.5, largest + 0.5)
        self._height = largest + 1
        return rings

    def _elevation_rows(self) -> Any:
        angles = np.concatenate(
            [_elevation_deg(c)[returns(c)] for c in (self._truth, self._noisy)] or [np.zeros(1)]
        )
        low, high = (float(angles.min()), float(angles.max())) if len(angles) else (0.0, 1.0)
        high = max(high, low + 0.1)
        self.y_label, self.y_range = "elevation, deg", (low, high)
        self._height = ROWS

        def rows(cloud: Cloud) -> NDArray[np.intp]:
            share = np.nan_to_num((_elevation_deg(cloud) - low) / (high - low))
            return np.clip(share * ROWS, 0, ROWS - 1).astype(np.intp)

        return rows

    def pictures(self) -> Iterator[tuple[str, str, NDArray[np.uint8], str]]:
        scale = f"dark 0 m to bright {self._far_m:.1f} m; white: no return"
        yield "range-before", "Range image, before", self._ranges(self._truth), scale
        yield "range-after", "Range image, after", self._ranges(self._noisy), scale
        error, limit = self._errors()
        caption = (
            f"Noisy minus true range, matched {self._how}: blue shorter, orange longer, up to "
            f"{limit:.3g} m; black: lost; purple: there was none before."
        )
        yield "range-error", "Error map", error, caption

    def _place(
        self, cloud: Cloud, rows: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        xyz = cloud.xyz()[rows].astype(np.float64)
        azimuth = np.arctan2(xyz[:, 1], xyz[:, 0])
        column = ((azimuth + np.pi) / (2 * np.pi) * COLUMNS).astype(np.intp) % COLUMNS
        line = self._height - 1 - np.asarray(self._rows_of(cloud))[rows]
        return np.clip(line, 0, self._height - 1), column

    def _ranges(self, cloud: Cloud) -> NDArray[np.uint8]:
        picture = np.full((self._height, COLUMNS, 3), PAPER, np.uint8)
        rows = np.flatnonzero(returns(cloud))
        range_m = ranges_m(cloud)[rows]
        order = np.argsort(-range_m, kind="stable")  # the nearest on top
        line, column = self._place(cloud, rows[order])
        picture[line, column] = cividis(range_m[order] / self._far_m)
        return picture

    def _errors(self) -> tuple[NDArray[np.uint8], float]:
        truth, noisy, pairs = self._truth, self._noisy, self._pairs
        picture = np.full((self._height, COLUMNS, 3), PAPER, np.uint8)
        lost = np.setdiff1d(np.flatnonzero(returns(truth)), pairs.true)
        picture[self._place(truth, lost)] = (0, 0, 0)
        new = np.setdiff1d(np.flatnonzero(returns(noisy)), pairs.noisy)
        picture[self._place(noisy, new)] = (204, 121, 167)
        error = ranges_m(noisy)[pairs.noisy] - ranges_m(truth)[pairs.true]
        limit = float(np.percentile(np.abs(error), NEAR_SHARE)) if len(error) else 0.0
        picture[self._place(truth, pairs.true)] = diverging(error / (limit or 1.0))
        return picture, limit


def _from_above(name: str, title: str, cloud: Cloud, view: _View) -> Figure:
    xyz = cloud.xyz()[returns(cloud)].astype(np.float64)
    picture = np.full((VIEW_PX, VIEW_PX, 3), PAPER, np.uint8)
    low_xy, size_m = np.array([view.x_m, view.y_m]), view.size_m
    place = np.floor((xyz[:, :2] - low_xy) / size_m * VIEW_PX).astype(np.intp)
    inside = ((place >= 0) & (place < VIEW_PX - 1)).all(axis=1)
    height = xyz[inside, 2]
    order = np.argsort(height, kind="stable")
    low, high = np.percentile(height, (2, 98)) if len(height) else (0.0, 1.0)
    share = (height[order] - low) / max(high - low, 1e-6)
    column, line = place[inside][order].T
    for right, up in np.ndindex(2, 2):  # two by two pixels a point
        picture[VIEW_PX - 1 - line - up, column + right] = cividis(share)
    x, y = (view.x_m, view.x_m + size_m), (view.y_m, view.y_m + size_m)
    plot = Plot(x, y, labels=("x, m", "y, m"), size=(492, 474), title=title)
    plot.image(data_uri(png(picture)), x, y)
    caption = f"{int(returns(cloud).sum())} points; dark is low, bright is high."
    return Figure(name, title, caption, plot.text())


def _residual_figures(measured: dict[str, Any], key: str) -> Iterator[Figure]:
    for kind, name in (("by_range", "range"), ("by_ring", "ring")):
        rows = [row for row in measured[kind] if row["points"]]
        if not rows:
            continue
        bounds = [s * (row["std"] + abs(row["mean"])) for row in rows for s in (-1, 1)]
        low, high = min(bounds), max(bounds)
        room = (high - low) * 0.1 or 0.01
        limits = (low - room, high + room)
        labels = ("", "m")
        plot = Plot((-0.5, len(rows) - 0.5), limits, labels=labels, title=f"Range error by {name}")
        places = [float(n) for n in range(len(rows))]
        for place, row in zip(places, rows, strict=True):
            ends = [row["mean"] - row["std"], row["mean"] + row["std"]]
            plot.line([place, place], ends, SERIES[3])
        means = [row["mean"] for row in rows]
        plot.points(places, means, SERIES[5], radius=3.5, opacity=1)
        step = max(1, len(rows) // 16)
        names = [(p, str(row[name])) for p, row in zip(places, rows, strict=True)]
        plot.names(names[::step], "x")
        caption = f"Mean (dot) and deviation (line) of noisy minus true range, by {name}."
        yield Figure(f"{key}-error-by-{name}", f"Range error by {name}", caption, plot.text())


class _View(NamedTuple):
    """The square that is seen from above: its lowest x and y, and its side."""

    x_m: float
    y_m: float
    size_m: float


def _view(*clouds: Cloud) -> _View:
    """Return the smallest square around most points."""
    every = np.concatenate([c.xyz()[returns(c)][:, :2].astype(np.float64) for c in clouds])
    if not len(every):
        return _View(-1.0, -1.0, 2.0)
    far = 100 - NEAR_SHARE
    low, high = np.percentile(every, (far / 2, 100 - far / 2), axis=0)
    size_m = max(1.0, 1.1 * float((high - low).max()))
    x_m, y_m = ((low + high) / 2 - size_m / 2).tolist()
    return _View(x_m, y_m, size_m)


def _elevation_deg(cloud: Cloud) -> NDArray[np.float64]:
    xyz = cloud.xyz().astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        angle: NDArray[np.float64] = np.degrees(
            np.arctan2(xyz[:, 2], np.hypot(xyz[:, 0], xyz[:, 1]))
        )
    return angle
