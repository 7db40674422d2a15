"""What the README says of setting up is what CI does."""

from __future__ import annotations

from program import ROOT

README = (ROOT / "README.md").read_text("utf-8")


def test_the_set_up_commands_are_what_ci_runs() -> None:
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    assert ".venv/bin/bagnoise augment sample_bags/lap.mcap noisy.mcap" in README
    assert ".venv/bin/bagnoise augment sample_bags/lap.mcap noisy.mcap" in script
    assert ".venv/bin/pip install '.[dev]' && .venv/bin/python -m pytest -n auto" in README
    assert ".venv/bin/pip install --quiet '.[dev]'" in script
    assert ".venv/bin/python -m pytest -n auto" in script
    assert ".venv/bin/mkdocs build" in README
    assert ".venv/bin/mkdocs build" in script
