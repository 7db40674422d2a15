"""Labels of point clouds: which point of the source each point is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bagnoise.augment.run import Options, augment
from bagnoise.bags import open_bag
from bagnoise.bags.model import Bag
from bagnoise.messages.cloud import Cloud
from bagnoise.messages.cloud_misses import hits
from bagnoise.messages.registry import codec_of
from bagnoise.messages.typestore import decode
from bagnoise.recipe.check import recipe_of
from bagnoise.recipe.document import read_document

SCAN = Path(__file__).parents[2] / "sample_bags" / "scan"
POINTS = "/velodyne_points"


def clouds(bag: Bag, topic: str) -> list[Cloud]:
    (channel,) = [c for c in bag.channels if c.topic == topic]
    codec = codec_of(channel.schema)
    return [codec.decode(bytes(m.data)) for m in bag.messages([channel.id])]


@pytest.mark.parametrize(
    "step",
    [
        "dropout: {probability: 0.3}",
        "dropout: {probability: 0.3, misses: remove}",
        "camera_lidar: {model: VLP-16}",
        "camera_lidar: {model: VLP-16, layout: source, misses: remove}",
    ],
)
def test_labels_name_the_source_point(tmp_path: Path, step: str) -> None:
    text = f"streams: {{p: {{source: {POINTS}, target: /out, labels: true, steps: [{step}]}}}}"
    recipe = recipe_of(read_document(f"{text}\n".replace("[", "[{").replace("]", "}]"), "r"))
    augment(SCAN, tmp_path / "out.mcap", recipe, Options())
    with open_bag(SCAN) as bag:
        source = clouds(bag, POINTS)
    with open_bag(tmp_path / "out.mcap") as bag:
        made = clouds(bag, "/out")
        (channel,) = [c for c in bag.channels if c.topic == "/out/labels"]
        labels = [decode(channel.schema, bytes(m.data)) for m in bag.messages([channel.id])]
    assert len(made) == len(labels) == len(source) == 10
    for before, after, label in zip(source, made, labels, strict=True):
        index = np.asarray(label.source_index)
        seen = hits(after)
        assert len(index) == len(after)
        assert (index[~seen] == -1).all()
        assert seen.any()
        kept = before.column("intensity")[index[seen]]
        assert kept.tobytes() == np.ascontiguousarray(after.column("intensity")[seen]).tobytes()
        assert "bagnoise_source_index" not in after.names


def test_labels_change_nothing_else(tmp_path: Path) -> None:
    written = []
    for labels in ("false", "true"):
        text = (
            f"streams: {{p: {{source: {POINTS}, labels: {labels}, "
            "steps: [{dropout: {probability: 0.3}}, {range_noise: {std_m: 0.1}}]}}"
        )
        target = tmp_path / f"{labels}.mcap"
        augment(SCAN, target, recipe_of(read_document(text, "r")))
        with open_bag(target) as bag:
            (channel,) = [c for c in bag.channels if c.topic == POINTS]
            written.append([bytes(m.data) for m in bag.messages([channel.id])])
    assert written[0] == written[1]
