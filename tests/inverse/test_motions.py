"""Torques of whole motions: those that recordings have, round trips through tables, and what a table lacks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import sim
from sim.mechanism.model import Model
from sim.mechanism.tree import joint_springs
from sim.scene.load import load_text
from sim.scene.time_table import as_csv, read_table
from tests.dynamics.engine import simulator_for
from tests.support.mechanisms import random_mechanism, with_consistent_rates
from tests.support.scene_texts import scene_text

SCENES = Path(__file__).parents[2] / "scenes"


def recorded(name: str, duration: float, folder: Path, rate: float = 500.0) -> sim.Recording:
    scene = sim.load(name)
    scene = replace(scene, simulate=replace(scene.simulate, record=rate))
    return sim.run(scene, duration=duration, output=folder / f"{Path(name).stem}.h5")


def given_by_actuators(recording: sim.Recording, model: Model, name: str) -> np.ndarray:
    """Return what is recorded of a column's torque without its spring, damper, stops and friction (rows,)."""
    c = model.column_names.index(name)
    stiffness, damping = joint_springs(model)
    q, v = recording.array("joints/coordinate")[:, c], recording.array("joints/rate")[:, c]
    spring = -stiffness[c] * (q - model.columns.rest[c]) - damping[c] * v
    taken = recording.array("joints/stop_torque")[:, c] + recording.array("joints/friction_torque")[:, c]
    return recording.array("joints/torque")[:, c] - spring - taken


@pytest.mark.parametrize(("name", "duration", "allowed", "lacking"), [
    ("figure_stands", 0.2, 1e-4, 2e-4), ("slider_crank", 0.5, 1e-9, 0.0), ("rope_pullup", 0.4, 5e-5, 5e-5),
    ("monkey_swing", 0.2, 2e-3, 5e-2),  # limits begin within a row or two, at whose springs splines ring
])  # fmt: skip
def test_torques_of_a_recording_are_those_that_were_applied(name, duration, allowed, lacking, tmp_path) -> None:
    """Contacts that press, ropes, loops, springs and stops; where torques are no choice."""
    recording = recorded(name, duration, tmp_path)
    model = sim.compile(sim.load(name))
    found = sim.inverse(model, recording)
    assert all(one.redundant == 0 for one in found.actuation)
    assert len(found.time) > 0.3 * recording.rows
    rows = np.searchsorted(recording.time, found.time)
    twin = np.append(np.diff(recording.time) <= 0.0, False)
    same = ~twin[rows]  # rows of an instant of an event stand twice
    same[:8] = same[-8:] = False  # splines know their ends less well
    size = max(1.0, float(np.abs(found.torque).max()))
    for k, column in enumerate(found.names):
        expected = given_by_actuators(recording, model, column)[rows]
        assert np.abs(found.torque[same, k] - expected[same]).max() <= allowed * size
    assert found.reached.mean() > 0.95
    for values in found.missing.values():
        assert np.abs(values[same]).max() <= lacking * size


@pytest.mark.parametrize("loops", range(4))
def test_a_table_of_generalised_coordinates_is_the_motion(loops: int, tmp_path) -> None:
    """Random mechanisms under torques held along theta_G: from these columns alone the torques come back."""
    compared = 0
    for seed in range(12):
        rng = np.random.default_rng([seed, loops, 52])
        kinds = ("rotational", "translational", "cylindrical", "universal", "planar")
        mechanism = random_mechanism(rng, int(rng.integers(2 + loops, 5 + loops)), loops, kinds=kinds, driven=True)
        mechanism = with_consistent_rates(rng, mechanism)
        run = simulator_for(mechanism)
        model, first = run.model, sim.chain(run)
        told = [int(first.columns[k]) for k in first.coordinates.independent]
        if any(model.type_of(int(model.columns.joint[c])).ball >= 0 for c in told) or first.coordinates.condition > 100:
            continue
        torque = np.zeros(len(model.columns))
        torque[told] = rng.normal(0.0, 2.0, len(told))
        run.hold(torque)
        time, rows = np.linspace(0.0, 0.05, 51), []
        for t in time:
            run.advance(float(t))
            sim.chain(run)  # looks
            rows.append(run.flow.work.coordinate.copy())
        columns = {
            model.column_names[c]: ("m" if model.columns.linear[c] else "rad", np.array(rows)[:, c]) for c in told
        }
        (tmp_path / "m.csv").write_text(as_csv(time, columns))
        found = sim.inverse(load_text(scene_text(mechanism), "random.yaml"), tmp_path / "m.csv", actuated=list(columns))
        assert found.actuation[0].kind == "exactly"
        for c, name in enumerate(model.column_names):
            assert np.abs(found.coordinate[name] - np.array(rows)[:, c]).max() < 1e-8
        middle = slice(8, -8)  # splines know their ends less well
        assert np.abs(found.torque[middle] - torque[told]).max() < 1e-3 * max(1.0, np.abs(found.torque).max())
        compared += 1
        if compared == 3:
            break
    assert compared == 3


def four_bar(**changes: str) -> str:
    text = (SCENES / "four_bar.yaml").read_text()
    for old, new in changes.values():
        assert old in text
        text = text.replace(old, new, 1)
    return text


def test_torques_found_from_a_drive_make_the_same_motion(tmp_path) -> None:
    """A crank led by `motion:`, recorded; the torque that is found from it is the drive's, and `track` applies it."""
    short = ("simulate: {duration: 10 s}", "simulate: {duration: 0.6 s, record: 1000 Hz}")
    way = ("axis: [0, 1, 0]}", "axis: [0, 1, 0], motion: 2*t/1 s + 0.5*sin(4*t/1 s)}")
    driven = load_text(four_bar(a=short, b=way, c=("initial: {drive: {rate: 6 rad/s}}\n", "")), "driven.yaml")
    led = sim.run(driven, output=tmp_path / "driven.h5")
    found = sim.inverse(driven, tmp_path / "driven.h5")
    assert (found.names, found.actuation[0].kind) == (("drive",), "exactly")
    assert np.abs(found.torque[:, 0] - led.torque["drive"]).max() < 1e-9
    for suffix in (".csv", ".h5"):
        table = found.save(tmp_path / f"torques{suffix}")
        assert set(read_table(table).columns) > {"drive", "pin", "rate('drive')"}
        assert np.array_equal(read_table(table).columns["torque('drive')"].values, found.torque[:, 0])
        use = f"initial: {{drive: {{rate: 4 rad/s}}}}\ncontrollers: {{lead: {{type: track, file: {table.name}}}}}"
        (tmp_path / "led.yaml").write_text(four_bar(a=short, c=("initial: {drive: {rate: 6 rad/s}}", use)))
        by_torque = sim.run(sim.load(tmp_path / "led.yaml"), output=tmp_path / f"led_{suffix[1:]}.h5")
        for joint in ("drive", "pin", "pivot", "link"):
            assert np.abs(by_torque.coordinate[joint] - led.coordinate[joint]).max() < 1e-7
        table.unlink()  # the recording has all that it needs
        assert sim.verify(by_torque).ok


def test_rotations_of_a_table_take_what_euler_says(tmp_path) -> None:
    """A rod on a ball, R = Rz(a) Rx(b): tau = I w' + w x I w - c x R^T m g about the ball, in its own axes."""
    text = """
schema: 1
name: rod
bodies: {rod: {mass: 2 kg, com: [0.1, 0, -0.5], inertia: [0.3, 0.2, 0.1, 0, 0, 0]}}
joints: {ball: {type: spherical, parent: world, child: rod, position: [0, 0, 0]}}
"""
    t = np.linspace(0.0, 2.0, 801)
    a, da, dda = 5.0 * np.sin(2 * t), 10.0 * np.cos(2 * t), -20.0 * np.sin(2 * t)
    b, db, ddb = 0.7 * t**2, 1.4 * t, 1.4 + 0 * t
    R = Rotation.from_rotvec(np.outer(a, [0, 0, 1])) * Rotation.from_rotvec(np.outer(b, [1, 0, 0]))
    vectors = R.as_rotvec()
    assert np.abs(np.diff(vectors, axis=0)).max() > 1.0  # beyond half a turn the vector jumps
    (tmp_path / "m.csv").write_text(as_csv(t, {f"ball[{k}]": ("rad", vectors[:, k]) for k in range(3)}))
    found = sim.inverse(load_text(text, "rod.yaml"), tmp_path / "m.csv")
    w = np.column_stack([db, da * np.sin(b), da * np.cos(b)])
    dw = np.column_stack([ddb, dda * np.sin(b) + da * db * np.cos(b), dda * np.cos(b) - da * db * np.sin(b)])
    c, m = np.array([0.1, 0.0, -0.5]), 2.0
    inertia = np.diag([0.3, 0.2, 0.1]) + m * (c @ c * np.eye(3) - np.outer(c, c))
    weight = R.inv().apply(np.tile([0.0, 0.0, -9.81 * m], (len(t), 1)))
    expected = dw @ inertia + np.cross(w, w @ inertia) - np.cross(c, weight)
    assert found.names == ("ball[0]", "ball[1]", "ball[2]")
    assert np.abs(found.torque - expected).max() < 1e-5 * np.abs(expected).max()
    for k in range(3):
        assert np.abs(found.rate[f"ball[{k}]"] - w[:, k]).max() < 1e-7


def test_points_and_forces_of_a_table(tmp_path) -> None:
    """An arm led by its tip, which pushes against 5 N: the torques by the transposed Jacobian come on top."""
    from tests.inverse.test_poses import ARM

    scene = load_text(ARM.replace("LIMITS", ""), "arm.yaml")
    t = np.linspace(0.0, 1.0, 101)
    x, z = 0.45 + 0.1 * np.sin(2 * t), -0.25 + 0.1 * t**2
    columns = {"position('lower.tip')[0]": ("m", x), "position('lower.tip')[2]": ("m", z)}
    (tmp_path / "free.csv").write_text(as_csv(t, columns))
    force = {"force('lower.tip')[0]": ("N", 5.0 + 0 * t), "force('lower.tip')[2]": ("N", -3.0 * t)}
    (tmp_path / "pushed.csv").write_text(as_csv(t, columns | force))
    free, pushed = (sim.inverse(scene, tmp_path / f"{name}.csv") for name in ("free", "pushed"))
    assert free.names == ("shoulder", "elbow")
    s, e = free.coordinate["shoulder"], free.coordinate["shoulder"] + free.coordinate["elbow"]
    assert np.allclose(0.4 * np.cos(s) + 0.3 * np.cos(e), x, atol=1e-9)
    assert np.allclose(-0.4 * np.sin(s) - 0.3 * np.sin(e), z, atol=1e-9)
    lever = np.stack([-0.3 * np.sin(e), -0.3 * np.cos(e)])  # of the elbow; about y, x and z of the tip
    F = np.stack([5.0 + 0 * t, -3.0 * t])
    elbow = np.sum(lever * F, axis=0)
    shoulder = elbow + (-0.4 * np.sin(s) * F[0] - 0.4 * np.cos(s) * F[1])
    assert np.allclose(pushed.torque[:, 0] - free.torque[:, 0], -shoulder, atol=1e-9)
    assert np.allclose(pushed.torque[:, 1] - free.torque[:, 1], -elbow, atol=1e-9)


def test_noise_is_filtered_and_told(tmp_path) -> None:
    from tests.inverse.test_poses import ARM

    scene = load_text(ARM.replace("LIMITS", ""), "arm.yaml")
    t, rng = np.linspace(0.0, 2.0, 401), np.random.default_rng(5)
    s, e = 0.5 * np.sin(3 * t), 0.6 + 0.4 * np.cos(2 * t)
    noise = 1e-3 * rng.standard_normal((2, len(t)))
    for name, more in (("exact", 0.0), ("noisy", 1.0)):
        rows = {"shoulder": ("rad", s + more * noise[0]), "elbow": ("rad", e + more * noise[1])}
        (tmp_path / f"{name}.csv").write_text(as_csv(t, rows))
    exact = sim.inverse(scene, tmp_path / "exact.csv")
    rough, smooth = (sim.inverse(scene, tmp_path / "noisy.csv", cutoff=cutoff) for cutoff in (None, 4.0))
    middle = slice(60, -60)
    off = [np.abs(one.torque - exact.torque)[middle].max() for one in (rough, smooth)]
    assert off[1] < 0.2 < 5.0 < off[0]
    for one in smooth.columns:
        assert (one.cutoff, one.unit) == (4.0, "rad")
        assert one.residual == pytest.approx(1e-3, rel=0.2)


BAD = {
    "a joint that is not there": (
        "time,shouldr,elbow\n{rows}", "m.csv: column 'shouldr' is of no joint; did you mean 'shoulder'"
    ),
    "a missing column": ("time,shoulder [deg]\n{one}", r"tell 1 of 2 freedoms; missing: 'elbow \[deg\]'"),
    "not a number": ("time,shoulder,elbow\n0,0,0\n0.1,0,nan\n", r"row 2 \(line 3\), column 'elbow': found nan"),
    "time that falls": ("time,shoulder,elbow\n0,0,0\n0.1,0,0\n0.05,0,0\n", r"row 3 .*found 0.05 s after 0.1 s"),
    "degrees without a unit": (
        "time,shoulder,elbow\n{degrees}", r"row 9 .*, column 'shoulder': found 40 without a unit, 6.37 turns"
    ),
    "degrees as radians beyond a limit": (
        "time,shoulder [deg],elbow [rad]\n{degrees}",
        r"row \d \(line \d+\), column 'elbow \[rad\]': found .* deg; expected at most 60 deg, its limit; "
        r"if these numbers are degrees and not radians, write 'elbow \[deg\]'",
    ),
    "a length for an angle": ("time,shoulder [mm],elbow\n{rows}", "mm is a length .*; expected an angle"),
    "too few rows": ("time,shoulder,elbow\n0,0,0\n0.1,0,0\n", "column 'shoulder': found 2 rows; expected 6"),
}  # fmt: skip


@pytest.mark.fast
@pytest.mark.parametrize("case", BAD)
def test_what_a_table_lacks_is_told_with_its_column(case: str, tmp_path) -> None:
    from tests.inverse.test_poses import ARM

    text, said = BAD[case]
    rows = {
        "rows": "".join(f"{0.1 * k:.1f},{0.01 * k},{0.02 * k}\n" for k in range(9)),
        "one": "".join(f"{0.1 * k:.1f},{0.01 * k}\n" for k in range(9)),
        "degrees": "".join(f"{0.1 * k:.1f},{5 * k},{6 * k}\n" for k in range(9)),
    }
    for key, value in rows.items():
        text = text.replace(f"{{{key}}}", value)
    (tmp_path / "m.csv").write_text(text)
    scene = load_text(ARM.replace("LIMITS", ", limits: {range: [-5 deg, 60 deg]}"), "arm.yaml")
    with pytest.raises(ValueError, match=said):
        sim.inverse(scene, tmp_path / "m.csv")


@pytest.mark.fast
def test_columns_that_contradict_the_loops_are_told_at_their_row(tmp_path) -> None:
    t = np.linspace(0.0, 0.5, 26)
    (tmp_path / "m.csv").write_text(as_csv(t, {"drive": ("rad", 2 * t), "pivot": ("rad", -2 * t)}))
    with pytest.raises(sim.MotionError, match=r"row \d+ \(line \d+\), column 'pivot \[rad\]': the mechanism cannot be"):
        sim.inverse(sim.load("four_bar"), tmp_path / "m.csv")


def test_recordings_of_other_scenes_are_refused(tmp_path) -> None:
    sim.run("pendulum", duration=0.1, output=tmp_path / "p.h5")
    with pytest.raises(sim.MotionError, match="a recording of another scene"):
        sim.inverse("four_bar", tmp_path / "p.h5")
    with pytest.raises(ValueError, match="whose rates are exact"):
        sim.inverse("pendulum", tmp_path / "p.h5", cutoff=5.0)


def test_motors_of_joints_that_are_cut_are_of_the_time_before(tmp_path) -> None:
    """A double pendulum lets go: its elbow has a motor as long as it stands; nothing has to be given at any time."""
    text = """
schema: 1
name: let_go
bodies:
  upper: {mass: 1 kg, com: [0, 0, 1.75], gyration: [0.2, 0.2, 0.1]}
  lower: {mass: 1 kg, com: [0, 0, 1.25], gyration: [0.2, 0.2, 0.1]}
joints:
  hinge: {type: rotational, parent: world, child: upper, position: [0, 0, 2], axis: [0, 1, 0]}
  elbow: {type: rotational, parent: upper, child: lower, position: [0, 0, 1.5], axis: [0, 1, 0]}
initial: {hinge: 60 deg}
events:
  let go: {at: 0.2 s, cut: elbow}
simulate: {duration: 0.4 s, record: 400 Hz}
"""
    scene = load_text(text, "let_go.yaml")
    recording = sim.run(scene, output=tmp_path / "let_go.h5")
    found = sim.inverse(scene, recording, actuated=["hinge", "elbow"])
    assert [one.names for one in found.actuation] == [("hinge", "elbow"), ("hinge",)]
    before = found.time < 0.2
    elbow = found.torque[:, found.names.index("elbow")]
    assert np.isfinite(elbow[before]).all() and np.isnan(elbow[found.time > 0.2]).all()
    assert np.abs(found.torque[np.isfinite(found.torque)]).max() < 1e-4 * 9.81
    assert np.isnan(found.coordinate["elbow"][-1]) and np.isfinite(found.coordinate["lower[2]"][-1])
    assert set(read_table(found.save(tmp_path / "t.csv")).columns) >= {"hinge", "torque('hinge')"}  # of all the time
    with pytest.raises(ValueError, match=r"actuated: found 'elbw' .*did you mean 'elbow'"):
        sim.inverse(scene, recording, actuated="elbw")


def test_a_table_that_leads_to_a_dead_point_says_so(tmp_path) -> None:
    """A rocker tells the crank of a four-bar but where it turns back; the crank tells all of it."""
    recording = sim.run(sim.load("four_bar"), duration=1.5)
    t = np.linspace(0.0, 1.5, 151)
    told = {joint: np.unwrap(recording.coordinate[joint]) for joint in ("drive", "pivot")}
    names = {joint: np.interp(t, recording.time, angle) for joint, angle in told.items()}
    turning = np.flatnonzero(np.diff(np.sign(np.diff(names["pivot"])))) + 1
    assert len(turning) >= 1
    for joint, angle in names.items():
        rows = np.column_stack([t, angle])
        np.savetxt(tmp_path / "m.csv", rows, delimiter=",", header=f"time [s],{joint} [rad]", comments="")
        notes = [note for note in sim.inverse("four_bar", tmp_path / "m.csv", actuated="drive").notes if "dead" in note]
        if joint == "drive":
            assert notes == []
            continue
        found = [int(note.partition("row ")[2].split()[0]) - 1 for note in notes]
        assert len(found) >= 1 and abs(found[0] - turning[0]) <= 2
        assert "m.csv: row " in notes[0] and "hardly tells how the mechanism goes on" in notes[0]


def test_springs_between_points_do_their_part_along_a_table(tmp_path) -> None:
    """A box on a rail that a spring beside it pulls on: m x'' less the spring's pull along the rail, at every row."""
    text = """
schema: 1
name: railed
world: {points: {hook: [0, 0.4, 0]}}
bodies:
  box: {mass: 2 kg, com: [0, 0, 0], inertia: [0.1, 0.1, 0.1], position: [0, 0, 0]}
  arm: {mass: 1 kg, com: [0, 0, 0], inertia: [0.1, 0.1, 0.1], position: [0, 0, 0]}
joints:
  rail: {type: translational, parent: world, child: box, position: [0, 0, 0], axis: [1, 0, 0]}
  turn: {type: rotational, parent: box, child: arm, position: [0, 0, 0], axis: [1, 0, 0]}
forces: {pull: {type: spring, from: world.hook, to: box.com, stiffness: 90 N/m, length: 0.2 m, damping: 4 N s/m}}
"""
    (tmp_path / "railed.yaml").write_text(text)
    t = np.linspace(0.0, 1.0, 101)
    table = as_csv(t, {"rail": ("m", 0.3 * np.sin(4 * t)), "turn": ("rad", 0.1 * t**2)})
    (tmp_path / "m.csv").write_text(table)
    found = sim.inverse(tmp_path / "railed.yaml", tmp_path / "m.csv", actuated=["rail", "turn"])
    x, v, a = 0.3 * np.sin(4 * t), 1.2 * np.cos(4 * t), -4.8 * np.sin(4 * t)
    length = np.hypot(x, 0.4)
    pull = 90 * (length - 0.2) + 4 * v * x / length
    torque = dict(zip(found.names, np.transpose(found.torque), strict=True))
    middle = slice(8, -8)  # at its ends a spline knows accelerations less well
    assert torque["rail"][middle] == pytest.approx((3 * a + pull * x / length)[middle], abs=1e-4)
    assert torque["turn"][middle] == pytest.approx(0.1 * 0.2 * np.ones(101)[middle], abs=1e-4)
    assert np.ptp(pull * x / length) > 10
