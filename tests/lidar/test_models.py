from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bagnoise.errors import UsageError
from bagnoise.lidar.models import find_model, lidar_models, load_model
from bagnoise.messages.cloud_layout import LAYOUTS

if TYPE_CHECKING:
    from pathlib import Path

OWN = """
# a lidar of our own
name: Toy-2
elevations_deg: [-1.5, 1.5]
azimuth_offsets_deg: 0.5
cycle_us: 100
rates_hz: [10]
range_m: [0.5, 60]
layout: velodyne
"""


def test_every_model_is_whole() -> None:
    models = lidar_models()
    assert len(models) == 35
    for name, model in models.items():
        assert model.name == name
        assert len(model.azimuth_offsets_deg) == model.channels > 0
        assert model.layout in LAYOUTS
        assert model.sources
        for source in model.sources:
            assert source.startswith("https://") or "synthetic" in model.note
        assert 0 <= model.range_m[0] < model.range_m[1]
        assert model.columns_at(model.default_rate_hz) > 100


@pytest.mark.parametrize(
    ("name", "rate_hz", "columns"),
    [
        ("VLP-16", 10, 1808),
        ("VLP-16", 20, 904),
        ("HDL-32E", 10, 2170),
        ("HDL-64E-S3", 20, 1736),
        ("VLS-128", 5, 3752),
        ("Pandar40P", 10, 1800),
        ("PandarXT-32", 5, 4000),
        ("PandarQT64", 20, 300),
        ("OS1-128", 10, 1024),
    ],
)
def test_columns_follow_rate(name: str, rate_hz: float, columns: int) -> None:
    assert find_model(name).columns_at(rate_hz) == columns


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("VLP-16", "VLP-16"),
        ("vlp16", "VLP-16"),
        ("Puck", "VLP-16"),
        ("puck lite", "VLP-16"),
        ("ULTRA_PUCK", "VLP-32C"),
        ("os1-32", "OS1-32-G"),
        ("hdl64e", "HDL-64E-S3"),
        ("xt32", "PandarXT-32"),
    ],
)
def test_names_and_aliases(asked: str, found: str) -> None:
    assert find_model(asked).name == found


def test_no_two_models_answer_to_one_alias() -> None:
    seen: dict[str, str] = {}
    for name, model in lidar_models().items():
        for alias in (name, *model.aliases):
            key = "".join(filter(str.isalnum, alias.casefold()))
            assert seen.setdefault(key, name) == name


def test_unknown_model_suggests_a_known_one() -> None:
    with pytest.raises(UsageError, match=r"'VLP-61'; did you mean VLP-16"):
        find_model("VLP-61")
    with pytest.raises(UsageError, match="bagnoise lidars"):
        find_model("?")


@pytest.mark.parametrize("name", ["Livox Mid-360", "mid360", "Avia", "RS-LiDAR-M1", "livox_hap"])
def test_lidars_that_do_not_spin_are_refused_with_the_reason(name: str) -> None:
    with pytest.raises(UsageError, match="not by spinning"):
        find_model(name)


def test_own_model_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "toy.yaml"
    path.write_text(OWN, "utf-8")
    model = find_model(str(path))
    assert (model.name, model.channels, model.azimuth_offsets_deg) == ("Toy-2", 2, (0.5, 0.5))
    assert model.columns_at(10) == 1000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2]", "is a mapping"),
        ("elevations_deg: [1", "cannot read lidar model"),
        ("cycle_us: 50", "lacks elevations_deg"),
        ("elevations_deg: [1]", "needs columns"),
        ("elevations_deg: []\ncycle_us: 50", "1 to 1024 numbers from -90 to 90"),
        ("elevations_deg: [91]\ncycle_us: 50", "from -90 to 90"),
        ("elevations_deg: [.nan]\ncycle_us: 50", "from -90 to 90"),
        ("elevations_deg: [true]\ncycle_us: 50", "from -90 to 90"),
        ("elevation_deg: [1]\ncycle_us: 50", "did you mean elevations_deg"),
        ("elevations_deg: [1, 2]\ncycle_us: 50\nazimuth_offsets_deg: [1, 2, 3]", "each of the 2"),
        ("elevations_deg: [1]\ncycle_us: 50\nrange_m: [5, 1]", r"\[nearest, farthest\]"),
        ("elevations_deg: [1]\ncycle_us: 50\nrates_hz: [0]", "rates_hz"),
    ],
)
def test_broken_files_say_what_would_be_right(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError, match=message) as caught:
        load_model(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("rate_hz", [0, -1, float("nan"), float("inf"), 1e9, 1e-9])
def test_impossible_rates(rate_hz: float) -> None:
    with pytest.raises(UsageError, match="Hz"):
        find_model("VLP-16").columns_at(rate_hz)


def test_missing_file() -> None:
    with pytest.raises(UsageError, match="cannot read"):
        find_model("no_such.yaml")
