"""Motions of a recording: stretches between its events, each of one structure, with what touched and pulled there.

Coordinates and rates are the recorded ones, accelerations the slopes of the rates (splines of degree five).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from scipy.interpolate import make_interp_spline

from sim.analysis.inverse.smoothing import DEGREE, FEWEST
from sim.analysis.inverse.whole_motion import Motion, MotionError
from sim.kernels.tables import TORSION
from sim.mechanism.frames import Frames, rotation_of
from sim.mechanism.mechanism import Mechanism
from sim.mechanism.model import Model
from sim.mechanism.structure import Structure, build
from sim.recording import Epoch, Recording


def motions_of(model: Model, recording: Recording) -> tuple[list[Motion], tuple[str, ...]]:
    """Return the motions of a recording in order, and notes about rows that are left out.

    Of each motion, contacts and what stops and friction of joints gave are outside (`Motion.external`).

    Parameters
    ----------
    model : Model
        Of the scene that was recorded, or one with the same bodies, joints and forces.

    Raises
    ------
    MotionError
        Where the recording is of another scene, or too short.
    """
    _check_same(model, recording)
    motions, short = [], 0
    for epoch, rows in _stretches(recording):
        if rows.stop - rows.start < FEWEST:
            short += rows.stop - rows.start
            continue
        motions.append(_motion(model, recording, epoch, rows))
    if not motions:
        raise MotionError(
            f"{recording.path}: no {FEWEST} rows between two events; expected that many, to find accelerations: record "
            f"more rows a second (simulate: record)"
        )
    notes = (f"{short} rows are left out: fewer than {FEWEST} stand between two events",) if short else ()
    return motions, notes


def _check_same(model: Model, recording: Recording) -> None:
    recorded = [column.name for column in recording.columns]
    if recorded != list(model.column_names):
        odd = next((name for name in recorded if name not in model.column_names), None)
        lacking = next((name for name in model.column_names if name not in recorded), None)
        what = f"it has a joint column {odd!r}" if odd else f"it has no joint column {lacking!r}"
        raise MotionError(f"{recording.path}: a recording of another scene ({recording.scene}): {what}")
    bodies = [body.name for body in recording.bodies]
    if bodies != list(model.body_names[1:]):
        raise MotionError(f"{recording.path}: a recording of another scene ({recording.scene}): its bodies are others")


def _stretches(recording: Recording) -> Iterator[tuple[Epoch, slice]]:
    """Give rows between instants at which something may jump, with the epoch that they are in."""
    time = recording.time
    cuts = {int(k) + 1 for k in np.flatnonzero(np.diff(time) <= 0.0)}
    for epoch in recording.epochs:
        inside = sorted({epoch.first, epoch.last, *(k for k in cuts if epoch.first < k < epoch.last)})
        for first, last in itertools.pairwise(inside):
            yield epoch, slice(first, last)


def _motion(model: Model, recording: Recording, epoch: Epoch, rows: slice) -> Motion:
    mechanism = Mechanism.of(model, structure_in(model, recording, epoch, rows.start))
    own = slice(rows.start - epoch.first, rows.stop - epoch.first)
    time, q, v = recording.time[rows], epoch.q[own], epoch.v[own]
    if not (np.isfinite(q).all() and np.isfinite(v).all()):
        raise MotionError(f"{recording.path}: rows {rows.start} to {rows.stop - 1} have states that are not finite")
    acceleration = make_interp_spline(time, v, DEGREE).derivative(1)(time)
    wrenches = None
    if any(force.kind != TORSION for force in mechanism.structure.tables.forces):
        wrenches = np.nan_to_num(recording.array("forces/wrench")[rows])
    external = {**_pushed(recording, rows), **_resisted(model, recording, rows)}
    return Motion(mechanism, np.array(time), np.array(q), np.array(v), acceleration, (), external, wrenches)


def structure_in(model: Model, recording: Recording, epoch: Epoch, row: int) -> Structure:
    """Return the structure that stands in a row: its joints, bound as they were."""
    frames = _bound(model, recording, row)
    there = np.isfinite(recording.array("joints/force")[row, :, 0])
    active = {model.joint(joint.name) for joint, stands in zip(recording.joints, there, strict=True) if stands}
    active |= {model.joint(name) for name in epoch.tree}
    carrier = np.zeros(len(model.bodies), int)
    for name in epoch.tree:
        carrier[int(model.joints.child[model.joint(name)])] = model.joint(name)
    carrier[0] = -1
    return build(model, frames, active, carrier)


def _bound(model: Model, recording: Recording, row: int) -> Frames:
    frames = model.frames.copy()
    for joint in recording.joints:
        found, j = recording.binding(joint.name, row), model.joint(joint.name)
        if found is None:
            continue
        frames.p_PF[j], frames.R_PF[j] = found.parent_position, rotation_of(np.array(found.parent_quat_wxyz))
        frames.p_CM[j], frames.R_CM[j] = found.child_position, rotation_of(np.array(found.child_quat_wxyz))
        frames.offset[j] = found.offset
    return frames


def _pushed(recording: Recording, rows: slice) -> dict[str, np.ndarray]:
    """Return by body what contacts do on it: wrenches about its origin (rows, 6), world axes."""
    touches, pairs = recording.touches, recording.pairs
    here = (touches["row"] >= rows.start) & (touches["row"] < rows.stop)
    row, force, moment = touches["row"][here], np.nan_to_num(touches["force"][here]), touches["moment"][here]
    owner = np.array([shape.body for shape in recording.shapes], int)
    shapes = np.array([pairs[pair].shapes for pair in touches["pair"][here]], int).reshape(-1, 2)
    position, out = recording.array("position"), dict[str, np.ndarray]()
    for side, sign in ((0, -1.0), (1, 1.0)):
        body = owner[shapes[:, side]]
        for one in np.unique(body[body >= 0]):
            own = body == one
            arm = touches["point"][here][own] - position[row[own], one]
            wrench = np.hstack([np.nan_to_num(moment[own]) + np.cross(arm, force[own]), force[own]])
            name = recording.bodies[int(one)].name
            total = out.setdefault(name, np.zeros((rows.stop - rows.start, 6)))
            np.add.at(total, row[own] - rows.start, sign * wrench)
    return out


def _resisted(model: Model, recording: Recording, rows: slice) -> dict[str, np.ndarray]:
    """Return by column what stops and friction of joints gave (rows, 1)."""
    given = np.nan_to_num(recording.array("joints/stop_torque")[rows] + recording.array("joints/friction_torque")[rows])
    return {
        model.column_names[c]: given[:, c : c + 1] for c in np.flatnonzero(np.abs(given).max(axis=0, initial=0.0) > 0.0)
    }
