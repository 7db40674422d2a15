"""Every number that an option may hold has limits, and steps work at them."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from analytic_cloud import STAMP_NS, cloud_of
from pydantic import ValidationError

from bagnoise.augment.chain import PayloadStage
from bagnoise.messages.cloud import Cloud
from bagnoise.steps.base import CloudStep, Step, Tally
from bagnoise.steps.registry import STEPS

LOW, HIGH = ("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")


def numbers(schema: dict[str, Any], at: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every number of a JSON schema; where a curve stands, its kind has the limits."""
    if schema.get("type") in {"number", "integer"}:
        yield at, schema
    choices = schema.get("anyOf", [])
    if at.endswith(".Curve"):
        choices = choices[1:]
    for name, inner in {**schema.get("properties", {}), **schema.get("$defs", {})}.items():
        yield from numbers(inner, f"{at}.{name}")
    items = schema.get("items", {})
    values = schema.get("additionalProperties", {})
    parts = [items, values, *choices, *schema.get("prefixItems", [])]
    for inner in parts:
        if isinstance(inner, dict) and inner:
            yield from numbers(inner, at)


@pytest.mark.parametrize("name", STEPS)
def test_every_number_has_limits(name: str) -> None:
    for at, schema in numbers(STEPS[name].model_json_schema(), name):
        assert schema.keys() & {*LOW}, at
        assert schema.keys() & {*HIGH}, at


def test_the_numbers_are_found() -> None:
    found = [at for name in STEPS for at, _ in numbers(STEPS[name].model_json_schema(), name)]
    for at in (
        "sensor.xyz_m",
        "color.confusion",
        "color.MountedView.max_range_m",
        "detection.by_class",
        "detection.Linear.base",
        "incomplete_echo.boxes",
        "camera_lidar.max_approx_error_deg",
    ):
        assert at in found
    assert len(found) > 300


SHARES = ("probability", "share", "fraction", "patchiness", "hidden", "density")
DEVIATIONS = ("std", "jitter", "accuracy", "deviation")


@pytest.mark.parametrize(
    ("words", "wrong"), [(SHARES, (-0.01, 1.01)), (DEVIATIONS, (-0.01, -1e300, 1e300))]
)
def test_chances_and_deviations_are_such(words: tuple[str, ...], wrong: tuple[float, ...]) -> None:
    found = 0
    for step in STEPS.values():
        for option in step.model_fields:
            if not any(word in option for word in words):
                continue
            found += 1
            for value in wrong:
                asked = [value] * 3 if option == "jitter_std_m" else value
                assert is_refused(step, option, asked), (step.name, option, value)
    assert found > 12


def is_refused(step: type[Step], option: str, value: object) -> bool:
    try:
        made = step.model_validate({option: value})
    except ValidationError as error:
        return option in {detail["loc"][0] for detail in error.errors()}
    return any(option in text for text in made.check())


BASES: dict[str, dict[str, Any]] = {
    "camera_lidar": {"model": "VLP-16", "columns": 90},
    "fog": {"meteorological_range_m": 50.0},
    "rain": {"rate_mm_h": 20.0},
    "snow": {"rate_mm_h": 2.0},
    "sun": {"lost_probability": 0.5, "noise_probability": 0.5},
    "cutout": {"patches": 2},
    "beam_missing": {"count": 2},
    "crosstalk": {"fraction": 0.5},
    "intensity_noise": {"std": 1.0},
    "range_noise": {"std_m": 0.1},
    "dropout": {"probability": 0.1},
}
LOWEST_ABOVE = 1e-300


def ends(schema: dict[str, Any]) -> list[float]:
    """Return the least and the greatest value of an option that is one number."""
    if schema.get("type") not in {"number", "integer"}:
        choices = [c for c in schema.get("anyOf", []) if c.get("type") in {"number", "integer"}]
        return ends(choices[0]) if choices else []
    low = schema.get("minimum", schema.get("exclusiveMinimum", 0) + LOWEST_ABOVE)
    high = schema.get("maximum", np.nextafter(schema.get("exclusiveMaximum", 0), 0))
    is_whole = schema["type"] == "integer"
    return [int(low), int(high)] if is_whole else [float(low), float(high)]


# of clouds, color takes no option that is a number
CLOUD_STEPS = [name for name, s in STEPS.items() if issubclass(s, CloudStep) and name != "color"]


@pytest.mark.parametrize("name", CLOUD_STEPS)
def test_clouds_take_every_option_at_its_limits(name: str) -> None:
    rays = np.random.default_rng(1).uniform(-30, 30, (320, 3))
    cloud = cloud_of(rays, np.arange(320) % 100, rows=16)
    tally = Tally()
    for option, schema in STEPS[name].model_json_schema()["properties"].items():
        for value in ends(schema):
            step = STEPS[name].model_validate({**BASES.get(name, {}), option: value})
            if step.check():
                continue
            sample: Any = SimpleNamespace(key_ns=7, occurrence=0, log_ns=STAMP_NS)
            made = PayloadStage(step, (0, "s", name), tally).apply(sample, cloud)
            assert isinstance(made, Cloud), (option, value)
