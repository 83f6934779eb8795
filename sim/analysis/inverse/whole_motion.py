"""A motion of a mechanism frame by frame, from a table of joints and points or from a recording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from sim.mechanism.mechanism import Mechanism


class MotionError(ValueError):
    """A motion that a scene cannot follow; the message names the file, the column and the row."""


@dataclass(frozen=True)
class Smoothed:
    """What became of one column.

    name : as it is written; unit : of the residual
    cutoff : Hz of the filter, None without one
    residual : rms of what the filter took away
    missed : how far the mechanism is from it at the most, as loops, limits and other columns do not let it
    """

    name: str
    unit: str
    cutoff: float | None
    residual: float
    missed: float = 0.0


@dataclass(frozen=True)
class Motion:
    """Frames of one structure.

    Attributes
    ----------
    mechanism : Mechanism
        Whose coordinates these are.
    time : (frames,) s
    q, v, acceleration : (frames, nq), (frames, nv), (frames, nv)
        Of the tree, with loops closed.
    columns : tuple of Smoothed
        Of the columns that it was made of; nothing of a recording.
    external : Mapping of names to (frames, k)
        What acts from outside: wrenches on bodies and points, torques on joints, as `inverse_dynamics` takes them.
    wrenches : (frames, forces, 6) or None
        What the scene's forces do, where it has any that act at points.
    notes : tuple of str
        What a person may want to know of how it was read.
    """

    mechanism: Mechanism
    time: np.ndarray
    q: np.ndarray
    v: np.ndarray
    acceleration: np.ndarray
    columns: tuple[Smoothed, ...] = ()
    external: Mapping[str, np.ndarray] = field(default_factory=dict)
    wrenches: np.ndarray | None = None
    notes: tuple[str, ...] = ()
