"""Hand-computed cases of the time steps."""

from __future__ import annotations

from collections import Counter

import pytest

from bagnoise.augment.chain import Chain, build_chain
from bagnoise.bags.model import Channel, Schema
from bagnoise.errors import BagnoiseError
from bagnoise.steps.base import DROPPED, Sample, Step
from bagnoise.steps.clock import Clock, header_clock
from bagnoise.steps.timing import Drop, Latency, Rate, Shift

MS = 1_000_000
EPOCH = 1_700_000_000_000_000_000
CHANNEL = Channel(0, "/t", Schema("std_msgs/msg/String"))


def sample(log_ns: int, payload: str = "") -> Sample:
    return Sample(log_ns, log_ns, 0, log_ns, 3, CHANNEL, payload, log_ns)


def chain(
    *steps: Step, last_ns: int | None = None, clock: Clock | None = None, seed: int = 0
) -> tuple[Chain, Counter[str]]:
    tally: Counter[str] = Counter()
    clocks = {"log": Clock(), "header": clock or Clock()}
    labelled = [(step.name, step) for step in steps]
    return build_chain(labelled, (seed, "s"), clocks, last_ns, tally), tally


def run(
    steps: list[Step],
    times_ns: list[int],
    *,
    last_ns: int | None = None,
    clock: Clock | None = None,
    seed: int = 0,
) -> list[Sample]:
    """Feed samples named by their position, as a rewrite does: time first, then the message."""
    running, _ = chain(*steps, last_ns=last_ns, clock=clock, seed=seed)
    out: list[Sample] = []
    for number, log_ns in enumerate(times_ns):
        out += running.advance(log_ns)
        out += running.feed(sample(log_ns, str(number)))
    return out + running.finish()


def pairs(samples: list[Sample]) -> list[tuple[int, str]]:
    return [(s.log_ns, s.payload) for s in samples]


def test_ticks_are_at_whole_multiples_since_the_epoch() -> None:
    out = run([Rate(hz=10, hold_s=0)], [EPOCH + 7 * MS, EPOCH + 250 * MS])
    assert pairs(out) == [(EPOCH + 100 * MS, "0"), (EPOCH + 200 * MS, "0")]


def test_tick_times_are_exact_where_a_float_is_not() -> None:
    # 33.3 Hz: tick k = floor(k * 10^10 / 333)
    first_k = EPOCH * 333 // 10**10 + 1
    out = run([Rate(hz=33.3, hold_s=0)], [EPOCH + 1, EPOCH + 700 * MS])
    assert [s.log_ns for s in out] == [(first_k + n) * 10**10 // 333 for n in range(23)]


def test_a_message_on_the_tick_is_published_at_it() -> None:
    out = run([Rate(hz=10, hold_s=0)], [EPOCH, EPOCH + 100 * MS])
    assert pairs(out) == [(EPOCH, "0"), (EPOCH + 100 * MS, "1")]


def test_of_several_messages_before_a_tick_the_last_is_published() -> None:
    out = run([Rate(hz=10, hold_s=0)], [EPOCH + 20 * MS, EPOCH + 60 * MS, EPOCH + 100 * MS + 1])
    assert pairs(out) == [(EPOCH + 100 * MS, "1")]


def test_the_default_hold_is_one_period() -> None:
    out = run([Rate(hz=10)], [EPOCH + 10 * MS])
    assert [s.log_ns for s in out] == [EPOCH + 100 * MS]
    out = run([Rate(hz=10)], [EPOCH])  # the tick exactly one period later still counts
    assert [s.log_ns for s in out] == [EPOCH, EPOCH + 100 * MS]


def test_a_longer_hold_repeats_the_last_message() -> None:
    out = run([Rate(hz=10, hold_s=0.25)], [EPOCH + 10 * MS])
    assert pairs(out) == [(EPOCH + 100 * MS, "0"), (EPOCH + 200 * MS, "0")]


def test_a_gap_in_the_source_is_filled_with_repeats() -> None:
    out = run([Rate(hz=10, hold_s=0)], [EPOCH, EPOCH + 450 * MS, EPOCH + 500 * MS])
    times = [EPOCH + n * 100 * MS for n in range(6)]
    assert [s.log_ns for s in out] == times
    assert [s.payload for s in out] == ["0"] * 5 + ["2"]


def test_a_gap_is_released_in_time_where_the_end_is_known() -> None:
    running, _ = chain(Rate(hz=10, hold_s=0), last_ns=EPOCH + 900 * MS)
    running.feed(sample(EPOCH))
    assert [s.log_ns for s in running.advance(EPOCH + 150 * MS)] == [EPOCH, EPOCH + 100 * MS]


def test_nothing_is_released_before_it_is_sure() -> None:
    running, _ = chain(Rate(hz=10, hold_s=0))
    running.feed(sample(EPOCH + 1))
    assert running.advance(EPOCH + 300 * MS) == []  # it may have been the last message
    running.feed(sample(EPOCH + 300 * MS))
    assert [s.log_ns for s in running.advance(EPOCH + 300 * MS + 1)] == [
        EPOCH + n * 100 * MS for n in (1, 2, 3)
    ]


def test_a_gap_is_filled_only_so_long() -> None:
    times = [EPOCH, EPOCH + 1000 * MS, EPOCH + 1050 * MS]
    out = run([Rate(hz=10, hold_s=0.1, max_gap_s=0.3)], times)
    assert [(s.log_ns - EPOCH) // MS for s in out] == [0, 100, 200, 300, 1000, 1100]
    known_end = run([Rate(hz=10, hold_s=0.1, max_gap_s=0.3)], times, last_ns=times[-1])
    assert pairs(known_end) == pairs(out)


def test_a_message_at_time_zero_does_not_make_an_endless_bag() -> None:
    out = run([Rate(hz=100)], [0, EPOCH])
    assert len(out) == 600 * 100 + 1 + 2


def test_phase_moves_the_ticks() -> None:
    out = run([Rate(hz=10, phase_s=0.03, hold_s=0)], [EPOCH, EPOCH + 140 * MS])
    assert [s.log_ns for s in out] == [EPOCH + 30 * MS, EPOCH + 130 * MS]


def test_trimming_changes_nothing_after_the_first_kept_tick() -> None:
    times = [EPOCH + n * 19_999_999 for n in range(100)]
    steps: list[Step] = [Rate(hz=25), Latency(mean_s=0.01, std_s=0.003)]
    whole, trimmed = run(steps, times), run(steps, times[30:])
    assert [s.log_ns for s in trimmed] == [s.log_ns for s in whole][-len(trimmed) :]
    assert len(trimmed) > 30


def test_draws_after_rate_are_keyed_by_the_tick() -> None:
    out = run([Rate(hz=10, hold_s=0.5)], [EPOCH + 1])
    assert [s.key_ns for s in out] == [s.log_ns for s in out]
    assert all(s.publish_ns is None for s in out)


def test_rate_counts_in_header_time() -> None:
    # The simulation ran at half speed: 1 s of stamps takes 2 s of log time.
    log = [EPOCH + n * 100 * MS for n in range(11)]
    clock = header_clock([(t, 5 * 10**9 + (t - EPOCH) // 2) for t in log])
    out = run([Rate(hz=10, hold_s=0, clock="header")], log, clock=clock)
    assert [s.log_ns for s in out] == [EPOCH + n * 200 * MS for n in range(6)]


def test_latency_in_header_time_is_stretched() -> None:
    log = [EPOCH, EPOCH + 1000 * MS]
    clock = header_clock([(log[0], 10**9), (log[1], 15 * 10**8)])
    out = run([Latency(mean_s=0.1, clock="header")], log, clock=clock)
    assert [s.log_ns for s in out] == [EPOCH + 200 * MS, EPOCH + 1200 * MS]


def test_constant_latency() -> None:
    out = run([Latency(mean_s=0.15)], [EPOCH, EPOCH + 1])
    assert [s.log_ns for s in out] == [EPOCH + 150 * MS, EPOCH + 150 * MS + 1]
    assert [s.publish_ns for s in out] == [EPOCH, EPOCH + 1]


def test_negative_latency_is_none() -> None:
    assert [s.log_ns for s in run([Latency(mean_s=-0.15)], [EPOCH])] == [EPOCH]


def test_the_literal_lidar_delay_is_the_larger_of_mean_and_deviation() -> None:
    for mean_s, std_s, expected_ms in ((0.01, 0.002, 10), (0.002, 0.01, 10), (-1.0, 0.0, 0)):
        out = run([Latency(mean_s=mean_s, std_s=std_s, model="max")], [EPOCH])
        assert out[0].log_ns == EPOCH + expected_ms * MS


def test_no_message_overtakes_an_earlier_one() -> None:
    times = [EPOCH + n * MS for n in range(200)]
    kept = [s.log_ns for s in run([Latency(mean_s=0.01, std_s=0.005)], times)]
    free = [s.log_ns for s in run([Latency(mean_s=0.01, std_s=0.005, order="free")], times)]
    assert kept == sorted(kept)
    assert free != sorted(free)
    running_maximum = [max(free[: n + 1]) for n in range(len(free))]
    assert kept == running_maximum


def test_latency_can_move_the_stamp_by_the_same_amount() -> None:
    out = run([Latency(mean_s=0.2, move_stamp=True)], [EPOCH])
    assert out[0].stamp_shift_ns == out[0].log_ns - EPOCH == 200 * MS


def test_a_shift_moves_log_and_header_apart() -> None:
    out = run([Shift(log_s=-0.1, header_s=0.25)], [EPOCH])
    assert (out[0].log_ns, out[0].stamp_shift_ns) == (EPOCH - 100 * MS, 250 * MS)


def test_a_shift_below_zero_is_an_error_that_says_what_would_do() -> None:
    with pytest.raises(BagnoiseError, match=r"at 50000000 ns before time 0.*-0\.050000000"):
        run([Shift(log_s=-0.1)], [50 * MS])


@pytest.mark.parametrize(("policy", "expected"), [("drop", [50]), ("clamp", [0, 50])])
def test_a_shift_below_zero_drops_or_clamps(policy: str, expected: list[int]) -> None:
    step = Shift.model_validate({"log_s": -0.1, "below_zero": policy})
    out = run([step], [50 * MS, 150 * MS])
    assert [s.log_ns for s in out] == [t * MS for t in expected]


def test_rate_after_a_backward_shift_misses_no_message() -> None:
    times = [EPOCH + n * 30 * MS for n in range(10)]
    out = run([Shift(log_s=-0.5), Rate(hz=10, hold_s=0)], times)
    moved = [t - 500 * MS for t in times]
    expected = [t for t in range(EPOCH - 500 * MS, EPOCH, 100 * MS) if t <= moved[-1]]
    assert [s.log_ns for s in out] == expected
    assert [s.payload for s in out] == [
        str(max(n for n, t in enumerate(moved) if t <= tick)) for tick in expected
    ]


def test_rate_after_latency_publishes_what_has_arrived() -> None:
    out = run([Latency(mean_s=0.12), Rate(hz=10, hold_s=0)], [EPOCH, EPOCH + 150 * MS])
    assert pairs(out) == [(EPOCH + 200 * MS, "0")]


def test_keep_every_keeps_the_first_and_every_nth() -> None:
    out = run([Drop(keep_every=3)], [EPOCH + n for n in range(7)])
    assert [s.payload for s in out] == ["0", "3", "6"]


def test_drop_certainly_and_never() -> None:
    running, tally = chain(Drop(probability=1.0))
    assert running.feed(sample(EPOCH)) == []
    assert tally[DROPPED] == 1
    assert len(run([Drop(probability=0.0)], [EPOCH] * 50)) == 50
