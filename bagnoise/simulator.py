"""The ConeNoiseSimulator node as a Python class, for people who come from it.

A thin face over the recipe ``cone-noise-simulator``: equal seeds, messages and ticks give the
numbers that ``bagnoise augment`` writes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, NamedTuple

from bagnoise.augment.chain import build_chain
from bagnoise.bags.model import NO_SCHEMA, Channel
from bagnoise.recipe.load import Request, load_recipe
from bagnoise.recipe.model import step_labels
from bagnoise.recipe.overrides import SIMULATOR_SETTINGS, Override
from bagnoise.steps.base import Moment, Sample
from bagnoise.steps.clock import Clock
from bagnoise.steps.noise import Noise
from bagnoise.steps.timing import Rate, at_tick

if TYPE_CHECKING:
    from bagnoise.messages.payload import Cones
    from bagnoise.recipe.model import Stream

_UNNAMED = Channel(0, "", NO_SCHEMA)


@dataclass(frozen=True)
class SimulatorPerceptionSettings:
    """The node's eight settings with its defaults: rates in Hz, noise in m, delays in s."""

    camera_hz: float = 25.0
    lidar_hz: float = 10.0
    camera_noise_std: float = 0.25
    lidar_noise_std: float = 0.15
    camera_delay_mean: float = 0.01
    camera_delay_std: float = 1e-5
    lidar_delay_mean: float = 0.01
    lidar_delay_std: float = 1e-5


class Published(NamedTuple):
    """A message that the node would have sent: when it is delivered, and the cones in it."""

    log_ns: int
    cones: Cones


class ConeNoiseSimulator:
    """Noisy camera and lidar cones from ground truth, one call for each callback of the node."""

    def __init__(
        self, settings: SimulatorPerceptionSettings | None = None, *, seed: int = 0
    ) -> None:
        """Set up the sensors; settings outside the recipe's limits raise RecipeError."""
        self.settings = settings or SimulatorPerceptionSettings()
        self._seed = seed
        flags = [
            Override(path, asdict(self.settings)[name], name)
            for name, path in SIMULATOR_SETTINGS.items()
        ]
        recipe = load_recipe(Request(flags=flags, seed=seed))
        self._sensors = {
            name: _Sensor(name, stream, seed) for name, stream in recipe.streams.items()
        }

    def add_gaussian_noise(
        self, cones: Cones, std: float, *, log_ns: int, sensor: str = "camera"
    ) -> Cones:
        """Return cones with N(0, std^2) metres added to x and y; the key is (sensor, log_ns)."""
        moment = Moment((self._seed, sensor, Noise.name, log_ns, 0), log_ns)
        return Noise(std_m=float(std)).on_cones(cones, moment)

    def cone_callback(self, cones: Cones, log_ns: int) -> None:
        """Take a ground-truth message; it is what both timers send from now on."""
        for sensor in self._sensors.values():
            sensor.take(cones, log_ns)

    def publish_camera(self, tick_ns: int) -> Published | None:
        """Fire the camera's timer; None before the first ground truth."""
        return self._sensors["camera"].publish(tick_ns)

    def publish_lidar(self, tick_ns: int) -> Published | None:
        """Fire the lidar's timer; None before the first ground truth."""
        return self._sensors["lidar"].publish(tick_ns)


class _Sensor:
    """A stream of the recipe, its timer in the caller's hands."""

    def __init__(self, name: str, stream: Stream, seed: int) -> None:
        labelled = list(zip(step_labels(stream.steps), stream.steps, strict=True))
        timer = next(n for n, step in enumerate(stream.steps) if isinstance(step, Rate))
        clocks = {"log": Clock()}
        parts = (labelled[:timer], labelled[timer + 1 :])
        self._before, self._after = (
            build_chain(part, (seed, name), clocks, None, Counter()) for part in parts
        )
        self._latest: Sample | None = None

    def take(self, cones: Cones, log_ns: int) -> None:
        sample = Sample(log_ns, log_ns, 0, log_ns, 0, _UNNAMED, cones, log_ns)
        for ready in self._before.feed(sample):
            self._latest = ready

    def publish(self, tick_ns: int) -> Published | None:
        if self._latest is None:
            return None
        (sent,) = self._after.feed(at_tick(self._latest, tick_ns))
        return Published(sent.log_ns, sent.payload)
