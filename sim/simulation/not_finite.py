"""Which controller, formula or motion gave what is no finite number, where a run ends of it.

One number that is not finite spoils all others within a stage, so that a failed step does not tell where it came from.
Here every source is asked once more by itself, at the last state that was accepted and along its slope, as far as the
failed step went: the first that answers with no finite number to a state of finite ones is it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from sim.kernels import jets
from sim.kernels.programs import evaluate
from sim.kernels.project import add_freedoms
from sim.kernels.scratch import ROW_WORK
from sim.kernels.stepper import STEP_FIXED, H
from sim.kernels.system import address
from sim.kernels.tables import table
from sim.mechanism.methods import FIXED
from sim.simulation.control import ControllerFault

if TYPE_CHECKING:
    from sim.scene.spec import Expression
    from sim.simulation.control import Controllers
    from sim.simulation.flow import Flow

# m, rad or per second: what is beyond has run away by itself, and formulas overflow of it.
RUN_AWAY = 1e100
SHARES = (0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 1.0, 2.0, 10.0)  # of a failed step, where sources are asked


class NotFinite(ArithmeticError):
    """Accelerations of an instant are no finite numbers; `culprit` tells what made them so."""


def culprit(flow: Flow, controllers: Controllers) -> str:
    """Return a sentence on the source of what is not finite near the last accepted state; empty where there is none."""
    with np.errstate(all="ignore"):
        for t, q, v in _states(flow):
            found = _at(flow, controllers, t, q, v)
            if found:
                return f"t = {t:.9g} s: {found}"
    return ""


def _states(flow: Flow) -> Iterator[tuple[float, np.ndarray, np.ndarray]]:
    """Yield time and state at the last accepted state and beyond, as far as all of it is finite."""
    n, clock = flow.structure.sizes, flow.stepper.clock
    h = float(clock[STEP_FIXED] if flow.method in FIXED else clock[H])
    h = max(h, 4.0 * np.spacing(abs(flow.t)))
    for share in SHARES[:7] if flow.method in FIXED else SHARES:
        q, v, slope = flow.q.copy(), flow.v.copy(), flow.stepper.k[0, n.q : n.q + n.v]
        add_freedoms(flow.structure.tables.links, v, share * h, q)
        if np.all(np.abs(slope) < RUN_AWAY):
            v += share * h * slope
        if not (np.all(np.abs(q) < RUN_AWAY) and np.all(np.abs(v) < RUN_AWAY)):
            return
        yield flow.t + share * h, q, v
    if flow.method == "radau":
        yield from _beside(flow)


def _beside(flow: Flow) -> Iterator[tuple[float, np.ndarray, np.ndarray]]:
    """Yield the states whose differences the implicit method takes, as long as these are."""
    from sim.kernels.integrators.radau import DIFFERENCE  # loaded where it steps

    linear = np.asarray(flow.structure.tables.freedoms.linear, bool)
    size = np.maximum(DIFFERENCE * np.where(linear, flow.model.length, 1.0), DIFFERENCE * np.abs(flow.v))
    for k in range(len(size)):
        q, step = flow.q.copy(), np.zeros(len(size))
        step[k] = size[k]
        add_freedoms(flow.structure.tables.links, step, 1.0, q)
        yield flow.t, q, flow.v.copy()


def _at(flow: Flow, controllers: Controllers, t: float, q: np.ndarray, v: np.ndarray) -> str:
    """Return what gives no finite number at a state; empty where nothing does."""
    found = _motion(flow, t)
    if found:
        return found
    flow.mechanism.t = t
    flow.mechanism.update(q, v)
    for array in (flow.work.torque, flow.work.joints.force, flow.work.rules.force):
        array[~np.isfinite(array)] = 0.0  # what failed stages left
    return _formula(flow, controllers, t) or _law(flow, controllers, t) or _wrench(flow, t)


def _motion(flow: Flow, t: float) -> str:
    """Look at the motions of driven joints."""
    tables = flow.structure.tables
    driven = np.flatnonzero(np.asarray(tables.rows.motion) >= 0)
    if not len(driven):
        return ""
    work = table(ROW_WORK, len(tables.rows))
    jets.drive(tables.rows, tables.codes, tables.constants, tables.programs, t, np.zeros((64, 3)), work)
    for row in driven:
        for what, value in zip(("value", "rate", "acceleration"), work.want[row], strict=True):
            if not np.isfinite(value):
                column = int(tables.rows.column[row])
                said = _said(flow.model.programs.sources.get(int(tables.rows.motion[row])))
                return (
                    f"the motion of {_column(flow, column)} has {value} for its {what}{said}{_beyond(flow, int(row))}"
                )
    return ""


def _beyond(flow: Flow, row: int) -> str:
    """Return when the tables of a driven row tell something, where it has some."""
    formula = flow.model.programs.sources.get(int(flow.structure.tables.rows.motion[row]))
    return f"; {formula.spans}" if formula is not None and formula.spans else ""


def _formula(flow: Flow, controllers: Controllers, t: float) -> str:
    """Look at controllers that are formulas."""
    laws, named = len(controllers.programs.laws), controllers.names()
    for n, (program, column) in enumerate(controllers.programs.applied):
        if flow.control.enabled[laws + n]:
            value = _value(flow, program, t)
            if not np.isfinite(value):
                said = _said(controllers.programs.sources.get(program))
                return f"controller {named[laws + n]!r} gives {value} to {_column(flow, column)}{said}"
    return ""


def _law(flow: Flow, controllers: Controllers, t: float) -> str:
    """Look at controllers that are functions."""
    for slot, (use, law) in enumerate(controllers.laws):
        if flow.control.enabled[slot]:
            torque = np.zeros(len(flow.model.columns))
            try:
                law(t, torque)
            except ControllerFault as fault:
                return str(fault)
            for column in np.flatnonzero(~np.isfinite(torque)):
                return f"controller {use.name!r} ({use.place}) gives {torque[column]} to {_column(flow, int(column))}"
    return ""


def _wrench(flow: Flow, t: float) -> str:
    """Look at the formulas of wrenches."""
    for named, programs in zip(flow.model.scene.forces, flow.model.forces.programs, strict=True):
        for k, program in enumerate(programs):
            if program >= 0:
                value = _value(flow, int(program), t)
                if not np.isfinite(value):
                    what = f"{'xyz'[k % 3]} of its {'torque' if k < 3 else 'force'}"
                    said = _said(flow.model.programs.sources.get(int(program)))
                    return f"wrench {named.name!r} has {value} for {what}{said}"
    return ""


def _value(flow: Flow, program: int, t: float) -> float:
    """Return the value of a program at the state that the scratch holds."""
    out = np.zeros(1)
    evaluate(address(flow.system.places), np.array([program], np.int64), t, out)
    return float(out[0])


def _column(flow: Flow, column: int) -> str:
    return f"joint {flow.model.column_names[column]!r}"


def _said(expression: Expression | None) -> str:
    """Return the formula and its place."""
    return "" if expression is None else f": {expression.text} ({expression.place})"


__all__ = ["NotFinite", "culprit"]
