"""Draw the README's picture of true and noisy cones along a stretch of the sample lap.

    bagnoise augment sample_bags/lap.mcap noisy.mcap
    python docs/make_pictures.py sample_bags/lap.mcap noisy.mcap

Writes ``docs/pictures/cones-light.svg`` and ``cones-dark.svg`` (or into a third argument). Every
detection is put on the map by the true pose of the car at its header stamp, so what is off its cone
is the noise. Shapes tell colors apart where eyes cannot.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib import pyplot as plt
from rosbags.highlevel import AnyReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes

Array = npt.NDArray[np.float64]

STRETCH_S = (9.9, 12.7)
WINDOW_M = ((6.5, 24.5), (12.0, 25.6))
TRACK, ODOMETRY = "/ground_truth/track", "/ground_truth/odom"
CAMERA, LIDAR = "/camera/cones", "/lidar/cones"


class Look(NamedTuple):
    """How cones of one color are drawn."""

    label: str
    fill: str
    marker: str
    size: float


class Theme(NamedTuple):
    """The colors of one page background."""

    page: str
    ink: str
    faint: str
    lidar: str
    outline: str


# Okabe and Ito's palette, chosen for color-blind readers.
LOOKS = {
    "blue": Look("blue", "#0072B2", "^", 11),
    "yellow": Look("yellow", "#F0E442", "s", 9),
    "orange": Look("orange", "#E69F00", "D", 8),
    "big_orange": Look("big orange", "#D55E00", "D", 12),
}
FEB_COLORS = {2: "blue", 1: "yellow", 0: "orange", 3: "big_orange"}
THEMES = {
    "light": Theme("#ffffff", "#1f2328", "#d0d7de", "#6e5494", "#1f2328"),
    "dark": Theme("#0d1117", "#e6edf3", "#30363d", "#c9a7f0", "#e6edf3"),
}


@dataclass(frozen=True)
class Scene:
    """All that the picture shows, in the map: positions (n, 2) in m."""

    course: dict[str, Array]
    path: Array
    camera: dict[str, Array]
    lidar: Array


def _messages(bag: Path, topics: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    with AnyReader([bag]) as reader:
        missing = set(topics) - {c.topic for c in reader.connections}
        if missing:
            message = f"{bag} has no topic {', '.join(sorted(missing))}"
            raise SystemExit(message)
        connections = [c for c in reader.connections if c.topic in topics]
        for connection, _, data in reader.messages(connections):
            yield connection.topic, reader.deserialize(data, connection.msgtype)


def _stamp_ns(message: Any) -> int:
    return int(message.header.stamp.sec) * 10**9 + int(message.header.stamp.nanosec)


def _course(track: Any) -> dict[str, Array]:
    return {
        color: np.array([(c.point.x, c.point.y) for c in getattr(track, f"{color}_cones")])
        for color in LOOKS
    }


@dataclass(frozen=True)
class CarPath:
    """The car's true poses: ns since the first, and x, y, qz, qw in rows."""

    start_ns: int
    since_ns: npt.NDArray[np.int64]
    pose: Array

    @classmethod
    def of(cls, messages: list[Any]) -> CarPath:
        """From odometry messages."""
        stamps = [_stamp_ns(m) for m in messages]
        poses = [m.pose.pose for m in messages]
        rows = [(p.position.x, p.position.y, p.orientation.z, p.orientation.w) for p in poses]
        return cls(stamps[0], np.array(stamps) - stamps[0], np.array(rows))

    def to_map(self, stamp_ns: int, points: Array) -> Array:
        """Points (n, 2) of the car's frame, in the map."""
        since = stamp_ns - self.start_ns
        x, y, qz, qw = (float(np.interp(since, self.since_ns, col)) for col in self.pose.T)
        yaw = 2 * np.arctan2(qz, qw)
        turn = np.array([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]])
        return np.asarray(points @ turn + (x, y))


def read_scene(truth: Path, noisy: Path) -> Scene:
    """Collect the stretch from the two bags."""
    found: dict[str, list[Any]] = {TRACK: [], ODOMETRY: []}
    for topic, message in _messages(truth, (TRACK, ODOMETRY)):
        found[topic].append(message)
    path = CarPath.of(found[ODOMETRY])
    camera: dict[str, list[Array]] = {color: [] for color in LOOKS}
    lidar: list[Array] = []
    first_ns, last_ns = (path.start_ns + round(edge * 1e9) for edge in STRETCH_S)
    for topic, message in _messages(noisy, (CAMERA, LIDAR)):
        if not first_ns <= _stamp_ns(message) <= last_ns:
            continue
        points = path.to_map(_stamp_ns(message), np.stack([message.x, message.y], axis=1))
        if topic == LIDAR:
            lidar.append(points)
            continue
        for code, color in FEB_COLORS.items():
            camera[color].append(points[np.asarray(message.color) == code])
    empty = np.zeros((0, 2))
    driven = (path.since_ns >= STRETCH_S[0] * 1e9) & (path.since_ns <= STRETCH_S[1] * 1e9)
    return Scene(
        _course(found[TRACK][0]),
        path.pose[driven, :2],
        {color: np.concatenate([empty, *parts]) for color, parts in camera.items()},
        np.concatenate([empty, *lidar]),
    )


def _inside(points: Array) -> Array:
    """Those that the window shows: hidden ones would only make the file larger."""
    (left, right), (low, high) = WINDOW_M
    x, y = points.T
    inside: Array = points[(x > left) & (x < right) & (y > low) & (y < high)]
    return inside


def _draw(axes: Axes, scene: Scene, theme: Theme) -> None:
    axes.plot(*scene.path.T, color=theme.ink, lw=1.2, ls=(0, (6, 3)), label="the car's way")
    tail, tip = scene.path[len(scene.path) // 2 :][:6:5]
    axes.annotate("", tip, tail, arrowprops={"arrowstyle": "-|>", "color": theme.ink})
    for color, look in LOOKS.items():
        points = _inside(scene.course[color])
        if not len(points):
            continue
        style: dict[str, Any] = {"ls": "", "marker": look.marker}
        style |= {"mfc": look.fill, "mec": theme.outline}
        label = f"{look.label} cone, true"
        axes.plot(*points.T, **style, ms=look.size, mew=1.1, zorder=5, label=label)
        seen = _inside(scene.camera[color])
        style |= {"mew": 0.4, "ms": 0.36 * look.size, "zorder": 3}
        axes.plot(*seen.T, **style, label=f"{look.label} cone, camera")
    lidar = _inside(scene.lidar)
    axes.plot(*lidar.T, "x", color=theme.lidar, ms=4, mew=1.0, zorder=4, label="lidar (no color)")


def draw(scene: Scene, theme: Theme, path: Path) -> None:
    """Write one picture."""
    (left, right), (low, high) = WINDOW_M
    figure, axes = plt.subplots(figsize=(9, 7), facecolor=theme.page)
    axes.set(facecolor=theme.page, aspect="equal", xlim=(left, right), ylim=(low, high))
    axes.set_xlabel("x in the map, m", color=theme.ink)
    axes.set_ylabel("y in the map, m", color=theme.ink)
    axes.tick_params(colors=theme.ink)
    axes.grid(color=theme.faint, lw=0.5)
    for spine in axes.spines.values():
        spine.set_color(theme.faint)
    _draw(axes, scene, theme)
    legend = axes.legend(loc="upper right", facecolor=theme.page, edgecolor=theme.faint)
    for text in legend.get_texts():
        text.set_color(theme.ink)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)


def main(truth: str, noisy: str, folder: str = str(Path(__file__).parent / "pictures")) -> None:
    """Draw both themes."""
    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "bagnoise"  # else ids in the file are random
    scene = read_scene(Path(truth), Path(noisy))
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, theme in THEMES.items():
        draw(scene, theme, Path(folder) / f"cones-{name}.svg")


if __name__ == "__main__":
    main(*sys.argv[1:])
