"""Parts of kernels with what they read put together by hand, as plain Python: where kernels are interpreted only."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from sim.kernels.chosen import mark_acting
from sim.kernels.integrators.half_way import touches_on
from sim.kernels.integrators.stepping import put_moment
from sim.kernels.jit import interpreted
from sim.kernels.unilateral.centre import NORM, OPENED, SLIPPING, put_newton
from sim.kernels.unilateral.deciding import put_first

pytestmark = [
    pytest.mark.fast, pytest.mark.skipif(not interpreted(), reason="compiled kernels take tables of their own types"),
]  # fmt: skip


def presses(meetings: list[int], keys: list[int], impulses: list[float], struck: list[int]) -> SimpleNamespace:
    """Return presses of the step before."""
    key = np.array([[k, -1] for k in keys]).reshape(-1, 2)
    impulse = np.zeros((len(keys), 3))
    impulse[:, 0] = impulses
    return SimpleNamespace(meeting=np.array(meetings), key=key, impulse=impulse, struck=np.array(struck))


def contact(meetings: list[int], keys: list[int]) -> SimpleNamespace:
    """Return points of links 1 and 2 that may press now."""
    count = len(keys)
    return SimpleNamespace(
        meeting=np.array(meetings), key=np.array([[k, -1] for k in keys]).reshape(-1, 2),
        kept=np.full(count, -1), link=np.tile([1, 2], (count, 1)),
    )  # fmt: skip


TURNS = np.array([[0.0] * 6, [0.0, 0.3, 0.0, 1.0, 0.0, 0.0], [0.2, 0.0, 0.0, 0.0, 0.0, 0.0]])


@pytest.mark.parametrize(("before", "now", "expected"), [
    (presses([0], [7], [1.0], [0]), contact([0], [7]), True),  # the very first one
    (presses([0, 3], [7, 8], [1.0, 1.0], [0, 0]), contact([3], [8]), True),
    (presses([0, 3, 3], [7, 8, 9], [1.0, 0.0, 1.0], [0, 0, 0]), contact([0, 3], [6, 9]), True),
    (presses([0], [7], [1.0], [0]), contact([0], [8]), False),  # another feature
    (presses([0], [7], [0.0], [0]), contact([0], [7]), False),  # it did not press
    (presses([0], [7], [1.0], [1]), contact([0], [7]), False),  # a collision began there
    (presses([1], [7], [1.0], [0]), contact([0, 2], [7, 7]), False),
    (presses([], [], [], []), contact([0], [7]), False),
])  # fmt: skip
def test_a_point_goes_on_touching_where_it_pressed_in_the_step_before(before, now, expected) -> None:
    assert bool(touches_on(len(now.meeting), 0.01, len(before.meeting), before, now, TURNS)) is expected


def test_points_whose_bodies_hardly_turn_are_left_out() -> None:
    before, now = presses([0], [7], [1.0], [0]), contact([0], [7])
    assert not touches_on(1, 0.01, 1, before, now, 0.0 * TURNS)
    now.kept[0] = 3
    assert not touches_on(1, 0.01, 1, before, now, TURNS)


def test_moments_of_a_point_are_written_anew() -> None:
    """Of presses that are of it the rows against turning, over the step; nothing of what stood there."""
    rng = np.random.default_rng(6)
    last = SimpleNamespace(of=np.array([0, 2, 1, 2]), impulse=rng.normal(size=(4, 3)), K=rng.normal(size=(4, 3, 3)),
                           h=np.array([0.1, 0.2, 0.1, 0.4]))  # fmt: skip
    told = SimpleNamespace(moment=np.full((2, 3), 9.0))
    put_moment(last, 4, 1, told, 0)
    expected = sum(
        last.impulse[m, 1] * last.K[m, 1] / last.h[m] + last.impulse[m, 2] * last.K[m, 2] / last.h[m] for m in (1, 3)
    )
    assert told.moment[0] == pytest.approx(expected)
    put_moment(last, 4, 5, told, 1)
    assert told.moment.tolist()[1] == [0.0, 0.0, 0.0]


def test_rows_that_no_freedom_of_a_loop_moves_are_held_by_the_tree_alone() -> None:
    """Whatever was marked before, the last row as well."""
    nothing = np.zeros(3)
    blocks = SimpleNamespace(a=np.zeros(1, int), b=np.zeros(1, int), fork=np.zeros(1, int), mate=np.full(1, -1))
    work = SimpleNamespace(acts=np.array([1, 1, 0]), order=np.array([1, 0, 2]), row=nothing, mate=nothing)
    rows = SimpleNamespace(block=np.zeros(3, int))
    mark_acting(1, None, None, blocks, rows, None, SimpleNamespace(axis=None), None, work)
    assert work.acts.tolist() == [-1, 1, -1]


def test_derivatives_of_the_barrier_are_those_of_its_logarithms() -> None:
    """NORM |x|^2 / 2 - sum of log(mu^2 (x_n + reach)^2 - x_t^2), of one that slips log(x_n + reach); by differences."""
    rng = np.random.default_rng(8)
    mu, mode, held, reach = np.array([0.5, 0.8, 0.6]), np.array([0, SLIPPING, 0]), np.array([1, 1, 0]), 0.3
    x = np.array([[2.0, 0.2, -0.3], [1.5, 0.0, 0.0], [0.1, 0.4, 0.2]])
    basis = rng.normal(size=(4, 9))
    slope, curved = np.zeros(4), np.zeros((4, 4))
    put_newton(mu, mode, reach, held, basis, 4, x, curved, slope)

    def barrier(y: np.ndarray) -> float:
        at = x + (y @ basis).reshape(3, 3)
        out = 0.5 * NORM * float(np.sum(at**2))
        n, t = at[:, 0] + reach, np.sum(at[:, 1:] ** 2, axis=1)
        return out - np.log(mu[0] ** 2 * n[0] ** 2 - t[0]) - np.log(n[1])

    h, unit = 1e-4, np.eye(4)
    for i in range(4):
        assert slope[i] == pytest.approx((barrier(h * unit[i]) - barrier(-h * unit[i])) / (2 * h), rel=1e-6, abs=1e-7)
        for j in range(4):
            mixed = sum(a * b * barrier(h * (a * unit[i] + b * unit[j])) for a in (1, -1) for b in (1, -1)) / (
                4 * h * h
            )
            assert curved[i, j] == pytest.approx(mixed, rel=1e-4, abs=1e-4)


def test_points_begin_as_they_were_and_slip_where_nothing_holds_them() -> None:
    """What slides, what has no friction at all and no bound of its own either, and what was open."""
    problem = SimpleNamespace(
        mu=np.array([0.5, 0.0, 0.0, 0.5]), least=np.array([0.0, 0.0, 2.0, 0.0]), given=np.array([0, 0, 0, 1]),
        closed=np.array([1, 1, 0, 1]), sliding=np.arange(8.0).reshape(4, 2),
    )  # fmt: skip
    work = SimpleNamespace(
        closed_work=np.full(4, 9), slips_work=np.full(4, 9), d_work=np.zeros((4, 2)), resistance_work=np.zeros(4)
    )
    put_first(problem, np.array([-1, 1, -1, OPENED]), work)
    assert work.slips_work.tolist() == [0, 1, 0, 1]
    assert work.closed_work.tolist() == [1, 1, 0, 0]
    assert work.d_work.tolist() == problem.sliding.tolist()
    assert np.isposinf(work.resistance_work).all()
