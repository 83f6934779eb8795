"""Three bodies that hold one another by joints of any type, connected and cut at random: nothing jumps, all is kept."""

from __future__ import annotations

import numpy as np
import pytest

import sim
from sim.analysis.verification import oracle_joints as jn
from sim.analysis.verification.seen import Seen
from sim.scene.load import load_text
from tests.events.test_bindings import KINDS

NAMES = ("a", "b", "c")
JOINTS = 4
PLACES = (", child_point: p", ", parent_point: p", ", position: [0.2, 0.1, 0.3]")
SPRING = ", stiffness: 0.5, damping: 0.05"
# Where joints lock one another in a singular pose, a run ends in a sentence: none of these does.
SEEDS = range(24)


def body(name: str, rng: np.random.Generator) -> str:
    com = 0.5 * rng.normal(size=3)
    origin, point = (np.round(com + size * rng.normal(size=3), 3).tolist() for size in (0.2, 0.3))
    inertia = [0.3, 0.2, 0.4, 0.02, 0.01, 0.03]
    return (
        f"  {name}: {{mass: {rng.uniform(0.5, 2.0):.3f}, com: {np.round(com, 3).tolist()}, inertia: {inertia}, "
        f"position: {origin}, points: {{p: {point}}}}}"
    )


def joint(number: int, rng: np.random.Generator) -> str:
    kind, (parent, child) = str(rng.choice(list(KINDS))), rng.choice(len(NAMES), 2, replace=False)
    place = "" if kind == "free" else str(rng.choice(PLACES))
    spring = SPRING if kind not in ("fixed", "free", "spherical") and rng.random() < 0.5 else ""
    ends = f"parent: {NAMES[parent]}, child: {NAMES[child]}"
    return f"{{j{number}: {{type: {kind}, {ends}{place}{KINDS[kind]}{spring}}}}}"


def scene(seed: int) -> str:
    """Return a scene in which ten instants connect and cut four joints that events make, and one of the drawing."""
    rng = np.random.default_rng(seed)
    bodies = [body(name, rng) for name in NAMES]
    made = [joint(number, rng) for number in range(JOINTS)]
    kind = str(rng.choice(["spherical", "rotational", "universal", "planar"]))
    drawn = f"  d: {{type: {kind}, parent: a, child: b, position: [0.1, 0.2, 0.1]{KINDS[kind]}}}"
    events = []
    for at in np.round(np.sort(rng.uniform(0.05, 2.0, 10)), 2).tolist():
        for _ in range(rng.integers(1, 3)):
            number = int(rng.integers(JOINTS))
            cut = "d" if rng.random() < 0.2 else f"j{number}"
            action = f"connect: {made[number]}" if rng.random() < 0.55 else f"cut: {cut}"
            events.append(f"  e{len(events)}: {{at: {at} s, {action}}}")
    events += [f"  k{number}: {{key: k, connect: {one}}}" for number, one in enumerate(made)]  # so that all are known
    start = ["  a: {velocity: [0.2, -0.1, 0.3], angular_velocity: [1.1, -0.7, 0.5]}",
             "  c: {velocity: [0.1, 0.2, -0.4], angular_velocity: [0.4, -0.3, 0.9]}"]  # fmt: skip
    parts = [
        "schema: 1", "name: random changes", "world: {gravity: [0, 0, 0]}", "bodies:", *bodies, "joints:", drawn,
        "initial:", *start, "events:", *events, "simulate: {duration: 2.2 s, record: 30 Hz, rtol: 1e-11}",
    ]  # fmt: skip
    return "\n".join(parts)


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_is_connected_and_cut_nothing_jumps_and_all_is_kept(seed):
    text = load_text(scene(seed))
    with sim.run(text) as recording:
        for event in recording.events:
            for name in NAMES:
                p, R = recording.position[name], jn.rotation_of(recording.quat_wxyz[name])
                assert p[event.row_after] == pytest.approx(p[event.row_before], abs=1e-12)
                assert R[event.row_after] == pytest.approx(R[event.row_before], abs=1e-12)
        linear = angular = np.zeros((recording.rows, 3))
        for entry in recording.bodies:
            R, w = jn.rotation_of(recording.quat_wxyz[entry.name]), recording.angular_velocity[entry.name]
            com = recording.com[entry.name]
            xx, yy, zz, xy, xz, yz = entry.inertia
            J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            push = entry.mass * (recording.velocity[entry.name] + np.cross(w, com - recording.position[entry.name]))
            linear, angular = linear + push, angular + np.cross(com, push) + np.einsum("rij,jk,rlk,rl->ri", R, J, R, w)
        assert np.abs(linear - linear[0]).max() < 1e-9
        assert np.abs(angular - angular[0]).max() < 1e-9
        assert np.abs(recording.energy.balance).max() < 1e-7
        position, velocity, rate, _ = Seen(recording, sim.compile(text)).residuals
        assert max(position.max(), velocity.max(), rate.max()) < 1e-8
