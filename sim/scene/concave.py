"""Meshes that are not convex, put together of convex parts.

The parts are the objects of an OBJ file, where each of these is convex; else the library CoACD cuts a closed mesh.
What it found is kept with the scene as an OBJ file of objects, so that a recording's rerun has the same parts on any
machine.  numpy and CoACD are imported late: only scenes with such meshes wait for them.
"""

from __future__ import annotations

import functools
import importlib
from dataclasses import dataclass
from typing import Any

from sim.scene.colors import UNSET
from sim.scene.hull import HullError, hull_of, moments
from sim.scene.meshes import Triangles, as_obj, enclosed, mesh_of, objects_of
from sim.scene.rotation import IDENTITY
from sim.scene.spec import Hull, Shape, Vec3
from sim.scene.terrain import solid_of

CONVEX = 1e-3  # share of volume that a hull may add to what counts as convex
MOST_PARTS = 1_000  # of one mesh
MOST_TRIANGLES = 20_000  # of a mesh that is cut, and compared with what it was cut into: seconds
SEED = 0  # of CoACD's search
SAMPLES = 2_000  # points at which parts and mesh are compared
TOGETHER = 1e-4  # of the mesh's size: what lies no further outside of a part is within the solid

Points = tuple[Vec3, ...]


class ConcaveError(ValueError):
    """A mesh that cannot be put together of convex parts; the message says why, `hint` what to do."""

    def __init__(self, what: str, hint: str = ""):
        super().__init__(what)
        self.hint = hint


@dataclass(frozen=True)
class Parts:
    """Convex parts of a mesh.

    parts : about the origin of the mesh's axes (m)
    whole : what weighs: the closed mesh, or the parts themselves
    text : an OBJ file of the parts, or empty where these are the file's own objects
    volume : m^3 enclosed by the mesh
    distance : m, largest one found from the surface of the parts to that of the mesh
    """

    parts: tuple[Shape, ...]
    whole: tuple[Shape, ...]
    text: str
    volume: float
    distance: float

    def told(self, name: str) -> str:
        """Return what was made of the mesh, in a sentence."""
        volume = sum(part.hull.volume for part in self.parts if part.hull)
        share = 100.0 * (volume / self.volume - 1.0)
        how = "cut by CoACD" if self.text else "the objects of its file"
        return (
            f"mesh '{name}' is touched as {len(self.parts)} convex parts ({how}); they have {volume:.4g} m^3 together "
            f"({share:+.2f} % of the mesh's {self.volume:.4g} m^3), and lie up to {self.distance:.2g} m off its surface"
        )


def parts_of(points: Points, triangles: Triangles, text: str, scale: float, concavity: float, kept: str) -> Parts:
    """Return the convex parts of a mesh.

    Parameters
    ----------
    points, triangles, text
        As `sim.scene.meshes.mesh_of` returns them.
    scale : float
        Factor of all coordinates.
    concavity : float
        How much of a hollow may be filled, of the mesh's size.
    kept : str
        The text of the parts that were found before, or empty.

    Raises
    ------
    ConcaveError
        If the mesh is not closed, or the library is not there or finds nothing.
    """
    volume = enclosed(points, triangles)
    if volume is None or volume == 0.0:
        raise ConcaveError(
            "the mesh is not closed", "each edge belongs to two triangles of one sense; or take it convex"
        )
    own = _objects(points, triangles, text)
    if own:
        parts = [_scaled(one, scale) for one in own]
        return Parts(tuple(parts), tuple(parts), "", scale**3 * volume, 0.0)
    if len(triangles) > MOST_TRIANGLES:
        what = f"{len(triangles)} triangles; {MOST_TRIANGLES} are the most of a mesh that is cut"
        raise ConcaveError(what, "take a coarser mesh, or an OBJ file of convex objects")
    kept = kept or _as_objects(_cut(points, triangles, concavity))  # read in either case: the same bits
    found, faces, _ = mesh_of(kept.encode())
    clouds = [tuple({found[n]: None for face in faces[part] for n in face}) for part in objects_of(kept)]
    if not 0 < len(clouds) <= MOST_PARTS:
        raise ConcaveError(f"{len(clouds)} convex parts; {MOST_PARTS} are the most", "take a larger concavity")
    parts = [_scaled(one, scale) for one in clouds]
    away = _distance(parts, points, triangles, scale)
    return Parts(tuple(parts), (_closed(points, triangles, scale),), kept, scale**3 * volume, away)


def _scaled(points: Points, scale: float) -> Shape:
    try:
        return solid_of(tuple((scale * x, scale * y, scale * z) for x, y, z in points))
    except HullError as error:
        raise ConcaveError(f"one of its parts is no solid: {error}") from error


def _objects(points: Points, triangles: Triangles, text: str) -> list[Points]:
    """Return the points of each object of an OBJ file, if there are several, and each is closed and convex."""
    groups = [triangles[part] for part in objects_of(text)]
    if len(groups) < 2:
        return []
    found = []
    for group in groups:
        volume = enclosed(points, group)
        cloud = tuple({points[n]: None for triangle in group for n in triangle})
        if not volume or hull_of(cloud)[1].volume > (1.0 + CONVEX) * volume:
            return []
        found.append(cloud)
    return found


def _closed(points: Points, triangles: Triangles, scale: float) -> Shape:
    """Return a closed mesh as what it weighs; it is neither drawn nor touched."""
    import numpy as np

    p = scale * np.array(points, float)
    middle = p.mean(axis=0)
    faces = tuple(triangles)
    volume, centre, _ = moments(p - middle, faces)
    _, _, about = moments(p - middle - centre, faces)
    x, y, z = (float(k) for k in centre + middle)
    hull = Hull(corners=(), faces=(), volume=abs(volume), moments=about)
    return Shape(
        kind="mesh", position=(x, y, z), orientation=IDENTITY, size=(0.0, 0.0, 0.0), color=UNSET, hull=hull
    )  # fmt: skip


@functools.lru_cache(maxsize=8)
def _cut(points: Points, triangles: Triangles, concavity: float) -> tuple[Points, ...]:
    """Return the corners of the parts into which CoACD cuts a mesh."""
    import numpy as np

    try:
        coacd: Any = importlib.import_module("coacd")
    except ImportError:
        hint = "pip install 'brachiate[concave]'; or give an OBJ file of several objects, each of them convex"
        raise ConcaveError("CoACD, which cuts meshes into convex parts, is not installed", hint) from None
    coacd.set_log_level("error")
    p, faces = np.array(points, float), np.array(triangles, np.int32)
    if moments(p - p.mean(axis=0), triangles)[0] < 0.0:  # it wants them counter-clockwise from outside
        faces = faces[:, ::-1]
    mesh = coacd.Mesh(p, faces)
    found = coacd.run_coacd(mesh, threshold=concavity, seed=SEED)
    return tuple(tuple((float(x), float(y), float(z)) for x, y, z in corners) for corners, _ in found)


def _as_objects(clouds: tuple[Points, ...]) -> str:
    """Return an OBJ file of the hulls of points, each an object."""
    lines, first = [], 0
    for k, cloud in enumerate(clouds, start=1):
        try:
            shape = solid_of(cloud)
        except HullError as error:
            raise ConcaveError(f"one of its parts is no solid: {error}") from error
        assert shape.hull is not None
        x, y, z = shape.position
        corners = tuple((x + a, y + b, z + c) for a, b, c in shape.hull.corners)
        fans = [(f[0], f[n], f[n + 1]) for f in shape.hull.faces for n in range(1, len(f) - 1)]
        faces = tuple((a + first, b + first, c + first) for a, b, c in fans)
        lines.append(f"o part_{k}\n{as_obj(corners, faces)}")
        first += len(corners)
    return "".join(lines)


def _distance(parts: list[Shape], points: Points, triangles: Triangles, scale: float) -> float:
    """Return how far the surface of the parts lies off that of the mesh at most (m), of points on their faces."""
    import numpy as np

    p = scale * np.array(points, float)
    mesh = p[np.array(triangles)]
    planes, tried = [], []
    for part in parts:
        assert part.hull is not None
        corners = np.array(part.hull.corners) + np.array(part.position)
        fans = np.array([(f[0], f[n], f[n + 1]) for f in part.hull.faces for n in range(1, len(f) - 1)])
        a, b, c = np.moveaxis(corners[fans], 1, 0)
        normal = np.cross(b - a, c - a)
        normal /= np.linalg.norm(normal, axis=1)[:, None]
        planes.append((normal, np.sum(normal * a, axis=1)))
        tried.append((a, b, c))
    share = max(1, SAMPLES // sum(len(a) for a, _, _ in tried))
    weights = np.random.default_rng(SEED).dirichlet((1.0, 1.0, 1.0), share)
    weights[0] = 1.0 / 3.0
    farthest = 0.0
    slack = TOGETHER * float(np.ptp(p, axis=0).max())
    for k, (a, b, c) in enumerate(tried):
        on = np.concatenate([w[0] * a + w[1] * b + w[2] * c for w in weights])
        for other, (normal, level) in enumerate(planes):  # what lies in another part is no surface
            if other != k:
                on = on[(on @ normal.T - level > slack).any(axis=1)]
        for some in np.array_split(on, max(1, len(on) * len(mesh) // 200_000)):
            if len(some):
                farthest = max(farthest, float(_from_triangles(some, mesh).max()))
    return farthest


def _from_triangles(at: Any, mesh: Any) -> Any:
    """Return the distance of each point (n, 3) from the nearest of the triangles (k, 3, 3)."""
    import numpy as np

    a, b, c = np.moveaxis(mesh, 1, 0)
    normal = np.cross(b - a, c - a)
    size = np.maximum(np.linalg.norm(normal, axis=1), 1e-300)
    normal = normal / size[:, None]
    height = np.einsum("nki,ki->nk", at[:, None] - a, normal)
    inside = np.ones(height.shape, bool)
    best = np.full(height.shape, np.inf)
    for p, q in ((a, b), (b, c), (c, a)):
        along = q - p
        away = at[:, None] - p
        part = np.clip(
            np.einsum("nki,ki->nk", away, along) / np.maximum(np.sum(along * along, axis=1), 1e-300), 0.0, 1.0
        )
        best = np.minimum(best, np.linalg.norm(away - part[:, :, None] * along, axis=2))
        inside &= np.einsum("nki,ki->nk", away, np.cross(normal, along)) >= 0.0
    return np.where(inside, np.abs(height), best).min(axis=1)
