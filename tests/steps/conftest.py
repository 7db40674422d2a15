from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from bagnoise.messages.payload import ConeClass, Cones, source_rows
from bagnoise.steps.base import Moment

MakeCones = Callable[..., Cones]


@pytest.fixture
def make_cones() -> MakeCones:
    """Make cones from (x, y) or (x, y, z) rows and classes; every optional column is filled."""

    def make(xyz: Sequence[Sequence[float]], color: Sequence[int] | None = None) -> Cones:
        points = np.array([(*row, 0.0)[:3] for row in xyz], float).reshape(-1, 3)
        count = len(points)
        cones = Cones(
            stamp_ns=1_700_000_000_000_000_123,
            frame_id="base_footprint",
            xyz=points,
            color=np.array([ConeClass.BLUE] * count if color is None else color, np.int8),
            index=source_rows(count),
            source_count=count,
            covariance=np.tile(np.eye(3), (count, 1, 1)),
            probabilities=np.eye(5)[[0] * count] if count else np.zeros((0, 5)),
            ids=np.arange(100, 100 + count),
            extra={"note": np.arange(count, dtype=np.float32)},
        )
        for array in (cones.xyz, cones.color, cones.index):
            array.setflags(write=False)  # a step that changes its input fails
        return replace(cones)

    return make


@pytest.fixture
def moment() -> Moment:
    return Moment((0, "s", "step", 5, 0), 1_700_000_000_100_000_000)
