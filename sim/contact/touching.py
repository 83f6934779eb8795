"""Which points touch, and how: decided anew at every instant at which that may change.

dynamics-filter-1999, "Collisions and Contacts": first impulses, with all that is closed, then the contacts are full
constraints and give way as forces demand; `sim.contact.problem` is the problem, on both levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from sim.changes import Instant
from sim.connectivity import build
from sim.contact.candidates import candidates
from sim.contact.hops import Hops
from sim.contact.kinetics import Kinetics
from sim.contact.problem import acceleration, impact
from sim.contact.solution import ContactSolution
from sim.contact.solve import solve_contacts
from sim.contact.touch import Touch
from sim.flow import CLOSED
from sim.kernels.system import SETTLE, START
from sim.mechanism import Mechanism
from sim.model import OPEN, STICK, Status

if TYPE_CHECKING:
    from sim.compiler import Model
    from sim.flow import Flow

AT_REST = 1e-9  # m/s: normal rate at which it stays


@dataclass
class Outcome:
    """What an instant did at points of contact.

    struck : names of pairs that collided; changed: modes that changed, as text; ended: sequences of collisions that end
    lost : J; hop: s, the shortest that begins now; change : (nv,) of v, or None; impulse : (rows,) of all rows of `mechanism`, or None
    """

    struck: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    lost: float = 0.0
    hop: float = np.inf
    change: np.ndarray | None = None
    impulse: np.ndarray | None = None
    mechanism: Mechanism | None = None
    status: Status = Status.OK


class Touching:
    """The contacts of a run.

    active : (rules,) which of the scene's rules are switched on
    """

    def __init__(self, model: Model):
        self.model = model
        self.active = [rule.active for rule in model.scene.contacts]
        self.modes: dict[tuple[int, int], int] = {}
        self.hops = Hops()

    def watched(self, present: set[int]) -> tuple[Touch, ...]:
        """Return all points that may touch while these joints are connected, open."""
        joints, rules, free = self.model.joints, self.model.scene.contacts, set(self.model.free_joint.tolist())
        held = {
            frozenset((int(joints.parent[j]), int(joints.child[j]))) for j in present if j not in self.model.free_joint
        }
        out: list[Touch] = []
        for number, pair in enumerate(self.model.pairs):
            rule = next((n for n in reversed(pair.rules) if self.active[n]), -1)
            bodies = frozenset((self.model.solids[pair.first].body, self.model.solids[pair.second].body))
            if rule >= 0 and bodies not in held:
                out += candidates(number, pair, self.model.solids, rules[rule])
        return tuple(out)

    def name(self, touch: Touch) -> str:
        """Return the names of the two bodies of a point."""
        solids, pair = self.model.solids, self.model.pairs[touch.key[0]]
        names = [solids[n].name or self.model.body_names[solids[n].body] for n in (pair.first, pair.second)]
        return " and ".join(names)

    # --- one instant ----------------------------------------------------------------------------

    def decide(self, flow: Flow) -> Outcome:
        """Let points that come together collide, then find which of those that touch stick, slide or part."""
        out, watch = Outcome(), self.watched(flow.present())
        open_ = _with(flow.instant(), watch)
        gap = open_.mechanism.work.touches.gap
        closed = np.flatnonzero(gap <= CLOSED)
        flow.take(open_, open_.v)
        if not len(closed):
            self._keep(watch, out)
            return out
        full = _with(open_, _closed(watch, closed, [STICK] * len(closed)))
        kinetics = Kinetics(full.mechanism)
        law = [watch[k] for k in closed]
        v = self._collide(kinetics, law, full.v, flow.t, out)
        flow.take(open_, v)
        full.mechanism.look(full.q, v)
        status, vdot = _free(flow)
        if status != Status.OK:
            out.status = status
            return out
        answer, d_W = self._hold(kinetics, law, v, vdot)
        out.hop = _shortest_hop(kinetics.rates(v)[::3], answer.z[:, 0])
        rests = np.abs(kinetics.rates(v)[::3]) <= AT_REST
        final = [
            replace(watch[k], mode=int(m), slip_W=tuple(d.tolist()), idle=bool(r) and m == OPEN)
            for k, m, d, r in zip(closed, answer.mode, d_W, rests, strict=True)
        ]
        touches = list(watch)
        for k, touch in zip(closed, final, strict=True):
            touches[k] = touch
        self._keep(touches, out)
        flow.take(_with(open_, tuple(touches)), v)
        flow.step_at_most(0.5 * out.hop)
        return out

    def _collide(self, kinetics: Kinetics, law: Sequence[Touch], v: np.ndarray, t: float, out: Outcome) -> np.ndarray:
        u = kinetics.rates(v)
        if not (u[::3] < -AT_REST).any():
            return v
        un = u[::3]
        e = np.where(un < -_of(law, "rest_speed"), _of(law, "restitution"), 0.0)
        answer = solve_contacts(impact(
            kinetics.G, u, _of(law, "friction"), shift=np.where(un < 0, e * un, 0.0),
            patch=np.array([touch.key[0] for touch in law]),
        ))  # fmt: skip
        P = answer.P.ravel()
        hit = [k for k, p in enumerate(answer.P) if p[0] > 0.0]
        out.struck = sorted({self.name(law[k]) for k in hit})
        for pair in {law[k].key[0] for k in hit}:
            end = self.hops.ends(pair, t)
            if end is not None:
                self.hops.forget(pair)
                of_pair = np.flatnonzero([touch.key[0] == pair for touch in law])
                grips = all(answer.mode[k] == STICK for k in hit if law[k].key[0] == pair)
                rows = (3 * of_pair[:, None] + np.arange(3 if grips else 1)).ravel()
                P = P + _brought_to_rest(kinetics.G, u + kinetics.rates(kinetics.change(P)), rows)
                out.ended.append(f"{self.name(law[hit[0]])} comes to rest at {end:.9f} s")
        after: np.ndarray = v + kinetics.change(P)
        out.lost = -0.5 * float(P @ (u + kinetics.rates(after)))
        out.change = after - v
        out.impulse, out.mechanism = kinetics.impulses(P), kinetics.mechanism
        return after

    def _hold(
        self, kinetics: Kinetics, law: Sequence[Touch], v: np.ndarray, vdot: np.ndarray
    ) -> tuple[ContactSolution, np.ndarray]:
        """Return what holds, and the directions of slip in world axes (k, 3)."""
        u = kinetics.rates(v).reshape(-1, 3)
        modes = np.array([self.modes.get(touch.key, OPEN) for touch in law])
        problem = acceleration(
            kinetics.G, kinetics.accelerations(vdot), _of(law, "friction"), u_t=u[:, 1:],
            closed=np.abs(u[:, 0]) <= AT_REST, patch=np.array([touch.key[0] for touch in law]),
            modes=modes if modes.any() else None,
        )  # fmt: skip
        answer = solve_contacts(problem)
        R = kinetics.mechanism.work.touches.R[kinetics.points].reshape(-1, 3, 3)
        d_W = np.einsum("kij,kj->ki", R[:, :, :2], answer.d)
        return answer, d_W

    def _keep(self, touches: Sequence[Touch], out: Outcome) -> None:
        modes = {touch.key: touch.mode for touch in touches if touch.mode != OPEN}
        word = {OPEN: "leaves", STICK: "sticks", 2: "slides"}
        for touch in touches:
            before = self.modes.get(touch.key, OPEN)
            if touch.mode != before:
                out.changed.append(f"{self.name(touch)} [{touch.key[1]}] {word[touch.mode]}")
        self.modes = modes


def _with(now: Instant, touches: tuple[Touch, ...]) -> Instant:
    """Return an instant with other points of contact."""
    structure = build(now.model, now.frames, now.active, now.structure.carrier, touches)
    mechanism = Mechanism.of(now.model, structure, now.mechanism.control, now.mechanism.t)
    mechanism.look(now.q, now.v)
    return replace(now, structure=structure, mechanism=mechanism)


def _shortest_hop(u_n: np.ndarray, a_n: np.ndarray) -> float:
    """Return how long the first of the points that leave will stay away, as far as can be told [s]."""
    leaves = (u_n > AT_REST) & (a_n < 0.0)
    return float(np.min(2.0 * u_n[leaves] / -a_n[leaves], initial=np.inf))


def _brought_to_rest(G: np.ndarray, u: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the impulses (3k,) of least norm along some rows that stop the rates of these rows."""
    P = np.zeros(len(u))
    P[rows] = np.linalg.lstsq(G[np.ix_(rows, rows)], -u[rows], rcond=1e-12)[0]
    return P


def _closed(watch: Sequence[Touch], which: np.ndarray, modes: Sequence[int]) -> tuple[Touch, ...]:
    out = list(watch)
    for k, mode in zip(which, modes, strict=True):
        out[k] = replace(out[k], mode=mode)
    return tuple(out)


def _free(flow: Flow) -> tuple[Status, np.ndarray]:
    """Return vdot of the present state with what holds it now."""
    y, k = flow.stepper.y.copy(), np.zeros_like(flow.stepper.y)
    status = Status(flow.ask(START, y, k))
    if status == Status.OK:
        status = Status(flow.ask(SETTLE, y, k))
    n = flow.structure.sizes
    return status, k[n.q : n.q + n.v].copy()


def _of(law: Sequence[Touch], what: str) -> np.ndarray:
    return np.array([getattr(touch, what) for touch in law], float)
