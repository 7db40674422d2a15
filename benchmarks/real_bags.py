"""Run bagnoise over a folder of recordings and print what became of each.

    python benchmarks/real_bags.py FOLDER

Each recording (a bag file, or a rosbag2 directory) is opened, copied by a recipe that touches
nothing, and written again with one topic 0.1 s late. "same" says whether every message of the copy
is the one of the input: topic, type, log time and bytes (publish time and sequence, too, where both
formats hold them), in the same order, by the reader of the mcap package where it opens the input.
Exit code 1 if any copy differs, or if anything but a plain error comes up.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import traceback
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mcap.exceptions import McapError
from mcap.reader import NonSeekingReader

from bagnoise.augment.run import augment
from bagnoise.bags import open_bag
from bagnoise.bags.detect import detect
from bagnoise.errors import BagnoiseError
from bagnoise.recipe.load import Request, load_recipe
from bagnoise.recipe.model import Recipe

if TYPE_CHECKING:
    from collections.abc import Iterator

SPLIT_NAME = re.compile(r"(.+)_\d+\.(?:db3|mcap)(?:\.zstd)?")
DELAY_NS = 100_000_000
Line = tuple[str, str, int, int, int, bytes]


@dataclass
class Row:
    """What became of one recording."""

    name: str
    read: str = ""
    written: str = ""
    same: str = ""
    late: str = ""
    error: str = ""
    is_wrong: bool = False


def recordings(folder: Path) -> list[Path]:
    """Find rosbag2 directories, and bag files outside of them."""
    found: list[Path] = []
    for path in [folder, *sorted(folder.rglob("*"))]:
        if any(parent in found for parent in path.parents):
            continue
        if path.is_dir():
            if is_recording(path):
                found.append(path)
        elif path.suffix.lower() in {".mcap", ".db3", ".bag", ".zstd", ".zst"}:
            found.append(path)
    return found


def is_recording(folder: Path) -> bool:
    """Whether a folder is one recording: by its metadata.yaml, or as the parts of a split one."""
    if (folder / "metadata.yaml").is_file():
        return True
    parts = [SPLIT_NAME.fullmatch(entry.name) for entry in folder.iterdir()]
    return len(parts) > 1 and None not in parts and len({part[1] for part in parts if part}) == 1


def messages(path: Path) -> Iterator[Line]:
    """Read a recording in order."""
    with open_bag(path) as bag:
        for m in bag.messages():
            names = m.channel.topic, m.channel.type_name
            yield (*names, m.log_ns, m.publish_ns, m.sequence, bytes(m.data))


def second_reading(path: Path) -> list[Line]:
    """Read a bare MCAP with the mcap package, in log-time order, ties in file order."""
    with path.open("rb") as stream:
        reader = NonSeekingReader(stream, validate_crcs=True)
        found = [
            (c.topic, s.name if s else "", m.log_time, m.publish_time, m.sequence, m.data)
            for s, c, m in reader.iter_messages(log_time_order=False)
        ]
    return sorted(found, key=lambda line: line[2])


def compare(source: Path, target: Path) -> str:
    """Say how a copy relates to its input; it must be 'yes'."""
    first, copy = list(messages(source)), second_reading(target)
    if source.is_file() and detect(source) == "mcap":
        try:
            first = second_reading(source)
        except McapError as error:
            return f"yes (the mcap package cannot read it: {error})" if first == copy else "NO"
    with open_bag(source) as bag:
        if bag.format != "mcap":  # sqlite3 and ROS 1 hold no sequence, and rarely a publish time
            first = [(*line[:3], 0, 0, line[5]) for line in first]
            copy = [(*line[:3], 0, 0, line[5]) for line in copy]
    return "yes" if first == copy else "NO"


def late_topic(path: Path) -> str | None:
    """Choose the topic with most messages."""
    with open_bag(path) as bag:
        counts = Counter({c.topic: bag.counts[c.id] for c in bag.channels})
        return counts.most_common(1)[0][0] if sum(counts.values()) else None


def check_late(copy: Path, late: Path, topic: str) -> str:
    """Compare a recording with one of whose topics is late."""
    wanted = [
        (line[0], line[2] + DELAY_NS * (line[0] == topic), line[5]) for line in messages(copy)
    ]
    found = [(line[0], line[2], line[5]) for line in messages(late)]
    return "yes" if sorted(wanted) == sorted(found) else "NO"


def examine(path: Path, folder: Path, work: Path) -> Row:
    """Run all of it on one recording."""
    row = Row(str(path.relative_to(folder)))
    copy, late = work / "copy.mcap", work / "late.mcap"
    try:
        row.read = str(sum(1 for _ in messages(path)))
        augment(path, copy, Recipe())
        row.written = str(len(second_reading(copy)))
        row.same = compare(path, copy)
        topic = late_topic(path)
        if topic is not None:
            stream = f"'{topic}' | latency mean_s=0.1"
            augment(path, late, load_recipe(Request(streams=(stream,))))
            row.late = check_late(copy, late, topic)
    except BagnoiseError as error:
        row.error = str(error).replace(f"{folder}/", "")
    except Exception:  # noqa: BLE001 - whatever comes up is a finding
        row.error = f"UNEXPECTED: {traceback.format_exc(limit=-1)}"
        row.is_wrong = True
    row.is_wrong = row.is_wrong or "NO" in (row.same, row.late)
    return row


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    print("| recording | messages read | written | same | late as asked | error |")
    print("|---|---|---|---|---|---|")
    wrong = 0
    for path in recordings(folder):
        with tempfile.TemporaryDirectory() as work:
            row = examine(path, folder, Path(work))
        cells = (row.name, row.read, row.written, row.same, row.late, row.error)
        print("| " + " | ".join(cell.replace("\n", " ") for cell in cells) + " |", flush=True)
        wrong += row.is_wrong
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
