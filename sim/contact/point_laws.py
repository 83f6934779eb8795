"""What laws say of the points that touch at an instant: found once for all that a decision asks of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sim.contact.soft_points import SoftPoint
from sim.contact.stops import Point
from sim.mechanism.touch import Touch

if TYPE_CHECKING:
    from sim.mechanism.model import Model

BY_DEPTH = ("resistance", "resistance_at_rest")  # of soft points by how far they are in, which may change


class PointLaws:
    """What the scene's rules, and stops and joints, say of points.

    firmness : a factor of all friction of points
    """

    def __init__(self, model: Model):
        self.model, self.firmness = model, 1.0
        self._frictions: dict[tuple[int, int], tuple[float, float]] = {}
        self._law: Sequence[Point] = ()
        self._known: dict[str, np.ndarray] = {}

    def begin(self, firmness: float) -> None:
        """Begin a decision with another factor of friction, and other points."""
        self.firmness, self._law, self._known = firmness, (), {}

    def of(self, law: Sequence[Point], what: str) -> np.ndarray:
        """Return what a law says of each point; friction in joints, and of soft points, resists without P."""
        if law is not self._law:
            self._law, self._known = law, {}
        if what not in self._known or (what in BY_DEPTH and any(isinstance(one, SoftPoint) for one in law)):
            self._known[what] = self._found(law, what)
        return self._known[what]

    def _found(self, law: Sequence[Point], what: str) -> np.ndarray:
        if what in BY_DEPTH:
            return np.array([0.0 if isinstance(touch, Touch) else getattr(touch, what) for touch in law])
        if what in ("friction", "friction_at_rest"):  # what resists in a joint, or softly, has a bound of its own
            rests = int(what == "friction_at_rest")
            mu = [self.friction(touch)[rests] if isinstance(touch, Touch) else 0.0 for touch in law]
            return self.firmness * np.array(mu)
        rules = self.model.scene.contacts
        says = [rules[touch.rule] if isinstance(touch, Touch) else touch for touch in law]
        return np.array([getattr(one, what) for one in says], float)

    def friction(self, touch: Touch) -> tuple[float, float]:
        """Return Coulomb's coefficients of a point, in motion and at rest."""
        known, pair = self._frictions, (touch.pair, touch.rule)
        if pair not in known:
            known[pair] = self.model.friction(*pair), self.model.friction_at_rest(*pair)
        return known[pair]
