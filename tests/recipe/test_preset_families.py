from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner

from bagnoise.cli.main import cli
from bagnoise.errors import UsageError
from bagnoise.recipe.check import recipe_of
from bagnoise.recipe.document import read_document, write_yaml
from bagnoise.recipe.families import corruptions, family_names, family_of, family_text
from bagnoise.recipe.load import Request, load_recipe
from bagnoise.recipe.sources import preset_names, preset_text

FAMILY = """
source: /points
severities: [light, heavy]
corruptions:
  blur:
    description: Blur
    values: {much: [0.1, 0.2], both: [[1, 2], [3, 4]]}
    steps:
      - range_noise: {std_m: $much}
      - crop: {azimuth_deg: $both, min_z_m: 0.5}
"""


def test_a_severity_is_its_values_in_the_steps() -> None:
    (blur,) = family_of("mine", FAMILY)
    assert blur.prefix == "mine-blur"
    assert blur.recipe("heavy") == {
        "description": "Blur (heavy).",
        "streams": {
            "points": {
                "source": "/points",
                "steps": [
                    {"range_noise": {"std_m": 0.2}},
                    {"crop": {"azimuth_deg": [3, 4], "min_z_m": 0.5}},
                ],
            }
        },
    }
    assert blur.recipe("light")["streams"]["points"]["steps"][0] == {"range_noise": {"std_m": 0.1}}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[0.1, 0.2]", "[0.1, 0.2, 0.3]", "blur has 3 values of much for 2 severities"),
        ("$much", "0.1", "names or lists only: much"),
        ("much:", "some:", "names or lists only: much, some"),
    ],
)
def test_a_family_that_does_not_fit_is_refused(old: str, new: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        family_of("mine", FAMILY.replace(old, new))


@pytest.mark.parametrize("name", family_names())
def test_every_preset_of_a_family_is_a_right_recipe(name: str) -> None:
    recipe = load_recipe(Request(recipe=name))
    assert recipe.streams["points"].source == "/velodyne_points"
    assert recipe.description
    assert name in preset_names()
    full = read_document(write_yaml(recipe.to_plain()), "full")  # as a bag records it
    assert recipe_of(full) == recipe


def test_severities_differ_and_grow() -> None:
    for corruption in corruptions():
        recipes = [str(corruption.recipe(s)["streams"]) for s in corruption.severities]
        assert len(set(recipes)) == len(recipes), corruption.prefix


def options(name: str) -> dict[str, Any]:
    """Return what the recipe of a preset sets in its steps, all together."""
    stream = load_recipe(Request(recipe=name)).streams["points"]
    return {k: v for step in stream.steps for k, v in step.model_dump(exclude_unset=True).items()}


def test_values_are_those_of_the_benchmarks() -> None:
    assert options("robo3d-crosstalk-moderate")["fraction"] == 0.008
    assert options("robo3d-beam_missing-heavy")["share"] == 48 / 64
    assert options("robo3d-incomplete_echo-light")["probability"] == 0.75
    assert options("3dca-rain-5")["rate_mm_h"] == 7.29
    assert options("3dca-fov_lost-5")["azimuth_deg"] == (-45, 45)
    assert options("3dca-cutout-4")["patches"] == 7
    assert options("multicorrupt-fog-3")["beta_per_m_sr"] == 0.05
    snow = options("multicorrupt-snow-2")
    assert (snow["rate_mm_h"], snow["terminal_velocity_m_s"]) == (2.5, 1.6)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("robo3d-fog-extreme", "no severity 'extreme'; known: light, moderate, heavy"),
        ("robo3d-fog", "needs a severity: light, moderate, heavy"),
        ("3dca-rain-6", "no severity '6'; known: 1, 2, 3, 4, 5"),
        ("robo3d-fgo-heavy", "no corruption 'fgo'; did you mean 'fog'?"),
        ("robo3d", "robo3d has no corruption ''; known: fog, wet_ground"),
        ("robo33d-fog-heavy", "did you mean 'robo3d-fog-heavy'?"),
    ],
)
def test_an_unknown_name_says_what_is_known(name: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        preset_text(name)
    assert said in str(raised.value)


def test_a_wholly_unknown_name_lists_families_in_short() -> None:
    assert family_text("zzzzqqqq") is None
    with pytest.raises(UsageError, match=r"robo3d-fog-light\|moderate\|heavy"):
        preset_text("zzzzqqqq")


def test_the_list_has_a_line_for_each_corruption() -> None:
    listed = CliRunner().invoke(cli, ["recipe", "list"]).output.splitlines()
    assert sum(line.startswith("3dca-cutout-") for line in listed) == 1
    assert any(line.startswith("robo3d-fog-light|moderate|heavy ") for line in listed)


def test_show_gives_a_recipe_that_is_the_same_again(tmp_path: Any) -> None:
    shown = CliRunner().invoke(cli, ["recipe", "show", "robo3d-fog-heavy"]).output
    path = tmp_path / "mine.yaml"
    path.write_text(shown, "utf-8")
    assert load_recipe(Request(recipe=str(path))) == load_recipe(Request(recipe="robo3d-fog-heavy"))
