"""What events, controllers, stops and callers do to the motion, and how it is booked."""

from __future__ import annotations

import numpy as np
import pytest

import sim
from sim.scene.load import load_text
from tests.dynamics.engine import simulator_of

pytestmark = pytest.mark.fast

# A slider of 2 kg along x and a flywheel of 0.5 kg m^2 about x; neither feels the other.
SLIDER = """
schema: 1
name: slider
world: {{gravity: [0, 0, 0]}}
bodies:
  cart: {{mass: 2, com: [0, 0, 0], inertia: [1, 1, 1]}}
  wheel: {{mass: 1, com: [0, 0, 1], inertia: [0.5, 1, 1]}}
joints:
  rail: {{type: translational, parent: world, child: cart, position: [0, 0, 0], axis: [1, 0, 0]{rail}}}
  axle: {{type: rotational, parent: world, child: wheel, position: [0, 0, 1], axis: [1, 0, 0]}}
initial: {{rail: {{rate: 1}}, axle: {{rate: 2}}}}
{blocks}
simulate: {{duration: {duration} s, record: 100 Hz, rtol: 1e-10}}
"""


def slider(blocks: str, duration: float = 0.5, rail: str = "") -> str:
    return SLIDER.format(blocks=blocks, duration=duration, rail=rail)


def books(recording: sim.Recording) -> np.ndarray:
    """Return kinetic + potential + dissipated + impact - input (n,) J."""
    e = recording.energy
    return e.kinetic + e.potential + e.dissipated + e.impact - e.input


# Of samples between steps: they come from the dense output, whose order is lower than the steps'.
SAMPLED_BALANCE = 1e-8


def at(recording: sim.Recording, t: float) -> int:
    """Return the last row of a time."""
    return int(np.flatnonzero(np.abs(recording.time - t) < 1e-12)[-1])


# --- actions of events ---------------------------------------------------------------------------


def test_set_books_the_energy_it_gives():
    with sim.run(
        load_text(slider("events: {faster: {at: 0.1 s, set: {rail: {coordinate: 5, rate: 3}}}}"))
    ) as recording:
        (event,) = recording.events
        before, after = event.row_before, event.row_after
        assert recording.coordinate["rail"][before] == pytest.approx(0.1, abs=1e-12)
        assert recording.coordinate["rail"][after] == 5.0
        assert recording.rate["rail"][after] == 3.0
        assert recording.rate["axle"][after] == recording.rate["axle"][before] == 2.0
        assert recording.energy.input[after] - recording.energy.input[before] == pytest.approx(8.0, abs=1e-12)
        assert np.max(np.abs(recording.energy.balance)) < 1e-12
        assert recording.coordinate["rail"][-1] == pytest.approx(5 + 3 * 0.4, abs=1e-12)


def test_set_in_a_loop_moves_the_others_along():
    """A crank set to another angle: the loop stays closed, the rate that is named stays."""
    from tests.events.test_structure import with_events

    text = with_events(
        "four_bar", "turned: {at: 0.02 s, set: {drive: {coordinate: 0.5, rate: -2}}}", "{duration: 0.05 s}"
    )
    with sim.run(load_text(text)) as recording:
        (event,) = recording.events
        assert recording.coordinate["drive"][event.row_after] == pytest.approx(0.5, abs=1e-15)
        assert recording.rate["drive"][event.row_after] == pytest.approx(-2, abs=1e-15)
        assert abs(recording.rate["link"][event.row_after] - recording.rate["link"][event.row_before]) > 0.1
        assert np.max(recording.trust.position_residual) < 1e-12
        assert np.max(recording.trust.velocity_residual) < 1e-12
        assert np.max(np.abs(recording.energy.balance)) < SAMPLED_BALANCE


def test_set_on_the_joint_that_closes_a_loop():
    """The rocker's pin is turned to an angle and a rate; the crank, which is in the tree, follows."""
    from tests.events.test_structure import with_events

    text = with_events(
        "four_bar", "turned: {at: 0.02 s, set: {link: {coordinate: 0.2, rate: 2}}}", "{duration: 0.05 s}"
    )
    with sim.run(load_text(text)) as recording:
        (event,) = recording.events
        assert abs(recording.coordinate["link"][event.row_before] - 0.2) > 0.05
        assert recording.coordinate["link"][event.row_after] == pytest.approx(0.2, abs=1e-12)
        assert recording.rate["link"][event.row_after] == pytest.approx(2, abs=1e-12)
        assert (
            abs(recording.coordinate["drive"][event.row_after] - recording.coordinate["drive"][event.row_before]) > 1e-3
        )
        assert np.max(recording.trust.position_residual) < 1e-12
        assert np.max(np.abs(recording.energy.balance)) < SAMPLED_BALANCE


FREE = """
schema: 1
name: block
world: {gravity: [0, 0, 0]}
bodies:
  block: {mass: 2, com: [0, 0, 0], inertia: [0.1, 0.2, 0.3], points: {corner: [0.5, 0, 0]}}
initial: {block: {velocity: [1, 0, 0], angular_velocity: [0, 0, 0.5]}}
events:
  hit: {at: 0.2 s, impulse: {body: block, linear: [0, 3, 0], angular: [0, 0, 0.2]AT}}
simulate: {duration: 0.4 s, record: 50 Hz}
"""


@pytest.mark.parametrize(("at_point", "arm"), [("", [0, 0, 0]), (", point: corner", [0.5, 0, 0])])
def test_impulse_changes_momentum_and_books_its_work(at_point, arm):
    with sim.run(load_text(FREE.replace("AT", at_point))) as recording:
        (event,) = recording.events
        before, after = event.row_before, event.row_after
        # principal axis z: the body has turned by 0.1 rad, its arm with it
        arm_W = np.array([np.cos(0.1), np.sin(0.1), 0]) * arm[0]
        v, w = recording.velocity["block"], recording.angular_velocity["block"]
        assert v[after] - v[before] == pytest.approx([0, 1.5, 0], abs=1e-12)
        spin = (0.2 + np.cross(arm_W, [0, 3, 0])[2]) / 0.3
        assert w[after] - w[before] == pytest.approx([0, 0, spin], abs=1e-9)
        kinetic = recording.energy.kinetic
        given = recording.energy.input[after] - recording.energy.input[before]
        assert given == pytest.approx(kinetic[after] - kinetic[before], abs=1e-12)
        assert given > 1.0
        assert np.max(np.abs(recording.energy.balance)) < 1e-11


def test_impulse_on_a_loop_is_shared():
    """The blow of a four-bar's coupler: the loop stays closed, the books stay balanced."""
    from tests.events.test_structure import with_events

    text = with_events(
        "four_bar", "hit: {at: 0.02 s, impulse: {body: coupler, linear: [1, 0.5, 0]}}", "{duration: 0.05 s}"
    )
    with sim.run(load_text(text)) as recording:
        (event,) = recording.events
        rate = recording.rate["drive"]
        assert abs(rate[event.row_after] - rate[event.row_before]) > 0.1
        assert np.max(recording.trust.velocity_residual) < 1e-12
        assert np.max(np.abs(recording.energy.balance)) < SAMPLED_BALANCE
        assert event.energy_lost == pytest.approx(0, abs=1e-12)  # a closed loop takes nothing


def test_stop_ends_the_run():
    with sim.run(
        load_text(slider("events: {enough: {when: \"coordinate('rail') > 0.253\", stop: true}}"))
    ) as recording:
        (event,) = recording.events
        assert recording.complete
        assert event.time == recording.time[-1] == pytest.approx(0.253, abs=1e-12)
        assert np.count_nonzero(recording.time == event.time) == 2
        assert event.row_after == recording.rows - 1


# --- controllers ---------------------------------------------------------------------------------

PUSHED = """
controllers:
  push: {type: torque, torques: {rail: "4 N"}, enabled: false}
  spin: {type: torque, torques: {axle: "1 N m*cos(10*t/1 s)"}}
events:
  begin: {at: 0.1 s, enable: push}
  end: {at: 0.3 s, disable: [push, spin]}
"""


def test_controllers_are_enabled_and_disabled():
    """4 N on 2 kg for 0.2 s; cos on the wheel until 0.3 s: closed forms."""
    with sim.run(load_text(slider(PUSHED))) as recording:
        rate, torque = recording.rate, recording.torque
        assert rate["rail"][at(recording, 0.1)] == pytest.approx(1, abs=1e-12)
        assert rate["rail"][-1] == pytest.approx(1 + 2 * 0.2, abs=1e-10)
        assert rate["axle"][-1] == pytest.approx(2 + 2 * np.sin(3) / 10, abs=1e-9)
        begin, end = recording.events
        assert torque["rail"][[begin.row_before, begin.row_after, end.row_before, end.row_after]].tolist() == [
            0,
            4,
            4,
            0,
        ]
        assert recording.energy.input[-1] == pytest.approx((1.4**2 - 1) + 0.25 * (rate["axle"][-1] ** 2 - 4), abs=1e-9)
        assert np.max(np.abs(recording.energy.balance)) < SAMPLED_BALANCE


SAMPLED = '''
import dataclasses
from sim.plugin import Controller, parameter

@dataclasses.dataclass(kw_only=True)
class Stairs(Controller):
    """Count its calls, and push that hard."""

    joint: str = parameter(kind="joint", about="Joint to push")
    rate: float = parameter(10.0, unit="Hz", about="Samples per second")

    def sample(self, t, state, torque, memory):
        """Push by the number of calls so far."""
        memory["calls"] = memory.get("calls", 0) + 1
        memory.setdefault("times", []).append(t)
        torque[self.view.columns[self.joint].start] = memory["calls"]
'''


def test_sampled_controllers_hold_between_calls_and_remember(tmp_path):
    """1 N, 2 N, 3 N ... for 0.1 s each on 2 kg."""
    (tmp_path / "stairs.py").write_text(SAMPLED)
    (tmp_path / "scene.yaml").write_text(slider('controllers: {stairs: {type: "./stairs.py:Stairs", joint: rail}}'))
    simulator = sim.Simulator(sim.compile(sim.load(tmp_path / "scene.yaml", trust=True)))
    simulator.advance(0.45)
    expected = 1 + (1 + 2 + 3 + 4) * 0.1 / 2 + 5 * 0.05 / 2
    assert simulator.rate["rail"] == pytest.approx(expected, abs=1e-12)
    assert simulator.torque["rail"] == 5.0
    (item,) = simulator.now.controllers.sampled
    assert item.state.memory["times"] == pytest.approx([0, 0.1, 0.2, 0.3, 0.4], abs=1e-15)
    assert simulator.energy["balance"] == pytest.approx(0, abs=1e-12)
    simulator.reset()
    simulator.advance(0.45)
    assert simulator.rate["rail"] == pytest.approx(expected, abs=1e-12)
    (item,) = simulator.now.controllers.sampled
    assert len(item.state.memory["times"]) == 5


def test_a_sampled_controller_that_is_disabled_lets_go(tmp_path):
    (tmp_path / "stairs.py").write_text(SAMPLED)
    blocks = (
        'controllers: {stairs: {type: "./stairs.py:Stairs", joint: rail}}\nevents: {end: {at: 0.15 s, disable: stairs}}'
    )
    (tmp_path / "scene.yaml").write_text(slider(blocks))
    simulator = sim.Simulator(sim.compile(sim.load(tmp_path / "scene.yaml", trust=True)))
    simulator.advance(0.45)
    assert simulator.rate["rail"] == pytest.approx(1 + 0.5 * (0.1 + 2 * 0.05), abs=1e-12)
    assert simulator.torque["rail"] == 0.0
    assert simulator.force["rail"][3] == pytest.approx(0, abs=1e-12)


def test_a_sampled_controller_of_a_loop_joint_lets_go_of_its_force(tmp_path):
    """What passes through the joint is the torque that is held, and nothing once it is let go."""
    from tests.dynamics.test_drives import four_bar

    (tmp_path / "stairs.py").write_text(SAMPLED)
    motor = "motor: {type: pd, joints: drive, target: 2 rad, kp: 30, kd: 1.5}"
    text = four_bar("loop").replace(motor, 'motor: {type: "./stairs.py:Stairs", joint: drive}')
    (tmp_path / "scene.yaml").write_text(text + "events: {end: {at: 0.02 s, disable: motor}}\n")
    simulator = sim.Simulator(sim.compile(sim.load(tmp_path / "scene.yaml", trust=True)))
    simulator.advance(0.015)
    assert simulator.force["drive"][1] == pytest.approx(1.0, abs=1e-9)
    simulator.advance(0.025)
    assert simulator.torque["drive"] == 0.0
    assert simulator.force["drive"][1] == pytest.approx(0.0, abs=1e-9)


# --- stops ---------------------------------------------------------------------------------------


def test_an_elastic_stop_gives_back_what_it_takes():
    """The cart of 2 kg meets a spring of 800 N/m at x = 0.1: half a period later it leaves at the speed it came."""
    rail = ", limits: {range: [-1, 0.1], stiffness: 800, dissipation: 0}"
    with sim.run(load_text(slider("", 0.6, rail))) as recording:
        touch, leave = recording.events
        assert (touch.kind, leave.kind) == ("mode", "mode")
        assert touch.time == pytest.approx(0.1, abs=1e-11)
        assert leave.time == pytest.approx(0.1 + np.pi / 20, abs=1e-9)
        assert recording.rate["rail"][-1] == pytest.approx(-1, abs=1e-9)
        depth = np.max(recording.coordinate["rail"]) - 0.1
        assert depth == pytest.approx(0.05, rel=2e-2)
        assert np.max(recording.energy.potential) == pytest.approx(1.0, rel=2e-2)
        assert np.max(np.abs(recording.energy.balance)) < SAMPLED_BALANCE
        assert np.all(recording.energy.dissipated == 0.0)


def test_a_lossy_stop_dissipates_what_is_missing():
    """Hunt and Crossley: the speed after a blow obeys u - ln(1 + a u) / a = the same of the speed before."""
    rail = ", limits: {range: [-1, 0.1], stiffness: 800, dissipation: 0.5 s/m}"
    with sim.run(load_text(slider("", 0.6, rail))) as recording:
        assert len(recording.events) == 2
        back = -recording.rate["rail"][-1]
        assert 0.5 < back < 0.99

        def branch(u: float) -> float:  # of v dv / (1 + a v) = -k/m x dx, integrated
            return u / 0.5 - np.log(1 + 0.5 * u) / 0.25

        assert branch(-back) == pytest.approx(branch(1.0), abs=1e-8)
        lost = 1.0 - back**2
        assert recording.energy.dissipated[-1] == pytest.approx(lost, abs=1e-9)
        assert np.max(np.abs(recording.energy.balance)) < SAMPLED_BALANCE


def test_a_stop_of_a_ball_joint_bounds_its_angle():
    """A ball joint turning about z runs into its cone of 0.2 rad and comes back."""
    text = """
schema: 1
name: cone
world: {gravity: [0, 0, 0]}
bodies: {rod: {mass: 1, com: [0, 0, 0], inertia: [0.5, 0.5, 0.5]}}
joints:
  ball:
    {type: spherical, parent: world, child: rod, position: [0, 0, 0],
     limits: {range: [0, 0.2], stiffness: 200, dissipation: 0}}
initial: {ball: {angular_velocity: [0.6, 0, 0.8]}}
simulate: {duration: 0.5 s, rtol: 1e-10}
"""
    with sim.run(load_text(text)) as recording:
        touch, leave = recording.events
        assert touch.time == pytest.approx(0.2, abs=1e-9)
        assert leave.time == pytest.approx(0.2 + np.pi / 20, abs=1e-7)
        assert recording.angular_velocity["rod"][-1] == pytest.approx([-0.6, 0, -0.8], abs=1e-7)
        assert np.max(np.abs(recording.energy.balance)) < SAMPLED_BALANCE


# --- springs and dampers -------------------------------------------------------------------------


def test_spring_and_damper_of_a_joint():
    """m x'' = -k (x - r) - d x': the closed form, and what the damper took."""
    m, k, d, r = 2.0, 50.0, 4.0, 0.1
    with sim.run(load_text(slider("", 0.5, f", stiffness: {k}, damping: {d}, rest: {r}"))) as recording:
        t = recording.time
        decay, omega = d / (2 * m), np.sqrt(k / m - (d / (2 * m)) ** 2)
        a, b = -r, (1 - r * decay) / omega
        x = r + np.exp(-decay * t) * (a * np.cos(omega * t) + b * np.sin(omega * t))
        assert recording.coordinate["rail"] == pytest.approx(x, abs=1e-9)
        assert recording.energy.dissipated[-1] > 0.1
        assert np.max(np.abs(recording.energy.balance)) < SAMPLED_BALANCE


# --- what callers apply --------------------------------------------------------------------------


def test_a_wrench_on_a_free_body_follows_the_closed_form():
    """A force through the centre of mass and a torque about a principal axis, for 0.2 s."""
    simulator = simulator_of(
        FREE.replace("  hit: {at: 0.2 s", "  hit: {at: 9 s").replace("AT", "").replace("0.4 s", "9 s")
    )
    simulator.advance(0.1)
    simulator.apply_wrench("block", force_W=[0, 4, 0], torque_W=[0, 0, 0.6], duration=0.2)
    simulator.advance(0.5)
    assert simulator.velocity["block"] == pytest.approx([1, 0.4, 0], abs=1e-10)
    assert simulator.position["block"] == pytest.approx([0.5, 0.04 + 0.4 * 0.2, 0], abs=1e-10)
    assert simulator.angular_velocity["block"] == pytest.approx([0, 0, 0.9], abs=1e-10)
    energy = simulator.energy
    assert energy["input"] == pytest.approx(0.4**2 + 0.15 * (0.9**2 - 0.5**2), abs=1e-10)
    assert energy["balance"] == pytest.approx(0, abs=1e-10)


def test_a_wrench_acts_at_its_point_which_moves_along():
    simulator = simulator_of(
        FREE.replace("  hit: {at: 0.2 s", "  hit: {at: 9 s").replace("AT", "").replace("0.4 s", "9 s")
    )
    simulator.advance(0.1)
    corner = simulator.position["block"] + simulator.rotation["block"] @ [0.5, 0, 0]
    simulator.apply_wrench("block", force_W=[0, 4, 0], point_W=corner)
    angle = 0.5 * 0.1
    assert simulator.angular_acceleration["block"][2] == pytest.approx(0.5 * np.cos(angle) * 4 / 0.3, abs=1e-9)
    simulator.advance(0.2)
    angle = np.arctan2(simulator.rotation["block"][1, 0], simulator.rotation["block"][0, 0])
    assert simulator.angular_acceleration["block"][2] == pytest.approx(0.5 * np.cos(angle) * 4 / 0.3, abs=1e-9)
    assert simulator.energy["balance"] == pytest.approx(0, abs=1e-9)


def test_a_wrench_in_any_direction_obeys_newton_and_euler():
    simulator = simulator_of(
        FREE.replace("  hit: {at: 0.2 s", "  hit: {at: 9 s").replace("AT", "").replace("0.4 s", "9 s")
    )
    force, torque = np.array([1.0, -2.0, 3.0]), np.array([0.3, 0.1, -0.2])
    simulator.apply_wrench("block", force_W=force, torque_W=torque, point_W=[0.2, -0.3, 0.4])
    for t in (0.0, 0.6):  # at once, and when the body has turned with the point
        simulator.advance(t)
        R, w = simulator.rotation["block"], simulator.angular_velocity["block"]
        inertia = R @ np.diag([0.1, 0.2, 0.3]) @ R.T
        moment = torque + np.cross(R @ [0.2, -0.3, 0.4], force) - np.cross(w, inertia @ w)
        assert simulator.acceleration["block"] == pytest.approx(force / 2, abs=1e-12)
        assert simulator.angular_acceleration["block"] == pytest.approx(np.linalg.solve(inertia, moment), abs=1e-10)
    assert np.linalg.norm(simulator.rotation["block"] - np.eye(3)) > 0.3
    assert simulator.energy["input"] > 0.1
    assert simulator.energy["balance"] == pytest.approx(0, abs=1e-7)


def test_a_wrench_needs_a_body_that_exists():
    simulator = simulator_of(FREE.replace("AT", ""))
    with pytest.raises(sim.SimulationError, match="no body named 'blok'; did you mean 'block'"):
        simulator.apply_wrench("blok", force_W=[0, 0, 1])
