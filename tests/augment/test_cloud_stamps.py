"""Where header stamps of clouds move, absolute point times move with them, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cloud_bags import cloud_at, clouds_in, raw_in
from small_bags import EPOCH, Sent

Run = Callable[..., Any]
MOVING = [
    "shift header_s=2",
    "shift header_s=2 | range_noise",
    "latency mean_s=2 move_stamp=true",
    "clock offset_s=2",
    "rate hz=10 | shift header_s=2",
    "misalign clock_s=2",
]
SINCE_S = np.arange(4) * 0.02


def timed(name: str, kind: str, times: Any, **more: Any) -> Sent:
    columns = {n: (4 * i, "f4", np.arange(1, 5)) for i, n in enumerate("xyz")}
    return cloud_at(EPOCH, {**columns, name: (12, kind, times)}, step=21, **more)


@pytest.mark.parametrize("steps", MOVING)
def test_absolute_point_times_move_with_the_stamp(run: Run, steps: str) -> None:
    sent = timed("timestamp", "f8", EPOCH / 1e9 + SINCE_S)
    (cloud,) = clouds_in(run([sent], streams=[f"/points | {steps}"]).path)
    assert cloud.stamp_ns == EPOCH + 2 * 10**9
    since = cloud.column("timestamp") - (EPOCH / 1e9 + 2)
    assert since == pytest.approx(SINCE_S, abs=1e-6)


@pytest.mark.parametrize("steps", MOVING)
def test_times_after_the_stamp_are_true_as_they_are(run: Run, steps: str) -> None:
    sent = timed("t", "u4", (SINCE_S * 1e9).astype(int))
    (cloud,) = clouds_in(run([sent], streams=[f"/points | {steps}"]).path)
    assert cloud.stamp_ns == EPOCH + 2 * 10**9
    assert cloud.column("t").tolist() == (SINCE_S * 1e9).astype(int).tolist()


def test_times_that_fit_no_stamp_are_left_alone_and_counted(run: Run) -> None:
    sent = timed("timestamp", "f8", np.full(4, 7.7e12))
    result = run([sent], streams=["/points | shift header_s=2"])
    (cloud,) = clouds_in(result.path)
    assert cloud.stamp_ns == EPOCH + 2 * 10**9
    assert cloud.column("timestamp").tolist() == [7.7e12] * 4
    assert sum("point times" in what for what in result.summary.streams[0].tally) == 1


def test_unset_stamps_and_their_point_times_stay(run: Run) -> None:
    sent = timed("timestamp", "f8", EPOCH / 1e9 + SINCE_S, stamp_ns=0)
    result = run([sent], streams=["/points | shift header_s=2"])
    assert [message.data for message in result.read("/points")] == [sent.data]


def test_a_broken_cloud_is_still_moved_by_time_steps(run: Run) -> None:
    whole = timed("timestamp", "f8", EPOCH / 1e9 + SINCE_S)
    cut = whole._replace(data=whole.data[:-30])
    (data,) = raw_in(run([cut], streams=["/points | shift header_s=2"]).path)
    assert data[12:] == cut.data[12:]
    assert data[4:12] != cut.data[4:12]
