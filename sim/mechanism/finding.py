"""Where shapes touch now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sim.kernels.collision.narrow import points_nearby
from sim.kernels.tables import ROLLING
from sim.mechanism.mechanism import Mechanism
from sim.mechanism.touch import Touch

CLOSED = 1e-9  # m: gap at which a point touches


def meetings(mechanism: Mechanism, active: Sequence[bool]) -> dict[int, int]:
    """Return the pairs of shapes that may touch now, each with the rule that it follows.

    A pair follows the last of its rules that is switched on; bodies that a connected joint holds together never touch,
    nor does what is kept on the ground on which it rolls.
    """
    model, structure = mechanism.model, mechanism.structure
    joints = model.joints
    present = {int(j) for j in (*structure.carrier[1:], *structure.loops)}
    present = {
        j for j in present if (joints.kind[j] == ROLLING if j in model.constraints else model.type_of(j).freedoms < 6)
    }
    held = {frozenset((int(joints.parent[j]), int(joints.child[j]))) for j in present}
    out = {}
    for number, pair in enumerate(model.pairs):
        rule = next((n for n in reversed(pair.rules) if active[n]), -1)
        bodies = frozenset((model.solids[pair.first].body, model.solids[pair.second].body))
        if rule >= 0 and bodies not in held:
            out[number] = rule
    return out


def closed_points(
    mechanism: Mechanism, rules: Mapping[int, int], within: float = CLOSED
) -> tuple[list[Touch], list[float]]:
    """Return the points of these pairs that touch, as the mechanism was last looked at, and their gaps [m].

    within : m, gap up to which they do
    """
    work, tables = mechanism.work, mechanism.structure.tables
    out: list[Touch] = []
    gaps: list[float] = []
    for number, rule in rules.items():
        pair = mechanism.model.pairs[number]
        count, _, _ = points_nearby(
            tables.shapes, tables.hulls, pair.first, pair.second, work.links.x, work.links.R, within, work.near,
            work.near_points, work.near_poses, work.near_cores,
        )  # fmt: skip
        out += [Touch(number, rule, work.near[k].copy()) for k in range(count)]
        gaps += work.near_points.gap[:count].tolist()
    return out, gaps


__all__ = ["CLOSED", "closed_points", "meetings"]
