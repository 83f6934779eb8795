"""Motions that change nothing: which combinations of joints may run on for ever without the mechanism noticing.

A *generator* moves the state along one freedom of a joint, or turns everything behind a joint about an axis of its
parent's side.  Combinations that keep the constraints and commute with the equations of motion are symmetries.  A
motion is steady where it follows one: a wheel may roll, a bicycle may go round in a circle, a top may precess.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim.analysis.linear.duals import slopes_in
from sim.analysis.linear.equations import Equations, matrix_of, quaternions
from sim.mechanism.dense import crossed

# Singular values of the equations for symmetries below this, relative to the largest, are zero.  Smaller: roundoff
# hides symmetries.  Larger: what nearly is one counts.
SYMMETRIC = 1e-8


@dataclass(frozen=True)
class Fields:
    """What generators do to a state: displacements (nv, generators) of freedoms, and changes of rates likewise."""

    moved: np.ndarray
    turned: np.ndarray


def count(equations: Equations) -> int:
    """Return the number of generators."""
    return equations.nv + len(turns(equations))


def turns(equations: Equations) -> list[tuple[int, int]]:
    """Return link and axis of F of every generator that is a turn."""
    links = equations.tables.links
    axes = (
        (0, 1, 2) if ball >= 0 else (2,) if rides else () for ball, rides in links[["quaternion", "rides"]].tolist()
    )
    return [(b, i) for b, of_link in enumerate(axes) if b for i in of_link]


def fields(equations: Equations, q: np.ndarray, v: np.ndarray) -> Fields:
    """Return what every generator does to q (nq,) and, linearly, to v (nv,): freedoms first, then turns.

    Floats or dual numbers.  A turn about an axis of F turns the velocity of a free joint along; displacements about the
    child's own axes leave angular velocities where they are, so that in the child's axes they turn back.
    """
    nv, g, links = equations.nv, equations.nv, equations.tables.links
    moved, turned = (np.zeros((nv, count(equations)), x.dtype) for x in (q, v))
    moved[range(nv), range(nv)] = 1.0
    at, units = quaternions(equations.tables), np.eye(3)
    for b, (a, k, ball, rides) in enumerate(links[["q", "v", "quaternion", "rides"]].tolist()):
        if b in at:
            R = matrix_of(q[at[b] : at[b] + 4])
            for i in range(3):
                turned[ball : ball + 3, ball + i] = -crossed(units[i], v[ball : ball + 3])
                moved[ball : ball + 3, g] = R[i]
                if ball > k:
                    moved[k : k + 3, g] = crossed(units[i], q[a : a + 3])
                    turned[k : k + 3, g] = crossed(units[i], v[k : k + 3])
                g += 1
        elif b and rides:  # slides along x and y, a turn about z
            moved[k, g], moved[k + 1, g], moved[k + 2, g] = -q[a + 1], q[a], 1.0
            turned[k, g], turned[k + 1, g] = -v[k + 1], v[k]
            g += 1
    return Fields(moved, turned)


def broken_by(equations: Equations, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return (numbers, generators) that are zero for combinations which are symmetries at one state.

    Rows of positions keep their residuals, J v stays, and vdot moves along: D vdot . X = X vdot.
    """
    here = fields(equations, q, v)
    wanted = fields(equations, q, equations.vdot(q, v)).turned
    beside, n = equations.beside(q, v, here.moved, here.turned), count(equations)
    slip = slopes_in(equations.slips(*beside), n)[equations.hard]
    steady = equations.driven & (np.abs(equations.want[:, 2]) == 0.0)  # time moves these along
    gap = equations.jacobian(q)[equations.positions & ~steady] @ here.moved
    bent = slopes_in(equations.vdot(*beside), n) - wanted
    return np.vstack([gap, slip, bent])


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
