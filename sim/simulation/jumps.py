"""The jump of a run at an instant: x- is told, everything due is done in order, x+ is told.

No jump knows a simulator: it takes a run's state and structure, laid out for kernels, and leaves them changed, with
what is to be told of it.  `decide` does the same with states as values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sim.kernels.programs import evaluate
from sim.kernels.shapes import STICK
from sim.kernels.stepper import EVALUATIONS
from sim.kernels.system import address
from sim.mechanism.model import Model
from sim.simulation.actions import Actions, Sum
from sim.simulation.control import ControllerFault
from sim.simulation.held_torques import held_too_long, runs_away
from sim.simulation.joint_impulses import joint_impulses
from sim.simulation.journal import EventRecord, Jump
from sim.simulation.present import Present
from sim.simulation.simulation_error import SimulationError, late_places
from sim.simulation.state import State, check_fits

# Factors of friction with which what is nearly driven in by its own is so: steps end this near to it.
FIRMER = (1.0 + 1e-7, 1.0 + 1e-5, 1.0 + 1e-3)
ROUNDS = 20  # events that may follow from each other at one instant
IN_PLANE = 1e-6  # m: how far from the plane of its ground what touches there may be


def serve(here: Present, jump: Jump) -> None:
    """Serve what is due: at the start, at guards that crossed zero, by time or key."""
    instant, crossed, here.crossed = _Instant(here, jump), here.crossed, False
    if not here.began:
        here.began = True
        jump.reports.append(here.epoch())
        instant.at_start()
    elif crossed:
        instant.crossing()
    else:
        instant.due()


def jam(here: Present, jump: Jump) -> bool:
    """Let what slides jam where its friction drives forces up without end; tell whether anything has changed."""
    return _Instant(here, jump).jam()


def turn_to_steps(here: Present, jump: Jump) -> bool:
    """Turn to time steps where the scene says `contact: auto` and the integrator cannot go on; tell whether."""
    return _Instant(here, jump).turn_where_steps_are_allowed()


def decide(model: Model, state: State, seed: int | None = None) -> tuple[State, Jump]:
    """Return the state after what is due in a state, and what is told of it, without a run.

    Parameters
    ----------
    model : Model
        From `sim.compile`.
    state : State
        Of a run of this scene.
    seed : int, optional
        Of controllers, where it was not the scene's.

    Raises
    ------
    StateError
        When the state does not fit the scene.
    SimulationError
        Where a run would end here.
    """
    check_fits(state, model)
    here, jump = Present.of(model, seed), Jump()
    here.put(state)
    serve(here, jump)
    return here.state(), jump


class _Instant:
    """Does what is due, in the order of design: mode changes, scene events, controller samples, output."""

    def __init__(self, here: Present, jump: Jump):
        self.here, self.jump = here, jump
        self.actions = Actions(here, jump)

    def at_start(self) -> None:
        """Serve what is due at t = 0: contacts, timed events, conditions that hold, controllers."""
        decided = self.here.model.one_sided and any(condition.forces for condition in self.here.flow.conditions)
        if decided:  # conditions read what presses
            self._tell_around(self._decide_contacts)
        self._pass(self._holding({}), (), not decided)

    def due(self) -> None:
        """Serve what is due by time or key now."""
        self._pass((), (), self.here.flow.looks_again())
        self._give_way()

    def crossing(self) -> None:
        """Serve the guards that crossed zero, and all that is due with them."""
        events, stops, touches = self.here.flow.crossed()
        self._pass(tuple(events), tuple(stops), touches)
        if stops and not touches:
            self._give_way()

    def _give_way(self) -> None:
        """Decide on points of contact where forces have jumped."""
        structure = self.here.flow.structure
        if (structure.touches or structure.bounds) and self.here.flow.gives_way():
            self._pass((), (), True)

    # --- one instant ----------------------------------------------------------------------------

    def _pass(self, crossed: Any, stops: tuple[int, ...], touched: bool = False) -> None:
        """One instant from x- to x+; nothing is recorded when only controllers sample.

        touched : points of contact are to be decided on
        """
        here, t = self.here, self.here.flow.t
        for _ in range(ROUNDS):
            before = self._values()
            events = here.scheduler.take(t, crossed)
            touched = touched and here.model.one_sided
            if not events and not stops and not touched:
                break
            here.sample_now(self.jump)
            here.flow.wait_to_leave(crossed)
            lines = [self._touch(stop) for stop in stops]
            lines += self._decide_contacts() if touched else []
            acts = here.model.one_sided and any(event.actions for event in events)
            if acts:
                here.contact_modes.let_go(here.flow)
            lines += self.actions.do(events) if events else []
            if acts:
                lines += self._decide_contacts()
            touched = False
            here.sample_now(self.jump)
            self.jump.reports += lines
            crossed, stops = self._holding(before), ()
            if here.scheduler.state.stopped:
                return
        else:
            names = ", ".join(repr(event.name) for event in events)
            raise SimulationError(f"t = {t:.9g} s: events {names} set each other off without end at this instant")
        self._sample_controllers(t)

    def _tell_around(self, change: Callable[[], list[EventRecord]]) -> None:
        """Make a change, and tell of it between rows x- and x+."""
        self.here.sample_now(self.jump)
        lines = change()
        self.here.sample_now(self.jump)
        self.jump.reports += lines

    def _values(self) -> dict[str, float]:
        """Values of all conditions now."""
        flow = self.here.flow
        if not flow.conditions and not flow.reads:
            return {}
        flow.observe()
        self._refuse_chosen_forces()
        values = np.zeros(len(flow.conditions))
        programs = np.array([c.program for c in flow.conditions], np.int64)
        evaluate(address(flow.system.places), programs, flow.t, values)
        flow.leave(values)
        return {c.event: float(value) for c, value in zip(flow.conditions, values, strict=True)}

    def _holding(self, before: dict[str, float]) -> tuple[str, ...]:
        """Names of conditions that hold now and did not before."""
        return tuple(
            name
            for name, value in self._values().items()
            if value >= 0.0 and before.get(name, -1.0) < 0.0 and self.here.flow.watched(name)
        )

    def _refuse_chosen_forces(self) -> None:
        """Refuse formulas of forces that are one choice among many in this structure, as last observed.

        A component that is the only one possible may be read where others of the force are not.
        """
        flow, events = self.here.flow, {event.name: event for event in self.here.model.scene.events}
        readers = [
            (f"event {condition.event!r} ({events[condition.event].place})", condition.reads)
            for condition in flow.conditions
            if flow.watched(condition.event)
        ]
        if flow.reads:
            readers.append((late_places(flow.model), flow.reads))
        for where, reads in readers:
            for joint, component in reads:
                sure = flow.work.joints.components[joint, :6]
                if sure[component] == 0.0:
                    name = flow.model.joint_names[joint]
                    others = [axis for axis, mark in zip("xyz", sure[3:], strict=True) if mark]
                    hint = f" Those along {' and '.join(others)} are determined." if others else ""
                    raise SimulationError(
                        f"t = {flow.t:.9g} s: {where}: force({name!r}) is not determined here along "
                        f"{'xyz'[component - 3]}: some rows of the loops repeat others, so this part of the force of "
                        f"joint {name!r} is one choice among many.{hint} Ask for a force that is determined "
                        "(trust/components), or use joints that leave the repeated directions free"
                    )

    def _sample_controllers(self, t: float) -> None:
        here = self.here
        if here.controllers.next_sample() > t:
            return
        here.flow.observe()
        why = held_too_long(here.flow, here.controllers) if runs_away(here.flow, here.controllers) else ""
        if why:
            raise SimulationError(f"t = {t:.9g} s: {why}")
        before = here.flow.control.held.copy()
        try:
            here.controllers.sample(t, here.scheduler.state.enabled, here.flow.control.held)
        except ControllerFault as fault:
            raise SimulationError(f"t = {t:.9g} s: {fault}") from fault
        if not np.array_equal(before, here.flow.control.held):
            here.flow.restart()

    def _decide_contacts(self) -> list[EventRecord]:
        """Let bodies collide, stick, slide, roll and part; returns what is told of it."""
        lines = self._decide()
        for _ in range(ROUNDS if self.here.model.waiting else 0):
            rolls = self._follow_contacts()
            if rolls is None:
                return lines
            lines += [rolls, *self._decide()]
        if self.here.model.waiting:
            names = ", ".join(repr(self.here.model.joint_names[joint]) for joint in sorted(self.here.model.waiting))
            raise SimulationError(
                f"t = {self.here.flow.t:.9g} s: {names} opens the contact while it rolls, and closes it while it does "
                "not, without end at this instant"
            )
        return lines

    def _follow_contacts(self) -> EventRecord | None:
        """Let what rolls while a contact is closed do so, or no longer; returns what is told of it, or None."""
        flow, model, total = self.here.flow, self.here.model, Sum()
        enabled = self.here.scheduler.state.enabled
        wanted = {joint for joint in model.waiting if model.joint_names[joint] in enabled and self._touches(joint)}
        rolling = flow.active & model.waiting
        if wanted == rolling:
            return None
        self.here.contact_modes.let_go(flow)
        self.actions.restructure(wanted - rolling, set(rolling - wanted), total)
        flow.book(total.lost, total.given)
        said = [f"{model.joint_names[joint]} rolls" for joint in sorted(wanted - rolling)]
        said += [f"{model.joint_names[joint]} no longer rolls" for joint in sorted(rolling - wanted)]
        return EventRecord(
            flow.t, said[0].partition(" ")[0], "mode", "", total.lost, total.impulse, "; ".join(said), total.through
        )

    def _touches(self, joint: int) -> bool:
        """Tell whether the two bodies of a constraint touch in the plane of its ground."""
        flow, model = self.here.flow, self.here.model
        on, body = int(model.joints.parent[joint]), int(model.joints.child[joint])
        pairs = [model.pairs[touch.pair] for touch in flow.structure.touches]
        of_both = [{model.solids[pair.first].body, model.solids[pair.second].body} == {on, body} for pair in pairs]
        if not any(of_both):
            return False
        flow.observe()
        bodies, frames = flow.work.bodies, flow.frames
        R_WB = bodies.R_WB[on].reshape(3, 3)
        normal, level = R_WB @ frames.R_PF[joint][:, 2], bodies.p_WB[on] + R_WB @ frames.p_PF[joint]
        return bool(np.any(np.abs((flow.work.points.p[of_both] - level) @ normal) < IN_PLANE))

    def jam(self) -> bool:
        """Decide on contacts whose forces grow without end, as friction has it; tell whether that changes anything.

        Steps end near where no forces go with sliding: a little more friction tells what comes then.
        """
        flow = self.here.flow
        if flow.time_stepping or not any(touch.mode != STICK for touch in flow.structure.touches):
            return False
        self.here.sample_now(self.jump)
        lines: list[EventRecord] = []
        for firmness in FIRMER:
            lines = lines or self._decide_once(firmness)
        self.here.sample_now(self.jump)
        self.jump.reports += lines
        return bool(lines)

    def _decide(self) -> list[EventRecord]:
        """Let bodies collide, stick, slide and part, until formulas agree with the forces that they read."""
        flow = self.here.flow
        if not len(flow.control.fed):
            return self._decide_once()
        flow.follow_forces()
        lines: list[EventRecord] = []
        for _ in range(ROUNDS):
            with flow.forces_read():
                lines += self._decide_once()
            if not flow.follow_forces():
                return lines
        raise SimulationError(
            f"t = {flow.t:.9g} s: {late_places(flow.model)} read forces of contacts, and make these contacts change, "
            "without end at this instant: weaken what they give"
        )

    def _decide_once(self, firmness: float = 1.0) -> list[EventRecord]:
        """Let bodies collide, stick, slide and part; returns what is told of it.  firmness : factor of friction."""
        flow = self.here.flow
        done = self.here.contact_modes.decide(flow, firmness)
        if done.endless:
            flow.book(done.lost, done.given)
        chosen = self.here.model.scene.simulate.contact == "auto"
        if done.endless and chosen:
            return [self.turn_to_steps(done.failure.partition(":")[0])]
        if done.failure:
            raise SimulationError(f"t = {flow.t:.9g} s: {done.failure}")
        flow.arm(self.here.scheduler)
        flow.book(done.lost, done.given)
        lines = []
        if done.struck:
            lines.append(EventRecord(flow.t, _who(done.struck[0]), "impact", text="; ".join(done.struck)))
        for text in done.ended:
            lines.append(EventRecord(flow.t, _who(text), "annotation", text=text))
        if done.changed:
            lines.append(EventRecord(flow.t, _who(done.changed[0]), "mode", text="; ".join(done.changed)))
        if done.impulse is not None and done.mechanism is not None and done.change is not None:
            for line in lines[:1]:  # what the instant did stands with its first line
                line.lost, line.impulse = done.lost, math.sqrt(float(done.impulse @ done.impulse))
                line.through = joint_impulses(done.mechanism, done.change, done.impulse)
                line.contacts = done.contacts
        return lines + self._turn_where_dear() if chosen else lines

    def _turn_where_dear(self) -> list[EventRecord]:
        """Let time steps go on from a decision where events have cost too much; returns what is told of it."""
        flow, dt = self.here.flow, self.here.model.scene.simulate.dt
        if flow.time_stepping:
            return []
        why = self.here.spending.decided(flow.t, int(flow.stepper.count[EVALUATIONS]), dt)
        return [self.turn_to_steps(why, "")] if why else []

    def turn_to_steps(self, why: str, of: str = "contacts change faster than events resolve them, ") -> EventRecord:
        """Let time steps resolve contacts from now on (`contact: auto`); returns what is told of it."""
        flow, dt = self.here.flow, self.here.model.scene.simulate.dt
        flow.turn_to_steps(of + why)
        done = self.here.contact_modes.decide(flow)
        if done.failure:
            raise SimulationError(f"t = {flow.t:.9g} s: {done.failure}")
        flow.arm(self.here.scheduler)
        return EventRecord(flow.t, "contacts", "annotation", text=f"time steps of {dt:g} s from here: {why}")

    def turn_where_steps_are_allowed(self) -> bool:
        """Turn to time steps where the scene says `contact: auto` and the integrator cannot go on; tell whether."""
        here = self.here
        if here.model.scene.simulate.contact != "auto" or not here.model.one_sided or here.flow.time_stepping:
            return False
        self._tell_around(lambda: [self.turn_to_steps("the step fell to nothing")])
        return True

    def _touch(self, stop: int) -> EventRecord:
        flow = self.here.flow
        engaged = flow.control.engaged
        engaged[stop] = 1 - engaged[stop]
        flow.arm(self.here.scheduler)
        flow.restart()
        joint = flow.model.joint_names[int(flow.model.stops.joint[stop])]
        side = "upper" if flow.model.stops.side[stop] > 0 else "lower"
        what = "reaches" if engaged[stop] else "leaves"
        return EventRecord(flow.t, joint, "mode", text=f"{joint} {what} its {side} stop")


def _who(text: str) -> str:
    """Return the joint that a line about bounds speaks of, or what it says of two bodies."""
    first, _, rest = text.partition(" ")
    return text.partition(" comes")[0] if rest.startswith("and ") else first
