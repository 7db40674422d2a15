"""The parameter that names a bag."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from bagnoise.bags.remote_path import location


class BagPath(click.Path):
    """A bag: a path, or an ``s3://`` URL."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Tell the one from the other; an empty name is a script's unset variable."""
        if not os.fspath(value):
            self.fail("is empty; give the name of a bag", param, ctx)
        return location(value if isinstance(value, Path) else os.fsdecode(value))


bag_path = BagPath()
