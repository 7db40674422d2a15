"""Open whatever the field records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bagnoise.bags.decompress import decompress_file
from bagnoise.bags.detect import detect
from bagnoise.bags.folder import COMPRESSED, read_folder
from bagnoise.bags.message_compression import DecompressedBag, begins_compressed
from bagnoise.bags.model import Bag, no_definitions
from bagnoise.bags.private_folder import PrivateFolder
from bagnoise.bags.remote_path import RemotePath
from bagnoise.errors import BagError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bagnoise.bags.folder import Folder
    from bagnoise.bags.model import Definitions


def open_bag(
    path: Path,
    *,
    recover: bool = False,
    verify: bool = False,
    definitions: Definitions = no_definitions,
    summary_only: bool = False,
) -> Bag:
    """Open a bag, told by its content: MCAP, sqlite3, ROS 1, or a rosbag2 directory.

    Args:
        path: A file, or a directory with or without a metadata.yaml.
        recover: Read what is intact of a damaged bag, and report the loss in ``warnings``.
        verify: Check everything that can be checked first.
        definitions: Asked for the definition of a type where the bag has none.
        summary_only: Believe the summary of an MCAP file at a URL, rather than fetch parts all
            over it; messages cannot be asked then. Local files are read as ever.

    Raises:
        BagError: It is no bag; the text says what it is instead where that can be told.
        DamagedBagError: It is cut or altered (not with ``recover``, unless nothing can be read).
    """
    summary_only = summary_only and isinstance(path, RemotePath) and not (recover or verify)
    how = _How(recover=recover, verify=verify, definitions=definitions, summary_only=summary_only)
    bag = how.open_folder(path) if path.is_dir() else how.open_files(path, [path])
    try:
        if bag.format == "mcap" and not bag.is_summary_only and begins_compressed(bag):
            return DecompressedBag(bag)
    except BaseException:
        bag.__exit__(None, None, None)
        raise
    return bag


class _How:
    """The options of `open_bag`."""

    def __init__(
        self, *, recover: bool, verify: bool, definitions: Definitions, summary_only: bool
    ) -> None:
        self.summary_only = summary_only
        self.recover = recover
        self.verify = verify
        self.definitions = definitions

    def open_folder(self, path: Path) -> Bag:
        folder = read_folder(path, recover=self.recover)
        bag = self.open_files(path, folder.files)
        try:
            bag.path = path
            bag.warnings[:0] = folder.warnings
            _take_metadata(bag, folder)
        except BaseException:
            bag.__exit__(None, None, None)
            raise
        return bag

    def open_files(self, path: Path, files: Sequence[Path]) -> Bag:
        kinds = {detect(file) for file in files}
        plain = {kind.removesuffix(".zstd") for kind in kinds}
        if len(plain) > 1:
            msg = f"{path}: holds files of several kinds ({', '.join(sorted(kinds))})"
            raise BagError(msg)
        if kinds != {"mcap"} and isinstance(path, RemotePath):
            return self._open_downloaded(path, files)
        if kinds != plain:
            return self._open_compressed(path, files, plain.pop())
        return self._open_plain(files, plain.pop())

    def _open_plain(self, files: Sequence[Path], kind: str) -> Bag:
        if kind == "sqlite3":
            from bagnoise.bags.sqlite_bag import SqliteBag  # noqa: PLC0415 - only when needed

            return SqliteBag(
                files, recover=self.recover, verify=self.verify, definitions=self.definitions
            )
        if kind == "ros1":
            from bagnoise.bags.ros1_bag import Ros1Bag  # noqa: PLC0415 - slow to import

            return Ros1Bag(files[0], recover=self.recover, verify=self.verify)
        from bagnoise.bags.mcap_bag import McapBag  # noqa: PLC0415 - slow to import

        return McapBag(
            files, recover=self.recover, verify=self.verify, summary_only=self.summary_only
        )

    def _open_downloaded(self, path: Path, files: Sequence[Path]) -> Bag:
        """Fetch what cannot be read by ranges into a private folder that lives with the bag."""
        folder = PrivateFolder()
        local = [folder.copy(file) for file in files]
        for file in files:
            log = file.with_name(f"{file.name}-wal")
            if file.suffix == ".db3" and log.is_file():
                folder.copy(log)
        bag = self.open_files(folder.path, local)
        size = sum(file.stat().st_size for file in folder.path.iterdir())
        bag.preparation = (f"{path}: {size} bytes downloaded to a temporary folder",)
        bag.path = path
        bag.keeps_alive = (folder, *bag.keeps_alive)
        return bag

    def _open_compressed(self, path: Path, files: Sequence[Path], kind: str) -> Bag:
        """Decompress whole files into a private folder that lives as long as the bag."""
        folder = PrivateFolder()
        warnings = []
        plain = []
        for number, file in enumerate(files):
            place = folder.path / str(number)
            place.mkdir()
            name = file.name.removesuffix(file.suffix) if file.suffix in COMPRESSED else file.name
            plain.append(place / name)
            warning = decompress_file(file, plain[-1], recover=self.recover)
            warnings += [warning] if warning else []
        bag = self._open_plain(plain, kind)
        bag.path = path
        bag.warnings += warnings
        bag.keeps_alive = (folder,)
        return bag


def _take_metadata(bag: Bag, folder: Folder) -> None:
    """Take the custom data of metadata.yaml, and say where it is wrong about the rest."""
    metadata = folder.metadata
    if metadata is None:
        return
    if bag.format == "sqlite3":
        from bagnoise.bags.sqlite_bag import SqliteBag  # noqa: PLC0415 - only when needed

        assert isinstance(bag, SqliteBag)
        bag.take_custom_data(metadata.custom_data)
    else:
        bag.custom_data = metadata.custom_data
    wrong = _disagreements(bag, folder)
    if wrong:
        bag.warnings.append(f"{bag.path / 'metadata.yaml'} is wrong: {'; '.join(wrong)}")


def _disagreements(bag: Bag, folder: Folder) -> list[str]:
    metadata = folder.metadata
    assert metadata is not None
    counts = bag.counts
    total = sum(counts.values())
    wrong = []
    if metadata.message_count not in (None, total):
        wrong.append(f"it says {metadata.message_count} messages, there are {total}")
    wrong += _wrong_topics(bag, metadata.topic_counts)
    span = bag.span()
    if span is not None:
        if metadata.start_ns not in (None, span.start_ns):
            wrong.append(f"it says start {metadata.start_ns}, the first is at {span.start_ns}")
        duration_ns = span.end_ns - span.start_ns
        if metadata.duration_ns not in (None, duration_ns):
            wrong.append(f"it says duration {metadata.duration_ns} ns, true is {duration_ns} ns")
    return wrong


def _wrong_topics(bag: Bag, claimed: dict[str, int]) -> list[str]:
    true: dict[str, int] = {}
    for channel in bag.channels:
        true[channel.topic] = true.get(channel.topic, 0) + bag.counts[channel.id]
    topics = [
        topic
        for topic in (*true, *(topic for topic in claimed if topic not in true))
        if claimed and claimed.get(topic, 0) != true.get(topic, 0)
    ]
    shown = [f"{topic} {claimed.get(topic, 0)}, not {true.get(topic, 0)}" for topic in topics[:3]]
    if len(topics) > len(shown):
        shown.append(f"and {len(topics) - len(shown)} more topics")
    return [f"it counts {', '.join(shown)}"] if shown else []
