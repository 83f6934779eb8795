"""Many independent states of one model, followed over all cores: for learning, estimating and sampling controls."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from sim.mechanism.model import Model, model_of
from sim.scene import arguments
from sim.scene.problem import Problem, SceneError
from sim.scene.spec import Simulate
from sim.simulation import precompile
from sim.simulation.followers import KernelFollower, RunFollower, Settings, Task
from sim.simulation.rolled_out import ContactsOf, Rollout, found, room_for
from sim.simulation.simulator import Simulator

SHARES = 32  # portions of states for each thread.  Fewer: threads wait for the last one.  More: more calls.
# What may be asked for, and the method whose scratch it needs: rk4 stands for those that share theirs.  Where `auto`
# leaves it open, it begins with dop853.
SCRATCH = {
    "dop853": "rk4", "radau": "radau", "auto": "radau", "rk4": "rk4", "semi_implicit": "rk4",
    "variational": "variational",
}  # fmt: skip
CONTACT = ("event", "stepping", "auto")  # how contacts are resolved


def rollout(
    model: Model, states: Any, controls: npt.ArrayLike | None = None, steps: int | None = None, *,
    dt: float | None = None, start: float = 0.0, contact: str | None = None, method: str | None = None,
    rtol: float | None = None, step: float | None = None, energies: bool = False, contacts: bool = False,
    threads: int | None = None,
) -> Rollout:  # fmt: skip
    """Follow many independent states of a model at the same time, on all cores.

    An `Ensemble` does the same again and again without preparing the model each time.

    Parameters
    ----------
    model : Model
        From `sim.compile`.  Loops, springs, dampers, stops, contacts, friction, forces, formulas and compiled
        controllers act; events and controllers in plain Python are refused.
    states : (n, nq + nv) or (nq + nv,) array_like, or anything with q (n, nq) and v (n, nv)
        Where motions begin: coordinates and rates of the tree.  They are brought to the constraints.
        A single state begins the motions of all controls.  What touches or overlaps is found anew for each.
    controls : (n, steps, columns) array_like, optional
        Torques of joints held over each step, N or N m, in the order of ``model.column_names``; they are added
        to what acts by itself.
    steps : int, optional
        Steps of length dt; those of `controls` when not given.
    dt : float, optional
        s between samples; 1 / ``simulate.record`` of the scene when not given.  Every sample ends a step.
    start : float
        s, time of the first sample, for formulas that know time.
    contact : {"event", "stepping", "auto"}, optional
        As `simulate.contact` of the scene, which holds when not given; it matters where something touches, stops
        rigidly or rubs.  With "stepping" kernels follow all states.  With "event" (and "auto") each state is a run of
        its own, collisions found exactly, which takes the interpreter's time for each: for few contacts.
    method : {"dop853", "radau", "auto", "rk4", "semi_implicit", "variational"}, optional
        As `simulate.method` of the scene, which holds when not given.  With "auto" each motion takes "dop853", and
        "radau" where it is found to be stiff.  Time steps with contacts are a method of their own.
    rtol, step : float, optional
        Tolerance of these three, and step of the others (s; at most dt); those of the scene when not given.  Of time
        steps with contacts, `step` is their length: `simulate.dt` of the scene when not given.
    energies, contacts : bool
        Tell energies, and what contacts do, at every sample.
    threads : int, optional
        All cores that this process may use when not given.

    Returns
    -------
    Rollout
        The same bits whatever `threads` is, and in whichever order the states stand.  A motion that cannot go on does
        not disturb the others; `Rollout.reason` says why it ended.

    Raises
    ------
    SceneError
        When the scene has events or plain-Python controllers, or cannot be assembled.
    ValueError
        With what was found and what was expected.
    """
    ensemble = Ensemble(model, threads=threads)
    return ensemble.rollout(
        states, controls, steps, dt=dt, start=start, contact=contact, method=method, rtol=rtol, step=step,
        energies=energies, contacts=contacts,
    )  # fmt: skip


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
        self._simulator = Simulator(model)
        refuse(_python(self._simulator))
        self.model, sizes = model, self._simulator.flow.structure.sizes
        self.nq, self.nv, self.columns = sizes.q, sizes.v, model.column_names
        self.start = np.concatenate([self._simulator.flow.q, self._simulator.flow.v])
        # One for each thread, by what they do; the key says for what they were made.
        self._followers: dict[str, tuple[Any, Any]] = {}
        self._pool = ThreadPoolExecutor(max(1, self.threads - 1), thread_name_prefix="rollout")
        self._lock = threading.Lock()

    def rollout(
        self, states: Any, controls: npt.ArrayLike | None = None, steps: int | None = None, *,
        dt: float | None = None, start: float = 0.0, contact: str | None = None, method: str | None = None,
        rtol: float | None = None, step: float | None = None, energies: bool = False, contacts: bool = False,
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
        y = np.ascontiguousarray(np.atleast_2d(y))
        span = arguments.positive("dt", 1.0 / self.model.scene.simulate.record if dt is None else dt)
        contact = self._contact(contact)
        settings = self._settings(span, contact, method, rtol, step)._replace(
            start=arguments.finite("start", start), acts=torques is not None
        )
        rules = tuple(rule.name for rule in self.model.scene.contacts)
        motions = room_for(len(y), count + 1, (self.nq, self.nv), len(rules), (bool(energies), bool(contacts)))
        task = Task(y, np.zeros((0, 0, 0)) if torques is None else torques, span, motions, {})
        with self._lock:
            self._follow(task, contact, settings)
        return found(settings.start + span * np.arange(count + 1), motions, rules, task.said)

    def _follow(self, task: Task, contact: str, settings: Settings) -> None:
        """Let every follower take portions of the states until none is left."""
        followers = self._hire(contact, settings)
        count = len(task.states)
        portion = max(1, count // (SHARES * self.threads))
        portions = itertools.count(0, portion)  # its next() is one instruction of the interpreter
        going = threading.Event()
        going.set()

        def work(follower: KernelFollower | RunFollower) -> None:
            follower.set(settings)
            while going.is_set() and (first := next(portions)) < count:
                follower.follow(task, first, min(first + portion, count))

        mine, *others = followers[: max(1, min(self.threads, -(-count // portion)))]
        mine.set(settings)
        mine.follow(task, 0, 0)  # compiles, before the others do
        waiting = [self._pool.submit(work, follower) for follower in others]
        try:
            work(mine)
            for other in waiting:
                other.result()
        finally:
            going.clear()  # where the user interrupts, the others stop after their portion
            wait(waiting)

    def _hire(self, contact: str, settings: Settings) -> list[KernelFollower] | list[RunFollower]:
        """Return followers for how motions are followed, made when they are first asked for."""
        if contact in ("event", "auto"):
            said = replace(
                self.model.scene.simulate, contact=contact, method=settings.method, rtol=settings.rtol,
                step=settings.step,
            )  # fmt: skip
            return self._hired("run", said, partial(RunFollower, self._with(said)))
        flow, step = self._simulator.flow, settings.step
        if contact:
            precompile.prepare_steps()
            return self._hired("stepping", step, partial(KernelFollower, flow, "stepping", step))
        scratch = SCRATCH[settings.method]
        return self._hired(scratch, scratch, partial(KernelFollower, flow, scratch))

    def _hired(self, kind: str, key: Any, make: Callable[[], Any]) -> Any:
        """Return followers of a kind, made anew where the last ones were made for something else."""
        if kind not in self._followers or self._followers[kind][0] != key:
            self._followers[kind] = key, [make() for _ in range(self.threads)]
        return self._followers[kind][1]

    def _with(self, said: Simulate) -> Model:
        """Return the model with other settings."""
        return replace(self.model, scene=replace(self.model.scene, simulate=said))

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

    def _contact(self, contact: str | None) -> str:
        """Return how contacts are resolved; empty where there is nothing to resolve."""
        said = self.model.scene.simulate.contact if contact is None else contact
        if said not in CONTACT:
            raise ValueError(f"contact: found {said!r}; expected one of {', '.join(CONTACT)}")
        return said if self.model.one_sided else ""

    def _settings(
        self, span: float, contact: str, method: str | None, rtol: float | None, step: float | None
    ) -> Settings:
        """Return how motions are followed from sample to sample, span [s] apart."""
        said = self.model.scene.simulate
        by = self._method(said.method if method is None else method)
        usual = said.step
        if contact == "stepping":
            if method is not None:
                raise ValueError(
                    f"method: time steps with contacts are a method of their own, found {method!r} beside them; leave "
                    "it out, or take contact='event'"
                )
            by, usual = "stepping", said.dt
        longest = arguments.positive("step", usual if step is None else step)
        return Settings(
            method=by, rtol=arguments.positive("rtol", said.rtol if rtol is None else rtol), longest=said.max_step,
            step=min(longest, span), start=0.0, acts=False,
        )  # fmt: skip

    def _method(self, name: str) -> str:
        expected = f"expected one of {', '.join(SCRATCH)}"
        if name == "stepping":
            raise ValueError(f"method: time steps are asked for by contact='stepping'; {expected}")
        if name not in SCRATCH:
            raise ValueError(f"method: found {name!r}; {expected}")
        constraints = self.model.scene.constraints
        if name == "variational" and constraints:
            raise ValueError(
                f"method: steps of the variational method know no constraints ({constraints[0].name}); take dop853"
            )
        return name


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


__all__ = ["ContactsOf", "Ensemble", "Rollout", "rollout"]
