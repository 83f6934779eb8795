"""Driven joints at the start: they stand and move as their motions say, and what contradicts that is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sim.assembly.loop_closure import Aim
from sim.kernels.tables import OF_BALL
from sim.mechanism.mechanism import Mechanism
from sim.scene.problem import Problem
from sim.scene.rotation import from_vector, multiply
from sim.scene.spec import Value


def driven_joints(mechanism: Mechanism) -> list[str]:
    """Return the names of the joints that are driven and connected."""
    model, rows = mechanism.model, mechanism.structure.tables.rows
    joints = model.columns.joint[rows.column[mechanism.driven()]]
    return list(dict.fromkeys(model.joint_names[int(joint)] for joint in joints))


def not_allowed_by(mechanism: Mechanism, beside: int = -1) -> str:
    """Return the beginning of a sentence on a value that does not fit what binds the mechanism.

    beside : joint whose own motion is not named
    """
    model, loops = mechanism.model, mechanism.structure.loops
    driven = [name for name in driven_joints(mechanism) if beside < 0 or name != model.joint_names[beside]]
    bound = [model.joint_names[j] for j in loops if j in model.constraints]
    parts = ["the loops"] if len(bound) < len(loops) or not bound else []
    if bound:
        shown = ", ".join(map(repr, bound[:6])) + (" ..." if len(bound) > 6 else "")
        parts.append(f"the constraint{'s' if len(bound) > 1 else ''} {shown}")
    if driven:
        parts.append(f"the motion of {', '.join(map(repr, driven))}")
    alone = len(parts) == len(bound) == 1
    return f"{' and '.join(parts)} {'does' if alone else 'do'} not allow"


def of_motions(mechanism: Mechanism, derivative: int = 0) -> list[Aim]:
    """Return what motions want of the joints that they drive: coordinates, or their rates (derivative 1)."""
    model, rows = mechanism.model, mechanism.structure.tables.rows
    out = []
    want, loops = mechanism.work.rows.want, mechanism.structure.loops
    for r in np.flatnonzero(mechanism.driven()):
        joint = int(model.columns.joint[rows.column[r]])
        if joint in model.constraints:
            continue
        first, value = int(rows.column[r]) - model.columns_of(joint).start, want[r, derivative : derivative + 1].copy()
        if (
            rows.locked[r] == OF_BALL and derivative == 0 and joint not in loops
        ):  # a quaternion in q: from its first row
            if first > model.type_of(joint).ball:
                continue
            value = np.array(from_vector(tuple(want[r : r + 3, 0])))
        out.append(Aim(joint, value, first, driven=True))
    return out


def _of_motion(mechanism: Mechanism, row: int, what: str, hint: str) -> Problem:
    """Return a problem with the motion of a driven row."""
    model = mechanism.model
    column = int(mechanism.structure.tables.rows.column[row])
    joint = int(model.columns.joint[column])
    spec = model.joint_specs[joint]
    return Problem(
        where=spec.places.get("motion", spec.place) if spec else None,
        path=f"joints.{model.joint_names[joint]}.motion", what=what, hint=hint,
    )  # fmt: skip


def motions_without_value(mechanism: Mechanism) -> list[Problem]:
    """Return a problem for each motion that is not a finite number, with its two derivatives, at the start."""
    out = []
    for r in np.flatnonzero(mechanism.driven()):
        for name, value in zip(("value", "rate", "acceleration"), mechanism.work.rows.want[r], strict=True):
            if not np.isfinite(value):
                what = f"the {name} of this motion is not a finite number at the start"
                formula = mechanism.model.programs.sources.get(int(mechanism.structure.tables.rows.motion[r]))
                spans = formula.spans if formula is not None else ""
                out.append(_of_motion(mechanism, int(r), what, spans or "give a formula that is smooth there"))
                break
    return out


def against_motions(mechanism: Mechanism, values: Mapping[int, Value]) -> list[Problem]:
    """Return a problem for each value of `initial` that the joint's own motion contradicts."""
    model, rows, out = mechanism.model, mechanism.structure.tables.rows, []
    for r in np.flatnonzero(mechanism.driven()):
        column = int(rows.column[r])
        joint = int(model.columns.joint[column])
        for name, i in (("coordinate", 0), ("rate", 1)):
            said = getattr(values[joint], name) if joint in values else None
            starts = float(mechanism.work.rows.want[r, i])
            if said is not None and not _off(mechanism, int(r), said, i) <= 1e-9 * (1.0 + abs(starts)):
                spec = model.joint_specs[joint]
                at = spec.places.get("motion", spec.place) if spec else None
                out.append(
                    Problem(
                        where=values[joint].place, path=f"initial.{model.joint_names[joint]}",
                        what=f"joint {model.column_names[column]!r} is driven, and its motion ({at}) starts with the "
                        f"{name} {starts:.6g}",
                        hint="leave the joint out here, or change its motion",
                    )
                )  # fmt: skip
    return out


def _off(mechanism: Mechanism, row: int, said: Sequence[float], derivative: int) -> float:
    """Return how far a value of `initial` is from what the motion of a driven row wants [m, rad, per second].

    Of rotations in space as an angle, at the first of their three rows; a rate is in the child's axes.
    """
    model, rows, want = mechanism.model, mechanism.structure.tables.rows, mechanism.work.rows.want
    joint = int(model.columns.joint[rows.column[row]])
    place = int(rows.column[row]) - model.columns_of(joint).start
    if derivative or rows.locked[row] != OF_BALL:
        return abs(said[place] - float(want[row, derivative]))
    ball = model.type_of(joint).ball
    if place > ball:
        return 0.0
    w, x, y, z = from_vector(tuple(want[row : row + 3, 0]))
    turn = multiply((w, -x, -y, -z), tuple(said[ball : ball + 4]))  # type: ignore[arg-type]
    return 2.0 * float(np.arctan2(np.linalg.norm(turn[1:]), abs(turn[0])))


def unfollowed(mechanism: Mechanism, what: str) -> list[Problem]:
    """Return a problem for each driven freedom that is not where its motion is, or not so fast, as last looked at."""
    rows, work, out = mechanism.structure.tables.rows, mechanism.work, []
    off, i = (work.rows.phi, 0) if what == "coordinate" else (work.rows.slip, 1)
    for r in np.flatnonzero(mechanism.driven()):
        missed, wanted = float(off[r] / rows.scale[r]), float(work.rows.want[r, i])
        found = wanted + missed
        if not abs(missed) <= 1e-9 * (1.0 + abs(wanted)):
            names = [n for n in driven_joints(mechanism) if n != mechanism.model.column_names[rows.column[r]]]
            also = f" and the motion of {', '.join(map(repr, names))}" if names else ""
            text = f"the loops{also} do not allow its {what} at the start, {wanted:.6g}; the nearest is {found:.6g}"
            out.append(_of_motion(mechanism, int(r), text, "drive fewer joints, or with motions that fit together"))
    return out


def numbers(values: np.ndarray) -> str:
    """Return numbers as a sentence lists them."""
    return ", ".join(f"{x:.6g}" for x in np.atleast_1d(values))
