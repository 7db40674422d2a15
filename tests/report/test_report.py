"""The page: whole, self-contained, and true to what was measured."""

from __future__ import annotations

import json
import re
import struct
import zlib
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from click.testing import CliRunner

from bagnoise.augment.run import augment
from bagnoise.cli.main import cli
from bagnoise.dataset.index import write_index
from bagnoise.dataset.make import failed
from bagnoise.dataset.variant import Variant
from bagnoise.errors import UsageError
from bagnoise.recipe.load import Request, load_recipe
from bagnoise.report.colors import CLASSES, SERIES, cividis, diverging
from bagnoise.report.html import json_block, table
from bagnoise.report.png import png
from bagnoise.report.run import Made, report
from bagnoise.report.svg import Plot, nice_ticks

LAP = Path(__file__).parents[2] / "sample_bags" / "lap.mcap"
SCAN = LAP.parent / "scan"
VOID = {"meta", "link", "input", "br"}


class Outline(HTMLParser):
    """Checks that elements close, and gathers what would be fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.data: dict[str, str] = {}
        self.ids: list[str] = []
        self._id = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        self.addresses += [said[n] for n in ("href", "src", "xlink:href") if n in said]
        self.ids += [said["id"]] if "id" in said else []
        self._id = said.get("id", "") if tag == "script" else ""
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._id:
            self.data[self._id] = self.data.get(self._id, "") + data


def outline(path: Path) -> Outline:
    found = Outline()
    found.feed(path.read_text("utf-8"))
    found.close()
    assert found.open == []
    assert len(found.ids) == len(set(found.ids))
    return found


@pytest.fixture(scope="module", name="made")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("report")
    augment(LAP, folder / "noisy.mcap", load_recipe(Request(seed=9)))
    return report(
        folder / "noisy.mcap", folder / "page.html", truth=LAP, figures_folder=folder / "figures"
    )


def test_the_page_is_whole_and_fetches_nothing(made: Made) -> None:
    found = outline(made.page)
    outside = [a for a in found.addresses if not a.startswith(("#", "data:"))]
    assert outside == []
    text = made.page.read_text("utf-8")
    assert "url(" not in text
    assert "@import" not in text
    targets = {a[1:] for a in found.addresses if a.startswith("#")}
    assert targets <= set(found.ids)


def test_the_page_shows_recipe_check_and_counts(made: Made) -> None:
    text = made.page.read_text("utf-8")
    assert "std_m: 0.25" in text
    assert made.verdict is not None
    assert not made.verdict.failed
    assert f"{made.verdict.tested} tests, all passed" in text
    for topic in ("/camera/cones", "/lidar/cones", "/tf_static", "/imu/data"):
        assert topic in text


def test_every_figure_is_an_svg_of_its_own(made: Made) -> None:
    names = {path.stem for path in made.figures}
    assert {"track", "camera_cones-residuals", "lidar_cones-classes"} <= names
    for path in made.figures:
        root = ET.parse(path).getroot()
        assert root.tag.endswith("svg")
        assert "nan" not in path.read_text("utf-8").lower()


def test_the_scrubber_has_the_cones_that_were_delivered(made: Made) -> None:
    data = json.loads(outline(made.page).data["scrub-data"])
    assert data["names"] == ["truth /ground_truth/cones", "/camera/cones", "/lidar/cones"]
    assert len(data["frames"]) == len(data["times_s"]) == 241
    camera = next(s for s in made.comparison.streams if s.pair.noisy == "/camera/cones")
    last = camera.noisy.payloads[-1]
    seen = [[x, y] for x, y, _ in data["frames"][-1][1]]
    assert seen == pytest.approx(np.round(last.xyz[:, :2], 2))


def test_the_asked_distribution_lies_over_the_residuals(made: Made) -> None:
    (path,) = [p for p in made.figures if p.stem == "camera_cones-residuals"]
    assert "asked: N(0, 0.25 m)" in path.read_text("utf-8")


def test_without_a_truth_the_bag_itself_serves(tmp_path: Path) -> None:
    augment(LAP, tmp_path / "noisy.mcap", load_recipe(Request(seed=9)))
    found = report(tmp_path / "noisy.mcap", tmp_path / "page.html")
    assert [s.pair.noisy for s in found.comparison.streams] == [
        "/camera/cones",
        "/cones_noise_viz",
        "/lidar/cones",
    ]
    assert "the truth it still carries" in found.page.read_text("utf-8")


def test_clouds_have_range_images_and_views_from_above(tmp_path: Path) -> None:
    recipe = load_recipe(Request(streams=["/velodyne_points | latency mean_s=0.01"]))
    augment(SCAN, tmp_path / "late", recipe)
    found = report(
        tmp_path / "late", tmp_path / "page.html", truth=SCAN, figures_folder=tmp_path / "f"
    )
    names = {path.stem for path in found.figures}
    assert {f"velodyne_points-range-{n}" for n in ("before", "after", "error")} <= names
    assert {"velodyne_points-above-before", "velodyne_points-error-by-ring"} <= names
    outline(found.page)


def test_a_page_that_is_there_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        report(LAP, page)
    with pytest.raises(UsageError, match="does not exist"):
        report(LAP, tmp_path / "nowhere" / "page.html")
    assert page.read_text() == "mine"
    run = CliRunner().invoke(cli, ["report", str(LAP), "-o", str(page), "--overwrite"])
    assert run.exit_code == 0, run.output
    outline(page)


def test_a_picture_reads_back() -> None:
    pixels = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    data = png(pixels)
    assert struct.unpack(">II", data[16:24]) == (3, 2)
    body = zlib.decompress(data[data.index(b"IDAT") + 4 : data.index(b"IEND") - 8])
    assert body == b"\0" + pixels[0].tobytes() + b"\0" + pixels[1].tobytes()


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 10, [0, 2, 4, 6, 8, 10]),
        (-0.3, 0.3, [-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3]),
        (5, 5, [5]),
    ],
)
def test_ticks(low: float, high: float, expected: list[float]) -> None:
    assert nice_ticks(low, high) == pytest.approx(expected, abs=1e-12)


def test_a_plot_puts_values_where_its_axes_say() -> None:
    plot = Plot((0, 10), (-1, 1), size=(500, 300))
    assert plot.px(0) < plot.px(5) < plot.px(10)
    assert plot.py(-1) > plot.py(0) > plot.py(1)
    equal = Plot((0, 100), (0, 1), size=(500, 300), equal=True)
    assert equal.px(1) - equal.px(0) == pytest.approx(equal.py(0) - equal.py(1), abs=0.02)


def _luminance(color: str | np.ndarray) -> float:
    rgb = [int(color[i : i + 2], 16) for i in (1, 3, 5)] if isinstance(color, str) else color
    linear = [(c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4) for c in rgb]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def test_scales_can_be_told_apart_by_lightness_alone() -> None:
    steps = [_luminance(c) for c in cividis(np.linspace(0, 1, 20))]
    assert steps == sorted(steps)
    middle, *ends = (_luminance(c) for c in diverging(np.array([0.0, -1.0, 1.0])))
    assert all(end < middle / 4 for end in ends)
    assert len({*SERIES}) == len(SERIES)
    assert len({*CLASSES}) == len(CLASSES)


def test_what_names_say_is_never_markup() -> None:
    assert "<b>" not in table(["<b>"], [["<b>"]])
    block = json_block("x", {"name": "</script><b>"})
    assert block.count("<") == 2
    assert json.loads(re.sub(r"<[^>]*>", "", block)) == {"name": "</script><b>"}


def test_the_index_of_a_data_set(tmp_path: Path) -> None:
    variant = Variant("<a>.mcap", "x", "y/in.mcap", {}, "r", 3, {}, {"a.b.c": 0.1}, {})
    bad = failed(variant, {"path": "y/in.mcap"}, "no <topic>")
    good = {
        **bad,
        "output": "b c.mcap",
        "state": "done",
        "output_bytes": 1_500_000,
        "streams": {"s": {"mean_delay_s": 0.01, "targets": {"/t": 7}}},
    }
    path = write_index(tmp_path, "Set <1>", [bad, good])
    found = outline(path)
    assert found.addresses == ["data:,", "manifest.jsonl", "b%20c.mcap"]
    text = path.read_text("utf-8")
    assert "no &lt;topic&gt;" in text
    assert "/t 7 (10.0 ms late)" in text
