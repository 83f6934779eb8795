"""Bodies: mass properties, shapes and points."""

from __future__ import annotations

import dataclasses
import math

from sim.scene.blocks import BAD, Block, Thing
from sim.scene.colors import color_of
from sim.scene.mass_properties import Inertia, MassProperties, impossible, of_shapes, volume_of
from sim.scene.read_shapes import build_shapes
from sim.scene.reading import LARGEST, LEAST, MOST
from sim.scene.spec import Body, Shape, Vec3

_NONE: Inertia = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
_ORIGIN: Vec3 = (0.0, 0.0, 0.0)


def build_body(thing: Thing) -> Body | None:
    """Return a body, or None if its block cannot be read (reported)."""
    block: Block = thing.value
    if block is BAD:
        return None
    for point in block.get("points") or []:
        if point.name == "com":
            point.problem("a point cannot be called 'com'", "body.com is the centre of mass")
    solids = build_shapes(block.get("shapes"), color_of(block))
    points = {point.name: point.value for point in block.get("points") or [] if point.value is not BAD}
    complete = not block.bad("shapes") and len(solids) == len(block.get("shapes") or ())
    properties = MassProperties(1.0, _ORIGIN, _NONE)
    if complete:
        found = _mass_properties(block, [shape for solid in solids for shape in solid.whole], thing.full)
        properties = found if _computable(found, thing) else properties
    return Body(
        name=thing.full,
        part=thing.reader.scope.part,
        mass=properties.mass,
        com=properties.com,
        inertia=properties.inertia,
        origin=block.get("position"),
        shapes=tuple(shape for solid in solids for shape in solid.parts),
        points=points,
        place=thing.key.place,
    )


def _mass_properties(block: Block, shapes: list[Shape], name: str) -> MassProperties:
    """Return mass, centre of mass and inertia as written, or as they follow from the shapes."""
    if block.wrote("mass") and block.wrote("density"):
        block.problem("density", "'mass' and 'density' at once; expected one of them")
    if block.wrote("inertia") and block.wrote("gyration"):
        block.problem("gyration", "'inertia' and 'gyration' at once; expected one of them")
    mass = block.get("mass", 0.0)
    if any(shape.density is not None for shape in shapes):
        shapes = _with_densities(block, shapes, name)
        mass = sum(volume_of(shape) * (shape.density or 0.0) for shape in shapes)
    elif block.get("density") is not None:
        if not shapes:
            block.problem("density", f"body '{name}' has a density but no shapes", "give its mass, or shapes")
        mass = block.get("density") * sum(volume_of(shape) for shape in shapes)
    own = of_shapes(shapes, mass) if shapes else None
    com = block.get("com") or (own.com if own else block.get("position"))
    if com is None:
        if mass > 0 and not block.bad("com", "position"):
            hint = "give com, or position, or shapes"
            block.problem(None, f"body '{name}' has a mass but no place: where is its centre of mass?", hint)
        com = _ORIGIN
    inertia = _inertia(block, mass, name)
    if inertia is None:
        inertia = own.inertia if own and not block.wrote("inertia", "gyration") else _NONE
    return MassProperties(mass, com, inertia)


def _computable(found: MassProperties, thing: Thing) -> bool:
    """Return whether floats hold what follows from a body's mass properties; report if not."""
    what = ""
    if not math.isfinite(found.mass) or found.mass > MOST or 0.0 < found.mass < LEAST:
        what = f"body '{thing.full}' has a mass of {found.mass:.4g} kg; expected {LEAST:g} to {MOST:g} kg"
    elif not all(abs(x) <= LARGEST for x in found.com):
        what = f"the centre of mass of body '{thing.full}' is farther away than {LARGEST:g} m"
    if what:
        thing.problem(what, "size and density of its shapes, or what is written, make it so")
    return not what


def _with_densities(block: Block, shapes: list[Shape], name: str) -> list[Shape]:
    """Return shapes of which some have a density with that of each: its own, else the body's; report what has none."""
    blocks = block.get("shapes")
    if block.wrote("mass"):
        first = next(one for one in blocks if one.wrote("density"))
        what = f"a shape has a density, and body '{name}' a mass"
        first.problem("density", what, "give the mass, or densities; with densities the mass follows")
        return shapes
    bare = next((one for one in blocks if not one.wrote("density")), None)
    if bare is not None and not block.wrote("density"):
        what = f"this shape of body '{name}' has no density, others have one"
        bare.problem(None, what, "give it one, 0 where it weighs nothing, or give the body one for all that have none")
    return [
        shape if shape.density is not None else dataclasses.replace(shape, density=block.get("density"))
        for shape in shapes
    ]


def _inertia(block: Block, mass: float, name: str) -> Inertia | None:
    """Return the moments of inertia that are written, or None."""
    key = "inertia" if block.wrote("inertia") else "gyration"
    value = block.get(key)
    if value is None:
        return None
    if not mass > 0:
        if not block.bad("mass", "density"):
            block.problem(key, f"body '{name}' has '{key}' but no mass", "give its mass")
        return None
    if key == "gyration":
        inertia: Inertia = (*(mass * radius**2 for radius in value), 0.0, 0.0, 0.0)
    elif len(value) in (3, 6):
        inertia = value if len(value) == 6 else (*value, 0.0, 0.0, 0.0)
    else:
        block.problem(
            key, f"expected 3 or 6 moments of inertia, found {len(value)}", "xx, yy, zz or xx, yy, zz, xy, xz, yz"
        )
        return None
    what = impossible(inertia)
    if what:
        block.problem(key, f"body '{name}' cannot exist: {what}")
    return inertia
