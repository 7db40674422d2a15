"""Points without a return: how clouds spell them, and how to spell or remove them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from bagnoise.errors import MessageError
from bagnoise.messages.cloud import XYZ
from bagnoise.messages.cloud_lengths import length_fields

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.messages.cloud import Cloud

Misses = Literal["nan", "inf", "zero", "remove"]
_VALUES: Final = {"nan": np.nan, "inf": np.inf, "zero": 0.0}


def default_misses(cloud: Cloud) -> Misses:
    """Choose NaN where points have their places in rows and columns, else removal."""
    return "nan" if cloud.is_organised else "remove"


def hits(cloud: Cloud) -> NDArray[np.bool_]:
    """Tell which points are returns, (n,): finite and not the sensor's own origin (0, 0, 0).

    Unity and some drivers write (0, 0, 0) for a beam that returned nothing.
    """
    return np.asarray(cloud.finite() & (cloud.xyz() != 0).any(axis=1))


def without(cloud: Cloud, lost: NDArray[np.bool_], misses: Misses | None = None) -> Cloud:
    """Take returns away from a cloud; a field ``range`` or ``distance`` says so, too.

    Args:
        cloud: the points.
        lost: (n,), which of them are no longer returns. Rows that were misses already stay as
            they are, but for ``remove``, which takes out every miss.
        misses: how a lost point is written; `default_misses` where None.

    Raises:
        MessageError: NaN or inf is asked of positions that are integers.
    """
    how = misses or default_misses(cloud)
    if how == "remove":
        keep = hits(cloud) & ~lost
        return cloud if keep.all() else replace(cloud.take(keep), is_dense=True)
    if not lost.any():
        return cloud
    value = _VALUES[how]
    columns: dict[str, Any] = {}
    for name in XYZ:
        dtype = cloud.column(name).dtype
        if dtype.kind != "f" and how != "zero":
            msg = f"misses cannot be {how}: field {name!r} is {dtype}; use zero or remove"
            raise MessageError(msg)
        columns[name] = np.asarray(value, dtype)
    for name in length_fields(cloud):
        columns[name] = value if cloud.column(name).dtype.kind == "f" else 0
    return cloud.with_columns(columns, where=lost)
