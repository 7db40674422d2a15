"""What does not fit the bag is said before anything is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cloud_bags import xyz_at
from small_bags import EPOCH, MS, STRING, Sent, cones_at, string_at

from bagnoise.augment.run import Options
from bagnoise.errors import UsageError

Run = Callable[..., Any]


def bag() -> list[Sent]:
    return [cones_at(EPOCH, blue=[(5, 1)]), string_at(EPOCH + 1, "x")]


@pytest.mark.parametrize(
    ("streams", "expected"),
    [
        (["/gone | noise"], r"no topic '/gone'.*cones in it: /ground_truth/cones \(eufs_msgs"),
        (["/chatter | noise"], r"/chatter is std_msgs/msg/String, which bagnoise cannot decode"),
        (["/chatter | rate hz=1 -> /ground_truth/cones"], "already in the bag.*--replace-target"),
        (["/chatter | drop -> /a", "/chatter | drop -> /a"], "/a is shared by 2 streams"),
        (["/chatter | drop", "/chatter | drop"], "/chatter is replaced by 2 streams"),
        (["/ground_truth/cones | noise -> /a as no_msgs/msg/Such"], "no definition of type"),
        (["/ground_truth/cones | noise -> /a as std_msgs/msg/String"], "no cone type"),
        (["/chatter -> /a as feb_msgs/msg/ConesCartesian"], "a change of type needs cones"),
        (
            ["/ground_truth/cones | noise -> /a as sensor_msgs/msg/PointCloud2"],
            "'a': target /a: .*PointCloud2 holds a point cloud, the stream has cones; with type",
        ),
        (
            ["/ground_truth/cones -> /a as sensor_msgs/msg/Image"],
            "target /a: sensor_msgs/msg/Image holds a depth image, the stream has cones",
        ),
        (
            ["/points -> /a as eufs_msgs/msg/ConeArray"],
            "target /a: eufs_msgs/msg/ConeArray holds cones, the stream has a point cloud",
        ),
    ],
)
def test_misfits_are_named(run: Run, tmp_path: Path, streams: list[str], expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        run([*bag(), xyz_at(EPOCH + 2, [(1, 2, 3)])], streams=streams)
    assert list(tmp_path.rglob("noisy.mcap")) == []


def test_all_misfits_are_named_at_once(run: Run) -> None:
    with pytest.raises(UsageError) as caught:
        run(bag(), streams=["/gone | noise", "/chatter | noise"])
    assert len(str(caught.value).splitlines()) == 2


def test_a_bag_without_cones_lists_its_topics(run: Run) -> None:
    with pytest.raises(UsageError, match="it holds no cones, only: /chatter"):
        run([string_at(EPOCH, "x")])


def test_replace_target_takes_the_topic_over(run: Run) -> None:
    options = Options(replace_target=True)
    stream = "/ground_truth/cones | drop -> /chatter"
    got = run(bag(), streams=[stream], options=options).read()
    assert [m.topic for m in got] == ["/ground_truth/cones", "/chatter"]
    assert got[0].data == got[1].data


def test_source_renames_the_presets_topic(run: Run) -> None:
    messages = [cones_at(EPOCH + n * 20 * MS, topic="/gt", blue=[(5, 1)]) for n in range(10)]
    assert run(messages, source="/gt").read("/camera/cones")


def test_dry_run_checks_and_writes_nothing(run: Run) -> None:
    result = run(bag(), options=Options(dry_run=True))
    assert not result.path.exists()
    assert [s.targets for s in result.summary.streams] == [
        {"/camera/cones": 0, "/cones_noise_viz": 0},
        {"/lidar/cones": 0},
    ]
    with pytest.raises(UsageError, match="no topic"):
        run(bag(), source="/gone", options=Options(dry_run=True))


def test_a_broken_message_is_named_and_nothing_stays(run: Run, tmp_path: Path) -> None:
    from bagnoise.errors import MessageError

    broken = cones_at(EPOCH + 5)._replace(data=b"\0\1\0\0\xff\xff")
    with pytest.raises(MessageError, match=f"/ground_truth/cones, message at {EPOCH + 5} ns"):
        run([*bag(), broken])
    assert list(tmp_path.rglob("noisy.mcap")) == []
    assert list(tmp_path.rglob(".bagnoise*")) == []


def test_two_types_on_one_topic_pass_and_move(run: Run) -> None:
    both = [string_at(EPOCH, "x", "/t"), cones_at(EPOCH + 1, topic="/t", blue=[(1, 1)])]
    got = run(both, streams=["/t | latency mean_s=1"]).read()
    assert [(m.type_name == STRING, m.log_ns - EPOCH) for m in got] == [
        (True, 1000 * MS),
        (False, 1000 * MS + 1),
    ]
    with pytest.raises(UsageError, match="cannot decode"):
        run(both, streams=["/t | noise std_m=1"])


def test_a_source_that_the_cut_leaves_out_is_named(run: Run) -> None:
    from bagnoise.augment.selection import Cut

    options = Options(cut=Cut(exclude=["/ground_truth/.*"]))
    with pytest.raises(UsageError, match="/ground_truth/cones is left out by --only or --exclude"):
        run(bag(), options=options)


def test_header_time_without_stamps_is_warned_of(run: Run) -> None:
    messages = [cones_at(EPOCH + n * 20 * MS, stamp_ns=0) for n in range(9)]
    warnings = run(messages, "camera.rate.clock=header").summary.warnings
    assert any("no message has a header stamp" in text for text in warnings)


def test_a_target_that_no_node_could_publish_is_told(run: Run) -> None:
    got = run(bag(), streams=["/chatter | drop -> '/bad name!'", "/chatter | drop -> /good_1/b"])
    (warning,) = (text for text in got.summary.warnings if "no name of a ROS topic" in text)
    assert "'/bad name!'" in warning
