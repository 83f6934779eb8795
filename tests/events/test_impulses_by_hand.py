"""Impulses on a few freedoms that are made by hand: against one system of all equations, and with lent inertia."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import numpy as np
import pytest

from sim.simulation.structure_changes import ChangeError, impulse_solve

pytestmark = pytest.mark.fast


def mechanism_of(M: Any, J: Any, hard: Any, wanted: Any, lent: Any = None) -> Any:
    M, J = np.array(M, float), np.array(J, float).reshape(-1, len(M))
    lent = np.zeros(len(M)) if lent is None else np.array(lent, float)
    return Made(
        structure=Made(tables=Made(freedoms=Made(lent=lent))), inertia=lambda: M, jacobian=lambda: J,
        hard=lambda: np.array(hard, bool), locked=lambda: np.array(hard, bool), wanted=lambda: np.array(wanted, float),
    )  # fmt: skip


Q = np.zeros(3)


@pytest.mark.parametrize("pushed", [False, True])
@pytest.mark.parametrize("fresh", [None, (False, False, True, False), (False, False, True, True)])
def test_impulses_solve_all_equations_at_once(pushed: bool, fresh: Any) -> None:
    """M (v+ - v) = push + J^T P; hard rows have the rates that are wanted, rotors take P = -(their change of rate)."""
    rng = np.random.default_rng(4)
    B = rng.normal(size=(4, 4))
    M, J, v = B @ B.T + np.eye(4), rng.normal(size=(4, 4)), rng.normal(size=4)
    hard, wanted = np.array([True, True, False, False]), np.array([0.0, 0.7, 0.0, 0.0])
    push = rng.normal(size=4) if pushed else np.zeros(4)
    new = np.zeros(4, bool) if fresh is None else np.array(fresh)
    found = impulse_solve(
        mechanism_of(M, J, hard, wanted), np.zeros(4), v, push if pushed else None, None if fresh is None else new
    )
    before = np.where(hard | new, wanted, J @ v)  # a rotor that was connected just now stood still
    system = np.block([[M, -J.T], [J, np.diag(np.where(hard, 0.0, 1.0))]])
    expected = np.linalg.solve(system, np.r_[M @ v + push, before])
    after, P = expected[:4], expected[4:]
    assert found.v == pytest.approx(after, abs=1e-12) and found.impulse == pytest.approx(P, abs=1e-12)
    kinetic = 0.5 * after @ M @ after - 0.5 * v @ M @ v
    rotors = ~hard
    spun = 0.5 * ((J @ after)[rotors] ** 2).sum() - 0.5 * (np.where(new, 0.0, J @ v)[rotors] ** 2).sum()
    assert kinetic + spun == pytest.approx(found.given - found.lost, abs=1e-12)
    assert found.given == pytest.approx(0.7 * P[1] + 0.5 * push @ (v + after) * pushed, abs=1e-12)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_rows_carry_what_pushes_a_freedom_without_inertia(sign: float) -> None:
    """Of two freedoms the second has inertia that is lent alone; a row holds it, or nothing does."""
    M, lent, push = [[2.1, 0.4], [0.4, 1.3]], [0.0, 1.3 - 0.4**2 / 2.1], sign * np.array([-5.3, -3.7])
    found = impulse_solve(mechanism_of(M, [[0.0, 1.0]], [True], [0.0], lent), Q, np.zeros(2), push)
    assert found.v == pytest.approx([push[0] / 2.1, 0.0], abs=1e-12)
    assert found.impulse == pytest.approx([0.4 * push[0] / 2.1 - push[1]], abs=1e-12)
    with pytest.raises(ChangeError, match="turns a body that has no inertia against it"):
        impulse_solve(mechanism_of(M, [[1.0, 0.0]], [True], [0.0], lent), Q, np.zeros(2), push)
    with pytest.raises(ChangeError, match="turns a body that has no inertia against it"):
        impulse_solve(mechanism_of(np.diag([2.0, 1.0]), [], [], [], [0.0, 1.0]), Q, np.zeros(2), push)
    free = impulse_solve(
        mechanism_of(np.diag([2.0, 1.0]), [], [], [], [0.0, 1.0]), Q, np.array([1.0, 3.0]), push * [1.0, 0.0]
    )
    assert free.v == pytest.approx([1.0 + push[0] / 2.0, 3.0]) and free.impulse.shape == (0,) and free.lost == 0.0


def test_rows_that_repeat_others_share_what_they_carry() -> None:
    """The impulses of least norm; a row that is given twice takes half of it each."""
    found = impulse_solve(
        mechanism_of(np.diag([2.0, 3.0]), [[1.0, 0.0], [1.0, 0.0]], [True, True], [0.0, 0.0]), Q, np.array([4.0, 1.0])
    )
    assert found.v == pytest.approx([0.0, 1.0], abs=1e-14) and found.impulse == pytest.approx([-4.0, -4.0], abs=1e-13)
    assert found.lost == pytest.approx(16.0) and found.given == 0.0
