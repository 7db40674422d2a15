"""The truth beside each cone target, read by other packages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from small_bags import EPOCH, cones_at, stamp_ns, string_at

from bagnoise.bags.model import Schema
from bagnoise.messages.cone_labels import written_order
from bagnoise.messages.payload import Cones, source_rows
from bagnoise.messages.registry import cone_codec, cone_types

Run = Callable[..., Any]
TRUE: dict[str, Any] = {
    "blue": [(5, 1), (9, 1)],
    "yellow": [(5, -1), (-4, -1)],
    "unknown_color": [(7, 0)],
}


def test_each_detection_names_its_cone_and_the_missed_are_listed(run: Run) -> None:
    sent = cones_at(EPOCH, **TRUE)
    steps = (
        "false_positives per_frame=4 | crop min_x_m=0 | noise std_m=0.1 | "
        "color 'map={blue: yellow}' | shuffle"
    )
    stream = f"/ground_truth/cones | {steps} -> /c"
    result = run([sent], "c.labels=true", streams=[stream], seed=4)
    ((cones, labels),) = [result.read("/c", "/c/labels")]
    assert (cones.topic, labels.topic) == ("/c", "/c/labels")
    assert labels.type_name == "bagnoise_msgs/msg/ConeLabels"
    assert labels.log_ns == cones.log_ns
    assert stamp_ns(labels.ros) == stamp_ns(cones.ros)
    true = [xy for group in TRUE.values() for xy in group]
    classes = [0, 0, 1, 1, 4]
    names = ("blue", "yellow", "orange", "big_orange", "unknown_color")
    detected = [(c.point.x, c.point.y) for n in names for c in getattr(cones.ros, f"{n}_cones")]
    assert len(labels.ros.source_index) == len(detected) > 4
    for row, index in enumerate(labels.ros.source_index):
        there = (labels.ros.true_x[row], labels.ros.true_y[row])
        if index < 0:
            assert np.isnan(there).all()
            assert detected[row] not in true
        else:
            assert there == true[index]
            assert labels.ros.true_class[row] == classes[index]
            assert np.hypot(*np.subtract(detected[row], there)) < 0.6
    assert list(labels.ros.missed_index) == [3]
    assert (labels.ros.missed_x[0], labels.ros.missed_y[0]) == (-4, -1)
    assert list(labels.ros.missed_class) == [1]


def test_labels_follow_stamps_and_are_counted(run: Run) -> None:
    stream = "/ground_truth/cones | latency mean_s=0.1 | clock offset_s=0.5 | noise -> /c"
    result = run([cones_at(EPOCH, **TRUE)], "c.labels=true", streams=[stream])
    cones, labels = result.read("/c", "/c/labels")
    assert labels.log_ns == cones.log_ns == EPOCH + 100_000_000
    assert stamp_ns(labels.ros) == stamp_ns(cones.ros)
    assert result.summary.streams[0].targets == {"/c": 1, "/c/labels": 1}


def test_a_stream_without_cones_has_none_and_says_so(run: Run) -> None:
    stream = "/chatter | latency mean_s=0.1 -> /late"
    result = run([string_at(EPOCH, "x")], "late.labels=true", streams=[stream])
    assert [g.topic for g in result.read()] == ["/chatter", "/late"]
    assert "no labels for /late" in " ".join(result.summary.warnings)


@pytest.mark.parametrize(
    "type_name",
    [kind.type_name for kind in cone_types() if not kind.asked_for],
)
def test_the_order_of_every_type_is_that_of_its_reader(type_name: str) -> None:
    """Row numbers written as x come back as the order says, whatever a type groups or leaves."""
    codec = cone_codec(Schema(type_name))
    color = np.array([4, 1, 0, 3, 2, 0, 1], np.int8)
    count = len(color)
    xyz = np.column_stack((np.arange(count) + 20.0, np.zeros(count), np.zeros(count)))
    cones = Cones(EPOCH, "car", xyz, color, source_rows(count), count)
    read = codec.decode(codec.encode(cones))
    order = written_order(codec, cones)
    assert read.xyz[:, 0].tolist() == pytest.approx((order + 20.0).tolist())
    assert len(set(order.tolist())) == len(order) > 0
