"""Convex hulls of points, with what a solid of uniform density weighs.

numpy and scipy are imported late: only scenes with meshes wait for them.
"""

from __future__ import annotations

import functools
from typing import Any

from sim.scene.spec import Hull, Vec3

# Of the size: how far apart two faces may be that count as one (files of single precision err by 1e-7), and how thick
# something is at least that has a volume.
PLANAR, THIN = 1e-6, 1e-6
SMALLEST, LARGEST = 1e-9, 1e8  # m, of all of it, as of other shapes
MOST_CORNERS = 1000  # more are for the eye; each of them is looked at wherever the solid is near something


class HullError(ValueError):
    """Points without a hull; the message says why."""


@functools.lru_cache(maxsize=64)
def hull_of(points: tuple[Vec3, ...]) -> tuple[Vec3, Hull]:
    """Return the centre of mass of the convex hull of points, and the hull about it.

    Raises
    ------
    HullError
        If the points have no hull with a volume.
    """
    import numpy as np
    from scipy.spatial import ConvexHull, QhullError

    p = np.array(points, float).reshape(-1, 3)
    if len(p) < 4:
        raise HullError(f"{len(p)} points enclose nothing, at least four do")
    if not np.isfinite(p).all():
        raise HullError("a coordinate is not finite")
    if np.abs(p).max() > LARGEST:
        raise HullError(f"a coordinate of {np.abs(p).max():.3g} m; {LARGEST:g} m are the most")
    away = p - p.mean(axis=0)
    size = float(np.linalg.norm(away, axis=1).max())
    if size < SMALLEST:
        raise HullError(f"all points within {size:.3g} m; {SMALLEST:g} m are the least")
    spread = np.linalg.svd(away, compute_uv=False)
    if spread[2] <= THIN * spread[0]:
        raise HullError("all points lie in a plane, or nearly")
    try:
        found = ConvexHull(away, qhull_options=f"Qt C-{PLANAR * size!r}")
    except QhullError as error:
        raise HullError("the points have no convex hull: " + str(error).split("\n")[0]) from error
    if len(found.vertices) > MOST_CORNERS:
        raise HullError(f"a hull of {len(found.vertices)} corners; {MOST_CORNERS} are the most: take a coarser mesh")
    corners, faces = _polygons(away, found)
    corners = _made_planar(corners, faces, size)
    volume, centre, _ = moments(corners, faces)
    corners = corners - centre
    volume, _, about = moments(corners, faces)
    centre = centre + p.mean(axis=0)
    hull = Hull(corners=_vectors(corners), faces=faces, volume=volume, moments=about)
    return _vectors([centre])[0], hull


def _vectors(rows: Any) -> tuple[Vec3, ...]:
    return tuple((float(x), float(y), float(z)) for x, y, z in rows)


def _polygons(p: Any, found: Any) -> tuple[Any, tuple[tuple[int, ...], ...]]:
    """Return corners and faces of a hull of triangles; those of one face have one equation."""
    import numpy as np

    triangles, normals = found.simplices.copy(), found.equations[:, :3]
    across = np.cross(p[triangles[:, 1]] - p[triangles[:, 0]], p[triangles[:, 2]] - p[triangles[:, 0]])
    turned = np.sum(across * normals, axis=1) < 0.0
    triangles[turned] = triangles[turned][:, ::-1]
    _, one, face = np.unique(found.equations, axis=0, return_index=True, return_inverse=True)
    side = {(int(t[n - 2]), int(t[n])): int(face[k]) for k, t in enumerate(triangles) for n in range(3)}
    edges: dict[tuple[int, int], set[int]] = {}
    for (a, b), f in side.items():
        g = side[b, a]
        if f < g:
            edges.setdefault((f, g), set()).update((a, b))
    ends: dict[int, set[int]] = {}
    for pair, on in edges.items():
        line = sorted(on)  # along one line: its two ends
        first = max(line, key=lambda n: float(np.linalg.norm(p[n] - p[line[0]])))
        last = max(line, key=lambda n: float(np.linalg.norm(p[n] - p[first])))
        for f in pair:
            ends.setdefault(f, set()).update((first, last))
    used = sorted(set().union(*ends.values()))
    number = {n: k for k, n in enumerate(used)}
    return p[used], tuple(_in_turn(p, on, normals[one[f]], number) for f, on in sorted(ends.items()))


def _in_turn(p: Any, corners: set[int], normal: Any, number: dict[int, int]) -> tuple[int, ...]:
    """Return the corners of a face counter-clockwise, seen from outside."""
    import numpy as np

    some = sorted(corners)
    middle = p[some].mean(axis=0)
    x = p[some[0]] - middle
    y = np.cross(normal, x)
    angles = [float(np.arctan2((p[n] - middle) @ y, (p[n] - middle) @ x)) for n in some]
    return tuple(number[n] for _, n in sorted(zip(angles, some, strict=True)))


def plane_of(corners: Any) -> tuple[Any, Any]:
    """Return the unit normal of a face with corners (n, 3), and the mean of these."""
    import numpy as np

    middle = corners.mean(axis=0)
    out = np.cross(corners - middle, np.roll(corners, -1, axis=0) - middle).sum(axis=0)
    return out / np.linalg.norm(out), middle


def _made_planar(corners: Any, faces: tuple[tuple[int, ...], ...], size: float) -> Any:
    """Return corners moved into the planes of their faces, where these were put together of several."""
    import numpy as np

    planes = [plane_of(corners[list(face)]) for face in faces]
    out = corners.copy()
    around: list[list[int]] = [[] for _ in corners]
    for f, face in enumerate(faces):
        for n in face:
            around[n].append(f)
    for n in range(len(corners)):
        own = [planes[f] for f in around[n]]
        normals = np.array([normal for normal, _ in own])
        off = np.array([normal @ (middle - corners[n]) for normal, middle in own])
        if np.abs(off).max() > 1e-14 * size:
            out[n] += np.linalg.lstsq(normals, off, rcond=1e-6)[0]
    return out


def moments(corners: Any, faces: tuple[tuple[int, ...], ...]) -> tuple[float, Any, Any]:
    """Return volume (m^3), centre (3,) m, and moments about the origin (m^2, of 1 kg): xx yy zz xy xz yz."""
    import numpy as np

    triangles = [(face[0], face[k], face[k + 1]) for face in faces for k in range(1, len(face) - 1)]
    a, b, c = np.moveaxis(corners[np.array(triangles)], 1, 0)
    six = np.sum(a * np.cross(b, c), axis=1)  # six times the volume of the tetrahedron with the origin
    volume, total = six.sum() / 6.0, a + b + c
    centre = six @ total / (24.0 * volume)
    second = sum(np.einsum("k,ki,kj->ij", six, v, v) for v in (a, b, c, total)) / (120.0 * volume)
    tensor = np.trace(second) * np.eye(3) - second
    of = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    return float(volume), centre, tuple(float(tensor[i, j]) for i, j in of)
