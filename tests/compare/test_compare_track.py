"""Streams that see a track from the car: their messages are at times of their own."""

from __future__ import annotations

from pathlib import Path

from bagnoise.augment.run import augment
from bagnoise.compare.check import check
from bagnoise.compare.run import compare
from bagnoise.recipe.check import recipe_of
from bagnoise.recipe.document import read_document

LAP = Path(__file__).parents[2] / "sample_bags" / "lap.mcap"
RECIPE = """streams:
  cam:
    source: /ground_truth/track
    target: /cam
    type: eufs_msgs/msg/ConeArrayWithCovariance
    labels: true
    steps:
      - from_track: {pose_topic: /ground_truth/odom, hz: 20}
      - field_of_view: {max_range_m: 15}
      - noise: {std_m: 0.2}
      - latency: {mean_s: 0.01, std_s: 0.001}
"""


def test_noise_of_a_track_is_tested_by_labels_and_its_delay_is_not(tmp_path: Path) -> None:
    augment(LAP, tmp_path / "out.mcap", recipe_of(read_document(RECIPE, "test")))
    comparison = compare(LAP, tmp_path / "out.mcap")
    verdict = check(comparison)
    assert verdict.failed == []
    said = {line.what: line for line in verdict.lines if line.subject.startswith("/cam")}
    (stream,) = comparison.streams
    assert stream.rows is not None
    assert f"n = {len(stream.rows.residual_m)}," in said["x deviation"].note
    assert said["delay"].p is None
    near = [row for row in stream.measured["by_range"] if row["range"] == "0-5 m"]
    assert near[0]["detection_rate"] == 1
