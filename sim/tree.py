"""The tree of a structure: links in depth-first order, their addresses, and what is fixed to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sim.lending import lent
from sim.model import (
    BALL,
    FACE,
    FREE,
    FREEDOM,
    HULL,
    LINE,
    LINEAR,
    LINK,
    NQ,
    NV,
    POINT,
    SHAPE,
    SHAPE_KIND,
    SPHERICAL,
    TORSION,
    table,
)

if TYPE_CHECKING:
    from sim.compiler import Model


@dataclass(frozen=True)
class Frames:
    """Joint frames that are bound: F in B of the parent, M in B of the child."""

    p_PF: np.ndarray  # (joints, 3) m
    R_PF: np.ndarray  # (joints, 3, 3)
    p_CM: np.ndarray  # (joints, 3) m
    R_CM: np.ndarray  # (joints, 3, 3)
    offset: np.ndarray  # (joints,) m or rad: of gears, first coordinate - ratio * second

    def copy(self) -> Frames:
        """Return a copy that an event may bind anew."""
        return Frames(self.p_PF.copy(), self.R_PF.copy(), self.p_CM.copy(), self.R_CM.copy(), self.offset.copy())


class Tree(NamedTuple):
    """What structures with the same joints have in common, whatever touches or is held.

    acting : the model with nothing acting on joints that are absent; firm : with what time steps add to inertia
    """

    model: Model
    acting: Model
    firm: Model
    frames: Frames
    loops: tuple[int, ...]
    link_of: np.ndarray
    links: Any
    freedoms: Any
    points: Any
    shapes: Any
    hulls: Any
    pointers: tuple[np.ndarray, ...]


def tree_of(model: Model, frames: Frames, active: Iterable[int], carrier: np.ndarray) -> Tree:
    """Lay out links in depth-first order, addresses, and what is fixed to links."""
    acting = _of_present(model, {int(j) for j in carrier[1:]} | set(active))
    n = len(model.bodies)
    parent_body = np.array([-1] + [int(model.joints.parent[carrier[b]]) for b in range(1, n)])
    below: list[list[int]] = [[] for _ in range(n)]
    for body in range(1, n):
        below[parent_body[body]].append(body)
    order, stack = [], [0]
    while stack:
        body = stack.pop()
        order.append(body)
        stack.extend(reversed(below[body]))
    link_of = np.full(n, -1)
    link_of[order] = np.arange(n)
    loops = tuple(sorted(set(active) - set(carrier[1:].tolist())))
    links, firm = _links(model, frames, carrier, order, link_of), _firm(acting)
    freedoms = _freedoms(firm, links)
    _lend(model, links, freedoms)
    points, shapes = _points(model, link_of, links), _shapes(model, link_of, links)
    hulls, pointers = _hulls(model), _pointers(model, loops, links, link_of)
    return Tree(model, acting, firm, frames, loops, link_of, links, freedoms, points, shapes, hulls, pointers)


def _of_present(model: Model, present: set[int]) -> Model:
    """Return the model with nothing acting on joints that are absent."""
    columns, stops = model.columns.copy(), model.stops.copy()
    absent = ~np.isin(columns.joint, list(present))
    for name in ("stiffness", "damping", "armature"):
        columns[name][absent] = 0.0
    stops.stiffness[~np.isin(stops.joint, list(present))] = 0.0
    forces = model.forces.copy()
    gone = (forces.kind == TORSION) & np.isin(forces.column, np.flatnonzero(absent))
    forces.stiffness[gone] = forces.damping[gone] = 0.0
    return replace(model, columns=columns, stops=stops, forces=forces)


def _firm(model: Model) -> Model:
    """Return the model with what springs and dampers of joints add to inertia in a time step h, h d + h^2 k.

    M (v+ - v) = h (tau - d (v+ - v) - h k v+) but for h^2 k v: forces at the end of a step, which do not blow up.
    """
    if not model.step:
        return model
    columns = model.columns.copy()
    columns.armature += model.step * columns.damping + model.step**2 * columns.stiffness
    return replace(model, columns=columns)


def _links(model: Model, frames: Frames, carrier: np.ndarray, order: list[int], link_of: np.ndarray) -> Any:
    links = table(LINK, len(order))
    links.kind[0], links.parent[0], links.body[0], links.column[0], links.ball[0] = 0, 0, 0, 0, -1
    links.R_PF[0] = links.R_KB[0] = np.eye(3).ravel()
    q = v = 0
    for link, body in enumerate(order[1:], start=1):
        joint = int(carrier[body])
        kind = int(model.joints.kind[joint])
        above = int(link_of[model.joints.parent[joint]])
        R_CM, p_CM = frames.R_CM[joint], frames.p_CM[joint]
        R_up, p_up = links.R_KB[above].reshape(3, 3), links.p_KB[above]
        links.parent[link], links.kind[link], links.body[link] = above, kind, body
        links.q[link], links.v[link], links.nv[link] = q, v, NV[kind]
        links.column[link], links.joint[link] = model.joints.column[joint], joint
        links.p_PF[link] = p_up + R_up @ frames.p_PF[joint]
        links.R_PF[link] = (R_up @ frames.R_PF[joint]).ravel()
        links.R_KB[link] = R_CM.T.ravel()
        links.p_KB[link] = -(R_CM.T @ p_CM)
        links.mass[link] = model.bodies.mass[body]
        links.com_K[link] = R_CM.T @ (model.bodies.com_B[body] - p_CM)
        xx, yy, zz, xy, xz, yz = model.bodies.inertia_B[body]
        J = R_CM.T @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R_CM
        links.inertia_K[link] = J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]
        q, v = q + NQ[kind], v + NV[kind]
    links.leaf = ~np.isin(np.arange(len(order)), links.parent[1:])
    links.leads[[np.flatnonzero(links.parent == above)[-1] for above in np.unique(links.parent[1:])]] = 1
    return links


def _freedoms(model: Model, links: Any) -> Any:
    """Owner, kind and armature of every freedom; marks the balls among the links."""
    linear: list[int] = []
    armature, owner = [], []
    for link in range(1, len(links)):
        kind, column = int(links.kind[link]), int(links.column[link])
        for i in range(NV[kind]):
            linear.append(LINEAR[kind][i])
            armature.append(float(model.columns.armature[column + i]))
            owner.append(link)
        last = armature[-3:] if kind in (SPHERICAL, FREE) else [1.0]
        links.ball[link] = -1 if any(last) else len(armature) - 3
    freedoms = table(FREEDOM, len(linear))
    freedoms.linear[:], freedoms.armature[:], freedoms.owner[:] = linear, armature, owner
    return freedoms


def _lend(model: Model, links: Any, freedoms: Any) -> None:
    """Lend inertia to freedoms that nothing resists; a ball has none beside its body's."""
    freedoms.lent[:] = lent(links, freedoms, sum(NQ[kind] for kind in links.kind.tolist()), model.length)
    freedoms.armature += freedoms.lent
    links.ball[np.unique(freedoms.owner[freedoms.lent > 0.0])] = -1


def _points(model: Model, link_of: np.ndarray, links: Any) -> Any:
    """Lay out the named points in the axes of their links."""
    out = table(POINT, len(model.points))
    for i in range(len(out)):
        link = link_of[model.points.body[i]]
        R_KB, p_KB = links.R_KB[link].reshape(3, 3), links.p_KB[link]
        out.body[i], out.p_B[i] = link, p_KB + R_KB @ model.points.p_B[i]
    return out


def _shapes(model: Model, link_of: np.ndarray, links: Any) -> Any:
    """Lay out the shapes in the axes of their links; none where none may ever touch."""
    solids = model.solids if model.pairs else ()
    out, first = table(SHAPE, len(solids)), 0
    for k, solid in enumerate(solids):
        link = int(link_of[solid.body])
        R_KB = links.R_KB[link].reshape(3, 3)
        out.link[k], out.kind[k], out.dimensions[k] = link, SHAPE_KIND[solid.kind], solid.size
        out.p_KS[k], out.R_KS[k] = links.p_KB[link] + R_KB @ solid.p_B, (R_KB @ solid.R_B).ravel()
        if solid.features is not None:
            kinds, out.first[k] = solid.features.kind, first
            out.corners[k], out.edges[k], out.faces[k] = (np.sum(kinds == kind) for kind in (BALL, LINE, FACE))
            first += len(kinds)
    return out


def _hulls(model: Model) -> Any:
    """Lay out the features of all meshes, one after the other; edges name the rows of their faces."""
    found = [solid.features for solid in model.solids if solid.features is not None] if model.pairs else []
    out, first = table(HULL, sum(len(features) for features in found)), 0
    for features in found:
        rows = slice(first, first + len(features))
        out[rows] = features
        out.a[rows] += first
        out.b[rows] += first
        first += len(features)
    return out


def _pointers(model: Model, loops: tuple[int, ...], links: Any, link_of: np.ndarray) -> tuple[np.ndarray, ...]:
    """The papers' parent, child, brother and real pointers, virtual links last."""
    real_links, total = len(links), len(links) + len(loops)
    parent, child, brother, real = (np.full(total, -1) for _ in range(4))
    parent[1:real_links] = links.parent[1:]
    for n, joint in enumerate(loops):
        parent[real_links + n] = link_of[model.joints.parent[joint]]
        real[real_links + n] = link_of[model.joints.child[joint]]
    last = np.full(total, -1)
    for link in range(1, total):
        above = parent[link]
        if child[above] < 0:
            child[above] = link
        else:
            brother[last[above]] = link
        last[above] = link
    return parent, child, brother, real
