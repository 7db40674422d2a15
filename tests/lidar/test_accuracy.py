"""Against exact ray casting: ours in all modes, beside the naive nearest direction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from analytic_scene import CAR, GROUND, POLE, SKY, cast, scan
from scipy.spatial import cKDTree

from bagnoise.lidar.beams import revolution
from bagnoise.lidar.models import find_model
from bagnoise.lidar.resample import CameraLidar, Mode
from bagnoise.lidar.spacing import source_spacing

if TYPE_CHECKING:
    from numpy.typing import NDArray

BEAMS = revolution(find_model("VLP-16"))
TRUTH_M, KINDS = cast((0, 0, 0), BEAMS.directions())
FOREGROUND = (KINDS == CAR) | (KINDS == POLE)


class Figures:
    """Shares of beams, and the error on the ground where it is the ground that was hit."""

    def __init__(self, range_m: NDArray[Any]) -> None:
        hit = np.isfinite(range_m)
        with np.errstate(invalid="ignore"):
            leaked = FOREGROUND & (~hit | (range_m > 1.1 * TRUTH_M))
        self.leaks = leaked.sum() / FOREGROUND.sum()
        self.ghosts = (hit & (KINDS == SKY)).sum() / (KINDS == SKY).sum()
        error = (range_m - TRUTH_M)[hit & (KINDS == GROUND)]
        close = np.abs(error) < 0.1 * TRUTH_M[hit & (KINDS == GROUND)]
        self.surfaces = close.mean()
        self.ground_rms_m = float(np.sqrt((error[close] ** 2).mean()))


def sensed(cloud: NDArray[np.float32], mode: Mode) -> Figures:
    lidar = CameraLidar(BEAMS, 0.2, 4, mode, source_spacing(cloud))
    return Figures(lidar.sense(cloud).range_m.astype(float))


def nearest_direction(cloud: NDArray[np.float32]) -> Figures:
    """What many tools do: no z-buffer at all."""
    ranges = np.linalg.norm(cloud, axis=1)
    tree = cKDTree(cloud / ranges[:, None])
    away, row = tree.query(BEAMS.directions())
    return Figures(np.where(away < np.radians(0.4), ranges[row], np.nan))


@pytest.fixture(scope="module")
def from_here() -> NDArray[np.float32]:
    return scan()


@pytest.fixture(scope="module")
def from_elsewhere() -> NDArray[np.float32]:
    return scan((-1.0, 0.0, 0.5))


@pytest.mark.parametrize("mode", ["visible", "plane"])
def test_from_the_same_origin(from_here: NDArray[np.float32], mode: Mode) -> None:
    figures = sensed(from_here, mode)
    assert figures.leaks <= 0.025
    assert figures.ghosts <= 0.01
    assert figures.surfaces > 0.98
    if mode == "plane":
        assert figures.ground_rms_m <= 0.06
    else:
        assert figures.ground_rms_m > 0.1  # what the plane is for


def test_from_elsewhere(from_elsewhere: NDArray[np.float32]) -> None:
    figures = sensed(from_elsewhere, "plane")
    assert figures.leaks <= 0.025
    assert figures.ghosts <= 0.01
    assert figures.ground_rms_m <= 0.06
    naive = nearest_direction(from_elsewhere)
    assert naive.leaks > 0.05
    assert naive.ghosts > 0.03


def test_nearest_needs_a_source_denser_than_its_pixels(from_here: NDArray[np.float32]) -> None:
    assert sensed(from_here, "nearest").leaks > 0.1
    dense = scan(columns=4096, rings=320)
    assert sensed(dense, "nearest").leaks < 0.03
