"""Transforms and poses of small bags, computed by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_bags import EPOCH, MS, STORE, TF, TYPES, Sent, header, string_at, write_bag

from bagnoise.augment.context import collect
from bagnoise.bags import open_bag
from bagnoise.errors import ContextError, UsageError
from bagnoise.steps.context import Context, Needs, NoContext

ODOMETRY = "nav_msgs/msg/Odometry"
POSE = "geometry_msgs/msg/PoseStamped"
TURN_Z = np.sqrt(0.5)  # quaternion z and w of 90 deg to the left


def pose_of(x: float, y: float, *, z_rot: float = 0.0, w: float = 1.0) -> Any:
    point, quaternion = TYPES["geometry_msgs/msg/Point"], TYPES["geometry_msgs/msg/Quaternion"]
    return TYPES["geometry_msgs/msg/Pose"](
        position=point(x=float(x), y=float(y), z=0.0),
        orientation=quaternion(x=0.0, y=0.0, z=float(z_rot), w=float(w)),
    )


def odometry(stamp_ns: int, x: float, y: float, **rotation: float) -> Sent:
    vector = TYPES["geometry_msgs/msg/Vector3"](x=0.0, y=0.0, z=0.0)
    twist = TYPES["geometry_msgs/msg/Twist"](linear=vector, angular=vector)
    message = TYPES[ODOMETRY](
        header=header(stamp_ns, "map"),
        child_frame_id="car",
        pose=TYPES["geometry_msgs/msg/PoseWithCovariance"](
            pose=pose_of(x, y, **rotation), covariance=np.zeros(36)
        ),
        twist=TYPES["geometry_msgs/msg/TwistWithCovariance"](twist=twist, covariance=np.zeros(36)),
    )
    return Sent("/odom", ODOMETRY, stamp_ns, bytes(STORE.serialize_cdr(message, ODOMETRY)))


def transforms(
    topic: str, log_ns: int, edges: Sequence[tuple[str, str, float, float, float, float]]
) -> Sent:
    vector, quaternion = TYPES["geometry_msgs/msg/Vector3"], TYPES["geometry_msgs/msg/Quaternion"]
    made = [
        TYPES["geometry_msgs/msg/TransformStamped"](
            header=header(log_ns, parent),
            child_frame_id=child,
            transform=TYPES["geometry_msgs/msg/Transform"](
                translation=vector(x=x, y=y, z=0.0),
                rotation=quaternion(x=0.0, y=0.0, z=z_rot, w=w),
            ),
        )
        for parent, child, x, y, z_rot, w in edges
    ]
    message = TYPES[TF](transforms=made)
    return Sent(topic, TF, log_ns, bytes(STORE.serialize_cdr(message, TF)))


def context_of(tmp_path: Path, messages: list[Sent], needs: Needs) -> Context:
    with open_bag(write_bag(tmp_path / "b.mcap", messages)) as bag:
        return collect(bag, needs)


@pytest.fixture
def tree(tmp_path: Path) -> Context:
    messages = [
        transforms("/tf_static", EPOCH, [("car", "lidar", 1.5, 0.0, 0.0, 1.0)]),
        transforms("/tf", EPOCH, [("map", "odom", 0.0, 0.0, 0.0, 1.0)]),
        transforms("/tf", EPOCH, [("odom", "car", 0.0, 0.0, 0.0, 1.0)]),
        transforms("/tf", EPOCH + 1000 * MS, [("odom", "car", 4.0, 0.0, TURN_Z, TURN_Z)]),
        transforms("/tf", EPOCH + 1000 * MS, [("map", "odom", 0.0, 2.0, 0.0, 1.0)]),
    ]
    return context_of(tmp_path, messages, Needs(tf=True))


def test_a_chain_of_moving_and_fixed_frames(tree: Context) -> None:
    start = tree.transform("map", "lidar", EPOCH)
    assert start[:3, 3] == pytest.approx((1.5, 0, 0))
    end = tree.transform("map", "lidar", EPOCH + 1000 * MS)
    assert end[:3, 3] == pytest.approx((4, 3.5, 0))  # turned left: 1.5 m ahead is along y
    assert end[:3, 0] == pytest.approx((0, 1, 0), abs=1e-12)


def test_between_samples_positions_are_linear_and_turns_even(tree: Context) -> None:
    quarter = tree.transform("odom", "car", EPOCH + 250 * MS)
    assert quarter[:3, 3] == pytest.approx((1, 0, 0))
    angle = np.deg2rad(22.5)
    assert quarter[:2, 0] == pytest.approx((np.cos(angle), np.sin(angle)))
    one_ns = tree.transform("odom", "car", EPOCH + 500 * MS + 1)
    half = tree.transform("odom", "car", EPOCH + 500 * MS)
    assert one_ns[0, 3] - half[0, 3] == pytest.approx(4e-9, rel=1e-6)


def test_the_way_back_is_the_inverse(tree: Context) -> None:
    there = tree.transform("map", "lidar", EPOCH + 700 * MS)
    back = tree.transform("lidar", "map", EPOCH + 700 * MS)
    assert there @ back == pytest.approx(np.eye(4), abs=1e-12)
    assert tree.transform("/lidar", "lidar", 5).tolist() == np.eye(4).tolist()


def test_unknown_frames_and_times_are_named(tree: Context) -> None:
    with pytest.raises(ContextError, match=r"no frame 'velodyne'; the frames are car, lidar, map"):
        tree.transform("map", "velodyne", EPOCH)
    late_ns = EPOCH + 1200 * MS
    with pytest.raises(ContextError, match=rf"'odom' <- 'car' is not known at {late_ns} ns.*2 sam"):
        tree.transform("map", "car", late_ns)
    assert tree.transform("odom", "car", EPOCH + 1050 * MS)[0, 3] == 4  # held for 0.1 s


def test_two_parents_and_circles_are_errors(tmp_path: Path) -> None:
    edge = (0.0, 0.0, 0.0, 1.0)
    messages = [
        transforms("/tf", EPOCH, [("a", "b", *edge), ("c", "b", *edge)]),
        transforms("/tf", EPOCH, [("x", "y", *edge), ("y", "x", *edge)]),
    ]
    context = context_of(tmp_path, messages, Needs(tf=True))
    with pytest.raises(ContextError, match="'b' has several parents in /tf: 'a' and 'c'"):
        context.transform("a", "b", EPOCH)
    with pytest.raises(ContextError, match="form a circle"):
        context.transform("a", "x", EPOCH)


def test_no_transforms_at_all(tmp_path: Path) -> None:
    context = context_of(tmp_path, [string_at(EPOCH, "x")], Needs(tf=True))
    with pytest.raises(ContextError, match="the bag has no transforms"):
        context.transform("map", "car", EPOCH)


def test_the_pose_of_an_odometry(tmp_path: Path) -> None:
    messages = [
        odometry(EPOCH, 0, 0),
        odometry(EPOCH + 100 * MS, 1, 2, z_rot=TURN_Z, w=TURN_Z),
    ]
    context = context_of(tmp_path, messages, Needs(pose_topics=("/odom",)))
    assert context.pose_frames("/odom") == ("map", "car")
    assert context.pose("/odom", EPOCH + 50 * MS)[:2, 3] == pytest.approx((0.5, 1))
    logs, stamps = context.pose_times("/odom")
    assert logs.tolist() == stamps.tolist() == [EPOCH, EPOCH + 100 * MS]


def test_a_pose_without_child_frame(tmp_path: Path) -> None:
    message = TYPES[POSE](header=header(EPOCH, "map"), pose=pose_of(3, 4))
    sent = Sent("/pose", POSE, EPOCH, bytes(STORE.serialize_cdr(message, POSE)))
    context = context_of(tmp_path, [sent], Needs(pose_topics=("/pose",)))
    assert context.pose_frames("/pose") == ("map", "")
    assert context.pose("/pose", EPOCH)[:2, 3].tolist() == [3, 4]


def test_a_pose_that_is_no_rotation_is_named(tmp_path: Path) -> None:
    sent = [odometry(EPOCH, 0, 0, z_rot=0.0, w=0.0)]
    context = context_of(tmp_path, sent, Needs(pose_topics=("/odom",)))
    with pytest.raises(ContextError, match=r"the pose on /odom: quaternion .* is no rotation"):
        context.pose("/odom", EPOCH)


def test_topics_that_cannot_serve_are_usage_errors(tmp_path: Path) -> None:
    path = write_bag(tmp_path / "b.mcap", [odometry(EPOCH, 0, 0), string_at(EPOCH, "x")])
    with open_bag(path) as bag:
        with pytest.raises(UsageError, match=r"'/pose' is not in .*could serve: /odom"):
            collect(bag, Needs(pose_topics=("/pose",)))
        with pytest.raises(UsageError, match=r"'/chatter' is std_msgs/msg/String, not nav_msgs"):
            collect(bag, Needs(pose_topics=("/chatter",)))
        assert isinstance(collect(bag, Needs()), NoContext)
