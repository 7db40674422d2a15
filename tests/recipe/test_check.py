from __future__ import annotations

import pytest

from bagnoise.recipe.check import recipe_of
from bagnoise.recipe.document import read_document, write_yaml
from bagnoise.recipe.problems import RecipeError
from bagnoise.recipe.sources import preset_names, preset_text
from bagnoise.steps.color import Color


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
