"""Definitions that ship, and those of a user's folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bagnoise.errors import MessageError, UsageError
from bagnoise.messages.definitions import definitions_from, shipped_definition
from bagnoise.messages.ros_types import ros_definition_text
from bagnoise.messages.schema_text import structure

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_a_shipped_text_holds_all_it_depends_on() -> None:
    schema = shipped_definition("eufs_msgs/ConeArrayWithCovariance")
    assert schema is not None
    assert schema.name == "eufs_msgs/msg/ConeArrayWithCovariance"
    titles = [line for line in schema.data.decode().splitlines() if line.startswith("MSG: ")]
    assert titles == [
        "MSG: std_msgs/Header",
        "MSG: builtin_interfaces/Time",
        "MSG: eufs_msgs/ConeWithCovariance",
        "MSG: geometry_msgs/Point",
    ]


def test_both_layouts_of_cones_cartesian_ship() -> None:
    plain = shipped_definition("feb_msgs/msg/ConesCartesian")
    timed = shipped_definition("feb_msgs/msg/ConesCartesian", "eval_time")
    assert plain is not None
    assert timed is not None
    assert [field[0] for field in structure(plain)] == ["header", "x", "y", "color"]
    assert [field[0] for field in structure(timed)][-1] == "eval_time"


def test_an_unknown_layout_is_an_error_that_lists_the_known() -> None:
    with pytest.raises(MessageError, match=r"no layout 'new'; known ones .*: eval_time"):
        shipped_definition("feb_msgs/msg/ConesCartesian", "new")


def test_types_of_ros_are_known_and_others_not() -> None:
    assert shipped_definition("sensor_msgs/msg/PointCloud2") is not None
    assert shipped_definition("nobody_msgs/msg/Nothing") is None


@pytest.mark.parametrize("folder", ["", "src/deep/", "ws/"])
def test_a_folder_of_definitions_is_searched(tmp_path: Path, folder: str) -> None:
    write(tmp_path / f"{folder}team_msgs/msg/Cone.msg", "geometry_msgs/Point p\nKind kind\n")
    write(tmp_path / f"{folder}team_msgs/msg/Kind.msg", "uint8 BLUE=1\nuint8 value\n")
    found = definitions_from(tmp_path)("team_msgs/Cone")
    assert found is not None
    assert [field[0] for field in structure(found)] == ["p", "kind"]


def test_a_package_folder_without_msg_is_searched(tmp_path: Path) -> None:
    write(tmp_path / "team_msgs/Cone.msg", "float64 x\n")
    assert definitions_from(tmp_path)("team_msgs/msg/Cone") is not None


def test_a_users_definition_comes_before_ours(tmp_path: Path) -> None:
    write(tmp_path / "feb_msgs/msg/ConesCartesian.msg", "float32 mine\n")
    found = definitions_from(tmp_path)("feb_msgs/msg/ConesCartesian")
    assert found is not None
    assert [field[0] for field in structure(found)] == ["mine"]
    assert definitions_from(tmp_path)("eufs_msgs/msg/ConeArray") is not None
    assert definitions_from(tmp_path)("nobody_msgs/msg/Nothing") is None


def test_a_bad_line_is_named_by_file_and_number(tmp_path: Path) -> None:
    path = tmp_path / "team_msgs/msg/Cone.msg"
    write(path, "# a cone\nfloat64 x\nfloat64 y z\nfloat64\n")
    with pytest.raises(MessageError, match=r"Cone\.msg, line 4: 'float64' is neither"):
        definitions_from(tmp_path)("team_msgs/msg/Cone")


def test_a_missing_dependency_is_named_by_file_and_line(tmp_path: Path) -> None:
    write(tmp_path / "team_msgs/msg/Cone.msg", "float64 x\nother_msgs/Kind kind\n")
    with pytest.raises(MessageError, match=r"Cone\.msg, line 2: .* of other_msgs/msg/Kind"):
        definitions_from(tmp_path)("team_msgs/msg/Cone")


def test_a_folder_without_definitions_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no <package>/msg/<Name>\.msg"):
        definitions_from(tmp_path)
    with pytest.raises(UsageError, match="there is no folder"):
        definitions_from(tmp_path / "missing")


def test_types_that_refer_to_each_other_end(tmp_path: Path) -> None:
    write(tmp_path / "team_msgs/msg/A.msg", "B b\n")
    write(tmp_path / "team_msgs/msg/B.msg", "A a\n")
    found = definitions_from(tmp_path)("team_msgs/msg/A")
    assert found is not None
    with pytest.raises(MessageError, match="circular"):
        structure(found)


@pytest.mark.parametrize(
    "name",
    [
        "sensor_msgs/msg/PointCloud",
        "sensor_msgs/msg/PointCloud2",
        "visualization_msgs/msg/MarkerArray",
        "geometry_msgs/msg/PoseWithCovariance",
    ],
)
def test_shipped_types_of_ros_are_those_of_ros(name: str) -> None:
    shipped = shipped_definition(name)
    text = ros_definition_text(name)
    assert shipped is not None
    assert text is not None
    assert shipped.data.decode() == text
