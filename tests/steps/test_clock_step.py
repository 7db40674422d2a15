"""A sensor's clock that is wrong."""

from __future__ import annotations

import numpy as np
from statistics_checks import is_normal, std_is
from test_timing import EPOCH, MS, run

from bagnoise.steps.stamps import SensorClock


def test_offset_and_drift_move_stamps_only() -> None:
    out = run([SensorClock(offset_s=0.25, drift_ppm=100)], [EPOCH, EPOCH + 10_000 * MS])
    assert [s.stamp_shift_ns for s in out] == [250 * MS, 250 * MS + MS]  # 100 us/s over 10 s
    assert [s.log_ns for s in out] == [EPOCH, EPOCH + 10_000 * MS]


def test_jitter_is_normal() -> None:
    out = run([SensorClock(jitter_s=0.002)], [EPOCH + n * MS for n in range(20_000)])
    shifts = np.array([s.stamp_shift_ns for s in out]) / 1e9
    assert is_normal(shifts, 0, 0.002)
    assert std_is(shifts, 0.002)
    assert not std_is(shifts * 1.05, 0.002)
