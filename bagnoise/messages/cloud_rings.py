"""The beam of each point: from the message's own field, or from elevation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bagnoise.lidar.rings import rings_from_elevation
from bagnoise.messages.cloud import RING_NAMES

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bagnoise.messages.cloud import Cloud


def rings(cloud: Cloud, sensor_xyz: ArrayLike = (0.0, 0.0, 0.0)) -> NDArray[np.int32]:
    """Return ring numbers, (n,); -1 where a miss has none.

    Args:
        cloud: with a field among `RING_NAMES`, or rings that elevation tells apart.
        sensor_xyz: (3,) where the sensor is in the cloud's frame, metres.

    Raises:
        MessageError: neither a field nor elevation tells.
    """
    field = cloud.find(*RING_NAMES)
    if field is not None:
        return cloud.column(field).astype(np.int32)
    return rings_from_elevation(cloud.xyz() - np.asarray(sensor_xyz))
