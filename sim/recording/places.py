"""Where bodies, their centres of mass and their named points are, and how fast, in every row of a recording."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from sim.recording.errors import UnknownNameError


def turned(quat: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return vectors (..., 3) turned by unit quaternions (..., 4), (w, x, y, z)."""
    w, u = quat[..., :1], quat[..., 1:]
    across = np.cross(u, vector)
    return np.asarray(vector + 2.0 * (w * across + np.cross(u, across)))


class Places:
    """Places of a recording by name, as the formulas of a scene name them.

    ``body`` is the origin of a body, ``body.com`` its centre of mass, ``body.point`` and ``world.point`` what the
    scene calls so.

    Parameters
    ----------
    bodies : sequence of str
        Names, in the order of the recording's arrays.
    com : (b, 3)
        Centres of mass from the bodies' origins, body axes [m].
    points : sequence of (name, body, p_B)
        Index of the body, -1 for the world; (3,) from its origin, body axes [m].
    read : callable
        Returns a dataset of the recording by its name, rows first.
    """

    def __init__(
        self, bodies: Sequence[str], com: np.ndarray, points: Sequence[tuple[str, int, np.ndarray]],
        read: Callable[[str], np.ndarray],
    ):  # fmt: skip
        self._read = read
        self._at = {name: (k, np.zeros(3)) for k, name in enumerate(bodies)}
        self._at |= {f"{name}.com": (k, np.asarray(com[k], float)) for k, name in enumerate(bodies)}
        self._at |= {name: (body, np.asarray(p_B, float)) for name, body, p_B in points}
        self._bodies = tuple(bodies)

    def __iter__(self) -> Iterator[str]:
        return iter(self._at)

    def __contains__(self, name: object) -> bool:
        return name in self._at

    def of(self, name: str) -> tuple[int, np.ndarray]:
        """Return the index of the body (-1: the world) and p_B (3,) [m] of a place; raise UnknownNameError."""
        if name not in self._at:
            raise UnknownNameError("body or point", name, self._at)
        return self._at[name]

    def position(self, name: str) -> np.ndarray:
        """Return where a place is (n, 3), world axes [m]: p_WB + R_WB p_B."""
        body, p_B = self.of(name)
        if body < 0:
            return np.tile(p_B, (len(self._read("time")), 1))
        p_WB = self._read("position")[:, body]
        return p_WB + self._arm(body, p_B) if p_B.any() else p_WB

    def velocity(self, name: str) -> np.ndarray:
        """Return the velocity of a place (n, 3), world axes [m/s]: v_WB + w_WB x R_WB p_B."""
        body, p_B = self.of(name)
        if body < 0:
            return np.zeros((len(self._read("time")), 3))
        v_WB = self._read("velocity")[:, body]
        if not p_B.any():
            return v_WB
        return np.asarray(v_WB + np.cross(self._read("angular_velocity")[:, body], self._arm(body, p_B)))

    def distance(self, a: str, b: str) -> np.ndarray:
        """Return the distance of two places (n,) [m]."""
        return np.asarray(np.linalg.norm(self.position(a) - self.position(b), axis=1))

    def local(self, name: str, body: str) -> np.ndarray:
        """Return a place (n, 3) in the axes of a body, from the body's origin [m]: R_WB^T (p - p_WB)."""
        if body not in self._bodies:
            raise UnknownNameError("body", body, self._bodies)
        k = self._bodies.index(body)
        back = self._read("quat_wxyz")[:, k] * [1.0, -1.0, -1.0, -1.0]
        return turned(back, self.position(name) - self._read("position")[:, k])

    def _arm(self, body: int, p_B: np.ndarray) -> np.ndarray:
        return turned(self._read("quat_wxyz")[:, body], p_B)
