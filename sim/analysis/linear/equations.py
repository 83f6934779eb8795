"""The equations of motion of one structure with their derivatives: the kernels' own passes over dual numbers.

    M vdot + bias = tau + J^T lambda,    J vdot = gamma

Kinematics, forces, rows and elimination are those of `sim.kernels`, run as plain Python (`sim.kernels.generic`): one
run at a state gives the accelerations and their derivatives along all directions that are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sim.analysis.linear.duals import MATHEMATICS, duals, slopes_in
from sim.kernels import programs as op
from sim.kernels.accelerations import give_back, respond
from sim.kernels.dynamics import apply_forces, factorise, follow, free_response, move, rows_now, solve_loops
from sim.kernels.generic import Plain, arrays, objects
from sim.kernels.kinematics import qdot
from sim.kernels.motion import keep_rows
from sim.kernels.shapes import BALL, SOFT_STICK, STICK
from sim.kernels.spatial import rotation_of
from sim.kernels.status import Status
from sim.kernels.system import GIVE, PLACE, ROWS, RUB
from sim.kernels.tables import EDGE_ROW, RATES_ONLY, Control, Tables
from sim.mechanism.mechanism import Mechanism
from sim.mechanism.workspace import make_work

RANK = 1e-7  # singular values below this, relative to the largest, are zero
PASSES = 20  # where freedoms are lent inertia
ROLLING = 1e-6  # rad/s between two bodies that touch, from which on a point between them rolls
# Of what a formula reads, this follows from the answer that the formula is asked for.
_ANSWERS = {op.FORCE: "force", op.PRESSING: "force of a contact", op.TORQUE: "torque", op.ENERGY: "energy"}


_plain = Plain(MATHEMATICS)


class LinearError(ValueError):
    """A linear model that cannot be given; the message is a sentence."""


class Equations:
    """One structure at one time.

    States are q (nq,) and v (nv,), arrays of floats or, with derivatives, of dual numbers; what is found of them is an
    array of the same kind.

    Points of contact stay in the modes that the structure has them in.

    laws : (columns,) torques of controllers that are functions, given q and v; see `sim.analysis.linear.laws`
    hard, positions : masks of rows that hold, and of those that hold positions; see `hold_places`
    kept : hard rows that are independent
    want : (rows, 3) coordinate, rate, acceleration of driven freedoms
    """

    def __init__(self, mechanism: Mechanism, laws: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None):
        self.mechanism, self.laws = mechanism, laws
        tables = self.tables = mechanism.structure.tables
        rows = tables.rows
        if np.any(rows.code > EDGE_ROW):
            raise LinearError("a spherical joint rests at its stop, which has no linear model")
        if np.any(tables.blocks.slips):
            raise LinearError("a constraint that lets go (`holds`) has no linear model; leave its threshold out")
        refuse_answers(tables, mechanism.control)
        self.nv, self.t = len(tables.freedoms), mechanism.t
        self.hard, self.driven = mechanism.hard(), mechanism.driven()
        self.positions = self.hard & (np.asarray(rows.locked) != RATES_ONLY)
        self.kept = np.flatnonzero(self.hard)
        self._tables = objects(tables)
        self._work, self._fresh = (objects(make_work(tables, mechanism.structure.sizes)) for _ in range(2))
        self._scratch = list(zip(arrays(self._work), arrays(self._fresh), strict=True))
        if len(tables.touches) or tables.one.soft[0]:
            from sim.kernels.unilateral.contact_system import contact

            self._fresh.points.start[:] = 0.0  # friction is along the slip, wherever that was at the last step
            self._work = self._work._replace(answers=dict.fromkeys((PLACE, ROWS, RUB, GIVE), _plain(contact)))
        _plain(follow)((self._tables, None, self._work, None), self.t)
        self.want = self._work.rows.want.astype(float)

    def beside(self, q: np.ndarray, v: np.ndarray, dq: np.ndarray, dv: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the state with derivatives dq (nv, directions), in the freedoms' own axes, and dv (nv, directions)."""
        rate = np.zeros(len(q), object)
        _plain(qdot)(self._tables.links, q.tolist(), list(dq), rate)
        return duals(q, np.array(rate.tolist()).reshape(len(q), dq.shape[1])), duals(v, dv)

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """Return J (rows, nv) of all rows at q."""
        self.mechanism.update(q, np.zeros(self.nv))
        return self.mechanism.jacobian()

    def hold_places(self, q: np.ndarray, v: np.ndarray) -> None:
        """Let points that stick, and do not roll at q (nq,) and v (nv,), hold places; those that roll bind rates alone.

        About rest what would roll holds places, too: to first order it is displaced as it can roll.  A corner does in
        any case, as it is a point of its body.
        """
        tables = self.tables
        self.mechanism.update(q, v)
        for touch in tables.touches:
            corner = np.any((touch.kind == BALL) & (touch.r == 0.0))
            if touch.mode in (STICK, SOFT_STICK) and not corner:
                block = tables.blocks[touch.block]
                rolls = np.linalg.norm(self.mechanism.work.blocks.w_FM[touch.block]) > ROLLING
                self.positions[block.row : block.row + 2] = not rolls  # the third of a rigid one is the normal

    def choose_rows(self, q: np.ndarray) -> None:
        """Keep as many rows as are independent at q (nq,); of the rest the others are thought to say the same."""
        hard = np.flatnonzero(self.hard)
        self.kept = hard[independent_rows(self.jacobian(q)[hard])]
        if len(hard):
            system = self._move(q, np.zeros(self.nv))
            _plain(factorise)(system, 1)
            _plain(keep_rows)(self._work)
            for now, then in zip(_chosen(self._work), _chosen(self._fresh), strict=True):
                then[:] = now

    def slips(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return J v of all rows, less the rates that drives want."""
        system = self._move(q, v)
        _plain(rows_now)(system, self._tables, self._work, 1)
        return _found(self._work.rows.slip)

    def vdot(self, q: np.ndarray, v: np.ndarray, torques: np.ndarray | None = None) -> np.ndarray:
        """Return accelerations (nv,) that keep to the rows; not-a-number where there are none.

        torques : (columns,) N or N m, beside all that acts
        """
        with np.errstate(all="ignore"):
            try:
                status = self._accelerate(q, v, torques)
            except ArithmeticError:  # Python's numbers do not go on beyond the largest float
                status = Status.NOT_FINITE
        return _found(self._work.freedoms.vdot) if status == Status.OK else np.full(self.nv, np.nan)

    def inputs(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return (nv, columns) what accelerations gain of a unit torque of each column."""
        columns = len(self.tables.columns)
        return slopes_in(self.vdot(q, v, duals(np.zeros(columns), np.eye(columns))), columns)

    def _move(self, q: np.ndarray, v: np.ndarray, control: Any = None) -> Any:
        """Fill kinematics, and what drives want; returns the system that it was done in."""
        for now, fresh in self._scratch:
            now[:] = fresh  # what is left there has derivatives along other directions
        system = (self._tables, control or objects(self.mechanism.control), self._work, None)
        _plain(follow)(system, self.t)
        _plain(move)(system, q.astype(object), v.astype(object))
        return system

    def _accelerate(self, q: np.ndarray, v: np.ndarray, torques: np.ndarray | None) -> int:
        """Fill the accelerations, by the rows that were chosen.  Returns a status."""
        system = self._move(q, v, self._acting(q, v, torques))
        status: int = _plain(factorise)(system, 0)
        if status != Status.OK:
            return status
        _plain(apply_forces)(system, self.t, q.astype(object), v.astype(object))
        if self.tables.one.sliding[0] or not self.tables.one.lends[0]:
            status = _plain(respond)(system)
            return status
        tables, work = self._tables, self._work
        for _ in range(PASSES):  # gives back what that inertia took; see `sim.mechanism.lending`
            _plain(free_response)(system)
            _plain(solve_loops)(system)
            _plain(give_back)(tables.freedoms, tables.one, work.freedoms, work.one)
        return status

    def _acting(self, q: np.ndarray, v: np.ndarray, torques: np.ndarray | None) -> Any:
        """Return the controls of now, with the torques of laws, and of the caller, among what is held."""
        control = objects(self.mechanism.control)
        control.enabled[: len(self.tables.laws)] = 0
        control.acts[0] = 1
        for more in (None if self.laws is None else self.laws(q, v), torques):
            if more is not None:
                control.held[:] = control.held + more
        return control


def _chosen(work: Any) -> tuple[np.ndarray, ...]:
    """Return what tells which rows act; see `keep_rows`."""
    return work.keeps, work.rows.kept, work.rows.kept_place, work.one.kept_rank, work.one.scale


def _found(numbers: np.ndarray) -> np.ndarray:
    """Return a copy of what was found: of floats where no number has derivatives."""
    kinds = {type(number) for number in numbers.tolist()}
    return numbers.astype(float) if kinds <= {float, int} else numbers.copy()


def refuse_answers(tables: Tables, control: Control) -> None:
    """Refuse formulas that act and read what follows from what acts.

    Raises
    ------
    LinearError
    """
    acting = [int(program) for n, (program, _) in enumerate(tables.applied) if control.enabled[len(tables.laws) + n]]
    acting += [int(program) for program in np.ravel(tables.forces.programs) if program >= 0]
    for program in acting:
        first, last = tables.programs[program]
        for operation in tables.codes[first:last, 0].tolist():
            if operation in _ANSWERS:
                raise LinearError(
                    f"a formula of a force or a controller reads a {_ANSWERS[operation]}, which has no linear model "
                    "here; disable it"
                )


def quaternions(tables: Tables) -> dict[int, int]:
    """Return link -> where its quaternion stands in q, of links that have one."""
    links = tables.links
    return {int(b): int(links.q[b] + links.quaternion[b] - links.v[b]) for b in np.flatnonzero(links.quaternion >= 0)}


def matrix_of(quaternion: np.ndarray) -> np.ndarray:
    """Return the rotation matrix (3, 3) of a quaternion (4,), floats or dual numbers."""
    return np.array(_plain(rotation_of)(*quaternion.tolist())).reshape(3, 3)


def independent_rows(J: np.ndarray) -> np.ndarray:
    """Return as many rows of J as are independent, the largest pivots first, in their order."""
    A = J.copy()
    largest, taken = float(np.linalg.norm(A, axis=1).max(initial=0.0)), []
    for _ in range(min(A.shape)):
        size = np.linalg.norm(A, axis=1)
        r = int(np.argmax(size))
        if not size[r] > RANK * largest:
            break
        e = A[r] / size[r]
        A = A - np.outer(A @ e, e)
        A[r] = 0.0
        taken.append(r)
    return np.array(sorted(taken), int)


def null_space(J: np.ndarray, independent: np.ndarray) -> np.ndarray:
    """Return N (nv, freedoms) with J N = 0 whose rows of the independent freedoms are a unit matrix."""
    nv = J.shape[1]
    dependent = np.setdiff1d(np.arange(nv), independent)
    N = np.zeros((nv, len(independent)), J.dtype)
    N[independent] = np.eye(len(independent))
    if len(dependent):
        N[dependent] = -np.linalg.lstsq(J[:, dependent], J[:, independent], rcond=None)[0]
    return N
