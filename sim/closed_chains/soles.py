"""What presses on a figure from below: forces at the corners of faces that stand, each within its cone of friction.

Forces at corners that only press have their centre of pressure within the face, so that no further bound is needed for
it (Vukobratovic and Borovac, Zero-moment point, 2004).  A cone is taken as the pyramid within it, whose edges are what
is unknown: numbers that are not negative.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim.closed_chains.chain import Chain
from sim.mechanism.dense import crossed
from sim.scene.arguments import array, found

EDGES = 16  # of a pyramid: it leaves out 2 % of the cone's width at most
PRESSED = 1e-9  # of the largest force: below it nothing presses


@dataclass(frozen=True)
class Sole:
    """A face of a body that stands on something.

    Attributes
    ----------
    body : str
        Name of the body.
    corners : (k, 3) array_like
        Where forces act, in the body's axes from its origin [m].
    friction : float
        Coefficient of friction [1].
    normal : (3,) array_like, optional
        Along which the ground presses, world axes; upwards without it.
    """

    body: str
    corners: Any
    friction: float
    normal: Any = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Standing:
    """What the ground gives at a sole.

    Attributes
    ----------
    force : (k, 3) ndarray
        At each corner, world axes [N].
    wrench : (6,) ndarray
        Of all of them: moment about the body's origin [N m] and force, world axes.
    centre : (3,) ndarray
        Centre of pressure, world axes [m]; not-a-number where nothing presses.
    """

    force: np.ndarray
    wrench: np.ndarray
    centre: np.ndarray


@dataclass(frozen=True)
class Ground:
    """All soles at one state.

    names, count : of each sole, its body and how many corners it has
    corner, origin : (points, 3) where each corner is, and its link's origin [m], world axes
    link : (points,) of each corner
    normal : (points, 3) along which the ground presses there, world axes
    edges : (points, EDGES, 3) directions of which forces are sums, world axes: pressing 1, pushing sideways by friction
    reaching : (N_J, points EDGES) torques along theta_J' for unit numbers of these
    """

    names: tuple[str, ...]
    corner: np.ndarray
    origin: np.ndarray
    link: np.ndarray
    normal: np.ndarray
    count: tuple[int, ...]
    edges: np.ndarray
    reaching: np.ndarray

    def forces(self, numbers: np.ndarray) -> np.ndarray:
        """Return the force (points, 3) at each corner [N]."""
        return np.asarray(np.einsum("pe,pek->pk", numbers.reshape(self.edges.shape[:2]), self.edges))

    def wrenches(self, numbers: np.ndarray, links: int) -> np.ndarray:
        """Return (links, 6) about the links' origins, moment and force, world axes."""
        out = np.zeros((links, 6))
        for link, arm, force in zip(self.link, self.corner - self.origin, self.forces(numbers), strict=True):
            out[link] += np.concatenate([crossed(arm, force), force])
        return out

    def standing(self, numbers: np.ndarray) -> dict[str, tuple[Standing, ...]]:
        """Return what each sole gets, by the bodies' names, in the order in which soles were given."""
        out: dict[str, tuple[Standing, ...]] = {}
        force, first = self.forces(numbers), 0
        largest = float(np.abs(force).max(initial=0.0))
        for name, count in zip(self.names, self.count, strict=True):
            own = slice(first, first + count)
            f, p, n = force[own], self.corner[own], self.normal[first]
            moment = np.sum([crossed(a, b) for a, b in zip(p - self.origin[own], f, strict=True)], axis=0)
            press = f @ n
            total = float(press.sum())
            centre = press @ p / total if total > PRESSED * largest else np.full(3, np.nan)
            out[name] = (*out.get(name, ()), Standing(f, np.concatenate([moment, f.sum(axis=0)]), centre))
            first += count
        return out


def ground_of(chain: Chain, soles: Iterable[Sole]) -> Ground:
    """Return soles at a chain's state.

    Raises
    ------
    ValueError
        With what was found and what was expected.
    """
    names, counts = [], []
    corner, origin, link, normal, edges, reaching = [], [], [], [], [], []
    for sole in soles:
        corners, n = array("soles, corners", sole.corners), array("soles, normal", sole.normal)
        place = _place(chain, sole.body)
        if corners.ndim != 2 or corners.shape[1] != 3 or not len(corners) or not np.isfinite(corners).all():
            raise ValueError(f"soles, {sole.body!r}: found {found(sole.corners)}; expected corners (k, 3), body axes")
        size = float(np.linalg.norm(n)) if n.shape == (3,) else 0.0
        if not 0.0 < size < np.inf:
            raise ValueError(f"soles, {sole.body!r}: found {found(sole.normal)}; expected a normal, three numbers")
        if not (np.isfinite(sole.friction) and sole.friction >= 0.0):
            raise ValueError(f"soles, {sole.body!r}: found friction {found(sole.friction)}; expected at least 0")
        names.append(sole.body)
        counts.append(len(corners))
        for p_B in corners:
            J = chain.jacobian(sole.body, p_B)[3:]
            directions = _pyramid(n / size, float(sole.friction))
            corner.append(chain.position(sole.body, p_B))
            origin.append(chain.mechanism.work.links.x[place].copy())
            link.append(place)
            normal.append(n / size)
            edges.append(directions)
            reaching.append(np.vstack([J.T @ directions.T, np.zeros((len(chain.names) - len(chain.v), EDGES))]))
    if not names:
        raise ValueError("soles: found none; expected one at the least")
    return Ground(
        tuple(names), np.array(corner), np.array(origin), np.array(link), np.array(normal), tuple(counts),
        np.array(edges), np.hstack(reaching),
    )  # fmt: skip


def _place(chain: Chain, body: str) -> int:
    if body not in chain.mechanism.model.body_names:
        expected = ", ".join(chain.mechanism.model.body_names)
        raise ValueError(f"soles: found {found(body)}; expected bodies: {expected}")
    return chain.place(body).link


def _pyramid(normal: np.ndarray, friction: float) -> np.ndarray:
    """Return the edges (EDGES, 3) of the pyramid within a cone about a unit normal."""
    aside = np.cross(normal, np.eye(3)[int(np.argmin(np.abs(normal)))])
    aside /= np.linalg.norm(aside)
    angle = 2.0 * np.pi * np.arange(EDGES) / EDGES
    across = np.outer(np.cos(angle), aside) + np.outer(np.sin(angle), np.cross(normal, aside))
    return np.asarray(normal + friction * across)
