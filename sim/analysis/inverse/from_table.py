"""The motion that a table tells: columns of joints and points, smoothed, and the mechanism led along them.

Every frame is posed from the one before (`sim.assembly.posing`).  Rates and accelerations follow in the papers'
generalised coordinates, theta_J' = T theta_G' and its derivative, closed-chains-1999 (17), (22): those whose columns
come nearest to the table's, so loops stay closed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sim.analysis.inverse.smoothing import fit, fit_turns
from sim.analysis.inverse.whole_motion import Motion, MotionError, Smoothed
from sim.analysis.poses import place_named
from sim.assembly.posing import Target, bring
from sim.closed_chains.chain import Chain
from sim.mechanism.mechanism import Mechanism
from sim.scene.names import nearest
from sim.scene.time_table import TimeTable, place

RANK = 1e-8  # singular values of what a table tells of the freedoms, relative to the largest, that are zero
FAR = 0.05  # rad, or lengths of the scene: a frame that misses its column by more does not fit the mechanism
DEAD = 0.05  # of the largest in the motion: rates of what is told, by a unit of motion, below which little is told
BEYOND = 0.2  # rad, or lengths: beyond a limit by more, a column has other units
TURNS = 4.0 * np.pi  # rad: an angle without a unit that sweeps more is told in degrees
_SIGNAL = re.compile(r"(?P<of>\w+)\('(?P<name>[^']+?)(?:\[(?P<axis>[012])\])?'\)")
_ACTS = {"force": "N", "moment": "N m"}  # of the ground and others, on a body or a point


@dataclass(frozen=True)
class _Signal:
    """What a table wants of a target over time.

    value, rate, acceleration : (rows, k); keys : (k,) of the table's columns
    """

    target: Target
    value: np.ndarray
    rate: np.ndarray
    acceleration: np.ndarray
    keys: tuple[str, ...]


def motion_of(mechanism: Mechanism, q: np.ndarray, table: TimeTable, cutoff: float | str | None = None) -> Motion:
    """Return the motion of a mechanism that a table tells.

    Parameters
    ----------
    mechanism : Mechanism
        It is looked at, and not kept.
    q : (nq,) ndarray
        Where it stands before, loops closed: on the branch that is meant.
    table : TimeTable
        Columns of joints (``hip``, ``hip[0]``: coordinates; all three of a rotation vector, all six of a free joint),
        and of points (``position('hand.tip')[0]``, world axes); ``force('foot')[0]`` and ``moment('foot')[0]`` act
        there from outside.
    cutoff : float, "auto" or None
        Of the filter [Hz]; see `sim.analysis.inverse.smoothing`.

    Raises
    ------
    MotionError, TableError
        With the file, the column, the row and what was expected.
    """
    external, used = _external(mechanism, table)
    signals, columns, ignored = _signals(mechanism, table, used, cutoff)
    notes = [f"{table.file}: not used: {', '.join(ignored)}"] if ignored else []
    frames = _Frames(mechanism, table, signals)
    poses, missed = frames.poses(np.array(q))
    v, acceleration = frames.derivatives(poses)
    columns = tuple(replace(one, missed=missed[one.name]) for one in columns)
    notes += frames.notes()
    return Motion(mechanism, table.time, poses, v, acceleration, columns, external, None, tuple(notes))


# --- what columns mean ---------------------------------------------------------------------------


def _external(mechanism: Mechanism, table: TimeTable) -> tuple[dict[str, np.ndarray], set[str]]:
    """Return wrenches (rows, 6) by the names of bodies and points, and the columns that tell them."""
    out: dict[str, np.ndarray] = {}
    used = set()
    for key in table.columns:
        found = _SIGNAL.fullmatch(key)
        if found is None or found["of"] not in _ACTS:
            continue
        name = found["name"]
        if found["axis"] is None or not _is_place(mechanism, name):
            raise MotionError(
                f"{table.file}: column {table.columns[key].head!r}: expected a body or a point and an axis, as in "
                f"{found['of']}('{name}')[2]{_hint(mechanism, name)}"
            )
        wrench = out.setdefault(name, np.zeros((len(table.time), 6)))
        wrench[:, int(found["axis"]) + (3 if found["of"] == "force" else 0)] = table.in_unit(key, _ACTS[found["of"]])
        used.add(key)
    return out, used


def _is_place(mechanism: Mechanism, name: str) -> bool:
    return name in mechanism.model.body_names or name in mechanism.model.point_names


def _hint(mechanism: Mechanism, name: str) -> str:
    model = mechanism.model
    hint = nearest(name, [*model.column_names, *model.point_names, *model.body_names])
    return f"; {hint}" if hint else ""


def _signals(
    mechanism: Mechanism, table: TimeTable, used: set[str], cutoff: float | str | None
) -> tuple[list[_Signal], tuple[Smoothed, ...], list[str]]:
    """Return what is wanted of joints and points, what became of columns, and those that tell nothing of a motion."""
    model = mechanism.model
    of_joints: dict[int, dict[int, str]] = defaultdict(dict)
    of_points: dict[str, dict[int, str]] = defaultdict(dict)
    ignored = []
    standing = {int(joint) for joint in (*mechanism.structure.carrier[1:], *mechanism.structure.loops)}
    for key, column in table.columns.items():
        found = _SIGNAL.fullmatch(key)
        if key in used:
            continue
        if key in model.column_names:
            c = model.column_names.index(key)
            joint = int(model.columns.joint[c])
            if joint not in standing:
                raise MotionError(f"{table.file}: column {column.head!r}: this joint is not connected at the start")
            of_joints[joint][c - int(model.joints.column[joint])] = key
        elif found is not None and found["of"] == "position" and found["axis"] and _is_place(mechanism, found["name"]):
            of_points[found["name"]][int(found["axis"])] = key
        elif found is not None and found["of"] != "position":
            ignored.append(column.head)
        else:
            raise MotionError(f"{table.file}: column {column.head!r} is of no joint{_expected(mechanism, key)}")
    signals: list[_Signal] = []
    told: list[Smoothed] = []
    for joint, keys in of_joints.items():
        for signal, smooth in _of_joint(mechanism, table, joint, keys, cutoff):
            signals.append(signal)
            told.extend(smooth)
    for name, keys in of_points.items():
        signal, smooth = _of_point(mechanism, table, name, keys, cutoff)
        signals.append(signal)
        told.extend(smooth)
    return signals, tuple(told), ignored


def _expected(mechanism: Mechanism, key: str) -> str:
    hint = _hint(mechanism, key)
    return hint or "; expected joints as 'hip [deg]' or points as 'position(\"hand.tip\")[0] [m]'"


def _of_joint(
    mechanism: Mechanism, table: TimeTable, joint: int, keys: Mapping[int, str], cutoff: float | str | None
) -> list[tuple[_Signal, list[Smoothed]]]:
    """Return what is wanted of a joint: of each slide and angle, and of a ball as a whole."""
    model = mechanism.model
    kind, first = model.type_of(joint), int(model.joints.column[joint])
    units = ["m" if model.columns.linear[first + k] else "rad" for k in range(kind.freedoms)]
    values = {k: table.in_unit(key, units[k]) for k, key in keys.items()}
    out = []
    balls = [k for k in values if 0 <= kind.ball <= k]
    for k, value in values.items():
        if k in balls:
            continue
        _plausible(mechanism, table, keys[k], first + k, value)
        found = _fitted(table, keys[k], value, cutoff)
        target = Target(table.columns[keys[k]].head, np.array([first + k]))
        parts = (found.value[:, None], found.rate[:, None], found.acceleration[:, None])
        out.append(
            (_Signal(target, *parts, (keys[k],)), [Smoothed(target.name, units[k], found.cutoff, found.residual)])
        )
    if balls:
        whole = tuple(range(kind.ball, kind.ball + 3))
        if tuple(sorted(balls)) != whole:
            lacking = [model.column_names[first + k] for k in whole if k not in values]
            raise MotionError(
                f"{table.file}: no column {lacking[0]!r}: a rotation has three, a rotation vector; found "
                f"{', '.join(repr(table.columns[keys[k]].head) for k in balls)}"
            )
        vectors = np.column_stack([values[k] for k in whole])
        name = model.joint_names[joint]
        try:
            turned = fit_turns(table.time, vectors, cutoff)
        except ValueError as error:
            raise MotionError(f"{table.file}: columns of {name!r}: {error}") from error
        target = Target(name, np.array(whole) + first, True)
        signal = _Signal(target, turned.rotation, turned.rate, turned.acceleration, tuple(keys[k] for k in whole))
        out.append((signal, [Smoothed(name, "rad", turned.cutoff, turned.residual)]))
    return out


def _of_point(
    mechanism: Mechanism, table: TimeTable, name: str, keys: Mapping[int, str], cutoff: float | str | None
) -> tuple[_Signal, list[Smoothed]]:
    axes = np.array(sorted(keys))
    fits = [_fitted(table, keys[k], table.in_unit(keys[k], "m"), cutoff) for k in axes]
    body, p_B = place_named(mechanism.model, name)
    value, rate, acceleration = (
        np.column_stack([getattr(one, what) for one in fits]) for what in ("value", "rate", "acceleration")
    )
    target = Target(f"position('{name}')", body=body, p_B=p_B, axes=axes)
    cutoffs = [one.cutoff for one in fits if one.cutoff is not None]
    smooth = Smoothed(target.name, "m", min(cutoffs, default=None), float(np.linalg.norm([f.residual for f in fits])))
    return _Signal(target, value, rate, acceleration, tuple(keys[k] for k in axes)), [smooth]


def _fitted(table: TimeTable, key: str, values: np.ndarray, cutoff: float | str | None) -> Any:
    try:
        return fit(table.time, values, cutoff)
    except ValueError as error:
        raise MotionError(f"{table.file}: column {table.columns[key].head!r}: {error}") from error


def _plausible(mechanism: Mechanism, table: TimeTable, key: str, column: int, values: np.ndarray) -> None:
    """Refuse angles that are meant in degrees: far beyond the joint's limits, or of many turns and without a unit."""
    model, head = mechanism.model, table.columns[key]
    turns = model.columns.linear[column] == 0
    unit, scale = ("deg", np.degrees(1.0)) if turns else ("m", 1.0)
    told, other = ("radians", "degrees") if head.unit in ("", "rad") else ("degrees", "radians")
    hint = f"; if these numbers are {other} and not {told}, write '{key} [{other[:3]}]'" if turns else ""
    for stop in model.stops:
        if int(stop.column) != column or stop.angle:
            continue
        past = stop.side * (values - stop.bound)
        row = int(np.argmax(past))
        if past[row] > BEYOND * (1.0 if turns else model.length):
            most = f"{'at most' if stop.side > 0 else 'at least'} {scale * stop.bound:.6g} {unit}"
            raise MotionError(
                f"{table.at(row, key)}: found {scale * values[row]:.6g} {unit}; expected {most}, its limit{hint}"
            )
    if turns and not head.unit and float(np.ptp(values)) > TURNS:
        row = int(np.argmax(np.abs(values)))
        raise MotionError(
            f"{table.at(row, key)}: found {values[row]:.6g} without a unit, {values[row] / (2.0 * np.pi):.3g} turns if "
            f"it is radians; expected a unit, '{key} [deg]' or '{key} [rad]'"
        )


# --- frames --------------------------------------------------------------------------------------


def _inverse_root(chain: Chain) -> np.ndarray:
    """Return B with B^T A B = 1: motions theta_G' = B x have the kinetic energy of x."""
    values, vectors = np.linalg.eigh(chain.A)
    return np.asarray(vectors / np.sqrt(np.maximum(values, 1e-12 * values.max(initial=1e-300))))


class _Frames:
    """A mechanism led along signals."""

    def __init__(self, mechanism: Mechanism, table: TimeTable, signals: Sequence[_Signal]):
        self.mechanism, self.table, self.signals = mechanism, table, signals
        self.targets = [signal.target for signal in signals]
        self.sharpness = np.zeros(len(table.time))  # of each frame, the least rate of what is told by a unit of motion

    def poses(self, q: np.ndarray) -> tuple[np.ndarray, dict[str, float]]:
        """Return q of every frame (rows, nq), and how far each target is missed at the most.

        Raises
        ------
        MotionError
            Where a frame does not fit the mechanism.
        """
        out = np.zeros((len(self.table.time), len(q)))
        missed: dict[str, float] = {target.name: 0.0 for target in self.targets}
        for s in range(len(out)):
            found = bring(self.mechanism, q, self.targets, [signal.value[s] for signal in self.signals], limits=False)
            out[s] = q
            for signal, off in zip(self.signals, found.missed, strict=True):
                name, away = signal.target.name, float(np.abs(off).max(initial=0.0))
                missed[name] = max(missed[name], away)
                if away > FAR * self._unit(signal):
                    self._refuse(s, signal, off)
        return out, missed

    def _unit(self, signal: _Signal) -> float:
        model, target = self.mechanism.model, signal.target
        linear = target.body >= 0 or model.columns.linear[target.columns[0]] == 1
        return model.length if linear else 1.0

    def _refuse(self, row: int, signal: _Signal, off: np.ndarray) -> None:
        k = min(int(np.argmax(np.abs(off))), len(signal.keys) - 1)
        angle = signal.target.body < 0 and self.mechanism.model.columns.linear[signal.target.columns[0]] == 0
        said = f"{np.degrees(off[k]):.4g} deg" if angle else f"{off[k]:.4g} m"
        beside = [self.table.columns[key].head for one in self.signals for key in one.keys if one is not signal]
        others = f" beside {', '.join(map(repr, beside[:5]))}" if beside else ""
        raise MotionError(
            f"{self.table.at(row, signal.keys[k])}: the mechanism cannot be there{others}: it comes to {said} of it; "
            f"expected columns that fit its loops and lengths, in the units of their heads"
        )

    def derivatives(self, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return v and v' of every frame (rows, nv)."""
        nv = self.mechanism.structure.sizes.v
        v, acceleration = np.zeros((len(poses), nv)), np.zeros((len(poses), nv))
        preferred: np.ndarray | None = None
        for s, q in enumerate(poses):
            still = Chain(self.mechanism, q, v[s], preferred=preferred)
            given = self._given(still)
            if s == 0:
                self._check_told(still, given)
            self.sharpness[s] = np.linalg.svd(given @ _inverse_root(still), compute_uv=False).min(initial=np.inf)
            rates = np.concatenate([np.zeros(0), *(signal.rate[s] for signal in self.signals)])
            v[s] = still.W @ np.linalg.lstsq(given, rates, rcond=RANK)[0]
            here = Chain(self.mechanism, q, v[s], preferred=still.coordinates.dependent)
            preferred = here.coordinates.dependent
            given = self._given(here)
            wanted = np.concatenate([np.zeros(0), *(signal.acceleration[s] for signal in self.signals)])
            theta_G = np.linalg.lstsq(given, wanted - self._drift(here), rcond=RANK)[0]
            acceleration[s] = here.accelerations(theta_G)[:nv]
        return v, acceleration

    def notes(self) -> list[str]:
        """Return a sentence for each stretch of rows in which the table hardly tells how the mechanism goes on.

        At a dead point a freedom moves while nothing that is told does: both ways on fit the table.
        """
        blunt = self.sharpness < DEAD * self.sharpness.max(initial=0.0)
        ends = np.flatnonzero(np.diff(np.concatenate([[False], blunt, [False]]).astype(int)))
        out = []
        for first, end in ends.reshape(-1, 2):
            worst = first + int(np.argmin(self.sharpness[first:end]))
            where = f"{self.table.file}: {place(worst, self.table.first)}"
            out.append(
                f"{where}: near a dead point the table hardly tells how the mechanism goes on; the pose nearest to the "
                "last one was taken, and torques there are not to be trusted"
            )
        return out

    def _given(self, chain: Chain) -> np.ndarray:
        """Return the rates of targets by theta_G' (k, N_F)."""
        parts = [np.zeros((0, chain.T.shape[1]))]
        for target in self.targets:
            if target.body < 0:
                parts.append(chain.T[self._places(chain, target)])
            else:
                name = chain.mechanism.model.body_names[target.body]
                parts.append(chain.jacobian(name, target.p_B)[3:][target.axes] @ chain.W)
        return np.vstack(parts)

    def _drift(self, chain: Chain) -> np.ndarray:
        """Return the accelerations of targets at theta_G'' = 0 (k,)."""
        nv, parts = len(chain.v), [np.zeros(0)]
        for target in self.targets:
            if target.body < 0:
                parts.append(chain.drift[self._places(chain, target)])
            else:
                name = chain.mechanism.model.body_names[target.body]
                J, own = chain.jacobian(name, target.p_B), chain.jacobian_drift(name, target.p_B)
                parts.append((J @ chain.drift[:nv] + own)[3:][target.axes])
        return np.concatenate(parts)

    @staticmethod
    def _places(chain: Chain, target: Target) -> list[int]:
        at = {int(column): k for k, column in enumerate(chain.columns)}
        return [at[int(column)] for column in target.columns]

    def _check_told(self, chain: Chain, given: np.ndarray) -> None:
        """Refuse a table that leaves freedoms open, with columns that would tell them."""
        mobility = chain.T.shape[1]
        _, s, Vt = np.linalg.svd(given, full_matrices=True)
        rank = int((s > RANK * s.max(initial=0.0)).sum())
        if rank == mobility:
            return
        open_ = np.linalg.norm(chain.T @ Vt[rank:].T, axis=1)
        told = {int(column) for target in self.targets for column in target.columns}
        lacking = [chain.names[k] for k in np.argsort(-open_, kind="stable")
                   if open_[k] > 1e-6 and int(chain.columns[k]) not in told]  # fmt: skip
        independent = [name for name in chain.independent if name in lacking] or lacking
        model = chain.mechanism.model
        units = ["m" if model.columns.linear[model.column_names.index(name)] else "deg" for name in independent]
        shown = ", ".join(f"'{name} [{unit}]'" for name, unit in list(zip(independent, units, strict=True))[:6])
        raise MotionError(
            f"{self.table.file}: its columns tell {rank} of {mobility} freedoms; missing: {shown}"
            f"{' ...' if len(independent) > 6 else ''}"
        )
