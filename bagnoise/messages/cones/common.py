"""What the cone codecs share: checking a definition, naming losses, grouping by color."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from bagnoise.errors import MessageError, UsageError
from bagnoise.messages.cones.classes import CLASSES, fits
from bagnoise.messages.cones.wire import Origin
from bagnoise.messages.definitions import shipped_definition
from bagnoise.messages.msg_text import full_type_name
from bagnoise.messages.payload import ConeClass, Cones, source_rows
from bagnoise.messages.schema_text import message_texts, structure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from bagnoise.bags.model import Schema

ORIGIN = "_origin"  # key of Cones.message_extra; a leading underscore means: says nothing
CLASS_NAMES = ("blue", "yellow", "small orange", "big orange", "unknown color")


@dataclass(frozen=True)
class Holds:
    """What a message type can carry of a payload."""

    header: bool = True
    z: bool = True
    covariance: str = ""  # "" none | "xy" | "xyz"
    probabilities: bool = False
    ids: bool = False
    classes: tuple[ConeClass, ...] = CLASSES
    leaves_out: bool = False  # cones of other classes are not written at all
    extra: tuple[str, ...] = ()
    message_extra: tuple[str, ...] = ()

    def losses(self, payload: Cones) -> tuple[str, ...]:
        """Name what of a payload does not fit; columns that say nothing (all zero) do not count."""
        lost: list[str] = []
        if not self.header and (payload.stamp_ns or payload.frame_id):
            lost.append("header (stamp, frame)")
        if not self.z and _says_something(payload.xyz[:, 2]):
            lost.append("z")
        lost += self._lost_covariance(payload.covariance)
        if payload.probabilities is not None and not self.probabilities and len(payload):
            lost.append("class probabilities")
        if payload.ids is not None and not self.ids and len(payload):
            lost.append("id")
        lost += self._lost_classes(payload.color)
        lost += [name for name in payload.extra if _is_lost(name, self.extra)]
        return (*lost, *(n for n in payload.message_extra if _is_lost(n, self.message_extra)))

    def _lost_covariance(self, covariance: NDArray[np.float64] | None) -> list[str]:
        if covariance is None or self.covariance == "xyz":
            return []
        if self.covariance == "":
            return ["covariance"] if _says_something(covariance) else []
        beyond = _says_something(covariance[:, 2, :]) or _says_something(covariance[:, :2, 2])
        return ["covariance of z"] if beyond else []

    def _lost_classes(self, color: NDArray[np.int8]) -> list[str]:
        if len(self.classes) == len(CLASSES):
            return []
        sizes = np.bincount(color, minlength=len(CLASSES)) if len(color) else (0,) * len(CLASSES)
        form = "{} cones (left out)" if self.leaves_out else "the color of {} cones"
        return [
            form.format(CLASS_NAMES[cone])
            for cone in CLASSES
            if sizes[cone] and cone not in self.classes
        ]


def _is_lost(name: str, held: tuple[str, ...]) -> bool:
    return not name.startswith("_") and name not in held


def _says_something(values: NDArray[Any]) -> bool:
    return bool(np.any(values))


@lru_cache(maxsize=256)
def matching_variant(schema: Schema, known: tuple[str | None, ...] = (None,)) -> str | None:
    """Find which of the shipped layouts of a type a schema has.

    Raises:
        MessageError: none of them; the text says where the definition differs.
    """
    if not schema.data.strip():
        return known[0]
    found = structure(schema)
    for variant in known:
        shipped = shipped_definition(schema.name, variant)
        if shipped is not None and structure(shipped) == found:
            return variant
    fields = message_texts(schema)[full_type_name(schema.name)].fields
    listed = ", ".join(field.name for field in fields) or "nothing"
    msg = (
        f"the bag's definition of {schema.name} is not one bagnoise knows: it holds {listed}"
        " (or these are of other types); a field map in the recipe can describe it"
    )
    raise MessageError(msg)


def known_definition(schema: Schema, variant: str | None) -> Schema:
    """Return the schema itself if it has a text, else the shipped one."""
    if schema.data.strip():
        return schema
    shipped = shipped_definition(schema.name, variant)
    assert shipped is not None
    return shipped


def no_options(schema: Schema, options: Mapping[str, Any], known: Sequence[str] = ()) -> None:
    """Refuse options that a codec does not have.

    Raises:
        UsageError: naming them.
    """
    unknown = sorted(set(options) - set(known))
    if unknown:
        what = f"it has {', '.join(known)}" if known else "it has none"
        msg = f"{schema.name} has no option {', '.join(map(repr, unknown))}; {what}"
        raise UsageError(msg)


def origin_of(payload: Cones, type_name: str, layout: Any = None) -> Origin | None:
    """Return how the payload's message was written, if it was of this type and layout."""
    origin = payload.message_extra.get(ORIGIN)
    if isinstance(origin, Origin) and origin.type_name == type_name and origin.layout == layout:
        return origin
    return None


def with_origin(origin: Origin | None, **values: Any) -> dict[str, Any]:
    """Make `Cones.message_extra`."""
    return values if origin is None else {**values, ORIGIN: origin}


def origin_rows(
    payload: Cones, rows: NDArray[Any] | None, dtype: np.dtype[Any], first: int = 0
) -> NDArray[Any]:
    """Return a writable copy of what each row came with, (n,), zero where it is new.

    ``rows`` are those of the source from row ``first`` on.
    """
    if rows is None or not len(rows):
        return np.zeros((len(payload), *(() if rows is None else rows.shape[1:])), dtype)
    index = payload.index - first if first else payload.index
    if len(index) == len(rows) and bool((index == row_index(len(rows))).all()):
        return rows.copy()
    known = (index >= 0) & (index < len(rows))
    if known.all():
        return rows[index]
    found = rows[np.where(known, index, 0)]
    found[~known] = np.zeros((), dtype)
    return found


_INDEX_CACHE_ROWS = 512
_ROWS = source_rows(_INDEX_CACHE_ROWS)
_ROWS.flags.writeable = False


def row_index(count: int) -> NDArray[np.int32]:
    """Return `Cones.index` of a fresh message, (count,), read-only."""
    return _ROWS[:count] if count <= _INDEX_CACHE_ROWS else source_rows(count)


def full_3x3(flat: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make covariances (n, 3, 3) of rows xx, xy, yx, yy (n, 4); z is 0."""
    full = np.zeros((len(flat), 3, 3))
    full[:, :2, :2] = flat.reshape(-1, 2, 2)
    return full


def flat_2x2(payload: Cones) -> NDArray[np.float64]:
    """Return covariances as rows xx, xy, yx, yy (n, 4); zero where the payload has none."""
    if payload.covariance is None:
        return np.zeros((len(payload), 4))
    return payload.covariance[:, :2, :2].reshape(-1, 4)


def lost_ids(payload: Cones, bits: int) -> tuple[str, ...]:
    """Name ids that do not fit a signed integer of so many bits."""
    if payload.ids is None or bool(fits(payload.ids, bits).all()):
        return ()
    return (f"ids beyond {bits} bits",)


def as_float32(values: NDArray[np.float64], was: NDArray[np.float32]) -> NDArray[np.float32]:
    """Round to float32, of ``was``'s byte order.

    Bits of a value that did not change stay: a conversion there and back quiets NaNs.
    """
    with np.errstate(invalid="ignore", over="ignore"):  # signalling NaN, beyond float32: inf
        same = (values == was) | (np.isnan(values) & np.isnan(was))
        return np.where(same, was, values.astype(was.dtype))
