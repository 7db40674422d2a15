"""Messages written by hand, byte for byte, from the CDR rules."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import pytest
from message_samples import codec_named

from bagnoise.errors import MessageError
from bagnoise.messages.payload import ConeClass, Cones, source_rows

STAMP = bytes.fromhex("00f1536515cd5b07")  # 1700000000 s, 123456789 ns
T_NS = 1_700_000_000_123_456_789


def doubles(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}d", *values)


EUFS = b"".join(
    (
        bytes.fromhex("00010000"),  # CDR, little-endian
        STAMP,
        bytes.fromhex("040000006d617000"),  # "map": length with terminator
        bytes.fromhex("01000000"),  # one blue; the body stands at 20
        bytes(4),  # filler: doubles stand at a multiple of 8 of the body
        doubles(1.5, -2.0, 0.25, 0.01, 0.002, 0.003, 0.04),
        bytes(4),  # no yellow: no filler either
        bytes(4),  # no orange
        bytes.fromhex("01000000"),  # one big orange; the body stands at 92
        bytes(4),
        doubles(6.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0),
        bytes(4),  # no unknown
    )
)

FEB = b"".join(
    (
        bytes.fromhex("00010000"),
        STAMP,
        bytes.fromhex("0100000000000000"),  # "": terminator, filler
        bytes.fromhex("05000000"),  # the body stands at 20
        bytes(4),
        doubles(1, 2, 3, 4, 5),
        bytes.fromhex("05000000"),
        bytes(4),
        doubles(-1, -2, -3, -4, -5),
        bytes.fromhex("0500000002010003ff"),
    )
)
FEB_EVAL_TIME = FEB + bytes(7) + doubles(0.0125)  # the body stands at 113


def test_eufs_message_reads_as_written_by_hand() -> None:
    cones = codec_named("eufs_msgs/msg/ConeArrayWithCovariance").decode(EUFS)
    assert (cones.stamp_ns, cones.frame_id) == (T_NS, "map")
    assert cones.xyz.tolist() == [[1.5, -2.0, 0.25], [6.0, 0.0, 0.0]]
    assert cones.color.tolist() == [ConeClass.BLUE, ConeClass.BIG_ORANGE]
    assert cones.index.tolist() == [0, 1]
    assert cones.covariance is not None
    assert cones.covariance[0].tolist() == [[0.01, 0.002, 0], [0.003, 0.04, 0], [0, 0, 0]]


def test_eufs_message_is_written_as_by_hand() -> None:
    covariance = np.zeros((2, 3, 3))
    covariance[0, :2, :2] = [[0.01, 0.002], [0.003, 0.04]]
    covariance[1, :2, :2] = np.eye(2)
    cones = Cones(
        T_NS,
        "map",
        np.array([[1.5, -2.0, 0.25], [6.0, 0.0, 0.0]]),
        np.array([ConeClass.BLUE, ConeClass.BIG_ORANGE], np.int8),
        source_rows(2),
        2,
        covariance=covariance,
    )
    assert codec_named("eufs_msgs/msg/ConeArrayWithCovariance").encode(cones) == EUFS


@pytest.mark.parametrize(("variant", "data"), [(None, FEB), ("eval_time", FEB_EVAL_TIME)])
def test_feb_message_reads_as_written_by_hand(variant: str | None, data: bytes) -> None:
    cones = codec_named("feb_msgs/msg/ConesCartesian", variant).decode(data)
    assert cones.stamp_ns == T_NS
    assert cones.frame_id == ""
    assert cones.xyz[:, 0].tolist() == [1, 2, 3, 4, 5]
    assert cones.xyz[:, 1].tolist() == [-1, -2, -3, -4, -5]
    assert cones.color.tolist() == [
        ConeClass.BLUE,
        ConeClass.YELLOW,
        ConeClass.SMALL_ORANGE,
        ConeClass.BIG_ORANGE,
        ConeClass.UNKNOWN,
    ]
    assert cones.message_extra.get("eval_time") == (0.0125 if variant else None)


@pytest.mark.parametrize(("variant", "data"), [(None, FEB), ("eval_time", FEB_EVAL_TIME)])
def test_feb_message_is_written_as_by_hand(variant: str | None, data: bytes) -> None:
    steps = np.arange(1.0, 6.0)
    cones = Cones(
        T_NS,
        "",
        np.column_stack((steps, -steps, np.zeros(5))),
        np.array([0, 1, 2, 3, 4], np.int8),
        source_rows(5),
        5,
        message_extra={"eval_time": 0.0125},
    )
    assert codec_named("feb_msgs/msg/ConesCartesian", variant).encode(cones) == data


def test_the_layout_without_eval_time_refuses_a_message_with_it() -> None:
    with pytest.raises(MessageError, match=r"15 bytes are left over"):
        codec_named("feb_msgs/msg/ConesCartesian").decode(FEB_EVAL_TIME)


def test_the_layout_with_eval_time_refuses_a_message_without_it() -> None:
    with pytest.raises(MessageError, match=r"go beyond the end"):
        codec_named("feb_msgs/msg/ConesCartesian", "eval_time").decode(FEB)


def test_feb_columns_of_unequal_length_are_refused() -> None:
    data = FEB[:-9] + bytes.fromhex("0400000002010003")
    with pytest.raises(MessageError, match=r"5 x, 5 y and 4 color"):
        codec_named("feb_msgs/msg/ConesCartesian").decode(data)


def test_unknown_feb_code_survives_a_cone_that_nobody_recolors() -> None:
    data = FEB[:-5] + bytes.fromhex("02090003ff")
    feb = codec_named("feb_msgs/msg/ConesCartesian")
    cones = feb.decode(data)
    assert cones.color[1] == ConeClass.UNKNOWN
    assert feb.encode(cones) == data
    assert feb.encode(cones.take(np.array([1, 0])))[-2:] == bytes.fromhex("0902")


def test_stamp_zero_and_empty_frame_are_allowed() -> None:
    data = FEB[:4] + bytes(8) + FEB[12:]
    feb = codec_named("feb_msgs/msg/ConesCartesian")
    cones = feb.decode(data)
    assert cones.stamp_ns == 0
    assert feb.encode(cones) == data


def test_an_empty_string_without_terminator_is_read_and_kept() -> None:
    # The length 0 at byte 12, no terminator; the doubles still stand at a multiple of 8.
    data = FEB[:12] + bytes(4) + FEB[20:24] + FEB[28:68] + FEB[68:]
    feb = codec_named("feb_msgs/msg/ConesCartesian")
    cones = feb.decode(data)
    assert cones.frame_id == ""
    assert cones.xyz[:, 0].tolist() == [1, 2, 3, 4, 5]
    assert feb.encode(cones) == data


def test_a_second_or_more_of_nanoseconds_is_read_and_kept() -> None:
    data = FEB[:8] + bytes.fromhex("00ca9a3b") + FEB[12:]  # 10^9 ns
    feb = codec_named("feb_msgs/msg/ConesCartesian")
    cones = feb.decode(data)
    assert cones.stamp_ns == 1_700_000_001_000_000_000
    assert feb.encode(cones) == data
    assert feb.encode(replace(cones, stamp_ns=T_NS))[4:12] == STAMP
