"""Any type by a map of its fields."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from message_samples import T_NS, sample_cones

from bagnoise.bags.model import Schema
from bagnoise.errors import MessageError, UsageError
from bagnoise.messages.cones.field_map import make
from bagnoise.messages.definitions import shipped_definition
from bagnoise.messages.payload import ConeClass
from bagnoise.messages.registry import cone_codec, kind_of
from bagnoise.messages.typestore import blank_message, decode, encode

B, Y, S, G, U = ConeClass
LART = {
    "fields": {
        "cones": "cones",
        "x": "position.x",
        "y": "position.y",
        "z": "position.z",
        "color": "class_type.data",
    },
    "classes": {"blue": 1, "yellow": 2, "small_orange": 3, "big_orange": 4, "unknown": 0},
}
TEAM = Schema(
    "team/msg/Seen",
    "ros2msg",
    b"std_msgs/Header header\nfloat32[] px\nfloat32[] py\nstring[] kind\nuint32[] id\nint8[] age\n"
    b"float64 from\n",
)
TEAM_MAP = {
    "fields": {"x": "px", "y": "py", "color": "kind", "id": "id"},
    "classes": {"blue": "L", "yellow": "R", "unknown": "?"},
}


def named(name: str) -> Schema:
    schema = shipped_definition(name)
    assert schema is not None
    return schema


def test_lart_cones_in_a_list_of_structs() -> None:
    schema = named("lart_msgs/msg/ConeArray")
    assert kind_of(schema) is None
    assert kind_of(schema, LART) == "cones"
    codec = cone_codec(schema, **LART)
    message = decode(schema, codec.encode(sample_cones(5)))
    assert [cone.class_type.data for cone in message.cones] == [1, 2, 3, 4, 0]
    assert message.header.stamp.sec == T_NS // 10**9
    back = codec.decode(codec.encode(sample_cones(5)))
    np.testing.assert_array_equal(back.xyz, sample_cones(5).xyz)


def test_fields_that_the_map_does_not_name_stay_with_their_cone() -> None:
    schema = named("lart_msgs/msg/ConeArray")
    message = blank_message(schema)
    for row in range(3):
        cone = blank_message(schema, "lart_msgs/msg/Cone")
        cone.header.frame_id = f"camera {row}"
        cone.position.x, cone.class_type.data = float(row), 9
        message.cones.append(cone)
    codec = cone_codec(schema, **LART)
    data = encode(schema, message)
    cones = codec.decode(data)
    assert cones.color.tolist() == [U, U, U]
    assert codec.encode(cones) == data
    moved = replace(cones, xyz=cones.xyz + 1.0).take(np.array([2, 0]))
    back = decode(schema, codec.encode(moved)).cones
    assert [cone.header.frame_id for cone in back] == ["camera 2", "camera 0"]
    assert [cone.position.x for cone in back] == [3.0, 1.0]
    assert [cone.class_type.data for cone in back] == [9, 9]


def test_epfl_columns_in_range_and_bearing() -> None:
    schema = named("brains_custom_interfaces/msg/ConesObservations")
    message = blank_message(schema)
    message.rho, message.theta = np.array([2.0, 10.0]), np.array([0.0, np.pi / 2])
    message.colors = np.array([3, 1], np.uint8)
    message.rho_uncertainty = np.array([0.1, 0.2])
    data = encode(schema, message)
    codec = cone_codec(schema)
    cones = codec.decode(data)
    np.testing.assert_allclose(cones.xyz, [[2, 0, 0], [0, 10, 0]], atol=1e-12)
    assert cones.color.tolist() == [G, Y]
    assert codec.encode(cones) == data
    back = decode(schema, codec.encode(cones.take(np.array([1]))))
    assert back.rho.tolist() == [10.0]
    assert back.rho_uncertainty.tolist() == [0.2]


def test_columns_of_any_type_with_texts_as_codes() -> None:
    codec = cone_codec(TEAM, **TEAM_MAP)
    message = decode(TEAM, codec.encode(sample_cones(5)))
    assert message.kind == ["L", "R", "?", "?", "?"]
    assert message.id.tolist() == [90, 91, 92, 93, 94]
    message.age = np.array([5, 6, 7, 8, 9], np.int8)
    message.from_ = 2.5
    cones = codec.decode(encode(TEAM, message))
    assert cones.ids is not None
    assert cones.ids.tolist() == [90, 91, 92, 93, 94]
    grown = replace(cones.take(np.array([4, 1, 1])), index=np.array([4, 1, -1], np.int32))
    back = decode(TEAM, codec.encode(grown))
    assert back.age.tolist() == [9, 6, 0]
    assert back.kind == ["?", "R", "R"]
    assert back.from_ == 2.5


def test_losses_of_a_map() -> None:
    lost = cone_codec(TEAM, **TEAM_MAP).losses(sample_cones(5))
    assert lost == (
        *("z", "covariance", "class probabilities"),
        *("the color of small orange cones", "the color of big orange cones"),
    )


def test_columns_of_unequal_length_are_an_error() -> None:
    message = decode(TEAM, cone_codec(TEAM, **TEAM_MAP).encode(sample_cones(3)))
    message.py = message.py[:2]
    with pytest.raises(MessageError, match=r"3 x, 2 y, 3 color, 3 id"):
        cone_codec(TEAM, **TEAM_MAP).decode(encode(TEAM, message))


def test_cmr_lists_by_class() -> None:
    schema = named("interfaces/msg/ConeArray")
    message = decode(schema, cone_codec(schema).encode(sample_cones(10)))
    assert [len(message.blue_cones), len(message.orange_cones)] == [2, 2]


@pytest.mark.parametrize(
    ("fields", "classes", "says"),
    [
        (None, None, r"'fields' must map names to paths"),
        ({"x": "px"}, None, r"positions are missing"),
        ({"x": "px", "y": "pz"}, None, r"y: team/msg/Seen has no field 'pz'; it has header, px"),
        (
            {"x": "px", "y": "py", "colour": "kind"},
            None,
            r"'colour'; did you mean 'color'",
        ),
        ({"x": "px", "y": "py", "color": "kind"}, None, r"'classes' must give codes"),
        ({"x": "px", "y": "py", "color": "kind"}, {"blue": 1}, r"blue is 1; string needs text"),
        ({"x": "px", "y": "py", "color": "kind"}, {"green": "G"}, r"'green' is no class"),
        ({"x": "px", "y": "py", "color": "age"}, {"blue": 200}, r"200, which no int8 holds"),
        ({"x": "px", "y": "py", "range": "px"}, None, r"not both"),
        ({"x": "px", "y": "kind"}, None, r"y: 'kind' is string\[\]; it must be an array of"),
        ({"x": "px", "y": "from"}, None, r"y: 'from' is float64; it must be an array of"),
        ({"x": "px.a", "y": "py"}, None, r"'px' has no fields to look into"),
        ({"cones": "px", "x": "x", "y": "y"}, None, r"'px' is no list of structs"),
        ({"cones": 3, "x": "x", "y": "y"}, None, r"cones is 3; it must be the path"),
        ({"x": "px", "y": "py", "header": "px"}, None, r"header: 'px' is float32, not std_msgs"),
    ],
)
def test_a_map_that_does_not_fit_says_why(fields: Any, classes: Any, says: str) -> None:
    options = {"fields": fields} | ({} if classes is None else {"classes": classes})
    with pytest.raises(UsageError, match=says):
        make(TEAM, options)
