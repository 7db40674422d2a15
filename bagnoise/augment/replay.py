"""Run several edits over one reading of a bag, keep what they make, and write it later.

Reading, decompressing and decoding are done once; each output is then a copy of the bag with
messages that are ready already.
"""

from __future__ import annotations

import tempfile
from array import array
from functools import partial
from typing import TYPE_CHECKING

from bagnoise.augment.edit import Decoded
from bagnoise.bags.model import Message, Output, Selection
from bagnoise.bags.selection import selected_messages
from bagnoise.errors import BagnoiseError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bagnoise.augment.edit import AugmentEdit
    from bagnoise.bags.model import Bag, Channel

_IN_MEMORY_BYTES = 32 << 20  # of one recording; more goes to a temporary file
_COLUMNS = 8


class Recording:
    """What one edit made: the bytes in one place, all else in a table of integers."""

    def __init__(self, edit: AugmentEdit) -> None:
        """Start with nothing; `close` lets go of the bytes."""
        self.edit = edit
        self.error: BagnoiseError | None = None
        self._channels: dict[int, Channel] = {channel.id: channel for channel in edit.adds}
        self._table = array("q")
        self._bytes = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES)  # noqa: SIM115
        self._size = 0

    def feed(self, message: Message, decoded: Decoded, ordinal: int) -> None:
        """Show the edit a message; ``ordinal`` numbers it among those replaced (0: it is not)."""
        self._work(partial(self._advance, message.log_ns))
        self._work(partial(self._take, message, decoded, ordinal))

    def finish(self) -> None:
        """Tell the edit that no message is to come."""
        self._work(self._end)

    def _work(self, work: Callable[[], None]) -> None:
        """Do one thing, unless the edit has failed."""
        if self.error is not None:
            return
        try:
            work()
        except BagnoiseError as error:
            self.error = error

    def _take(self, message: Message, decoded: Decoded, ordinal: int) -> None:
        for output in self.edit.take(message, decoded):
            self._note(output, message.log_ns, ordinal)

    def _advance(self, log_ns: int) -> None:
        self._note_by_time(self.edit.advance, log_ns)

    def _end(self) -> None:
        self._note_by_time(lambda _: self.edit.finish(), None)

    def _note_by_time(self, work: Callable[[int], Iterable[Output]], log_ns: int | None) -> None:
        """Keep what time brought about, each under the moment after which it was due.

        That is when a rewrite that asks more often, as at the start of each chunk, would get it.
        """
        moments: list[int] = []
        self.edit.note_moments(moments)
        outputs = list(work(0 if log_ns is None else log_ns))
        self.edit.note_moments(None)
        for place in sorted(range(len(outputs)), key=lambda n: moments[n]):
            due_ns = moments[place] + 1
            self._note(outputs[place], due_ns if log_ns is None else min(due_ns, log_ns), 0)

    def _note(self, output: Output, trigger_ns: int, ordinal: int) -> None:
        message = output.message
        self._channels.setdefault(message.channel.id, message.channel)
        self._bytes.write(message.data)
        row = (message.channel.id, message.log_ns, message.publish_ns, message.sequence)
        place = (self._size, int(output.in_place), trigger_ns, ordinal)
        self._table.extend((*row, *place))
        self._size += len(message.data)

    def outputs(self) -> Iterator[tuple[Output, int, int]]:
        """Yield (output, trigger, ordinal) in the order they were made; once."""
        self._bytes.seek(0)
        table = self._table
        for at in range(0, len(table), _COLUMNS):
            id_, log_ns, publish_ns, sequence, start, in_place, trigger, ordinal = table[
                at : at + _COLUMNS
            ]
            following = at + _COLUMNS + 4
            end = table[following] if following < len(table) else self._size
            data = self._bytes.read(end - start)
            message = Message(self._channels[id_], log_ns, publish_ns, sequence, data)
            yield Output(message, bool(in_place)), trigger, ordinal

    def close(self) -> None:
        """Let go of the bytes."""
        self._bytes.close()


def record(bag: Bag, selection: Selection, edits: Iterable[AugmentEdit]) -> list[Recording]:
    """Run the edits over one reading; an edit that fails has its error in its recording.

    Raises:
        BagError: the bag cannot be read.
    """
    recordings = [Recording(edit) for edit in edits]
    try:
        _run(bag, selection, recordings)
    except BaseException:
        for recording in recordings:
            recording.close()
        raise
    return recordings


def _run(bag: Bag, selection: Selection, recordings: list[Recording]) -> None:
    wanted = frozenset().union(*(r.edit.reads for r in recordings))
    if selection.channels is not None:
        wanted &= selection.channels
    replaced = dict.fromkeys(range(len(recordings)), 0)
    part = Selection(wanted, selection.start_ns, selection.end_ns)
    for message in selected_messages(bag, part) if wanted else ():
        decoded = Decoded(message)
        for number, recording in enumerate(recordings):
            edit = recording.edit
            if recording.error is not None or message.channel.id not in edit.reads:
                continue
            replaces = message.channel.id in edit.replaces
            replaced[number] += replaces
            recording.feed(message, decoded, replaced[number] if replaces else 0)
    for recording in recordings:
        recording.finish()


class ReplayEdit:
    """Implements `bagnoise.bags.model.Edit` over a recording.

    It reads nothing but what it replaces, so that chunks without that can be copied unread.
    """

    def __init__(self, recording: Recording) -> None:
        """Start at the recording's beginning."""
        edit = recording.edit
        self.adds = edit.adds
        self.replaces = edit.replaces
        self.reads = edit.replaces
        self._ordinal = 0
        self._rows = recording.outputs()
        self._next = next(self._rows, None)

    def process(self, message: Message) -> Iterable[Output]:
        """Give what was made of a replaced message, and of others before it."""
        self._ordinal += 1
        return self._take(
            lambda trigger, ordinal: (
                ordinal == self._ordinal or (ordinal == 0 and trigger <= message.log_ns)
            )
        )

    def advance(self, log_ns: int) -> Iterable[Output]:
        """Give what was made up to a time, but for what waits for its replaced message."""
        return self._take(lambda trigger, ordinal: trigger <= log_ns and ordinal == 0)

    def finish(self) -> Iterable[Output]:
        """Give the rest."""
        return self._take(lambda *_: True)

    def _take(self, wanted: Callable[[int, int], bool]) -> list[Output]:
        taken = []
        while self._next is not None and wanted(*self._next[1:]):
            taken.append(self._next[0])
            self._next = next(self._rows, None)
        return taken
