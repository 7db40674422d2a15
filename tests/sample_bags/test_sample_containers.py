"""Sample bags: the same bytes again, and topics, rates, QoS and times as documented."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rosbags import rosbag2
from sample_reader import (
    CAMERA,
    CONES,
    FOLDER,
    LIDAR,
    ODOMETRY,
    TRACK,
    lap,
    read_lap,
    read_scan,
    scan,
    stamp_ns,
)

if TYPE_CHECKING:
    from pathlib import Path

EUFS = "eufs_msgs/msg/ConeArrayWithCovariance"
CLOUD = "sensor_msgs/msg/PointCloud2"
RELIABLE, BEST_EFFORT = 1, 2
LATCHED, VOLATILE = 1, 2


class Offer(NamedTuple):
    """What a topic of a bag is to be: messages a second (None: one, latched)."""

    type_name: str
    rate_hz: float | None
    reliability: int = RELIABLE
    durability: int = VOLATILE


SHARED = {
    CONES: Offer(EUFS, 50),
    ODOMETRY: Offer("nav_msgs/msg/Odometry", 100),
    "/tf": Offer("tf2_msgs/msg/TFMessage", 100),
    "/tf_static": Offer("tf2_msgs/msg/TFMessage", None, RELIABLE, LATCHED),
    "/camera/camera_info": Offer("sensor_msgs/msg/CameraInfo", 15),
}
LAP = {
    **SHARED,
    TRACK: Offer(EUFS, None, RELIABLE, LATCHED),
    "/imu/data": Offer("sensor_msgs/msg/Imu", 200, BEST_EFFORT),
}
SCAN = {**SHARED, LIDAR: Offer(CLOUD, 10, BEST_EFFORT), CAMERA: Offer(CLOUD, 5)}


@pytest.fixture(scope="module")
def remade(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folders = [tmp_path_factory.mktemp("bags") for _ in range(2)]
    for folder in folders:
        subprocess.run([sys.executable, FOLDER / "make.py", folder], check=True)
    return folders


def test_lap_is_what_make_writes(remade: list[Path]) -> None:
    assert lap().digest() == read_lap(remade[0] / "lap.mcap").digest()


def test_scan_is_what_make_writes(remade: list[Path]) -> None:
    assert scan().digest() == read_scan(remade[0] / "scan").digest()


def test_two_runs_write_the_same_bytes(remade: list[Path]) -> None:
    first, second = ({p.relative_to(r): p for p in r.rglob("*") if p.is_file()} for r in remade)
    assert len(first) == 3
    assert {k: p.read_bytes() for k, p in first.items()} == {
        k: p.read_bytes() for k, p in second.items()
    }


def test_bags_are_small() -> None:
    files = [*FOLDER.glob("*.mcap"), *(FOLDER / "scan").iterdir()]
    assert sum(path.stat().st_size for path in files) < 4_000_000


def test_make_leaves_a_folder_alone_that_is_no_bag(tmp_path: Path) -> None:
    (tmp_path / "scan").mkdir()
    keep = tmp_path / "scan" / "thesis.txt"
    keep.write_text("years of work")
    command = [sys.executable, str(FOLDER / "make.py"), str(tmp_path)]
    assert subprocess.run(command, check=False, capture_output=True).returncode != 0
    assert keep.read_text() == "years of work"


@pytest.mark.parametrize("name", ["lap", "scan"])
def test_topics_types_rates_qos(name: str) -> None:
    bag = lap() if name == "lap" else scan()
    offers = LAP if name == "lap" else SCAN
    assert bag.types == {topic: offer.type_name for topic, offer in offers.items()}
    for topic, offer in offers.items():
        times = np.array([entry.log_ns for entry in bag.topics[topic]])
        if offer.rate_hz is None:
            assert len(times) == 1
            continue
        assert (len(times) - 1) / (times[-1] - times[0]) * 1e9 == pytest.approx(
            offer.rate_hz, rel=0.03
        )


def test_qos_texts_of_lap() -> None:
    for topic, offer in LAP.items():
        lines = [line.strip("- ") for line in lap().qos[topic].splitlines()]
        assert f"reliability: {offer.reliability}" in lines
        assert f"durability: {offer.durability}" in lines
        assert Counter(lines)["sec: 9223372036"] == 3


def test_qos_of_scan() -> None:
    with rosbag2.Reader(FOLDER / "scan") as reader:
        offered = {c.topic: getattr(c.ext, "offered_qos_profiles", []) for c in reader.connections}
    for topic, offer in SCAN.items():
        (profile,) = offered[topic]
        assert profile.reliability.value == offer.reliability
        assert profile.durability.value == offer.durability


def test_metadata_is_readable_by_humble() -> None:
    lines = (FOLDER / "scan" / "metadata.yaml").read_text().splitlines()
    (version,) = (line for line in lines if line.startswith("  version:"))
    assert 5 <= int(version.split(":")[1]) <= 8


def test_lap_is_a_whole_mcap() -> None:
    with (FOLDER / "lap.mcap").open("rb") as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()], validate_crcs=True)
        header, summary = reader.get_header(), reader.get_summary()
        decoded = [message.decoded_message for message in reader.iter_decoded_messages([TRACK])]
    assert header.profile == "ros2"
    assert summary
    assert summary.statistics
    assert {chunk.compression for chunk in summary.chunk_indexes} == {"zstd"}
    assert len(summary.chunk_indexes) > 10
    assert all(chunk.message_index_offsets for chunk in summary.chunk_indexes)
    assert {schema.encoding for schema in summary.schemas.values()} == {"ros2msg"}
    assert len(decoded) == 1
    assert len(decoded[0].blue_cones) == 80


def test_shared_messages_are_the_same_in_both_bags() -> None:
    for topic in SHARED.keys() - {"/tf_static"}:
        known = {entry.log_ns: entry.data for entry in lap().topics[topic]}
        assert all(known[entry.log_ns] == entry.data for entry in scan().topics[topic])
    assert scan().topics["/tf_static"][0].data == lap().topics["/tf_static"][0].data


@pytest.mark.parametrize("name", ["lap", "scan"])
def test_times_rise(name: str) -> None:
    bag = lap() if name == "lap" else scan()
    assert bag.order_ns == sorted(bag.order_ns)
    for topic, entries in bag.topics.items():
        stamps = np.array([stamp_ns(entry.message) for entry in entries])
        logs = np.array([entry.log_ns for entry in entries])
        assert (np.diff(stamps) > 0).all(), topic
        assert (np.diff(logs) > 0).all(), topic
        delay_s = (logs - stamps) / 1e9
        assert (delay_s > 0).all(), topic
        assert (delay_s < 0.02).all() or (name, topic) == ("scan", "/tf_static")


def test_publish_times_lie_between_stamp_and_log() -> None:
    for entries in lap().topics.values():
        assert all(stamp_ns(e.message) < e.publish_ns <= e.log_ns for e in entries)


def test_sequences_count_from_one() -> None:
    for entries in lap().topics.values():
        assert [entry.sequence for entry in entries] == list(range(1, len(entries) + 1))


def test_stamps_are_epoch_times_with_odd_nanoseconds() -> None:
    stamps = np.array([stamp_ns(m) for m in lap().messages(ODOMETRY)])
    assert stamps.min() > 1.7e18
    assert (stamps % 1000 != 0).mean() > 0.99
    periods = np.diff(stamps)
    assert len(set(periods.tolist())) > 0.9 * len(periods)


def test_readme_counts_are_true() -> None:
    counts = {topic: len(entries) for topic, entries in lap().topics.items()}
    counts |= {topic: len(scan().topics[topic]) for topic in (LIDAR, CAMERA)}
    rows = (FOLDER / "README.md").read_text().splitlines()
    cells = [[cell.strip() for cell in row.split("|")] for row in rows if row.startswith("| `/")]
    assert {cell[1].strip("`"): int(cell[4]) for cell in cells} == counts
