"""Colours as a scene writes them, to red, green, blue and opacity."""

from __future__ import annotations

import math
import re
from typing import Any

from sim.scene.names import nearest

Color = tuple[float, float, float, float]

# Where no colour is written: the film chooses.
UNSET: Color = (math.nan, math.nan, math.nan, math.nan)

_NAMED = {
    "black": "#000000", "white": "#ffffff", "gray": "#808080", "grey": "#808080", "silver": "#c0c0c0",
    "lightgray": "#d3d3d3", "darkgray": "#505050", "red": "#d62728", "darkred": "#8b0000", "maroon": "#800000",
    "orange": "#ff7f0e", "gold": "#ffd700", "yellow": "#f2d024", "olive": "#808000", "green": "#2ca02c",
    "darkgreen": "#006400", "lime": "#32cd32", "teal": "#008080", "turquoise": "#40e0d0", "cyan": "#17becf",
    "blue": "#1f77b4", "navy": "#000080", "steelblue": "#4682b4", "skyblue": "#87ceeb", "purple": "#800080",
    "violet": "#9467bd", "magenta": "#d020d0", "pink": "#ff9db0", "salmon": "#fa8072", "brown": "#8c564b",
    "sienna": "#a0522d", "tan": "#d2b48c", "beige": "#f5f5dc", "wheat": "#f5deb3", "ivory": "#fffff0",
}  # fmt: skip

_HEX = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})")


def parse_color(text: str) -> Color | None:
    """Return the colour of a name, ``#rgb``, ``#rrggbb`` or ``#rrggbbaa``; None if it is none."""
    code = _NAMED.get(text.lower().replace(" ", ""), text)
    if not _HEX.fullmatch(code):
        return None
    digits = code[1:]
    if len(digits) == 3:
        digits = "".join(2 * digit for digit in digits)
    values = [int(digits[i : i + 2], 16) / 255 for i in range(0, len(digits), 2)]
    red, green, blue = values[:3]
    return (red, green, blue, values[3] if len(values) == 4 else 1.0)


def color_of(block: Any, key: str = "color", default: Color = UNSET) -> Color:
    """Return the colour under a key of a block; the default without one or with a bad one (reported)."""
    value = block.get(key)
    if value is None:
        return default
    if isinstance(value, tuple):
        red, green, blue = value[:3]
        return (red, green, blue, value[3] if len(value) == 4 else 1.0)
    color = parse_color(value)
    if color is None:
        hint = nearest(value, _NAMED)
        block.problem(key, f"no color named '{value}'", hint or "a name such as brown, or '#a0522d' in quotes")
        return default
    return color
