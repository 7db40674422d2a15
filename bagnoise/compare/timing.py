"""When messages came: rate, gaps, order, and how late."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bagnoise.compare.samples import typical_ns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bagnoise.compare.samples import Shown, Track

SECOND_NS = 1_000_000_000
GAP = 1.5  # intervals of more than this times the typical one are gaps
PERCENTILES = (1, 5, 25, 50, 75, 95, 99)


def rhythm(track: Track) -> dict[str, Any]:
    """Say how regular a topic is; ``out_of_order`` counts stamps before an earlier one's."""
    times = track.log_ns
    intervals: NDArray[np.int64] = np.array(times[1:], np.int64) - np.array(times[:-1], np.int64)
    usual = typical_ns(times)
    gaps = intervals[intervals > GAP * usual] if usual else intervals[:0]
    span_ns = times[-1] - times[0] if times else 0
    return {
        "messages": len(times),
        "rate_hz": (len(times) - 1) * SECOND_NS / span_ns if span_ns else None,
        "interval_std_s": float(intervals.std()) / SECOND_NS if len(intervals) else None,
        "gaps": len(gaps),
        "largest_gap_s": int(gaps.max()) / SECOND_NS if len(gaps) else None,
        "out_of_order": _backward(track.stamp_ns),
    }


def _backward(stamps: Sequence[int]) -> int:
    latest = count = 0
    for stamp in stamps:
        count += stamp < latest
        latest = max(latest, stamp)
    return count


def delays_ns(truth: Track, noisy: Track, shown: Shown) -> NDArray[np.int64]:
    """Return delivery minus log time of the truth's message that is shown, (n,)."""
    return np.array(
        [
            log_ns - truth.log_ns[index]
            for log_ns, index in zip(noisy.log_ns, shown.truth, strict=True)
            if index is not None
        ],
        np.int64,
    )


def latency(delays: NDArray[np.int64]) -> dict[str, Any] | None:
    """Sum delays up, in seconds; None without any."""
    if not len(delays):
        return None
    seconds = delays / SECOND_NS
    return {
        "mean_s": float(seconds.mean()),
        "std_s": float(seconds.std()),
        "min_s": float(seconds.min()),
        "max_s": float(seconds.max()),
        "percentiles_s": {
            str(p): float(v)
            for p, v in zip(PERCENTILES, np.percentile(seconds, PERCENTILES), strict=True)
        },
    }
