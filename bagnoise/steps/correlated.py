"""Random processes that vary slowly, stationary at every instant and without any state.

A process is a moving average of keyed knots: knot k lies at k * spacing since the epoch and has a
normal of its own, drawn from (key, identity, k). The value at time t is
sum_k w(t - t_k) z_k / sqrt(sum_k w(t - t_k)^2) with a Gaussian kernel w, so N(0, 1) holds at every
t, not at the knots only, and any message can be computed alone. With the spacing equal to the
kernel's sigma = correlation / 2, the autocorrelation is exp(-(dt / correlation)^2) to 1e-4.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.rng import hashed_normals
from bagnoise.steps.clock import SECOND_NS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.rng import Key

_REACH = 5  # knots on either side; the kernel has fallen to 4e-6 there
_OFFSETS = np.arange(-_REACH, _REACH + 2)
_SQRT2 = math.sqrt(2)


def correlated_normals(
    parts: tuple[Key, ...],
    identities: NDArray[np.int64],
    stamp_ns: int,
    correlation_s: float,
    components: int = 1,
) -> NDArray[np.float64]:
    """Return standard normals (n, components), one process a component and identity (n,).

    Args:
        parts: names the processes; equal names and identities are the same process.
        identities: of the things that have a process each.
        stamp_ns: when.
        correlation_s: time after which the autocorrelation has fallen to 1/e, > 0.
        components: independent processes of each identity.
    """
    spacing_ns = max(1, round(correlation_s * SECOND_NS / 2))
    knot, since_ns = divmod(stamp_ns, spacing_ns)
    weights = np.exp(-0.5 * (_OFFSETS - since_ns / spacing_ns) ** 2)
    normals = hashed_normals(
        parts,
        np.asarray(identities)[:, None, None],
        np.arange(components)[None, :, None],
        (knot + _OFFSETS)[None, None, :],
    )
    value: NDArray[np.float64] = normals @ (weights / math.sqrt(float(weights @ weights)))
    return value


def as_uniforms(normals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Phi(x) of standard normals, (n,): below p exactly where x is below p's quantile."""
    return np.array([0.5 * math.erfc(-x / _SQRT2) for x in normals.tolist()])
