"""Mass properties of solids: exact, of uniform density."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sim.scene.rotation import rotate
from sim.scene.spec import Quat, Shape, Vec3

Inertia = tuple[float, float, float, float, float, float]  # xx yy zz xy xz yz

# Rounding of written moments of inertia: three digits of a flat body may exceed the sum by this.
_TRIANGLE_ERROR = 1e-3


@dataclass(frozen=True)
class MassProperties:
    """Mass, centre and moments of inertia of a rigid body.

    mass : kg
    com : (3,) m, centre of mass
    inertia : (6,) kg m^2 about the centre of mass: xx yy zz xy xz yz
    """

    mass: float
    com: Vec3
    inertia: Inertia


def volume(kind: str, size: Vec3) -> float:
    """Return the volume (m^3) of a solid of the size that `Shape` describes."""
    a, b, c = size
    if kind == "box":
        return a * b * c
    if kind == "cylinder":
        return math.pi * a**2 * c
    ball = 4 / 3 * math.pi * a * b * (a if kind == "capsule" else c)
    return ball + (math.pi * a**2 * c if kind == "capsule" else 0.0)


def principal_moments(kind: str, size: Vec3) -> Vec3:
    """Return the moments of inertia (m^2, of a mass of 1 kg) about the centre, in the shape's axes."""
    a, b, c = size
    if kind == "box":
        return ((b**2 + c**2) / 12, (a**2 + c**2) / 12, (a**2 + b**2) / 12)
    if kind == "cylinder":
        across = a**2 / 4 + c**2 / 12
        return (across, across, a**2 / 2)
    if kind == "capsule":
        # Share of the cylinder between the end centres, and of the two hemispheres beyond them,
        # whose centres of mass lie 3/8 of the radius outwards.
        middle = math.pi * a**2 * c / volume(kind, size)
        ends = 1 - middle
        across = middle * (a**2 / 4 + c**2 / 12) + ends * (0.4 * a**2 + c**2 / 4 + 3 / 8 * a * c)
        return (across, across, middle * a**2 / 2 + ends * 0.4 * a**2)
    return ((b**2 + c**2) / 5, (a**2 + c**2) / 5, (a**2 + b**2) / 5)


def volume_of(shape: Shape) -> float:
    """Return the volume (m^3) of a shape."""
    return shape.hull.volume if shape.hull else volume(shape.kind, shape.size)


def moments_of(shape: Shape, mass: float) -> Inertia:
    """Return the moments of inertia (kg m^2) of a shape of a mass (kg) about its centre, in its file's axes."""
    if shape.hull:
        xx, yy, zz, xy, xz, yz = (mass * moment for moment in shape.hull.moments)
        return turned_tensor((xx, yy, zz, xy, xz, yz), shape.orientation)
    a, b, c = principal_moments(shape.kind, shape.size)
    return turned((mass * a, mass * b, mass * c), shape.orientation)


def turned(moments: Vec3, orientation: Quat) -> Inertia:
    """Return principal moments as xx yy zz xy xz yz in the axes that `orientation` turns into."""
    axes = [rotate(orientation, axis) for axis in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))]

    def entry(i: int, j: int) -> float:
        return sum(moment * axis[i] * axis[j] for moment, axis in zip(moments, axes, strict=True))

    return (entry(0, 0), entry(1, 1), entry(2, 2), entry(0, 1), entry(0, 2), entry(1, 2))


def turned_tensor(inertia: Inertia, orientation: Quat) -> Inertia:
    """Return moments xx yy zz xy xz yz in the axes that `orientation` turns into."""
    xx, yy, zz, xy, xz, yz = inertia
    rows: tuple[Vec3, Vec3, Vec3] = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    half = [rotate(orientation, row) for row in rows]  # its columns are turned next
    columns = [rotate(orientation, (half[0][k], half[1][k], half[2][k])) for k in range(3)]
    return (columns[0][0], columns[1][1], columns[2][2], columns[0][1], columns[0][2], columns[1][2])


def shifted(inertia: Inertia, mass: float, offset: Vec3) -> Inertia:
    """Return moments about a point that lies `offset` from the centre of mass (Huygens and Steiner)."""
    x, y, z = offset
    xx, yy, zz, xy, xz, yz = inertia
    return (
        xx + mass * (y * y + z * z), yy + mass * (x * x + z * z), zz + mass * (x * x + y * y),
        xy - mass * x * y, xz - mass * x * z, yz - mass * y * z,
    )  # fmt: skip


def of_shapes(shapes: Sequence[Shape], mass: float) -> MassProperties:
    """Return the mass properties of shapes that have this mass together.

    The mass is shared out by volume times density; a shape that has none counts as one of density 1.  Shapes that
    overlap count twice where they do.
    """
    weights = [volume_of(shape) * (1.0 if shape.density is None else shape.density) for shape in shapes]
    if not any(weights):  # nothing weighs anything: the middle of the volumes
        weights = [volume_of(shape) for shape in shapes]
    total = sum(weights)
    com = tuple(sum(w * s.position[k] for w, s in zip(weights, shapes, strict=True)) / total for k in range(3))
    inertia = (0.0,) * 6
    for w, shape in zip(weights, shapes, strict=True):
        share = mass * w / total
        own = moments_of(shape, share)
        offset = (shape.position[0] - com[0], shape.position[1] - com[1], shape.position[2] - com[2])
        inertia = tuple(a + b for a, b in zip(inertia, shifted(own, share, offset), strict=True))  # type: ignore[assignment]
    return MassProperties(mass, com, inertia)  # type: ignore[arg-type]


def eigenvalues(inertia: Inertia) -> Vec3:
    """Return the principal moments, smallest first, by Jacobi's rotations."""
    xx, yy, zz, xy, xz, yz = inertia
    a = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    size = max(abs(value) for row in a for value in row)
    for _ in range(30):
        p, q = max(((0, 1), (0, 2), (1, 2)), key=lambda pair: abs(a[pair[0]][pair[1]]))
        if abs(a[p][q]) <= 1e-15 * size:
            break
        angle = 0.5 * math.atan2(2 * a[p][q], a[q][q] - a[p][p])
        c, s = math.cos(angle), math.sin(angle)
        for k in range(3):  # columns, then rows
            a[k][p], a[k][q] = c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]
        for k in range(3):
            a[p][k], a[q][k] = c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]
    low, middle, high = sorted((a[0][0], a[1][1], a[2][2]))
    return (low, middle, high)


def impossible(inertia: Inertia) -> str:
    """Return why no rigid body has these moments of inertia, or nothing."""
    low, middle, high = eigenvalues(inertia)
    shown = f"{low:.4g}, {middle:.4g}, {high:.4g} kg m^2"
    if low < -1e-12 * max(1e-300, high):
        return f"principal moments of inertia {shown}: one is negative"
    if high > (low + middle) * (1 + _TRIANGLE_ERROR):
        return f"principal moments of inertia {shown}: the largest exceeds the sum of the others ({low + middle:.4g})"
    return ""
