from __future__ import annotations

import threading

import numpy as np

from bagnoise.rng import digest, keyed


def test_equal_keys_give_equal_draws() -> None:
    first = keyed(1, "camera", "noise", 5, 0).standard_normal(4)
    keyed(2, "other").random(7)
    assert np.array_equal(first, keyed(1, "camera", "noise", 5, 0).standard_normal(4))


def test_draws_of_a_key_never_change() -> None:
    # Frozen numbers: a change here is a breaking change for everyone's seeds.
    assert keyed(42, "camera", "noise", 1_700_000_000_123_456_789, 0).random(3).tolist() == FROZEN


def test_every_part_of_the_key_counts() -> None:
    keys = [(0, "a", 1, 0), (1, "a", 1, 0), (0, "b", 1, 0), (0, "a", 2, 0), (0, "a", 1, 1)]
    assert len({keyed(*key).random() for key in keys}) == len(keys)


def test_parts_are_kept_apart() -> None:
    assert digest("ab", "c") != digest("a", "bc")
    assert digest(1) != digest("1")


def test_a_half_used_buffer_does_not_leak_into_the_next_key() -> None:
    clean = keyed(3).integers(0, 100, 5, dtype=np.uint32).tolist()
    keyed(4).integers(0, 100, 3, dtype=np.uint32)  # leaves half a word behind
    assert keyed(3).integers(0, 100, 5, dtype=np.uint32).tolist() == clean


def test_threads_do_not_disturb_each_other() -> None:
    alone = [keyed(7, n).random(1000).sum() for n in range(20)]
    found: dict[int, list[float]] = {}

    def work(thread: int) -> None:
        found[thread] = [keyed(7, n).random(1000).sum() for n in range(20)]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(values == alone for values in found.values())


FROZEN = [0.5682636371899861, 0.7312828955194204, 0.11972828761754672]
