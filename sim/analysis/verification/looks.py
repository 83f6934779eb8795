"""Fine looks at what is watched within the steps of a run, for crossings that it passed by.

The steps are those of the run, and so is the motion, to the bit; what is looked at is each condition, gap and stop at
many places of every step.  Twice as fast as it changes about two looks a value is taken to change between them at most:
where that does not clear it there are more looks, up to `MOST` in a step.
"""

from __future__ import annotations

import itertools

import numpy as np

from sim.analysis.verification.keeping import Kept
from sim.analysis.verification.missed import Missed
from sim.kernels.advance import answer
from sim.kernels.guards.allowances import ASTRAY
from sim.kernels.status import Status
from sim.kernels.stepper import STEP
from sim.kernels.system import PROJECT, WATCH, address
from sim.kernels.watched import ARMED, GUARD_GAP, GUARD_PROGRAM, GUARD_STOP
from sim.simulation.simulator import Simulator

WATCHED = (GUARD_PROGRAM, GUARD_STOP, GUARD_GAP)
# m, rad, or of the largest value of a condition: what goes no deeper is not told.
DEEP = 1e-6
ROUGH = 1e-3 * DEEP  # what comes up no further than this at any look is roundoff about zero
LEAST, MOST = 5, 200  # looks in a step
NEAREST = 1e-7  # of a step: looks are no nearer to each other
STEEPER = 2.0  # how much faster a value may change than between two looks
HALVINGS = 40  # of a span in which a crossing is looked for
CLOSER = 12  # thirds of a span in which the deepest place is


class Over(Exception):
    """A crossing that was passed by on purpose is over."""


class Looks:
    """Advances the flow of a simulator step by step, and looks into each.

    Parameters
    ----------
    simulator : Simulator
        From now on it advances through this.
    blind_from : float
        [s] The first guards that fire then or later are passed by, until they are back; then `Over` is raised.

    Attributes
    ----------
    missed : what was passed by and is over
    count : looks so far
    """

    def __init__(self, simulator: Simulator, blind_from: float = np.inf):
        self.simulator, self.flow = simulator, simulator.flow
        self.missed: list[Missed] = []
        self.count = 0
        self._open: dict[int, Missed] = {}  # guard -> what is going on
        self._blind_from, self._blind = blind_from, np.zeros(0, np.int64)
        self._advance = simulator.flow.advance
        simulator.flow.advance = self.advance  # type: ignore[method-assign]

    def advance(self, stop: float, steps: int, halt: bool = False) -> tuple[int, int]:
        """Run the kernel for some steps, looking into each; as `Flow.advance`, but it halts nowhere."""
        flow, status, guard = self.flow, int(Status.PAUSE), -1
        for _ in range(steps):
            y, t, armed = flow.stepper.y.copy(), flow.t, flow.guards.table.armed.copy()
            status, guard = self._advance(stop, 1)
            if flow.t > t:
                self._look(y, t, armed, status == Status.GUARD)
            if status == Status.GUARD and flow.t >= self._blind_from:
                self._pass_by()
                status = int(Status.PAUSE)
            if status != Status.PAUSE or flow.t == t:
                break
        return status, guard

    # --- one step -------------------------------------------------------------------------------

    def _look(self, y: np.ndarray, t: float, armed: np.ndarray, fired: bool) -> None:
        """Look into the step from state y at time t; fired : it ends where a guard has."""
        flow, table = self.flow, self.flow.guards.table
        watched = np.isin(table.kind, WATCHED) & (armed == ARMED) & (table.armed == ARMED)
        watched[self._blind] = True
        which = np.flatnonzero(watched)
        self._close([g for g in self._open if g not in which])
        if not len(which):
            return
        # Decisions on contacts read what was last observed; else nobody trusts what a look leaves behind.
        kept, guards, forces = Kept(flow) if flow.model.one_sided else None, table.copy(), flow.guards.forces.copy()
        try:
            table.armed[self._blind] = ARMED
            flow.guards.forces[0] = any(flow.conditions[g].forces for g in which if table.kind[g] == GUARD_PROGRAM)
            step = _Step(self, y, t, which)
            self._follow(step, fired)
            self.count += len(step.theta)
        finally:
            table[:], flow.guards.forces[:] = guards, forces
            if kept is not None:
                kept.restore()

    def _follow(self, step: _Step, fired: bool) -> None:
        """Go through the looks at a step, and note what crosses zero, how deep it gets, and what is back."""
        theta, values = step.theta, step.values
        last = len(theta) - 1
        for column, g in enumerate(step.which.tolist()):
            v = values[:, column]
            for k, (low, high) in enumerate(itertools.pairwise(v.tolist()), start=1):
                rises = (low < 0.0 <= high or low == 0.0 < high) and not (fired and k == last)
                if g not in self._open and rises and stretch(v, k) > ROUGH * step.scale[column]:
                    at = step.crossing(column, float(theta[k - 1]), float(theta[k]))
                    if at < np.inf:
                        self._open[g] = self._named(g, float(step.t + at * step.h))
                if g in self._open and high >= 0.0:
                    peak = k < last and v[k + 1] <= high
                    deepest = step.deepest(column, *theta[k - 1 : k + 2].tolist()) if peak else high
                    self._open[g].depth = max(self._open[g].depth, deepest)
                elif g in self._open:
                    self._close([g], step.scale[column])

    def _close(self, guards: list[int], scale: float = 1.0) -> None:
        """Keep what was deep enough."""
        for g in guards:
            found = self._open.pop(g)
            if found.depth > DEEP * scale:
                self.missed.append(found)
        if guards and len(self._blind) and not self._open:
            raise Over

    def finish(self) -> list[Missed]:
        """Return all that was passed by, what goes on to the end of the run too."""
        self._blind = self._blind[:0]
        self._close(list(self._open))
        return sorted(self.missed, key=lambda found: found.time)

    def _pass_by(self) -> None:
        """Take no notice of the guards that have just fired."""
        flow, stepper = self.flow, self.flow.stepper
        old, new = stepper.guard_old, stepper.guard_new
        fired = np.flatnonzero(((old < 0.0) & (new >= 0.0)) | ((old == 0.0) & (new > 0.0)))
        fired = fired[np.isin(flow.guards.table.kind[fired], WATCHED)]
        if not len(fired) or len(self._blind):
            raise Over
        self._blind = fired
        flow.guards.table.armed[fired] = 0
        flow.restart()
        for g in fired.tolist():
            self._open[g] = self._named(g, flow.t)

    def _named(self, g: int, time: float) -> Missed:
        """Return what a guard watches."""
        flow, guard = self.flow, self.flow.guards.table[g]
        model = flow.model
        if guard.kind == GUARD_PROGRAM:
            return Missed("condition", flow.conditions[g].event, time, 0.0)
        if guard.kind == GUARD_GAP:
            pair = model.pairs[list(flow.structure.meetings)[guard.owner]]
            solids = (model.solids[n] for n in (pair.first, pair.second))
            return Missed("contact", " and ".join(s.name or model.body_names[s.body] for s in solids), time, 0.0)
        stop = model.stops[guard.owner]
        side, way = ("upper" if stop.side > 0 else "lower"), ("reaches" if guard.direction > 0 else "leaves")
        return Missed("stop", f"{model.joint_names[int(stop.joint)]} {way} its {side} stop", time, 0.0)


class _Step:
    """Looks at a step: places in it as shares, and values (looks, watched guards) there."""

    def __init__(self, looks: Looks, y: np.ndarray, t: float, which: np.ndarray):
        self.flow, self.y, self.t, self.which = looks.flow, y, t, which
        self.h = float(self.flow.stepper.clock[STEP])
        table = self.flow.guards.table[which]
        self.all_values = np.zeros(len(self.flow.guards.table))
        # The value of a gap of which a closed point has left its features, which is no depth.
        self.gaps, self.astray = table.kind == GUARD_GAP, ASTRAY - table.allowed
        self.conditions = table.kind == GUARD_PROGRAM
        end = min((self.flow.t - t) / self.h, 1.0)
        self.theta = np.linspace(0.0, end, LEAST)
        self.values = self.at(self.theta)
        while len(self.theta) < MOST:
            doubted = self._doubted()
            if not len(doubted):
                break
            middle = 0.5 * (self.theta[doubted] + self.theta[doubted + 1])
            self.values = np.insert(self.values, doubted + 1, self.at(middle), axis=0)
            self.theta = np.insert(self.theta, doubted + 1, middle)

    @property
    def scale(self) -> np.ndarray:
        """What depths are shares of (watched guards,): 1 m or rad, or the largest value of a condition."""
        return np.where(self.conditions, np.maximum(np.abs(self.values).max(axis=0), 1.0), 1.0)

    def _doubted(self) -> np.ndarray:
        """Return the looks after which a value may be above zero and back before the next one."""
        width = np.diff(self.theta)[:, None]
        steep = np.pad(np.abs(np.diff(self.values, axis=0)) / width, ((1, 1), (0, 0)))
        most = STEEPER * width * np.maximum(np.maximum(steep[:-2], steep[2:]), steep[1:-1])
        low, high = self.values[:-1], self.values[1:]
        doubted = (low < 0.0) & (high < 0.0) & (most > DEEP * self.scale) & (most >= -low - high) & (width > NEAREST)
        return np.flatnonzero(doubted.any(axis=1))[: MOST - len(self.theta)]

    def at(self, theta: np.ndarray) -> np.ndarray:
        """Return the watched guards' values (looks, guards) at places in the step."""
        states = inside(self.y, self.flow.stepper.dense, theta[:, None])
        return np.array([self._watch(self.t + s * self.h, y) for s, y in zip(theta.tolist(), states, strict=True)])

    def placed(self, theta: float, column: int) -> float:
        """Return one value at a place, on the state that is brought to the constraints."""
        flow, system, t = self.flow, self.flow.system, self.t + theta * self.h
        y = inside(self.y, flow.stepper.dense, theta)
        answer(system.answers, PROJECT, address(system.places), t, y, flow.stepper.error)
        return float(self._watch(t, y)[column])

    def _watch(self, t: float, y: np.ndarray) -> np.ndarray:
        system = self.flow.system
        answer(system.answers, WATCH, address(system.places), t, y, self.all_values)
        out = self.all_values[self.which]
        out[self.gaps & (out == self.astray)] = -DEEP
        return out

    def crossing(self, column: int, low: float, high: float) -> float:
        """Return where a value crosses zero between two looks, on states brought to the constraints; inf: nowhere."""
        if self.placed(high, column) < 0.0:
            return np.inf
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            if self.placed(middle, column) < 0.0:
                low = middle
            else:
                high = middle
        return high

    def deepest(self, column: int, low: float, middle: float, high: float) -> float:
        """Return the largest value between two looks beside a third one that is larger than both."""
        best = self.placed(middle, column)
        for _ in range(CLOSER):
            left, right = low + (high - low) / 3.0, high - (high - low) / 3.0
            a, b = self.placed(left, column), self.placed(right, column)
            best = max(best, a, b)
            low, high = (left, high) if a < b else (low, right)
        return best


def stretch(values: np.ndarray, k: int) -> float:
    """Return the largest of the values from k on until one is negative."""
    below = np.flatnonzero(values[k:] < 0.0)
    return float(values[k : k + int(below[0]) if len(below) else None].max())


def inside(y: np.ndarray, dense: np.ndarray, theta: np.ndarray | float) -> np.ndarray:
    """Return states inside a step from y, by its dense output (7, n); see `integrate.interpolate`."""
    out = np.zeros(1)
    for m in range(len(dense) - 1, -1, -1):
        out = (out + dense[m]) * (theta if m % 2 == 0 else 1.0 - theta)
    return np.asarray(y + out)
