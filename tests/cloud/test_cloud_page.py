"""Every command of docs/cloud.md that needs a store."""

from __future__ import annotations

from pathlib import Path

from pages import Reader, short_lap
from program import ROOT
from s3_store import Bucket


def test_what_the_page_says(tmp_path: Path, bucket: Bucket) -> None:
    lap = short_lap(tmp_path)
    for key in ("clean.mcap", "clean/a/lap.mcap"):
        bucket.put(key, lap.read_bytes())
    text = (ROOT / "docs" / "cloud.md").read_text("utf-8")
    reader = Reader(tmp_path / "reader", None, lap)
    told = text.replace("s3://bucket", f"s3://{bucket.name}")
    assert reader.read(told, "docs/cloud.md", provided="s3") == 2
    made = [key for key in bucket.listing() if key.endswith(".mcap")]
    assert len(made) == 2 + 1 + 2
