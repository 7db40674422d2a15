from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from cloud_samples import XYZ, message, packed, reread

from bagnoise.messages.cloud_codec import PointCloud2Codec
from bagnoise.messages.cloud_color import blanked, color_fields, without_color

if TYPE_CHECKING:
    from bagnoise.messages.cloud import Cloud

CODEC = PointCloud2Codec()
ROWS = np.arange(1.0, 5)


def cloud_of(fields: Any, step: int, **options: Any) -> Cloud:
    columns = {name: ROWS + place for place, (name, _, _) in enumerate(fields)}
    return CODEC.decode(message(packed(columns, fields, step), fields, step=step, **options))


@pytest.mark.parametrize(
    ("extra", "found"),
    [
        (("rgb",), ("rgb",)),
        (("rgba",), ("rgba",)),
        (("r", "g", "b"), ("r", "g", "b")),
        (("b", "g", "r", "a"), ("b", "g", "r", "a")),
        (("red", "green", "blue"), ("red", "green", "blue")),
        (("r",), ()),
        (("a", "intensity"), ()),
    ],
)
def test_which_fields_are_colours(extra: tuple[str, ...], found: tuple[str, ...]) -> None:
    fields = (*XYZ, *((name, 12 + place, "u1") for place, name in enumerate(extra)))
    fields = (*XYZ, *((n, 12 + 4 * p, "f4") for p, n in enumerate(extra)))
    assert color_fields(cloud_of(fields, 12 + 4 * len(extra), width=4)) == found


def test_packed_points_close_up() -> None:
    fields = (*XYZ, ("rgb", 12, "f4"), ("ring", 16, "u2"), ("time", 18, "f4"))
    cloud = without_color(cloud_of(fields, 22, width=2, height=2))
    again = reread(CODEC.encode(cloud))
    assert [(f.name, f.offset) for f in again.fields] == [
        ("x", 0),
        ("y", 4),
        ("z", 8),
        ("ring", 12),
        ("time", 14),
    ]
    assert (again.point_step, again.height, again.width, again.row_step) == (18, 2, 2, 36)
    assert cloud.column("ring").tolist() == (ROWS + 4).tolist()
    assert cloud.column("time").tolist() == (ROWS + 5).tolist()


def test_fields_listed_out_of_order_close_up_by_offset() -> None:
    fields = (("ring", 16, "u2"), *XYZ, ("rgb", 12, "f4"))
    cloud = without_color(cloud_of(fields, 18, width=4))
    assert cloud.names == ("ring", "x", "y", "z")
    assert cloud.column("ring").tolist() == ROWS.tolist()
    assert cloud.column("z").tolist() == (ROWS + 3).tolist()


def test_aligned_points_keep_their_layout_without_the_bytes() -> None:
    fields = (*XYZ, ("rgb", 16, "f4"), ("normal_x", 20, "f4"))
    cloud = without_color(cloud_of(fields, 32, width=4))
    assert cloud.point_step == 32
    raw = cloud.points.view(np.uint8).reshape(4, 32)
    assert not raw[:, 16:20].any()
    assert cloud.column("normal_x").tolist() == (ROWS + 4).tolist()


def test_blanking_keeps_everything_else() -> None:
    fields = (*XYZ, ("rgb", 12, "f4"))
    before = cloud_of(fields, 16, width=4)
    after = blanked(before)
    assert after.fields == before.fields
    assert after.column("rgb").tolist() == [0] * 4
    assert (after.xyz() == before.xyz()).all()


def test_a_cloud_without_colour_is_untouched() -> None:
    cloud = cloud_of(XYZ, 12, width=4)
    assert without_color(cloud) is cloud
    assert blanked(cloud) is cloud
    empty = CODEC.decode(message(b"", (*XYZ, ("rgb", 12, "f4")), width=0, step=16))
    assert without_color(empty).names == ("x", "y", "z")
