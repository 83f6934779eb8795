"""Constraints that let go where they would have to give more than they can, and grip again."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sim.scene.problem import SceneError
from sim.sentences import SimulationError
from tests.contact.engine import Run

pytestmark = [pytest.mark.nonholonomic, pytest.mark.contact]

SLEDGE = """
schema: 1
name: sledge
world: {gravity: [0, 0, 0]}
bodies:
  sledge: {mass: 2 kg, com: [0, 0, 0], inertia: [0.1, 0.1, 0.1]}
joints:
  ice: {type: planar, parent: world, child: sledge, position: [0, 0, 0], axis: [0, 0, 1], second_axis: [1, 0, 0]}
constraints:
  blade: {type: knife_edge, body: sledge, position: [0, 0, 0], along: [1, 0, 0], holds: 6 N}
forces:
  pull: {type: wrench, body: sledge, point: com, force: [0, PULL, 0]}
initial:
  ice: {rate: [1.5, 0, 0]}
simulate: {rtol: 1e-11}
"""


@pytest.mark.fast
def test_a_sledge_that_is_pulled_ever_harder_slips_at_its_threshold() -> None:
    """Pulled by k t it lets go at t0 = holds/k, and then m y = k (t - t0)^3 / 6."""
    run = Run(SLEDGE.replace("PULL", "2*t*1 N/s"))
    for t in (1.0, 2.9):
        x, y, turned = run.to(t).simulator.coordinate["ice"]
        assert (x, y, turned) == pytest.approx((1.5 * t, 0.0, 0.0), abs=1e-11)
    run.to(5.0)
    (told,) = [event for event in run.told.events if event.text == "blade slips"]
    assert told.time == pytest.approx(3.0, abs=1e-9)
    x, y, _ = run.simulator.coordinate["ice"]
    assert (x, y) == pytest.approx((7.5, 2.0 * 2.0**3 / 6.0 / 2.0), abs=1e-9)
    row = run.told.rows_[-1]
    blade = run.simulator.model.joint("blade")
    np.testing.assert_allclose(row["joints/force"][blade], [0, 0, 0, 0, -6.0, 0], atol=1e-9)
    assert row["energy/dissipated"] == pytest.approx(6.0 * row["joints/coordinate"][1], abs=1e-8)
    assert run.balance() < 1e-10


@pytest.mark.fast
def test_it_grips_again_where_its_slip_comes_to_rest_and_slips_back() -> None:
    """Pulled by 10 (1 - t): m v = 4 t - 5 t^2 comes to rest at 0.8 s, where 2 N hold it; from 1.6 s on it goes back."""
    run = Run(SLEDGE.replace("PULL", "10 N*(1 - t/1 s)")).to(1.2)
    there = (2.0 * 0.64 - 5.0 / 3.0 * 0.512) / 2.0
    assert run.simulator.rate["ice"][1] == pytest.approx(0.0, abs=1e-12)
    assert run.simulator.coordinate["ice"][1] == pytest.approx(there, abs=1e-9)
    run.to(2.6)
    told = [(event.text, event.time) for event in run.told.events if event.kind == "mode"]
    assert [text for text, _ in told] == ["blade slips", "blade grips", "blade slips"]
    assert [time for _, time in told] == pytest.approx([0.0, 0.8, 1.6], abs=1e-8)
    assert run.simulator.coordinate["ice"][:2] == pytest.approx((1.5 * 2.6, there - 10.0 / 6.0 / 2.0), abs=1e-8)
    assert run.balance() < 1e-9


@pytest.mark.fast
def test_a_blow_across_the_blade_makes_it_slip() -> None:
    """No bounded force gives an impulse: 3 N s across set 2 kg moving, and 6 N stop them half a second later."""
    blow = "events: {kick: {at: 1 s, impulse: {body: sledge, linear: [0, 3, 0], point: com}}}"
    run = Run(SLEDGE.replace("PULL", "0") + blow).to(3.0)
    told = [(event.text, event.time) for event in run.told.events if event.kind == "mode"]
    assert told[-1][0] == "blade grips"
    assert told[-1][1] == pytest.approx(1.5, abs=1e-9)
    assert run.simulator.coordinate["ice"][1] == pytest.approx(0.5 * 1.5 * 0.5, abs=1e-10)
    assert run.balance() < 1e-10


CLUTCH = """
schema: 1
name: clutch
world: {gravity: [0, 0, 0]}
bodies:
  a: {mass: 1 kg, com: [0, 0, 0], inertia: [0.2, 0.2, 0.3]}
  b: {mass: 2 kg, com: [1, 0, 0], inertia: [0.5, 0.5, 0.7]}
joints:
  ja: {type: rotational, parent: world, child: a, position: [0, 0, 0], axis: [0, 0, 1]}
  jb: {type: rotational, parent: world, child: b, position: [1, 0, 0], axis: [0, 0, 1]}
constraints:
  belt: {type: gear, joints: [ja, jb], ratio: 2, holds: 0.6 N*m}
initial:
  jb: {rate: 5 rad/s}
simulate: {rtol: 1e-11}
"""


# What goes on beside it and has rows of its own.
ASIDE = "  blade: {type: same_velocity, bodies: [b, world], components: [x]}\n"


@pytest.mark.fast
@pytest.mark.parametrize("beside", ["", ASIDE])
def test_a_belt_slips_until_both_wheels_go_together(beside: str) -> None:
    """a is driven by 0.6 N m and b braked by 1.2 N m until rate(a) = 2 rate(b)."""
    run = Run(CLUTCH.replace("initial:", f"{beside}initial:"))
    up, down = 0.6 / 0.3, 1.2 / 0.7
    grips = 10.0 / (up + 2.0 * down)
    rate = 5.0 - down * grips
    run.to(0.5 * grips)
    assert run.simulator.rate["ja"] == pytest.approx(up * 0.5 * grips, abs=1e-10)
    run.to(3.0)
    (told,) = [event for event in run.told.events if event.text == "belt grips"]
    assert told.time == pytest.approx(grips, abs=1e-9)
    assert (run.simulator.rate["ja"], run.simulator.rate["jb"]) == pytest.approx((2 * rate, rate), abs=1e-10)
    lost = 0.5 * 0.7 * 25.0 - 0.5 * (0.7 + 4.0 * 0.3) * rate**2
    assert run.told.rows_[-1]["energy/dissipated"] == pytest.approx(lost, abs=1e-9)
    assert run.balance() < 1e-10
    gone = run.simulator.coordinate["ja"] - 2.0 * run.simulator.coordinate["jb"]
    later = run.to(10.0).simulator
    assert later.coordinate["ja"] - 2.0 * later.coordinate["jb"] == pytest.approx(gone, abs=1e-12)


@pytest.mark.fast
def test_a_nut_slides_over_its_thread_at_what_this_holds() -> None:
    run = Run("""
schema: 1
name: nut
bodies:
  nut: {mass: 0.5 kg, com: [0, 0, 0], inertia: [0.01, 0.01, 0.004]}
joints:
  rod: {type: cylindrical, parent: world, child: nut, position: [0, 0, 0], axis: [0, 0, 1]}
constraints:
  thread: {type: screw, joint: rod, pitch: 5 cm, holds: 2 N}
simulate: {rtol: 1e-11}
""")
    z, turned = run.to(1.0).simulator.coordinate["rod"]
    assert z == pytest.approx(-0.5 * (9.81 - 2.0 / 0.5), abs=1e-10)
    assert turned == pytest.approx(-0.5 * 2.0 * 0.05 / (2 * math.pi) / 0.004, abs=1e-10)
    assert run.balance() < 1e-10


CAR = """
schema: 1
name: car
world: {gravity: [0, 0, 0]}
bodies:
  car: {mass: 800 kg, com: [1.2, 0, 0], inertia: [200, 900, 1000]}
joints:
  road: {type: planar, parent: world, child: car, position: [0, 0, 0], axis: [0, 0, 1], second_axis: [1, 0, 0]}
constraints:
  rear: {type: no_side_slip, body: car, position: [0, 0, 0], axis: [0, 1, 0]}
  front: {type: no_side_slip, body: car, position: [2.5, 0, 0], axis: [-0.2, 1, 0], holds: HOLDS}
MORE
forces:
  engine: {type: wrench, body: car, point: com, frame: body, force: [1500 N, 0, 0]}
initial:
  road: {rate: [2, 0, 0.16]}
simulate: {rtol: 1e-10}
"""


def test_a_car_understeers_where_its_front_wheels_can_no_longer_turn_it() -> None:
    """v of the rear axle, w = v tan(0.2)/L while both grip; the side force needed in front grows with v^2.

    Along the chassis m (v' - d w^2) = 1500 - F s, across the rear axle's row, about it I w' + m d v w = F c L.
    """
    wheelbase, d, m = 2.5, 1.2, 800.0
    about = 1000.0 + m * d * d
    k = 0.2 / wheelbase
    c = 1.0 / math.sqrt(1.04)
    holds = 3000.0
    run = Run(CAR.replace("HOLDS", f"{holds} N").replace("MORE", ""))
    run.to(12.0)
    (slips,) = [event for event in run.told.events if event.text == "front slips"]
    row = next(row for row in run.told.rows_ if row["time"] >= slips.time - 1e-12)
    turn = row["joints/rate"][2]
    speed = turn / k
    # with w = k v:  F c L = I k v' + m d k v^2  and  (m + I k^2) v' = 1500, the engine's power over v
    push = (about * k * 1500.0 / (m + about * k**2) + m * d * k * speed**2) / (c * wheelbase)
    assert push == pytest.approx(holds, rel=1e-7)
    # power: (m + I k^2) v v' = 1500 v, so v is linear in time
    assert speed == pytest.approx(2.0 + 1500.0 / (m + about * k**2) * slips.time, rel=1e-7)
    last = run.told.rows_[-1]
    v, w = np.hypot(*last["joints/rate"][:2]), last["joints/rate"][2]
    assert w < 0.8 * k * v  # it goes straighter than its wheels say
    assert run.balance() < 1e-9 * last["energy/kinetic"]


@pytest.mark.fast
def test_a_threshold_whose_force_is_not_determined_is_refused_by_name() -> None:
    twin = "  twin: {type: no_side_slip, body: car, position: [0, 0.7, 0], axis: [0, 1, 0], holds: 9 kN}"
    with pytest.raises(SimulationError, match=r"constraint 'twin' .* is not determined here"):
        Run(CAR.replace("HOLDS", "3000 N").replace("MORE", twin)).to(0.1)


@pytest.mark.fast
def test_what_binds_several_rates_has_no_threshold() -> None:
    wheels = "  tied: {type: same_velocity, bodies: [car, world], components: [x, y], holds: 5 N}"
    with pytest.raises(SceneError, match="this version lets go only of constraints that bind one rate"):
        Run(CAR.replace("HOLDS", "3000 N").replace("MORE", wheels))
    Run(CAR.replace("HOLDS", "3000 N").replace("MORE", wheels.replace("[x, y]", "[y]"))).to(0.0)
