"""`mirror`: the other side of a figure, from the side that is written.

A reflection M turns positions and directions p into M p.  A turn by an angle about an axis a becomes
the turn by the same angle about -M a: axes of turns are mirrored as axial vectors.
"""

from __future__ import annotations

import ast
import dataclasses
import math
import re
from collections.abc import Mapping

from sim.joints import JOINT_TYPES
from sim.scene.mass_properties import Inertia
from sim.scene.rotation import cross, dot
from sim.scene.spec import Body, Constraint, Expression, Joint, Limits, Quat, Shape, Vec3

_SAME_LINE = 1e-6  # 1 - cosine of the angle of two axes that are one line


@dataclasses.dataclass(frozen=True)
class Mirror:
    """A plane through a file's origin, and the parts of names that tell the sides."""

    axis: int  # 0, 1, 2: normal to the plane
    sides: Mapping[str, str]
    prefix: str = ""  # of the file

    def name(self, name: str) -> str:
        """Return the name of the twin; the same name where no part tells a side."""
        start = len(self.prefix) + 1 if self.prefix and name.startswith(self.prefix + ".") else 0
        parts = re.split(r"([._-])", name[start:])
        return name[:start] + "".join(self.sides.get(part, part) for part in parts)

    def vector(self, p: Vec3) -> Vec3:
        """Return a mirrored position or direction."""
        x, y, z = (-value if k == self.axis else value for k, value in enumerate(p))
        return (x, y, z)

    def axial(self, p: Vec3) -> Vec3:
        """Return the mirrored axis of a turn, or a mirrored rotation vector."""
        x, y, z = (value if k == self.axis else -value for k, value in enumerate(p))
        return (x, y, z)

    def quaternion(self, q: Quat) -> Quat:
        """Return the mirrored orientation of something that is its own mirror image."""
        return (q[0], *self.axial((q[1], q[2], q[3])))

    def inertia(self, inertia: Inertia) -> Inertia:
        """Return mirrored moments of inertia: products with the normal change their sign."""
        xx, yy, zz, *products = inertia
        pairs = ((0, 1), (0, 2), (1, 2))
        xy, xz, yz = (-v if self.axis in pair else v for v, pair in zip(products, pairs, strict=True))
        return (xx, yy, zz, xy, xz, yz)

    def shape(self, shape: Shape) -> Shape:
        """Return a mirrored shape."""
        hull = shape.hull
        if hull is not None:
            hull = dataclasses.replace(
                hull,
                corners=tuple(self.vector(corner) for corner in hull.corners),
                faces=tuple(face[::-1] for face in hull.faces),
                moments=self.inertia(hull.moments),
            )
        return dataclasses.replace(
            shape, position=self.vector(shape.position), orientation=self.quaternion(shape.orientation), hull=hull
        )

    def body(self, body: Body) -> Body:
        """Return the twin of a body."""
        return dataclasses.replace(
            body,
            name=self.name(body.name),
            com=self.vector(body.com),
            inertia=self.inertia(body.inertia),
            origin=None if body.origin is None else self.vector(body.origin),
            shapes=tuple(self.shape(shape) for shape in body.shapes),
            points={self.name(name): self.vector(p) for name, p in body.points.items()},
        )

    def with_points(self, body: Body) -> Body:
        """Return a body that both sides share, with the twins of its points."""
        twins = {self.name(name): self.vector(p) for name, p in body.points.items()}
        return dataclasses.replace(body, points={**twins, **body.points})

    def joint(self, joint: Joint) -> Joint:
        """Return the twin of a joint.

        Equal coordinates are mirror-image motion, but for turns about an axis that follows a slide (of a cylindrical
        joint), and for spherical and free joints, whose rotation vector is mirrored.
        """
        axes: dict[str, Vec3 | None] = {"axis": joint.axis, "second_axis": joint.second_axis}
        for key in JOINT_TYPES[joint.type].keys:
            if (direction := axes[key]) is not None:
                axes[key] = self.vector(direction) if _follows_slide(joint.type, key) else self.axial(direction)
        return dataclasses.replace(
            joint,
            name=self.name(joint.name),
            parent=self.name(joint.parent),
            child=self.name(joint.child),
            position=None if joint.position is None else self.vector(joint.position),
            axis=axes["axis"],
            second_axis=axes["second_axis"],
            pitch=-joint.pitch or 0.0,
            parent_point=None if joint.parent_point is None else self.name(joint.parent_point),
            child_point=None if joint.child_point is None else self.name(joint.child_point),
            limits=self._limits(joint),
            rest=self._coordinate(joint.type, joint.rest),
            motion=self._motion(joint),
        )

    def constraint(self, constraint: Constraint, joints: Mapping[str, Joint], ground: frozenset[str]) -> Constraint:
        """Return the twin of a constraint.

        joints : of the scene, twins included
        ground : of `normal`, `level` and `along`, which are reflected; a shape of the world stays
        """
        return dataclasses.replace(
            constraint,
            name=self.name(constraint.name),
            body=self.name(constraint.body),
            on=self.name(constraint.on) if constraint.on != "world" else "world",
            point=self.name(constraint.point),
            position=None if constraint.position is None else self.vector(constraint.position),
            axis=None if constraint.axis is None else self.vector(constraint.axis),
            orientation=None if constraint.orientation is None else self.quaternion(constraint.orientation),
            normal=self.vector(constraint.normal) if "normal" in ground else constraint.normal,
            level=self.vector(constraint.level) if "level" in ground else constraint.level,
            along=self.vector(constraint.along) if constraint.along and "along" in ground else constraint.along,
            joints=tuple(self.name(name) for name in constraint.joints),
            ratio=constraint.ratio * self._sign_of_ratio(constraint, joints),
        )

    def _sign_of_ratio(self, constraint: Constraint, joints: Mapping[str, Joint]) -> float:
        """Return 1 or -1: the ratio of the twins' rates by that of those written; 0: it is none."""
        names, freedoms = constraint.joints, constraint.freedoms
        if constraint.type == "screw":
            names, freedoms = names * 2, (0, 1)
        pairs = zip(names, freedoms, strict=True)
        return math.prod(self._sign_of_rate(joints[name], joints[self.name(name)], freedom) for name, freedom in pairs)

    def _sign_of_rate(self, joint: Joint, twin: Joint, freedom: int) -> float:
        """Return the rate of the twin in the mirror image of a motion in which the joint has the rate 1.

        A joint that both sides share is its own twin; 0: the mirror image is no motion of this one freedom.
        """
        turns = JOINT_TYPES[joint.type].units[freedom] == "rad"
        reflected = (self.axial if turns else self.vector)(_direction(joint, freedom))
        along = dot(reflected, _direction(twin, freedom))
        return math.copysign(1.0, along) if abs(abs(along) - 1.0) < _SAME_LINE else 0.0

    def _motion(self, joint: Joint) -> tuple[Expression | None, ...]:
        out = list(joint.motion)
        signs = self._coordinate(joint.type, (1.0,) * len(out)) if out else ()
        for i, formula in enumerate(joint.motion):
            if formula is not None and signs[i] < 0.0:
                back = ast.fix_missing_locations(ast.UnaryOp(ast.USub(), formula.tree))
                out[i] = dataclasses.replace(formula, text=f"-({formula.text})", tree=back)
        return tuple(out)

    def _limits(self, joint: Joint) -> Limits | None:
        backward = _turn_back(joint.type)
        if joint.limits is None:
            return None
        if JOINT_TYPES[joint.type].limits == "ball" and joint.limits.about != self.axis:  # it turns the other way
            low, high = joint.limits.twist
            return dataclasses.replace(joint.limits, twist=(-high, -low))
        ranges = tuple(
            (-high, -low) if i in backward else (low, high) for i, (low, high) in enumerate(joint.limits.ranges)
        )
        return dataclasses.replace(joint.limits, ranges=ranges)

    def _coordinate(self, kind: str, rest: tuple[float, ...]) -> tuple[float, ...]:
        """Return the coordinate of the twin in mirror image, rotations as rotation vectors."""
        ball = JOINT_TYPES[kind].ball
        if ball >= 0:
            slid = self.vector(rest[:ball]) if ball else ()  # type: ignore[arg-type]
            return (*slid, *self.axial(rest[ball:]))  # type: ignore[arg-type]
        backward = _turn_back(kind)
        return tuple(-x if i in backward else x for i, x in enumerate(rest))


def _direction(joint: Joint, freedom: int) -> Vec3:
    """Return the unit vector along or about which one freedom of a joint moves."""
    kind = JOINT_TYPES[joint.type]
    keys = {"axis": joint.axis, "second_axis": joint.second_axis}
    z, x, along = keys[kind.z], keys.get(kind.x), kind.along[freedom]
    assert z is not None
    if along == 2:
        return z
    assert x is not None
    return x if along == 0 else cross(z, x)


def _follows_slide(kind: str, key: str) -> bool:
    """Tell whether a direction of a scene is one that something slides along: it is reflected as such."""
    axis = 2 if key == JOINT_TYPES[kind].z else 0
    return axis in JOINT_TYPES[kind].slides


def _turn_back(kind: str) -> tuple[int, ...]:
    """Return the freedoms whose coordinates change their sign: turns about an axis that follows a slide."""
    found = JOINT_TYPES[kind]
    return tuple(i for i in found.angles if found.along[i] in found.slides)
