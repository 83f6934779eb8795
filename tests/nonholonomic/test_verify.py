"""`sim verify` of what rolls and of blades: the oracle's own rows agree with the engine, and see a wheel put wrong."""

from __future__ import annotations

import functools
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

import sim
from sim.analysis.verification import oracle_wheels
from sim.analysis.verification.oracle_joints import Frame, Side
from sim.analysis.verification.seen import Seen
from sim.analysis.verification.verdict import Verdict
from sim.joints import JOINT_TYPES
from sim.mechanism.compiler import compile
from sim.recording.restoring import restored
from sim.scene.load import load_text
from tests.contact.engine import SCENES
from tests.nonholonomic.test_thresholds import SLEDGE

pytestmark = pytest.mark.nonholonomic

# One of everything on grounds that turn, with forces that are not the only ones possible.
ALL = """
schema: 1
name: all_of_them
bodies:
  table: {mass: 5 kg, com: [0, 0, 0], inertia: [1, 1, 2]}
  hoop: {mass: 1 kg, com: [0.5, 0, 0.35], inertia: [0.05, 0.1, 0.05]}
  ball: {mass: 1 kg, com: [-0.4, 0.2, 0.1], inertia: [0.004, 0.004, 0.004]}
  egg: {mass: 1 kg, com: [0.4, -0.3, 0.1], inertia: [0.004, 0.005, 0.003]}
  skate: {mass: 2 kg, com: [0.1, 0.3, 0.05], inertia: [0.1, 0.1, 0.1]}
  cart: {mass: 2 kg, com: [0, -0.5, 0.05], inertia: [0.1, 0.1, 0.1]}
  nut: {mass: 1 kg, com: [0, 1, 0.5], inertia: [0.01, 0.01, 0.02]}
  pulled: {mass: 1 kg, com: [1, 1, 1], inertia: [0.1, 0.2, 0.3]}
joints:
  pivot: {type: universal, parent: world, child: table, position: [0, 0, 0], axis: [1, 0, 0], second_axis: [0, 0, 1]}
  thread: {type: cylindrical, parent: table, child: nut, position: [0, 1, 0.5], axis: [0, 0.3, 1]}
  on_table:
    {type: planar, parent: table, child: cart, position: [0, -0.5, 0.05], axis: [0, 0, 1], second_axis: [1, 0, 0]}
constraints:
  rim: {type: rolling, body: hoop, axis: [0.1, 1, 0.2], radius: 30 cm, tube: 5 cm, GROUND, level: [0, 0, 0]}
  rolls: {type: rolling, body: ball, radius: 0.1, GROUND, level: [0, 0, 0]}
  shell:
    {type: rolling, body: egg, radii: [0.15, 0.08, 0.1], orientation: {rpy: [0.3, 0.2, 0.1]},
    position: [0.4, -0.3, 0.09], GROUND, level: [0, 0, 0]}
  blade: {type: knife_edge, body: skate, position: [0, 0.3, 0], along: [1, 0.2, 0.1], GROUND}
  axle: {type: no_side_slip, body: cart, position: [0.1, -0.5, 0], axis: [0.1, 1, 0.3], GROUND}
  screw: {type: screw, joint: thread, pitch: 5 cm}
  tied: {type: same_velocity, bodies: [pulled, table], position: [1, 1, 1], components: [x, z, ry]}
initial:
  pivot: {rate: [0.5, 1.0]}
events:
  kicks:
    at: 0
    impulse:
      - {body: hoop, linear: [0.3, 0.1, 0], angular: [0.1, 0.2, 0.05]}
      - {body: ball, linear: [0.1, -0.4, 0], angular: [0.004, 0.008, 0.012]}
      - {body: egg, linear: [0.2, 0.1, 0], angular: [0.004, 0.008, 0.002]}
      - {body: skate, linear: [2, 0.2, 0.1], angular: [0.05, -0.03, 0.1]}
      - {body: cart, linear: [0.6, 0, 0], angular: [0, 0, 0.08]}
      - {body: pulled, linear: [0.1, 0.2, 0.3], angular: [0.05, 0.1, 0.06]}
simulate: {duration: 0.5 s, rtol: 1e-11}
""".replace("GROUND", "ground: table, normal: [0, 0, 1]")


@functools.cache
def run(name: str) -> sim.Recording:
    scene = load_text(ALL) if name == "all" else sim.load(SCENES / f"{name}.yaml")
    return sim.run(scene, duration=None if name == "all" else 1.0)


@functools.cache
def verified(name: str) -> Verdict:
    return sim.verify(run(name))


@pytest.mark.parametrize("name", ["all", "bicycle", "rolling_disc", "chaplygin_sleigh"])
def test_engine_and_oracle_agree(name: str) -> None:
    verdict = verified(name)
    assert verdict.problems == []
    assert len(verdict.instants) == 20
    for instant in verdict.instants:
        assert max(instant.acceleration, instant.constraint, instant.force, instant.drive) < instant.allowed
        assert instant.rank == instant.oracle_rank and not instant.marks
    assert verdict.residuals["position"].value < 1e-10 and verdict.residuals["velocity"].value < 1e-10


def test_recordings_tell_the_types_of_constraints() -> None:
    assert {joint.name: joint.type for joint in run("all").joints if joint.type not in JOINT_TYPES} == {
        "rim": "rolling", "rolls": "rolling", "shell": "rolling", "blade": "knife_edge", "axle": "no_side_slip",
        "screw": "screw", "tied": "same_velocity",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["rim", "shell", "blade", "axle", "tied"])
def test_a_direction_that_is_wrong_by_a_little_is_seen_by_residuals_and_rows(name: str) -> None:
    recording = run("all")
    seen, row = _seen(recording), 30
    j = seen.names.index(name)
    assert seen.residuals[1].max() < 1e-10
    motion = _accelerations(seen, row)
    J, b = seen.constraint_rows(j, row)  # type: ignore[misc]
    assert np.abs(J @ motion - b).max() < 1e-4  # differences of recorded velocities
    ((first, F, M),) = seen.bindings[j]
    c, s = np.cos(1e-2), np.sin(1e-2)
    turned = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    F, M = (Frame(F.p, F.R @ turned), M) if name == "tied" else (F, Frame(M.p, turned @ M.R))
    seen.bindings[j] = [(first, F, M)]
    del seen.residuals
    assert seen.residuals[1].max() > 1e-4
    J, b = seen.constraint_rows(j, row)  # type: ignore[misc]
    assert np.abs(J @ motion - b).max() > 1e-3


def test_a_recording_of_another_blade_does_not_hold(tmp_path: Path) -> None:
    path = tmp_path / "turned.h5"
    shutil.copy(run("chaplygin_sleigh").path, path)
    with h5py.File(path, "r+") as file:
        text = file["scene/text"][()]
        assert b"along: [1, 0, 0]" in text
        del file["scene/text"]
        file["scene/text"] = np.bytes_(text.replace(b"along: [1, 0, 0]", b"along: [1, 1e-6, 0]"))
    found = sim.verify(path, quick=True).problems
    assert len(found) == 1 and found[0].startswith("the joints' residual of velocity is")


def test_rows_are_the_time_derivatives_of_velocities() -> None:
    """By central differences along a motion with given accelerations, which the rows' complex time knows nothing of."""
    seen = _seen(run("all"))
    rng, row, h = np.random.default_rng(5), 10, 1e-5
    x = rng.normal(size=(len(seen.mass), 6))
    for j in seen.model.constraints:
        J, b = seen.constraint_rows(j, row)  # type: ignore[misc]
        ahead, behind = (seen.gap_rates(j, lambda body, s=s: _moved(seen, row, body, x, s), row) for s in (h, -h))
        assert (ahead - behind) / (2.0 * h) == pytest.approx(J @ x.ravel() - b, abs=1e-7), seen.names[j]


def _seen(recording: sim.Recording) -> Seen:
    return Seen(recording, compile(restored(recording)[0]))


def _moved(seen: Seen, row: int, body: int, x: np.ndarray, t: float) -> Side:
    """A body after a time t of given accelerations, to second order."""
    side = seen.side(body, row)
    if body < 0:
        return side
    com, a, alpha = seen.com[row, body], x[body, :3], x[body, 3:]
    v_com = side.v + np.cross(side.w, com - side.p)
    angle = side.w * t + 0.5 * alpha * t**2
    K = np.array([[0, -angle[2], angle[1]], [angle[2], 0, -angle[0]], [-angle[1], angle[0], 0]])
    turn = np.eye(3) + K + 0.5 * K @ K
    w, there = side.w + alpha * t, com + v_com * t + 0.5 * a * t**2
    arm = turn @ (side.p - com)
    return Side(there + arm, turn @ side.R, v_com + a * t + np.cross(w, arm), w)


def _accelerations(seen: Seen, row: int) -> np.ndarray:
    """Of all centres of mass, and angular, by central differences of fourth order over the recorded rows."""
    dt = seen.recording.time[row + 1] - seen.recording.time[row]

    def rate(values: np.ndarray) -> np.ndarray:
        return (8.0 * (values[row + 1] - values[row - 1]) - (values[row + 2] - values[row - 2])) / (12.0 * dt)

    return np.hstack([rate(seen.v_com), rate(seen.w)]).ravel()


def test_a_sphere_touches_below_its_centre_and_a_disc_under_its_steepest_slope() -> None:
    """`wheels.touching` finds the lowest of many points of a torus."""
    seen = _seen(run("all"))
    for name in ("rim", "rolls"):
        j = seen.names.index(name)
        spec, (_, M) = seen.model.constraints[j], seen.frames(j, 20)
        at = seen.pair(j, 20)
        hoop = seen.side(seen.b[j], 20)
        centre, y = hoop.p + hoop.R @ M.p, at.M[:, 1]
        around, about = np.meshgrid(np.linspace(0, 2 * np.pi, 721), np.linspace(0, 2 * np.pi, 721))
        ring, tube = (0.0, spec.radius) if spec.axis is None else (spec.radius, spec.tube)
        out = at.M[:, 2] * np.cos(around)[..., None] + at.M[:, 0] * np.sin(around)[..., None]
        points = centre + (ring + tube * np.cos(about)[..., None]) * out + tube * np.sin(about)[..., None] * y
        heights = (points - at.P) @ at.F[:, 2]
        assert heights.min() + 1e-12 >= 0.0 and heights.min() < 1e-4
        assert oracle_wheels.gaps(spec, at) == pytest.approx(0.0, abs=1e-12)


GEARS = """
schema: 1
name: gears
bodies:
  arm: {mass: 1 kg, com: [0.5, 0, 0], inertia: [0.1, 0.2, 0.3]}
  sun: {mass: 2 kg, com: [0, 0, 0], inertia: [0.5, 0.5, 0.7]}
  planet: {mass: 1 kg, com: [1, 0, 0.1], inertia: [0.2, 0.2, 0.3]}
  slide: {mass: 1 kg, com: [0, 1, 0], inertia: [0.2, 0.2, 0.3]}
joints:
  turns: {type: rotational, parent: world, child: arm, position: [0, 0, 0], axis: [0, 0.3, 1]}
  sun: {type: rotational, parent: world, child: sun, position: [0, 0, 0], axis: [0, 0.3, 1], stiffness: 3 N m/rad}
  planet: {type: rotational, parent: arm, child: planet, position: [1, 0, 0], axis: [0.2, 0, 1]}
  slide: {type: translational, parent: world, child: slide, position: [0, 1, 0], axis: [0, 0, 1]}
constraints:
  pair: {type: gear, joints: [planet, sun], ratio: -2}
  rack: {type: gear, joints: [slide, turns], ratio: 30 cm}
initial: {turns: {rate: 1}}
events: {kick: {at: 0.2 s, impulse: {body: planet, linear: [0.1, 0.5, 0.2]}}}
simulate: {duration: 1 s, rtol: 1e-10}
"""


def test_engine_and_oracle_agree_on_gears_whose_joints_have_nothing_in_common() -> None:
    with sim.run(load_text(GEARS)) as recording:
        verdict = sim.verify(recording)
    assert verdict.problems == [] and len(verdict.instants) == 20 and len(verdict.ledger) == 1
    assert all(max(one.acceleration, one.force) < 1e-12 and not one.marks for one in verdict.instants)


def _held(name: str) -> str:
    """A ball that slips on a table that turns until it rolls, or a blade that is pulled off its way and back."""
    if name == "ball":
        return """
schema: 1
name: skids
bodies:
  table: {mass: 5 kg, com: [0, 0, 0], inertia: [1, 1, 2]}
  ball: {mass: 2 kg, com: [0.3, 0, 0.1], inertia: [0.008, 0.008, 0.008]}
joints:
  pivot: {type: rotational, parent: world, child: table, position: [0, 0, 0], axis: [0.05, 0, 1]}
constraints:
  rolls: {type: rolling, body: ball, radius: 0.1, ground: table, normal: [0, 0, 1], level: [0, 0, 0], holds: 3 N}
initial: {pivot: {rate: 2}, ball: {velocity: [0.4, 0.7, 0], angular_velocity: [1, 2, 3]}}
simulate: {duration: 0.5 s, rtol: 1e-11}
"""
    return SLEDGE.replace("PULL", "10 N*(1 - t/1 s)").replace("rtol: 1e-11", "rtol: 1e-11, duration: 2.6 s")


@pytest.mark.parametrize("name", ["ball", "blade"])
def test_what_lets_go_is_followed(name: str) -> None:
    recording = sim.run(load_text(_held(name)))
    texts = [event.text for event in recording.events]
    assert any("slips" in text for text in texts) and any("grips" in text for text in texts)
    verdict = sim.verify(recording)
    assert verdict.problems == [] and len(verdict.instants) == 20
    seen = _seen(recording)
    slips = seen.slips(seen.names.index("rolls" if name == "ball" else "blade"))
    slips = slips[[instant.row for instant in verdict.instants]]
    assert slips.any() and not slips.all()


def test_what_slips_with_another_force_than_it_holds_is_seen(tmp_path: Path) -> None:
    path, recording = tmp_path / "more.h5", sim.run(load_text(_held("ball")))
    shutil.copy(recording.path, path)
    with h5py.File(path, "r+") as file:
        text = file["scene/text"][()]
        del file["scene/text"]
        file["scene/text"] = np.bytes_(text.replace(b"holds: 3 N", b"holds: 3.0001 N"))
    verdict = sim.verify(path, quick=True)
    assert any("residual of velocity" in problem for problem in verdict.problems)
