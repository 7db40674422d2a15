"""The check passes what is as recorded and fails what is not, at a stated alpha."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from written_bags import Sensor, write_pair

from bagnoise.compare.check import Verdict, check
from bagnoise.compare.run import Options, compare
from bagnoise.errors import UsageError

ALPHA = 1e-6
SENSOR = Sensor()
# 12 cones x 1000 messages: the deviation of 12000 draws is known to 0.65 %, so 5 % is 7.7 sigma


def verdict_of(folder: Path, sensor: Sensor) -> Verdict:
    return check(compare(*write_pair(folder, sensor)), ALPHA)


def failures(verdict: Verdict) -> set[str]:
    return {f"{line.subject}: {line.what}" for line in verdict.failed}


@pytest.mark.parametrize("seed", range(5))
def test_what_is_as_recorded_passes(tmp_path: Path, seed: int) -> None:
    verdict = verdict_of(tmp_path, replace(SENSOR, seed=seed))
    assert failures(verdict) == set()
    assert verdict.tested >= 9


def test_misses_and_false_positives_do_not_bias_the_noise(tmp_path: Path) -> None:
    assert failures(verdict_of(tmp_path, replace(SENSOR, miss=0.4, false=3))) == set()


@pytest.mark.parametrize(
    ("wrong", "failed"),
    [
        ({"sigma_m": (0.21, 0.2)}, "/cones noise: x deviation"),
        ({"sigma_m": (0.2, 0.19)}, "/cones noise: y deviation"),
        ({"bias_m": (0.0, 0.02)}, "/cones noise: mean y error"),
        ({"mean_s": 0.0108}, "/cones latency: mean delay"),
        ({"std_s": 0.0048}, "/cones latency: delay deviation"),
    ],
)
def test_a_little_off_fails(tmp_path: Path, wrong: dict[str, object], failed: str) -> None:
    sensor = replace(SENSOR, **wrong)  # type: ignore[arg-type]
    assert failed in failures(verdict_of(tmp_path, sensor))


HEAVY = replace(  # half of the draws are cut at zero, and most others wait for the one before
    SENSOR,
    mean_s=0.0,
    std_s=0.05,
    time_steps="- latency: {mean_s: 0.0, std_s: 0.05}",
    messages=3000,
)


@pytest.mark.parametrize("seed", range(5))
def test_delays_cut_at_zero_and_queues_pass(tmp_path: Path, seed: int) -> None:
    verdict = verdict_of(tmp_path, replace(HEAVY, seed=seed))
    assert failures(verdict) == set()
    (line,) = [line for line in verdict.lines if line.what == "mean delay"]
    assert "at zero or waiting" in line.note


def test_delays_cut_at_zero_and_queues_fail_when_they_are_longer(tmp_path: Path) -> None:
    assert "/cones latency: delay deviation" in failures(
        verdict_of(tmp_path, replace(HEAVY, std_s=0.065))
    )


def test_a_crop_after_the_noise_does_not_bias_it(tmp_path: Path) -> None:
    asked = "noise: {std_m: 0.2}\n      - crop: {min_x_m: 8}"
    verdict = verdict_of(tmp_path, replace(SENSOR, asked=asked))
    deviation = [line for line in verdict.lines if line.what == "x deviation"]
    assert "n = 12000" not in deviation[0].note  # cones near the edge are left out
    assert failures(verdict) == set()


BY_AXIS = "noise: {std_x_m: {linear: {base: 0.2}}, std_y_m: 0.3, bias_x_m: 0.1}"


@pytest.mark.parametrize(("sigma_y_m", "bad"), [(0.3, False), (0.315, True)])
def test_noise_by_axis_with_a_bias(tmp_path: Path, sigma_y_m: float, bad: bool) -> None:
    sensor = replace(SENSOR, asked=BY_AXIS, sigma_m=(0.2, sigma_y_m), bias_m=(0.1, 0.0))
    found = failures(verdict_of(tmp_path, sensor))
    assert ("/cones noise: y deviation" in found) == bad
    assert "/cones noise: x deviation" not in found
    assert not any("mean" in text for text in found)


def test_noise_asked_by_range_fails_where_it_is_the_same_everywhere(tmp_path: Path) -> None:
    asked = "noise: {std_x_m: {linear: {per_m: 0.01}}, std_y_m: 0.2}"
    found = failures(verdict_of(tmp_path, replace(SENSOR, asked=asked)))
    assert found == {"/cones noise: x deviation", "/cones noise: x and y deviation"}


def test_without_labels_noise_is_not_tested(tmp_path: Path) -> None:
    verdict = verdict_of(tmp_path, replace(SENSOR, labels=False, sigma_m=(0.4, 0.4)))
    (line,) = [line for line in verdict.lines if line.what == "position noise"]
    assert line.p is None
    assert "labels" in line.note
    assert failures(verdict) == set()


def test_a_gate_would_bias_the_spread(tmp_path: Path) -> None:
    """Two-dimensional normal errors of 0.25 m within 0.5 m have 0.83 of their deviation."""
    sensor = replace(SENSOR, labels=False, sigma_m=(0.25, 0.25))
    truth, noisy = write_pair(tmp_path, sensor)
    (stream,) = compare(truth, noisy, Options(gate_m=0.5)).streams
    seen = stream.measured["residual_m"]["x"]["std"] / 0.25
    assert seen == pytest.approx(0.83, abs=0.02)


@pytest.mark.parametrize(("lost", "bad"), [(0.1, False), (0.2, True)])
def test_losses(tmp_path: Path, lost: float, bad: bool) -> None:
    steps = "- drop: {probability: 0.1}\n      - latency: {mean_s: 0.01, std_s: 0.004}"
    found = failures(verdict_of(tmp_path, replace(SENSOR, lost=lost, time_steps=steps)))
    assert found == ({"/cones drop: share lost"} if bad else set())


def test_a_bag_that_is_not_ours_cannot_be_checked(tmp_path: Path) -> None:
    truth, noisy = write_pair(tmp_path, replace(SENSOR, messages=20))
    with pytest.raises(UsageError, match="not made by bagnoise"):
        check(compare(noisy, truth))
    with pytest.raises(UsageError, match="alpha 2 is not between"):
        check(compare(truth, noisy), 2)
