"""Draw what each corruption step does to the sample scan, from above.

    python docs/make_corruption_pictures.py [OUTPUT_DIR]

Writes ``docs/pictures/corruption-*.png``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from make_cloud_pictures import REACH_M, applied, first_scan
from matplotlib import pyplot as plt

from bagnoise.messages.cloud_misses import hits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bagnoise.messages.cloud import Cloud

ROOT = Path(__file__).parents[1]
SHOWN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "crosstalk": (
        {"fraction": 0.05, "distribution": "normal", "std_m": 3.0},
        {"fraction": 0.05, "limits_m": [0.5, 100.0]},
    ),
    "sun": (
        {"noise_probability": 0.05, "within_deg": 180.0, "falloff": "none"},
        {"azimuth_deg": 30.0, "elevation_deg": 5.0, "within_deg": 40.0, "lost_probability": 1.0},
    ),
    "motion_blur": (
        {"shift_std_m": 0.5, "jitter_std_m": [0.05, 0.05, 0.03]},
        {"velocity_m_s": [15.0, 0.0, 0.0], "yaw_rate_deg_s": 90.0},
    ),
    "incomplete_echo": (
        {"probability": 0.85, "faint_below": 5.0},
        {"probability": 0.95, "boxes": [[0.0, 0.0, -0.5, 12.0, 12.0, 3.0]]},
    ),
    "beam_missing": ({"share": 0.5}, {"keep": 4}),
    "cutout": (
        {"patches": 10, "nearest_share": 0.02},
        {"patches": 10, "radius_deg": 6.0},
    ),
}


def draw(axes: Axes, before: Cloud, after: Cloud, title: str) -> None:
    """Draw what stayed, what moved and what is gone."""
    was, there = hits(before), hits(after)
    old, new = before.xyz(), after.xyz()
    moved = was & there & (np.abs(old - new) > 1e-6).any(axis=1)
    lost, kept = was & ~there, there & ~moved
    for rows, where, color, label in (
        (kept, old, "#3182bd", f"kept: {kept.sum() / was.sum():.0%}"),
        (lost, old, "#fdae6b", f"lost: {lost.sum() / was.sum():.0%}"),
        (moved, old, "#c6dbef", "where they were"),
        (moved, new, "#e34a33", f"moved: {moved.sum() / was.sum():.0%}"),
    ):
        if rows.any():
            axes.scatter(where[rows, 0], where[rows, 1], s=1.2, color=color, label=label)
    axes.plot(0, 0, "^", color="black", markersize=6)
    axes.set(xlim=(-3, REACH_M), ylim=(-12, 12), aspect="equal", xlabel="x, m", ylabel="y, m")
    axes.set_title(title, fontsize=9)
    axes.legend(loc="upper right", markerscale=5, fontsize=8)


def main() -> int:
    """Draw all."""
    mpl.use("Agg")
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    cloud = first_scan()
    for name, cases in SHOWN.items():
        figure, axes = plt.subplots(1, 2, figsize=(10, 4.9), layout="constrained")
        for place, options in zip(axes, cases, strict=True):
            parts = [f"{key}={value}" for key, value in options.items()]
            title = f"{name}\n{', '.join(parts[:2])}\n{', '.join(parts[2:])}"
            draw(place, cloud, applied(cloud, name, options), title.rstrip())
        figure.savefig(folder / f"corruption-{name}.png", dpi=75)
        plt.close(figure)
    return 0


if __name__ == "__main__":
    sys.exit(main())
