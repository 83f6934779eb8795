"""What recordings say of points of contact, against laws: numpy on what is in the file, and nothing of the engine.

Every scene runs as it is shipped, through its whole duration, and again turned and moved.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import sim
from sim.kernels.shapes import BOX, CAPSULE, CYLINDER, ELLIPSOID, PLANE, SPHERE
from tests.contact.engine import G0, SCENES
from tests.contact.solids import Solid, meet, width
from tests.dynamics.moved_scene import moved_scene

pytestmark = pytest.mark.contact

KINDS = {"plane": PLANE, "sphere": SPHERE, "capsule": CAPSULE, "box": BOX, "cylinder": CYLINDER, "ellipsoid": ELLIPSOID}
# Friction of a pair by the names of what touches: as the scenes say it.
FRICTION = {
    "bouncing_ball": 0.5, "sliding_block": 0.3, "rocking_block": 1.0, "rolling_sphere": 0.2, "table": 0.4, "stack": 0.5,
    "newtons_cradle": 0.0, "woodpecker": {"front": 0.6, "back": 0.0}, "slider_crank_clearance": 0.01,
}  # fmt: skip
SHORTER = {"woodpecker": 0.3}  # s: what more there is is as before
# Hz: they move fast, and what changes momentum is a sum over rows.
FINER = {"newtons_cradle": 480, "woodpecker": 8e3, "slider_crank_clearance": 2e4}
R = Rotation.from_rotvec([0.7, -1.9, 0.4]).as_matrix()
SHIFT = np.array([3.0, -7.0, 11.0])
SCENE = pytest.mark.parametrize("name", FRICTION)
PRESSED = pytest.mark.parametrize("name", [name for name in FRICTION if name != "newtons_cradle"])  # that only strikes
MOVED = pytest.mark.parametrize("moved", [False, True], ids=["here", "moved"])


@dataclass(frozen=True)
class Told:
    """A recording, opened, with everything about its points of contact one after the other.

    a, b : bodies of the points, -1 is the world
    press, rub : N, normal force, and the force along the surface (., 3); scale : N, the largest force
    u : (., 3) m/s, velocity of b's material at the point less that of a's
    """

    r: sim.Recording
    gravity: np.ndarray
    row: np.ndarray
    a: np.ndarray
    b: np.ndarray
    mu: np.ndarray
    press: np.ndarray
    rub: np.ndarray
    u: np.ndarray
    scale: float


@functools.cache
def told(name: str, moved: bool) -> Told:
    scene = sim.load(SCENES / f"{name}.yaml")
    if moved:
        scene = moved_scene(replace(scene, events=()), R, SHIFT)
    scene = replace(scene, simulate=replace(scene.simulate, record=FINER.get(name, scene.simulate.record)))
    r = sim.run(scene, duration=min(scene.simulate.duration, SHORTER.get(name, np.inf)))
    t, bodies = r.touches, [body.name for body in r.bodies]
    pairs = [(bodies.index(p.a) if p.a in bodies else -1, bodies.index(p.b) if p.b in bodies else -1) for p in r.pairs]
    a, b = np.array(pairs)[t["pair"]].T
    of = FRICTION[name]
    mu = [of if isinstance(of, float) else of[next(n for n in of if n in (p.a, p.b))] for p in r.pairs]
    press = np.sum(t["normal"] * t["force"], axis=1)
    u = velocity_at(r, b, t["row"], t["point"]) - velocity_at(r, a, t["row"], t["point"])
    return Told(
        r, R @ [0, 0, -G0] if moved else np.array([0, 0, -G0]), t["row"], a, b, np.array(mu)[t["pair"]], press,
        t["force"] - press[:, None] * t["normal"], u, float(np.abs(t["force"]).max(initial=0.0)),
    )  # fmt: skip


def velocity_at(r: sim.Recording, body: np.ndarray, row: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Return velocities (., 3) of bodies' material at points; zero where the body is the world."""
    x, v, w = (r.array(name)[row, body] for name in ("position", "velocity", "angular_velocity"))
    return np.where((body >= 0)[:, None], v + np.cross(w, point - x), 0.0)


def placed(r: sim.Recording, shape: int, row: int) -> Solid:
    """Return a shape of a recording where it is in a row."""
    s = r.shapes[shape]
    solid = Solid(KINDS[s.kind], np.array(s.size), np.array(s.position), rotation(s.quat_wxyz))
    if s.body < 0:
        return solid
    return solid.moved(r.array("position")[row, s.body], rotation(r.array("quat_wxyz")[row, s.body]))


def rotation(quat_wxyz: np.ndarray) -> np.ndarray:
    return Rotation.from_quat(quat_wxyz, scalar_first=True).as_matrix()


def spans(r: sim.Recording) -> Iterator[int]:
    """Return rows in the middle of three at equal distances, with no event at any of them or between."""
    t = r.time
    events = {row for event in r.events for row in (event.row_before, event.row_after)}
    for k in range(1, len(t) - 1):
        even = abs(t[k + 1] - 2 * t[k] + t[k - 1]) < 1e-9 and t[k + 1] > t[k] > t[k - 1]
        if even and not events & {k - 1, k, k + 1}:
            yield k


# ---- the law of every point -----------------------------------------------------------------------------------------


@MOVED
@PRESSED
def test_no_recorded_force_pulls_or_leaves_its_cone(name: str, moved: bool) -> None:
    x = told(name, moved)
    assert len(x.row) > 0
    assert x.press.min() >= -1e-9 * x.scale
    assert (np.linalg.norm(x.rub, axis=1) - x.mu * x.press).max() <= 1e-9 * x.scale


@MOVED
@PRESSED
def test_what_sticks_does_not_slide_and_what_slides_is_rubbed_against_its_motion(name: str, moved: bool) -> None:
    x = told(name, moved)
    n, mode = x.r.touches["normal"], x.r.touches["mode"]
    u_n = np.sum(x.u * n, axis=1)
    u_t = x.u - u_n[:, None] * n
    speed = np.linalg.norm(u_t, axis=1)
    assert np.abs(u_n).max() <= 1e-8
    assert speed[mode == 1].max(initial=0.0) <= 1e-8
    slides = (mode == 2) & (speed > 1e-5)
    against = -(x.mu * x.press / np.maximum(speed, 1e-300))[:, None] * u_t
    assert np.abs(x.rub - against)[slides].max(initial=0.0) <= 1e-8 * x.scale


@MOVED
@SCENE
def test_bodies_touch_in_their_points_and_reach_into_each_other_nowhere(name: str, moved: bool) -> None:
    """The width of the gap between supporting planes across any direction is a lower bound of their distance."""
    x = told(name, moved)
    t, r = x.r.touches, x.r
    every = max(1, len(t["row"]) // 400)
    for k in range(0, len(t["row"]), every):
        i, j = r.pairs[t["pair"][k]].shapes
        one, other = placed(r, i, t["row"][k]), placed(r, j, t["row"][k])
        assert abs(width(one, other, t["normal"][k])) <= 1e-9
        assert abs(one.outside(t["point"][k])) <= 2e-9 and abs(other.outside(t["point"][k])) <= 2e-9
    for row in range(0, r.rows, max(1, r.rows * len(r.pairs) // 1000)):
        for pair in r.pairs:
            one, other = (placed(r, shape, row) for shape in pair.shapes)
            n = one.R[:, 2] if one.kind == PLANE else meet(one, other, 1.0).normal
            assert width(one, other, n) >= -1e-9


# ---- momentum -------------------------------------------------------------------------------------------------------


@MOVED
@SCENE
def test_momentum_changes_by_weight_and_recorded_forces(name: str, moved: bool) -> None:
    """Between three rows, by Simpson's rule: forces of contacts and of joints, and gravity, are all there is."""
    x = told(name, moved)
    r = x.r
    force = np.zeros((r.rows, len(r.bodies), 3))
    for body, sign in ((x.a, -1.0), (x.b, 1.0)):
        there = body >= 0
        np.add.at(force, (x.row[there], body[there]), sign * r.touches["force"][there])
    number = {body.name: k for k, body in enumerate(r.bodies)}
    for k, joint in enumerate(r.joints):
        for body, sign in ((joint.child, 1.0), (joint.parent, -1.0)):
            if body in number and joint.type != "free":
                force[:, number[body]] += sign * np.nan_to_num(r.array("joints/force")[:, k, 3:])
    mass = np.array([body.mass for body in r.bodies])[:, None]
    force += mass * x.gravity
    arm = r.array("com") - r.array("position")
    momentum = mass * (r.array("velocity") + np.cross(r.array("angular_velocity"), arm))
    scale, found = np.abs(force).max(), 0
    for k in spans(r):
        h = r.time[k] - r.time[k - 1]
        change = h / 3 * (force[k - 1] + 4 * force[k] + force[k + 1])
        assert momentum[k + 1] - momentum[k - 1] == pytest.approx(change, abs=2e-6 * scale * h)
        found += 1
    assert found > 5


@MOVED
@pytest.mark.parametrize("name", ["sliding_block", "rocking_block", "rolling_sphere", "table", "stack"])
def test_angular_momentum_changes_by_the_moments_of_recorded_forces(name: str, moved: bool) -> None:
    """Of each body about its centre of mass: points of contact are where their forces act."""
    x = told(name, moved)
    r, com = x.r, x.r.array("com")
    moment, momentum = np.zeros((r.rows, len(r.bodies), 3)), np.zeros((r.rows, len(r.bodies), 3))
    for body, sign in ((x.a, -1.0), (x.b, 1.0)):
        there = body >= 0
        at = (x.row[there], body[there])
        np.add.at(moment, at, sign * np.cross(r.touches["point"][there] - com[at], r.touches["force"][there]))
    for k, body in enumerate(r.bodies):
        xx, yy, zz, xy, xz, yz = body.inertia
        axes = Rotation.from_quat(r.array("quat_wxyz")[:, k], scalar_first=True).as_matrix()
        inertia = axes @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ axes.transpose(0, 2, 1)
        momentum[:, k] = np.einsum("nij,nj->ni", inertia, r.array("angular_velocity")[:, k])
    found = 0
    for k in spans(r):
        h = r.time[k] - r.time[k - 1]
        change = h / 3 * (moment[k - 1] + 4 * moment[k] + moment[k + 1])
        assert momentum[k + 1] - momentum[k - 1] == pytest.approx(change, abs=1e-6 * x.scale * h)
        found += 1
    assert found > 20


# ---- bodies that stand ----------------------------------------------------------------------------------------------


@MOVED
def test_the_recorded_feet_of_a_table_share_its_weight_alike(moved: bool) -> None:
    x = told("table", moved)
    up = -x.gravity / G0
    for row in np.flatnonzero((x.r.time > 0.0) & (x.r.time < 1.0)):
        mine = x.row == row
        legs = x.r.touches["pair"][mine]
        press = x.r.touches["force"][mine] @ up
        assert len(set(legs)) == 4
        assert press.sum() == pytest.approx(20 * G0, rel=1e-12)
        for leg in set(legs):
            assert press[legs == leg].sum() == pytest.approx(20 * G0 / 4, rel=1e-12)
    assert x.r.contact_force("table")[x.r.time == 0.5] == pytest.approx(20 * G0 * up[None], rel=1e-12, abs=1e-9)


@MOVED
def test_the_recorded_wrench_under_a_box_is_what_stands_on_it(moved: bool) -> None:
    """And it acts in the middle of the boxes, which do not move."""
    x = told("stack", moved)
    r, up = x.r, -x.gravity / G0
    axis = SHIFT if moved else np.zeros(3)
    for i in range(10):
        by = f"box_{i}" if i else "world"
        force = r.contact_force(f"box_{i + 1}", by)[1:]
        assert force == pytest.approx((10 - i) * G0 * np.broadcast_to(up, force.shape), abs=1e-6)
        for row in range(1, r.rows, 20):
            under = r.contacts(row).on(f"box_{i + 1}", by)
            moment = np.cross(under.point - axis, under.force).sum(axis=0)
            assert moment == pytest.approx([0, 0, 0], abs=1e-6)
    drift = np.abs(r.array("position") - r.array("position")[0]).max()
    assert drift < 1e-9
