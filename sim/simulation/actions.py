"""What events do to a run: joints connected and cut, values set, impulses given, things switched on and off."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sim.assembly.start import joint_named
from sim.scene.spec import Action, Event
from sim.simulation.joint_impulses import joint_impulses
from sim.simulation.journal import EventRecord, Jump
from sim.simulation.present import Present
from sim.simulation.simulation_error import SimulationError
from sim.simulation.structure_changes import (
    ChangeError,
    generalised_impulse,
    impulse_solve,
    restructure,
    set_values,
    spring_energy,
)


@dataclass
class Sum:
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


class Actions:
    """Does what events of one instant say."""

    def __init__(self, here: Present, jump: Jump):
        self.here, self.jump = here, jump

    def do(self, events: list[Event]) -> list[EventRecord]:
        """All structure changes of these events as one, then their other actions, in file order.

        They act on what is there: what they ask of the rest is nothing, and told once.
        """
        before = self.here.flow.active
        try:
            total = self._change(events)
            vain = {event.name: self._in_vain(event, events, before) for event in events}
            for event in events:
                for action in event.actions:
                    self._act(event, action, total)
        except ChangeError as error:
            names = ", ".join(repr(event.name) for event in events)
            places = ", ".join(str(event.place) for event in events)
            raise SimulationError(f"t = {self.here.flow.t:.9g} s: event {names} ({places}): {error}") from error
        self.here.flow.book(total.lost, total.given)
        self.here.flow.arm(self.here.scheduler)
        lines = []
        for event in events:
            kind = "key" if event.key is not None and event.at is None and event.when is None else "scene"
            lines.append(EventRecord(self.here.flow.t, event.name, kind, event.caption))
            lines[-1].text = "; ".join(self.here.scheduler.tell_once(event, vain[event.name]))
        for line in lines[:1]:  # what the instant did stands with its first event
            line.lost, line.impulse, line.through, line.bound = total.lost, total.impulse, total.through, total.bound
            line.text = "; ".join(filter(None, [*total.notes, line.text]))
            line.frames = self.here.flow.frames if total.bound else None
        return lines

    def _in_vain(self, event: Event, events: list[Event], before: frozenset[int]) -> list[str]:
        """Return what an event asks of joints that are not there, or that are as it wants already.

        events : all of the instant; before : joints that were active before them
        """
        model, present, out = self.here.model, self.here.flow.present(), list[str]()
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

    def _change(self, events: list[Event]) -> Sum:
        here, total = self.here, Sum()
        connect, cut = (
            self._joints_of(events, kind, switch) for kind, switch in (("connect", "enable"), ("cut", "disable"))
        )
        again = connect & cut & here.flow.active  # cut and connected by name at one instant: nothing changes
        connect, cut = connect - here.flow.active, (cut - again) & here.flow.active
        there = (here.flow.active - cut) | connect
        connect -= {joint for joint in connect if not here.model.tied(joint) <= there}  # nothing to tie
        if connect or cut:
            self.restructure(connect, cut, total)
        return total

    def restructure(self, connect: set[int], cut: set[int], total: Sum) -> None:
        """Connect and cut joints and constraints at once, with the impulse that this takes; adds it to a sum."""
        here = self.here
        now = here.flow.instant()
        gone = spring_energy(now.mechanism, cut & here.flow.active)
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
            solution = impulse_solve(after.mechanism, after.q, after.v, fresh=fresh)
            v = solution.v
            total.lost += solution.lost
            total.given += solution.given
            total.impulse = float(np.linalg.norm(solution.impulse))
            total.carry(joint_impulses(after.mechanism, v - after.v, solution.impulse))
        tree = after.structure.carrier.tolist() != now.structure.carrier.tolist()
        fresh = after.active - now.active
        total.bound += tuple(sorted(joint for joint in fresh if here.model.binds(joint)))
        self._forget(fresh)
        here.flow.take(after, v)
        if tree:
            self.jump.reports.append(here.epoch())

    def _forget(self, fresh: frozenset[int]) -> None:
        """Let nothing that was found of an older binding of these joints act in their new one.

        What sampled controllers hold, until they look again, and the hops of their last collisions with their stops.
        """
        here = self.here
        columns = np.flatnonzero(np.isin(here.model.columns.joint, list(fresh)))
        for item in here.controllers.sampled:
            item.state.torque[columns] = 0.0
        here.flow.control.held[columns] = 0.0
        if here.model.one_sided:
            here.contact_modes.forget(columns.tolist())

    def _joints_of(self, events: list[Event], kind: str, switch: str) -> set[int]:
        """Return the joints that actions of a kind name, and the constraints that those of another do."""
        model = self.here.model
        named = {n for event in events for action in event.actions if action.kind == switch for n in action.targets}
        joints = {
            model.joint_names.index(n)
            for event in events for action in event.actions if action.kind == kind for n in action.targets
        }  # fmt: skip
        return joints | {j for j, one in model.constraints.items() if one.name in named and j not in model.waiting}

    def _act(self, event: Event, action: Action, total: Sum) -> None:
        here, flow = self.here, self.here.flow
        if action.kind in ("enable", "disable"):
            for name in action.targets:
                on = action.kind == "enable"
                flow.control.enabled[here.controllers.slots.get(name, [])] = int(on)
                (here.scheduler.state.enabled.add if on else here.scheduler.state.enabled.discard)(name)
            self._hold_enabled()
            flow.restart()
        elif action.kind == "set":
            now = flow.instant()
            before = now.mechanism.energy()
            present = flow.present()
            values = dict(zip(action.targets, action.values, strict=True))
            there = {name: value for name, value in values.items() if joint_named(here.model, name) in present}
            set_values(
                now.mechanism, now.q, now.v, there, here.contact_modes.state.rules if here.model.scene.contacts else ()
            )
            total.given += now.mechanism.energy() - before
            flow.take(now, now.v)
        elif action.kind == "impulse":
            for name, (linear, angular, point) in zip(action.targets, action.values, strict=True):
                self._strike(name, linear, angular, point, total)
        elif action.kind in ("touch", "release"):
            here.contact_modes.switch(action.targets, on=action.kind == "touch")
        elif action.kind == "stop":
            here.scheduler.state.stopped = event.name

    def _hold_enabled(self) -> None:
        held = self.here.flow.control.held
        held[:] = 0.0
        for item in self.here.controllers.sampled:
            if item.use.name in self.here.scheduler.state.enabled:
                held += item.state.torque

    def _strike(self, body: str, linear: Any, angular: Any, point: str | None, total: Sum) -> None:
        here = self.here
        now = here.flow.instant()
        row = here.model.point_names[f"{body}.{point or 'com'}"]
        n = here.model.body_names.index(body)
        p_WB, R_WB = now.mechanism.work.bodies.p_WB[n], now.mechanism.work.bodies.R_WB[n].reshape(3, 3)
        p_W = p_WB + R_WB @ here.model.points.p_B[row]
        push = generalised_impulse(now.mechanism, n, np.asarray(linear, float), np.asarray(angular, float), p_W)
        solution = impulse_solve(now.mechanism, now.q, now.v, push)
        total.given += solution.given
        total.lost += solution.lost
        total.impulse = max(total.impulse, float(np.linalg.norm(solution.impulse)))
        arm = p_W - now.mechanism.work.links.x[now.structure.link_of[n]]
        outside = np.concatenate([np.asarray(angular, float) + np.cross(arm, linear), np.asarray(linear, float)])
        total.carry(joint_impulses(now.mechanism, solution.v - now.v, solution.impulse, {n: outside}))
        here.flow.take(now, solution.v)


def _rotor_energy(after: Any, connect: set[int]) -> float:
    """Kinetic energy that armatures of new joints would have at the rates before the impulse [J]."""
    model, rate = after.model, after.mechanism.work.rate
    total = 0.0
    for joint in connect:
        c = model.columns_of(joint)
        total += 0.5 * float(np.sum(model.columns.armature[c] * rate[c] ** 2))
    return total
