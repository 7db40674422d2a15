"""Run bagnoise over a folder of recordings and print what became of each.

    python benchmarks/real_bags.py FOLDER

For every bag: a copy by a recipe that touches nothing (every message is compared with
the source), and a delay of its busiest topic. A bag that cannot be read must say why in one line.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bagnoise.augment.run import augment
from bagnoise.bags import open_bag
from bagnoise.errors import BagnoiseError
from bagnoise.recipe.load import Request, load_recipe
from bagnoise.recipe.model import Recipe

if TYPE_CHECKING:
    from collections.abc import Iterator

FILES = {".mcap", ".db3", ".bag", ".zstd"}


def bags_in(folder: Path) -> Iterator[Path]:
    """Yield bags: folders that hold storage files, and single files elsewhere."""
    holders = {path.parent for path in folder.rglob("*.db3*")}
    holders |= {path.parent for path in folder.rglob("metadata.yaml")}
    yield from sorted(holders)
    for path in sorted(folder.rglob("*")):
        if path.suffix in FILES and path.is_file() and path.parent not in holders:
            yield path


def content(path: Path) -> list[tuple[str, int, bytes]]:
    """Read every message: topic, log time, bytes."""
    with open_bag(path) as bag:
        return [(m.channel.topic, m.log_ns, bytes(m.data)) for m in bag.messages()]


def row(path: Path, scratch: Path) -> str:
    """Describe one bag."""
    try:
        with open_bag(path) as bag:
            counts = {c.topic: bag.counts[c.id] for c in bag.channels}
            warnings = len(bag.warnings)
        source = content(path)
        augment(path, scratch / "copy", Recipe())
        same = "identical" if content(scratch / "copy") == source else "DIFFERENT"
        if not source:
            return f"0 messages, copy {same}"
        busiest = max(counts, key=counts.__getitem__)
        late = load_recipe(Request(streams=[f"'{busiest}' | latency mean_s=0.05"]))
        summary = augment(path, scratch / "late.mcap", late)
        moved = summary.streams[0].published
        found = len(content(scratch / "late.mcap"))
    except BagnoiseError as error:
        return str(error).splitlines()[0]
    return (
        f"{len(source)} messages, copy {same}; {moved} of {busiest} delayed, {found} in all; "
        f"{warnings} warnings"
    )


def main() -> int:
    """Print a line for every bag; fail if a copy differs."""
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    folder = Path(sys.argv[1])
    failed = False
    for path in bags_in(folder):
        with tempfile.TemporaryDirectory() as scratch:
            text = row(path, Path(scratch))
        failed |= "DIFFERENT" in text
        print(f"{path.relative_to(folder)}: {text}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
