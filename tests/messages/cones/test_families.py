"""What is particular to one family of cone messages."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from message_samples import T_NS, codec_named, sample_cones

from bagnoise.bags.model import Schema
from bagnoise.errors import MessageError, UsageError
from bagnoise.messages.definitions import shipped_definition
from bagnoise.messages.payload import ConeClass, Cones, source_rows
from bagnoise.messages.registry import cone_codec
from bagnoise.messages.typestore import blank_message, decode, encode

B, Y, S, G, U = ConeClass


def named(name: str, variant: str | None = None) -> Schema:
    schema = shipped_definition(name, variant)
    assert schema is not None
    return schema


def one_of_each(**values: Any) -> Cones:
    """Make five cones at x = 1 to 5, one of each class."""
    xyz = np.column_stack((np.arange(1.0, 6.0), np.zeros(5), np.zeros(5)))
    color = np.array([B, Y, S, G, U], np.int8)
    return Cones(T_NS, "map", xyz, color, source_rows(5), 5, **values)


@pytest.mark.parametrize(
    ("name", "variant", "options", "field", "codes"),
    [
        ("feb_msgs/msg/ConesCartesian", None, {}, "color", [2, 1, 0, 3, -1]),
        ("fs_msgs/msg/Track", None, {}, "track.color", [0, 1, 3, 2, 4]),
        ("driverless_msgs/msg/ConeDetectionStamped", None, {}, "cones.color", [0, 4, 3, 2, 1]),
        (
            "driverless_msgs/msg/ConeDetectionStamped",
            "before-2022-11",
            {},
            "cones.color",
            [0, 1, 3, 2, 4],
        ),
        (
            "driverless_msgs/msg/ConeDetectionStamped",
            None,
            {"numbering": "before-2022-11"},
            "cones.color",
            [0, 1, 3, 2, 4],
        ),
        (
            "fsd_common_msgs/msg/ConeDetections",
            None,
            {},
            "cone_detections.color.data",
            ["b", "y", "o", "o", ""],
        ),
        (
            "brains_custom_interfaces/msg/ConesObservations",
            None,
            {},
            "colors",
            [0, 1, 2, 3, 255],
        ),
        (
            "custom_interfaces/msg/ConeArray",
            None,
            {},
            "cone_array.color",
            ["blue_cone", "yellow_cone", "orange_cone", "large_orange_cone", "unknown"],
        ),
    ],
)
def test_color_codes(
    name: str, variant: str | None, options: dict[str, Any], field: str, codes: list[Any]
) -> None:
    codec = codec_named(name, variant, **options)
    message = decode(named(name, variant), codec.encode(one_of_each()))
    first, *rest = field.split(".")
    found = getattr(message, first)
    for part in rest:
        found = [getattr(element, part) for element in found]
    assert list(found) == codes


def test_eufs_arrays_hold_their_colors_in_stable_order() -> None:
    cones = one_of_each().take(np.array([4, 1, 0, 3, 1, 2, 0]))
    moved = replace(cones, xyz=cones.xyz + np.arange(7)[:, np.newaxis] * [0, 1, 0])
    name = "eufs_msgs/msg/ConeArrayWithCovariance"
    message = decode(named(name), codec_named(name).encode(moved))
    assert [cone.point.y for cone in message.blue_cones] == [2, 6]
    assert [cone.point.y for cone in message.yellow_cones] == [1, 4]
    assert [cone.point.y for cone in message.orange_cones] == [5]
    assert [cone.point.y for cone in message.big_orange_cones] == [3]
    assert [cone.point.y for cone in message.unknown_color_cones] == [0]


def test_a_definition_that_is_not_the_known_one_is_refused() -> None:
    schema = Schema("eufs_msgs/msg/ConeArray", "ros2msg", b"geometry_msgs/Point[] blue_cones\n")
    with pytest.raises(MessageError, match=r"holds blue_cones .* field map"):
        cone_codec(schema)


def test_a_definition_with_other_comments_and_spelling_is_accepted() -> None:
    shipped = named("eufs_msgs/msg/ConeArrayWithCovariance")
    text = shipped.data.replace(b"std_msgs/Header header", b"# team X\nHeader   header # stamp")
    codec = cone_codec(Schema("eufs_msgs/ConeArrayWithCovariance", "ros2msg", text))
    assert codec.decode(codec.encode(one_of_each())).color.tolist() == [B, Y, S, G, U]


def test_a_type_that_holds_no_cones_is_refused() -> None:
    with pytest.raises(MessageError, match=r"std_msgs/msg/String is no cone type"):
        cone_codec(Schema("std_msgs/msg/String", "ros2msg", b"string data"))


def test_an_option_that_a_type_does_not_have_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no option 'numbering'; it has none"):
        codec_named("eufs_msgs/msg/ConeArray", numbering="current")
    with pytest.raises(UsageError, match=r"numbering of .* is 'new'; it can be auto"):
        codec_named("driverless_msgs/msg/ConeDetectionStamped", numbering="new")


def test_plus_takes_the_likeliest_class_and_the_rest_is_unknown() -> None:
    name = "eufs_msgs/msg/ConeArrayWithCovariancePlus"
    message = blank_message(named(name))
    for blue, big in ((0.5, 0.4), (0.3, 0.31), (0.2, 0.2)):
        cone = blank_message(named(name), "eufs_msgs/msg/ConeWithCovariancePlus")
        cone.blue_prob, cone.big_orange_prob, cone.id = blue, big, 7
        message.cones.append(cone)
    data = encode(named(name), message)
    cones = codec_named(name).decode(data)
    assert cones.color.tolist() == [B, U, U]
    assert cones.ids is not None
    assert cones.ids.tolist() == [7, 7, 7]
    assert cones.probabilities is not None
    np.testing.assert_allclose(cones.probabilities[:, U], [0.1, 0.39, 0.6])


def test_a_changed_color_trades_places_with_the_likeliest() -> None:
    cones = sample_cones(5)
    recolored = replace(cones, color=np.array([Y, Y, S, G, U], np.int8))
    back = codec_named("pacsim/msg/PerceptionDetections")
    probabilities = back.decode(back.encode(recolored)).probabilities
    assert probabilities is not None
    assert probabilities[0].tolist() == [0.05, 0.8, 0.05, 0.05, 0.05]
    assert probabilities[1].tolist() == [0.05, 0.8, 0.05, 0.05, 0.05]


def pacsim_message(frames: list[str], variant: str | None = None) -> bytes:
    name = "pacsim/msg/PerceptionDetections"
    schema = named(name, variant)
    element = "pacsim/msg/Landmark" if variant is None else "pacsim/msg/PerceptionDetection"
    message = blank_message(schema)
    message.header.frame_id = "car"
    for row, frame_id in enumerate(frames):
        landmark = blank_message(schema, element)
        landmark.header.frame_id = frame_id
        landmark.header.stamp.nanosec = row
        landmark.pose.pose.position.x = 1.5 * row
        landmark.pose.covariance[:] = np.arange(36) + row
        landmark.class_probabilities[:] = [0.1, 0.2, 0.15, 0.3, 0.1, 0.1, 0.05]
        landmark.detection_probability = 0.9
        message.detections.append(landmark)
    return encode(schema, message)


@pytest.mark.parametrize("variant", [None, "no_id"])
@pytest.mark.parametrize(
    "frames", [["car"], ["car", "car", "car"], ["", "a", "ab", "abc", "abcd"], ["lidar", "x"]]
)
def test_pacsim_landmarks_with_headers_of_their_own(frames: list[str], variant: str | None) -> None:
    codec = codec_named("pacsim/msg/PerceptionDetections", variant)
    data = pacsim_message(frames, variant)
    cones = codec.decode(data)
    assert codec.encode(cones) == data
    assert cones.xyz[:, 0].tolist() == [1.5 * row for row in range(len(frames))]
    assert cones.color.tolist() == [Y] * len(frames)
    assert cones.covariance is not None
    assert cones.covariance[0].tolist() == [[0, 1, 2], [6, 7, 8], [12, 13, 14]]
    assert cones.extra["detection_probability"].tolist() == [0.9] * len(frames)
    last = decode(
        named("pacsim/msg/PerceptionDetections", variant),
        codec.encode(cones.take(np.array([len(frames) - 1]))),
    ).detections[0]
    assert last.header.frame_id == frames[-1]
    assert last.pose.covariance[35] == 35 + len(frames) - 1


def driverless_message(bare: list[float], with_cov: list[float]) -> bytes:
    schema = named("driverless_msgs/msg/ConeDetectionStamped")
    message = blank_message(schema)
    for x in bare:
        cone = blank_message(schema, "driverless_msgs/msg/Cone")
        cone.location.x, cone.color, cone.sim_cone_index = x, 4, 3
        message.cones.append(cone)
    for x in with_cov:
        cone = blank_message(schema, "driverless_msgs/msg/ConeWithCovariance")
        cone.cone.location.x, cone.cone.color, cone.cone.sim_cone_index = x, 4, 3
        cone.covariance[:] = [x, 0, 0, x]
        message.cones_with_cov.append(cone)
    return encode(schema, message)


@pytest.mark.parametrize(
    ("bare", "with_cov", "rows"),
    [
        ([1, 2], [1, 2], [1, 2]),  # the same cones twice
        ([1, 2], [], [1, 2]),
        ([], [1, 2], [1, 2]),
        ([1, 2], [3], [1, 2, 3]),
        ([1], [2], [1, 2]),
        ([], [], []),
    ],
)
def test_both_arrays_of_qutms_messages(
    bare: list[float], with_cov: list[float], rows: list[float]
) -> None:
    codec = codec_named("driverless_msgs/msg/ConeDetectionStamped")
    data = driverless_message(bare, with_cov)
    cones = codec.decode(data)
    assert cones.xyz[:, 0].tolist() == rows
    assert cones.color.tolist() == [Y] * len(rows)
    assert codec.encode(cones) == data
    message = decode(
        named("driverless_msgs/msg/ConeDetectionStamped"), codec.encode(cones.take(cones.index < 1))
    )
    assert [cone.location.x for cone in message.cones] == bare[:1]
    wanted = with_cov[:1] if len(bare) == len(with_cov) == len(rows) or not bare else []
    assert [cone.cone.location.x for cone in message.cones_with_cov] == wanted


@pytest.mark.parametrize("arrays", ["both", "cones", "cones_with_cov"])
def test_which_arrays_a_new_qutms_message_fills(arrays: str) -> None:
    name = "driverless_msgs/msg/ConeDetectionStamped"
    message = decode(named(name), codec_named(name, arrays=arrays).encode(one_of_each()))
    assert len(message.cones) == (0 if arrays == "cones_with_cov" else 5)
    assert len(message.cones_with_cov) == (0 if arrays == "cones" else 5)


def test_ids_that_do_not_fit_are_minus_one_and_named() -> None:
    codec = codec_named("driverless_msgs/msg/ConeDetectionStamped")
    cones = one_of_each(ids=np.array([0, 127, 128, 5, -1], np.int64))
    assert "ids beyond 8 bits" in codec.losses(cones)
    back = codec.decode(codec.encode(cones)).ids
    assert back is not None
    assert back.tolist() == [0, 127, -1, 5, -1]


def test_amz_colors_keep_their_spelling() -> None:
    name = "fsd_common_msgs/msg/ConeDetections"
    schema = named(name)
    message = blank_message(schema)
    for word in ("Y", "blue", "o", "", "x"):
        cone = blank_message(schema, "fsd_common_msgs/msg/Cone")
        cone.color.data = word
        message.cone_detections.append(cone)
    data = encode(schema, message)
    codec = codec_named(name)
    cones = codec.decode(data)
    assert cones.color.tolist() == [Y, U, S, U, U]
    assert codec.encode(cones) == data
    recolored = replace(cones, color=np.array([B, U, S, Y, U], np.int8))
    back = decode(schema, codec.encode(recolored))
    assert [cone.color.data for cone in back.cone_detections] == ["b", "blue", "o", "y", "x"]


def test_time_keeping_devices_of_a_track_are_carried_along() -> None:
    name = "fssim_common/msg/Track"
    schema = named(name)
    message = blank_message(schema)
    for field in ("cones_left", "cones_right", "tk_device_start", "tk_device_end"):
        point = blank_message(schema, "geometry_msgs/msg/Point")
        point.x = 3.0
        getattr(message, field).append(point)
    data = encode(schema, message)
    codec = codec_named(name)
    cones = codec.decode(data)
    assert cones.color.tolist() == [B, Y]
    assert codec.encode(cones) == data
    back = decode(schema, codec.encode(cones.take(np.array([1]))))
    assert [len(back.cones_left), len(back.cones_right)] == [0, 1]
    assert [len(back.tk_device_start), len(back.tk_device_end)] == [1, 1]


def test_unknown_cones_have_no_array_in_a_track_and_this_is_told() -> None:
    codec = codec_named("fssim_common/msg/Track")
    assert "unknown color cones (left out)" in codec.losses(one_of_each())
    assert codec.decode(codec.encode(one_of_each())).color.tolist() == [B, Y, S, G]


def test_fssim_cloud_has_the_twelve_fields() -> None:
    schema = named("sensor_msgs/msg/PointCloud2")
    data = codec_named(schema.name, layout="fssim").encode(sample_cones(4))
    cloud = decode(schema, data)
    assert [field.name for field in cloud.fields] == [
        *("x", "y", "z", "intensity"),
        *(f"covariance_{axes}" for axes in ("xx", "xy", "yx", "yy")),
        *(f"probability_{name}" for name in ("blue", "yellow", "orange", "other")),
    ]
    assert (cloud.height, cloud.width, cloud.point_step, cloud.row_step) == (1, 4, 48, 192)
    first = struct.unpack("<12f", bytes(cloud.data[:48]))
    np.testing.assert_allclose(first[:3], sample_cones(4).xyz[0], rtol=1e-6)
    np.testing.assert_allclose(first[8:], [0.8, 0.05, 0.1, 0.05], rtol=1e-6)


def test_fssim_cloud_of_pcl_with_filler_and_big_endian_values() -> None:
    schema = named("sensor_msgs/msg/PointCloud2")
    codec = codec_named(schema.name, layout="fssim")
    cloud = decode(schema, codec.encode(sample_cones(3)))
    values = np.frombuffer(cloud.data.tobytes(), "<f4").reshape(3, 12)
    padded = np.full((3, 16), 7.0, ">f4")
    padded[:, :3], padded[:, 4:13] = values[:, :3], values[:, 3:]
    for field in cloud.fields[3:]:
        field.offset += 4
    cloud.data = np.frombuffer(padded.tobytes(), np.uint8)
    cloud.is_bigendian, cloud.point_step, cloud.row_step = True, 64, 192
    data = encode(schema, cloud)
    cones = codec.decode(data)
    np.testing.assert_allclose(cones.xyz, sample_cones(3).xyz, rtol=1e-6)
    assert codec.encode(cones) == data


def test_a_cloud_without_cone_fields_is_refused() -> None:
    schema = named("sensor_msgs/msg/PointCloud2")
    cloud = decode(schema, codec_named(schema.name, layout="fssim").encode(sample_cones(3)))
    cloud.fields[8].name = "ring"
    with pytest.raises(MessageError, match=r"float32 fields probability_blue, missing"):
        codec_named(schema.name, layout="fssim").decode(encode(schema, cloud))


def test_an_empty_cloud_stays_as_it_is() -> None:
    schema = named("sensor_msgs/msg/PointCloud2")
    data = encode(schema, blank_message(schema))
    codec = codec_named(schema.name, layout="fssim")
    assert codec.encode(codec.decode(data)) == data


def test_signalling_nans_of_float32_keep_their_bits() -> None:
    name = "sensor_msgs/msg/PointCloud"
    codec = codec_named(name)
    data = codec.encode(one_of_each())
    at = data.index(struct.pack("<3f", 2.0, 0.0, 0.0))
    data = data[:at] + bytes.fromhex("0000a07f") + data[at + 4 :]
    assert codec.encode(codec.decode(data)) == data


def test_the_noise_simulators_view_has_z_zero_and_no_channels() -> None:
    name = "sensor_msgs/msg/PointCloud"
    message = decode(named(name), codec_named(name).encode(sample_cones(4)))
    assert [point.z for point in message.points] == [0.0] * 4
    assert message.channels == []
    np.testing.assert_allclose([p.x for p in message.points], sample_cones(4).xyz[:, 0], rtol=1e-6)


def test_detections_have_a_hypothesis_a_class_best_first() -> None:
    name = "vision_msgs/msg/Detection3DArray"
    detection = decode(named(name), codec_named(name).encode(sample_cones(5))).detections[1]
    assert detection.results[0].hypothesis.class_id == "yellow_cone"
    scores = [result.hypothesis.score for result in detection.results]
    assert scores == [0.8, 0.05, 0.05, 0.05, 0.05]
    assert detection.id == "91"
    assert detection.bbox.size.z == 0.325
    assert detection.results[0].pose.covariance[7] == sample_cones(5).covariance[1, 1, 1]  # type: ignore[index]


@pytest.mark.parametrize("word", ["blue", "Blue_Cone", "BLUE"])
def test_detections_of_others_are_read_by_their_words(word: str) -> None:
    name = "vision_msgs/msg/Detection3DArray"
    schema = named(name)
    message = blank_message(schema)
    detection = blank_message(schema, "vision_msgs/msg/Detection3D")
    result = blank_message(schema, "vision_msgs/msg/ObjectHypothesisWithPose")
    result.hypothesis.class_id, result.hypothesis.score = word, 0.7
    result.pose.pose.position.x = 4.0
    detection.results.append(result)
    detection.id = "track seven"
    message.detections.append(detection)
    data = encode(schema, message)
    codec = codec_named(name)
    cones = codec.decode(data)
    assert cones.color.tolist() == [B]
    assert cones.xyz.tolist() == [[4.0, 0.0, 0.0]]
    assert cones.ids is None
    assert codec.encode(cones) == data


def test_what_a_type_cannot_hold_is_named() -> None:
    cones = replace(sample_cones(5), extra={"confidence": np.ones(5)}, message_extra={"e": 1})
    lost = codec_named("feb_msgs/msg/ConesCartesian").losses(cones)
    assert lost == ("z", "covariance", "class probabilities", "id", "confidence", "e")
    assert codec_named("eufs_msgs/msg/ConeArrayWithCovariance").losses(cones)[0] == (
        "covariance of z"
    )
    assert "the color of big orange cones" in codec_named(
        "fsd_common_msgs/msg/ConeDetections"
    ).losses(cones)
    flat = one_of_each(covariance=np.zeros((5, 3, 3)))
    assert codec_named("feb_msgs/msg/ConesCartesian").losses(flat) == ()


def test_channels_of_a_point_cloud_go_with_their_points() -> None:
    name = "sensor_msgs/msg/PointCloud"
    schema = named(name)
    message = decode(schema, codec_named(name).encode(one_of_each()))
    for title, values in (("intensity", [1, 2, 3, 4, 5]), ("whole", [7, 8])):
        channel = blank_message(schema, "sensor_msgs/msg/ChannelFloat32")
        channel.name, channel.values = title, np.array(values, np.float32)
        message.channels.append(channel)
    data = encode(schema, message)
    codec = codec_named(name)
    cones = codec.decode(data)
    assert codec.encode(cones) == data
    back = decode(schema, codec.encode(cones.take(np.array([3, 0]))))
    assert [channel.values.tolist() for channel in back.channels] == [[4, 1], [7, 8]]
