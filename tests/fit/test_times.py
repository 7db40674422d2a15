"""Rates with gaps, and delays that are cut at zero and keep their order."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bagnoise.fit.delivery import delays
from bagnoise.fit.rhythm import beats, rate, shortest_within

SECOND_NS = 1_000_000_000
START_NS = 1_700_000_000_123_456_789
ALPHA = 1e-6
WIDE = stats.norm.isf(ALPHA / 2) / stats.norm.isf(0.025)


def test_gaps_count_as_the_beats_they_hold() -> None:
    times = [START_NS + k * 100_000_000 for k in (0, 1, 2, 5, 6, 9)]
    assert beats(times).tolist() == [0, 1, 2, 5, 6, 9]
    assert rate(times).value == 10.0


def test_rate_with_jitter() -> None:
    random = np.random.default_rng(1)
    k = np.sort(random.choice(2000, 1500, replace=False))
    jitter = random.standard_normal(1500) * 2e6
    times = [START_NS + round(n / 12.34 * 1e9 + j) for n, j in zip(k, jitter, strict=True)]
    found = rate(times)
    assert abs(found.value - 12.34) <= WIDE * found.half_width
    assert abs(found.value - 12.35) > WIDE * found.half_width


def test_shortest_decimal() -> None:
    assert shortest_within(24.99, 25.02) == 25
    assert shortest_within(33.29, 33.31) == 33.3


def delivered(
    mean_s: float, std_s: float, hz: float, count: int, seed: int
) -> list[tuple[int, int]]:
    random = np.random.default_rng(seed)
    bases, latest = [], 0
    for k in range(count):
        base_ns = START_NS + round(k / hz * SECOND_NS)
        late = max(0, round((mean_s + std_s * random.standard_normal()) * SECOND_NS))
        latest = max(latest, base_ns + late)
        bases.append((base_ns, latest))
    return bases


@pytest.mark.parametrize(("mean_s", "std_s", "hz"), [(0.2, 0.002, 10), (0.01, 0.03, 50)])
def test_delay_of_the_draws_before_cut_and_order(mean_s: float, std_s: float, hz: float) -> None:
    bases = delivered(mean_s, std_s, hz, 3000, seed=7)
    found = delays(bases)
    assert found.mean_s is not None
    assert found.std_s is not None
    assert abs(found.mean_s.value - mean_s) <= WIDE * found.mean_s.half_width
    assert abs(found.std_s.value - std_s) <= WIDE * found.std_s.half_width
    assert abs(found.std_s.value - 1.2 * std_s) > WIDE * found.std_s.half_width
    if found.censored:  # what a plain mean would say
        plain = np.mean([log - base for base, log in bases]) / SECOND_NS
        assert abs(plain - mean_s) > WIDE * found.mean_s.half_width


def test_equal_delays_have_no_deviation() -> None:
    found = delays([(START_NS + k * 10**8, START_NS + k * 10**8 + 2 * 10**8) for k in range(50)])
    assert found.mean_s is not None
    assert found.mean_s.value == 0.2
    assert found.std_s is not None
    assert found.std_s.value == 0


def test_early_messages_say_why() -> None:
    found = delays([(START_NS + k * 10**8, START_NS + k * 10**8 - 5_000_000) for k in range(50)])
    assert found.mean_s is None
    assert "50 of 50 messages were logged before their measurement, by up to 5.000 ms" in found.why
