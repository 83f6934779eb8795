"""The world, and the blocks that say how a scene is simulated and filmed."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from sim.scene.blocks import Block
from sim.scene.colors import color_of
from sim.scene.names import Unreadable, nearest
from sim.scene.reading import default
from sim.scene.spec import Simulate
from sim.scene.vocabulary import definition

SHARE = 1e-6  # of the time between two samples or steps: as much may be lost to roundoff of times
_CAMERA = ("follow", "target", "distance", "azimuth", "elevation", "fov")


def build_simulate(block: Block | None) -> Simulate:
    """Return how the scene is simulated; defaults for what is not written or cannot be read."""
    properties = definition("simulate")["properties"]
    values = {name: default(inner) for name, inner in properties.items()}
    if block is not None:
        values.update({name: block.get(name) for name in properties if block.get(name) is not None})
        _warn_of_idle_keys(block, values["method"], values["contact"])
        _refuse_lost_times(block, values)
    return Simulate(**values)


def _refuse_lost_times(block: Block, values: dict[str, Any]) -> None:
    """Report a run so long that floats no longer tell its samples or its fixed steps apart as they should."""
    finest, what = 1.0 / values["record"], "samples"
    fixed = {"stepping": "dt", "auto": "dt"}.get(values["contact"])
    if fixed is None and values["method"] in ("rk4", "semi_implicit", "variational"):
        fixed = "step"
    if fixed is not None and values[fixed] < finest:
        finest, what = values[fixed], "steps"
    coarse = math.ulp(values["duration"])
    if coarse > SHARE * finest:
        told = f"times of {values['duration']:.3g} s are told to {coarse:.1g} s only"
        block.problem(
            "duration", f"{told}, and {what} are {finest:.3g} s apart", "simulate a shorter time, or take longer ones"
        )


def _warn_of_idle_keys(block: Block, method: str, contact: str) -> None:
    """Warn of what the chosen method and way of contact do not use."""
    if contact == "event" and block.wrote("dt"):
        block.problem(
            "dt", "contact: event does not use 'dt'", "it is the step of contact: stepping", severity="warning"
        )
    if contact == "stepping":
        for key in ("method", "step", "rtol", "max_step"):
            if block.wrote(key):
                what = f"contact: stepping does not use '{key}'"
                block.problem(key, what, "its steps are fixed, and 'dt' is their length", severity="warning")
        return
    adaptive = method in ("dop853", "radau", "auto")
    for key in ("step",) if adaptive else ("rtol", "max_step"):
        if block.wrote(key):
            fixed = "rk4, semi_implicit and variational have fixed steps"
            controlled = "only dop853 and radau control their error"
            other = fixed if adaptive else controlled
            block.problem(key, f"method {method} does not use '{key}'", other, severity="warning")


def build_render(
    block: Block | None,
    bodies: Collection[str],
    unreadable: Unreadable = Unreadable(),  # noqa: B008
    points: Collection[str] = (),
) -> dict[str, Any]:
    """Return how the scene is filmed, as plain data; None stands for what the film chooses.

    bodies, points : their names, of which a camera may follow one and some may leave trails
    """
    properties = definition("render")["properties"]
    values: dict[str, Any] = {name: default(inner) for name, inner in properties.items()}
    values["camera"] = dict.fromkeys(_CAMERA)
    if block is not None:
        values.update({name: block.get(name) for name in properties if block.get(name) is not None})
        color = color_of(block, "background")
        values["background"] = None if math.isnan(color[0]) else color[:3]
        places = (*bodies, *points)
        values["camera"] = _camera(block.get("camera"), places, unreadable)
        for name in values["trails"] or ():
            _check_place(block, "trails", name, places, unreadable)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _check_place(block: Block, key: str, name: str, places: Collection[str], unreadable: Unreadable) -> None:
    if name not in places and name not in unreadable and name.rpartition(".")[0] not in unreadable:
        block.problem(key, f"no body or point named '{name}'", nearest(name, places))


def _camera(block: Block | None, places: Collection[str], unreadable: Unreadable) -> dict[str, Any]:
    camera: dict[str, Any] = dict.fromkeys(_CAMERA)
    if block is None:
        return camera
    camera.update({name: block.get(name) for name in _CAMERA})
    if camera["target"] is not None:
        camera["target"] = list(camera["target"])
    if camera["follow"] is not None and camera["target"] is not None:
        block.problem("target", "'follow' and 'target' at once; expected one of them")
    if camera["follow"] is not None:
        _check_place(block, "follow", camera["follow"], places, unreadable)
    return camera
