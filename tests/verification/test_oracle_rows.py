"""The oracle's joints and rows: poses and motions that are known, and every residual of what is put in off by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.analysis.verification import oracle
from sim.analysis.verification import oracle_joints as jn

pytestmark = pytest.mark.fast

KINDS = ("fixed", "rotational", "translational", "cylindrical", "universal", "planar", "spherical", "free")
# What is locked, along and about which axes of F, and which coordinates there are: slides (s) and turns about z (t).
LOCKED = {
    "fixed": ("xyz", "xyz"), "rotational": ("xyz", "xy"), "translational": ("xy", "xyz"), "cylindrical": ("xy", "xy"),
    "universal": ("xyz", ""), "planar": ("z", "xy"), "spherical": ("xyz", ""), "free": ("", ""),
}  # fmt: skip
FREE = {
    "fixed": [], "rotational": ["tz"], "translational": ["sz"], "cylindrical": ["sz", "tz"], "universal": ["tx", "tZ"],
    "planar": ["sx", "sy", "tz"], "spherical": ["tX", "tY", "tZ"], "free": ["sx", "sy", "sz", "tX", "tY", "tZ"],
}  # fmt: skip


def turned(rng: np.random.Generator) -> np.ndarray:
    return Rotation.from_rotvec(rng.normal(size=3)).as_matrix()


def side(rng: np.random.Generator) -> jn.Side:
    return jn.Side(rng.normal(size=3), turned(rng), rng.normal(size=3), rng.normal(size=3))


def standing(rng: np.random.Generator, d: np.ndarray, X: np.ndarray) -> tuple[jn.Side, jn.Side, jn.Frame, jn.Frame]:
    """Two bodies whose frames stand so: the point of M at d, its axes X, both seen in F."""
    a, b = side(rng), side(rng)
    F, M = jn.Frame(rng.normal(size=3), turned(rng)), jn.Frame(rng.normal(size=3), turned(rng))
    R_WF = a.R @ F.R
    R = R_WF @ X @ M.R.T
    p = a.p + a.R @ F.p + R_WF @ d - R @ M.p
    return a, replace(b, R=R, p=p), F, M


def about(axis: str, angle: float) -> np.ndarray:
    return Rotation.from_euler(axis, angle).as_matrix()


@pytest.mark.parametrize("kind", KINDS)
def test_a_gap_is_as_large_as_what_was_put_in(kind):
    rng = np.random.default_rng(4)
    d, tilt = np.array([0.3, -0.2, 0.7]), 0.4
    slides, turns = LOCKED[kind]
    along = ["xyz".index(axis) for axis in slides]
    turn = about("z", 0.6) if kind in ("rotational", "cylindrical", "planar") else np.eye(3)
    if kind == "universal":
        turn = about("x", -0.5) @ about("z", 1.1)
    for axis in "xyz":
        for sign in (1.0, -1.0):
            X = turn @ about(axis, sign * tilt)
            a, b, F, M = standing(rng, d, X)
            at = jn.pair(a, b, F, M)
            expected = list(d[along])
            if kind in ("fixed", "translational"):
                expected += [sign * np.sin(tilt) * (axis == one) for one in "xyz"]
            elif turns:
                z = X[:, 2]  # of the child's axis what stands across the parent's
                expected += [z[0], z[1]]
            elif kind == "universal":
                expected.append(X[:, 2][0])
            assert jn.gaps(kind, at) == pytest.approx(expected, abs=1e-13)
            assert pytest.approx(b.p + b.R @ M.p) == at.P and at.d == pytest.approx(a.R @ F.R @ d)
            assert np.allclose(at.F, a.R @ F.R) and np.allclose(at.M, b.R @ M.R)
    closed = jn.pair(
        *standing(rng, np.zeros(3) if len(slides) == 3 else d * [axis not in slides for axis in "xyz"], turn)
    )
    assert jn.gaps(kind, closed) == pytest.approx(
        np.zeros(len(slides) + (len(turns) or (kind == "universal"))), abs=1e-14
    )


@pytest.mark.parametrize("angle", [-3.0, -1.2, -0.1, 0.4, 1.7, 3.1])
def test_coordinates_are_those_that_were_put_in(angle):
    rng = np.random.default_rng(5)
    d, tilt = np.array([0.3, -0.2, 0.7]), 0.9
    for kind, X, expected in (
        ("fixed", np.eye(3), []), ("rotational", about("z", angle), [angle]), ("translational", np.eye(3), [0.7]),
        ("cylindrical", about("z", angle), [0.7, angle]), ("planar", about("z", angle), [0.3, -0.2, angle]),
        ("universal", about("x", tilt) @ about("z", angle), [tilt, angle]),
        ("universal", about("x", angle) @ about("z", tilt), [angle, tilt]),
    ):  # fmt: skip
        at = jn.pair(*standing(rng, d, X))
        assert jn.coordinates(kind, at) == pytest.approx(expected, abs=1e-13), kind


@pytest.mark.parametrize("kind", KINDS)
def test_rates_are_speeds_along_the_axes_of_the_joint(kind):
    rng = np.random.default_rng(6)
    a, b, F, M = standing(rng, rng.normal(size=3), turned(rng))
    at = jn.pair(a, b, F, M)
    R_F, R_M = a.R @ F.R, b.R @ M.R
    P = b.p + b.R @ M.p
    slip = (b.v + np.cross(b.w, P - b.p)) - (a.v + np.cross(a.w, P - a.p))
    assert at.slip == pytest.approx(slip)
    spin = b.w - a.w
    of = {"s": slip, "t": spin}
    expected = [
        (R_F if word[1].islower() else R_M)[:, "xyz".index(word[1].lower())] @ of[word[0]] for word in FREE[kind]
    ]
    assert jn.rates(kind, at) == pytest.approx(expected, abs=1e-13)
    locked = [R_F[:, "xyz".index(axis)] @ slip for axis in LOCKED[kind][0]]
    locked += [R_F[:, "xyz".index(axis)] @ spin for axis in LOCKED[kind][1]]
    if kind == "universal":
        locked.append(np.cross(R_F[:, 0], R_M[:, 2]) @ spin)
    assert jn.gap_rates(kind, at) == pytest.approx(locked, abs=1e-13)


def test_rows_of_a_recording_are_taken_together():
    rng = np.random.default_rng(7)
    some = [standing(rng, rng.normal(size=3), turned(rng)) for _ in range(4)]
    F, M = some[0][2:]
    pairs = [jn.pair(a, b, F, M) for a, b, *_ in some]
    sides = [jn.Side(*(np.array([getattr(one[k], x) for one in some]) for x in ("p", "R", "v", "w"))) for k in (0, 1)]
    at = jn.pair(*sides, F, M)
    for kind in KINDS:
        for find in (jn.gaps, jn.gap_rates, jn.rates):
            found = find(kind, at)
            assert found.shape[0] == 4 and found == pytest.approx(
                np.array([find(kind, one) for one in pairs]), abs=1e-13
            )


def test_quaternions_of_any_length_are_rotations():
    rng = np.random.default_rng(8)
    quats = rng.normal(size=(2, 3, 4)) * 2.5
    expected = Rotation.from_quat(quats.reshape(-1, 4), scalar_first=True).as_matrix().reshape(2, 3, 3, 3)
    assert np.allclose(jn.rotation_of(quats), expected, atol=1e-14)
    a, b = rng.normal(size=(2, 5, 3))
    assert np.allclose(jn.cross(a, b), np.cross(a, b), atol=1e-15) and np.allclose(
        oracle.cross(a[0], b[0]), np.cross(a[0], b[0])
    )


# --- rows of accelerations --------------------------------------------------------------------------------------


class Moving:
    """Bodies with given motions and accelerations, a moment earlier or later."""

    def __init__(self, rng: np.random.Generator, count: int):
        self.sides = [side(rng) for _ in range(count)]
        self.arms = rng.normal(size=(count, 3))  # centres of mass from the origins, body axes
        self.x = rng.normal(size=(count, 6))  # of centres of mass, angular

    @property
    def coms(self) -> list[np.ndarray]:
        return [one.p + one.R @ arm for one, arm in zip(self.sides, self.arms, strict=True)]

    def at(self, body: int, h: float) -> jn.Side:
        if body < 0:
            zero = np.zeros(3)
            return jn.Side(zero, np.eye(3), zero, zero)
        one, (a, alpha) = self.sides[body], np.split(self.x[body], 2)
        com, arm = self.coms[body], one.R @ self.arms[body]
        R = Rotation.from_rotvec(one.w * h + 0.5 * alpha * h * h).as_matrix() @ one.R
        v_com, w = one.v + np.cross(one.w, arm) + a * h, one.w + alpha * h
        arm = R @ self.arms[body]
        return jn.Side(com + (one.v + np.cross(one.w, one.R @ self.arms[body])) * h + 0.5 * a * h * h - arm, R,
                       v_com - np.cross(w, arm), w)  # fmt: skip


def joint_of(
    moving: Moving, kind: str, a: int, b: int, rng: np.random.Generator, closed: bool = False, **more
) -> tuple:
    frames = jn.Frame(rng.normal(size=3), turned(rng)), jn.Frame(rng.normal(size=3), turned(rng))
    if closed:  # as it is where forces are told: the two axes of a universal joint are across each other
        X = about("x", 0.5) @ about("z", 0.8)
        frames = frames[0], jn.Frame(frames[1].p, moving.at(b, 0.0).R.T @ moving.at(a, 0.0).R @ frames[0].R @ X)
    count = len(jn.FREEDOMS[kind])
    at = jn.pair(moving.at(a, 0.0), moving.at(b, 0.0), *frames)
    given = {"torque": rng.normal(size=count), "armature": np.zeros(count)} | more
    return oracle.Joint(kind, kind, a, b, at, **given), frames


@pytest.mark.parametrize(("a", "b"), [(0, 1), (1, 0), (-1, 0), (1, -1)])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_time_derivatives_of_speeds(kind, a, b):
    """Of what is locked, J x - b, and of the joint's rates, E x - d: by bodies that are moved on a little."""
    rng = np.random.default_rng(9)
    moving, h = Moving(rng, 2), 1e-4
    joint, frames = joint_of(moving, kind, a, b, rng)
    pairs = [jn.pair(moving.at(a, s), moving.at(b, s), *frames) for s in (h, -h)]
    for rows, speeds in ((oracle.locked_rows, jn.gap_rates), (oracle.free_rows, jn.rates)):
        J, right = rows(joint, moving.coms, 2)
        after, before = (speeds(kind, at) for at in pairs)
        assert J.shape == (len(after), 12) and right.shape == (len(after),)
        assert J @ moving.x.ravel() - right == pytest.approx((after - before) / (2 * h), abs=1e-6)


def world(seed: int, kinds: list[tuple[str, int, int]], count: int, **more):
    rng = np.random.default_rng(seed)
    moving = Moving(rng, count)
    bodies = []
    for k in range(count):
        A = rng.normal(size=(3, 3))
        bodies.append(oracle.Body(0.5 + rng.random(), moving.coms[k], A @ A.T + 0.5 * np.eye(3), moving.sides[k].w))
    joints = [
        joint_of(moving, kind, a, b, rng, True, **more.get(f"joint{k}", {}))[0] for k, (kind, a, b) in enumerate(kinds)
    ]
    return rng, bodies, joints


GRAVITY = np.array([0.7, -0.4, -9.81])


def dense(bodies, joints, applied, driven=()):
    """Mass matrix, forces and rows of everything, by the definitions."""
    n = len(bodies)
    M, f = np.zeros((6 * n, 6 * n)), applied.ravel().copy()
    for i, body in enumerate(bodies):
        M[6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = body.mass * np.eye(3)
        M[6 * i + 3 : 6 * i + 6, 6 * i + 3 : 6 * i + 6] = body.inertia
        f[6 * i : 6 * i + 3] += body.mass * GRAVITY
        f[6 * i + 3 : 6 * i + 6] -= np.cross(body.w, body.inertia @ body.w)
    coms = [body.com for body in bodies]
    blocks, rights, owner = [], [], []
    for k, joint in enumerate(joints):
        J, b = oracle.locked_rows(joint, coms, n)
        E, d = oracle.free_rows(joint, coms, n)
        f += E.T @ (joint.torque + joint.armature * d)
        M += E.T @ np.diag(joint.armature) @ E
        if len(joint.driven):
            J, b = (
                np.vstack([J, E[joint.driven == joint.driven]]),
                np.concatenate([b, (d + joint.driven)[joint.driven == joint.driven]]),
            )
        blocks.append(J)
        rights.append(b)
        owner += [k] * len(b)
    return M, f, np.vstack(blocks), np.concatenate(rights), np.array(owner)


TREES = {
    "a chain": ([("rotational", -1, 0), ("universal", 0, 1), ("spherical", 1, 2)], 3),
    "written backwards": ([("spherical", 2, 1), ("cylindrical", 1, 0), ("planar", 0, -1)], 3),
    "two trees and a free body": ([("fixed", -1, 0), ("translational", 2, 3)], 4),
    "a loop": ([("spherical", -1, 0), ("spherical", 0, 1), ("spherical", 1, -1)], 2),
    "flying in a ring": ([("universal", 0, 1), ("spherical", 1, 2), ("spherical", 2, 0)], 3),
}  # fmt: skip


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("more", ["", "armature", "driven"])
def test_accelerations_fulfil_newton_euler_and_all_rows(name, more):
    kinds, count = TREES[name]
    given = {}
    for k, (kind, *_) in enumerate(kinds):
        freedoms = len(jn.FREEDOMS[kind])
        if more == "armature":
            given[f"joint{k}"] = {"armature": 0.3 + 0.1 * np.arange(freedoms)}
        elif more == "driven" and k == 0 and freedoms:
            given["joint0"] = {"driven": np.where(np.arange(freedoms) == freedoms - 1, 1.75, np.nan)}
    rng, bodies, joints = world(10, kinds, count, **given)
    applied = rng.normal(size=(count, 6))
    answer = oracle.solve(bodies, joints, GRAVITY, applied)
    M, f, J, b, _ = dense(bodies, joints, applied)
    kkt = np.block([[M, J.T], [J, np.zeros((len(J), len(J)))]])
    expected = np.linalg.lstsq(kkt, np.concatenate([f, b]), rcond=None)[0][: 6 * count].reshape(count, 6)
    assert answer.acceleration == pytest.approx(expected, abs=1e-9)
    assert np.array_equal(answer.J, J) and np.array_equal(answer.b, b)
    assert answer.rank == np.linalg.matrix_rank(J) and answer.nullity == len(J) - answer.rank
    assert answer.loose.shape[0] == 0
    assert answer.determinate.tolist() == [True] * len(joints) and answer.components.all()


def test_forces_are_determinate_where_no_null_force_has_a_part_of_theirs():
    """Three parallel hinges' worth of rows: two fixed joints of one body, and beside them a lone hinge."""
    _, bodies, _ = world(11, [], 3)
    here = [jn.Side(body.com - np.array([0.1, 0.2, 0.3]), np.eye(3), np.zeros(3), np.zeros(3)) for body in bodies]
    bodies = [replace(body, w=np.zeros(3)) for body in bodies]
    still = jn.Side(np.zeros(3), np.eye(3), np.zeros(3), np.zeros(3))

    def joint(kind: str, a: int, b: int, point: np.ndarray, R: np.ndarray) -> oracle.Joint:
        sides = [here[k] if k >= 0 else still for k in (a, b)]
        at = jn.pair(*sides, *(jn.Frame(point - one.p, R) for one in sides))
        count = len(jn.FREEDOMS[kind])
        return oracle.Joint(kind, kind, a, b, at, np.zeros(count), np.zeros(count))

    z = np.eye(3)
    x = about("y", np.pi / 2)  # turns about the world's x
    cases = [
        # Two hinges on one line: of each the moments across, and the forces across at either, are one choice of many;
        # only both along the line push against each other.
        (
            [
                ("rotational", -1, 0, (0, 0, 0), z),
                ("rotational", -1, 0, (0, 0, 1), z),
                ("spherical", 0, 1, (1, 2, 3), z),
            ],
            [False, False, True],
        ),
        # A ball in two sockets: they push along the line through both, and nothing else is open.
        ([("spherical", -1, 0, (0, 0, 0), z), ("spherical", -1, 0, (0, 0, 2), z)], [False, False]),
        # Two hinges whose lines cross are a fixed joint and more: all but the moments that neither has.
        ([("rotational", -1, 0, (0, 0, 0), z), ("rotational", -1, 0, (0, 0, 0), x)], [False, False]),
        # A slider beside a ball: the slider alone resists turning, and across they share.
        ([("translational", -1, 0, (0, 0, 0), z), ("spherical", 0, -1, (0, 0, 0), z)], [False, False]),
    ]
    for kinds, determinate in cases:
        joints = [joint(kind, a, b, np.array(point, float), R) for kind, a, b, point, R in kinds]
        answer = oracle.solve(bodies, joints, GRAVITY, np.zeros((3, 6)))
        assert answer.determinate.tolist() == determinate
        _, _, J, _, owner = dense(bodies, joints, np.zeros((3, 6)))
        null = np.linalg.svd(J)[0][:, np.linalg.matrix_rank(J) :]
        for k, one in enumerate(joints):
            child, sign = (one.b, 1.0) if one.b >= 0 else (one.a, -1.0)
            push = sign * J[owner == k][:, 6 * child : 6 * child + 6].T @ null[owner == k]
            moment = push[3:] - np.cross(one.at.P - bodies[child].com, push[:3].T).T
            sure = [np.abs(row).max(initial=0.0) < 1e-9 for row in (*moment, *push[:3])]
            assert answer.components[k].tolist() == sure, kinds[k]
            assert np.all(answer.determinate[k] <= answer.components[k])


def test_a_point_mass_turns_as_nothing_makes_it():
    """Of accelerations that differ in its turning nothing is told."""
    rng, bodies, _ = world(12, [], 2)
    bodies[0] = replace(bodies[0], inertia=np.zeros((3, 3)))
    applied = rng.normal(size=(2, 6))
    applied[0, 3:] = 0.0
    answer = oracle.solve(bodies, [], GRAVITY, applied)
    assert answer.loose.shape == (3, 12) and answer.rank == 0
    assert answer.acceleration[0] == pytest.approx([*(applied[0, :3] / bodies[0].mass + GRAVITY), 0, 0, 0])
    other = answer.acceleration.copy()
    other[0, 3:] += [3.0, -4.0, 5.0]
    assert answer.difference(other) == pytest.approx(np.zeros((2, 6)), abs=1e-12)
    other[1, 4] -= 0.25
    other[0, 1] += 0.5
    expected = np.zeros((2, 6))
    expected[1, 4], expected[0, 1] = -0.25, 0.5
    assert answer.difference(other) == pytest.approx(expected, abs=1e-12)


# --- residuals --------------------------------------------------------------------------------------------------


@pytest.fixture
def solved():
    """A chain with armatures, its accelerations, and the wrenches of its joints, moments about points beside them."""
    kinds = [("rotational", -1, 0), ("cylindrical", 1, 0), ("universal", 1, 2)]
    given = {
        f"joint{k}": {"armature": np.full(len(jn.FREEDOMS[kind]), 0.2 + 0.1 * k)} for k, (kind, *_) in enumerate(kinds)
    }
    rng, bodies, joints = world(13, kinds, 3, **given)
    applied = rng.normal(size=(3, 6))
    answer = oracle.solve(bodies, joints, GRAVITY, applied)
    points = np.array([joint.at.P for joint in joints])  # where wrenches are told
    left, _ = oracle.balance_of_bodies(bodies, joints, np.zeros((3, 6)), points, answer.acceleration, GRAVITY, applied)
    wrenches = np.zeros((3, 6))
    for k, (child, sign) in ((2, (2, 1.0)), (1, (1, -1.0)), (0, (0, 1.0))):  # from the tip inward
        push = -left[child]
        arm = points[k] - bodies[child].com
        wrenches[k] = sign * np.concatenate([push[3:] - np.cross(arm, push[:3]), push[:3]])
        left, _ = oracle.balance_of_bodies(bodies, joints, wrenches, points, answer.acceleration, GRAVITY, applied)
    assert np.abs(left).max() < 1e-10
    return bodies, joints, answer, wrenches, points, applied


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("part", range(6))
@pytest.mark.parametrize("joint", range(3))
def test_a_wrong_wrench_is_left_over_with_its_size(solved, joint, part, sign):
    bodies, joints, answer, wrenches, points, applied = solved
    wrong = wrenches.copy()
    wrong[joint, part] += sign * 0.375
    left, size = oracle.balance_of_bodies(bodies, joints, wrong, points, answer.acceleration, GRAVITY, applied)
    expected = np.zeros((3, 6))
    for body, way in ((joints[joint].b, 1.0), (joints[joint].a, -1.0)):
        if body >= 0:
            moment, force = np.split(way * sign * 0.375 * np.eye(6)[part], 2)
            expected[body] = np.concatenate([force, moment + np.cross(points[joint] - bodies[body].com, force)])
    assert left == pytest.approx(expected, abs=1e-10)
    accelerations = np.linalg.norm(answer.acceleration[:, :3], axis=1) * [body.mass for body in bodies]
    weights = np.linalg.norm(GRAVITY) * np.array([body.mass for body in bodies])
    assert size == pytest.approx(max(*accelerations, *weights, *np.linalg.norm(wrong[:, 3:], axis=1)))


def test_the_size_of_a_force_is_the_largest_of_weights_inertia_and_wrenches(solved):
    bodies, joints, _, wrenches, points, applied = solved
    for body in range(3):
        light = [replace(one, mass=1e-3 if k != body else 2.0) for k, one in enumerate(bodies)]
        fast = np.zeros((3, 6))
        fast[body, :3] = 30.0, 40.0, 0.0
        assert oracle.balance_of_bodies(light, joints, 0 * wrenches, points, fast, GRAVITY, applied)[
            1
        ] == pytest.approx(100.0)
        assert oracle.balance_of_bodies(light, joints, 0 * wrenches, points, 0 * fast, GRAVITY, applied)[
            1
        ] == pytest.approx(2.0 * np.linalg.norm(GRAVITY))
        strong = np.zeros((3, 6))
        strong[body] = 999.0, 999.0, 999.0, 0.0, 300.0, 400.0
        assert oracle.balance_of_bodies(light, joints, strong, points, 0 * fast, GRAVITY, applied)[1] == pytest.approx(
            500.0
        )


@pytest.mark.parametrize("part", range(6))
@pytest.mark.parametrize("joint", range(3))
def test_what_a_wrench_does_along_the_freedoms_beyond_the_torque_is_told(solved, joint, part):
    bodies, joints, answer, wrenches, points, _ = solved
    one = joints[joint]
    assert oracle.along_freedoms(bodies, one, wrenches[joint], points[joint], answer.acceleration) == pytest.approx(
        np.zeros(len(one.torque)), abs=1e-9)  # fmt: skip
    # Told about another point, moments are others.
    point = points[joint] + np.array([0.3, -0.5, 0.2])
    moved = wrenches[joint].copy()
    moved[:3] -= np.cross(point - points[joint], moved[3:])
    moved[part] -= 0.625
    change = -0.625 * np.eye(6)[part]
    moment = change[:3] + np.cross(point - points[joint], change[3:])
    expected = []
    for word in FREE[one.kind]:
        e = (one.at.F if word[1].islower() else one.at.M)[:, "xyz".index(word[1].lower())]
        expected.append(e @ (change[3:] if word[0] == "s" else moment))
    found = oracle.along_freedoms(bodies, one, moved, point, answer.acceleration)
    assert found == pytest.approx(expected, abs=1e-9)
    less = replace(one, torque=one.torque - np.arange(1.0, len(one.torque) + 1))
    found = oracle.along_freedoms(bodies, less, wrenches[joint], points[joint], answer.acceleration)
    assert found == pytest.approx(np.arange(1.0, len(one.torque) + 1), abs=1e-9)


def test_accelerations_that_break_rows_are_told_relative_to_the_largest_term():
    J = np.zeros((2, 12))
    J[0, 0], J[1, 7], J[1, 2] = 2.0, -1.0, 0.5
    answer = oracle.Answer(
        np.zeros((2, 6)), 2, 0, np.ones(0, bool), np.ones((0, 6), bool), J, np.array([6.0, 1.0]), np.zeros((0, 12))
    )
    x = np.zeros((2, 6))
    x[0, 0], x[1, 1] = 3.0, -1.0
    assert answer.constraint(x) == 0.0
    x[0, 0] = 3.5  # 7 - 6, of 7 + 6
    assert answer.constraint(x) == pytest.approx(1.0 / 13.0)
    x[0, 0], x[1, 1] = 3.0, -5.0  # 5 - 1, of 6 + 6
    assert answer.constraint(x) == pytest.approx(4.0 / 12.0)
    x[1, 1] = 3.0
    assert answer.constraint(x) == pytest.approx(4.0 / 12.0)
    small = replace(answer, J=0.01 * J, b=np.array([0.01, 0.0]))
    assert small.constraint(np.zeros((2, 6))) == pytest.approx(0.01)  # of at least 1


def test_rows_of_constraints_are_given_and_those_that_slip_push_with_their_torque():
    """Two rows, the first of which gives way; the force of the second on the child is a wrench of its own."""
    rng, bodies, _ = world(14, [], 2)
    J, b = rng.normal(size=(2, 12)), rng.normal(size=2)
    zero = jn.Side(np.zeros(3), np.eye(3), np.zeros(3), np.zeros(3))
    at = jn.pair(zero, zero, jn.Frame(np.zeros(3), np.eye(3)), jn.Frame(np.zeros(3), np.eye(3)))
    applied = rng.normal(size=(2, 6))
    for slips, torque in ((0, np.zeros(0)), (1, np.array([0.75]))):
        joint = oracle.Joint("wheel", "rolling", 0, 1, at, torque, np.zeros(slips), rows=(J, b), slips=slips)
        answer = oracle.solve(bodies, [joint], GRAVITY, applied)
        M, f, _, _, _ = dense(
            bodies, [replace(joint, rows=None, kind="free", torque=np.zeros(6), armature=np.zeros(6))], applied
        )
        f += J[:slips].T @ torque
        held, right = J[slips:], b[slips:]
        kkt = np.block([[M, held.T], [held, np.zeros((len(held), len(held)))]])
        solution = np.linalg.solve(kkt, np.concatenate([f, right]))
        assert answer.acceleration.ravel() == pytest.approx(solution[:12], abs=1e-9) and answer.rank == 2 - slips
        push = J[:slips].T @ torque - held.T @ solution[12:]  # on both bodies
        force, moment = np.split(push[6:], 2)
        point = np.array([0.2, -0.3, 0.4])
        wrench = np.concatenate([moment - np.cross(point - bodies[1].com, force), force])
        found = oracle.along_freedoms(bodies, joint, wrench, point, answer.acceleration)
        assert found.shape == (6 + slips,) and found == pytest.approx(np.zeros(6 + slips), abs=1e-9)
        # What no force of the rows makes is told; so is what the slipping one gives beyond its torque.
        on_child = J[:, 6:].T
        off = np.linalg.svd(on_child)[0][:, 2]
        force, moment = np.split(0.5 * off + (0.25 * on_child[:, 0] if slips else 0.0), 2)
        more = wrench + np.concatenate([moment - np.cross(point - bodies[1].com, force), force])
        found = oracle.along_freedoms(bodies, joint, more, point, answer.acceleration)
        assert found == pytest.approx([*(0.5 * off), *([0.25] * slips)], abs=1e-9)


@pytest.mark.parametrize("slips", [0, 1])
def test_a_gears_force_is_that_along_its_first_freedom_on_all_bodies(slips):
    rng, bodies, _ = world(15, [], 2)
    zero = jn.Side(np.zeros(3), np.eye(3), np.zeros(3), np.zeros(3))
    at = jn.pair(zero, zero, jn.Frame(np.zeros(3), np.eye(3)), jn.Frame(np.zeros(3), np.eye(3)))
    lever, J = np.array([0, 0, 0, 0.6, 0, 0.8]), rng.normal(size=(1, 12))
    gear = oracle.Joint(
        "gear", "gear", 0, 1, at, np.full(slips, 0.5), np.zeros(slips), rows=(J, np.zeros(1)), slips=slips, lever=lever
    )
    wrench = np.array([7.0, 8, 9, 3, 5, 4])  # 0.6 * 3 + 0.8 * 4 = 5 along the lever
    left, size = oracle.balance_of_bodies(
        bodies, [gear], wrench[None], np.zeros((1, 3)), np.zeros((2, 6)), 0 * GRAVITY, np.zeros((2, 6))
    )
    gyro = np.array([[0, 0, 0, *(-np.cross(body.w, body.inertia @ body.w))] for body in bodies])
    assert left - gyro == pytest.approx(5.0 * J.reshape(2, 6)) and size == pytest.approx(np.sqrt(50))
    assert oracle.along_freedoms(bodies, gear, wrench, np.zeros(3), np.zeros((2, 6))) == pytest.approx(
        [5.0 - 0.5] * slips
    )
    # Twice the same gear: what one of them gives is open along the lever, and nowhere else.
    twin = replace(gear, slips=0, torque=np.zeros(0), armature=np.zeros(0))
    answer = oracle.solve(bodies, [twin, twin], GRAVITY, np.zeros((2, 6)))
    assert answer.determinate.tolist() == [False, False] and answer.nullity == 1
    assert answer.components.tolist() == [[True, True, True, False, True, False]] * 2
    turning = replace(twin, lever=np.array([0, 1.0, 0, 0, 0, 0]))
    answer = oracle.solve(bodies, [turning, turning], GRAVITY, np.zeros((2, 6)))
    assert answer.components.tolist() == [[True, False, True, True, True, True]] * 2


def test_columns_are_taken_by_size_until_what_is_left_is_roundoff():
    rng = np.random.default_rng(16)
    A = rng.normal(size=(7, 3)) @ rng.normal(size=(3, 5))
    for matrix, rank in (
        (A, 3),
        (A.T, 3),
        (rng.normal(size=(4, 6)), 4),
        (rng.normal(size=(6, 4)), 4),
        (np.zeros((3, 2)), 0),
        (np.diag([3.0, 4e-9, 2.0]), 3),
        (np.diag([3.0, 2e-9, 2.0]), 2),
        (np.zeros((0, 3)), 0),
    ):
        Q, R, order, found = oracle._pivoted(matrix)
        assert found == rank and sorted(order.tolist()) == list(range(matrix.shape[1]))
        assert np.allclose(Q @ R, matrix[:, order], atol=1e-12) and np.allclose(Q.T @ Q, np.eye(len(Q)), atol=1e-13)
        assert np.allclose(np.tril(R[:rank, :rank], -1), 0.0, atol=1e-13)
        sizes = np.abs(np.diag(R[:rank, :rank]))
        assert np.all(sizes[1:] <= sizes[:-1] * (1 + 1e-12))
