"""Five bars and a Stewart platform: torques that are recorded, and those that virtual work says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sim
from sim.scene.time_table import as_csv

LEGS = [f"leg_{i}" for i in range(1, 7)]


def energy_of(model, q: np.ndarray) -> float:
    """Return the potential energy of all bodies in a pose [J]."""
    chain = sim.chain(model, q=q, v=np.zeros(sim.Simulator(model).flow.v.size))
    return float(chain.mass * 9.81 * chain.centre_of_mass[2])


def test_legs_of_a_platform_at_rest_hold_what_virtual_work_says() -> None:
    """f_i = dV/dl_i, by poses in which one leg is longer or shorter by a little; in an oblique pose."""
    model = sim.compile(sim.load("stewart"))
    lengths = dict(zip(LEGS, (0.03, -0.02, 0.05, 0.0, 0.02, -0.04), strict=True))
    posed = sim.pose(model, lengths)
    assert posed.reached
    chain = sim.chain(model, q=posed.q, v=np.zeros(sim.Simulator(model).flow.v.size))
    found = sim.inverse_dynamics(chain, dict.fromkeys(LEGS, 0.0), LEGS)
    assert (found.actuation.kind, found.actuation.mobility) == ("exactly", 6)
    h = 1e-4
    for leg in LEGS:
        ends = [sim.pose(model, {**lengths, leg: lengths[leg] + side * h}, q=posed.q) for side in (1, -1)]
        assert all(end.reached for end in ends)
        slope = (energy_of(model, ends[0].q) - energy_of(model, ends[1].q)) / (2 * h)
        assert found.torques[leg] == pytest.approx(slope, rel=1e-6)
    # The world gives all that weighs: forces at the feet.
    up = sum(found.wrenches[f"ground_{i}"][5] for i in range(1, 7))
    assert up == pytest.approx(chain.mass * 9.81, rel=1e-9)


@pytest.mark.parametrize(("name", "points", "motors"), [
    ("stewart", ("platform.front", "platform.left", "platform.middle"), LEGS),
    ("five_bar", ("rod_l.pen",), ["motor_l", "motor_r"]),
])  # fmt: skip
def test_points_that_were_recorded_lead_to_the_torques_of_motors(name, points, motors, tmp_path) -> None:
    """From markers alone: three on a platform, and the pen; against what controllers gave."""
    scene = sim.load(name)
    scene = replace(scene, simulate=replace(scene.simulate, record=400.0))
    recording = sim.run(scene, duration=0.4, output=tmp_path / "run.h5")
    axes = (0, 2) if name == "five_bar" else (0, 1, 2)
    columns = {f"position({p!r})[{k}]": ("m", recording.position[p][:, k]) for p in points for k in axes}
    (tmp_path / "markers.csv").write_text(as_csv(recording.time, columns))
    found = sim.inverse(scene, tmp_path / "markers.csv")
    assert list(found.names) == motors
    assert found.actuation[0].kind == "exactly"
    middle = slice(12, -12)  # splines know their ends less well
    for k, motor in enumerate(motors):
        given = recording.torque[motor]
        assert np.abs(found.torque[:, k] - given)[middle].max() < 2e-3 * np.abs(given).max()
        assert np.abs(found.coordinate[motor] - recording.coordinate[motor]).max() < 1e-8


def test_reactions_of_a_plane_are_determinate_in_the_plane(tmp_path) -> None:
    """Of five bars force x, force z and moment y; what is across the plane is a choice."""
    recording = sim.run("five_bar", duration=0.1, output=tmp_path / "run.h5")
    for joint in ("motor_l", "elbow_r", "pen"):
        assert recording.trust.components[joint][-1].tolist() == [0, 1, 0, 1, 0, 1]
    assert sim.verify(recording).ok


def test_a_figure_holds_a_bar_with_both_hands_on_both_feet() -> None:
    """Chains that the bar and the ground close: hands carry the bar, feet carry all, by the least torques."""
    run = sim.Simulator(sim.compile(sim.load("barbell")))
    run.advance(3.0)
    chain = sim.chain(run)
    assert np.abs(chain.v).max() < 0.02
    joints = [name for name in chain.names if name.startswith("human.") and not name.startswith("human.pelvis")]
    still = {name: 0.0 for name in chain.independent}  # loops keep the others
    found = sim.inverse_dynamics(chain, still, joints, soles=sim.soles(run))
    assert found.actuation.kind == "under" and found.actuation.lacking == 7  # what floats; the bar turns as it likes
    assert np.abs(found.residual).max() < 5e-3  # N m: the bar turns a little in the hands
    feet = sum(one.wrench[3:] for each in found.ground.values() for one in each)
    assert len(found.ground) == 2
    rise = chain.momentum_rate(found.acceleration[: len(chain.v)])
    assert feet == pytest.approx([*rise[3:5], rise[5] + 9.81 * chain.mass], abs=1e-6)
    hands = -found.wrenches["grip_l"][3:] - found.wrenches["grip_r"][3:]  # what hands do to the bar
    bar = chain.jacobian("bar.com") @ found.acceleration[: len(chain.v)] + chain.jacobian_drift("bar.com")
    assert hands == pytest.approx(16.0 * np.array([*bar[3:5], bar[5] + 9.81]), abs=1e-6)
    assert hands[2] == pytest.approx(16 * 9.81, rel=1e-3)
    # The motion as it is: springs and dampers make it, too, so that the least torques are no larger than theirs.
    names = dict.fromkeys(name.partition("[")[0] for name in joints)
    used = np.concatenate([np.atleast_1d(run.state.torque[name]) for name in names])
    least = sim.inverse_dynamics(chain, chain.acceleration, joints, soles=sim.soles(run))
    assert np.abs(least.residual).max() < 1e-5
    assert np.linalg.norm(least.torque) <= np.linalg.norm(used) * (1 + 1e-9)
    assert least.torque == pytest.approx(used, abs=0.02 * np.linalg.norm(used))
