from __future__ import annotations

import numpy as np
import pytest

from bagnoise.errors import UsageError
from bagnoise.messages.cloud_layout import LAYOUTS, Layout, arrange, fill, layout_named
from bagnoise.messages.point_fields import fitted


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_fields_fit_the_point_and_do_not_overlap(layout: Layout) -> None:
    ends = 0
    for field in layout.fields:
        assert field.offset >= ends
        ends = field.end
    assert ends <= layout.point_step == layout.dtype.itemsize
    if layout.time is not None:
        assert layout.time.field in (layout.dtype.names or ())
    assert layout.source.startswith("https://")


def test_known_steps() -> None:
    steps = {name: layout.point_step for name, layout in LAYOUTS.items()}
    assert steps == {
        "velodyne": 22,
        "ouster": 48,
        "hesai": 26,
        "robosense": 26,
        "livox": 26,
        "gz": 18,
        "gz_aligned": 32,
        "autoware": 32,
        "awsim": 24,
    }


def test_lookup() -> None:
    assert layout_named("Ouster") is LAYOUTS["ouster"]
    with pytest.raises(UsageError, match="known are: velodyne, ouster"):
        layout_named("kinect")


def test_arrange_makes_rows_of_rings_or_of_columns() -> None:
    # three columns of two rings, delivered column by column: 10 c + r
    delivered = np.array([0, 1, 10, 11, 20, 21])
    by_ring = arrange(2, 3, "rings")
    assert (by_ring.height, by_ring.width) == (2, 3)
    assert delivered[by_ring.order].tolist() == [0, 10, 20, 1, 11, 21]
    by_column = arrange(2, 3, "columns")
    assert (by_column.height, by_column.width) == (3, 2)
    assert delivered[by_column.order].tolist() == delivered.tolist()
    assert arrange(2, 3, "none")[1:] == (1, 6)


def test_values_are_rounded_and_clamped_to_integers() -> None:
    values = np.array([-3.0, 0.5, 1.5, 254.6, 300.0, np.nan, np.inf, -np.inf])
    assert fitted(values, np.dtype("u1")).tolist() == [0, 0, 2, 255, 255, 0, 255, 0]
    wide = np.array([-1, 2**40])
    assert fitted(wide, np.dtype("u4")).tolist() == [0, 2**32 - 1]
    assert fitted(wide, np.dtype("u8")).tolist() == [0, 2**40]
    assert fitted(np.array([1e30, -1e30]), np.dtype("i8")).tolist()[0] > 2**62
    assert fitted(np.array([2**64 - 1], np.uint64), np.dtype("i8")).tolist() == [2**63 - 1]


def test_fill_leaves_out_what_the_layout_lacks() -> None:
    points = np.zeros(2, LAYOUTS["autoware"].dtype)
    fill(points, {"intensity": np.array([1.2, 700.0]), "ring": np.array([1, 2])})
    assert points["intensity"].tolist() == [1, 255]
