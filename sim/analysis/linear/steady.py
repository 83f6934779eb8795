"""Whether a motion is steady, by how much it is not, and the nearest one that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sim.analysis.linear.duals import duals, slopes_in, values_in
from sim.analysis.linear.equations import RANK, Equations, LinearError, null_space
from sim.analysis.linear.symmetry import broken_by, fields, lone, symmetries
from sim.assembly.loop_closure import close_positions, close_velocities
from sim.kernels.project import add_freedoms
from sim.mechanism.mechanism import Mechanism
from sim.simulation.flow import Flow
from sim.simulation.structure_changes import engage

STEADY = 1e-7  # rates that must rest and accelerations that must be those of the symmetry, over 1 + |v|: steady below
STILL = 1e-9  # the same, below which a motion is steady without turns
FOUND = 1e-12  # the same, at which Newton's iteration for a steady motion ends
STEPS, STRIDE = 40, 0.3  # of it; longest step, in m or rad and per second
# Damping at first, over what is left.  Smaller: steps run along families.  Larger: speeds are lost that may stay.
DAMPING = 1e-3
GIVE_UP, LEAST_DAMPING = 1e8, 1e-12  # at which it ends in vain, and below which it does not fall
SINGULAR = 1e-6  # m/s of a metre's mechanism at 1 rad/s: rows that part faster beside a pose make it singular
# Pivot, over the largest column, below which a freedom is not made dependent before others.  Smaller: what hardly
# follows is made to follow, and steps in the others throw it far.  Larger: the order counts for little.
DECENT = 0.02
NEARBY = 0.02  # m or rad: how far off symmetries are looked for besides, so that none is taken for one by chance
SHARES = (1.0, 1e-2, 1e-4)  # of that, and of rates of 1 rad/s: less where formulas have no value so far off


@dataclass
class Frame:
    """What a linear model moves with.

    basis : (generators, symmetries); along : (generators,) the combination that the motion follows
    gap : (2, nv) rates and accelerations that the combination leaves over
    """

    basis: np.ndarray
    along: np.ndarray
    gap: np.ndarray

    @property
    def off(self) -> float:
        """Largest of what is left over."""
        return float(np.abs(self.gap).max(initial=0.0))


class Looker:
    """One structure, looked at where it stands or beside there."""

    def __init__(self, flow: Flow, laws: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None):
        self.flow = flow
        self.mechanism = Mechanism.of(flow.model, flow.structure, flow.control, flow.t)
        self.equations = Equations(self.mechanism, laws)

    def bring(self, q: np.ndarray, v: np.ndarray) -> bool:
        """Bring q and v to the constraints, in place; tell whether they got there."""
        closed = close_positions(self.mechanism, q, np.zeros(len(v), bool))
        close_velocities(self.mechanism, q, v, np.zeros(len(v), bool))
        return closed

    def tangents(self, q: np.ndarray, at: States) -> tuple[np.ndarray, np.ndarray]:
        """Return N_p (nv, positions) and N_v (nv, rates): motions of states that keep the rows at q."""
        J = self.equations.jacobian(q)
        return (
            null_space(J[self.equations.positions], at.positions),
            null_space(J[self.equations.hard], at.rates),
        )

    def symmetries(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return a basis of the symmetries: what holds here, and beside here at other rates."""
        rng, nv = np.random.default_rng(5), len(v)
        found = []
        for distance in (0.0, NEARBY):
            spin, way = rng.normal(size=nv), distance * rng.normal(size=nv)
            for share in SHARES:
                there, rates = q.copy(), v + share * spin
                add_freedoms(self.flow.structure.tables.links, share * way, 1.0, there)
                broken = broken_by(self.equations, there, rates) if self.bring(there, rates) else None
                if broken is not None and np.all(np.isfinite(broken)):
                    found.append(broken)
                    break
        return symmetries(np.vstack(found))

    def frame(self, q: np.ndarray, v: np.ndarray, basis: np.ndarray) -> Frame:
        """Return the symmetry that a state follows best, and what it leaves over.

        Where freedoms alone will do, nothing turns: a sleeping top spins, and its axes stand still.
        """
        here = fields(self.equations, q, v)
        aim = np.concatenate([v, self.equations.vdot(q, v)])
        turned = basis[len(v) :]
        _, s, Vt = np.linalg.svd(turned) if turned.size else (0, np.zeros(0), np.eye(basis.shape[1]))
        still = basis @ Vt[int(np.sum(s > 1e-9)) :].T
        for of in (still, basis):
            Z = np.vstack([here.moved @ of, here.turned @ of])
            y = np.linalg.lstsq(Z, aim, rcond=1e-10)[0] if Z.shape[1] else np.zeros(0)
            frame = Frame(basis, of @ y, (aim - Z @ y).reshape(2, -1))
            if frame.off <= STILL * (1.0 + float(np.abs(v).max(initial=0.0))):
                break
        return frame

    def frozen(self, q: np.ndarray, v: np.ndarray, frame: Frame) -> Frame:
        """Return the frame of a motion that is not steady: every joint's own motion, as it is now."""
        return Frame(frame.basis, lone(self.equations, v), frame.gap)

    def is_steady(self, v: np.ndarray, frame: Frame) -> bool:
        """Tell whether a state follows a symmetry."""
        return frame.off <= STEADY * (1.0 + float(np.abs(v).max(initial=0.0)))

    def slopes(self, q: np.ndarray, v: np.ndarray, frame: Frame, at: States) -> np.ndarray:
        """Return (2 nv, states): derivatives of rates and accelerations against the frame, along the constraints.

        Columns are changes of independent positions, with dependent rates following the rows, then of independent
        rates.
        """
        N_p, N_v = self.tangents(q, at)
        n, m = N_p.shape[1], N_v.shape[1]
        there, rates = self.beside(q, v, np.hstack([N_p, 0.0 * N_v]), np.hstack([0.0 * N_p, N_v]), at)
        Z = fields(self.equations, there, rates)
        of_rates = slopes_in(rates - Z.moved @ frame.along, n + m)
        of_accelerations = slopes_in(self.equations.vdot(there, rates) - Z.turned @ frame.along, n + m)
        return np.vstack([of_rates, of_accelerations])

    def beside(
        self, q: np.ndarray, v: np.ndarray, dq: np.ndarray, dv: np.ndarray, at: States
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the state with derivatives dq and dv (nv, directions), the dependent rates following the rows."""
        there, rates = self.equations.beside(q, v, dq, dv)
        return there, self.completed(there, rates, at)

    def completed(self, q: np.ndarray, v: np.ndarray, at: States) -> np.ndarray:
        """Return v (nv,) with the dependent rates that the rows ask for at q (nq,); floats or dual numbers."""
        equations, kept = self.equations, self.equations.kept
        if not len(kept):
            return v
        dependent = np.setdiff1d(np.arange(len(v)), at.rates)
        J, slip, out = equations.jacobian(values_in(q))[np.ix_(kept, dependent)], equations.slips(q, v)[kept], v.copy()
        if v.dtype == float:
            out[dependent] -= np.linalg.solve(J, slip)
        else:
            off = np.linalg.solve(J, np.column_stack([values_in(slip), slopes_in(slip, len(v[0].slopes))]))
            out[dependent] -= duals(off[:, 0], off[:, 1:])
        return out

    def refuse_singular(self, q: np.ndarray, v: np.ndarray, at: States) -> None:
        """Refuse a pose in which rows repeat one another that do not beside it: there is no linear model there.

        Raises
        ------
        LinearError
            With the row's joint and the freedom that tells them apart.
        """
        equations, rows = self.equations, self.flow.structure.tables.rows
        lost = np.setdiff1d(np.flatnonzero(equations.hard), equations.kept)
        N_p, N_v = self.tangents(q, at)
        if not len(lost) or not N_p.shape[1]:
            return
        rates = v + N_v @ np.random.default_rng(7).normal(size=N_v.shape[1])
        beside = self.beside(q, rates, N_p, 0.0 * N_p, at)
        opened = np.abs(slopes_in(equations.slips(*beside), N_p.shape[1])[lost].T)
        limit = SINGULAR * self.flow.model.length * (1.0 + float(np.abs(rates).max()))
        if opened.max() > limit:
            k, r = np.unravel_index(int(np.argmax(opened)), opened.shape)
            where = self._of_block(int(rows.block[lost[r]]))
            raise LinearError(
                f"the pose is singular: a row of {where} repeats others here and does "
                f"not once {freedom_names(self.flow)[at.positions[k]]!r} moves; a linear model needs a pose beside it"
            )

    def _of_block(self, block: int) -> str:
        """Return the joint of a block, or the two bodies of a point of contact."""
        model, structure = self.flow.model, self.flow.structure
        touch = int(structure.tables.blocks.touch[block])
        if touch < 0:
            return repr(model.joint_names[int(structure.tables.blocks.joint[block])])
        pair = model.pairs[structure.touches[touch].pair]
        a, b = (model.body_names[model.solids[n].body] for n in (pair.first, pair.second))
        return f"the contact of {a!r} and {b!r}"

    def search(self, q: np.ndarray, v: np.ndarray) -> Frame:
        """Move q and v, in place, to the nearest steady motion; returns what it follows.

        Raises
        ------
        LinearError
            When the steps end elsewhere; says by how much and where.
        """
        self.equations.choose_rows(q)
        basis = self.symmetries(q, v)
        begun, frame = (q.copy(), v.copy()), self.frame(q, v, basis)
        for careful in (True, False):
            q[:], v[:] = begun
            self.equations.choose_rows(q)
            frame = self._iterate(q, v, basis, careful)
            if self.is_steady(v, frame):
                return frame
        raise LinearError(f"no steady motion was found near the start: {self.says(frame)}")

    def _iterate(self, q: np.ndarray, v: np.ndarray, basis: np.ndarray, careful: bool) -> Frame:
        """Take steps toward a steady motion; returns what the last state follows.

        careful : damp them and take only those after which less is left over; else take them all, as far as STRIDE
        """
        frame, damping = self.frame(q, v, basis), DAMPING
        for _ in range(STEPS):
            if frame.off <= FOUND * (1.0 + float(np.abs(v).max(initial=0.0))) or damping > GIVE_UP:
                break
            at = choose_states(self, q, basis)
            x = self._step(q, v, frame, at, damping * float(np.linalg.norm(frame.gap)) if careful else 0.0)
            before, (N_p, _) = (q.copy(), v.copy()), self.tangents(q, at)
            add_freedoms(self.flow.structure.tables.links, N_p @ x[: N_p.shape[1]], 1.0, q)
            close_positions(self.mechanism, q, np.zeros(len(v), bool))
            v[at.rates] += x[N_p.shape[1] :]
            v[:] = self.completed(q, v, at)
            engage(self.flow.model, self.flow.structure, self.mechanism, self.flow.control)
            self.equations.choose_rows(q)
            after = self.frame(q, v, basis)
            less = bool(np.linalg.norm(after.gap) < np.linalg.norm(frame.gap))
            if less or not (careful or self.is_steady(v, frame)):
                frame, damping = after, max(0.1 * damping, LEAST_DAMPING)
                continue
            q[:], v[:] = before
            damping *= 4.0
            if not careful:
                break
        return frame

    def _step(self, q: np.ndarray, v: np.ndarray, frame: Frame, at: States, damping: float) -> np.ndarray:
        """Return a step of the independent positions and rates; the symmetry that is followed is free to change.

        Levenberg and Marquardt's, damped by what is left over: where steady motions come in families, undamped
        steps run along the family, to rest at last (Yamashita & Fukushima 2001).
        """
        here, basis = fields(self.equations, q, v), frame.basis
        rows = np.concatenate([at.positions, len(v) + at.rates])  # what is left over is tangent: the others follow
        D, left = self.slopes(q, v, frame, at)[rows], frame.gap.ravel()[rows]
        n, s = D.shape[1], basis.shape[1]
        Z = np.vstack([here.moved @ basis, here.turned @ basis])[rows]
        A = np.vstack([np.hstack([D, -Z]), np.hstack([np.sqrt(damping) * np.eye(n), np.zeros((n, s))])])
        x: np.ndarray = np.linalg.lstsq(A, np.concatenate([-left, np.zeros(n)]), rcond=1e-9)[0][:n]
        return x * min(1.0, STRIDE / max(float(np.abs(x).max(initial=0.0)), 1e-300))

    def says(self, frame: Frame) -> str:
        """Return a sentence on what keeps a motion from being steady: by how much, and where."""
        names, linear = freedom_names(self.flow), self.flow.structure.tables.freedoms.linear
        which, k = np.unravel_index(int(np.argmax(np.abs(frame.gap))), frame.gap.shape)
        unit = "m" if linear[k] else "rad"
        value = frame.gap[which, k]
        if which == 0:
            return f"{names[k]!r} moves at {value:.4g} {unit}/s where it would have to rest"
        return f"{names[k]!r} is accelerated by {value:.4g} {unit}/s^2 where it would have to keep its rate"


@dataclass(frozen=True)
class States:
    """Which freedoms are independent: of positions and of rates."""

    positions: np.ndarray
    rates: np.ndarray


def freedom_names(flow: Flow) -> list[str]:
    """Return the names of the tree's freedoms, as columns are named."""
    model, structure = flow.model, flow.structure
    names = [""] * structure.sizes.v
    for joint in structure.carrier[1:]:
        names[structure.v_of(model, int(joint))] = model.column_names[model.columns_of(int(joint))]
    return names


def choose_states(looker: Looker, q: np.ndarray, basis: np.ndarray, wished: Sequence[int] = ()) -> States:
    """Choose independent freedoms as the papers choose generalised coordinates (closed-chains-1999, section 2.2).

    Freedoms that are symmetries are made dependent first, since nothing feeds back on them; then those of bodies that
    no joint of the scene holds; wished-for ones last.  The rows that are kept are chosen anew, too.
    """
    equations, model = looker.equations, looker.flow.model
    equations.choose_rows(q)
    J = equations.jacobian(q)
    scale = 1.0 / np.sqrt(np.diag(looker.mechanism.inertia()))
    joint = np.asarray(equations.tables.links.joint)[np.asarray(equations.tables.freedoms.owner, int)]
    alone = np.linalg.norm(basis[: equations.nv], axis=1) > 1.0 - 1e-9
    classes = [-1 if k in wished else 0 if alone[k] else 1 if model.joint_specs[int(joint[k])] is None else 2
               for k in range(equations.nv)]  # fmt: skip
    groups = [[k for k, c in enumerate(classes) if c == wanted] for wanted in (0, 1, 2, -1)]
    of_positions = _dependent(J[equations.positions], scale, groups)
    of_rates = _dependent(J[equations.hard], scale, groups, of_positions)
    everything = np.arange(equations.nv)
    return States(np.setdiff1d(everything, of_positions), np.setdiff1d(everything, of_rates))


def _dependent(J: np.ndarray, scale: np.ndarray, groups: Sequence[list[int]], before: Sequence[int] = ()) -> list[int]:
    """Return as many columns of J as its rank: those before, then large pivots of each group, then whatever is left."""
    A = J * scale
    largest = float(np.linalg.norm(A, axis=0).max(initial=0.0))
    taken: list[int] = []
    everything = [k for group in groups for k in group]
    for least, among in [(RANK, list(before)), *((DECENT, group) for group in groups), (RANK, everything)]:
        left = [k for k in among if k not in taken]
        while left:
            size = np.linalg.norm(A[:, left], axis=0)
            if not size.max() > least * largest:
                break
            k = left.pop(int(np.argmax(size)))
            e = A[:, k] / np.linalg.norm(A[:, k])
            A = A - np.outer(e, e @ A)
            taken.append(k)
    return taken
