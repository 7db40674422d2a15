"""Cones that the car would see, from a track in the map and the car's pose."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from bagnoise.errors import ContextError
from bagnoise.geometry import apply, inverse
from bagnoise.messages.payload import Truth
from bagnoise.steps.base import DROPPED, Operator, Sample, Setup, SourceStep
from bagnoise.steps.clock import header_clock
from bagnoise.steps.context import Needs
from bagnoise.steps.polar import rotated
from bagnoise.steps.timing import Immediate, Rate
from bagnoise.steps.world import map_from_frame

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from bagnoise.messages.payload import Cones
    from bagnoise.steps.clock import Clock
    from bagnoise.steps.context import Context

NO_POSE = "no pose at that time"


class FromTrack(SourceStep):
    """See the cones of a track, in the map, from where the car is: one message for each pose.

    The track may be published once or again and again; the latest one counts. Positions are those
    at the pose's own stamp, in the pose's child frame; all cones are there, near or far.
    """

    name: ClassVar[str] = "from_track"
    pose_topic: str = Field(
        description="topic of the car's pose (Odometry, CarState, PoseStamped …); it also fires"
    )
    use_tf: bool = Field(
        False, description="take the pose from /tf (the track's frame and car_frame) instead"
    )
    car_frame: str | None = Field(
        None, description="frame of the cones; null: the child frame of pose_topic"
    )
    fire: Literal["poses", "messages"] = Field(
        "poses",
        description="poses: a message for each pose; messages: for each track that comes, so that "
        "a rate before this step fires",
    )
    hz: float | None = Field(
        None, ge=1e-6, le=10_000, description="with fire poses: at this rate, the pose interpolated"
    )

    def needs(self) -> Needs:
        """Read the poses, and the transforms for other frames."""
        return Needs(tf=True, pose_topics=(self.pose_topic,))

    def check(self) -> list[str]:
        """Compare the options."""
        if self.hz is not None and self.fire == "messages":
            return ["hz needs fire: poses"]
        return []

    def operator(self, setup: Setup) -> Operator:
        """Start driving."""
        return _Drive(self, setup)


class _Drive(Immediate):
    """Gives a view of the latest track whenever it fires."""

    def __init__(self, step: FromTrack, setup: Setup) -> None:
        self._step = step
        self._setup = setup
        logs, stamps = setup.context.pose_times(step.pose_topic)
        if not len(logs):
            msg = f"there is no pose on {step.pose_topic!r}"
            raise ContextError(msg)
        order = np.argsort(logs, kind="stable")
        self._logs, self._stamps = logs[order], stamps[order]
        pairs = zip(self._logs.tolist(), self._stamps.tolist(), strict=True)
        self._clock: Clock = header_clock(list(pairs))
        self._track: Sample | None = None
        self._fires = self._ticks() if step.hz else self._poses()
        self._next = next(self._fires, None) if step.fire == "poses" else None
        self._last_ns, self._occurrence = -1, 0

    def feed(self, sample: Sample) -> Iterable[Sample]:
        if self._track is None:
            self._require_still(sample.payload.frame_id)
        self._track = sample
        if self._step.fire == "messages":
            view = self._view(sample, sample.log_ns, self._clock.from_log(sample.log_ns))
            return () if view is None else (view,)
        return ()

    def _require_still(self, frame_id: str) -> None:
        """Refuse cones that move with the car: they are no track.

        Raises:
            ContextError: with both frames.
        """
        context, topic = self._setup.context, self._step.pose_topic
        fixed, child = context.pose_frames(topic)
        if frame_id in {"", fixed}:
            return
        car = self._step.car_frame or child
        if frame_id == car or self._is_on_car(frame_id, fixed, car):
            msg = (
                f"the cones are in {frame_id!r}, which moves with the car; a track is in a frame "
                f"that stands still, such as {fixed or 'map'!r}"
            )
            raise ContextError(msg)

    def _is_on_car(self, frame_id: str, fixed: str, car: str) -> bool:
        """Whether a frame keeps its place on the car while the car moves, on its way or at its end.

        Poses that do not name the car tell where it is themselves.
        """
        context, topic = self._setup.context, self._step.pose_topic
        stamps = np.sort(self._stamps)
        some = [int(stamps[at]) for at in (0, len(stamps) // 2, -1)]
        try:
            poses = [context.pose(topic, stamp) for stamp in some]
            if car:
                places = [context.transform(car, frame_id, stamp) for stamp in some]
            else:
                seen = [context.transform(fixed, frame_id, stamp) for stamp in some]
                places = [inverse(pose) @ at for pose, at in zip(poses, seen, strict=True)]
        except ContextError:
            return False
        stays = all(np.allclose(places[0], place) for place in places)
        return stays and not all(np.allclose(poses[0], pose) for pose in poses)

    def advance(self, log_ns: int) -> Iterable[Sample]:
        return self._fired(log_ns)

    def floor(self, log_ns: int) -> int:
        return log_ns if self._next is None else min(log_ns, self._next[0])

    def finish(self) -> Iterable[Sample]:
        return self._fired(None)

    def _fired(self, before_ns: int | None) -> list[Sample]:
        views: list[Sample] = []
        while self._next is not None and (before_ns is None or self._next[0] < before_ns):
            log_ns, stamp_ns = self._next
            self._next = next(self._fires, None)
            if self._track is not None and log_ns >= self._track.log_ns:
                view = self._view(self._track, log_ns, stamp_ns)
                if view is not None:
                    views.append(view)
        return views

    def _poses(self) -> Iterator[tuple[int, int]]:
        """Yield (log_ns, stamp_ns) of each pose in the part of the bag that is taken."""
        for log_ns, stamp_ns in zip(self._logs.tolist(), self._stamps.tolist(), strict=True):
            if self._is_taken(log_ns):
                yield log_ns, stamp_ns

    def _ticks(self) -> Iterator[tuple[int, int]]:
        """Yield (log_ns, stamp_ns) at multiples of 1/hz since the epoch, while there are poses."""
        if not len(self._logs):
            return
        timer = Rate(hz=self._step.hz or 1.0)
        k = timer.first_tick_from(int(self._logs[0]))
        while (tick_ns := timer.tick_ns(k)) <= int(self._logs[-1]):
            if self._is_taken(tick_ns):
                yield tick_ns, self._clock.from_log(tick_ns)
            k += 1

    def _is_taken(self, log_ns: int) -> bool:
        start_ns, end_ns = self._setup.start_ns, self._setup.end_ns
        return (start_ns is None or log_ns >= start_ns) and (end_ns is None or log_ns < end_ns)

    def _view(self, track: Sample, log_ns: int, stamp_ns: int) -> Sample | None:
        try:
            cones = seen_from_car(self._step, track.payload, stamp_ns, self._setup.context)
        except ContextError:
            if self._stamps.min() <= stamp_ns <= self._stamps.max():
                raise
            self._setup.tally[NO_POSE] += 1
            self._setup.tally[DROPPED] += 1
            return None
        same_time = log_ns == self._last_ns
        self._occurrence = self._occurrence + 1 if same_time else 0
        self._last_ns = log_ns
        return replace(
            track,
            log_ns=log_ns,
            key_ns=log_ns,
            occurrence=self._occurrence,
            publish_ns=None,
            payload=cones,
            source_ns=log_ns,
        )


def seen_from_car(step: FromTrack, track: Cones, stamp_ns: int, context: Context) -> Cones:
    """Return a track's cones as the car sees them at a time.

    Raises:
        ContextError: the pose is not known at that time.
    """
    car_from_track, frame_id = _pose(step, track.frame_id, stamp_ns, context)
    xyz = apply(car_from_track, track.xyz)
    covariance = track.covariance
    ids = np.arange(len(track), dtype=np.int64) if track.ids is None else track.ids
    return replace(
        track,
        stamp_ns=stamp_ns,
        frame_id=frame_id,
        xyz=xyz,
        covariance=None if covariance is None else rotated(car_from_track, covariance),
        truth=Truth(stamp_ns, frame_id, xyz, track.color, ids),
    )


def _pose(
    step: FromTrack, track_frame: str, stamp_ns: int, context: Context
) -> tuple[NDArray[np.float64], str]:
    """Return car_from_track, (4, 4), and the name of the car's frame."""
    fixed, child = context.pose_frames(step.pose_topic)
    car = step.car_frame or child
    if step.use_tf:
        return context.transform(car, track_frame or fixed, stamp_ns), car
    fixed_from_car = map_from_frame(step.pose_topic, car, stamp_ns, context)
    car_from_fixed = inverse(fixed_from_car)
    if track_frame and fixed and track_frame != fixed:
        return car_from_fixed @ context.transform(fixed, track_frame, stamp_ns), car
    return car_from_fixed, car
