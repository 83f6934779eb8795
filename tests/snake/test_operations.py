"""Operations are counted by running: against what the paper prints, stage by stage."""

from __future__ import annotations

import numpy as np
import pytest

from sim.analysis.snake import kane, lagrange, operations
from sim.analysis.snake.counting import Counted, Tally, sin
from sim.analysis.snake.fixed_steps import METHODS
from sim.analysis.snake.operations import KANE, LAGRANGE, NEWTON_EULER, PRINTED, count, formula
from tests.snake.snakes import random_state

pytestmark = pytest.mark.nonholonomic

# Stages whose print cannot be met; all others are, to the last operation.
OTHERWISE = {
    ("Lagrange", "M"): (formula("5/6", 4, "-17/6", -2), formula("1/6", "3/2", "4/3", -5)),
    ("Newton-Euler", "M"): (formula("5/2", "11/2", -2), formula(1, 5, -1)),
    ("Newton-Euler", "B"): (formula(13, -6), formula(9, -9)),
}
SIZES = (2, 3, 5, 12, 20)


def test_numbers_count_each_operation_once():
    tally = Tally()
    x = tally.number(3.0)
    y = 1 - (x + 1 - 2 * x) / 4
    assert float(y) == 1.5
    assert tally.within() == (2, 3)
    assert float(-x) == -3 and float(1 / x) == 1 / 3
    assert tally.within() == (3, 3)
    assert isinstance(sin(x), Counted) and tally.evaluations() == 1


@pytest.mark.parametrize("name", PRINTED)
def test_stages_take_what_the_paper_prints(name):
    for n in SIZES:
        tally = count(name, n)
        for stage in PRINTED[name].stages:
            printed = stage.multiplications, stage.additions
            expected = OTHERWISE.get((name, stage.name), printed)
            assert tally.within(*stage.functions) == tuple(f(n) for f in expected), (n, stage.name)
            assert (expected is not printed) == bool(stage.differences)


@pytest.mark.parametrize("name", PRINTED)
def test_what_a_print_has_more_is_named_to_the_last_operation(name):
    for n in SIZES:
        tally = count(name, n)
        for stage in PRINTED[name].stages:
            counted = tally.within(*stage.functions)
            for kind, printed in enumerate((stage.multiplications, stage.additions)):
                more = sum((d.multiplications, d.additions)[kind](n) for d in stage.differences)
                assert counted[kind] + more == printed(n), (n, stage.name)


def test_the_products_that_lagranges_mass_matrix_has_in_print():
    """Both triangles and cos 0, no masses in the rows of x and y, from the third link on: the print for every n."""
    stage = LAGRANGE.stages[0]
    for n in range(2, 9):
        tally = Tally()
        m, h, x = tally.number(1.5), [tally.number(0.1)] * n, tally.number(0.7)
        for k in range(2, n):
            for j in range(k + 1):
                for i in range(k + 1):
                    _ = m * lagrange.arm(h, k, i) * lagrange.arm(h, k, j) * x
                for _ in "xy":
                    _ = lagrange.arm(h, k, j) * x
        assert tally.within()[0] == stage.multiplications(n)


def test_all_operations_are_a_stage_or_named_beyond_it():
    for name, printed in PRINTED.items():
        tally = count(name, 7)
        functions = [f for stage in printed.stages for f in stage.functions]
        assert tally.within(*functions, *printed.beyond.values()) == tally.within()
        parts = [tally.within(f) for f in (*functions, *printed.beyond.values())]
        assert tuple(map(sum, zip(*parts, strict=True))) == tally.within()  # none counts twice


def test_totals_of_kane_are_met_with_what_no_stage_holds():
    """Additions of Table I to the last one; of its multiplications 21 belong to no operation."""
    for n, (multiplications, additions) in KANE.values.items():
        assert count("Kane", n).within() == (multiplications - 21, additions)


def test_sines_and_cosines_are_counted_apart():
    n = 6
    assert count("Kane", n).evaluations() == 2 * (n - 1)
    assert count("Lagrange", n).evaluations() == 2 * n + n * (n - 1) // 2
    assert count("Newton-Euler", n).evaluations() == 2 * n + 2 * (n - 1)


def test_table_one_follows_from_its_formulas():
    for printed in PRINTED.values():
        for n, values in printed.values.items():
            assert (printed.multiplications(n), printed.additions(n)) == values
    assert [str(f) for f in KANE.unexplained()] == ["3n + 21", "3n - 1"]
    assert [str(f) for f in LAGRANGE.unexplained()] == ["4", "4"]
    assert [str(f) for f in NEWTON_EULER.unexplained()] == ["0", "11"]


@pytest.mark.parametrize("operation", ["addition", "multiplication"])
def test_an_operation_more_is_counted_in_its_stage(monkeypatch, operation):
    before = count("Kane", 6)
    turning = kane.turning

    def and_one_more(V, omega, h, h_next, C, S):
        found = turning(V, omega, h, h_next, C, S)
        return found + 0.0 if operation == "addition" else found * 1.0

    monkeypatch.setattr(kane, "turning", and_one_more)
    after = count("Kane", 6)
    more = np.array([0, 1]) if operation == "addition" else np.array([1, 0])
    assert tuple(np.subtract(after.within("velocities"), before.within("velocities"))) == tuple(5 * more)
    assert after.within("solve") == before.within("solve")
    assert after.within("velocities/speed") == before.within("velocities/speed")


def test_kane_grows_with_the_square_and_the_others_with_the_cube():
    def third_differences(name):
        return np.diff([count(name, n).within() for n in range(2, 8)], n=3, axis=0)

    assert (third_differences("Kane") == 0).all()
    for name in ("Lagrange", "Newton-Euler"):
        assert (third_differences(name)[0] > 0).all() and (np.diff(third_differences(name), axis=0) == 0).all()


@pytest.mark.parametrize("name", METHODS)
def test_counted_and_plain_numbers_give_the_same_bits(name):
    state = random_state(4, 0)
    method = METHODS[name]
    u = state.u if name == "Kane" else state.q_dot
    plain = method.rates(state.snake, state.q, u, state.torques)
    number = Tally().number
    lists = [[number(x) for x in column] for column in (state.q, u, state.torques)]
    counted = method.rates(state.snake.of(number), *lists)
    assert [[float(x) for x in column] for column in counted] == [list(column) for column in plain]


@pytest.mark.parametrize("name", METHODS)
def test_single_precision_stays_single(name):
    state = random_state(4, 0)
    u = state.u if name == "Kane" else state.q_dot
    lists = [[np.float32(x) for x in column] for column in (state.q, u, state.torques)]
    found = METHODS[name].rates(state.snake.of(np.float32), *lists)
    assert {type(x) for column in found for x in column} == {np.float32}
    exact = METHODS[name].rates(state.snake, state.q, u, state.torques)
    for column, expected in zip(found, exact, strict=True):
        scale = np.abs(expected).max()
        assert np.array(column) / scale == pytest.approx(np.array(expected) / scale, abs=1e-4)


def test_formulas_print_as_they_are_read():
    assert str(formula("15/2", "97/2", -21)) == "15/2 n^2 + 97/2 n - 21"
    assert str(formula(-1, 0, 4)) == "-n^2 + 4"
    assert str(formula(0)) == "0"
    assert operations.formula(1, 2)(3) == 5
