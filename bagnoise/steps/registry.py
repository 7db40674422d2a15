"""Every step by its name; adding one is one line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bagnoise.steps.color import Classes, Color
from bagnoise.steps.field_of_view import Crop
from bagnoise.steps.header import Header
from bagnoise.steps.noise import Noise
from bagnoise.steps.timing import Drop, Latency, Rate, Shift

if TYPE_CHECKING:
    from bagnoise.steps.base import Step

STEPS: dict[str, type[Step]] = {
    step.name: step for step in (Noise, Crop, Classes, Color, Header, Rate, Latency, Shift, Drop)
}
