"""What is looked at within a step is what is found anew at its end."""

from __future__ import annotations

import numpy as np
import pytest

import sim
from sim.kernels.system import LOOK, PROJECT, SETTLE, START, WATCH
from sim.kernels.watched import GUARD_CONE, GUARD_GAP, GUARD_PULL
from tests.contact.engine import SCENES

pytestmark = [pytest.mark.contact, pytest.mark.fast]


def test_a_look_finds_the_forces_of_points_that_repeat_one_another() -> None:
    """Four legs of a table on a floor: with the rows that acted last, chosen forces are those with rows chosen anew.

    What was shared out before, among rows that do not act, has no part in it.
    """
    simulator = sim.Simulator(sim.compile(sim.load(SCENES / "table.yaml")))
    simulator.advance(0.0)
    flow = simulator.flow
    kind, y = flow.guards.table.kind, flow.stepper.y.copy()
    assert flow.work.one.rank[0] < len(flow.work.rows)
    for question in (START, PROJECT, SETTLE):
        assert flow.ask(question, y, np.zeros(16 * len(y))) == 0
    found = []
    for question in (WATCH, LOOK, LOOK):
        values = np.full(len(kind), np.nan)
        assert flow.ask(question, y, values) == 0
        found.append(values)
    forces = np.isin(kind, (GUARD_PULL, GUARD_CONE))
    assert np.abs(found[0][forces]).max() > 1.0
    for values in found[1:]:
        np.testing.assert_allclose(values, found[0], rtol=0, atol=1e-11 * np.abs(found[0][forces]).max())


def test_a_look_leaves_what_is_not_asked_for_as_it_was() -> None:
    simulator = sim.Simulator(sim.compile(sim.load(SCENES / "table.yaml")))
    simulator.advance(0.0)
    flow = simulator.flow
    gaps = flow.guards.table.kind == GUARD_GAP
    values = np.where(gaps, -7.0, np.nan)
    assert flow.ask(LOOK, flow.stepper.y.copy(), values) == 0
    assert (values[gaps] == -7.0).all() and np.isfinite(values).all() and (values[~gaps] != -7.0).all()
