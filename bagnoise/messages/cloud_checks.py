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
    values = [sample[name].ravel() for name in columns]
    magnitudes = _magnitudes(values)
    if _implausible_share(magnitudes) <= _SUSPICIOUS_SHARE:
        return ()
    swapped = _magnitudes([column.view(column.dtype.newbyteorder()) for column in values])
    order = "big" if cloud.is_bigendian else "little"
    hint = "; in the other byte order they are plausible" * (
        len(swapped) > 0 and _implausible_share(swapped) < _SUSPICIOUS_SHARE
    )
    note = (
        f"positions are implausible (median |value| {float(np.median(magnitudes)):.2g} m) read as"
        f" {order}-endian, as is_bigendian says{hint}"
    )
    return (note,)


def _magnitudes(columns: list[NDArray[Any]]) -> NDArray[np.float64]:
    """Return the sizes of all values but zeros and what is not finite."""
    with np.errstate(invalid="ignore"):  # signalling NaNs
        sizes = np.abs(np.concatenate([column.astype(np.float64) for column in columns]))
    return np.asarray(sizes[np.isfinite(sizes) & (sizes > 0)])


def _implausible_share(magnitudes: NDArray[np.float64]) -> float:
    if not len(magnitudes):
        return 0.0
    return float(np.mean((magnitudes < _SMALLEST_M) | (magnitudes > _LARGEST_M)))
