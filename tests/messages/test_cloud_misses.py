from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from cloud_samples import XYZI, message, packed

from bagnoise.errors import MessageError
from bagnoise.messages.cloud_codec import PointCloud2Codec
from bagnoise.messages.cloud_misses import hits, without

if TYPE_CHECKING:
    from bagnoise.messages.cloud import Cloud

LOST = np.array([True, False, False, False, False, True])


def sample(height: int = 1, code: str = "f4") -> Cloud:
    fields = tuple((name, offset, code) for name, offset, _ in XYZI[:3]) + XYZI[3:]
    columns = {
        "x": [1, 2, np.nan if code == "f4" else 3, 4, 0, 6],
        "y": [1, 2, 3, 4, 0, 6],
        "z": [1, 2, 3, 4, 0, 6],
        "intensity": np.arange(6),
    }
    data = message(
        packed(columns, fields, 16), fields, width=6 // height, height=height, step=16, dense=False
    )
    return PointCloud2Codec().decode(data)


def test_hits_are_neither_infinite_nor_the_origin() -> None:
    assert hits(sample()).tolist() == [True, True, False, True, False, True]


def test_unorganised_clouds_lose_the_points_and_every_miss() -> None:
    left = without(sample(), LOST)
    assert left.column("intensity").tolist() == [1, 3]
    assert (left.height, left.width, left.is_dense) == (1, 2, True)


def test_organised_clouds_keep_their_shape() -> None:
    cloud = sample(height=2)
    left = without(cloud, LOST)
    assert (left.height, left.width) == (2, 3)
    assert np.isnan(left.column("x")).tolist() == [True, False, True, False, False, True]
    assert left.column("intensity").tolist() == list(range(6))
    kept = ~LOST
    assert left.points[kept].tobytes() == cloud.points[kept].tobytes()


@pytest.mark.parametrize(("how", "value"), [("inf", np.inf), ("zero", 0.0)])
def test_spelling_can_be_chosen(how: str, value: float) -> None:
    left = without(sample(), LOST, how)  # type: ignore[arg-type]
    assert len(left) == 6
    assert (left.xyz()[LOST] == value).all()


def test_integer_positions_hold_no_nan() -> None:
    cloud = sample(height=2, code="i4")
    with pytest.raises(MessageError, match="use zero or remove"):
        without(cloud, LOST)
    assert (without(cloud, LOST, "zero").xyz()[LOST] == 0).all()


def test_nothing_lost_changes_nothing() -> None:
    cloud = sample(height=2)
    assert without(cloud, np.zeros(6, np.bool_)) is cloud


def test_a_cloud_of_no_points_has_no_misses() -> None:
    empty = sample().take(np.zeros(6, np.bool_))
    assert hits(empty).shape == empty.finite().shape == (0,)
    assert empty.xyz().shape == (0, 3)
    assert without(empty, np.zeros(0, np.bool_)) is empty
