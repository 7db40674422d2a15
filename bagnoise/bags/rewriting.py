"""Turn one bag into another: choose the way that costs least, publish the result whole."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from bagnoise.bags.directory_writer import DirectoryWriter, storage_name, write_metadata
from bagnoise.bags.generic import check_end, rewrite_generic
from bagnoise.bags.metadata import check_version
from bagnoise.bags.model import MetadataRecord, Selection, WriteOptions
from bagnoise.bags.opening import open_bag
from bagnoise.bags.publish import check_target, publish
from bagnoise.bags.sqlite_writer import LARGE_PAGE_BYTES, SMALL_PAGE_BYTES
from bagnoise.bags.stats import describe
from bagnoise.errors import BagError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bagnoise.bags.mcap_compression import Compression
    from bagnoise.bags.model import Bag, Edit, Format, Progress, WriteReport
    from bagnoise.bags.writer import BagWriter

_LARGE_BYTES = 64 << 20
CUSTOM_DATA_RECORD = "custom_data"  # where a bare MCAP keeps what metadata.yaml would hold


def rewrite(
    bag: Bag,
    target: Path,
    edit: Edit,
    *,
    selection: Selection = Selection(),  # noqa: B008 - frozen
    options: WriteOptions = WriteOptions(),  # noqa: B008 - frozen
    records: Sequence[MetadataRecord] = (),
    progress: Progress | None = None,
) -> WriteReport:
    """Write ``bag``, changed by ``edit``, to ``target``: complete, or not at all.

    A target named ``*.mcap`` becomes a bare MCAP file, any other a rosbag2 directory.

    Raises:
        UsageError: The request is wrong (output exists, is the input, options clash); nothing
            was written.
        BagError: Reading or writing failed; nothing is left under the final name.
    """
    job = _Job(bag, target, edit, selection, options, records, progress)
    with publish(
        target, overwrite=options.overwrite, fsync=options.fsync, check=job.check
    ) as partial:
        job.run(partial)
    return job.report


def is_bare(target: Path) -> bool:
    """Whether a target's name asks for a bare MCAP file."""
    return target.suffix.lower() == ".mcap"


def target_format(bag: Bag, target: Path, options: WriteOptions) -> Format:
    """Return the storage format of an output.

    Raises:
        UsageError: The name says mcap and the option something else.
    """
    if is_bare(target):
        if options.format not in (None, "mcap"):
            msg = f"{target}: names a bare MCAP file, not {options.format}; leave out .mcap"
            raise UsageError(msg)
        if options.split_bytes is not None or options.split_ns is not None:
            msg = (
                f"{target}: a bare MCAP file cannot be split; a name without suffix would be right"
            )
            raise UsageError(msg)
        return "mcap"
    if options.format is not None:
        return options.format
    return "sqlite3" if bag.format == "sqlite3" else "mcap"


class _Job:
    """One rewrite: what is asked, and what came of it."""

    report: WriteReport

    def __init__(
        self,
        bag: Bag,
        target: Path,
        edit: Edit,
        selection: Selection,
        options: WriteOptions,
        records: Sequence[MetadataRecord],
        progress: Progress | None,
    ) -> None:
        self.bag = bag
        self.target = target
        self.edit = edit
        self.selection = selection
        self.options = options
        self.records = list(records)
        self.progress = progress
        self.input_bytes = input_bytes(bag.path)
        self.format = target_format(bag, target, options)
        check_version(options.metadata_version)
        check_target(target, bag.path, overwrite=options.overwrite)

    def run(self, partial: Path) -> None:
        """Write the output under a temporary name."""
        if is_bare(self.target):
            self._run_bare(partial)
        else:
            self._run_directory(partial)

    def _run_bare(self, partial: Path) -> None:
        known = {record.name for record in self.bag.metadata_records()}
        if self.bag.custom_data and CUSTOM_DATA_RECORD not in known:
            record = MetadataRecord(CUSTOM_DATA_RECORD, self.bag.custom_data)
            self.records.insert(0, record)
        if not self._run_mcap(partial):
            self._run_generic(self._mcap_writer(partial))

    def _run_directory(self, partial: Path) -> None:
        if self.format == self.bag.format and self._copy(partial):
            return
        writer = DirectoryWriter(
            partial,
            self.target.name,
            self.format,
            self.options,
            self.bag.custom_data,
            self._mcap_writer,
            LARGE_PAGE_BYTES if self.input_bytes > _LARGE_BYTES else SMALL_PAGE_BYTES,
        )
        self._run_generic(writer)

    def _copy(self, partial: Path) -> bool:
        """Copy what does not change, where that gives the same; False if it does not."""
        if self.format == "sqlite3":
            return self._copy_sqlite(partial)
        if self.options.split_bytes is not None or self.options.split_ns is not None:
            return False
        name = storage_name(self.target.name, "mcap", 0)
        partial.mkdir()
        if not self._run_mcap(partial / name):
            partial.rmdir()
            return False
        with open_bag(partial / name) as output:
            stats = describe(output, name)
            check_end(output)
        version, custom_data = self.options.metadata_version, self.bag.custom_data
        write_metadata(partial, [stats], "mcap", version, custom_data)
        return True

    def _run_mcap(self, path: Path) -> bool:
        """Copy MCAP chunks unread, where that gives the same; False if it does not."""
        if self.bag.format != "mcap":
            return False
        from bagnoise.bags.mcap_bag import McapBag  # noqa: PLC0415 - lazy
        from bagnoise.bags.mcap_rewrite import ChunkRewrite, can_copy_chunks  # noqa: PLC0415

        if not isinstance(self.bag, McapBag) or not can_copy_chunks(self.bag, self.options):
            return False
        self.report = ChunkRewrite(
            self.bag,
            path,
            self.edit,
            selection=self.selection,
            options=self.options,
            compression=written_compression(self.bag, self.options),
            records=self.records,
        ).run(self.progress)
        return True

    def _copy_sqlite(self, partial: Path) -> bool:
        from bagnoise.bags.sqlite_bag import SqliteBag  # noqa: PLC0415 - lazy
        from bagnoise.bags.sqlite_rewrite import SqliteCopy, can_copy  # noqa: PLC0415 - lazy

        if not isinstance(self.bag, SqliteBag):
            return False
        if not can_copy(self.bag, self.selection, self.options):
            return False
        name = self.target.name
        copy = SqliteCopy(self.bag, partial, name, self.edit, self.options, self.records)
        self.report = copy.run(self.progress, self.input_bytes)
        return True

    def _run_generic(self, writer: BagWriter) -> None:
        self.report = rewrite_generic(
            self.bag,
            writer,
            self.edit,
            selection=self.selection,
            records=self.records,
            progress=self.progress,
            total_bytes=self.input_bytes,
        )

    def _mcap_writer(self, path: Path) -> BagWriter:
        from bagnoise.bags.mcap_writer import McapWriter  # noqa: PLC0415 - only when needed

        return McapWriter(
            path,
            compression=written_compression(self.bag, self.options),
            chunk_bytes=self.options.chunk_bytes,
            workers=self.options.workers,
            profile=getattr(self.bag, "profile", "ros2"),
        )

    def check(self, partial: Path) -> None:
        """Re-open what was written and compare its counts with what we think we wrote."""
        wanted: dict[str, int] = {}
        channels = {channel.id: channel for channel in (*self.bag.channels, *self.edit.adds)}
        for counts in (self.report.copied, self.report.written):
            for id_, count in counts.items():
                topic = channels[id_].topic
                wanted[topic] = wanted.get(topic, 0) + count
        with open_bag(partial) as output:
            found: dict[str, int] = {}
            for channel in output.channels:
                count = output.counts[channel.id]
                found[channel.topic] = found.get(channel.topic, 0) + count
            problems = [text for text in output.warnings if "metadata.yaml" in text]
        if {k: v for k, v in wanted.items() if v} != {k: v for k, v in found.items() if v}:
            problems.append(f"{sum(wanted.values())} messages written, {sum(found.values())} found")
        if problems:
            msg = f"{self.target}: the output is not what was written: {'; '.join(problems)}"
            raise BagError(msg)


def written_compression(bag: Bag, options: WriteOptions) -> Compression:
    """Return how new chunks are compressed: as asked, or as most of the input's bytes are."""
    from bagnoise.bags.mcap_compression import (  # noqa: PLC0415 - lazy
        KNOWN,
        ZSTD,
        Compression,
        parse_compression,
    )

    if options.compression != "keep":
        return parse_compression(options.compression)
    sizes: Counter[str] = Counter()
    for file in getattr(bag, "files", ()) if bag.format == "mcap" else ():
        for chunk in file.layout.chunks:
            if chunk.compression in KNOWN:
                sizes[chunk.compression] += chunk.uncompressed_bytes
    return Compression(sizes.most_common(1)[0][0]) if sizes else ZSTD


def input_bytes(path: Path) -> int:
    """Return the size of a bag on disk, for progress."""
    try:
        files = path.iterdir() if path.is_dir() else [path]
        return sum(file.stat().st_size for file in files if file.is_file())
    except OSError:
        return 0
