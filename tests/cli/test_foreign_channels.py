"""Channels that are none of ROS stand in no command's way, and pass through."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_runs import Command
from mcap.reader import make_reader
from mcap.writer import Writer

ROOT = Path(__file__).parents[2]
LAP = ROOT / "sample_bags" / "lap.mcap"
FOREIGN = [  # schema name, schema encoding, message encoding
    ("J", "jsonschema", "json"),
    ("pkg.Proto", "protobuf", "protobuf"),
    ("feb_msgs/msg/ConesCartesian", "jsonschema", "json"),
    ("tf2_msgs/msg/TFMessage", "jsonschema", "json"),
    ("one two", "ros2msg", "cdr"),
    ("", "", ""),
]


@pytest.fixture(scope="module", name="bag")
def _bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy two seconds of the sample lap, with foreign channels beside them, also on /tf."""
    path = tmp_path_factory.mktemp("foreign") / "mixed.mcap"
    with LAP.open("rb") as source, path.open("wb") as target:
        writer = Writer(target)
        writer.start("ros2", "test")
        first_ns = None
        known: dict[int, int] = {}
        for schema, channel, message in make_reader(source).iter_messages():
            assert schema is not None
            first_ns = first_ns or message.log_time
            if message.log_time > first_ns + 2 * 10**9:
                break
            if channel.id not in known:
                id_ = writer.register_schema(schema.name, schema.encoding, schema.data)
                known[channel.id] = writer.register_channel(
                    channel.topic, channel.message_encoding, id_, channel.metadata
                )
            writer.add_message(
                known[channel.id], message.log_time, message.data, message.publish_time
            )
        assert first_ns is not None
        for number, (name, schema_encoding, encoding) in enumerate(FOREIGN):
            id_ = writer.register_schema(name, schema_encoding, b"{}") if name else 0
            for topic in (f"/foreign{number}", "/tf"):
                channel_id = writer.register_channel(topic, encoding, id_)
                writer.add_message(channel_id, first_ns + number, b"{}", first_ns)
        writer.finish()  # type: ignore[no-untyped-call]
    return path


def foreign(path: Path) -> list[tuple[str, str, bytes]]:
    with path.open("rb") as stream:
        return sorted(
            (channel.topic, channel.message_encoding, message.data)
            for _, channel, message in make_reader(stream).iter_messages()
            if message.data == b"{}"
        )


@pytest.mark.parametrize("recipe", ["cone-noise-simulator", "feb-literal", "pacsim", "eufs"])
def test_presets_run_beside_them(bagnoise: Command, bag: Path, tmp_path: Path, recipe: str) -> None:
    target = tmp_path / "noisy.mcap"
    done = bagnoise("augment", bag, target, "--recipe", recipe, "--labels", "--verify")
    assert done.returncode == 0, done.stderr
    assert foreign(target) == foreign(bag)
    assert len(foreign(bag)) == 2 * len(FOREIGN)
    for command in (("info", target), ("compare", bag, target, "--check")):
        done = bagnoise(*command)
        assert done.returncode == 0, done.stderr
    done = bagnoise("report", target, "--truth", bag, "-o", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr


def test_a_stream_that_must_decode_one_names_it(
    bagnoise: Command, bag: Path, tmp_path: Path
) -> None:
    done = bagnoise("augment", bag, tmp_path / "x.mcap", "--stream", "/foreign0 | noise std_m=0.1")
    assert done.returncode == 2
    assert "/foreign0" in done.stderr
    assert not (tmp_path / "x.mcap").exists()
