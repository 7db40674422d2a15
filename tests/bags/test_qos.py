from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlite_samples import QOS_INTS

from bagnoise.bags.model import QOS_KEY, Channel, Schema
from bagnoise.bags.qos import (
    NEW_TOPIC_QOS,
    Qos,
    QosTime,
    is_latched,
    parse_qos,
    qos_text_for,
    render_qos,
)

NAMED = """- history: keep_last
  depth: 5
  reliability: best_effort
  durability: transient_local
  deadline: {sec: 0, nsec: 1}
  lifespan: {sec: 9223372036, nsec: 854775807}
  liveliness: automatic
  liveliness_lease_duration: {sec: 9223372036, nsec: 854775807}
  avoid_ros_namespace_conventions: true
"""
profiles = st.builds(
    Qos,
    history=st.sampled_from(["system_default", "keep_last", "keep_all", "unknown"]),
    depth=st.integers(0, 1000),
    reliability=st.sampled_from(["reliable", "best_effort", "best_available"]),
    durability=st.sampled_from(["transient_local", "volatile", "unknown"]),
    deadline=st.builds(QosTime, st.integers(0, 2**63), st.integers(0, 2**32)),
    avoid_ros_namespace_conventions=st.booleans(),
)


@given(st.lists(profiles, max_size=3), st.sampled_from([8, 9]))
def test_round_trip(given_profiles: list[Qos], version: int) -> None:
    assert parse_qos(render_qos(given_profiles, version)) == tuple(given_profiles)


def test_numbers_and_names_mean_the_same() -> None:
    expected = Qos(durability="transient_local")
    assert parse_qos(QOS_INTS) == (expected,)
    assert render_qos([expected], 8) == QOS_INTS
    named = Qos(
        depth=5,
        reliability="best_effort",
        durability="transient_local",
        deadline=QosTime(0, 1),
        avoid_ros_namespace_conventions=True,
    )
    assert parse_qos(NAMED) == (named,)


@pytest.mark.parametrize("text", ["", "  \n", "[]", "~"])
def test_no_profile(text: str) -> None:
    assert parse_qos(text) == ()


@pytest.mark.parametrize("text", ["a: b", "- 1", "[", "word", "- a: &x\n- *y", "x" * 100_000])
def test_no_qos_text(text: str) -> None:
    assert parse_qos(text) is None
    assert qos_text_for(text, 8) == text
    assert qos_text_for(text, 9) == text


def test_odd_values_are_unknown() -> None:
    (qos,) = parse_qos("- {history: 99, depth: -1, durability: [1], deadline: 5}") or ()
    assert (qos.history, qos.depth, qos.durability) == ("unknown", 0, "unknown")
    assert qos.deadline == QosTime(0, 0)


def test_text_is_changed_only_where_the_version_asks_for_it() -> None:
    assert qos_text_for(QOS_INTS, 8) is QOS_INTS
    assert qos_text_for(NAMED, 9) is NAMED
    assert parse_qos(qos_text_for(NAMED, 8)) == parse_qos(NAMED)
    assert "reliability: 2" in qos_text_for(NAMED, 8)
    assert "durability: transient_local" in qos_text_for(QOS_INTS, 9)


def test_new_topics_are_reliable_volatile_keep_last_1() -> None:
    assert parse_qos(NEW_TOPIC_QOS) == (Qos("keep_last", 1, "reliable", "volatile"),)
    assert "reliability: 1" in NEW_TOPIC_QOS


@pytest.mark.parametrize(("text", "latched"), [(QOS_INTS, True), (NAMED, True), ("", False)])
def test_latched(text: str, latched: bool) -> None:
    assert is_latched(Channel(1, "/a", Schema("x"), "cdr", {QOS_KEY: text})) == latched
    assert not is_latched(Channel(1, "/a", Schema("x")))
