from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
from statistics_checks import mean_is, std_is

from bagnoise.errors import UsageError
from bagnoise.geometry import apply, matrix_from_rpy_deg, transform
from bagnoise.lidar.misalign import drift, misaligned

if TYPE_CHECKING:
    from numpy.typing import NDArray

CLOUD = np.random.default_rng(2).uniform(-30, 30, (500, 3)).astype(np.float32)


def test_a_sensor_turned_left_sees_everything_turned_right() -> None:
    moved = misaligned(np.array([[10.0, 0, 0]]), np.eye(4), [0, 0, 0], [0, 0, 90])
    assert moved.xyz[0] == pytest.approx([0, -10, 0], abs=1e-9)
    moved = misaligned(np.array([[10.0, 0, 0]]), np.eye(4), [1, 0, 0], [0, 0, 0])
    assert moved.xyz[0] == pytest.approx([9, 0, 0])


def test_the_error_is_in_the_sensors_axes_wherever_the_cloud_is() -> None:
    base_from_sensor = transform(matrix_from_rpy_deg([0, 0, 90]), [1, 2, 3])
    inside = misaligned(CLOUD, np.eye(4), [0.1, 0, 0], [1, 2, 3])
    outside = misaligned(apply(base_from_sensor, CLOUD), base_from_sensor, [0.1, 0, 0], [1, 2, 3])
    assert outside.xyz == pytest.approx(apply(base_from_sensor, inside.xyz), abs=1e-4)


def test_no_error_and_misses_keep_their_bits() -> None:
    same = misaligned(CLOUD, np.eye(4), [0, 0, 0], [0, 0, 0])
    assert same.xyz.tobytes() == CLOUD.tobytes()
    assert not same.changed.any()
    cloud = CLOUD.copy()
    cloud[0, 0] = np.nan
    cloud[1] = 0
    moved = misaligned(cloud, np.eye(4), [1, 0, 0], [0, 0, 0])
    assert moved.xyz[:2].tobytes() == cloud[:2].tobytes()
    assert moved.changed.tolist() == [False, False] + [True] * 498


def knot_of(seed: int, number: int) -> NDArray[np.float64]:
    return np.random.default_rng((seed, number + 100)).standard_normal(6)


@pytest.mark.parametrize("t_ns", [0, 250, 500, 999])
def test_drift_is_standard_normal_at_every_instant(t_ns: int) -> None:
    draws = np.concatenate([drift(t_ns, 1000, partial(knot_of, seed)) for seed in range(4000)])
    assert std_is(draws, 1)
    assert mean_is(draws, 0, 1)
    assert not std_is(draws, 1.05)


def test_drift_is_slow_and_does_not_depend_on_order() -> None:
    base = 1_700_000_000_000_000_000
    times = base + np.arange(0, 10_000, 10)
    path = np.array([drift(int(t), 1000, lambda n: knot_of(1, n % 1000)) for t in times])
    assert np.abs(np.diff(path, axis=0)).max() < 0.1
    assert path.std() > 0.5
    again = drift(int(times[500]), 1000, lambda n: knot_of(1, n % 1000))
    assert again.tolist() == path[500].tolist()
    with pytest.raises(UsageError, match="above 0"):
        drift(0, 0, lambda n: knot_of(1, n))
