from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from cloud_samples import STAMP_NS, VELODYNE, message, packed, reread

from bagnoise.lidar.beams import revolution
from bagnoise.lidar.models import find_model
from bagnoise.lidar.resample import CameraLidar
from bagnoise.messages.cloud_codec import PointCloud2Codec
from bagnoise.messages.cloud_layout import LAYOUTS
from bagnoise.messages.cloud_sensed import Publishing, sensed_cloud
from bagnoise.messages.cloud_time import offsets_ns, time_kind

if TYPE_CHECKING:
    from bagnoise.messages.cloud import Cloud

CODEC = PointCloud2Codec()
BEAMS = revolution(find_model("VLP-16"), columns=360)
LIDAR = CameraLidar(BEAMS, 0.5)


def source(height: int = 1) -> Cloud:
    """Half a circle of points on the beams, shuffled; intensity and time tell the azimuth."""
    rows = np.random.default_rng(1).permutation(np.flatnonzero(BEAMS.azimuth_rad > 0))
    rows = rows[: len(rows) // 2 * 2]
    xyz = BEAMS.directions()[rows] * 12
    columns = {
        "x": xyz[:, 0],
        "y": xyz[:, 1],
        "z": xyz[:, 2],
        "intensity": np.degrees(BEAMS.azimuth_rad[rows]),
        "ring": np.full(len(rows), 99),
        "time": BEAMS.azimuth_rad[rows] / 100,
    }
    data = message(
        packed(columns, VELODYNE, 22), VELODYNE, width=len(rows) // height, height=height, step=22
    )
    return CODEC.decode(data)


def made(how: Publishing, cloud: Cloud | None = None) -> Cloud:
    cloud = cloud or source()
    sensed = LIDAR.sense(cloud.xyz())
    return sensed_cloud(cloud, sensed, BEAMS, LIDAR.positions(sensed), how)


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_is_written_as_its_driver_does(name: str) -> None:
    layout = LAYOUTS[name]
    cloud = made(Publishing(layout))
    again = reread(CODEC.encode(cloud))
    assert [(f.name, f.offset, f.datatype) for f in again.fields] == [
        (f.name, f.offset, f.datatype) for f in layout.fields
    ]
    assert again.point_step == layout.point_step
    hit = cloud.finite()
    assert 2000 < hit.sum() < 3000
    if layout.misses == "remove":
        assert hit.all()
        assert again.is_dense
        assert again.height == 1
    else:
        assert len(cloud) == len(BEAMS)
        assert not again.is_dense
    shapes = {"rings": (16, 360), "columns": (360, 16), "none": (1, len(cloud))}
    assert (cloud.height, cloud.width) == shapes[layout.rows]
    ring = cloud.column(cloud.need("ring", "channel", "line", why="test"))
    x, y, z = cloud.xyz()[hit].T
    elevation = np.degrees(np.arctan2(z, np.hypot(x, y)))
    assert elevation == pytest.approx(-15 + 2.0 * ring[hit], abs=1e-3)
    intensity = cloud.column("intensity")[hit]
    azimuth = np.degrees(np.arctan2(y, x))
    assert np.abs(intensity - azimuth).max() < 2


def test_own_fields_stay_and_rows_follow_rings_where_the_source_was_organised() -> None:
    flat = made(Publishing())
    assert (flat.height, flat.fields) == (1, source().fields)
    assert flat.finite().all()
    grid = made(Publishing(), source(height=2))
    assert (grid.height, grid.width) == (16, 360)
    assert (grid.column("ring").reshape(16, 360) == np.arange(16)[:, None]).all()
    assert not grid.finite().all()


def test_times_come_from_the_source_the_model_or_are_zero() -> None:
    cloud = made(Publishing(LAYOUTS["hesai"]))
    kind = LAYOUTS["hesai"].time
    assert kind is not None
    azimuth = np.arctan2(cloud.column("y"), cloud.column("x"))
    assert np.abs(offsets_ns(cloud, kind) / 1e9 - azimuth / 100).max() < 1e-3
    model = made(Publishing(LAYOUTS["ouster"], time="model"))
    kind = LAYOUTS["ouster"].time
    assert kind is not None
    wanted = BEAMS.time_ns.reshape(360, 16).T.ravel()
    assert offsets_ns(model, kind).tolist() == wanted.tolist()
    zero = made(Publishing(time="zero"))
    kind = time_kind(zero)
    assert kind is not None
    assert not offsets_ns(zero, kind).any()
    assert zero.stamp_ns == STAMP_NS


def test_units_of_ranges() -> None:
    ouster = made(Publishing(LAYOUTS["ouster"]))
    hit = ouster.finite()
    assert set(ouster.column("range")[hit].tolist()) == {12000}
    autoware = made(Publishing(LAYOUTS["autoware"]))
    assert autoware.column("distance") == pytest.approx(12)


@pytest.mark.parametrize("misses", ["nan", "inf", "zero", "remove"])
def test_misses_can_be_chosen(misses: str) -> None:
    cloud = made(Publishing(LAYOUTS["velodyne"], misses))  # type: ignore[arg-type]
    assert (len(cloud) < len(BEAMS)) == (misses == "remove")
    assert reread(CODEC.encode(cloud)).is_dense == (misses in {"zero", "remove"})


def test_an_empty_source_makes_a_cloud_of_misses() -> None:
    empty = CODEC.decode(message(b"", VELODYNE, width=0, step=22))
    sensed = LIDAR.sense(empty.xyz())
    cloud = sensed_cloud(
        empty, sensed, BEAMS, LIDAR.positions(sensed), Publishing(LAYOUTS["velodyne"])
    )
    assert len(cloud) == len(BEAMS)
    assert not cloud.finite().any()
    own = sensed_cloud(empty, sensed, BEAMS, LIDAR.positions(sensed), Publishing())
    assert len(own) == 0
