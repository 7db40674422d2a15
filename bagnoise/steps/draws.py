"""Draws for every source row, given to the rows that are still there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bagnoise.rng import RowDraws

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.messages.cloud import Cloud
    from bagnoise.messages.payload import Cones
    from bagnoise.steps.base import Moment


def of_rows(draws: NDArray[Any], index: NDArray[np.int32]) -> NDArray[Any]:
    """Return each row's own draws: ``draws`` (m, ...) by source row, 0 for false positives."""
    if not len(draws):
        return np.zeros((len(index), *draws.shape[1:]), draws.dtype)
    own = draws.take(index, axis=0, mode="wrap")
    ghosts = index < 0
    if ghosts.any():
        own[ghosts] = 0
    return own


def row_draws(cloud: Cloud, moment: Moment, purpose: str = "") -> RowDraws:
    """Return the draws of a cloud's points at a step; see `Moment.generator`."""
    return RowDraws(moment.generator(purpose), cloud.source_rows, cloud.source_count)


def shuffled_rows(cones: Cones, generator: np.random.Generator) -> NDArray[np.intp]:
    """Return a random order of the rows, (n,): each source row has its own draw, then the rest."""
    by_source = generator.random(cones.source_count)
    rank = of_rows(by_source, cones.index)
    ghosts = cones.index < 0
    if ghosts.any():
        rank[ghosts] = generator.random(len(cones))[ghosts]
    order: NDArray[np.intp] = rank.argsort(kind="stable")
    return order
