"""What a change of structure keeps and measures: turns and rates of joints that enter the tree, energy, gaps."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import sim
from sim.mechanism.frames import Pose
from sim.scene.load import load_text
from sim.simulation.structure_changes import gap_of
from tests.contact.engine import Run
from tests.dynamics.engine import simulator_of
from tests.support import reference as ref
from tests.support.mechanisms import LOOP_KINDS
from tests.support.rotations import random_matrix

pytestmark = pytest.mark.fast

# A base that flies and tumbles carries a wheel by two joints; origins and centres of mass are off both.
WHEEL = """
schema: 1
name: wheel
world: {{gravity: [1, -2, -4]}}
bodies:
  base: {{mass: 5, com: [0.1, 0.2, 0], inertia: [1, 2, 1.5], position: [0.2, 0, 0.1]}}
  wheel: {{mass: 1, com: [0.5, 0, 0.1], inertia: [0.1, 0.2, 0.15], position: [0.1, 0.3, 0.2]}}
joints:
  bearing: {{type: rotational, parent: base, child: wheel, position: [0, 0, 0], axis: [0, 0, 1]}}
  second: {{{second}, parent: base, child: wheel}}
initial: {{base: {{velocity: [1, 2, 3], angular_velocity: [0.3, -0.7, 0.5]}}, bearing: {{rate: {rate}}}}}
events: {{loose: {{at: 0.5 s, cut: bearing}}}}
simulate: {{rtol: 1e-8}}
"""
ARM = np.array([0.4, 0.1])  # m, of the second joint from the axis
SECOND = {
    "rotational": "type: rotational, position: [0, 0, 0.3], axis: [0, 0, 2]",
    "cylindrical": "type: cylindrical, position: [0, 0, 0.3], axis: [0, 0, 1]",
    "universal": "type: universal, position: [0, 0, 0.3], axis: [0, 0, 1], second_axis: [0, 1, 0]",
    "planar": f"type: planar, position: [{ARM[0]}, {ARM[1]}, 0.3], axis: [0, 0, 1], second_axis: [1, 0, 0]",
}


def of_second(kind: str, angle: float, rate: float) -> tuple[list[float], list[float]]:
    """Return coordinates and rates of the second joint by those of the bearing."""
    c, s = np.cos(angle), np.sin(angle)
    R, R_rate = np.array([[c, -s], [s, c]]), rate * np.array([[-s, -c], [c, -s]])
    return {
        "rotational": ([angle], [rate]), "cylindrical": ([0.0, angle], [0.0, rate]),
        "universal": ([angle, 0.0], [rate, 0.0]), "planar": ([*(R @ ARM - ARM), angle], [*(R_rate @ ARM), rate]),
    }[kind]  # fmt: skip


@pytest.mark.parametrize("rate", [15.0, -15.0])
@pytest.mark.parametrize("kind", SECOND)
def test_a_loop_joint_that_enters_the_tree_keeps_its_turns_and_rates(kind: str, rate: float) -> None:
    """Turned by more than one turn, on a parent that turns itself, where its two points are apart."""
    run = Run(WHEEL.format(second=SECOND[kind], rate=rate)).to(0.5)
    simulator = run.simulator
    before, after = run.told.around[0]
    columns = [i for i, name in enumerate(simulator.model.column_names) if name.startswith("second")]
    bearing = simulator.model.column_names.index("bearing")
    structure = simulator.flow.structure
    assert simulator.model.joint("second") in structure.carrier and not structure.loops
    angle, speed = before["joints/coordinate"][bearing], before["joints/rate"][bearing]
    assert abs(angle) > 2 * np.pi
    wanted = of_second(kind, angle, speed)
    for row in (before, after):
        assert row["joints/coordinate"][columns] == pytest.approx(wanted[0], abs=1e-9)
        assert row["joints/rate"][columns] == pytest.approx(wanted[1], abs=1e-8)
    for name in ("position", "velocity", "angular_velocity", "com"):
        assert after[name] == pytest.approx(before[name], abs=1e-11)


STOPPED = """
schema: 1
name: pressed
bodies: {{bob: {{mass: 1, com: [0.1, 0.2, -0.5], inertia: [0.1, 0.1, 0.1]}}}}
joints: {{pin: {{type: {kind}, parent: world, child: bob, position: [0, 0, 0], {more}}}}}
initial: {{pin: {start}}}
events: {{loose: {{at: 0 s, cut: pin}}}}
simulate: {{rtol: 1e-8}}
"""
LIMITS = "limits: {{range: {range}, stiffness: 40, dissipation: 0.3}}"


@pytest.mark.parametrize(
    ("kind", "side"),
    [(kind, side) for kind in ("rotational", "translational") for side in (1, -1)] + [("spherical", 1)],
)
def test_cutting_a_joint_at_a_pressed_stop_loses_what_the_stop_holds(kind: str, side: int) -> None:
    """k depth^2 / 2 of the stop, whichever side it is on, and k x^2 / 2 of the joint's own spring."""
    x, bound, spring = 0.7 * side, 0.5 * side, 0.0 if kind == "spherical" else 9.0
    limits = f"[{bound}, 2]" if side < 0 else f"[-2, {bound}]"
    more = LIMITS.format(range=limits)
    if spring:
        more = f"axis: [1, 2, 2], {more}, stiffness: {spring}"
    start = f"{{axis_angle: {{axis: [1, 2, 2], angle: {abs(x)}}}}}" if kind == "spherical" else str(x)
    run = Run(STOPPED.format(kind=kind, more=more, start=start)).to(0.0)
    (event,) = run.told.events
    held = 0.5 * 40 * 0.2**2 + 0.5 * spring * x**2
    assert event.lost == pytest.approx(held, rel=1e-12)
    before, after = run.told.around[0]
    assert before["energy/potential"] - after["energy/potential"] == pytest.approx(held, rel=1e-9)
    assert abs(after["energy/balance"]) < 1e-12


GRIP = """
schema: 1
name: grip
bodies:
  a: {{mass: 1, com: [0.3, 0, 0], inertia: [1, 1, 1], position: [0.1, -0.2, 0.4]}}
  b: {{mass: 1, com: [0, 0.5, 0], inertia: [1, 1, 1], position: [0.3, 0.6, -0.1]}}
joints: {{grip: {{type: {kind}, parent: a, child: b, position: [0.2, 0.3, 0.4]{axes}}}}}
"""
AXES = {
    "rotational": 1, "translational": 1, "cylindrical": 1, "planar": 2, "universal": 2, "fixed": 0, "spherical": 0,
}  # fmt: skip


def bodies_at(kind: str, poses: tuple[Pose, ...]) -> ref.Link:
    """Return the grip as the oracle draws it, carried along to poses of its bodies (the first is the world's)."""
    drawn = [ref.Body(mass=1.0, com_W=np.array(p), inertia_W=np.eye(3)) for p in ([0.1, -0.2, 0.4], [0.3, 0.6, -0.1])]
    link = ref.draw_link(kind, 0, 1, [0.2, 0.3, 0.4], [1, 2, 2], [2, -2, 1])
    now = [ref.Body(mass=1.0, com_W=pose.p, inertia_W=np.eye(3), R_WB=pose.R) for pose in poses[1:]]
    return ref.carry(link, drawn, now)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", LOOP_KINDS)
def test_the_gap_of_a_joint_is_along_what_it_locks(kind: str, seed: int) -> None:
    """Bodies anywhere, turned by little or much: distances along locked axes, and the angle to the nearest pose."""
    rng = np.random.default_rng(seed)
    axes = ["", ", axis: [1, 2, 2]", ", axis: [1, 2, 2], second_axis: [2, -2, 1]"][AXES[kind]]
    model = sim.compile(load_text(GRIP.format(kind=kind, axes=axes)))
    R = random_matrix(rng)
    little = Rotation.from_rotvec(rng.normal(0, [0.05, 1.0][seed % 2], 3)).as_matrix()
    a, b = Pose(rng.normal(size=3), R), Pose(rng.normal(size=3), R @ little)
    poses = (Pose(np.zeros(3), np.eye(3)), a, b)
    gap, turn = gap_of(model, model.frames, model.joint("grip"), poses)
    link = bodies_at(kind, poses)
    slides = {"planar": 1, "translational": 2, "cylindrical": 2}.get(kind, 3)
    assert gap == pytest.approx(np.linalg.norm(ref.residual(link)[:slides]), abs=1e-12)
    between = np.arccos(np.clip(link.axes_a[:, 0] @ link.axes_b[:, 0], -1, 1))
    wanted = {
        "fixed": Rotation.from_matrix(little).magnitude(), "translational": Rotation.from_matrix(little).magnitude(),
        "rotational": between, "cylindrical": between, "planar": between, "universal": abs(np.pi / 2 - between),
        "spherical": 0.0,
    }[kind]  # fmt: skip
    assert turn == pytest.approx(wanted, abs=1e-7)


AXIS, ACROSS = np.array([1, 2, 2]) / 3, np.array([2, -2, 1]) / 3
# What each lets a body do, and what it does not: a way in the joint's axes, and a turn about the joint's point.
LETS = {
    "rotational": (0.0 * AXIS, 0.7 * AXIS), "translational": (-0.4 * AXIS, 0.0 * AXIS),
    "cylindrical": (0.4 * AXIS, -0.7 * AXIS), "planar": (0.3 * ACROSS, 0.7 * AXIS),
    "universal": (0.0 * AXIS, 0.7 * ACROSS), "spherical": (0.0 * AXIS, np.array([0.3, 0.4, -0.5])),
}  # fmt: skip
LOCKS = {
    "rotational": [(0.1 * ACROSS, 0 * AXIS), (0.1 * AXIS, 0 * AXIS), (0 * AXIS, -0.1 * ACROSS)],
    "translational": [(0.1 * ACROSS, 0 * AXIS), (0 * AXIS, 0.1 * AXIS), (0 * AXIS, 0.1 * ACROSS)],
    "cylindrical": [(0.1 * ACROSS, 0 * AXIS), (0 * AXIS, 0.1 * ACROSS)],
    "planar": [(-0.1 * AXIS, 0 * AXIS), (0 * AXIS, 0.1 * ACROSS)],
    "universal": [(0.1 * AXIS, 0 * AXIS), (0 * AXIS, 0.1 * np.cross(AXIS, ACROSS))],
    "spherical": [(0.1 * AXIS, 0 * AXIS)],
}


@pytest.mark.parametrize("kind", LETS)
def test_connecting_asks_for_what_the_joint_locks_alone(kind: str) -> None:
    """A body moved as the joint lets it is taken where it is; one that is off what it locks is refused with how far."""
    axes = ["", ", axis: [1, 2, 2]", ", axis: [1, 2, 2], second_axis: [2, -2, 1]"][AXES[kind]]
    text = GRIP.format(kind=kind, axes=axes + ", connected: false, tolerance: 1e-6")
    place, origin = np.array([0.2, 0.3, 0.4]), np.array([0.3, 0.6, -0.1])
    for n, (way, turn) in enumerate((LETS[kind], *LOCKS[kind])):
        at = place + way + Rotation.from_rotvec(turn).apply(origin - place)
        size = float(np.linalg.norm(turn))
        angle = f"axis_angle: {{axis: {(turn / size if size else AXIS).tolist()}, angle: {size}}}"
        simulator = simulator_of(
            f"{text}initial: {{b: {{position: {at.tolist()}, {angle}}}}}\nevents: {{hold: {{at: 0, connect: grip}}}}"
        )
        if n == 0:
            simulator.advance(0.0)
            assert simulator.model.joint("grip") in simulator.flow.active
            assert simulator.position["b"] == pytest.approx(at, abs=1e-9)
        else:
            with pytest.raises(sim.SimulationError, match="would hold them") as refused:
                simulator.advance(0.0)
            told = re.search(r"are (\S+) mm apart and turned by (\S+) degrees", str(refused.value))
            assert float(told[1]) == pytest.approx(1e3 * np.linalg.norm(way), rel=1e-3, abs=1e-9)
            assert float(told[2]) == pytest.approx(np.degrees(size), rel=1e-2, abs=1e-5)
