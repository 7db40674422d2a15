"""A truth and what a sensor made of it, drawn by numpy and written by the mcap package.

Nothing here uses bagnoise's steps: what is checked comes from the formulas.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from mcap.writer import CompressionType, Writer
from numpy.typing import NDArray

from bagnoise.bags.model import Schema
from bagnoise.messages.definitions import shipped_definition
from bagnoise.messages.payload import Cones, source_rows
from bagnoise.messages.registry import codec_of
from bagnoise.messages.typestore import encode, message_class
from bagnoise.recipe.check import recipe_of
from bagnoise.recipe.document import read_document, write_yaml

START_NS = 1_700_000_000_123_456_789
PERIOD_NS = 20_000_003
CONES = "eufs_msgs/msg/ConeArrayWithCovariance"
LABELS_TEXT = """std_msgs/Header header
int32[] source_index
int64[] source_id
float64[] true_x
float64[] true_y
float64[] true_z
uint8[] true_class
int32[] missed_index
int64[] missed_id
float64[] missed_x
float64[] missed_y
float64[] missed_z
uint8[] missed_class
"""
HEADER_TEXT = f"""{"=" * 80}
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
{"=" * 80}
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""
LABELS = Schema("bagnoise_msgs/msg/ConeLabels", "ros2msg", (LABELS_TEXT + HEADER_TEXT).encode())


@dataclass
class Sensor:
    """What the sensor really does; the recipe says what was asked."""

    sigma_m: tuple[float, float] = (0.2, 0.2)
    bias_m: tuple[float, float] = (0.0, 0.0)
    mean_s: float = 0.01
    std_s: float = 0.004
    miss: float = 0.0
    false: int = 0
    lost: float = 0.0
    labels: bool = True
    messages: int = 1000
    asked: str = "noise: {std_m: 0.2}"
    time_steps: str = "- latency: {mean_s: 0.01, std_s: 0.004}"
    seed: int = 1


def recipe_text(sensor: Sensor) -> str:
    text = f"""seed: 1
streams:
  camera:
    source: /truth
    target: /cones
    steps:
      - {sensor.asked}
      {sensor.time_steps}
"""
    return write_yaml(recipe_of(read_document(text, "test")).to_plain())


def write_pair(folder: Path, sensor: Sensor, nowhere: tuple[float, ...] = ()) -> tuple[Path, Path]:
    """Write truth.mcap and noisy.mcap; the paths.

    Every noisy message has a further cone with each x of ``nowhere``.
    """
    rng = np.random.default_rng(sensor.seed)
    truth, noisy = _Bag(folder / "truth.mcap"), _Bag(folder / "noisy.mcap")
    recipe = {"recipe": recipe_text(sensor), "seed": "1"}
    noisy.writer.add_metadata("bagnoise", recipe)
    schema = shipped_definition(CONES)
    assert schema is not None
    codec = codec_of(schema)
    xyz = np.column_stack(
        [rng.uniform(2, 40, 12), rng.uniform(-8, 8, 12), rng.uniform(-0.1, 0.1, 12)]
    )
    color = np.arange(12, dtype=np.int8) % 2
    color.sort()
    delivered_ns = 0
    for number in range(sensor.messages):
        log_ns = START_NS + number * PERIOD_NS
        true = _cones(log_ns - 777, xyz, color)
        data = codec.encode(true)
        truth.write("/truth", schema, log_ns, data)
        truth.write("/other", schema, log_ns, data)
        noisy.write("/other", schema, log_ns, data)
        delay_ns = max(0, round(1e9 * rng.normal(sensor.mean_s, sensor.std_s)))
        seen = _seen(true, sensor, rng)
        if nowhere:
            more = np.array([(x, 1.0, 0.0) for x in nowhere])
            rows = np.concatenate([seen.index, np.full(len(more), -1, np.int32)])
            classes = np.concatenate([seen.color, np.ones(len(more), np.int8)])
            seen = _cones(seen.stamp_ns, np.concatenate([seen.xyz, more]), classes, rows)
        if rng.random() < sensor.lost:
            continue
        delivered_ns = max(delivered_ns, log_ns + delay_ns)
        noisy.write("/cones", schema, delivered_ns, codec.encode(seen))
        if sensor.labels:
            noisy.write("/cones/labels", LABELS, delivered_ns, _label(true, seen))
    truth.close()
    noisy.close()
    return truth.path, noisy.path


class _Bag:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("wb")
        self.writer = Writer(self._file, compression=CompressionType.NONE)
        self.writer.start("ros2", "test")
        self._ids: dict[str, int] = {}

    def write(self, topic: str, schema: Schema, log_ns: int, data: bytes) -> None:
        if topic not in self._ids:
            id_ = self.writer.register_schema(schema.name, schema.encoding, schema.data)
            self._ids[topic] = self.writer.register_channel(topic, "cdr", id_)
        self.writer.add_message(self._ids[topic], log_ns, data, log_ns)

    def close(self) -> None:
        self.writer.finish()  # type: ignore[no-untyped-call]
        self._file.close()


def _cones(stamp_ns: int, xyz: NDArray[Any], color: NDArray[Any], rows: Any = None) -> Cones:
    index = source_rows(len(xyz)) if rows is None else rows
    covariance = np.zeros((len(xyz), 3, 3))
    return Cones(stamp_ns, "base_footprint", xyz, color, index, 12, covariance)


def _seen(true: Cones, sensor: Sensor, rng: np.random.Generator) -> Cones:
    error = rng.normal(size=(len(true), 2)) * sensor.sigma_m + sensor.bias_m
    kept = rng.random(len(true)) >= sensor.miss
    xyz = true.xyz.copy()
    xyz[:, :2] += error
    false = rng.uniform((60, -5, 0), (90, 5, 0), (sensor.false, 3))  # at the end, yellow
    color = np.concatenate([true.color[kept], np.ones(sensor.false, np.int8)])
    rows = np.concatenate([np.flatnonzero(kept), np.full(sensor.false, -1)]).astype(np.int32)
    return _cones(true.stamp_ns, np.concatenate([xyz[kept], false]), color, rows)


def _label(true: Cones, seen: Cones) -> bytes:
    index = seen.index
    missed = np.setdiff1d(np.arange(len(true), dtype=np.int32), index)
    xyz = np.where((index >= 0)[:, None], true.xyz[index], np.nan)
    header = message_class(LABELS, "std_msgs/msg/Header")
    time = message_class(LABELS, "builtin_interfaces/msg/Time")
    stamp = time(*divmod(true.stamp_ns, 10**9))
    none = -np.ones(len(true) + len(index), np.int64)
    message = message_class(LABELS)(
        header(stamp, "base_footprint"),
        index,
        none[: len(index)],
        *np.ascontiguousarray(xyz.T),
        np.where(index >= 0, true.color[index], 4).astype(np.uint8),
        missed,
        none[: len(missed)],
        *np.ascontiguousarray(true.xyz[missed].T),
        true.color[missed].astype(np.uint8),
    )
    return encode(LABELS, message)
