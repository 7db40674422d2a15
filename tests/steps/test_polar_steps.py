"""Noise along and across the ray, slow noise, and the covariance claimed for them."""

from __future__ import annotations

import numpy as np
import pytest
from cone_runs import EPOCH, at_range, cones_at, errors, run
from numpy.typing import NDArray
from scipy import stats
from statistics_checks import are_uncorrelated, is_normal, mean_is, std_is

from bagnoise.errors import ContextError
from bagnoise.messages.payload import Cones
from bagnoise.steps.base import ConeStep, Moment, Tally
from bagnoise.steps.covariance import Covariance
from bagnoise.steps.drift import Drift
from bagnoise.steps.noise import Noise
from bagnoise.steps.polar_noise import PolarNoiseStep
from bagnoise.steps.sensor import Sensor

MESSAGES, CONES = 500, 40
BEARING = np.deg2rad(35)


def polar(**options: object) -> PolarNoiseStep:
    return PolarNoiseStep.model_validate(options)


def along_and_across(moved: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    ray = np.array((np.cos(BEARING), np.sin(BEARING), 0))
    left = np.array((-np.sin(BEARING), np.cos(BEARING), 0))
    return (moved @ ray).ravel(), (moved @ left).ravel(), moved[..., 2].ravel()


def test_range_noise_is_along_the_ray_only() -> None:
    step = polar(range_std_m={"linear": {"base": 0.02, "per_m": 0.01}})
    along, across, up = along_and_across(errors(step, at_range(8, CONES, BEARING), MESSAGES))
    assert is_normal(along, 0, 0.1)
    assert std_is(along, 0.1)
    assert not std_is(along, 0.105)
    assert np.abs(across).max() < 1e-12
    assert np.abs(up).max() < 1e-12


def test_bearing_and_elevation_noise_are_angles() -> None:
    step = polar(bearing_std_rad=0.01, elevation_std_rad=0.005)
    cones = at_range(10, CONES, BEARING)
    moved = errors(step, cones, MESSAGES) + cones.xyz
    bearing = (np.arctan2(moved[..., 1], moved[..., 0]) - BEARING).ravel()
    elevation = np.arctan2(moved[..., 2], np.hypot(moved[..., 0], moved[..., 1])).ravel()
    assert is_normal(bearing, 0, 0.01)
    assert is_normal(elevation, 0, 0.005)
    assert not is_normal(np.rad2deg(bearing), 0, 0.01)  # degrees for radians
    assert np.allclose(np.linalg.norm(moved, axis=-1), 10)
    assert are_uncorrelated(bearing, elevation)


def test_elliptic_noise_and_biases() -> None:
    step = polar(
        range_std_m=0.2, across_ratio=0.2, across_std_m=0.03, range_bias_m=0.5, bearing_bias_rad=0
    )
    along, across, _ = along_and_across(errors(step, at_range(9, CONES, BEARING), MESSAGES))
    assert is_normal(along, 0.5, 0.2)
    assert is_normal(across, 0, 0.05)  # hypot(0.04, 0.03)
    assert std_is(across, 0.05)
    assert not std_is(across, 0.0525)
    assert are_uncorrelated(along, across)
    left = next(run(polar(across_bias_m={"linear": {"per_m": 0.1}}), cones_at([(3, 0, 0)]), 1))
    assert left.xyz[0] == pytest.approx((3, 0.3, 0), abs=1e-12)
    turned = next(run(polar(bearing_bias_rad=np.pi / 2), cones_at([(3, 0, 0)]), 1))
    assert turned.xyz[0] == pytest.approx((0, 3, 0), abs=1e-12)


def test_a_sensor_aside_and_not_level_measures_from_where_it_is() -> None:
    # the sensor looks down along -z of the car from (1, 2, 3): its ray to (1, 2, 0) is 3 m long
    cones = cones_at([(1, 2, 0)])
    mounted = next(run(Sensor(xyz_m=(1.0, 2.0, 3.0), rpy_deg=(0.0, 90.0, 0.0)), cones, 1))
    longer = next(run(polar(range_bias_m={"linear": {"per_m": 0.1}}), mounted, 1))
    assert longer.xyz[0] == pytest.approx((1, 2, -0.3), abs=1e-12)
    # a bearing turns about the sensor's z axis, which points along the car's +x
    turned = next(run(polar(bearing_bias_rad=np.pi / 2), mounted, 1))
    assert turned.xyz[0] == pytest.approx((1, 5, 3), abs=1e-12)


def test_no_noise_is_no_change_at_all() -> None:
    cones = cones_at([(3, 4, 1), (5, -1, 0)])
    for step in (polar(), Drift(), Noise()):
        assert next(run(step, cones, 1)).xyz is cones.xyz
    ghost = next(run(polar(range_std_m=1, range_bias_m=2, across_bias_m=2), _ghost(cones), 1))
    assert ghost.xyz[1].tolist() == [5, -1, 0]
    assert ghost.xyz[0].tolist() != [3, 4, 1]


def _ghost(cones: Cones) -> Cones:
    from dataclasses import replace

    return replace(cones, index=np.array([0, -1], np.int32))


def test_drift_of_the_sensor_is_one_error_for_all_and_slow() -> None:
    step = Drift(range_std_m=0.3, correlation_s=2.0)
    moved = errors(step, at_range(10, 3), 60)[..., 0]
    assert np.allclose(moved, moved[:, :1])
    assert np.abs(np.diff(moved[:, 0])).max() < 0.1  # 0.1 s of a 2 s process
    assert np.ptp(moved[:, 0]) > 0.1
    ensemble = [errors(step, at_range(10, 1), 1, seed=seed)[0, 0, 0] for seed in range(4000)]
    assert is_normal(ensemble, 0, 0.3)
    assert std_is(ensemble, 0.3)
    assert not std_is(np.array(ensemble) * 1.15, 0.3)


def test_drift_per_cone_is_independent_and_follows_the_id() -> None:
    step = Drift(per="cone", range_std_m=0.3, correlation_s=2.0)
    ids = np.arange(500)
    cones = cones_at(np.tile((10.0, 0, 0), (500, 1)), ids=ids)
    moved = errors(step, cones, 1)[0, :, 0]
    assert is_normal(moved, 0, 0.3)
    back = cones_at(np.tile((10.0, 0, 0), (500, 1)), ids=ids[::-1].copy())
    assert np.allclose(errors(step, back, 1)[0, ::-1, 0], moved)


def test_a_cone_without_identity_is_an_error_that_says_what_to_give() -> None:
    step = Drift(per="cone", range_std_m=0.3)
    with pytest.raises(ContextError, match=r"'drift'.*no ids; give it pose_topic"):
        next(run(step, cones_at([(1, 0, 0)]), 1))


def test_the_covariance_claims_what_the_noise_is() -> None:
    """Chi-square: squared Mahalanobis distances of 20 000 errors against 3 degrees of freedom."""
    steps: list[ConeStep] = [
        Sensor(xyz_m=(1.0, -0.5, 0.8), rpy_deg=(3.0, 8.0, -20.0)),
        polar(
            range_std_m={"linear": {"base": 0.05, "per_m": 0.01}},
            bearing_std_rad=0.004,
            elevation_std_rad=0.003,
            across_std_m=0.02,
        ),
        Noise(std_m=0.03, std_z_m=0.02),
        Covariance(),
    ]
    true = cones_at([(8.0, 3, 0.1), (12, -4, 0), (5, 0, 0.3)] * 20)
    squared = []
    for n in range(334):
        cones = true
        for step in steps:
            cones = next(run(step, cones, 1, seed=n))
        assert cones.covariance is not None
        gap = cones.xyz - true.xyz
        squared.append(np.einsum("ni,nij,nj->n", gap, np.linalg.inv(cones.covariance), gap))
    found = np.concatenate(squared)
    assert stats.kstest(found, stats.chi2(3).cdf).pvalue > 1e-6
    assert stats.kstest(found * 1.05**2, stats.chi2(3).cdf).pvalue < 1e-6
    assert stats.kstest(found / 1.05**2, stats.chi2(3).cdf).pvalue < 1e-6


def test_covariance_by_hand() -> None:
    # 10 m to the left: range is along y, bearing along x; 0.01 rad is 0.1 m there
    cones = cones_at([(0, 10, 0)], covariance=np.diag((0.5, 0.25, 0))[None])
    noisy = next(run(polar(range_std_m=0.2, bearing_std_rad=0.01), cones, 1, seed=3))
    exact = cones_at([(0, 10, 0)], covariance=cones.covariance, noise_models=noisy.noise_models)
    added = next(run(Covariance(), exact, 1)).covariance
    assert added is not None
    assert added[0] == pytest.approx(np.diag((0.5 + 0.01, 0.25 + 0.04, 0)), abs=1e-12)
    proud = next(run(Covariance(factor=0.25, floor_m=0.1, keep_source=False), exact, 1)).covariance
    assert proud is not None
    assert proud[0] == pytest.approx(np.diag((0.0125, 0.02, 0.01)), abs=1e-12)


def test_the_covariance_follows_a_change_of_frame() -> None:
    # the sensor's x axis is the car's y axis: what is range (y) to the car is x to the sensor
    cones = cones_at([(0, 10, 0)])
    noisy = next(run(polar(range_std_m=1e-6), cones, 1))
    mount = Sensor(rpy_deg=(0.0, 0.0, 90.0), output_frame="sensor")
    seen = next(run(Covariance(), next(run(mount, noisy, 1)), 1))
    assert seen.frame_id == "sensor"
    assert seen.xyz[0] == pytest.approx((10, 0, 0), abs=1e-4)
    assert seen.covariance is not None
    assert seen.covariance[0] == pytest.approx(np.diag((1e-12, 0, 0)), abs=1e-18)


def test_drift_is_not_claimed_unless_asked() -> None:
    for asked in (False, True):
        step = Drift(range_std_m=0.3, in_covariance=asked)
        assert len(next(run(step, at_range(5, 1), 1)).noise_models) == asked


def test_axis_noise_by_range() -> None:
    table = {"table": {"up_to_m": [5, 10], "values": [0.1, 0.4]}}
    step = Noise.model_validate({"std_x_m": table, "std_m": 0.2, "bias_z_m": 0.25})
    near = errors(step, at_range(4, CONES), MESSAGES)
    far = errors(step, at_range(9, CONES), MESSAGES)
    assert is_normal(near[..., 0].ravel(), 0, 0.1)
    assert is_normal(far[..., 0].ravel(), 0, 0.4)
    assert is_normal(far[..., 1].ravel(), 0, 0.2)
    assert mean_is(far[..., 1].ravel(), 0, 0.2)
    assert (far[..., 2] == 0.25).all()
    assert not is_normal(far[..., 0].ravel(), 0, 0.1)


@pytest.mark.parametrize(("bias_m", "warns"), [(-4.9, False), (-5.1, True), (3.0, False)])
def test_a_bias_that_takes_ranges_below_0_is_told(*, bias_m: float, warns: bool) -> None:
    tally = Tally()
    step = polar(range_bias_m=bias_m)
    moment = Moment((0, "s", "polar_noise", EPOCH, 0), EPOCH, tally)
    made = step.on_cones(at_range(5.0, 2), moment)
    assert made.xyz[:, 0] == pytest.approx(5 + bias_m)  # the same either way
    step.on_cones(at_range(5.0, 2), moment)
    assert [text.split(";")[0] for text in tally.warnings] == warns * [
        "polar_noise: range_bias_m takes the ranges of some cones below 0"
    ]
