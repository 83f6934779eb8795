"""Which points touch, and how: decided anew at every instant at which that may change.

dynamics-filter-1999, "Collisions and Contacts": first impulses, with all that is closed, then the contacts are full
constraints and give way as forces demand; `sim.contact.contact_problem` is the problem, on both levels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sim.contact.analytic_centre import AnalyticCentre
from sim.contact.by_kernels import centred, fully_held, polish, solve_contacts
from sim.contact.contact_problem import ContactProblem, acceleration, first
from sim.contact.fewer_points import let_fewer_press, without_what_pulls
from sim.contact.held_points import held_points
from sim.contact.impact import Collision, jam, newton, poisson, resolve, resolve_in_turn
from sim.contact.kinetics import Kinetics
from sim.contact.point_laws import PointLaws
from sim.contact.remembered import CROWD, Contacts
from sim.contact.restless import greased
from sim.contact.slip_directions import (
    NOWHERE,
    SOFTLY_STILL,
    along,
    rows_across,
    slide_on_softly,
)
from sim.contact.soft_points import SoftPoint, first_soft, giving, pressed, soft_of
from sim.contact.solution import ContactSolution, ContactStatus
from sim.contact.stops import Bounded, Point, at_stops, everywhere, with_friction
from sim.contact.two_frictions import collide, giving_way
from sim.kernels.guards.allowances import ROUNDOFF
from sim.kernels.shapes import OPEN, SLIP, SLOW_SLIP, SOFT_SLIP, SOFT_STICK, STICK
from sim.kernels.status import Status
from sim.kernels.system import SETTLE, START
from sim.mechanism.active_bound import key_of
from sim.mechanism.finding import Found
from sim.mechanism.touch import Touch
from sim.simulation.contact_outcome import Outcome
from sim.simulation.contact_sentences import name_of, overlap, tell_changes
from sim.simulation.contact_structures import ContactStructures, bounds_something
from sim.simulation.contact_structures import rebuilt as _with
from sim.simulation.not_finite import NotFinite
from sim.simulation.soft_contacts import soften, stored_now
from sim.simulation.step_contacts import begin_steps
from sim.simulation.structure_changes import Instant

if TYPE_CHECKING:
    from sim.mechanism.model import Model
    from sim.simulation.flow import Flow

CLOSED = (STICK, SLIP, SLOW_SLIP)
AT_REST = 1e-8  # m/s: normal rate at which it stays
STILL = 1e-6  # m/s: slip that forces may stop or turn at once, where it does not go on
LOWEST = 1e-10  # m: hops under gravity that are lower count as touching all the time
GREAT = 1e8  # what a sliding point answers that is driven in, but for roundoff, by its friction
FIRMER = 1.0 + 1e-7  # factor of friction with which such a point is driven in
BEARABLE = 1e-8  # of the accelerations: residual of the law that forces may leave
BEARABLE_SOFTLY = 1e-4  # the same with soft points, of which modes alone are taken from the answer
JAMS = 5  # that follow each other at one instant
SETTLING = 10  # rounds in which ways of points and the slow rates that settling takes come to agree
AT_ONCE = 1e-9  # s: what happens within it happens at the same time, to roundoff
AGAIN = 5  # impacts without restitution after an impact that leaves points that close
SPAN = 1e-4  # s that so many decisions (CROWD) have to take at least: else they follow without end


Key = tuple[int, int, int]


class Asked(NamedTuple):
    """What forces are asked of at an instant.

    bare, full : without contacts, and with all of them sticking
    law : the points, those of contact first; leaving : those whose cones were just left
    out : what the instant did
    """

    flow: Flow
    bare: Instant
    full: Instant
    kinetics: Kinetics
    law: list[Point]
    leaving: frozenset[Key]
    out: Outcome


class ContactModes:
    """The contacts of a run: they read and write what its state remembers of them."""

    def __init__(self, model: Model):
        self.model = model
        self.state = Contacts([rule.active for rule in model.scene.contacts])
        self.structures, self.found = ContactStructures(model), Found()
        self.laws = PointLaws(model)
        self._pulling = frozenset[Key]()  # points that pull where they were decided on a moment ago
        self._stored: float | None = None  # J, of soft points before all was let go
        self.slow = max(AT_REST, float(np.sqrt(2.0 * LOWEST * np.linalg.norm(model.gravity_W))))

    def name(self, touch: Point) -> str:
        """Return the names of the two bodies of a point, of a rope its own, or the joint at its stop."""
        return name_of(self.model, touch)

    def switch(self, names: Sequence[str], *, on: bool) -> None:
        """Switch rules on or off."""
        for n, rule in enumerate(self.model.scene.contacts):
            if rule.name in names:
                self.state.rules[n] = on

    def forget(self, columns: Sequence[int]) -> None:
        """Forget how freedoms met their stops: their joints are connected anew."""
        for column in columns:
            for side in (-1, 1):
                self.state.zeno.forget(key_of(int(column), side)[0])

    def let_go(self, flow: Flow) -> None:
        """Take all that touches or is held out of the structure, for an instant at which it changes.

        What time steps add to inertia, too: impulses meet the bodies as they are.
        """
        if flow.structure.touches or flow.structure.bounds or flow.model.step:
            self._stored = stored_now(flow)
            flow.have_steps_of(0.0)
            flow.take(_with(flow.instant(), (), flow.structure.meetings), flow.v.copy())
        self.state.idle, self.state.idle_stops = frozenset(), frozenset()

    # --- one instant ----------------------------------------------------------------------------

    def decide(self, flow: Flow, firmness: float = 1.0) -> Outcome:
        """Let points that come together collide, then find which of those that touch stick, slide or part.

        firmness : factor of friction where forces grow without end, with which they have no answer
        """
        out, now = Outcome(), flow.instant(looked_at=flow.time_stepping)
        self.laws.begin(firmness)
        leaving, self._pulling = self.state.leaving | self._begun(flow), self._pull_again(flow)
        self.state.restless.note(self.state.ended, flow.t)
        self.state.leaving = self.state.ended = frozenset()
        self.state.slip_directions.note(flow.structure.touches, flow.work.points)
        rules = self.structures.meetings(now, self.state.rules)
        if flow.time_stepping:
            out.failure = begin_steps(flow, now, rules)
            return out
        turning = [rule.name for rule in self.model.scene.contacts if rule.patch_radius or rule.rolling_radius]
        if turning:
            out.failure = (
                f"rule '{turning[0]}' has friction against turning (patch_radius, rolling_radius), which contacts as "
                "events do not know: take `contact: stepping`"
            )
            return out
        self._decide_events(flow, now, rules, leaving, out)
        return out

    def _decide_events(
        self, flow: Flow, now: Instant, rules: dict[int, int], leaving: frozenset[Key], out: Outcome
    ) -> None:
        """Find what touches, with what it does, and let the run go on with that.

        leaving : points whose cones were just left
        """
        before_all = stored_now(flow) if self._stored is None else self._stored
        self._stored = None
        bare = self.structures.without(flow, now, rules)
        found = self.found.closed(flow.system, rules)
        closed, gaps, smooth, soft, bare = soften(flow, self.structures, self.laws, bare, rules, found)
        bounds = bounds_something(self.model)
        stops, more = at_stops(bare.mechanism) if bounds else ([], [])
        rough = with_friction(bare.mechanism) if bounds else []
        law: list[Point] = [*closed, *stops, *soft, *rough]
        flow.rub(np.zeros(len(self.model.columns)))
        self.state.idle, self.state.idle_stops = frozenset(), frozenset()
        hard = len(closed) + len(stops)  # what is soft, and friction, gives no impulses
        out.failure = overlap(self.model, law[:hard], gaps + more)
        if out.failure:
            return
        if not law:
            self._keep(smooth, out)
            if smooth:
                self._go_on(flow.t, smooth, out)
                self.structures.take(flow, bare, [one.held for one in smooth], [], rules, bare.v, 1)
            out.keep_books(before_all, stored_now(flow))
            return
        held = everywhere(bare.mechanism, [*stops, *rough])
        points = [*(touch.but(mode=STICK) for touch in closed), *(one.as_(SOFT_STICK) for one in soft)]
        full = self.structures.of(bare, tuple(points), rules, held)
        full.mechanism = self.structures.kept.look(full.structure, flow.control, flow.t, full.q, full.v)
        asked = Asked(flow, bare, full, Kinetics(full.mechanism, [*stops, *soft, *rough]), law, leaving, out)
        touches, v, answer = self._solve(asked, hard)
        if out.failure:
            return
        if out.P is not None:
            out.contacts = flow.rows.contact_impulses(closed, full.structure, full.mechanism.work.points, out.P)
        u_n = asked.kinetics.rates(v)[::3]
        self.state.rest_beside(touches, u_n <= self.slow, rules)
        self._keep([*touches, *smooth], out)
        self._go_on(flow.t, [*law, *smooth], out)
        bounded = [one for one in touches if isinstance(one, Bounded)]
        closed = [touch for touch in touches if isinstance(touch, Touch) and touch.mode != OPEN]
        closed += [one.held for one in (*smooth, *touches) if isinstance(one, SoftPoint)]
        refused = self.structures.take(flow, bare, closed, bounded, rules, v, len(rough) + 1)
        out.keep_books(before_all, stored_now(flow))
        out.failure = refused or out.failure
        if not refused:
            flow.step_at_most(0.5 * _shortest_hop(u_n, answer.z[:, 0]))

    def _solve(self, asked: Asked, hard: int) -> tuple[list[Point], np.ndarray, ContactSolution]:
        """Let points collide, the first `hard` of them, and return all in their modes, with v and their forces."""
        kinetics, law, out = asked.kinetics, asked.law, asked.out
        close = law if hard == len(law) else law[:hard]
        v = self._collide(kinetics.first(hard), close, asked.full.v, asked.flow.t, out)
        touches = list[Point]()
        for _ in range(SETTLING):  # forces follow the velocities that settling has changed, until they agree
            answer, centre, v = self._forces(asked, v)
            if out.failure:
                break
            touches, before = self._held(kinetics, law, v, answer, centre, asked.leaving), v
            v = self._settle(kinetics, law, touches, v, out)
            if v is before:
                break
        return touches, v, answer

    def _begun(self, flow: Flow) -> frozenset[Key]:
        """Return the points that left their cones just now: where another does so at once, they do not stick again."""
        if not self.state.decisions or flow.t - self.state.decisions[-1][0] > AT_ONCE:
            return frozenset()
        return frozenset(touch.key for touch in flow.structure.touches if touch.mode in (SLOW_SLIP, SOFT_SLIP))

    def _pull_again(self, flow: Flow) -> frozenset[Key]:
        """Return the points that pull just after a decision in which they were pressed.

        Friction of a creep goes straight on where the law turns it: of what is hardly pressed it may have another sign.
        """
        if not self._begun(flow):
            return frozenset()
        flow.observe()
        pressing, touches = flow.work.points.pressing, flow.structure.touches
        pulls = pressing <= ROUNDOFF * flow.largest_force()
        return frozenset(touch.key for touch, pull in zip(touches, pulls, strict=False) if pull)

    def _forces(self, asked: Asked, v: np.ndarray) -> tuple[ContactSolution, AnalyticCentre, np.ndarray]:
        """Return what holds, the forces it is to hold with, and v, after jams where there are any.

        Soft points of the law are pressed as they are with these v, afterwards.
        """
        flow, full, law = asked.flow, asked.full, asked.law
        for jams in range(JAMS + 1):
            if v is not full.v:  # which both were looked at with
                flow.take(asked.bare, v)
                now = pressed(soft_of(law), flow.structure.tables.touches, flow.work.points)
                first = first_soft(law)
                law[first : first + len(now)] = now
                self.structures.kept.look(full.structure, flow.control, flow.t, full.q, v)
            answer, centre = self._hold(asked, v)
            if asked.out.failure or not answer.painleve.any() or jams == JAMS:
                break
            v = self._jam(asked.kinetics, law, v, answer, asked.out)
        return answer, centre, v

    def _held(
        self, kinetics: Kinetics, law: Sequence[Point], v: np.ndarray, answer: ContactSolution, centre: AnalyticCentre,
        leaving: frozenset[Key],
    ) -> list[Point]:  # fmt: skip
        """Return the points in their modes, with their shares of forces; see `held_points`."""
        mu = self._of(law, "friction")
        return held_points(self.state, kinetics, law, v, mu, answer, centre, leaving)

    def _collide(self, kinetics: Kinetics, law: Sequence[Point], v: np.ndarray, t: float, out: Outcome) -> np.ndarray:
        u = kinetics.rates(v)
        if not (u[::3] < -AT_REST).any():
            return v
        said = self.model.scene.simulate
        in_order, back = said.impact == "sequential", poisson if said.restitution == "poisson" else newton
        collision = Collision(
            G=kinetics.G, u=u, mu=self._of(law, "friction"), e=self._of(law, "restitution"),
            rest=self._of(law, "rest_speed"), patch=_pairs(law),
        )  # fmt: skip
        stuck = np.array([self.state.modes.get(touch.key, OPEN) == STICK for touch in law])
        collision, answer = collide(
            collision,
            stuck,
            self._of(law, "friction_at_rest"),
            lambda these: resolve_in_turn(these, back) if in_order else resolve(these, back),
        )
        P = answer.P.ravel()
        hit = [k for k, p in enumerate(answer.P) if p[0] > 0.0]
        closing = {law[k].pair: self.name(law[k]) for k in hit if u[3 * k] < -AT_REST}
        out.struck = sorted(set(closing.values()))
        for pair, name in closing.items():
            end = self.state.zeno.ends(pair, t)
            if end is not None:
                self.state.zeno.forget(pair)
                of_pair = np.flatnonzero([touch.pair == pair for touch in law])
                grips = all(answer.last.mode[k] == STICK for k in hit if law[k].pair == pair)
                rows = (3 * of_pair[:, None] + np.arange(3 if grips else 1)).ravel()
                left = u + kinetics.rates(kinetics.change(P))
                P = P + _brought_to_rest(kinetics.G, left, np.eye(len(u))[rows])
                out.ended.append(f"{name} comes to rest at {end:.9f} s")
        for _ in range(AGAIN):  # what came to rest, or was not solved to the end, may let others close
            left = u + kinetics.rates(kinetics.change(P))
            if not (left[::3] < -AT_REST).any():
                break
            P = P + resolve(replace(collision, u=left, e=np.zeros(len(law)))).P.ravel()
        after: np.ndarray = v + out.carry(kinetics, P)
        out.lost = -0.5 * float(P @ (u + kinetics.rates(after)))
        return after

    def _settle(
        self, kinetics: Kinetics, law: Sequence[Point], touches: Sequence[Point], v: np.ndarray, out: Outcome
    ) -> np.ndarray:
        """Return v without slow rates of points that are pressed together: their hops are lower than what touches.

        Nor with slow slips of points that stick, or now begin to slide where the forces want.
        """
        u = kinetics.rates(v)
        closed, sticks = (np.array([touch.mode in modes for touch in touches]) for modes in (CLOSED, (STICK,)))
        begins = np.abs(self.state.slip_directions.go_on(kinetics, law, v)).sum(axis=1) == 0.0
        slow, at = np.full(len(law), STILL), first_soft(law)
        for k, one in enumerate(soft_of(law), start=at):
            slow[k] = SOFTLY_STILL
            begins[k] &= one.start_W is None
        begins &= ~self.state.restless.among(law)
        still = np.asarray(sticks | (closed & begins & (np.hypot(u[1::3], u[2::3]) <= slow)))
        which, across = np.array([closed, still, still]).T.ravel(), np.zeros((0, len(u)))
        creep = [k for k, touch in enumerate(touches) if touch.mode == SLOW_SLIP and not still[k]]
        if creep:
            ways_W = [touch.slip_W if isinstance(touch, Touch) else NOWHERE for touch in touches]
            across = rows_across(along(kinetics, ways_W), creep)
        if not (np.abs(u[which]) > 0.1 * AT_REST).any() and not (np.abs(across @ u) > 0.1 * AT_REST).any():
            return v
        rows = np.vstack([np.eye(len(u))[which], across])
        P = _brought_to_rest(kinetics.G, u, rows)
        out.lost -= 0.5 * float(P @ u)  # along P nothing moves any more
        after: np.ndarray = v + out.carry(kinetics, P)
        return after

    def _jam(
        self, kinetics: Kinetics, law: Sequence[Point], v: np.ndarray, found: ContactSolution, out: Outcome
    ) -> np.ndarray:
        """Return v after the impulse that stops points which sliding drives into the other body."""
        u, problem = kinetics.rates(v), found.problem
        nearly = u.copy()
        nearly[::3] *= np.abs(u[::3]) > self.slow
        a = problem.free.reshape(-1, 3) * problem.closed[:, None]
        answer = jam(
            Collision(G=kinetics.G, u=nearly, mu=self._of(law, "friction"), e=np.zeros(len(law)), patch=_pairs(law)),
            a.ravel(),
        )
        P = answer.P.ravel()
        after: np.ndarray = v + out.carry(kinetics, P)
        names = dict.fromkeys(f"{self.name(law[k])} jam" for k in np.flatnonzero(found.painleve).tolist())
        out.struck += [name for name in names if name not in out.struck]
        out.lost -= 0.5 * float(P @ (u + kinetics.rates(after)))
        return after

    def _hold(self, asked: Asked, v: np.ndarray) -> tuple[ContactSolution, AnalyticCentre]:
        """Return what holds, and the forces it is to hold with; soft points know then whether they rest."""
        status, vdot = _free(asked.flow)
        if not np.isfinite(vdot).all():
            raise NotFinite
        law, out = asked.law, asked.out
        problem, most = self._problem(asked, v, vdot)
        answer, centre, rests = self._balanced(asked, problem, most)
        first = first_soft(law)
        for k, one in enumerate(soft_of(law), start=first):
            law[k] = replace(one, rests=bool(rests[k]))
        if self.laws.firmness == 1.0 and (problem.given & (answer.P[:, 0] > GREAT * answer.unit)).any():
            self.laws.begin(FIRMER)
            return self._hold(asked, v)
        if self.laws.firmness > 1.0 and answer.indeterminate.any():
            answer, centre = _balance(let_fewer_press(replace(problem, mu=np.where(rests, most, problem.mu)), answer))
        self.state.iterations = answer.iterations
        if status != Status.OK:
            out.failure = f"without its contacts the mechanism has no accelerations ({status.name})"
        elif answer.status == ContactStatus.RESIDUAL and answer.residuals.merit > (
            BEARABLE_SOFTLY if soft_of(law) else BEARABLE
        ):
            names = ", ".join(dict.fromkeys(self.name(touch) for touch in law))
            out.failure = (
                f"no forces were found for the contacts of {names}: the best leave {answer.residuals.merit:.1e} of the "
                "accelerations. Lower their friction, or let fewer points touch"
            )
        return answer, centre

    def _problem(self, asked: Asked, v: np.ndarray, vdot: np.ndarray) -> tuple[ContactProblem, np.ndarray]:
        """Return what forces are asked for, with friction in motion, and the coefficients at rest (k,).

        vdot : without contacts
        """
        kinetics, law = asked.kinetics, asked.law
        u = kinetics.rates(v).reshape(-1, 3)
        speed = np.hypot(u[:, 1], u[:, 2])
        modes = np.array([self.state.modes.get(touch.key, OPEN) for touch in law])
        slip_directions = self.state.slip_directions.go_on(kinetics, law, v)
        on = np.flatnonzero(slip_directions.any(axis=1))
        u[on, 1:] = slip_directions[on]
        slide_on_softly(kinetics, law, u, self.state.slip_directions)
        a, resistance = kinetics.accelerations(vdot), self._of(law, "resistance")
        mu, most = greased(
            self.state.restless.among(law), speed, u, self._of(law, "friction"), self._of(law, "friction_at_rest")
        )
        rubs = (resistance * kinetics.G.diagonal().reshape(-1, 3).sum(axis=1)).max() if resistance.any() else 0.0
        problem = acceleration(
            kinetics.G, a, mu, u_t=u[:, 1:],
            closed=np.abs(u[:, 0]) <= self.slow, patch=_pairs(law),
            modes=modes if modes.any() else None, slow=STILL, least=resistance,
            scale=max(np.abs(a).max(initial=0.0), rubs),
        )  # fmt: skip
        if self._pulling:
            pulls = np.array([touch.key in self._pulling for touch in law], bool)
            return (without_what_pulls(problem, pulls) if pulls.any() else problem), most
        return problem, most

    def _balanced(
        self, asked: Asked, problem: ContactProblem, most: np.ndarray
    ) -> tuple[ContactSolution, AnalyticCentre, np.ndarray]:
        """Return what holds, the forces it is to hold with, and the mask (k,) of what holds with friction at rest.

        most : (k,) coefficients at rest
        """
        law, mu, resistance = asked.law, problem.mu, problem.least
        strongest, at_soft = self._of(law, "resistance_at_rest"), first_soft(law)
        rests = ~problem.given & ((most > mu) | (strongest > resistance))
        left = np.array([touch.key in asked.leaving for touch in law], bool)
        while rests.any():
            strong = np.where(rests, most, mu), np.where(rests, strongest, resistance)
            answer, centre = _balance(replace(problem, mu=strong[0], least=strong[1]))
            gives = giving_way(rests, answer, centre, left)
            gives |= giving(soft_of(law), rests, answer, at_soft, left)
            if not gives.any():
                return answer, centre, rests
            rests = rests & ~gives
        return *_balance(problem), rests

    def _go_on(self, t: float, law: Sequence[Point], out: Outcome) -> None:
        """Note a decision; where too many follow each other in too short a time, say so."""
        names = {*out.struck, *out.pairs} or {self.name(touch) for touch in law}
        self.state.decisions.append((t, tuple(sorted(names))))
        if len(self.state.decisions) == CROWD and t - self.state.decisions[0][0] < SPAN:
            out.endless = True
            often = Counter(name for _, pairs in self.state.decisions for name in pairs).most_common(4)
            out.failure = (
                f"{CROWD} times within {t - self.state.decisions[0][0]:.1e} s contacts collided or changed, those of "
                f"{', '.join(name for name, _ in often)} most often: what follows takes no time. Give them less "
                "restitution, or let fewer bodies touch"
            )

    def _of(self, law: Sequence[Point], what: str) -> np.ndarray:
        """Return what a law says of each point (k,); see `PointLaws.of`."""
        return self.laws.of(law, what)

    def _keep(self, touches: Sequence[Point], out: Outcome) -> None:
        modes = {touch.key: min(touch.mode, SLIP) for touch in touches if touch.mode != OPEN}
        if modes != self.state.modes:
            known = {touch.key: touch for touch in touches} | {key: touch for key, touch in self.state.points.items()}
            tell_changes(self.model, self.state.modes, modes, known, out)
        points = (touch.touch if isinstance(touch, SoftPoint) else touch for touch in touches if touch.mode != OPEN)
        self.state.modes, self.state.points = modes, {touch.key: touch for touch in points}


def _balance(problem: ContactProblem) -> tuple[ContactSolution, AnalyticCentre]:
    """Return the forces of all points that the law asks for, and those with room of the points that are pressed."""
    held = None if problem.least.any() else fully_held(problem)
    answer = None if held is None else polish(problem, held)
    if answer is None or answer.status:
        answer = solve_contacts(problem)
    pressed = int(np.count_nonzero(problem.least == 0.0))
    pressed_alone = problem if pressed == problem.points else first(problem, pressed, answer.P)
    return answer, centred(pressed_alone, answer.P[:pressed], answer.mode[:pressed], answer.d[:pressed])


def _pairs(law: Sequence[Point]) -> np.ndarray:
    return np.array([touch.pair for touch in law])


def _shortest_hop(u_n: np.ndarray, a_n: np.ndarray) -> float:
    """Return how long the first of the points that leave will stay away, as far as can be told [s]."""
    both = zip(u_n.tolist(), a_n.tolist(), strict=False)
    return min((2.0 * u / -a for u, a in both if u > AT_REST and a < 0.0), default=np.inf)


def _brought_to_rest(G: np.ndarray, u: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the impulses (3k,) of least norm along some rows (r, 3k) that stop the rates of these rows."""
    out: np.ndarray = rows.T @ np.linalg.lstsq(rows @ G @ rows.T, -(rows @ u), rcond=1e-12)[0]
    return out


def _free(flow: Flow) -> tuple[Status, np.ndarray]:
    """Return vdot of the present state with what holds it now."""
    y, k = flow.stepper.y.copy(), np.zeros_like(flow.stepper.y)
    status = Status(flow.ask(START, y, k))
    if status == Status.OK:
        status = Status(flow.ask(SETTLE, y, k))
    n = flow.structure.sizes
    return status, k[n.q : n.q + n.v].copy()


__all__ = ["ContactModes", "Outcome"]
