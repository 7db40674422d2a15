from __future__ import annotations

from pathlib import Path

import pytest

from bagnoise.errors import UsageError
from bagnoise.recipe.load import Request, load_recipe
from bagnoise.recipe.overrides import Override, parse_set
from bagnoise.recipe.problems import RecipeError
from bagnoise.steps.base import Step
from bagnoise.steps.noise import Noise
from bagnoise.steps.timing import Latency, Rate


def step(recipe: object, stream: str, kind: type[Step]) -> Step:
    streams = recipe.streams  # type: ignore[attr-defined]
    return next(s for s in streams[stream].steps if isinstance(s, kind))


def test_the_default_is_the_simulator_with_the_nodes_defaults() -> None:
    recipe = load_recipe(Request())
    assert recipe.seed == 0
    for stream, hz, std_m in (("camera", 25, 0.25), ("lidar", 10, 0.15)):
        assert step(recipe, stream, Rate) == Rate(hz=hz)
        assert step(recipe, stream, Noise) == Noise(std_m=std_m)
        assert step(recipe, stream, Latency) == Latency(mean_s=0.01, std_s=1e-5)


def test_set_wins_over_flags_and_flags_over_the_recipe() -> None:
    flag = Override("camera.noise.std_m", 0.5, "--camera-noise-std")
    assert step(load_recipe(Request(flags=[flag])), "camera", Noise) == Noise(std_m=0.5)
    both = Request(flags=[flag], sets=[parse_set("camera.noise.std_m=0.7")])
    assert step(load_recipe(both), "camera", Noise) == Noise(std_m=0.7)


def test_the_second_step_of_a_kind_is_named_by_its_number() -> None:
    request = Request(
        streams=["/c | noise std_m=1 | noise std_m=2"], sets=[parse_set("c.noise#2.std_m=3")]
    )
    assert load_recipe(request).streams["c"].steps == (Noise(std_m=1), Noise(std_m=3))


def test_seed_and_source() -> None:
    recipe = load_recipe(Request(seed=7, source="/other"))
    assert recipe.seed == 7
    assert {stream.source for stream in recipe.streams.values()} == {"/other"}


def test_source_needs_a_recipe_of_one_source() -> None:
    with pytest.raises(RecipeError, match="2 source topics"):
        load_recipe(Request(streams=["/a | noise", "/b | noise"], source="/c"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("camera.noise.std_m", "expected stream.step.option=value"),
        ("cam.noise.std_m=1", "no stream 'cam'; did you mean 'camera'?"),
        ("camera.nose.std_m=1", "no step 'nose'; did you mean 'noise'?"),
        ("camera.noise.std=1", "--set camera.noise.std=1: streams.camera.steps.1.noise.std"),
        ("camera.noise.std_m=x", "--set camera.noise.std_m=x"),
        ("camera.target=5", "valid string, not 5"),
        ("camera.noise.std_m.deep=5", "std_m is a value, not a mapping"),
    ],
)
def test_a_wrong_set_names_itself(text: str, expected: str) -> None:
    with pytest.raises(RecipeError, match="--set") as caught:
        load_recipe(Request(sets=[parse_set(text)]))
    assert expected in str(caught.value)


def test_a_file_wins_over_a_preset_and_a_missing_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text("streams: {a: {source: /x}}")
    assert list(load_recipe(Request(recipe=str(path))).streams) == ["a"]
    with pytest.raises(UsageError, match=r"no recipe file '.*gone\.yaml'"):
        load_recipe(Request(recipe=str(tmp_path / "gone.yaml")))
    with pytest.raises(UsageError, match="did you mean 'feb-literal'"):
        load_recipe(Request(recipe="feb-litteral"))


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"\x00\x01", b"%YAML 9.9\n---\n", b"!!x y"])
def test_a_file_that_is_no_recipe_is_a_clear_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "r.yaml"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"r\.yaml"):
        load_recipe(Request(recipe=str(path)))
