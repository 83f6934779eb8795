"""Short reference trajectories of `tests.support.reference`: DOP853 at rtol 1e-12, projected on the links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy.integrate import solve_ivp

from tests.support import reference as ref
from tests.support.rotations import matrix_from_quat, matrix_from_vector, quat_from_matrix

Applied = Callable[[float, Sequence[ref.Body]], Sequence[ref.Wrench]]


def _pack(bodies: Sequence[ref.Body]) -> np.ndarray:
    parts = []
    for body in bodies:
        quat = quat_from_matrix(body.R_WB)
        parts += [body.com_W, quat, body.v_com_W, body.w_W]
    return np.concatenate(parts)


def _unpack(y: np.ndarray, drawing: Sequence[ref.Body]) -> list[ref.Body]:
    bodies = []
    for row, drawn in zip(y.reshape(-1, 13), drawing, strict=True):
        R = matrix_from_quat(row[3:7])
        turned = R @ drawn.R_WB.T
        bodies.append(
            replace(
                drawn,
                com_W=row[:3],
                R_WB=R,
                v_com_W=row[7:10],
                w_W=row[10:],
                inertia_W=turned @ drawn.inertia_W @ turned.T,
            )
        )
    return bodies


def _quaternion_rate(w: np.ndarray, quat: np.ndarray) -> np.ndarray:
    """Return d/dt of (w, x, y, z), body to world, for an angular velocity in world axes."""
    s, u = quat[0], quat[1:]
    return np.concatenate([[-w @ u], s * w + ref.cross(w, u)]) / 2


def place(bodies: Sequence[ref.Body], shift: np.ndarray, turn: np.ndarray) -> list[ref.Body]:
    """Return the bodies moved by `shift` (n, 3) m and turned by rotation vectors `turn` (n, 3) rad, world axes."""
    moved = []
    for body, d, angle in zip(bodies, shift, turn, strict=True):
        R = matrix_from_vector(angle)
        moved.append(replace(body, com_W=body.com_W + d, R_WB=R @ body.R_WB, inertia_W=R @ body.inertia_W @ R.T))
    return moved


def residuals(links: Sequence[ref.Link]) -> np.ndarray:
    """Return phi of all links, (rows,) m and rad."""
    return np.concatenate([np.zeros(0), *(ref.residual(link) for link in links)])


def project(
    bodies: Sequence[ref.Body], drawing: Sequence[ref.Body], links: Sequence[ref.Link]
) -> tuple[list[ref.Body], list[ref.Link]]:
    """Return the nearest bodies that satisfy the links (of the drawing), positions then velocities.

    Nearest is meant in the kinetic-energy metric.  The returned links are at the returned bodies.
    """
    bodies = list(bodies)
    for _ in range(10):
        now = [ref.carry(link, drawing, bodies) for link in links]
        phi = residuals(now)
        if not len(phi) or np.max(np.abs(phi)) < 1e-14:
            break
        J, _ = ref.constraint_rows(bodies, now)
        M = ref.inertia_matrix(bodies, now)
        # Where M is singular (point masses) the plain metric decides.
        M = M + 1e-9 * np.trace(M) / len(M) * np.eye(len(M))
        step = _least_move(M, J, -phi).reshape(-1, 6)
        bodies = place(bodies, step[:, :3], step[:, 3:])
    now = [ref.carry(link, drawing, bodies) for link in links]
    v, w, _, _ = ref.jump(bodies, now, [])
    return ref.with_speeds(bodies, v, w), now


def _least_move(M: np.ndarray, J: np.ndarray, gap: np.ndarray) -> np.ndarray:
    """Return the x least in x.M x / 2 of all that bring J x nearest to gap."""
    root = np.linalg.cholesky(M)
    scaled = np.linalg.solve(root, J.T).T
    return np.linalg.solve(root.T, np.linalg.lstsq(scaled, gap, rcond=1e-10)[0])


def trajectory(
    bodies: Sequence[ref.Body], links: Sequence[ref.Link], gravity: npt.ArrayLike, times: Sequence[float],
    forces: Applied | None = None, between: float = 0.05, rtol: float = 1e-12,
) -> list[list[ref.Body]]:  # fmt: skip
    """Return the bodies at each of the increasing times (s), starting from `bodies` at 0.

    links : at `bodies`.
    forces : function of time and bodies that returns wrenches, or None.
    between : s, longest span without a projection.
    """
    drawing = list(bodies)

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        now = _unpack(y, drawing)
        moved = [ref.carry(link, drawing, now) for link in links]
        vdot, _ = ref.motion(now, moved, gravity, forces(t, now) if forces else (), rank)
        rows = y.reshape(-1, 13)
        turned = [_quaternion_rate(row[10:], row[3:7]) for row in rows]
        return np.column_stack([rows[:, 7:10], turned, vdot.reshape(-1, 6)]).ravel()

    state, carried = project(bodies, drawing, links)
    # Stages of a step leave the links a little, and redundant rows would seem to act there.
    rank, _ = ref.constraint_rank(state, carried)
    now, seen = 0.0, []
    for target in times:
        while now < target:
            stop = target if target - now <= 1.0001 * between else now + between
            solution = solve_ivp(rate, (now, stop), _pack(state), method="DOP853", rtol=rtol, atol=1e-13)
            if not solution.success:
                raise RuntimeError(f"reference trajectory at t = {now:.6g} s: {solution.message}")
            state, _ = project(_unpack(solution.y[:, -1], drawing), drawing, links)
            now = stop
        seen.append(state)
    return seen
