"""Closed points of contact of all rows of a recording: how bodies move at each, and what it does to them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from sim.analysis.verification import oracle_joints as jn
from sim.analysis.verification.oracle_joints import rotation_of
from sim.analysis.verification.seen import Seen
from sim.analysis.verification.surfaces import distance
from sim.mechanism.solids import Solid, friction_at_rest, friction_of
from sim.recording import RecordingError
from sim.scene.spec import Contact

STICKS, SLIPS = 1, 2  # as /contacts/mode has them


class Touching:
    """Points of contact of a recording, k of them, world axes.

    row, pair, mode, point, normal, force, moment : as recorded; force and moment are on b, the normal from a to b
    a, b : (k,) bodies; -1: the world
    """

    def __init__(self, seen: Seen):
        self.seen, recording = seen, seen.recording
        touches = recording.touches
        self.row, self.pair, self.mode = touches["row"], touches["pair"], touches["mode"]
        self.point, self.normal, self.force = touches["point"], touches["normal"], touches["force"]
        self.moment = touches["moment"]
        self.a, self.b = self.bodies(self.pair)

    def __len__(self) -> int:
        return len(self.row)

    def bodies(self, pair: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the bodies of some pairs."""
        of = np.array([shape.body for shape in self.seen.recording.shapes] + [-1], int)
        shapes = np.array([one.shapes for one in self.seen.recording.pairs], int).reshape(-1, 2)
        if np.any(shapes < 0):
            raise RecordingError(f"{self.seen.recording.path}: shapes that touch are not among those recorded")
        first, second = of[shapes[pair]].T
        return first, second

    def name(self, pair: int) -> str:
        """Return the names of the two bodies of a pair, as events have them."""
        return f"{self._called(pair, 'a')} and {self._called(pair, 'b')}"

    def _called(self, pair: int, side: str) -> str:
        return str(getattr(self.seen.recording.pairs[pair], side)).removeprefix("world.")

    @cached_property
    def friction(self) -> list[tuple[float, ...]]:
        """Coefficients in motion of each pair: one for each rule that it may follow."""
        return self._coefficients(friction_of)

    @cached_property
    def friction_at_rest(self) -> list[tuple[float, ...]]:
        """The same at rest."""
        return self._coefficients(friction_at_rest)

    def _coefficients(self, of: Callable[[Contact, Solid, Solid], float]) -> list[tuple[float, ...]]:
        model = self.seen.model
        return [
            tuple(
                of(model.scene.contacts[rule], model.solids[pair.first], model.solids[pair.second])
                for rule in pair.rules
            )
            for pair in model.pairs
        ]  # fmt: skip

    @property
    def most(self) -> np.ndarray:
        """Largest coefficient of friction that each point may have (k,)."""
        return np.array([max(of, default=0.0) for of in self.friction_at_rest])[self.pair]

    @cached_property
    def soft(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Stiffness and dissipation of each point (k,), N/m and s/m, zero of rigid ones; those that may be both.

        A pair may follow several rules; which one it does at an instant is not recorded.
        """
        numbers = []
        for pair in self.seen.model.pairs:
            said = {self.seen.model.scene.contacts[rule].soft for rule in pair.rules}
            (one,) = said if len(said) == 1 else (None,)
            numbers.append((one.stiffness, one.dissipation, 0.0) if one else (0.0, 0.0, float(len(said) > 1)))
        of = np.array(numbers).reshape(-1, 3)[self.pair]
        return of[:, 0], of[:, 1], of[:, 2] > 0.0

    def velocity(self, row: np.ndarray, pair: np.ndarray, point: np.ndarray) -> np.ndarray:
        """Return (k, 3) velocities of b against a at points, in some rows [m/s]."""
        a, b = self.bodies(pair)
        return self._of(b, row, point) - self._of(a, row, point)

    def _of(self, body: np.ndarray, row: np.ndarray, point: np.ndarray) -> np.ndarray:
        seen = self.seen
        moves = seen.v[row, body] + jn.cross(seen.w[row, body], point - seen.p[row, body])
        return np.where(body[:, None] >= 0, moves, 0.0)

    @cached_property
    def slip(self) -> np.ndarray:
        """Velocities of b against a (k, 3) [m/s]."""
        return self.velocity(self.row, self.pair, self.point)

    @cached_property
    def speeds(self) -> np.ndarray:
        """Sum of the speeds of a and of b at each point (k,) [m/s]."""
        sides = (self._of(body, self.row, self.point) for body in (self.a, self.b))
        return np.asarray(sum(np.linalg.norm(v, axis=1) for v in sides))

    @cached_property
    def depth(self) -> np.ndarray:
        """How far each point is from the surface of the one and of the other shape (k, 2), negative inside [m]."""
        seen, out = self.seen, np.zeros((len(self), 2))
        shapes = seen.recording.shapes
        for pair in np.unique(self.pair):
            mine = np.flatnonzero(self.pair == pair)
            for side, number in enumerate(seen.recording.pairs[pair].shapes):
                shape, row, p = shapes[number], self.row[mine], self.point[mine]
                if shape.body >= 0:
                    p = np.einsum("kji,kj->ki", seen.R[row, shape.body], p - seen.p[row, shape.body])
                R = rotation_of(np.array(shape.quat_wxyz))
                out[mine, side] = distance(shape, (p - np.array(shape.position)) @ R)
        return out

    def pushes(self, row: int, moved: np.ndarray | float = 0.0) -> np.ndarray:
        """Return (bodies, 6) force and moment about the centre of mass that the points of a row give to bodies.

        moved : (bodies, 3) m, by which bodies have moved on since they were told
        """
        k = slice(*np.searchsorted(self.row, (row, row + 1)))
        return self.given(row, self.pair[k], self.point[k], self.force[k], moved, self.moment[k])

    def given(
        self, row: int, pair: np.ndarray, point: np.ndarray, force: np.ndarray, moved: np.ndarray | float = 0.0,
        moment: np.ndarray | None = None,
    ) -> np.ndarray:  # fmt: skip
        """Return the same of forces, or impulses, on b at points; moment : (k, 3) N m, beside them."""
        out, com = np.zeros((len(self.seen.mass), 6)), self.seen.com[row] - moved
        for side, sign in zip(self.bodies(pair), (-1.0, 1.0), strict=True):
            there = side >= 0
            body, push = side[there], sign * force[there]
            turns = np.zeros((len(body), 3)) if moment is None else sign * moment[there]
            np.add.at(out, body, np.hstack([push, np.cross(point[there] - com[body], push) + turns]))
        return out
