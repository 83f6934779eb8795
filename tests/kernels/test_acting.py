"""What acts on links and joints, against formulas in plain numpy: springs, drag, wrenches, stops, friction, laws."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.kernels import callback, elements, forces
from sim.kernels.jit import interpreted
from sim.kernels.rows.touches import STILL
from sim.kernels.scratch import FORCE_WORK, LINK_WORK, ONE_WORK
from sim.kernels.tables import COLUMN, DRAG, FORCE, LINK, POINT, SPRING, STOP, TORSION, WRENCH, table
from tests.kernels.plain import plain
from tests.support.rotations import random_matrix

pytestmark = pytest.mark.fast


def powers(one: np.recarray) -> list[float]:
    """Return what is put in and what is dissipated."""
    return [one.put_in[0], one.dissipated[0]]


class Bodies:
    """Links that move at random, with points on them, and forces between these."""

    def __init__(self, seed: int, kinds: tuple[int, ...] = (), links: int = 4, points: int = 5):
        rng = np.random.default_rng(seed)
        self.rng, self.links, self.work = rng, table(LINK, links), table(LINK_WORK, links)
        for b in range(links):
            R = random_matrix(rng) if b else np.eye(3)
            self.work.R[b], self.links.R_KB[b] = R.ravel(), random_matrix(rng).ravel()
            self.links.p_KB[b] = rng.normal(size=3)
            if b:
                self.work.x[b], self.work.V[b] = rng.normal(size=3), rng.normal(size=6)
        self.points = table(POINT, points)
        self.points.body, self.points.p_B = [1, 0, 2, 3, 1][:points], rng.normal(size=(points, 3))
        self.begun = rng.normal(size=self.work.wrench.shape)
        self.work.wrench = self.begun
        count = len(kinds)
        self.forces, self.force_work, self.one = table(FORCE, count), table(FORCE_WORK, count), table(ONE_WORK, 1)
        self.forces.kind = kinds
        self.one.put_in, self.one.dissipated = 0.3, 0.7
        self.force_work.wrench, self.force_work.length, self.force_work.tension = 5.0, 6.0, 7.0
        self.control = SimpleNamespace(fed=rng.normal(size=8))
        # Formulas that read forces are found elsewhere: here their values alone.
        self.tables = SimpleNamespace(
            links=self.links, points=self.points, forces=self.forces, slots=np.arange(8)[::-1].copy()
        )
        self.whole = SimpleNamespace(links=self.work, forces=self.force_work, one=self.one)

    def point(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Return place and velocity of a point."""
        b = int(self.points.body[i])
        arm = self.work.R[b].reshape(3, 3) @ self.points.p_B[i]
        return self.work.x[b] + arm, self.work.V[b, 3:] + np.cross(self.work.V[b, :3], arm)

    def apply(self, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = (self.tables, self.control, self.whole, None)
        names = plain(elements.point_forces).__globals__ | {"unpack": lambda system: whole}
        for name in ("spring", "push", "drag", "turn", "acting_value"):
            names[name] = plain(getattr(elements, name))
        function = getattr(elements.point_forces, "py_func", elements.point_forces)
        type(function)(function.__code__, names)(None, 0.2)

    def added(self) -> np.ndarray:
        return np.asarray(self.work.wrench - self.begun)

    def expected(self, pushes: list[tuple[int, np.ndarray, np.ndarray]]) -> np.ndarray:
        """Return (links, 6) what moments and forces at places are about the links' origins."""
        out = np.zeros((len(self.links), 6))
        for b, p, K in pushes:
            out[b] += np.r_[K[:3] + np.cross(p - self.work.x[b], K[3:]), K[3:]]
        return out

    def work_of(self) -> float:
        """Return the power of what was added."""
        return float(np.sum(self.added() * self.work.V))


def test_a_spring_pulls_its_ends_together(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = Bodies(1, (SPRING, SPRING))
    f = bodies.forces
    f.a, f.b, f.stiffness, f.damping, f.rest = [0, 3], [2, 1], [3.0, 7.0], [0.4, 0.9], [0.6, 4.0]
    bodies.apply(monkeypatch)
    pushes, dissipated = [], 0.0
    for k in range(2):
        (p, u), (q, v) = bodies.point(int(f.a[k])), bodies.point(int(f.b[k]))
        way = (q - p) / np.linalg.norm(q - p)
        rate = way @ (v - u)
        tension = f.stiffness[k] * (np.linalg.norm(q - p) - f.rest[k]) + f.damping[k] * rate
        assert bodies.force_work.length[k] == pytest.approx(np.linalg.norm(q - p), rel=1e-13)
        assert bodies.force_work.tension[k] == pytest.approx(tension, rel=1e-12)
        pull = np.r_[0, 0, 0, tension * way]
        pushes += [(int(bodies.points.body[f.a[k]]), p, pull), (int(bodies.points.body[f.b[k]]), q, -pull)]
        np.testing.assert_allclose(bodies.force_work.wrench[k], -pull, atol=1e-13)
        dissipated += f.damping[k] * rate**2
    np.testing.assert_allclose(bodies.added(), bodies.expected(pushes), atol=1e-12)
    np.testing.assert_allclose(powers(bodies.one), [0.3, 0.7 + dissipated], rtol=1e-13)
    stretch = 0.5 * f.stiffness * (bodies.force_work.length - f.rest) ** 2
    found = plain(elements.spring_energy)(f, bodies.points, np.zeros(0), bodies.work)
    assert found == pytest.approx(stretch.sum(), rel=1e-13)


def test_a_spring_whose_ends_meet_has_no_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = Bodies(2, (SPRING,))
    bodies.forces.a, bodies.forces.b, bodies.forces.rest, bodies.forces.stiffness = 0, 0, 0.5, 3.0
    bodies.apply(monkeypatch)
    assert bodies.force_work.length[0] == 0.0 and bodies.force_work.tension[0] == -1.5
    assert np.all(bodies.added() == 0.0)


def test_drag_is_against_the_motion_of_its_point_and_the_turning_of_its_body(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = Bodies(3, (DRAG, DRAG))
    f = bodies.forces
    f.a, f.damping, f.quadratic = [2, 3], [0.4, 1.1], [0.7, 0.2]
    f.turning_damping, f.turning_quadratic = [0.3, 0.8], [0.5, 0.6]
    bodies.apply(monkeypatch)
    pushes = []
    for k in range(2):
        b = int(bodies.points.body[f.a[k]])
        (p, v), w = bodies.point(int(f.a[k])), bodies.work.V[b, :3]
        moment = -(f.turning_damping[k] + f.turning_quadratic[k] * np.linalg.norm(w)) * w
        force = -(f.damping[k] + f.quadratic[k] * np.linalg.norm(v)) * v
        pushes.append((b, p, np.r_[moment, force]))
        np.testing.assert_allclose(bodies.force_work.wrench[k], pushes[-1][2], rtol=1e-12)
    np.testing.assert_allclose(bodies.added(), bodies.expected(pushes), atol=1e-12)
    np.testing.assert_allclose(powers(bodies.one), [0.3, 0.7 - bodies.work_of()], rtol=1e-12)


@pytest.mark.parametrize("turned", [0, 1])
def test_a_wrench_acts_at_its_point_and_reacts_there_on_the_other_body(
    monkeypatch: pytest.MonkeyPatch, turned: int
) -> None:
    bodies = Bodies(4, (WRENCH, WRENCH))
    f, fed = bodies.forces, bodies.control.fed
    f.a, f.b, f.turned = [2, 3], [-1, 0], turned
    f.programs = [[0, 1, -1, 3, -1, 5], [7, 6, 5, 2, 1, 0]]
    bodies.apply(monkeypatch)
    pushes = []
    for k in range(2):
        K = np.array([fed[7 - n] if n >= 0 else 0.0 for n in f.programs[k]])
        b = int(bodies.points.body[f.a[k]])
        if turned:
            R = bodies.work.R[b].reshape(3, 3) @ bodies.links.R_KB[b].reshape(3, 3)
            K = np.r_[R @ K[:3], R @ K[3:]]
        p, _ = bodies.point(int(f.a[k]))
        pushes.append((b, p, K))
        if k == 1:
            pushes.append((1, p, -K))
        np.testing.assert_allclose(bodies.force_work.wrench[k], K, atol=1e-13)
    np.testing.assert_allclose(bodies.added(), bodies.expected(pushes), atol=1e-12)
    np.testing.assert_allclose(powers(bodies.one), [0.3 + bodies.work_of(), 0.7], rtol=1e-12)


def test_torsion_springs_turn_back_one_turn_or_three() -> None:
    f, work, one = table(FORCE, 4), table(FORCE_WORK, 4), table(ONE_WORK, 1)
    f.kind, f.column, f.turns = [SPRING, TORSION, TORSION, TORSION], [0, 1, 3, 6], [1, 1, 3, 3]
    f.stiffness, f.damping, f.rest = [9.0, 2.0, 3.0, 4.0], [9.0, 0.5, 0.25, 0.1], [9.0, 0.2, 0.0, 0.0]
    coordinate, rate = np.random.default_rng(5).normal(size=(2, 9))
    coordinate[6:] = 0.0
    begun = np.arange(9.0)
    torque, work.length, work.tension = begun.copy(), 8.0, 8.5
    one.put_in, one.dissipated = 0.3, 0.7
    plain(elements.torsion_springs)(f, coordinate, rate, torque, work, one)
    tension = 2.0 * (coordinate[1] - 0.2) + 0.5 * rate[1]
    ball, spin = coordinate[3:6], rate[3:6]
    expected = begun.copy()
    expected[1] -= tension
    expected[3:6] -= 3.0 * ball + 0.25 * spin
    expected[6:] -= 0.1 * rate[6:]
    np.testing.assert_allclose(torque, expected, rtol=1e-13)
    angle = np.linalg.norm(ball)
    np.testing.assert_allclose(work.length, [8.0, coordinate[1], angle, 0.0], rtol=1e-13)
    np.testing.assert_allclose(work.tension, [8.5, tension, 3.0 * angle + 0.25 * ball @ spin / angle, 0.0], rtol=1e-13)
    dissipated = 0.5 * rate[1] ** 2 + 0.25 * spin @ spin + 0.1 * rate[6:] @ rate[6:]
    np.testing.assert_allclose(powers(one), [0.3, 0.7 + dissipated], rtol=1e-13)
    f.kind[0] = DRAG
    energy = plain(elements.spring_energy)(f, table(POINT, 0), coordinate, table(LINK_WORK, 1))
    assert energy == pytest.approx(0.5 * (2.0 * (coordinate[1] - 0.2) ** 2 + 3.0 * angle**2) + 4.5 * 0.0, rel=1e-13)


def test_springs_and_dampers_of_columns() -> None:
    columns, one = table(COLUMN, 4), table(ONE_WORK, 1)
    columns.stiffness, columns.damping, columns.rest = [2.0, 0.0, 3.0, 0.0], [0.5, 0.7, 0.0, 0.0], [0.1, 5.0, -0.4, 6.0]
    coordinate, rate, begun = np.random.default_rng(6).normal(size=(3, 4))
    torque, one.put_in, one.dissipated = begun.copy(), 0.3, 0.7
    plain(forces.spring_torques)(columns, coordinate, rate, torque, one)
    expected = begun - columns.stiffness * (coordinate - columns.rest) - columns.damping * rate
    np.testing.assert_allclose(torque, expected, rtol=1e-13)
    np.testing.assert_allclose(powers(one), [0.3, 0.7 + np.sum(columns.damping * rate**2)], rtol=1e-13)


STOPS = [  # column, angle, side, bound
    (1, 0, 1.0, 0.3), (1, 0, -1.0, -0.5), (2, 0, 1.0, -2.0), (3, 1, 1.0, 0.8), (3, 1, -1.0, 3.0), (6, 1, 1.0, 0.5),
    (2, 0, -1.0, 2.0),
]  # fmt: skip


@pytest.mark.parametrize("closing", [-9.0, 0.4])
def test_soft_stops_push_back_and_never_pull(closing: float) -> None:
    """Hunt and Crossley: k d (1 + c d'), along the way in which depth grows."""
    stops, one = table(STOP, len(STOPS)), table(ONE_WORK, 1)
    stops.column, stops.angle, stops.side, stops.bound = (np.array(x) for x in zip(*STOPS, strict=True))
    stops.stiffness, stops.dissipation = np.arange(2.0, 2.0 + len(STOPS)), 0.35
    coordinate = np.array([9.0, 0.7, -0.6, 0.9, -0.4, 0.5, 0.0, 0.0, 0.0])
    rate = closing * np.array([9.0, 0.8, 0.5, 0.4, 0.7, -0.3, 0.2, 0.1, 0.6])
    engaged = np.array([1, 0, 1, 1, 1, 1, 1])
    begun = np.arange(9.0)
    torque, stopping, one.put_in, one.dissipated = begun.copy(), 2 * begun, 0.3, 0.7
    plain(forces.stop_torques)(stops, engaged, coordinate, rate, stopping, torque, one)
    expected, dissipated, depths = np.zeros(9), 0.0, []
    for s, (c, angle, side, bound) in enumerate(STOPS):
        own = slice(c, c + 3 if angle else c + 1)
        size = np.linalg.norm(coordinate[own]) if angle else coordinate[c]
        way = (coordinate[own] / size if size else 0.0 * coordinate[own]) if angle else np.ones(1)
        depths.append(side * (size - bound))
        assert plain(forces.stop_depth)(stops, coordinate, s) == pytest.approx(depths[-1], rel=1e-13)
        rising = side * way @ rate[own]
        assert plain(forces.closing_rate)(stops, coordinate, rate, s) == pytest.approx(rising, rel=1e-13)
        if engaged[s]:
            push = stops.stiffness[s] * depths[-1] * max(1.0 + 0.35 * rising, 0.0)
            expected[own] -= push * side * way
            dissipated += (push - stops.stiffness[s] * depths[-1]) * rising
    np.testing.assert_allclose(torque - begun, expected, rtol=1e-12)
    np.testing.assert_allclose(stopping - 2 * begun, expected, rtol=1e-12)
    np.testing.assert_allclose(powers(one), [0.3, 0.7 + dissipated], rtol=1e-12)


def rubbing() -> tuple:
    """Columns of which the second and third share a bound, the fifth and sixth another that is nothing now."""
    columns = table(COLUMN, 7)
    columns.both = [0, 1, 0, 0, 1, 0, 0]
    friction = np.array([0.5, -0.6, 0.8, -0.3, 0.0, 0.0, 0.0])
    return columns, friction


@pytest.mark.parametrize("share", [1.0, 1e-3])
def test_friction_of_two_freedoms_turns_with_their_way(share: float) -> None:
    """From where friction began; what goes back is mirrored, so that it goes on."""
    columns, friction = rubbing()
    for way in (np.array([0.9, 0.1]), np.array([-0.4, -1.0]), np.array([0.6, -0.8])):
        rate = share * np.array([-0.7, *way, 0.9, 0.3, 0.4, 0.2])
        one = table(ONE_WORK, 1)
        one.put_in, one.dissipated, begun = 0.3, 0.7, np.arange(7.0)
        torque, rubs = begun.copy(), np.full(7, 9.0)
        plain(forces.friction_torques)(columns, friction, rate, rubs, torque, one)
        start = -friction[1:3]
        on = way @ start
        gone = way if on >= 0 else way - 2 * on * start
        expected = friction.copy()
        expected[1:3] = -gone / np.linalg.norm(gone)
        np.testing.assert_allclose(rubs, expected, atol=1e-12)
        np.testing.assert_allclose(torque, begun + expected, atol=1e-12)
        np.testing.assert_allclose(powers(one), [0.3, 0.7 - expected @ rate], atol=1e-12)


def test_the_next_step_goes_on_with_the_friction_of_what_still_goes_on() -> None:
    columns, friction = rubbing()
    rubs = np.array([7.0, 0.8, 0.6, 7.0, 0.0, 0.0, 7.0])
    for rate_along, goes_on in ((-0.4, True), (-1.01 * STILL, True), (-0.99 * STILL, False), (0.4, False)):
        rate = np.array([1.0, 0.8 * rate_along, 0.6 * rate_along, 1.0, 1.0, 1.0, 1.0])
        kept = friction.copy()
        plain(forces.keep_friction)(columns, rate, rubs, kept)
        expected = friction.copy()
        if goes_on:
            expected[1:3] = rubs[1:3]
        np.testing.assert_array_equal(kept, expected)


def test_what_rubs_goes_back_where_its_friction_pushes() -> None:
    columns, friction = rubbing()
    rate = np.array([0.4, 0.7, -0.2, 0.9, 0.0, 0.0, 0.0])
    found = [plain(forces.backward)(columns, friction, rate, c) for c in (0, 1, 3)]
    np.testing.assert_allclose(found, [0.4, -0.6 * 0.7 - 0.8 * 0.2, -0.9], rtol=1e-13)
    friction[1:3] *= 3.0
    assert plain(forces.backward)(columns, friction, rate, 1) == pytest.approx(found[1], rel=1e-13)


@pytest.mark.parametrize("turns", [-2.0, 0.0, 3.0])
def test_an_angle_is_counted_to_the_turn_that_is_remembered(turns: float) -> None:
    for off in (-3.1, 0.0, 3.1):
        counted = 0.4 + 2 * math.pi * turns
        assert plain(forces.near_turn)(0.4, counted + off) == pytest.approx(counted, abs=1e-12)


def test_wrenches_of_callers_act_at_points_that_move_along() -> None:
    bodies = Bodies(7)
    bodies.links.body = [0, 2, 3, 1]
    wrench, arms = np.zeros((4, 6)), np.zeros((4, 9))
    pushes = []
    for b in (1, 2, 3):
        n = int(bodies.links.body[b])
        R, K = bodies.work.R[b].reshape(3, 3), bodies.links.R_KB[b].reshape(3, 3)
        p, force, torque = bodies.rng.normal(size=(3, 3))
        wrench[n], arms[n] = np.r_[torque, force], np.outer(p, force).ravel()
        at = bodies.work.x[b] + R @ (bodies.links.p_KB[b] + K @ p)
        pushes.append((b, at, np.r_[torque, force]))
    bodies.one.put_in, bodies.one.dissipated = 0.3, 0.7
    plain(forces.body_wrenches)(bodies.links, wrench, arms, bodies.work, bodies.one)
    np.testing.assert_allclose(bodies.added(), bodies.expected(pushes), atol=1e-12)
    np.testing.assert_allclose(powers(bodies.one), [0.3 + bodies.work_of(), 0.7], rtol=1e-12)


def test_controllers_add_up_and_their_power_is_put_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Held torques, formulas that are enabled, and laws that are."""
    laws = [(4, 0, 2), (5, 2, 1)] if interpreted() else []
    fed, held, rate = np.array([0.5, -0.8, 1.3]), np.array([0.1, 0.2, -0.3]), np.array([2.0, -3.0, 5.0])
    for enabled in ((1, 0, 1, 0, 1), (0, 1, 0, 1, 1)):
        tables = SimpleNamespace(
            laws=np.array(laws).reshape(-1, 3), applied=np.array([[0, 2], [1, 0], [2, 2]]), slots=np.array([2, 0, 1]),
            law_constants=np.array([10.0, 20.0, 30.0]),
        )  # fmt: skip
        control = SimpleNamespace(held=held, enabled=np.array(enabled)[2 - len(laws) :], fed=fed)
        work, begun = SimpleNamespace(control=np.full(3, 9.0), rate=rate, coordinate=held, one=table(ONE_WORK, 1)), 4.0
        work.torque, work.one.put_in, work.one.dissipated = np.full(3, begun), 0.3, 0.7
        for address, factor in ((4, 1.0), (5, 2.0)):

            def law(
                t: float, q: np.ndarray, v: np.ndarray, k: np.ndarray, out: np.ndarray, factor: float = factor
            ) -> None:
                out += factor * (t * q + v) + k.sum()

            monkeypatch.setitem(callback.TWINS, address, law)
        plain(forces.control_torques)(tables, control, work, 0.7)
        expected = held.copy()
        for n, (program, column) in enumerate(tables.applied):
            if enabled[2 + n]:
                expected[column] += fed[tables.slots[program]]
        for n, k in enumerate((30.0, 30.0)):
            if laws and enabled[n]:
                expected += (n + 1) * (0.7 * held + rate) + k
        np.testing.assert_allclose(work.control, expected, rtol=1e-13)
        np.testing.assert_allclose(work.torque, begun + expected, rtol=1e-13)
        np.testing.assert_allclose(powers(work.one), [0.3 + expected @ rate, 0.7], rtol=1e-13)


def test_links_need_what_newton_and_euler_ask_for() -> None:
    """About an origin off the centre of mass, from the motion of the centre."""
    rng = np.random.default_rng(8)
    work = table(LINK_WORK, 3)
    for b in (1, 2):
        m, c, R = 1.3 * b, rng.normal(size=3), Rotation.random(rng=b).as_matrix()
        central = R @ np.diag([0.4, 0.5, 0.7]) @ R.T
        J = central + m * (c @ c * np.eye(3) - np.outer(c, c))
        work.I[b] = [m, *m * c, J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]]
        work.V[b], work.A[b], work.wrench[b] = rng.normal(size=(3, 6))
    work.F = 9.0
    plain(forces.link_forces)(work)
    for b in (1, 2):
        m, c, w, alpha = work.I[b, 0], work.I[b, 1:4] / work.I[b, 0], work.V[b, :3], work.A[b, :3]
        R = Rotation.random(rng=b).as_matrix()
        central = R @ np.diag([0.4, 0.5, 0.7]) @ R.T
        force = m * (work.A[b, 3:] + np.cross(alpha, c) + np.cross(w, np.cross(w, c)))
        moment = central @ alpha + np.cross(w, central @ w) + np.cross(c, force)
        np.testing.assert_allclose(work.F[b], np.r_[moment, force] - work.wrench[b], atol=1e-12)
    assert np.all(work.F[0] == 9.0)
