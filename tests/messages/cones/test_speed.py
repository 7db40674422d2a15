"""Fast codecs stay fast: measured against rosbags' generic coder in the same run."""

from __future__ import annotations

from timeit import repeat

import pytest
from message_samples import codec_named, sample_cones

from bagnoise.messages.definitions import shipped_definition
from bagnoise.messages.typestore import decode, encode


@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("eufs_msgs/msg/ConeArrayWithCovariance", 1.5),
        ("fs_msgs/msg/Track", 1.5),
        ("pacsim/msg/PerceptionDetections", 1.5),
        ("driverless_msgs/msg/ConeDetectionStamped", 1.5),
    ],
)
def test_a_message_of_30_cones_costs_a_fraction_of_the_generic_coder(
    name: str, times: float
) -> None:
    schema = shipped_definition(name)
    assert schema is not None
    codec = codec_named(name)
    data = codec.encode(sample_cones(30))
    fast_s = min(repeat(lambda: codec.encode(codec.decode(data)), number=50, repeat=7))
    slow_s = min(repeat(lambda: encode(schema, decode(schema, data)), number=50, repeat=7))
    assert fast_s * times < slow_s
