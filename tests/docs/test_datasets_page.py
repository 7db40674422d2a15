"""The page on data sets names every option of a plan."""

from __future__ import annotations

from program import ROOT

from bagnoise.dataset.model import Plan


def test_every_option_of_a_plan_is_on_the_page() -> None:
    text = (ROOT / "docs" / "datasets.md").read_text("utf-8")
    for name in Plan.model_fields:
        assert f"`{name}`" in text or f"{name}:" in text or f"`{name}." in text, name
