"""The noise and the delays are what the README says, and the tests would see if they were not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from statistics_checks import (
    are_uncorrelated,
    is_censored_normal,
    is_normal,
    mean_is,
    share_is,
    std_is,
)

from bagnoise.messages.payload import ConeClass, Cones, source_rows
from bagnoise.rng import keyed
from bagnoise.simulator import ConeNoiseSimulator, SimulatorPerceptionSettings

MESSAGES, CONES = 1000, 40
EPOCH = 1_700_000_000_000_000_000
PERIOD_NS = 40_000_000


@pytest.fixture(scope="module")
def errors() -> dict[str, NDArray[np.float64]]:
    """Errors of each sensor, (messages, cones, 2): 80 000 draws see 3 % of sigma."""
    settings = SimulatorPerceptionSettings(camera_noise_std=0.25, lidar_noise_std=0.15)
    simulator = ConeNoiseSimulator(settings, seed=1)
    true = np.column_stack([np.full(CONES, 100.0), np.zeros(CONES), np.zeros(CONES)])
    cones = Cones(
        stamp_ns=EPOCH,
        frame_id="base_footprint",
        xyz=true,
        color=np.full(CONES, ConeClass.BLUE, np.int8),
        index=source_rows(CONES),
        source_count=CONES,
    )
    found: dict[str, list[NDArray[np.float64]]] = {"camera": [], "lidar": []}
    for n in range(MESSAGES):
        tick_ns = EPOCH + n * PERIOD_NS
        simulator.cone_callback(cones, tick_ns)
        for name, publish in (
            ("camera", simulator.publish_camera),
            ("lidar", simulator.publish_lidar),
        ):
            published = publish(tick_ns)
            assert published is not None
            found[name].append((published.cones.xyz - true)[:, :2])
    return {name: np.array(rows) for name, rows in found.items()}


@pytest.mark.parametrize(("sensor", "std_m"), [("camera", 0.25), ("lidar", 0.15)])
@pytest.mark.parametrize("axis", [0, 1])
def test_sigma_and_shape(
    errors: dict[str, NDArray[np.float64]], sensor: str, std_m: float, axis: int
) -> None:
    draws = errors[sensor][..., axis].ravel()
    assert mean_is(draws, 0, std_m)
    assert std_is(draws, std_m)
    assert is_normal(draws, 0, std_m)


@pytest.mark.parametrize(("sensor", "std_m"), [("camera", 0.25), ("lidar", 0.15)])
def test_a_wrong_sigma_or_mean_would_be_seen(
    errors: dict[str, NDArray[np.float64]], sensor: str, std_m: float
) -> None:
    draws = errors[sensor][..., 0].ravel()
    assert not std_is(draws * 1.05, std_m)
    assert not is_normal(draws * 1.05, 0, std_m)
    assert not mean_is(draws + 0.05 * std_m, 0, std_m)


def test_axes_sensors_cones_and_messages_are_independent(
    errors: dict[str, NDArray[np.float64]],
) -> None:
    camera, lidar = errors["camera"], errors["lidar"]
    assert are_uncorrelated(camera[..., 0], camera[..., 1])
    assert are_uncorrelated(lidar[..., 0], lidar[..., 1])
    assert are_uncorrelated(camera, lidar)
    assert are_uncorrelated(camera[:, :-1], camera[:, 1:])
    assert are_uncorrelated(camera[:-1], camera[1:])


def test_a_correlation_would_be_seen(errors: dict[str, NDArray[np.float64]]) -> None:
    x, y = errors["camera"][..., 0], errors["camera"][..., 1]
    assert not are_uncorrelated(x, y + 0.05 * x)
    assert not are_uncorrelated(errors["camera"], errors["camera"])


def delays_s(mean_s: float, std_s: float, count: int = 20_000) -> NDArray[np.float64]:
    """Delays as latency draws them, far enough apart that none could overtake another."""
    from collections import Counter

    from bagnoise.augment.chain import build_chain
    from bagnoise.bags.model import NO_SCHEMA, Channel
    from bagnoise.steps.base import Sample
    from bagnoise.steps.clock import Clock
    from bagnoise.steps.timing import Latency

    step = Latency(mean_s=mean_s, std_s=std_s)
    chain = build_chain([("latency", step)], (3, "s"), {"log": Clock()}, None, Counter())
    channel = Channel(0, "/t", NO_SCHEMA)
    found = []
    for n in range(count):
        sent_ns = EPOCH + n * 1_000_000_000
        (sample,) = chain.feed(Sample(sent_ns, sent_ns, 0, sent_ns, 0, channel, b"", sent_ns))
        found.append((sample.log_ns - sent_ns) / 1e9)
    return np.array(found)


def test_delays_are_a_censored_normal() -> None:
    draws = delays_s(0.002, 0.003)
    assert draws.min() == 0
    assert is_censored_normal(draws, 0.002, 0.003)
    assert not is_censored_normal(draws * 1.05, 0.002, 0.003)
    assert not is_censored_normal(draws, 0.0023, 0.003)


def test_the_nodes_own_delay_is_hardly_random() -> None:
    draws = delays_s(0.01, 1e-5)
    assert mean_is(draws, 0.01, 1e-5)
    assert std_is(draws, 1e-5)
    assert not std_is(draws, 1.05e-5)


def test_losses_come_at_the_asked_rate_alone_and_in_runs() -> None:
    from test_timing import run as run_steps

    from bagnoise.steps.timing import Drop

    times = [EPOCH + n * 1000 for n in range(20_000)]
    kept = len(run_steps([Drop(probability=0.2)], times))
    assert share_is(kept, len(times), 0.8)
    assert not share_is(kept, len(times), 0.8 * 1.05)
    burst = {int(s.payload) for s in run_steps([Drop(probability=0.2, burst=5)], times)}
    lost = np.array([n not in burst for n in range(len(times))])
    # runs make neighbours alike, so the share spreads more: 5 draws count as about one
    assert share_is(int(lost[::10].sum()), len(lost[::10]), 0.2)
    lengths = np.diff(np.flatnonzero(np.diff(np.concatenate([[0], lost, [0]]))))[::2]
    assert lengths[:-1].min() >= 5


def test_keys_spread_evenly() -> None:
    """First draws of neighbouring keys are uniform: what all of the above rests on."""
    from scipy import stats

    first = np.array([keyed(0, "s", "noise", n, 0).random() for n in range(20_000)])
    assert stats.kstest(first, "uniform").pvalue > 1e-6
    assert are_uncorrelated(first[1:], first[:-1])
    assert stats.kstest(first**1.05, "uniform").pvalue < 1e-6
