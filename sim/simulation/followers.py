"""Who follows the motions of a rollout, one for each thread: a kernel, or a run where contacts are events.

Both begin every state from the same memory, so that nothing of a motion depends on which states were followed before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sim.kernels.answers import system_of
from sim.kernels.rollouts import Machine, Motions, roll_out
from sim.kernels.status import Status
from sim.kernels.stepper import (
    AUTO,
    KEEPS_RATES,
    MAX_STEP,
    METHOD,
    NEXT_SAMPLE,
    RATE,
    RTOL,
    STEP_FIXED,
    T,
)
from sim.kernels.system import address
from sim.kernels.tables import table
from sim.kernels.watched import ARMED, DISARMED, GUARD, GUARD_STOP, Guards
from sim.mechanism.finding import meetings
from sim.mechanism.mechanism import make_control
from sim.mechanism.methods import METHODS, first_turn
from sim.mechanism.model import Model
from sim.mechanism.rest import rest_of
from sim.mechanism.structure import Structure, build
from sim.mechanism.workspace import in_one_piece, laws_of, make_stepper, make_work, stepping_work, with_scratch
from sim.simulation.flow import EACH, NEVER, ROOM, Flow
from sim.simulation.journal import EventRecord
from sim.simulation.rolled_out import DEPTH, DISSIPATED, IMPACT, INPUT, KINETIC, POTENTIAL
from sim.simulation.simulation_error import SimulationError
from sim.simulation.simulator import Simulator
from sim.simulation.state import State


class Settings(NamedTuple):
    """How motions are followed."""

    method: str
    rtol: float
    longest: float  # s
    step: float  # s
    start: float  # s
    acts: bool  # torques are held


class Task(NamedTuple):
    """What is to be followed: states (n, nq + nv), and torques (n, samples - 1, columns) or none (0, 0, 0)."""

    states: np.ndarray
    torques: np.ndarray
    dt: float  # s, between samples
    motions: Motions
    said: dict[int, str]  # sentences about motions that ended early


class KernelFollower:
    """The memory of one thread: everything that its kernel writes stands in one piece, apart from others'.

    flow : of the start; method : the one whose scratch it has; step : s, of time steps
    """

    def __init__(self, flow: Flow, method: str, step: float = 0.0):
        self._flow, self._method, self._steps = flow, METHODS[method], method == "stepping"
        self._structure = _in_steps(flow, step) if self._steps else flow.structure
        self._room = max(ROOM, EACH * len(flow.model.solids)) if self._steps else 0  # presses of a time step
        self._settings: Settings | None = None
        self._lay_out()

    def _lay_out(self) -> None:
        model, structure = self._flow.model, self._structure
        stops = model.stops[:0] if self._steps else model.stops  # in time steps they press
        guards = Guards(table(GUARD, len(stops)), np.zeros(1, np.int64), np.zeros(6, np.int64))
        present = self._flow.present()
        for i, stop in enumerate(stops):
            guards.table.kind[i], guards.table.owner[i], guards.table.direction[i] = GUARD_STOP, i, 1.0
            guards.table.armed[i] = ARMED if int(stop.joint) in present else DISARMED
        control = make_control(model)._replace(enabled=self._flow.control.enabled)
        work = with_scratch(make_work(structure.tables, structure.sizes), self._method, structure)
        if self._steps:
            work = work._replace(**stepping_work(structure.tables, self._room, 0, structure.sizes.v))
            work.laws[:] = laws_of(model, structure)
            work.rest[:] = rest_of(structure.tables, work.laws)
        self._memory, wholes = in_one_piece(control, work, guards, make_stepper(structure.sizes, len(stops)))
        self._control, self._work, guards, stepper = wholes
        self._stepper = stepper._replace(rows=stepper.k.reshape(-1))  # the same numbers
        self._system = system_of(structure.tables, self._control, self._work, guards)
        self._row = np.zeros((1, 0))
        self._first = self._memory.copy()

    def set(self, settings: Settings) -> None:
        """Let motions be followed so from now on."""
        self._settings = settings
        self._memory[:] = self._first
        clock, count = self._stepper.clock, self._stepper.count
        clock[T], clock[RTOL], clock[MAX_STEP] = settings.start, settings.rtol, settings.longest
        clock[STEP_FIXED], clock[RATE] = settings.step, 1.0
        count[AUTO], count[NEXT_SAMPLE] = int(settings.method == "auto"), NEVER
        count[METHOD] = METHODS[first_turn(settings.start, settings.method).method]
        count[KEEPS_RATES] = int(len(self._work.own) > 0)
        self._control.acts[0] = int(settings.acts)
        self._fresh = self._memory.copy()

    def follow(self, task: Task, first: int, end: int) -> None:
        """Follow the states from `first` to before `end`, without the interpreter's lock.

        A motion in which more presses than there is room for begins anew with twice the room, which changes no bit.
        """
        assert self._settings is not None
        while True:
            system = self._system
            machine = Machine(
                system.answers, address(system.places), system.reply, self._stepper, self._memory, self._row
            )  # fmt: skip
            first = roll_out(
                machine, self._fresh, task.states, task.torques, self._settings.start, task.dt, first, end, task.motions
            )
            if first >= end:
                return
            self._room *= 2
            self._lay_out()
            self.set(self._settings)


def _in_steps(flow: Flow, step: float) -> Structure:
    """Return the structure of the start in time steps of a length [s]: what may meet, and what steps add to inertia."""
    model = replace(flow.model, step=step)
    rules = meetings(flow.mechanism, [rule.active for rule in model.scene.contacts])
    return build(model, flow.frames, flow.active, flow.structure.carrier, (), rules)


class Collisions:
    """A journal that sums the impulses of collisions by the rules of their pairs, and keeps nothing else.

    impulse : (rules, 3) N s, world axes, on the bodies that each rule names first
    """

    def __init__(self, simulator: Simulator):
        self._simulator = simulator
        self.impulse = np.zeros((len(simulator.model.scene.contacts), 3))

    def rows(self, values: dict[str, np.ndarray], q: np.ndarray, v: np.ndarray) -> None:
        """Take a block of rows."""

    def contacts(self, values: dict[str, np.ndarray]) -> None:
        """Take the points of contact of rows."""

    def epoch(self, tree: list[str], loops: list[str], nq: int, nv: int) -> None:
        """Take an epoch."""

    def event(self, record: EventRecord) -> None:
        """Add the impulses of a collision."""
        if record.contacts is None:
            return
        pairs, meeting = self._simulator.model.pairs, self._simulator.flow.structure.meetings
        for pair, impulse in zip(record.contacts["pair"].tolist(), record.contacts["impulse"], strict=True):
            rule = meeting[pair]
            self.impulse[rule] += impulse if rule in pairs[pair].turned else -impulse

    def rest(self, take: object, finished: bool = False, stopped: bool = False) -> None:
        """Keep no state."""


class RunFollower:
    """A run of one thread, which every state begins anew."""

    def __init__(self, model: Model):
        self._simulator = Simulator(model)
        self._begin: State = self._simulator.snapshot()
        self._start = 0.0

    def set(self, settings: Settings) -> None:
        """Let motions begin so from now on."""
        self._start = settings.start

    def follow(self, task: Task, first: int, end: int) -> None:
        """Follow the states from `first` to before `end`."""
        for s in range(first, end):
            task.motions.reached_out[s], task.motions.status_out[s] = -1, Status.OK
            try:
                self._follow_one(task, s)
            except SimulationError as error:
                task.motions.status_out[s], task.said[s] = error.status, str(error)
            for told in task.motions:
                if told.ndim > 1:
                    told[s, task.motions.reached_out[s] + 1 :] = np.nan

    def _follow_one(self, task: Task, s: int) -> None:
        run, motions = self._simulator, task.motions
        run.restore(self._begin)
        run.journal = collisions = Collisions(run) if motions.law_out.shape[1] else None
        run.begin_at(task.states[s], self._start)
        for k in range(motions.q_out.shape[1]):
            if task.torques.shape[1]:
                run.hold(task.torques[s, max(k - 1, 0)])
            run.advance(self._start + k * task.dt)
            motions.q_out[s, k], motions.v_out[s, k] = run.flow.q, run.flow.v
            self._tell(motions, s, k, collisions)
            motions.reached_out[s] = k

    def _tell(self, motions: Motions, s: int, k: int, collisions: Collisions | None) -> None:
        """Tell what is asked for beside the state."""
        flow = self._simulator.flow
        if not (motions.energy_out.shape[1] or collisions):
            return
        flow.observe()
        if motions.energy_out.shape[1]:
            energies, out = flow.energies(), motions.energy_out[s, k]
            out[KINETIC], out[POTENTIAL] = energies["kinetic"], energies["potential"]
            out[DISSIPATED], out[IMPACT], out[INPUT] = energies["dissipated"], energies["impact"], energies["input"]
        if collisions:
            motions.force_out[s, k], motions.impulse_out[s, k] = flow.work.rules.force, collisions.impulse
            collisions.impulse[:] = 0.0
            motions.law_out[s, k, DEPTH] = self._simulator.now.depth()
