"""The smooth motion between two instants: one structure, its state, and the kernel that advances it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sim.kernels.advance import advance, answer
from sim.kernels.answers import system_of, with_tables
from sim.kernels.guards.allowances import ROUNDOFF, largest_force
from sim.kernels.scratch import TOLD, Work
from sim.kernels.status import Status
from sim.kernels.stepper import (
    ACCEPTED,
    AUTO,
    CALM,
    EVALUATIONS,
    FAILURES,
    FILLED,
    FRESH,
    H_BEFORE,
    HALT,
    KEEPS_RATES,
    MAX_STEP,
    METHOD,
    NEXT_SAMPLE,
    RADIUS,
    RATE,
    REJECTED,
    RETRY,
    RTOL,
    SPENT,
    STEP,
    STEP_FIXED,
    STIFF,
    TRIAL,
    USUAL,
    WINDOW,
    WINDOW_COST,
    H,
    Stepper,
    T,
)
from sim.kernels.system import SAMPLE, SETTLE, START, STEPPING, WATCH, System, address
from sim.kernels.tables import Control, as_table, table
from sim.kernels.watched import (
    ARMED,
    GUARD,
    GUARD_CONE,
    GUARD_HOLD,
    GUARD_PROGRAM,
    GUARD_PULL,
    GUARD_SLIP,
    GUARD_SLOW_SLIP,
    GUARD_STOP,
    HYSTERESIS,
    LEAST_HYSTERESIS,
    WAITING_TO_LEAVE,
    Guards,
)
from sim.mechanism.active_bound import key_of
from sim.mechanism.formula_programs import Condition
from sim.mechanism.frames import Frames
from sim.mechanism.mechanism import Mechanism
from sim.mechanism.methods import METHODS, NAMES, Turn, account, first_turn, next_turn
from sim.mechanism.model import Model
from sim.mechanism.rest import rest_of
from sim.mechanism.structure import Structure, build
from sim.mechanism.workspace import laws_of, make_stepper, stepping_work, with_scratch
from sim.simulation.arming import arm
from sim.simulation.laid_out import SHARED, LaidOut, Memories
from sim.simulation.record_rows import Rows
from sim.simulation.schedule import Scheduler
from sim.simulation.simulation_error import SimulationError, entangled
from sim.simulation.state import Connections, Ledger, Push, State
from sim.simulation.structure_changes import Instant, engage

if TYPE_CHECKING:
    from sim.contact.remembered import Contacts

ROOM, EACH = 64, 4  # presses of a time step at first, and for each shape; twice as many where they do not suffice
FOLLOWED = 1e-9  # of the largest: by less what formulas give that read forces has not changed
GRIPS = (GUARD_CONE, GUARD_HOLD)  # guards of what sticks
FRICTION_ENDS = (GUARD_CONE, GUARD_SLIP, GUARD_SLOW_SLIP)  # guards of the friction of points
# Arrays that controllers look at; and what is no memory of kernels: who answers, and rows on their way out.
LOOKED_AT, PASSING = ("coordinate", "rate", "torque", "control", "bodies"), ("answers", "told")
NEVER = 1 << 60  # number of a sample that no run reaches


class Flow:
    """Tables and integrator of the present structure, and what a run's state says of the motion.

    contacts : what touches, where something can; ledger : energies that the integrator does not follow
    """

    def __init__(
        self, model: Model, structure: Structure, frames: Frames, active: frozenset[int], mechanism: Mechanism,
        control: Control, conditions: list[Condition], contacts: Contacts | None,
    ):  # fmt: skip
        self.model, self.frames, self.active, self.control = model, frames, active, control
        self.conditions = conditions
        self.contacts = contacts
        self.ledger = Ledger()
        self.rows = Rows(model)
        self.time_stepping = model.one_sided and model.scene.simulate.contact == "stepping"
        self.rough = np.flatnonzero(model.columns.friction)  # columns with friction
        sides = model.stops.side.astype(int).tolist()
        self.stops = list(zip(model.stops.place.tolist(), sides, strict=True))  # column and side of each
        self.look_again = math.inf  # s: when contacts are decided on though nothing has happened
        self.room = max(ROOM, EACH * len(model.solids))  # presses of a time step
        self.guards = Guards(table(GUARD, self._kept_guards()), np.zeros(1, np.int64), self.rows.layout)
        self.work: Work = mechanism.work
        self.stepper: Stepper = make_stepper(structure.sizes, 0)
        self._memories = Memories()
        self._engaged: tuple[Any, bytes, np.ndarray] = None, b"", np.zeros(0)  # tree, coordinates, what was found
        self._lay_out(structure)
        self.pushes: list[Push] = []

    def _lay_out(self, structure: Structure) -> None:
        """Have scratch, integrator and guards of a structure; arrays that controllers look at stay the same."""
        self.rows.fit(structure)
        for name in ("coordinate", "rate", "torque", "control"):
            getattr(self.work, name)[:] = 0.0
        for name in ("before", "asleep", "parked"):
            self.work.stepped[name][0] = 0
        kept = min(self._kept_guards(), len(self.guards.table))
        conditions, one = self.guards.table[:kept].copy(), self._memory_of(structure)
        one.guards[:kept] = conditions
        self.work, self.stepper, self.structure, self._one = one.work, one.stepper, structure, one
        self.guards = self.guards._replace(table=one.guards)
        self.mechanism = Mechanism(self.model, structure, self.work, self.control)
        used, system, place = structure.known.get("system", (None, None, None))
        self._system: System | None = system if used is one else None
        self._place = place

    def _memory_of(self, structure: Structure) -> LaidOut:
        """Return the memory for a structure, as new; that of structures that change with contacts is kept."""
        shared = {name: getattr(self.work, name) for name in SHARED}
        memories = self._memories if self.contacts is not None and not self.time_stepping else Memories()
        return memories.of(structure, self.rows.buffer.shape[1], self._count_guards(structure), shared)

    def _kept_guards(self) -> int:
        """Return how many guards are there in any case; in time steps joints press at their stops."""
        return len(self.conditions) + (0 if self.time_stepping else len(self.model.stops) + len(self.rough))

    def _count_guards(self, structure: Structure) -> int:
        """Return how many guards there are: one for each meeting, two for each closed point and hold, after others.

        Time steps look for contacts by themselves.
        """
        closed = len(structure.touches) + len(structure.bounds)
        return self._kept_guards() + (0 if self.time_stepping else len(structure.meetings) + 2 * closed)

    def begin(self, q: np.ndarray, v: np.ndarray, scheduler: Scheduler) -> None:
        """Set the first state and the integrator's settings."""
        said, s = self.model.scene.simulate, self.stepper
        s.clock[RTOL], s.clock[MAX_STEP], s.clock[STEP_FIXED], s.clock[RATE] = (
            said.rtol,
            said.max_step,
            said.dt if self.time_stepping else said.step,
            said.record,
        )
        s.count[AUTO] = int(said.method == "auto" and not self.time_stepping)
        self.turns: list[Turn] = [first_turn(self.t, "stepping" if self.time_stepping else said.method)]
        self._use(METHODS[self.turns[0].method])
        self._put(q, v)
        self.mechanism.update(q, v)
        self.control.turn[:] = self.work.coordinate
        self._engage()
        self.arm(scheduler)

    def begin_at(self, y: np.ndarray, t: float, scheduler: Scheduler) -> None:
        """Set another first state (nq + nv,) and its time [s]: loop joints are within half a turn, no row is filled."""
        self.control.turn[:] = 0.0
        self.stepper.clock[T], self.mechanism.t = t, t
        self.begin(y[: len(self.q)], y[len(self.q) :], scheduler)
        self.stepper.count[NEXT_SAMPLE] = NEVER

    def close(self) -> int:
        """Bring the state to the constraints; returns a status."""
        return self.ask(START, self.stepper.y, self.stepper.error)

    def hold(self, torque: np.ndarray) -> bool:
        """Hold torques of joints from now on; tells whether they are others than before."""
        if np.array_equal(self.control.held, torque):
            return False
        self.control.held[:] = torque
        self._refresh_wrenches()
        self.restart()
        return True

    def _engage(self) -> None:
        """Find which soft stops are touched; time steps find that themselves."""
        if not len(self.model.stops):
            return
        tree, coordinates = self.structure.tree, self.work.coordinate.tobytes()
        if tree is self._engaged[0] and coordinates == self._engaged[1]:
            self.control.engaged[:] = self._engaged[2]
        else:
            engage(self.model, self.structure, self.mechanism, self.control)
            self._engaged = tree, coordinates, self.control.engaged.copy()
        if self.time_stepping:
            self.control.engaged[:] = 0

    def _use(self, method: int) -> None:
        """Let a method step from now on, with the scratch that it needs."""
        self.stepper.count[METHOD] = method
        work = with_scratch(self.work, method, self.structure)
        if work is not self.work:
            self.work = self.mechanism.work = work
            self._system = None
        if method == METHODS["stepping"] and len(self.work.contacts) != self.room:
            tables = self.structure.tables
            old = self.work
            new = stepping_work(tables, self.room, len(self.rows.buffer), self.structure.sizes.v)
            self.work = old._replace(**new | {"stepped": old.stepped})
            before, told = int(old.stepped.before[0]), int(old.stepped.told[0])
            self.work.last_contacts[:before] = old.last_contacts[:before]
            self.work.told[:told] = old.told[:told]
            self.mechanism.work = self.work
            self.work.laws[:] = laws_of(self.model, self.structure)
            parked = int(old.stepped.parked[0])
            self.work.rest[:] = old.rest if len(old.rest) else rest_of(tables, self.work.laws)
            self.work.parked[:parked] = old.parked[:parked]
            self._system = None
        self.stepper.count[KEEPS_RATES] = int(len(self.work.own) > 0)

    def _put(self, q: np.ndarray, v: np.ndarray) -> None:
        nq, nv = len(q), len(v)
        self.stepper.y[:nq], self.stepper.y[nq : nq + nv] = q, v
        self.stepper.count[FRESH] = 0

    # --- state ----------------------------------------------------------------------------------

    @property
    def t(self) -> float:
        """Time [s]."""
        return float(self.stepper.clock[T])

    @property
    def q(self) -> np.ndarray:
        """Coordinates of the tree (a view)."""
        return self.stepper.y[: self.structure.sizes.q]

    @property
    def v(self) -> np.ndarray:
        """Rates of the tree (a view)."""
        n = self.structure.sizes
        return self.stepper.y[n.q : n.q + n.v]

    def present(self) -> set[int]:
        """Return the joints of the tree and of the loops."""
        return {int(j) for j in self.structure.carrier[1:]} | set(self.structure.loops)

    def update(self) -> None:
        """Bring poses, coordinates and energies of the present state into `work`."""
        self.mechanism.t = self.t
        if self.contacts is None or self.time_stepping:
            self.mechanism.update(self.q, self.v)
        else:
            from sim.kernels.looking import look_around  # late: other scenes do not wait for it

            look_around(self.place, self.t, self.q, self.v)

    def instant(self, looked_at: bool = True) -> Instant:
        """Return the present state for a change; looked_at : its mechanism is, there."""
        if looked_at:
            self.update()
        return Instant(
            self.model, self.structure, self.frames, self.active, self.q.copy(), self.v.copy(), self.mechanism
        )

    # --- as a value -----------------------------------------------------------------------------

    def connections(self) -> Connections:
        """Return what the present structure was asked to be."""
        structure = self.structure
        return Connections(
            active=self.active, frames=self.frames, carrier=structure.carrier, touches=structure.touches,
            meetings=structure.meetings, bounds=structure.bounds, step=self.model.step,
        )  # fmt: skip

    def numbers(self) -> dict[str, np.ndarray]:
        """Return the tables of the structure but addresses of laws, which are those of a process."""
        return {name: array for name, array in self.structure.tables._asdict().items() if name != "laws"}

    def remembered(self) -> dict[str, np.ndarray]:
        """Return what kernels remember between steps, but who answers them, and rows on their way out."""
        return {name: array for name, array in self.work._asdict().items() if name not in PASSING}

    def put(self, state: State) -> None:
        """Take over a state, which is the flow's own from now on; arrays that controllers look at stay the same."""
        asked = state.connections
        self.contacts, self.ledger, self.pushes, self.turns = state.contacts, state.ledger, state.pushes, state.turns
        self.active, self.frames, self.room = asked.active, asked.frames, state.room
        self.time_stepping, self.look_again = state.time_stepping, state.look_again
        self.model = replace(self.model, step=asked.step)
        self.structure = build(
            self.model, asked.frames, asked.active, asked.carrier, asked.touches, asked.meetings, asked.bounds
        )
        self.rows.fit(self.structure)
        work = dict(state.work)
        for name in LOOKED_AT:
            getattr(self.work, name)[:] = work.pop(name)
        for now, then in zip(self.control, state.control, strict=True):
            now[:] = then
        told = table(TOLD, len(work["contacts"]) * len(self.rows.buffer))
        self.work = self.work._replace(**work, told=told)
        self.stepper, self.guards = make_stepper(self.structure.sizes, len(state.guards.table)), state.guards
        for now, then in zip(self.stepper, state.stepper, strict=True):
            now[:] = then
        self.mechanism = Mechanism(self.model, self.structure, self.work, self.control, self.t)
        self._system = None
        self._memories = Memories()
        numbers = self.numbers()
        if any(not np.array_equal(array, numbers[name]) for name, array in state.tables.items()):
            self.work.one.intact[0] = 0
            self.restart()

    # --- motion ---------------------------------------------------------------------------------

    def advance(self, stop: float, steps: int, halt: bool = False) -> tuple[int, int]:
        """Run the kernel once; returns (status, guard or index).

        halt : pause where steps are not yet shortened so that one of them ends at the time asked for; HALT is 0 then
        """
        self._refresh_wrenches()
        self.stepper.count[HALT] = int(halt)
        self._use(int(self.stepper.count[METHOD]))
        self.work.one.intact[0] = 0
        clock, count = self.stepper.clock, self.stepper.count
        method = count[METHOD]
        status, guard = self._advance(stop, steps)
        while status == Status.CROWDED:
            self.room *= 2
            self._use(int(method))
            self.restart()
            status, guard = self._advance(stop, steps)
        if count[METHOD] != method:
            done, after = int(count[ACCEPTED]), int(count[METHOD])
            self.turns.append(next_turn(self.t, after, done, clock[RADIUS], clock[STEP], vain=clock[RETRY] > 0.0))
        return int(status), int(guard if status == Status.GUARD else self.work.one.worst[0])

    def _advance(self, stop: float, steps: int) -> tuple[int, int]:
        system = self.system
        status, guard = advance(system.answers, self.place, system.reply, self.stepper, self.rows.buffer, stop, steps)
        return int(status), int(guard)

    @property
    def system(self) -> System:
        """What the integrator is handed; the kernels that answer it are compiled, or loaded, when first asked for."""
        if self._system is None:
            tables, one, own = self.structure.tables, self._one, self.work is self._one.work
            if own and one.system is not None:
                self._system = with_tables(one.system, tables)
            else:
                self._system = system_of(tables, self.control, self.work, self.guards)
            self._place = address(self._system.places)
            if own:
                one.system = self._system
                self.structure.known["system"] = one, self._system, self._place
        return self._system

    @property
    def place(self) -> Any:
        """Where it is, as kernels are handed it."""
        if self._system is None:
            self._system = self.system
        return self._place

    def ask(self, question: int, a: np.ndarray, b: np.ndarray) -> int:
        """Ask the mechanism one question now; see `sim.kernels.system`."""
        return int(answer(self.system.answers, question, self.place, self.t, a, b))

    def crossed(self) -> tuple[list[str], list[int], bool]:
        """Return the events and soft stops whose guards crossed zero in the last bracket, and whether others did.

        Points of contact that have left their cones, and freedoms that friction held, are kept in `contacts.leaving`.
        """
        old, new = self.stepper.guard_old, self.stepper.guard_new
        fires = ((old < 0.0) & (new >= 0.0)) | ((old == 0.0) & (new > 0.0))
        fired = np.flatnonzero(fires & (self.guards.table.armed != 0))
        table, stops = self.guards.table, self.model.stops
        if self.contacts is not None:
            grips = (i for i in fired if table.kind[i] in GRIPS)
            self.contacts.leaving = frozenset(self._key(int(table.owner[i]), table.kind[i]) for i in grips)
            ends = (int(table.owner[i]) for i in fired if table.kind[i] in FRICTION_ENDS)
            self.contacts.ended = frozenset(self.structure.touches[k].key for k in ends)
        events = [self.conditions[i].event for i in fired if table.kind[i] == GUARD_PROGRAM]
        soft = [int(table.owner[i]) for i in fired if table.kind[i] == GUARD_STOP and not stops.rigid[table.owner[i]]]
        return events, soft, len(fired) > len(events) + len(soft)

    def _key(self, owner: int, kind: int) -> tuple[int, int, int]:
        """Return the key of the point or of the friction that a guard watches the grip of."""
        if kind == GUARD_CONE:
            return self.structure.touches[owner].key
        return key_of(int(self.structure.tables.rows.column[owner]), 0)

    def gives_way(self) -> bool:
        """Tell whether closed points of contact, and what is held, are to be decided on, because forces have jumped."""
        self._refresh_wrenches()
        values = np.zeros(len(self.guards.table))
        self.ask(WATCH, self.stepper.y, values)
        forces = np.isin(self.guards.table.kind, (GUARD_PULL, GUARD_CONE, GUARD_HOLD))
        return bool(np.any(values[forces] > ROUNDOFF * self.largest_force()))

    @property
    def reads(self) -> tuple[tuple[int, int], ...]:
        """Joints whose forces formulas of torques and wrenches read, each with the number of its wrench."""
        if not len(self.control.fed):
            return ()
        programs = self.model.programs
        return tuple(sorted({read for late in programs.late() for read in programs.forces_of(late)}))

    def foresee(self) -> None:
        """Let contacts press as they will in the next time step, where none of this structure went before.

        At the start only where something reads forces: rows tell of steps that were made.
        """
        if self.t == 0.0 and not len(self.control.fed) and not any(one.forces for one in self.conditions):
            return
        y, n, stepped = self.stepper.y.copy(), len(self.stepper.y), self.work.stepped.copy()
        rows = np.zeros(16 * n)
        self.work.reply.h[0] = self.stepper.clock[STEP_FIXED]
        for question, out in ((START, self.stepper.error.copy()), (SETTLE, rows[:n]), (STEPPING, rows)):
            if self.ask(question, y, out) != Status.OK:
                break  # what is wrong is told by the step itself
        stepped.before[:] = self.work.stepped.before
        self.work.stepped[:] = stepped

    def follow_forces(self) -> bool:
        """Find anew what formulas give that read forces; tells whether that has changed."""
        fed = self.control.fed
        before = fed.copy()
        self.observe()
        return bool(np.any(np.abs(fed - before) > FOLLOWED * np.max(np.abs(fed), initial=0.0)))

    @contextmanager
    def forces_read(self) -> Iterator[None]:
        """Let formulas that read forces keep what they give, while it is decided which forces there are."""
        self.control.acts[2] = 1
        try:
            yield
        finally:
            self.control.acts[2] = 0

    def largest_force(self) -> float:
        """Return the largest force or torque of contacts, stops and friction, as last observed."""
        work = self.work
        return float(largest_force(work.points, work.stopping, self.model.columns))  # nothing rubs beyond its friction

    def torques_beyond(self) -> dict[int, float]:
        """Return columns that are held by more than their bounds, and their torques [N or N m]."""
        if not self.structure.bounds:
            return {}
        rows = self.structure.tables.rows
        held = np.flatnonzero(rows.low < rows.high)
        self.observe()
        torque, least = rows.scale * self.work.rows.force, ROUNDOFF * self.largest_force()
        both = self.model.columns.both[rows.column[held]].astype(bool)
        size = np.where(both, np.hypot(torque[held], torque[np.minimum(held + 1, len(torque) - 1)]), torque[held])
        beyond = held[(size > rows.high[held] + least) | (size < rows.low[held] - least)]
        return {int(rows.column[r]): float(torque[r]) for r in (*beyond, *(held[both] + 1))}

    def rub(self, friction: np.ndarray) -> None:
        """Let joints that move have this friction (columns,) [N or N m]."""
        self.control.friction[:] = friction

    def looks_again(self) -> bool:
        """Tell whether it is time to decide on contacts though nothing has happened."""
        return self.t >= self.look_again

    def turn_to_steps(self, why: str) -> None:
        """Let time steps resolve contacts from now on; takes effect with the next structure."""
        count, clock = self.stepper.count, self.stepper.clock
        self.time_stepping = True
        count[METHOD], count[AUTO], clock[STEP_FIXED] = METHODS["stepping"], 0, self.model.scene.simulate.dt
        self.turns.append(Turn(self.t, "stepping", int(count[ACCEPTED]), why))

    def book(self, lost: float, given: float = 0.0) -> None:
        """Count energy that impacts took, and that events put in [J]."""
        self.ledger.impact += lost
        self.ledger.extra += given

    def have_steps_of(self, dt: float) -> None:
        """Let inertia have, or no longer have, what time steps of contacts add to it; dt : s, or 0."""
        self.model = replace(self.model, step=dt)

    def step_at_most(self, longest: float) -> None:
        """Let the next step not be longer [s]."""
        self.stepper.clock[H] = min(self.stepper.clock[H], longest)

    def restart(self) -> None:
        """Let the kernel find the slope anew: something changed besides the state."""
        self.stepper.count[FRESH] = 0

    def take(self, after: Instant, v: np.ndarray) -> None:
        """Take over another structure and state; what is to be watched there is set by `arm`."""
        old = self.stepper
        self.frames, self.active = after.frames, after.active
        if after.structure is not self.structure:
            clock, count, energies = old.clock.copy(), old.count.copy(), old.y[-2:].copy()
            self._lay_out(after.structure)
            new = self.stepper
            new.clock[:], new.count[:], new.y[-2:] = clock, count, energies
            self._step_anew()
            self._use(int(new.count[METHOD]))
        self._put(after.q, v)
        self.update()
        if after.structure.loops:
            loops = np.isin(self.model.columns.joint, list(after.structure.loops))
            self.control.turn[loops] = self.work.coordinate[loops]
        self._engage()

    def _step_anew(self) -> None:
        """Let steps begin as they usually were, not as short as the last ones, and explicit where a method is chosen.

        Forces that jump set stiff directions going, whose motion is to be followed until it has died out; and what one
        structure taught of implicit steps says little of another, where it was that they do not pay.
        """
        clock, count = self.stepper.clock, self.stepper.count
        clock[H] = max(clock[H], clock[USUAL])
        if not count[AUTO]:
            return
        clock[RETRY], count[FAILURES], count[STIFF], count[CALM] = 0.0, 0, 0, 0
        if count[METHOD] == METHODS["radau"]:
            count[METHOD], count[TRIAL], clock[H] = METHODS["dop853"], 0, clock[USUAL] or clock[H]
            clock[WINDOW], clock[WINDOW_COST], clock[SPENT], clock[H_BEFORE] = clock[T], 0.0, 0.0, 0.0
            self.turns.append(Turn(self.t, "dop853", int(count[ACCEPTED]), "what a jump sets going is quick at first"))

    def arm(self, scheduler: Scheduler) -> None:
        """Set which guards are watched, and in which direction."""
        arm(self, scheduler)

    def wait_to_leave(self, events: Iterable[str]) -> None:
        """Let conditions that have just fired fire again only after they were clearly false."""
        for i, condition in enumerate(self.conditions):
            if condition.event in events:
                self.guards.table.armed[i], self.guards.table.peak[i] = WAITING_TO_LEAVE, 0.0

    def leave(self, values: np.ndarray) -> None:
        """Arm conditions that wait and whose values are clearly below zero now; the kernel does so between instants."""
        guards = self.guards.table
        for i, value in enumerate(values):
            if guards.armed[i] == WAITING_TO_LEAVE:
                guards.peak[i] = max(guards.peak[i], abs(value))
                if value < -max(HYSTERESIS * guards.peak[i], LEAST_HYSTERESIS):
                    guards.armed[i] = ARMED

    def watched(self, event: str) -> bool:
        """Tell whether an event's condition may fire now."""
        return any(
            condition.event == event and self.guards.table.armed[i] == ARMED
            for i, condition in enumerate(self.conditions)
        )

    # --- what is read ---------------------------------------------------------------------------

    def observe(self) -> np.ndarray:
        """Bring everything about the present state into `work`; returns its row.

        Raises
        ------
        SimulationError
            Where formulas that read forces, and these forces, have not one answer.
        """
        self._refresh_wrenches()
        row = np.zeros(self.rows.buffer.shape[1])
        told = int(self.work.stepped.told[0])
        status = self.ask(SAMPLE, self.stepper.y, row)
        self.work.stepped.told[0] = told
        if status == Status.ENTANGLED:
            raise SimulationError(entangled(self.t, self.model))
        return row

    def sample_now(self) -> None:
        """Put the present state into the buffer as a row, and the sampling grid past it."""
        count = self.stepper.count
        self._refresh_wrenches()
        self.ask(SAMPLE, self.stepper.y, self.rows.buffer[count[FILLED]])
        count[FILLED] += 1
        while count[NEXT_SAMPLE] / self.stepper.clock[RATE] <= self.t:
            count[NEXT_SAMPLE] += 1

    @property
    def filled(self) -> bool:
        """Tell whether rows were filled that nobody has taken."""
        return bool(self.stepper.count[FILLED])

    def take_rows(self) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """Return the rows that were filled since the last call, their raw states, and their closed points."""
        rows = self.rows.buffer[: self.stepper.count[FILLED]].copy()
        told = self.work.told[: self.work.stepped.told[0]]
        values = self.rows.split(rows, self.structure, self.ledger.impact, self.ledger.extra)
        q, v = self.rows.state(rows, self.structure)
        touches = self.rows.contacts(rows, self.structure) if self.structure.touches else {}
        if len(told):
            touches = self.rows.step_contacts(values["time"], told, self.structure)
        if touches:
            touches["iterations"] = np.full(len(touches["row"]), self.contacts.iterations if self.contacts else 0)
        self.drop_rows()
        values["energy/balance"] = values["energy/balance"] - self.ledger.first
        return values, q, v, touches

    def drop_rows(self) -> float:
        """Forget the rows that were filled; returns the time of the last one [s], not-a-number without any."""
        count, rows = self.stepper.count, self.rows.buffer[: self.stepper.count[FILLED]]
        if len(rows) and math.isnan(self.ledger.first):
            self.ledger.first = float(self.rows.balance(rows[:1], self.ledger.impact, self.ledger.extra)[0])
        count[FILLED] = self.work.stepped.told[0] = 0
        return float(rows[-1, 0]) if len(rows) else math.nan

    def energies(self) -> dict[str, float]:
        """Return energies of the state as last observed [J]."""
        kinetic, potential = float(self.work.one.kinetic[0]), float(self.work.one.potential[0])
        put_in, dissipated = float(self.stepper.y[-2]) + self.ledger.extra, float(self.stepper.y[-1])
        total = kinetic + potential + dissipated + self.ledger.impact - put_in
        first = 0.0 if math.isnan(self.ledger.first) else self.ledger.first
        return {
            "kinetic": kinetic, "potential": potential, "dissipated": dissipated, "impact": self.ledger.impact,
            "input": put_in, "balance": total - first,
        }  # fmt: skip

    def body_acceleration(self, body: int) -> tuple[np.ndarray, np.ndarray]:
        """Return angular acceleration and acceleration of a body's origin, as last observed."""
        if body == 0:
            return np.zeros(3), np.zeros(3)
        link = int(self.structure.link_of[body])
        alpha = self.work.links.A[link, :3].copy()
        a = self.work.links.A[link, 3:] + self.structure.tables.one.gravity_W[0]
        w = self.work.links.V[link, :3]
        arm = self.work.bodies.p_WB[body] - self.work.links.x[link]
        return alpha, a + np.cross(alpha, arm) + np.cross(w, np.cross(w, arm))

    def counts(self) -> dict[str, int]:
        """Return how much was done."""
        c = self.stepper.count
        return {"steps": int(c[ACCEPTED]), "rejected": int(c[REJECTED]), "evaluations": int(c[EVALUATIONS])}

    def pressed(self) -> Any:
        """Return what pressed in the last time step, also on what is asleep."""
        work = self.work
        awake, parked = work.last_contacts[: work.stepped.before[0]], work.parked[: work.stepped.parked[0]]
        return as_table(np.concatenate([awake, parked]))

    def methods(self) -> list[str]:
        """Return which method stepped from when to when, and why."""
        lines = account(self.turns, self.t, int(self.stepper.count[ACCEPTED]))
        stepped = self.work.stepped
        if stepped.steps[0]:
            lines.append(
                f"contacts of time steps: {stepped.most[0]} points at most, off their laws by "
                f"{stepped.residual[0]:.1e} of their speeds, overlaps of {stepped.overlap[0]:.1e} m at most"
            )
        return lines

    def taken(self) -> dict[str, float]:
        """Return what contacts took in time steps that neither collided nor slid [J]; empty without such steps."""
        stepped = self.work.stepped
        return {"taken_by_contacts": float(stepped.taken[0])} if stepped.steps[0] else {}

    @property
    def method(self) -> str:
        """Name of the method that steps."""
        return NAMES[int(self.stepper.count[METHOD])]

    @property
    def next_step(self) -> float:
        """Step that the integrator would try next [s]."""
        return float(self.stepper.clock[H])

    # --- wrenches of the caller -----------------------------------------------------------------

    def apply_wrench(
        self, body: int, force_W: np.ndarray, torque_W: np.ndarray, point_W: np.ndarray | None, duration: float
    ) -> None:
        """Begin to apply a force at a point of a body, and a torque."""
        self.update()
        p_WB, R_WB = self.work.bodies.p_WB[body], self.work.bodies.R_WB[body].reshape(3, 3)
        p = np.zeros(3) if point_W is None else R_WB.T @ (np.asarray(point_W, float) - p_WB)
        self.pushes.append(Push(self.t + duration, body, p, force_W, torque_W))
        self.restart()

    def wrench_end(self) -> float:
        """Return when the next applied wrench ends [s]."""
        return min((push.end for push in self.pushes), default=math.inf)

    def _refresh_wrenches(self) -> None:
        acts = self.control.acts
        if not self.pushes and not acts[1]:  # nor did any act before
            acts[0] = int(np.any(self.control.held))
            return
        self.pushes = [push for push in self.pushes if push.end > self.t]
        wrench = self.control.wrench
        before = wrench.copy()
        wrench[:] = 0.0
        arms = self.control.arms
        arms[:] = 0.0
        for push in self.pushes:
            wrench[push.body, 3:] += push.force_W
            wrench[push.body, :3] += push.torque_W
            arms[push.body] += np.outer(push.p, push.force_W).ravel()
        acts[0] = int(bool(self.pushes) or bool(np.any(self.control.held)))
        acts[1] = int(bool(self.pushes))
        if not np.array_equal(before, wrench):
            self.restart()
