"""Field maps of types that teams are known to use; a recipe's own map comes before them."""

from __future__ import annotations

from typing import Any

_FEUP: dict[str, Any] = {
    "fields": {
        "cones": "cone_array",
        "x": "position.x",
        "y": "position.y",
        "color": "color",
    },
    "classes": {
        "blue": "blue_cone",
        "yellow": "yellow_cone",
        "small_orange": "orange_cone",
        "big_orange": "large_orange_cone",
        "unknown": "unknown",
    },
}

KNOWN_MAPS: dict[str, dict[str, Any]] = {
    "custom_interfaces/msg/ConeArray": _FEUP,
    "custom_interfaces/msg/PerceptionOutput": {
        **_FEUP,
        "fields": {**_FEUP["fields"], "cones": "cones.cone_array"},
    },
    "brains_custom_interfaces/msg/ConesObservations": {
        "fields": {"range": "rho", "bearing": "theta", "color": "colors"},
        "classes": {"blue": 0, "yellow": 1, "small_orange": 2, "big_orange": 3},
    },
    "interfaces/msg/ConeArray": {
        "fields": {
            "cones": {
                "blue": "blue_cones",
                "yellow": "yellow_cones",
                "small_orange": "orange_cones",
                "big_orange": "big_orange_cones",
                "unknown": "unknown_color_cones",
            },
            "x": "x",
            "y": "y",
            "z": "z",
        },
    },
}
