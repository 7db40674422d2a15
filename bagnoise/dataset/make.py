"""Make outputs in this process: one, or several of one input that share its reading."""

from __future__ import annotations

import platform
import time
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from bagnoise import __version__
from bagnoise.augment.replay import Recording, ReplayEdit, record
from bagnoise.augment.run import Job
from bagnoise.bags import open_bag
from bagnoise.bags.private_folder import PrivateFolder
from bagnoise.bags.remote_path import RemotePath, location
from bagnoise.dataset.digest import digest_of, stamp_of
from bagnoise.dataset.remembering import RememberingBag
from bagnoise.errors import BagnoiseError
from bagnoise.messages.definitions import definition_finder
from bagnoise.recipe.model import Recipe

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from bagnoise.augment.summary import Summary
    from bagnoise.bags.model import Bag, Edit
    from bagnoise.dataset.manifest import Line
    from bagnoise.dataset.variant import Variant

RECORDED_BYTES = 512 << 20  # what a group's recordings may come to, by estimate
RECORDED_VARIANTS = 8


def make(variants: Sequence[Variant], input_digest: dict[str, Any]) -> Iterator[Line]:
    """Make outputs of one input and give each one's manifest line as soon as it is there.

    ``input_digest`` is what the lines say of the input. An output that fails has a line that says
    so, and the others go on.
    """
    started = time.monotonic()
    find = definition_finder(_msgs(variants[0]))
    left = list(variants)
    try:
        with open_bag(location(variants[0].source), definitions=find) as bag:
            face = RememberingBag(bag)
            while left:
                group, rest = _split(bag, left)
                yield from _make_group(bag, face, group, input_digest, started)
                started, left = time.monotonic(), rest
    except BagnoiseError as error:
        for variant in left:
            yield failed(variant, input_digest, str(error), started)


def _msgs(variant: Variant) -> Path | None:
    return variant.options().msgs


def _split(bag: Bag, variants: list[Variant]) -> tuple[list[Variant], list[Variant]]:
    """Take as many as can be recorded together; one is made without a recording."""
    size = max(1, _recorded_bytes(bag, variants[0]))
    number = max(1, min(RECORDED_VARIANTS, RECORDED_BYTES // size))
    return variants[:number], variants[number:]


def _recorded_bytes(bag: Bag, variant: Variant) -> int:
    """Estimate what an output's new messages come to: as much as the messages of its sources."""
    sources = [stream["source"] for stream in variant.recipe["streams"].values()]
    total = 0
    for channel in bag.channels:
        uses = sum(source == channel.topic or "*" in source for source in sources)
        if uses:
            first = next(iter(bag.messages([channel.id])), None)
            total += 0 if first is None else uses * len(first.data) * bag.counts[channel.id]
    return total


def _make_group(
    bag: Bag,
    face: RememberingBag,
    variants: Sequence[Variant],
    input_digest: dict[str, Any],
    started: float,
) -> Iterator[Line]:
    jobs: list[tuple[Variant, Job]] = []
    for variant in variants:
        try:
            jobs.append((variant, _job(bag, face, variant)))
        except BagnoiseError as error:
            yield failed(variant, input_digest, str(error), started)
    recordings = _recordings(bag, jobs)
    shared_s = (time.monotonic() - started) / max(1, len(jobs))
    try:
        for (variant, job), recording in zip(jobs, recordings, strict=True):
            began = time.monotonic() - shared_s
            yield _made(variant, job, recording, input_digest, began)
            if recording is not None:
                recording.close()
    finally:
        for recording in recordings:
            if recording is not None:
                recording.close()


def _recordings(bag: Bag, jobs: list[tuple[Variant, Job]]) -> list[Recording | None]:
    """Read the bag once for several jobs of one cut; a single one needs no recording."""
    if len(jobs) <= 1:
        return [None for _ in jobs]
    selection = jobs[0][1].selection
    return list(record(bag, selection, [job.edit for _, job in jobs]))


def _job(bag: Bag, face: RememberingBag, variant: Variant) -> Job:
    target = location(variant.target)
    recipe = Recipe.model_validate(variant.recipe)
    return Job(bag, target, recipe, variant.options(), bind_to=face)


def _made(
    variant: Variant,
    job: Job,
    recording: Recording | None,
    input_digest: dict[str, Any],
    started: float,
) -> Line:
    try:
        if recording is not None and recording.error is not None:
            raise recording.error
        edit = job.edit if recording is None else ReplayEdit(recording)
        target = location(variant.target)
        if isinstance(target, RemotePath):
            summary, sha256 = _write_remote(job, edit, target)
        else:
            summary = job.write(edit)
            sha256 = digest_of(target)
        return _done(variant, summary, sha256, input_digest, started)
    except BagnoiseError as error:
        return failed(variant, input_digest, str(error), started)


def _write_remote(job: Job, edit: Edit, target: RemotePath) -> tuple[Summary, str]:
    """Write, hash and upload an output; hashing it here saves fetching it again."""
    from bagnoise.bags.remote_publish import check_remote_target, upload  # noqa: PLC0415 - for URLs

    check_remote_target(target, job.source, overwrite=True)
    folder = PrivateFolder()
    try:
        local = folder.path / target.name
        summary = job.write(edit, to=local)
        sha256 = digest_of(local)
        upload(local, target, overwrite=True)
    finally:
        folder.close()
    return summary, sha256


def _done(
    variant: Variant,
    summary: Summary,
    sha256: str,
    input_digest: dict[str, Any],
    started: float,
) -> Line:
    target = location(variant.target)
    plain = summary.to_plain()
    return {
        **_common(variant, "done", input_digest),
        "output_sha256": sha256,
        **{f"output_{name}": value for name, value in stamp_of(target).items()},
        "copied": plain["copied"],
        "streams": plain["streams"],
        "start_ns": plain["start_ns"],
        "end_ns": plain["end_ns"],
        "warnings": plain["warnings"],
        "duration_s": round(time.monotonic() - started, 3),
    }


def failed(
    variant: Variant, input_digest: dict[str, Any], error: str, started: float | None = None
) -> Line:
    """Return the line of an output that could not be made."""
    duration_s = 0.0 if started is None else round(time.monotonic() - started, 3)
    common = _common(variant, "failed", input_digest)
    return {**common, "error": error, "duration_s": duration_s}


def _common(variant: Variant, state: str, input_digest: dict[str, Any]) -> Line:
    return {
        "output": variant.name,
        "state": state,
        "input": input_digest,
        "recipe": variant.recipe_name,
        "variant_sha256": variant.digest,
        "seed": variant.seed,
        "tags": variant.tags,
        "sweep": variant.sweep,
        "versions": versions(),
    }


@cache
def versions() -> dict[str, str]:
    """Name the versions that decide the output's bytes."""
    return {
        "bagnoise": __version__,
        "numpy": version("numpy"),
        "python": platform.python_version(),
        "zstandard": version("zstandard"),
    }
