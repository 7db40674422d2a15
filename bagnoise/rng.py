"""Random numbers that depend on what is drawn, never on when or where it is drawn.

Every draw has a key: (seed, stream, step label, source ``log_ns``, occurrence). The key is hashed
into a Philox counter-based generator, so results do not depend on the order of messages, on the
number of workers, or on an unrelated step inserted before.
"""

from __future__ import annotations

import threading
from hashlib import blake2b

import numpy as np

Key = int | str
_KEY_WORDS = 2
_COUNTER_WORDS = 4


class _Reusable(threading.local):
    """One Philox generator a thread: re-keying costs a fifth of constructing one."""

    def __init__(self) -> None:
        self.bits = np.random.Philox(key=np.zeros(_KEY_WORDS, np.uint64))
        self.generator = np.random.Generator(self.bits)


_reusable = _Reusable()


def digest(*parts: Key) -> bytes:
    """Hash a key to 16 bytes; parts are length-prefixed, so ("a", "b") differs from ("ab",)."""
    state = blake2b(digest_size=16, person=b"bagnoise")
    for part in parts:
        text = f"{'i' if isinstance(part, int) else 's'}{part}".encode()
        state.update(len(text).to_bytes(4, "little"))
        state.update(text)
    return state.digest()


def keyed(*parts: Key) -> np.random.Generator:
    """Return this thread's generator, set to the start of the sequence of the key.

    The generator is shared within the thread: finish drawing from it before asking for another.
    """
    _reusable.bits.state = {
        "bit_generator": "Philox",
        "state": {
            "counter": np.zeros(_COUNTER_WORDS, np.uint64),
            "key": np.frombuffer(digest(*parts), np.uint64),
        },
        "buffer": np.zeros(_COUNTER_WORDS, np.uint64),
        "buffer_pos": _COUNTER_WORDS,
        "has_uint32": 0,
        "uinteger": 0,
    }
    return _reusable.generator
