"""The page of lidar models, from the table of beams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markdown_text import code, plain, table

from bagnoise.lidar.models import lidar_models

if TYPE_CHECKING:
    from bagnoise.lidar.model import LidarModel

INTRODUCTION = """\
# Lidar models

For the step [`camera_lidar`](steps.md#camera_lidar). `bagnoise lidars NAME --json` has every beam;
`model: my_lidar.yaml` takes a table of your own. This page is made from the table. Real units carry
a calibration of their own; accuracies are their sources' words, not measured here.

"""
HEADS = ("model", "vendor", "channels", "elevation °", "Hz", "range m", "accuracy m", "layout")


def lidars_page() -> str:
    """Make the page."""
    models = list(lidar_models().values())
    rows = [
        (
            f"`{model.name}`",
            model.vendor,
            str(model.channels),
            f"{min(model.elevations_deg):.2f} to {max(model.elevations_deg):.2f}",
            ", ".join(f"{rate:g}" for rate in model.rates_hz),
            "{:g} to {:g}".format(*model.range_m),
            "" if model.accuracy_m is None else f"{model.accuracy_m:g}",
            model.layout,
        )
        for model in models
    ]
    sources = "\n".join(_notes(model) for model in models)
    return f"{INTRODUCTION}{table(HEADS, rows)}\n## Notes and sources\n\n{sources}\n"


def _notes(model: LidarModel) -> str:
    parts = []
    if model.aliases:
        parts.append("also " + ", ".join(map(code, model.aliases)))
    if model.note:
        parts.append(plain(model.note))
    if model.accuracy_source:
        parts.append(f"accuracy: {plain(model.accuracy_source)}")
    for source in model.sources:
        is_link = source.startswith("https://")
        parts.append(f"[{plain(source.split('/')[-1])}]({source})" if is_link else plain(source))
    return f"- `{model.name}`: {'; '.join(parts) or 'none'}"
