"""The main job: recipe + bag in -> bag out.

bag --messages--> codec --arrays--> steps --arrays--> codec --messages--> bag; what no stream
mentions passes through byte for byte.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bagnoise.augment.binding import bind
from bagnoise.augment.edit import AugmentEdit
from bagnoise.augment.provenance import record_of
from bagnoise.augment.selection import Cut
from bagnoise.augment.summary import Summary
from bagnoise.bags import open_bag, rewrite
from bagnoise.bags.model import WriteOptions
from bagnoise.bags.publish import check_target
from bagnoise.bags.remote_path import location
from bagnoise.messages.definitions import definition_finder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike
    from pathlib import Path

    from bagnoise.bags.model import Bag, Edit, Progress
    from bagnoise.recipe.model import Recipe


@dataclass(frozen=True)
class Options:
    """How an augment runs, beside its recipe.

    Attributes:
        msgs: folder of ``.msg`` files for types that the bag does not define.
        replace_target: a target may take over a topic of the bag.
        cut: which part of the bag is taken.
        write: how the output is written.
        recover: take the intact part of a damaged bag, instead of failing.
        verify: decompress and check everything, also what is copied unread.
        dry_run: check everything, write nothing.
    """

    msgs: Path | None = None
    replace_target: bool = False
    cut: Cut = field(default_factory=Cut)
    write: WriteOptions = field(default_factory=WriteOptions)
    recover: bool = False
    verify: bool = False
    dry_run: bool = False


def augment(
    source: str | PathLike[str],
    target: str | PathLike[str],
    recipe: Recipe,
    options: Options | None = None,
    progress: Progress | None = None,
) -> Summary:
    """Write a bag with a recipe applied to it.

    Raises:
        UsageError: the recipe does not fit the bag, or the target exists; nothing was written.
        BagnoiseError: the bag cannot be read or written; nothing stays under the target's name.
    """
    options = options or Options()
    source, target = location(source), location(target)
    check_target(target, source, overwrite=options.write.overwrite)
    find = definition_finder(options.msgs)
    with open_bag(source, recover=options.recover, verify=options.verify, definitions=find) as bag:
        job = Job(bag, target, recipe, options, bind_to=bag)
        return job.plan() if options.dry_run else job.write(job.edit, progress)


class Job:
    """A recipe bound to an open bag, to be run once.

    Attributes:
        selection: the part of the bag that is taken.
        edit: the running streams, which fill the summary while they run.
    """

    def __init__(
        self, bag: Bag, target: Path, recipe: Recipe, options: Options, *, bind_to: Bag
    ) -> None:
        """Bind the recipe to ``bind_to``: the bag, or a face of it that remembers its answers.

        Raises:
            UsageError: it does not fit the bag.
        """
        self._bag, self._target, self._recipe, self._options = bag, target, recipe, options
        self.selection = options.cut.of(bind_to)
        self._binding = bind(
            recipe,
            bind_to,
            definition_finder(options.msgs),
            selection=self.selection,
            replace_target=options.replace_target,
        )
        self.edit = AugmentEdit(self._binding)

    @property
    def source(self) -> Path:
        """Where the bag lies."""
        return self._bag.path

    def plan(self) -> Summary:
        """Say what would be done."""
        return self._summary([])

    def write(
        self, edit: Edit, progress: Progress | None = None, *, to: Path | None = None
    ) -> Summary:
        """Write the target: with `edit`, or with one that repeats what that made.

        With ``to`` it is written there, to be moved by the caller.
        """
        report = rewrite(
            self._bag,
            to or self._target,
            edit,
            selection=self.selection,
            options=self._options.write,
            records=[record_of(self._bag, self._recipe)],
            progress=progress,
        )
        summary = self._summary(report.warnings)
        summary.copied = sum(report.copied.values())
        summary.span = report.span
        return summary

    def _summary(self, warnings: Sequence[str]) -> Summary:
        summaries = [stream.summary for stream in self._binding.streams]
        said = [f"stream {s.name!r}: {text}" for s in summaries for text in s.tally.warnings]
        said += warnings
        return Summary(
            str(self._bag.path),
            str(self._target),
            self._recipe.seed,
            self._options.dry_run,
            summaries,
            notes=self._bag.notes(),
            warnings=list(dict.fromkeys([*self._bag.warnings, *self._binding.warnings, *said])),
        )
