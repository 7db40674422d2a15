"""Fog, rain, snow and wet ground over whole clouds: what is weakened, moved, lost, and kept."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from analytic_cloud import FIELDS, STAMP_NS, cloud_of, moment, on_sphere
from numpy.typing import NDArray
from scipy import integrate
from statistics_checks import is_normal, share_is

from bagnoise.errors import MessageError
from bagnoise.lidar.particle_echoes import ParticleAir, expected_above, particle_table
from bagnoise.lidar.particles import raindrops, snowflakes
from bagnoise.lidar.wet import Film, wet_share
from bagnoise.messages.cloud import Cloud
from bagnoise.messages.cloud_misses import hits
from bagnoise.steps.base import CloudStep
from bagnoise.steps.fog import Fog
from bagnoise.steps.precipitation import Rain, Snow
from bagnoise.steps.wet_ground import WetGround

COUNT = 20_000
ORIGIN = np.array([1.2, 0.0, 0.8])
LEAST = 0.9 / 200**2
WEATHER: list[CloudStep] = [
    Fog(meteorological_range_m=40.0, sensor_xyz_m=(1.2, 0.0, 0.8)),
    Rain(rate_mm_h=100.0, sensor_xyz_m=(1.2, 0.0, 0.8), exit_diameter_mm=0, crossover_m=(1.0, 1.5)),
    Snow(rate_mm_h=4.0, sensor_xyz_m=(1.2, 0.0, 0.8)),
    Snow(rate_mm_h=100.0, sensor_xyz_m=(1.2, 0.0, 0.8), returns="last"),
]


def ranges(cloud: Cloud, origin: NDArray[np.float64] = ORIGIN) -> NDArray[np.float64]:
    return np.asarray(np.linalg.norm(cloud.xyz().astype(float) - origin, axis=1))


def run(step: CloudStep, cloud: Cloud) -> Cloud:
    after = step.on_cloud(cloud, moment())
    assert after is not None
    return after


@pytest.mark.parametrize("step", WEATHER, ids=lambda step: step.name)
def test_echoes_of_the_air_are_on_the_beam_before_the_target(step: CloudStep) -> None:
    before = on_sphere(25.0, ORIGIN, COUNT, intensity=10.0, misses="nan")
    after = run(step, before)
    left, ghost = ranges(after), ranges(after) < 24
    assert ghost.sum() > 50
    kept = hits(after)
    p, q = (c.xyz()[kept].astype(float) - ORIGIN for c in (before, after))
    across = np.cross(
        p / np.linalg.norm(p, axis=1)[:, None], q / np.linalg.norm(q, axis=1)[:, None]
    )
    assert np.abs(across).max() < 1e-4
    assert (np.einsum("ij,ij->i", p, q) > 0).all()
    assert left[ghost].min() >= 1.0  # the crossover begins
    assert np.ptp(left[ghost]) > 1
    for name in ("ring", "time", "rgb"):
        assert after.points[name].tobytes() == before.points[name].tobytes()
    assert after.is_organised
    assert (after.points["intensity"][ghost] >= 0).all()


@pytest.mark.parametrize("step", WEATHER, ids=lambda step: step.name)
def test_a_filter_before_moves_no_draw(step: CloudStep) -> None:
    before = on_sphere(25.0, ORIGIN, COUNT, intensity=10.0, rows=1)
    whole = run(step, before)
    part = run(step, before.take(np.arange(COUNT) % 3 == 0))
    marked = {row.tobytes() for row in whole.points}
    assert len(part) > 100
    assert all(row.tobytes() in marked for row in part.points)


def test_fog_weakens_what_it_leaves_by_beer_and_lambert() -> None:
    step = Fog(alpha_per_m=0.02, beta_per_m_sr=0.0, range_accuracy_m=0.0)
    before = on_sphere(12.0, np.zeros(3), COUNT, intensity=80.0)
    after = run(step, before)
    assert after.points["intensity"] == pytest.approx(
        np.full(COUNT, 80 * math.exp(-2 * 0.02 * 12.0)), rel=1e-5
    )
    for name in "xyz":
        assert after.points[name].tobytes() == before.points[name].tobytes()


@pytest.mark.parametrize("step", WEATHER[:1], ids=lambda step: step.name)
def test_ranges_count_from_the_lidar(step: Fog) -> None:
    before = on_sphere(12.0, ORIGIN, COUNT, intensity=80.0)
    clear = step.model_copy(update={"beta_per_m_sr": 0.0, "range_accuracy_m": 0.0})
    left = 80 * math.exp(-2 * math.log(20) / 40 * 12.0)
    after = run(clear, before)
    assert after.points["intensity"] == pytest.approx(np.full(COUNT, left), rel=1e-5)
    elsewhere = run(clear.model_copy(update={"sensor_xyz_m": (0.0, 0.0, 0.0)}), before)
    assert np.ptp(elsewhere.points["intensity"]) > 1


def test_targets_are_lost_beyond_the_range_that_the_lidar_equation_gives() -> None:
    """10 percent at r with 2 alpha r is as strong as 90 percent at 200 m in clear air."""
    distance = np.linspace(20, 80, COUNT)
    before = cloud_of(np.stack([distance, 0 * distance, 0 * distance], 1), intensity=10.0, rows=1)
    step = Fog(alpha_per_m=0.02, beta_per_m_sr=0.0, range_accuracy_m=0.0)
    after = run(step, before)
    expected = distance[0.1 / distance**2 * np.exp(-0.04 * distance) >= LEAST].max()
    assert 20 < expected < 60
    assert ranges(after, np.zeros(3)).max() == pytest.approx(expected, abs=0.01)
    powered = Fog(
        alpha_per_m=0.02, beta_per_m_sr=0.0, intensity_is="power", full_intensity=20_000.0
    )
    power = np.full(COUNT, 10.0)  # 10 of 20000 at every range: reflectivity grows with range^2
    kept = run(powered, before.with_columns({"intensity": power}))
    assert ranges(kept, np.zeros(3)).max() == pytest.approx(
        math.log(10 / 20_000 / LEAST) / 0.04, abs=0.7
    )


def test_the_share_that_fog_outshines_grows_with_its_density_and_last_returns_resist() -> None:
    before = on_sphere(18.0, np.zeros(3), COUNT, intensity=10.0)
    shares = [
        float((ranges(run(Fog(meteorological_range_m=mor), before), np.zeros(3)) < 15).mean())
        for mor in (500.0, 100.0, 60.0, 30.0)
    ]
    assert shares[0] == 0
    assert shares == sorted(shares)
    assert shares[-1] > 0.99
    last = run(Fog(meteorological_range_m=60.0, returns="last"), before)
    assert (ranges(last, np.zeros(3)) > 15).all()


def particles_win(found: int, air: ParticleAir, power: float) -> bool:
    table = particle_table(air)
    assert table is not None
    above = np.array([max(power, air.least)])
    expected = float(expected_above(table, np.array([25.0]), above)[0])
    return share_is(found, COUNT, 1 - math.exp(-expected))


@pytest.mark.parametrize("kind", ["rain", "snow"])
def test_particles_win_as_often_as_their_number_says(kind: str) -> None:
    step: Rain | Snow
    if kind == "rain":
        step, particles = Rain(rate_mm_h=100.0), raindrops(100.0, 0.02, 0.05)
    else:
        step = Snow(rate_mm_h=2.0, terminal_velocity_m_s=1.5)
        particles = snowflakes(2.0, 1.5, 0.1, 0.22, 0.05)
    alpha = particles.extinction_per_m
    air = ParticleAir(particles, alpha, 10.0, 3.0, (1.0, 10.0), LEAST)
    power = 0.02 / 25**2 * math.exp(-2 * alpha * 25)
    after = run(step, on_sphere(25.0, np.zeros(3), COUNT, intensity=2.0))
    found = int((ranges(after, np.zeros(3)) < 24).sum())
    assert found > 50
    assert particles_win(found, air, power)
    assert not particles_win(found, air, 3 * max(power, LEAST))


def test_faint_returns_scatter_along_the_beam() -> None:
    alpha, reflectivity = 0.01, 0.2
    step = Rain(rate_mm_h=1.0, alpha_per_m=alpha, drop_reflectivity=0.0, range_accuracy_m=0.3)
    after = run(step, on_sphere(40.0, np.zeros(3), COUNT, intensity=100 * reflectivity))
    clear = reflectivity / 40**2
    left = clear * math.exp(-2 * alpha * 40)
    sigma = math.sqrt(0.3**2 / 2 * LEAST * (1 / left - 1 / clear))
    shift = ranges(after, np.zeros(3)) - 40
    assert is_normal(shift, 0, sigma)
    assert not is_normal(shift, 0, 1.1 * sigma)


def test_ghosts_of_a_given_reflectivity_are_in_the_intensities_of_the_cloud() -> None:
    """One step reads 10 as 10 percent, the other is told that it is: the same cloud follows."""
    before = on_sphere(18.0, np.zeros(3), COUNT, intensity=10.0)
    told = run(Fog(meteorological_range_m=50.0, reflectivity=0.1), before)
    read = run(Fog(meteorological_range_m=50.0), before)
    assert told.points["intensity"] == pytest.approx(read.points["intensity"], rel=1e-5)
    assert ranges(told) == pytest.approx(ranges(read), abs=1e-4)


def test_integers_are_clipped_and_stay_integers() -> None:
    before = on_sphere(18.0, np.zeros(3), COUNT, intensity=10.0, kind="u1")
    after = run(Fog(meteorological_range_m=60.0), before)
    assert after.points["intensity"].dtype == np.uint8
    kept = ranges(after, np.zeros(3)) > 15
    assert set(after.points["intensity"][kept].tolist()) == {
        round(10 * math.exp(-2 * math.log(20) / 60 * 18))
    }


def test_clouds_without_intensities_and_with_none_above_0() -> None:
    dark = on_sphere(18.0, np.zeros(3), 500, intensity=0.0)
    step = Fog(meteorological_range_m=300.0)
    told = moment()
    after = step.on_cloud(dark, told)
    assert after is not None
    assert hits(after).all()
    assert "all intensities are 0" in told.tally.warnings[0]  # type: ignore[attr-defined]
    bare = Cloud(STAMP_NS, "velodyne", FIELDS[:3], dark.points[["x", "y", "z"]].copy(), 1, 500, 27)
    assert hits(run(step, bare)).all()
    with pytest.raises(MessageError, match="signal"):
        run(Fog(meteorological_range_m=300.0, field="signal"), dark)


def test_a_wrong_scale_of_intensities_is_told() -> None:
    told = moment()
    Fog(meteorological_range_m=300.0).on_cloud(
        on_sphere(40.0, np.zeros(3), 500, intensity=0.4), told
    )
    assert "full_intensity 100" in told.tally.warnings[0]  # type: ignore[attr-defined]


def road(count: int = COUNT) -> Cloud:
    """Make ground 1.8 m under the lidar with a wall across it, reflectivity 20 percent."""
    rng = np.random.default_rng(6)
    flat, turn = rng.uniform(2, 40, count), rng.uniform(-np.pi, np.pi, count)
    xyz = np.stack([flat * np.cos(turn), flat * np.sin(turn), np.full(count, -1.8)], 1)
    wall = rng.random(count) < 0.2
    xyz[wall] = np.stack([np.full(count, 15.0), 9 * np.sin(turn), rng.uniform(-1.2, 3, count)], 1)[
        wall
    ]
    cosine = np.where(wall, 1, 1.8 / np.linalg.norm(xyz, axis=1))
    return cloud_of(xyz, intensity=20 * cosine, rows=1)


@pytest.mark.parametrize("plane", [None, (0.0, 0.0, 1.0, 1.8)])
def test_wet_ground_is_fainter_by_the_film_and_walls_are_not(plane: Any) -> None:
    before = road()
    step = WetGround(
        water_depth_mm=0.6, ground_plane=plane, range_accuracy_m=0.0, clear_range_m=2000.0
    )
    after = run(step, before)
    ground = before.points["z"] < -1.79
    assert after.take(~ground).points.tobytes() == before.take(~ground).points.tobytes()
    distance = ranges(before, np.zeros(3))[ground]
    film = Film(0.0006, 0.0012, 1.33, 6.8)
    expected = wet_share(1.8 / distance, 0.2 * 1.8 / distance, film)
    share = after.points["intensity"][ground] / before.points["intensity"][ground]
    assert share == pytest.approx(expected, rel=1e-3)
    assert 0.5 < share.min() < share.max() < 0.8


def test_deep_water_takes_far_ground_away() -> None:
    before = road()
    after = run(WetGround(water_depth_mm=3.0, range_accuracy_m=0.0), before)
    ground = after.points["z"] < -1.5
    farthest = ranges(after, np.zeros(3))[ground].max()
    distance = np.linspace(2, 40, 4000)
    cosine = 1.8 / distance
    left = wet_share(cosine, 0.2 * cosine, Film(0.003, 0.0012, 1.33, 6.8)) * 0.2 * cosine
    assert farthest == pytest.approx(distance[left / distance**2 >= LEAST].max(), abs=0.1)
    assert 10 < farthest < 35
    assert int((after.points["z"] > -1.5).sum()) == int((before.points["z"] > -1.5).sum())


def test_a_noise_floor_takes_ground_that_was_faint_before() -> None:
    rng = np.random.default_rng(1)
    before = road()
    before = before.with_columns(
        {"intensity": before.points["intensity"] * rng.uniform(1, 4, COUNT)}
    )
    kept = [
        len(run(WetGround(water_depth_mm=1.0, noise_floor=floor, clear_range_m=2000.0), before))
        for floor in (0.0, 0.1, 0.7, 1.4)
    ]
    assert kept == sorted(kept, reverse=True)
    assert kept[0] == kept[1] == COUNT
    assert kept[1] > kept[2] > kept[3]


def test_without_ground_nothing_changes_and_the_user_is_told() -> None:
    before = on_sphere(18.0, np.zeros(3), 500, intensity=10.0)
    above = before.take(before.points["z"] > 1)
    told = moment()
    after = WetGround(water_depth_mm=1.0).on_cloud(above, told)
    assert after is above
    assert "give ground_plane" in told.tally.warnings[0]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        (Fog(meteorological_range_m=50.0, alpha_per_m=0.1), "not both"),
        (Fog(beta_per_m_sr=0.1), "needs meteorological_range_m"),
        (Fog(crossover_m=(0.0, 1.0)), "0.1 or more"),
        (Snow(crossover_m=(2.0, 2.0)), "end later"),
        (Rain(alpha_per_m=0.01), "rate_mm_h above 0"),
        (Rain(sensor_frame="lidar", sensor_xyz_m=(1.0, 0.0, 0.0)), "not both"),
        (WetGround(ground_plane=(1.0, 0.0, 0.0, 0.0)), "upright"),
    ],
)
def test_what_does_not_go_together(step: CloudStep, problem: str) -> None:
    assert any(problem in found for found in step.check())


@pytest.mark.parametrize("step", [*WEATHER, WetGround(water_depth_mm=1.0)])
def test_what_goes_together(step: CloudStep) -> None:
    assert step.check() == []


@pytest.mark.parametrize("rate", [1e-9, 1e-3, 100.0])
def test_any_rate_gives_a_cloud(rate: float) -> None:
    """Neither the least nor the heaviest snow and rain leave numbers that are none."""
    before = on_sphere(25.0, np.zeros(3), 500, intensity=10.0)
    for step in (Rain(rate_mm_h=rate), Snow(rate_mm_h=rate), Snow(rate_mm_h=rate, returns="last")):
        after = run(step, before)
        assert np.isfinite(after.points["intensity"]).all()
        if rate < 1:
            assert hits(after).all()
            assert ranges(after, np.zeros(3)) == pytest.approx(np.full(500, 25.0), abs=0.05)


def test_fog_of_a_benchmark_whose_backscatter_is_stated() -> None:
    """The numbers of LiDAR_fog_sim: gamma 1e-6 of seconds is a reflectivity of 1e-6 c / 2."""
    alpha, beta, target_m = 0.06, 0.046 * 0.06 / math.log(20), 40.0
    step = Fog(
        alpha_per_m=alpha,
        pulse_ns=20.0,
        crossover_m=(0.9, 1.0),
        patchiness=0.0,
        intensity_is="power",
        reflectivity=1e-6 * 299_792_458 / 2,
        range_accuracy_m=0.0,
    )
    t_s = np.linspace(0, 4e-8, 4001)
    powers = []
    where = np.arange(0.9, 12.0, 0.05)  # of the pulse's end
    for r in where:
        behind = r - 299_792_458 * t_s / 2
        seen = np.clip((behind - 0.9) / 0.1, 0, 1)
        with np.errstate(divide="ignore"):
            part = np.sin(np.pi * t_s / 4e-8) ** 2 * np.exp(-2 * alpha * behind) * seen / behind**2
        powers.append(integrate.trapezoid(part, t_s))
    peak = int(np.argmax(powers))
    expected = 100 * target_m**2 * beta / (1e-6 / np.pi) * powers[peak]
    hard = 100 * math.exp(-2 * alpha * target_m)
    assert expected > hard  # so that the fog is seen
    after = run(step, on_sphere(target_m, np.zeros(3), 100, intensity=100.0))
    assert after.points["intensity"] == pytest.approx(np.full(100, expected), rel=0.01)
    place_m = where[peak] - 299_792_458 * 2e-8 / 2
    assert ranges(after, np.zeros(3)) == pytest.approx(np.full(100, place_m), abs=0.1)
