"""`sim.verify`: error bars that bound true errors, ledgers that close, tampering that is found."""

from __future__ import annotations

import functools
import shutil
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import sim
from sim.analysis.verification.comparing import growth
from sim.analysis.verification.verdict import Verdict
from sim.recording.restoring import restored
from sim.scene.load import load_text

SCENES = Path(__file__).parents[2] / "scenes"


@functools.cache
def run(name: str, duration: float | None = None) -> sim.Recording:
    """Return a run of a shipped scene; it stays open."""
    return sim.run(sim.load(SCENES / f"{name}.yaml"), duration=duration)


@functools.cache
def verified(name: str, duration: float | None = None) -> Verdict:
    return sim.verify(run(name, duration))


# --- error bars -------------------------------------------------------------------------------------


def pendulum_angle(t: np.ndarray, start: float, omega: float) -> np.ndarray:
    """Angle of a pendulum released at rest: sin(angle/2) = k cd(omega t, k), k = sin(start/2)."""
    k = np.sin(start / 2)
    _, cn, dn, _ = ellipj(omega * t, k**2)
    return 2 * np.arcsin(k * cn / dn)


@pytest.mark.parametrize("rtol", [1e-6, 1e-8, 1e-10])
def test_the_error_bar_bounds_the_true_error_of_a_pendulum(rtol):
    scene = sim.load(SCENES / "pendulum.yaml")
    scene = replace(scene, simulate=replace(scene.simulate, rtol=rtol))
    with sim.run(scene, duration=8.0) as recording:
        verdict = sim.verify(recording, instants=2)
        # rod 0.2 kg, 1 m (and 1 cm across); ball 2 kg of 9 cm at its end
        inertia = 0.2 * (1 / 12 + 0.25) + 2 * (0.4 * 0.09**2 + 1)
        omega = np.sqrt(9.81 * (0.2 * 0.5 + 2 * 1) / inertia)
        assert 2 * ellipk(np.sin(np.pi / 3) ** 2) / omega < 8.0  # more than half a period
        recording_time = recording.time
        error = np.abs(recording.coordinate["hinge"] - pendulum_angle(recording_time, 2 * np.pi / 3, omega))
    bar = verdict.bar("coordinate", "hinge")
    assert error.max() > 1e-12  # there is an error to bound
    assert error.max() <= bar <= 2 * error.max()
    curve = next(b for b in verdict.bars if b.name == "coordinate").over_time
    on = np.interp(recording_time, verdict.bar_time, curve)
    later = recording_time > 0.5  # both runs begin with the same small steps, so their first difference is none
    assert later.sum() > 800 and np.all(error[later] <= on[later])
    assert verdict.ok


def test_the_energy_balance_of_a_free_motion_lies_within_its_error_bar():
    verdict = verified("benchmarks/bricard", 2.0)
    assert 0.0 < verdict.balance <= verdict.bar("energy balance")


def test_a_double_pendulum_is_lost_when_its_error_says_so():
    """The rerun's own answer: another rtol agrees until the trajectory is lost, and not long after."""
    verdict = verified("double_pendulum")
    assert verdict.ok and verdict.growth is not None
    lost = verdict.growth.lost
    assert 5.0 < lost < 9.0
    assert verdict.growth.law == "exponential" and 1.0 < verdict.growth.exponent < 2.0
    scene = sim.load(SCENES / "double_pendulum.yaml")
    with sim.run(replace(scene, simulate=replace(scene.simulate, rtol=1e-12))) as exact:
        off = np.abs(exact.coordinate["shoulder"] - run("double_pendulum").coordinate["shoulder"])
        t = exact.time
    assert off[t < lost - 0.05].max() < 2e-3
    assert off[t > lost].max() > 1e-2
    assert verdict.growth.lost_by_roundoff > lost + 5.0


def test_growth_is_told_regular_or_exponential_and_carried_on():
    t = np.linspace(0, 10, 501)
    chaotic = growth(t, np.exp(2.0 * t), 1e-10 * np.exp(2.0 * t), 1e-14)
    assert chaotic.law == "exponential" and chaotic.exponent == pytest.approx(2.0, rel=1e-6)
    assert chaotic.lost == pytest.approx(np.log(1e7) / 2, abs=0.03)
    assert chaotic.lost_by_roundoff == pytest.approx(np.log(1e-3 / 1.1e-16) / 2, abs=0.03)
    regular = growth(t, 1 + 3 * t, 1e-8 * (1 + 3 * t), 1e-8)
    assert regular.law == "power" and regular.exponent == pytest.approx(1.0, abs=0.1)
    assert 1e4 < regular.lost < 1e6  # 1e-3 = 1e-8 (1 + 3 t)
    # what has stopped growing is not fitted: from 1e-7 to 1e-2 and no further
    stuck = growth(t, np.minimum(np.exp(3.0 * t), 1e7), np.zeros_like(t), 1e-7)
    assert stuck.exponent == pytest.approx(3.0, rel=0.05)
    assert stuck.lost_by_roundoff == pytest.approx(np.log(1e-3 / 1.1e-16) / 3, rel=0.05)


@pytest.mark.parametrize(("method", "step"), [("semi_implicit", 1e-3), ("variational", 8e-3)])
def test_fixed_steps_are_held_against_the_controlled_ones(method, step):
    scene = sim.load(SCENES / "pendulum.yaml")
    scene = replace(scene, simulate=replace(scene.simulate, method=method, step=step))
    with sim.run(scene, duration=1.0) as recording:
        settings = recording.settings
        assert (settings["method"], settings["step"]) == (method, step)
        verdict = sim.verify(recording, instants=3)
    assert verdict.fixed == f"{method} with steps of {step:g} s"
    assert verdict.bit_equal and 1e-5 < verdict.bar("coordinate", "hinge") < 1e-1


# --- everything that ships holds --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "duration", "chosen"),
    [
        ("pendulum", 2.0, set()),
        ("four_bar", 2.0, {"drive", "pin", "pivot", "link"}),
        ("monkey_swing", 1.0, set()),
        ("swing", None, set()),
        ("swing_paper", 1.0, {"monkey.hip_l", "monkey.hip_r", "slide_l", "slide_r"}),
        ("benchmarks/bricard", 2.0, {f"hinge{k}" for k in range(6)}),
        ("benchmarks/governor", 1.0, set()),
        ("benchmarks/three_links", None, {"latch", "root", "knee", "ankle"}),
        (
            "high_bar_planar",
            0.5,
            {"grip_l", "grip_r", *(f"monkey.{j}_{s}" for j in ("elbow", "shoulder") for s in "lr")},
        ),
    ],
)
def test_shipped_scenes_hold(name, duration, chosen):
    verdict = verified(name, duration)
    assert verdict.problems == []
    assert verdict.bit_equal
    assert set(verdict.chosen) == chosen
    assert len(verdict.instants) >= 15
    assert max(instant.force for instant in verdict.instants) < 1e-11
    assert verdict.residuals["position"].value < 1e-12
    assert verdict.residuals["velocity"].value < 1e-11


def test_springs_between_points_are_computed_apart():
    verdict = verified("benchmarks/governor", 1.0)
    assert [instant.springs < 1e-12 for instant in verdict.instants] == [True] * len(verdict.instants)
    with sim.run(sim.load(SCENES / "benchmarks" / "governor.yaml"), duration=0.1) as recording:
        scene, _ = restored(recording)
        assert scene.forces


# --- the ledger -------------------------------------------------------------------------------------

# Two rods on the world, one with an armature; a ball flies along, is hit, caught, tied, hit again and let go.
ARM = """
schema: 1
name: arm
bodies:
  one: {mass: 2 kg, com: [0.5, 0, 0], gyration: [0.1, 0.3, 0.3], points: {tip: [1, 0, 0]}}
  two: {mass: 1 kg, com: [1.5, 0.2, 0], gyration: [0.2, 0.2, 0.1], points: {tip: [2, 0, 0]}}
  ball: {mass: 3 kg, com: [2, 0.3, 0.2], gyration: [0.1, 0.1, 0.1], points: {eye: [2, 0.2, 0.3]}}
joints:
  a: {type: rotational, parent: world, child: one, position: [0, 0, 0], axis: [0, 1, 0], armature: 0.3}
  b: {type: universal, parent: one, child: two, position: [1, 0, 0], axis: [0, 1, 0], second_axis: [0, 0, 1]}
initial: {a: {rate: 1}, b: {rate: [0.5, -2]}}
events:
  hit: {at: 0.1 s, impulse: {body: two, linear: [0, 1, 2], angular: [0.1, 0, 0], point: tip}}
  catch: {at: 0.2 s, connect: {c: {type: spherical, parent: two, child: ball, child_point: eye}}}
  tie:
    at: 0.3 s
    connect: {d: {type: rotational, parent: ball, child: one, child_point: tip, axis: [0, 0, 1], armature: 0.2}}
  hit again: {at: 0.35 s, impulse: {body: two, linear: [0, 1, 2]}, cut: c}
  turned: {at: 0.4 s, set: {a: {rate: 3}}}
simulate: {duration: 0.5 s}
"""


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    path = tmp_path_factory.mktemp("arm") / "arm.h5"
    sim.run(load_text(ARM), output=path).close()
    return path


def test_the_ledger_closes_to_roundoff(arm):
    verdict = sim.verify(arm)
    assert verdict.problems == []
    assert [entry.names for entry in verdict.ledger] == [("hit",), ("catch",), ("tie",), ("hit again",), ("turned",)]
    for entry in verdict.ledger[:4]:
        assert max(entry.left, entry.left_angular, entry.along, entry.left_energy) < 1e-12
        assert entry.momentum == pytest.approx(entry.outside, abs=1e-12)
        assert entry.angular_momentum == pytest.approx(entry.outside_angular, abs=1e-12)
        assert np.linalg.norm(entry.momentum) > 0.1 and not entry.set
    hit, catch, tie, again, turned = verdict.ledger
    assert catch.lost > 1.0 and catch.kinetic == pytest.approx(-catch.lost, abs=1e-12)
    assert hit.given != 0.0 and again.lost == pytest.approx(0.0, abs=1e-12)
    assert tie.lost > 1.0
    assert turned.set and turned.left_energy < 1e-12


def test_a_blow_without_a_point_acts_at_the_centre_of_mass():
    """The origin of a body on a joint is elsewhere: a free rod hit at its centre does not turn."""
    text = """
schema: 1
name: rod
world: {gravity: [0, 0, 0]}
bodies: {rod: {mass: 2, com: [0.5, 0, 0], inertia: [0.1, 0.2, 0.3], position: [0, 0, 0]}}
events: {hit: {at: 0.1 s, impulse: {body: rod, linear: [0, 3, 0]}}}
simulate: {duration: 0.2 s}
"""
    with sim.run(load_text(text)) as recording:
        assert recording.velocity["rod"][-1] == pytest.approx([0, 1.5, 0], abs=1e-12)
        assert np.max(np.abs(recording.angular_velocity["rod"])) < 1e-12
        assert sim.verify(recording).ok


def test_events_of_the_swing_close(tmp_path):
    verdict = verified("swing", None)
    assert [m.name for m in verdict.moments] == ["rope tears", "left thigh off", "right thigh off"]
    assert all(abs(m.time - m.tighter) < 1e-8 for m in verdict.moments)
    assert len(verdict.ledger) == 3
    for entry in verdict.ledger:
        assert max(entry.left, entry.left_angular, entry.left_energy, entry.moved) < 1e-12


# --- tampering --------------------------------------------------------------------------------------


def tampered(source: Path, target: Path, dataset: str, place: tuple[int, ...], change: float) -> Path:
    """Copy a recording with one number of it changed."""
    shutil.copyfile(source, target)
    with h5py.File(target, "r+") as file:
        values = file[dataset][()]
        values[place] += change
        file[dataset][...] = values
    return target


@pytest.mark.parametrize(
    ("dataset", "place", "change", "sentence"),
    [
        ("joints/force", (20, 1, 4), 1e-3, "force of joints of 'b' at t = 0.158333 s"),
        ("joints/torque", (20, 0), 1e-4, "torque of 'a'"),
        ("position", (20, 1, 0), 1e-7, "the joints' residual of position is"),
        ("quat_wxyz", (20, 1, 2), 1e-6, "the joints' residual of position is"),
        ("velocity", (20, 1, 0), 1e-5, "the recorded kinetic energy differs"),
        ("position", (20, 1, 0), np.nan, "position: some of the recorded values are not finite"),
        ("com", (20, 1, 0), 1e-6, "the recorded centre of mass differs"),
        ("energy/potential", (20,), 1e-6, "the recorded energy balance differs"),
        ("trust/determinate", (20, 0), -1, "trust/determinate differs in a rerun"),
        ("trust/rank", (45,), -1, "trust/rank differs in a rerun"),
        ("events/time", (1,), 1e-4, "event 'catch': a rerun has it 0.0001 s from the recorded time"),
        ("events/energy_lost", (1,), 1e-6, "event 'catch' at t = 0.2 s: the ledger does not close; the energy"),
        ("impulses/wrench", (2, 4), 1e-6, "the ledger does not close"),
        ("bodies/mass", (0,), 1e-5, "oracle: "),
        ("events/impulse", (1,), 1e-9, "a rerun has the same rows to the bit, but other events"),
        ("impulses/wrench", (2, 4), 1e-14, "a rerun has the same rows to the bit, but other impulses"),
        ("epochs/0/q", (3, 0), 1e-15, "a rerun has the same rows to the bit, but other raw states"),
    ],
)
def test_a_changed_number_is_found(arm, tmp_path, dataset, place, change, sentence):
    path = tampered(arm, tmp_path / "t.h5", dataset, place, change)
    verdict = sim.verify(path)
    assert not verdict.ok
    assert any(sentence in problem for problem in verdict.problems), verdict.problems


def test_the_oracle_finds_a_wrong_force_by_itself(arm, tmp_path):
    row = sim.verify(arm).instants[7].row
    verdict = sim.verify(tampered(arm, tmp_path / "t.h5", "joints/force", (row, 1, 3), 1e-3))
    assert any(p.startswith("oracle: the recorded joint forces leave Newton and Euler open") for p in verdict.problems)
    assert [i.row for i in verdict.instants if i.force > 1e-6] == [row]
    verdict = sim.verify(tampered(arm, tmp_path / "t.h5", "joints/torque", (row, 0), 1e-2))
    assert any("along the freedoms" in problem for problem in verdict.problems)


def test_another_scene_text_is_found(arm, tmp_path):
    path = tmp_path / "t.h5"
    shutil.copyfile(arm, path)
    with h5py.File(path, "r+") as file:
        file["scene/text"][...] = file["scene/text"][()].replace(b"rate: [0.5, -2]", b"rate: [0.5, -3]")
    assert any("a rerun differs from the recording" in problem for problem in sim.verify(path).problems)
    with h5py.File(path, "r+") as file:
        file["scene/text"][...] = file["scene/text"][()].replace(b"ball", b"bowl")
    with pytest.raises(sim.RecordingError, match="its scene text describes other bodies or joints"):
        sim.verify(path)


# --- the scene of a recording -----------------------------------------------------------------------


def test_parameters_triggers_seed_and_figures_come_back(tmp_path):
    scene = sim.load(SCENES / "swing.yaml", set={"seat": "95 cm", "push": -0.5})
    with sim.run(scene, output=tmp_path / "a.h5", duration=0.4, seed=5, triggers=[("let go", 0.2)]) as recording:
        again, notes = restored(recording)
        assert notes == []
        assert again.parameters == scene.parameters and again.parameters["seat"] == pytest.approx(0.95)
        assert sorted(again.sources.values()) == sorted(scene.sources.values())
        verdict = sim.verify(recording, instants=4)
    assert verdict.bit_equal and verdict.ok
    assert [moment.name for moment in verdict.moments] == ["let go"]


def test_a_figure_that_changed_since_is_taken_as_it_was(tmp_path):
    (tmp_path / "parts").mkdir()
    part = "schema: 1\nbodies: {ball: {mass: 1 kg, com: [0, 0, 0], gyration: [0.1, 0.1, 0.1]}}\n"
    (tmp_path / "parts" / "ball.yaml").write_text(part)
    path = tmp_path / "a.yaml"
    path.write_text("schema: 1\nname: a\ninclude: {figure: parts/ball.yaml, prefix: p}\nsimulate: {duration: 0.1 s}\n")
    with sim.run(path) as recording:
        (tmp_path / "parts" / "ball.yaml").write_text(part.replace("1 kg", "3 kg"))
        path.unlink()
        verdict = sim.verify(recording)
    assert verdict.bit_equal and verdict.notes == []


def test_a_run_that_did_not_end_is_verified_as_far_as_it_got(tmp_path):
    def progress(t: float, span: float, events: int) -> None:
        if t > 1.0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sim.run(sim.load(SCENES / "monkey_swing.yaml"), output=tmp_path / "a.h5", progress=progress)
    verdict = sim.verify(tmp_path / "a.h5", instants=2)
    assert verdict.problems == [] and verdict.bit_equal
    assert any("did not come to its end" in note for note in verdict.notes)


def test_a_quick_look_runs_nothing(monkeypatch):
    from sim.analysis.verification import verifier

    monkeypatch.setattr(verifier, "rerun", None)
    verdict = sim.verify(run("swing", None), quick=True)
    assert verdict.ok and verdict.bit_equal is None and verdict.bars == [] and verdict.growth is None
    assert len(verdict.ledger) == 3 and verdict.forces


def test_a_recording_without_impulses_is_noted(arm, tmp_path):
    path = tmp_path / "t.h5"
    shutil.copyfile(arm, path)
    with h5py.File(path, "r+") as file:
        del file["impulses"]
    verdict = sim.verify(path, quick=True)
    assert verdict.ok and verdict.ledger == []
    assert verdict.notes == ["the recording has no impulses of joints, so momenta at events are not balanced"]
