"""The page of message types, from the registry of codecs."""

from __future__ import annotations

from markdown_text import code, plain, table

from bagnoise.messages.cloud_layout import LAYOUTS
from bagnoise.messages.cones.field_map_options import KEYS
from bagnoise.messages.definitions import shipped_definition, shipped_types, variants
from bagnoise.messages.registry import CLOUD_TYPE, DEPTH_TYPE, cone_types

INTRODUCTION = """\
# Message types

Time steps (`rate`, `latency`, `shift`, `drop`) work on messages of any type, and everything that no
stream names is copied whatever it is. To change content, bagnoise decodes these. This page is made
from the program.

## Cones

A stream reads one and may publish another (`type:`); what the other cannot hold is named in the
summary. *Layouts*: where teams use several under one name, the definition in the bag decides, else
`type_options: {variant: NAME}`.

"""
OTHER = """\
### Any other type

A map of its fields describes it, in `source_options` (to read) or `type_options` (to publish):
`fields` ({keys}) are paths into the message; `cones` is a list of structs, or one list for each
class, and is left out where x and y are arrays. `classes` says how each class is coded in `color`.
PacSim's track, whose lanes are lists of their own:

```yaml
source_options:
  fields:
    cones: {{blue: left_lane, yellow: right_lane}}
    x: pose.pose.position.x
    y: pose.pose.position.y
    header: header
```

A type whose codes are numbers:

```yaml
source_options:
  fields: {{cones: cones, x: position.x, y: position.y, color: class_id, header: header}}
  classes: {{blue: 0, yellow: 1, small_orange: 2, big_orange: 3}}
```

## Clouds and depth images

`{cloud}` with any fields; `{depth}` (16UC1, mono16, 32FC1) as the source of
[`camera_lidar`](steps.md#camera_lidar). Point layouts that `camera_lidar` can write:

"""
DEFINITIONS = """\
## Definitions that bagnoise brings

For bags without one; a definition in the bag or in a folder of `--msgs` comes first.
"""


def messages_page() -> str:
    """Make the page."""
    cones = [
        (
            code(kind.type_name),
            plain(kind.says),
            ", ".join(map(code, kind.options)),
            ", ".join(map(code, _variants(kind.type_name))),
        )
        for kind in cone_types()
    ]
    layouts = [
        (code(layout.name), str(layout.point_step), ", ".join(f.name for f in layout.fields))
        for layout in LAYOUTS.values()
    ]
    definitions = "".join(f"### {name}\n\n{_text(name)}\n" for name in shipped_types())
    return "\n".join(
        (
            INTRODUCTION + table(("type", "what it holds", "options", "other layouts"), cones),
            OTHER.format(keys=", ".join(map(code, KEYS)), cloud=CLOUD_TYPE, depth=DEPTH_TYPE)
            + table(("layout", "bytes a point", "fields"), layouts),
            DEFINITIONS,
            definitions,
        )
    )


def _variants(type_name: str) -> tuple[str, ...]:
    return variants(type_name) if shipped_definition(type_name) is not None else ()


def _text(type_name: str) -> str:
    schema = shipped_definition(type_name)
    assert schema is not None
    own = schema.data.decode().split("\n====", maxsplit=1)[0].strip()
    return f"```text\n{own}\n```\n"
