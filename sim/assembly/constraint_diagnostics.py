"""What the constraints of a scene bind at a pose, and what of it should be known before it runs.

Wheels twice on one line, wheels in the air, what holds nothing because joints hold it already, axles that lock.
Dense linear algebra, of mechanisms that are not large.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sim.assembly.loop_closure import RANK, null
from sim.mechanism.compiler import slips_of
from sim.mechanism.frames import rotation_of
from sim.mechanism.mechanism import Mechanism
from sim.scene.problem import Problem
from sim.scene.spec import Constraint

# Of the mechanism's size: how far from its ground a wheel is in the air; how far assembly moves what rolls in silence.
AIR, HAIR = 0.1, 1e-6

ONE_ROW = {
    "no_side_slip": "along its axle", "knife_edge": "across its edge", "screw": "along its thread",
    "gear": "of its two freedoms",
}  # fmt: skip
Direction = tuple[str, np.ndarray]  # in words, and as a combination of the constraint's rows


def constraint_blocks(mechanism: Mechanism) -> dict[int, Constraint]:
    """Return the constraints that act, by their blocks."""
    constraints = mechanism.model.constraints
    return {n: constraints[j] for n, j in enumerate(mechanism.structure.loops) if j in constraints}


def directions(mechanism: Mechanism, n: int) -> list[Direction]:
    """Return what the rows of constraint n bind, as last looked at: unit combinations of rows with their names."""
    spec = mechanism.model.constraints[mechanism.structure.loops[n]]
    if spec.type == "same_velocity":
        rows = np.eye(len(spec.components))
        return [
            (f"{'about' if c[0] == 'r' else 'along'} {c[-1]}", e) for c, e in zip(spec.components, rows, strict=True)
        ]
    if spec.type != "rolling":
        return [(ONE_ROW[spec.type], np.ones(1))]
    if mechanism.structure.tables.blocks.rows[n] == 1:  # it slips: what keeps it on its ground is left
        return [("along the normal", np.ones(1))]
    rows = np.eye(3 if spec.keeps else 2)
    x, y = rows[0], rows[1]
    if spec.axis is None:
        along = [("along the ground", x), ("along the ground", y)]
    else:
        F, M = mechanism.loop_frames(n)
        axle = F.T @ M[:, 1]
        axle = axle[:2] / np.linalg.norm(axle[:2])
        along = [("along its axle", axle[0] * x + axle[1] * y), ("the way it rolls", axle[0] * y - axle[1] * x)]
    return [*along, *(("along the normal", e) for e in rows[2:])]


def repeated(mechanism: Mechanism, n: int) -> tuple[str, tuple[str, ...]]:
    """Return in which directions constraint n repeats rows before it, in words, and which constraints these are of.

    No constraints: the joints alone do.
    """
    J, block, locked = mechanism.jacobian(), _blocks_of_rows(mechanism), mechanism.locked()
    own, before = J[(block == n) & locked], J[(block < n) & locked]
    parts = _without_effect(own, before)
    words = [word for word, part in directions(mechanism, n) if np.abs(parts.T @ (parts @ part) - part).max() < 1e-6]
    target = parts @ own
    bound = constraint_blocks(mechanism)
    of_joints = locked & ~np.isin(block, list(bound))
    others = [m for m in bound if m < n]

    def enough(some: Sequence[int]) -> bool:
        return _spans(J[of_joints | (np.isin(block, list(some)) & locked)], target)

    if enough(()):
        return _and(list(dict.fromkeys(words))), ()
    alone = [m for m in others if enough((m,))]
    chosen = alone[:1] or _needed(others, enough)
    return _and(list(dict.fromkeys(words))), tuple(bound[m].name for m in chosen)


def _without_effect(own: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return orthonormal combinations (k, rows) of own rows that rows before them, or none, make as well."""
    largest = float(np.linalg.norm(np.vstack([own, before]), 2)) if own.shape[1] else 0.0
    _, s, Vt = np.linalg.svd(before, full_matrices=False)
    basis = Vt[s > RANK * largest]
    left = own - (own @ basis.T) @ basis
    U, s, _ = np.linalg.svd(left)
    return U[:, int((s > RANK * largest).sum()) :].T


def _spans(rows: np.ndarray, target: np.ndarray) -> bool:
    """Tell whether combinations of rows make each row of the target."""
    size = max(float(np.abs(target).max(initial=0.0)), float(np.abs(rows).max(initial=0.0)), 1e-300)
    fit = np.linalg.lstsq(rows.T, target.T, rcond=RANK)[0] if len(rows) else np.zeros((0, len(target)))
    return float(np.abs(rows.T @ fit - target.T).max(initial=0.0)) < 10.0 * RANK * size


def _needed(some: Sequence[int], enough: Any) -> list[int]:
    """Return those of some that are needed for what all of them are enough for, the last ones left out first."""
    kept = list(some)
    for m in reversed(some):
        fewer = [k for k in kept if k != m]
        if enough(fewer):
            kept = fewer
    return kept


def _blocks_of_rows(mechanism: Mechanism) -> np.ndarray:
    return np.asarray(mechanism.structure.tables.rows.block)


# --- what a checker says -------------------------------------------------------------------------------


def warnings(mechanism: Mechanism, bounded: Sequence[str] = ()) -> list[Problem]:
    """Return what is likely a mistake in the constraints, as last looked at; bounded: those that may let go."""
    return [*_in_the_air(mechanism), *_idle(mechanism), *_locking(mechanism), *_chosen(mechanism, bounded)]


def slips_by_choice(mechanism: Mechanism, n: int) -> bool:
    """Tell whether constraint n may slip along a force that is one choice among many, as last looked at.

    Where joints keep it, as one that lets it move in a plane only, it cannot slip, and it gives nothing there.
    """
    J, hard, block = mechanism.jacobian(), mechanism.hard(), _blocks_of_rows(mechanism)
    blocks = mechanism.structure.tables.blocks
    of_joints = hard & (blocks.touch[block] < 0) & ~np.isin(block, list(constraint_blocks(mechanism)))
    of_joints &= np.asarray(mechanism.structure.tables.rows.low == mechanism.structure.tables.rows.high)
    own = np.flatnonzero(block == n)[: slips_of(mechanism.model.constraints[mechanism.structure.loops[n]])]
    repeats = null(J[hard].T)[np.searchsorted(np.flatnonzero(hard), own)]
    left = J[own] @ null(J[of_joints]) if of_joints.any() else J[own]
    return bool(np.abs(repeats.T @ left).max(initial=0.0) > RANK * float(np.abs(J[own]).max(initial=0.0)))


def _chosen(mechanism: Mechanism, bounded: Sequence[str]) -> list[Problem]:
    """Constraints with a threshold whose force is one choice among many."""
    return [
        _warning(
            spec, "it lets go beyond a force (holds) that is not determined: other rows repeat its own, so a run ends "
            "where it holds", "leave out 'holds', or what holds the same again",
        )
        for n, spec in constraint_blocks(mechanism).items()
        if spec.name in bounded and slips_by_choice(mechanism, n)
    ]  # fmt: skip


def _in_the_air(mechanism: Mechanism) -> list[Problem]:
    """Wheels and blades whose ground is known and far from them; a body whose shapes reach the ground is on it."""
    out, length = [], mechanism.model.length
    for n, spec in constraint_blocks(mechanism).items():
        if spec.type not in ("no_side_slip", "knife_edge") or spec.on != "world":
            continue
        blocks, normal = mechanism.work.blocks, mechanism.loop_frames(n)[0][:, 2]
        height = float(normal @ blocks.p_FM[n])
        under = _lowest(mechanism, spec.body, normal, height - float(normal @ blocks.p_WM[n]))
        if min(height, under) > AIR * length or height < -AIR * length:
            where = "above" if height > 0.0 else "below"
            out.append(
                _warning(
                    spec, f"it stands {abs(height):.4g} m {where} its ground, where {spec.body!r} has nothing to grip",
                    "place it, or its ground, where they touch",
                )
            )  # fmt: skip
    return out


def _lowest(mechanism: Mechanism, body: str, normal: np.ndarray, offset: float) -> float:
    """Return the least height [m] of a body's shapes, normal . p + offset; infinite without shapes."""
    model = mechanism.model
    i = model.body_names.index(body)
    p, R = mechanism.work.bodies.p_WB[i], mechanism.work.bodies.R_WB[i].reshape(3, 3)
    out = np.inf
    for solid in next(one for one in model.scene.bodies if one.name == body).shapes:
        centre = p + R @ (np.asarray(solid.position) - model.drawing.origins[body])
        u, s = (R @ rotation_of(solid.orientation)).T @ normal, np.asarray(solid.size)
        if solid.kind == "box":
            reach = float(np.abs(u) @ s) / 2.0
        elif solid.kind in ("capsule", "cylinder"):
            side = 1.0 if solid.kind == "capsule" else float(np.hypot(u[0], u[1]))
            reach = side * float(s[0]) + abs(float(u[2])) * float(s[2]) / 2.0
        else:
            reach = float(np.linalg.norm(u * s))
        out = min(out, float(normal @ centre) + offset - reach)
    return out


def _idle(mechanism: Mechanism) -> list[Problem]:
    """Constraints on what joints do not let move: they bind nothing."""
    out, block, locked = [], _blocks_of_rows(mechanism), mechanism.locked()
    bound, J = constraint_blocks(mechanism), mechanism.jacobian()
    free = null(J[locked & ~np.isin(block, list(bound))])
    for n, spec in bound.items():
        if _moves(J[block == n], free):
            continue
        motion = mechanism.loop_motion(n)
        holds = _and([repr(name) for name in mechanism.around(n)[:-1]])
        if not _moves(motion, free):
            ground = f" against {spec.on!r}" if spec.on else ""
            said = f"it binds nothing: {spec.body or spec.joints[0]!r} cannot move{ground}"
            said += f", held by {holds}" if holds else ""
        else:
            said = f"it binds nothing: the joints {holds} do not let {spec.body!r} move {_words(mechanism, n)}"
        out.append(_warning(spec, said, "leave it out, or the joint that holds the body"))
    return out


def _words(mechanism: Mechanism, n: int) -> str:
    return _and(list(dict.fromkeys(word for word, _ in directions(mechanism, n))))


def _locking(mechanism: Mechanism) -> list[Problem]:
    """Constraints that together leave some bodies no rate which the joints would allow."""
    block, locked = _blocks_of_rows(mechanism), mechanism.locked()
    bound, J = constraint_blocks(mechanism), mechanism.jacobian()
    of_joints = locked & ~np.isin(block, list(bound))
    free, left = null(J[of_joints]), null(J[locked])
    motion = {n: mechanism.loop_motion(n) for n in bound}
    stuck = [n for n in bound if _moves(motion[n], free) and not _moves(motion[n], left)]
    if not stuck:
        return []

    def lock(some: Sequence[int]) -> bool:
        rest = null(J[of_joints | (np.isin(block, list(some)) & locked)])
        return not any(_moves(motion[n], rest) for n in stuck)

    needed = _needed(list(bound), lock)
    bodies = _and([repr(name) for name in dict.fromkeys(bound[n].body for n in stuck)])
    first, *others = (bound[n] for n in needed)
    together = f"{_and([repr(one.name) for one in others])} and this" if others else "this"
    leave = "leave" if others else "leaves"
    whole = "" if left.shape[1] else ": the mechanism is locked"
    said = f"{together} {leave} {bodies} no motion at the start{whole}"
    hint = "let the lines of the axles meet in one point, or be parallel, or leave one out"
    return [_warning(first, said, hint)]


def _moves(rows: np.ndarray, free: np.ndarray) -> bool:
    size = float(np.abs(rows).max(initial=0.0))
    return float(np.abs(rows @ free).max(initial=0.0)) > 10.0 * RANK * size


def _warning(spec: Constraint, what: str, hint: str) -> Problem:
    return Problem(where=spec.place, path=f"constraints.{spec.name}", what=what, hint=hint, severity="warning")


def _and(words: Sequence[str]) -> str:
    """Return words as a list in a sentence."""
    return " and ".join([*([", ".join(words[:-1])] if len(words) > 1 else []), *words[-1:]])
