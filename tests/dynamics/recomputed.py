"""Energies and gaps of joints from what a recording and its scene say, in plain numpy.

Poses, velocities, masses and inertias of the recording; geometry, springs and stops of the scene.
Nothing of the engine's own coordinates, energies or residuals.
"""

from __future__ import annotations

import numpy as np

from sim.recording import Recording
from sim.scene.spec import Joint, Scene


def rotations(quat_wxyz: np.ndarray) -> np.ndarray:
    """Return (..., 3, 3) of quaternions (..., 4)."""
    w, x, y, z = np.moveaxis(quat_wxyz / np.linalg.norm(quat_wxyz, axis=-1, keepdims=True), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def kinetic_energy(recording: Recording) -> np.ndarray:
    """Return (n,) J of all bodies."""
    total = np.zeros(recording.rows)
    for body in recording.bodies:
        R = rotations(recording.quat_wxyz[body.name])
        w = recording.angular_velocity[body.name]
        v_com = recording.velocity[body.name] + np.cross(w, R @ np.array(body.com))
        xx, yy, zz, xy, xz, yz = body.inertia
        w_B = np.einsum("nji,nj->ni", R, w)
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        total += 0.5 * body.mass * np.sum(v_com**2, axis=1) + 0.5 * np.einsum("ni,ij,nj->n", w_B, inertia, w_B)
    return total


def potential_energy(recording: Recording, scene: Scene) -> np.ndarray:
    """Return (n,) J of weight, zero at the world's origin, and of the springs and soft stops of joints."""
    total = np.zeros(recording.rows)
    for body in recording.bodies:
        com = recording.position[body.name] + rotations(recording.quat_wxyz[body.name]) @ np.array(body.com)
        total -= body.mass * com @ np.array(scene.world.gravity)
    for joint in scene.joints:
        if joint.type == "fixed":
            continue
        value = np.nan_to_num(recording.coordinate[joint.name].reshape(recording.rows, -1))
        total += 0.5 * (value - np.array(joint.rest)) ** 2 @ np.array(joint.stiffness)
        if joint.limits is not None:
            angles = np.linalg.norm(value, axis=1, keepdims=True) if joint.type == "spherical" else value
            for (low, high), column in zip(joint.limits.ranges, angles.T, strict=True):
                low = -np.inf if joint.type == "spherical" else low
                depth = np.maximum(np.maximum(low - column, column - high), 0.0)
                total += 0.5 * joint.limits.stiffness * depth**2
    return total


def gap(recording: Recording, scene: Scene, joint: Joint) -> np.ndarray:
    """Return (n,) the largest violation of one joint, m or rad; not-a-number while it is not connected."""
    side_a, side_b = (_Side(recording, scene, joint, body) for body in (joint.parent, joint.child))
    d = side_b.point() - side_a.point()
    turned = np.einsum("nji,njk->nik", side_a.frame(), side_b.frame())  # 1 while nothing has turned
    axial = 0.5 * np.stack(
        [turned[:, 2, 1] - turned[:, 1, 2], turned[:, 0, 2] - turned[:, 2, 0], turned[:, 1, 0] - turned[:, 0, 1]], 1
    )
    d_a = np.einsum("nji,nj->ni", side_a.frame(), d)
    out = np.zeros((recording.rows, 0))
    if joint.type in ("fixed", "spherical", "rotational"):
        out = np.hstack([out, d_a])
    if joint.type in ("fixed", "translational"):
        out = np.hstack([out, axial])
    if joint.type == "translational":
        out = np.hstack([out, np.cross(d_a, joint.axis)])
    if joint.type in ("rotational", "planar"):
        out = np.hstack([out, np.cross(turned @ np.array(joint.axis), joint.axis)])
    if joint.type == "planar":
        out = np.hstack([out, d_a @ np.array(joint.axis)[:, None]])
    if out.shape[1] == 0:
        raise NotImplementedError(f"no gap for {joint.type} joints")
    absent = np.isnan(recording.joint_position[joint.name][:, 0])
    return np.where(absent, np.nan, np.max(np.abs(out), axis=1))


class _Side:
    """A joint's point and frame, with the axes of the joint's file in the drawing, as one body carries them.

    Bodies of the joint's own file have the file's axes in the drawing of that file.  For another body
    the first row of the recording is the drawing.
    """

    def __init__(self, recording: Recording, scene: Scene, joint: Joint, name: str):
        rows = recording.rows
        self.origin_W, self.R_WB = np.zeros((rows, 3)), np.tile(np.eye(3), (rows, 1, 1))
        self.R_BF, self.p_B = np.eye(3), np.zeros(3)
        body = next((body for body in scene.bodies if body.name == name), None)
        if body is not None:
            self.origin_W, self.R_WB = recording.position[name], rotations(recording.quat_wxyz[name])
        point = joint.parent_point if name == joint.parent else joint.child_point
        same_file = body is None or body.part == joint.part
        if not same_file:
            self.R_BF = self.R_WB[0].T
        if point is not None and body is not None:
            self.p_B = np.array(body.points[point]) - origin(scene, name)
        elif point is not None:
            self.p_B = np.array(scene.world.points[point])
        elif same_file:
            self.p_B = np.array(joint.position) - (origin(scene, name) if body is not None else 0.0)
        else:
            self.p_B = self.R_WB[0].T @ (np.array(joint.position) - self.origin_W[0])

    def point(self) -> np.ndarray:
        return self.origin_W + self.R_WB @ self.p_B

    def frame(self) -> np.ndarray:
        return self.R_WB @ self.R_BF


def origin(scene: Scene, name: str) -> np.ndarray:
    """Return a body's origin in its file: as written, else its first joint, else its centre of mass."""
    body = next(body for body in scene.bodies if body.name == name)
    if body.origin is not None:
        return np.array(body.origin)
    for joint in scene.joints:
        if joint.child == name and joint.connected:
            if joint.child_point is not None:
                return np.array(body.points[joint.child_point])
            if joint.position is not None and joint.part == body.part:
                return np.array(joint.position)
            break
    return np.array(body.com)
