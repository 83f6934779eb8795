"""Computed torque: errors die out as a linear equation says, whatever the masses, loops and speeds."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import sim
from sim.scene.problem import SceneError

ARM = """
schema: 1
name: arm
bodies:
  upper: {mass: 2 kg, com: [0.02, 0, -0.2], inertia: [0.03, 0.03, 0.004], position: [0, 0, 0]}
  lower: {mass: 1 kg, com: [0, 0.03, -0.6], inertia: [0.01, 0.01, 0.002], position: [0, 0, -0.4]}
joints:
  shoulder: {type: spherical, parent: world, child: upper, position: [0, 0, 0], damping: 0.3}
  elbow: {type: rotational, parent: upper, child: lower, position: [0, 0, -0.4], axis: [0, 1, 0], stiffness: 3}
INITIAL
controllers: {lead: {type: computed_torque, file: m.csv, MORE}}
simulate: {duration: 1 s, rtol: 1e-10, record: 100 Hz}
"""
T = np.linspace(0.0, 1.5, 61)


def target(t: np.ndarray) -> dict[str, np.ndarray]:
    """Coordinates of the arm over time."""
    return {
        "shoulder[0]": 0.8 * np.sin(2 * t), "shoulder[1]": 0.6 * t, "shoulder[2]": 0.5 * np.cos(3 * t) - 0.5,
        "elbow": -1.0 + 0.7 * np.sin(4 * t),
    }  # fmt: skip


def rates(t: float) -> tuple[np.ndarray, float]:
    """Angular velocity of the shoulder's target in its own axes, by differences, and the elbow's rate."""
    from scipy.spatial.transform import Rotation

    def at(t: float) -> Rotation:
        return Rotation.from_rotvec([target(np.array(t))[f"shoulder[{k}]"] for k in range(3)])

    h = 1e-5
    return (at(t - h).inv() * at(t + h)).as_rotvec() / (2 * h), float(2.8 * np.cos(4 * t))


def led(tmp_path, more: str = "rate: 1000", initial: str = "", columns: dict | None = None, text: str = ARM):
    """Return a run of a scene that a table leads."""
    table = target(T) if columns is None else columns
    head = ",".join(["time [s]", *(f"{name} [rad]" for name in table)])
    np.savetxt(tmp_path / "m.csv", np.column_stack([T, *table.values()]), delimiter=",", header=head, comments="")
    (tmp_path / "arm.yaml").write_text(text.replace("MORE", more).replace("INITIAL", initial))
    return sim.run(sim.load(tmp_path / "arm.yaml"))


def start() -> str:
    """Return the initial values with which the arm is where its target is, and as fast."""
    w, rate = rates(0.0)
    return (
        f"initial: {{shoulder: {{coordinate: {{rpy: [0, 0, 0]}}, rate: {w.tolist()}}}, "
        f"elbow: {{coordinate: -1 rad, rate: {rate} rad/s}}}}"
    )


def errors(recording) -> np.ndarray:
    """Return (rows, 4) how far the arm is from its target: coordinates, the shoulder's a rotation vector."""
    wanted = target(recording.time)
    found = np.column_stack([np.asarray(recording.coordinate["shoulder"]), recording.coordinate["elbow"]])
    return found - np.column_stack(list(wanted.values()))


def test_an_arm_follows_its_table_the_nearer_the_faster_it_is_sampled(tmp_path) -> None:
    """What is held between samples is off by the first order of their distance."""
    off = [float(np.abs(errors(led(tmp_path, f"rate: {rate}", start()))).max()) for rate in (250, 500, 1000)]
    assert off[2] < 3e-3 and off[0] > 1e-5
    assert off[0] / off[1] == pytest.approx(2.0, rel=0.1) and off[1] / off[2] == pytest.approx(2.0, rel=0.1)


def test_an_error_dies_out_as_the_linear_equation_says(tmp_path) -> None:
    """The elbow 0.2 rad away, at rest against its target: e = e0 (1 + w t) exp(-w t) for kp = w^2, kd = 2 w."""
    initial = start().replace("coordinate: -1 rad", "coordinate: -0.8 rad")
    recording = led(tmp_path, "rate: 2000, kp: 100, kd: 20", initial)
    t, found = recording.time, errors(recording)
    assert found[:, 3] == pytest.approx(0.2 * (1 + 10 * t) * np.exp(-10 * t), abs=3e-3)
    assert np.abs(found[:, :3]).max() < 3e-3  # the shoulder feels nothing of it


LOOP = """
schema: 1
name: loop
bodies:
  crank: {mass: 1 kg, com: [0, 0, 0.1], inertia: [0.01, 0.01, 0.002], position: [0, 0, 0]}
  rod: {mass: 2 kg, com: [0.3, 0, 0.25], inertia: [0.01, 0.05, 0.05], position: [0, 0, 0.2]}
  rocker: {mass: 1.5 kg, com: [0.6, 0, 0.15], inertia: [0.02, 0.02, 0.002], position: [0.6, 0, 0]}
  tail: {mass: 0.4 kg, com: [0.6, 0, 0.45], inertia: [0.002, 0.002, 0.001], position: [0.6, 0, 0.3]}
joints:
  drive: {type: rotational, parent: world, child: crank, position: [0, 0, 0], axis: [0, 1, 0]}
  a: {type: rotational, parent: crank, child: rod, position: [0, 0, 0.2], axis: [0, 1, 0]}
  b: {type: rotational, parent: rod, child: rocker, position: [0.6, 0, 0.3], axis: [0, 1, 0]}
  c: {type: rotational, parent: world, child: rocker, position: [0.6, 0, 0], axis: [0, 1, 0]}
  swings: {type: rotational, parent: rocker, child: tail, position: [0.6, 0, 0.3], axis: [0, 1, 0]}
forces: {pull: {type: spring, from: world.origin, to: rod.com, stiffness: 20}}
INITIAL
controllers: {lead: {type: computed_torque, file: m.csv, MORE}}
simulate: {duration: 1 s, rtol: 1e-10, record: 100 Hz}
"""


@pytest.mark.parametrize("joint", ["drive", "c"])
def test_a_closed_chain_is_led_by_one_joint_and_what_hangs_on_it_swings(tmp_path, joint) -> None:
    """A crank, or the rocker that closes the loop, with a spring between points and a tail that nothing leads."""
    text = LOOP.replace("from: world.origin", "from: world.hook").replace(
        "bodies:", "world: {points: {hook: [0.2, 0, 0.8]}}\nbodies:", 1
    )
    wanted = 0.3 * (1 - np.cos(3 * T))
    recording = led(tmp_path, "rate: 1000", "", {joint: wanted}, text)
    off = recording.coordinate[joint] - 0.3 * (1 - np.cos(3 * recording.time))
    assert np.abs(off).max() < 2e-3 and np.ptp(recording.coordinate[joint]) > 0.5
    assert np.ptp(recording.coordinate["swings"]) > 0.2
    torque = np.asarray(recording.torque["swings"])
    assert np.abs(torque).max() < 1e-12  # nothing acts there


def test_both_motors_of_a_loop_share_the_least(tmp_path) -> None:
    """Two joints of one freedom, both led by what fits: the torques of least norm, and the motion is the same."""
    text = LOOP.replace("forces: {pull: {type: spring, from: world.origin, to: rod.com, stiffness: 20}}\n", "")
    angle = 0.3 * (1 - np.cos(3 * T))
    one = led(tmp_path, "rate: 1000", "", {"drive": angle}, text)
    other = np.interp(T, one.time, one.coordinate["c"])  # beyond the run it is held
    from scipy.interpolate import CubicSpline

    fitted = CubicSpline(one.time, one.coordinate["c"])(np.minimum(T, 1.0))
    assert np.abs(other - fitted).max() < 1e-3
    both = led(tmp_path, "rate: 1000", "", {"drive": angle, "c": fitted}, text)
    early = both.time < 0.8  # before the end of what is known of the second
    assert np.abs(both.coordinate["drive"] - one.coordinate["drive"])[early].max() < 2e-3
    alone, shared = np.asarray(one.torque["drive"])[early], np.asarray(both.torque["drive"])[early]
    assert np.abs(shared).mean() < 0.95 * np.abs(alone).mean()
    assert np.abs(np.asarray(both.torque["c"])[early]).max() > 0.05


def test_torques_stay_within_the_largest(tmp_path) -> None:
    recording = led(tmp_path, "rate: 500, largest: 2", start())
    size = np.abs(np.column_stack([np.asarray(recording.torque["elbow"])]))
    given = size[:, 0] - 3 * np.abs(recording.coordinate["elbow"])  # beside the spring
    assert given.max() <= 2 + 1e-9
    assert np.abs(errors(recording)).max() > 0.05


def test_runs_are_the_same_to_the_bit_and_go_on_where_they_were_left(tmp_path) -> None:
    led(tmp_path, "rate: 250", start())
    scene = sim.load(tmp_path / "arm.yaml")
    whole, parts = sim.Simulator(sim.compile(scene)), sim.Simulator(sim.compile(scene))
    whole.advance(0.3)
    parts.advance(0.1234)
    again = sim.Simulator(sim.compile(scene))
    again.restore(parts.snapshot())
    again.advance(0.3)
    assert again.state.coordinate["elbow"] == pytest.approx(whole.state.coordinate["elbow"], abs=1e-9)


@pytest.mark.parametrize(("more", "columns", "said"), [
    ("joints: [elbow]", {"shoulder[0]": T}, "m.csv has no column of 'elbow'"),
    ("joints: [shoulder]", {"shoulder[0]": T}, "m.csv has no column 'shoulder[1]'; all of 'shoulder' are led"),
    ("kp: 3", {"knee": T}, "tells no joint of this scene that can be driven"),
    ("kp: -3", {"elbow": T}, "expected at least 0"),
    ("rate: 0", {"elbow": T}, "controllers.lead.rate: expected at le"),
])  # fmt: skip
def test_what_it_cannot_do_is_told(tmp_path, more, columns, said) -> None:
    with pytest.raises(SceneError) as caught:
        led(tmp_path, more, "", columns)
    assert said in str(caught.value)


def test_a_monkey_sits_still_on_a_swing_which_then_is_a_pendulum(tmp_path) -> None:
    """Motors in closed chains, more than freedoms, hold every joint; what is left is one rigid body about the beam."""
    scenes = Path(__file__).parents[2] / "scenes"
    (tmp_path / "figures").symlink_to(scenes / "figures")
    text = re.sub(r"controllers:\n(  .*\n)+events:\n(  .*\n)+", "CONTROLLERS", (scenes / "swing.yaml").read_text())
    text = text.replace("duration: 6 s", "duration: 1.5 s")
    (tmp_path / "still.yaml").write_text(text.replace("CONTROLLERS", ""))
    begun = sim.Simulator(sim.compile(sim.load(tmp_path / "still.yaml")))
    heads, values = ["time [s]"], [T]
    for name in (name for name in begun.model.joint_names if name.startswith(("monkey.", "slide"))):
        kind = begun.model.type_of(begun.model.joint(name))
        own = np.atleast_1d(begun.state.coordinate[name]) if kind.name not in ("free", "fixed") else []
        heads += [
            f"{name}[{k}] [{kind.units[k]}]" if len(own) > 1 else f"{name} [{kind.units[k]}]" for k in range(len(own))
        ]
        values += [np.full(len(T), x) for x in own]
    assert len(heads) == 21
    np.savetxt(tmp_path / "still.csv", np.column_stack(values), delimiter=",", header=",".join(heads), comments="")
    leads = "controllers: {still: {type: computed_torque, file: still.csv, rate: 200}}\n"
    (tmp_path / "still.yaml").write_text(text.replace("CONTROLLERS", leads))
    recording = sim.run(sim.load(tmp_path / "still.yaml"))
    for head in heads[1:]:
        joint = head.partition(" ")[0].partition("[")[0]
        assert np.ptp(np.asarray(recording.coordinate[joint]), axis=0) == pytest.approx(0.0, abs=1e-3)
    # One rigid body: I w is its angular momentum about the beam, and the weight's moment turns it.
    chain = sim.chain(begun)
    arm = chain.centre_of_mass - np.array([0.0, 0.0, 2.6])
    w = float(begun.state.angular_velocity["rope_l"][1])
    momentum = chain.momentum[:3] + np.cross(arm, chain.momentum[3:])
    inertia = momentum[1] / w

    def swing(t: float, y: np.ndarray) -> list[float]:
        x = arm[0] * np.cos(y[0]) + arm[2] * np.sin(y[0])  # of the centre of mass, turned about y
        return [y[1], chain.mass * 9.81 * x / inertia]

    peer = solve_ivp(swing, (0.0, 1.5), [0.0, w], rtol=1e-10, atol=1e-12, t_eval=recording.time)
    angle = np.asarray(recording.coordinate["beam_l"])[:, 1]
    assert np.ptp(peer.y[0]) > 0.5
    assert angle - angle[0] == pytest.approx(peer.y[0], abs=3e-3)
