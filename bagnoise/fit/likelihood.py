"""Maximum likelihood with few parameters, and a covariance that forgives a wrong model.

Newton's method on numeric derivatives of the log likelihood of each sample. The covariance is
H^-1 M H^-1 with the Hessian H of the sum and M the sum of squared scores of clusters (White 1982;
Liang and Zeger 1986): right where samples are correlated within a cluster, or not quite normal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    LogLikelihood = Callable[[NDArray[np.float64]], NDArray[np.float64]]

_STEP = 1e-4
_ROUNDS = 60
_HALVINGS = 25
_DONE = 1e-9


@dataclass(frozen=True)
class Maximum:
    """Where the likelihood is largest.

    Attributes:
        at: the parameters, (k,).
        covariance: of them, (k, k).
        degrees: how many independent clusters the covariance rests on, less the parameters.
    """

    at: NDArray[np.float64]
    covariance: NDArray[np.float64]
    degrees: int


def maximize(
    log_likelihood: LogLikelihood,
    start: NDArray[np.float64],
    clusters: NDArray[np.intp] | None = None,
) -> Maximum:
    """Find the maximum over parameters (k,) that are of order 1.

    Args:
        log_likelihood: parameters (k,) -> log density of each sample, (n,).
        start: where to begin, (k,).
        clusters: (n,) samples of one number are not independent; None: all are.
    """
    at = np.array(start, np.float64)
    value = float(log_likelihood(at).sum())
    for _ in range(_ROUNDS):
        scores = _scores(log_likelihood, at)
        gradient = scores.sum(axis=0)
        step = np.linalg.solve(_curvature(log_likelihood, at, scores), gradient)
        at, gained = _climbed(log_likelihood, at, value, step)
        value += gained
        if gained < _DONE:
            break
    scores = _scores(log_likelihood, at)
    return sandwich(at, _curvature(log_likelihood, at, scores), scores, clusters)


def sandwich(
    at: NDArray[np.float64],
    curvature: NDArray[np.float64],
    scores: NDArray[np.float64],
    clusters: NDArray[np.intp] | None,
) -> Maximum:
    """Return a maximum (k,) with its covariance, of minus the Hessian (k, k) and scores (n, k)."""
    inverse = np.linalg.inv(curvature)
    grouped = scores if clusters is None else _sums(scores, clusters)
    groups, k = grouped.shape
    correction = groups / max(groups - 1, 1)
    covariance = inverse @ (correction * grouped.T @ grouped) @ inverse
    return Maximum(at, covariance, groups - k)


def _climbed(
    log_likelihood: LogLikelihood,
    at: NDArray[np.float64],
    value: float,
    step: NDArray[np.float64],
) -> tuple[NDArray[np.float64], float]:
    for _ in range(_HALVINGS):
        gained = float(log_likelihood(at + step).sum()) - value
        if gained >= 0:
            return at + step, gained
        step = step / 2
    return at, 0.0


def _scores(log_likelihood: LogLikelihood, at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return derivatives of each sample's log likelihood, (n, k)."""
    axes = np.eye(len(at)) * _STEP
    slopes = [(log_likelihood(at + a) - log_likelihood(at - a)) / (2 * _STEP) for a in axes]
    return np.column_stack(slopes)


def _curvature(
    log_likelihood: LogLikelihood, at: NDArray[np.float64], scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return minus the Hessian of the sum, (k, k); far from the maximum the scores' products."""
    k, h = len(at), 10 * _STEP
    hessian = np.empty((k, k))
    axes = np.eye(k) * h
    for i in range(k):
        for j in range(i + 1):
            total = sum(
                a * b * float(log_likelihood(at + a * axes[i] + b * axes[j]).sum())
                for a in (1, -1)
                for b in (1, -1)
            )
            hessian[i, j] = hessian[j, i] = -total / (4 * h * h)
    if np.isfinite(hessian).all() and np.linalg.eigvalsh(hessian)[0] > 0:
        return hessian
    return scores.T @ scores + 1e-9 * np.eye(k)


def _sums(scores: NDArray[np.float64], clusters: NDArray[np.intp]) -> NDArray[np.float64]:
    _, place = np.unique(clusters, return_inverse=True)
    total = np.zeros((int(place.max()) + 1, scores.shape[1]))
    np.add.at(total, place, scores)
    return total
