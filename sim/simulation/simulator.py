"""The order of the world: advance to the next time or to the first guard, x- -> x+, record, go on."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from sim.assembly.start import Start, check_start
from sim.kernels.status import Status
from sim.kernels.stepper import HALT
from sim.mechanism.model import Model, model_of
from sim.scene import arguments
from sim.scene.authored import aside
from sim.scene.problem import SceneError
from sim.simulation import precompile
from sim.simulation.flow import Flow
from sim.simulation.journal import Journal, Jump
from sim.simulation.jumps import jam, serve, turn_to_steps
from sim.simulation.messages import sentence
from sim.simulation.named_state import ByName, Named, ReadByName
from sim.simulation.not_finite import NotFinite, culprit
from sim.simulation.present import Present
from sim.simulation.simulation_error import SimulationError
from sim.simulation.state import State

T = TypeVar("T")

STEPS_A_CALL = 100  # a kernel call returns after so many steps, so that Ctrl-C and progress work


class Simulator(ReadByName):
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
        self.now = Present.of(self.model, self.seed, self._start)

    def begin_at(self, y: np.ndarray, t: float) -> None:
        """Begin at other coordinates and rates of the tree (nq + nv,), brought to the constraints, and at a time [s].

        Of a run that has not begun.

        Raises
        ------
        SimulationError
            When a number is not finite, or loops cannot be closed.
        """
        flow = self.flow
        if not np.isfinite(y).all():
            raise self.failure(Status.NOT_FINITE, -1)
        flow.begin_at(y, t, self.now.scheduler)
        status = flow.close()
        if status != Status.OK:
            raise self.failure(status, int(flow.work.one.worst[0]))
        flow.begin_at(np.concatenate([flow.q, flow.v]), t, self.now.scheduler)

    def hold(self, torque: np.ndarray) -> None:
        """Hold torques of joints (columns,) [N or N m] from now on, as sampled controllers do; nothing else is held."""
        if self.flow.hold(torque) and self.now.began:
            self._jump(serve)

    @property
    def flow(self) -> Flow:
        """State and structure of the motion, laid out for kernels."""
        return self.now.flow

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
        self._advance(until, progress)

    def _advance(self, until: float, progress: Callable[[float], None] | None) -> None:
        now = self.now
        if not now.began:
            self._jump(serve)
        at_end = False  # steps are shortened so that the last one ends there
        while self.t < until:
            due = min(now.scheduler.next_time(), now.controllers.next_sample())
            stop = float(min(until, due, now.flow.wrench_end(), now.flow.look_again))
            ahead = stop == until and not at_end
            status, guard = aside(now.flow.advance, stop, STEPS_A_CALL, ahead)  # compiled laws may print
            now.crossed = status == Status.GUARD
            self._tell_rows()
            if status in (Status.GUARD, Status.REACHED):
                self._jump(serve)
            elif status != Status.PAUSE and not (
                status in (Status.STEP_TOO_SMALL, Status.JAMMED) and (self._jump(jam) or self._jump(turn_to_steps))
            ):
                raise self.failure(status, guard)
            if ahead:
                at_end = now.flow.stepper.count[HALT] == 0
            if self.journal is not None:
                self.journal.rest(self.snapshot)
                if (ahead and at_end) or now.schedule.stopped:
                    self.journal.rest(self.snapshot, finished=True)
            if progress is not None:
                self._pause(progress)
            if now.schedule.stopped:
                return

    def _pause(self, progress: Callable[[float], None]) -> None:
        """Tell the caller of the time; whatever it raises, the run can go on from here."""
        try:
            progress(self.t)
        except BaseException:  # Ctrl-C, too, which waits for this
            if self.journal is not None:
                self.journal.rest(self.snapshot, stopped=True)
            raise

    def _jump(self, change: Callable[[Present, Jump], T]) -> T:
        """Let an instant change the run, and tell of it, of what it did before it failed, too."""
        jump = Jump(self.journal is not None)
        try:
            return change(self.now, jump)
        except NotFinite as error:
            raise self.failure(Status.NOT_FINITE, -1) from error
        finally:
            if self.journal is not None:
                jump.tell(self.journal)

    def finish(self) -> None:
        """Record the last row, where no event did."""
        if self.now.began and self.journal is not None and self.now.last_row != self.t:
            self._jump(Present.sample_now)

    def go_on(self) -> None:
        """Begin to record amid a run, with the tree and a row of the state that was restored."""
        if self.now.began and self.journal is not None:
            self._jump(Present.go_on)

    def snapshot(self) -> State:
        """Return all that is needed to go on from now; see `restore`."""
        return self.now.state()

    def restore(self, state: State) -> None:
        """Go back, or on, to where a snapshot was taken, in this run or another one of the same scene.

        What follows is what followed then, to the last bit.

        Raises
        ------
        StateError
            When it does not fit this scene.
        """
        self.now.put(state)

    def failure(self, status: int, index: int) -> SimulationError:
        """Return why the flow ended with a status, and what its index names, as an error to raise."""
        fault = self.now.controllers.fault()
        if fault is not None:
            return SimulationError(f"t = {self.t:.9g} s: {fault}")
        error = SimulationError(culprit(self.flow, self.now.controllers) or sentence(status, index, self.flow))
        error.status = Status(status)
        return error

    def _tell_rows(self) -> None:
        if self.flow.filled:
            self._jump(Present.rows)

    # --- what callers do ------------------------------------------------------------------------

    def trigger(self, key: str) -> None:
        """Fire the events that wait for a key, now.

        Raises
        ------
        SimulationError
            When no event waits for this key.
        """
        known = self.now.scheduler.keys()
        if key not in known:
            named = ", ".join(map(repr, known)) or "none"
            raise SimulationError(f"no event waits for the key {key!r}; keys of this scene: {named}")
        self.now.schedule.pressed.append(key)
        self.now.schedule.keys += 1
        self._jump(serve)

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
        if self.now.began:
            self._jump(serve)

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


__all__ = ["SceneError", "SimulationError", "Simulator"]
