"""Sample bags: the circuit, and that the cones are what EUFS would send of it."""

from __future__ import annotations

import numpy as np
from sample_reader import COLORS, CONES, TRACK, Array, Odometry, lap, stamp_ns, xy


def test_track_through_odometry_gives_the_cones() -> None:
    (track,) = lap().messages(TRACK)
    course = [xy(getattr(track, f"{color}_cones")) for color in COLORS]
    color_of = np.repeat(np.arange(4), [len(part) for part in course])
    odometry = Odometry.of(lap())
    row_of = {stamp: row for row, stamp in enumerate(odometry.stamp_ns.tolist())}
    for message in lap().messages(CONES):
        x0, y0, qz, qw = odometry.pose[row_of[stamp_ns(message)]]
        c, s = 1 - 2 * qz * qz, 2 * qz * qw
        east, north = (np.concatenate(course) - (x0, y0)).T
        x, y = c * east + s * north, c * north - s * east
        distance, bearing = np.hypot(x, y), np.arctan2(y, x)
        camera = (distance >= 1) & (distance <= 15) & (np.abs(bearing) <= np.deg2rad(55))
        lidar = (x > 0) & (x <= 20) & (np.abs(y) <= 20) & (distance >= 1) & ~camera
        places = np.stack([x, y], axis=1)
        expected = [places[camera & (color_of == i)] for i in range(4)] + [places[lidar]]
        for color, places_of_color in zip((*COLORS, "unknown_color"), expected, strict=True):
            found = xy(getattr(message, f"{color}_cones"))
            np.testing.assert_allclose(found, places_of_color, rtol=0, atol=1e-12)


def test_frames_and_covariances_of_cones() -> None:
    assert {m.header.frame_id for m in lap().messages(TRACK)} == {"map"}
    assert {m.header.frame_id for m in lap().messages(CONES)} == {"base_footprint"}
    assert all(not cone.covariance.any() for m in lap().messages(CONES) for cone in m.blue_cones)


def test_every_kind_of_cone_is_seen_on_the_lap() -> None:
    for color in (*COLORS, "unknown_color"):
        assert any(getattr(message, f"{color}_cones") for message in lap().messages(CONES))


def test_blue_is_left_and_yellow_right_of_the_car() -> None:
    sides = {"blue": 1, "yellow": -1}
    count = 0
    for message in lap().messages(CONES):
        for color, side in sides.items():
            beside = [p for p in xy(getattr(message, f"{color}_cones")) if 0 < p[0] < 3]
            count += len(beside)
            assert all(side * y > 1.0 for _, y in beside)
    assert count > 1000


def rows() -> dict[str, Array]:
    """Each side's cones in driving order, closed over the gate: its orange ones come last."""
    (track,) = lap().messages(TRACK)
    sides: dict[str, Array] = {}
    for color, sign in (("blue", 1), ("yellow", -1)):
        gate = np.concatenate([xy(track.orange_cones), xy(track.big_orange_cones)])
        gate = gate[gate[:, 1] * sign > 0]
        sides[color] = np.concatenate([xy(getattr(track, f"{color}_cones")), gate])
    return sides


def crosses(a: Array, b: Array) -> bool:
    """Whether any edge of polyline a crosses any of b; neighbours may touch."""

    def side(p: Array, q: Array, r: Array) -> Array:
        one, two = q - p, r - p
        return np.asarray(one[..., 0] * two[..., 1] - one[..., 1] * two[..., 0])

    p, q = a[:-1, None], a[1:, None]
    r, s = b[None, :-1], b[None, 1:]
    return bool(((side(p, q, r) * side(p, q, s) < 0) & (side(r, s, p) * side(r, s, q) < 0)).any())


def test_circuit_obeys_the_rules() -> None:
    sides = {color: np.concatenate([row, row[:1]]) for color, row in rows().items()}
    for row in sides.values():
        spacing = np.hypot(*np.diff(row, axis=0).T)
        assert spacing.max() <= 5.0
        assert spacing.min() >= 0.9
    gaps = sides["blue"][:, None] - sides["yellow"][None, :]
    assert np.hypot(gaps[..., 0], gaps[..., 1]).min() >= 3.0


def test_circuit_does_not_cross_itself() -> None:
    sides = [np.concatenate([row, row[:1]]) for row in rows().values()]
    path = Odometry.of(lap()).pose[60::20, :2]
    for a, b in [(s, s) for s in sides] + [
        (sides[0], sides[1]),
        (path, sides[0]),
        (path, sides[1]),
    ]:
        assert not crosses(a, b)
    knot = np.array([(0.0, 0.0), (2.0, 2.0), (2.0, 0.0), (0.0, 2.0)])
    assert crosses(knot, knot)
