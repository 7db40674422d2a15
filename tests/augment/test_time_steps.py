"""The time steps on topics of any type, as they stand in the written bag."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from small_bags import (
    EPOCH,
    LATCHED,
    MS,
    STORE,
    STRING,
    TF,
    TYPES,
    Sent,
    cones_at,
    header,
    stamp_ns,
    string_at,
)

from bagnoise.errors import BagnoiseError

Run = Callable[..., Any]


def transform(log_ns: int, stamp: int, topic: str = "/tf_static") -> Sent:
    message = TYPES[TF](
        transforms=[
            TYPES["geometry_msgs/msg/TransformStamped"](
                header=header(stamp, "map"),
                child_frame_id="car",
                transform=TYPES["geometry_msgs/msg/Transform"](
                    translation=TYPES["geometry_msgs/msg/Vector3"](x=0.0, y=0.0, z=0.0),
                    rotation=TYPES["geometry_msgs/msg/Quaternion"](x=0.0, y=0.0, z=0.0, w=1.0),
                ),
            )
        ]
    )
    return Sent(topic, TF, log_ns, bytes(STORE.serialize_cdr(message, TF)))


def test_latency_moves_delivery_and_leaves_the_measurement_time(run: Run) -> None:
    messages = []
    for n in range(10):
        messages.append(cones_at(EPOCH + n * 100 * MS, stamp_ns=EPOCH + n, topic="/cones"))
        messages.append(string_at(EPOCH + n * 100 * MS + 10 * MS, str(n), "/tick"))
    result = run(messages, streams=["/cones | latency mean_s=0.15"])
    cones = result.read("/cones")
    assert [m.log_ns for m in cones] == [EPOCH + n * 100 * MS + 150 * MS for n in range(10)]
    assert [stamp_ns(m.ros) for m in cones] == [EPOCH + n for n in range(10)]
    assert [m.data for m in cones] == [m.data for m in messages[::2]]
    ticks = result.read("/tick")
    assert [m.log_ns for m in ticks] == [m.log_ns for m in messages[1::2]]


def test_the_stamp_moves_by_the_same_amount_if_asked(run: Run) -> None:
    messages = [cones_at(EPOCH + n * 100 * MS, stamp_ns=EPOCH, topic="/c") for n in range(3)]
    got = run(messages, streams=["/c | latency mean_s=0.15 move_stamp=true"]).read("/c")
    assert [stamp_ns(m.ros) for m in got] == [EPOCH + 150 * MS] * 3


def test_moved_messages_are_resorted(run: Run) -> None:
    messages = []
    for n in range(5):
        messages.append(string_at(EPOCH + n * 100 * MS, f"A{n}", "/camera"))
        messages.append(string_at(EPOCH + n * 100 * MS + 10 * MS, f"B{n}", "/markers"))
    got = run(messages, streams=["/camera | latency mean_s=0.025"]).read()
    assert [m.ros.data for m in got] == [f"{c}{n}" for n in range(5) for c in "BA"]


def test_publish_time_and_sequence_stay_with_a_moved_message(run: Run) -> None:
    messages = [
        string_at(EPOCH + n * 100 * MS, str(n), "/s")._replace(
            publish_ns=EPOCH + n * 100 * MS - 40 * MS, sequence=n + 7
        )
        for n in range(5)
    ]
    got = run(messages, streams=["/s | latency mean_s=0.2"]).read("/s")
    assert [m.log_ns for m in got] == [m.log_ns + 200 * MS for m in messages]
    assert [m.publish_ns for m in got] == [m.publish_ns for m in messages]
    assert [m.sequence for m in got] == [7, 8, 9, 10, 11]


def test_unset_stamps_stay_unset_and_are_counted(run: Run) -> None:
    messages = [transform(EPOCH, 0)] + [
        cones_at(EPOCH + n * 100 * MS, stamp_ns=0 if n % 4 == 3 else EPOCH + n * 100 * MS)
        for n in range(8)
    ]
    result = run(
        messages,
        streams=["/ground_truth/cones | shift header_s=-0.2", "/tf_static | shift header_s=-0.2"],
        qos={"/tf_static": LATCHED},
    )
    got = [stamp_ns(m.ros) for m in result.read("/ground_truth/cones")]
    assert got == [0 if n % 4 == 3 else EPOCH + n * 100 * MS - 200 * MS for n in range(8)]
    static = result.read("/tf_static")[0].ros.transforms[0]
    assert stamp_ns(static) == 0
    counts = [s.tally["unset header stamps left alone"] for s in result.summary.streams]
    assert counts == [2, 1]


def test_stamps_of_decoded_cones_move_alike(run: Run) -> None:
    messages = [cones_at(EPOCH + MS, stamp_ns=0), cones_at(EPOCH + 2 * MS, stamp_ns=EPOCH)]
    stream = "/ground_truth/cones | noise std_m=0.1 | shift header_s=0.5"
    result = run(messages, streams=[stream])
    assert [stamp_ns(m.ros) for m in result.read()] == [0, EPOCH + 500 * MS]
    assert result.summary.streams[0].tally["unset header stamps left alone"] == 1


def test_rate_makes_messages_of_any_type(run: Run) -> None:
    start = EPOCH - EPOCH % (100 * MS)
    messages = [string_at(start + n * 30 * MS, str(n)) for n in range(10)]
    got = run(messages, streams=["/chatter | rate hz=10 hold_s=0 -> /slow"]).read("/slow")
    assert [(m.log_ns - start, m.ros.data) for m in got] == [
        (0, "0"),
        (100 * MS, "3"),
        (200 * MS, "6"),
    ]
    assert [m.publish_ns for m in got] == [m.log_ns for m in got]
    assert [m.sequence for m in got] == [0, 0, 0]
    assert {m.type_name for m in got} == {STRING}


def test_a_replaced_message_keeps_its_place_among_equal_times(run: Run) -> None:
    times = [cones_at(EPOCH, blue=[(5, 1)]), string_at(EPOCH, "a"), string_at(EPOCH, "b")]
    messages = [times[1], times[0], times[2]]
    got = run(messages, streams=["/ground_truth/cones | noise std_m=0.1"]).read()
    assert [m.topic for m in got] == ["/chatter", "/ground_truth/cones", "/chatter"]
    assert got[1].data != times[0].data


def test_a_new_message_follows_every_source_message_of_its_time(run: Run) -> None:
    messages = [string_at(EPOCH, str(n), topic) for n, topic in enumerate(["/a", "/b", "/a"])]
    got = run(messages, streams=["/a | drop keep_every=1 -> /copy"]).read()
    assert [m.topic for m in got] == ["/a", "/b", "/a", "/copy", "/copy"]


def test_a_pattern_moves_all_topics_but_clock_and_tf_static(run: Run) -> None:
    messages = [
        string_at(EPOCH, "c", "/clock"),
        transform(EPOCH, EPOCH),
        string_at(EPOCH, "a", "/a"),
        string_at(EPOCH, "b", "/b/c"),
    ]
    got = run(messages, streams=["'/*' | latency mean_s=1"]).read()
    moved = {m.topic: m.log_ns - EPOCH for m in got}
    assert moved == {"/clock": 0, "/tf_static": 0, "/a": 1000 * MS, "/b/c": 1000 * MS}


def test_topics_of_a_pattern_are_delayed_independently(run: Run) -> None:
    messages = [string_at(EPOCH, "x", topic) for topic in ("/a", "/b")]
    got = run(messages, streams=["'/*' | latency mean_s=1 std_s=0.1"]).read()
    assert len({m.log_ns for m in got}) == 2


def test_drop_loses_and_counts(run: Run) -> None:
    messages = [string_at(EPOCH + n, str(n)) for n in range(9)]
    result = run(messages, streams=["/chatter | drop keep_every=4"])
    assert [m.ros.data for m in result.read()] == ["0", "4", "8"]
    (stream,) = result.summary.streams
    assert (stream.read, stream.published, stream.dropped) == (9, 3, 6)


def test_a_shift_below_zero_writes_nothing(run: Run, tmp_path: Any) -> None:
    messages = [string_at(50 * MS + n * 100 * MS, str(n)) for n in range(5)]
    with pytest.raises(BagnoiseError, match="before time 0"):
        run(messages, streams=["/chatter | shift log_s=-0.1"])
    assert list(tmp_path.rglob("noisy.mcap")) == []
    got = run(messages, streams=["/chatter | shift log_s=-0.1 below_zero=drop"]).read()
    assert [m.log_ns for m in got] == [50 * MS + n * 100 * MS for n in range(4)]


def test_a_simulation_at_half_speed_is_warned_of_and_handled(run: Run) -> None:
    start = EPOCH - EPOCH % (200 * MS)
    # 20 Hz of stamps, logged at 10 Hz of wall time
    messages = [
        cones_at(start + n * 100 * MS, stamp_ns=10**10 + n * 50 * MS, blue=[(5, 1)])
        for n in range(31)
    ]
    in_log = run(messages)
    assert any("0.500 s per second" in warning for warning in in_log.summary.warnings)
    clock = [
        f"{s}.{step}.clock=header" for s in ("camera", "lidar") for step in ("rate", "latency")
    ]
    in_header = run(messages, *clock)
    assert in_header.summary.warnings == []
    times = [m.log_ns for m in in_header.read("/lidar/cones")]
    assert {b - a for a, b in pairwise(times)} <= {200 * MS + d for d in range(-200_000, 200_000)}


def test_equal_speeds_are_not_warned_of(run: Run) -> None:
    messages = [cones_at(EPOCH + n * 100 * MS, blue=[(5, 1)]) for n in range(31)]
    assert run(messages).summary.warnings == []
