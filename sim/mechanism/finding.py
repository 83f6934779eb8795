"""Where shapes touch now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sim.kernels.collision.narrow import points_nearby
from sim.kernels.looking import find_closed
from sim.kernels.scratch import TOUCH_WORK
from sim.kernels.shapes import TOUCH
from sim.kernels.system import System, address
from sim.kernels.tables import ROLLING, table
from sim.mechanism.mechanism import Mechanism
from sim.mechanism.record_bytes import copied
from sim.mechanism.ropes import is_rope
from sim.mechanism.touch import Touch

CLOSED = 1e-9  # m: gap at which a point touches


def meetings(mechanism: Mechanism, active: Sequence[bool]) -> dict[int, int]:
    """Return the pairs of shapes that may touch now, each with the rule that it follows.

    A pair follows the last of its rules that is switched on; bodies that a connected joint holds together never touch,
    nor does what is kept on the ground on which it rolls.  Ropes tie them all the same.
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
        if rule >= 0 and (bodies not in held or is_rope(model.solids[pair.first])):
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


class Found:
    """Room for the points that touch at an instant, of all pairs."""

    def __init__(self, count: int = 256):
        self._make(count)

    def _make(self, count: int) -> None:
        self._touches, self._points, self._counts = table(TOUCH, count), table(TOUCH_WORK, count), np.zeros(0, np.int64)

    def closed(self, system: System, rules: Mapping[int, int]) -> tuple[list[Touch], list[float]]:
        """Return the same as `closed_points` of all pairs that a structure lets touch.

        system : of a structure, as last looked at; rules : its meetings
        """
        if len(self._counts) != len(rules):
            self._counts = np.zeros(len(rules), np.int64)
        while True:
            total = find_closed(address(system.places), CLOSED, self._touches, self._points, self._counts)
            if total >= 0:
                break
            self._make(2 * len(self._touches))
            self._counts = np.zeros(len(rules), np.int64)
        out, gaps, place = list[Touch](), self._points.gap[:total].tolist(), 0
        keys, ends = self._touches.key[:total].tolist(), self._touches.link[:total].tolist()
        features = copied(self._touches[:total])
        for (number, rule), count in zip(rules.items(), self._counts.tolist(), strict=True):
            if not count:
                continue
            # In this order those that stay are the same structure's.
            order = sorted(range(place, place + count), key=lambda k: keys[k])
            for k in order:
                touch = Touch(number, rule, features[k])
                vars(touch).update(key=(number, *keys[k]), ends=tuple(ends[k]))
                out.append(touch)
            gaps[place : place + count] = [gaps[k] for k in order]
            place += count
        return out, gaps


__all__ = ["CLOSED", "Found", "closed_points", "meetings"]
