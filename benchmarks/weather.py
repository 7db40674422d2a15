"""Speed of the weather steps over one dense cloud.

Run: python benchmarks/weather.py [--repeats 15]. Prints milliseconds for a cloud of 131 072 points
of 22 bytes, with draws and with the copy that each step makes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(threads, "1")
sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "tests" / "lidar")]

import numpy as np  # noqa: E402
from analytic_scene import scan  # noqa: E402

from bagnoise.messages.cloud import Cloud  # noqa: E402
from bagnoise.messages.point_fields import PointField, point_dtype  # noqa: E402
from bagnoise.steps.base import CloudStep, Moment  # noqa: E402
from bagnoise.steps.registry import STEPS  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

POINTS = 131_072
FIELDS = (
    PointField("x", 0, 7),
    PointField("y", 4, 7),
    PointField("z", 8, 7),
    PointField("intensity", 12, 7),
    PointField("ring", 16, 4),
    PointField("time", 18, 7),
)
CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("fog", {"meteorological_range_m": 50.0}),
    ("fog", {"meteorological_range_m": 50.0, "patchiness": 0.0}),
    ("rain", {"rate_mm_h": 30.0}),
    ("rain", {"rate_mm_h": 30.0, "returns": "last"}),
    ("snow", {"rate_mm_h": 2.5}),
    ("snow", {"rate_mm_h": 1.5, "terminal_velocity_m_s": 0.4}),
    ("wet_ground", {"water_depth_mm": 1.0}),
    ("wet_ground", {"water_depth_mm": 1.0, "noise_floor": 0.7}),
)


def dense_cloud() -> Cloud:
    """Scan the analytic scene with as many points, of reflectivities from 5 to 80 percent."""
    xyz = scan(columns=2048, rings=128)
    rng = np.random.default_rng(1)
    xyz = xyz[np.sort(rng.permutation(len(xyz))[:POINTS])]
    points = np.zeros(len(xyz), point_dtype(FIELDS, 22))
    for name, column in zip("xyz", xyz.T, strict=True):
        points[name] = column
    points["intensity"] = rng.uniform(5, 80, len(xyz))
    points["ring"] = np.arange(len(xyz)) % 64
    return Cloud(1_700_000_000_000_000_000, "velodyne", FIELDS, points, 1, len(xyz), 22)


def median_ms(job: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Time a job by the clock and by the processor, whatever else the machine does."""
    wall, processor = [], []
    for _ in range(repeats):
        start, used = time.perf_counter(), time.process_time()
        job()
        wall.append(time.perf_counter() - start)
        processor.append(time.process_time() - used)
    return 1e3 * statistics.median(wall), 1e3 * statistics.median(processor)


def peak_mb(job: Callable[[], Any]) -> float:
    """Return the memory that a job takes beside its input."""
    tracemalloc.start()
    job()
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return peak


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    cloud = dense_cloud()
    print(f"{len(cloud)} points, median of {repeats}")
    print(f"{'step':72}{'first ms':>9}{'ms':>8}{'cpu ms':>8}{'peak MB':>9}")
    for name, options in CASES:
        step = STEPS[name].model_validate(options)
        assert isinstance(step, CloudStep)
        moment = Moment((0, "points", name, 7, 0), cloud.stamp_ns)

        def job(step: CloudStep = step, moment: Moment = moment) -> Cloud | None:
            return step.on_cloud(cloud, moment)

        start = time.perf_counter()
        job()
        first = 1e3 * (time.perf_counter() - start)
        took, used = median_ms(job, repeats)
        text = f"{name} " + " ".join(f"{key}={value}" for key, value in options.items())
        print(f"{text:72}{first:9.1f}{took:8.1f}{used:8.1f}{peak_mb(job):9.1f}")


if __name__ == "__main__":
    main()
