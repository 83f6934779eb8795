"""A joint that is exactly at its bound, at the start or from an event on: it presses the stop, or leaves.

Against x'' = F / m and, within a soft stop, m x'' = F - k depth.
"""

from __future__ import annotations

import numpy as np
import pytest

import sim
from sim.scene.load import load_text
from tests.contact.engine import Run

pytestmark = pytest.mark.contact

M, K, F, SPEED = 2.0, 50.0, 6.0, 0.4

# Moves along or about x, where all inertias are M.  A lock holds it in its place until an event cuts it.
SCENE = """
schema: 1
name: at its bound
world: {{gravity: [0, 0, 0]}}
bodies: {{b: {{mass: {M}, com: [0, 0, 0], inertia: [{M}, {M}, {M}]}}}}
joints:
  {joints}
{more}
simulate: {{{simulate}}}
"""
JOINT = "{{type: {kind}, parent: world, child: b, position: [{at}, 0, 0], axis: [1, 0, 0]{limits}{off}}}"
LOCK = "lock: {type: fixed, parent: world, child: b, position: [0, 1, 0]}"
LATE = 0.1  # s
WAYS = ("start", "lock", "connect", "set")


def scene(kind: str, stop: str, side: int, way: str, place: str, simulate: str, speed: float = 0.0) -> str:
    """Return a body at the bound, 0, of its joint, or of a second one that closes a loop with it."""
    ends = "[-inf, 0]" if side > 0 else "[0, inf]"
    stiff = f", stiffness: {K}, dissipation: 0" if stop == "soft" else ", restitution: 0"
    limits = f", limits: {{range: {ends}, stop: {stop}{stiff}}}"
    off = ", connected: false" if way == "connect" else ""
    joints = [f"j: {JOINT.format(kind=kind, at=0, limits=limits if place == 'tree' else '', off=off)}"]
    if place == "loop":
        joints.append(f"second: {JOINT.format(kind=kind, at=1, limits=limits, off=off)}")
    more = {
        "start": f"initial: {{j: {{rate: {speed}}}}}",
        "lock": f"events: {{go: {{at: {LATE}, cut: lock}}}}",
        "connect": f"events: {{go: {{at: {LATE}, connect: [{', '.join(j.split(':')[0] for j in joints)}]}}}}",
        "set": f"initial: {{j: {-0.3 * side}}}\nevents: {{go: {{at: {LATE}, set: {{j: {{coordinate: 0, rate: 0}}}}}}}}",
    }[way]
    if way == "lock":
        joints.append(LOCK)
    return SCENE.format(M=M, joints="\n  ".join(joints), more=more, simulate=simulate)


def expected(t: float, stop: str, side: int, push: float, speed: float = 0.0) -> float:
    """Return the coordinate a time t after it was at its bound; push: beyond the bound where it has the side's sign."""
    if side * speed < 0.0 or (speed == 0.0 and side * push < 0.0):
        return speed * t + 0.5 * push / M * t**2  # it leaves
    if stop == "rigid":
        return 0.0
    w = np.sqrt(K / M)
    return push / K * (1 - np.cos(w * t)) + speed / w * np.sin(w * t)


def assert_follows(
    text: str, kind: str, stop: str, side: int, push: float, begins: float, off: float, speed: float = 0.0
) -> None:
    run = Run(text).to(begins)
    axis = np.array([push, 0.0, 0.0])
    run.simulator.apply_wrench("b", **{"force_W" if kind == "translational" else "torque_W": axis})
    for t in (0.05, 0.2):
        x = run.to(begins + t).simulator.coordinate["j"]
        assert x == pytest.approx(expected(t, stop, side, push, speed), abs=off)
    assert run.balance() < 1e3 * off


@pytest.mark.fast
@pytest.mark.parametrize("place", ["tree", "loop"])
@pytest.mark.parametrize("stop", ["soft", "rigid"])
@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("way", WAYS)
def test_it_presses_its_stop_where_it_is_pushed(way: str, side: int, stop: str, place: str) -> None:
    text = scene("translational", stop, side, way, place, "rtol: 1e-9")
    assert_follows(text, "translational", stop, side, F * side, 0.0 if way == "start" else LATE, 1e-8)


@pytest.mark.parametrize("stop", ["soft", "rigid"])
@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("way", WAYS)
def test_it_leaves_its_stop_where_it_is_pulled_away(way: str, side: int, stop: str) -> None:
    text = scene("rotational", stop, side, way, "tree", "rtol: 1e-9")
    assert_follows(text, "rotational", stop, side, -F * side, 0.0 if way == "start" else LATE, 1e-8)


METHODS = {
    "method: dop853, rtol: 1e-9": 1e-8, "method: radau, rtol: 1e-9": 1e-6, "method: auto, rtol: 1e-9": 1e-6,
    "method: rk4, step: 1 ms": 1e-7, "method: semi_implicit, step: 1 ms": 1e-3, "method: variational, step: 1 ms": 1e-5,
    "contact: stepping, dt: 1 ms": 4e-3,
}  # fmt: skip


@pytest.mark.parametrize("push", [F, -F])
@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize(
    ("stop", "simulate"),
    [  # variational steps know no impulses, which rigid stops want
        (stop, simulate)
        for simulate in METHODS
        for stop in ("soft", "rigid")
        if stop == "soft" or "variational" not in simulate
    ],
)
def test_every_method_knows_a_stop_at_which_it_starts(simulate: str, stop: str, side: int, push: float) -> None:
    text = scene("rotational", stop, side, "start", "tree", simulate)
    if "stepping" in simulate and stop == "soft":  # friction of another joint makes it a matter of time steps
        beside = "post: {type: rotational, parent: world, child: p, position: [5, 0, 0], axis: [1, 0, 0], friction: 1}"
        text = text.replace("joints:", f"joints:\n  {beside}").replace(
            "bodies: {", "bodies: {p: {mass: 1, com: [5, 0, 0], inertia: [1, 1, 1]}, "
        )
    assert_follows(text, "rotational", stop, side, push, 0.0, METHODS[simulate])


@pytest.mark.parametrize("way", [1, -1])
@pytest.mark.parametrize("side", [1, -1])
def test_a_rate_at_the_start_goes_into_a_soft_stop_or_away_from_it(side: int, way: int) -> None:
    """Without any force: half a swing within the stop, or off at its speed."""
    text = scene("translational", "soft", side, "start", "tree", "rtol: 1e-9", SPEED * way)
    assert_follows(text, "translational", "soft", side, 0.0, 0.0, 1e-8, SPEED * way)


@pytest.mark.parametrize("side", [1, -1])
def test_rollouts_begin_at_a_soft_stop_as_runs_do(side: int) -> None:
    """From its bound, at rest, by torques in both directions, and by rates."""
    text = scene("translational", "soft", side, "start", "tree", "rtol: 1e-9")
    pushes, speeds = np.array([F, -F, 0.0, 0.0]), np.array([0.0, 0.0, SPEED, -SPEED])
    states = np.column_stack([np.zeros(4), speeds])
    motion = sim.rollout(sim.compile(load_text(text)), states, np.repeat(pushes, 4).reshape(4, 4, 1), dt=0.05)
    for k, (push, speed) in enumerate(zip(pushes, speeds, strict=True)):
        wanted = [expected(t, "soft", side, push, speed) for t in motion.t]
        assert motion.q[k, :, 0] == pytest.approx(wanted, abs=1e-8)
