"""Which sampled controllers are too stiff to be held between two calls: their gains, and Jury's test, by hand."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import numpy as np
import pytest

from sim.plugin import StateView
from sim.simulation.held_torques import gains, held_too_long, runs_away
from sim.simulation.state import Remembered

pytestmark = pytest.mark.fast

COLUMNS = 3


def view(coordinate: Any = (0.0,) * COLUMNS, rate: Any = (0.0,) * COLUMNS) -> StateView:
    return StateView(np.array(coordinate, float), np.array(rate, float), *(np.zeros((1, 3)) for _ in range(3)))


def sampled(sample: Any, rate: float = 100.0, torque: Any = (0.0,) * COLUMNS) -> Any:
    use = Made(name="stiff", place="law.yaml:3")
    return Made(
        use=use, controller=Made(sample=sample), rate=rate, state=Remembered(4, np.array(torque, float), {"seen": []})
    )


def linear(K: Any, D: Any) -> Any:
    """Return a law with torques -K x - D v, which remembers what it saw."""

    def sample(t: float, state: Any, torque: np.ndarray, memory: dict) -> None:
        memory["seen"].append(t)
        torque[:] = -np.array(K) @ state.coordinate - np.array(D) @ state.rate

    return sample


def test_gains_are_what_torques_fall_by() -> None:
    """Of its own column alone; the state, the torques and the memory of the run stay as they are."""
    K, D = np.arange(9.0).reshape(3, 3) + 1.0, -np.arange(9.0).reshape(3, 3) - 2.0
    item, state = sampled(linear(K, D)), view([0.5, -2.0, 0.0], [3.0, 0.1, -20.0])
    for k in range(COLUMNS):
        assert gains(item, state, 0.7, k) == pytest.approx((K[k, k], D[k, k]), abs=1e-6)
    assert item.state.memory == {"seen": []} and not item.state.torque.any() and item.state.calls == 4
    assert state.coordinate.tolist() == [0.5, -2.0, 0.0] and state.rate.tolist() == [3.0, 0.1, -20.0]


@pytest.mark.parametrize("at", [-100.0, -0.1, 0.0, 0.3, 100.0])
def test_gains_are_found_by_a_millionth_of_what_is_there(at: float) -> None:
    def square(t: float, state: Any, torque: np.ndarray, memory: dict) -> None:
        torque[1] -= state.coordinate[1] ** 2 + 3.0 * state.rate[1] ** 2

    stiffness, damping = gains(sampled(square, torque=[5.0, 6.0, 7.0]), view([0.0, at, 0.0], [0.0, at, 0.0]), 0.0, 1)
    nudge = 1e-6 * max(1.0, abs(at))
    assert stiffness == pytest.approx(2.0 * at + nudge, abs=1e-7)
    assert damping == pytest.approx(6.0 * at + 3.0 * nudge, abs=3e-7)


def flow(mass: Any = (2.0, 4.0), dt: float = 0.0, linear_column: int = 1) -> Any:
    """Return a run of two joints, which are the second and third of all, with this inertia; dt : of time steps."""
    M = np.array(mass, float)
    links = Made(nv=np.array([0, 1, 1]), column=np.array([9, 1, 2]), v=np.array([9, 0, 1]))
    columns = Made(linear=np.arange(COLUMNS) == linear_column)
    return Made(
        t=0.7, update=lambda: None, mechanism=Made(inertia=lambda: M if M.ndim == 2 else np.diag(M)),
        structure=Made(tables=Made(links=_Links(links))), time_stepping=dt > 0.0,
        model=Made(columns=columns, column_names=["a", "b", "c"], scene=Made(simulate=Made(dt=dt or 99.0))),
        work=Made(rate=np.array([0.0, -1.0, 0.5])),
    )  # fmt: skip


class _Links:
    def __init__(self, columns: Any):
        self.__dict__.update(vars(columns))

    def __len__(self) -> int:
        return len(self.nv)


def said(flow_: Any, *items: Any) -> str:
    return held_too_long(flow_, Made(sampled=list(items), state=view()))  # type: ignore[arg-type]


@pytest.mark.parametrize("column", [1, 2])
@pytest.mark.parametrize(
    ("k", "d", "stiff"),
    [
        (0.0, 1.99, False), (0.0, 2.01, True), (0.99, 0.0, False), (1.01, 0.0, True), (1.9, 1.0, False),
        (2.1, 1.0, True), (3.9, 1.99, False), (0.0, -5.0, False), (-9.0, 0.0, False), (1.01, 0.4, True),
    ],
)  # fmt: skip
def test_gains_that_no_call_damps_are_told(k: float, d: float, stiff: bool, column: int) -> None:
    """With d = D T / m and k = K T^2 / m: beyond d = 2, and beyond k = 2 d where k is more than 1."""
    mass, span = (2.0, 4.0)[column - 1], 0.01
    K, D = np.zeros((3, 3)), np.zeros((3, 3))
    K[column, column], D[column, column] = k * mass / span**2, d * mass / span
    text = said(flow(), sampled(linear(np.zeros((3, 3)), np.zeros((3, 3)))), sampled(linear(K, D)))
    assert bool(text) == stiff
    if stiff:
        units = "N/m and", "N s/m, turn", f"({mass:.3g} kg)" if column == 1 else ""
        if column == 2:
            units = "N m/rad and", "N m s/rad, turn", f"({mass:.3g} kg m^2)"
        assert text.startswith(
            "controller 'stiff' (law.yaml:3) is sampled, and too stiff for that: it holds its torques for 0.01 s, in "
            f"which its gains at joint {'abc'[column]!r}, {K[column, column]:.3g} "
        )
        assert all(unit in text for unit in units) and f"Damping of at most {2.0 * mass / span:.3g} N" in text


@pytest.mark.parametrize("column", [1, 2])
def test_freedoms_of_one_joint_stand_one_after_the_other(column: int) -> None:
    run = flow()
    run.structure.tables.links = _Links(Made(nv=np.array([0, 2]), column=np.array([9, 1]), v=np.array([9, 0])))
    D = np.zeros((3, 3))
    for share, stiff in ((0.99, False), (1.01, True)):
        D[column, column] = share * 2.0 * (2.0, 4.0)[column - 1] / 0.01
        assert f"at joint {'abc'[column]!r}, " in said(run, sampled(linear(0.0 * D, D))) or not stiff
        assert bool(said(run, sampled(linear(0.0 * D, D)))) == stiff


def test_what_moves_is_what_other_joints_let_go_with_it() -> None:
    """The inertia of a joint whose neighbours are free to move: one over the diagonal of the inverse."""
    M = np.array([[2.0, 1.5], [1.5, 4.0]])
    mass = 1.0 / np.linalg.inv(M)[0, 0]
    for share, stiff in ((0.99, False), (1.01, True)):
        D = np.zeros((3, 3))
        D[1, 1] = share * 2.0 * mass / 0.01
        assert bool(said(flow(M), sampled(linear(0.0 * D, D)))) == stiff


def test_torques_are_held_for_a_time_step_at_least() -> None:
    D = np.diag([0.0, 1.01 * 2.0 * 2.0 / 0.02, 0.0])
    assert not said(flow(), sampled(linear(0.0 * D, D)))
    assert "for 0.02 s" in said(flow(dt=0.02), sampled(linear(0.0 * D, D)))
    assert "for 0.05 s" in said(flow(dt=0.02), sampled(linear(0.0 * D, D), rate=20.0))
    assert not said(flow(np.zeros((0, 0))), sampled(linear(0.0 * D, D)))
    assert not said(flow([np.nan, 1.0]), sampled(linear(0.0 * D, D)))


@pytest.mark.parametrize(("rate", "away"), [(29.9, False), (30.1, True), (-29.9, False), (-30.1, True)])
def test_what_goes_thirty_radians_between_two_calls_has_run_away(rate: float, away: bool) -> None:
    """Of time steps, and between calls of the controller that is asked most often."""
    slow, quick = sampled(None, rate=0.5), sampled(None, rate=1.0)
    run = flow(dt=0.01)
    run.work.rate[1] = rate
    for items in ([quick], [slow, quick], [quick, slow]):
        assert runs_away(run, Made(sampled=items)) == away  # type: ignore[arg-type]
    assert not runs_away(run, Made(sampled=[]))  # type: ignore[arg-type]
    run.time_stepping = False
    assert not runs_away(run, Made(sampled=[quick]))  # type: ignore[arg-type]
