"""The error that ends a run, and what of its sentences needs the model alone."""

from __future__ import annotations

from sim.kernels.status import Status
from sim.mechanism.model import Model
from sim.scene.late import late_formulas


class SimulationError(RuntimeError):
    """A run that cannot go on: when, where, why.

    kept : what was recorded up to then, as a sentence; empty when nothing was
    status : of the kernel that could not go on; NOT_SOLVED where what happens at an instant was not found
    """

    kept: str = ""
    status: Status = Status.NOT_SOLVED


def late_places(model: Model) -> str:
    """Return which formulas read forces, as the subject of a sentence."""
    places = [f"{path} ({formula.place})" for path, formula in late_formulas(model.scene)]
    return ", ".join(places[:4]) + (", ..." if len(places) > 4 else "")


def entangled(t: float, model: Model) -> str:
    """Return that formulas and the forces that they read have not one answer together, in one paragraph."""
    return (
        f"t = {t:.9g} s: {late_places(model)} read forces that depend on what they give, and the two have not one "
        "answer together here: change how strongly they follow the forces"
    )
