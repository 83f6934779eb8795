"""Freedoms that nothing resists: what a scene is refused for, at its start and where an event makes them."""

from __future__ import annotations

import numpy as np

from sim.assembly.loop_closure import RANK, null
from sim.mechanism.dense import terms_of
from sim.mechanism.lending import needs_help, still
from sim.mechanism.mechanism import Mechanism
from sim.scene.problem import Problem


def massless(mechanism: Mechanism, q: np.ndarray) -> list[Problem]:
    """Return problems for freedoms that neither inertia nor rows determine, with the body and the direction.

    A body that has mass may turn in a way that moves none of it: how it is turned is then of no consequence, and
    it goes on turning as it does.
    """
    structure, model = mechanism.structure, mechanism.model
    tables = structure.tables
    if not structure.sizes.v or not needs_help(tables.links):
        return []
    mechanism.update(q, np.zeros(structure.sizes.v))
    M, work = mechanism.inertia(), mechanism.work
    terms = terms_of(tables.links, tables.freedoms, work.links, work.freedoms)
    bare = still(M, terms)
    if bare.shape[1]:
        return [_infinite(mechanism, bare[:, 0])]
    z = still(M - np.diag(tables.freedoms.lent), terms)
    if not z.shape[1]:
        return []
    hard = mechanism.hard()
    turned = z @ null(mechanism.jacobian()[hard] @ z) if hard.any() else z
    whole = _wholes(mechanism)
    moved = next((u for u in turned.T if _moves_nothing(mechanism, u, whole)), None) if np.any(whole == 0.0) else None
    if moved is not None:
        return [_infinite(mechanism, moved)]
    said = model.scene.simulate
    held = turned.shape[1] < z.shape[1]
    if said.method == "variational" and not model.one_sided:
        return [_not_by(mechanism, z[:, 0], "variational steps (`method: variational`)")]
    if held and model.one_sided:
        return [_not_by(mechanism, z[:, 0], "contacts, rigid stops and friction of joints")]
    return []


def _wholes(mechanism: Mechanism) -> np.ndarray:
    """Return (links,) the mass of what each link is fixed to, itself included; infinite of the world."""
    links = mechanism.structure.tables.links
    mass, whole = links.mass.copy(), np.arange(len(links))
    for b in range(len(links)):
        above = int(links.parent[b])
        if links.nv[b] == 0 and above > 0:
            whole[b] = whole[above]
            mass[whole[b]] += links.mass[b]
    mass[0] = np.inf
    return np.asarray(mass[whole])


def _moves_nothing(mechanism: Mechanism, u: np.ndarray, whole: np.ndarray) -> bool:
    """Tell whether rates move bodies that have no mass at all; fixed to one another, they are one body."""
    twist = np.abs(mechanism.twists(u)).max(axis=1)
    return bool(np.any((whole == 0.0) & (twist > RANK * twist.max())))


def _freedom(mechanism: Mechanism, u: np.ndarray) -> tuple[int, str]:
    """Return the freedom that rates are of most, of a body without mass if there is one, and the body's name."""
    tables = mechanism.structure.tables
    owner = np.asarray(tables.freedoms.owner)
    size = np.abs(u) / np.abs(u).max()
    weightless = tables.links.mass[owner] == 0.0
    k = int(np.argmax(size + (weightless & (size > 1e-3))))
    return k, mechanism.model.body_names[tables.links.body[owner[k]]]


def _problem(mechanism: Mechanism, k: int, body: str, what: str, hint: str) -> Problem:
    model, structure = mechanism.model, mechanism.structure
    spec = model.joint_specs[int(structure.tables.links.joint[structure.tables.freedoms.owner[k]])]
    found = next((b for b in model.scene.bodies if b.name == body), None)
    place = spec.place if spec else (found.place if found else None)
    return Problem(where=place, path=f"bodies.{body}", what=what, hint=hint)


def _infinite(mechanism: Mechanism, u: np.ndarray) -> Problem:
    model, structure = mechanism.model, mechanism.structure
    k, body = _freedom(mechanism, u)
    joint = model.joint_names[int(structure.tables.links.joint[structure.tables.freedoms.owner[k]])]
    axis = ", ".join(f"{x:.6g}" for x in mechanism.work.freedoms.axis[k])
    way = "along" if structure.tables.freedoms.linear[k] else "about"
    return _problem(
        mechanism, k, body,
        f"nothing that moves with joint {joint!r} has inertia {way} ({axis}): its acceleration would be infinite",
        "give the body mass and inertia, or the joint an armature",
    )  # fmt: skip


def _not_by(mechanism: Mechanism, u: np.ndarray, who: str) -> Problem:
    k, body = _freedom(mechanism, u)
    return _problem(
        mechanism, k, body, f"the body has no inertia against some of its motions, which {who} cannot do without",
        "give the body mass and inertia, or its joint an armature",
    )  # fmt: skip
