"""Draw what each cloud step does to the sample scan: range images and bird's-eye views.

    python docs/make_cloud_pictures.py [OUTPUT_DIR]

Writes ``docs/pictures/cloud-*.png`` and ``camera-lidar-*.png``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

from bagnoise.bags import open_bag
from bagnoise.lidar.beams import revolution
from bagnoise.lidar.camera import beam_pixels, texture_for
from bagnoise.lidar.models import find_model
from bagnoise.lidar.resample import CameraLidar, Mode
from bagnoise.lidar.spacing import source_spacing
from bagnoise.messages.cloud_misses import hits
from bagnoise.messages.registry import codec_of
from bagnoise.steps.base import CloudStep, Moment
from bagnoise.steps.registry import STEPS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from bagnoise.messages.cloud import Cloud

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests" / "lidar"))
from analytic_scene import cast, scan  # noqa: E402 - the scene that the tests measure on

STEPS_SHOWN: dict[str, dict[str, Any]] = {
    "range_noise": {"std_m": 0.15},
    "quantize": {"range_m": 0.5},
    "dropout": {"far_probability": 1.0, "far_range_m": [5, 25], "bursts": 3.0},
    "crop": {"max_range_m": 12.0, "azimuth_deg": [-60, 60]},
    "frustum": {"horizontal_deg": 60.0, "rpy_deg": [-90, 0, -90]},
    "misalign": {"error_rpy_deg": [0, 0, 5]},
}
MODES: tuple[Mode, ...] = ("nearest", "visible", "plane")
SENSED: dict[Mode, dict[str, Any]] = {
    mode: {"model": "VLP-16", "mode": mode, "max_approx_error_deg": 0.4} for mode in MODES
}
REACH_M = 22.0


def first_scan() -> Cloud:
    """Return the first cloud of the sample scan."""
    with open_bag(ROOT / "sample_bags" / "scan") as bag:
        (channel,) = [c for c in bag.channels if c.topic == "/velodyne_points"]
        message = next(bag.messages([channel.id]))
        cloud: Cloud = codec_of(channel.schema).decode(bytes(message.data))
        return cloud


def applied(cloud: Cloud, name: str, options: dict[str, Any]) -> Cloud:
    """Run one step."""
    step = STEPS[name].model_validate(options)
    assert isinstance(step, CloudStep)
    changed = step.on_cloud(cloud, Moment((0, "docs", name, 0, 0), cloud.stamp_ns))
    assert changed is not None
    return changed


def from_above(axes: Axes, cloud: Cloud, title: str) -> None:
    """Draw a cloud from above, by height."""
    xyz = cloud.xyz()[hits(cloud)]
    axes.scatter(xyz[:, 0], xyz[:, 1], c=xyz[:, 2], s=1.2, cmap="viridis", vmin=-0.6, vmax=1.5)
    axes.plot(0, 0, "^", color="black", markersize=7)
    axes.set(xlim=(-3, REACH_M), ylim=(-12, 12), aspect="equal", title=title, xlabel="x, m")


def range_image(cloud: Cloud) -> NDArray[np.float64]:
    """Put ranges into rings and columns, NaN for misses."""
    xyz = np.where(hits(cloud)[:, None], cloud.xyz(), np.nan)
    column = np.degrees(np.arctan2(xyz[:, 1], xyz[:, 0]))
    ring = cloud.column("ring").astype(int)
    image = np.full((16, 360), np.nan)
    seen = np.isfinite(column)
    place = np.clip((90 - column[seen]) * 2, 0, 359).astype(int)
    image[15 - ring[seen], place] = np.linalg.norm(xyz[seen], axis=1)
    return image


def before_and_after(cloud: Cloud, name: str, options: dict[str, Any], folder: Path) -> None:
    """Draw a step's effect from above and as range images."""
    changed = applied(cloud, name, options)
    figure = plt.figure(figsize=(10, 7), layout="constrained")
    grid = figure.add_gridspec(3, 2, height_ratios=(4, 1, 1))
    text = ", ".join(f"{key}={value}" for key, value in options.items())
    from_above(figure.add_subplot(grid[0, 0]), cloud, "before")
    from_above(figure.add_subplot(grid[0, 1]), changed, "after")
    figure.suptitle(f"{name}: {text}")
    for row, (title, shown) in enumerate((("before", cloud), ("after", changed)), start=1):
        axes = figure.add_subplot(grid[row, :])
        axes.imshow(range_image(shown), aspect="auto", cmap="viridis", vmin=0, vmax=REACH_M)
        axes.set(title=f"range image, {title}", xticks=[], yticks=[])
    figure.savefig(folder / f"cloud-{name}.png", dpi=90)
    plt.close(figure)


def modes(cloud: Cloud, folder: Path) -> None:
    """Draw what the three modes of camera_lidar return, and how far from their neighbours."""
    figure, axes = plt.subplots(1, 4, figsize=(15, 4.6), layout="constrained")
    from_above(axes[0], cloud, "source: 16 beams")
    for place, (mode, options) in zip(axes[1:], SENSED.items(), strict=True):
        sensed = applied(cloud, "camera_lidar", options)
        from_above(place, sensed, f"VLP-16, {mode}, e = 0.4°")
    figure.savefig(folder / "camera-lidar-modes.png", dpi=90)
    plt.close(figure)


def error_map(folder: Path) -> None:
    """Draw how far each beam's range is from the truth, on the tests' analytic scene."""
    beams = revolution(find_model("VLP-16"), 10.0)
    truth, _ = cast((0, 0, 0), beams.directions())
    cloud = scan((-1.0, 0.0, 0.5))  # taken from elsewhere, so that some of it is hidden
    spacing = source_spacing(cloud)
    figure, axes = plt.subplots(3, 1, figsize=(11, 5.4), layout="constrained")
    for place, mode in zip(axes, SENSED, strict=True):
        sensed = CameraLidar(beams, 0.2, 4, mode, spacing).sense(cloud)
        error = np.abs(sensed.range_m - truth)
        error[~np.isfinite(truth) & ~sensed.hit] = 0  # rightly nothing
        error[np.isnan(error)] = np.inf  # something missed, or a ghost
        picture = error.reshape(beams.columns, beams.channels).T[::-1]
        shown = place.imshow(
            np.clip(picture, 0.01, 10), aspect="auto", cmap="magma", norm="log", vmin=0.01, vmax=10
        )
        place.set(title=f"{mode}, e = 0.2°", xticks=[], ylabel="beam")
    figure.colorbar(shown, ax=axes, label="range off by, m (10: missed or a ghost)")
    figure.savefig(folder / "camera-lidar-errors.png", dpi=90)
    plt.close(figure)


def texture(folder: Path) -> None:
    """Draw one camera's texture with the beams that it senses."""
    beams = revolution(find_model("VLP-16"), 10.0, columns=180)
    camera = texture_for(beams, 1.0, 4)
    where = beam_pixels(beams, camera)
    first = where.camera == 0
    figure, axes = plt.subplots(figsize=(10, 4.6), layout="constrained")
    image = np.zeros((camera.rows, camera.columns))
    np.add.at(image, (where.row[first], where.column[first]), 1)
    axes.imshow(image > 0, cmap="Blues", vmin=0, vmax=2, aspect="equal")
    axes.set(
        title=f"one of 4 cameras, {camera.columns} x {camera.rows} pixels at e = 1°: "
        "the pixels that beams of a VLP-16 read (2° columns)",
        xlabel="column",
        ylabel="row",
    )
    figure.savefig(folder / "camera-lidar-texture.png", dpi=90)
    plt.close(figure)


def main() -> int:
    """Draw all."""
    mpl.use("Agg")
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    cloud = first_scan()
    for name, options in STEPS_SHOWN.items():
        before_and_after(cloud, name, options, folder)
    modes(cloud, folder)
    error_map(folder)
    texture(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
