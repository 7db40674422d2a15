"""Plans: their errors, and what they expand to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from plans import LAP, loaded, plan_text, variants_of

from bagnoise.dataset.expand import expand
from bagnoise.dataset.load import load_plan
from bagnoise.dataset.model import Plan
from bagnoise.errors import UsageError
from bagnoise.recipe.problems import RecipeError


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "plan.yaml: a plan is a mapping with 'inputs', not empty"),
        ("output: x\n", "plan.yaml: inputs: is required"),
        ("inputs: [a]\nseds: [1]\n", "plan.yaml:2:1: seds: unknown option; did you mean 'seeds'?"),
        ("inputs: [a]\nseeds: {cont: 3}\n", "plan.yaml:2:9: seeds.cont: unknown option"),
        ("inputs: [a]\nseeds: []\n", "plan.yaml:2:1: seeds: none; give a list or a count"),
        ("inputs: [a]\nsweep: {grid: {a.b.c: []}}\n", "plan.yaml:2:16: sweep.grid.a.b.c: "),
        (
            "inputs: [a]\nsweep:\n  draws:\n    count: 2\n    values: {x.y.z: {min: 2, max: 1}}\n",
            "plan.yaml:5:14: x.y.z: min 2.0 is above max 1.0",
        ),
        (
            "inputs: [a]\nsweep: {draws: {count: 1, values: {x: {min: 0, max: 1, scale: log}}}}\n",
            "a log scale needs min > 0",
        ),
        ("inputs: [{path: a, tag: {}}]\n", "plan.yaml:1:20: inputs.0.tag: unknown option; did"),
        ("inputs: [nowhere.mcap]\n", "plan.yaml:1:10: no bag 'nowhere.mcap'"),
    ],
)
def test_errors_name_line_and_column(text: str, problem: str) -> None:
    with pytest.raises(RecipeError) as caught:
        expand(loaded(text))
    assert problem in str(caught.value)


def test_all_errors_come_at_once() -> None:
    with pytest.raises(RecipeError) as caught:
        loaded("inputs: [a]\nseds: [1]\nformat: tape\nlabels: 3\n")
    assert len(caught.value.problems) == 3


def test_a_swept_option_that_a_recipe_has_not_is_named_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"plan.yaml:6:16: recipe 'feb-literal'.*'noise'"):
        variants_of(tmp_path, "sweep: {grid: {camera.nose.std_m: [1]}}\n", recipes="feb-literal")


def test_an_unknown_severity_of_a_preset_is_named_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"no severity 'worst'; known: light, moderate, heavy"):
        variants_of(tmp_path, "", recipes="robo3d-fog-worst")


def test_a_swept_value_out_of_limits_is_a_recipe_error(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"plan.yaml:6:16.*greater than or equal to 0, not -1"):
        variants_of(tmp_path, "sweep: {grid: {camera.noise.std_m: [-1]}}\n")


def test_the_order_is_inputs_recipes_sweep_seeds(tmp_path: Path) -> None:
    names = [
        v.name
        for v in variants_of(
            tmp_path,
            "seeds: {first: 7, count: 2}\nsweep: {grid: {camera.rate.hz: [10, 20]}}\n",
            recipes="cone-noise-simulator, {recipe: feb-literal, name: feb}",
        )
    ]
    assert names == [
        f"lap-{recipe}-rate.hz={hz}-s{seed}.mcap"
        for recipe in ("cone-noise-simulator", "feb")
        for hz in (10, 20)
        for seed in (7, 8)
    ]


def test_grid_list_and_draws_multiply(tmp_path: Path) -> None:
    sweep = """sweep:
  grid: {camera.rate.hz: [10, 20], lidar.rate.hz: [5]}
  list: [{camera.noise.std_m: 0.1}, {camera.noise.std_m: 0.2, lidar.noise.std_m: 0.3}]
  draws: {count: 3, values: {camera.latency.mean_s: {min: 0.001, max: 0.1, scale: log}}}
"""
    variants = variants_of(tmp_path, sweep)
    assert len(variants) == 2 * 2 * 3
    for variant in variants:
        stream = variant.recipe["streams"]["camera"]["steps"]
        values = {name: body for step in stream for name, body in step.items()}
        assert values["rate"]["hz"] == variant.sweep["camera.rate.hz"]
        assert values["noise"]["std_m"] == variant.sweep["camera.noise.std_m"]
        assert 0.001 <= values["latency"]["mean_s"] <= 0.1


def test_more_draws_and_further_options_move_no_drawn_value(tmp_path: Path) -> None:
    bounds = "{min: 0, max: 1}"
    few = f"sweep: {{draws: {{count: 2, values: {{camera.noise.std_m: {bounds}}}}}}}\n"
    many = (
        f"sweep: {{draws: {{count: 4, values: {{lidar.noise.std_m: {bounds}, "
        f"camera.noise.std_m: {bounds}}}}}}}\n"
    )
    first = [v.sweep["camera.noise.std_m"] for v in variants_of(tmp_path, few)]
    second = [v.sweep["camera.noise.std_m"] for v in variants_of(tmp_path, many)]
    assert first == second[:2]
    assert len(set(second)) == 4


def test_a_recipe_of_the_plan_can_set_values(tmp_path: Path) -> None:
    use = "{recipe: cone-noise-simulator, set: {camera.noise.std_m: 0.7}}"
    (variant,) = variants_of(tmp_path, recipes=use)
    steps = variant.recipe["streams"]["camera"]["steps"]
    assert [step["noise"]["std_m"] for step in steps if "noise" in step] == [0.7]


def test_recipe_files_and_inputs_are_relative_to_the_plan(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("streams: {imu: {source: /imu/data, steps: []}}\n")
    (tmp_path / "a.mcap").write_bytes(b"")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "b.mcap").write_bytes(b"")
    (tmp_path / "plan.yaml").write_text(
        "output: out\ninputs: ['**/*.mcap']\nrecipes: [mine.yaml]\n"
    )
    (variant,) = expand(load_plan(tmp_path / "plan.yaml"))  # not its own outputs
    assert variant.source == str(tmp_path / "a.mcap")
    assert variant.target == str(tmp_path / "out" / "a-mine-s0.mcap")


def test_inputs_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    for folder in ("wet", "dry"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "lap.mcap").write_bytes(b"")
    text = f"output: {tmp_path / 'out'}\ninputs: ['{tmp_path}/*/lap.mcap']\nname: '{{input}}'\n"
    assert [v.name for v in expand(loaded(text))] == ["dry_lap.mcap", "wet_lap.mcap"]


def test_names_take_tags_and_swept_options_and_make_folders(tmp_path: Path) -> None:
    text = (
        f"output: {tmp_path}\ninputs: [{{path: '{LAP}', tags: {{track: 'FSG 1'}}}}]\n"
        "sweep: {grid: {camera.rate.hz: [12.5]}}\nname: '{track}/{camera.rate.hz}-{index}'\n"
    )
    assert [v.name for v in expand(loaded(text))] == ["FSG_1/12.5-00000.mcap"]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("{inptu}", r"plan.yaml:6:1: name: unknown field {inptu}; did you mean 'input'\?"),
        ("{input}", r"two outputs are called 'lap.mcap'; they differ in {seed}"),
        ("../{input}-{seed}", r"has the part '..'"),
        ("/{input}-{seed}", r"has the part ''"),
        (".{seed}", "does not start with a dot"),
    ],
)
def test_names_that_cannot_be(tmp_path: Path, name: str, problem: str) -> None:
    with pytest.raises(RecipeError, match=problem):
        variants_of(tmp_path, f"name: '{name}'\nseeds: [1, 2]\n")


def test_too_many_outputs_are_refused_before_they_are_listed(tmp_path: Path) -> None:
    sweep = "sweep: {draws: {count: 1000000, values: {x: {min: 0, max: 1}}}}\nseeds: [1, 2]\n"
    with pytest.raises(UsageError, match="2000000 outputs; at most"):
        variants_of(tmp_path, sweep)


def test_the_schema_knows_every_option() -> None:
    schema = Plan.model_json_schema(by_alias=True)
    assert set(schema["properties"]) == {f.alias or n for n, f in Plan.model_fields.items()}
    assert json.dumps(schema)


def test_a_plan_that_is_no_text_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not UTF-8"):
        load_plan(tmp_path / "plan.yaml")
    assert plan_text(tmp_path)


@pytest.mark.parametrize(
    ("given", "start"),
    [
        ("5", "5"),
        ("2.5", "2.5"),
        ("1.0e-5", "0.00001"),
        ("'1700000000.123456789'", "1700000000.123456789"),
        ("1700000000123456789", "1700000000123456789"),
        ("-1", "-1"),
    ],
)
def test_times_may_be_numbers(tmp_path: Path, given: str, start: str) -> None:
    (variant,) = variants_of(tmp_path, f"start: {given}\n")
    assert variant.settings["start"] == start


@pytest.mark.parametrize("given", [".nan", ".inf", "soon"])
def test_a_time_that_is_none_is_told_before_any_output(tmp_path: Path, given: str) -> None:
    with pytest.raises(
        RecipeError, match=r"plan.yaml:\d+:1: start: expected seconds, e.g. 2.5 from"
    ):
        variants_of(tmp_path, f"start: {given}\n")


@pytest.mark.parametrize("given", ["[1]", "true"])
def test_a_time_is_a_number_or_a_text(tmp_path: Path, given: str) -> None:
    with pytest.raises(RecipeError, match="start: input should be a valid string"):
        variants_of(tmp_path, f"start: {given}\n")
