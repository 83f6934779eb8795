"""What an instant did at points of contact."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sim.contact.kinetics import Kinetics
from sim.mechanism.mechanism import Mechanism


@dataclass
class Outcome:
    """What an instant did at points of contact.

    struck : names of pairs that collided; pairs : of those whose modes changed
    changed : modes that changed, as text; ended : sequences of collisions that end
    lost : J; given : J, of soft points that begin to touch where they are already in
    failure : why there is no answer, or empty; endless : because decisions follow each other without end
    change : (nv,) of v by impulses, or None; impulse : (rows,) of all rows of `mechanism`, or None
    P : (closed points, 3) N s along n, t1, t2 of what touches, or None; contacts : the same, as recordings tell it
    """

    struck: list[str] = field(default_factory=list)
    pairs: set[str] = field(default_factory=set)
    changed: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    lost: float = 0.0
    given: float = 0.0
    change: np.ndarray | None = None
    impulse: np.ndarray | None = None
    mechanism: Mechanism | None = None
    P: np.ndarray | None = None
    contacts: dict[str, np.ndarray] | None = None
    failure: str = ""
    endless: bool = False

    def keep_books(self, before: float, after: float) -> None:
        """Count what soft points held before that is gone, or hold now and nothing gave [J]: their features changed."""
        self.lost += max(before - after, 0.0)
        self.given += max(after - before, 0.0)

    def carry(self, kinetics: Kinetics, P: np.ndarray) -> np.ndarray:
        """Add impulses P of all points, contacts first, and what joints answer; returns the change of v."""
        change, rows = kinetics.change(P), kinetics.impulses(P)
        of_contacts = P[: 3 * len(kinetics.points)].reshape(-1, 3)
        self.mechanism = kinetics.mechanism
        self.change = change if self.change is None else self.change + change
        self.impulse = rows if self.impulse is None else self.impulse + rows
        self.P = of_contacts if self.P is None else self.P + of_contacts
        return change
