"""A mechanism at its start, in world axes: what the peers that simulate are told."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Body:
    """A rigid body at the start.

    mass : kg; com : (3,) m; inertia : (3, 3) kg m^2 about com
    velocity : (3,) m/s, of com; spin : (3,) rad/s
    """

    name: str
    mass: float
    com: np.ndarray
    inertia: np.ndarray
    velocity: np.ndarray
    spin: np.ndarray

    def velocity_of(self, point: np.ndarray) -> np.ndarray:
        """Velocity [m/s] of the body's point that is at `point`."""
        return self.velocity + np.cross(self.spin, point - self.com)


@dataclass(frozen=True)
class Joint:
    """A connection of two bodies: 0 is the world, i is `bodies[i - 1]`.

    kind : "rotational", "translational", "spherical", "fixed" or "free"
    position : (3,) m; axes : (3, 3), the last column is the axis
    tree : whether it carries b; the others close loops
    torque : N m, constant, about the axis on b
    """

    name: str
    kind: str
    a: int
    b: int
    position: np.ndarray
    axes: np.ndarray
    tree: bool
    torque: float = 0.0


@dataclass(frozen=True)
class Spring:
    """A spring with a damper between a point of body a and one of body b [m, N/m, N s/m]."""

    a: int
    p_a: np.ndarray
    b: int
    p_b: np.ndarray
    stiffness: float
    damping: float
    length: float


@dataclass(frozen=True)
class Mechanism:
    """Bodies, joints with parents before children, springs, and the points that are looked at.

    gravity : (3,) m/s^2
    points : body index and place (3,) m of each
    """

    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...]
    springs: tuple[Spring, ...]
    gravity: np.ndarray
    points: tuple[tuple[int, np.ndarray], ...]

    @property
    def tree(self) -> list[Joint]:
        """The joints that carry a body."""
        return [joint for joint in self.joints if joint.tree]

    @property
    def loops(self) -> list[Joint]:
        """The joints that close loops."""
        return [joint for joint in self.joints if not joint.tree]

    @cached_property
    def planar(self) -> bool:
        """Whether everything moves in the plane of x and y."""
        return bool(
            all(joint.kind == "rotational" and abs(joint.axes[2, 2]) > 1 - 1e-12 for joint in self.joints)
            and np.ptp([joint.position[2] for joint in self.joints]) == 0.0
            and self.gravity[2] == 0.0
        )

    def body(self, i: int) -> Body | None:
        """Return a body by its index; None for the world."""
        return self.bodies[i - 1] if i else None

    def rate(self, joint: Joint) -> np.ndarray:
        """Rates of a joint at the start: turning about the axis; sliding along it; (3,) turning; (6,) of b itself."""
        a, b = self.body(joint.a), self.body(joint.b)
        zero = np.zeros(3)
        spin = (b.spin if b else zero) - (a.spin if a else zero)
        slip = (b.velocity_of(joint.position) if b else zero) - (a.velocity_of(joint.position) if a else zero)
        axis = joint.axes[:, 2]
        rates = {"rotational": [axis @ spin], "translational": [axis @ slip], "spherical": spin, "fixed": []}
        return np.array(rates.get(joint.kind, [*slip, *spin]))

    def energy(self) -> float:
        """Kinetic and potential energy at the start [J], springs left out."""
        return float(
            sum(
                0.5 * body.mass * body.velocity @ body.velocity
                + 0.5 * body.spin @ body.inertia @ body.spin
                - body.mass * self.gravity @ body.com
                for body in self.bodies
            )
        )
