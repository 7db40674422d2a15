"""The main job: recipe + bag in -> bag out.

bag --messages--> codec --arrays--> steps --arrays--> codec --messages--> bag; what no stream
mentions passes through byte for byte.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bagnoise.augment.binding import bind
from bagnoise.augment.edit import AugmentEdit
from bagnoise.augment.provenance import record_of
from bagnoise.augment.selection import Cut
from bagnoise.augment.summary import Summary
from bagnoise.bags import open_bag, rewrite
from bagnoise.bags.model import WriteOptions
from bagnoise.bags.publish import check_target
from bagnoise.messages.definitions import definition_finder

if TYPE_CHECKING:
    from os import PathLike

    from bagnoise.bags.model import Progress
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
    source, target = Path(source), Path(target)
    check_target(target, source, overwrite=options.write.overwrite)
    find = definition_finder(options.msgs)
    with open_bag(source, recover=options.recover, verify=options.verify, definitions=find) as bag:
        selection = options.cut.of(bag)
        binding = bind(
            recipe, bag, find, selection=selection, replace_target=options.replace_target
        )
        streams = [stream.summary for stream in binding.streams]
        summary = Summary(str(source), str(target), recipe.seed, options.dry_run, streams)
        if not options.dry_run:
            report = rewrite(
                bag,
                target,
                AugmentEdit(binding),
                selection=selection,
                options=options.write,
                records=[record_of(bag, recipe)],
                progress=progress,
            )
            summary.copied = sum(report.copied.values())
            summary.span = report.span
            summary.warnings += report.warnings
        summary.warnings = list(
            dict.fromkeys([*bag.warnings, *binding.warnings, *summary.warnings])
        )
    return summary
