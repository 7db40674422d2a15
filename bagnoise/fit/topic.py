"""Everything that one topic of a recording says of its perception."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.errors import BagnoiseError
from bagnoise.fit.confusion import Confusion, confusion
from bagnoise.fit.detection import Detection, detection
from bagnoise.fit.memory import Memory, memory
from bagnoise.fit.misses import Misses, lasting_misses
from bagnoise.fit.position import NAMES, PositionErrors, bin_at, position_errors, range_bins
from bagnoise.fit.seen import color_limits, find_seen
from bagnoise.fit.strays import Strays, View, free_area, strays
from bagnoise.messages.payload import ConeClass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bagnoise.fit.edges import Limit
    from bagnoise.fit.estimate import Estimate
    from bagnoise.fit.sightings import Sightings
    from bagnoise.fit.times import Timing

LEAST_MATCHES = 100
SEEN_AT_ALL = 0.05  # of the most seen class's share: below it a class is never seen
LEAST_OF_CLASS = 50
ROUNDS = 3


@dataclass
class TopicFit:
    """One fitted topic.

    Attributes:
        rows: what was associated; ``usable`` (n,) those the errors and chances rest on.
        single: (n,) usable ones with exactly one detection within the gate.
        colored, shown_color: (n,) whether color is not lost there, and the class that is left.
        kept: true classes that are seen at all.
        limits: of the view; ``crop`` of what was measured.
        color_limits: beyond which color is lost.
        wrong_share: estimated share of matches that are of something else.
        notes: what to tell.
    """

    topic: str
    timing: Timing
    rows: Sightings
    usable: NDArray[np.bool_]
    single: NDArray[np.bool_]
    colored: NDArray[np.bool_]
    shown_color: NDArray[np.int8]
    kept: list[int]
    limits: list[Limit]
    crop: Estimate | None
    errors: PositionErrors
    detection: Detection
    strays: Strays
    view: View
    color_limits: list[Limit]
    confusion: Confusion
    memory: Memory
    misses: Misses
    wrong_share: float
    notes: list[str] = field(default_factory=list)


def fit_topic(topic: str, timing: Timing, rows: Sightings, bins_m: Sequence[float]) -> TopicFit:
    """Fit a topic from its associated sightings.

    Raises:
        BagnoiseError: too few detections match a true cone.
    """
    matches = int((rows.matched & rows.clear).sum())
    if matches < LEAST_MATCHES:
        raise BagnoiseError(_too_few(topic, rows, matches))
    kept = _kept_classes(rows)
    mine = rows.clear & np.isin(rows.color, kept)
    seen = find_seen(rows, mine)
    usable = seen.usable
    single = usable & (rows.count == 1)
    if single.sum() < LEAST_MATCHES:
        raise BagnoiseError(_too_few(topic, rows, int(single.sum())))
    where_colored, colored = color_limits(rows, usable)
    shown_color = np.where(colored, rows.color, np.int8(ConeClass.UNKNOWN)).astype(np.int8)
    edges = range_bins(rows.range_m[single], bins_m)
    found = _settle(rows, usable, single, shown_color, edges, seen.view)
    errors, chances, false, stray, lasting, missing = found
    weights = np.array([max(len(r), 1) for r in errors.rows])
    wrong = float(np.average(stray, weights=weights))
    colors = single & colored
    classes = confusion(rows.color[colors], rows.seen_color[colors], wrong, false.colors)
    fit = TopicFit(
        topic,
        timing,
        rows,
        usable,
        single,
        colored,
        shown_color,
        kept,
        seen.limits,
        seen.crop,
        errors,
        chances,
        false,
        seen.view,
        where_colored,
        classes,
        lasting,
        missing,
        wrong,
    )
    fit.notes += _notes(fit)
    return fit


def _too_few(topic: str, rows: Sightings, matches: int) -> str:
    return (
        f"topic {topic}: only {matches} detections lie within {rows.gate_m:.2f} m of a true cone "
        f"that stands clear of others ({int(rows.matched.sum())} of any true cone, in "
        f"{len(rows.true_xy)} messages); at least {LEAST_MATCHES} are needed. A wrong frame, "
        "mount, clock or truth, or a gate below the errors, could be why"
    )


def _kept_classes(rows: Sightings) -> list[int]:
    """Return the true classes that are seen at all."""
    near = rows.range_m <= np.nanmax(rows.range_m[rows.matched])
    seen = {c: rows.matched[near & (rows.color == c)] for c in range(len(ConeClass))}
    shares = {c: float(hits.mean()) for c, hits in seen.items() if len(hits)}
    best = max(shares.values())
    return [c for c, s in shares.items() if s > SEEN_AT_ALL * best or len(seen[c]) < LEAST_OF_CLASS]


Settled = tuple[PositionErrors, Detection, Strays, "NDArray[np.float64]", Memory, Misses]


def _settle(
    rows: Sightings,
    usable: NDArray[np.bool_],
    single: NDArray[np.bool_],
    color: NDArray[np.int8],
    edges: NDArray[np.float64],
    view: View,
) -> Settled:
    """Let errors, chances and strays, which correct each other, come to rest."""
    stray, leaked = np.zeros(len(edges)), 0.0
    clusters: NDArray[np.intp] | None = None
    free, missing = free_area(rows, view), Misses(None, 1.0)
    for turn in range(ROUNDS):
        errors = position_errors(rows, single, edges, stray, clusters)
        false = strays(rows, view, free, edges, leaked)
        chances = detection(
            rows,
            usable,
            color,
            edges,
            errors.inside,
            false.density,
            errors.unsure(rows),
            missing.inflation,
        )
        own = chances.overall * errors.inside
        stray = false.share(own, rows.gate_m)
        detected = np.array([len(r) for r in errors.rows])
        scale = int(rows.matched.sum()) / max(int(detected.sum()), 1)
        leaked = float((detected * (1 - errors.inside) / errors.inside).sum()) * scale
        if turn == ROUNDS - 2:
            lasting = _memory(rows, single, errors)
            clusters = _clusters(rows, lasting)
            missing = _misses(rows, usable, color, chances, errors)
    return errors, chances, false, stray, lasting, missing


def _memory(rows: Sightings, single: NDArray[np.bool_], errors: PositionErrors) -> Memory:
    used = np.flatnonzero(single)
    range_m = rows.range_m[used]
    bias = np.column_stack([errors.bias_at(name, range_m) for name in NAMES])
    std = np.column_stack([errors.std_at(name, range_m) for name in NAMES])
    error = rows.errors_m()[used, :2] - bias
    return memory(rows.who[used], rows.shot[used], rows.time_s[used], error, std)


def _misses(
    rows: Sightings,
    usable: NDArray[np.bool_],
    color: NDArray[np.int8],
    chances: Detection,
    errors: PositionErrors,
) -> Misses:
    used = np.flatnonzero(usable)
    place = bin_at(errors.edges_m, rows.range_m[used])
    base = np.array([e.value for e in chances.probability])
    factor = np.ones(len(ConeClass))
    for c, estimate in chances.by_class.items():
        factor[c] = estimate.value
    chance = np.clip((base * errors.inside)[place] * factor[color[used]], 0.0, 1.0)
    return lasting_misses(
        rows.who[used], rows.shot[used], rows.time_s[used], rows.matched[used], chance
    )


def _clusters(rows: Sightings, lasting: Memory) -> NDArray[np.intp] | None:
    """Group sightings that are not independent: those of one cone, or of one stretch of time."""
    if not lasting.found or lasting.correlation_s is None:
        return None
    if lasting.per == "cone":
        return rows.who.astype(np.intp)
    return (rows.time_s / max(3 * lasting.correlation_s.value, 1e-9)).astype(np.intp)


def _notes(fit: TopicFit) -> list[str]:
    notes = []
    several = float((fit.rows.count[fit.usable] > 1).mean())
    expected = fit.strays.per_frame.value / fit.view.area_m2 * np.pi * fit.rows.gate_m**2
    if several > 0.01 + 3 * expected:
        notes.append(
            f"{100 * several:.1f} % of the true cones have several detections within the gate, "
            "more than false positives explain: cones seen twice are not fitted (step duplicates)"
        )
    return notes
