"""Which class a cone is seen as, and where its color is lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.compare.cones import CLASS_NAMES
from bagnoise.fit.estimate import Estimate, share_interval
from bagnoise.messages.payload import ConeClass

if TYPE_CHECKING:
    from numpy.typing import NDArray

CLASS_COUNT = len(ConeClass)
LEAST = 20  # cones of a class that its row of the matrix needs
STRIPPED = 0.999  # share of unknown from which on all color is taken away


@dataclass(frozen=True)
class Confusion:
    """Chances of the seen class for each true class, as far as it was there often enough.

    Attributes:
        rows: true class -> seen class -> chance.
        stripped: no cone keeps its color.
        counts: (5, 5) as counted, true x seen.
    """

    rows: dict[int, dict[int, Estimate]]
    stripped: bool
    counts: NDArray[np.int64]

    @property
    def is_identity(self) -> bool:
        """Whether every cone may be seen as what it is, as far as the counts tell."""
        return all(row[c].high >= 1 for c, row in self.rows.items())


def confusion(
    true: NDArray[np.int8],
    seen: NDArray[np.int64],
    stray: float,
    stray_colors: NDArray[np.int64],
) -> Confusion:
    """Estimate the matrix from single matches.

    A share of the matches is of false positives, whose classes are known from where no cone is;
    that share is taken out: n(true, seen) - stray * n(true) * share of seen among false ones.

    Args:
        true: (n,) true class of cones with exactly one detection within the gate.
        seen: (n,) its class.
        stray: share of them that are false positives.
        stray_colors: (5,) classes of those where no cone is.
    """
    counts = np.zeros((CLASS_COUNT, CLASS_COUNT), np.int64)
    np.add.at(counts, (true.astype(np.intp), seen.astype(np.intp)), 1)
    total = int(stray_colors.sum())
    false = stray_colors / total if total else np.zeros(CLASS_COUNT)
    rows = {}
    for c in range(CLASS_COUNT):
        n = int(counts[c].sum())
        if n < LEAST:
            continue
        rows[c] = {
            k: _without(int(counts[c, k]), n, stray, float(false[k])) for k in range(CLASS_COUNT)
        }
    colored = counts[: ConeClass.UNKNOWN]
    every = int(colored.sum())
    stripped = every > 0 and int(colored[:, ConeClass.UNKNOWN].sum()) >= STRIPPED * every
    return Confusion(rows, stripped, counts)


def _without(hits: int, n: int, stray: float, false: float) -> Estimate:
    low, high = share_interval(hits, n)
    share = hits / n
    a, b, c = ((s - stray * false) / max(1 - stray, 1e-9) for s in (share, low, high))
    return Estimate("confusion", a, b, c, n).clipped(0.0, 1.0)


def as_chances(row: dict[int, Estimate]) -> dict[str, float]:
    """Return a row as the recipe writes it: no zeros, the sum exactly 1 at six digits."""
    values = {k: round(e.value, 6) for k, e in row.items() if round(e.value, 6) > 0}
    largest = max(values, key=lambda k: values[k])
    values[largest] = round(values[largest] + 1 - sum(values.values()), 6)
    return {CLASS_NAMES[k]: v for k, v in values.items()}
