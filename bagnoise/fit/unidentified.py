"""What a recording cannot tell, in words for the recipe's header."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bagnoise.fit.topic import TopicFit
    from bagnoise.messages.payload import Cones


def not_identified(fit: TopicFit, payloads: Sequence[Cones]) -> list[str]:
    """Say what is not fitted, and why; ``payloads`` are the recording's."""
    notes = [*_of_errors(fit), *_of_view(fit)]
    if fit.strays.per_frame.low > 0:
        notes.append(
            "not identified: whether false positives follow cones, because they are taken to lie "
            "evenly over the view"
        )
    if fit.confusion.stripped:
        notes.append("not identified: confusion of colors, because all color is taken away")
    elif not fit.confusion.is_identity:
        notes.append(
            "not identified: confusion by range, because the matrix is the mean over the recording"
        )
    if any(p.probabilities is not None for p in payloads):
        notes.append(
            "not identified: class probabilities, because only the likeliest class is fitted"
        )
    return notes


def _of_errors(fit: TopicFit) -> list[str]:
    notes = []
    if not fit.rows.has_z:
        notes.append("not identified: errors of height, because the topic carries none (z is 0)")
    lasting = fit.memory
    if lasting.why:
        notes.append(f"not identified: correlation in time, because {lasting.why}")
    elif not lasting.found and lasting.share is not None:
        notes.append(
            f"no errors that last: their share of the variance is below {lasting.share.high:.2g}"
        )
    late = fit.timing.delays
    if late.mean_s is None:
        notes.append(f"not identified: the delay, because {late.why or 'no moment is known'}")
    return notes


def _of_view(fit: TopicFit) -> list[str]:
    range_m = fit.rows.range_m[fit.usable]
    known = {(limit.axis, limit.upper) for limit in fit.limits}
    notes = []
    if ("range_m", False) not in known:
        notes.append(
            f"not identified: a nearest range below {float(range_m.min()):.2f} m, because no true "
            "cone comes nearer"
        )
    if ("range_m", True) not in known:
        notes.append(
            f"not identified: a farthest range beyond {float(range_m.max()):.1f} m, because no "
            "true cone is farther away"
        )
    return notes
