"""What was made of a topic of cones: residuals, detection, false positives, confusion."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from bagnoise.compare.labels import Truth
from bagnoise.compare.matching import nearest
from bagnoise.messages.payload import ConeClass, somewhere

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from bagnoise.compare.labels import Labels
    from bagnoise.compare.samples import Shown, Track
    from bagnoise.messages.payload import Cones

CLASS_NAMES = tuple(cone.name.lower() for cone in ConeClass)
AXES = ("x", "y", "z", "along ray", "across ray")
CLASS_COUNT = len(ConeClass)


@dataclass(frozen=True)
class ConeRows:
    """Every detection that has a true cone, and the counts of the others.

    Attributes:
        residual_m: (n, 5) measured minus true, along `AXES`.
        true_xyz: (n, 3) where the true cone is.
        message: (n,) index of the message in the noisy track.
        shown: (n,) index of the truth's message, -1 where it is not known.
        row: (n,) row of the true cone.
        confusion: (5, 6) true class x measured class, the last column undetected.
        bins_m: edges of the range bins, the last open.
        true_by_bin, found_by_bin: cones of the truth, and those detected, by range.
        false_positives: detections without a true cone.
        messages: compared ones; unpaired: those that show no message of the truth.
        nowhere: true cones and detections without a finite position, which are left out.
    """

    residual_m: NDArray[np.float64]
    true_xyz: NDArray[np.float64]
    message: NDArray[np.intp]
    shown: NDArray[np.intp]
    row: NDArray[np.intp]
    confusion: NDArray[np.int64]
    bins_m: tuple[float, ...]
    true_by_bin: NDArray[np.int64]
    found_by_bin: NDArray[np.int64]
    false_positives: int
    messages: int
    unpaired: int
    nowhere: tuple[int, int]

    @property
    def true_range_m(self) -> NDArray[np.float64]:
        """Return how far each true cone is in x and y, (n,)."""
        return np.hypot(self.true_xyz[:, 0], self.true_xyz[:, 1])


def gather(
    truth: Track,
    noisy: Track,
    shown: Shown,
    *,
    labels: Labels | None,
    gate_m: float,
    bins_m: Sequence[float],
) -> ConeRows:
    """Match every detection of a topic with the truth that its message shows."""
    book = _Book(tuple(bins_m))
    for number, (cones, index) in enumerate(zip(noisy.payloads, shown.truth, strict=True)):
        true = None if labels is None else labels.of(noisy, number, len(cones))
        if true is None and labels is None and index is not None:
            true = nearest(truth.payloads[index], cones, gate_m)
        if true is None:
            book.unpaired += 1
        else:
            book.add(number, -1 if index is None else index, true, cones)
    return book.rows()


class _Book:
    """Gathers what single messages say."""

    def __init__(self, bins_m: tuple[float, ...]) -> None:
        self.bins_m = bins_m
        self.unpaired = 0
        self._messages = 0
        self._nowhere = [0, 0]
        self._false_positives = 0
        self._confusion = np.zeros((CLASS_COUNT, CLASS_COUNT + 1), np.int64)
        self._true = np.zeros(len(bins_m), np.int64)
        self._found = np.zeros(len(bins_m), np.int64)
        self._residual: list[NDArray[np.float64]] = []
        self._xyz: list[NDArray[np.float64]] = []
        self._where: list[NDArray[np.intp]] = []

    def add(self, number: int, shown: int, truth: Truth, cones: Cones) -> None:
        truth, cones = self._placed(truth, cones)
        found = truth.place >= 0
        rows = truth.place[found]
        self._messages += 1
        self._false_positives += int((~found).sum())
        self._residual.append(residuals(truth.xyz[rows], cones.xyz[found]))
        self._xyz.append(truth.xyz[rows])
        where = np.full((len(rows), 3), (number, shown, 0), np.intp)
        where[:, 2] = truth.row[rows]
        self._where.append(where)
        np.add.at(self._confusion, (truth.color[rows], cones.color[found]), 1)
        missed = np.ones(len(truth.xyz), bool)
        missed[rows] = False
        self._confusion[:, CLASS_COUNT] += np.bincount(
            truth.color[missed].astype(np.intp), minlength=CLASS_COUNT
        )
        bins = bin_of(truth.xyz, self.bins_m)
        self._true += np.bincount(bins, minlength=len(self.bins_m))
        self._found += np.bincount(bins[np.unique(rows)], minlength=len(self.bins_m))

    def _placed(self, truth: Truth, cones: Cones) -> tuple[Truth, Cones]:
        """Leave out cones that are nowhere, and detections of such."""
        known, seen = somewhere(truth.xyz), somewhere(cones.xyz)
        if known.all() and seen.all():
            return truth, cones
        self._nowhere[0] += int((~known).sum())
        self._nowhere[1] += int((~seen).sum())
        is_real = truth.place >= 0
        seen = seen & (~is_real | known[truth.place])
        place = np.where(is_real, (np.cumsum(known) - 1)[truth.place], -1)
        rest = Truth(truth.xyz[known], truth.color[known], truth.row[known], place[seen])
        return rest, cones.take(np.flatnonzero(seen))

    def rows(self) -> ConeRows:
        where = np.concatenate([np.zeros((0, 3), np.intp), *self._where])
        return ConeRows(
            np.concatenate([np.zeros((0, len(AXES))), *self._residual]),
            np.concatenate([np.zeros((0, 3)), *self._xyz]),
            where[:, 0],
            where[:, 1],
            where[:, 2],
            self._confusion,
            self.bins_m,
            self._true,
            self._found,
            self._false_positives,
            self._messages,
            self.unpaired,
            (self._nowhere[0], self._nowhere[1]),
        )


def residuals(true_xyz: NDArray[np.float64], xyz: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return measured minus true, (n, 5): x, y, z, then along and across the ray in x and y.

    The ray goes from the frame's origin to the true cone; across is positive to its left.
    """
    error = xyz - true_xyz
    range_m = np.hypot(true_xyz[:, 0], true_xyz[:, 1])
    safe = np.where(range_m > 0, range_m, 1.0)
    ray = true_xyz[:, :2] / safe[:, None]
    along = (error[:, :2] * ray).sum(axis=1)
    across = error[:, 1] * ray[:, 0] - error[:, 0] * ray[:, 1]
    return np.column_stack([error, along, across])


def bin_of(xyz: NDArray[np.float64], bins_m: Sequence[float]) -> NDArray[np.intp]:
    """Return the range bin of positions (n, 3): the last edge that is not beyond the range."""
    range_m = np.hypot(xyz[:, 0], xyz[:, 1])
    found = np.searchsorted(np.asarray(bins_m), range_m, side="right") - 1
    return np.clip(found, 0, len(bins_m) - 1).astype(np.intp)


def bin_names(bins_m: Sequence[float]) -> list[str]:
    """Name the range bins: ``0-5 m`` … ``30 m and more``."""
    names = [f"{a:g}-{b:g} m" for a, b in pairwise(bins_m)]
    return [*names, f"{bins_m[-1]:g} m and more"]


def measures(rows: ConeRows) -> dict[str, Any]:
    """Sum the rows up as JSON data."""
    total, found = int(rows.true_by_bin.sum()), int(rows.found_by_bin.sum())
    bins = bin_of(rows.true_xyz, rows.bins_m)
    return {
        "messages": rows.messages,
        "messages_without_truth": rows.unpaired,
        "matched": len(rows.residual_m),
        "nowhere": {"true_cones": rows.nowhere[0], "detections": rows.nowhere[1]},
        "residual_m": _by_axis(rows.residual_m),
        "true_cones": total,
        "detection_rate": found / total if total else None,
        "false_positives": rows.false_positives,
        "false_positives_per_message": (
            rows.false_positives / rows.messages if rows.messages else None
        ),
        "by_range": [
            {
                "range": name,
                "true_cones": int(true),
                "detection_rate": float(hit / true) if true else None,
                "residual_m": _by_axis(rows.residual_m[bins == number]),
            }
            for number, (name, true, hit) in enumerate(
                zip(bin_names(rows.bins_m), rows.true_by_bin, rows.found_by_bin, strict=True)
            )
        ],
        "confusion": {
            name: dict(zip((*CLASS_NAMES, "undetected"), row.tolist(), strict=True))
            for name, row in zip(CLASS_NAMES, rows.confusion, strict=True)
            if row.any()
        },
    }


def _by_axis(residual_m: NDArray[np.float64]) -> dict[str, dict[str, float]] | None:
    if not len(residual_m):
        return None
    return {
        name: {"mean": float(column.mean()), "std": float(column.std())}
        for name, column in zip(AXES, residual_m.T, strict=True)
    }


def classes_seen(confusion: Iterable[Iterable[int]]) -> list[str]:
    """Name the true classes that were detected at least once."""
    rows = [list(row) for row in confusion]
    return [name for name, row in zip(CLASS_NAMES, rows, strict=True) if any(row[:-1])]
