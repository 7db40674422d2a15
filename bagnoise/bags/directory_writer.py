"""Write a rosbag2 directory: one storage file or several, and a metadata.yaml that is true."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bagnoise.bags.metadata import METADATA_NAME, render_metadata
from bagnoise.bags.sqlite_writer import SMALL_PAGE_BYTES, SqliteWriter
from bagnoise.bags.stats import FileStats
from bagnoise.bags.writer import LARGEST_NS
from bagnoise.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from bagnoise.bags.model import (
        Attachment,
        Channel,
        Format,
        Message,
        MetadataRecord,
        WriteOptions,
    )
    from bagnoise.bags.writer import BagWriter

MAX_SPLIT_FILES = 10_000  # readers open them all
SUFFIX = {"mcap": ".mcap", "sqlite3": ".db3"}


class DirectoryWriter:
    """Starts a new storage file when the current one has its size or duration."""

    largest_ns = LARGEST_NS

    def __init__(
        self,
        folder: Path,
        name: str,
        format_: Format,
        options: WriteOptions,
        custom_data: Mapping[str, str],
        make_mcap: Callable[[Path], BagWriter],
        page_bytes: int = SMALL_PAGE_BYTES,
    ) -> None:
        self.folder = folder
        self.warnings: list[str] = []
        self._name = name
        self._format = format_
        self._options = options
        self._custom_data = dict(custom_data)
        self._make_mcap = make_mcap
        self._page_bytes = page_bytes
        self._channels: list[Channel] = []
        self._finished: list[FileStats] = []
        folder.mkdir()
        self._start_file()

    def _start_file(self) -> None:
        number = len(self._finished)
        if number == MAX_SPLIT_FILES:
            msg = f"--split makes more than {MAX_SPLIT_FILES} files; a larger one would be right"
            raise UsageError(msg)
        path = self.folder / storage_name(self._name, self._format, number)
        self._stats = FileStats(path.name)
        self._bytes = 0
        self._file: BagWriter
        if self._format == "sqlite3":
            self._file = SqliteWriter(
                path,
                metadata_version=self._options.metadata_version,
                custom_data=self._custom_data if number == 0 else {},
                page_bytes=self._page_bytes,
            )
        else:
            self._file = self._make_mcap(path)
        for channel in self._channels:
            self._file.add_channel(channel)
            self._stats.add_channel(channel)

    def add_channel(self, channel: Channel) -> None:
        """Announce a channel in this file and those to come."""
        self._channels.append(channel)
        self._file.add_channel(channel)
        self._stats.add_channel(channel)

    def write(self, message: Message) -> None:
        """Write one message, into a new file where the split says so."""
        if self._is_full(message):
            self._finish_file()
            self._start_file()
        self._file.write(message)
        self._stats.add(message.channel.id, message.log_ns)
        self._bytes += len(message.data)

    def _is_full(self, message: Message) -> bool:
        options, start_ns = self._options, self._stats.start_ns
        if start_ns is None:
            return False
        if options.split_bytes is not None and self._bytes >= options.split_bytes:
            return True
        return options.split_ns is not None and message.log_ns - start_ns >= options.split_ns

    def _finish_file(self) -> None:
        self._file.close()
        self._finished.append(self._stats)
        if isinstance(self._file, SqliteWriter):
            self._custom_data.update(self._file.custom_data)
            self.warnings += [text for text in self._file.warnings if text not in self.warnings]

    def add_attachment(self, attachment: Attachment) -> None:
        """Write an attachment into the current file."""
        self._file.add_attachment(attachment)

    def add_metadata(self, record: MetadataRecord) -> None:
        """Write a metadata record into the current file."""
        self._file.add_metadata(record)

    def close(self) -> None:
        """Finish the last file, then write metadata.yaml."""
        self._finish_file()
        write_metadata(
            self.folder,
            self._finished,
            self._format,
            self._options.metadata_version,
            self._custom_data,
        )

    def abort(self) -> None:
        """Let go of the current file."""
        self._file.abort()


def storage_name(name: str, format_: Format, number: int) -> str:
    """Name a storage file as rosbag2 does."""
    return f"{name}_{number}{SUFFIX[format_]}"


def write_metadata(
    folder: Path,
    files: list[FileStats],
    format_: Format,
    version: int,
    custom_data: Mapping[str, str],
) -> None:
    """Write the metadata.yaml of a directory whose storage files are finished."""
    text = render_metadata(files, format_, version, custom_data)
    (folder / METADATA_NAME).write_text(text, "utf-8")
