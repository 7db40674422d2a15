"""Step on the header of messages."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from bagnoise.steps.base import ConeStep, Moment

if TYPE_CHECKING:
    from bagnoise.messages.payload import Cones


class Header(ConeStep):
    """Set what the header says: the stamp, the frame.

    The frame is only renamed; positions stay as they are.
    """

    name: ClassVar[str] = "header"
    stamp: Literal["keep", "zero", "delivery"] = Field(
        "keep", description="keep: measurement time; zero: unset; delivery: log time at this step"
    )
    frame_id: str | None = Field(None, description="frame name to write; null keeps it")

    def on_cones(self, cones: Cones, moment: Moment) -> Cones:
        """Write the header."""
        stamp_ns = {"keep": cones.stamp_ns, "zero": 0, "delivery": moment.log_ns}[self.stamp]
        frame_id = cones.frame_id if self.frame_id is None else self.frame_id
        return replace(cones, stamp_ns=stamp_ns, frame_id=frame_id)
