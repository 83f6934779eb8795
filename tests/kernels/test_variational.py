"""What a variational step is made of, against rotation matrices and dense numpy; and whole steps against the theory.

The theory: discrete Euler-Lagrange equations in position-momentum form, found here link by link from velocities.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import sim
from sim.kernels.integrators import variational
from sim.kernels.scratch import BLOCK_WORK, LINK_WORK, PUSHED
from sim.kernels.status import Status
from sim.kernels.stepper import EVALUATIONS
from sim.kernels.system import SETTLE, START, VARIATIONAL
from sim.kernels.tables import BLOCK, FREEDOM, LINK, ROW, table
from sim.scene.load import load_text
from tests.dynamics.engine import simulator_of
from tests.dynamics.test_variational import DAMPED, TIES, far, tied
from tests.kernels.kinds import CYLINDRICAL, FREE, ROTATIONAL, SPHERICAL, close, lay_out
from tests.kernels.plain import plain
from tests.support import mechanisms
from tests.support.dense import inertia_and_bias, link_jacobians
from tests.support.scene_texts import scene_text

pytestmark = pytest.mark.fast

B = 4  # links


def rng_of(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def matrix(six: np.ndarray) -> np.ndarray:
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def cross(w: np.ndarray) -> np.ndarray:
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def spatial(ten: np.ndarray) -> np.ndarray:
    """Return the (6, 6) inertia of m, m c and J about the origin."""
    c = cross(ten[1:4])
    return np.block([[matrix(ten[4:]), c], [-c, ten[0] * np.eye(3)]])


def moving_links(seed: int) -> np.recarray:
    """Links of random inertia, velocity and wrench; gravity is what the world is accelerated against."""
    rng, out = rng_of(seed), table(LINK_WORK, B)
    for name in ("V", "A", "I", "wrench", "B", "x"):
        getattr(out, name)[:] = rng.normal(size=getattr(out, name).shape)
    return out


@pytest.mark.parametrize("half", [0.3, -0.2])
def test_momenta_are_inertia_times_velocity_and_half_an_impulse(half: float) -> None:
    links, found = moving_links(1), np.full((B, 6), 9.0)
    plain(variational.momenta)(links, half, found)
    gravity = np.r_[np.zeros(3), -links.A[0, 3:]]
    for b in range(1, B):
        expected = spatial(links.I[b]) @ (links.V[b] + half * gravity) + half * links.wrench[b]
        np.testing.assert_allclose(found[b], expected, rtol=1e-13, atol=1e-13)
    assert np.all(found[0] == 9.0)


def test_a_correction_of_velocities_goes_into_the_momenta_which_then_move_along() -> None:
    links, there, rng = moving_links(1), moving_links(2), rng_of(3)
    found = rng.normal(size=(B, 6))
    before = found.copy()
    plain(variational.complete)(links, there, found)
    for b in range(1, B):
        moment, force = np.split(before[b] + spatial(links.I[b]) @ links.B[b], 2)
        moment = moment + np.cross(links.x[b] - there.x[b], force)
        np.testing.assert_allclose(found[b], np.r_[moment, force], rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(found[0], before[0])


def posed(seed: int, size: float) -> tuple[np.recarray, np.recarray, np.recarray]:
    """Return links, and their poses before and after turns and ways of about a size."""
    rng, links, here, there = rng_of(seed), table(LINK, B), table(LINK_WORK, B), table(LINK_WORK, B)
    links.mass[:], links.com_K[:], links.inertia_K[:] = (rng.normal(size=s) for s in (B, (B, 3), (B, 6)))
    here.x[:] = rng.normal(size=(B, 3))
    there.x[:] = here.x + size * rng.normal(size=(B, 3))
    for b in range(B):
        R = Rotation.random(random_state=10 * seed + b)
        here.R[b] = R.as_matrix().ravel()
        there.R[b] = (Rotation.from_rotvec(size * rng.normal(size=3)) * R).as_matrix().ravel()
    return links, here, there


@pytest.mark.parametrize("size", [0.7, 1e-6])
def test_momenta_between_two_poses_are_those_of_moser_and_veselov(size: float) -> None:
    links, here, there = posed(4, size)
    h, found = size * 1.3, np.full((B, 6), 9.0)
    plain(variational.momenta_between)(links, here, there, h, found)
    for b in range(1, B):
        J, R0, R1, c = matrix(links.inertia_K[b]), *(w.R[b].reshape(3, 3) for w in (here, there)), links.com_K[b]
        second = np.trace(J) / 2.0 * np.eye(3) - J
        M = (R1 @ second @ R0.T - R0 @ second @ R1.T) / h
        force = links.mass[b] * (there.x[b] + R1 @ c - here.x[b] - R0 @ c) / h
        expected = np.r_[np.array([M[2, 1], M[0, 2], M[1, 0]]) + np.cross(R0 @ c, force), force]
        np.testing.assert_allclose(found[b], expected, rtol=1e-12 / size**0.5, atol=1e-14 / size)
    assert np.all(found[0] == 9.0)


def test_of_a_small_turn_the_momentum_is_inertia_times_angular_velocity() -> None:
    links, here, there = posed(4, 1e-6)
    found = np.zeros((B, 6))
    plain(variational.momenta_between)(links, here, there, 1e-6, found)
    for b in range(1, B):
        R = here.R[b].reshape(3, 3)
        turn = Rotation.from_matrix(there.R[b].reshape(3, 3) @ R.T).as_rotvec() / 1e-6
        arm = R @ links.com_K[b]
        spin = found[b, :3] - np.cross(arm, found[b, 3:])
        np.testing.assert_allclose(spin, R @ matrix(links.inertia_K[b]) @ R.T @ turn, rtol=1e-4, atol=1e-4)


def test_differences_of_momenta() -> None:
    rng = rng_of(1)
    P, Q, F = (rng.normal(size=(B, 6)) for _ in range(3))
    first = F[0].copy()
    plain(variational.subtract)(P, Q, F)
    np.testing.assert_array_equal(F[1:], P[1:] - Q[1:])
    np.testing.assert_array_equal(F[0], first)


# --- rotors -----------------------------------------------------------------------------------------


def test_rotors_in_the_tree_turn_with_their_freedoms() -> None:
    """Of a quaternion the turn in the child's axes: its sine along its axis."""
    kinds = (ROTATIONAL, FREE, CYLINDRICAL, SPHERICAL)
    links = table(LINK, 5)
    lay_out(links, kinds)
    rng, h, found = rng_of(2), 0.2, table(PUSHED, 12)
    found.end = found.between = 9.0
    armature = rng.uniform(0.5, 2.0, 12)
    q0, q1 = rng.normal(size=14), rng.normal(size=14)
    way = np.r_[q1[0] - q0[0], q1[1:4] - q0[1:4], np.zeros(3), q1[8:10] - q0[8:10], np.zeros(3)]
    for a, k, seed in ((4, 4, 5), (10, 9, 6)):
        R0, R1 = Rotation.random(random_state=seed), Rotation.random(random_state=seed + 10)
        q0[a : a + 4], q1[a : a + 4] = R0.as_quat(scalar_first=True), R1.as_quat(scalar_first=True)
        turn = (R0.inv() * R1).as_rotvec()
        way[k : k + 3] = np.sin(np.linalg.norm(turn)) * turn / np.linalg.norm(turn)
    plain(variational.tree_rotors)(links, armature, q0, q1, h, found)
    np.testing.assert_allclose(found.between, armature * way / h, rtol=1e-13, atol=1e-14)
    assert np.all(found.end == 9.0)
    for only in (4, 5, 6):  # one of the three alone
        one = np.zeros(12)
        one[only] = armature[only]
        plain(variational.tree_rotors)(links, one, q0, q1, h, found)
        np.testing.assert_allclose(found.between, one * way / h, rtol=1e-13, atol=1e-14)


def test_rotors_on_loops_turn_with_their_rows() -> None:
    """Rows of armatures alone: those of a slide and an angle by their coordinates, of balls by M as seen from F."""
    blocks, rows = table(BLOCK, 3), table(ROW, 7)
    for n, kind in enumerate((CYLINDRICAL, SPHERICAL, FREE)):
        close(blocks, n, kind)
    rows.block[:], rows.code[:] = (0, 0, 1, 1, 2, 2, 0), (2, 5, 7, 9, 1, 8, 0)
    rows.compliance[:], rows.column[:] = (1, 1, 1, 1, 1, 1, 0), (0, 1, 2, 4, 6, 9, 0)
    rng, h = rng_of(5), 0.3
    rows.scale[:] = rng.uniform(0.5, 2.0, 7)
    ends, turns = (table(BLOCK_WORK, 3), table(BLOCK_WORK, 3)), np.zeros((3, 3))
    for n in range(3):
        F, M = (Rotation.random(2, random_state=7 * n + k) for k in (1, 2))
        for blocks_there, f, m in zip(ends, F, M, strict=True):
            blocks_there.R_WF[n], blocks_there.R_WM[n] = f.as_matrix().ravel(), m.as_matrix().ravel()
        turn = ((F[0].inv() * M[0]).inv() * (F[1].inv() * M[1])).as_rotvec()
        turns[n] = np.sin(np.linalg.norm(turn)) * turn / np.linalg.norm(turn)
        np.testing.assert_allclose(plain(variational.turn_of)(plain(variational.loop_turn)(*ends, n)), turns[n])
    start, now, found = rng.normal(size=12), rng.normal(size=12), table(PUSHED, 7)
    found.end = found.between = 9.0
    plain(variational.loop_rotors)(blocks, rows, *ends, start, now, h, found)
    way = now - start
    expected = np.array([way[0], way[1], turns[1, 0], turns[1, 2], way[6], turns[2, 1]]) * rows.scale[:6] / h
    np.testing.assert_allclose(found.between[:6], expected, rtol=1e-13)
    assert found.between[6] == 9.0 and np.all(found.end == 9.0)


# --- iteration --------------------------------------------------------------------------------------


def freedoms(n: int = 4) -> np.recarray:
    out = table(FREEDOM, n)
    out.linear[:] = [1, 0, 1, 0][:n]
    return out


def test_steps_are_those_of_broydens_method_in_units_of_size() -> None:
    """With the inverse kept as a dense matrix: H <- H + (s - H y) s^T W H / (s^T W H y), W the inner product."""
    rng, n, length = rng_of(6), 4, 0.4
    A = np.eye(n) + 0.3 * rng.normal(size=(n, n))
    W = np.diag([length**-2, 1.0, length**-2, 1.0])

    def left(x: np.ndarray) -> np.ndarray:
        return A @ x - 1.0 + 0.1 * x**2

    x, H, steps = np.zeros(n), np.eye(n), np.zeros((20, n))
    for count in range(6):
        change = -left(x)
        plain(variational.improve)(freedoms(), length, count, steps, change)
        expected = -H @ left(x)
        np.testing.assert_allclose(change, expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(steps[count], change)
        after = x + expected
        y = left(after) - left(x)
        H = H + np.outer(expected - H @ y, expected @ W @ H) / (expected @ W @ H @ y)
        x = after
    assert np.abs(left(x)).max() < 0.02


@pytest.mark.parametrize(("share", "divisor"), [(0.5, 0.5), (0.97, 0.03), (0.985, 0.02), (1.01, 0.02), (1.5, -0.5)])
def test_no_step_is_made_longer_than_by_fifty(share: float, divisor: float) -> None:
    steps, change = np.zeros((20, 4)), share * np.array([1.0, -2.0, 0.5, 3.0])
    steps[0] = [1.0, -2.0, 0.5, 3.0]
    plain(variational.improve)(freedoms(), 0.4, 1, steps, change)
    np.testing.assert_allclose(change, share * steps[0] / divisor, rtol=1e-12)


def test_inner_products_and_largest_changes_are_in_units_of_size() -> None:
    a, b = np.array([1.0, -2.0, 0.5, 3.0]), np.array([0.3, 0.7, -1.1, 0.2])
    expected = (a[0] * b[0] + a[2] * b[2]) / 0.16 + a[1] * b[1] + a[3] * b[3]
    assert plain(variational.inner)(freedoms(), 0.4, a, b) == pytest.approx(expected, rel=1e-14)
    for k, unit in enumerate([0.4 + 0.3, 1.7, 0.4 + 1.1, 1.2]):
        one = np.zeros(4)
        one[k] = -a[k]
        found = plain(variational.largest_of)(freedoms(), 0.4, one, b)
        assert found == pytest.approx(abs(a[k]) / unit, rel=1e-14)
    assert plain(variational.largest_of)(freedoms(), 0.4, a, b) == pytest.approx(3.0 / 1.2)
    for none in (np.nan, np.inf, -np.inf):
        assert plain(variational.largest_of)(freedoms(), 0.4, np.array([1.0, none, 0.5, 0.0]), b) == np.inf
    assert plain(variational.largest_of)(freedoms(), 0.4, np.zeros(4), b) == 0.0


@pytest.mark.parametrize(("open_by", "closed"), [(0.9e-6, True), (1.1e-6, False)])
def test_a_row_that_stays_open_is_told(open_by: float, closed: bool) -> None:
    rows, one = table(ROW, 3), SimpleNamespace(worst=np.array([9]))
    for sign in (1.0, -1.0):
        work = SimpleNamespace(phi=np.array([0.0, sign * open_by * 2.0, 0.0]))
        status = plain(variational.closes)(rows, 2.0, work, one)
        assert status == (Status.OK if closed else Status.NO_CLOSURE)
        assert one.worst[0] == (9 if closed else 1)


@pytest.mark.parametrize("follows", [False, True])
def test_the_guess_is_a_taylor_polynomial(follows: bool) -> None:
    links = table(LINK, 2)
    lay_out(links, [CYLINDRICAL])
    rng, h, before = rng_of(7), 0.2, np.array([0.4, -1.1, 0.05])
    y, a = rng.normal(size=6), rng.normal(size=2)
    jerk = (a - before[:2]) / 0.05 if follows else np.zeros(2)
    q, v = np.zeros(2), np.zeros(2)
    plain(variational.guess)(links, h, follows, y, a, before, q, v)
    np.testing.assert_allclose(q, y[:2] + h * y[2:4] + h**2 / 2 * a + h**3 / 6 * jerk, rtol=1e-13)
    np.testing.assert_allclose(v, y[2:4] + h * a + h**2 / 2 * jerk, rtol=1e-13)
    assert before.tolist() == [*a, h]


# --- whole steps --------------------------------------------------------------------------------------


def variational_simulator(text: str, step: float, **settings: float | str) -> sim.Simulator:
    scene = load_text(text)
    said = replace(scene.simulate, **{"method": "variational", "step": step} | settings)
    return sim.Simulator(sim.compile(replace(scene, simulate=said)))


def forces_at(beside: sim.Simulator, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return what acts on each freedom of a tree, gravity included: M vdot and what turns with the speeds."""
    flow = beside.flow
    y, slope = flow.stepper.y.copy(), np.zeros_like(flow.stepper.y)
    y[:-2] = np.r_[q, v]
    flow.stepper.clock[0] = t
    assert flow.ask(START, y, flow.stepper.error) == flow.ask(SETTLE, y, slope) == Status.OK
    M, bias = inertia_and_bias(flow.mechanism, q, v)
    at_rest = inertia_and_bias(flow.mechanism, q, 0.0 * v)[1]
    return M @ slope[len(q) : -2] + bias - at_rest


def carried(mechanism, q0: np.ndarray, q1: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Return S(q0)^T P and S(q1)^T P of the momenta of all links from q0 to q1."""
    links, poses, S = mechanism.structure.tables.links, [], []
    for q in (q0, q1):
        S.append(link_jacobians(mechanism, q))
        work = mechanism.work.links
        poses.append((work.x.copy(), work.R.copy().reshape(-1, 3, 3)))
    out = []
    for (_, R), jacobian in zip(poses, S, strict=True):
        total = np.zeros(jacobian.shape[2])
        for b in range(1, len(links)):
            (x0, R0), (x1, R1) = ((p[b], Q[b]) for p, Q in poses)
            J, c = matrix(links.inertia_K[b]), links.com_K[b]
            second = np.trace(J) / 2.0 * np.eye(3) - J
            M = (R1 @ second @ R0.T - R0 @ second @ R1.T) / h
            force = links.mass[b] * (x1 + R1 @ c - x0 - R0 @ c) / h
            spin = np.array([M[2, 1], M[0, 2], M[1, 0]])
            total += jacobian[b].T @ np.r_[spin + np.cross(R[b] @ c, force), force]
        out.append(total)
    return out[0], out[1]


@pytest.mark.parametrize("seed", range(6))
def test_a_step_solves_the_discrete_euler_lagrange_equations(seed: int) -> None:
    rng = rng_of(seed)
    mechanism = mechanisms.random_mechanism(rng, 3, 0, driven=seed % 3 > 0)
    mechanism = mechanisms.with_coordinates(rng, mechanism)
    text, h = scene_text(mechanism, simulate="{duration: 1 s}"), 0.01
    s, beside = variational_simulator(text, h), simulator_of(text)
    q0, v0 = s.flow.q.copy(), s.flow.v.copy()
    for k in (1, 2):
        s.advance(k * h)
        q1, v1 = s.flow.q.copy(), s.flow.v.copy()
        shown = beside.flow.mechanism
        p0, p1 = (inertia_and_bias(shown, q, v)[0] @ v for q, v in ((q0, v0), (q1, v1)))
        left, right = carried(shown, q0, q1, h)
        rotors = shown.structure.tables.freedoms.armature  # of freedoms without quaternions
        if np.any(rotors > 0.0):
            wheels = np.zeros(len(v0))
            for b in range(1, len(shown.structure.tables.links)):
                link = shown.structure.tables.links[b]
                if link.quaternion < 0:
                    ends = (x[link.q : link.q + link.nv] for x in (q0, q1))
                    wheels[link.v : link.v + link.nv] = -np.subtract(*ends) / h
            left, right = left + rotors * wheels, right + rotors * wheels
        Q0, Q1 = forces_at(beside, (k - 1) * h, q0, v0), forces_at(beside, k * h, q1, v1)
        size = np.abs(p0).max() + np.abs(p1).max() + h * np.abs(Q0).max()
        np.testing.assert_allclose(left - p0 - h / 2 * Q0, 0.0, atol=2e-12 * size)
        np.testing.assert_allclose(p1 - right - h / 2 * Q1, 0.0, atol=2e-12 * size)
        q0, v0 = q1, v1


@pytest.mark.parametrize(
    "text",
    [DAMPED, tied("universal", "spherical"), *(tied("spherical", tie) for tie in list(TIES)[1:])],
    ids=["damped", *TIES],
)
def test_one_step_errs_by_the_cube_of_its_length(text: str) -> None:
    """Rotors on loops, springs, laws of time: a term that is missing at either end leaves an error of order one."""
    errors = []
    for h in (0.016, 0.008):
        s, exact = variational_simulator(text, h), variational_simulator(text, h, method="dop853", rtol=1e-12)
        s.advance(h)
        exact.advance(h)
        errors.append(far(s, exact))
    assert errors[0] / errors[1] == pytest.approx(8.0, rel=0.15)
    assert errors[0] < 0.05


FALLING = """
schema: 1
name: falling
bodies: {{stone: {{mass: 2 kg, com: [0, 0, 0.5], inertia: [0.1, 0.2, 0.15]}}}}
joints: {{rail: {{type: translational, parent: world, child: stone, position: [0, 0, 0.5], axis: [0, 0.6, 0.8]{more}}}}}
simulate: {{duration: 1 s}}
"""


@pytest.mark.parametrize(("more", "evaluations"), [("", 2), (", damping: 3", 4), (", stiffness: 40", 3)])
def test_evaluations_are_counted(more: str, evaluations: int) -> None:
    """A step asks for forces at its start, and at its end until its speeds stay: at once where none of them change.

    A spring asks once more, at the new speeds.  Where a force is linear in them, the second step of Broyden's method is
    exact, and the third sees that.
    """
    s = variational_simulator(FALLING.format(more=more), 0.01)
    s.advance(0.01)
    flow, n = s.flow, len(s.flow.stepper.y)
    y, rows = flow.stepper.y, np.zeros(16 * n)
    assert flow.ask(SETTLE, y, rows[:n]) == Status.OK
    flow.work.reply.h, flow.work.reply.follows = 0.01, -1
    assert flow.ask(VARIATIONAL, y, rows) == Status.OK
    assert [flow.work.reply.iterations[0], flow.work.reply.evaluations[0]] == [0, evaluations]
    before = int(flow.stepper.count[EVALUATIONS])
    s.advance(0.03)
    assert flow.stepper.count[EVALUATIONS] - before == 2 * (evaluations + 1)
