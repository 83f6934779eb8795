"""What is said of points of contact: their names, what they change to, and why a run cannot begin to touch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sim.contact.soft_points import SoftPoint
from sim.contact.stops import Bounded, Point
from sim.kernels.shapes import OPEN, SLIP, STICK
from sim.mechanism.ropes import is_rope
from sim.mechanism.touch import Touch
from sim.simulation.contact_outcome import Outcome

if TYPE_CHECKING:
    from sim.mechanism.model import Model

DEEP = 1e-6  # m: an overlap that no step leaves
WORDS = {OPEN: "leaves", STICK: "sticks", SLIP: "slides"}  # a creep is a slide


def name_of(model: Model, touch: Point) -> str:
    """Return the names of the two bodies of a point, of a rope its own, or the joint at its stop."""
    if isinstance(touch, Bounded):
        return touch.name(model)
    solids, pair = model.solids, model.pairs[touch.pair]
    if is_of_rope(model, touch):
        return solids[pair.first].name
    names = [solids[n].name or model.body_names[solids[n].body] for n in (pair.first, pair.second)]
    return " and ".join(names)


def is_of_rope(model: Model, touch: Touch | SoftPoint) -> bool:
    """Tell whether a point is the end of a rope that is taut."""
    return is_rope(model.solids[model.pairs[touch.pair].first])


def overlap(model: Model, law: Sequence[Point], gaps: Sequence[float]) -> str:
    """Return which bodies are inside one another, or nothing."""
    deepest = min(zip(gaps, range(len(law)), strict=True), default=(0.0, 0))
    if deepest[0] > -DEEP:
        return ""
    point = law[deepest[1]]
    if isinstance(point, Bounded):
        return f"{point.beyond(model, -deepest[0])}: change the pose, the initial value or the limits"
    if is_of_rope(model, point):
        return (
            f"{name_of(model, point)} is shorter by {-deepest[0]:.3g} m than its points are apart where it begins to "
            "hold: give it a longer `length`, or set them closer"
        )
    return (
        f"{name_of(model, point)} overlap by {-deepest[0]:.3g} m where they begin to touch: set them apart, "
        "or leave them out of the contacts (`except`)"
    )


def tell_changes(
    model: Model, before: Mapping[tuple[int, int, int], int], after: Mapping[tuple[int, int, int], int],
    known: Mapping[tuple[int, int, int], Point], out: Outcome,
) -> None:  # fmt: skip
    """Tell which points change their modes, and how.

    known : all of them, by key
    """
    for key in dict.fromkeys([*before, *after]):
        if after.get(key, OPEN) != before.get(key, OPEN):
            point, mode = known[key], after.get(key, OPEN)
            name = name_of(model, point)
            out.pairs.add(name)
            if isinstance(point, Bounded):
                out.changed.append(point.told(model, mode))
            elif is_of_rope(model, point):
                out.changed.append(f"{name} goes {'slack' if mode == OPEN else 'taut'}")
            else:
                out.changed.append(f"{name} {WORDS[mode]}")
    out.changed = [
        f"{text} ({out.changed.count(text)} points)" if out.changed.count(text) > 1 else text
        for text in dict.fromkeys(out.changed)
    ]


__all__ = ["is_of_rope", "name_of", "overlap", "tell_changes"]
