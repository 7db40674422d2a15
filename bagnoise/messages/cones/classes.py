"""Between a cone's class, its class probabilities, and the codes that message types have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bagnoise.errors import MessageError
from bagnoise.messages.payload import ConeClass, Cones

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

CLASSES = tuple(ConeClass)


def class_runs(color: NDArray[np.int8]) -> tuple[NDArray[np.intp] | None, list[int]]:
    """Group rows by class.

    Returns:
        The stable order of rows (None: they are in order already) and the five group sizes.
    """
    sizes = np.bincount(color, minlength=len(CLASSES)).tolist() if len(color) else [0] * 5
    if len(sizes) > len(CLASSES):
        msg = f"a cone has the color {len(sizes) - 1}; ConeClass has 0 to {len(CLASSES) - 1}"
        raise MessageError(msg)
    if bool((color[1:] >= color[:-1]).all()):
        return None, sizes
    return np.argsort(color, kind="stable"), sizes


class ColorCodes:
    """The numbers that a message type has for the classes of cones."""

    def __init__(self, codes: Mapping[ConeClass, int]) -> None:
        """Tabulate the code of each class (-128 to 255)."""
        self._to_code = np.array([codes[cone] for cone in CLASSES], np.int16)
        self._to_class = np.full(256, ConeClass.UNKNOWN, np.int8)
        for cone, code in codes.items():
            self._to_class[code & 0xFF] = cone

    def classes(self, codes: NDArray[Any]) -> NDArray[np.int8]:
        """Return the class of each code; a code that is not in the table is UNKNOWN."""
        return self._to_class[codes.view(np.uint8) if codes.itemsize == 1 else codes & 0xFF]

    def codes(self, color: NDArray[np.int8], was: NDArray[Any] | None = None) -> NDArray[np.int16]:
        """Return the code of each class.

        ``was`` are the codes that the rows came with: one that still means the row's class stays
        (so a code outside the table survives where nobody recolored the cone).
        """
        codes = self._to_code[color]
        if was is None:
            return codes
        return np.where(self.classes(was) == color, was, codes).astype(np.int16)


class StringCodes:
    """The words that a message type has for the classes of cones."""

    def __init__(
        self, words: Mapping[ConeClass, str], also: Mapping[str, ConeClass] | None = None
    ) -> None:
        """Take the word to write of each class, and further words to understand."""
        self.words = dict(words)
        self._classes = {word.lower(): cone for word, cone in (also or {}).items()}
        # Of two classes with one word the first listed is meant when reading.
        self._classes.update({word.lower(): cone for cone, word in reversed(list(words.items()))})

    def class_of(self, word: str) -> ConeClass:
        """Return the class that a word means, UNKNOWN for any other word."""
        return self._classes.get(word.strip().lower(), ConeClass.UNKNOWN)

    def word(self, cone: int, was: str | None = None) -> str:
        """Return the word for a class; ``was`` stays if it means the same."""
        if was is not None and self.class_of(was) == cone:
            return was
        return self.words.get(ConeClass(cone), "")


def likeliest(probabilities: NDArray[np.float64]) -> NDArray[np.int8]:
    """Return the class of the largest probability of each row of (n, 5), NaN counting as 0."""
    if not len(probabilities):
        return np.empty(0, np.int8)
    best: NDArray[Any] = probabilities.argmax(axis=1)
    if not bool((probabilities.max(axis=1) > 0.0).all()):  # a row of zeros, or NaN in a row
        clean = np.nan_to_num(probabilities)
        best = clean.argmax(axis=1)
        best[clean.max(axis=1) <= 0.0] = ConeClass.UNKNOWN
    return best.astype(np.int8)


def probabilities_of(payload: Cones) -> NDArray[np.float64]:
    """Return class probabilities (n, 5) to write, certain where the payload has none.

    `Cones.color` counts: where another class is likelier, the two change places.
    """
    rows = np.arange(len(payload))
    if payload.probabilities is None:
        certain = np.zeros((len(payload), len(CLASSES)))
        certain[rows, payload.color] = 1.0
        return certain
    best = likeliest(payload.probabilities)
    differs = best != payload.color
    if not differs.any():
        return payload.probabilities
    wrong = rows[differs]
    swapped = payload.probabilities.copy()
    swapped[wrong, payload.color[wrong]] = payload.probabilities[wrong, best[wrong]]
    swapped[wrong, best[wrong]] = payload.probabilities[wrong, payload.color[wrong]]
    return swapped


def ids_of(payload: Cones, bits: int, missing: int = -1) -> NDArray[np.int64]:
    """Return ids (n,) to write; one that does not fit, or none at all, is ``missing``."""
    if payload.ids is None:
        return np.full(len(payload), missing, np.int64)
    return np.where(fits(payload.ids, bits), payload.ids, missing)


def fits(ids: NDArray[np.int64], bits: int) -> NDArray[np.bool_]:
    """Say which ids fit a signed integer."""
    limit = 1 << (bits - 1)
    return (ids >= -limit) & (ids < limit)
