"""The topics that a bag lists by itself: no message is read, so it takes no time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bagnoise.bags.metadata import METADATA_NAME, read_metadata
from bagnoise.errors import BagError

if TYPE_CHECKING:
    from pathlib import Path


def listed_topics(path: Path) -> list[str]:
    """Name the topics in a bag's metadata.yaml or MCAP summary; none where it has neither."""
    try:
        if path.is_dir():
            return sorted(read_metadata(path / METADATA_NAME).topic_counts)
        return _topics_of_summary(path)
    except (BagError, OSError):
        return []


def _topics_of_summary(path: Path) -> list[str]:
    from bagnoise.bags import mcap_records as r  # noqa: PLC0415 - a directory does without
    from bagnoise.bags.mcap_layout import Layout  # noqa: PLC0415
    from bagnoise.bags.mcap_source import Source  # noqa: PLC0415
    from bagnoise.bags.mcap_summary import read_summary  # noqa: PLC0415

    source, layout = Source(path), Layout()
    try:
        read_summary(source, layout, len(r.MAGIC))
    except r.CutOffError:
        return []
    finally:
        source.close()
    return sorted({channel.topic for channel in layout.channels.values()})
