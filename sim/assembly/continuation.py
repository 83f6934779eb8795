"""Following coordinates that are written from a pose to where they are wanted, on the branch of that pose.

One projection from afar ends on whichever branch is nearest in its own metric, and may move what was written.  Here the
written coordinates go a way q_w(s), s from 0 to 1, and the others follow: a predictor along the tangent of the
constraints that moves them least (kinetic-energy metric), a corrector by Newton with the written ones fixed.  A step is
taken if the corrector needs few iterations and moves little, and if the tangent has turned little: so no step ends
on another branch.  At a fold the tangent grows without bound and steps shrink; what was reached there is told.  At a
singular position where branches cross, tangents near it are followed across (Allgower & Georg, Numerical Continuation
Methods, 1990, chapters 2 and 8).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sim.assembly.loop_closure import CLOSED, RANK, SHUT, Aim, Bonds, close, root
from sim.assembly.standing import NOWHERE, Standing
from sim.kernels.project import add_freedoms
from sim.mechanism.mechanism import Mechanism
from sim.scene.rotation import from_vector, multiply

STRIDE = 0.2  # rad, or lengths: longest step of any freedom
FIRST = 0.02  # the same of the first step from a singular position, where no tangent is known
LEAST = 1e-6  # the same below which steps are not halved; what stops them is stepped over, if it is no fold
OVER = (1e-5, 1e-4, 1e-3, 1e-2)  # the same: lengths that are tried for that
ITERATIONS = 4  # most of the corrector
SHARE, WIDE = 0.3, 3.0  # of a step: most that the corrector may move; where no tangent is known
TURNED = 0.2  # rad: most by which the tangent may turn in a step
SINGULAR = 1e-5  # over the largest: smallest singular value below which a tangent is not known
FOLLOWS = 1e-6  # over the rates that are wanted: what a tangent may miss
STEPS = 5000  # most of a way
WHOLE_TURNS = 10  # beyond so many of a hinge in a loop the whole turns are no way, but a number
THERE = 1e-9  # m or rad, over 1 + the value: what counts as reached


@dataclass(frozen=True)
class Leg:
    """The way of one coordinate: begin at s = 0, with a constant rate to the aim at s = 1.

    rate : (freedoms,); rotations in the child's axes, the shorter way round
    ball : address in `begin` of a quaternion, or -1
    """

    aim: Aim
    begin: np.ndarray
    rate: np.ndarray
    ball: int = -1

    def at(self, s: float) -> np.ndarray:
        """Return the coordinate on the way."""
        if s == 1.0:
            return self.aim.value
        k, rate = self.ball, self.rate
        if k < 0:
            return self.begin + s * rate
        w, x, y, z = self.begin[k:].tolist()
        turned = multiply((w, x, y, z), from_vector(tuple(s * rate[k:])))
        return np.concatenate([self.begin[:k] + s * rate[:k], turned])


@dataclass(frozen=True)
class Reached:
    """What a continuation came to.

    missed : aims that were not reached, with the coordinates that were
    share : of the way to the first of these
    """

    missed: tuple[tuple[Aim, np.ndarray], ...] = ()
    share: float = 1.0


def reach(
    mechanism: Mechanism, q: np.ndarray, aims: Sequence[Aim], standing: Sequence[Standing] = (NOWHERE,),
    rows: np.ndarray | None = None,
) -> Reached:  # fmt: skip
    """Bring q from a pose where loops are closed to these coordinates; the others follow on the branch of the pose.

    All are followed at once; if that does not lead there, one after the other, in different orders.  Points that stand
    stay: of their sets the first with which all is reached.  Turns of loop joints are counted in `mechanism.control`.
    If not all is reached, q is where it began.

    rows : mask of those that are kept on the way; all that bind places without it
    """
    rows = mechanism.locked() if rows is None else rows
    mechanism.update(q, np.zeros(mechanism.structure.sizes.v))
    begun, turns = q.copy(), mechanism.control.turn.copy()
    best = Reached(tuple((aim, aim.value) for aim in aims), -1.0)
    away = [aim for aim in aims if not _is_there(mechanism, q, aim)]
    for points in standing:
        for order in _orders(mechanism, away):
            found = _in_order(mechanism, q, aims, order, away, points, rows)
            if not found.missed:
                return found
            if (-len(found.missed), found.share) > (-len(best.missed), best.share):
                best = found
            q[:], mechanism.control.turn[:] = begun, turns
            mechanism.update(q, np.zeros(mechanism.structure.sizes.v))
    return best


def _orders(mechanism: Mechanism, aims: Sequence[Aim]) -> Iterator[list[list[Aim]]]:
    """Return ways to go to aims: to all at once, then to one after the other, then to their parts."""
    yield [list(aims)]
    parts = [part for aim in aims for part in _parts(mechanism, aim)]
    for some, more in ((aims, len(aims) > 1), (parts, len(parts) > len(aims))):
        if more:
            yield [[aim] for aim in some]
            yield [[aim] for aim in reversed(some)]


def _parts(mechanism: Mechanism, aim: Aim) -> list[Aim]:
    """Return an aim freedom by freedom; of free joints orientation and position."""
    k = ball_in(mechanism, aim)
    if k >= 0:
        turned = replace(aim, value=aim.value[k:], first=aim.first + k)
        return [turned, replace(aim, value=aim.value[:k])] if k else [aim]
    return [replace(aim, value=aim.value[i : i + 1], first=aim.first + i) for i in range(len(aim.value))]


def _in_order(
    mechanism: Mechanism, q: np.ndarray, aims: Sequence[Aim], order: Sequence[Sequence[Aim]], away: Sequence[Aim],
    points: Standing, rows: np.ndarray,
) -> Reached:  # fmt: skip
    """Go to those aims that are away group by group; those that are not, and those reached, are kept."""
    kept = [aim for aim in aims if all(aim is not one for one in away)]
    for group in order:
        share = Way(mechanism, q, [leg_to(mechanism, q, aim) for aim in group], kept, points, rows).go()
        if share < 1.0 and not all(_is_there(mechanism, q, aim) for aim in group):
            return Reached(
                tuple((aim, coordinate(mechanism, q, aim)) for aim in aims if not _is_there(mechanism, q, aim)), share
            )
        kept += group
    return Reached()


def coordinate(mechanism: Mechanism, q: np.ndarray, aim: Aim) -> np.ndarray:
    """Return the coordinate that an aim means, as last looked at: from q, or from the columns of a joint of a loop."""
    if aim.joint in mechanism.structure.loops:
        return np.array(mechanism.work.coordinate[aim.columns(mechanism)])
    return np.array(q[q_of(mechanism, aim)])


def q_of(mechanism: Mechanism, aim: Aim) -> slice:
    """Return where in q an aim's joint of the tree is."""
    first = mechanism.structure.q_of(mechanism.model, aim.joint).start + aim.first
    return slice(first, first + len(aim.value))


def v_of(mechanism: Mechanism, aim: Aim) -> slice:
    """Return where in v an aim's joint of the tree is."""
    first = mechanism.structure.v_of(mechanism.model, aim.joint).start + aim.first
    return slice(first, first + len(aim.value) - int(ball_in(mechanism, aim) >= 0))


def ball_in(mechanism: Mechanism, aim: Aim) -> int:
    """Return where in an aim's value a quaternion begins, or -1."""
    if mechanism.model.type_of(aim.joint).ball < 0 or aim.joint in mechanism.structure.loops or len(aim.value) == 3:
        return -1
    return len(aim.value) - 4


def _is_there(mechanism: Mechanism, q: np.ndarray, aim: Aim) -> bool:
    rate = leg_to(mechanism, q, aim).rate
    return bool(np.abs(rate).max(initial=0.0) <= THERE * (1.0 + np.abs(aim.value).max(initial=0.0)))


def leg_to(mechanism: Mechanism, q: np.ndarray, aim: Aim) -> Leg:
    """Return the way of a coordinate from where it is, as last looked at, to where it is wanted."""
    begin, end, k = coordinate(mechanism, q, aim), aim.value, ball_in(mechanism, aim)
    if k < 0:
        return Leg(aim, begin, end - begin)
    a, b = begin[k:], end[k:]
    w, vector = float(a @ b), a[0] * b[1:] - b[0] * a[1:] - np.cross(a[1:], b[1:])
    # At half a turn both ways are as long: the sign that the written angles gave the quaternion tells which.
    w, vector = (-w, -vector) if w < -THERE else (w, vector)
    size = float(np.linalg.norm(vector))
    turning = vector * (2.0 * np.arctan2(size, w) / size if size > 0.0 else 2.0)
    return Leg(aim, begin, np.concatenate([end[:k] - begin[:k], turning]), k)


class Way:
    """The way of some coordinates, others kept, and how far a mechanism can be led along it."""

    def __init__(
        self, mechanism: Mechanism, q: np.ndarray, legs: Sequence[Leg], kept: Sequence[Aim], standing: Standing,
        rows: np.ndarray,
    ):  # fmt: skip
        self.mechanism, self.q, self.standing, self.hard = mechanism, q, standing, rows
        structure = mechanism.structure
        self.v, self.rate = np.zeros(structure.sizes.v), np.zeros(structure.sizes.v)
        self.fixed = np.zeros(structure.sizes.v, bool)
        still = [Leg(aim, coordinate(mechanism, q, aim), np.zeros(len(aim.value))) for aim in kept]
        self.of_loops = [leg for leg in [*legs, *still] if leg.aim.joint in structure.loops]
        self.of_tree = [leg for leg in legs if leg.aim.joint not in structure.loops]
        for leg in [*self.of_tree, *still]:
            if leg.aim.joint not in structure.loops:
                self.fixed[self._v_of(leg)] = True
        for leg in self.of_tree:
            self.rate[self._v_of(leg)] = leg.rate
        self.unit = np.where(np.asarray(structure.tables.freedoms.linear) == 1, mechanism.model.length, 1.0)
        self.rank = 0  # of the rows, the largest so far

    def go(self) -> float:
        """Lead the mechanism along; return the share s that was reached, 1 if all.  q is there, and looked at."""
        self._leap()
        self.mechanism.update(self.q, self.v)
        if not self.of_tree and not any(leg.rate.any() for leg in self.of_loops):
            return 1.0
        if len(self.standing):
            self.standing = self.standing.moved_by(self.mechanism, ~self.fixed)
        s, step, steps = 0.0, 1.0, 0
        tangent, known = self._tangent(s)
        while s < 1.0 and steps < STEPS:
            steps += 1
            size = self._size(tangent)
            step = min(step, STRIDE / size if size > 0.0 else 1.0, 1.0 - s)
            if not known and steps == 1:
                step = min(step, FIRST / max(size, 1e-300))
            taken = self._try(s, step, tangent, known)
            if taken is None and step * size > LEAST:
                step *= 0.5
                continue
            if taken is None:  # a fold, or a position where branches cross
                lengths = [over / max(size, 1e-300) for over in OVER if over / max(size, 1e-300) < 1.0 - s]
                step, taken = next(
                    ((h, t) for h in lengths if (t := self._try(s, h, tangent, known)) is not None), (0.0, None)
                )
                if taken is None:
                    break
            s, step = s + step, 2.0 * step  # s + (1.0 - s) is 1.0 to the last bit
            tangent, known = taken
        return s

    def _leap(self) -> None:
        """Go at once where no loop follows; leave out whole turns beyond some."""
        tables, moved = self.mechanism.structure.tables, np.zeros(len(self.v), bool)
        for support, nb, na in zip(tables.blocks.support, tables.blocks.nb, tables.blocks.na, strict=True):
            moved[tables.support[support : support + nb + na]] = True
        alone = []
        for leg in self.of_tree:
            if not moved[self._v_of(leg)].any() and not len(self.standing):
                self.q[self._q_of(leg)] = leg.aim.value
                self.rate[self._v_of(leg)] = 0.0
                alone.append(leg)
        self.of_tree = [self._shortened(leg) for leg in self.of_tree if all(leg is not one for one in alone)]
        self.of_loops = [self._shortened(leg) for leg in self.of_loops]

    def _shortened(self, leg: Leg) -> Leg:
        """Return a leg without its whole turns where these are many: a number that is added to where it begins."""
        linear = self.mechanism.model.type_of(leg.aim.joint).linear[leg.aim.first :][: len(leg.rate)]
        turns = np.where(np.array(linear, bool), 0.0, np.trunc(leg.rate / (2.0 * np.pi)))
        if not np.any(np.abs(turns) > WHOLE_TURNS):
            return leg
        begin = leg.begin + 2.0 * np.pi * turns
        if leg.aim.joint in self.mechanism.structure.loops:
            self.mechanism.control.turn[leg.aim.columns(self.mechanism)] = begin
        else:
            self.rate[self._v_of(leg)] = leg.aim.value - begin
        return replace(leg, begin=begin, rate=leg.aim.value - begin)

    def _q_of(self, leg: Leg) -> slice:
        return q_of(self.mechanism, leg.aim)

    def _v_of(self, leg: Leg) -> slice:
        return v_of(self.mechanism, leg.aim)

    def _size(self, rate: np.ndarray) -> float:
        return float(np.abs(rate / self.unit).max(initial=0.0))

    def _bonds(self, s: float) -> Bonds:
        """Return what is to hold at s."""
        aims = tuple(replace(leg.aim, value=leg.at(s)) for leg in self.of_loops)
        return Bonds(self.mechanism, self.hard, aims, self.standing)

    def _tangent(self, s: float) -> tuple[np.ndarray, bool]:
        """Return dq/ds (nv,) as last looked at; and whether it is one: it is unknown where the rows lose rank."""
        bonds, free = self._bonds(s), ~self.fixed
        if bonds.large:
            rates = self.rate.copy()
            close(self.mechanism, self.q.copy(), rates, self.fixed)
            self.mechanism.update(self.q, self.v)
            return rates, True
        J, M = bonds.jacobian(), self.mechanism.inertia()[np.ix_(free, free)]
        asked = [self.mechanism.model.length * leg.rate for leg in self.of_loops]
        wanted = np.concatenate([np.zeros(bonds.hard.sum()), *asked, np.zeros(len(self.standing))]) - J @ self.rate
        # What binds rates only does not bind the way of what is written, but that of the others.
        wanted[: bonds.hard.sum()] *= self.mechanism.placed()[bonds.hard]
        out = self.rate.copy()
        if not free.any() or not len(J):
            return out, True
        L = root(M)
        U, singular, Vt = np.linalg.svd(np.linalg.solve(L, J[:, free].T).T, full_matrices=False)
        rank = int((singular > RANK * singular[0]).sum())
        known = self.rank <= rank == (singular > SINGULAR * singular[0]).sum()
        self.rank = max(self.rank, rank)
        out[free] = np.linalg.solve(L.T, Vt[:rank].T @ ((U[:, :rank].T @ wanted) / singular[:rank]))
        missed = J[:, free] @ out[free] - wanted
        return out, bool(known and np.abs(missed).max() <= FOLLOWS * np.abs(wanted).max())

    def _try(self, s: float, step: float, tangent: np.ndarray, known: bool) -> tuple[np.ndarray, bool] | None:
        """Take a step, or none and return None; return the tangent that goes on from there, and whether it is known."""
        saved, turns = self.q.copy(), self.mechanism.control.turn.copy()
        add_freedoms(self.mechanism.structure.tables.links, np.where(self.fixed, 0.0, tangent), step, self.q)
        s += step
        for leg in self.of_tree:
            self.q[self._q_of(leg)] = leg.at(s)
        moved = self._correct(s)
        if moved is not None and moved <= (SHARE if known else WIDE) * step * self._size(tangent):
            after, found = self._tangent(s)
            if not found and known:
                after = tangent  # on a singular position: its neighbours tell where the branch goes on
            if not (found and known) or self._angle(tangent, after) <= TURNED:
                self.mechanism.control.turn[:] = self.mechanism.work.coordinate
                return after, found or known
        self.q[:], self.mechanism.control.turn[:] = saved, turns
        self.mechanism.update(self.q, self.v)
        return None

    def _correct(self, s: float) -> float | None:
        """Close all at s with what is written fixed; return how far that moved a freedom, or None if it does not."""
        bonds, length, moved = self._bonds(s), self.mechanism.model.length, np.zeros(len(self.v))
        self.mechanism.update(self.q, self.v)
        residual = bonds.worst()
        if bonds.large:
            before = self.q.copy()
            close(self.mechanism, self.q, np.zeros(len(self.v)), self.fixed)
            self.mechanism.update(self.q, self.v)
            closed = bonds.worst() <= SHUT * length
            return float(np.abs(self.q - before).max(initial=0.0)) if closed else None
        for _ in range(ITERATIONS):
            if residual <= CLOSED * length:
                break
            saved = self.q.copy()
            dq = bonds.newton(~self.fixed)
            add_freedoms(self.mechanism.structure.tables.links, dq, 1.0, self.q)
            self.mechanism.update(self.q, self.v)
            after = bonds.worst()
            if not after < residual:  # roundoff, or no way to close
                self.q[:] = saved
                self.mechanism.update(self.q, self.v)
                break
            moved, residual = moved + dq, after
        return self._size(moved) if residual <= SHUT * length else None

    def _angle(self, a: np.ndarray, b: np.ndarray) -> float:
        a, b = a / self.unit, b / self.unit
        size = float(np.linalg.norm(a) * np.linalg.norm(b))
        return float(np.arccos(np.clip(a @ b / size, -1.0, 1.0))) if size > 0.0 else 0.0
