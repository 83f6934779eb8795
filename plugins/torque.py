"""Torques that are formulas of time and state."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from sim.plugin import Controller, ModelView, parameter


@dataclasses.dataclass(kw_only=True)
class Torque(Controller):
    """Apply torques (forces on slides) that are given by expressions.

    tau_c = expression(t, state) for each column c of a joint, in N m or N, positive along its axis.
    """

    torques: Mapping[str, Any] = parameter(
        kind="expressions",
        unit="N m",
        about="Torque (N on slides) by joint or pattern: an expression, or a list with one for each freedom",
    )

    def start(self, view: ModelView) -> None:
        """Refuse one expression for several freedoms: which of them is meant would be a guess."""
        super().start(view)
        for joint, torque in self.torques.items():
            columns = view.columns[joint]
            freedoms, given = columns.stop - columns.start, len(_listed(torque))
            if given != freedoms:
                raise ValueError(f"torque: joint {joint!r} has {freedoms} freedoms, and {given} expressions were given")

    def expressions(self, view: ModelView) -> Mapping[int, Any]:
        """Return column -> Expression of its torque."""
        return {
            view.columns[joint].start + k: expression
            for joint, torque in self.torques.items()
            for k, expression in enumerate(_listed(torque))
        }


def _listed(torque: Any) -> tuple[Any, ...]:
    return torque if isinstance(torque, tuple) else (torque,)
