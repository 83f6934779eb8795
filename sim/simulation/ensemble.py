"""Many independent states of one model, followed over all cores: for learning, estimating and sampling controls."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sim.kernels.answers import system_of
from sim.kernels.rollouts import Machine, Motions, roll_out
from sim.kernels.status import Status
from sim.kernels.stepper import AUTO, KEEPS_RATES, MAX_STEP, METHOD, NEXT_SAMPLE, RATE, RTOL, STEP_FIXED, T
from sim.kernels.system import address
from sim.kernels.tables import table
from sim.kernels.watched import ARMED, DISARMED, GUARD, GUARD_STOP, Guards
from sim.mechanism.mechanism import make_control
from sim.mechanism.methods import METHODS, first_turn
from sim.mechanism.model import Model, model_of
from sim.mechanism.workspace import in_one_piece, make_stepper, make_work, with_scratch
from sim.scene import arguments
from sim.scene.problem import Problem, SceneError
from sim.simulation.simulator import Simulator

NEVER = 1 << 60  # number of a sample that no recording reaches
SHARES = 32  # portions of states for each thread.  Fewer: threads wait for the last one.  More: more calls.
# What may be asked for, and the method whose scratch it needs: rk4 stands for those that share theirs.  Where `auto`
# leaves it open, it begins with dop853.
SCRATCH = {
    "dop853": "rk4", "radau": "radau", "auto": "radau", "rk4": "rk4", "semi_implicit": "rk4",
    "variational": "variational",
}  # fmt: skip

REASONS = {
    Status.OK: "",
    Status.STEP_TOO_SMALL: "the step fell too low, so the motion cannot be followed",
    Status.NOT_FINITE: "a number of the state is no longer finite",
    Status.MASS_SINGULAR: "nothing resists the motion of a body in this pose, or what acts on it is no finite number",
    Status.INCONSISTENT: "redundant rows of a loop contradict each other, so no motion continues this one",
    Status.NO_CLOSURE: "a loop cannot be closed",
    Status.NOT_SOLVED: "the equations of a step could not be solved; take a shorter one",
}


@dataclass(frozen=True)
class Rollout:
    """Motions of n states, sampled at the same times.

    Attributes
    ----------
    t : (samples,) ndarray
        Times, s.
    q : (n, samples, nq) ndarray
        Coordinates of the tree (docs/conventions.md); sample 0 is the state given, brought to the constraints.
    v : (n, samples, nv) ndarray
        Rates.
    status : (n,) ndarray of int
        0, or the `sim.kernels.status.Status` with which a motion ended early; q and v are not-a-number from there on.
    reached : (n,) ndarray of int
        The last sample that was reached; -1 where the motion could not begin.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    status: np.ndarray
    reached: np.ndarray

    @property
    def ok(self) -> np.ndarray:
        """(n,) bool: motions that reached the end."""
        return np.asarray(self.status == Status.OK)

    def reason(self, i: int) -> str:
        """Return why motion i ended early, and when; empty where it did not."""
        status = Status(int(self.status[i]))
        if status == Status.OK:
            return ""
        why = REASONS.get(status, status.name)
        if self.reached[i] < 0:
            return f"state {i} cannot begin: {why}"
        return f"state {i} cannot go on after t = {self.t[self.reached[i]]:.9g} s: {why}"


def rollout(
    model: Model, states: Any, controls: npt.ArrayLike | None = None, steps: int | None = None, *,
    dt: float | None = None, start: float = 0.0, method: str | None = None, rtol: float | None = None,
    step: float | None = None, threads: int | None = None,
) -> Rollout:  # fmt: skip
    """Follow many independent states of a model at the same time, on all cores.

    An `Ensemble` does the same again and again without preparing the model each time.

    Parameters
    ----------
    model : Model
        From `sim.compile`.  Loops, springs, dampers, stops, forces, formulas and compiled controllers act;
        events and controllers in plain Python are refused.
    states : (n, nq + nv) or (nq + nv,) array_like, or anything with q (n, nq) and v (n, nv)
        Where motions begin: coordinates and rates of the tree.  They are brought to the constraints.
        A single state begins the motions of all controls.
    controls : (n, steps, columns) array_like, optional
        Torques of joints held over each step, N or N m, in the order of ``model.column_names``; they are added
        to what acts by itself.
    steps : int, optional
        Steps of length dt; those of `controls` when not given.
    dt : float, optional
        s between samples; 1 / ``simulate.record`` of the scene when not given.  Every sample ends a step.
    start : float
        s, time of the first sample, for formulas that know time.
    method : {"dop853", "radau", "auto", "rk4", "semi_implicit", "variational"}, optional
        As `simulate.method` of the scene, which holds when not given.  With "auto" each motion takes "dop853", and
        "radau" where it is found to be stiff.
    rtol, step : float, optional
        Tolerance of these three, and step of the others (s; at most dt); those of the scene when not given.
    threads : int, optional
        All cores that this process may use when not given.

    Returns
    -------
    Rollout
        The same bits whatever `threads` is, and in whichever order the states stand.

    Raises
    ------
    SceneError
        When the scene has events or plain-Python controllers, or cannot be assembled.
    ValueError
        With what was found and what was expected.
    """
    ensemble = Ensemble(model, threads=threads)
    return ensemble.rollout(states, controls, steps, dt=dt, start=start, method=method, rtol=rtol, step=step)


class Ensemble:
    """A model made ready to follow many states: the memory of every thread, and the threads.

    Calls from different threads wait for each other.

    Parameters
    ----------
    model : Model
        From `sim.compile`.
    threads : int, optional
        All cores that this process may use when not given.

    Attributes
    ----------
    nq, nv : int
        Coordinates and rates of the tree.
    columns : tuple of str
        Names of the columns of controls.
    start : (nq + nv,) ndarray
        The state in which the scene starts.

    Raises
    ------
    SceneError
        When the scene has events or plain-Python controllers, or cannot be assembled.
    ValueError
        When there is no thread.
    """

    def __init__(self, model: Model, *, threads: int | None = None):
        self.threads = _cores() if threads is None else arguments.whole("threads", threads, 1)
        model = model_of(model)
        refuse(_events(model))
        refuse(_contacts(model) + _bounded(model))
        self._simulator = Simulator(model)
        refuse(_python(self._simulator))
        self.model, sizes = model, self._simulator.flow.structure.sizes
        self.nq, self.nv, self.columns = sizes.q, sizes.v, model.column_names
        self.start = np.concatenate([self._simulator.flow.q, self._simulator.flow.v])
        self._workers: dict[str, list[Worker]] = {}  # one for each thread, by the method whose scratch they have
        self._hire(self.model.scene.simulate.method)
        self._pool = ThreadPoolExecutor(max(1, self.threads - 1), thread_name_prefix="rollout")
        self._lock = threading.Lock()

    def rollout(
        self, states: Any, controls: npt.ArrayLike | None = None, steps: int | None = None, *,
        dt: float | None = None, start: float = 0.0, method: str | None = None, rtol: float | None = None,
        step: float | None = None,
    ) -> Rollout:  # fmt: skip
        """Follow states; see `rollout`."""
        y = self._states(states)
        torques, count = self._torques(controls), _steps(steps, controls)
        if torques is not None:
            if y.ndim == 1:
                y = np.broadcast_to(y, (len(torques), len(y)))
            if torques.shape[:2] != (len(y), count):
                raise ValueError(
                    f"controls have shape {torques.shape}; expected (states, steps, columns) = "
                    f"{(len(y), count, len(self.columns))}"
                )
        said = self.model.scene.simulate
        span = arguments.positive("dt", 1.0 / said.record if dt is None else dt)
        settings = Settings(
            method=self._method(said.method if method is None else method),
            rtol=arguments.positive("rtol", said.rtol if rtol is None else rtol), longest=said.max_step,
            step=min(arguments.positive("step", said.step if step is None else step), span),
            start=arguments.finite("start", start), acts=torques is not None,
        )  # fmt: skip
        y = np.ascontiguousarray(np.atleast_2d(y))
        n = len(y)
        out = Rollout(
            t=settings.start + span * np.arange(count + 1), q=np.empty((n, count + 1, self.nq)),
            v=np.empty((n, count + 1, self.nv)), status=np.zeros(n, np.int64), reached=np.zeros(n, np.int64),
        )  # fmt: skip
        with self._lock:
            self._follow(y, np.zeros((0, 0, 0)) if torques is None else torques, settings, span, out)
        return out

    def _follow(self, y: np.ndarray, torques: np.ndarray, settings: Settings, dt: float, out: Rollout) -> None:
        """Let every worker take portions of the states until none is left."""
        workers = self._hire(settings.method)
        fresh = workers[0].set(settings)
        portion = max(1, len(y) // (SHARES * self.threads))
        portions = itertools.count(0, portion)  # its next() is one instruction of the interpreter
        going = threading.Event()
        going.set()

        def work(worker: Worker) -> None:
            while going.is_set() and (first := next(portions)) < len(y):
                worker.follow(fresh, y, torques, settings.start, dt, first, min(first + portion, len(y)), out)

        mine, *others = workers[: max(1, min(self.threads, -(-len(y) // portion)))]
        mine.follow(fresh, y, torques, settings.start, dt, 0, 0, out)  # compiles, before the others do
        waiting = [self._pool.submit(work, worker) for worker in others]
        try:
            work(mine)
            for other in waiting:
                other.result()
        finally:
            going.clear()  # where the user interrupts, the others stop after their portion
            wait(waiting)

    def _hire(self, method: str) -> list[Worker]:
        """Return workers with the scratch that a method needs, made when it is first asked for."""
        scratch = SCRATCH[method]
        if scratch not in self._workers:
            self._workers[scratch] = [Worker(self._simulator, METHODS[scratch]) for _ in range(self.threads)]
        return self._workers[scratch]

    # --- what callers give ----------------------------------------------------------------------

    def _states(self, states: Any) -> np.ndarray:
        if hasattr(states, "q") and hasattr(states, "v"):
            q, v = arguments.array("states.q", states.q), arguments.array("states.v", states.v)
            if q.shape[:-1] != v.shape[:-1] or q.shape[-1:] != (self.nq,) or v.shape[-1:] != (self.nv,):
                raise ValueError(
                    f"states.q and states.v have shapes {q.shape} and {v.shape}; expected (n, {self.nq}) and "
                    f"(n, {self.nv})"
                )
            y = np.concatenate([q, v], axis=-1)
        else:
            y = arguments.array("states", states)
        wide = self.nq + self.nv
        if y.ndim not in (1, 2) or y.shape[-1] != wide:
            raise ValueError(
                f"states have shape {y.shape}; expected (n, {wide}) or ({wide},): {self.nq} coordinates and "
                f"{self.nv} rates"
            )
        return y

    def _torques(self, controls: npt.ArrayLike | None) -> np.ndarray | None:
        if controls is None:
            return None
        torques = np.ascontiguousarray(arguments.array("controls", controls))
        if torques.ndim != 3 or torques.shape[2] != len(self.columns):
            raise ValueError(
                f"controls have shape {torques.shape}; expected (states, steps, {len(self.columns)}): a torque for "
                f"each of {_names(self.columns)}"
            )
        absent = ~np.isin(self.model.columns.joint, list(self._simulator.flow.present()))
        if absent.any() and torques[:, :, absent].any():
            names = [name for name, gone in zip(self.columns, absent, strict=True) if gone]
            raise ValueError(f"controls of joints that are not connected have to be zero: {_names(names)}")
        return torques

    def _method(self, name: str) -> str:
        expected = f"expected one of {', '.join(SCRATCH)}"
        if name == "stepping":
            raise ValueError(f"method: 'stepping' is for contacts, which a rollout does not know; {expected}")
        if name not in SCRATCH:
            raise ValueError(f"method: found {name!r}; {expected}")
        constraints = self.model.scene.constraints
        if name == "variational" and constraints:
            raise ValueError(
                f"method: steps of the variational method know no constraints ({constraints[0].name}); take dop853"
            )
        return name


class Settings(NamedTuple):
    """How motions are followed."""

    method: str
    rtol: float
    longest: float  # s
    step: float  # s
    start: float  # s
    acts: bool  # torques are held


class Worker:
    """The memory of one thread: everything that its kernel writes stands in one piece, apart from others'.

    method : the one whose scratch it has
    """

    def __init__(self, simulator: Simulator, method: int):
        flow = simulator.flow
        structure, stops = flow.structure, flow.model.stops
        guards = Guards(table(GUARD, len(stops)), np.zeros(1, np.int64), np.zeros(6, np.int64))
        present = flow.present()
        for i, stop in enumerate(stops):
            guards.table.kind[i], guards.table.owner[i], guards.table.direction[i] = GUARD_STOP, i, 1.0
            guards.table.armed[i] = ARMED if int(stop.joint) in present else DISARMED
        control = make_control(flow.model)._replace(enabled=flow.control.enabled)
        work = with_scratch(make_work(structure.tables, structure.sizes), method, structure)
        self.memory, wholes = in_one_piece(control, work, guards, make_stepper(structure.sizes, len(stops)))
        self.control, self.work, self.guards, stepper = wholes
        self.stepper = stepper._replace(rows=stepper.k.reshape(-1))  # the same numbers
        self.system = system_of(structure.tables, self.control, self.work, self.guards)
        self._row = np.zeros((1, 0))
        self._first = self.memory.copy()

    def set(self, settings: Settings) -> np.ndarray:
        """Return what all that is written holds at the start of a motion."""
        self.memory[:] = self._first
        clock, count = self.stepper.clock, self.stepper.count
        clock[T], clock[RTOL], clock[MAX_STEP] = settings.start, settings.rtol, settings.longest
        clock[STEP_FIXED], clock[RATE] = settings.step, 1.0
        count[AUTO], count[NEXT_SAMPLE] = int(settings.method == "auto"), NEVER
        count[METHOD] = METHODS[first_turn(settings.start, settings.method).method]
        count[KEEPS_RATES] = int(len(self.work.own) > 0)
        self.control.acts[0] = int(settings.acts)
        return self.memory.copy()

    def follow(
        self, fresh: np.ndarray, y: np.ndarray, torques: np.ndarray, start: float, dt: float, first: int, end: int,
        out: Rollout,
    ) -> None:  # fmt: skip
        """Follow the states from `first` to before `end`, without the interpreter's lock."""
        system = self.system
        machine = Machine(
            system.answers, address(system.places), system.reply, self.stepper, self.memory, self._row
        )  # fmt: skip
        motions = Motions(out.q, out.v, out.status, out.reached)
        roll_out(machine, fresh, y, torques, start, dt, first, end, motions)


# --- what is refused ------------------------------------------------------------------------------


def refuse(problems: list[Problem]) -> None:
    """Raise a SceneError when there are problems."""
    if problems:
        raise SceneError(problems)


def _events(model: Model) -> list[Problem]:
    """Return a problem for each event."""
    return [
        Problem(
            where=event.place, path=f"events.{event.name}",
            what="a rollout follows one structure, so it knows no events",
            hint="leave them out: sim.compile(dataclasses.replace(scene, events=()))",
        )
        for event in model.scene.events
    ]  # fmt: skip


def _contacts(model: Model) -> list[Problem]:
    """Return a problem for each rule of contact."""
    return [
        Problem(
            where=rule.place, path=f"contacts.{rule.name}",
            what="a rollout follows one structure, so it knows no contacts that come and go",
            hint="leave them out: sim.compile(dataclasses.replace(scene, contacts=()))",
        )
        for rule in model.scene.contacts
    ]  # fmt: skip


def _bounded(model: Model) -> list[Problem]:
    """Return a problem for each joint with rigid stops or friction."""
    found = []
    for spec in model.joint_specs:
        rigid = spec is not None and spec.limits is not None and spec.limits.stop == "rigid"
        if spec is not None and (rigid or spec.friction):
            key, what = ("limits", "rigid stops") if rigid else ("friction", "friction of joints")
            found.append(
                Problem(
                    where=spec.places.get(key, spec.place), path=f"joints.{spec.name}.{key}",
                    what=f"a rollout follows one structure, so it knows no {what}",
                    hint="take soft stops" if rigid else "take damping",
                )
            )  # fmt: skip
    return found


def _python(simulator: Simulator) -> list[Problem]:
    """Return a problem for each controller in plain Python."""
    controllers = simulator.now.controllers
    uses = [use for use, _ in controllers.plain] + [sampled.use for sampled in controllers.sampled]
    return [
        Problem(
            where=use.place, path=f"controllers.{use.name}",
            what="a rollout runs without the interpreter, and this controller is plain Python",
            hint="give it a compiled `law`, hold its torques by `controls`, or leave it out",
        )
        for use in uses
    ]  # fmt: skip


def _cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _steps(steps: int | None, controls: npt.ArrayLike | None) -> int:
    if steps is not None:
        return arguments.whole("steps", steps, 0)
    if controls is None:
        raise ValueError("steps: say how many, since there are no controls to tell")
    return int(np.shape(controls)[1])


def _names(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (f" ... ({len(names)})" if len(names) > 6 else "")
