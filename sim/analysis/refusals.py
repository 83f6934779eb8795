"""What a run would refuse at its start or at a timed event: found before, by the code of the run."""

from __future__ import annotations

import re

import numpy as np

from sim.assembly.unresisted import massless
from sim.kernels.status import Status
from sim.kernels.system import SETTLE, START
from sim.mechanism.mechanism import Mechanism, state_from_bodies
from sim.mechanism.model import Model
from sim.mechanism.structure import build, choose_tree
from sim.scene.problem import Problem, SceneError
from sim.scene.spec import Event


def refused(model: Model) -> list[Problem]:
    """Return why a run of a scene that can be assembled would end where it begins, or at a timed event."""
    from sim.simulation.simulation_error import SimulationError
    from sim.simulation.simulator import Simulator

    try:
        with np.errstate(all="ignore"):  # interpreted kernels divide as silently as compiled ones
            simulator = Simulator(model)
            simulator.advance(0.0)
            flow = simulator.flow
            y = flow.stepper.y.copy()
            for question in (START, SETTLE):
                status = 0 if flow.time_stepping else flow.ask(question, y, np.zeros_like(y))
                if status != Status.OK:
                    raise simulator.failure(status, int(flow.work.one.worst[0]))
    except SceneError as error:
        return error.problems
    except SimulationError as error:
        return [_told(model, str(error))]
    return _left_without_inertia(model, simulator.now.schedule.stopped)


def _told(model: Model, text: str) -> Problem:
    """Return a sentence of a run as a problem, at the event that it names if it names one."""
    named = re.match(r"t = \S+ s: event '([^']+)' \([^)]*\): (.*)", text, re.DOTALL)
    event = next((one for one in model.scene.events if named and one.name == named[1]), None)
    if event is not None and named is not None:
        return Problem(where=event.place, path=f"events.{event.name}", what=named[2])
    return Problem(where=None, path="", what=f"the run ends where it begins: {text}")


def _left_without_inertia(model: Model, stopped: str) -> list[Problem]:
    """Return problems of bodies that timed cuts leave to what nothing resists.

    Only where no condition or key changes joints as well: what is connected at a time is known then.
    """
    changes = [event for event in model.scene.events if {"connect", "cut"} & {one.kind for one in event.actions}]
    if stopped or any(event.when is not None or event.key is not None for event in changes):
        return []
    active, carrier = set(model.connected), choose_tree(model, model.connected, None)
    times = times_of(model.scene.events)
    for event in sorted((one for one in changes if one.name in times), key=lambda one: times[one.name]):
        named = {kind: _joints(model, event, kind) for kind in ("connect", "cut")}
        active = (active - (named["cut"] - named["connect"])) | named["connect"]
        active -= {joint for joint in model.constraints if model.tied(joint) - active}
        carrier = choose_tree(model, active, carrier, named["connect"])
        structure = build(model, model.frames, active, carrier)
        still = np.zeros((len(model.bodies), 6))
        q, _ = state_from_bodies(model, structure, model.frames, model.poses, still)
        for problem in massless(Mechanism.of(model, structure), q):
            body = problem.path.removeprefix("bodies.")
            what = f"at t = {times[event.name]:g} s {body!r} is left without inertia: {problem.what}"
            return [Problem(where=event.place, path=f"events.{event.name}", what=what, hint=problem.hint)]
    return []


def _joints(model: Model, event: Event, kind: str) -> set[int]:
    return {model.joint(name) for action in event.actions if action.kind == kind for name in action.targets}


def times_of(events: tuple[Event, ...]) -> dict[str, float]:
    """Return the times [s] of events that have one, by `at` or by what they follow, while a run lasts."""
    times = {event.name: event.at for event in events if event.at is not None}
    for _ in events:
        for event in events:
            for name, delay in event.after:
                if name in times:
                    times[event.name] = min(times.get(event.name, np.inf), times[name] + delay)
    return times
