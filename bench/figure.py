"""A mechanism as the peers are told of it: plain numbers, no table of ours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Link:
    """A body with the joint that carries it, in the frame that moves with that joint.

    parent : 0 is the world, i is the link `links[i - 1]`
    kind : "rotational" (about z), "spherical" or "free"
    q, v : first place of the joint in q and v
    position, rotation : of the joint in the parent's frame, m
    mass : kg; com : m; inertia : (3, 3) kg m^2 about com
    """

    name: str
    parent: int
    kind: str
    q: int
    v: int
    position: np.ndarray
    rotation: np.ndarray
    mass: float
    com: np.ndarray
    inertia: np.ndarray


@dataclass(frozen=True)
class Loop:
    """A point of link a that is held at a point of link b (m, in the links' frames)."""

    name: str
    a: int
    p_a: np.ndarray
    b: int
    p_b: np.ndarray


@dataclass(frozen=True)
class Figure:
    """A tree and its loops.

    q: quaternions are (w, x, y, z); free joints have the position first.  v: angular velocities in the
    child's axes; a free joint's linear velocity comes first, in world axes.
    """

    links: tuple[Link, ...]
    loops: tuple[Loop, ...]
    gravity: np.ndarray  # m/s^2
    nq: int
    nv: int


@dataclass(frozen=True)
class States:
    """States of one figure: q (count, nq) and v (count, nv)."""

    q: np.ndarray
    v: np.ndarray

    def __len__(self) -> int:
        return len(self.q)
