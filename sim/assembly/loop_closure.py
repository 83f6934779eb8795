"""Closing loops where a mechanism stands: positions, then velocities, what is not fixed moved least.

Newton on all rows, least in the kinetic-energy metric, by dense least squares.  Of large mechanisms by the kernels' own
projection, some joints held still: dense matrices take minutes for a thousand loops, the projection that every step
of a run ends with takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sim.assembly.standing import NOWHERE, Standing
from sim.kernels.advance import answer
from sim.kernels.answers import system_of
from sim.kernels.project import add_freedoms
from sim.kernels.rows.constraints import slips
from sim.kernels.status import Status
from sim.kernels.system import START, address
from sim.kernels.tables import Tables, table
from sim.kernels.watched import GUARD, Guards
from sim.mechanism.mechanism import Mechanism

PASSES = 20  # of up to five Newton steps each
# Residual over length [1] at which Newton ends, and at which a loop counts as closed where it cannot be made smaller.
CLOSED, SHUT = 1e-13, 1e-12
LARGE = 120  # freedoms above which dense matrices take seconds
LIGHT = 1e-6  # of the largest inertia: what a freedom without any is taken to have
RANK = 1e-7  # singular values below this, relative to the largest, are zero


def held(tables: Tables, fixed: np.ndarray) -> Tables:
    """Return tables in which the freedoms of a mask keep still: no finite inertia resists like theirs."""
    links, freedoms = tables.links.copy(), tables.freedoms.copy()
    freedoms.armature[fixed] = np.inf
    links.ball[freedoms.owner[fixed]] = -1
    return tables._replace(links=links, freedoms=freedoms)


def acting(mechanism: Mechanism, q: np.ndarray) -> np.ndarray:
    """Return the mask of rows that act at an assembled pose, found by the elimination of every step of a run."""
    guards = Guards(table(GUARD, 0), np.zeros(1, np.int64), np.zeros(5, np.int64))
    system = system_of(mechanism.structure.tables, mechanism.control, mechanism.work, guards)
    y, slope = np.concatenate([q, np.zeros(mechanism.structure.sizes.v + 2)]), np.zeros(0)
    answer(system.answers, START, address(system.places), mechanism.t, y, slope)
    out = np.zeros(len(mechanism.structure.tables.rows), bool)
    out[mechanism.work.rows.order[: int(mechanism.work.one.rank[0])]] = True
    return out


def close(mechanism: Mechanism, q: np.ndarray, v: np.ndarray, fixed: np.ndarray) -> None:
    """Bring q and v to the constraints as near as it goes, moving what is not fixed, least in kinetic energy."""
    guards = Guards(table(GUARD, 0), np.zeros(1, np.int64), np.zeros(5, np.int64))
    tables = held(mechanism.structure.tables, fixed)  # kept: the system knows addresses only
    system = system_of(tables, mechanism.control, mechanism.work, guards)
    y, slope = np.concatenate([q, v, np.zeros(2)]), np.zeros(len(q) + len(v) + 2)
    hard, best = mechanism.hard(), np.inf
    for _ in range(PASSES):
        status = answer(system.answers, START, address(system.places), mechanism.t, y, slope)
        moved, rates = y[: len(q)], y[len(q) : -2]
        mechanism.update(moved, rates)
        residual = float(np.abs(mechanism.work.rows.phi[hard]).max(initial=0.0))
        if not residual < best:
            return
        best = residual
        q[:], v[:] = moved, rates
        if status == Status.OK and residual <= SHUT * mechanism.model.length:
            return


@dataclass(frozen=True)
class Aim:
    """What is wanted of a joint: of its coordinate, or of its rate.

    value : coordinate [m, rad; spherical: quaternion; free: position, quaternion] or rate of a joint of the tree;
        of one that closes a loop, columns or their rates
    first : freedom of the joint that the value begins with
    driven : its motion wants it, not a value that is written
    """

    joint: int
    value: np.ndarray
    first: int = 0
    driven: bool = False

    def columns(self, mechanism: Mechanism) -> slice:
        """Return the columns meant, of a joint whose coordinate is its columns."""
        first = int(mechanism.model.joints.column[self.joint]) + self.first
        return slice(first, first + len(self.value))


@dataclass(frozen=True)
class Bonds:
    """What is to hold at a pose: hard rows, coordinates of joints that close loops, points that stand on others.

    hard : (rows,) mask
    """

    mechanism: Mechanism
    hard: np.ndarray
    aims: tuple[Aim, ...] = ()  # at joints that close loops
    standing: Standing = NOWHERE

    @property
    def large(self) -> bool:
        """Tell whether the elimination along the tree closes these loops: dense matrices would take seconds."""
        alone = not self.aims and not len(self.standing) and np.array_equal(self.hard, self.mechanism.hard())
        return self.mechanism.structure.sizes.v > LARGE and alone

    def open_by(self) -> np.ndarray:
        """Return by how much all of that is missed, as last looked at [m]."""
        work, length = self.mechanism.work, self.mechanism.model.length
        missed = [length * (work.coordinate[aim.columns(self.mechanism)] - aim.value) for aim in self.aims]
        return np.concatenate([work.rows.phi[self.hard], *missed, self.standing.off(self.mechanism)])

    def worst(self) -> float:
        """Return the largest of it [m]."""
        return float(np.abs(self.open_by()).max(initial=0.0))

    def jacobian(self) -> np.ndarray:
        """Return J (numbers, nv) with J v its rate of change, as last looked at."""
        mechanism = self.mechanism
        J = mechanism.jacobian()[self.hard]
        rates = [mechanism.model.length * R for R in changes_of_loops(mechanism, self.aims)]
        return np.vstack([J, *rates, self.standing.jacobian(mechanism)])

    def newton(self, free: np.ndarray) -> np.ndarray:
        """Return the least step (nv,) of the free freedoms that closes all to first order, as last looked at."""
        step = np.zeros(len(free))
        M = self.mechanism.inertia()[np.ix_(free, free)]
        step[free] = least(self.jacobian()[:, free], M, -self.open_by())
        return step


def rates_of_loops(mechanism: Mechanism, aims: Sequence[Aim]) -> list[np.ndarray]:
    """Return for each aim at a joint that closes a loop R (columns, nv): R v are their rates, as last looked at."""
    loops = mechanism.structure.loops
    return [
        mechanism.loop_rates(loops.index(aim.joint))[aim.first : aim.first + len(aim.value)] for aim in aims
    ]  # fmt: skip


def changes_of_loops(mechanism: Mechanism, aims: Sequence[Aim]) -> list[np.ndarray]:
    """Return the same of coordinates: of a rotation vector, whose derivative is not the angular velocity."""
    out, loops, model = [], mechanism.structure.loops, mechanism.model
    for aim in aims:
        R, ball = mechanism.loop_rates(loops.index(aim.joint)), model.type_of(aim.joint).ball
        if ball >= 0:
            c = model.columns_of(aim.joint).start + ball
            R = np.vstack([R[:ball], change_of_vector(mechanism.work.coordinate[c : c + 3]) @ R[ball:]])
        out.append(R[aim.first : aim.first + len(aim.value)])
    return out


def change_of_vector(r: np.ndarray) -> np.ndarray:
    """Return (3, 3) the matrix that makes the derivative of a rotation vector from the angular velocity, child's axes.

    1 + [r] / 2 + (1 - (n / 2) cot (n / 2)) / n^2 [r]^2, with the angle n = |r| and the matrix [r] of r x.
    """
    n = float(np.linalg.norm(r))
    X = np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])
    k = 1.0 / 12.0 if n < 1e-4 else (1.0 - 0.5 * n / np.tan(0.5 * n)) / n**2
    return np.asarray(np.eye(3) + 0.5 * X + k * X @ X)


def root(M: np.ndarray) -> np.ndarray:
    """Return L with L L^T = M; freedoms without inertia, which rows may hold all the same, move at a small price."""
    try:
        return np.asarray(np.linalg.cholesky(M))
    except np.linalg.LinAlgError:
        price = LIGHT * float(np.diag(M).max(initial=0.0))
        return np.asarray(np.linalg.cholesky(M + (price or 1.0) * np.eye(len(M))))


def null(A: np.ndarray) -> np.ndarray:
    """Return orthonormal columns that A does not move."""
    _, s, Vt = np.linalg.svd(A)
    return np.asarray(Vt[int((s > RANK * s.max(initial=0.0)).sum()) :].T)


def least(A: np.ndarray, M: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return x with A x = b in the least-squares sense and the least x^T M x."""
    if A.shape[1] == 0 or A.shape[0] == 0:
        return np.zeros(A.shape[1])
    L = root(M)
    Y = np.linalg.solve(L, A.T).T
    U, s, Vt = np.linalg.svd(Y, full_matrices=False)
    keep = s > RANK * s[0]
    z = Vt[keep].T @ ((U[:, keep].T @ b) / s[keep])
    return np.linalg.solve(L.T, z)


def close_positions(
    mechanism: Mechanism, q: np.ndarray, fixed: np.ndarray, wanted: Sequence[Aim] = (), drives: bool = True,
    standing: Standing = NOWHERE,
) -> bool:  # fmt: skip
    """Move the freedoms that are not fixed until all loops are closed; tell whether they are.

    The nearest pose is taken, on whatever branch it is: from afar `sim.assembly.continuation` leads to where
    branches meant.

    wanted: coordinates of loop joints to reach on the way; drives: driven joints stand where their motions are
    standing: points that are to stay where they stand
    """
    hard = mechanism.hard() if drives else mechanism.locked()
    bonds, length = Bonds(mechanism, hard, tuple(wanted), standing), mechanism.model.length
    structure, v = mechanism.structure, np.zeros(mechanism.structure.sizes.v)
    mechanism.update(q, v)
    residual = bonds.worst()
    if bonds.large and residual > CLOSED * length:
        close(mechanism, q, v, fixed)
        mechanism.update(q, np.zeros(len(v)))
        return bonds.worst() <= SHUT * length
    for _ in range(60):
        if residual <= CLOSED * length:
            return True
        dq = bonds.newton(~fixed)
        saved, share, before = q.copy(), min(1.0, 0.7 / max(np.abs(dq).max(initial=0.0), 1e-300)), residual
        while True:
            q[:] = saved
            add_freedoms(structure.tables.links, dq, share, q)
            mechanism.update(q, v)
            residual = bonds.worst()
            if residual < before or share < 1e-3:
                break
            share *= 0.5
        if not residual < before:
            q[:] = saved
            mechanism.update(q, v)
            return before <= SHUT * length
    return residual <= SHUT * length


def close_velocities(
    mechanism: Mechanism, q: np.ndarray, v: np.ndarray, fixed: np.ndarray, wanted: Sequence[Aim] = (),
    standing: Sequence[Standing] = (NOWHERE,),
) -> None:  # fmt: skip
    """Change the rates that are not fixed until no loop opens and drives are followed; if that fails, all rates.

    wanted: rates of loop joints; standing: points that are to stay at rest, in sets of which the first that can be is
    """
    mechanism.update(q, v)
    hard, everything = mechanism.hard(), np.ones(len(v), bool)
    if not hard.any():
        return
    if len(v) > LARGE and not wanted:
        for mask in (fixed, ~everything):
            close(mechanism, q, v, mask)
            mechanism.update(q, v)
            if slip(mechanism) <= 1e-9 * (1.0 + np.abs(v).max(initial=0.0)):
                return
    loops, M, driven = mechanism.jacobian()[hard], mechanism.inertia(), mechanism.wanted()[hard]
    R, target = rates_of_loops(mechanism, wanted), [driven, *(aim.value for aim in wanted)]
    ways = [(np.vstack([loops, *R, S]), np.concatenate([*target, np.zeros(len(S))]), ~fixed, len(S) > 0)
            for S in (one.jacobian(mechanism) for one in standing)]  # fmt: skip
    begun = v.copy()
    for rows, aim, mask, whole in [*ways, (loops, driven, everything, False)]:
        v[:] = begun
        for _ in range(2):
            v[mask] -= least(rows[:, mask], M[np.ix_(mask, mask)], rows @ v - aim)
        off = rows @ v - aim
        if np.abs(off if whole else off[: len(loops)]).max(initial=0.0) <= 1e-9 * (1.0 + np.abs(v).max(initial=0.0)):
            return


def opening(mechanism: Mechanism) -> np.ndarray:
    """Return (rows,) how fast the loops open and drives are missed, as last looked at [m/s]."""
    tables = mechanism.structure.tables
    slips(tables.blocks, tables.rows, mechanism.work.blocks, mechanism.work.rows)
    return mechanism.work.rows.slip.copy()


def slip(mechanism: Mechanism) -> float:
    """Return the largest of that of hard rows."""
    return float(np.abs(opening(mechanism)[mechanism.hard()]).max(initial=0.0))
