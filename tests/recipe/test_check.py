from __future__ import annotations

from typing import get_args

import pytest

from bagnoise.recipe.check import recipe_of
from bagnoise.recipe.document import read_document, write_yaml
from bagnoise.recipe.problems import RecipeError
from bagnoise.recipe.sources import preset_names, preset_text
from bagnoise.steps.color import Color
from bagnoise.steps.curves import Curve
from bagnoise.steps.detection import Detection
from bagnoise.steps.registry import STEPS


def problems(text: str) -> list[str]:
    with pytest.raises(RecipeError) as caught:
        recipe_of(read_document(text, "r.yaml"))
    return [f"{p.where} {p.text}" for p in caught.value.problems]


def in_stream(steps: str) -> str:
    return f"streams:\n  s:\n    source: /x\n    steps:\n{steps}"


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_survives_being_written_with_every_default(name: str) -> None:
    recipe = recipe_of(read_document(preset_text(name), name))
    assert recipe_of(read_document(write_yaml(recipe.to_plain()), name)) == recipe


def test_every_error_is_named_at_once_with_its_place() -> None:
    text = in_stream("      - nois: {std_m: 1}\n      - noise: {std: 1}\n      - rate: {hz: -1}\n")
    assert problems(text) == [
        "r.yaml:5:9 streams.s.steps.0: unknown step 'nois'; did you mean 'noise'?",
        "r.yaml:6:17 streams.s.steps.1.noise.std: unknown option; did you mean 'std_m'?",
        (
            "r.yaml:7:16 streams.s.steps.2.rate.hz: "
            "input should be greater than or equal to 0.000001, not -1"
        ),
    ]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ("      - noise: {std_m: abc}\n", "valid number, not 'abc'"),
        ("      - noise: {std_m: true}\n", "valid number, not True"),
        ("      - noise: {std_m: .nan}\n", "finite number"),
        ("      - noise: {std_m: .inf}\n", "finite number"),
        ("      - noise: 5\n", "expected a mapping, not 5"),
        ("      - rate:\n", "streams.s.steps.0.rate.hz: is required"),
        ("      - {noise: {}, rate: {hz: 1}}\n", "exactly one key"),
        ("      - noise\n", "exactly one key"),
        ("      - color: {map: {blue: gren}}\n", "'blue', 'yellow'"),
        ("      - classes: {keep: [blu]}\n", "'blue', 'yellow'"),
        ("      - classes: {keep: []}\n", "at least 1 item"),
    ],
)
def test_a_wrong_step_is_one_clear_error(steps: str, expected: str) -> None:
    found = problems(in_stream(steps))
    assert len(found) == 1
    assert expected in found[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "a recipe is a mapping with 'streams', not empty"),
        ("- 1\n", "a recipe is a mapping with 'streams', not a list"),
        ("streams: {a: {source: /x}\n", "r.yaml:2:1 not valid YAML"),
        ("seed: x\n", "r.yaml:1:1 seed: input should be a valid integer, not 'x'"),
        ("steams: {}\n", "did you mean 'streams'?"),
        ("streams: {a b: {source: /x}}\n", "a stream's name is made of"),
        ("streams: {a: {}}\n", "streams.a.source: is required"),
        ("streams: {a: {source: /*, target: /x}}\n", "matches several topics"),
        ("seed: 1\nseed: 2\n", "duplicate key"),
        ("&r\nstreams: *r\n", "levels once aliases are expanded"),
    ],
)
def test_a_wrong_recipe_is_a_clear_error(text: str, expected: str) -> None:
    assert any(expected in found for found in problems(text))


def test_a_text_of_aliases_does_not_become_a_huge_tree() -> None:
    levels = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))
    assert "100000 values" in problems(f"a0: &a0 [x]\n{levels}")[0]


def test_an_empty_body_means_the_defaults() -> None:
    recipe = recipe_of(read_document(in_stream("      - color:\n"), "r.yaml"))
    assert recipe.streams["s"].steps[0] == Color()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("[1, 2]", "expected 3 values, not [1, 2]"),
        ("[]", "expected 3 values, not []"),
        ("[1, 2, 3, 4]", "expected at most 3 values, not [1, 2, 3, 4]"),
        ("1", "expected a list, not 1"),
    ],
)
def test_a_list_of_another_length_is_told_once(given: str, said: str) -> None:
    text = in_stream(f"      - sensor: {{xyz_m: {given}}}\n")
    assert problems(text) == [f"r.yaml:5:18 streams.s.steps.0.sensor.xyz_m: {said}"]


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("detection: {probability: 1.5}", "detection.probability: expected 0 to 1, not 1.5"),
        (
            "detection: {probability: {table: {up_to_m: [3], values: [0.5], beyond: -0.1}}}",
            "detection.probability: expected 0 to 1, not -0.1",
        ),
        ("duplicates: {probability: 2}", "duplicates.probability: expected 0 to 1, not 2"),
        ("false_positives: {per_cone: 2}", "false_positives.per_cone: expected 0 to 1, not 2"),
        ("color: {correct: -1}", "color.correct: expected 0 to 1, not -1"),
        ("noise: {std_x_m: -0.1}", "noise.std_x_m: expected 0 to 1e+06, not -0.1"),
        (
            "polar_noise: {range_std_m: {table: {up_to_m: [3, 5], values: [0.1, -0.1]}}}",
            "polar_noise.range_std_m: expected 0 to 1e+06, not -0.1",
        ),
        (
            "polar_noise: {bearing_std_rad: 90}",
            "polar_noise.bearing_std_rad: expected 0 to 4, not 90",
        ),
        (
            "polar_noise: {range_bias_m: -5000}",
            "polar_noise.range_bias_m: expected -1000 to 1000, not -5000",
        ),
    ],
)
def test_values_by_range_have_limits(step: str, said: str) -> None:
    (problem,) = problems(in_stream(f"      - {step}\n"))
    assert problem.endswith(f" streams.s.steps.0.{said}")


@pytest.mark.parametrize(
    ("step", "limits", "ends"),
    [
        (
            "polar_noise: {bearing_std_rad: {linear: {base: 1.0e+9, per_m: 1}}}",
            "0 to 4",
            "1e+09 at 0 m, 1e+09 at 100 m",
        ),
        (
            "noise: {std_x_m: {quadratic: {start: -3, per_m2: -1}}}",
            "0 to 1e+06",
            "-3 at 0 m, -10003 at 100 m",
        ),
        (
            "detection: {probability: {sigmoid: {mid_m: 5000, top: 100}}}",
            "0 to 1",
            "100 at 0 m, 100 at 100 m",
        ),
        (
            "duplicates: {probability: {exponential: {a: 2, b_per_m: 1.0e+12, base: 1}}}",
            "0 to 1",
            "3 at 0 m, inf at 100 m",
        ),
    ],
)
def test_a_form_that_is_never_within_limits_is_told(step: str, limits: str, ends: str) -> None:
    (problem,) = problems(in_stream(f"      - {step}\n"))
    assert problem.startswith("r.yaml:5:")
    assert problem.endswith(f": expected {limits}, but at no range is it ({ends})")


@pytest.mark.parametrize(
    "curve",
    [
        "{linear: {base: 1, per_m: 0.01}}",
        "{linear: {base: -0.5, per_m: 0.1}}",
        "{sigmoid: {mid_m: 1000}}",
        "{sigmoid: {mid_m: -1000, slope_per_m: 5}}",
        "{exponential: {a: 1, b_per_m: -1.0e+3}}",
        "{table: {up_to_m: [1000], values: [0.5], beyond: 0}}",
    ],
)
def test_a_form_may_leave_its_limits_at_some_range(curve: str) -> None:
    text = in_stream(f"      - detection: {{probability: {curve}}}\n")
    (step,) = recipe_of(read_document(text, "r.yaml")).streams["s"].steps
    assert isinstance(step, Detection)


def test_chances_and_deviations_by_range_are_of_kinds_with_limits() -> None:
    """A plain curve is only for what may be any number."""
    kinds = {
        f"{name}.{option}": step.__annotations__[option]
        for name, step in STEPS.items()
        for option, field in step.model_fields.items()
        if Curve in (field.annotation, *get_args(field.annotation))
        or any(Curve in get_args(one) for one in get_args(field.annotation))
    }
    assert len(kinds) >= 13
    assert [name for name, kind in kinds.items() if "Curve" in kind] == []
