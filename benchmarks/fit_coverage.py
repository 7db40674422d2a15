"""How often a fit's intervals hold the values that a bag was made with.

    python benchmarks/fit_coverage.py [--seeds 20] [--presets NAME,...] [--jobs 1] [--write FILE]

Every cone preset makes bags of sample_bags/lap.mcap with seeds 1 to 20; each is fitted without its
labels, and every fitted value is compared with what the preset's steps ask at the cones it rests
on. A share of covered values far below the stated 95 % (binomial, alpha = 1e-6 in all) fails. As a
negative control the fit is also compared with deviations 1.1 times as large, which must fail.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from fit_truth import Compared, compared

from bagnoise.augment.run import augment
from bagnoise.fit.estimate import LEVEL
from bagnoise.fit.run import Options, fit
from bagnoise.recipe.load import Request, load_recipe

LAP = Path(__file__).parents[1] / "sample_bags" / "lap.mcap"
ALPHA = 1e-6
WRONG = 1.1
TRACK = "/ground_truth/track"
PRESETS = {
    "cone-noise-simulator": "/ground_truth/cones",
    "feb-literal": "/ground_truth/cones",
    "pacsim": TRACK,
    "eufs": TRACK,
    "eufs-2022-07": TRACK,
    "fssim-camera": TRACK,
    "fssim-lidar": TRACK,
    "qut-camera": TRACK,
    "qut-lidar": TRACK,
    "ugrdv-realistic": TRACK,
}
MOUNTS: dict[str, dict[str, tuple[float, ...]]] = {
    "pacsim": {"lidar_side": (-1.753, 0.597, 0.075, 7.162, -0.516, 69.786)},
    "qut-camera": {"zed2i_left_camera": (-0.37, 0, 0, 0, 0, 0)},
    "qut-lidar": {"velodyne": (1.59, 0, 0, 0, 0, 0)},
}


class Row(NamedTuple):
    """One compared value."""

    preset: str
    stream: str
    parameter: str
    true: float
    value: float
    low: float
    high: float
    covered: bool
    covers_wrong: bool


def measure(preset: str, seed: int) -> list[Row]:
    """Make one bag, fit it, compare."""
    recipe = load_recipe(Request(recipe=preset, seed=seed))
    options = Options(truth_topic=PRESETS[preset], mounts=MOUNTS.get(preset, {}))
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made.mcap"
        augment(LAP, made, recipe)
        fitted = fit(LAP, made, options)
    steps = {stream.target: (name, stream.steps) for name, stream in recipe.streams.items()}
    rows = []
    for stream in fitted.streams:
        name, asked = steps[stream.fit.topic]
        rows += [_row(preset, name, one) for one in compared(stream.fit, asked)]
    return rows


def _row(preset: str, stream: str, one: Compared) -> Row:
    wrong = one._replace(true=one.true * WRONG).covered
    e = one.estimate
    return Row(preset, stream, one.parameter, one.true, e.value, e.low, e.high, one.covered, wrong)


def _measure(job: tuple[str, int]) -> list[Row]:
    return measure(*job)


def least_covered(trials: int, alpha: float) -> int:
    """Return the smallest count that a binomial of `LEVEL` falls below with a chance of alpha."""
    chance, log_p = 0.0, trials * np.log(1 - LEVEL)
    for k in range(trials + 1):
        chance += float(np.exp(log_p))
        if chance > alpha:
            return k
        if k < trials:
            log_p += np.log((trials - k) / (k + 1) * LEVEL / (1 - LEVEL))
    return trials


def table(rows: list[Row], seeds: int) -> tuple[str, list[str]]:
    """Return the table and what fails."""
    groups: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.preset, row.stream, row.parameter].append(row)
    limit = ALPHA / max(len(groups), 1)
    lines = [
        f"{seeds} seeds a preset; values by bin count once a bin and seed.",
        "",
        "| preset, stream | value | true | covered | of | at least | mean width | x 1.1 covered |",
        "|---|---|---|---|---|---|---|---|",
    ]
    failed = []
    for (preset, stream, parameter), some in groups.items():
        covered, n = sum(row.covered for row in some), len(some)
        wrong = sum(row.covers_wrong for row in some)
        least = least_covered(n, limit)
        true = [row.true for row in some]
        shown = f"{min(true):.4g}" if np.ptp(true) < 1e-9 else f"{min(true):.4g} … {max(true):.4g}"
        width = np.mean([row.high - row.low for row in some])
        control = str(wrong) if "std" in parameter else ""
        lines.append(
            f"| {preset}, {stream} | {parameter} | {shown} | {covered} | {n} | {least} | "
            f"{width:.2g} | {control} |"
        )
        if covered < least:
            failed.append(f"{preset} {stream} {parameter}: {covered} of {n}, at least {least}")
    return "\n".join(lines), failed


def controls(rows: list[Row]) -> list[str]:
    """Return what is wrong with the negative control: deviations x 1.1 must not be covered."""
    found = []
    for preset in dict.fromkeys(row.preset for row in rows):
        some = [r for r in rows if r.preset == preset and r.parameter == "range_std_m by bin"]
        wrong = sum(row.covers_wrong for row in some)
        if wrong >= least_covered(len(some), ALPHA):
            found.append(f"{preset}: deviations x {WRONG} are covered {wrong} of {len(some)} times")
    return found


def main() -> int:
    """Measure, print, say what fails."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--presets", default=",".join(PRESETS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", type=Path)
    asked = parser.parse_args()
    todo = [(p, s) for p in asked.presets.split(",") for s in range(1, asked.seeds + 1)]
    start, rows = time.monotonic(), list[Row]()
    with ProcessPoolExecutor(asked.jobs) as pool:
        for (preset, seed), found in zip(todo, pool.map(_measure, todo), strict=True):
            rows += found
            missed = sum(not row.covered for row in found)
            print(f"{preset} seed {seed}: {missed} of {len(found)} not covered", file=sys.stderr)
            if asked.write and seed == asked.seeds:  # so that a run that is cut short leaves some
                asked.write.write_text(table(rows, asked.seeds)[0] + "\n", "utf-8")
    text, failed = table(rows, asked.seeds)
    failed += controls(rows)
    print(text)
    print(f"\n{time.monotonic() - start:.0f} s; failed: {'; '.join(failed) or 'none'}")
    if asked.write:
        asked.write.write_text(text + "\n", "utf-8")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
