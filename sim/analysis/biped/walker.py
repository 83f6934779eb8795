"""A planar tree of links that turn about hinges: what the paper's formulations are told of a walker.

The plane is that of walking: x ahead, y up.  Angles are absolute, counterclockwise from x (the paper's q).  A link's
axes turn with it, their origin is its own hinge, which is the frame B_i of the paper; hinge k carries link k.  Motors
turn links against their parents, the first one against the foot that stands, which is the ground here (assumption 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

GROUND = -1


@dataclass(frozen=True)
class Walker:
    """Links in an order in which parents come first.

    parent : (n,) link, or GROUND
    hinge : (n, 2) m, of each link in the axes of its parent, or in the plane
    mass : (n,) kg;  com : (n, 2) m, in own axes;  inertia : (n,) kg m^2 about it
    gravity : m/s^2, downwards
    """

    parent: tuple[int, ...]
    hinge: np.ndarray
    mass: np.ndarray
    com: np.ndarray
    inertia: np.ndarray
    gravity: float = 9.81

    @property
    def links(self) -> int:
        """How many links there are, n_q of the paper."""
        return len(self.parent)

    @property
    def actuation(self) -> np.ndarray:
        """A (n, n) of eq. (2): what motors, one a hinge, do along the absolute angles, by virtual work."""
        A = np.eye(self.links)
        for k, p in enumerate(self.parent):
            if p != GROUND:
                A[p, k] = -1.0
        return A

    def turns(self, q: np.ndarray) -> np.ndarray:
        """Return theta (n,): angles of links, or their rates, against their parents, A^T q."""
        return np.asarray(self.actuation.T @ q)

    def places(self, q: np.ndarray) -> np.ndarray:
        """Return (n, 2): where the hinges are [m]."""
        out = np.zeros((self.links, 2))
        for k, p in enumerate(self.parent):
            out[k] = self.hinge[k] if p == GROUND else out[p] + turned(q[p], self.hinge[k])
        return out

    def jacobian(self, q: np.ndarray, link: int, point: np.ndarray) -> np.ndarray:
        """Return (2, n): velocity of a point of a link, in its axes, for rates of the angles."""
        out = np.zeros((2, self.links))
        while link != GROUND:
            out[:, link] = across(turned(q[link], point))
            link, point = self.parent[link], self.hinge[link]
        return out

    def drift(self, q: np.ndarray, rates: np.ndarray, link: int, point: np.ndarray) -> np.ndarray:
        """Return (2,): that Jacobian's rate times the rates: what the point's acceleration is without theirs."""
        out = np.zeros(2)
        while link != GROUND:
            out -= turned(q[link], point) * rates[link] ** 2
            link, point = self.parent[link], self.hinge[link]
        return out

    def place(self, q: np.ndarray, link: int, point: np.ndarray) -> np.ndarray:
        """Return (2,): where a point of a link is [m]."""
        return np.asarray(self.places(q)[link] + turned(q[link], point))

    def centre(self, q: np.ndarray) -> np.ndarray:
        """Return (2,): the centre of mass [m]."""
        at = [self.place(q, k, self.com[k]) for k in range(self.links)]
        return np.asarray(self.mass @ np.array(at) / self.mass.sum())

    def centre_acceleration(self, q: np.ndarray, rates: np.ndarray, changes: np.ndarray) -> np.ndarray:
        """Return (2,): the acceleration of the centre of mass [m/s^2]."""
        total = np.zeros(2)
        for k in range(self.links):
            moved = self.jacobian(q, k, self.com[k]) @ changes + self.drift(q, rates, k, self.com[k])
            total += self.mass[k] * moved
        return np.asarray(total / self.mass.sum())


@dataclass(frozen=True)
class Friction:
    """Friction of hinges, eq. (46): K_c sign(w) + K_v w + K_s sign(w) exp(-|w| / eta_s) + K_o, w the hinge's rate.

    All (n,): N m, N m s, N m, rad/s, N m.  inertia : (n,) kg m^2, I_J of a geared motor, along the hinge's own turning.
    The paper prints exp(-w / eta_s), which grows for w < 0; Stribeck's effect falls with the speed both ways.
    """

    coulomb: np.ndarray
    viscous: np.ndarray
    stribeck: np.ndarray
    fades: np.ndarray
    offset: np.ndarray
    inertia: np.ndarray

    @classmethod
    def none(cls, n: int) -> Friction:
        """Return hinges without any."""
        zero = np.zeros(n)
        return cls(zero, zero, zero, np.ones(n), zero, zero)

    def parts(self, rates: np.ndarray) -> np.ndarray:
        """Return (n, 4): what K_c, K_v, K_s and K_o are multiplied by."""
        way = np.sign(rates)
        return np.stack([way, rates, way * np.exp(-np.abs(rates) / self.fades), np.ones_like(rates)], axis=1)

    def torque(self, rates: np.ndarray) -> np.ndarray:
        """Return tau_f (n,) at the hinges' rates, by which motors are weaker."""
        K = np.stack([self.coulomb, self.viscous, self.stribeck, self.offset], axis=1)
        return np.asarray(np.sum(K * self.parts(rates), axis=1))


def turned(angle: float, a: np.ndarray) -> np.ndarray:
    """Return a vector of a link's axes, turned by its angle."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c * a[0] - s * a[1], s * a[0] + c * a[1]])


def across(a: np.ndarray) -> np.ndarray:
    """Return e_z x a."""
    return np.array([-a[1], a[0]])
