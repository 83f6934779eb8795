"""A point of contact, and how it holds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sim.kernels.shapes import OPEN


@dataclass(frozen=True)
class Touch:
    """A point at which two shapes touch: two features, in the axes of the links that the structure has now.

    pair : number of the model's pair of shapes
    rule : number of the scene's contact that it follows
    features : row of TOUCH
    mode : OPEN, STICK, SLIP or CREEP
    slip_W : direction in which it slides, or starts to
    determinate : its force is the only possible one; else one of many, and if it slides, so is the motion
    share : force [N] along the two tangents and the normal that it is to have where forces are not unique
    """

    pair: int
    rule: int
    features: Any
    mode: int = OPEN
    slip_W: tuple[float, float, float] = (0.0, 0.0, 0.0)
    share: tuple[float, float, float] = (0.0, 0.0, 0.0)
    determinate: bool = True

    @cached_property
    def key(self) -> tuple[int, int, int]:
        """Which point it is: the same at all times."""
        first, second = self.features.key.tolist()
        return (self.pair, first, second)

    @cached_property
    def ends(self) -> tuple[int, int]:
        """Links of its two shapes: the first feature's and the second's."""
        first, second = self.features.link.tolist()
        return (first, second)

    @property
    def laid_out(self) -> tuple[int, ...]:
        """What tables of a structure have of it but its features: points with the same have the same rows."""
        return (self.pair, self.rule, self.mode, *self.ends)

    def but(self, **changes: Any) -> Touch:
        """Return the same point with other values of some fields, of which none tells which point it is."""
        other = object.__new__(Touch)
        vars(other).update(vars(self), **changes)  # with what was found out about it: `replace` would not have that
        return other
