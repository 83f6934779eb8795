"""Proportional-derivative control of joints."""

from __future__ import annotations

import ast
import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from sim.plugin import Controller, ModelView, parameter


# One row of constants for each controlled column, or for each spherical joint: whether it is spherical (0 or 1), first
# column, target (number, or quaternion w x y z), kp, kd, largest torque.
def pd_law(t: float, coordinate: np.ndarray, rate: np.ndarray, constants: np.ndarray, torque: np.ndarray) -> None:
    """Add tau = kp (target - q) - kd qd, cut at the largest torque, for every row of constants.

    For spherical joints target - q is the rotation vector, in the child's axes, that turns the
    child into its target: the gradient of kp angle^2 / 2, so the torque is conservative.
    """
    for row in range(0, constants.size, 9):
        c = int(constants[row + 1])
        kp, kd, largest = constants[row + 6], constants[row + 7], constants[row + 8]
        if constants[row] == 0.0:
            tau = kp * (constants[row + 2] - coordinate[c]) - kd * rate[c]
            torque[c] += min(max(tau, -largest), largest)
            continue
        x, y, z = coordinate[c], coordinate[c + 1], coordinate[c + 2]
        angle = math.sqrt(x * x + y * y + z * z)
        k = math.sin(0.5 * angle) / angle if angle > 0.0 else 0.5
        w, x, y, z = math.cos(0.5 * angle), k * x, k * y, k * z
        a, b, d, e = constants[row + 2], constants[row + 3], constants[row + 4], constants[row + 5]
        # conj(child) * target: what is still to turn, seen from the child.
        rw = w * a + x * b + y * d + z * e
        rx = w * b - x * a - y * e + z * d
        ry = w * d + x * e - y * a - z * b
        rz = w * e - x * d + y * b - z * a
        if rw < 0.0:
            rw, rx, ry, rz = -rw, -rx, -ry, -rz
        half = math.sqrt(rx * rx + ry * ry + rz * rz)
        turn = 2.0 * math.atan2(half, rw) / (half or 1.0)
        tx = kp * turn * rx - kd * rate[c]
        ty = kp * turn * ry - kd * rate[c + 1]
        tz = kp * turn * rz - kd * rate[c + 2]
        size = math.sqrt(tx * tx + ty * ty + tz * tz)
        share = largest / size if size > largest else 1.0
        torque[c] += share * tx
        torque[c + 1] += share * ty
        torque[c + 2] += share * tz


def quaternion(rotation: np.ndarray) -> tuple[float, float, float, float]:
    """Return the unit quaternion (w, x, y, z) of a rotation vector (rad)."""
    angle = float(np.linalg.norm(rotation))
    x, y, z = (0.5 * np.sinc(0.5 * angle / np.pi) * rotation).tolist()
    return math.cos(0.5 * angle), x, y, z


@dataclasses.dataclass(kw_only=True)
class PD(Controller):
    """Pull joints toward targets with a spring and a damper, in the tree and in loops alike.

    tau = kp (target - q) - kd qd, at most `largest` in size.  Without a target a joint is held
    where it starts.  A target may be a formula, of time for example, which is followed as it changes; the
    damper works against the rate all the same.  Spherical joints take a rotation vector as target; target - q
    is then the rotation that is left, in the child's axes.
    """

    law: ClassVar[Callable[..., None] | None] = staticmethod(pd_law)

    joints: tuple[str, ...] = parameter(kind="joints", about="Joints to control, names or patterns")
    target: Mapping[str, Any] | float | None = parameter(
        None,
        kind="formulas",
        unit="auto",
        about="Coordinate to hold, or a formula of it: one for all, or by joint; none: that of the start",
    )
    kp: Mapping[str, Any] | float = parameter(
        kind="by_joint", unit="N m/rad", about="Stiffness (N/m on slides): one for all joints, or by joint"
    )
    kd: Mapping[str, Any] | float = parameter(
        0.0, kind="by_joint", unit="N m s/rad", about="Damping (N s/m on slides): one for all joints, or by joint"
    )
    largest: float = parameter(math.inf, unit="N m", minimum=0.0, about="Largest torque (N on slides) of each joint")

    def start(self, view: ModelView) -> None:
        """Refuse values for joints that are not controlled, and free joints."""
        super().start(view)
        for name in ("target", "kp", "kd"):
            value = getattr(self, name)
            for joint in value if isinstance(value, Mapping) else ():
                if joint not in self.joints:
                    raise ValueError(f"pd: {name} names {joint!r}, which is not among its joints")
        for joint in self.joints:
            if view.types[joint] == "free":
                raise ValueError(f"pd: {joint!r} is a free joint, which nothing can drive")
            if view.types[joint] == "spherical" and any(map(_is_formula, self._targets(joint))):
                raise ValueError(f"pd: {joint!r} is a spherical joint, whose target is a rotation and no formula")

    def constants(self, view: ModelView) -> np.ndarray:
        """Return the rows of `pd_law`, flat."""
        rows: list[tuple[float, ...]] = []
        for joint in self.joints:
            columns = view.columns[joint]
            size = columns.stop - columns.start
            target = self._target(joint, view)
            kp, kd = (np.broadcast_to(self._of(name, joint), (size,)) for name in ("kp", "kd"))
            spherical = float(view.types[joint] == "spherical")
            if spherical:
                stiffness, damping = set(kp.tolist()), set(kd.tolist())
                if len(stiffness) > 1 or len(damping) > 1:
                    raise ValueError(f"pd: kp and kd of spherical joint {joint!r}: expected one number each")
                turned = quaternion(np.array(target, float))
                rows.append((spherical, columns.start, *turned, *stiffness, *damping, self.largest))
            else:
                rows += [
                    (spherical, columns.start + k, target[k], 0.0, 0.0, 0.0, kp[k], kd[k], self.largest)
                    for k in range(size)
                    if not _is_formula(target[k])
                ]
        return np.array(rows, dtype=float).ravel()

    def expressions(self, view: ModelView) -> Mapping[int, Any]:
        """Return column -> Expression of the torque toward each target that is a formula."""
        found = {}
        for joint in self.joints:
            columns = view.columns[joint]
            size = columns.stop - columns.start
            kp, kd = (np.broadcast_to(self._of(name, joint), (size,)).tolist() for name in ("kp", "kd"))
            for k, target in enumerate(self._target(joint, view)):
                if _is_formula(target):
                    tree = _toward(target.tree, joint, k if size > 1 else None, kp[k], kd[k], self.largest)
                    found[columns.start + k] = dataclasses.replace(target, tree=tree)
        return found

    def _targets(self, joint: str) -> tuple[Any, ...]:
        """Return what the scene says of a joint's target; nothing for that of the start."""
        value = self.target.get(joint) if isinstance(self.target, Mapping) else self.target
        if isinstance(value, tuple | list | np.ndarray):
            return tuple(value)
        return () if value is None else (value,)

    def _target(self, joint: str, view: ModelView) -> Sequence[Any]:
        """Return the target of one joint, one number or Expression for each of its freedoms."""
        start, given = view.start[view.columns[joint]], self._targets(joint)
        if not given:
            return start.tolist()
        if view.types[joint] == "spherical" and given == (0.0,):
            return [0.0, 0.0, 0.0]
        if len(given) != start.size:
            raise ValueError(f"pd: target of {joint!r} has {len(given)} numbers; expected {start.size}")
        return given

    def _of(self, name: str, joint: str) -> float | tuple[float, ...]:
        value = getattr(self, name)
        return value.get(joint, 0.0) if isinstance(value, Mapping) else value


def _is_formula(target: Any) -> bool:
    return hasattr(target, "tree")


def _toward(target: ast.expr, joint: str, freedom: int | None, kp: float, kd: float, largest: float) -> ast.expr:
    """Return the formula of clip(kp (target - q) - kd qd, -largest, largest)."""
    index = "" if freedom is None else f"[{freedom}]"
    law = f"{kp!r}*(target - coordinate({joint!r}){index}) - {kd!r}*rate({joint!r}){index}"
    law = law if largest == math.inf else f"clip({law}, {-largest!r}, {largest!r})"

    class Put(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return target if node.id == "target" else node

    tree: ast.expr = Put().visit(ast.parse(law, mode="eval")).body
    return ast.fix_missing_locations(tree)
