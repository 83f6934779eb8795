"""Constraints that let go where they would have to give more than they can, and grip again."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from sim.scene.problem import SceneError
from sim.simulation.simulation_error import SimulationError
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


BALL = """
schema: 1
name: ball
world: {gravity: [0, 0, -9.81]}
bodies:
  ball: {mass: 2 kg, com: [0, 0, 0.1], inertia: [0.008, 0.008, 0.008]}
constraints:
  rolls: {type: rolling, body: ball, radius: 0.1, ground: world, holds: 3 N}
initial:
  ball: {velocity: [1.4, 0.7, 0]}
simulate: {rtol: 1e-11, duration: 1 s}
"""
DISC = BALL.replace("radius: 0.1", "radius: 0.1, axis: [0, 1, 0]").replace("0.008, 0.008, 0.008", "0.005, 0.01, 0.005")


@pytest.mark.fast
@pytest.mark.parametrize(("text", "share"), [(BALL, 5.0 / 7.0), (DISC.replace("0.7, 0]", "0, 0]"), 2.0 / 3.0)])
def test_what_is_thrown_slides_until_it_rolls_with_the_share_of_its_speed_that_its_inertia_says(
    text: str, share: float
) -> None:
    """It is braked by 3 N from v to share v = v - F t / m, whatever way it goes."""
    run = Run(text)
    v = run.simulator.velocity["ball"].copy()
    speed = float(np.linalg.norm(v))
    grips = (1.0 - share) * speed * 2.0 / 3.0
    run.to(0.5 * grips)
    np.testing.assert_allclose(run.simulator.velocity["ball"], v * (1.0 - 0.5 * (1.0 - share)), atol=1e-11)
    force = run.told.rows_[-1]["joints/force"][run.simulator.model.joint("rolls"), 3:5]
    np.testing.assert_allclose(force, -3.0 * v[:2] / speed, atol=1e-9)
    run.to(1.0)
    assert [event.text for event in run.told.events] == ["rolls slips", "rolls grips"]
    assert run.told.events[1].time == pytest.approx(grips, abs=1e-9)
    np.testing.assert_allclose(run.simulator.velocity["ball"], share * v, atol=1e-10)
    lost = 0.5 * 2.0 * speed**2 * (1.0 - share)  # of what rolls, 1 / share - 1 times m is added to m
    assert run.told.rows_[-1]["energy/dissipated"] == pytest.approx(lost, abs=1e-9)
    assert run.balance() < 1e-11


SLOPE, STEEP = 0.3, 9.81 * math.sin(0.3)
DOWNHILL = BALL.replace("[0, 0, -9.81]", f"[{STEEP}, 0, {-9.81 * math.cos(SLOPE)}]")


@pytest.mark.fast
@pytest.mark.parametrize(("holds", "slips"), [(1.7, False), (1.6, True)])
def test_a_ball_on_a_slope_that_needs_more_than_is_held_slips_down_it(holds: float, slips: bool) -> None:
    """Rolling takes 2/7 m g sin(slope) = 1.657 N."""
    text = DOWNHILL.replace("holds: 3 N", f"holds: {holds} N").replace("velocity: [1.4, 0.7, 0]", "velocity: [0, 0, 0]")
    run = Run(text).to(1.0)
    assert 1.6 < 2.0 / 7.0 * 2.0 * STEEP < 1.7
    a = STEEP - holds / 2.0 if slips else 5.0 / 7.0 * STEEP
    np.testing.assert_allclose(run.simulator.velocity["ball"], [a, 0, 0], atol=1e-10)
    spin = holds * 0.1 / 0.008 if slips else a / 0.1
    np.testing.assert_allclose(run.simulator.angular_velocity["ball"], [0, spin, 0], atol=1e-9)
    assert [event.text for event in run.told.events] == ["rolls slips" if slips else "rolls grips"]
    assert run.balance() < 1e-11


def test_friction_turns_against_the_slip_of_a_ball_that_is_thrown_across_a_slope() -> None:
    """Slip u: u' = g sin - 7/2 F/m u/|u|, so |u| sin(way) / tan(way / 2)^(b/a) stays (it turns into the fall line)."""
    run = Run(DOWNHILL).to(0.6)
    u = np.array([row["joints/rate"][:2] for row in run.told.rows_])
    way, a, b = np.arctan2(u[:, 1], u[:, 0]), STEEP, 3.5 * 3.0 / 2.0
    assert way[0] == pytest.approx(math.atan(0.5)) and way[-1] < 0.25
    kept = np.hypot(*u.T) * np.sin(way) / np.tan(0.5 * way) ** (b / a)
    np.testing.assert_allclose(kept, kept[0], rtol=1e-7)
    assert run.balance() < 1e-9


@pytest.mark.fast
def test_a_ball_that_is_driven_ever_harder_lets_go_at_its_threshold() -> None:
    """A torque k t needs 5/7 k t / r along the ground, whatever way; beyond, m v' = F and I w' = k t - F r."""
    drive = "forces: {drive: {type: wrench, body: ball, point: com, torque: [-0.42*t*1 N*m/s, 0.56*t*1 N*m/s, 0]}}"
    run = Run(BALL.replace("velocity: [1.4, 0.7, 0]", "velocity: [0, 0.5, 0], angular_velocity: [-5, 0, 0]") + drive)
    run.to(0.9)
    (slips,) = [event for event in run.told.events if event.text == "rolls slips"]
    begins = 1.4 * 3.0 * 0.1 / 0.7
    assert slips.time == pytest.approx(begins, abs=1e-8)
    v = 0.5 / 2.0 * (5.0 / 7.0) * 0.7 / 0.1 * begins**2 + 1.5 * (0.9 - begins)
    w = 0.5 * 0.7 * (0.81 - begins**2) / 0.008 - 0.3 / 0.008 * (0.9 - begins)
    w += 0.5 / 2.0 * (5.0 / 7.0) * 0.7 / 0.01 * begins**2
    way = np.array([0.8, 0.6, 0.0])
    np.testing.assert_allclose(run.simulator.velocity["ball"], [0.8 * v, 0.5 + 0.6 * v, 0], atol=1e-7)
    np.testing.assert_allclose(run.simulator.angular_velocity["ball"], [-5.0 - 0.6 * w, 0.8 * w, 0], atol=1e-6)
    force = run.told.rows_[-1]["joints/force"][run.simulator.model.joint("rolls"), 3:]
    np.testing.assert_allclose(force, 3.0 * way + [0, 0, 2.0 * 9.81], atol=1e-6)
    assert run.balance() < 1e-9


@pytest.mark.fast
def test_a_ball_that_comes_down_turning_slides_where_it_touches_before_it_rolls() -> None:
    """`keeps: false`: no bounded force gives an impulse, so landing takes nothing along the ground."""
    text = BALL.replace("holds: 3 N", "holds: 3 N, keeps: false").replace("ground: world", "ground: world.floor")
    text = text.replace("9.81]}", "9.81], shapes: [{name: floor, plane: {normal: [0, 0, 1]}}]}")
    text = text.replace("0.008]}", "0.008], shapes: [{sphere: {center: [0, 0, 0.1], radius: 0.1}}]}")
    text = text.replace("velocity: [1.4, 0.7, 0]", "position: [0, 0, 0.15], angular_velocity: [0, 14, 0]")
    run = Run(text + "contacts: {touch: {between: [ball, world], friction: 0, restitution: 0}}\n").to(1.0)
    lands, told = math.sqrt(2.0 * 0.05 / 9.81), [(event.text, event.time) for event in run.told.events]
    assert any("rolls slips" in text and time == pytest.approx(lands, abs=1e-9) for text, time in told)
    v = 2.0 / 7.0 * 14.0 * 0.1
    assert told[-1] == ("rolls grips", pytest.approx(lands + v * 2.0 / 3.0, abs=1e-8))
    np.testing.assert_allclose(run.simulator.velocity["ball"], [v, 0, 0], atol=1e-9)
    assert run.balance() < 1e-9


TWO = "  tied: {type: same_velocity, bodies: [car, world], components: [COMPONENTS], holds: HOLDS}"


@pytest.mark.fast
def test_two_components_share_their_threshold() -> None:
    """A car that a plate holds with 800 N in the plane stops after m v / 800 N whatever way it slides."""
    more = TWO.replace("COMPONENTS", "x, y").replace("HOLDS", "800 N")
    text = CAR.replace("HOLDS", "3000 N").replace("MORE", more).replace("1500 N", "0 N")
    text = "\n".join(line for line in text.splitlines() if "no_side_slip" not in line)
    run = Run(text.replace("rate: [2, 0, 0.16]", "rate: [0.6, -0.8, 0]")).to(2.0)
    assert [(event.text, event.time) for event in run.told.events] == [
        ("tied slips", 0.0), ("tied grips", pytest.approx(1.0, abs=1e-9))
    ]  # fmt: skip
    np.testing.assert_allclose(run.simulator.coordinate["road"], [0.3, -0.4, 0], atol=1e-10)
    assert run.told.rows_[-1]["energy/dissipated"] == pytest.approx(0.5 * 800.0, abs=1e-8)


PUCK = """
schema: 1
name: puck
world: {{gravity: [0, 0, 0], points: {{middle: [0, 0, 0]}}}}
bodies:
  puck: {{mass: 2 kg, com: [1, 0, 0], inertia: [0.1, 0.1, 0.1]}}
joints:
  ice: {{type: planar, parent: world, child: puck, position: [1, 0, 0], axis: [0, 0, 1], second_axis: [1, 0, 0]}}
constraints:
  rough: {{type: same_velocity, bodies: [puck, world], position: [1, 0, 0], components: [x, y], holds: 1 N}}
forces:
  spring: {{type: spring, from: puck.com, to: world.middle, stiffness: 10 N/m, length: 0 m}}
initial:
  ice: {{rate: [0, {v}, 0]}}
simulate: {{rtol: 1e-9}}
"""


@pytest.mark.fast
@pytest.mark.parametrize("v", [2.0, -2.0])
def test_friction_follows_a_slip_that_goes_round(v: float) -> None:
    """A puck on a spring circles the middle: friction of one size is against its way all round, by scipy.

    The motion is smooth: no step is refused or cut short where the friction has turned by a quarter since its start.
    """

    def slope(_: float, y: np.ndarray) -> np.ndarray:
        rate = y[2:4]
        speed = np.hypot(*rate)
        return np.array([*rate, *(-10.0 * y[:2] - rate / speed) / 2.0, speed])

    run = Run(PUCK.format(v=v))
    for t in (0.5, 1.0, 2.0):  # at 1.4 s a half turn, the quarter of one before 0.8 s
        end = solve_ivp(slope, (0, t), [1.0, 0.0, 0.0, v, 0.0], "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
        simulator = run.to(t).simulator
        assert simulator.position["puck"][:2] == pytest.approx(end[:2], abs=1e-7)
        assert simulator.velocity["puck"][:2] == pytest.approx(end[2:4], abs=1e-7)
        assert simulator.energy["dissipated"] == pytest.approx(end[4], abs=1e-7)
        found = simulator.force["rough"][3:5]
        assert found == pytest.approx(-end[2:4] / np.hypot(*end[2:4]), abs=1e-6)
    assert simulator.flow.counts()["rejected"] == 0
    assert [event.text for event in run.told.events] == ["rough slips"]
    assert run.balance() < 1e-7


@pytest.mark.fast
def test_a_clutch_about_two_axes_slips_at_its_moment() -> None:
    """A ball that spins in space is held by 0.04 N m about x and y: it stops turning about them, not about z."""
    text = BALL.replace("-9.81]", "0]").replace("velocity: [1.4, 0.7, 0]", "angular_velocity: [3, 4, 5]")
    tied = "tied: {type: same_velocity, bodies: [ball, world], components: [rx, ry], holds: 0.04 N m}"
    run = Run("\n".join(f"  {tied}" if "rolls:" in line else line for line in text.splitlines()))
    run.to(0.5)
    np.testing.assert_allclose(run.simulator.angular_velocity["ball"], [1.5, 2.0, 5.0], atol=1e-10)
    run.to(1.5)
    np.testing.assert_allclose(run.simulator.angular_velocity["ball"], [0, 0, 5.0], atol=1e-10)
    assert run.told.events[-1].time == pytest.approx(1.0, abs=1e-9)


@pytest.mark.fast
def test_a_threshold_of_two_rolling_wheels_on_one_axle_is_refused_by_name() -> None:
    """Which of them gives how much along the axle is not determined."""
    wheel = DISC.split("constraints:\n")[1].splitlines()[0]
    twin = wheel.replace("rolls", "twin").replace("radius", "position: [0, 0.5, 0.1], radius")
    text = DISC.replace(wheel, f"{wheel}\n{twin}").replace("velocity: [1.4, 0.7, 0]", "velocity: [0, 0, 0]")
    with pytest.raises(SimulationError, match=r"constraint '(rolls|twin)' .* is not determined here"):
        Run(text).to(0.1)


def test_three_components_have_no_threshold() -> None:
    three = TWO.replace("COMPONENTS", "x, y, z").replace("HOLDS", "5 N")
    with pytest.raises(SceneError, match="a bound of one component or of two together; found 3"):
        Run(CAR.replace("HOLDS", "3000 N").replace("MORE", three))
