"""Definitions of every kind, good and broken, to decoders."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bagnoise.bags.model import Schema
from bagnoise.errors import MessageError
from bagnoise.messages.definitions import shipped_definition, shipped_types, variants
from bagnoise.messages.schema_text import structure
from bagnoise.messages.typestore import blank_message, decode, encode, type_hash

HELLO = bytes.fromhex("0001000006000000") + b"hello\x00"
POINT_IDL = b"""
module geometry_msgs { module msg {
  struct Point { double x; double y; double z; };
}; };
"""
CONE_IDL = (
    b"=" * 80
    + b"\nIDL: team/msg/Cone\n"
    + b"""
#include "geometry_msgs/msg/Point.idl"
module team { module msg {
  struct Cone { geometry_msgs::msg::Point position; string color; sequence<int8> tags; };
}; };
"""
    + b"=" * 80
    + b"\nIDL: geometry_msgs/msg/Point\n"
    + POINT_IDL
)


def msg(name: str, text: str) -> Schema:
    return Schema(name, "ros2msg", text.encode())


@pytest.mark.parametrize(
    "schema",
    [
        msg("std_msgs/msg/String", "string data"),
        msg("std_msgs/String", "string data\n"),
        msg("std_msgs/msg/String", "string data  # the text\r\n"),
        msg("team/msg/Word", "string LIMIT='a#b'\nstring<=9 data 'hi'\n"),
        msg("team/msg/Word", "=" * 80 + "\nMSG: team/Word\nstring data\n"),
        Schema("std_msgs/msg/String", "ros2msg", b""),
        Schema("std_msgs/msg/String"),
    ],
)
def test_spellings_of_a_definition(schema: Schema) -> None:
    message = decode(schema, HELLO)
    assert message.data == "hello"
    assert encode(schema, message) == HELLO


def test_a_definition_in_idl_is_read() -> None:
    schema = Schema("team/msg/Cone", "ros2idl", CONE_IDL)
    same = msg(
        "team/msg/Cone", "geometry_msgs/Point position\nstring color\nint8[] tags\n"
    )  # cut: the text of Point is missing
    assert structure(schema) == structure(same)
    blank = blank_message(schema)
    blank.position.x = 2.5
    assert decode(same, encode(schema, blank)).position.x == 2.5


def test_service_events_recorded_with_the_text_of_the_service() -> None:
    schema = msg("example_interfaces/srv/AddTwoInts_Event", "int64 a\nint64 b\n---\nint64 sum\n")
    event = blank_message(schema)
    assert decode(schema, encode(schema, event)) is not None
    assert [field[0] for field in structure(schema)] == ["info", "request", "response"]


def test_service_events_recorded_in_full() -> None:
    bar = "=" * 80
    text = (
        "service_msgs/ServiceEventInfo info\nAddTwoInts_Request[<=1] request\n"
        "AddTwoInts_Response[<=1] response\n"
        f"{bar}\nMSG: example_interfaces/AddTwoInts_Request\nint64 a\nint64 b\n"
        f"{bar}\nMSG: example_interfaces/AddTwoInts_Response\nint64 sum\n"
    )
    full = msg("example_interfaces/srv/AddTwoInts_Event", text)
    short = msg("example_interfaces/srv/AddTwoInts_Event", "int64 a\nint64 b\n---\nint64 sum\n")
    assert structure(full) == structure(short)


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        (msg("team/msg/A", "string"), r"team/msg/A, line 1: 'string' is neither"),
        (msg("team/msg/A", "int32 a\nint32 a"), r"line 2: there are two fields 'a'"),
        (msg("team/msg/A", "int32 a\n\nint32[0] b"), r"line 3: the array 'b' has no elements"),
        (msg("team/msg/A", "Unheard b"), r"does not contain team/msg/Unheard \(referred to by"),
        (msg("team/msg/A", "A a"), r"circular: team/msg/A -> team/msg/A"),
        (msg("team/msg/A", "Header[5000] a"), r"array of 5000"),
        (msg("team/msg/A", "int32 a\n" + "=" * 80 + "\nint32 b"), r"must follow a separator"),
        (msg("team/msg/A", ""), r"no definition of team/msg/A .* --msgs"),
        (msg("not a name", "int32 a"), r"'not a name' is not the name of a ROS type"),
        (Schema("team/msg/A", "ros2msg", b"\xff\xfe"), r"is not text"),
        (Schema("team/msg/A", "protobuf", b"x"), r"defined in 'protobuf'"),
        (Schema("team/msg/A", "ros2idl", b"module {"), r"IDL definition of team/msg/A cannot"),
        (msg("team/msg/A", "wstring a"), r"decoder of the definition of team/msg/A"),
    ],
)
def test_broken_definitions_say_what_is_wrong(schema: Schema, says: str) -> None:
    with pytest.raises(MessageError, match=says):
        decode(schema, HELLO)


@pytest.mark.parametrize(
    ("head", "says"),
    [
        ("0007", r"encoded as XCDR2 \(0007\)"),
        ("0003", r"encoded as PL_CDR"),
        ("ffff", r"unknown encapsulation \(ffff\)"),
    ],
)
def test_encapsulations_that_nobody_here_reads(head: str, says: str) -> None:
    schema = msg("std_msgs/msg/String", "string data")
    with pytest.raises(MessageError, match=says):
        decode(schema, bytes.fromhex(head) + HELLO[2:])


def test_big_endian_is_read() -> None:
    data = bytes.fromhex("0000000000000006") + b"hello\x00"
    assert decode(msg("std_msgs/msg/String", "string data"), data).data == "hello"


@pytest.mark.parametrize("name", shipped_types())
def test_every_shipped_definition_makes_a_coder(name: str) -> None:
    for variant in (None, *variants(name)):
        schema = shipped_definition(name, variant)
        assert schema is not None
        data = encode(schema, blank_message(schema))
        assert encode(schema, decode(schema, data)) == data


def test_the_type_hash_is_ros_own() -> None:
    # As ROS 2 Iron and newer print it for std_msgs/msg/String.
    assert type_hash(msg("std_msgs/msg/String", "string data")) == (
        "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"
    )


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(
        st.text(max_size=80),
        st.lists(
            st.sampled_from(
                [
                    "int32 a",
                    "float64[3] b",
                    "Header h",
                    "Cone[] c",
                    "=" * 80,
                    "MSG: x/Y",
                    "bool[<=2] t",
                    "#",
                ]
            ),
            max_size=6,
        ).map("\n".join),
    )
)
def test_any_text_gives_a_decoder_or_a_message_error(text: str) -> None:
    try:
        decode(msg("team/msg/Any", text), HELLO)
    except MessageError:
        return
