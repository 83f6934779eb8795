"""Terrain of convex solids: flights of stairs, and ground over a grid of heights.

What is made stands about the origin of its own axes; whoever reads the shape places it.  numpy is imported late: only
scenes with heights wait for it.
"""

from __future__ import annotations

from typing import Any

from sim.scene.colors import UNSET
from sim.scene.hull import hull_of
from sim.scene.rotation import IDENTITY
from sim.scene.spec import Shape, Vec3

MOST_HEIGHTS = 40_000  # numbers of a field: a check takes seconds
MOST_PIECES = 2_000  # solids that a field comes to; each body that touches it is held against each of them
# Of a field's longer edge: how far a height may lie off the plane of its neighbours that counts as in it.
# Smaller: roundoff of a slope in decimals cuts it into cells.  Larger: kinks that a ball would feel get lost.
EVEN = 1e-9
MOST_ON_TOP = 32  # corners of a piece of ground that is not plane: a solid of more costs more where it is touched


def box(middle: Vec3, size: Vec3) -> Shape:
    """Return a box (m)."""
    return Shape(kind="box", position=middle, orientation=IDENTITY, size=size, color=UNSET)


def solid_of(points: tuple[Vec3, ...]) -> Shape:
    """Return the convex hull of points (m).

    Raises
    ------
    HullError
        If they have none with a volume.
    """
    centre, hull = hull_of(points)
    size = tuple(2.0 * max(abs(corner[k]) for corner in hull.corners) for k in range(3))
    return Shape(kind="mesh", position=centre, orientation=IDENTITY, size=size, color=UNSET, hull=hull)  # type: ignore[arg-type]


def stairs(number: int, rise: float, run: float, width: float, landing: float, down: bool) -> list[Shape]:
    """Return the steps of a flight along x: up from its foot at 0, or down from the edge of its landing at 0.

    landing : depth of the uppermost step; all in m
    """
    counts = range(number - 1, 0, -1) if down else range(1, number)  # of risers below each step but the uppermost
    steps = [
        box(((n + 0.5) * run, 0.0, 0.5 * count * rise), (run, width, count * rise)) for n, count in enumerate(counts)
    ]
    middle = -0.5 * landing if down else (number - 1) * run + 0.5 * landing
    top = box((middle, 0.0, 0.5 * number * rise), (landing, width, number * rise))
    return [top, *steps] if down else [*steps, top]


def ramp(length: float, height: float, width: float) -> Shape:
    """Return a wedge that goes up along x (m)."""
    half = 0.5 * width
    return solid_of(tuple((x, y, z) for y in (-half, half) for x, z in ((0.0, 0.0), (length, 0.0), (length, height))))


class Ground:
    """Ground over a grid of heights, as few convex solids that have no part in common.

    The surface over a cell is the upper side of the convex hull of its four corners, so the solid below it is convex.
    Cells are put together to rectangles as long as the solid below these is: where they lie in one plane, however
    many, else up to MOST_ON_TOP corners.  So no edge is left within a plane that a rectangle covers, and one that
    sticks out belongs, where it can, to the solid that lies on both its sides: of such an edge of one solid alone
    bodies that roll over it feel the kink that it has and nothing else.

    heights : (rows, columns) m, the first row that of the largest y
    size : m, edges along x and y
    depth : m, from the lowest height to the bottom
    """

    def __init__(self, heights: Any, size: tuple[float, float], depth: float):
        import numpy as np

        z = np.asarray(heights, float)[::-1]
        self.z, self.bottom = z, float(z.min()) - depth
        self.x = np.linspace(-0.5 * size[0], 0.5 * size[0], z.shape[1])
        self.y = np.linspace(-0.5 * size[1], 0.5 * size[1], z.shape[0])
        even = EVEN * max(size)
        a, b, c, d = z[:-1, :-1], z[:-1, 1:], z[1:, :-1], z[1:, 1:]
        rising = a + d >= b + c  # the ridge of a cell goes from a to d, else from b to c
        # Of a cell's triangles those at its right and left edge, upper and lower one: how far they rise across it.
        right, left = np.where(rising, b - a, d - c), np.where(rising, d - c, b - a)
        upper, lower = np.where(rising, c - a, d - b), np.where(rising, d - b, c - a)
        self.plane = np.abs(a + d - b - c) <= even
        bend_x, bend_y = right[:, :-1] - left[:, 1:], upper[:-1] - lower[1:]  # above zero: the edge sticks out
        self.convex = (bend_x >= -even, bend_y >= -even)
        self.flat = (
            (np.abs(bend_x) <= even) & self.plane[:, :-1] & self.plane[:, 1:],
            (np.abs(bend_y) <= even) & self.plane[:-1] & self.plane[1:],
        )

    def pieces(self) -> list[tuple[int, int, int, int]]:
        """Return the rectangles: first and last row of heights, first and last column."""
        found = {(i, j): (i2, j2, 4) for i, i2, j, j2 in self._planes()}
        before = 0
        while len(found) != before:
            before = len(found)
            for axis in (0, 1):
                found = self._joined(found, axis)
        return [(i, i2, j, j2) for (i, j), (i2, j2, _) in sorted(found.items())]

    def solid(self, piece: tuple[int, int, int, int]) -> Shape:
        """Return the solid below a rectangle."""
        i, i2, j, j2 = piece
        rows, columns = (i, i2), (j, j2)
        if not self._is_plane(piece):
            rows, columns = tuple(range(i, i2 + 1)), tuple(range(j, j2 + 1))  # type: ignore[assignment]
        x, y, z = self.x.tolist(), self.y.tolist(), self.z.tolist()
        top = [(x[n], y[m], z[m][n]) for m in rows for n in columns]
        low, high = min(p[2] for p in top), max(p[2] for p in top)
        if low == high:
            middle = (0.5 * (x[j] + x[j2]), 0.5 * (y[i] + y[i2]), 0.5 * (self.bottom + high))
            return box(middle, (x[j2] - x[j], y[i2] - y[i], high - self.bottom))
        return solid_of((*top, *((x[n], y[m], self.bottom) for m in (i, i2) for n in (j, j2))))

    def _is_plane(self, piece: tuple[int, int, int, int]) -> bool:
        i, i2, j, j2 = piece
        return bool(
            self.plane[i:i2, j:j2].all()
            and self.flat[0][i:i2, j : j2 - 1].all()
            and self.flat[1][i : i2 - 1, j:j2].all()
        )

    def _planes(self) -> list[tuple[int, int, int, int]]:
        """Return rectangles of cells that lie in one plane each, of one cell where it has none with its neighbours."""
        import numpy as np

        rows, columns = self.plane.shape
        taken = np.zeros((rows, columns), bool)
        found = []
        for i in range(rows):
            for j in range(columns):
                if taken[i, j]:
                    continue
                i2, j2 = i + 1, j + 1
                while j2 < columns and self.flat[0][i, j2 - 1] and not taken[i, j2]:
                    j2 += 1
                while (
                    i2 < rows
                    and self.flat[1][i2 - 1, j:j2].all()
                    and self.flat[0][i2, j : j2 - 1].all()
                    and not taken[i2, j:j2].any()
                ):
                    i2 += 1
                taken[i:i2, j:j2] = True
                found.append((i, i2, j, j2))
        return found

    def _joined(self, found: dict[Any, Any], axis: int) -> dict[Any, Any]:
        """Return rectangles with pairs of them put together along x (axis 0) or y, where the solid stays convex."""
        out: dict[Any, Any] = {}
        gone = set()
        for (i, j), (i2, j2, corners) in sorted(found.items()):
            if (i, j) in gone:
                continue
            beside = (i, j2) if axis == 0 else (i2, j)
            other = found.get(beside)
            if other is not None and beside not in gone and (other[0] == i2 if axis == 0 else other[1] == j2):
                seam = self.convex[0][i:i2, j2 - 1] if axis == 0 else self.convex[1][i2 - 1, j:j2]
                if seam.all() and corners + other[2] - 2 <= MOST_ON_TOP:
                    gone.add(beside)
                    out[i, j] = (other[0], other[1], corners + other[2] - 2)
                    continue
            out[i, j] = (i2, j2, corners)
        return out
