"""Same recipe, seed and input: the same bag, whatever else changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from small_bags import EPOCH, MS, cones_at, read_bag, string_at

from bagnoise.augment.provenance import history
from bagnoise.augment.run import Options, augment
from bagnoise.bags import open_bag
from bagnoise.bags.model import WriteOptions
from bagnoise.recipe.check import recipe_of
from bagnoise.recipe.document import read_document
from bagnoise.recipe.load import Request, load_recipe

Run = Callable[..., Any]
OUT = ("/camera/cones", "/lidar/cones", "/cones_noise_viz")
LAP = Path(__file__).parents[2] / "sample_bags" / "lap.mcap"


def lap(count: int = 60) -> list[Any]:
    return [
        cones_at(EPOCH + n * 20 * MS, blue=[(5 + n, 1.5)], yellow=[(6 + n, -1.5)] * 3)
        for n in range(count)
    ]


def test_two_runs_give_the_same_bytes(tmp_path: Path) -> None:
    recipe = load_recipe(Request(seed=3))
    paths = [tmp_path / "a.mcap", tmp_path / "b.mcap"]
    for path in paths:
        augment(LAP, path, recipe)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_workers_change_nothing(tmp_path: Path) -> None:
    recipe = load_recipe(Request())
    for workers in (1, 2):
        write = WriteOptions(workers=workers)
        augment(LAP, tmp_path / f"{workers}.mcap", recipe, Options(write=write))
    assert (tmp_path / "1.mcap").read_bytes() == (tmp_path / "2.mcap").read_bytes()


def test_another_seed_gives_other_noise(run: Run) -> None:
    one, other = (run(lap(), seed=seed).read(OUT[0]) for seed in (1, 2))
    assert [(m.log_ns + MS) // (5 * MS) for m in one] == [
        (m.log_ns + MS) // (5 * MS) for m in other
    ]
    assert all(a.ros.x[0] != b.ros.x[0] for a, b in zip(one, other, strict=True))


def test_trimming_the_input_changes_nothing_from_the_next_tick_on(run: Run) -> None:
    whole = run(lap()).read(*OUT)
    trimmed = run(lap()[20:]).read(*OUT)
    assert len(trimmed) > 30
    kept = {(m.topic, m.log_ns): m.data for m in whole}
    assert all(kept[m.topic, m.log_ns] == m.data for m in trimmed)


def test_other_topics_and_streams_change_nothing(run: Run) -> None:
    alone = run(lap()).read(*OUT)
    chatter = [string_at(EPOCH + n * 7 * MS, "x") for n in range(100)]
    more = run(
        sorted([*lap(), *chatter], key=lambda m: m.log_ns),
        recipe="cone-noise-simulator",
        streams=["/chatter | latency mean_s=0.1 std_s=0.05 -> /late"],
    )
    assert [(m.topic, m.log_ns, m.data) for m in more.read(*OUT)] == [
        (m.topic, m.log_ns, m.data) for m in alone
    ]


def test_the_recorded_recipe_makes_the_same_bag_again(tmp_path: Path) -> None:
    first, second = tmp_path / "first.mcap", tmp_path / "second.mcap"
    augment(LAP, first, load_recipe(Request(seed=11)))
    with open_bag(first) as bag:
        (record,) = history(bag)
    augment(LAP, second, recipe_of(read_document(record["recipe"], "recorded")))
    assert first.read_bytes() == second.read_bytes()
    assert record["seed"] == "11"
    source = json.loads(record["input"])
    assert (source["name"], source["size"]) == ("lap.mcap", LAP.stat().st_size)


def test_earlier_records_are_kept_as_history(tmp_path: Path) -> None:
    first, second = tmp_path / "first.mcap", tmp_path / "second.mcap"
    augment(LAP, first, load_recipe(Request(seed=1)))
    late = load_recipe(Request(streams=["/camera/cones | latency mean_s=0.1"], seed=2))
    augment(first, second, late)
    with open_bag(second) as bag:
        assert [record["seed"] for record in history(bag)] == ["1", "2"]


def test_the_record_survives_in_every_format(tmp_path: Path) -> None:
    recipe = load_recipe(Request(seed=5))
    for container in ("mcap", "sqlite3"):
        write = replace(WriteOptions(), format=container)
        target = tmp_path / container
        augment(LAP, target, recipe, Options(write=write))
        with open_bag(target) as bag:
            assert [record["seed"] for record in history(bag)] == ["5"]


def test_the_input_is_not_touched(tmp_path: Path) -> None:
    before = LAP.read_bytes(), LAP.stat().st_mtime_ns
    augment(LAP, tmp_path / "x.mcap", load_recipe(Request()))
    assert (LAP.read_bytes(), LAP.stat().st_mtime_ns) == before
    assert len(read_bag(tmp_path / "x.mcap", *OUT)) > 1000
