"""Conditions that read the force of a contact."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sim.scene.load import load_text
from sim.scene.problem import SceneError
from tests.contact.engine import G0, Run

pytestmark = [pytest.mark.contact, pytest.mark.fast]

MASS = 2.0
LOADED = """
schema: 1
name: loaded
world: {{shapes: [{{name: ground, plane: {{}}}}]}}
bodies:
  crate: {{mass: 2, inertia: [0.1, 0.1, 0.1], shapes: [{{box: {{center: [0, 0, 0.5], size: [1, 1, 1]}}}}]}}
forces: {{load: {{type: wrench, body: crate, force: [0, 0, "-10 N/s*t"]}}}}
contacts: {{feet: {{between: {between}, friction: 0.5}}}}
events: {{heavy: {{when: "{when}", stop: true}}}}
simulate: {{{simulate}}}
"""


def ends(when: str, between: str = "[crate, world]", simulate: str = "rtol: 1e-9") -> float:
    run = Run(LOADED.format(when=when, between=between, simulate=simulate)).to(3.0)
    assert run.texts("scene") == [""]
    return run.simulator.t


@pytest.mark.parametrize(
    ("when", "between"),
    [
        ("force('feet')[2] > 30 N", "[crate, world]"),
        ("force('feet')[2] < -30 N", "[world, crate]"),
        ("norm(force('feet')) > 30 N", "[crate, world.ground]"),
    ],
)
def test_a_condition_reads_the_sum_of_all_points(when: str, between: str) -> None:
    assert ends(when, between) == pytest.approx((30.0 - MASS * G0) / 10.0, abs=1e-9)


def test_time_steps_know_it_to_one_step() -> None:
    found = ends("force('feet')[2] > 30 N", simulate="contact: stepping, dt: 2 ms")
    assert found == pytest.approx((30.0 - MASS * G0) / 10.0, abs=2.1e-3)


FALLS = """
schema: 1
name: falls
world: {{shapes: [{{name: ground, plane: {{}}}}]}}
bodies:
  ball: {{mass: 1, shapes: [{{sphere: {{center: [0, 0, 1.1], radius: 0.1}}}}]}}
  other: {{mass: 3, shapes: [{{sphere: {{center: [1, 0, 0.1], radius: 0.1}}}}]}}
contacts:
  balls: {{between: [ball, world]}}
  others: {{between: [other, world]}}
events: {{lands: {{when: "force('balls')[2] > 1 N", stop: true}}}}
simulate: {{{simulate}}}
"""


def test_a_landing_is_seen_at_its_instant_and_no_other_rule_counts() -> None:
    run = Run(FALLS.format(simulate="rtol: 1e-9")).to(1.0)
    assert run.simulator.t == pytest.approx(math.sqrt(2.0 / G0), abs=1e-9)


def test_a_landing_is_seen_in_time_steps() -> None:
    run = Run(FALLS.format(simulate="contact: stepping, dt: 2 ms")).to(1.0)
    assert run.simulator.t == pytest.approx(math.sqrt(2.0 / G0), abs=4.1e-3)


def test_each_rule_has_the_force_of_its_own_bodies() -> None:
    run = Run(FALLS.format(simulate="rtol: 1e-9")).to(0.1)
    run.points()
    np.testing.assert_allclose(run.simulator.flow.work.rules.force, [[0, 0, 0], [0, 0, 3 * G0]], atol=1e-12)


def test_a_name_that_is_no_rule_is_told() -> None:
    with pytest.raises(SceneError, match="no joint, contact or constraint named 'fet'"):
        load_text(LOADED.format(when="force('fet')[2] > 1 N", between="[crate, world]", simulate=""))
