"""A joint is driven the same whether it carries a body or closes a loop."""

from __future__ import annotations

import numpy as np
import pytest

import sim
from sim.scene.load import load_text

# A crank-rocker; the joint 'drive' between world and crank is driven.  Drawn in the order of `joints`,
# the last joint that leads to a body which is carried already closes the loop.
FOUR_BAR = """
schema: 1
name: four-bar
world: {gravity: [0.5, 0.3, -9.81]}
bodies:
  crank: {mass: 3, com: [0, 0, 0.6], inertia: [0.05, 0.1, 0.05], position: [0, 0, 0.6]}
  coupler: {mass: 0.8, com: [0.225, -0.035, 0.9], inertia: [0.02, 0.02, 0.02], position: [0, 0, 0.8]}
  rocker: {mass: 1, com: [0.45, 0, 0.8], inertia: [0.015, 0.015, 0.002], position: [0.45, 0, 0.6]}
joints:
JOINTS
initial: {pivot: {rate: 0.4}}
controllers:
  motor: {type: pd, joints: drive, target: 2 rad, kp: 30, kd: 1.5}
simulate: {duration: 2 s, rtol: 1e-11, record: 50 Hz}
"""

PIN = "  pin: {type: rotational, parent: CRANK, child: COUPLER, position: [0, 0, 0.8], axis: [0, 1, 0]}"
LINK = "  link: {type: rotational, parent: rocker, child: coupler, position: [0.45, 0, 1.0], axis: [0, 1, 0]}"
PIVOT = "  pivot: {type: rotational, parent: world, child: rocker, position: [0.45, 0, 0.6], axis: [0, 1, 0]}"
DRIVE = "  drive: {type: rotational, parent: world, child: crank, position: [0, 0, 0.6], axis: [0, 1, 0]MORE}"


def four_bar(driven_at: str, more: str = "") -> str:
    """Return the four-bar, its driven joint in the tree or closing the loop."""
    drive = DRIVE.replace("MORE", more)
    if driven_at == "tree":
        pin = PIN.replace("CRANK", "crank").replace("COUPLER", "coupler")
        joints = [drive, PIVOT, pin, LINK]
    else:  # the crank hangs on the coupler, the coupler on the rocker
        pin = PIN.replace("CRANK", "coupler").replace("COUPLER", "crank")
        joints = [PIVOT, LINK, pin, drive]
    return FOUR_BAR.replace("JOINTS", "\n".join(joints))


@pytest.mark.parametrize(
    "more",
    ["", ", stiffness: 20, rest: 0.5, damping: 0.3, armature: 0.05", ", limits: {range: [-0.5, 0.8], stiffness: 300}"],
)
def test_a_driven_loop_joint_moves_as_a_driven_tree_joint(more):
    recordings = {where: sim.run(load_text(four_bar(where, more))) for where in ("tree", "loop")}
    tree, loop = recordings["tree"], recordings["loop"]
    assert tree.epochs[0].loops == ("link",)
    assert loop.epochs[0].loops == ("drive",)
    common = [np.isin(r.time, o.time) & np.append(np.diff(r.time) > 0, True) for r, o in ((tree, loop), (loop, tree))]
    assert np.array_equal(tree.time[common[0]], loop.time[common[1]])
    assert np.count_nonzero(common[0]) > 95
    for dataset in ("position", "quat_wxyz", "velocity", "angular_velocity", "com"):
        moved, expected = loop.array(dataset)[common[1]], tree.array(dataset)[common[0]]
        assert np.max(np.abs(moved - expected)) < 1e-9 * max(1.0, np.max(np.abs(expected))), dataset
    for values in ("coordinate", "rate", "torque"):
        moved, expected = getattr(loop, values)["drive"][common[1]], getattr(tree, values)["drive"][common[0]]
        assert np.max(np.abs(moved - expected)) < 1e-9 * max(1.0, np.max(np.abs(expected))), values
    assert np.ptp(tree.coordinate["drive"]) > 0.5  # it moves
    for name in ("kinetic", "potential", "dissipated", "input"):
        ours, theirs = loop.array(f"energy/{name}")[common[1]], tree.array(f"energy/{name}")[common[0]]
        assert ours == pytest.approx(theirs, abs=1e-8), name
    assert [e.text for e in loop.events] == [e.text for e in tree.events]
    assert bool(tree.events) == ("limits" in more)


def test_a_driven_loop_joint_counts_its_turns():
    """Driven round and round, the angle of the loop joint counts on beyond half a turn."""
    text = four_bar("loop").replace(
        "{type: pd, joints: drive, target: 2 rad, kp: 30, kd: 1.5}", '{type: torque, torques: {drive: "400 N m"}}'
    )
    simulator = sim.Simulator(sim.compile(load_text(text.replace("rtol: 1e-11", "rtol: 1e-6"))))
    simulator.advance(0.3)
    assert simulator.coordinate["drive"] > 2 * np.pi
    turned = simulator.rotation["crank"]
    angle = np.arctan2(turned[0, 2], turned[0, 0])
    assert np.remainder(simulator.coordinate["drive"] - angle + np.pi, 2 * np.pi) - np.pi == pytest.approx(0, abs=1e-9)
