"""Seen classes against the matrices that ask for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cone_runs import at_range, cones_at, run
from scipy import stats
from statistics_checks import are_uncorrelated

from bagnoise.messages.payload import ConeClass, Cones
from bagnoise.steps.color import Color

B, Y, S, O, U = ConeClass  # noqa: E741
LOST = 5


def color(**options: Any) -> Color:
    return Color.model_validate(options)


def outcomes(step: Color, cones: Cones, messages: int) -> np.ndarray:
    """Return (messages, n): the seen class, 5 where undetected."""
    found = np.full((messages, cones.source_count), LOST)
    for row, made in zip(found, run(step, cones, messages), strict=True):
        row[made.index] = made.color
    return found


def follows(found: np.ndarray, chances: list[float]) -> bool:
    """Chi-square test of the frequencies of what is possible; the impossible must not happen."""
    counts = np.bincount(found.ravel(), minlength=6)
    possible = np.array(chances) > 0
    if counts[~possible].any():
        return False
    expected = np.array(chances)[possible] * found.size
    return bool(stats.chisquare(counts[possible], expected).pvalue > 1e-6)


EUFS = {
    "blue": {"blue": 0.69, "yellow": 0.0005, "undetected": 0.3095},
    "big_orange": {"big_orange": 0.5, "small_orange": 0.1, "undetected": 0.4},
}


def test_the_recolor_matrix() -> None:
    step = color(confusion=EUFS)
    blue = outcomes(step, at_range(5, 40), 1000)
    assert follows(blue, [0.69, 0.0005, 0, 0, 0, 0.3095])
    assert not follows(blue, [0.67, 0.0005, 0, 0, 0, 0.3295])
    assert are_uncorrelated(blue[1:] == B, blue[:-1] == B)
    big = outcomes(step, replace(at_range(5, 40), color=np.full(40, O, np.int8)), 1000)
    assert follows(big, [0, 0, 0.1, 0.5, 0, 0.4])
    yellow = outcomes(step, replace(at_range(5, 40), color=np.full(40, Y, np.int8)), 3)
    assert (yellow == Y).all()  # no row: nothing happens


@pytest.mark.parametrize("range_m", [5.0, 14.0])
def test_correct_wrong_and_the_rest_by_range(range_m: float) -> None:
    step = color(
        correct={"table": {"up_to_m": [10, 20], "values": [0.9, 0.6]}},
        wrong={"linear": {"per_m": 0.006}},
    )
    right, wrong = (0.9, 0.03) if range_m == 5 else (0.6, 0.084)
    found = outcomes(step, at_range(range_m, 40), 1000)
    assert follows(found, [right, *[wrong / 3] * 3, 1 - right - wrong, 0])
    assert not follows(found, [right - 0.02, *[wrong / 3] * 3, 1.02 - right - wrong, 0])


def test_pacsims_draw_over_five_classes() -> None:
    step = color(
        correct=0.8,
        otherwise=dict.fromkeys(("unknown", "blue", "yellow", "small_orange", "big_orange"), 1.0),
    )
    found = outcomes(step, at_range(5, 40), 1000)
    assert follows(found, [0.84, 0.04, 0.04, 0.04, 0.04, 0])
    assert not follows(found, [0.8, 0.05, 0.05, 0.05, 0.05, 0])


def test_probabilities_swapped_one_hot_and_posterior() -> None:
    certain = replace(at_range(5, 200), probabilities=np.tile((0.7, 0.1, 0.1, 0.1, 0), (200, 1)))
    swapped = next(run(color(correct=0.0, wrong=1.0), certain, 1))
    assert swapped.probabilities is not None
    assert (swapped.probabilities[np.arange(200), swapped.color] == 0.7).all()
    assert (swapped.probabilities[:, B] == 0.1).all()
    hot = next(run(color(correct=0.5, probabilities="one_hot"), at_range(5, 50), 1))
    assert hot.probabilities is not None
    assert (hot.probabilities == np.eye(5)[hot.color]).all()
    # seen blue: P(blue | blue) = 0.7 / (0.7 + 3 * 0.2 / 3)
    post = next(run(color(correct=0.7, wrong=0.2, probabilities="posterior"), at_range(5, 50), 1))
    assert post.probabilities is not None
    row = post.probabilities[post.color == B][0]
    third = 0.2 / 3
    total = 0.7 + 3 * third
    expected = [0.7 / total, third / total, third / total, third / total, 0]
    assert row.tolist() == pytest.approx(expected)


def test_no_color_far_off_or_out_of_the_cameras_view() -> None:
    cones = cones_at([(4, 0, 0), (11, 0, 0), (0, 5, 0)])
    assert next(run(color(strip_beyond_m=10), cones, 1)).color.tolist() == [B, U, B]
    outside = color(strip_outside={"horizontal_deg": 110, "max_range_m": 20})
    assert next(run(outside, cones, 1)).color.tolist() == [B, B, U]
    turned = color(strip_outside={"horizontal_deg": 110, "rpy_deg": [0, 0, 90]})
    assert next(run(turned, cones, 1)).color.tolist() == [U, U, B]
    assert next(run(outside, cones, 1)).index.tolist() == [0, 1, 2]  # no shuffling


def test_a_ghost_keeps_its_color() -> None:
    ghost = replace(cones_at([(4, 0, 0)]), index=np.array([-1], np.int32))
    assert next(run(color(correct=0.0), ghost, 1)).color.tolist() == [B]


def test_a_filter_before_moves_no_confusion() -> None:
    cones = at_range(5, 40)
    step = color(correct=0.5, wrong=0.3)
    whole = outcomes(step, cones, 10)
    some = outcomes(step, cones.take(np.array([3, 17, 21])), 10)
    assert np.array_equal(whole[:, [3, 17, 21]], some[:, [3, 17, 21]])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"confusion": {"blue": {"blue": 0.9}}}, "sum to 1, not 0.9"),
        ({"confusion": {"blue": {"blue": 1.0}}, "correct": 0.5}, "not both"),
        ({"wrong": 0.5}, "wrong needs correct"),
        ({"otherwise": {"unknown": 0.0}}, "weights"),
    ],
)
def test_what_is_wrong_is_said(options: dict[str, Any], said: str) -> None:
    assert said in " ".join(color(**options).check())
