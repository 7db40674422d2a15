"""Seeing one class for another: outcome matrices, draws from them, what they say of the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from bagnoise.messages.payload import ConeClass

if TYPE_CHECKING:
    from numpy.typing import NDArray

Outcome = Literal["blue", "yellow", "small_orange", "big_orange", "unknown", "undetected"]
UNDETECTED = len(ConeClass)  # the outcome behind the classes


def classes_out(chances: NDArray[np.float64], uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return what each cone is seen as: a class, or `UNDETECTED`.

    Args:
        chances: of each outcome, (n, 6), rows sum to 1.
        uniforms: draws in [0, 1), (n,).
    """
    sums = np.add.accumulate(chances, axis=1)
    # rounding may leave the last sum a little beside 1
    outcomes: NDArray[np.int64] = np.add.reduce(uniforms[:, None] * sums[:, -1:] >= sums, axis=1)
    return outcomes


def posteriors(matrices: NDArray[np.float64], seen: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return the chance of each true class given the seen one, (n, 5), all true classes alike.

    Bayes: P(true | seen) = matrix[true, seen] / sum over true; certain where nothing leads to it.
    """
    likelihood = matrices[np.arange(len(seen)), :, seen]
    total = likelihood.sum(axis=1, keepdims=True)
    certain = np.eye(len(ConeClass))[seen]
    return np.where(total > 0, likelihood / np.where(total > 0, total, 1), certain)
