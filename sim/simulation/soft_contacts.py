"""Soft points of contact at an instant: which of those that were found touch, and how they are pressed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from sim.contact.point_laws import PointLaws
from sim.contact.soft_points import SoftPoint, pressed, stored, touches_now
from sim.kernels.shapes import SLIP, SOFT
from sim.mechanism.touch import Touch
from sim.simulation.contact_structures import ContactStructures
from sim.simulation.structure_changes import Instant

if TYPE_CHECKING:
    from sim.simulation.flow import Flow


class Softened(NamedTuple):
    """Points that were found, by what they do: rigid ones and their gaps [m], soft ones without and with friction.

    bare : the instant in which the soft ones press, and nothing else does
    """

    rigid: list[Touch]
    gaps: list[float]
    smooth: list[SoftPoint]
    rough: list[SoftPoint]
    bare: Instant


def soften(
    flow: Flow, structures: ContactStructures, laws: PointLaws, bare: Instant, rules: Mapping[int, int],
    found: tuple[list[Touch], list[float]],
) -> Softened:  # fmt: skip
    """Let soft points that touch press in what holds without the others; the flow is then looked at with them.

    found : points that touch, and their gaps
    """
    contacts = flow.model.scene.contacts
    gives = [contacts[touch.rule].soft is not None for touch in found[0]]
    if not any(gives):
        return Softened(*found, [], [], bare)
    near = [touch for touch, soft in zip(found[0], gives, strict=True) if soft]
    while True:
        smooth = [touch for touch in near if not laws.friction(touch)[0] > 0.0]
        rough = [touch for touch in near if laws.friction(touch)[0] > 0.0]
        bare = structures.of(bare, tuple(replace(touch, mode=SOFT) for touch in (*smooth, *rough)), rules)
        flow.take(bare, bare.v)
        bare = structures.looked_at(flow, bare)
        gap, rate = flow.work.points.gap.tolist(), flow.work.points.gap_dot.tolist()
        stay = {one.key for one, g, u in zip((*smooth, *rough), gap, rate, strict=True) if touches_now(g, u)}
        if len(stay) == len(near):
            break
        near = [touch for touch in near if touch.key in stay]
    points = [_soft(laws, touch) for touch in (*smooth, *rough)]
    points = pressed(points, flow.structure.tables.touches, flow.work.points)
    rigid = [(touch, gap) for touch, gap, soft in zip(*found, gives, strict=True) if not soft]
    count = len(smooth)
    return Softened([t for t, _ in rigid], [g for _, g in rigid], points[:count], points[count:], bare)


def _soft(laws: PointLaws, touch: Touch) -> SoftPoint:
    """Return a soft point that touches; one without friction slides."""
    said = laws.model.scene.contacts[touch.rule].soft
    assert said is not None
    return SoftPoint(touch, said.stiffness, *laws.friction(touch), mode=SLIP)


def stored_now(flow: Flow) -> float:
    """Return the energy that soft points hold, as last looked at [J]."""
    if not any(rule.soft is not None for rule in flow.model.scene.contacts):
        return 0.0
    return stored(flow.structure.tables.touches, flow.work.points)


__all__ = ["soften", "stored_now"]
