"""A depth image as the source of camera_lidar: that is the camera itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from small_bags import EPOCH, STORE, TYPES, Sent, header

from bagnoise.bags import open_bag
from bagnoise.errors import BagnoiseError
from bagnoise.messages.cloud import Cloud
from bagnoise.messages.cloud_misses import hits
from bagnoise.messages.registry import codec_of

Run = Callable[..., Any]
IMAGE, INFO = "sensor_msgs/msg/Image", "sensor_msgs/msg/CameraInfo"
ROWS, COLUMNS, FOCAL_PX = 96, 128, 100.0
PIXELS = {"16UC1": ("<u2", 1000), "mono16": ("<u2", 1000), "32FC1": ("<f4", 1)}


def image(encoding: str, *, step_padding: int = 0) -> Sent:
    """A wall 4 m ahead, nothing in the leftmost quarter."""
    dtype, scale = PIXELS.get(encoding, ("u1", 1))
    depth = np.full((ROWS, COLUMNS), 4.0 * scale)
    depth[:, : COLUMNS // 4] = 0
    lines = depth.astype(dtype).view(np.uint8).reshape(ROWS, -1)
    padded = np.pad(lines, ((0, 0), (0, step_padding)), constant_values=0xEE)
    message = TYPES[IMAGE](
        header=header(EPOCH, "optical"),
        height=ROWS,
        width=COLUMNS,
        encoding=encoding,
        is_bigendian=0,
        step=padded.shape[1],
        data=padded.reshape(-1),
    )
    return Sent("/depth", IMAGE, EPOCH, bytes(STORE.serialize_cdr(message, IMAGE)))


def info() -> Sent:
    cx, cy = (COLUMNS - 1) / 2, (ROWS - 1) / 2
    message = TYPES[INFO](
        header=header(EPOCH, "optical"),
        height=ROWS,
        width=COLUMNS,
        distortion_model="plumb_bob",
        d=np.zeros(5),
        k=np.array([FOCAL_PX, 0, cx, 0, FOCAL_PX, cy, 0, 0, 1]),
        r=np.eye(3).ravel(),
        p=np.array([FOCAL_PX, 0, cx, 0, 0, FOCAL_PX, cy, 0, 0, 0, 1, 0]),
        binning_x=0,
        binning_y=0,
        roi=TYPES["sensor_msgs/msg/RegionOfInterest"](0, 0, 0, 0, do_rectify=False),
    )
    return Sent("/info", INFO, EPOCH - 1, bytes(STORE.serialize_cdr(message, INFO)))


def sensed(run: Run, sent: Sent) -> Cloud:
    step = "camera_lidar model=VLP-16 mode=plane camera_topic=/info max_approx_error_deg=0.5"
    result = run([info(), sent], streams=[f"/depth | {step} | range_noise std_m=0 -> /points"])
    with open_bag(result.path) as bag:
        (channel,) = [c for c in bag.channels if c.topic == "/points"]
        assert channel.type_name == "sensor_msgs/msg/PointCloud2"
        (message,) = bag.messages([channel.id])
        cloud: Cloud = codec_of(channel.schema).decode(bytes(message.data))
        return cloud


@pytest.mark.parametrize("encoding", PIXELS)
@pytest.mark.parametrize("padding", [0, 12])
def test_the_wall_is_where_the_camera_saw_it(run: Run, encoding: str, padding: int) -> None:
    cloud = sensed(run, image(encoding, step_padding=padding))
    assert cloud.frame_id == "optical"
    xyz = cloud.xyz()[hits(cloud)].astype(float)
    assert len(xyz) > 200
    assert xyz[:, 2] == pytest.approx(4.0, abs=0.01)
    azimuth_deg = np.degrees(np.arctan2(xyz[:, 0], xyz[:, 2]))
    assert azimuth_deg.min() == pytest.approx(-np.degrees(np.arctan(0.32)), abs=1.5)
    assert azimuth_deg.max() == pytest.approx(np.degrees(np.arctan(0.635)), abs=1.5)


@pytest.mark.parametrize(
    ("sent", "stream", "expected"),
    [
        (image("rgb8"), "/depth | camera_lidar model=VLP-16 camera_topic=/info -> /p", "no depth"),
        (image("16UC1"), "/depth | camera_lidar model=VLP-16 -> /p", "needs camera_topic"),
        (image("16UC1"), "/depth | noise std_m=1", "of images, camera_lidar takes depth"),
        (
            image("16UC1")._replace(data=image("16UC1").data[:300]),
            "/depth | camera_lidar model=VLP-16 camera_topic=/info -> /p",
            "message at",
        ),
    ],
)
def test_what_is_no_depth_image_is_named(run: Run, sent: Sent, stream: str, expected: str) -> None:
    with pytest.raises(BagnoiseError, match=expected):
        run([info(), sent], streams=[stream])


def test_time_steps_still_move_any_image(run: Run) -> None:
    got = run([image("rgb8")], streams=["/depth | latency mean_s=1"]).read("/depth")
    assert [m.log_ns for m in got] == [EPOCH + 10**9]
