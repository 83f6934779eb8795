"""The tree of a structure: links in depth-first order, their addresses, and what is fixed to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sim.kernels.shapes import BALL, FACE, HULL, LINE, SHAPE, SHAPE_KIND
from sim.kernels.tables import FREEDOM, LINK, POINT, TORSION, table
from sim.mechanism.frames import Frames
from sim.mechanism.lending import lent
from sim.mechanism.model import Model
from sim.mechanism.paths import Paths


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
    paths: Paths


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
    paths = Paths(links)
    return Tree(model, acting, firm, frames, loops, link_of, links, freedoms, points, shapes, hulls, pointers, paths)


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
    stiffness, damping = joint_springs(model)
    columns.armature += model.step * damping + model.step**2 * stiffness
    return replace(model, columns=columns)


def joint_springs(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Return stiffness and damping of each column, torsion springs included."""
    stiffness, damping = model.columns.stiffness.copy(), model.columns.damping.copy()
    for force in model.forces[model.forces.kind == TORSION]:
        turns = slice(int(force.column), int(force.column) + int(force.turns))
        stiffness[turns] += force.stiffness
        damping[turns] += force.damping
    return stiffness, damping


def _links(model: Model, frames: Frames, carrier: np.ndarray, order: list[int], link_of: np.ndarray) -> Any:
    links, body = table(LINK, len(order)), np.array(order[1:], int)
    joint = carrier[body]
    types, above = [model.type_of(j) for j in joint.tolist()], link_of[model.joints.parent[joint]]
    links.parent[1:], links.body[1:], links.joint[1:] = above, body, joint
    links.column[1:], links.nv[1:] = model.joints.column[joint], [one.freedoms for one in types]
    links.q[2:], links.v[2:] = np.cumsum([one.coordinates for one in types])[:-1], np.cumsum(links.nv[1:])[:-1]
    links.bends[1:], links.rides[1:] = [one.bends for one in types], [one.rides for one in types]
    links.quaternion[0] = -1
    links.quaternion[1:] = [v + one.ball if one.ball >= 0 else -1 for v, one in zip(links.v[1:], types, strict=True)]
    R_MC, p_CM = frames.R_CM[joint].transpose(0, 2, 1), frames.p_CM[joint]
    links.R_KB[0] = links.R_PF[0] = np.eye(3).ravel()
    links.R_KB[1:], links.p_KB[1:] = R_MC.reshape(-1, 9), -_turn(R_MC, p_CM)
    R_up = links.R_KB[above].reshape(-1, 3, 3)
    links.R_PF[1:] = (R_up @ frames.R_PF[joint]).reshape(-1, 9)
    links.p_PF[1:] = links.p_KB[above] + _turn(R_up, frames.p_PF[joint])
    links.mass[1:], links.com_K[1:] = model.bodies.mass[body], _turn(R_MC, model.bodies.com_B[body] - p_CM)
    links.inertia_K[1:] = _turned_inertia(R_MC, model.bodies.inertia_B[body])
    links.ball[0] = -1
    links.leaf = ~np.isin(np.arange(len(order)), above)
    links.leads[[np.flatnonzero(links.parent == up)[-1] for up in np.unique(above)]] = 1
    return links


def _turn(R: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return R p of (n, 3, 3) and (n, 3)."""
    turned: np.ndarray = (R @ p[:, :, None])[:, :, 0]
    return turned


def _turned_inertia(R: np.ndarray, inertia: np.ndarray) -> np.ndarray:
    """Return xx, yy, zz, xy, xz, yz of R J R' (n, 6)."""
    J = R @ inertia[:, [[0, 3, 4], [3, 1, 5], [4, 5, 2]]] @ R.transpose(0, 2, 1)
    rows, columns = [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]
    out: np.ndarray = J[:, rows, columns]
    return out


def _freedoms(model: Model, links: Any) -> Any:
    """Owner, kind and armature of every freedom; marks the balls among the links."""
    linear: list[int] = []
    along: list[int] = []
    armature, owner, pitch = [], [], []
    for link, joint in enumerate(links.joint[1:].tolist(), start=1):
        kind, column = model.type_of(joint), int(links.column[link])
        floats = kind.freedoms == 6 and kind.ball >= 0
        linear += kind.linear
        along += kind.along
        for i in range(kind.freedoms):
            armature.append(float(model.columns.armature[column + i]))
            owner.append(link)
            pitch.append(model.pitch_of(joint) if i in kind.angles[:1] else 0.0)
        last = armature[-3:] if kind.ball >= 0 else [1.0]
        # Time steps give joints that controllers may act on inertia while they run.
        firm = model.step and (model.programs.laws or model.programs.applied) and not floats
        links.ball[link] = -1 if any(last) or firm else len(armature) - 3
    freedoms = table(FREEDOM, len(linear))
    freedoms.linear[:], freedoms.armature[:], freedoms.owner[:] = linear, armature, owner
    freedoms.along[:], freedoms.pitch[:] = along, pitch
    return freedoms


def _lend(model: Model, links: Any, freedoms: Any) -> None:
    """Lend inertia to freedoms that nothing resists; a ball has none beside its body's."""
    freedoms.lent[:] = lent(links, freedoms, count_coordinates(links), model.length)
    freedoms.armature += freedoms.lent
    links.ball[np.unique(freedoms.owner[freedoms.lent > 0.0])] = -1


def count_coordinates(links: Any) -> int:
    """Return the number of coordinates of all links: one for each freedom, and another for each ball."""
    return int(links.nv.sum()) + int(np.sum(links.quaternion >= 0))


def _points(model: Model, link_of: np.ndarray, links: Any) -> Any:
    """Lay out the named points in the axes of their links."""
    out, link = table(POINT, len(model.points)), link_of[model.points.body]
    out.body[:] = link
    out.p_B[:] = links.p_KB[link] + _turn(links.R_KB[link].reshape(-1, 3, 3), model.points.p_B)
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
