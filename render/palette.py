"""Colours: those of bodies that have none of their own, and those of the stage."""

from __future__ import annotations

import colorsys

import numpy as np

from render.view import Shapes

# One for each figure, then each kind of thing, in order of appearance; distinct also for the colour-blind
# by their lightness.
FAMILIES = ["#d98645", "#4a7fa8", "#8fae62", "#b4637a", "#7d74b0", "#caa53d", "#4e9d95", "#8c7a6b"]
WORLD = "#8d939b"
FLOOR = "#c3c4b9"  # planes: lighter than what stands on them


def rgb(code: str) -> tuple[float, float, float]:
    """Return red, green, blue in [0, 1] of ``#rrggbb``."""
    return tuple(int(code[k : k + 2], 16) / 255 for k in (1, 3, 5))  # type: ignore[return-value]


def family_of(name: str) -> str:
    """Return the family of a body's name: the figure's prefix, else the name without side and number.

    ``monkey.shin_l`` -> ``monkey``, ``rope_l`` and ``rope_r`` -> ``rope``, ``link_12`` -> ``link``
    """
    if "." in name:
        return name.split(".")[0]
    return name.removesuffix("_l").removesuffix("_r").rstrip("0123456789").rstrip("_-[") or name


def colors(shapes: Shapes, body_names: tuple[str, ...]) -> np.ndarray:
    """Return (s, 4) colours of shapes, filling in those that are not-a-number.

    Members of one figure share a hue; left ones are a little lighter than right ones, so that
    crossed legs can be told apart.
    """
    figures_first = sorted(body_names, key=lambda name: "." not in name)
    families = list(dict.fromkeys(family_of(name) for name in figures_first))
    filled = np.array(shapes.color, float).reshape(-1, 4)
    for s in range(len(shapes)):
        if np.isfinite(filled[s, :3]).all():
            continue
        if shapes.body[s] < 0:
            filled[s] = [*rgb(FLOOR if shapes.kind[s] == "plane" else WORLD), 1.0]
            continue
        name = body_names[shapes.body[s]]
        shade = {"_l": 1.10, "_r": 0.86}.get(name[-2:], 1.0)
        filled[s] = [*_shaded(rgb(FAMILIES[families.index(family_of(name)) % len(FAMILIES)]), shade), 1.0]
    filled[~np.isfinite(filled[:, 3]), 3] = 1.0
    return np.clip(filled, 0, 1)


def _shaded(color: tuple[float, float, float], factor: float) -> tuple[float, float, float]:
    hue, light, saturation = colorsys.rgb_to_hls(*color)
    return colorsys.hls_to_rgb(hue, min(0.92, light * factor), saturation)
