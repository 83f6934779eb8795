"""The order of the world: advance to the next time or to the first guard, x- -> x+, record, go on."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sim.assembly.start import Start, check_start
from sim.kernels.tables import FILLED, HALT, Status
from sim.mechanism.mechanism import Mechanism, make_control
from sim.mechanism.model import Model, model_of
from sim.mechanism.structure import build
from sim.scene import arguments
from sim.scene.authored import aside
from sim.scene.problem import SceneError
from sim.simulation import precompile
from sim.simulation.control import Controllers
from sim.simulation.flow import Flow
from sim.simulation.jumps import Happening, Happenings
from sim.simulation.messages import sentence
from sim.simulation.named_state import ByName, Named
from sim.simulation.not_finite import NotFinite, culprit
from sim.simulation.schedule import Agenda
from sim.simulation.simulation_error import SimulationError
from sim.simulation.state import State, check_fits, names_of

if TYPE_CHECKING:
    from sim.simulation.contact_modes import Touching

STEPS_A_CALL = 100  # a kernel call returns after so many steps, so that Ctrl-C and progress work


class Journal(Protocol):
    """Who is told what happens; `sim.simulation.recorded_runs` records it."""

    def rows(self, values: dict[str, np.ndarray], q: np.ndarray, v: np.ndarray) -> None:
        """Take a block of rows and their raw states."""

    def contacts(self, values: dict[str, np.ndarray]) -> None:
        """Take the closed points of contact of the next block of rows, where it has any."""

    def epoch(self, tree: list[str], loops: list[str], nq: int, nv: int) -> None:
        """Begin an epoch."""

    def event(self, happening: Happening) -> None:
        """Take what happened, after its rows x- and x+."""

    def rest(self, take: Callable[[], State], finished: bool = False) -> None:
        """Keep the state from which the run goes on behind what was told, where that is wanted.

        finished : it is that from which a longer run goes on, as steps are shortened from here on, or the run ends
        """


class Simulator:
    """A scene that runs.

    Half-open in time: an event belongs to (t, until].  If a controller or an event fails, the state is
    the one before it, and everything recorded so far is kept.

    Parameters
    ----------
    model : Model
        From `sim.compile`.
    seed : int, optional
        Instead of the scene's.
    journal : Journal, optional
        Who is told of rows and events.

    Raises
    ------
    SceneError
        When the scene cannot be assembled, or a controller refuses it.
    ValueError
        When it is handed anything but a model.
    """

    touching: Touching  # where the scene has contacts, rigid stops or friction of joints

    def __init__(self, model: Model, *, seed: int | None = None, journal: Journal | None = None):
        self.model = model = model_of(model)
        self.seed = model.scene.simulate.seed if seed is None else arguments.whole("seed", seed, 0)
        self.journal = journal
        precompile.prepare()
        if model.pairs:
            precompile.prepare_contacts()
        if model.one_sided and model.scene.simulate.contact != "event":
            precompile.prepare_steps()
        self._start: Start = check_start(model)
        self.reset()

    def reset(self) -> None:
        """Return to the start, structure and controllers included."""
        model, start = self.model, self._start
        mechanism = Mechanism.of(model, start.structure, make_control(model))
        mechanism.control.turn[:] = start.turn
        mechanism.look(start.q, start.v)
        self.controllers = Controllers(model, mechanism, self.seed)
        self.agenda = Agenda.of(model.scene.events)
        self.agenda.state.enabled = _enabled(model)
        self.happenings = Happenings(self)
        programs = self.controllers.programs
        conditions = self.happenings.enter_conditions(programs)
        self._model = replace(model, programs=programs)
        structure = build(self._model, start.frames, model.connected, start.structure.carrier)
        control = mechanism.control._replace(enabled=self.controllers.enabled(), fed=np.zeros(len(programs.late())))
        contacts = None
        if model.scene.contacts or model.one_sided:
            from sim.simulation.contact_modes import Touching  # late: other scenes do not wait for it

            self.touching = Touching(model)
            contacts = self.touching.state
        self.flow = Flow(
            self._model, structure, start.frames, frozenset(model.connected), mechanism, control, conditions, contacts
        )
        self.flow.begin(start.q, start.v, self.agenda)
        self._began = False
        self._told = math.nan  # time of the last row

    # --- the loop -------------------------------------------------------------------------------

    def advance(self, until: float, progress: Callable[[float], None] | None = None) -> None:
        """Run to a time [s].

        Raises
        ------
        SimulationError
            With a sentence: when, where, why.  The state is then the last good one.
        ValueError
            When the time is past: a run goes back by `reset` or `restore` alone.
        """
        until = arguments.seconds("until", until)
        if until < self.t:
            raise ValueError(
                f"until: found {until:.9g} s, and the run is at {self.t:.9g} s; reset() or restore(snapshot) goes back"
            )
        try:
            self._advance(until, progress)
        except NotFinite as error:
            raise self._failure(Status.NOT_FINITE, -1) from error

    def _advance(self, until: float, progress: Callable[[float], None] | None) -> None:
        if not self._began:
            self._began = True
            self._tell_epoch()
            self.happenings.at_start()
        at_end = False  # steps are shortened so that the last one ends there
        while self.t < until:
            due = min(self.agenda.next_time(), self.controllers.next_sample())
            stop = float(min(until, due, self.flow.wrench_end(), self.flow.look_again))
            ahead = stop == until and not at_end
            status, guard = aside(self.flow.advance, stop, STEPS_A_CALL, ahead)  # compiled laws may print
            self._tell_rows()
            if status == Status.GUARD:
                self.happenings.instant()
            elif status == Status.REACHED:
                self.happenings.due()
            elif status != Status.PAUSE and not (
                status in (Status.STEP_TOO_SMALL, Status.JAMMED) and self.happenings.turn_where_steps_are_allowed()
            ):
                raise self._failure(status, guard)
            if ahead:
                at_end = self.flow.stepper.count[HALT] == 0
            if self.journal is not None:
                self.journal.rest(self.snapshot)
                if (ahead and at_end) or self.agenda.state.stopped:
                    self.journal.rest(self.snapshot, finished=True)
            if progress is not None:
                progress(self.t)
            if self.agenda.state.stopped:
                return

    def finish(self) -> None:
        """Record the last row, where no event did."""
        if self._began and self.journal is not None and self._told != self.t:
            self.flow.sample_now()
            self._tell_rows()

    def snapshot(self) -> State:
        """Return all that is needed to go on from now; see `restore`."""
        flow = self.flow
        live = State(
            names=names_of(self.model), connections=flow.connections(), contacts=flow.contacts,
            schedule=self.agenda.state, ledger=flow.ledger,
            controllers={item.use.name: item.state for item in self.controllers.sampled}, pushes=flow.pushes,
            turns=flow.turns, time_stepping=flow.time_stepping, look_again=flow.look_again, room=flow.room,
            began=self._began, last_row=self._told, stepper=flow.stepper, work=flow.remembered(), guards=flow.guards,
            control=flow.control, tables=flow.numbers(),
        )  # fmt: skip
        return live.copy().frozen()

    def restore(self, state: State) -> None:
        """Go back, or on, to where a snapshot was taken, in this run or another one of the same scene.

        What follows is what followed then, to the last bit.

        Raises
        ------
        StateError
            When it does not fit this scene.
        """
        check_fits(state, self.model)
        state = state.copy()
        self.agenda.state = state.schedule
        if state.contacts is not None:
            self.touching.state = state.contacts
        for item in self.controllers.sampled:
            item.state = state.controllers[item.use.name]
        self._began, self._told = state.began, state.last_row
        self.flow.put(state)

    def _failure(self, status: int, index: int) -> SimulationError:
        fault = self.controllers.fault()
        if fault is not None:
            return SimulationError(f"t = {self.t:.9g} s: {fault}")
        return SimulationError(culprit(self.flow, self.controllers) or sentence(status, index, self.flow))

    # --- what is told ---------------------------------------------------------------------------

    def _tell_rows(self) -> None:
        if self.flow.stepper.count[FILLED] == 0:
            return
        if self.journal is None:
            self._told = self.flow.drop_rows()
        else:
            values, q, v, touches = self.flow.take_rows()
            self._told = float(values["time"][-1])
            if touches:
                self.journal.contacts(touches)
            self.journal.rows(values, q, v)

    def _tell_epoch(self) -> None:
        if self.journal is not None:
            s = self.flow.structure
            names = self.model.joint_names
            self.journal.epoch([names[j] for j in s.carrier[1:]], [names[j] for j in s.loops], s.sizes.q, s.sizes.v)

    # --- what callers do ------------------------------------------------------------------------

    def trigger(self, key: str) -> None:
        """Fire the events that wait for a key, now.

        Raises
        ------
        SimulationError
            When no event waits for this key.
        """
        known = self.agenda.keys()
        if key not in known:
            named = ", ".join(map(repr, known)) or "none"
            raise SimulationError(f"no event waits for the key {key!r}; keys of this scene: {named}")
        self.agenda.state.pressed.append(key)
        self.agenda.state.keys += 1
        if not self._began:
            self.advance(self.t)
        self.happenings.due()

    def apply_wrench(
        self, body: str, *, force_W: Any = (0.0, 0.0, 0.0), torque_W: Any = (0.0, 0.0, 0.0), point_W: Any = None,
        duration: float = math.inf,
    ) -> None:  # fmt: skip
        """Apply a constant force [N] and torque [N m] in world axes to a body, from now on.

        The force acts at the body's point that is now at point_W (its origin when not given) and
        moves with it; power counts as input.

        Parameters
        ----------
        body : str
        force_W, torque_W : (3,) N, N m, world axes
        point_W : (3,) m, world axes, optional
        duration : float
            [s] from now.

        Raises
        ------
        SimulationError
            When there is no such body.
        ValueError
            When a force, torque or point is not three finite numbers, or the duration is negative.
        """
        force_W, torque_W = arguments.three("force_W", force_W, "N"), arguments.three("torque_W", torque_W, "N m")
        point_W = None if point_W is None else arguments.three("point_W", point_W, "m")
        duration = arguments.seconds("duration", duration, endless=True)
        self.flow.apply_wrench(self._body(body), force_W, torque_W, point_W, duration)
        if self._began:
            self.happenings.due()

    def _body(self, name: str) -> int:
        if not isinstance(name, str) or name not in self.model.body_names[1:]:
            raise SimulationError(ByName.unknown("body", name, self.model.body_names[1:]))
        return self.model.body_names.index(name)

    # --- state by name --------------------------------------------------------------------------

    @property
    def t(self) -> float:
        """Time [s]."""
        return self.flow.t

    @property
    def q(self) -> np.ndarray:
        """Coordinates of the tree (nq,), a copy: a state for `sim.rollout`, and what recordings keep of each row."""
        return self.flow.q.copy()

    @property
    def v(self) -> np.ndarray:
        """Rates of the tree (nv,), a copy."""
        return self.flow.v.copy()

    @property
    def state(self) -> Named:
        """Everything about the present state, by name."""
        return Named(self.flow)

    def __getattr__(self, name: str) -> Any:
        if name in Named.NAMES:
            return getattr(Named(self.flow), name)
        raise AttributeError(f"Simulator has no attribute {name!r}")


def _enabled(model: Model) -> set[str]:
    """Return the controllers and constraints that are switched on at the start."""
    scene = model.scene
    return {use.name for use in scene.controllers if use.enabled} | {
        one.name for one in scene.constraints if one.active
    }


__all__ = ["SceneError", "SimulationError", "Simulator"]
