"""Draw what fog, rain, snow and wet ground do to a scene, beside the curves that they follow.

    python docs/make_weather_pictures.py [OUTPUT_DIR]

Writes ``docs/pictures/weather-*.png``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

from bagnoise.lidar.fog import FogAir, backscatter_of, extinction_of, fog_profile
from bagnoise.lidar.particle_echoes import ParticleAir, expected_above, particle_table
from bagnoise.lidar.particles import Particles, raindrops, snowflakes
from bagnoise.lidar.receiver import least_power
from bagnoise.lidar.wet import Film, wet_share
from bagnoise.messages.cloud import Cloud
from bagnoise.messages.point_fields import PointField, point_dtype
from bagnoise.steps.base import CloudStep, Moment
from bagnoise.steps.registry import STEPS

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests" / "lidar"))
from analytic_scene import CAR, GROUND, POLE, SKY, cast, grid_directions  # noqa: E402

SHOWN: dict[str, dict[str, Any]] = {
    "fog": {"meteorological_range_m": 60.0},
    "rain": {"rate_mm_h": 80.0},
    "snow": {"rate_mm_h": 2.5, "terminal_velocity_m_s": 1.0},
    "wet_ground": {"water_depth_mm": 1.2},
}
FIELDS = tuple(PointField(name, 4 * place, 7) for place, name in enumerate(("x", "y", "z")))
FIELDS += (PointField("intensity", 12, 7),)
REFLECTIVITY = {GROUND: 15.0, CAR: 40.0, POLE: 25.0}  # percent; walls have 30
LEAST = least_power(200.0, 0.9)
CROSSOVER_M = (1.0, 10.0)
NEAR_M = 40.0
RANGES_M = np.linspace(1.0, 80.0, 400)


def scene() -> Cloud:
    """Scan the scene that the tests measure on, with reflectivities as intensities."""
    rays = grid_directions(900, np.linspace(-22.5, 10.0, 40))
    ranges, kinds = cast((0, 0, 0), rays)
    seen = kinds != SKY
    rays, ranges, kinds = rays[seen], ranges[seen], kinds[seen]
    points = np.zeros(len(rays), point_dtype(FIELDS, 16))
    for name, column in zip("xyz", (rays * ranges[:, None]).T, strict=True):
        points[name] = column
    bright = np.vectorize(lambda kind: REFLECTIVITY.get(kind, 30.0))(kinds)
    # a diffuse surface is fainter where the beam is flat; here only the ground's angle is known
    points["intensity"] = bright * np.where(kinds == GROUND, -rays[:, 2], 1)
    return Cloud(1, "velodyne", FIELDS, points, len(points), 1, 16)  # organised: rows keep places


def draw_scene(axes: Axes, before: Cloud, after: Cloud, title: str) -> None:
    """Draw what is kept by intensity, what is lost, and what the air returned."""
    old, new = before.xyz(), after.xyz()
    lost = ~np.isfinite(new[:, 0])
    ranges = np.linalg.norm(old, axis=1)
    with np.errstate(invalid="ignore"):
        air = np.linalg.norm(new, axis=1) < 0.9 * ranges - 0.5
    kept = ~lost & ~air
    label = f"lost: {lost.mean():.0%}"
    axes.scatter(old[lost, 0], old[lost, 1], s=0.5, color="#bdbdbd", label=label)
    values = np.maximum(after.column("intensity")[kept], 0.05)
    x, y = new[kept, 0], new[kept, 1]
    axes.scatter(x, y, s=0.6, c=values, cmap="viridis", norm="log", vmin=0.3, vmax=40)
    if air.any():
        label = f"of the air: {air.mean():.1%}"
        axes.scatter(new[air, 0], new[air, 1], s=1.2, color="#e34a33", label=label)
    axes.plot(0, 0, "^", color="black", markersize=6)
    axes.set(xlim=(-NEAR_M, NEAR_M), ylim=(-NEAR_M * 0.8, NEAR_M * 0.8), aspect="equal")
    axes.set(title=title, xlabel="x, m", ylabel="y, m")
    axes.legend(loc="upper right", markerscale=6, fontsize=8)


def draw_fog(axes: Axes) -> None:
    """Draw powers by range, for three visibilities."""
    for visibility_m, color in ((200.0, "#9ecae1"), (60.0, "#3182bd"), (30.0, "#08306b")):
        alpha = extinction_of(visibility_m)
        air = FogAir(alpha, backscatter_of(alpha), 5.0, CROSSOVER_M, 0.25, LEAST)
        profile = fog_profile(air)
        target = 0.3 / RANGES_M**2 * np.exp(-2 * alpha * RANGES_M)
        axes.plot(RANGES_M, target, color=color, label=f"MOR {visibility_m:g} m: target, 30 %")
        axes.plot(profile.range_m, profile.power, "--", color=color, label="and the fog")
    axes.axhline(LEAST, color="#e34a33", linewidth=1, label="least that is detected")
    axes.set(yscale="log", ylim=(1e-6, 1e-1), xlim=(0, 80), ylabel="power (white at 1 m: 1)")
    axes.set(title="echo of a target and of even fog", xlabel="range, m")
    axes.legend(fontsize=7)


def draw_chances(axes: Axes, cases: dict[str, Particles]) -> None:
    """Draw how often a particle outshines a target of 10 percent, by its range."""
    for (label, particles), color in zip(
        cases.items(), ("#9ecae1", "#3182bd", "#08306b"), strict=True
    ):
        alpha = particles.extinction_per_m
        air = ParticleAir(particles, alpha, 10.0, 3.0, CROSSOVER_M, LEAST)
        table = particle_table(air)
        assert table is not None
        target = 0.1 / RANGES_M**2 * np.exp(-2 * alpha * RANGES_M)
        many = expected_above(table, RANGES_M, np.maximum(target, LEAST))
        axes.plot(RANGES_M, 1 - np.exp(-many), color=color, label=label)
        gone = RANGES_M[target < LEAST]
        if len(gone):
            axes.axvline(gone[0], color=color, linestyle=":", linewidth=1)
    axes.set(yscale="log", ylim=(1e-5, 1), xlim=(0, 80), ylabel="chance of the particle's echo")
    axes.set(title="target of 10 % (dotted: it is lost)", xlabel="range of the target, m")
    axes.legend(fontsize=8)


def draw_rain(axes: Axes) -> None:
    """Draw chances for three rates."""
    draw_chances(axes, {f"{r:g} mm/h": raindrops(r, 0.02, 0.05) for r in (5.0, 30.0, 80.0)})


def draw_snow(axes: Axes) -> None:
    """Draw chances for three rates at one fall speed."""
    flakes = {f"{r:g} mm/h, 1 m/s": snowflakes(r, 1.0, 0.1, 0.22, 0.05) for r in (0.5, 1.5, 2.5)}
    draw_chances(axes, flakes)


def draw_wet(axes: Axes) -> None:
    """Draw what is left of the ground's echo by the angle of incidence, for three depths."""
    angles_deg = np.linspace(0, 89.9, 400)
    cosine: NDArray[np.float64] = np.cos(np.radians(angles_deg))
    for depth_mm, color in ((0.3, "#9ecae1"), (0.8, "#3182bd"), (1.2, "#08306b")):
        film = Film(depth_mm / 1000, 0.0012, 1.33, 6.8)
        axes.plot(
            angles_deg, wet_share(cosine, 0.15 * cosine, film), color=color, label=f"{depth_mm} mm"
        )
    film = Film(0.0012, 0.0012, 1.32, 1100.0)
    share = wet_share(cosine, 0.15 * cosine, film)
    axes.plot(angles_deg, share, "--", color="#e34a33", label="1.2 mm at 1550 nm")
    axes.set(xlim=(0, 91), ylim=(0, 1), xlabel="angle of incidence, deg")
    axes.set(title="what water leaves of ground of 15 %", ylabel="share of the dry echo")
    axes.legend(loc=(0.03, 0.1), fontsize=8)


CURVES: dict[str, Callable[[Axes], None]] = {
    "fog": draw_fog,
    "rain": draw_rain,
    "snow": draw_snow,
    "wet_ground": draw_wet,
}


def main() -> int:
    """Draw all."""
    mpl.use("Agg")
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    before = scene()
    for name, options in SHOWN.items():
        step = STEPS[name].model_validate(options)
        assert isinstance(step, CloudStep)
        after = step.on_cloud(before, Moment((0, "docs", name, 0, 0), 1))
        assert after is not None
        figure, (left, right) = plt.subplots(
            1, 2, figsize=(10, 4.3), layout="constrained", width_ratios=(1.35, 1)
        )
        text = ", ".join(f"{key}={value}" for key, value in options.items())
        draw_scene(left, before, after, f"{name}: {text}")
        CURVES[name](right)
        picture = folder / f"weather-{name}.png"
        figure.savefig(picture, dpi=80)
        plt.close(figure)
    return 0


if __name__ == "__main__":
    sys.exit(main())
