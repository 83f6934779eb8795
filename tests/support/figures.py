"""Benchmark mechanisms for the oracle, drawn in the planes that their sources use."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tests.support import reference as ref

Z = np.array([0.0, 0, 1])


def rod(
    start: npt.ArrayLike, end: npt.ArrayLike, mass: float, thickness: float = 0.0,
    v_start: npt.ArrayLike = (0, 0, 0), w: npt.ArrayLike = (0, 0, 0),
) -> ref.Body:  # fmt: skip
    """Return a uniform rod of square section; `v_start` (m/s) is the velocity of its start, `w` in rad/s."""
    p, q = np.asarray(start, float), np.asarray(end, float)
    along = (q - p) / np.linalg.norm(q - p)
    across = mass * (np.linalg.norm(q - p) ** 2 + thickness**2) / 12
    inertia = across * np.eye(3) + (mass * thickness**2 / 6 - across) * np.outer(along, along)
    w = np.asarray(w, float)
    v = np.asarray(v_start, float) + np.cross(w, (q - p) / 2)
    return ref.Body(mass=mass, com_W=(p + q) / 2, inertia_W=inertia, v_com_W=v, w_W=w)


def point_pendulum() -> tuple[list[ref.Body], list[ref.Link]]:
    """Return A01: a point mass of 1 kg at (1, 0, 0) on a massless link from the origin, gravity along -y."""
    mass = ref.Body(mass=1.0, com_W=np.array([1.0, 0, 0]), inertia_W=np.zeros((3, 3)))
    return [mass], [ref.draw_link("rotational", -1, 0, (0, 0, 0), Z)]


def windows(count: int, angle: float = 0.0, rate: float = 1.0) -> tuple[list[ref.Body], list[ref.Link]]:
    """Return A02, the N-four-bar, its cranks turned clockwise from up by `angle`, at `rate` rad/s clockwise.

    Bodies: the count + 1 cranks, then the couplers; gravity along -y.
    """
    up = np.array([np.sin(angle), np.cos(angle), 0])
    w = np.array([0, 0, -rate])
    feet = [np.array([i, 0.0, 0]) for i in range(count + 1)]
    bodies = [rod(foot, foot + up, 1.0, w=w) for foot in feet]
    bodies += [rod(feet[i] + up, feet[i + 1] + up, 1.0, v_start=np.cross(w, up)) for i in range(count)]
    links = [ref.draw_link("rotational", -1, i, feet[i], Z) for i in range(count + 1)]
    for i in range(count):
        coupler = count + 1 + i
        links.append(ref.draw_link("rotational", i, coupler, feet[i] + up, Z))
        links.append(ref.draw_link("rotational", i + 1, coupler, feet[i + 1] + up, Z))
    return bodies, links


def bricard() -> tuple[list[ref.Body], list[ref.Link]]:
    """Return A04: five rods and six hinges in space, one redundant row, gravity along -y."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1]], float)
    axes = np.eye(3)[[1, 2, 0, 1, 2, 0]]
    bodies = [rod(corners[i], corners[i + 1], 1.0, thickness=0.1) for i in range(5)]
    links = [ref.draw_link("rotational", i - 1, i, corners[i], axes[i]) for i in range(5)]
    links.append(ref.draw_link("rotational", -1, 4, corners[5], axes[5]))
    return bodies, links


def heavy_top() -> tuple[list[ref.Body], list[ref.Link]]:
    """Return the heavy top of Bruels and Cardona on its spherical joint at the origin, gravity along -z."""
    com, w = np.array([0.0, 1, 0]), np.array([0, 150, -4.61538])
    inertia = np.diag([0.234375, 0.46875, 0.234375])
    top = ref.Body(mass=15.0, com_W=com, inertia_W=inertia, v_com_W=np.cross(w, com), w_W=w)
    return [top], [ref.draw_link("spherical", -1, 0, (0, 0, 0))]


def closing_chain() -> tuple[list[ref.Body], list[ref.Link], ref.Link]:
    """Return the chain of three rods whose tip is to be latched, its hinges, and the latch; gravity along -y."""
    corners = np.array([[0, 0, 0], [0, 1, 0], [2, 1, 0], [2, -0.5, 0]])
    turning = [-1.0, 0.5, 2.0]  # rad/s, absolute, about z
    bodies, v = [], np.zeros(3)
    for i, mass in enumerate((1.0, 2.0, 1.5)):
        bodies.append(rod(corners[i], corners[i + 1], mass, v_start=v, w=turning[i] * Z))
        v = v + np.cross(turning[i] * Z, corners[i + 1] - corners[i])
    links = [ref.draw_link("rotational", i - 1, i, corners[i], Z) for i in range(3)]
    return bodies, links, ref.draw_link("rotational", -1, 2, corners[3], Z)
