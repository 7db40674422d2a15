"""Which ids channels and schemas have in an output that copies chunks of one or several files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bagnoise.bags import mcap_records as r
from bagnoise.bags.mcap_output import channel_record
from bagnoise.bags.model import NO_SCHEMA
from bagnoise.errors import BagError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from bagnoise.bags.mcap_bag import McapBag, McapFile
    from bagnoise.bags.model import Channel, Schema

MAX_ID = 0xFFFF


class FileIds:
    """Keeps the ids of the first file, and those of the others as far as they mean the same.

    Attributes:
        schemas, channels: records of the output.
        of: container id by channel id of the bag.
        is_kept: by file, whether all its ids stay what they are, so that chunks may be copied.
    """

    def __init__(self, bag: McapBag, passing: Collection[int], adds: Sequence[Channel]) -> None:
        """Assign the ids of the channels that pass and of those that are added."""
        self.of: dict[int, int] = {}
        self.is_kept: list[bool] = []
        self._schemas: dict[int, r.SchemaRecord] = {}
        self._used: dict[int, r.ChannelRecord] = {}
        for file in bag.files:
            self.is_kept.append(self._adopt(file))
        channels = {channel.id: channel for channel in bag.channels}
        wanted = [channels[id_] for id_ in sorted(passing)]
        self.channels = sorted(
            (self._record(channel) for channel in (*wanted, *adds)), key=lambda record: record.id
        )
        self.schemas = [self._schemas[id_] for id_ in sorted(self._schemas)]

    def _adopt(self, file: McapFile) -> bool:
        """Take over a file's ids; False if one of them means something else already."""
        schemas, channels = file.layout.schemas, file.layout.channels
        kept = all(self._schemas.get(id_, schema) == schema for id_, schema in schemas.items())
        kept = kept and all(
            self._used.get(id_, record) == record
            and self.of.get(file.channels[id_].id, id_) == id_
            and record.schema_id in {0, *schemas}
            for id_, record in channels.items()
        )
        if kept:
            self._schemas.update(schemas)
            self._used.update(channels)
            self.of.update({file.channels[id_].id: id_ for id_ in channels})
        return kept

    def _record(self, channel: Channel) -> r.ChannelRecord:
        if channel.id in self.of:
            return self._used[self.of[channel.id]]
        id_ = _free(self._used, f"channel {channel.topic}")
        record = channel_record(channel, id_, self._schema_id(channel.schema))
        self._used[id_] = record
        self.of[channel.id] = id_
        return record

    def _schema_id(self, schema: Schema) -> int:
        if schema == NO_SCHEMA:
            return r.NO_SCHEMA_ID
        for id_, known in self._schemas.items():
            if (known.name, known.encoding, known.data) == (
                schema.name,
                schema.encoding,
                schema.data,
            ):
                return id_
        id_ = _free(self._schemas, f"schema {schema.name}")
        self._schemas[id_] = r.SchemaRecord(id_, schema.name, schema.encoding, schema.data)
        return id_


def _free(used: Collection[int], what: str) -> int:
    """Return an id above all that are known, for chunks may define some more; else a free one."""
    id_ = max(used, default=0) + 1
    if id_ > MAX_ID:
        id_ = next((n for n in range(1, MAX_ID + 1) if n not in used), 0)
    if not id_:
        msg = f"no id is left in an MCAP file for {what}; write a rosbag2 sqlite3 bag"
        raise BagError(msg)
    return id_
