"""The velocity boundary condition of structure-varying-1999, (11)-(24), in plain numpy.

Symbols of the paper: A_i inertia matrices (nv, nv); J_i (6, nv) Jacobian of the connection point
on link i, angular rows first; J_n (6, p) of the new joint; theta' rates (nv,); F_1 (6,) moment
and force at the connection point, on link 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.support import reference as ref
from tests.support.peers import MujocoTree

# Five-point differences of fourth order: error about 1e-11 of functions of size 1.
STEP = 1e-3


def impulse(B: np.ndarray, J_n: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return F_1 = B^-1 (E_6 - C) v, with C of (18) or (23); C is zero where p = 0."""
    B_inv = np.linalg.inv(B)
    C = np.zeros((6, 6))
    if J_n.shape[1]:
        C = J_n @ np.linalg.inv(J_n.T @ B_inv @ J_n) @ J_n.T @ B_inv
    return B_inv @ (np.eye(6) - C) @ v


def connect_two_chains(
    A: tuple[np.ndarray, np.ndarray], J: tuple[np.ndarray, np.ndarray], J_n: np.ndarray,
    rates: tuple[np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Return the changes of rates of both chains, (15) and (16), and F_1."""
    (A_1, A_2), (J_1, J_2) = A, J
    B = J_1 @ np.linalg.inv(A_1) @ J_1.T + J_2 @ np.linalg.inv(A_2) @ J_2.T  # (17)
    v = J_1 @ rates[0] - J_2 @ rates[1]  # (19)
    F_1 = impulse(B, J_n, v)
    return -np.linalg.solve(A_1, J_1.T @ F_1), np.linalg.solve(A_2, J_2.T @ F_1), F_1


def connect_one_chain(
    A: np.ndarray, J: tuple[np.ndarray, np.ndarray], J_n: np.ndarray, rates: np.ndarray, as_printed: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the change of rates of a chain that is connected to itself, (21), and F_1.

    Departure: (21) prints J_1^T where (20) with (12) gives (J_1 - J_2)^T; `as_printed` keeps the
    misprint.  (24) means rates.
    """
    J_1, J_2 = J
    B = (J_1 - J_2) @ np.linalg.inv(A) @ (J_1 - J_2).T  # (22)
    v = (J_1 - J_2) @ rates  # (24)
    F_1 = impulse(B, J_n, v)
    return -np.linalg.solve(A, (J_1 if as_printed else J_1 - J_2).T @ F_1), F_1


def jacobian_by_differences(tree: MujocoTree, body: int, point_W: np.ndarray) -> np.ndarray:
    """Return J (6, nv) of a point carried by a body: differences of its positions, nothing else."""
    mujoco, model, data = tree.mujoco, tree.model, mujoco_copy(tree)
    start = data.qpos.copy()
    index = tree.ids[body]

    def pose(column: int, step: float) -> tuple[np.ndarray, np.ndarray]:
        data.qpos[:] = start
        mujoco.mj_integratePos(model, data.qpos, np.eye(model.nv)[column], step)
        mujoco.mj_kinematics(model, data)
        return data.xpos[index].copy(), data.xmat[index].reshape(3, 3).copy()

    p_0, R_0 = pose(0, 0.0)
    arm = R_0.T @ (point_W - p_0)

    def displaced(column: int, step: float) -> np.ndarray:
        p, R = pose(column, step)
        return np.concatenate([ref.rotation_vector(R @ R_0.T), p + R @ arm - point_W])

    columns = []
    for k in range(model.nv):
        near = displaced(k, STEP) - displaced(k, -STEP)
        far = displaced(k, 2 * STEP) - displaced(k, -2 * STEP)
        columns.append((8 * near - far) / (12 * STEP))
    return np.column_stack(columns)


def mujoco_copy(tree: MujocoTree) -> Any:
    """Return other data of the same model at the same coordinates, to move at will."""
    data = tree.mujoco.MjData(tree.model)
    data.qpos[:] = tree.data.qpos
    return data


def motion_of_new_joint(kind: str, axis_W: np.ndarray) -> np.ndarray:
    """Return J_n (6, p): how link 1 may still move against link 2 about the connection point."""
    turning = {"fixed": np.zeros((3, 0)), "rotational": np.reshape(axis_W, (3, 1)), "spherical": np.eye(3)}[kind]
    return np.vstack([turning, np.zeros_like(turning)])
