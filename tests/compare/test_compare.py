"""What a comparison measures, by hand-made cases."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from written_bags import Sensor, write_pair

from bagnoise.augment.run import Options as AugmentOptions
from bagnoise.augment.run import augment
from bagnoise.augment.selection import Cut
from bagnoise.cli.main import cli
from bagnoise.compare.check import check
from bagnoise.compare.clouds import BEAMS, ROWS, CloudSums, match_points
from bagnoise.compare.cones import bin_of, residuals
from bagnoise.compare.matching import _near, nearest
from bagnoise.compare.run import Options, compare
from bagnoise.compare.samples import Track, shown_messages
from bagnoise.compare.timing import rhythm
from bagnoise.errors import UsageError
from bagnoise.messages.cloud import Cloud
from bagnoise.messages.payload import Cones, source_rows
from bagnoise.messages.point_fields import PointField
from bagnoise.plain_json import json_text
from bagnoise.recipe.load import Request, load_recipe
from bagnoise.report.run import report

SENSOR = Sensor(messages=200, miss=0.25, false=2)
LAP = Path(__file__).parents[2] / "sample_bags" / "lap.mcap"
SCAN = LAP.parent / "scan"


def cones(*xyz: tuple[float, float, float]) -> Cones:
    color = np.zeros(len(xyz), np.int8)
    return Cones(0, "", np.array(xyz, float).reshape(-1, 3), color, source_rows(len(xyz)), len(xyz))


def test_residuals_along_and_across_the_ray_by_hand() -> None:
    true = np.array([[3.0, 4.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 0.0]])
    seen = true + np.array([[0.3, 0.4, 0.1], [-0.5, 0.0, 0.0], [1.0, 0.0, 0.0]])
    expected = [[0.3, 0.4, 0.1, 0.5, 0.0], [-0.5, 0, 0, 0, 0.5], [1, 0, 0, 0, 0]]
    assert residuals(true, seen) == pytest.approx(np.array(expected), abs=1e-12)


def test_a_range_on_an_edge_belongs_to_the_bin_above() -> None:
    xyz = np.array([[0, 0, 9], [4.99, 0, 0], [3, 4, 0], [100, 0, 0]], float)
    assert bin_of(xyz, (0, 5, 10)).tolist() == [0, 0, 1, 2]


def test_nearest_pairs_come_first_and_the_gate_holds() -> None:
    true = cones((0, 0, 0), (1, 0, 0), (10, 0, 0))
    seen = cones((0.6, 0, 5), (0.9, 0, 0), (12, 0, 0), (float("nan"), 0, 0))
    assert nearest(true, seen, 1.5).place.tolist() == [0, 1, -1, -1]
    assert nearest(cones(), seen, 1.5).place.tolist() == [-1] * 4


@pytest.mark.parametrize("labels", [True, False])
def test_detection_false_positives_and_confusion(tmp_path: Path, labels: bool) -> None:
    truth, noisy = write_pair(tmp_path, replace(SENSOR, labels=labels, sigma_m=(0.01, 0.01)))
    (stream,) = compare(truth, noisy).streams
    measured = stream.measured
    assert stream.matching == ("labels" if labels else "nearest within 1.5 m, one to one")
    assert measured["false_positives_per_message"] == 2
    assert measured["true_cones"] == 12 * 200
    assert measured["detection_rate"] == pytest.approx(0.75, abs=0.05)  # 2400 trials: 5.6 sigma
    assert measured["confusion"]["blue"]["yellow"] == 0
    assert sum(measured["confusion"]["yellow"].values()) == 6 * 200
    assert sum(b["true_cones"] for b in measured["by_range"]) == 2400


def test_delays_and_bytes(tmp_path: Path) -> None:
    truth, noisy = write_pair(tmp_path, replace(SENSOR, mean_s=0.03, std_s=0.0))
    plain = compare(truth, noisy).to_plain()
    assert plain["streams"][0]["latency"]["mean_s"] == pytest.approx(0.03, abs=1e-9)
    assert plain["streams"][0]["latency"]["percentiles_s"]["99"] == pytest.approx(0.03, abs=1e-9)
    said = {t["topic"]: t["bytes"] for t in plain["topics"]}
    assert said == {
        "/cones": "only in noisy",
        "/cones/labels": "only in noisy",
        "/other": "identical",
        "/truth": "only in truth",
    }


def test_rhythm_by_hand() -> None:
    times = [0, 100, 200, 500, 600]
    found = rhythm(Track("/x", times, [5, 6, 4, 7, 7], [0] * 5))
    assert (found["messages"], found["gaps"], found["out_of_order"]) == (5, 1, 1)
    assert found["largest_gap_s"] == 300e-9
    assert found["rate_hz"] == pytest.approx(4 / 600e-9)


def test_messages_without_stamps_show_the_latest_truth() -> None:
    truth = Track("/t", [10, 20, 30], [0, 0, 0], [0] * 3)
    noisy = Track("/n", [9, 20, 29, 99], [0] * 4, [0] * 4)
    assert shown_messages(truth, noisy).truth == [None, 1, 1, 2]
    assert shown_messages(truth, noisy, [10, 10, 25, 30]).truth == [0, 0, 1, 2]


def test_stamps_far_from_any_truth_show_none() -> None:
    truth = Track("/t", [1, 2, 3], [100, 200, 300], [0] * 3)
    noisy = Track("/n", [1, 2, 3], [120, 251, 900], [0] * 3)
    assert shown_messages(truth, noisy).truth == [0, 2, None]


FIELDS = tuple(PointField(name, 4 * n, 7, 1) for n, name in enumerate("xyz"))


def cloud(xyz: np.ndarray) -> Cloud:
    dtype = np.dtype([(name, "<f4") for name in "xyz"])
    points = np.zeros(len(xyz), dtype)
    for name, column in zip("xyz", xyz.T, strict=True):
        points[name] = column
    return Cloud(0, "", FIELDS, points, 1, len(xyz), 12)


def sphere(count: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    azimuth = np.sort(rng.uniform(-np.pi, np.pi, count))
    elevation = np.radians(rng.integers(-8, 8, count) * 2.0)
    unit = np.column_stack(
        [
            np.cos(elevation) * np.cos(azimuth),
            np.cos(elevation) * np.sin(azimuth),
            np.sin(elevation),
        ]
    )
    return unit * rng.uniform(2, 60, count)[:, None]


def test_clouds_of_equal_length_are_compared_row_by_row() -> None:
    xyz = sphere(400)
    seen = xyz * (1 + 0.5 / np.linalg.norm(xyz, axis=1))[:, None]
    seen[:10] = np.nan
    sums = CloudSums((0.0, 20.0))
    sums.add(cloud(xyz), cloud(seen))
    found = sums.measures()
    assert found["matching"] == ROWS
    assert (found["true_points"], found["points"], found["misses"]) == (400, 390, 10)
    assert found["range_residual_m"]["mean"] == pytest.approx(0.5, abs=1e-4)
    assert sum(b["points"] for b in found["by_range"]) == 390


def test_clouds_with_points_left_out_are_compared_by_direction() -> None:
    xyz = sphere(400)
    pairs = match_points(cloud(xyz), cloud(xyz[::3] * 1.01))
    assert pairs.how == BEAMS
    assert pairs.true.tolist() == list(range(0, 400, 3))
    assert pairs.noisy.tolist() == list(range(134))


def test_points_that_are_nowhere_are_left_out_and_counted() -> None:
    xyz = sphere(400)
    seen = xyz * 1.01
    clean, odd = CloudSums((0.0, 20.0)), CloudSums((0.0, 20.0))
    clean.add(cloud(xyz), cloud(seen))
    far = np.array([[1e38, 0, 0], [2e9, 2e9, 0], [1e-30, 0, 0]])
    odd.add(cloud(np.vstack([xyz, far])), cloud(np.vstack([seen, far[:2], [[1.0, 2.0, 99.0]]])))
    found = odd.measures()
    assert found["nowhere"] == {"true_points": 3, "points": 2}
    assert found["unmatched_points"] == 1
    for name in ("true_points", "misses", "kept", "range_residual_m", "by_range"):
        assert found[name] == clean.measures()[name], name


def test_the_clouds_of_a_bag(tmp_path: Path) -> None:
    recipe = load_recipe(Request(streams=["/velodyne_points | latency mean_s=0.01"]))
    augment(SCAN, tmp_path / "late", recipe)
    (stream,) = compare(SCAN, tmp_path / "late").streams
    assert stream.measured["kept"] == 1
    assert stream.measured["range_residual_m"]["std"] == 0
    assert len(stream.measured["by_ring"]) == 15  # the topmost sees only sky


def test_any_two_bags_compare(tmp_path: Path) -> None:
    truth, noisy = write_pair(tmp_path, SENSOR)
    (stream,) = compare(truth, noisy, Options(pairs=[("/other", "/cones")])).streams
    assert stream.pair.how == "as asked"
    assert stream.measured["messages"] == 200
    with pytest.raises(UsageError, match="no topic '/nothing' in"):
        compare(truth, noisy, Options(pairs=[("/other", "/nothing")]))
    with pytest.raises(UsageError, match="are not both cones"):
        compare(truth, noisy, Options(pairs=[("/other", "/cones/labels")]))
    with pytest.raises(UsageError, match="range bins"):
        compare(truth, noisy, Options(bins_m=[5, 1]))


def test_the_command_prints_json_and_fails_with_the_line(tmp_path: Path) -> None:
    good = write_pair(tmp_path, replace(SENSOR, messages=500))
    run = CliRunner().invoke(
        cli, ["compare", *map(str, good), "--json", "--check"], standalone_mode=False
    )
    assert run.return_value == 0
    assert json.loads(run.stdout)["check"]["passed"]
    bad = write_pair(tmp_path, replace(SENSOR, messages=500, sigma_m=(0.25, 0.2)))
    run = CliRunner().invoke(
        cli, ["compare", *map(str, bad), "-q", "--check"], standalone_mode=False
    )
    assert run.return_value == 3
    assert "check failed: /cones noise: x deviation: asked 0.2 m, measured 0.2" in run.stderr


def test_a_cut_bag_without_stamps_passes(tmp_path: Path) -> None:
    out = tmp_path / "cut.mcap"
    recipe = load_recipe(Request(recipe="feb-literal", seed=4))
    augment(LAP, out, recipe, AugmentOptions(cut=Cut(start="10.0003", end="20")))
    comparison = compare(LAP, out)
    assert check(comparison).failed == []
    assert len(comparison.streams) == 3  # what is only a part of the truth is not compared
    for stream in comparison.streams:
        assert stream.shown.how == "the recipe's ticks"
        assert abs(stream.measured["residual_m"]["x"]["mean"]) < 0.05


def test_the_simulators_bag_passes_and_its_ticks_are_counted(tmp_path: Path) -> None:
    for preset in ("cone-noise-simulator", "feb-literal"):
        out = tmp_path / f"{preset}.mcap"
        augment(LAP, out, load_recipe(Request(recipe=preset, seed=4)))
        verdict = check(compare(LAP, out))
        assert verdict.failed == []
        said = {(line.subject, line.what) for line in verdict.lines if line.p is not None}
        assert ("/camera/cones rate", "ticks at 25 Hz") in said
        assert any(subject == "/lidar/cones latency" for subject, _ in said)


@given(
    hnp.arrays(float, st.tuples(st.integers(0, 9), st.just(3)), elements=st.integers(-3, 3)),
    hnp.arrays(float, st.tuples(st.integers(0, 9), st.just(3)), elements=st.integers(-3, 3)),
    st.sampled_from([0.5, 1.0, 2.5]),
    st.sampled_from([1, 7, 1 << 20]),
)
def test_pairs_in_strips_are_all_pairs_within_the_gate(
    seen: NDArray[np.float64], true: NDArray[np.float64], gate_m: float, most: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bagnoise.compare.matching._MOST_PAIRS", most)
        rows, columns, distance_m = _near(seen, true, gate_m)
    apart = np.hypot(*(true[None, :, :2] - seen[:, None, :2]).transpose(2, 0, 1))
    wanted = np.argwhere(apart <= gate_m)
    assert sorted(zip(rows.tolist(), columns.tolist(), strict=True)) == [*map(tuple, wanted)]
    assert distance_m.tolist() == apart[rows, columns].tolist()


@pytest.mark.parametrize("labels", [True, False])
def test_cones_that_are_nowhere_are_left_out_and_counted(tmp_path: Path, *, labels: bool) -> None:
    """As if they had not been sent: the other figures are those of the bags without them."""
    sensor = Sensor(messages=50, labels=labels)
    (tmp_path / "clean").mkdir()
    (tmp_path / "odd").mkdir()
    clean = compare(*write_pair(tmp_path / "clean", sensor)).streams[0]
    truth, noisy = write_pair(tmp_path / "odd", sensor, nowhere=(np.nan, np.inf, -1e308))
    comparison = compare(truth, noisy)
    odd = comparison.streams[0]
    assert odd.measured["nowhere"] == {"true_cones": 0, "detections": 150}
    assert clean.measured["nowhere"] == {"true_cones": 0, "detections": 0}
    (warning,) = odd.warnings
    assert warning == (
        "0 cones of /truth and 150 of /cones are left out: their positions are not finite, or "
        "farther than any cone"
    )
    assert {**odd.measured, "nowhere": 0} == {**clean.measured, "nowhere": 0}


def test_cones_that_are_nowhere_stop_neither_page_nor_json(tmp_path: Path) -> None:
    truth, noisy = write_pair(
        tmp_path, Sensor(messages=50), nowhere=(np.nan, np.inf, 1e308, -1e300)
    )
    page = report(noisy, tmp_path / "page.html", truth=truth).page.read_text("utf-8")
    assert "200 of /cones are left out" in page
    blocks = re.findall(r'type="application/json" id="[^"]+">(.*?)</script>', page, re.DOTALL)
    told = CliRunner().invoke(cli, ["compare", str(truth), str(noisy), "--json"])
    for text in (*blocks, told.stdout):
        json.loads(text, parse_constant=pytest.fail)
    assert blocks


def test_json_has_no_word_for_nan() -> None:
    odd = {"a": [float("nan"), 1.5, (float("inf"),)], "b": {"c": -float("inf")}, "d": "NaN"}
    assert json_text(odd) == '{"a":[null,1.5,[null]],"b":{"c":null},"d":"NaN"}'


def test_every_json_of_the_command_line_is_written_so() -> None:
    for path in (LAP.parents[1] / "bagnoise" / "cli").glob("*.py"):
        assert not re.search(r"echo\(json\.dump", path.read_text("utf-8")), path.name
