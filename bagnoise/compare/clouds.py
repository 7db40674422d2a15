"""What was made of a topic of point clouds: points kept, range residuals, misses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from bagnoise.compare.cones import bin_names
from bagnoise.errors import MessageError
from bagnoise.messages.cloud_misses import hits
from bagnoise.messages.cloud_rings import rings
from bagnoise.messages.payload import FARTHEST_M

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bagnoise.messages.cloud import Cloud

BEAM_GATE_DEG = 0.2
ROWS = "row by row"
BEAMS = f"nearest direction within {BEAM_GATE_DEG} deg"
_NEAREST_M = 1e-9  # what is nearer has no direction


@dataclass
class CloudSums:
    """Sums over the messages of a topic, from which `measures` come.

    Residuals are noisy range minus true range; each table has (count, sum, sum of squares) a row.
    """

    bins_m: tuple[float, ...]
    messages: int = 0
    true_hits: int = 0
    hits: int = 0
    kept: int = 0
    extra: int = 0
    true_nowhere: int = 0
    nowhere: int = 0
    methods: set[str] = field(default_factory=set)
    by_range: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 3)))
    by_ring: dict[int, NDArray[np.float64]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make room for the bins."""
        self.by_range = np.zeros((len(self.bins_m), 3))

    def add(self, truth: Cloud, noisy: Cloud) -> None:
        """Compare one cloud with its truth."""
        pairs = match_points(truth, noisy)
        true_m, noisy_m = ranges_m(truth)[pairs.true], ranges_m(noisy)[pairs.noisy]
        error = noisy_m - true_m
        self.messages += 1
        self.methods.add(pairs.how)
        self.true_hits += pairs.true_hits
        self.hits += pairs.hits
        self.kept += len(error)
        self.extra += pairs.hits - len(error)
        self.true_nowhere += int(hits(truth).sum()) - pairs.true_hits
        self.nowhere += int(hits(noisy).sum()) - pairs.hits
        bins = np.clip(np.searchsorted(self.bins_m, true_m, side="right") - 1, 0, None)
        for number in np.unique(bins).tolist():
            self.by_range[number] += _sums(error[bins == number])
        for ring, some in _by_ring(truth, pairs.true, error).items():
            self.by_ring[ring] = self.by_ring.get(ring, np.zeros(3)) + some

    def measures(self) -> dict[str, Any]:
        """Sum up as JSON data."""
        return {
            "messages": self.messages,
            "matching": " / ".join(sorted(self.methods)),
            "true_points": self.true_hits,
            "points": self.hits,
            "kept": self.kept / self.true_hits if self.true_hits else None,
            "misses": self.true_hits - self.kept,
            "unmatched_points": self.extra,
            "nowhere": {"true_points": self.true_nowhere, "points": self.nowhere},
            "range_residual_m": _moments(self.by_range.sum(axis=0)),
            "by_range": [
                {"range": name, **(_moments(row) or {"points": 0})}
                for name, row in zip(bin_names(self.bins_m), self.by_range, strict=True)
            ],
            "by_ring": [
                {"ring": ring, **(_moments(row) or {"points": 0})}
                for ring, row in sorted(self.by_ring.items())
            ],
        }


@dataclass(frozen=True)
class PointPairs:
    """Rows of two clouds that are one beam, (n,) each, and how many `returns` each cloud has."""

    true: NDArray[np.intp]
    noisy: NDArray[np.intp]
    true_hits: int
    hits: int
    how: str


def returns(cloud: Cloud) -> NDArray[np.bool_]:
    """Tell which points can be compared, (n,): returns that are somewhere."""
    range_m = ranges_m(cloud)
    return hits(cloud) & (range_m >= _NEAREST_M) & (range_m <= FARTHEST_M)


def ranges_m(cloud: Cloud) -> NDArray[np.float64]:
    """Return how far the points are, (n,); NaN and infinity where they are nowhere."""
    with np.errstate(invalid="ignore", over="ignore"):
        range_m: NDArray[np.float64] = np.linalg.norm(cloud.xyz().astype(np.float64), axis=1)
    return range_m


def match_points(truth: Cloud, noisy: Cloud) -> PointPairs:
    """Pair the returns of two clouds: by row where they have equally many rows, else by beam."""
    true_hit, noisy_hit = returns(truth), returns(noisy)
    counts = int(true_hit.sum()), int(noisy_hit.sum())
    if len(truth) == len(noisy) and _same_beams(truth, noisy, true_hit & noisy_hit):
        both = np.flatnonzero(true_hit & noisy_hit)
        return PointPairs(both, both, *counts, ROWS)
    true_rows, noisy_rows = np.flatnonzero(true_hit), np.flatnonzero(noisy_hit)
    found, nearest = _nearest_beams(_directions(truth, true_rows), _directions(noisy, noisy_rows))
    return PointPairs(true_rows[nearest], noisy_rows[found], *counts, BEAMS)


def _same_beams(truth: Cloud, noisy: Cloud, both: NDArray[np.bool_]) -> bool:
    """Whether most rows point the same way, so that equal length is no accident."""
    rows = np.flatnonzero(both)
    if not len(rows):
        return True
    cosine = (_directions(truth, rows) * _directions(noisy, rows)).sum(axis=1)
    return bool(np.median(cosine) > np.cos(np.radians(BEAM_GATE_DEG)))


def _nearest_beams(
    true: NDArray[np.float64], noisy: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return (noisy rows, true rows) within the gate, one to one.

    Directions go to cells of a cube grid of the gate's size; only the 27 cells around each are
    searched.
    """
    gate = 2 * np.sin(np.radians(BEAM_GATE_DEG) / 2)
    true_cells, noisy_cells = (np.floor(d / gate).astype(np.int64) for d in (true, noisy))
    true_keys = _cell_keys(true_cells)
    order = np.argsort(true_keys, kind="stable")
    keys = true_keys[order]
    best = np.full(len(noisy), np.inf)
    best_row = np.full(len(noisy), -1, np.intp)
    for shift in np.ndindex(3, 3, 3):
        wanted = _cell_keys(noisy_cells + np.array(shift) - 1)
        at, end = np.searchsorted(keys, wanted), np.searchsorted(keys, wanted, side="right")
        while (at < end).any():
            rows = np.flatnonzero(at < end)
            candidates = order[at[rows]]
            distance = np.linalg.norm(noisy[rows] - true[candidates], axis=1)
            closer = distance < best[rows]
            best[rows[closer]], best_row[rows[closer]] = distance[closer], candidates[closer]
            at = at + 1
    good = np.flatnonzero(best <= gate)
    good = good[np.argsort(best[good], kind="stable")]
    _, first = np.unique(best_row[good], return_index=True)
    chosen = np.sort(good[first])
    return chosen, best_row[chosen]


def _cell_keys(cells: NDArray[np.int64]) -> NDArray[np.int64]:
    shifted = cells + (1 << 19)
    keys: NDArray[np.int64] = (shifted[:, 0] << 42) | (shifted[:, 1] << 21) | shifted[:, 2]
    return keys


def _directions(cloud: Cloud, rows: NDArray[np.intp]) -> NDArray[np.float64]:
    xyz = cloud.xyz()[rows].astype(np.float64)
    unit: NDArray[np.float64] = xyz / np.linalg.norm(xyz, axis=1, keepdims=True)
    return unit


def _by_ring(
    truth: Cloud, rows: NDArray[np.intp], error: NDArray[np.float64]
) -> dict[int, NDArray[np.float64]]:
    try:
        numbers = rings(truth)[rows]
    except MessageError:  # neither a field nor elevation tells
        return {}
    return {int(ring): _sums(error[numbers == ring]) for ring in np.unique(numbers)}


def _sums(error: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([len(error), error.sum(), (error**2).sum()])


def _moments(sums: Sequence[float] | NDArray[np.float64]) -> dict[str, Any] | None:
    count, total, squares = (float(value) for value in sums)
    if not count:
        return None
    mean = total / count
    return {
        "points": int(count),
        "mean": mean,
        "std": max(0.0, squares / count - mean**2) ** 0.5,
    }
