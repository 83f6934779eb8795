"""Torques that are formulas of time and state."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from sim.plugin import Controller, ModelView, parameter


@dataclasses.dataclass(kw_only=True)
class Torque(Controller):
    """Apply a torque (a force on slides) that is given by an expression.

    tau_j = expression(t, state), in N m or N, positive along the joint's axis.
    """

    torques: Mapping[str, Any] = parameter(
        kind="expressions",
        unit="N m",
        about="Torque of each joint with one freedom (N on slides): joint or pattern to expression",
    )

    def start(self, view: ModelView) -> None:
        """Refuse joints with more than one freedom: which of their axes is meant would be a guess."""
        super().start(view)
        for joint in self.torques:
            columns = view.columns[joint]
            freedoms = columns.stop - columns.start
            if freedoms != 1:
                raise ValueError(f"torque: joint {joint!r} has {freedoms} freedoms; expected a joint with one")

    def expressions(self, view: ModelView) -> Mapping[int, Any]:
        """Return column -> Expression of its torque."""
        return {view.columns[joint].start: expression for joint, expression in self.torques.items()}
