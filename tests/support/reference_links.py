"""Bodies and links of the naive reference: frames, residuals, rows, coordinates and rates.

All vectors are in world axes, SI units; the six speeds of a body are (velocity of its centre of
mass, angular velocity).  e1 e2 e3 are the axes of a link's frame; the frame on body a and the
frame on body b coincide in the drawing.  e1 is the link's axis (planar: the normal; universal:
the first axis).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a x b of two vectors (numpy's own takes ten times as long for one pair)."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


@dataclass(frozen=True, kw_only=True)
class Body:
    """A rigid body at one instant, world axes.

    mass: kg; com_W: (3,) m; inertia_W: (3, 3) kg m^2 about the centre of mass; v_com_W: (3,) m/s;
    w_W: (3,) rad/s; R_WB: (3, 3) body axes to world axes.
    """

    mass: float
    com_W: np.ndarray
    inertia_W: np.ndarray
    v_com_W: np.ndarray = field(default_factory=lambda: np.zeros(3))
    w_W: np.ndarray = field(default_factory=lambda: np.zeros(3))
    R_WB: np.ndarray = field(default_factory=lambda: np.eye(3))


WORLD = Body(mass=0.0, com_W=np.zeros(3), inertia_W=np.zeros((3, 3)))


@dataclass(frozen=True, kw_only=True)
class Drive:
    """What acts along the freedoms of a link, one number for each freedom.

    The generalised force is torque - stiffness (coordinate - rest) - damping rate; armature is
    inertia of the rate.
    """

    stiffness: np.ndarray
    rest: np.ndarray
    damping: np.ndarray
    armature: np.ndarray
    torque: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Link:
    """A joint between body a and body b (-1: the world) at one instant.

    p_a, p_b: (3,) m, its point as carried by a and by b.  axes_a, axes_b: (3, 3), columns e1 e2 e3
    of its frame as carried by a and by b; a universal link's axes_b starts with its second axis.
    """

    kind: str
    a: int
    b: int
    p_a: np.ndarray
    p_b: np.ndarray
    axes_a: np.ndarray
    axes_b: np.ndarray
    drive: Drive | None = None
    pitch: float = 0.0  # m/rad: of a helical link, how far it slides along e1 as it turns about it


@dataclass(frozen=True, kw_only=True)
class Row:
    """A linear function of speeds, `row_a . V_a + row_b . V_b`, and its rate.

    row_a, row_b: (6,).  drift: what its time derivative holds beside the accelerations.
    """

    row_a: np.ndarray
    row_b: np.ndarray
    drift: float


FREEDOMS = {
    "fixed": 0, "rotational": 1, "translational": 1, "cylindrical": 2,
    "universal": 2, "planar": 3, "spherical": 3, "free": 6, "helical": 1,
}  # fmt: skip


def drive(kind: str, **values: npt.ArrayLike) -> Drive:
    """Return a Drive for a link of this kind; what is not named is zero."""
    zero = np.zeros(FREEDOMS[kind])
    names = ("stiffness", "rest", "damping", "armature", "torque")
    return Drive(**{name: zero + np.asarray(values.get(name, 0.0), float) for name in names})


def frame_from_axis(axis: npt.ArrayLike | None, second_axis: npt.ArrayLike | None = None) -> np.ndarray:
    """Return (3, 3) right-handed axes as columns, the first along `axis`, the second near `second_axis`."""
    if axis is None:
        return np.eye(3)
    e1 = np.asarray(axis, float) / np.linalg.norm(axis)
    seed = np.eye(3)[np.argmin(abs(e1))] if second_axis is None else np.asarray(second_axis, float)
    e2 = seed - (seed @ e1) * e1
    e2 /= np.linalg.norm(e2)
    return np.column_stack([e1, e2, cross(e1, e2)])


def draw_link(
    kind: str, a: int, b: int, point_W: npt.ArrayLike,
    axis_W: npt.ArrayLike | None = None, second_axis_W: npt.ArrayLike | None = None, drive: Drive | None = None,
    pitch: float = 0.0,
) -> Link:  # fmt: skip
    """Return a link at zero coordinates, its two frames coinciding.

    Spherical and free links have world axes as their frame, so bodies are drawn with R_WB = 1.
    A universal link needs perpendicular axes.
    """
    if kind not in FREEDOMS:
        raise ValueError(f"unknown kind of link {kind!r}")
    if kind in ("spherical", "free", "fixed"):
        axis_W = second_axis_W = None
    axes_a = axes_b = frame_from_axis(axis_W, second_axis_W)
    if kind == "universal":
        u, w = np.asarray(axis_W, float), np.asarray(second_axis_W, float)
        if abs(u @ w) > 1e-9 * np.linalg.norm(u) * np.linalg.norm(w):
            raise ValueError("the axes of a universal link must be perpendicular")
        axes_b = frame_from_axis(w, u)
    p = np.asarray(point_W, float)
    return Link(kind=kind, a=a, b=b, p_a=p, p_b=p, axes_a=axes_a, axes_b=axes_b, drive=drive, pitch=pitch)


def carry(link: Link, then: Sequence[Body], now: Sequence[Body]) -> Link:
    """Return the link of the bodies `then` with its frames moved along to the bodies `now`."""

    def move(index: int, p: np.ndarray, axes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if index < 0:
            return p, axes
        old, new = then[index], now[index]
        turn = new.R_WB @ old.R_WB.T
        return new.com_W + turn @ (p - old.com_W), turn @ axes

    p_a, axes_a = move(link.a, link.p_a, link.axes_a)
    p_b, axes_b = move(link.b, link.p_b, link.axes_b)
    return replace(link, p_a=p_a, p_b=p_b, axes_a=axes_a, axes_b=axes_b)


def body_of(bodies: Sequence[Body], index: int) -> Body:
    return WORLD if index < 0 else bodies[index]


def slide(link: Link, bodies: Sequence[Body], f: np.ndarray) -> Row:
    """Return the row of f . (p_b - p_a), f a direction fixed in body a."""
    A, B = body_of(bodies, link.a), body_of(bodies, link.b)
    d, r_a, r_b = link.p_b - link.p_a, link.p_a - A.com_W, link.p_b - B.com_W
    f_rate = cross(A.w_W, f)
    d_rate = B.v_com_W + cross(B.w_W, r_b) - A.v_com_W - cross(A.w_W, r_a)
    pull = cross(B.w_W, cross(B.w_W, r_b)) - cross(A.w_W, cross(A.w_W, r_a))
    return Row(
        row_a=np.concatenate([-f, -cross(r_a + d, f)]),
        row_b=np.concatenate([f, cross(r_b, f)]),
        drift=f @ pull + 2 * f_rate @ d_rate + cross(A.w_W, f_rate) @ d,
    )


def turn(link: Link, bodies: Sequence[Body], f: np.ndarray, g: np.ndarray) -> Row:
    """Return the row of f . g, f a direction fixed in body a, g one fixed in body b."""
    A, B = body_of(bodies, link.a), body_of(bodies, link.b)
    n = cross(g, f)
    n_rate = cross(cross(B.w_W, g), f) + cross(g, cross(A.w_W, f))
    return Row(
        row_a=np.concatenate([np.zeros(3), -n]),
        row_b=np.concatenate([np.zeros(3), n]),
        drift=(B.w_W - A.w_W) @ n_rate,
    )


def spin(link: Link, bodies: Sequence[Body], f: np.ndarray, carrier: int) -> Row:
    """Return the row f . (w_b - w_a), f a direction fixed in body `carrier`."""
    A, B = body_of(bodies, link.a), body_of(bodies, link.b)
    f_rate = cross(body_of(bodies, carrier).w_W, f)
    return Row(
        row_a=np.concatenate([np.zeros(3), -f]),
        row_b=np.concatenate([np.zeros(3), f]),
        drift=f_rate @ (B.w_W - A.w_W),
    )


# Directions of a's frame along which b's point may not move, and pairs (of a's frame, of b's
# frame) of directions that stay perpendicular.
LOCKED_SLIDES = {
    "fixed": (0, 1, 2), "rotational": (0, 1, 2), "translational": (1, 2), "cylindrical": (1, 2),
    "universal": (0, 1, 2), "planar": (0,), "spherical": (0, 1, 2), "free": (),
    "helical": (1, 2),
}  # fmt: skip
LOCKED_TURNS = {
    "fixed": ((1, 0), (2, 0), (2, 1)), "rotational": ((1, 0), (2, 0)), "translational": ((1, 0), (2, 0), (2, 1)),
    "cylindrical": ((1, 0), (2, 0)), "universal": ((0, 0),), "planar": ((1, 0), (2, 0)), "spherical": (), "free": (),
    "helical": ((1, 0), (2, 0)),
}  # fmt: skip


def residual(link: Link) -> np.ndarray:
    """Return phi of one link: (6 - freedoms,) m and rad, zero when it is closed."""
    d = link.p_b - link.p_a
    slides = [link.axes_a[:, i] @ d for i in LOCKED_SLIDES[link.kind]]
    turns = [link.axes_a[:, i] @ link.axes_b[:, j] for i, j in LOCKED_TURNS[link.kind]]
    if link.kind == "helical":
        slides.append(link.axes_a[:, 0] @ d - link.pitch * coordinates(link)[0])
    return np.array(slides + turns)


def locked_rows(link: Link, bodies: Sequence[Body]) -> list[Row]:
    """Return the derivatives of `residual`, in its order."""
    slides = [slide(link, bodies, link.axes_a[:, i]) for i in LOCKED_SLIDES[link.kind]]
    turns = [turn(link, bodies, link.axes_a[:, i], link.axes_b[:, j]) for i, j in LOCKED_TURNS[link.kind]]
    if link.kind == "helical":
        along, about = slide(link, bodies, link.axes_a[:, 0]), spin(link, bodies, link.axes_a[:, 0], link.a)
        slides.append(
            Row(
                row_a=along.row_a - link.pitch * about.row_a, row_b=along.row_b - link.pitch * about.row_b,
                drift=along.drift - link.pitch * about.drift,
            )
        )  # fmt: skip
    return slides + turns


def free_rows(link: Link, bodies: Sequence[Body]) -> list[Row]:
    """Return the rates of the link's freedoms, in the order of the conventions.

    Cylindrical: along, about; universal: about the first axis (fixed in a), about the second
    (fixed in b); planar: along e2, along e3, about e1; spherical: angular velocity in b's axes;
    free: velocity of b's point in a's axes, angular velocity in b's axes.
    """
    ea, eb = link.axes_a.T, link.axes_b.T
    along = {"translational": (0,), "cylindrical": (0,), "planar": (1, 2), "free": (0, 1, 2)}
    rows = [slide(link, bodies, ea[i]) for i in along.get(link.kind, ())]
    if link.kind in ("rotational", "cylindrical", "planar", "universal", "helical"):
        rows.append(spin(link, bodies, ea[0], link.a))
    if link.kind == "universal":
        rows.append(spin(link, bodies, eb[0], link.b))
    if link.kind in ("spherical", "free"):
        rows += [spin(link, bodies, e, link.b) for e in eb]
    return rows


def rotation_vector(R: np.ndarray) -> np.ndarray:
    """Return the rotation vector (rad, length at most pi) of a rotation matrix."""
    axial = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2
    sine, cosine = np.linalg.norm(axial), (np.trace(R) - 1) / 2
    if sine < 1e-12:
        return axial
    return axial * (np.arctan2(sine, cosine) / sine)


def coordinates(link: Link) -> np.ndarray:
    """Return the link's coordinates (freedoms,): m and rad, angles within half a turn."""
    (a1, a2, a3), (b1, b2, _), d = link.axes_a.T, link.axes_b.T, link.p_b - link.p_a
    if link.kind == "universal":
        return np.array([np.arctan2(b1 @ a3, b1 @ a2), np.arctan2(cross(b1, a1) @ b2, a1 @ b2)])
    if link.kind in ("spherical", "free"):
        angles = rotation_vector(link.axes_a.T @ link.axes_b)
        return angles if link.kind == "spherical" else np.concatenate([link.axes_a.T @ d, angles])
    angle = np.arctan2(b2 @ a3, b2 @ a2)
    table = {
        "fixed": [], "rotational": [angle], "translational": [a1 @ d], "cylindrical": [a1 @ d, angle],
        "planar": [a2 @ d, a3 @ d, angle], "helical": [angle],
    }  # fmt: skip
    return np.array(table[link.kind])


def dense(rows: Sequence[Row], link: Link, count: int) -> np.ndarray:
    """Return the rows of one link as a matrix (rows, 6 * count)."""
    J = np.zeros((len(rows), 6 * count))
    for matrix_row, row in zip(J, rows, strict=True):
        if link.a >= 0:
            matrix_row[6 * link.a : 6 * link.a + 6] += row.row_a
        if link.b >= 0:
            matrix_row[6 * link.b : 6 * link.b + 6] += row.row_b
    return J


def speeds(bodies: Sequence[Body]) -> np.ndarray:
    """Return (6 n,) velocity of the centre of mass and angular velocity, body by body."""
    return np.concatenate([np.concatenate([b.v_com_W, b.w_W]) for b in bodies])


def rates(link: Link, bodies: Sequence[Body]) -> np.ndarray:
    """Return the rates of the link's freedoms (freedoms,) m/s and rad/s."""
    return dense(free_rows(link, bodies), link, len(bodies)) @ speeds(bodies)
