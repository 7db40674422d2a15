"""What a preset was made with lies within the fitted intervals as often as stated.

benchmarks/fit_coverage.py does it over all presets and 20 seeds; here two presets and few seeds,
with the same limits: a binomial of 95 %, alpha = 1e-6 over all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bagnoise.augment.run import augment
from bagnoise.fit.recipe_text import recipe_text
from bagnoise.fit.run import Fit, Options, fit
from bagnoise.recipe.check import recipe_of
from bagnoise.recipe.document import read_document

ROOT = Path(__file__).parents[2]
TRACK = "/ground_truth/track"
Make = Callable[..., Path]


@pytest.mark.parametrize(("preset", "seeds"), [("cone-noise-simulator", 2), ("fssim-lidar", 3)])
def test_coverage(preset: str, seeds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import fit_coverage as coverage

    rows = [row for seed in range(101, 101 + seeds) for row in coverage.measure(preset, seed)]
    text, failed = coverage.table(rows, seeds)
    assert not failed, text
    every = sum(row.covered for row in rows)
    assert every >= coverage.least_covered(len(rows), 1e-6), text
    spread = [row for row in rows if row.parameter == "range_std_m by bin"]
    wrong = sum(row.covers_wrong for row in spread)  # sigma x 1.1
    assert wrong < coverage.least_covered(len(spread), 1e-6)
    sys.modules.pop("fit_coverage")


def test_limits_of_coverage_are_binomial(monkeypatch: pytest.MonkeyPatch) -> None:
    from scipy import stats

    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import fit_coverage as coverage

    for trials in (20, 120, 360):
        least = coverage.least_covered(trials, 1e-6)
        assert stats.binom.cdf(least - 1, trials, 0.95) <= 1e-6
        assert stats.binom.cdf(least, trials, 0.95) > 1e-6
    sys.modules.pop("fit_coverage")


def test_labels_are_not_read(make: Make, lap: Path) -> None:
    options = Options(topics=("/lidar/cones",))
    plain = fit(lap, make("cone-noise-simulator"), options)
    labelled = fit(lap, make("cone-noise-simulator", labels=True), options)
    values = [recipe_text(Fit("t", "r", found.streams)) for found in (plain, labelled)]
    assert values[0] == values[1]


def test_a_fitted_recipe_makes_what_it_was_fitted_to(make: Make, lap: Path, tmp_path: Path) -> None:
    real = make("ugrdv-realistic")
    options = Options(truth_topic=TRACK)
    first = fit(lap, real, options)
    recipe = recipe_of(read_document(recipe_text(first), "fitted"))
    again = tmp_path / "again.mcap"
    augment(lap, again, recipe)
    second = fit(lap, again, options)
    (one,), (other,) = first.streams, second.streams
    assert one.fit.topic == other.fit.topic
    # a second draw of the same: both intervals together, at alpha = 1e-6
    for name in ("range", "across"):
        a, b = one.fit.errors.one_std[name], other.fit.errors.one_std[name]
        assert abs(a.value - b.value) < 4.9 / 1.96 * (a.half_width**2 + b.half_width**2) ** 0.5
        assert abs(1.2 * a.value - b.value) > 4.9 / 1.96 * b.half_width
    a, b = one.fit.strays.per_frame, other.fit.strays.per_frame
    assert abs(a.value - b.value) < 4.9 / 1.96 * (a.half_width**2 + b.half_width**2) ** 0.5


DRIFT = """
seed: 3
streams:
  lidar:
    source: /ground_truth/track
    target: /lidar/cones
    steps:
      - from_track: {pose_topic: /ground_truth/odom, hz: 10}
      - field_of_view: {max_range_m: 20, horizontal_deg: 140}
      - detection: {probability: 0.8, correlation_s: 0.4}
      - polar_noise: {range_std_m: 0.1, bearing_std_rad: 0.005, bearing_bias_rad: 0.004}
      - drift: {per: cone, range_std_m: 0.1, across_std_m: 0.05, correlation_s: 0.6}
      - rate: {hz: 25}
      - latency: {mean_s: 0.01, std_s: 0.001}
"""


def test_what_lasts_and_a_timer_that_repeats(make: Make, lap: Path) -> None:
    (stream,) = fit(lap, make(DRIFT), Options(truth_topic=TRACK)).streams
    found = stream.fit
    assert 300 < len(found.rows.true_xy) < 330  # of 780 messages: repeats count once
    assert found.timing.by_timer
    assert found.timing.hz is not None
    assert found.timing.measured_hz is not None
    assert (found.timing.hz.value, found.timing.measured_hz.value) == (25, 10)
    wide = 6.0  # t with 11 degrees at 1e-6, over that at 5 %: 4.3; sums of two estimates more
    assert found.memory.found
    assert found.memory.correlation_s is not None
    assert (
        abs(found.memory.correlation_s.value - 0.6) < wide * found.memory.correlation_s.half_width
    )
    assert found.memory.std_m == pytest.approx((0.1, 0.05), rel=0.25)
    assert found.misses.correlation_s is not None
    assert (
        abs(found.misses.correlation_s.value - 0.4) < wide * found.misses.correlation_s.half_width
    )
    assert found.errors.bearing_bias is not None
    bias = found.errors.bearing_bias
    assert abs(bias.value - 0.004) < 2.5 * bias.half_width
    steps = read_document(recipe_text(Fit("t", "r", [stream])), "fitted").data["streams"]
    names = [next(iter(step)) for step in steps[stream.name]["steps"]]
    assert names[-2:] == ["rate", "latency"]
    assert "drift" in names
