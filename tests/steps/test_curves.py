"""Curves by range against their written formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from bagnoise.steps.curves import Curve

D = np.array([0.0, 1.0, 5.0, 10.0, 15.0, 45.0])


@pytest.mark.parametrize(
    ("plain", "expected"),
    [
        (0.25, [0.25] * 6),
        ({"linear": {"base": 1, "per_m": -0.01}}, [1 - 0.01 * d for d in D]),
        (  # PacSim's detection
            {
                "quadratic": {
                    "start": 0.99,
                    "per_m": -0.01,
                    "per_m2": -0.00012,
                    "from_m": 1,
                    "floor": 0.1,
                }
            },
            [max(0.1, 0.99 - 0.01 * (d - 1) - 0.00012 * (d - 1) ** 2) for d in D],
        ),
        (  # EUFS' depth noise
            {"exponential": {"a": 0.0184, "b_per_m": 0.2106, "cap": 70}},
            [0.0184 * min(70, math.exp(0.2106 * d)) for d in D],
        ),
        (  # InvictaSim's detection
            {"sigmoid": {"mid_m": 30, "slope_per_m": 0.5}},
            [1 / (1 + math.exp(0.5 * (d - 30))) for d in D],
        ),
        (
            {"table": {"up_to_m": [1, 5, 12], "values": [1, 2, 3], "beyond": 0}},
            [1, 1, 2, 3, 0, 0],
        ),
        ({"table": {"up_to_m": [1, 5], "values": [1, 2]}}, [1, 1, 2, 2, 2, 2]),
    ],
)
def test_formula_and_round_trip(plain: Any, expected: list[float]) -> None:
    curve = Curve.model_validate(plain)
    assert curve.at(D).tolist() == pytest.approx(expected, rel=1e-12)
    assert Curve.model_validate(curve.model_dump(mode="json")) == curve


def test_the_stated_values_of_the_origins() -> None:
    pacsim = Curve.model_validate(
        {"quadratic": {"start": 0.99, "per_m": -0.01, "per_m2": -0.00012, "from_m": 1}}
    )
    assert pacsim.at(np.array([10.0, 20.0, 45.0])) == pytest.approx([0.89, 0.757, 0.32], abs=0.005)
    eufs = Curve.model_validate({"exponential": {"a": 0.0184, "b_per_m": 0.2106}})
    assert eufs.at(np.array([5.0, 10.0, 15.0])) == pytest.approx([0.053, 0.151, 0.433], abs=5e-4)


@pytest.mark.parametrize(
    "plain",
    [
        {},
        {"constant": 1, "linear": {"base": 1}},
        {"table": {"up_to_m": [2, 1], "values": [0, 0]}},
        {"table": {"up_to_m": [1], "values": [0, 0]}},
        {"linear": {"slope": 1}},
        True,
        float("nan"),
        "0.1",
    ],
)
def test_what_is_no_curve(plain: Any) -> None:
    with pytest.raises(ValidationError):
        Curve.model_validate(plain)
