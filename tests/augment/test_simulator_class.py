"""The Python face gives what the command writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_bags import read_bag

from bagnoise.augment.run import augment
from bagnoise.bags import open_bag
from bagnoise.messages.registry import codec_of
from bagnoise.recipe.load import Request, load_recipe
from bagnoise.recipe.problems import RecipeError
from bagnoise.simulator import ConeNoiseSimulator, SimulatorPerceptionSettings

Run = Callable[..., Any]
LAP = Path(__file__).parents[2] / "sample_bags" / "lap.mcap"
CAMERA_PERIOD_NS = 40_000_000


def test_it_gives_the_numbers_of_augment(tmp_path: Path) -> None:
    noisy = tmp_path / "noisy.mcap"
    augment(LAP, noisy, load_recipe(Request(seed=9)))
    written = read_bag(noisy, "/camera/cones")[:50]
    simulator = ConeNoiseSimulator(seed=9)
    with open_bag(LAP) as bag:
        (channel,) = [c for c in bag.channels if c.topic == "/ground_truth/cones"]
        truth = [
            (m.log_ns, codec_of(channel.schema).decode(bytes(m.data)))
            for m in bag.messages([channel.id])
        ]
    ticks = [m.log_ns // CAMERA_PERIOD_NS * CAMERA_PERIOD_NS for m in written]
    for got, tick_ns in zip(written, ticks, strict=True):
        while truth and truth[0][0] <= tick_ns:
            log_ns, cones = truth.pop(0)
            simulator.cone_callback(cones, log_ns)
        published = simulator.publish_camera(tick_ns)
        assert published is not None
        assert published.log_ns == got.log_ns
        assert published.cones.xyz[:, 0].tolist() == list(got.ros.x)
        assert published.cones.xyz[:, 1].tolist() == list(got.ros.y)


def test_nothing_is_published_before_the_first_ground_truth() -> None:
    simulator = ConeNoiseSimulator()
    assert simulator.publish_camera(0) is None
    assert simulator.publish_lidar(0) is None


def test_the_defaults_are_the_nodes() -> None:
    assert SimulatorPerceptionSettings() == SimulatorPerceptionSettings(
        25.0, 10.0, 0.25, 0.15, 0.01, 1e-5, 0.01, 1e-5
    )


def test_a_wrong_setting_is_named() -> None:
    with pytest.raises(
        RecipeError, match=r"camera_hz: .*greater than or equal to 0.000001, not -1"
    ):
        ConeNoiseSimulator(SimulatorPerceptionSettings(camera_hz=-1))
