"""Steps and dense output of the methods on ordinary equations, against scipy and against what defines them."""

from __future__ import annotations

import runpy
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from scipy.integrate import DOP853
from scipy.integrate._ivp import dop853_coefficients as published
from scipy.interpolate import CubicHermiteSpline

from sim.kernels.integrators import dop853, integrate
from sim.kernels.status import Status
from sim.kernels.stepper import FOLLOWS, REPLY, RTOL, T
from sim.kernels.system import CLASSICAL, LEAP, NORM, QUESTIONS, RADAU, SLOPE, STEPPING, VARIATIONAL
from sim.kernels.tables import table
from tests.kernels.plain import ask, plain

pytestmark = pytest.mark.fast

N = 4
THETAS = (0.0, 0.07, 0.31, 0.4999, 0.5, 0.83, 1.0)


def slope(t: float, y: np.ndarray) -> np.ndarray:
    """A system that is neither linear nor autonomous."""
    return np.array([y[1] * y[2] - t, np.sin(y[0]) + 0.3 * t * y[3], -y[0] * y[1] + y[3] ** 2, np.cos(t) - y[2]])


def stepper(seed: int = 1) -> SimpleNamespace:
    """Return a stepper whose scratch is full of numbers that mean nothing."""
    rng = np.random.default_rng(seed)
    k = rng.normal(size=(16, N))
    out = SimpleNamespace(k=k, rows=k.reshape(-1), dense=rng.normal(size=(8, N)), clock=rng.normal(size=18))
    for name in ("y", "y_new", "y_work", "error"):
        setattr(out, name, rng.normal(size=N))
    out.dense[7], out.count = 0.0, np.arange(19) + 40
    return out


def answers(reply: np.ndarray, scale: np.ndarray) -> list:
    """Answer SLOPE with that of the system, and NORM with the mean square over a scale."""
    out = [None] * QUESTIONS

    def tell_slope(question, system, t, y, slope_out):
        slope_out[:] = slope(t, y)
        return Status.OK

    def tell_norm(question, system, t, y, error):
        reply.error = np.mean((error / scale) ** 2)
        return Status.OK

    out[SLOPE], out[NORM] = tell_slope, tell_norm
    return out


def test_the_tableau_is_the_published_one() -> None:
    """Read anew, so that the lines of the tables are seen to be those of this test."""
    tables = runpy.run_path(dop853.__file__)
    for name in ("A", "B", "C", "D", "E3", "E5"):
        np.testing.assert_array_equal(tables[name], getattr(published, name))


@pytest.mark.parametrize("h", [0.3, 0.9])
def test_a_step_its_error_and_its_dense_output_are_those_of_scipy(h: float) -> None:
    s, t, reply, scale = stepper(), 0.7, table(REPLY, 1), np.array([0.2, 1.3, 0.7, 3.0])
    s.k[0] = slope(t, s.y)
    theirs = DOP853(slope, t, s.y.copy(), t + h, first_step=h, max_step=h, rtol=1e6, atol=1e6)
    theirs.step()
    assert theirs.t == t + h
    system = answers(reply, scale)
    assert plain(integrate.dop853_step, ask=ask)(system, None, t, h, s) == Status.OK
    np.testing.assert_allclose(s.y_new, theirs.y, rtol=1e-14, atol=1e-14)
    error = plain(integrate.dop853_error, ask=ask)(system, None, reply, h, s)
    assert error == pytest.approx(theirs._estimate_error_norm(theirs.K, h, scale), rel=1e-9)
    s.k[12] = slope(t + h, s.y_new)
    assert plain(integrate.dop853_dense, ask=ask)(system, None, t, h, s) == Status.OK
    dense, found = theirs.dense_output(), np.zeros(N)
    for theta in THETAS:
        plain(integrate.interpolate)(s.y, s.dense, theta, found)
        np.testing.assert_allclose(found, dense(t + theta * h), rtol=1e-13, atol=1e-13)


def test_a_motion_without_error_has_none() -> None:
    s, reply = stepper(), table(REPLY, 1)
    s.k[:] = 0.0
    assert plain(integrate.dop853_error, ask=ask)(answers(reply, np.ones(N)), None, reply, 0.1, s) == 0.0


@pytest.mark.parametrize(
    ("method", "stages"), [("dop853_step", 11), ("dop853_dense", 3), ("rk4_step", 3)], ids=lambda x: str(x)
)
def test_a_stage_that_fails_ends_the_step(method: str, stages: int) -> None:
    for last in range(stages):
        asked = []

        def tell(question, system, t, y, slope_out, asked=asked, last=last):
            asked.append(t)
            slope_out[:] = 0.0
            return Status.NOT_FINITE if len(asked) > last else Status.OK

        system = [tell] * QUESTIONS
        assert plain(getattr(integrate, method), ask=ask)(system, None, 0.7, 0.3, stepper()) == Status.NOT_FINITE
        assert len(asked) == last + 1


def test_the_classical_step_is_the_textbook_one() -> None:
    s, t, h = stepper(), 0.7, 0.3
    s.k[0] = k1 = slope(t, s.y)
    k2 = slope(t + h / 2, s.y + h / 2 * k1)
    k3 = slope(t + h / 2, s.y + h / 2 * k2)
    k4 = slope(t + h, s.y + h * k3)
    assert plain(integrate.rk4_step, ask=ask)(answers(np.zeros(6), np.ones(N)), None, t, h, s) == Status.OK
    np.testing.assert_allclose(s.y_new, s.y + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6, rtol=1e-14)


def test_the_cubic_meets_states_and_slopes_at_both_ends() -> None:
    s, h, found = stepper(), 0.3, np.zeros(N)
    cubic = CubicHermiteSpline([0.0, h], [s.y, s.y_new], [s.k[0], s.k[12]])
    plain(integrate.hermite)(h, s.y, s.y_new, s.k, s.dense)
    for theta in THETAS:
        plain(integrate.interpolate)(s.y, s.dense, theta, found)
        np.testing.assert_allclose(found, cubic(theta * h), rtol=1e-13, atol=1e-14)


def test_what_comes_amid_the_step_is_there_from_its_middle_on() -> None:
    s, found = stepper(), np.zeros(N)
    s.dense[:7], s.dense[7] = 0.0, [1.5, -2.0, 0.25, 3.0]
    for theta in THETAS:
        plain(integrate.interpolate)(s.y, s.dense, theta, found)
        np.testing.assert_array_equal(found, s.y + s.dense[7] if theta >= 0.5 else s.y)


@pytest.mark.parametrize("struck", [False, True])
def test_a_time_step_is_straight_or_leaps_in_its_middle(struck: bool) -> None:
    s, found = stepper(), np.zeros(N)
    s.dense[:] = np.random.default_rng(2).normal(size=(8, N))
    plain(integrate.straight)(s.y, s.y_new, struck, s.dense)
    for theta in THETAS:
        plain(integrate.interpolate)(s.y, s.dense, theta, found)
        share = float(theta >= 0.5) if struck else theta
        np.testing.assert_allclose(found, s.y + share * (s.y_new - s.y), rtol=1e-14, atol=1e-15)


def test_works_are_added_by_the_trapezoid_rule() -> None:
    s, h = stepper(), 0.3
    before = s.y_new.copy()
    plain(integrate.trapezoid)(h, s.y, s.k, s.y_new)
    np.testing.assert_array_equal(s.y_new[:-2], before[:-2])
    np.testing.assert_allclose(s.y_new[-2:], s.y[-2:] + h * (s.k[0] + s.k[12])[-2:] / 2, rtol=1e-14)


def test_between_the_stages_of_radau_iia_is_the_collocation_polynomial_with_the_slope_of_the_start() -> None:
    """Its error has the shape of the integral of (x - c1)(x - c2)(x - 1), and the filtered estimate says how much."""
    s, found = stepper(), np.zeros(N)
    s.dense[:7] = np.random.default_rng(2).normal(size=(7, N))
    c = np.array([(4 - np.sqrt(6)) / 10, (4 + np.sqrt(6)) / 10, 1.0])
    matrix = (c[:, None] ** np.arange(1, 4) / np.arange(1, 4)) @ np.linalg.inv(c[:, None] ** np.arange(3))
    roots = np.linalg.eigvals(np.linalg.inv(matrix))
    gamma = float(roots[np.argmin(np.abs(roots.imag))].real)
    shape = Polynomial.fromroots(c).integ()
    plain(integrate.radau_dense)(s.y, s.y_new, s.k, s.dense)
    for theta in THETAS:
        plain(integrate.interpolate)(s.y, s.dense, theta, found)
        for i in range(N):
            ends = np.array([0.0, s.k[1, i], s.k[2, i], s.y_new[i] - s.y[i]])
            stages = Polynomial(np.linalg.solve(np.vander(np.array([0.0, *c]), increasing=True), ends))
            correction = shape(theta) / shape.deriv()(0.0) * gamma * s.k[4, i]
            assert found[i] == pytest.approx(s.y[i] + stages(theta) + correction, rel=1e-12, abs=1e-12)


def asked_of(name: str, question: int, *arguments):
    """Call a step that is solved behind an address; returns its result, and what was asked."""
    seen = []

    def tell(question, system, t, y, rows):
        seen.append((question, t, y.copy()))
        rows[N : 5 * N] = np.arange(4 * N) + 0.5
        return Status.NOT_SOLVED

    system = [None] * QUESTIONS
    system[question] = tell
    result = plain(getattr(integrate, name), ask=ask)(system, *arguments)
    assert [one[0] for one in seen] == [question]
    return result, seen[0]


FILLED = np.arange(N) + 0.5  # what is put into k[1]


@pytest.mark.parametrize("question", [CLASSICAL, STEPPING, LEAP])
def test_a_step_behind_an_address_is_told_its_length_and_fills_the_end(question: int) -> None:
    s, reply = stepper(), table(REPLY, 1)
    y = s.y.copy()
    if question == LEAP:
        status, (_, t, told) = asked_of("semi_implicit_step", question, None, reply, 0.3, s)
        assert t == s.clock[T]
    else:
        status, (_, t, told) = asked_of("asked_step", question, question, None, reply, 0.7, 0.3, s)
        assert t == 0.7
    assert status == Status.NOT_SOLVED and reply.h[0] == 0.3
    np.testing.assert_array_equal(told, y)
    np.testing.assert_array_equal(s.y_new, FILLED)


def test_a_variational_step_is_told_what_went_before_and_leaves_the_works() -> None:
    s, reply = stepper(), table(REPLY, 1)
    s.count[FOLLOWS] = -1
    status, (_, t, told) = asked_of("rattle_step", VARIATIONAL, None, reply, 0.7, 0.3, s)
    assert (status, t) == (Status.NOT_SOLVED, 0.7) and (reply.h[0], reply.follows[0]) == (0.3, -1)
    np.testing.assert_array_equal(told, s.y)
    np.testing.assert_array_equal(s.y_new, [*FILLED[:-2], *s.y[-2:]])


def test_an_implicit_step_is_told_the_tolerance_and_ends_at_its_last_stage() -> None:
    s = stepper()
    s.count[FOLLOWS], s.clock[RTOL] = 1, 3e-7
    reply = table(REPLY, 1)
    reply.error = 2.25
    (status, error), (_, t, told) = asked_of("radau_step", RADAU, None, reply, 0.7, 0.3, s)
    assert (status, error, t) == (Status.NOT_SOLVED, 1.5, 0.7)
    assert (reply.h[0], reply.follows[0], reply.rtol[0]) == (0.3, 1, 3e-7) and s.count[FOLLOWS] == 0
    np.testing.assert_array_equal(told, s.y)
    np.testing.assert_allclose(s.y_new, s.y + FILLED + 2 * N, rtol=1e-15)
