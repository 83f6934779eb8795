"""Kernels decide as the plain solver does: a thousand decisions of shipped scenes, each solved by both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sim
from sim.contact import analytic_centre, by_kernels, impact, solve
from sim.contact.active import Active
from sim.contact.active import solve as active_solution
from sim.contact.contact_problem import ContactProblem, Mode
from sim.simulation import contact_modes
from tests.contact.engine import SCENES

pytestmark = [pytest.mark.contact, pytest.mark.slow]

RUNS = {
    "woodpecker": 1.5, "slider_crank_clearance": 0.2, "rocking_block": 5.0, "table": 3.0, "figure_falls": 1.5,
    "uneven_bars": 3.0,
}  # fmt: skip
PLAIN = {name: getattr(solve, name) for name in ("solve_contacts", "polish")} | {
    name: getattr(analytic_centre, name) for name in ("fully_held", "centred")
}
Asked = tuple[str, str, tuple[Any, ...], Any]  # scene, function, what it was asked, its answer


def noted(scene: str, name: str, asked: list[Asked]) -> Callable[..., Any]:
    function = getattr(by_kernels, name)

    def note(*given: Any) -> Any:
        answer = function(*given)
        asked.append((scene, name, given, answer))
        return answer

    return note


@pytest.fixture(scope="module")
def asked() -> Iterator[list[Asked]]:
    out: list[Asked] = []
    for scene, duration in RUNS.items():
        with pytest.MonkeyPatch.context() as patch:
            for name in PLAIN:
                for module in (contact_modes, impact):
                    if hasattr(module, name):
                        patch.setattr(module, name, noted(scene, name, out))
            read = sim.load(SCENES / f"{scene}.yaml")
            model = sim.compile(replace(read, simulate=replace(read.simulate, contact="event")))
            sim.Simulator(model).advance(duration)
    return out


def of(asked: list[Asked], *names: str) -> Iterator[tuple[str, ContactProblem, Any, Any]]:
    """Yield the scene, the problem, the answer of kernels and that of the plain solver."""
    for scene, name, given, found in asked:
        if name in names:
            yield scene, given[0], found, PLAIN[name](*given)


def test_impulses_and_modes_of_a_thousand_decisions_are_those_of_the_plain_solver(asked: list[Asked]) -> None:
    """Where the least norm of forces that are not unique is known to a share of the law alone, both are lawful."""
    seen: dict[str, int] = {}
    vague = 0
    for scene, problem, found, wanted in of(asked, "solve_contacts", "polish"):
        assert found.status == wanted.status and found.mode.tolist() == wanted.mode.tolist(), scene
        assert found.chosen.tolist() == wanted.chosen.tolist(), scene
        unit = problem.rate / problem.trace[:, None]
        size = np.abs(wanted.P / unit).max(initial=1.0)  # what cannot be shared out but by 1e-17 is known to that alone
        if not np.allclose(found.P / unit, wanted.P / unit, rtol=1e-9, atol=1e-9 * size):
            assert found.chosen.any() and found.z / problem.rate == pytest.approx(wanted.z / problem.rate, abs=1e-9)
            assert np.allclose(found.P[~found.chosen], wanted.P[~found.chosen], rtol=1e-9, atol=0.0)
            vague += 1
        seen[scene] = seen.get(scene, 0) + 1
    assert sum(seen.values()) >= 1000 and set(seen) == set(RUNS) and vague <= 2


def test_forces_that_are_held_with_are_those_of_the_plain_centre(asked: list[Asked]) -> None:
    count = 0
    for scene, _, found, wanted in of(asked, "centred"):
        size = max(np.abs(wanted.P).max(initial=0.0), 1e-300)
        assert found.chosen.tolist() == wanted.chosen.tolist() and found.bound.tolist() == wanted.bound.tolist(), scene
        assert found.P / size == pytest.approx(wanted.P / size, abs=1e-8), scene
        count += 1
    held = [(problem, (found is None) == (wanted is None)) for _, problem, found, wanted in of(asked, "fully_held")]
    assert all(same or least_room(problem) < 1e-12 for problem, same in held)
    assert count > 500 and len(held) > 400 and sum(not same for _, same in held) < 5


def least_room(problem: ContactProblem) -> float:
    """Return how far inside of its cone the point is that is nearest to its border, where all are held."""
    active = Active.first(problem)
    mode = np.where(~active.closed, Mode.OPEN, np.where(active.slips, Mode.SLIP, Mode.STICK))
    start = active_solution(problem, active, np.zeros((problem.points, 3)))
    return float(np.abs(PLAIN["centred"](problem, start, mode, active.d).room).min())
