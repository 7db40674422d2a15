"""Every cone message type in every layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from message_samples import every_definition

if TYPE_CHECKING:
    from bagnoise.bags.model import Schema


@pytest.fixture(name="schema", params=every_definition(), ids=lambda s: f"{s.name}-{len(s.data)}")
def _schema(request: pytest.FixtureRequest) -> Schema:
    return request.param  # type: ignore[no-any-return]
