"""Trial steps of Radau IIA against the collocation equations solved densely, and how its iteration decides."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.polynomial import Polynomial

import sim
from sim.kernels.integrators import radau
from sim.kernels.project import add_freedoms
from sim.kernels.scratch import NEWTON_WORK
from sim.kernels.status import Status
from sim.kernels.stepper import REPLY
from sim.kernels.system import NORM, RADAU, SETTLE, SLOPE, START
from sim.kernels.tables import LINK, table
from tests.dynamics.engine import simulator_of
from tests.kernels.kinds import ROTATIONAL, TRANSLATIONAL, lay_out
from tests.kernels.plain import plain

pytestmark = pytest.mark.fast

C = np.array([radau.C1, radau.C2, 1.0])
A = (C[:, None] ** np.arange(1, 4) / np.arange(1, 4)) @ np.linalg.inv(C[:, None] ** np.arange(3))
T, T_INVERSE = np.array(radau.T), np.array(radau.T_INVERSE)


def through(stages: np.ndarray) -> Polynomial:
    """Return the cubic that is zero at the start of a step, and has these values at the nodes."""
    places = np.array([0.0, *C])
    return Polynomial(np.linalg.solve(np.vander(places, increasing=True), np.array([0.0, *stages])))


# --- parts --------------------------------------------------------------------------------------------


def test_the_coefficients_belong_to_the_nodes() -> None:
    """Zeros of the Radau polynomial; eigenvalues of the inverse of the collocation matrix; slope at the start."""
    np.testing.assert_allclose(10.0 * C[:2] ** 2 - 8.0 * C[:2] + 1.0, 0.0, atol=1e-14)
    eigenvalues = np.linalg.eigvals(np.linalg.inv(A))
    own = [radau.GAMMA, complex(radau.ALPHA, radau.BETA), complex(radau.ALPHA, -radau.BETA)]
    np.testing.assert_allclose(np.sort_complex(eigenvalues), np.sort_complex(np.array(own)), rtol=1e-12)
    middle = np.array([[radau.GAMMA, 0, 0], [0, radau.ALPHA, -radau.BETA], [0, radau.BETA, radau.ALPHA]])
    np.testing.assert_allclose(T @ middle @ T_INVERSE @ A, np.eye(3), atol=1e-13)
    np.testing.assert_allclose(T @ T_INVERSE, np.eye(3), atol=1e-14)
    stages = np.array([0.3, -1.2, 2.5])
    assert through(stages).deriv()(0.0) == pytest.approx(-np.dot(radau.E, stages), rel=1e-13)


def test_stages_are_transformed_and_back() -> None:
    rng = np.random.default_rng(1)
    w, z, k = rng.normal(size=(3, 5)), np.zeros((3, 5)), np.full(80, 9.0)
    plain(radau.recombine)(radau.T, w, z)
    np.testing.assert_allclose(z, T @ w, rtol=1e-14)
    plain(radau.spread_rows)(radau.T, w, 5, k)
    np.testing.assert_allclose(k[5:20].reshape(3, 5), T @ w, rtol=1e-14)
    assert np.all(k[:5] == 9.0) and np.all(k[20:] == 9.0)


@pytest.mark.parametrize("ratio", [0.4, 1.0, 2.5])
def test_stages_start_on_the_polynomial_of_the_step_before(ratio: float) -> None:
    rng, h_old = np.random.default_rng(2), 0.3
    old, w = rng.normal(size=(3, 4)), np.full((3, 4), 9.0)
    plain(radau.start_values)(ratio * h_old, h_old, old, w)
    ahead = np.array([through(old[:, i])(1.0 + C * ratio) - old[2, i] for i in range(4)]).T
    np.testing.assert_allclose(w, T_INVERSE @ ahead, rtol=1e-11, atol=1e-12)


def test_without_a_step_before_stages_start_at_the_state() -> None:
    w = np.full((3, 4), 9.0)
    plain(radau.start_values)(0.1, 0.0, np.ones((3, 4)), w)
    assert np.all(w == 0.0)


@pytest.mark.parametrize("follows", [1.0, 0.0, -1.0])
def test_what_the_last_trial_has_become(follows: float) -> None:
    newton, k, old = table(NEWTON_WORK, 1), np.arange(80.0), np.full((3, 5), 0.5)
    newton.h[0], newton.h_old[0], newton.eta[0] = 0.3, 0.2, 0.7
    newton.linearised[0], newton.evaluations[0], newton.factors[0], newton.solves[0] = 1, 11, 12, 13
    plain(radau.take_over)(follows, newton, 5, k, old)
    assert newton.evaluations[0] == newton.factors[0] == newton.solves[0] == 0
    np.testing.assert_array_equal(old, k[5:20].reshape(3, 5) if follows > 0 else np.full((3, 5), 0.5))
    found = (newton.h_old[0], newton.eta[0], newton.linearised[0], newton.stale[0])
    assert found == {1.0: (0.3, 0.7, 0, 0), 0.0: (0.2, 0.7, 1, 0), -1.0: (0.0, 1.0, 0, 1)}[follows]


def small_system(by_q: float, by_v: float) -> tuple:
    """One rotation with these derivatives of its acceleration."""
    links = table(LINK, 2)
    lay_out(links, [ROTATIONAL])
    work = SimpleNamespace(
        newton=table(NEWTON_WORK, 1), turning=np.zeros(1), by_q=np.array([[by_q]]), by_v=np.array([[by_v]]),
        real=np.zeros((1, 1)), pair=np.zeros((1, 1), complex), real_order=np.zeros(1, int), pair_order=np.zeros(1, int),
    )  # fmt: skip
    return SimpleNamespace(links=links), None, work, None


def test_a_step_that_makes_the_matrix_singular_is_not_solved() -> None:
    h = 0.5
    for by_v, status in ((radau.GAMMA / h, Status.NOT_SOLVED), (0.3, Status.OK)):
        system = small_system(0.0, by_v)
        found = plain(radau.factorise_pair, unpack=lambda system: system)(system, h)
        assert found == status
        newton = system[2].newton
        assert (newton.h[0], newton.factors[0]) == (0.0 if status else h, 1)


@pytest.mark.parametrize("seed", range(3))
def test_the_linear_equations_of_a_step_are_those_of_the_whole_state(seed: int) -> None:
    """Three coordinates, their rates and two integrals: (s - J) x = r, with J by blocks, solved densely."""
    m, h, rng = 3, 0.3, np.random.default_rng([17, seed])
    by_q, by_v = rng.normal(size=(2, m + 2, m))
    J = np.zeros((2 * m + 2, 2 * m + 2))
    J[:m, m : 2 * m] = np.eye(m)
    J[m:, :m], J[m:, m : 2 * m] = by_q, by_v

    def turn_back(links: None, s: complex, turning: None, x_out: np.ndarray) -> None:
        x_out /= s

    def solve_lu(matrix: complex, order: None, x_out: np.ndarray) -> None:
        x_out[:] = np.linalg.solve(matrix * np.eye(m) - by_v[:m] - by_q[:m] / matrix, x_out)

    def copy(links: None, y: None, x: np.ndarray, x_out: np.ndarray) -> None:
        x_out[:] = x[:m]

    real, pair = radau.GAMMA / h, complex(radau.ALPHA, radau.BETA) / h
    work = SimpleNamespace(
        newton=SimpleNamespace(h=[h]), real_x=np.zeros((3, m)), pair_x=np.zeros((3, m), complex), turning=None,
        by_q=by_q, by_v=by_v, real=real, real_order=None, pair=pair, pair_order=None, stages=np.zeros((11, m)),
    )  # fmt: skip
    one = SimpleNamespace(nv=[m], nq=[m])
    system = SimpleNamespace(links=None, one=one), None, work, None
    instead = {"unpack": lambda of: of, "turn_back": turn_back, "solve_lu": solve_lu, "tangent": copy, "qdot": copy}
    r = rng.normal(size=2 * m + 2)
    x = r.copy()
    plain(radau.solve_real, **instead)(system, None, x)
    assert x == pytest.approx(np.linalg.solve(real * np.eye(2 * m + 2) - J, r), abs=1e-12)
    first, second = r.copy(), rng.normal(size=2 * m + 2)
    expected = np.linalg.solve(pair * np.eye(2 * m + 2) - J, first + 1j * second)
    plain(radau.solve_pair, **instead)(system, None, first, second)
    assert first + 1j * second == pytest.approx(expected, abs=1e-12)


# --- Newton's iteration -------------------------------------------------------------------------------


def iterated(
    sizes: list[float], rtol: float = 1e-6, eta: float = 1.0, statuses: dict[int, int] | None = None
) -> tuple[int, int, SimpleNamespace]:
    """Run the iteration with corrections of these sizes; returns (status, iterations, what it left)."""
    newton, n = table(NEWTON_WORK, 1), 2
    newton.eta[0], newton.theta[0] = eta, 9.0
    work = SimpleNamespace(newton=newton, stages=np.zeros((11, n)))
    rng, rows, told = np.random.default_rng(3), np.zeros(16 * n), SimpleNamespace(newton=newton, made=0, total=0.0)
    work.stages[6:9] = rng.normal(size=(3, n))
    newton.h_old[0] = 0.25
    start = np.zeros((3, n))
    plain(radau.start_values)(0.1, 0.25, work.stages[6:9], start)

    def correction(system, t, h, y, k):
        assert (t, h) == (0.7, 0.1)
        np.testing.assert_allclose(rows[n : 4 * n].reshape(3, n), T @ (start + told.total), rtol=1e-12, atol=1e-13)
        told.made += 1
        work.stages[3:6] = told.step = rng.normal(size=(3, n))
        return (statuses or {}).get(told.made, Status.OK)

    def size_of(tables, y, three):
        np.testing.assert_array_equal(three, told.step)
        told.last, told.total = told.total, told.total + told.step
        return sizes[told.made - 1]

    system = (None, None, work, None)
    run = plain(radau.iterate, unpack=lambda system: system, correction=correction, size_of=size_of)
    status, iterations = run(system, 0.7, 0.1, np.zeros(n), rows, rtol)
    assert iterations == told.made
    if status == Status.OK and newton.theta[0] != 0.0:
        np.testing.assert_allclose(work.stages[:3], start + told.total, rtol=1e-12)
        np.testing.assert_allclose(rows[n : 4 * n].reshape(3, n), T @ (start + told.total), rtol=1e-12, atol=1e-13)
    return status, iterations, told


def test_the_iteration_ends_when_little_is_left() -> None:
    """What is left is about eta times the last correction, with eta = theta / (1 - theta); allowed is 0.03 rtol."""
    status, iterations, told = iterated([1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8])
    assert (status, iterations) == (Status.OK, 5)
    assert told.newton.theta[0] == pytest.approx(0.1) and told.newton.eta[0] == pytest.approx(1.0 / 9.0)
    # 1/9 of 2.7e-7 is just allowed, of 2.71e-7 not.
    assert iterated([2.69e-4, 2.69e-5, 2.69e-6, 2.69e-7, 1e-8])[:2] == (Status.OK, 4)
    assert iterated([2.71e-4, 2.71e-5, 2.71e-6, 2.71e-7, 1e-8])[:2] == (Status.OK, 5)


def test_the_rate_is_the_mean_of_the_last_two() -> None:
    status, iterations, told = iterated([1e-3, 2e-4, 1e-5, 1e-10])
    assert (status, iterations) == (Status.OK, 4)
    assert told.newton.theta[0] == pytest.approx(math.sqrt(0.05 * 1e-5))
    assert told.newton.eta[0] == pytest.approx(told.newton.theta[0] / (1.0 - told.newton.theta[0]))


def test_the_rate_of_the_step_before_may_end_it_at_once() -> None:
    """Its eta to the power 0.8, and at least 1e-16."""
    share = 0.01**0.8
    assert iterated([2.99e-8 / share], eta=0.01)[:2] == (Status.OK, 1)
    assert iterated([3.01e-8 / share, 1e-9], eta=0.01)[:2] == (Status.OK, 2)
    assert iterated([2.9e-8 / 1e-16**0.8], eta=0.0)[:2] == (Status.OK, 1)
    told = iterated([2.9e-8 / 1e-16**0.8], eta=0.0)[2]
    assert told.newton.eta[0] == pytest.approx(1e-16**0.8) and told.newton.theta[0] == 0.0


def test_nothing_below_roundoff_is_asked_for() -> None:
    assert iterated([1.9e-15], rtol=1e-14)[:2] == (Status.OK, 1)
    assert iterated([2.1e-15, 1e-19], rtol=1e-14)[:2] == (Status.OK, 2)


def test_an_iteration_that_will_not_end_in_time_is_given_up() -> None:
    """With theta = 1/2 six more would leave 1/64 of the second correction: eta = 1."""
    enough = 3e-8 * 2.0**5
    assert iterated([2.02 * enough, 1.01 * enough])[:2] == (Status.NOT_SOLVED, 2)
    status, iterations, _ = iterated([1.98 * enough * 0.5**k for k in range(8)])
    assert (status, iterations) == (Status.OK, 7)


def test_an_iteration_that_diverges_is_given_up() -> None:
    assert iterated([1.0, 0.989])[:2] == (Status.NOT_SOLVED, 2)
    status, iterations, told = iterated([1.0, 0.995])
    assert (status, iterations) == (Status.NOT_SOLVED, 2) and told.newton.eta[0] == 1.0
    assert told.newton.theta[0] == pytest.approx(0.995)
    # Not where corrections are small enough, and only the eta of a step before was too large at first.
    status, iterations, told = iterated([3e-10, 2.985e-10], eta=1e4)
    assert (status, iterations) == (Status.OK, 2) and told.newton.eta[0] == pytest.approx(99.5)


@pytest.mark.parametrize(("rate", "expected"), [(0.98, 49.0), (0.995, 99.5), (1.5, 150.0)])
def test_slow_convergence_counts_a_hundred_times_at_most(rate: float, expected: float) -> None:
    """At once after corrections that are larger than allowed, with an eta so that the first is not."""
    size = 3e-8 / rate * 0.9
    status, iterations, told = iterated([size, rate * size], eta=1e3)
    assert told.newton.eta[0] == pytest.approx(expected) and (status, iterations) == (Status.NOT_SOLVED, 2)


def test_an_iteration_that_has_met_the_roundoff_of_slopes_is_done() -> None:
    status, iterations, told = iterated([1e-10, 1e-11, 9e-13, 6e-13], rtol=1e-14, eta=1e5)
    assert (status, iterations) == (Status.OK, 4) and told.newton.theta[0] == 0.0
    assert iterated([1e-10, 1e-11, 8e-13, 4e-13], rtol=1e-14)[:2] == (Status.OK, 4)
    assert iterated([1e-10, 1e-11, 8e-13, 3.9e-13, 1e-15], rtol=1e-14)[:2] == (Status.OK, 5)
    assert iterated([1e-9, 1e-10, 9e-12, 5.4e-12], rtol=1e-14)[:2] == (Status.NOT_SOLVED, 4)


def test_an_iteration_without_numbers_or_slopes_is_given_up() -> None:
    assert iterated([math.nan])[:2] == (Status.NOT_SOLVED, 1)
    assert iterated([1e-3, math.inf])[:2] == (Status.NOT_SOLVED, 2)
    assert iterated([1e-3, 1e-4], statuses={2: Status.CALLBACK})[:2] == (Status.CALLBACK, 2)


def test_seven_corrections_are_the_last() -> None:
    """Of rate 1/2 to where the seventh is just small enough, or just not; and where the last is slower."""
    sizes = [0.99 * 3e-8 * 2.0**k for k in range(6, -1, -1)]
    assert iterated(sizes)[:2] == (Status.OK, 7)
    slower = 0.99 * 3e-8 * 1.2
    assert iterated([*sizes[:6], slower])[:2] == (Status.NOT_SOLVED, 7)


def test_sizes_are_root_mean_squares_with_what_lengthens_quaternions() -> None:
    tables = SimpleNamespace(links="l", freedoms="f", one=SimpleNamespace(length=[0.4], nq=[7], nv=[3]))
    three = [np.array([2.0]), np.array([3.0]), np.array([5.0])]

    def error_norm(links, freedoms, length, y, e, nq):
        assert (links, length, y, nq) == ("l", 0.4, "y", 7)
        return float(e[0])

    def lengthwise(links, y, e):
        return 10.0 * float(e[0])

    size = plain(radau.size_of, error_norm=error_norm, lengthwise=lengthwise)(tables, "y", three)
    assert size == pytest.approx(math.sqrt((10.0 + 100.0 / 6.0) / 3.0))


# --- what a trial does --------------------------------------------------------------------------------


def trial(
    *, h: float = 0.1, follows: float = 1.0, replies: list[tuple[int, int]], stale: int = 0, linearised: int = 0,
    factors: list[int] | None = None, theta: float = 0.01, failed: int = 0, estimated: int = Status.OK,
    found: int = Status.OK,
) -> tuple[int, list, tuple]:  # fmt: skip
    """Run a trial whose parts tell what they are asked; returns (status, calls, system)."""
    n, m = 9, 3
    newton, calls, factors = table(NEWTON_WORK, 1), [], list(factors or [])
    newton.h[0], newton.stale[0], newton.linearised[0], newton.theta[0] = 0.1, stale, linearised, theta
    newton.radius[0] = 77.0
    one = SimpleNamespace(nq=[n - m - 2], nv=[m], length=[0.4])
    tables, control = SimpleNamespace(one=one, links="l", freedoms="f"), SimpleNamespace(failed=[failed])
    work = SimpleNamespace(newton=newton, stages=np.zeros((11, n)), reply=table(REPLY, 1))
    system = (tables, control, work, None)
    rows = np.zeros(16 * n)
    work.reply.h, work.reply.follows, work.reply.rtol = h, follows, 1e-5
    rows[4 * n : 5 * n] = 3.0

    def factorise_pair(system, h):
        calls.append(("factorise", h))
        newton.factors[0] += 1
        newton.h[0] = h
        return factors.pop(0) if factors else Status.OK

    def linearise(system, t, y, base):
        calls.append(("linearise", t))
        assert (len(y), len(base)) == (n, n)
        newton.linearised[0], newton.stale[0] = 1, 0
        return found

    def iterate(system, t, h, y, k, rtol):
        calls.append(("iterate", t, h, rtol))
        status, count = replies.pop(0)
        newton.evaluations[0] += 3 * count
        newton.solves[0] += count
        return status, count

    def estimate(system, t, h, y, k, first):
        calls.append(("estimate", first))
        return estimated

    def error_norm(links, freedoms, length, y, e, nq):
        assert (links, length, len(y), e.tolist(), nq) == ("l", 0.4, n, [3.0] * n, n - m - 2)
        return 6.25

    run = plain(
        getattr(radau.radau, "function", radau.radau), unpack=lambda system: system, vector=lambda at, size: at[:size],
        factorise_pair=factorise_pair, linearise=linearise, iterate=iterate, estimate=estimate, error_norm=error_norm,
    )  # fmt: skip
    return run(RADAU, system, 0.7, np.zeros(n), rows), calls, system


def told(reply: np.ndarray) -> list[float]:
    """Return what a trial step is answered with."""
    names = ("error", "iterations", "evaluations", "cost", "radius", "convergence")
    return [float(reply[name][0]) for name in names]


LOOK, GO, STEP = ("linearise", 0.7), ("iterate", 0.7, 0.1, 1e-5), ("factorise", 0.1)


def test_a_step_of_the_same_length_keeps_jacobian_and_factors() -> None:
    status, calls, (_, _, work, _) = trial(replies=[(Status.OK, 3)])
    assert status == Status.OK and calls == [GO, ("estimate", False)]
    assert told(work.reply) == [6.25, 3, 9, 9 + (3 * 9.0 * 9.0) / (600.0 * 3.0), 77.0, 0.01]
    assert work.newton.stale[0] == 0


def test_a_step_of_another_length_keeps_the_jacobian() -> None:
    status, calls, (_, _, work, _) = trial(h=0.2, replies=[(Status.OK, 2)])
    assert status == Status.OK and calls == [("factorise", 0.2), ("iterate", 0.7, 0.2, 1e-5), ("estimate", False)]
    assert work.reply.cost[0] == pytest.approx(6 + (5.0 / 3.0 * 27.0 + 2 * 9.0 * 9.0) / (600.0 * 3.0), rel=1e-14)


def test_a_jacobian_that_is_stale_is_found_first() -> None:
    status, calls, _ = trial(stale=1, replies=[(Status.OK, 2)])
    assert status == Status.OK and calls == [LOOK, STEP, GO, ("estimate", False)]


def test_without_a_step_before_all_is_found_first() -> None:
    status, calls, (_, _, work, _) = trial(follows=-1.0, replies=[(Status.OK, 2)])
    assert status == Status.OK and calls == [LOOK, STEP, GO, ("estimate", True)]
    assert work.newton.h_old[0] == 0.0


def test_a_rejected_step_keeps_the_jacobian_of_its_start_and_filters_twice() -> None:
    status, calls, _ = trial(follows=0.0, h=0.05, linearised=1, stale=1, replies=[(Status.OK, 2)])
    assert status == Status.OK
    assert calls == [("factorise", 0.05), ("iterate", 0.7, 0.05, 1e-5), ("estimate", True)]


def test_where_an_old_jacobian_does_not_do_a_new_one_is_tried() -> None:
    status, calls, _ = trial(replies=[(Status.NOT_SOLVED, 4), (Status.OK, 2)])
    assert status == Status.OK and calls == [GO, LOOK, STEP, GO, ("estimate", False)]
    status, calls, (_, _, work, _) = trial(replies=[(Status.NOT_SOLVED, 4), (Status.NOT_SOLVED, 5)])
    assert status == Status.NOT_SOLVED and calls == [GO, LOOK, STEP, GO]
    assert told(work.reply)[:3] == [math.inf, 5, 27]


def test_where_a_new_jacobian_does_not_do_the_step_is_not_solved() -> None:
    status, calls, _ = trial(follows=0.0, linearised=1, replies=[(Status.NOT_SOLVED, 4)])
    assert status == Status.NOT_SOLVED and calls == [GO]
    status, calls, _ = trial(follows=0.0, linearised=1, h=0.2, factors=[Status.NOT_SOLVED], replies=[])
    assert status == Status.NOT_SOLVED and calls == [("factorise", 0.2)]
    status, calls, _ = trial(h=0.2, factors=[Status.NOT_SOLVED, Status.OK], replies=[(Status.OK, 2)])
    assert status == Status.OK and [call[0] for call in calls] == ["factorise", "linearise", "factorise", "iterate",
        "estimate"]  # fmt: skip
    status, calls, _ = trial(stale=1, factors=[Status.NOT_SOLVED], replies=[])
    assert status == Status.NOT_SOLVED and calls == [LOOK, STEP]


def test_what_goes_wrong_is_told() -> None:
    status, calls, _ = trial(replies=[(Status.NOT_FINITE, 1)])
    assert status == Status.NOT_FINITE and calls == [GO]
    status, calls, _ = trial(stale=1, found=Status.NOT_FINITE, replies=[])
    assert status == Status.NOT_FINITE and calls == [LOOK]
    status, _, (_, _, work, _) = trial(replies=[(Status.OK, 2)], estimated=Status.NOT_FINITE)
    assert status == Status.NOT_FINITE and work.reply.error[0] == math.inf
    status, calls, _ = trial(replies=[(Status.OK, 2)], failed=1)
    assert status == Status.CALLBACK


@pytest.mark.parametrize(("theta", "stale"), [(0.0299, 0), (0.0301, 1)])
def test_a_jacobian_that_lets_it_converge_slowly_is_found_anew_next_time(theta: float, stale: int) -> None:
    assert trial(theta=theta, replies=[(Status.OK, 3)])[2][2].newton.stale[0] == stale
    assert trial(theta=theta, replies=[(Status.OK, 3)])[1][0] == GO


@pytest.mark.parametrize("failing", [None, 1, 2, 5])
def test_derivatives_are_differences_by_increments_in_units_of_size(failing: int | None) -> None:
    """Of 1e-7 of the length or of a radian, of rates with their own size: a rate of 1e8 has no digits below that."""
    links, m, length = table(LINK, 4), 3, 0.25
    lay_out(links, [ROTATIONAL, TRANSLATIONAL, ROTATIONAL])
    rng = np.random.default_rng(4)
    by_q, by_v = rng.normal(size=(m + 2, m)), rng.normal(size=(m + 2, m))
    y, asked, base = np.array([0.3, -2.0, 1.1, 1e8, -3.0, 0.7, 0.1, 0.2]), [], np.zeros(2 * m + 2)
    base[m:] = rng.normal(size=m + 2)

    def slope(answers, question, system, t, at, out):
        assert (question, t) == (SLOPE, 0.7)
        asked.append(at - y)
        out[:m] = 5.0
        out[m:] = base[m:] + by_q @ (at[:m] - y[:m]) + by_v @ (at[m:-2] - y[m:-2])
        return Status.NOT_FINITE if len(asked) == failing else Status.OK

    def radius(links, turning, found_q, found_v, x, z):
        assert (found_q is work.by_q, found_v is work.by_v, x.tolist(), z.tolist()) == (
            True,
            True,
            [1.0] * 6,
            [2.0] * 6,
        )
        return 55.0

    one = SimpleNamespace(nv=[m], nq=[m], length=[length])
    newton = table(NEWTON_WORK, 1)
    newton.evaluations[0], newton.h[0], newton.stale[0] = 4, 0.3, 1
    work = SimpleNamespace(
        newton=newton, stages=np.full((11, 2 * m + 2), 9.0), real_x=np.full((3, m), 9.0), by_q=np.zeros((m + 2, m)),
        by_v=np.zeros((m + 2, m)), turning=np.zeros(m), shape=np.array([[1.0] * 6, [2.0] * 6]), answers=None,
    )  # fmt: skip
    tables = SimpleNamespace(links=links, one=one, freedoms=SimpleNamespace(linear=np.array([0, 1, 0])))
    system = (tables, None, work, None)
    run = plain(radau.linearise, unpack=lambda system: system, ask=slope, spectral_radius=radius)
    status = run(system, 0.7, y, base)
    units = np.array([1.0, length, 1.0])
    sizes = np.r_[units, units + np.abs(y[m:-2])] * 1e-7
    for k, change in enumerate(asked):
        place = k // 2 + m * (k % 2)
        np.testing.assert_allclose(change, sizes[place] * np.eye(2 * m + 2)[place], rtol=1e-6)
    if failing:
        assert status == Status.NOT_FINITE and len(asked) == failing and newton.linearised[0] == 0
        return
    assert status == Status.OK and len(asked) == 2 * m
    np.testing.assert_allclose(work.by_q, by_q, rtol=1e-6)
    np.testing.assert_allclose(work.by_v, by_v, rtol=1e-6)
    np.testing.assert_array_equal(work.turning, y[m:-2])
    assert newton.evaluations[0] == 4 + 2 * m and newton.radius[0] == 55.0
    assert (newton.h[0], newton.linearised[0], newton.stale[0]) == (0.0, 1, 0)


# --- whole steps on a mechanism ---------------------------------------------------------------------------

BODIES = """
schema: 1
name: three
world: {gravity: [0.5, -1, -9.81]}
bodies:
  base: {mass: 1.2, com: [0.1, 0.3, 1.7], gyration: [0.25, 0.21, 0.15]}
  upper: {mass: 1.5 kg, com: [0, 0.1, 1.3], gyration: [0.19, 0.17, 0.1]}
  lower: {mass: 1 kg, com: [0.2, 0.03, 0.75], gyration: [0.16, 0.13, 0.1]}
joints:
  top: {type: spherical, parent: base, child: upper, position: [0, 0, 1.6], damping: 0.3, stiffness: 4}
  knee: {type: cylindrical, parent: upper, child: lower, position: [0.1, 0, 1], axis: [0.6, 0, 0.8], damping: [5, 0.2],
         stiffness: [30, 2]}
controllers:
  law: {type: torque, torques: {knee: ["2 N*sin(3*t/1 s)", "-0.1 N m s/rad*rate('knee')[1]"]}}
initial:
  base: {velocity: [1, 2, 0.5], angular_velocity: [0.3, -0.7, 1]}
  top: {rate: [1, -2, 3]}
  knee: {coordinate: [0.1, -0.3], rate: [1, 0.5]}
simulate: {duration: 1 s, method: radau, rtol: 1e-11}
"""


class Dense:
    """The same mechanism, asked for slopes alone."""

    def __init__(self) -> None:
        self.flow = simulator_of(BODIES.replace("radau", "dop853")).flow
        self.nq, self.nv = self.flow.structure.sizes.q, self.flow.structure.sizes.v

    def slope(self, t: float, y: np.ndarray) -> np.ndarray:
        out = np.zeros_like(y)
        self.flow.stepper.clock[0] = t
        assert self.flow.ask(SLOPE, y.copy(), out) == Status.OK
        return out

    def along(self, y: np.ndarray) -> np.ndarray:
        """Return the matrix that takes away what lengthens quaternions: nothing is found of that."""
        out, links = np.eye(len(y)), self.flow.structure.tables.links
        for b in range(1, len(links)):
            if links.quaternion[b] >= 0:
                a = int(links.q[b] + links.quaternion[b] - links.v[b])
                out[a : a + 4, a : a + 4] -= np.outer(y[a : a + 4], y[a : a + 4])
        return out

    def stages(self, t: float, h: float, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Solve Z = h A F(y + Z) by Newton's method with a Jacobian by differences; returns (Z, Jacobian)."""
        n = len(y)
        J = np.array([self.slope(t, y + d) - self.slope(t, y - d) for d in 1e-6 * np.eye(n)]).T / 2e-6
        Z = np.zeros((3, n))
        for _ in range(12):
            F = np.array([self.slope(t + c * h, y + z) for c, z in zip(C, Z, strict=True)])
            left = (Z - h * A @ F).ravel()
            Z -= np.linalg.solve(np.eye(3 * n) - h * np.kron(A, J), left).reshape(3, n)
        assert np.abs(left).max() < 1e-13
        return Z, J


def asked(flow, t: float, h: float, follows: float) -> np.ndarray:
    """Make a trial step; returns what was replied."""
    y, k = flow.stepper.y, flow.stepper.k
    flow.stepper.clock[0] = t
    assert flow.ask(START, y, flow.stepper.error) == flow.ask(SETTLE, y, k[0]) == Status.OK
    asks = flow.work.reply
    asks.h, asks.follows, asks.rtol = h, follows, 1e-11
    assert flow.ask(RADAU, y, flow.stepper.rows) == Status.OK
    return flow.work.reply.copy()


def begun() -> sim.Simulator:
    s = simulator_of(BODIES)
    s.flow._use(int(s.flow.stepper.count[5]))
    s.flow.system  # noqa: B018  hands the scratch of the method on
    return s


def test_trial_steps_solve_the_collocation_equations_and_estimate_their_error() -> None:
    beside, flow = Dense(), begun().flow
    y, k, m, t = flow.stepper.y, flow.stepper.k, beside.nv, 0.0
    for number, (h, follows) in enumerate([(0.02, -1.0), (0.015, 0.0), (0.018, 1.0)]):
        if follows > 0.0:
            t += 0.015
            y += k[3]
        reply = asked(flow, t, h, follows)
        Z, J = beside.stages(t, h, y)
        np.testing.assert_allclose(k[1:4], Z, rtol=0, atol=3e-12)
        if number == 0:  # the Jacobian is kept
            along = beside.along(y)
            kept = along @ J @ along
        filtered = np.linalg.inv(radau.GAMMA / h * np.eye(len(y)) - kept)
        missing = -np.array([through(Z[:, i]).deriv()(0.0) for i in range(len(y))]) / h
        error = filtered @ (k[0] + missing)
        if follows <= 0.0:
            error = filtered @ (beside.slope(t, y + error) + missing)
        close = 2e-4 if follows <= 0.0 else 1e-2  # differences; the state has moved on since
        np.testing.assert_allclose(k[4], error, rtol=0, atol=close * np.abs(error).max())
        assert flow.ask(NORM, y, k[4].copy()) == Status.OK and flow.work.reply.error[0] == pytest.approx(
            reply.error[0], rel=1e-12
        )
        iterations, evaluations = reply.iterations[0], reply.evaluations[0]
        looked = 2 * m if number == 0 else 0
        assert evaluations == looked + 3 * iterations + (follows <= 0.0) and 2 <= iterations <= 7
        products = 5.0 / 3.0 * m**3 + iterations * 9.0 * m**2
        assert reply.cost[0] == pytest.approx(evaluations + products / (600.0 * m), rel=1e-14)
        assert 0.0 < reply.convergence[0] < 0.03 and reply.radius[0] == flow.work.newton.radius[0] > 0.0
        assert flow.work.newton.h_old[0] == (0.015 if follows > 0.0 else 0.0)


def test_the_jacobian_is_that_of_accelerations_and_powers() -> None:
    beside, flow = Dense(), begun().flow
    asked(flow, 0.0, 0.02, -1.0)
    y, nq, m, work = flow.stepper.y, beside.nq, beside.nv, flow.work
    links = flow.structure.tables.links
    assert set((links.quaternion - links.v)[links.quaternion >= 0].tolist()) == {0, 3}
    by_q, by_v = np.zeros((m + 2, m)), np.zeros((m + 2, m))
    for k in range(m):
        for sign in (1.0, -1.0):
            at = y.copy()
            plain(add_freedoms)(links, np.eye(m)[k], sign * 1e-6, at[:nq])
            by_q[:, k] += sign * beside.slope(0.0, at)[nq:] / 2e-6
            at = y.copy()
            at[nq + k] += sign * 1e-6
            by_v[:, k] += sign * beside.slope(0.0, at)[nq:] / 2e-6
    for found, expected in ((work.by_q, by_q), (work.by_v, by_v)):
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6 * np.abs(expected).max())
    np.testing.assert_array_equal(work.turning, y[nq:-2])
    assert (work.newton.linearised[0], work.newton.stale[0], work.newton.h[0]) == (1, 0, 0.02)
