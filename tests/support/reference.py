"""A naive rigid-body code to hold the engine against: dense, maximal coordinates, plain numpy.

It shares nothing with the engine.  Each body has its own six freedoms, each link contributes the
rows of `phi(poses) = 0` that its type takes away, and accelerations and impulses come from one
saddle-point system in which rows may be redundant.  World axes, SI units; the six speeds of a
body are (velocity of its centre of mass, angular velocity).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tests.support.reference_links import (
    FREEDOMS,
    WORLD,
    Body,
    Drive,
    Link,
    Row,
    body_of,
    carry,
    coordinates,
    cross,
    dense,
    draw_link,
    drive,
    frame_from_axis,
    free_rows,
    locked_rows,
    rates,
    residual,
    rotation_vector,
    slide,
    speeds,
    spin,
    turn,
)

# What users of the oracle need of its links comes along under this one name.
__all__ = [
    "FREEDOMS", "WORLD", "Body", "Drive", "Link", "Row", "Wrench", "accelerations", "applied_forces", "carry",
    "constraint_rank", "constraint_rows", "coordinates", "cross", "dense", "draw_link", "drive", "frame_from_axis",
    "free_rows", "inertia_matrix", "jump", "kinetic_energy", "link_wrenches", "locked_rows", "motion",
    "potential_energy", "rates", "residual", "rotation_vector", "slide", "solve_saddle", "speeds", "spin", "turn",
    "with_speeds",
]  # fmt: skip

# Singular values below this fraction of the largest count as zero when rows are ranked; rows are
# in metres and radians.  Rounding of the rows is 1e-16, mechanisms that are not singular stay
# above 1e-5.
RANK_CUT = 1e-9

# Accelerations and jumps may leave this much of a row unsatisfied, relative to the terms in it.
CONTRADICTION = 1e-6


@dataclass(frozen=True, kw_only=True)
class Wrench:
    """A force (N) at a point (m) and a moment (N m) on one body, world axes."""

    body: int
    force_W: np.ndarray
    torque_W: np.ndarray
    point_W: np.ndarray


def constraint_rows(bodies: Sequence[Body], links: Sequence[Link]) -> tuple[np.ndarray, np.ndarray]:
    """Return J (rows, 6 n) of all links and the drift (rows,), so that J vdot + drift = 0."""
    blocks, drifts = [np.zeros((0, 6 * len(bodies)))], []
    for link in links:
        rows = locked_rows(link, bodies)
        blocks.append(dense(rows, link, len(bodies)))
        drifts += [row.drift for row in rows]
    return np.vstack(blocks), np.array(drifts)


def inertia_matrix(bodies: Sequence[Body], links: Sequence[Link] = ()) -> np.ndarray:
    """Return M (6 n, 6 n): masses and inertias of the bodies, armatures of the links."""
    M = np.zeros((6 * len(bodies), 6 * len(bodies)))
    for i, body in enumerate(bodies):
        M[6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = body.mass * np.eye(3)
        M[6 * i + 3 : 6 * i + 6, 6 * i + 3 : 6 * i + 6] = body.inertia_W
    for link in links:
        if link.drive is not None:
            j = dense(free_rows(link, bodies), link, len(bodies))
            M += j.T @ np.diag(link.drive.armature) @ j
    return M


def applied_forces(
    bodies: Sequence[Body], links: Sequence[Link], gravity: np.ndarray, forces: Sequence[Wrench]
) -> np.ndarray:
    """Return (6 n,) everything on the right of M vdot = f + J^T lambda."""
    f = np.zeros(6 * len(bodies))
    for i, body in enumerate(bodies):
        f[6 * i : 6 * i + 3] += body.mass * np.asarray(gravity, float)
        f[6 * i + 3 : 6 * i + 6] -= cross(body.w_W, body.inertia_W @ body.w_W)
    for wrench in forces:
        i, arm = wrench.body, wrench.point_W - bodies[wrench.body].com_W
        f[6 * i : 6 * i + 3] += wrench.force_W
        f[6 * i + 3 : 6 * i + 6] += wrench.torque_W + cross(arm, wrench.force_W)
    for link in links:
        if link.drive is not None and FREEDOMS[link.kind]:
            rows, d = free_rows(link, bodies), link.drive
            j = dense(rows, link, len(bodies))
            push = d.torque - d.stiffness * (coordinates(link) - d.rest) - d.damping * (j @ speeds(bodies))
            f += j.T @ (push - d.armature * np.array([row.drift for row in rows]))
    return f


def solve_saddle(
    M: np.ndarray, J: np.ndarray, f: np.ndarray, b: np.ndarray, rank: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Solve M x - J^T lambda = f, J x = b; redundant rows are allowed, and M singular along locked directions.

    x is unique; lambda is the shortest of all that give it.  The null space of J comes from its
    singular values, and two sweeps with residuals in extended precision mend the rounding.  With
    `rank` given that many singular values are kept, and rows may then be off by a little.
    Raises ValueError when rows contradict each other or a free direction has no inertia.
    """
    U, s, Vt = np.linalg.svd(J, full_matrices=True)
    kept = rank if rank is not None else int(np.sum(s > RANK_CUT * s[0])) if len(s) else 0
    U, s, V, N = U[:, :kept], s[:kept], Vt[:kept].T, Vt[kept:].T
    M_free = N.T @ M @ N
    inertia = np.linalg.eigvalsh(M_free)
    if len(inertia) and inertia[0] < 1e-14 * inertia[-1]:
        raise ValueError("a direction that the links leave free has no inertia")

    def once(f: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = V @ ((U.T @ b) / s)
        x = x + N @ np.linalg.solve(M_free, N.T @ (f - M @ x))
        return x, U @ ((V.T @ (M @ x - f)) / s)

    M_w, J_w, f_w, b_w = (array.astype(np.longdouble) for array in (M, J, f, b))
    x, multipliers = once(f, b)
    for _ in range(2):
        rest_f = (f_w - M_w @ x + J_w.T @ multipliers).astype(float)
        rest_b = (b_w - J_w @ x).astype(float)
        dx, dm = once(rest_f, rest_b)
        x, multipliers = x + dx, multipliers + dm
    scale = 1.0 + np.abs(J) @ np.abs(x) + np.abs(b)
    if rank is None and len(b) and np.max(np.abs(J @ x - b) / scale) > CONTRADICTION:
        raise ValueError("the rows of the links contradict each other: speeds do not satisfy the links")
    return x, multipliers


def constraint_rank(bodies: Sequence[Body], links: Sequence[Link]) -> tuple[int, float]:
    """Return the rank of all rows and the smallest kept singular value over the largest."""
    J, _ = constraint_rows(bodies, links)
    s = np.linalg.svd(J, compute_uv=False)
    kept = s[s > RANK_CUT * s[0]] if len(s) else s
    return len(kept), float(kept[-1] / kept[0]) if len(kept) else 1.0


def link_wrenches(bodies: Sequence[Body], links: Sequence[Link], multipliers: np.ndarray) -> np.ndarray:
    """Return (links, 6): moment about the link's point on b, and force, of a on b."""
    wrenches, start = np.zeros((len(links), 6)), 0
    for wrench, link in zip(wrenches, links, strict=True):
        B = body_of(bodies, link.b)
        for row in locked_rows(link, bodies):
            force, moment = row.row_b[:3] * multipliers[start], row.row_b[3:] * multipliers[start]
            wrench += np.concatenate([moment - cross(link.p_b - B.com_W, force), force])
            start += 1
    return wrenches


def motion(
    bodies: Sequence[Body], links: Sequence[Link], gravity: npt.ArrayLike, forces: Sequence[Wrench] = (),
    rank: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return (6 n,) accelerations of all bodies and the multipliers (rows,); `rank` as in `solve_saddle`."""
    J, drift = constraint_rows(bodies, links)
    f = applied_forces(bodies, links, np.asarray(gravity, float), forces)
    return solve_saddle(inertia_matrix(bodies, links), J, f, -drift, rank)


def accelerations(
    bodies: Sequence[Body], links: Sequence[Link], gravity: npt.ArrayLike, forces: Sequence[Wrench] = ()
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what the links leave of the motion.

    Returns (n, 3) m/s^2 of the centres of mass, (n, 3) rad/s^2, and (links, 6) the wrench of a on
    b about the link's point on b, moment then force, without what its drive does.
    """
    x, multipliers = motion(bodies, links, gravity, forces)
    x = x.reshape(-1, 6)
    return x[:, :3], x[:, 3:], link_wrenches(bodies, links, multipliers)


def jump(
    bodies: Sequence[Body], old_links: Sequence[Link], new_links: Sequence[Link]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return the speeds after `new_links` have caught hold at once, perfectly plastic.

    v+ = v- + M^-1 J^T p with J v+ = 0 for all links.  Returns v+ (n, 3), w+ (n, 3), impulses
    (links, 6) of a on b (moment about the link's point on b, force; old links first), and the
    energy lost, -p . (J v- + J v+) / 2.
    """
    links = [*old_links, *new_links]
    J, _ = constraint_rows(bodies, links)
    M, before = inertia_matrix(bodies, links), speeds(bodies)
    after, p = solve_saddle(M, J, M @ before, np.zeros(len(J)))
    lost = -p @ (J @ before + J @ after) / 2
    after = after.reshape(-1, 6)
    return after[:, :3], after[:, 3:], link_wrenches(bodies, links, p), float(lost)


def with_speeds(bodies: Sequence[Body], v_com_W: np.ndarray, w_W: np.ndarray) -> list[Body]:
    """Return the bodies with other velocities, (n, 3) each."""
    return [replace(body, v_com_W=v, w_W=w) for body, v, w in zip(bodies, v_com_W, w_W, strict=True)]


def kinetic_energy(bodies: Sequence[Body], links: Sequence[Link] = ()) -> float:
    """Return J of the bodies and of the links' armatures."""
    v = speeds(bodies)
    return float(v @ inertia_matrix(bodies, links) @ v) / 2


def potential_energy(bodies: Sequence[Body], links: Sequence[Link], gravity: npt.ArrayLike) -> float:
    """Return J of weight (zero at the world's origin) and of the links' springs."""
    weight = -sum(body.mass * np.asarray(gravity) @ body.com_W for body in bodies)
    springs = [link.drive.stiffness @ (coordinates(link) - link.drive.rest) ** 2 / 2 for link in links if link.drive]
    return float(weight + sum(springs))
