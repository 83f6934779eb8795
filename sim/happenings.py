"""What happens at an instant: x- is recorded, everything due is done in order, x+ is recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sim.assembly import joint_named
from sim.changes import ChangeError, generalised_impulse, impulse_solve, restructure, set_values, spring_energy
from sim.controllers import ControllerFault
from sim.impulses import joint_impulses
from sim.programs import Condition, Programs
from sim.scene.spec import Action, Event
from sim.sentences import SimulationError, late_places
from sim.tree import Frames

if TYPE_CHECKING:
    from sim.simulator import Simulator

ROUNDS = 20  # events that may follow from each other at one instant
IN_PLANE = 1e-6  # m: how far from the plane of its ground what touches there may be


@dataclass
class Happening:
    """One line of the recording's event table.

    kind : scene, key, impact, mode, annotation
    lost : J; impulse: norm of all constraint impulses
    through : (joints, 6) impulse of every joint, or None: moment about it, force, of the parent on the child
    bound : joints that were bound at its instant; frames : those of all joints from then on, or None
    """

    time: float
    name: str
    kind: str
    caption: str = ""
    lost: float = 0.0
    impulse: float = 0.0
    text: str = ""
    through: np.ndarray | None = None
    bound: tuple[int, ...] = ()
    frames: Frames | None = None


@dataclass
class _Sum:
    """What the actions of one instant add up to."""

    lost: float = 0.0
    given: float = 0.0
    impulse: float = 0.0
    through: np.ndarray | None = None
    notes: list[str] = field(default_factory=list)
    bound: tuple[int, ...] = ()

    def carry(self, impulses: np.ndarray) -> None:
        """Add impulses of the joints (joints, 6)."""
        self.through = impulses if self.through is None else self.through + impulses


class Happenings:
    """Does what events say, in the order of design: mode changes, scene events, controller samples, output."""

    def __init__(self, simulator: Simulator):
        self.s = simulator
        self.stopped = ""
        scene = simulator.model.scene
        self.enabled = {use.name for use in scene.controllers if use.enabled}
        self.enabled |= {constraint.name for constraint in scene.constraints if constraint.active}

    def enter_conditions(self, programs: Programs) -> list[Condition]:
        """Compile every `when:` into the tables."""
        out = []
        for event in self.s.model.scene.events:
            if event.when is not None:
                program = programs.enter(event.when)
                out.append(Condition(event.name, program, programs.reads_forces(program), programs.forces_of(program)))
        return out

    # --- entry points ---------------------------------------------------------------------------

    def at_start(self) -> None:
        """Serve what is due at t = 0: contacts, timed events, conditions that hold, controllers."""
        decided = self.s.model.one_sided and any(condition.forces for condition in self.s.flow.conditions)
        if decided:  # conditions read what presses
            self._tell_around(self._decide_contacts)
        self._pass(self._holding({}), (), not decided)

    def due(self) -> None:
        """Serve what is due by time or key now."""
        self._pass((), (), self.s.flow.looks_again())
        self._give_way()

    def instant(self) -> None:
        """Serve the guards that crossed zero, and all that is due with them."""
        events, stops, touches = self.s.flow.crossed()
        self._pass(tuple(events), tuple(stops), touches)
        if stops and not touches:
            self._give_way()

    def _give_way(self) -> None:
        """Decide on points of contact where forces have jumped."""
        structure = self.s.flow.structure
        if (structure.touches or structure.holds) and self.s.flow.gives_way():
            self._pass((), (), True)

    # --- one instant ----------------------------------------------------------------------------

    def _pass(self, crossed: Any, stops: tuple[int, ...], touched: bool = False) -> None:
        """One instant from x- to x+; nothing is recorded when only controllers sample.

        touched : points of contact are to be decided on
        """
        s, t = self.s, self.s.t
        for _ in range(ROUNDS):
            before = self._values()
            events = s.agenda.take(t, crossed)
            touched = touched and s.model.one_sided
            if not events and not stops and not touched:
                break
            s.flow.sample_now()
            s._tell_rows()
            s.flow.wait_to_leave(crossed)
            lines = [self._touch(stop) for stop in stops]
            lines += self._decide_contacts() if touched else []
            acts = s.model.one_sided and any(event.actions for event in events)
            if acts:
                s.touching.let_go(s.flow)
            lines += self._do(events)
            if acts:
                lines += self._decide_contacts()
            touched = False
            s.flow.sample_now()
            s._tell_rows()
            if s.journal is not None:
                for line in lines:
                    s.journal.event(line)
            crossed, stops = self._holding(before), ()
            if self.stopped:
                return
        else:
            names = ", ".join(repr(event.name) for event in events)
            raise SimulationError(f"t = {t:.9g} s: events {names} set each other off without end at this instant")
        self._sample_controllers(t)

    def _tell_around(self, change: Callable[[], list[Happening]]) -> None:
        """Make a change, and tell of it between rows x- and x+."""
        s = self.s
        s.flow.sample_now()
        s._tell_rows()
        lines = change()
        s.flow.sample_now()
        s._tell_rows()
        if s.journal is not None:
            for line in lines:
                s.journal.event(line)

    def _values(self) -> dict[str, float]:
        """Values of all conditions now."""
        flow = self.s.flow
        if not flow.conditions and not flow.reads:
            return {}
        from sim.kernels.programs import evaluate
        from sim.kernels.system import address

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
            if value >= 0.0 and before.get(name, -1.0) < 0.0 and self.s.flow.watched(name)
        )

    def _refuse_chosen_forces(self) -> None:
        """Refuse formulas of forces that are one choice among many in this structure, as last observed.

        A component that is the only one possible may be read where others of the force are not.
        """
        flow, events = self.s.flow, {event.name: event for event in self.s.model.scene.events}
        readers = [
            (f"event {condition.event!r} ({events[condition.event].place})", condition.reads)
            for condition in flow.conditions
            if flow.watched(condition.event)
        ]
        if flow.reads:
            readers.append((late_places(flow), flow.reads))
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
        s = self.s
        if s.controllers.next_sample() > t:
            return
        s.flow.observe()
        before = s.flow.control.held.copy()
        try:
            s.controllers.sample(t, self.enabled, s.flow.control.held)
        except ControllerFault as fault:
            raise SimulationError(f"t = {t:.9g} s: {fault}") from fault
        if not np.array_equal(before, s.flow.control.held):
            s.flow.restart()

    def _decide_contacts(self) -> list[Happening]:
        """Let bodies collide, stick, slide, roll and part; returns what is told of it."""
        lines = self._decide()
        for _ in range(ROUNDS if self.s.model.waiting else 0):
            rolls = self._follow_contacts()
            if rolls is None:
                return lines
            lines += [rolls, *self._decide()]
        if self.s.model.waiting:
            names = ", ".join(repr(self.s.model.joint_names[joint]) for joint in sorted(self.s.model.waiting))
            raise SimulationError(
                f"t = {self.s.t:.9g} s: {names} opens the contact while it rolls, and closes it while it does not, "
                "without end at this instant"
            )
        return lines

    def _follow_contacts(self) -> Happening | None:
        """Let what rolls while a contact is closed do so, or no longer; returns what is told of it, or None."""
        flow, model, total = self.s.flow, self.s.model, _Sum()
        wanted = {joint for joint in model.waiting if model.joint_names[joint] in self.enabled and self._touches(joint)}
        rolling = flow.active & model.waiting
        if wanted == rolling:
            return None
        self.s.touching.let_go(flow)
        self._restructure(wanted - rolling, set(rolling - wanted), total)
        flow.impact += total.lost
        flow.extra += total.given
        said = [f"{model.joint_names[joint]} rolls" for joint in sorted(wanted - rolling)]
        said += [f"{model.joint_names[joint]} no longer rolls" for joint in sorted(rolling - wanted)]
        return Happening(
            flow.t, said[0].partition(" ")[0], "mode", "", total.lost, total.impulse, "; ".join(said), total.through
        )

    def _touches(self, joint: int) -> bool:
        """Tell whether the two bodies of a constraint touch in the plane of its ground."""
        flow, model = self.s.flow, self.s.model
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

    def _decide(self) -> list[Happening]:
        """Let bodies collide, stick, slide and part, until formulas agree with the forces that they read."""
        flow = self.s.flow
        if not len(flow.control.fed):
            return self._decide_once()
        flow.follow_forces()
        lines: list[Happening] = []
        for _ in range(ROUNDS):
            with flow.forces_read():
                lines += self._decide_once()
            if not flow.follow_forces():
                return lines
        raise SimulationError(
            f"t = {flow.t:.9g} s: {late_places(flow)} read forces of contacts, and make these contacts change, without "
            "end at this instant: weaken what they give"
        )

    def _decide_once(self) -> list[Happening]:
        """Let bodies collide, stick, slide and part; returns what is told of it."""
        flow = self.s.flow
        done = self.s.touching.decide(flow)
        if done.endless:
            flow.impact += done.lost
        if done.endless and self.s.model.scene.simulate.contact == "auto":
            return [self.turn_to_steps(done.failure.partition(":")[0])]
        if done.failure:
            raise SimulationError(f"t = {flow.t:.9g} s: {done.failure}")
        flow.arm(self.s.agenda)
        flow.impact += done.lost
        lines = []
        if done.struck and done.impulse is not None and done.mechanism is not None and done.change is not None:
            through = joint_impulses(done.mechanism, done.change, done.impulse)
            size = float(np.linalg.norm(done.impulse))
            lines.append(
                Happening(flow.t, _who(done.struck[0]), "impact", "", done.lost, size, "; ".join(done.struck), through)
            )
        for text in done.ended:
            lines.append(Happening(flow.t, _who(text), "annotation", text=text))
        if done.changed:
            lines.append(Happening(flow.t, _who(done.changed[0]), "mode", text="; ".join(done.changed)))
        return lines

    def turn_to_steps(self, why: str) -> Happening:
        """Let time steps resolve contacts from now on (`contact: auto`); returns what is told of it."""
        flow, dt = self.s.flow, self.s.model.scene.simulate.dt
        flow.turn_to_steps(f"contacts change faster than events resolve them, {why}")
        done = self.s.touching.decide(flow)
        if done.failure:
            raise SimulationError(f"t = {flow.t:.9g} s: {done.failure}")
        flow.arm(self.s.agenda)
        return Happening(flow.t, "contacts", "annotation", text=f"time steps of {dt:g} s from here: {why}")

    def turn_where_steps_are_allowed(self) -> bool:
        """Turn to time steps where the scene says `contact: auto` and the integrator cannot go on; tell whether."""
        s = self.s
        if s.model.scene.simulate.contact != "auto" or not s.model.one_sided or s.flow.time_stepping:
            return False
        self._tell_around(lambda: [self.turn_to_steps("the step fell to nothing")])
        return True

    def _touch(self, stop: int) -> Happening:
        flow = self.s.flow
        engaged = flow.control.engaged
        engaged[stop] = 1 - engaged[stop]
        flow.arm(self.s.agenda)
        flow.restart()
        joint = flow.model.joint_names[int(flow.model.stops.joint[stop])]
        side = "upper" if flow.model.stops.side[stop] > 0 else "lower"
        what = "reaches" if engaged[stop] else "leaves"
        return Happening(flow.t, joint, "mode", text=f"{joint} {what} its {side} stop")

    # --- actions --------------------------------------------------------------------------------

    def _do(self, events: list[Event]) -> list[Happening]:
        """All structure changes of these events as one, then their other actions, in file order.

        They act on what is there: what they ask of the rest is nothing, and told once.
        """
        before = self.s.flow.active
        try:
            total = self._change(events)
            vain = {event.name: self._in_vain(event, events, before) for event in events}
            for event in events:
                for action in event.actions:
                    self._act(event, action, total)
        except ChangeError as error:
            names = ", ".join(repr(event.name) for event in events)
            places = ", ".join(str(event.place) for event in events)
            raise SimulationError(f"t = {self.s.t:.9g} s: event {names} ({places}): {error}") from error
        self.s.flow.impact += total.lost
        self.s.flow.extra += total.given
        self.s.flow.arm(self.s.agenda)
        lines = []
        for event in events:
            kind = "key" if event.key is not None and event.at is None and event.when is None else "scene"
            lines.append(Happening(self.s.t, event.name, kind, event.caption))
            lines[-1].text = "; ".join(self.s.agenda.tell_once(event, vain[event.name]))
        for line in lines[:1]:  # what the instant did stands with its first event
            line.lost, line.impulse, line.through, line.bound = total.lost, total.impulse, total.through, total.bound
            line.text = "; ".join(filter(None, [*total.notes, line.text]))
            line.frames = self.s.flow.frames if total.bound else None
        return lines

    def _in_vain(self, event: Event, events: list[Event], before: frozenset[int]) -> list[str]:
        """Return what an event asks of joints that are not there, or that are as it wants already.

        events : all of the instant; before : joints that were active before them
        """
        model, present, out = self.s.model, self.s.flow.present(), list[str]()
        asked = {kind: self._joints_of(events, kind, "") for kind in ("connect", "cut")}
        for action in event.actions:
            known = [name for name in action.targets if name in model.joint_names or name in model.body_names]
            joints = {name: joint_named(model, name) for name in known}
            if action.kind == "cut":
                gone = [name for name, joint in joints.items() if joint not in before | asked["connect"]]
                if action.either and len(gone) == len(joints):
                    out.append(f"none of {', '.join(map(repr, gone))} is connected: nothing is cut")
                elif not action.either:
                    out += [f"joint {name!r} is not connected, so it is not cut" for name in gone]
            elif action.kind == "connect":
                there = [name for name, joint in joints.items() if joint in before - asked["cut"]]
                out += [f"joint {name!r} is connected already" for name in there]
            elif action.kind == "set":
                gone = [name for name, joint in joints.items() if joint not in present]
                out += [f"joint {name!r} is not connected, so it has no value to set" for name in gone]
            elif action.kind == "enable":
                for joint in self._joints_of([event], "", "enable"):
                    for other in sorted(model.tied(joint) - present):
                        lacking = f"joint {model.joint_names[other]!r} is not connected"
                        out.append(f"{lacking}, so {model.joint_names[joint]!r} does not tie it")
        return out

    def _change(self, events: list[Event]) -> _Sum:
        s, total = self.s, _Sum()
        connect, cut = (
            self._joints_of(events, kind, switch) for kind, switch in (("connect", "enable"), ("cut", "disable"))
        )
        again = connect & cut & s.flow.active  # cut and connected by name at one instant: nothing changes
        connect, cut = connect - s.flow.active, (cut - again) & s.flow.active
        there = (s.flow.active - cut) | connect
        connect -= {joint for joint in connect if not s.model.tied(joint) <= there}  # nothing to tie
        if connect or cut:
            self._restructure(connect, cut, total)
        return total

    def _restructure(self, connect: set[int], cut: set[int], total: _Sum) -> None:
        """Connect and cut joints and constraints at once, with the impulse that this takes; adds it to a sum."""
        s = self.s
        now = s.flow.instant()
        gone = spring_energy(now.mechanism, cut & s.flow.active)
        after = restructure(now, connect, cut)
        total.lost += gone
        total.given += after.given
        total.notes += after.notes
        total.given += spring_energy(after.mechanism, connect) if connect else 0.0
        v = after.v
        if connect:
            blocks = after.structure.tables.blocks
            rows = after.structure.tables.rows
            fresh = np.isin(blocks.joint[rows.block], list(connect)) & (rows.compliance > 0.0) if len(rows) else None
            rotor = _rotor_energy(after, connect)
            total.given -= rotor  # a new rotor starts at rest; the impulse solve books what it takes up
            blow = impulse_solve(after.mechanism, after.q, after.v, fresh=fresh)
            v = blow.v
            total.lost += blow.lost
            total.given += blow.given
            total.impulse = float(np.linalg.norm(blow.impulse))
            total.carry(joint_impulses(after.mechanism, v - after.v, blow.impulse))
        tree = after.structure.carrier.tolist() != now.structure.carrier.tolist()
        fresh = after.active - now.active
        total.bound += tuple(sorted(joint for joint in fresh if s.model.binds(joint)))
        self._forget(fresh)
        s.flow.take(after, v)
        if tree:
            s._tell_epoch()

    def _forget(self, fresh: frozenset[int]) -> None:
        """Let nothing that was found of an older binding of these joints act in their new one.

        What sampled controllers hold, until they look again, and the hops of their last collisions with their stops.
        """
        s = self.s
        columns = np.flatnonzero(np.isin(s.model.columns.joint, list(fresh)))
        for item in s.controllers.sampled:
            item.torque[columns] = 0.0
        s.flow.control.held[columns] = 0.0
        if s.model.one_sided:
            s.touching.forget(columns.tolist())

    def _joints_of(self, events: list[Event], kind: str, switch: str) -> set[int]:
        """Return the joints that actions of a kind name, and the constraints that those of another do."""
        model = self.s.model
        named = {n for event in events for action in event.actions if action.kind == switch for n in action.targets}
        joints = {
            model.joint_names.index(n)
            for event in events for action in event.actions if action.kind == kind for n in action.targets
        }  # fmt: skip
        return joints | {j for j, one in model.constraints.items() if one.name in named and j not in model.waiting}

    def _act(self, event: Event, action: Action, total: _Sum) -> None:
        s, flow = self.s, self.s.flow
        if action.kind in ("enable", "disable"):
            for name in action.targets:
                on = action.kind == "enable"
                flow.control.enabled[s.controllers.slots.get(name, [])] = int(on)
                (self.enabled.add if on else self.enabled.discard)(name)
            self._hold_enabled()
            flow.restart()
        elif action.kind == "set":
            now = flow.instant()
            before = float(now.mechanism.work.one.energy[0].sum())
            present = flow.present()
            values = dict(zip(action.targets, action.values, strict=True))
            there = {name: value for name, value in values.items() if joint_named(s.model, name) in present}
            set_values(now.mechanism, now.q, now.v, there, s.touching.active if s.model.scene.contacts else ())
            total.given += float(now.mechanism.work.one.energy[0].sum()) - before
            flow.take(now, now.v)
        elif action.kind == "impulse":
            for name, (linear, angular, point) in zip(action.targets, action.values, strict=True):
                self._strike(name, linear, angular, point, total)
        elif action.kind in ("touch", "release"):
            s.touching.switch(action.targets, on=action.kind == "touch")
        elif action.kind == "stop":
            self.stopped = event.name

    def _hold_enabled(self) -> None:
        held = self.s.flow.control.held
        held[:] = 0.0
        for item in self.s.controllers.sampled:
            if item.use.name in self.enabled:
                held += item.torque

    def _strike(self, body: str, linear: Any, angular: Any, point: str | None, total: _Sum) -> None:
        s = self.s
        now = s.flow.instant()
        row = s.model.point_names[f"{body}.{point or 'com'}"]
        n = s.model.body_names.index(body)
        p_WB, R_WB = now.mechanism.work.bodies.p_WB[n], now.mechanism.work.bodies.R_WB[n].reshape(3, 3)
        p_W = p_WB + R_WB @ s.model.points.p_B[row]
        push = generalised_impulse(now.mechanism, n, np.asarray(linear, float), np.asarray(angular, float), p_W)
        blow = impulse_solve(now.mechanism, now.q, now.v, push)
        total.given += blow.given
        total.lost += blow.lost
        total.impulse = max(total.impulse, float(np.linalg.norm(blow.impulse)))
        arm = p_W - now.mechanism.work.links.x[now.structure.link_of[n]]
        outside = np.concatenate([np.asarray(angular, float) + np.cross(arm, linear), np.asarray(linear, float)])
        total.carry(joint_impulses(now.mechanism, blow.v - now.v, blow.impulse, {n: outside}))
        s.flow.take(now, blow.v)


def _who(text: str) -> str:
    """Return the joint that a line about bounds speaks of, or what it says of two bodies."""
    first, _, rest = text.partition(" ")
    return text.partition(" comes")[0] if rest.startswith("and ") else first


def _rotor_energy(after: Any, connect: set[int]) -> float:
    """Kinetic energy that armatures of new joints would have at the rates before the impulse [J]."""
    model, rate = after.model, after.mechanism.work.rate
    total = 0.0
    for joint in connect:
        c = model.columns_of(joint)
        total += 0.5 * float(np.sum(model.columns.armature[c] * rate[c] ** 2))
    return total
