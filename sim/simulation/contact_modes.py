"""Which points touch, and how: decided anew at every instant at which that may change.

dynamics-filter-1999, "Collisions and Contacts": first impulses, with all that is closed, then the contacts are full
constraints and give way as forces demand; `sim.contact.contact_problem` is the problem, on both levels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sim.assembly.constraint_diagnostics import slips_by_choice
from sim.contact.analytic_centre import AnalyticCentre
from sim.contact.by_kernels import centred, fully_held, polish, solve_contacts
from sim.contact.contact_problem import ContactProblem, acceleration, first
from sim.contact.fewer_points import let_fewer_press, without_what_pulls
from sim.contact.impact import Collision, jam, newton, poisson, resolve, resolve_in_turn
from sim.contact.kinetics import Kinetics
from sim.contact.point_laws import PointLaws
from sim.contact.remembered import CROWD, Contacts
from sim.contact.restless import ease, share_of_friction
from sim.contact.slip_directions import (
    NOWHERE,
    SOFTLY_STILL,
    along,
    let_slip_slowly,
    movable,
    rows_across,
    slide_on_softly,
    straighten_slow_slip,
)
from sim.contact.soft_points import SoftPoint, first_soft, giving, pressed, soft_of, softly, stored, touches_now
from sim.contact.solution import ContactSolution, ContactStatus
from sim.contact.stops import (
    Bounded,
    Point,
    active_bounds,
    against,
    at_stops,
    eased,
    everywhere,
    friction_of_moving,
    frictions,
    with_friction,
)
from sim.contact.two_frictions import collide, giving_way
from sim.kernels.guards.allowances import ROUNDOFF
from sim.kernels.shapes import OPEN, SLIP, SLOW_SLIP, SOFT, SOFT_SLIP, SOFT_STICK, STICK
from sim.kernels.status import Status
from sim.kernels.system import SETTLE, START
from sim.mechanism.active_bound import ActiveBound, key_of
from sim.mechanism.finding import Found, closed_points, meetings
from sim.mechanism.kept_structures import Joined, KeptStructures
from sim.mechanism.mechanism import Mechanism
from sim.mechanism.ropes import is_rope
from sim.mechanism.structure import build
from sim.mechanism.touch import Touch
from sim.mechanism.tree import Tree
from sim.simulation.contact_outcome import Outcome
from sim.simulation.not_finite import NotFinite
from sim.simulation.structure_changes import Instant

if TYPE_CHECKING:
    from sim.mechanism.model import Model
    from sim.simulation.flow import Flow

CLOSED = (STICK, SLIP, SLOW_SLIP)
AT_REST = 1e-8  # m/s: normal rate at which it stays
STILL = 1e-6  # m/s: slip that forces may stop or turn at once, where it does not go on
LOWEST = 1e-10  # m: hops under gravity that are lower count as touching all the time
VAGUE = 1e-6  # of the accelerations: below it they do not tell in which direction a point begins to slide
LEADS = 0.1  # of the accelerations: what the friction of a point at least answers that finds its own way
GREAT = 1e8  # what a sliding point answers that is driven in, but for roundoff, by its friction
FIRMER = 1.0 + 1e-7  # factor of friction with which such a point is driven in
BEARABLE = 1e-8  # of the accelerations: residual of the law that forces may leave
BEARABLE_SOFTLY = 1e-4  # the same with soft points, of which modes alone are taken from the answer
NOTHING = 1e-8  # of the accelerations: what a point that is pressed at least answers
DEEP = 1e-6  # m: an overlap that no step leaves
SHORTEST = 1e-300  # m/s: what has no rate has no direction either
TURNS = 5  # of ways on which points begin to creep, at one instant; what is not straight by then slides
JAMS = 5  # that follow each other at one instant
SETTLING = 10  # rounds in which ways of points and the slow rates that settling takes come to agree
AT_ONCE = 1e-9  # s: what happens within it happens at the same time, to roundoff
AGAIN = 5  # impacts without restitution after an impact that leaves points that close
SPAN = 1e-4  # s that so many decisions (CROWD) have to take at least: else they follow without end


class ContactModes:
    """The contacts of a run: they read and write what its state remembers of them."""

    def __init__(self, model: Model):
        self.model = model
        self.state = Contacts([rule.active for rule in model.scene.contacts])
        self.structures, self.found = KeptStructures(), Found()
        self.laws = PointLaws(model)
        self._pulling = frozenset[tuple[int, int, int]]()  # points that pull where they were decided on a moment ago
        self._met: tuple[Tree, tuple[bool, ...], dict[int, int]] | None = None
        self._stored: float | None = None  # J, of soft points before all was let go
        self.slow = max(AT_REST, float(np.sqrt(2.0 * LOWEST * np.linalg.norm(model.gravity_W))))

    @cached_property
    def _asks_where(self) -> bool:
        """Whether decisions ask where freedoms are: some have stops or friction."""
        return len(self.model.stops) > 0 or bool(np.any(self.model.columns.friction))

    def name(self, touch: Point) -> str:
        """Return the names of the two bodies of a point, of a rope its own, or the joint at its stop."""
        if isinstance(touch, Bounded):
            return touch.name(self.model)
        solids, pair = self.model.solids, self.model.pairs[touch.pair]
        if self.is_rope(touch):
            return solids[pair.first].name
        names = [solids[n].name or self.model.body_names[solids[n].body] for n in (pair.first, pair.second)]
        return " and ".join(names)

    def is_rope(self, touch: Touch | SoftPoint) -> bool:
        """Tell whether a point is the end of a rope that is taut."""
        return is_rope(self.model.solids[self.model.pairs[touch.pair].first])

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
            self._stored = self._stored_now(flow)
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
        rules = self._meetings(now)
        if flow.time_stepping:
            out.failure = self._prepare_steps(flow, now, rules)
            return out
        turning = [rule.name for rule in self.model.scene.contacts if rule.patch_radius or rule.rolling_radius]
        if turning:
            out.failure = (
                f"rule '{turning[0]}' has friction against turning (patch_radius, rolling_radius), which contacts as "
                "events do not know: take `contact: stepping`"
            )
            return out
        before_all = self._stored_now(flow) if self._stored is None else self._stored
        self._stored = None
        bare = self._without(flow, now, rules)
        closed, gaps, smooth, soft, bare = self._soften(flow, bare, rules, *self.found.closed(flow.system, rules))
        stops, more = at_stops(bare.mechanism) if self._asks_where else ([], [])
        rough = with_friction(bare.mechanism) if self._asks_where else []
        law: list[Point] = [*closed, *stops, *soft, *rough]
        flow.rub(np.zeros(len(self.model.columns)))
        self.state.idle, self.state.idle_stops = frozenset(), frozenset()
        hard = len(closed) + len(stops)  # what is soft, and friction, gives no impulses
        out.failure = self._overlap(law[:hard], gaps + more)
        if out.failure:
            return out
        if not law:
            self._keep(smooth, out)
            if smooth:
                self._go_on(flow.t, smooth, out)
                self._take(flow, bare, [one.held for one in smooth], [], rules, bare.v, 1)
            out.keep_books(before_all, self._stored_now(flow))
            return out
        held = everywhere(bare.mechanism, [*stops, *rough])
        points = [*(touch.but(mode=STICK) for touch in closed), *(one.as_(SOFT_STICK) for one in soft)]
        full = self._kept(bare, tuple(points), rules, held)
        full.mechanism = self.structures.look(full.structure, flow.control, flow.t, full.q, full.v)
        kinetics = Kinetics(full.mechanism, [*stops, *soft, *rough])
        v = self._collide(kinetics.first(hard), law if hard == len(law) else law[:hard], full.v, flow.t, out)
        for _ in range(SETTLING):  # forces follow the velocities that settling has changed, until they agree
            answer, centre, v = self._forces(flow, bare, full, kinetics, law, v, out, leaving)
            if out.failure:
                return out
            touches, before = self._held(kinetics, law, v, answer, centre, leaving), v
            v = self._settle(kinetics, law, touches, v, out)
            if v is before:
                break
        if out.P is not None:
            points = full.mechanism.work.points
            out.contacts = flow.rows.contact_impulses(closed, full.structure, points, out.P)
        u_n = kinetics.rates(v)[::3]
        bounded = [one for one in touches if isinstance(one, Bounded)]
        self._note_idle(touches, u_n, rules)
        self._keep([*touches, *smooth], out)
        self._go_on(flow.t, [*law, *smooth], out)
        closed = [touch for touch in touches if isinstance(touch, Touch) and touch.mode != OPEN]
        closed += [one.held for one in (*smooth, *touches) if isinstance(one, SoftPoint)]
        refused = self._take(flow, bare, closed, bounded, rules, v, len(rough) + 1)
        out.keep_books(before_all, self._stored_now(flow))
        if refused:
            out.failure = refused
            return out
        flow.step_at_most(0.5 * _shortest_hop(u_n, answer.z[:, 0]))
        return out

    def _soften(
        self, flow: Flow, bare: Instant, rules: Mapping[int, int], found: list[Touch], gaps: list[float]
    ) -> tuple[list[Touch], list[float], list[SoftPoint], list[SoftPoint], Instant]:
        """Let soft points that touch press in what holds without the others; the flow is then looked at with them.

        Returns rigid points and their gaps, soft ones without and with friction, and that instant.
        """
        contacts = self.model.scene.contacts
        gives = [contacts[touch.rule].soft is not None for touch in found]
        if not any(gives):
            return found, gaps, [], [], bare
        near = [touch for touch, soft in zip(found, gives, strict=True) if soft]
        while True:
            smooth = [touch for touch in near if not self.laws.friction(touch)[0] > 0.0]
            rough = [touch for touch in near if self.laws.friction(touch)[0] > 0.0]
            bare = self._kept(bare, tuple(replace(touch, mode=SOFT) for touch in (*smooth, *rough)), rules)
            flow.take(bare, bare.v)
            bare = self._looked_at(flow, bare)
            gap, rate = flow.work.points.gap.tolist(), flow.work.points.gap_dot.tolist()
            stay = {one.key for one, g, u in zip((*smooth, *rough), gap, rate, strict=True) if touches_now(g, u)}
            if len(stay) == len(near):
                break
            near = [touch for touch in near if touch.key in stay]
        points = [self._soft(touch) for touch in (*smooth, *rough)]
        points = pressed(points, flow.structure.tables.touches, flow.work.points)
        rigid = [(touch, gap) for touch, gap, soft in zip(found, gaps, gives, strict=True) if not soft]
        count = len(smooth)
        return [t for t, _ in rigid], [g for _, g in rigid], points[:count], points[count:], bare

    def _stored_now(self, flow: Flow) -> float:
        """Return the energy that soft points hold, as last looked at [J]."""
        if not any(rule.soft is not None for rule in self.model.scene.contacts):
            return 0.0
        return stored(flow.structure.tables.touches, flow.work.points)

    def _soft(self, touch: Touch) -> SoftPoint:
        """Return a soft point that touches; one without friction slides."""
        said = self.model.scene.contacts[touch.rule].soft
        assert said is not None
        return SoftPoint(touch, said.stiffness, *self.laws.friction(touch), mode=SLIP)

    def _begun(self, flow: Flow) -> frozenset[tuple[int, int, int]]:
        """Return the points that left their cones just now: where another does so at once, they do not stick again."""
        if not self.state.decisions or flow.t - self.state.decisions[-1][0] > AT_ONCE:
            return frozenset()
        return frozenset(touch.key for touch in flow.structure.touches if touch.mode in (SLOW_SLIP, SOFT_SLIP))

    def _pull_again(self, flow: Flow) -> frozenset[tuple[int, int, int]]:
        """Return the points that pull just after a decision in which they were pressed.

        Friction of a creep goes straight on where the law turns it: of what is hardly pressed it may have another sign.
        """
        if not self._begun(flow):
            return frozenset()
        flow.observe()
        pressing, touches = flow.work.points.pressing, flow.structure.touches
        pulls = pressing <= ROUNDOFF * flow.largest_force()
        return frozenset(touch.key for touch, pull in zip(touches, pulls, strict=False) if pull)

    def _note_idle(self, touches: Sequence[Point], u_n: np.ndarray, rules: Mapping[int, int]) -> None:
        """Remember where bodies stay beside each other without a force: such a gap does not begin to close."""
        idle = {
            touch.pair for touch, rate in zip(touches, u_n, strict=True) if touch.mode == OPEN and rate <= self.slow
        }
        self.state.idle = frozenset(n for n, pair in enumerate(rules) if pair in idle) if idle else frozenset()
        self.state.idle_stops = frozenset(
            (one.column, one.side) for one in touches if isinstance(one, Bounded) and one.pair in idle
        )

    def _take(
        self, flow: Flow, bare: Instant, closed: list[Touch], bounded: list[Bounded], rules: Mapping[int, int],
        v: np.ndarray, rounds: int,
    ) -> str:  # fmt: skip
        """Let the run go on with these closed points and freedoms at their bounds, slow slips along straight ways.

        Freedoms that are held beyond what their friction resists move.  Returns why it cannot go on, or nothing.
        """
        for _ in range(rounds):
            bounds, friction = active_bounds(bare.mechanism, bounded), friction_of_moving(self.model, bounded)
            crooked, turn = None, 0
            while closed is not crooked:
                flow.take(self._kept(bare, tuple(closed), rules, bounds), v)
                flow.rub(friction)
                if any(touch.mode == SLOW_SLIP for touch in closed):
                    flow.observe()
                straight = straighten_slow_slip(flow.work.points, closed, last=turn >= TURNS)
                crooked, closed, turn = closed, straight, turn + 1
            beyond = flow.torques_beyond()
            chosen = self._chosen_grip(flow)
            if chosen:
                return chosen
            held_before, bounded = bounded, eased(bounded, beyond)
            if bounded == held_before:
                break
        return ""

    def _kept(
        self, now: Instant, touches: tuple[Touch, ...], rules: Mapping[int, int], bounds: tuple[ActiveBound, ...] = ()
    ) -> Instant:  # fmt: skip
        """Return an instant with these closed points, pairs that may touch and freedoms that are held, not looked at.

        Its tables are those of an older structure with the same rows, which nothing may be asked of any more.
        """
        joined = Joined(now.model, now.frames, now.active, now.structure.carrier)
        structure = self.structures.of(joined, touches, rules, bounds, now.structure)
        return Instant(now.model, structure, now.frames, now.active, now.q, now.v, now.mechanism)

    def _without(self, flow: Flow, now: Instant, rules: Mapping[int, int]) -> Instant:
        """Let the flow take over the structure in which nothing touches or is held, and return it as it is now."""
        bare = self._kept(now, (), rules)
        flow.take(bare, bare.v)
        return self._looked_at(flow, bare)

    def _looked_at(self, flow: Flow, now: Instant) -> Instant:
        """Return an instant that the flow has taken over, with its mechanism as it is."""
        mechanism = flow.mechanism
        if self._asks_where:
            work = mechanism.work._replace(coordinate=mechanism.work.coordinate.copy())  # which structures share
            mechanism = Mechanism(now.model, now.structure, work, flow.control, flow.t)
        return replace(now, mechanism=mechanism)

    def _prepare_steps(self, flow: Flow, now: Instant, rules: dict[int, int]) -> str:
        """Let time steps know which pairs may touch, and how; stops and friction of joints they find themselves.

        Returns which bodies are inside one another that may touch from now on, or which joint starts beyond its limits;
        or nothing.
        """
        begin = {pair: rule for pair, rule in rules.items() if pair not in now.structure.meetings}
        bare = _with(now, (), begin)
        contacts = self.model.scene.contacts
        law, gaps = closed_points(bare.mechanism, {n: rule for n, rule in begin.items() if contacts[rule].soft is None})
        stops, more = at_stops(bare.mechanism) if flow.t == 0.0 else ([], [])
        inside = self._overlap([*law, *stops], [*gaps, *more])
        if inside:
            return inside
        if not flow.model.step:
            flow.have_steps_of(flow.model.scene.simulate.dt)
            flow.take(_with(flow.instant(), (), rules), now.v)
            flow.rub(np.zeros(len(self.model.columns)))
            flow.foresee()
        return ""

    def _chosen_grip(self, flow: Flow) -> str:
        """Return which threshold of a constraint is of a force that is not determined, as last observed, or nothing."""
        for hold in flow.structure.bounds:
            joint = int(self.model.columns.joint[hold.column])
            if joint not in self.model.constraints or flow.work.joints.determinate[joint] == 1.0:
                continue
            if slips_by_choice(flow.mechanism, flow.structure.loops.index(joint)):
                spec = self.model.constraints[joint]
                return (
                    f"constraint {spec.name!r} ({spec.place}) lets go beyond a force (holds) that is not determined "
                    "here: other rows repeat its own, so its force is one choice among many. Leave out 'holds', or "
                    "what holds the same again"
                )
        return ""

    def _overlap(self, law: Sequence[Point], gaps: Sequence[float]) -> str:
        """Return which bodies are inside one another, or nothing."""
        deepest = min(zip(gaps, range(len(law)), strict=True), default=(0.0, 0))
        if deepest[0] > -DEEP:
            return ""
        point = law[deepest[1]]
        if isinstance(point, Bounded):
            return f"{point.beyond(self.model, -deepest[0])}: change the pose, the initial value or the limits"
        if self.is_rope(point):
            return (
                f"{self.name(point)} is shorter by {-deepest[0]:.3g} m than its points are apart where it begins to "
                "hold: give it a longer `length`, or set them closer"
            )
        return (
            f"{self.name(point)} overlap by {-deepest[0]:.3g} m where they begin to touch: set them apart, "
            "or leave them out of the contacts (`except`)"
        )

    def _forces(
        self, flow: Flow, bare: Instant, full: Instant, kinetics: Kinetics, law: list[Point], v: np.ndarray,
        out: Outcome, leaving: frozenset[tuple[int, int, int]],
    ) -> tuple[ContactSolution, AnalyticCentre, np.ndarray]:  # fmt: skip
        """Return what holds, the forces it is to hold with, and v, after jams where there are any.

        law : soft points in it are pressed as they are with these v, afterwards
        """
        for jams in range(JAMS + 1):
            if v is not full.v:  # which both were looked at with
                flow.take(bare, v)
                now = pressed(soft_of(law), flow.structure.tables.touches, flow.work.points)
                first = first_soft(law)
                law[first : first + len(now)] = now
                self.structures.look(full.structure, flow.control, flow.t, full.q, v)
            answer, centre = self._hold(flow, kinetics, law, v, out, leaving)
            if out.failure or not answer.painleve.any() or jams == JAMS:
                break
            v = self._jam(kinetics, law, v, answer, out)
        return answer, centre, v

    def _held(
        self, kinetics: Kinetics, law: Sequence[Point], v: np.ndarray, answer: ContactSolution, centre: AnalyticCentre,
        leaving: frozenset[tuple[int, int, int]],
    ) -> list[Point]:  # fmt: skip
        """Return the points in their modes, with their shares of forces that are not unique.

        A point that carries nothing is left open.  leaving : points whose cones were just left: where no other
        forces of the same rates have room, they begin to slide, all that have none of it together.
        """
        P, n, closed = centre.P, len(centre.P), [touch for touch in law if isinstance(touch, Touch)]
        k, mode, d = len(closed), answer.mode[:n].copy(), answer.d[:n].copy()
        mode[~(P[:, 0] > NOTHING * answer.unit[:n]) | (centre.bound & (P[:, 0] <= centre.border))] = OPEN
        sticks = (mode == STICK) & (np.hypot(P[:, 1], P[:, 2]) > 0.0)
        leaves = sticks & centre.bound & np.array([touch.key in leaving for touch in law[:n]], bool)
        if leaves.any():
            leaves |= sticks & centre.bound & centre.chosen
            mode[leaves] = SLIP
            d[leaves] = -P[leaves, 1:] / np.hypot(P[leaves, 1], P[leaves, 2])[:, None]
        points = kinetics.mechanism.work.points
        mu, restless = self._of(law, "friction")[:n], self.state.restless.among(law[:n])
        rubs = (mode == SLIP) & (mu > 0.0)
        begins = rubs & ~answer.given[:n]
        G, crept = kinetics.G[: 3 * n, : 3 * n], self.state.slip_directions.slow_slip_on(kinetics, law, v)[:n]
        vague = begins & (np.hypot(answer.z[:n, 1], answer.z[:n, 2]) < VAGUE * answer.rate)
        if vague.any():
            asked = vague | (mode == STICK)
            d[vague] = movable(G, np.column_stack([mode != OPEN, asked, asked]).ravel(), vague, d)
        d_W = d[:k, :1] * points.t1[kinetics.points] + d[:k, 1:] * points.t2[kinetics.points]
        led = mu * P[:, 0] < LEADS * answer.unit[:n]
        mode = let_slip_slowly(G, mode, d, (begins | (rubs & crept)) & ~led & ~restless)
        # Forces of least norm go on as that; with friction that follows them, each motion has its own.
        nearest = np.zeros_like(P) if centre.least and not rubs.any() and n == len(law) else P
        for i, touch in enumerate(closed):  # the direction goes on from where it was
            start = self.state.slip_directions.started.get(touch.key, np.zeros(3))
            if mode[i] != OPEN and restless[i]:
                mode[i], d_W[i] = SLIP, ease(d_W[i] if d_W[i].any() else points.t1[kinetics.points[i]])
            elif mode[i] >= SLIP and answer.given[i] and d_W[i] @ start > 0.0:
                d_W[i] = start
        touches = [
            touch.but(mode=int(m), slip_W=tuple(way.tolist()), share=_share(m, f), determinate=not chosen)
            for touch, m, way, f, chosen in zip(closed, mode[:k], d_W, nearest[:k], centre.chosen[:k], strict=True)
        ]
        bounded = [one for one in law if isinstance(one, Bounded)]
        stops = against(bounded[: n - k], nearest[k:], mode[k:])
        soft = soft_of(law)
        axes = points.t1[k : k + len(soft)], points.t2[k : k + len(soft)]
        given = softly(soft, answer, n, leaving, axes)
        return [*touches, *stops, *given, *frictions(bounded[n - k :], answer, leaving)]

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
        slow = np.array([SOFTLY_STILL if isinstance(one, SoftPoint) else STILL for one in law])
        begins &= np.array([not isinstance(one, SoftPoint) or one.start_W is None for one in law], bool)
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

    def _hold(
        self, flow: Flow, kinetics: Kinetics, law: list[Point], v: np.ndarray, out: Outcome,
        leaving: frozenset[tuple[int, int, int]],
    ) -> tuple[ContactSolution, AnalyticCentre]:  # fmt: skip
        """Return what holds, and the forces it is to hold with; law : soft points know then whether they rest.

        leaving : points whose cones were just left
        """
        status, vdot = _free(flow)
        if not np.isfinite(vdot).all():
            raise NotFinite
        u = kinetics.rates(v).reshape(-1, 3)
        speed = np.hypot(u[:, 1], u[:, 2])
        modes = np.array([self.state.modes.get(touch.key, OPEN) for touch in law])
        slip_directions = self.state.slip_directions.go_on(kinetics, law, v)
        on = np.flatnonzero(slip_directions.any(axis=1))
        u[on, 1:] = slip_directions[on]
        slide_on_softly(kinetics, law, u, self.state.slip_directions)
        a, resistance = kinetics.accelerations(vdot), self._of(law, "resistance")
        mu, most = self._grease(law, speed, u, self._of(law, "friction"), self._of(law, "friction_at_rest"))
        strongest, at_soft = self._of(law, "resistance_at_rest"), first_soft(law)
        rubs = resistance * kinetics.G.diagonal().reshape(-1, 3).sum(axis=1)
        problem = acceleration(
            kinetics.G, a, mu, u_t=u[:, 1:],
            closed=np.abs(u[:, 0]) <= self.slow, patch=_pairs(law),
            modes=modes if modes.any() else None, slow=STILL, least=resistance,
            scale=max(np.abs(a).max(initial=0.0), rubs.max(initial=0.0)),
        )  # fmt: skip
        pulls = np.array([touch.key in self._pulling for touch in law], bool)
        if pulls.any():
            problem = without_what_pulls(problem, pulls)
        left = np.array([touch.key in leaving for touch in law], bool)
        rests = ~problem.given & ((most > mu) | (strongest > resistance))
        while True:
            strong = np.where(rests, most, mu), np.where(rests, strongest, resistance)
            answer, centre = _balance(replace(problem, mu=strong[0], least=strong[1]) if rests.any() else problem)
            if not rests.any():
                break
            gives = giving_way(rests, answer, centre, left)
            gives |= giving(soft_of(law), rests, answer, at_soft, left)
            if not gives.any():
                break
            rests = rests & ~gives
        for k, one in enumerate(soft_of(law), start=at_soft):
            law[k] = replace(one, rests=bool(rests[k]))
        if self.laws.firmness == 1.0 and (problem.given & (answer.P[:, 0] > GREAT * answer.unit)).any():
            self.laws.begin(FIRMER)
            return self._hold(flow, kinetics, law, v, out, leaving)
        if self.laws.firmness > 1.0 and answer.indeterminate.any():
            answer, centre = _balance(let_fewer_press(replace(problem, mu=np.where(rests, most, mu)), answer))
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

    def _grease(
        self, law: Sequence[Point], speed: np.ndarray, u_out: np.ndarray, mu: np.ndarray, most: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Let restless points slide on, along u (k, 3) however slow, with the friction that they have at a speed.

        Returns the coefficients of all points, in motion and at rest.
        """
        eases = self.state.restless.among(law)
        if not eases.any():
            return mu, most
        mu, most, length = mu.copy(), most.copy(), np.hypot(u_out[eases, 1], u_out[eases, 2])
        u_out[eases, 1:] /= np.maximum(length, SHORTEST)[:, None]  # so long that it counts as given
        mu[eases] *= share_of_friction(speed[eases])
        most[eases] = mu[eases]
        return mu, most

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

    def _meetings(self, now: Instant) -> dict[int, int]:
        """Return the pairs that may touch now, each with its rule: the same while joints and rules are."""
        tree, active = now.structure.tree, tuple(self.state.rules)
        if self._met is None or self._met[0] is not tree or self._met[1] != active:
            self._met = tree, active, meetings(now.mechanism, active)
        return self._met[2]

    def _keep(self, touches: Sequence[Point], out: Outcome) -> None:
        modes = {touch.key: min(touch.mode, SLIP) for touch in touches if touch.mode != OPEN}
        if modes != self.state.modes:
            self._tell_changes(modes, touches, out)
        points = (touch.touch if isinstance(touch, SoftPoint) else touch for touch in touches if touch.mode != OPEN)
        self.state.modes, self.state.points = modes, {touch.key: touch for touch in points}

    def _tell_changes(self, modes: Mapping[tuple[int, int, int], int], touches: Sequence[Point], out: Outcome) -> None:
        """Tell which points change their modes, and how."""
        known = {touch.key: touch for touch in touches} | {key: touch for key, touch in self.state.points.items()}
        word = {OPEN: "leaves", STICK: "sticks", SLIP: "slides"}  # a creep is a slide
        for key in dict.fromkeys([*self.state.modes, *modes]):
            if modes.get(key, OPEN) != self.state.modes.get(key, OPEN):
                point, mode = known[key], modes.get(key, OPEN)
                out.pairs.add(self.name(point))
                if isinstance(point, Bounded):
                    out.changed.append(point.told(self.model, mode))
                elif self.is_rope(point):
                    out.changed.append(f"{self.name(point)} goes {'slack' if mode == OPEN else 'taut'}")
                else:
                    out.changed.append(f"{self.name(point)} {word[mode]}")
        out.changed = [
            f"{text} ({out.changed.count(text)} points)" if out.changed.count(text) > 1 else text
            for text in dict.fromkeys(out.changed)
        ]


def _balance(problem: ContactProblem) -> tuple[ContactSolution, AnalyticCentre]:
    """Return the forces of all points that the law asks for, and those with room of the points that are pressed."""
    held = None if problem.least.any() else fully_held(problem)
    answer = None if held is None else polish(problem, held)
    if answer is None or answer.status:
        answer = solve_contacts(problem)
    pressed = int(np.count_nonzero(problem.least == 0.0))
    pressed_alone = problem if pressed == problem.points else first(problem, pressed, answer.P)
    return answer, centred(pressed_alone, answer.P[:pressed], answer.mode[:pressed], answer.d[:pressed])


def _with(
    now: Instant, touches: tuple[Touch, ...], rules: Mapping[int, int], bounds: tuple[ActiveBound, ...] = ()
) -> Instant:  # fmt: skip
    """Return an instant with these closed points, pairs that may touch and their rules, and freedoms that are held."""
    then = now.structure
    structure = build(now.model, now.frames, now.active, then.carrier, touches, rules, bounds, like=then)
    mechanism = Mechanism.of(now.model, structure, now.mechanism.control, now.mechanism.t)
    mechanism.update(now.q, now.v)
    return replace(now, structure=structure, mechanism=mechanism)


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


def _share(mode: int, f: np.ndarray) -> tuple[float, float, float]:
    """Return a point's share of forces; of one that creeps friction takes what is not normal."""
    return (0.0, 0.0, float(f[0])) if mode == SLOW_SLIP else (float(f[1]), float(f[2]), float(f[0]))


def _free(flow: Flow) -> tuple[Status, np.ndarray]:
    """Return vdot of the present state with what holds it now."""
    y, k = flow.stepper.y.copy(), np.zeros_like(flow.stepper.y)
    status = Status(flow.ask(START, y, k))
    if status == Status.OK:
        status = Status(flow.ask(SETTLE, y, k))
    n = flow.structure.sizes
    return status, k[n.q : n.q + n.v].copy()


__all__ = ["ContactModes", "Outcome"]
