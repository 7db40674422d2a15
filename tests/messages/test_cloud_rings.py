from __future__ import annotations

import numpy as np
import pytest
from cloud_samples import VELODYNE, XYZ, message, packed

from bagnoise.errors import MessageError
from bagnoise.messages.cloud_codec import PointCloud2Codec
from bagnoise.messages.cloud_rings import rings


def scan(elevations_deg: object, origin: tuple[float, float, float] = (0, 0, 0)) -> dict:  # type: ignore[type-arg]
    azimuth, elevation = np.meshgrid(
        np.radians(np.arange(0, 360, 30)), np.radians(np.asarray(elevations_deg))
    )
    x = 10 * np.cos(elevation) * np.cos(azimuth) + origin[0]
    y = 10 * np.cos(elevation) * np.sin(azimuth) + origin[1]
    z = 10 * np.sin(elevation) + origin[2]
    return {"x": x.ravel(), "y": y.ravel(), "z": z.ravel()}


def test_rings_come_from_elevation_where_no_field_says() -> None:
    columns = scan(np.arange(-15, 16, 2))
    cloud = PointCloud2Codec().decode(message(packed(columns, XYZ, 12), width=192))
    assert rings(cloud).tolist() == np.repeat(np.arange(16), 12).tolist()


def test_elevation_is_about_the_sensor_not_the_frame() -> None:
    columns = scan(np.arange(-15, 16, 2), (1.2, 0, 0.8))
    cloud = PointCloud2Codec().decode(message(packed(columns, XYZ, 12), width=192))
    assert rings(cloud, (1.2, 0, 0.8)).max() == 15
    with pytest.raises(MessageError, match="no separate rings"):
        rings(cloud)


@pytest.mark.parametrize("name", ["ring", "channel", "line"])
def test_field_or_alias_wins(name: str) -> None:
    fields = tuple((name if f[0] == "ring" else f[0], *f[1:]) for f in VELODYNE)
    columns = {**scan([0.0]), name: np.arange(12)[::-1]}
    cloud = PointCloud2Codec().decode(
        message(packed(columns, fields, 22), fields, width=12, step=22)
    )
    assert rings(cloud).tolist() == list(range(12))[::-1]


def test_misses_have_no_ring() -> None:
    columns = scan([-1.0, 1.0])
    columns["x"][3] = np.nan
    columns["x"][4] = columns["y"][4] = columns["z"][4] = 0
    found = rings(PointCloud2Codec().decode(message(packed(columns, XYZ, 12), width=24)))
    assert found.tolist() == [0, 0, 0, -1, -1, *[0] * 7, *[1] * 12]


def test_a_smooth_cloud_has_no_rings() -> None:
    columns = scan(np.linspace(-10, 10, 4000))
    cloud = PointCloud2Codec().decode(message(packed(columns, XYZ, 12), width=48_000))
    with pytest.raises(MessageError, match="no separate rings"):
        rings(cloud)
