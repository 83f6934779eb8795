"""A run as it is now: its state and its structure, laid out for kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from sim.assembly.start import Start, check_start
from sim.mechanism.formula_programs import Condition, Programs
from sim.mechanism.mechanism import Mechanism, make_control
from sim.mechanism.model import Model
from sim.mechanism.structure import build
from sim.simulation.control import Controllers
from sim.simulation.flow import Flow
from sim.simulation.journal import Epoch, Jump, RowBlock
from sim.simulation.schedule import Scheduler
from sim.simulation.spending import Spending
from sim.simulation.state import State, check_fits, names_of

if TYPE_CHECKING:
    from sim.simulation.contact_modes import ContactModes
    from sim.simulation.state import Schedule


@dataclass
class Present:
    """A run as it is now; `state` is it as a value.

    model : with the formulas of events and controllers entered
    flow : state and structure of the motion, and what advances it
    decider : decides on contacts, where the scene has contacts, rigid stops or friction of joints
    began : what is due at the start has happened
    crossed : guards have crossed zero, and what is due there has not happened
    last_row : time of the last row that was told [s], not-a-number before it
    spending : what contacts as events have cost of late
    """

    model: Model
    flow: Flow
    scheduler: Scheduler
    controllers: Controllers
    decider: ContactModes | None
    began: bool = False
    crossed: bool = False
    last_row: float = math.nan
    spending: Spending = field(default_factory=Spending)

    @classmethod
    def of(cls, model: Model, seed: int | None = None, start: Start | None = None) -> Present:
        """Return a run where it starts, as it was assembled.

        Raises
        ------
        SceneError
            When the scene cannot be assembled, or a controller refuses it.
        """
        start = check_start(model) if start is None else start
        mechanism = Mechanism.of(model, start.structure, make_control(model))
        mechanism.control.turn[:] = start.turn
        mechanism.update(start.q, start.v)
        controllers = Controllers(model, mechanism, model.scene.simulate.seed if seed is None else seed)
        scheduler = Scheduler.of(model.scene.events)
        scheduler.state.enabled = _enabled(model)
        programs = controllers.programs
        conditions = _conditions(model, programs)
        model = replace(model, programs=programs)
        structure = build(model, start.frames, model.connected, start.structure.carrier)
        control = mechanism.control._replace(enabled=controllers.enabled(), fed=np.zeros(len(programs.late())))
        decider = None
        if model.scene.contacts or model.one_sided:
            from sim.simulation.contact_modes import ContactModes  # late: other scenes do not wait for it

            decider = ContactModes(model)
        flow = Flow(
            model, structure, start.frames, frozenset(model.connected), mechanism, control, conditions,
            None if decider is None else decider.state,
        )  # fmt: skip
        flow.begin(start.q, start.v, scheduler)
        controllers.flow = flow
        return cls(model, flow, scheduler, controllers, decider)

    @property
    def contact_modes(self) -> ContactModes:
        """What decides on contacts, where there is something to decide."""
        assert self.decider is not None
        return self.decider

    @property
    def schedule(self) -> Schedule:
        """What has happened, and what is due."""
        return self.scheduler.state

    def depth(self) -> float:
        """Return how deep shapes overlap now at most that do not give way [m]."""
        contacts = self.model.scene.contacts
        if self.decider is None or not self.flow.structure.meetings:
            return 0.0
        self.flow.update()
        touches, gaps = self.decider.found.closed(self.flow.system, self.flow.structure.meetings)
        rigid = [gap for touch, gap in zip(touches, gaps, strict=True) if contacts[touch.rule].soft is None]
        return max([0.0, *(-gap for gap in rigid)])

    # --- as a value -----------------------------------------------------------------------------

    def state(self) -> State:
        """Return all that is needed to go on from now."""
        flow = self.flow
        live = State(
            names=names_of(self.model), connections=flow.connections(), contacts=flow.contacts,
            schedule=self.schedule, ledger=flow.ledger, spending=self.spending,
            controllers={item.use.name: item.state for item in self.controllers.sampled}, pushes=flow.pushes,
            turns=flow.turns, time_stepping=flow.time_stepping, look_again=flow.look_again, room=flow.room,
            began=self.began, crossed=self.crossed, last_row=self.last_row, stepper=flow.stepper,
            work=flow.remembered(), guards=flow.guards, control=flow.control, tables=flow.numbers(),
        )  # fmt: skip
        return live.copy().frozen()

    def put(self, state: State) -> None:
        """Take over a copy of a state, in this run or in another one of the same scene.

        Raises
        ------
        StateError
            When it does not fit this scene.
        """
        check_fits(state, self.model)
        state = state.copy()
        self.scheduler.state = state.schedule
        if state.contacts is not None:
            self.contact_modes.state = state.contacts
        for item in self.controllers.sampled:
            item.state = state.controllers[item.use.name]
        self.began, self.crossed, self.last_row = state.began, state.crossed, state.last_row
        self.spending = state.spending
        self.flow.put(state)

    # --- what is told ---------------------------------------------------------------------------

    def rows(self, jump: Jump) -> None:
        """Tell of the rows that were filled since the last call."""
        if not self.flow.filled:
            return
        if jump.listened:
            block = RowBlock(*self.flow.take_rows())
            self.last_row = float(block.values["time"][-1])
            jump.reports.append(block)
        else:
            self.last_row = self.flow.drop_rows()

    def sample_now(self, jump: Jump) -> None:
        """Tell of the present state as a row, after those before it."""
        self.flow.sample_now()
        self.rows(jump)

    def go_on(self, jump: Jump) -> None:
        """Tell of the present tree and state, where a recording begins amid a run."""
        jump.reports.append(self.epoch())
        self.sample_now(jump)

    def epoch(self) -> Epoch:
        """Return the present tree, by name."""
        structure, names = self.flow.structure, self.model.joint_names
        tree, loops = [names[j] for j in structure.carrier[1:]], [names[j] for j in structure.loops]
        return Epoch(tree, loops, structure.sizes.q, structure.sizes.v)


def _conditions(model: Model, programs: Programs) -> list[Condition]:
    """Compile every `when:` into the tables."""
    out = []
    for event in model.scene.events:
        if event.when is not None:
            program = programs.enter(event.when)
            out.append(Condition(event.name, program, programs.reads_forces(program), programs.forces_of(program)))
    return out


def _enabled(model: Model) -> set[str]:
    """Return the controllers and constraints that are switched on at the start."""
    scene = model.scene
    return {use.name for use in scene.controllers if use.enabled} | {
        one.name for one in scene.constraints if one.active
    }
