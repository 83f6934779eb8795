"""The energy that the variational method keeps to fourth order, from what a simulator shows of one state.

A Verlet step of length h of flat coordinates x keeps H + h^2 (v . U''(x) v / 12 - grad U . M^-1 grad U / 24) to order
four.  Under constraints U + lambda g stands for U, so the gradient is -M a with the acceleration a that the
constraints allow, and its rate -M a' with v . M a' = T'' - a . M a; so it keeps H - h^2 (T'' / 12 - a . M a / 24).
"""

from __future__ import annotations

import numpy as np

import sim


def cross(w: np.ndarray) -> np.ndarray:
    """Return the matrix of w x."""
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def less_energy(simulator: sim.Simulator) -> float:
    """Return T'' / 12 - a . M a / 24 [J/s^2] where gravity alone acts; x: centres of mass and rotation matrices."""
    model, state, total = simulator.model, simulator.state, 0.0
    gravity = np.array(model.scene.world.gravity)
    for n, name in enumerate(model.body_names):
        if n == 0:
            continue
        body = model.bodies[n]
        xx, yy, zz, xy, xz, yz = body.inertia_B
        J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        second = 0.5 * np.trace(J) * np.eye(3) - J
        R, w = state.rotation[name], cross(state.angular_velocity[name])
        turning = (cross(state.angular_acceleration[name]) + w @ w) @ R  # R''
        a = state.acceleration[name] + turning @ body.com_B
        size = body.mass * a @ a + np.trace(turning @ second @ turning.T)
        total += body.mass * gravity @ a / 12.0 - size / 24.0  # T' = sum of m g . v where all energy is conserved
    return float(total)
