"""The frame of a page: style, tables, everything escaped, nothing fetched."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from bagnoise.plain_json import json_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

STYLE = """
:root{--ink:#1b1f24;--soft:#57606a;--line:#d8dee4;--card:#f6f8fa;--accent:#0072B2}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1180px;padding:28px 24px 60px;color:var(--ink);background:#fff;
font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
h1{font-size:26px;margin:0 0 4px}h2{font-size:20px;margin:40px 0 10px;padding-top:10px;
border-top:2px solid var(--ink)}h3{font-size:15px;margin:0 0 2px}
p{margin:4px 0 10px}.soft{color:var(--soft)}a{color:var(--accent)}
nav{margin:14px 0;display:flex;flex-wrap:wrap;gap:4px 16px}
.cards{display:flex;flex-wrap:wrap;gap:12px;margin:16px 0}
.card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 16px}
.card b{display:block;font-size:22px;font-variant-numeric:tabular-nums}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(480px,100%),1fr));gap:18px}
figure{margin:0;border:1px solid var(--line);border-radius:8px;padding:12px;break-inside:avoid}
figure.wide{grid-column:1/-1}figure svg{width:100%;height:auto;display:block}
figcaption{color:var(--soft);font-size:13px}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:13px;width:100%}
th,td{text-align:left;padding:4px 10px 4px 0;border-bottom:1px solid var(--line);
vertical-align:top;overflow-wrap:anywhere}th{white-space:nowrap}
td.n,th.n{text-align:right;white-space:nowrap}.scroll{overflow-x:auto}
pre{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:12px;
overflow-x:auto;font-size:12.5px}
.bad{font-weight:700;color:#9a3412}.ok{color:#05603a}
input[type=range]{width:100%}input[type=search]{padding:6px 10px;width:min(420px,100%);
border:1px solid var(--line);border-radius:6px;font:inherit}
button{font:inherit;padding:2px 12px;border:1px solid var(--line);border-radius:6px;
background:var(--card);cursor:pointer}
.scrub{display:flex;gap:12px;align-items:center}
@media print{body{max-width:none;padding:0;font-size:11px}nav,.scrub,input,button{display:none}
h2{break-after:avoid}.figures{grid-template-columns:1fr 1fr}a{color:inherit}}
"""


def page(title: str, body: str, *, script: str = "") -> str:
    """Return a whole HTML file."""
    tail = f"<script>{script}</script>" if script else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n"
        f"<body>\n{body}\n{tail}</body></html>\n"
    )


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[Any]],
    numbers: Sequence[int] = (),
    *,
    id_: str = "",
) -> str:
    """Return a table; ``numbers`` are the columns that are set to the right.

    A cell that is a `Raw` is put in as it is, any other is escaped.
    """
    head = "".join(_cell("th", name, n in numbers) for n, name in enumerate(heads))
    body = "".join(
        f"<tr>{''.join(_cell('td', c, n in numbers) for n, c in enumerate(row))}</tr>"
        for row in rows
    )
    name = f' id="{id_}"' if id_ else ""
    return (
        f'<div class="scroll"><table{name}><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


class Raw(str):
    """Text that is HTML already."""

    __slots__ = ()


def _cell(tag: str, value: Any, right: bool) -> str:  # noqa: FBT001
    text = value if isinstance(value, Raw) else escape(str(value))
    return f'<{tag} class="n">{text}</{tag}>' if right else f"<{tag}>{text}</{tag}>"


def card(value: str, what: str) -> str:
    """Return one key figure."""
    return f'<div class="card"><b>{escape(value)}</b><span class="soft">{escape(what)}</span></div>'


def json_block(id_: str, data: Any) -> str:
    """Return data for a script; nothing in it can end the element."""
    text = json_text(data).replace("<", "\\u003c")
    return f'<script type="application/json" id="{id_}">{text}</script>'
