"""Solids at poses, asked two ways: the kernels under test, and slow formulas of numpy that share nothing with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from sim.kernels.collision import features, narrow
from sim.kernels.scratch import LINK_WORK, TOUCH_WORK
from sim.kernels.shapes import (
    BALL,
    BOX,
    CAPSULE,
    CYLINDER,
    ELLIPSOID,
    FACE,
    HULL,
    LINE,
    MESH,
    PLANE,
    SHAPE,
    SPHERE,
    TOUCH,
)
from sim.kernels.tables import table
from sim.mechanism.solids import features_of
from sim.scene.hull import hull_of

NAMES = {PLANE: "plane", SPHERE: "sphere", CAPSULE: "capsule", BOX: "box", CYLINDER: "cylinder", ELLIPSOID: "ellipsoid"}
PAIRS = [(a, b) for a in NAMES for b in NAMES if (a, b) != (PLANE, PLANE)]
EYE = np.eye(3)


@dataclass
class Solid:
    kind: int
    size: np.ndarray  # (3,) m
    x: np.ndarray  # (3,) m, centre
    R: np.ndarray  # (3, 3), axes
    corners: np.ndarray | None = None  # (n, 3) m, of a mesh, from its centre

    def moved(self, x: np.ndarray, R: np.ndarray) -> Solid:
        return Solid(self.kind, self.size, x + R @ self.x, R @ self.R, self.corners)

    def support(self, n: np.ndarray) -> np.ndarray:
        """The largest n . y of the solid's points, for directions (..., 3)."""
        v, (a, _, c) = n @ self.R, self.size
        if self.kind == SPHERE:
            width = a * np.linalg.norm(v, axis=-1)
        elif self.kind == CAPSULE:
            ends = np.array([[0, 0, c / 2], [0, 0, -c / 2]])
            width = (v @ ends.T).max(axis=-1) + a * np.linalg.norm(v, axis=-1)
        elif self.kind == BOX:
            corners = np.array(np.meshgrid(*[(-h, h) for h in self.size / 2])).reshape(3, -1)
            width = (v @ corners).max(axis=-1)
        elif self.kind == CYLINDER:
            width = c / 2 * np.abs(v[..., 2]) + a * np.hypot(v[..., 0], v[..., 1])
        elif self.kind == ELLIPSOID:
            width = np.linalg.norm(v * self.size, axis=-1)
        elif self.kind == MESH:
            width = (v @ self.corners.T).max(axis=-1)
        else:
            width = np.where(v[..., 2] > 1 - 1e-14, 0.0, np.inf)
        return n @ self.x + width

    def outside(self, y: np.ndarray) -> float:
        """How far a point is from the surface, positive outside; only its sign and its zero are exact."""
        v, (a, _, c) = self.R.T @ (y - self.x), self.size
        if self.kind == SPHERE:
            return float(np.linalg.norm(v) - a)
        if self.kind == CAPSULE:
            return float(np.linalg.norm(v - [0, 0, np.clip(v[2], -c / 2, c / 2)]) - a)
        if self.kind == BOX:
            return float((np.abs(v) - self.size / 2).max())
        if self.kind == CYLINDER:
            return float(max(np.hypot(v[0], v[1]) - a, abs(v[2]) - c / 2))
        if self.kind == ELLIPSOID:
            k = np.linalg.norm(v / self.size)
            return float((k - 1) * k / np.linalg.norm(v / self.size**2))
        return float(v[2])


@dataclass
class Meeting:
    """What the kernels tell of two solids: rows of points, the distance and the normal."""

    touches: Any
    points: Any
    count: int
    distance: float
    normal: np.ndarray
    a: Solid
    b: Solid
    x: np.ndarray  # (3, 3) m, poses of the world and the two links
    R: np.ndarray  # (3, 9)

    @property
    def gap(self) -> np.ndarray:
        return self.points.gap[: self.count].copy()

    @property
    def p(self) -> np.ndarray:
        return self.points.p[: self.count].copy()

    @property
    def n(self) -> np.ndarray:
        return self.points.n[: self.count].copy()


def shape_table(solids: list[Solid], rng: np.random.Generator | None) -> tuple[Any, np.ndarray, np.ndarray]:
    """One link for each solid, after the world; solids lie in their links at random unless there is no rng."""
    shapes = table(SHAPE, len(solids))
    x, R = np.zeros((len(solids) + 1, 3)), np.zeros((len(solids) + 1, 9))
    R[0] = EYE.ravel()
    for n, solid in enumerate(solids):
        turn = EYE if rng is None else Rotation.random(rng=rng).as_matrix()
        shift = np.zeros(3) if rng is None else rng.normal(size=3)
        shapes.link[n], shapes.kind[n], shapes.dimensions[n] = n + 1, solid.kind, solid.size
        shapes.p_KS[n], shapes.R_KS[n] = shift, turn.ravel()
        R_WK = solid.R @ turn.T
        x[n + 1], R[n + 1] = solid.x - R_WK @ shift, R_WK.ravel()
    return shapes, x, R


def hull_table(solids: list[Solid], shapes: Any) -> Any:
    """The features of all meshes."""
    found = []
    for n, solid in enumerate(solids):
        if solid.kind == MESH:
            centre, hull = hull_of(tuple(map(tuple, solid.corners.tolist())))
            assert np.abs(centre).max() < 1e-12  # corners are from the centre
            rows = features_of(hull)
            shapes.first[n] = sum(map(len, found))
            shapes.corners[n], shapes.edges[n], shapes.faces[n] = ((rows.kind == k).sum() for k in (BALL, LINE, FACE))
            rows.a += shapes.first[n]
            rows.b += shapes.first[n]
            found.append(rows)
    out = table(HULL, sum(map(len, found)))
    if found:
        out[:] = np.concatenate(found)
    return out


def links_at(x: np.ndarray, R: np.ndarray, V: np.ndarray | float = 0.0) -> Any:
    """Poses and motions in the table that runs have: the kernels are those of runs, and compiled already."""
    links = table(LINK_WORK, len(x))
    links.x, links.R, links.V = x, R, V
    return links


def kept(rows: Any) -> Any:
    """A table as runs keep it: nobody writes into it."""
    rows = rows.view()
    rows.flags.writeable = False
    return rows


def meet(a: Solid, b: Solid, margin: float, rng: np.random.Generator | None = None) -> Meeting:
    shapes, x, R = shape_table([a, b], rng)
    hulls = hull_table([a, b], shapes)
    touches, points = table(TOUCH, narrow.ROOM), table(TOUCH_WORK, narrow.ROOM)
    for name in points.dtype.names:
        points[name] = np.nan
    links = links_at(x, R)
    count, distance, n = narrow.touching_points(
        kept(shapes), kept(hulls), 0, 1, links.x, links.R, margin, touches, points, np.zeros((2, 12)), np.zeros((13, 3))
    )
    return Meeting(touches, points, count, distance, np.array(n), a, b, x, R)


def evaluate(meeting: Meeting, x: np.ndarray, R: np.ndarray, V: np.ndarray) -> Any:
    """The points' formulas at other poses of the links."""
    points = table(TOUCH_WORK, narrow.ROOM)
    for name in points.dtype.names:
        points[name] = np.nan
    links = links_at(x, R, V)
    assert features.contact_points(meeting.touches, links.x, links.R, links.V, meeting.count, points) == 0
    return points


def width(a: Solid, b: Solid, n: np.ndarray) -> np.ndarray:
    """Width of the gap between the supporting planes across n, from a to b."""
    return -b.support(-n) - a.support(n)


def depth(a: Solid, b: Solid, near: np.ndarray) -> float:
    """Largest width over all directions: dense directions, then a simplex search from the best ones and from `near`."""
    count = 4000
    z = np.linspace(-1, 1, count)
    angle = np.arange(count) * np.pi * (3 - np.sqrt(5))
    directions = np.stack([np.sqrt(1 - z**2) * np.cos(angle), np.sqrt(1 - z**2) * np.sin(angle), z], axis=1)
    corners = [a.R.T, -a.R.T, b.R.T, -b.R.T, near[None]]
    crossed = np.cross(a.R.T[:, None], b.R.T[None]).reshape(-1, 3)
    lengths = np.linalg.norm(crossed, axis=1)
    crossed = crossed[lengths > 1e-9] / lengths[lengths > 1e-9, None]
    directions = np.concatenate([directions, *corners, crossed, -crossed])
    widths = width(a, b, directions)
    best = float(widths.max())

    def lost(n: np.ndarray) -> float:
        return -float(width(a, b, n / np.linalg.norm(n)))

    for start in directions[np.argsort(-widths)[:12]]:
        found = minimize(lost, start, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-13, "maxiter": 600})
        best = max(best, -float(found.fun))
    return best


def random_solid(rng: np.random.Generator, kind: int, aspect: float = 4.0) -> Solid:
    size = np.exp(rng.uniform(-0.5, 0.5, 3) * np.log(aspect))
    if kind in (CAPSULE, CYLINDER):
        size[1] = size[0]
    if kind == SPHERE:
        size[:] = size[0]
    return Solid(kind, size, rng.normal(size=3), Rotation.random(rng=rng).as_matrix())


def random_pair(
    rng: np.random.Generator, kinds: tuple[int, int], gap: float, aspect: float = 4.0
) -> tuple[Solid, Solid]:
    """Two solids at random poses whose planes across a random direction are `gap` apart; they may be further apart."""
    a, b = random_solid(rng, kinds[0], aspect), random_solid(rng, kinds[1], aspect)
    n = rng.normal(size=3)
    n = -b.R[:, 2] if b.kind == PLANE else (a.R[:, 2] if a.kind == PLANE else n / np.linalg.norm(n))
    b.x = b.x + n * (gap - float(width(a, b, n)))
    return a, b
