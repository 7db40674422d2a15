"""``bagnoise fit`` as a shell sees it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bagnoise.cli.main import exit_code
from bagnoise.recipe.check import recipe_of
from bagnoise.recipe.document import read_document

ROOT = Path(__file__).parents[2]
SCAN = ROOT / "sample_bags" / "scan"
Make = Callable[..., Path]


def run(*words: str | Path) -> int:
    return exit_code(["fit", *map(str, words)])


def test_recipe_page_and_json(
    make: Make, lap: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    real, recipe, page = make("cone-noise-simulator"), tmp_path / "r.yaml", tmp_path / "r.html"
    common = (lap, real, "--topic", "/lidar/cones", "-o", recipe, "--report", page)
    assert run(*common, "--json") == 0
    plain = json.loads(capsys.readouterr().out)
    (stream,) = plain["streams"]
    hz = next(value for value in stream["values"] if value["name"] == "rate.hz")
    assert hz["value"] == 10
    assert hz["low"] <= 10 <= hz["high"]
    text = recipe.read_text("utf-8")
    assert recipe_of(read_document(text, "r.yaml")).streams["lidar_cones"].target == "/lidar/cones"
    # every number of the steps has its count and interval beside it
    values = [line for line in text.splitlines() if line.startswith("          ")]
    numbers = [line for line in values if ": 0" in line or ": 1" in line or ": 2" in line]
    assert len(numbers) >= 8
    assert all("# n = " in line and "95 %" in line for line in numbers), numbers
    html = page.read_text("utf-8")
    assert html.count("<svg") >= 4
    assert "Deviation by range" in html
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "")
    assert run(*common) == 2
    assert "exists already" in capsys.readouterr().err
    assert run(*common, "--overwrite", "-q") == 0
    assert not capsys.readouterr().out


def test_without_output_the_recipe_is_printed(
    make: Make, lap: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(lap, make("feb-literal"), "--topic", "/lidar/cones") == 0
    text = capsys.readouterr().out
    assert "no header stamps: the delay is that at which positions fit the truth best" in text
    (stream,) = recipe_of(read_document(text, "printed")).streams.values()
    assert [step.name for step in stream.steps][-2:] == ["latency", "header"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("LAP", "LAP"), 2, "no topic of cones that"),
        (("LAP", "REAL", "--topic", "/nope"), 2, "'/nope' is no topic of cones"),
        (("LAP", "REAL", "--truth-topic", "/odom"), 2, "'/odom' is no topic of cones"),
        (("LAP", "REAL", "--gate", "0.001"), 1, "at least 100 are needed"),
        (("LAP", "REAL", "--gate", "-1"), 2, "a gate of -1.0 m matches nothing"),
        (("LAP", "REAL", "--bin", "0"), 2, "range bins of 0.0 m make no table"),
        (("LAP", "REAL", "--mount", "lidar=1"), 2, "expected 3 or 6 numbers"),
        (("LAP", "FEW"), 1, "topic /seen has 2 messages; a fit needs at least 10"),
        (("LAP", "LATE"), 1, "no time in common"),
        (("LAP", "STAMPS"), 1, "its header stamps lie outside the truth's"),
        (("LAP", "OTHER"), 2, "give --mount elsewhere=x,y,z,roll,pitch,yaw"),
        (("SCAN", "REAL"), 1, "at least 100 are needed"),
    ],
)
def test_errors(
    words: tuple[str, ...],
    code: int,
    said: str,
    make: Make,
    lap: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    recipes = {
        "REAL": "noise: {std_m: 0.1}",
        "LATE": "shift: {log_s: 1000, header_s: 1000}",
        "STAMPS": "shift: {header_s: 1000}",
        "OTHER": "header: {frame_id: elsewhere}",
        "FEW": "drop: {keep_every: 200}",
    }
    paths = {"LAP": lap, "SCAN": SCAN}
    for name in set(words) & set(recipes):
        paths[name] = make(
            "streams: {s: {source: /ground_truth/cones, target: /seen, "
            f"steps: [{{rate: {{hz: 10}}}}, {{{recipes[name]}}}]}}}}\n"
        )
    assert run(*(paths.get(word, word) for word in words)) == code
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error


def test_a_recording_without_errors(make: Make, lap: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.yaml"
    same = make("streams: {s: {source: /ground_truth/cones, target: /seen}}\n")
    assert run(lap, same, "-o", out, "-q") == 0
    text = out.read_text("utf-8")
    assert "range_std_m: 0.0 #" in text
    assert "latency" in text


def test_report_draws_the_fit_over_the_data(
    make: Make, lap: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    real, page = make("cone-noise-simulator"), tmp_path / "page.html"
    drawn = ("report", real, "--truth", lap, "-o", page, "--figures", tmp_path / "figures", "-q")
    assert exit_code([str(word) for word in (*drawn, "--fit")]) == 0
    html = page.read_text("utf-8")
    fitted = html.split('<h2 id="fit">Fitted recipe</h2>')[1]
    for key in ("camera_cones", "lidar_cones"):
        assert f"{key}:" in fitted
        for name in ("deviation", "bias", "detection", "delay"):
            figure = (tmp_path / "figures" / f"{key}-fit-{name}.svg").read_text("utf-8")
            assert figure[figure.index("<svg") :].strip()[-60:] in html
    assert "95 %" in fitted
    assert capsys.readouterr() == ("", "")


def test_report_without_cones_has_nothing_to_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert exit_code(["report", str(SCAN), "-o", str(page), "--fit"]) == 2
    assert "no topic of cones to fit to a truth" in capsys.readouterr().err
    assert not page.exists()
