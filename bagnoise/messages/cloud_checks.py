"""Signs that a cloud's bytes do not mean what its message says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bagnoise.messages.cloud import XYZ

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.messages.cloud import Cloud

_SAMPLE: Final = 512
_SMALLEST_M: Final = 1e-9  # below a nanometre nothing was measured
_LARGEST_M: Final = 1e9  # beyond a million kilometres neither
_SUSPICIOUS_SHARE: Final = 0.5


def implausible_values(cloud: Cloud) -> tuple[str, ...]:
    """Tell when positions look as if is_bigendian was wrong: a simulator's known bug.

    Looks at an even sample of the points; says nothing about zeros and misses.
    """
    columns = [name for name in XYZ if name in cloud.names and cloud.column(name).dtype.kind == "f"]
    if not len(cloud) or not columns:
        return ()
    sample = cloud.points[:: max(1, len(cloud) // _SAMPLE)]
    values = np.concatenate([sample[name].ravel() for name in columns])
    if _implausible_share(values) <= _SUSPICIOUS_SHARE:
        return ()
    swapped = values.view(values.dtype.newbyteorder())
    order = "big" if cloud.is_bigendian else "little"
    hint = "; in the other byte order they are plausible" * (
        _implausible_share(swapped) < _SUSPICIOUS_SHARE
    )
    note = (
        f"positions are implausible (median |value| {_median_magnitude(values):.2g} m) read as"
        f" {order}-endian, as is_bigendian says{hint}"
    )
    return (note,)


def _median_magnitude(values: NDArray[Any]) -> float:
    magnitudes = np.abs(values.astype(np.float64))
    kept = magnitudes[np.isfinite(magnitudes) & (magnitudes > 0)]
    return float(np.median(kept)) if len(kept) else 0.0


def _implausible_share(values: NDArray[Any]) -> float:
    with np.errstate(invalid="ignore"):
        magnitudes = np.abs(values.astype(np.float64))
    kept = magnitudes[np.isfinite(magnitudes) & (magnitudes > 0)]
    if not len(kept):
        return 0.0
    return float(np.mean((kept < _SMALLEST_M) | (kept > _LARGEST_M)))
