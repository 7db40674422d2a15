"""A page over a data set: key figures of every output."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from bagnoise.dataset.manifest import write_whole
from bagnoise.report.html import Raw, card, page, table
from bagnoise.report.page import script_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from bagnoise.dataset.manifest import Line

INDEX_NAME = "index.html"
HEADS = ("output", "input", "recipe", "sweep", "seed", "state", "MB", "s", "published")
NUMBERS = (4, 6, 7)


def write_index(folder: Path, title: str, lines: Sequence[Line]) -> Path:
    """Write ``index.html`` beside the manifest; the path."""
    done = [line for line in lines if line["state"] == "done"]
    size = sum(line["output_bytes"] for line in done)
    cards = [
        card(str(len(done)), f"of {len(lines)} outputs done"),
        card(str(len(lines) - len(done)), "failed"),
        card(f"{size / 1e6:.1f} MB", "of bags"),
        card(str(len({line["input"].get("path") for line in lines})), "inputs"),
        card(str(len({line["seed"] for line in lines})), "seeds"),
    ]
    body = (
        f'<h1>{escape(title)}</h1><p class="soft">Made by bagnoise dataset; the numbers are those '
        f'of <a href="manifest.jsonl">manifest.jsonl</a>.</p>'
        f'<div class="cards">{"".join(cards)}</div>'
        '<p><input id="search" type="search" placeholder="Show outputs with these words" '
        f'aria-label="Filter"></p>{table(HEADS, map(_row, lines), NUMBERS, id_="outputs")}'
    )
    path = folder / INDEX_NAME
    write_whole(path, page(title, body, script=script_text("table.js")).encode())
    return path


def _row(line: Line) -> list[Any]:
    done = line["state"] == "done"
    name = line["output"]
    sweep = ", ".join(f"{option} = {value}" for option, value in line["sweep"].items())
    return [
        Raw(f'<a href="{quote(name)}">{escape(name)}</a>') if done else name,
        line["input"].get("path", "").rsplit("/", 1)[-1],
        line["recipe"],
        sweep,
        line["seed"],
        Raw('<span class="ok">done</span>') if done else Raw(_failure(line)),
        f"{line['output_bytes'] / 1e6:.2f}" if done else "",
        f"{line['duration_s']:.1f}",
        "; ".join(_published(line)) if done else "",
    ]


def _failure(line: Line) -> str:
    return f'<span class="bad">failed</span>: {escape(str(line["error"]))}'


def _published(line: Line) -> Iterator[str]:
    for stream in line["streams"].values():
        delay_s = stream["mean_delay_s"]
        late = "" if delay_s is None else f" ({1e3 * delay_s:.1f} ms late)"
        for topic, count in stream["targets"].items():
            yield f"{topic} {count}{late}"
