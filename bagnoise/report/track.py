"""The track from above: everything the sensors said on one map, and a scrubber over time."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bagnoise.messages.msg_text import is_ros_type
from bagnoise.messages.payload import ConeClass, somewhere
from bagnoise.messages.typestore import decode
from bagnoise.report.colors import CLASSES, FAINT, SERIES
from bagnoise.report.figures import Figure
from bagnoise.report.svg import SHAPES, Plot, padded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bagnoise.bags.model import Bag
    from bagnoise.compare.run import Stream
    from bagnoise.compare.samples import Track

ODOMETRY = "nav_msgs/msg/Odometry"
CELL_M = 0.5  # true cones nearer than this on the map are drawn once
MAX_DOTS = 12_000
MAX_APART = 3000
FRAMES = 240
SECOND_NS = 1_000_000_000


class Path(NamedTuple):
    """The car's way over the map: times (n,), x and y in m, heading in rad, unwrapped."""

    topic: str
    child_frame: str
    stamp_ns: NDArray[np.int64]
    xy: NDArray[np.float64]
    heading_rad: NDArray[np.float64]

    def to_map(self, xyz: NDArray[np.float64], stamp_ns: int) -> NDArray[np.float64]:
        """Move positions of the car's frame (n, 3) to the map, (n, 2), at a time."""
        since = (self.stamp_ns - self.stamp_ns[0]).astype(np.float64)
        at = float(stamp_ns - int(self.stamp_ns[0]))
        x, y = (np.interp(at, since, column) for column in self.xy.T)
        heading = np.interp(at, since, self.heading_rad)
        cosine, sine = np.cos(heading), np.sin(heading)
        ahead, left = xyz[:, 0], xyz[:, 1]
        return np.column_stack([x + cosine * ahead - sine * left, y + sine * ahead + cosine * left])


def find_path(bag: Bag) -> Path | None:
    """Read the first topic of odometry; None without one."""
    for channel in bag.channels:
        if not is_ros_type(channel.type_name, ODOMETRY) or channel.message_encoding != "cdr":
            continue
        rows, child = [], ""
        for message in bag.messages([channel.id]):
            odometry = decode(message.channel.schema, bytes(message.data))
            stamp = odometry.header.stamp
            position, turn = odometry.pose.pose.position, odometry.pose.pose.orientation
            heading = np.arctan2(
                2 * (turn.w * turn.z + turn.x * turn.y), 1 - 2 * (turn.y**2 + turn.z**2)
            )
            child = odometry.child_frame_id
            stamp_ns = stamp.sec * SECOND_NS + stamp.nanosec
            row = (stamp_ns, position.x, position.y, float(heading))
            if somewhere(np.array([row[1:]]))[0]:
                rows.append(row)
        if len(rows) > 1:
            rows.sort(key=lambda row: row[0])
            table = np.array([row[1:] for row in rows])
            stamps = np.array([row[0] for row in rows], np.int64)
            return Path(channel.topic, child, stamps, table[:, :2], np.unwrap(table[:, 2]))
    return None


def map_figure(streams: Sequence[Stream], path: Path) -> Figure | None:
    """Draw all detections and the true cones on the map."""
    usable = [s for s in streams if _frame(s.noisy) in {path.child_frame, ""} and len(s.noisy)]
    if not usable:
        return None
    true_xy, color = _true_cones(usable[0].truth, path)
    plot = Plot(
        padded([*path.xy[:, 0], *true_xy[:, 0]]),
        padded([*path.xy[:, 1], *true_xy[:, 1]]),
        labels=("x, m", "y, m"),
        size=(1080, 640),
        title="The track from above",
        equal=True,
    )
    step = max(1, len(path.xy) // 2000)
    way_x, way_y = path.xy[::step].T.tolist()
    plot.line(way_x, way_y, FAINT, name=f"car ({path.topic})", dash="4 4")
    for number, stream in enumerate(usable):
        seen = _on_map(stream, path)
        thin = seen[:: max(1, -(-len(seen) // MAX_DOTS))]
        plot.points(
            thin[:, 0].tolist(),
            thin[:, 1].tolist(),
            SERIES[number % len(SERIES)],
            name=f"{stream.pair.noisy} ({len(seen)})",
            shape=SHAPES[number % len(SHAPES)],
            radius=1.7,
            opacity=0.3,
        )
    for cone in ConeClass:
        of_class = true_xy[color == cone]
        if len(of_class):
            name = f"true {cone.name.lower().replace('_', ' ')}"
            plot.points(
                of_class[:, 0].tolist(),
                of_class[:, 1].tolist(),
                CLASSES[cone],
                name=name,
                shape="ring",
                radius=4.0,
                opacity=1.0,
            )
    caption = f"Detections moved to the map by {path.topic} at their stamps; rings are true cones."
    return Figure("track", "The track from above", caption, plot.text(), wide=True)


def _frame(track: Track) -> str:
    return next((cones.frame_id for cones in track.payloads if cones.frame_id), "")


def _true_cones(truth: Track, path: Path) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Put the truth of all messages on the map, each cell of `CELL_M` once, known classes first."""
    xy, color = [np.zeros((0, 2))], [np.zeros(0, np.int8)]
    for cones, log_ns in zip(truth.payloads, truth.log_ns, strict=True):
        there = somewhere(cones.xyz)
        xy.append(path.to_map(cones.xyz[there], cones.stamp_ns or log_ns))
        color.append(cones.color[there])
    every, classes = np.concatenate(xy), np.concatenate(color)
    order = np.argsort(classes == ConeClass.UNKNOWN, kind="stable")
    cells = np.floor(every[order] / CELL_M).astype(np.int64)
    _, first = np.unique(cells, axis=0, return_index=True)
    chosen = order[_apart(every[order], np.sort(first))]
    return every[chosen], classes[chosen]


def _apart(xy: NDArray[np.float64], rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Keep the rows that are not near an earlier kept one, which cell borders let through."""
    if len(rows) > MAX_APART:  # a truth that moves about: every cell is shown
        return rows
    kept: list[int] = []
    for row in rows.tolist():
        near = kept and (np.hypot(*(xy[kept] - xy[row]).T) < 2 * CELL_M).any()
        if not near:
            kept.append(row)
    return np.array(kept, np.intp)


def _on_map(stream: Stream, path: Path) -> NDArray[np.float64]:
    found = [np.zeros((0, 2))]
    for number, cones in enumerate(stream.noisy.payloads):
        index = stream.shown.truth[number]
        true_stamp = 0 if index is None else stream.truth.stamp_ns[index]
        stamp_ns = cones.stamp_ns or true_stamp or stream.noisy.log_ns[number]
        found.append(path.to_map(cones.xyz[somewhere(cones.xyz)], stamp_ns))
    return np.concatenate(found)


def scrubber(streams: Sequence[Stream]) -> dict[str, Any] | None:
    """Return what the page's script draws: true cones and each sensor's latest, over time."""
    cone_streams = [s for s in streams if s.pair.kind == "cones" and len(s.noisy)]
    if not cone_streams:
        return None
    truth = cone_streams[0].truth
    starts = [s.noisy.log_ns[0] for s in cone_streams]
    ends = [s.noisy.log_ns[-1] for s in cone_streams]
    start, end = min(starts), max(ends)
    times = [start + (end - start) * n // FRAMES for n in range(FRAMES + 1)]
    tracks = [truth, *(s.noisy for s in cone_streams)]
    return {
        "start_s": 0,
        "names": [f"truth {truth.topic}", *(s.pair.noisy for s in cone_streams)],
        "times_s": [round((t - start) / SECOND_NS, 3) for t in times],
        "frames": [[_at(track, time) for track in tracks] for time in times],
        "reach_m": _reach_m(tracks),
        "classes": list(CLASSES),
        "series": list(SERIES),
    }


def _at(track: Track, time_ns: int) -> list[list[float]]:
    """Return x, y and class of the cones that were delivered last."""
    number = bisect_right(track.log_ns, time_ns) - 1
    if number < 0:
        return []
    cones = track.payloads[number]
    good = somewhere(cones.xyz)
    xy = np.round(cones.xyz[good, :2], 2).tolist()
    return [[x, y, int(c)] for (x, y), c in zip(xy, cones.color[good], strict=True)]


def _reach_m(tracks: Sequence[Track]) -> list[float]:
    """Return x and y ranges of what is seen, without the last percent at each end."""
    every = [c.xyz[somewhere(c.xyz), :2] for t in tracks for c in t.payloads]
    xy = np.concatenate([np.zeros((0, 2)), *every])
    low, high = np.percentile(xy, (0.5, 99.5), axis=0) if len(xy) else ((0, -10), (20, 10))
    return [float(low[0]) - 1, float(high[0]) + 1, float(low[1]) - 1, float(high[1]) + 1]
