"""Make an output on storage that others write to, too: however often it is tried, once."""

from __future__ import annotations

import os
import secrets
import shutil
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bagnoise.bags.publish import PARTIAL_PREFIX, move_into_place
from bagnoise.dataset.digest import digest_of, stamp_of
from bagnoise.dataset.make import failed, make
from bagnoise.errors import BagError, BagnoiseError

if TYPE_CHECKING:
    from bagnoise.dataset.manifest import Line
    from bagnoise.dataset.sight import Beacon
    from bagnoise.dataset.variant import Variant

_ONE_AT_A_TIME = threading.Lock()  # threads of one worker take turns: warnings are the process's


@dataclass(frozen=True)
class Order:
    """What a worker is sent.

    Attributes:
        variant: the output.
        input_digest: what its manifest line says of the input.
        outdated: size and time of what stands in its place and may be replaced; None: nothing.
        byte_versions: the client's, which the worker's must equal.
        beacon: shines where the output is wanted, as long as it is.
    """

    variant: Variant
    input_digest: dict[str, Any]
    outdated: dict[str, Any] | None
    byte_versions: dict[str, str]
    beacon: Beacon


def present(target: Path) -> dict[str, Any] | None:
    """Return size and time of what stands at a target, None if nothing does."""
    return stamp_of(target) if os.path.lexists(target) else None


def make_once(order: Order) -> Line:
    """Make an output in a folder of its own and give it its name, unless it has it already.

    The same order may be carried out again after its worker was lost, or twice at the same time:
    outputs are equal byte for byte, so the one that is there first stays, untouched. No folder is
    made that the client has not made, and nothing gets a name that the client no longer waits for.
    """
    target = Path(order.variant.target)
    staging = target.parent / f"{PARTIAL_PREFIX}{secrets.token_hex(8)}"
    with _ONE_AT_A_TIME:
        try:
            _require_wanted(order)
            staging.mkdir()
            own = replace(order.variant, target=str(staging / target.name))
            (line,) = make([own], order.input_digest)
            if line["state"] == "done":
                _require_wanted(order)
                _settle(Path(own.target), target, line["output_sha256"], order.outdated)
                line |= {f"output_{name}": value for name, value in stamp_of(target).items()}
            else:
                line["error"] = line["error"].replace(str(staging), str(target.parent))
        except BagnoiseError as error:
            return failed(order.variant, order.input_digest, str(error))
        except OSError as error:
            text = f"{error.filename or target}: cannot be written: {error.strerror or error}"
            return failed(order.variant, order.input_digest, text)
        except Exception as error:  # noqa: BLE001 - a fault of ours must not stop the others
            text = f"internal error: {type(error).__name__}: {error}"
            return failed(order.variant, order.input_digest, text)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    return line


def _require_wanted(order: Order) -> None:
    trouble = order.beacon.trouble()
    if trouble:
        msg = f"{order.variant.target}: the run has ended, or its worker {trouble}"
        raise BagError(msg)


def _settle(made: Path, target: Path, sha256: str, outdated: dict[str, Any] | None) -> None:
    """Move what was made to its name, or find that the same is there."""
    there = present(target)
    if there is None:
        try:
            move_into_place(made, target, overwrite=False)
        except BagError:  # another attempt was quicker
            _require_equal(target, sha256)
    elif there == outdated and digest_of(target) != sha256:
        move_into_place(made, target, overwrite=True)
    else:
        _require_equal(target, sha256)


def _require_equal(target: Path, sha256: str) -> None:
    if digest_of(target) != sha256:
        msg = f"{target}: has appeared while the output was made, and is another; it is left alone"
        raise BagError(msg)
