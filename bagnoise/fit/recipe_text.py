"""A fitted recipe as YAML: every value with its count and interval beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bagnoise.fit import recipe_steps as make
from bagnoise.fit.wording import Commented
from bagnoise.recipe.document import write_commented

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bagnoise.fit.recipe_steps import Here, Made, Path
    from bagnoise.fit.run import Fit, FittedStream


def recipe_text(fit: Fit) -> str:
    """Write the recipe of a fit."""
    commented = Commented()
    streams = {stream.name: _stream(stream, commented) for stream in fit.streams}
    description = f"Fitted to {fit.real_name} with the truth of {fit.truth_name}."
    data = {"description": description, "streams": streams}
    return write_commented(data, commented.comments, _header(fit))


def _header(fit: Fit) -> str:
    lines = [
        f"Fitted by bagnoise to {fit.real_name}, truth {fit.truth_name}.",
        "Behind each value: how many samples it rests on, and its 95 % interval.",
    ]
    for stream in fit.streams:
        lines += ["", *_about(stream)]
    return "\n".join(lines) + "\n"


def _about(stream: FittedStream) -> list[str]:
    fit = stream.fit
    gate = f"gate {fit.rows.gate_m:.2f} m ({stream.gate_why})"
    wrong = f"estimated share of wrong matches: {100 * fit.wrong_share:.2g} %"
    inside = f"{100 * float(fit.errors.inside.min()):.3f} % or more"
    return [
        f"{fit.topic}: {len(fit.rows.true_xy)} messages, {int(fit.single.sum())} matches",
        f"  {gate}; cones with another one within two gates are left out",
        f"  {wrong}; errors within the gate, by range: {inside}",
        *(f"  {note}" for note in [*stream.timing_notes, *fit.notes, *stream.not_identified]),
    ]


def _stream(stream: FittedStream, book: Commented) -> dict[str, Any]:
    base: Path = ("streams", stream.name, "steps")
    steps: list[dict[str, Any]] = []

    def here(name: str) -> Path:
        return (*base, len(steps), name)

    for name, options in _steps(stream, book, here):
        steps.append({name: options})
    target = stream.fit.topic
    data: dict[str, Any] = {"source": stream.source}
    data["target"] = f"{target}/fitted" if target == stream.source else target
    data["type"] = stream.type_name
    if stream.type_options:
        data["type_options"] = stream.type_options
    return {**data, "steps": steps}


def _steps(stream: FittedStream, book: Commented, here: Here) -> Iterator[Made]:
    """Yield (name, options) of each step, in the order in which a sensor works."""
    for part in _order(stream):
        yield from part(stream, book, here)


def _order(stream: FittedStream) -> Sequence[make.Maker]:
    before = (
        make.source,
        make.view,
        make.color_limits,
        make.detection,
        make.colors,
        make.false_positives,
    )
    noise = (make.noise, make.drift, make.crop)
    after = (make.shuffle, make.covariance)
    end = (make.latency, make.header)
    if stream.fit.timing.fresh_noise:  # drawn anew at every tick
        return (*before, make.rate, *noise, *after, *end)
    return (*before, *noise, *after, make.rate, *end)
