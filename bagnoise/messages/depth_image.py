"""Depth images: sensor_msgs/msg/Image whose pixels are depths along the camera's axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bagnoise.errors import MessageError
from bagnoise.lidar.depth_image import positions
from bagnoise.messages.cloud import Cloud
from bagnoise.messages.cloud_cdr import CdrReader
from bagnoise.messages.point_fields import DATATYPES, PointField, point_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PIXELS: Final = {"16UC1": "u2", "mono16": "u2", "32FC1": "f4"}
_FIELDS: Final = tuple(PointField(n, 4 * i, DATATYPES["f4"]) for i, n in enumerate("xyz"))


@dataclass(frozen=True, eq=False)
class DepthImage:
    """A depth image.

    Attributes:
        stamp_ns: header stamp, 0 where unset.
        frame_id: the camera's optical frame.
        depth: (rows, columns) in the unit of the encoding.
        encoding: 16UC1 or mono16 (millimetres), 32FC1 (metres).
    """

    stamp_ns: int
    frame_id: str
    depth: NDArray[Any]
    encoding: str

    def cloud(self, rays: NDArray[np.float64]) -> Cloud:
        """Return the points that the pixels see, one row of the cloud a row of the image.

        Args:
            rays: (rows, columns, 3) of depth 1 in the optical frame.
        """
        xyz = positions(self.depth, rays, self.encoding)
        points = np.ascontiguousarray(xyz).view(point_dtype(_FIELDS, 12)).reshape(-1)
        rows, columns = self.depth.shape
        return Cloud(self.stamp_ns, self.frame_id, _FIELDS, points, rows, columns, 12)


class DepthImageCodec:
    """Reads depth images; what is made of them is a cloud."""

    def decode(self, data: bytes | memoryview) -> DepthImage:
        """Read a message.

        Raises:
            MessageError: it is cut off, or no depth image.
        """
        reader = CdrReader(data)
        seconds, nanoseconds = reader.number("i", "header"), reader.number("I", "header")
        frame_id = reader.text("frame_id")
        rows, columns = reader.number("I", "height"), reader.number("I", "width")
        encoding = reader.text("encoding")
        is_bigendian = bool(reader.number("B", "is_bigendian"))
        step = reader.number("I", "step")
        raw = reader.take(reader.number("I", "data"), "data")
        if encoding not in _PIXELS:
            known = ", ".join(_PIXELS)
            msg = f"an image with encoding {encoding!r} is no depth image; depths are {known}"
            raise MessageError(msg)
        dtype = np.dtype((">" if is_bigendian else "<") + _PIXELS[encoding])
        if step < columns * dtype.itemsize or len(raw) < rows * step:
            msg = (
                f"a depth image of {columns} x {rows} pixels has rows of {step} bytes and"
                f" {len(raw)} bytes in all"
            )
            raise MessageError(msg)
        lines = np.frombuffer(raw, np.uint8, rows * step).reshape(rows, step)
        used = np.ascontiguousarray(lines[:, : columns * dtype.itemsize])
        depth = used.view(dtype).reshape(rows, columns)
        return DepthImage(seconds * 10**9 + nanoseconds, frame_id, depth, encoding)

    def encode(self, payload: DepthImage) -> bytes:
        """Refuse: bagnoise makes clouds of depth images, not images."""
        msg = (
            f"a depth image in {payload.frame_id!r} is only read; camera_lidar makes a cloud of it"
        )
        raise MessageError(msg)

    def losses(self, payload: DepthImage) -> tuple[str, ...]:  # noqa: ARG002
        """Lose nothing."""
        return ()
