"""Speed of the corruption steps over one dense cloud.

Run: python benchmarks/corruptions.py [--repeats 15]. Prints milliseconds for the cloud of
benchmarks/weather.py, with draws and with the copy that each step makes.
"""

from __future__ import annotations

import argparse
from typing import Any

from weather import dense_cloud, median_ms, peak_mb

from bagnoise.steps.base import CloudStep, Moment
from bagnoise.steps.registry import STEPS

CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("crosstalk", {"fraction": 0.01}),
    ("crosstalk", {"fraction": 0.01, "distribution": "normal", "intensity": [0.0, 100.0]}),
    ("sun", {"within_deg": 40.0, "lost_probability": 0.8, "noise_probability": 0.5}),
    ("motion_blur", {"velocity_m_s": [15.0, 0.0, 0.0], "yaw_rate_deg_s": 30.0}),
    ("motion_blur", {"shift_std_m": 0.1, "jitter_std_m": [0.01, 0.01, 0.005]}),
    ("motion_blur", {"shift_std_m": 0.1, "turn_std_deg": 0.5, "parts": 100}),
    ("incomplete_echo", {"probability": 0.85, "faint_below": 20.0}),
    ("beam_missing", {"share": 0.5}),
    ("cutout", {"patches": 10}),
    ("cutout", {"patches": 10, "nearest_share": 0.02}),
)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    cloud = dense_cloud()
    moment = Moment((0, "bench", "step", 0, 0), cloud.stamp_ns)
    print(f"{len(cloud)} points, median of {repeats}")
    print(f"{'step':16}{'ms':>8}{'cpu ms':>8}{'peak MB':>9}  options")
    for name, options in CASES:
        step = STEPS[name].model_validate(options)
        assert isinstance(step, CloudStep)

        def job(step: CloudStep = step) -> object:
            return step.on_cloud(cloud, moment)

        said = ", ".join(f"{key}={value}" for key, value in options.items())
        job()  # the first run warms caches and does not count
        wall, processor = median_ms(job, repeats)
        print(f"{name:16}{wall:8.1f}{processor:8.1f}{peak_mb(job):9.1f}  {said}")


if __name__ == "__main__":
    main()
