"""Fit a recipe: truth and recording in, one fitted stream a topic out."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bagnoise.augment.context import collect
from bagnoise.bags import open_bag
from bagnoise.compare.samples import read_track
from bagnoise.errors import BagnoiseError, UsageError
from bagnoise.fit.mounts import Mounts
from bagnoise.fit.scene import ConesScene, TrackScene, track_scene
from bagnoise.fit.sightings import sightings
from bagnoise.fit.topic import fit_topic
from bagnoise.fit.topics import (
    options_of,
    pose_topic_of,
    real_topics,
    truth_topic_of,
    type_of,
)
from bagnoise.fit.unidentified import not_identified
from bagnoise.fit.viewer import Viewer
from bagnoise.messages.definitions import definition_finder
from bagnoise.steps.context import Needs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from bagnoise.bags.model import Bag
    from bagnoise.compare.samples import Track
    from bagnoise.fit.times import Timing
    from bagnoise.fit.topic import TopicFit

DEFAULT_BIN_M = 2.5
FARTHEST_BIN_M = 100.0
LEAST_MESSAGES = 10
GATE_LIMITS_M = (0.3, 1.5)
SPACING_PERCENT = 5.0


@dataclass(frozen=True)
class Options:
    """How to fit.

    Attributes:
        truth_topic: of cones or a track; None: the truth's busiest topic of cones.
        pose_topic: of the car; None: the truth's busiest pose.
        topics: of the recording; empty: all of cones that the truth does not have.
        gate_m: radius of the association; None: by the cones' spacing.
        bin_m: width of the range bins.
        mounts: frame of the recording -> x, y, z, roll, pitch, yaw (m, deg) of its sensor.
        type_options: of the recording's topics, e.g. ``layout: fssim``.
        msgs: folder of ``.msg`` files.
    """

    truth_topic: str | None = None
    pose_topic: str | None = None
    topics: Sequence[str] = ()
    gate_m: float | None = None
    bin_m: float = DEFAULT_BIN_M
    mounts: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    type_options: Mapping[str, Any] = field(default_factory=dict)
    msgs: Path | None = None


@dataclass
class FittedStream:
    """One topic's fit, and what its stream in the recipe needs beside.

    Attributes:
        source: topic of the truth.
        pose_topic: of ``from_track``; None where the source is cones.
        any_pose_topic: of the truth, for steps that know cones again.
        sensor: options of the step ``sensor``, or None.
        header: options of the step ``header``, or None.
        not_identified: what the recording cannot tell.
    """

    name: str
    source: str
    pose_topic: str | None
    any_pose_topic: str | None
    type_name: str
    type_options: dict[str, Any]
    sensor: dict[str, Any] | None
    header: dict[str, Any] | None
    classes_there: list[int]
    has_covariance: bool
    gate_why: str
    timing_notes: list[str]
    fit: TopicFit
    not_identified: list[str] = field(default_factory=list)


@dataclass
class Fit:
    """All fitted streams."""

    truth_name: str
    real_name: str
    streams: list[FittedStream]


def fit(
    truth: str | PathLike[str], real: str | PathLike[str], options: Options | None = None
) -> Fit:
    """Fit a recipe to a recording.

    Raises:
        UsageError: a topic is not there, or options make no sense.
        BagnoiseError: the bags have no common time, or too few detections match.
        BagError: a bag cannot be read.
    """
    options = options or Options()
    _check(options)
    find = definition_finder(options.msgs)
    with (
        open_bag(Path(truth), definitions=find) as true_bag,
        open_bag(Path(real), definitions=find) as real_bag,
    ):
        truth_topic = truth_topic_of(true_bag, options.truth_topic)
        topics = real_topics(real_bag, true_bag, options.topics, options.type_options)
        job = _Job(true_bag, real_bag, truth_topic, options)
        streams = [job.stream(topic) for topic in topics]
    names = _names([s.fit.topic for s in streams])
    for stream, name in zip(streams, names, strict=True):
        stream.name = name
    return Fit(Path(truth).name, Path(real).name, streams)


def _check(options: Options) -> None:
    if options.gate_m is not None and not 0 < options.gate_m < np.inf:
        msg = f"a gate of {options.gate_m} m matches nothing; give more than 0"
        raise UsageError(msg)
    if not 0 < options.bin_m < np.inf:
        msg = f"range bins of {options.bin_m} m make no table; give more than 0"
        raise UsageError(msg)


def _names(topics: Sequence[str]) -> list[str]:
    """Make a stream's name of each topic: ``/lidar/cones`` -> ``lidar_cones``."""
    names: list[str] = []
    for topic in topics:
        base = re.sub(r"[^A-Za-z0-9_-]+", "_", topic).strip("_") or "cones"
        name, number = base, 2
        while name in names:
            name, number = f"{base}_{number}", number + 1
        names.append(name)
    return names


class _Job:
    """The truth, read once, and the topics fitted against it."""

    def __init__(self, truth: Bag, real: Bag, truth_topic: str, options: Options) -> None:
        self.truth, self.real, self.options = truth, real, options
        self.pose_topic = pose_topic_of(truth, options.pose_topic)
        poses = () if self.pose_topic is None else (self.pose_topic,)
        self.context = collect(truth, Needs(tf=True, pose_topics=poses))
        track = read_track(truth, truth_topic)
        if not len(track):
            msg = f"{truth.path}: topic {truth_topic} has no messages"
            raise BagnoiseError(msg)
        self.scene = self._scene(truth_topic, track)
        self.mounts = Mounts(options.mounts, [collect(real, Needs(tf=True)), self.context])

    def _scene(self, topic: str, track: Track) -> ConesScene | TrackScene:
        frame = track.payloads[0].frame_id
        if self.pose_topic is not None:
            fixed, _ = self.context.pose_frames(self.pose_topic)
            if frame == fixed or len(track) == 1:
                return track_scene(topic, track, self.pose_topic, self.context)
        elif len(track) == 1:
            msg = (
                f"{self.truth.path}: {topic} is a single message, a track in the map; to see it "
                "from the car a topic of the pose is needed (Odometry, CarState, PoseStamped)"
            )
            raise UsageError(msg)
        return ConesScene(topic, track, self.context, self.pose_topic)

    def stream(self, topic: str) -> FittedStream:
        """Fit one topic."""
        type_options = options_of(self.real, topic, self.options.type_options)
        real = read_track(self.real, topic, type_options)
        _check_track(self.truth, self.real, topic, real)
        view = Viewer(self.scene, self.mounts, real)
        timing = view.timing()
        shots = list(view.shots(timing))
        if not shots:
            raise BagnoiseError(_no_moment(self.scene.topic, topic, self.truth))
        gate_m, why = _gate(self.scene, self.options.gate_m)
        rows = sightings(shots, gate_m)
        edges = np.arange(1, int(FARTHEST_BIN_M / self.options.bin_m) + 1) * self.options.bin_m
        fitted = fit_topic(topic, timing, rows, edges.tolist())
        is_track = isinstance(self.scene, TrackScene)
        payloads = [p for p in real.payloads if len(p)]
        there = np.unique(np.concatenate([s.true.color for s in shots]))
        return FittedStream(
            topic,
            self.scene.topic,
            self.pose_topic if is_track else None,
            self.pose_topic,
            type_of(self.real, topic),
            type_options,
            view.sensor_options(),
            _header(timing, real),
            there.tolist(),
            any(p.covariance is not None and bool(p.covariance.any()) for p in payloads),
            why,
            timing.notes,
            fitted,
            not_identified(fitted, payloads),
        )


def _check_track(truth: Bag, real: Bag, topic: str, track: Track) -> None:
    if len(track) < LEAST_MESSAGES:
        msg = (
            f"{real.path}: topic {topic} has {len(track)} messages; a fit needs at least "
            f"{LEAST_MESSAGES}"
        )
        raise BagnoiseError(msg)
    span = truth.span()
    if span is None:
        return
    start, end = span.start_ns, span.end_ns
    first, last = track.log_ns[0], track.log_ns[-1]
    if last < start or first > end:
        msg = (
            f"the bags have no time in common: {topic} is from {first / 1e9:.3f} to "
            f"{last / 1e9:.3f} s, {truth.path} from {start / 1e9:.3f} to {end / 1e9:.3f} s"
        )
        raise BagnoiseError(msg)


def _no_moment(truth_topic: str, topic: str, truth: Bag) -> str:
    return (
        f"no message of {topic} shows a moment that {truth_topic} in {truth.path} knows: its "
        "header stamps lie outside the truth's, or no pose is known then"
    )


def _gate(scene: ConesScene | TrackScene, asked_m: float | None) -> tuple[float, str]:
    if asked_m is not None:
        return asked_m, "as asked"
    spacing = scene.spacing_m()
    spacing = spacing[np.isfinite(spacing)]
    if not len(spacing):
        return GATE_LIMITS_M[1], "single cones"
    close = float(np.percentile(spacing, SPACING_PERCENT))
    gate_m = float(np.clip(0.5 * close * (1 - 1e-3), *GATE_LIMITS_M))
    why = f"half of {close:.2f} m, which {100 - SPACING_PERCENT:.0f} % of the cones are apart"
    return gate_m, why


def _header(timing: Timing, real: Track) -> dict[str, Any] | None:
    options: dict[str, Any] = {}
    if not timing.stamped:
        options["stamp"] = "zero"
    if all(not p.frame_id for p in real.payloads):
        options["frame_id"] = ""
    return options or None
