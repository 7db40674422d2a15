"""Plans over one second of the sample lap."""

from __future__ import annotations

from pathlib import Path

from bagnoise.dataset.expand import expand
from bagnoise.dataset.load import LoadedPlan, plan_of
from bagnoise.dataset.variant import Variant
from bagnoise.recipe.document import read_document

ROOT = Path(__file__).parents[2]
LAP = ROOT / "sample_bags" / "lap.mcap"


def plan_text(output: Path, more: str = "", source: Path = LAP, recipes: str = "") -> str:
    return (
        f"output: {output}\ninputs: ['{source}']\nend: '1'\n"
        "only: [/ground_truth/cones, /imu/data]\n"
        f"recipes: [{recipes or 'cone-noise-simulator'}]\n{more}"
    )


def loaded(text: str, folder: Path = Path()) -> LoadedPlan:
    document = read_document(text, "plan.yaml")
    return LoadedPlan(plan_of(document), folder, document)


def variants_of(output: Path, more: str = "", **options: str) -> list[Variant]:
    return expand(loaded(plan_text(output, more, **options)))  # type: ignore[arg-type]
