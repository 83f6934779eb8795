"""Motions that change nothing: which combinations of joints may run on for ever without the mechanism noticing.

A *generator* moves the state along one freedom of a joint, or turns everything behind a joint about an axis of its
parent's side.  Combinations that keep the constraints and commute with the equations of motion are symmetries.  A
motion is steady where it follows one: a wheel may roll, a bicycle may go round in a circle, a top may precess.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim.analysis.linear.complex_step import crossed, matrix_of
from sim.analysis.linear.equations import STEP, Equations

# Singular values of the equations for symmetries below this, relative to the largest, are zero.  Smaller: roundoff
# hides symmetries.  Larger: what nearly is one counts.
SYMMETRIC = 1e-8


@dataclass(frozen=True)
class Fields:
    """What generators do to k states: displacements (k, nv, generators) of freedoms, and changes of rates likewise."""

    moved: np.ndarray
    turned: np.ndarray


def count(equations: Equations) -> int:
    """Return the number of generators."""
    return equations.nv + len(turns(equations))


def turns(equations: Equations) -> list[tuple[int, int]]:
    """Return link and axis of F of every generator that is a turn."""
    axes = [(0, 1, 2) if link.quaternion >= 0 else (2,) if link.rides else () for link in equations.links]
    return [(b, i) for b, of_link in enumerate(axes) if b for i in of_link]


def fields(equations: Equations, q: np.ndarray, v: np.ndarray) -> Fields:
    """Return what every generator does to q (k, nq) and, linearly, to v (k, nv): freedoms first, then turns.

    A turn about an axis of F turns the velocity of a free joint along; displacements about the child's own axes
    leave angular velocities where they are, so that in the child's axes they turn back.
    """
    nv = equations.nv
    shape = (len(q), nv, count(equations))
    moved, turned = np.zeros(shape, q.dtype), np.zeros(shape, np.result_type(q, v))
    moved[:, range(nv), range(nv)] = 1.0
    g = nv
    for link in equations.links[1:]:
        a, k = link.q, link.v
        if link.rides and link.quaternion < 0:  # slides along x and y, a turn about z
            moved[:, k, g], moved[:, k + 1, g], moved[:, k + 2, g] = -q[:, a + 1], q[:, a], 1.0
            turned[:, k, g], turned[:, k + 1, g] = -v[:, k + 1], v[:, k]
            g += 1
        elif link.quaternion >= 0:
            r, s = link.quaternion, a + link.plain
            R = matrix_of(q[:, s : s + 4])
            for i in range(3):
                e = np.zeros((len(q), 3))
                e[:, i] = 1.0
                turned[:, r : r + 3, r + i] = -crossed(e, v[:, r : r + 3])
                moved[:, r : r + 3, g] = R[:, i]
                if link.plain:
                    moved[:, k : k + 3, g] = crossed(e, q[:, a : a + 3])
                    turned[:, k : k + 3, g] = crossed(e, v[:, k : k + 3])
                g += 1
    return Fields(moved, turned)


def broken_by(equations: Equations, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return (numbers, generators) that are zero for combinations which are symmetries at one state.

    Rows of positions keep their residuals, J v stays, and vdot moves along: D vdot . X = X vdot.
    """
    here = fields(equations, q[None], v[None])
    vdot = equations.vdot(q[None], v[None])[0]
    wanted = fields(equations, q[None], vdot[None]).turned[0]
    dq, dv = here.moved[0].T, here.turned[0].T
    beside, rates = equations.beside(q, 1j * STEP * dq), v + 1j * STEP * dv
    J = equations.jacobian(beside)
    slip = np.einsum("krv,kv->kr", J, rates).imag[:, equations.hard] / STEP
    steady = equations.driven & (np.abs(equations.want[:, 2]) == 0.0)  # time moves these along
    gap = J.real[0, equations.positions & ~steady] @ here.moved[0]
    bent = equations.vdot(beside, rates).imag.T / STEP - wanted
    return np.vstack([gap, slip.T, bent])


def symmetries(broken: np.ndarray) -> np.ndarray:
    """Return (generators, symmetries) an orthonormal basis of what `broken_by`, stacked, leaves unbroken."""
    size = np.linalg.norm(broken, axis=1, keepdims=True)
    largest = size.max(initial=0.0)
    if largest == 0.0:
        return np.eye(broken.shape[1])
    _, s, Vt = np.linalg.svd(broken / largest)
    rank = int(np.sum(s > SYMMETRIC * s[0]))
    basis: np.ndarray = Vt[rank:].T
    return basis


def lone(equations: Equations, v: np.ndarray) -> np.ndarray:
    """Return (generators,) the combination of freedoms alone whose motion has rates v: what frozen models move with."""
    return np.concatenate([v, np.zeros(count(equations) - len(v))])
