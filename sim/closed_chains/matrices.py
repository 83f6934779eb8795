"""The papers' matrix J_C of a mechanism as last looked at, its drift, its columns by name, and what follows from it."""

from __future__ import annotations

import numpy as np

from sim.closed_chains.generalised import Generalised, generalise
from sim.kernels.tables import RATES_ONLY
from sim.mechanism.mechanism import Mechanism


def papers_matrix(mechanism: Mechanism) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return J_C (6 N_L, N_J) of closed-chains-1999 eq. (12), J_C' theta_J', and weights of its columns.

    The tree's freedoms come first, then those of the loop joints (virtual links).  Six rows a loop:
    the motion of the child's frame M against the parent, less what the loop joint itself allows.  Constraints
    have their own rows.
    """
    model, structure, work = mechanism.model, mechanism.structure, mechanism.work
    tables, length = structure.tables, model.length
    nv = structure.sizes.v
    loops = len(structure.loops)
    own = [0 if j in model.constraints else model.type_of(j).freedoms for j in structure.loops]
    bound = [j in model.constraints for j in structure.loops]
    rows = np.cumsum([0, *(int(tables.blocks.rows[n]) if bound[n] else 6 for n in range(loops))])
    J = np.zeros((rows[-1], nv + sum(own)))
    J_dot_v = np.zeros(rows[-1])
    column = nv
    for n in range(loops):
        r = slice(rows[n], rows[n + 1])
        if bound[n]:  # has its own rows, and no freedoms that are counted
            k = slice(int(tables.blocks.row[n]), int(tables.blocks.row[n] + tables.blocks.rows[n]))
            J[r, :nv], J_dot_v[r] = mechanism.jacobian()[k], -work.rows.gamma[k]
            continue
        J[r, :nv], J_dot_v[r] = _six_rows(mechanism, n)
        codes, pitch = model.type_of(structure.loops[n]).free, model.pitch_of(structure.loops[n])
        for i, code in enumerate(codes):
            e = mechanism.direction(code, n)
            rate = work.rate[int(tables.blocks.column[n]) + i]
            motion = np.concatenate([e, np.zeros(3)]) if code < 3 else np.concatenate([pitch * e, length * e])
            J[r, column + i] = -motion
            J_dot_v[r] -= _axis_drift(mechanism, n, code, e, rate, pitch)
        column += len(codes)
    M = mechanism.inertia()
    weight = np.ones(J.shape[1])
    weight[:nv] = 1.0 / np.sqrt(np.diag(M)) if nv else 1.0
    weight[nv:] = np.median(weight[:nv]) if nv else 1.0
    return J, J_dot_v, weight


def _six_rows(mechanism: Mechanism, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Motion of M of loop n against its parent, world axes: (6, nv) and its drift (6,), rotations times length."""
    work, length = mechanism.work, mechanism.model.length
    block = mechanism.structure.tables.blocks[n]
    J = mechanism.loop_motion(n)
    J[3:] *= length
    p = work.blocks.p_WM[n]
    a, b = int(block.a), int(block.b)
    A, V, x = work.links.A, work.links.V, work.links.x

    def point(link: int) -> np.ndarray:
        arm = p - x[link]
        w = V[link, :3]
        return A[link, 3:] + np.cross(A[link, :3], arm) + np.cross(w, np.cross(w, arm))

    # d/dt of (v_b(M) - v_a(M)) as a world vector, where a's point moves along with M
    w_a, v_rel = V[a, :3], work.blocks.u[n]
    linear = point(b) - point(a) - np.cross(w_a, v_rel)
    return J, np.concatenate([linear, length * (A[b, :3] - A[a, :3])])


def _axis_drift(mechanism: Mechanism, n: int, code: int, e: np.ndarray, rate: float, pitch: float) -> np.ndarray:
    """Time derivative of a loop joint's motion axis times its rate (6,)."""
    work, length = mechanism.work, mechanism.model.length
    block = mechanism.structure.tables.blocks[n]
    w = work.links.V[int(block.b if code > 6 else block.a), :3]
    turn = np.cross(w, e) * rate
    return np.concatenate([turn, np.zeros(3)]) if code < 3 else np.concatenate([pitch * turn, length * turn])


def generalised(mechanism: Mechanism, preferred: np.ndarray | None = None) -> Generalised:
    """Return the papers' quantities at the state that the mechanism was last looked at.

    Driven freedoms become generalised coordinates where they can: they are the prescribed ones.
    """
    J, drift, weight = papers_matrix(mechanism)
    if preferred is None and mechanism.driven().any():
        preferred = np.flatnonzero(~driven_columns(mechanism))
    return generalise(J, drift, weight, mechanism.structure.sizes.v, preferred)


def generalised_in_position(mechanism: Mechanism, speeds: Generalised) -> Generalised:
    """Return the same without the rows that bind rates only: what positions are free.

    What is independent among the speeds remains so where it can.
    """
    J, drift, weight = papers_matrix(mechanism)
    tables = mechanism.structure.tables
    places = []
    for n, joint in enumerate(mechanism.structure.loops):
        first, count = int(tables.blocks.row[n]), int(tables.blocks.rows[n])
        bound = tables.rows.locked[first : first + count] != RATES_ONLY
        places.append(bound if joint in mechanism.model.constraints else np.ones(6, bool))
    kept = np.concatenate(places)
    return generalise(J[kept], drift[kept], weight, mechanism.structure.sizes.v, speeds.dependent)


def driven_columns(mechanism: Mechanism) -> np.ndarray:
    """Return the mask of columns of J_C whose freedoms are driven."""
    model, structure = mechanism.model, mechanism.structure
    motion = np.zeros(structure.sizes.v, int)
    for joint in structure.carrier[1:]:
        motion[structure.v_of(model, int(joint))] = model.columns.motion[model.columns_of(int(joint))]
    loops = [joint for joint in structure.loops if joint not in model.constraints]
    of_loops = [model.columns.motion[model.columns_of(joint)] for joint in loops]
    return np.concatenate([motion, *of_loops]) >= 0


def column_names(mechanism: Mechanism) -> list[str]:
    """Return the names of the columns of J_C: the tree's freedoms, then the loop joints'."""
    model, structure = mechanism.model, mechanism.structure
    names = [""] * structure.sizes.v
    for body in range(1, len(model.bodies)):
        joint = int(structure.carrier[body])
        v = structure.v_of(model, joint)
        c = model.columns_of(joint)
        names[v] = model.column_names[c]
    for joint in structure.loops:
        names += list(model.column_names[model.columns_of(joint)]) if joint not in model.constraints else []
    return names


def columns_of(mechanism: Mechanism) -> np.ndarray:
    """Return (N_J,) the model's column of each column of J_C."""
    model, structure = mechanism.model, mechanism.structure
    order = np.zeros(structure.sizes.v, int)
    for joint in map(int, structure.carrier[1:]):
        order[structure.v_of(model, joint)] = np.r_[model.columns_of(joint)]
    loops = [np.r_[model.columns_of(joint)] for joint in structure.loops if joint not in model.constraints]
    return np.concatenate([order, *loops]).astype(int)
