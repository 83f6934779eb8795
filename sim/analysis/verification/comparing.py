"""Two runs of a scene side by side: differences of every output, how they grow, when the trajectory is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sim.recording import ColumnEntry
from sim.recording.format import ENERGIES

# The error bar of an output is this times the largest difference up to then between the recorded
# tolerance and a hundredth of it.  The tighter run has an error, too: at order 8 it is 1/56 of the
# other's, where it is not roundoff.
SAFETY = 1.25
# Of a first-order method the same times a run in half the steps: that has half of the error, so the difference is the
# other half.
HALVED = 2.0 * SAFETY
# Error of a pose, in sizes of the mechanism or radians, beyond which a trajectory counts as lost.
LOST = 1e-3
# Differences above this have stopped growing: nothing is fitted to them.
SATURATED = 1e-2
EARLY = 0.1  # share of the run that no law is fitted to: growth begins before it settles
# Differences of regular motions grow about in proportion to time; what grows faster than this power of
# time is taken to grow exponentially, the more cautious of the two.
REGULAR = 1.5
ROUNDOFF = 1.1e-16  # relative, of one operation


@dataclass(frozen=True)
class Output:
    """One kind of output: its values in a run, and what each number is called.

    names : of its numbers or vectors; pick : which columns of the dataset, all without it
    part : components of a vector; angle : values are quaternions, compared by the angle between them
    """

    name: str
    unit: str
    dataset: str
    names: tuple[str, ...]
    pick: np.ndarray | None = None
    part: tuple[int, int] = (0, 3)
    angle: bool = False

    def difference(self, one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return (n, names) magnitudes of the difference of two runs, row by row."""
        a, b = (values[self.dataset] for values in (one, other))
        return _angles(a, b) if self.angle else self._sizes(a - b)

    def largest(self, values: Mapping[str, np.ndarray]) -> float:
        """Return the largest magnitude of a run; pi for angles of rotations."""
        sizes = np.full(1, np.pi) if self.angle else self._sizes(values[self.dataset])
        return float(np.nanmax(sizes)) if np.isfinite(sizes).any() else 0.0

    def _sizes(self, a: np.ndarray) -> np.ndarray:
        """Magnitudes (n, names) of numbers or vectors."""
        if a.ndim == 3:
            return np.asarray(np.linalg.norm(a[..., slice(*self.part)], axis=-1))
        return np.abs(a[:, None] if a.ndim == 1 else a if self.pick is None else a[:, self.pick])


def _angles(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return angles (n, bodies) between quaternions (n, bodies, 4), exact for small ones."""
    w = np.sum(a * b, axis=-1)
    u, s = a[..., 1:], b[..., 1:]
    axial = a[..., :1] * s - b[..., :1] * u - np.cross(u, s)
    return np.asarray(2.0 * np.arctan2(np.linalg.norm(axial, axis=-1), np.abs(w)))


def outputs(bodies: Sequence[str], joints: Sequence[str], columns: Sequence[ColumnEntry]) -> list[Output]:
    """Return every kind of output of a recording that has values."""
    out = [
        Output("position", "m", "position", tuple(bodies)),
        Output("rotation", "rad", "quat_wxyz", tuple(bodies), angle=True),
        Output("velocity", "m/s", "velocity", tuple(bodies)),
        Output("angular velocity", "rad/s", "angular_velocity", tuple(bodies)),
    ]
    for name, dataset, unit_of in (
        ("coordinate", "joints/coordinate", lambda c: c.unit),
        ("rate", "joints/rate", lambda c: c.rate_unit),
        ("torque", "joints/torque", lambda c: c.torque_unit),
    ):
        for unit in dict.fromkeys(unit_of(c) for c in columns):
            picked = np.array([k for k, c in enumerate(columns) if unit_of(c) == unit])
            out.append(Output(name, unit, dataset, tuple(columns[k].name for k in picked), pick=picked))
    if joints:
        out.append(Output("force of joints", "N", "joints/force", tuple(joints), part=(3, 6)))
        out.append(Output("moment of joints", "N m", "joints/force", tuple(joints)))
    return out + [Output(f"energy {name}", "J", f"energy/{name}", (name,)) for name in ENERGIES]


def common_rows(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of two runs that stand at the same instants; of an event's two rows the second."""
    first, a = np.unique(one[::-1], return_index=True)
    second, b = np.unique(other[::-1], return_index=True)
    _, i, j = np.intersect1d(first, second, assume_unique=True, return_indices=True)
    return len(one) - 1 - a[i], len(other) - 1 - b[j]


def picked(values: Mapping[str, np.ndarray], rows: np.ndarray) -> dict[str, np.ndarray]:
    """Return the rows of every dataset."""
    return {name: array[rows] for name, array in values.items()}


def pose_difference(one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray], length: float) -> np.ndarray:
    """Return (n,) the largest difference of poses, in sizes of the mechanism or radians."""
    position = np.linalg.norm(one["position"] - other["position"], axis=-1).max(axis=1, initial=0.0) / length
    turned = _angles(one["quat_wxyz"], other["quat_wxyz"]).max(axis=1, initial=0.0)
    return np.asarray(np.maximum(position, turned))


def state_difference(one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray], length: float) -> np.ndarray:
    """Return (n,) the largest difference of poses and speeds, in sizes, radians and seconds."""
    speed = np.linalg.norm(one["velocity"] - other["velocity"], axis=-1).max(axis=1, initial=0.0) / length
    spin = np.linalg.norm(one["angular_velocity"] - other["angular_velocity"], axis=-1).max(axis=1, initial=0.0)
    return np.asarray(np.max([pose_difference(one, other, length), speed, spin], axis=0))


@dataclass(frozen=True)
class ErrorBar:
    """The error bar of one kind of output, over the instants until the trajectory is lost.

    bar : its largest; at_end : over the whole run; largest : of the values themselves
    where, time : whose and when
    by_name : name -> bar
    """

    name: str
    unit: str
    bar: float
    at_end: float
    largest: float
    where: str
    time: float
    by_name: dict[str, float] = field(repr=False)
    over_time: np.ndarray = field(repr=False)


def error_bar(
    output: Output, time: np.ndarray, one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray], until: float,
    safety: float = SAFETY,
) -> ErrorBar:  # fmt: skip
    """Return the error bar of one kind of output from a run and its tighter rerun at the same instants."""
    off = safety * np.nan_to_num(output.difference(one, other))
    rows = time <= until
    each = off[rows].max(axis=0, initial=0.0)
    k = int(np.argmax(each)) if each.size else 0
    row = int(np.argmax(off[rows][:, k])) if each.size and rows.any() else 0
    return ErrorBar(
        name=output.name, unit=output.unit, bar=float(each.max(initial=0.0)), at_end=float(off.max(initial=0.0)),
        largest=output.largest(one), where=output.names[k] if output.names else "",
        time=float(time[row]) if len(time) else 0.0,
        by_name=dict(zip(output.names, each.tolist(), strict=True)),
        over_time=np.maximum.accumulate(off.max(axis=1, initial=0.0)),
    )  # fmt: skip


@dataclass(frozen=True)
class Growth:
    """How differences grow with time, measured.

    factor : (n,) largest growth up to each instant of `time`, of a change of speed at the start
    law : "exponential": factor ~ exp(exponent t), exponent in 1/s; "power": factor ~ t^exponent
    lost : s, when the error of a pose passes LOST at the recorded tolerance; extrapolated past the end
    lost_by_roundoff : s, the same for a difference in the last bit, which no tolerance takes away
    """

    time: np.ndarray = field(repr=False)
    factor: np.ndarray = field(repr=False)
    law: str
    exponent: float
    lost: float
    lost_by_roundoff: float


def growth(time: np.ndarray, factor: np.ndarray, error: np.ndarray, size: float) -> Growth:
    """Fit a law to a measured growth, and say when a trajectory is lost.

    Parameters
    ----------
    time : (n,) s
    factor : (n,) growth of the change at the start
    error : (n,) error bar of poses, in sizes or radians
    size : the change at the start; growth to SATURATED of it is not fitted
    """
    factor = np.maximum.accumulate(factor)
    span = float(time[-1] - time[0])
    after = (time > time[0] + EARLY * span) & (factor * size < SATURATED) & (factor > 0.0)
    law, exponent = "power", 0.0
    if after.sum() >= 4:
        y, t = np.log(factor[after]), time[after] - time[0]
        exponent = float(np.polyfit(np.log(t), y, 1)[0])
        if exponent > REGULAR:
            law, exponent = "exponential", float(np.polyfit(t, y, 1)[0])

    def when(now: np.ndarray, last: int) -> float:
        """When a quantity that grows by this law, measured up to a row, passes LOST."""
        past = np.flatnonzero(now[: last + 1] > LOST)
        if len(past):
            return float(time[past[0]])
        if exponent <= 0.0 or now[last] <= 0.0 or time[last] <= time[0]:
            return float("inf")
        more = float(np.log(LOST / now[last])) / exponent
        if law == "exponential":
            return float(time[last] + more)
        return float(time[0] + (time[last] - time[0]) * np.exp(min(more, 700.0)))

    measured = int(np.flatnonzero(factor * size < SATURATED)[-1])
    lost = when(np.maximum.accumulate(error), len(time) - 1)
    return Growth(time, factor, law, exponent, lost, when(factor * ROUNDOFF, measured))
