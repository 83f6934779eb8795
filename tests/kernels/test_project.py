"""Returning to the constraints: when positions and velocities are corrected, by residuals that are given."""

from __future__ import annotations

import math
from types import SimpleNamespace as Made
from typing import Any

import numpy as np
import pytest

from sim.kernels import project
from sim.kernels.status import Status
from tests.kernels.plain import plain

pytestmark = pytest.mark.fast

NO, OK = Status.MASS_SINGULAR, Status.OK


class System:
    """Rows whose residuals and statuses are given one after the other; what is done is listed."""

    def __init__(self, phi: list[float], slip: list[float], statuses: list[int], blocks: int = 2, driven: int = 0):
        self.phi, self.slip, self.statuses, self.done = list(phi), list(slip), list(statuses), list[str]()
        one = Made(length=[2.0], driven=[driven])
        self.tables = Made(one=one, rows=Made(block=np.zeros(blocks)), links="links")
        self.work = Made(moved=np.full(2, 9.0), one=Made(jump=[7.0]), rows="rows")

    def asked(self, kernel: Any, left: float = 0.0) -> int:
        def note(name: str, answer: Any = None) -> Any:
            def do(*of: Any) -> Any:
                self.done.append(name + ("" if name != "factorise" else str(of[1])))
                return answer() if callable(answer) else answer

            return do

        found = plain(
            kernel, normalise=note("normalise"), move=note("move"), project_positions=note("positions", left),
            factorise=note("factorise", lambda: self.statuses.pop(0)),
            position_residual=note("phi", lambda: self.phi.pop(0)),
            velocity_step=note("rates"), velocity_residual=note("slip", lambda: self.slip.pop(0)),
            position_step=note("step"), rate_gap=note("gap", 0.125),
        )(self, self.tables, self.work, "q", "v")  # fmt: skip
        assert self.phi == self.slip == self.statuses == []
        return int(found)


BEGIN = ["normalise", "move"]


@pytest.mark.parametrize(
    ("phi", "left", "slip", "statuses", "status", "done"),
    [
        ([1.9e-14], 0.0, [1.9e-13], [OK], OK, ["phi", "factorise1", "rates", "slip"]),
        ([1.9e-14], 0.0, [2.1e-13, 9.0], [OK], OK, ["phi", "factorise1", "rates", "slip", "rates", "slip"]),
        ([2.1e-14], 1.9e-6, [0.0], [OK, OK], OK, ["phi", "factorise0", "positions", "factorise1", "rates", "slip"]),
        ([1.0], 2.1e-6, [], [OK], Status.NO_CLOSURE, ["phi", "factorise0", "positions"]),
        ([1.0], math.nan, [], [OK], Status.NO_CLOSURE, ["phi", "factorise0", "positions"]),
        ([1.0], 0.0, [], [NO], NO, ["phi", "factorise0"]), ([0.0], 0.0, [], [NO], NO, ["phi", "factorise1"]),
        ([1.0], 0.0, [], [OK, NO], NO, ["phi", "factorise0", "positions", "factorise1"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("driven", [0, 1])
def test_positions_then_rates_are_corrected_as_far_as_they_are_off(
    phi: list, left: float, slip: list, statuses: list, status: int, done: list[str], driven: int
) -> None:
    made = System(phi, slip, statuses, driven=driven)
    assert made.asked(project.project, left) == status
    if driven and "rates" in done:  # how far drives were off is told before
        at = done.index("rates")
        done = [*done[:at], "gap", *done[at:]]
    assert made.done == [*BEGIN, *done] and made.work.moved.tolist() == [0.0, 0.0]
    assert made.work.one.jump == [0.125 if "gap" in done else 7.0]


@pytest.mark.parametrize("status", [OK, NO])
def test_without_constraints_only_the_mass_is_factorised(status: int) -> None:
    made = System([], [], [status], blocks=0)
    assert made.asked(project.project) == status and made.done == [*BEGIN, "factorise1"]


def test_stages_are_brought_to_rows_that_were_kept() -> None:
    for statuses, done in (([OK], ["rates"]), ([NO], [])):
        made = System([], [], statuses)
        assert made.asked(project.bring_rates) == statuses[-1] and made.done == ["move", "factorise0", *done]
    for statuses, done in (
        ([OK, OK], ["step", "factorise0", "rates"]), ([OK, NO], ["step", "factorise0"]), ([NO], []),
    ):  # fmt: skip
        made = System([3.0], [], statuses)
        assert made.asked(project.bring_near) == statuses[-1] and made.done == ["move", "phi", "factorise0", *done]


def test_how_far_drives_are_off_counts_in_lengths_and_radians_beside_what_is_wanted() -> None:
    rows = Made(motion=np.array([0, -1, 3]), code=np.array([2, 0, 3]), scale=np.array([1.0, 1.0, 2.0]))
    work = Made(slip=np.array([-0.6, 90.0, 0.0]), want=np.array([[9.0, -4.0], [9.0, 0.0], [9.0, 3.0]]))
    gap = plain(project.rate_gap)
    assert gap(rows, 2.0, work) == pytest.approx(0.1)  # 0.6 m/s of 2 + 4
    work.slip[2] = -4.0
    assert gap(rows, 2.0, work) == pytest.approx(0.5)  # 2 rad/s of 1 + 3
    rows.code[2] = 2
    assert gap(rows, 2.0, work) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("residuals", "left", "steps", "moved"),
    [
        ([1.9e-14], 1.9e-14, 0, 0), ([1.0, 0.5, 1.9e-14], 1.9e-14, 2, 2), ([1.0, 0.5, 0.5, 0.5], 0.5, 2, 1),
        ([1.0, math.nan, 1.0], 1.0, 1, 0), ([2.0**-k for k in range(6)], 2.0**-5, 5, 5), ([2.1e-14, 0.0], 0.0, 1, 1),
    ],
)  # fmt: skip
def test_newton_ends_at_roundoff_after_five_steps_or_where_it_does_not_get_nearer(
    residuals: list[float], left: float, steps: int, moved: int
) -> None:
    q, done, given = np.array([1.0, 2.0]), list[str](), list(residuals)
    work = Made(saved=np.zeros(2), moved=np.zeros(1), freedoms=Made(vdot=np.array([0.25])))

    def step(system: Any, links: str, work: Any, q_out: np.ndarray, v: str) -> None:
        q_out += 1.0
        done.append("step")

    found = plain(
        project.project_positions, position_residual=lambda system: given.pop(0), position_step=step,
        move=lambda system, q, v: done.append("back"),
    )("system", "links", work, 2.0, q, "v")  # fmt: skip
    assert found == left and given == [] and done.count("step") == steps
    assert q.tolist() == [1.0 + moved, 2.0 + moved] and work.moved.tolist() == [0.25 * moved]
    assert done.count("back") == steps - moved


def test_steps_undo_what_is_open() -> None:
    """Positions by all rows, rates by those that are hard."""
    seen: list[list[float]] = []
    rows = Made(rhs=np.zeros(3), phi=np.array([1.0, -2.0, 3.0]), slip=np.array([4.0, 5.0, -6.0]))
    work = Made(rows=rows, freedoms=Made(vdot=np.array([0.5, -0.5])))
    tables = Made(rows=Made(compliance=np.array([0.0, 1e-3, 0.0])))
    q, v = np.zeros(2), np.ones(2)
    instead: dict[str, Any] = {
        "answer_rows": lambda system: seen.append(rows.rhs.tolist()),
        "move": lambda system, q, v: seen.append([*q, *v]),
        "add_freedoms": lambda links, dq, scale, q_out: q_out.__iadd__(scale * dq),
    }  # fmt: skip
    plain(project.position_step, **instead)("system", "links", work, q, v)
    plain(project.velocity_step, **instead)("system", tables, work, q, v)
    assert seen == [[-1.0, 2.0, -3.0], [0.5, -0.5, 1.0, 1.0], [-4.0, 0.0, 6.0], [0.5, -0.5, 1.5, 0.5]]
