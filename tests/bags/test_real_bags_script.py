"""The table of recordings, over a folder of good and bad ones."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from damage_table import KINDS, flipped, sample
from mcap_samples import plain_messages, write_mcap

from bagnoise.bags import open_bag, rewrite
from bagnoise.bags.model import PassThrough, WriteOptions

ROOT = Path(__file__).parents[2]


def test_the_table(tmp_path: Path) -> None:
    bags = tmp_path / "bags"
    bags.mkdir()
    good = write_mcap(bags / "good.mcap", plain_messages(30))
    broken = sample(bags / "broken.mcap", KINDS["zstd"])
    broken.write_bytes(flipped(broken.read_bytes(), 200, 3))
    with open_bag(good) as bag:
        rewrite(bag, bags / "folder", PassThrough(), options=WriteOptions(format="sqlite3"))
    shutil.copy(bags / "folder" / "folder_0.db3", bags / "bare.db3")
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "real_bags.py"), str(bags)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {line.split(" | ")[0].strip("| "): line for line in done.stdout.splitlines()[2:]}
    for name in ("good.mcap", "folder", "bare.db3"):
        assert rows[name] == f"| {name} | 30 | 30 | yes | yes |  |"
    assert "chunk at byte" in rows["broken.mcap"]
