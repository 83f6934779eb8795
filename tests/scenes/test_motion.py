"""What the shipped scenes are made to show: it happens."""

from pathlib import Path

import numpy as np
import pytest

import sim

SCENES = Path(__file__).parents[2] / "scenes"


def run(name, parameters=None, **settings):
    return sim.run(sim.load(SCENES / f"{name}.yaml", set=parameters or {}), **settings)


def happened(recording):
    return {event.name: event.time for event in recording.events if event.kind in ("scene", "key")}


def test_two_bodies_keep_momentum_and_gap_and_lose_one_joule():
    recording = run("two_bodies")
    velocity, position = np.asarray(recording.velocity["runner"]), np.asarray(recording.position["runner"])
    other = np.asarray(recording.velocity["rester"])
    after = np.asarray(recording.time) > 0.5
    assert np.abs(velocity[after] - [1.0, 0.0, 0.0]).max() < 1e-12
    assert np.abs(other[after] - [1.0, 0.0, 0.0]).max() < 1e-12
    gap = (np.asarray(recording.position["rester"]) - position)[after]
    assert np.abs(gap - [0.6, 0.0, 0.0]).max() < 1e-12
    (welded,) = (event for event in recording.events if event.name == "welded")
    assert welded.energy_lost == pytest.approx(1.0, abs=1e-12)


def test_swing_tears_and_the_thighs_leave_one_after_the_other():
    recording = run("swing")
    times = happened(recording)
    assert times["rope tears"] == 3.0
    assert 3.0 < times["left thigh off"] < 4.0
    assert 3.0 < times["right thigh off"] < 4.0
    assert np.isnan(recording.coordinate["slide_l"][-1]) and np.isnan(recording.coordinate["beam_l"][-1]).all()
    hand, beam = recording.position["monkey.forearm_r"][-1], recording.joint_position["beam_r"][-1]
    assert np.linalg.norm(hand - beam) < 1.6  # it still hangs by its right hand


def height_of_the_third_swing(legs, arms):
    """Return the largest angle of the rope between 5 and 8 s, in a swing that does not tear."""
    text = (SCENES / "swing.yaml").read_text(encoding="utf-8")
    text = text.replace("amplitude: 40 deg", f"amplitude: {legs} deg").replace(
        "amplitude: 25 deg", f"amplitude: {arms} deg"
    )
    text = text.replace("rope tears: {at: 3 s,", "rope tears: {key: tear,")
    recording = sim.run(sim.scene.load.load_text(text, folder=SCENES), duration=8.0)
    angle = np.asarray(recording.coordinate["beam_r"])[:, 1]
    return np.degrees(np.abs(angle[np.asarray(recording.time) > 5.0]).max())


def test_pumping_lifts_the_swing():
    idle, pumped = height_of_the_third_swing(0, 0), height_of_the_third_swing(40, 25)
    assert pumped > idle + 1.5


def test_high_bar_lets_go_and_hangs_on():
    recording = run("high_bar", duration=4.0)
    assert happened(recording) == {"right hand lets go": 2.0}
    time = np.asarray(recording.time)
    grip = np.asarray(recording.coordinate["grip_r"])
    assert np.isfinite(grip[time < 2.0]).all() and np.isnan(grip[time > 2.0]).all()
    palm = np.asarray(recording.joint_position["grip_l"])
    assert np.abs(palm - palm[0]).max() < 1e-10


def test_planar_high_bar_stays_in_its_plane():
    recording = run("high_bar_planar")
    assert recording.time[-1] == 10.0
    y = np.asarray(recording.position["monkey.torso"])[:, 1]
    assert np.abs(y).max() < 1e-6


def test_the_figure_pulls_itself_up_and_lets_itself_down():
    recording = run("rope_pullup")
    time, z = np.asarray(recording.time), np.asarray(recording.position["figure.pelvis"])[:, 2]
    start, top, end = z[0], z[np.searchsorted(time, 3.5)], z[-1]
    assert top > start + 0.22
    assert abs(end - start) < 0.03


def test_the_ropes_end_is_caught_and_stays():
    recording = run("rope", duration=1.2)
    caught = happened(recording)["caught"]
    assert 0.5 < caught < 1.1
    after = np.asarray(recording.time) > caught
    end = np.asarray(recording.joint_position["catch"])[after]
    assert np.linalg.norm(end[0] - [-1.15, 0.0, 1.02]) == pytest.approx(0.03, abs=1e-9)
    assert np.abs(end - end[0]).max() < 1e-10


@pytest.mark.parametrize(
    "name", ["four_bar", "monkey_swing", "swing", "swing_paper", "rope_pullup", "benchmarks/figure58"]
)
def test_loops_stay_closed(name):
    recording = run(name, duration=2.0)
    assert np.nanmax(recording.trust.position_residual) < 1e-10


def test_the_crank_turns_all_the_way_round_and_the_rocker_swings():
    recording = run("four_bar")
    crank, rocker = np.asarray(recording.coordinate["drive"]), np.asarray(recording.coordinate["pivot"])
    assert np.abs(crank[-1]) > 4 * 2 * np.pi
    assert rocker.max() - rocker.min() < np.pi / 2


def test_the_rocket_goes_up_and_comes_to_hang_from_its_peg():
    recording = run("rocket")
    height = recording.position["hull"][:, 2]
    line, eye = recording.length["line"], recording.position["nozzle"]
    assert height.max() > height[0] + 1.0
    assert eye[-1, 2] < -0.9 * line[-1]
    assert recording.tension["line"][-1] == pytest.approx(3.3 * 9.81, rel=0.2)  # its weight, and what thrust is left
    thrust = np.linalg.norm(recording.wrench["jet"][:, 3:], axis=1)
    assert thrust == pytest.approx(80 * np.exp(-recording.time / 2.5), rel=1e-12)
    assert recording.energy.input[-1] > 50 and recording.energy.dissipated[-1] > 50
    assert np.abs(recording.energy.balance).max() < 1e-9 * recording.energy.kinetic.max()
