"""Random numbers that depend on what is drawn, never on when or where it is drawn.

Every draw has a key: (seed, stream, step label, source ``log_ns``, occurrence). The key is hashed
into a Philox counter-based generator, so results do not depend on the order of messages, on the
number of workers, or on an unrelated step inserted before.
"""

from __future__ import annotations

import threading
from hashlib import blake2b
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Key = int | str
_KEY_WORDS = 2
_COUNTER_WORDS = 4


class _Reusable(threading.local):
    """One Philox generator a thread: re-keying costs a fifth of constructing one."""

    def __init__(self) -> None:
        self.bits = np.random.Philox(key=np.zeros(_KEY_WORDS, np.uint64))
        self.generator = np.random.Generator(self.bits)


_reusable = _Reusable()


def digest(*parts: Key) -> bytes:
    """Hash a key to 16 bytes; parts are length-prefixed, so ("a", "b") differs from ("ab",)."""
    texts = [(f"i{part}" if isinstance(part, int) else f"s{part}").encode() for part in parts]
    framed = b"".join([len(text).to_bytes(4, "little") + text for text in texts])
    return blake2b(framed, digest_size=16, person=b"bagnoise").digest()


def keyed(*parts: Key) -> np.random.Generator:
    """Return this thread's generator, set to the start of the sequence of the key.

    The generator is shared within the thread: finish drawing from it before asking for another.
    """
    _reusable.bits.state = {
        "bit_generator": "Philox",
        "state": {
            "counter": np.zeros(_COUNTER_WORDS, np.uint64),
            "key": np.frombuffer(digest(*parts), np.uint64),
        },
        "buffer": np.zeros(_COUNTER_WORDS, np.uint64),
        "buffer_pos": _COUNTER_WORDS,
        "has_uint32": 0,
        "uinteger": 0,
    }
    return _reusable.generator


class Draws(Protocol):
    """What kernels draw a number a row from: a numpy generator, or `RowDraws`."""

    def random(self, size: int, /) -> NDArray[np.float64]:
        """Draw uniforms in [0, 1), (size,)."""

    def standard_normal(self, size: int, /) -> NDArray[np.float64]:
        """Draw standard normals, (size,)."""


class RowDraws:
    """Draws for every row that there once was, given to the n rows that are still there.

    So that a filter before a step does not move the noise of the rows that it lets through.
    """

    def __init__(
        self, generator: np.random.Generator, rows: NDArray[np.intp] | None, count: int
    ) -> None:
        """Draw from a generator for ``count`` rows; ``rows`` (n,) are left, None: all."""
        self._generator = generator
        self._rows = rows
        self._count = count

    def random(self, size: int, /) -> NDArray[np.float64]:
        """Draw uniforms in [0, 1), (n,); ``size`` is n."""
        if self._rows is None:
            return self._generator.random(size)
        return self._generator.random(self._count)[self._rows]

    def standard_normal(self, size: int, /) -> NDArray[np.float64]:
        """Draw standard normals, (n,); ``size`` is n."""
        if self._rows is None:
            return self._generator.standard_normal(size)
        return self._generator.standard_normal(self._count)[self._rows]


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
_MULTIPLIERS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_DOUBLE_SHIFT = np.uint64(11)


def hashed_uniforms(
    parts: tuple[Key, ...], *columns: NDArray[np.int64] | int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return two independent uniforms in (0, 1) for each entry of integer columns (broadcast).

    A draw depends on the key and on its own entries only, so many small keys cost no generator
    each: a counter-based generator made of splitmix64's finaliser (Steele, Lea, Flood 2014), one
    round a column, seeded with the hash of ``parts``.
    """
    first, second = np.frombuffer(digest(*parts), np.uint64)
    state = np.array(first)
    with np.errstate(over="ignore"):
        for column in columns:
            entries = np.asarray(column, np.int64).astype(np.uint64)
            state = _mixed(state ^ (entries * _GOLDEN + second))
        bits = (_mixed(state + _GOLDEN), _mixed(state + second + _GOLDEN + _GOLDEN))
    one, other = (((b >> _DOUBLE_SHIFT).astype(np.float64) + 0.5) * 2.0**-53 for b in bits)
    return one, other


def hashed_normals(
    parts: tuple[Key, ...], *columns: NDArray[np.int64] | int
) -> NDArray[np.float64]:
    """Return a standard normal for each entry of integer columns; see `hashed_uniforms`."""
    radius, angle = hashed_uniforms(parts, *columns)
    normals: NDArray[np.float64] = np.sqrt(-2 * np.log(radius)) * np.cos(2 * np.pi * angle)
    return normals


def _mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    state = (state ^ (state >> _SHIFTS[0])) * _MULTIPLIERS[0]
    state = (state ^ (state >> _SHIFTS[1])) * _MULTIPLIERS[1]
    return state ^ (state >> _SHIFTS[2])
