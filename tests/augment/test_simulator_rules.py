"""Every rule of the ConeNoiseSimulator, on bags small enough to compute by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from small_bags import EPOCH, MS, STORE, Got, Sent, cones_at, stamp_ns, string_at

CAMERA, LIDAR, VIZ = "/camera/cones", "/lidar/cones", "/cones_noise_viz"
EXACT = ("camera.noise.std_m=0", "lidar.noise.std_m=0")
PROMPT = (
    "camera.latency.mean_s=0",
    "camera.latency.std_s=0",
    "lidar.latency.mean_s=0",
    "lidar.latency.std_s=0",
)
# Multiples of 100 ms since the epoch, where the timers of both sensors tick.
TICK = EPOCH - EPOCH % (100 * MS) + 100 * MS
Run = Callable[..., Any]


def lap(count: int = 10, period_ms: int = 20) -> list[Sent]:
    """Ground truth just after a tick and then every period; cone k is at x = k + 1."""
    return [
        cones_at(
            TICK + MS + n * period_ms * MS,
            blue=[(5.0 + n, 1.5), (0.05, 1.0)],
            yellow=[(6.0 + n, -1.5)],
            orange=[(7.0, 0.0)],
            big_orange=[(8.0, 0.0)],
            unknown_color=[(9.0, 0.0)],
        )
        for n in range(count)
    ]


def rows(got: Got) -> list[tuple[float, float, int]]:
    return list(zip(got.ros.x, got.ros.y, got.ros.color, strict=True))


def test_topics_and_types(run: Run) -> None:
    got = run(lap()).read(CAMERA, LIDAR, VIZ)
    assert {(m.topic, m.type_name) for m in got} == {
        (CAMERA, "feb_msgs/msg/ConesCartesian"),
        (LIDAR, "feb_msgs/msg/ConesCartesian"),
        (VIZ, "sensor_msgs/msg/PointCloud"),
    }


def test_camera_sees_blue_then_yellow_in_front_of_it_with_its_colors(run: Run) -> None:
    first = run(lap(), *EXACT).read(CAMERA)[0]
    # tick at +40 ms: the message of +21 ms (n = 1) is the latest; x = 0.05 is not > 0.1
    assert rows(first) == [(6.0, 1.5, 2), (7.0, -1.5, 1)]


def test_lidar_sees_behind_the_camera_rule_and_no_color(run: Run) -> None:
    first = run(lap(), *EXACT).read(LIDAR)[0]
    # tick at +100 ms: the message of +81 ms (n = 4)
    assert rows(first) == [(9.0, 1.5, -1), (0.05, 1.0, -1), (10.0, -1.5, -1)]


def test_the_camera_filter_is_on_the_noisy_x(run: Run) -> None:
    messages = [cones_at(TICK + 1 + n * 40 * MS, blue=[(0.1, 0.0)] * 5) for n in range(200)]
    seen = [x for got in run(messages, *PROMPT).read(CAMERA) for x in got.ros.x]
    assert 0 < len(seen) < 200 * 5  # true x = 0.1 itself would pass never (or, noisy, always)
    assert all(x > 0.1 for x in seen)


def test_classes_let_orange_in(run: Run) -> None:
    wanted = "camera.classes.keep=[blue,yellow,small_orange,big_orange]"
    first = run(lap(), *EXACT, wanted).read(CAMERA)[0]
    assert rows(first)[2:] == [(7.0, 0.0, 0), (8.0, 0.0, 3)]


def test_left_out_cones_are_counted(run: Run) -> None:
    summary = run(lap()).summary
    assert summary.streams[0].tally["cones left out by class"] == 3 * 10


def test_stamp_and_frame_are_the_ground_truths(run: Run) -> None:
    result = run(lap(), *EXACT)
    for topic, n in ((CAMERA, 1), (LIDAR, 4), (VIZ, 1)):
        first = result.read(topic)[0]
        assert stamp_ns(first.ros) == TICK + MS + n * 20 * MS - 3 * MS
        assert first.ros.header.frame_id == "base_footprint"


def test_ticks_from_the_first_message_to_one_period_after_the_last(run: Run) -> None:
    result = run(lap(), *PROMPT)  # ground truth from +1 to +181 ms
    camera = [got.log_ns - TICK for got in result.read(CAMERA)]
    assert camera == [n * 40 * MS for n in (1, 2, 3, 4, 5)]  # +200 <= 181 + 40
    assert [got.log_ns - TICK for got in result.read(LIDAR)] == [100 * MS, 200 * MS]


def test_log_and_publish_time_are_tick_plus_delay(run: Run) -> None:
    delays = ("camera.latency.mean_s=0.007", "camera.latency.std_s=0")
    for got in run(lap(), *delays).read(CAMERA):
        assert got.publish_ns == got.log_ns
        assert (got.log_ns - TICK) % (40 * MS) == 7 * MS


def test_without_new_ground_truth_the_same_sample_is_sent_again(run: Run) -> None:
    messages = [cones_at(TICK + 1, blue=[(5, 1)]), cones_at(TICK + 150 * MS, blue=[(5, 1)])]
    sent = [rows(got) for got in run(messages, *PROMPT).read(CAMERA)]
    assert sent[0] == sent[1] == sent[2]
    assert sent[3] != sent[0]


def test_camera_and_lidar_noise_differ(run: Run) -> None:
    messages = [cones_at(TICK + 99 * MS, blue=[(5, 1)])]
    equal = ("camera.noise.std_m=0.1", "lidar.noise.std_m=0.1")
    result = run(messages, *equal)
    assert rows(result.read(CAMERA)[0])[0][:2] != rows(result.read(LIDAR)[0])[0][:2]


def test_viz_holds_the_cameras_cones_flat_and_with_each_camera_message(run: Run) -> None:
    result = run(lap())
    camera, viz = result.read(CAMERA), result.read(VIZ)
    assert [got.log_ns for got in viz] == [got.log_ns for got in camera]
    for cones, points in zip(camera, viz, strict=True):
        assert [p.z for p in points.ros.points] == [0.0] * len(cones.ros.x)
        assert [p.x for p in points.ros.points] == pytest.approx(list(cones.ros.x), rel=1e-7)
        assert len(points.ros.channels) == 0


def test_everything_else_is_untouched(run: Run) -> None:
    messages = sorted(
        [*lap(), *(string_at(TICK + n * 33 * MS, str(n)) for n in range(6))], key=lambda m: m.log_ns
    )
    got = run(messages).read("/chatter", "/ground_truth/cones")
    assert [(m.topic, m.log_ns, m.publish_ns, m.sequence, m.data) for m in got] == [
        (m.topic, m.log_ns, m.log_ns, 0, m.data) for m in messages
    ]


def test_feb_literal(run: Run) -> None:
    result = run(
        lap(),
        *EXACT,
        "lidar.latency.mean_s=0.001",
        "lidar.latency.std_s=0.004",
        recipe="feb-literal",
    )
    for topic in (CAMERA, LIDAR):
        for got in result.read(topic):
            assert stamp_ns(got.ros) == 0
            assert got.ros.header.frame_id == ""
    for got in result.read(VIZ):
        assert stamp_ns(got.ros) == got.log_ns
        assert got.ros.header.frame_id == "base_footprint"
    assert {(got.log_ns - TICK) % (100 * MS) for got in result.read(LIDAR)} == {4 * MS}


def test_a_definition_already_in_the_bag_wins(run: Run) -> None:
    text = (
        "std_msgs/Header header\nfloat64[] x\nfloat64[] y\nint8[] color\nfloat64 eval_time\n"
        + "=" * 80
        + "\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n"
        + "=" * 80
        + "\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n"
    )
    name = "feb_msgs/msg/ConesCartesian"
    # an empty message of the longer layout: header, three empty arrays, eval_time 0
    body = b"\0\1\0\0" + bytes(8) + b"\1\0\0\0\0" + bytes(3) + bytes(12) + bytes(4) + bytes(8)
    old = Sent("/perception/cones", name, TICK, body)
    longer = run([old, *lap()], *EXACT, definitions={name: text}).read(CAMERA)[0]
    assert longer.ros.eval_time == 0.0
    assert rows(longer) == [(6.0, 1.5, 2), (7.0, -1.5, 1)]
    assert not hasattr(run(lap(), *EXACT).read(CAMERA)[0].ros, "eval_time")


def test_the_longer_layout_can_be_asked_for(run: Run) -> None:
    asked = "camera.type_options.variant=eval_time"
    assert run(lap(), asked).read(CAMERA)[0].ros.eval_time == 0.0


def test_new_topics_are_reliable_volatile_keep_last_1(run: Run) -> None:
    from mcap.reader import make_reader
    from ruamel.yaml import YAML

    with run(lap()).path.open("rb") as stream:
        summary = make_reader(stream).get_summary()
    assert summary is not None
    for channel in summary.channels.values():
        if channel.topic in {CAMERA, LIDAR, VIZ}:
            (qos,) = YAML(typ="safe").load(channel.metadata["offered_qos_profiles"])
            assert (qos["reliability"], qos["durability"]) == (1, 2)
            assert (qos["history"], qos["depth"]) == (1, 1)


def test_markers_for_rviz(run: Run) -> None:
    as_markers = "camera.type=visualization_msgs/msg/MarkerArray"
    got = run(lap(), *EXACT, as_markers).read(CAMERA)[0]
    cones = [m for m in got.ros.markers if m.action == 0]
    assert [(m.pose.position.x, m.pose.position.y) for m in cones] == [(6.0, 1.5), (7.0, -1.5)]
    blue, yellow = ((m.color.r, m.color.g, m.color.b) for m in cones)
    assert blue[2] > max(blue[:2])
    assert min(yellow[:2]) > yellow[2]
    assert STORE.types[got.type_name] is not None
