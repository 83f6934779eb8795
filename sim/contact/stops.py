"""Rigid stops and friction of joints, as points of the contact problem that have one row each.

A freedom at its stop is a point without friction, whose normal rate leads away from the stop.  A freedom with friction
is a point that nothing presses, whose friction has a bound of its own (`least`).  Rows of turns are in metres, as all
rows are.  Friction with a bound gives no impulse, so it takes no part in collisions: what one moves, slides then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sim.contact.soft_points import AT_BOUND, SoftPoint
from sim.contact.solution import ContactSolution
from sim.kernels.shapes import OPEN, SLIP, STICK
from sim.mechanism.active_bound import ActiveBound, key_of
from sim.mechanism.finding import CLOSED
from sim.mechanism.joint_motion import ball_value
from sim.mechanism.mechanism import Mechanism
from sim.mechanism.model import Model
from sim.mechanism.touch import Touch


@dataclass(frozen=True)
class Bounded:
    """A freedom at its stop, or one with friction.

    column : of the freedom; of a spherical joint the first for its angle, the next for its swing and its twist
    side : 1 at the upper end of its range, -1 at the lower; 0: friction
    scale : m for turns, 1 for slides: what rates and torques are multiplied by, and divided by
    restitution, rest_speed : of the stop, 1 and m/s
    resistance : N, the most that friction gives
    mode : a stop is OPEN or not; friction is STICK or SLIP
    force : N, of the stop, or of friction along the coordinate
    both, beside : friction along the next column's coordinate, too, whose bound is that of both together; N
    """

    column: int
    side: int
    scale: float
    restitution: float = 0.0
    rest_speed: float = 0.0
    resistance: float = 0.0
    mode: int = OPEN
    force: float = 0.0
    both: bool = False
    beside: float = 0.0

    @property
    def columns(self) -> tuple[int, ...]:
        """All freedoms that it is of."""
        return (self.column, self.column + 1) if self.both else (self.column,)

    @property
    def forces(self) -> tuple[float, ...]:
        """Forces along them."""
        return (self.force, self.beside)[: len(self.columns)]

    @property
    def resistance_at_rest(self) -> float:
        """The same at rest [N]."""
        return self.resistance

    @property
    def key(self) -> tuple[int, int, int]:
        """Which one it is: the same at all times."""
        return key_of(self.column, self.side)

    @property
    def pair(self) -> int:
        """A number that no pair of shapes has."""
        return self.key[0]

    def name(self, model: Model) -> str:
        """Return its joint, and at which stop it is."""
        where = f" at its {_which(model, self.column, self.side)}" if self.side else ""
        return _name(model, self.column) + where

    def beyond(self, model: Model, depth: float) -> str:
        """Return that it is beyond its stop [m or rad]."""
        column = model.columns[self.column]
        unit, which = "m" if column.linear else "rad", _which(model, self.column, self.side)
        return f"{_name(model, self.column)} is {depth:.3g} {unit} beyond its {which}, which is rigid"

    def told(self, model: Model, mode: int) -> str:
        """Return what it does in a mode."""
        if self.side:
            which = _which(model, self.column, self.side)
            return f"{_name(model, self.column)} {'leaves' if mode == OPEN else 'rests at'} its {which}"
        constrains = int(model.columns.joint[self.column]) in model.constraints
        words = ("grips", "slips") if constrains else ("sticks", "slides")
        name = _name(model, self.column) if constrains else model.column_names[self.column]
        return f"{name} {words[mode != STICK]}"


Point = Touch | Bounded | SoftPoint


def _name(model: Model, column: int) -> str:
    """Return the name of a freedom; of a spherical joint and of a constraint theirs."""
    joint = int(model.columns.joint[column])
    whole = joint in model.constraints or _is_ball(model, joint)
    return model.joint_names[joint] if whole else model.column_names[column]


def _is_ball(model: Model, joint: int) -> bool:
    """Tell whether a joint's three columns are told by its angle, its swing and its twist."""
    return joint not in model.constraints and model.type_of(joint).limits == "ball"


def _value(mechanism: Mechanism, column: int) -> float:
    """Return the coordinate of a freedom as last looked at; of a spherical joint its angle, its swing or its twist."""
    model, coordinate = mechanism.model, mechanism.work.coordinate
    joint = int(model.columns.joint[column])
    if not _is_ball(model, joint):
        return float(coordinate[column])
    first, spec = int(model.joints.column[joint]), model.joint_specs[joint]
    about = spec.limits.about if spec and spec.limits else 2
    return ball_value(1 + column - first, about, coordinate[first : first + 3])


def _which(model: Model, column: int, side: int) -> str:
    """Return which stop of its joint it is."""
    joint, end = int(model.columns.joint[column]), "upper" if side > 0 else "lower"
    place = column - int(model.joints.column[joint]) if _is_ball(model, joint) else 0
    return (f"{end} stop", "cone", f"{end} stop of its twist")[place]


def at_stops(mechanism: Mechanism) -> tuple[list[Bounded], list[float]]:
    """Return the freedoms that are at rigid stops, as last looked at, and how far they still are from them."""
    model, found, stops = mechanism.model, list[Bounded](), mechanism.model.stops
    if not len(stops):
        return found, []
    present = _present(mechanism)
    place, side, joint = stops.place, stops.side, stops.joint
    value = mechanism.work.coordinate[place]
    balls = {number: _is_ball(model, number) for number in set(joint.tolist()) & present}
    for n, number in enumerate(joint.tolist()):
        if balls.get(number):
            value[n] = _value(mechanism, int(place[n]))
    gap = side * (stops.bound - value)
    near = [n for n in np.flatnonzero((stops.rigid == 1) & (gap <= CLOSED)).tolist() if int(joint[n]) in present]
    for n in near:
        scale = _scale(model, int(place[n]))
        restitution, rest_speed = float(stops.restitution[n]), scale * float(stops.rest_speed[n])
        found.append(Bounded(int(place[n]), int(side[n]), scale, restitution, rest_speed))
    return found, gap[near].tolist()


def with_friction(mechanism: Mechanism) -> list[Bounded]:
    """Return the freedoms that have friction."""
    model, found, columns = mechanism.model, list[Bounded](), np.flatnonzero(mechanism.model.columns.friction)
    present = _present(mechanism) if len(columns) else set[int]()
    for column in columns:
        if int(model.columns.joint[column]) in present:
            scale = _scale(model, int(column))
            resistance, both = float(model.columns.friction[column]) / scale, bool(model.columns.both[column])
            found.append(Bounded(int(column), 0, scale, resistance=resistance, both=both))
    return found


def _present(mechanism: Mechanism) -> set[int]:
    return {int(j) for j in (*mechanism.structure.carrier[1:], *mechanism.structure.loops)}


def _scale(model: Model, column: int) -> float:
    return 1.0 if model.columns.linear[column] else model.length


def everywhere(mechanism: Mechanism, bounded: Sequence[Bounded]) -> tuple[ActiveBound, ...]:
    """Return holds of all these freedoms where they are: their rows are what the problem is made of."""
    columns = dict.fromkeys(c for one in bounded for c in one.columns)
    return tuple(ActiveBound(c, _value(mechanism, c), -np.inf, np.inf) for c in columns)


def rows_of(mechanism: Mechanism, bounded: Sequence[Bounded | SoftPoint]) -> np.ndarray:
    """Return (3 bounded, rows): rows n, t1, t2 of these points from those of the structure, which holds all of them.

    Nothing of a soft point is asked across its surface, where its force is known.
    """
    rows, touches = mechanism.structure.tables.rows, mechanism.structure.touches
    out = np.zeros((3 * len(bounded), len(rows)))
    of_column = {int(rows.column[r]): r for r in np.flatnonzero(rows.low < rows.high)}
    blocks, own = mechanism.structure.tables.blocks, mechanism.structure.tables.touches.block.tolist()
    of_touch = {touch.key: block for touch, block in zip(touches, own, strict=True)}
    for k, one in enumerate(bounded):
        if isinstance(one, SoftPoint):
            first = int(blocks.row[of_touch[one.key]])
            out[3 * k + 1, first] = out[3 * k + 2, first + 1] = 1.0
            continue
        for i, column in enumerate(one.columns, start=0 if one.side else 1):
            out[3 * k + i, of_column[column]] = -one.side if one.side else 1.0
    return out


def against(stops: Sequence[Bounded], P: np.ndarray, mode: np.ndarray) -> list[Bounded]:
    """Return freedoms at stops in the modes (k,) of an answer with forces P (k, 3)."""
    return [replace(one, mode=int(m), force=float(f)) for one, m, f in zip(stops, mode, P[:, 0], strict=True)]


def frictions(
    bounded: Sequence[Bounded], answer: ContactSolution, leaving: frozenset[tuple[int, int, int]]
) -> list[Bounded]:
    """Return freedoms with friction, the last points of an answer, in its modes.

    leaving : those that friction could not hold any longer: they begin to slide, where it gives all that it can
    """
    out, n = [], len(answer.P) - len(bounded)
    for k, one in enumerate(bounded, start=n):
        force, bounds = answer.P[k, 1:], answer.mode[k] == STICK
        if not bounds:
            way = answer.d[k] if one.both else np.array([1.0 if answer.d[k, 0] > 0.0 else -1.0, 0.0])
            force = -one.resistance * way
        elif one.key in leaving and (np.hypot(*force) >= AT_BOUND * one.resistance or answer.chosen[k]):
            force, bounds = most(one, force), False
        out.append(replace(one, mode=STICK if bounds else SLIP, force=float(force[0]), beside=float(force[1])))
    return out


def most(one: Bounded, force: np.ndarray) -> np.ndarray:
    """Return the most (2,) that friction gives along a force (2,)."""
    return np.asarray(one.resistance * force / np.hypot(*force))


def eased(bounded: Sequence[Bounded], beyond: Mapping[int, float]) -> list[Bounded]:
    """Return these freedoms, of which friction gives what it can where it would have to give more.

    Only where forces are not unique: others hold the rest.  beyond : columns, and the torques that they would need
    """
    out = []
    for one in bounded:
        if one.mode == STICK and one.column in beyond and not one.side:
            along, across = most(one, np.array([beyond[one.column], beyond[one.column + 1] if one.both else 0.0]))
            one = replace(one, mode=SLIP, force=float(along), beside=float(across))
        out.append(one)
    return out


def active_bounds(mechanism: Mechanism, bounded: Sequence[Bounded]) -> tuple[ActiveBound, ...]:
    """Return what holds which freedom, at its stops and by friction."""
    model, out = mechanism.model, dict[int, ActiveBound]()
    for one in bounded:
        if one.mode == (SLIP if not one.side else OPEN):
            continue
        bound = one.resistance * one.scale
        for c, force in zip(one.columns, one.forces, strict=True):
            torque, at = one.scale * (-one.side * force if one.side else force), _value(mechanism, c)
            if one.side:
                stops = model.stops[(model.stops.place == c) & (model.stops.side == one.side)]
                at = float(stops.bound[0])
            low, high = (-np.inf if one.side > 0 else -bound), (np.inf if one.side < 0 else bound)
            old = out.get(c, ActiveBound(c, at, 0.0, 0.0))
            out[c] = ActiveBound(c, at if one.side else old.at, old.low + low, old.high + high, old.torque + torque)
    return tuple(out.values())


def friction_of_moving(model: Model, bounded: Sequence[Bounded]) -> np.ndarray:
    """Return the friction (columns,) of freedoms that slide [N or N m]."""
    out = np.zeros(len(model.columns))
    for one in bounded:
        if not one.side and one.mode == SLIP:
            out[list(one.columns)] = np.array(one.forces) * one.scale
    return out
