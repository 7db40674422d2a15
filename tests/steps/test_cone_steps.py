"""Hand-computed cases of the cone steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bagnoise.messages.payload import ConeClass, Cones
from bagnoise.steps.base import ConeStep, Moment
from bagnoise.steps.color import Classes, Color
from bagnoise.steps.covariance import Covariance
from bagnoise.steps.detection import Detection
from bagnoise.steps.drift import Drift
from bagnoise.steps.false_positives import FalsePositives
from bagnoise.steps.field_of_view import Crop, FieldOfView
from bagnoise.steps.header import Header
from bagnoise.steps.noise import Noise
from bagnoise.steps.occlusion import Occlusion
from bagnoise.steps.polar_noise import PolarNoiseStep
from bagnoise.steps.sensor import Sensor
from bagnoise.steps.shuffle import Duplicates, Shuffle

B, Y, S, _, U = ConeClass
MakeCones = Callable[..., Cones]


def columns(cones: Cones) -> list[np.ndarray]:
    assert cones.covariance is not None
    assert cones.probabilities is not None
    assert cones.ids is not None
    return [
        cones.xyz,
        cones.color,
        cones.index,
        cones.covariance,
        cones.probabilities,
        cones.ids,
        cones.extra["note"],
    ]


def test_noise_moves_x_and_y_only(make_cones: MakeCones, moment: Moment) -> None:
    noisy = Noise(std_m=0.5).on_cones(make_cones([(1, 2, 3), (4, 5, 6)]), moment)
    assert noisy.xyz[:, 2].tolist() == [3, 6]
    assert (noisy.xyz[:, :2] != [[1, 2], [4, 5]]).all()


def test_z_noise_leaves_the_draws_of_x_and_y_alone(make_cones: MakeCones, moment: Moment) -> None:
    cones = make_cones([(1, 2, 3), (4, 5, 6)])
    flat = Noise(std_m=0.5).on_cones(cones, moment)
    high = Noise(std_m=0.5, std_z_m=0.1).on_cones(cones, moment)
    assert np.array_equal(flat.xyz[:, :2], high.xyz[:, :2])
    assert (high.xyz[:, 2] != [3, 6]).all()


def test_a_filter_before_does_not_move_another_cones_noise(
    make_cones: MakeCones, moment: Moment
) -> None:
    cones = make_cones([(1, 1), (2, 2), (3, 3), (4, 4)])
    step = Noise(std_m=0.3)
    after = step.on_cones(cones, moment).take(np.array([1, 3]))
    before = step.on_cones(cones.take(np.array([1, 3])), moment)
    assert np.array_equal(after.xyz, before.xyz)


def test_a_false_positive_gets_no_noise_of_a_source_row(
    make_cones: MakeCones, moment: Moment
) -> None:
    from dataclasses import replace

    cones = make_cones([(1, 1), (2, 2)])
    cones = replace(cones, index=np.array([0, -1], np.int32))
    assert Noise(std_m=1).on_cones(cones, moment).xyz[1].tolist() == [2, 2, 0]


def test_crop_bounds_are_strict(make_cones: MakeCones, moment: Moment) -> None:
    cones = make_cones([(0.1, 0), (np.nextafter(0.1, 1), 0), (-5, 0), (np.nan, 0), (np.inf, 0)])
    kept = Crop(min_x_m=0.1).on_cones(cones, moment)
    assert kept.index.tolist() == [1]  # what is not finite is inside of nothing
    assert moment.tally["cones cropped"] == 4


@pytest.mark.parametrize(
    ("bounds", "kept"),
    [
        ({}, [0, 1, 2, 3]),
        ({"max_x_m": 3.0}, [1, 2, 3]),
        ({"min_y_m": 0.0}, [0, 1]),
        ({"max_y_m": 4.0, "min_x_m": 0.0}, [1]),
        ({"min_z_m": 0.0}, [2]),
        ({"max_z_m": 1.0}, [0, 1, 3]),
        ({"min_range_m": 3.0}, [0]),
        ({"max_range_m": 5.0}, [1, 2, 3]),
    ],
)
def test_crop_by_each_bound(
    make_cones: MakeCones, moment: Moment, bounds: dict[str, float], kept: list[int]
) -> None:
    cones = make_cones([(3, 4, 0), (1, 2, 0), (0, 0, 1), (-1, -2, 0)])
    assert Crop.model_validate(bounds).on_cones(cones, moment).index.tolist() == kept


def test_classes_lets_blue_and_yellow_through_and_counts_the_rest(
    make_cones: MakeCones, moment: Moment
) -> None:
    cones = make_cones([(n, 0) for n in range(5)], list(ConeClass))
    assert Classes().on_cones(cones, moment).color.tolist() == [B, Y]
    assert moment.tally["cones left out by class"] == 3
    everything = Classes(keep=("blue", "yellow", "small_orange", "big_orange", "unknown"))
    assert everything.on_cones(cones, moment) is cones


def test_strip_takes_the_color_and_its_probabilities(make_cones: MakeCones, moment: Moment) -> None:
    stripped = Color(shuffle=False).on_cones(make_cones([(1, 0), (2, 0)], [B, Y]), moment)
    assert stripped.color.tolist() == [U, U]
    assert stripped.probabilities is not None
    assert stripped.probabilities.tolist() == [[0, 0, 0, 0, 1]] * 2
    assert stripped.index.tolist() == [0, 1]


def test_strip_shuffles_every_column_together(make_cones: MakeCones, moment: Moment) -> None:
    cones = make_cones([(n, 0) for n in range(20)], [B] * 10 + [Y] * 10)
    stripped = Color().on_cones(cones, moment)
    order = stripped.index.tolist()
    assert sorted(order) == list(range(20))
    assert order != sorted(order)
    assert stripped.xyz[:, 0].tolist() == order
    assert stripped.extra["note"].tolist() == order
    assert stripped.ids is not None
    assert (stripped.ids - 100).tolist() == order


def test_the_shuffled_order_of_two_cones_does_not_depend_on_the_others(
    make_cones: MakeCones, moment: Moment
) -> None:
    cones = make_cones([(n, 0) for n in range(20)])
    whole = Color().on_cones(cones, moment).index.tolist()
    some = Color().on_cones(cones.take(np.array([3, 8, 11, 17])), moment).index.tolist()
    assert some == [row for row in whole if row in some]


def test_map_changes_classes_and_adds_up_probabilities(
    make_cones: MakeCones, moment: Moment
) -> None:
    from dataclasses import replace

    cones = replace(
        make_cones([(1, 0), (2, 0), (3, 0)], [B, Y, S]),
        probabilities=np.array([[0.5, 0.25, 0.25, 0, 0]] * 3),
    )
    mapped = Color(map={"blue": "yellow", "yellow": "blue"}).on_cones(cones, moment)
    assert mapped.color.tolist() == [Y, B, S]
    assert mapped.index.tolist() == [0, 1, 2]  # a map does not shuffle
    assert mapped.probabilities is not None
    assert mapped.probabilities[0].tolist() == [0.25, 0.5, 0.25, 0, 0]
    merged = Color(map={"blue": "yellow"}).on_cones(cones, moment)
    assert merged.probabilities is not None
    assert merged.probabilities[0].tolist() == [0, 0.75, 0.25, 0, 0]


def test_header(make_cones: MakeCones, moment: Moment) -> None:
    cones = make_cones([(1, 0)])
    zero = Header(stamp="zero", frame_id="").on_cones(cones, moment)
    assert (zero.stamp_ns, zero.frame_id) == (0, "")
    late = Header(stamp="delivery").on_cones(cones, moment)
    assert (late.stamp_ns, late.frame_id) == (moment.log_ns, "base_footprint")


@pytest.mark.parametrize(
    "step",
    [
        Noise(std_m=0.2),
        Crop(min_x_m=0.5),
        Classes(),
        Color(),
        Color(map={"blue": "unknown"}),
        Color.model_validate({"correct": 0.5, "wrong": 0.2, "probabilities": "posterior"}),
        Color(strip_beyond_m=3.0),
        PolarNoiseStep.model_validate({"range_std_m": 0.1, "bearing_std_rad": 0.01}),
        Drift(per="cone", range_std_m=0.1),
        Sensor(xyz_m=(1.0, 0.0, 0.5), rpy_deg=(0.0, 10.0, 5.0), output_frame="sensor"),
        FieldOfView(max_range_m=9.0, horizontal_deg=120.0),
        Occlusion(),
        Detection.model_validate({"probability": 0.7, "correlation_s": 1.0, "burst_share": 0.1}),
        FalsePositives.model_validate({"per_frame": 3, "per_cone": 0.2, "place": "near"}),
        Duplicates.model_validate({"probability": 0.3}),
        Shuffle(),
        Covariance(factor=0.5, floor_m=0.1),
    ],
    ids=lambda step: step.name,
)
@pytest.mark.parametrize("count", [0, 1, 30])
def test_contract_of_every_step(make_cones: MakeCones, step: ConeStep, count: int) -> None:
    """Input not changed, types kept, the same again for the same key."""
    cones = make_cones([(n * 0.3, -n, 0.1) for n in range(count)], [n % 5 for n in range(count)])
    before = [column.copy() for column in columns(cones)]
    key = (1, "s", step.name, 7, 0)
    first = step.on_cones(cones, Moment(key, 0))
    second = step.on_cones(cones, Moment(key, 0))
    assert first is not None
    assert second is not None
    for column, old in zip(columns(cones), before, strict=True):
        assert np.array_equal(column, old)
    for one, other, old in zip(columns(first), columns(second), before, strict=True):
        assert np.array_equal(one, other)
        assert one.dtype == old.dtype
        assert len(one) == len(first)
    assert first.source_count == count
