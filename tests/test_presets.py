"""Each preset's statistics against the numbers that its origin states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from statistics_checks import share_is, std_is

from bagnoise.augment.chain import Chain, build_chain
from bagnoise.augment.run import augment
from bagnoise.bags.model import NO_SCHEMA, Channel
from bagnoise.messages.payload import ConeClass, Cones, source_rows, with_truth
from bagnoise.recipe.load import Request, load_recipe
from bagnoise.recipe.model import step_labels
from bagnoise.recipe.sources import preset_names, preset_text, single_presets
from bagnoise.steps.base import Sample, SourceStep, TimeStep
from bagnoise.steps.clock import Clock

LAP = Path(__file__).resolve().parents[1] / "sample_bags" / "lap.mcap"
EPOCH = 1_700_000_000_000_000_000
CHANNEL = Channel(0, "/t", NO_SCHEMA)
ROWS, MESSAGES = 40, 500
B, Y, S, O, U = ConeClass  # noqa: E741


class Seen(NamedTuple):
    """What became of cones on one spot."""

    along: NDArray[np.float64]  # errors of those seen
    across: NDArray[np.float64]
    colors: Counter[int]
    shown: int
    false: int
    covariance: NDArray[np.float64]


@cache
def chain_of(preset: str, stream: str) -> Chain:
    steps = load_recipe(Request(recipe=preset)).streams[stream].steps
    labelled = [
        (label, step)
        for label, step in zip(step_labels(steps), steps, strict=True)
        if not isinstance(step, TimeStep | SourceStep)
    ]
    return build_chain(labelled, (0, stream), {"log": Clock()}, None, Counter())


def outputs(preset: str, stream: str, cones: Cones) -> Iterator[Cones]:
    chain = chain_of(preset, stream)
    for n in range(MESSAGES):
        at_ns = EPOCH + n * 100_000_000
        for made in chain.feed(Sample(at_ns, at_ns, 0, at_ns, 0, CHANNEL, cones, at_ns)):
            yield made.payload


@cache
def look(
    preset: str,
    stream: str,
    range_m: float,
    color: int = B,
    bearing_deg: float = 10.0,
    origin_x_m: float = 0.0,
    shift_x_m: float = 0.0,
) -> Seen:
    """Show 20 000 cones ``range_m`` from (origin_x_m, 0); output x is moved by ``shift_x_m``."""
    angle = np.deg2rad(bearing_deg)
    ray = np.array((np.cos(angle), np.sin(angle)))
    left = np.array((-ray[1], ray[0]))
    xyz = np.zeros((ROWS, 3))
    xyz[:, :2] = range_m * ray + (origin_x_m, 0)
    cones = with_truth(
        Cones(EPOCH, "car", xyz, np.full(ROWS, color, np.int8), source_rows(ROWS), ROWS)
    )
    errors, colors, false, last = [], Counter[int](), 0, np.zeros((0, 3, 3))
    for made in outputs(preset, stream, cones):
        real = made.index >= 0
        errors.append(made.xyz[real, :2] - xyz[0, :2] - (shift_x_m, 0))
        colors.update(made.color[real].tolist())
        false += int((~real).sum())
        if made.covariance is not None and real.any():
            last = made.covariance[real]
    moved = np.concatenate(errors)
    return Seen(moved @ ray, moved @ left, colors, len(moved), false, last)


def detects(seen: Seen, chance: float) -> bool:
    return share_is(seen.shown, ROWS * MESSAGES, chance)


def colors_are(seen: Seen, chances: dict[int, float]) -> bool:
    if set(seen.colors) - set(chances):
        return False
    if len(chances) == 1:
        return True
    found = [seen.colors[code] for code in chances]
    expected = np.array(list(chances.values())) / sum(chances.values()) * seen.shown
    return bool(stats.chisquare(found, expected).pvalue > 1e-6)


def test_pacsim_at_10_m() -> None:
    seen = look("pacsim", "front", 10.0)
    assert detects(seen, 0.99 - 0.01 * 9 - 0.00012 * 81)
    assert not detects(seen, 0.87)
    right = 0.99 - 0.01 * 9 - 0.000125 * 81
    fifth = (1 - right) / 5
    assert colors_are(seen, {B: right + fifth, Y: fifth, S: fifth, O: fifth, U: fifth})
    assert std_is(seen.along, np.sqrt(0.01**2 + 0.02**2 + 0.001**2))
    assert std_is(seen.across, np.hypot(0.01, 0.01))  # Cartesian, and 0.001 rad at 10 m
    assert not std_is(seen.across, 0.0135)


@pytest.mark.parametrize(("range_m", "chance"), [(20.0, 0.757), (44.99, 0.3177)])
def test_pacsim_far_off(range_m: float, chance: float) -> None:
    seen = look("pacsim", "front", range_m)
    assert detects(seen, chance)
    assert not detects(seen, chance + 0.03)
    assert set(seen.colors) == {U}  # no class beyond 15 m


def test_pacsims_view() -> None:
    assert look("pacsim", "front", 46.0).shown == 0
    assert look("pacsim", "front", 0.9).shown == 0
    assert look("pacsim", "front", 5.0, bearing_deg=61.0).shown == 0
    assert look("pacsim", "front", 5.0, bearing_deg=59.0).shown > 0


@pytest.mark.parametrize(("range_m", "camera"), [(5.0, 0.053), (10.0, 0.151), (14.9, 0.424)])
def test_eufs(range_m: float, camera: float) -> None:
    seen = look("eufs", "perception", range_m)
    assert detects(seen, 1.0)
    along, across = 0.4 * camera + 0.018, 0.4 * camera / 5 + 0.018
    assert np.std(seen.along) == pytest.approx(along, rel=0.03)  # the stated values are rounded
    assert np.std(seen.across) == pytest.approx(across, rel=0.03)
    eigenvalues = np.linalg.eigvalsh(seen.covariance[0, :2, :2])
    assert np.sqrt(eigenvalues) == pytest.approx([across, along], rel=0.2)  # variances


def test_eufs_colors_only_where_the_camera_sees() -> None:
    assert set(look("eufs", "perception", 14.0, bearing_deg=59.0).colors) == {B}
    assert set(look("eufs", "perception", 14.0, bearing_deg=61.0).colors) == {U}
    assert set(look("eufs", "perception", 16.0).colors) == {U}
    assert look("eufs", "perception", 21.0).shown == 0


@pytest.mark.parametrize(
    ("color", "chances"),
    [
        (B, {B: 0.69, Y: 0.0005}),
        (Y, {Y: 0.69, B: 0.0005}),
        (S, {S: 0.7}),
        (O, {O: 0.5, S: 0.1}),
        (U, {U: 0.95}),
    ],
)
def test_the_recolor_matrix_of_2022_07(color: int, chances: dict[int, float]) -> None:
    seen = look("eufs-2022-07", "perception", 5.0, color)
    assert detects(seen, sum(chances.values()))
    assert not detects(seen, sum(chances.values()) - 0.03)
    assert colors_are(seen, chances)


@pytest.mark.parametrize(
    ("kind", "range_m", "right", "radial"),
    [("lidar", 5.0, 0.8, 0.05), ("lidar", 14.0, 0.8, 0.05), ("camera", 8.0, 0.99, 0.2)],
)
def test_fssim(kind: str, range_m: float, right: float, radial: float) -> None:
    seen = look(f"fssim-{kind}", kind, range_m)
    assert detects(seen, 1 - range_m / 100)
    assert std_is(seen.along, radial)
    assert std_is(seen.across, 0.007 * range_m)
    correct = right * (1 - range_m / 200)
    assert colors_are(seen, {B: correct, U: 1 - correct} if range_m <= 10 else {U: 1.0})


def test_fssims_circle_and_merged_orange() -> None:
    assert look("fssim-lidar", "lidar", 15.5).shown == 0
    assert look("fssim-camera", "camera", 10.5).shown == 0
    assert look("fssim-lidar", "lidar", 5.0, bearing_deg=170.0).shown == 0  # behind x = -1
    assert set(look("fssim-lidar", "lidar", 5.0, O).colors) == {S, U}


@pytest.mark.parametrize(
    ("kind", "x", "near", "far", "half"),
    [("lidar", 1.59, 1.0, 20.0, 90.0), ("camera", -0.37, 0.5, 10.0, 55.0)],
)
def test_qut(kind: str, x: float, near: float, far: float, half: float) -> None:
    seen = look(f"qut-{kind}", kind, 9.0, origin_x_m=x, shift_x_m=-x)
    assert detects(seen, 1.0)
    assert std_is(seen.along, 0.01)
    assert std_is(seen.across, 0.009)
    assert not std_is(seen.across, 0.01)
    assert set(seen.colors) == ({U} if kind == "lidar" else {B})
    for range_m, bearing in ((near - 0.01, 0.0), (far + 0.01, 0.0), (5.0, half + 0.5)):
        assert look(f"qut-{kind}", kind, range_m, B, bearing, x).shown == 0
    for range_m, bearing in ((near + 0.01, 0.0), (far - 0.01, 0.0), (5.0, half - 0.5)):
        assert look(f"qut-{kind}", kind, range_m, B, bearing, x).shown > 0


# up to (m), detection, color right, color wrong, false positives a cone, std x, std y
UGRDV = [
    (1.4, 0.008, 0.98, 0.0, 0.13, 0.71, 0.89),
    (2.9, 0.333, 0.98, 0.0, 0.07, 0.22, 0.16),
    (4.4, 0.52, 0.98, 0.005, 0.01, 0.22, 0.16),
    (5.9, 0.94, 0.98, 0.005, 0.02, 0.26, 0.16),
    (7.4, 0.955, 0.98, 0.005, 0.04, 0.10, 0.16),
    (8.9, 0.93, 0.98, 0.01, 0.024, 0.35, 0.16),
    (10.4, 0.88, 0.98, 0.01, 0.03, 0.39, 0.22),
    (11.9, 0.82, 0.98, 0.01, 0.025, 0.45, 0.22),
]


@pytest.mark.parametrize(("range_m", "chance", "right", "wrong", "false", "std_x", "std_y"), UGRDV)
def test_ugrdv_realistic(
    range_m: float,
    chance: float,
    right: float,
    wrong: float,
    false: float,
    std_x: float,
    std_y: float,
) -> None:
    seen = look("ugrdv-realistic", "perception", range_m, bearing_deg=0.0)
    assert detects(seen, chance)
    assert not detects(seen, chance + 0.03)
    assert share_is(seen.false, ROWS * MESSAGES, false)
    assert not share_is(seen.false, ROWS * MESSAGES, false * 1.5)
    assert std_is(seen.along, std_x)
    assert std_is(seen.across, std_y)
    expected: dict[int, float] = {B: right, U: 1 - right - wrong}
    if wrong:
        expected.update(dict.fromkeys((Y, S, O), wrong / 3))
    if seen.shown > 1000:
        assert colors_are(seen, expected)


def test_the_table_of_ugrdv_would_be_missed_a_bin_off() -> None:
    seen = look("ugrdv-realistic", "perception", 7.4, bearing_deg=0.0)
    assert not std_is(seen.along, 0.26)
    assert not detects(seen, 0.93)


def test_no_preset_claims_to_be_measured_and_each_says_where_it_comes_from() -> None:
    names = preset_names()
    assert not [name for name in names if "measured" in name]
    for origin in ("pacsim", "eufs", "qut", "fssim", "ugrdv"):
        for name in (n for n in names if n.startswith(origin)):
            assert "Not as there" in preset_text(name) or name in {
                "eufs-2022-07",
                "ugrdv-realistic",
            }


@pytest.mark.parametrize("name", [n for n in single_presets() if n != "feb-literal"])
def test_the_sample_lap_runs_through(name: str, tmp_path: Path) -> None:
    recipe = load_recipe(Request(recipe=name))
    if any(stream.source.startswith("/ground_truth") for stream in recipe.streams.values()):
        summary = augment(LAP, tmp_path / "x.mcap", load_recipe(Request(recipe=name, labels=True)))
        found: dict[str, Any] = summary.to_plain()["streams"]
        assert all(stream["out"] > 100 for stream in found.values())
