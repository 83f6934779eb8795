"""Random mechanisms in the language of scenes, with 17 digits, for the ordinary path load -> compile."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from tests.support import reference as ref
from tests.support.mechanisms import Mechanism


def number(value: float) -> str:
    """Return 17 digits; point and signed exponent make it a number for every reader of YAML."""
    return f"{value:.16e}"


def numbers(values: npt.ArrayLike) -> str:
    return "[" + ", ".join(number(float(value)) for value in np.ravel(values)) + "]"


def body_text(body: ref.Body, origin_W: np.ndarray) -> str:
    """Return a body as one line of YAML; recordings will refer to `origin_W`."""
    inertia = body.inertia_W[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    return (
        f"{{mass: {number(body.mass)}, com: {numbers(body.com_W)}, "
        f"inertia: {numbers(inertia)}, position: {numbers(origin_W)}}}"
    )


def joint_text(link: ref.Link, names: tuple[str, ...], **more: str) -> str:
    """Return a joint of the drawing as one line of YAML; `more` are further keys, as text."""
    parent, child = ("world" if index < 0 else names[index] for index in (link.a, link.b))
    keys = {"type": link.kind, "parent": parent, "child": child, "position": numbers(link.p_b)}
    if link.kind in ("rotational", "translational", "cylindrical", "universal", "planar", "helical"):
        keys["axis"] = numbers(link.axes_a[:, 0])
    if link.kind == "helical":
        keys["pitch"] = number(2.0 * np.pi * link.pitch)
    if link.kind == "universal":
        keys["second_axis"] = numbers(link.axes_b[:, 0])
    if link.kind == "planar":
        keys["second_axis"] = numbers(link.axes_a[:, 1])
    if link.drive is not None:
        for name in ("stiffness", "rest", "damping", "armature"):
            values = getattr(link.drive, name)
            keys[name] = number(values[0]) if len(values) == 1 else numbers(values)
    keys.update(more)
    return "{" + ", ".join(f"{key}: {value}" for key, value in keys.items()) + "}"


def value_text(kind: str, coordinate: np.ndarray | None, rate: np.ndarray | None) -> str:
    """Return what `initial` says of one joint."""
    keys: dict[str, str] = {}
    if coordinate is not None:
        if kind == "free":
            keys["position"] = numbers(coordinate[:3])
        if kind in ("free", "spherical"):
            keys["quat_wxyz"] = numbers(coordinate[-4:])
        else:
            keys["coordinate"] = number(coordinate[0]) if len(coordinate) == 1 else numbers(coordinate)
    if rate is not None:
        if kind == "free":
            keys["velocity"] = numbers(rate[:3])
        if kind in ("free", "spherical"):
            keys["angular_velocity"] = numbers(rate[-3:])
        else:
            keys["rate"] = number(rate[0]) if len(rate) == 1 else numbers(rate)
    return "{" + ", ".join(f"{key}: {value}" for key, value in keys.items()) + "}"


def scene_text(
    mechanism: Mechanism, *, simulate: str = "{duration: 1 s}", extra: str = "", limits: Mapping[str, str] | None = None
) -> str:  # fmt: skip
    """Return the mechanism as a scene.

    simulate: the block of that name; extra: further blocks of the top level (events, controllers);
    limits: those of joints by name; all as YAML.
    """
    origins, stops = mechanism.places, limits or {}
    lines = ["schema: 1", "name: random", f"world: {{gravity: {numbers(mechanism.gravity)}}}", "bodies:"]
    for name, body, origin in zip(mechanism.names, mechanism.bodies, origins, strict=True):
        lines.append(f"  {name}: {body_text(body, origin)}")
    lines.append("joints:")
    for name, link in zip(mechanism.joints, mechanism.links, strict=True):
        more = {"limits": stops[name]} if name in stops else {}
        lines.append(f"  {name}: {joint_text(link, mechanism.names, **more)}")
    values = []
    for name, link in zip(mechanism.joints, mechanism.links, strict=True):
        coordinate, rate = mechanism.coordinates.get(name), mechanism.rates.get(name)
        if coordinate is not None or rate is not None:
            values.append(f"  {name}: {value_text(link.kind, coordinate, rate)}")
    if values:
        lines += ["initial:", *values]
    lines.append(f"simulate: {simulate}")
    return "\n".join([*lines, extra.rstrip(), ""]) if extra else "\n".join([*lines, ""])
