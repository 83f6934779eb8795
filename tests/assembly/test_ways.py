"""Frames of the drawing, ways of coordinates and least steps: each beside rotations of scipy and closed forms."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.assembly.continuation import Leg, Way, _orders, _parts, ball_in, coordinate, leg_to, q_of, v_of
from sim.assembly.loop_closure import Aim, Bonds, held, least, rates_of_loops, root
from sim.assembly.standing import NOWHERE, standing_at
from sim.assembly.start import in_words, start
from sim.joints import JOINT_TYPES
from sim.kernels.project import add_freedoms
from sim.mechanism.compiler import compile
from sim.mechanism.frames import Frames, Pose, frame_along, rotation_of
from sim.mechanism.joint_motion import coordinates, motion
from sim.mechanism.layout import _under, bind
from sim.mechanism.mechanism import Mechanism
from sim.mechanism.methods import Turn, account, first_turn, next_turn
from sim.scene.load import load_text

pytestmark = pytest.mark.fast


def wxyz(R: Rotation) -> np.ndarray:
    return R.as_quat()[[3, 0, 1, 2]]


def pose(rng: np.random.Generator) -> Pose:
    return Pose(rng.normal(size=3), Rotation.from_rotvec(rng.normal(size=3)).as_matrix())


# --- frames -----------------------------------------------------------------------------------------


def test_poses_follow_one_another() -> None:
    a, b = (pose(np.random.default_rng(k)) for k in (1, 2))
    p = np.array([0.3, -0.7, 1.1])
    both = a.of(b)
    assert np.allclose(both.p + both.R @ p, a.p + a.R @ (b.p + b.R @ p), atol=1e-14)
    back = a.inverse().of(a)
    assert np.allclose(back.p, 0.0, atol=1e-15) and np.allclose(back.R, np.eye(3), atol=1e-15)


MOTIONS = {
    "fixed": ((), (0, 0, 0), None), "rotational": ((0.7,), (0, 0, 0), ("z", [0.7])),
    "translational": ((-0.4,), (0, 0, -0.4), None), "cylindrical": ((0.3, -1.9), (0, 0, 0.3), ("z", [-1.9])),
    "universal": ((0.8, -2.2), (0, 0, 0), ("XZ", [0.8, -2.2])),
    "planar": ((0.3, -0.6, 2.5), (0.3, -0.6, 0), ("z", [2.5])),
}  # fmt: skip


@pytest.mark.parametrize("kind", MOTIONS)
def test_coordinates_move_one_frame_in_the_other_and_are_read_back(kind: str) -> None:
    q, p, turn = MOTIONS[kind]
    found = motion(JOINT_TYPES[kind], q)
    R = Rotation.from_euler(*turn).as_matrix() if turn else np.eye(3)
    assert np.allclose(found.p, p, atol=1e-15) and np.allclose(found.R, np.reshape(R, (3, 3)), atol=1e-15)
    assert coordinates(JOINT_TYPES[kind], found) == pytest.approx(np.array(q), abs=1e-15)
    zero = JOINT_TYPES[kind].zero
    at = motion(JOINT_TYPES[kind], zero)
    assert not at.p.any() and np.array_equal(at.R, np.eye(3)) and len(zero) == len(q)


def test_rotations_in_space_are_quaternions_of_any_length() -> None:
    R = Rotation.from_rotvec([0.4, -1.2, 0.3])
    assert np.allclose(rotation_of(2.5 * wxyz(R)), R.as_matrix(), atol=1e-15)
    assert np.allclose(motion(JOINT_TYPES["spherical"], 0.5 * wxyz(R)).R, R.as_matrix(), atol=1e-15)
    free = motion(JOINT_TYPES["free"], np.concatenate([[1.0, 2.0, 3.0], wxyz(R)]))
    assert free.p.tolist() == [1.0, 2.0, 3.0] and np.allclose(free.R, R.as_matrix(), atol=1e-15)
    assert JOINT_TYPES["spherical"].zero == (1.0, 0.0, 0.0, 0.0)
    assert JOINT_TYPES["free"].zero == (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


def test_a_frame_is_set_up_along_an_axis() -> None:
    for z, x in (([1.0, -2.0, 0.5], None), ([0.1, 0.2, -3.0], [1.0, 1.0, 1.0]), ([0.0, 2.0, 0.0], None)):
        R = frame_along(z, x)
        assert np.allclose(R.T @ R, np.eye(3), atol=1e-15) and np.linalg.det(R) == pytest.approx(1.0)
        assert np.allclose(R[:, 2], np.array(z) / np.linalg.norm(z), atol=1e-15)
        a = np.eye(3)[int(np.argmin(np.abs(z)))] if x is None else np.array(x)
        assert R[:, 0] @ a > 0.0 and abs(R[:, 1] @ a) < 1e-15  # the first axis as near to it as can be
    assert frame_along([0, 3, 0]).tolist() == [[1, 0, 0], [0, 0, 1], [0, -1, 0]]


SCENE = """
schema: 1
name: drawn
bodies:
  a: {mass: 1, com: [0.1, 0.2, 0.3], inertia: [1, 1, 1], position: [0.5, 0.4, 0.3], points: {hook: [0.6, 0.1, 0.2]}}
  b: {mass: 1, com: [0.4, 0.1, 0.2], inertia: [1, 1, 1], position: [0.2, 0.1, 0.6], points: {eye: [0.9, 0.3, 0.1]}}
joints: {it: {type: KIND, parent: a, child: b, PLACEAXES}}
"""
AT = "position: [0.3, 0.4, 0.5]"
AXES = {
    "fixed": "", "rotational": ", axis: [0.2, 0.3, 1]", "translational": ", axis: [0.2, 0.3, 1]",
    "cylindrical": ", axis: [0.2, 0.3, 1]", "universal": ", axis: [0.2, 0.3, 1], second_axis: [3, -2, 0]",
    "planar": ", axis: [0.2, 0.3, 1], second_axis: [3, -2, 0]", "spherical": "", "free": "",
}  # fmt: skip


@pytest.mark.parametrize(
    "place", [AT, "parent_point: hook", "child_point: eye", "parent_point: hook, child_point: eye"]
)
@pytest.mark.parametrize("kind", [kind for kind in AXES if kind != "free"])
def test_joints_are_bound_where_both_bodies_are(kind: str, place: str) -> None:
    """Both frames are turned alike, with their axes as written; they are at one place unless each has a point."""
    scene = load_text(SCENE.replace("KIND", kind).replace("PLACE", AT).replace("AXES", AXES[kind]))
    model, said = compile(scene), dict(part.split(": ") for part in place.split(", ") if "point" in part)
    joint = replace(scene.joints[0], position=None, **said) if said else scene.joints[0]
    rng = np.random.default_rng(3)
    parent, child = pose(rng), pose(rng)
    frames = Frames(np.zeros((1, 3)), np.zeros((1, 3, 3)), np.zeros((1, 3)), np.zeros((1, 3, 3)), np.zeros(1))
    bind(frames, 0, joint, parent, child, model.drawing)
    F = parent.of(Pose(frames.p_PF[0], frames.R_PF[0]))
    M = child.of(Pose(frames.p_CM[0], frames.R_CM[0]))
    assert np.allclose(F.R, M.R, atol=1e-15)
    hook, eye = (
        np.array([0.1, -0.3, -0.1]),
        np.array([0.7, 0.2, -0.5]),
    )  # in the axes of their bodies, from their origins
    ends = {
        AT: (np.array([0.3, 0.4, 0.5]),) * 2, "parent_point: hook": (parent.p + parent.R @ hook,) * 2,
        "child_point: eye": (child.p + child.R @ eye,) * 2,
    }.get(place, (parent.p + parent.R @ hook, child.p + child.R @ eye))  # fmt: skip
    assert np.allclose(F.p, ends[0], atol=1e-14) and np.allclose(M.p, ends[1], atol=1e-14)
    axis, second = np.array([0.2, 0.3, 1.0]) / math.sqrt(1.13), np.array([3.0, -2.0, 0.0]) / math.sqrt(13.0)
    if kind in ("fixed", "spherical"):
        assert np.allclose(M.R, child.R, atol=1e-15) and np.allclose(frames.R_CM[0], np.eye(3), atol=0.0)
    elif kind == "universal":
        assert np.allclose(F.R[:, 0], axis, atol=1e-15) and np.allclose(M.R[:, 2], second, atol=1e-15)
    else:
        assert np.allclose(F.R[:, 2], axis, atol=1e-15)
        assert kind != "planar" or np.allclose(F.R[:, 0], second, atol=1e-15)


def test_a_free_joint_counts_from_frame_to_frame() -> None:
    scene = load_text(
        SCENE.replace("KIND", "free").replace("PLACE", "").replace("AXES", "").replace("child: b, ", "child: b")
    )
    model = compile(scene)
    assert not model.frames.p_PF[0].any() and not model.frames.p_CM[0].any()
    assert np.array_equal(model.frames.R_PF[0], np.eye(3)) and np.array_equal(model.frames.R_CM[0], np.eye(3))


GROUND = """
schema: 1
name: ground
bodies: {base: {mass: 1, com: [0, 0, 0], inertia: [1, 1, 1], position: [0.1, 0.2, 0.3]},
         it: {mass: 1, com: [0.4, 0.1, 0.9], inertia: [1, 1, 1], position: [0.2, 0.1, 0.6], points: {hub: [0.5, 0.3,
                 0.8]}}}
constraints: {c: {SAID}}
"""


@pytest.mark.parametrize(
    ("said", "second", "place"),
    [
        ("type: no_side_slip, axis: [0.6, 0.8, 0], point: hub", ("y", [0.6, 0.8, 0]), [0.5, 0.3, 0.8]),
        ("type: knife_edge, along: [0.6, 0.8, 0], point: com", ("x", [0.6, 0.8, 0]), [0.4, 0.1, 0.9]),
        ("type: rolling, axis: [0.6, 0.8, 0], radius: 0.4, position: [0.3, 0.2, 0.7]", ("y", [0.6, 0.8, 0]), [0.3,
                0.2, 0.7]),
        ("type: rolling, radius: 0.4, position: [0.3, 0.2, 0.7]", None, [0.3, 0.2, 0.7]),
        ("type: rolling, radii: [0.4, 0.3, 0.2], orientation: {rpy: [0.3, -0.2, 0.5]}, position: [0.3, 0.2, 0.7]",
                "turned", [0.3, 0.2, 0.7]),
    ],
)  # fmt: skip
def test_what_rolls_and_slides_has_its_axes_and_its_ground(said: str, second: object, place: list[float]) -> None:
    level = ", level: [0, 0, 0.25]" if "rolling" in said else ""
    text = GROUND.replace("SAID", f"body: it, ground: base, normal: [0.1, -0.2, 1], {said}{level}")
    model = compile(load_text(text))
    frames, i = model.frames, model.joint("c")
    F = model.poses[1].of(Pose(frames.p_PF[i], frames.R_PF[i]))
    M = model.poses[2].of(Pose(frames.p_CM[i], frames.R_CM[i]))
    assert np.allclose(F.p, [0, 0, 0.25 if level else 0.0], atol=1e-15) and np.allclose(M.p, place, atol=1e-15)
    assert np.allclose(F.R[:, 2], np.array([0.1, -0.2, 1]) / math.sqrt(1.05), atol=1e-15)
    if isinstance(second, tuple):
        assert np.allclose(M.R[:, "xyz".index(second[0])], second[1], atol=1e-15)
        assert np.linalg.det(M.R) == pytest.approx(1.0)
    else:
        turned = Rotation.from_euler("xyz", [0.3, -0.2, 0.5]).as_matrix() if second else np.eye(3)
        assert np.allclose(M.R, turned, atol=1e-15)


@pytest.mark.parametrize("bend", [2.0, -3.0])
def test_round_grounds_stand_under_what_is_on_them(bend: float) -> None:
    class Ball:
        def __init__(self, along: tuple[float, ...] | None):
            self.along, self.bend, self.normal = along, bend, (0.0, 0.0, 1.0)

    d, side = np.array([0.3, -0.4, 1.2]), math.copysign(1.0, bend)
    assert np.allclose(_under(Ball(None), d)[:, 2], side * d / 1.3, atol=1e-15)  # type: ignore[arg-type]
    assert np.array_equal(_under(Ball(None), np.zeros(3))[:, 2], [0, 0, 1])  # type: ignore[arg-type]
    R = _under(Ball((0.0, 1.0, 0.0)), d)  # type: ignore[arg-type]
    assert np.allclose(R[:, 1], [0, 1, 0]) and np.allclose(
        R[:, 2], side * np.array([0.3, 0, 1.2]) / math.hypot(0.3, 1.2)
    )
    assert np.linalg.det(R) == pytest.approx(1.0)
    centre = _under(Ball((0.0, 1.0, 0.0)), np.array([0.0, 5.0, 0.0]))  # type: ignore[arg-type]
    assert np.allclose(centre.T @ centre, np.eye(3)) and np.allclose(centre[:, 1], [0, 1, 0])


# --- ways -------------------------------------------------------------------------------------------

LOOP = """
schema: 1
name: loop
world: {shapes: [{plane: {}}]}
bodies:
  a: {mass: 1, com: [0, 0, 0.5], inertia: [1, 1, 1], shapes: [{sphere: {center: [0, 0, 0.2], radius: 0.2}}]}
  b: {mass: 1, com: [1, 0, 0.5], inertia: [1, 1, 1]}
  c: {mass: 1, com: [2, 0, 0.5], inertia: [1, 1, 1]}
joints:
  neck: {type: spherical, parent: a, child: b, position: [0.5, 0, 0.5]}
  tube: {type: cylindrical, parent: b, child: c, position: [1.5, 0, 0.5], axis: [0, 1, 0]}
  tie: {type: universal, parent: a, child: c, position: [2, 0, 0.5], axis: [1, 0, 0], second_axis: [0, 1, 0]}
contacts: {ground: {between: [a, world]}}
"""


@pytest.fixture
def loop() -> tuple[Mechanism, np.ndarray]:
    model = compile(load_text(LOOP))
    begun = start(model)
    mechanism = Mechanism.of(model, begun.structure)
    mechanism.update(begun.q, begun.v)
    return mechanism, begun.q


def test_aims_have_their_places_among_coordinates_and_rates(loop: tuple[Mechanism, np.ndarray]) -> None:
    mechanism, q = loop
    model = mechanism.model
    a, neck, tube, tie = (model.joint(name) for name in ("a", "neck", "tube", "tie"))
    assert mechanism.structure.loops == (tie,)
    for joint, size, first, ball, at_q, at_v in (
        (a, 7, 0, 3, (0, 7), (0, 6)), (a, 3, 0, -1, (0, 3), (0, 3)), (a, 4, 3, 0, (3, 7), (3, 6)),
        (neck, 4, 0, 0, (7, 11), (6, 9)), (tube, 2, 0, -1, (11, 13), (9, 11)), (tube, 1, 1, -1, (12, 13), (10, 11)),
    ):  # fmt: skip
        aim = Aim(joint, np.zeros(size), first)
        assert ball_in(mechanism, aim) == ball
        assert (q_of(mechanism, aim), v_of(mechanism, aim)) == (slice(*at_q), slice(*at_v))
        assert np.array_equal(coordinate(mechanism, q, aim), q[slice(*at_q)])
    second = Aim(tie, np.array([0.5]), 1)
    column = model.columns_of(tie).start + 1
    mechanism.work.coordinate[column] = 0.75
    assert ball_in(mechanism, second) == -1 and second.columns(mechanism) == slice(column, column + 1)
    assert coordinate(mechanism, q, second).tolist() == [0.75]
    assert in_words(mechanism, Aim(tube, np.zeros(2)), np.array([0.25, math.pi / 6])) == "0.25 m, 30 deg"
    assert in_words(mechanism, Aim(tube, np.zeros(1), 1), np.array([math.pi])) == "180 deg"
    assert in_words(mechanism, Aim(neck, np.zeros(4)), np.zeros(4)) == ""


def test_a_way_goes_the_shorter_way_round(loop: tuple[Mechanism, np.ndarray]) -> None:
    mechanism, q = loop
    neck, tube, a = (mechanism.model.joint(name) for name in ("neck", "tube", "a"))
    q[11:13] = 0.5, -1.0
    way = leg_to(mechanism, q, Aim(tube, np.array([-0.5, 7.0])))
    assert way.rate.tolist() == [-1.0, 8.0] and way.at(0.25).tolist() == [0.25, 1.0] and way.ball == -1
    assert way.at(1.0) is way.aim.value and way.at(0.0).tolist() == [0.5, -1.0]
    first, turn = Rotation.from_rotvec([0.3, 0.2, -0.5]), np.array([0.48, -0.6, 0.64])
    q[7:11] = wxyz(first)
    for angle, taken in ((0.9, 0.9), (2.9, 2.9), (3.5, 3.5 - 2 * math.pi), (0.0, 0.0)):
        for sign in (1.0, -2.0):  # quaternions of any length, and of either sign
            end = first * Rotation.from_rotvec(angle * turn)
            way = leg_to(mechanism, q, Aim(neck, sign * wxyz(end)))
            assert np.allclose(way.rate, taken * turn, atol=1e-12) and way.ball == 0
            half = first * Rotation.from_rotvec(0.5 * taken * turn)
            assert np.allclose(rotation_of(way.at(0.5)), half.as_matrix(), atol=1e-12)
    q[:7] = 1.0, 2.0, 3.0, *wxyz(first)
    end = np.concatenate([[2.0, 0.0, 3.5], wxyz(first * Rotation.from_rotvec(0.8 * turn))])
    way = leg_to(mechanism, q, Aim(a, end))
    assert np.allclose(way.rate, [1.0, -2.0, 0.5, *(0.8 * turn)], atol=1e-12) and way.ball == 3
    there = way.at(0.25)
    assert np.allclose(there[:3], [1.25, 1.5, 3.125])
    assert np.allclose(rotation_of(there[3:]), (first * Rotation.from_rotvec(0.2 * turn)).as_matrix(), atol=1e-12)


def test_many_whole_turns_are_a_number_and_no_way(loop: tuple[Mechanism, np.ndarray]) -> None:
    """Of each freedom that turns by itself, from eleven on; how far a slide goes does not count."""
    mechanism, q = loop
    neck, tube, tie = (mechanism.model.joint(name) for name in ("neck", "tube", "tie"))
    turn, rate_of = 2.0 * math.pi, v_of(mechanism, Aim(tube, np.zeros(2)))

    def shortened(aim: Aim) -> tuple[Way, Leg, Leg]:
        leg = leg_to(mechanism, q, aim)
        way = Way(mechanism, q, [leg], [], NOWHERE, mechanism.locked())
        return way, leg, way._shortened(leg)

    q[11:13] = 0.25, -0.5
    for sign in (1.0, -1.0):
        way, leg, short = shortened(Aim(tube, np.array([70.25, -0.5 + sign * 11.25 * turn])))
        assert short.rate == pytest.approx([70.0, sign * 0.25 * turn], abs=1e-12)
        assert short.begin == pytest.approx([0.25, -0.5 + sign * 11.0 * turn], abs=1e-12)
        assert np.array_equal(way.rate[rate_of], short.rate) and short.at(1.0) is leg.aim.value
        way, leg, short = shortened(Aim(tube, np.array([70.25, -0.5 + sign * 10.75 * turn])))
        assert short is leg and np.array_equal(way.rate[rate_of], leg.rate)
    columns = Aim(tie, np.zeros(2)).columns(mechanism)
    begun = coordinate(mechanism, q, Aim(tie, np.zeros(2)))
    way, leg, short = shortened(Aim(tie, begun + np.array([1.5, 20.125 * turn])))
    assert short.begin == pytest.approx(begun + np.array([0.0, 20.0 * turn]), abs=1e-12)
    assert short.rate == pytest.approx([1.5, 0.125 * turn], abs=1e-12)
    assert np.array_equal(mechanism.control.turn[columns], short.begin)
    _, leg, short = shortened(Aim(neck, np.array([0.0, 0.0, 1.0, 0.0])))
    assert short is leg


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_half_a_turn_goes_the_way_that_its_quaternion_tells(loop: tuple[Mechanism, np.ndarray], sign: float) -> None:
    mechanism, q = loop
    neck = mechanism.model.joint("neck")
    way = leg_to(mechanism, q, Aim(neck, np.array([0.0, 0.0, sign, 0.0])))
    assert np.allclose(way.rate, [0.0, sign * math.pi, 0.0], atol=1e-15)


def test_aims_are_tried_together_then_one_by_one_then_by_their_parts(loop: tuple[Mechanism, np.ndarray]) -> None:
    mechanism, _ = loop
    a, neck, tube = (mechanism.model.joint(name) for name in ("a", "neck", "tube"))
    free, ball, both = Aim(a, np.arange(7.0)), Aim(neck, np.arange(4.0)), Aim(tube, np.array([0.5, 0.6]))

    def said(aims: list[Aim]) -> list[tuple[int, int, list[float]]]:
        return [(aim.joint, aim.first, aim.value.tolist()) for aim in aims]

    assert said(_parts(mechanism, both)) == [(tube, 0, [0.5]), (tube, 1, [0.6])]
    assert said(_parts(mechanism, free)) == [(a, 3, [3.0, 4.0, 5.0, 6.0]), (a, 0, [0.0, 1.0, 2.0])]
    assert _parts(mechanism, ball) == [ball]
    order = [[said(group) for group in way] for way in _orders(mechanism, [both, ball])]
    whole, turn, one, two = said([both]), said([ball]), [(tube, 0, [0.5])], [(tube, 1, [0.6])]
    assert order == [
        [whole + turn], [whole, turn], [turn, whole], [one, two, turn], [turn, two, one],
    ]  # fmt: skip
    assert [[said(group) for group in way] for way in _orders(mechanism, [ball])] == [[turn]]
    assert [[said(group) for group in way] for way in _orders(mechanism, [both])] == [[whole], [one, two], [two, one]]


# --- least steps ------------------------------------------------------------------------------------


def test_the_least_step_closes_what_can_be_closed() -> None:
    rng = np.random.default_rng(8)
    B = rng.normal(size=(5, 5))
    M, A, b = B @ B.T + np.eye(5), rng.normal(size=(3, 5)), rng.normal(size=3)
    W = np.linalg.inv(M)
    expected = W @ A.T @ np.linalg.solve(A @ W @ A.T, b)
    assert np.allclose(least(A, M, b), expected, atol=1e-12)
    twice = least(np.vstack([A, A[:1] + A[1:2]]), M, np.append(b, b[0] + b[1]))  # a row that repeats others
    assert np.allclose(twice, expected, atol=1e-12)
    against = least(np.vstack([A[:1], A[:1]]), M, np.array([1.0, 2.0]))  # rows that contradict: half way
    assert np.allclose(A[:1] @ against, [1.5])
    assert least(np.zeros((2, 5)), M, np.ones(2)).tolist() == [0.0] * 5
    assert (
        least(np.zeros((0, 5)), M, np.zeros(0)).tolist() == [0.0] * 5
        and least(np.zeros((2, 0)), M[:0, :0], b[:2]).size == 0
    )
    assert np.allclose(root(M) @ root(M).T, M)
    bare = np.diag([4.0, 0.0, 1.0])  # what has no inertia moves at a small price
    assert np.allclose(root(bare) @ root(bare).T, bare + 4e-6 * np.eye(3), rtol=1e-12)
    assert np.allclose(root(np.zeros((2, 2))), np.eye(2))


def test_bonds_are_open_by_what_their_jacobian_moves(loop: tuple[Mechanism, np.ndarray]) -> None:
    """Rows of a loop, coordinates that its last joint is to have, and a point that stands, off all of them."""
    mechanism, q = loop
    model, rng = mechanism.model, np.random.default_rng(9)
    standing = standing_at(mechanism, q, [True])[0]
    n = mechanism.structure.sizes.v
    tie = model.joint("tie")
    aims = (Aim(tie, np.array([0.3]), 1), Aim(tie, np.array([0.1, -0.2])))
    bonds = Bonds(mechanism, mechanism.locked(), aims, standing)
    at = q.copy()
    add_freedoms(mechanism.structure.tables.links, rng.normal(0, 0.05, n), 1.0, at)
    mechanism.update(at, np.zeros(n))
    missed = bonds.open_by()
    columns = mechanism.work.coordinate[model.columns_of(tie)]
    L = model.length
    assert len(missed) == 4 + 3 + 3 and len(standing) == 3
    assert np.allclose(missed[4:7], L * np.array([columns[1] - 0.3, columns[0] - 0.1, columns[1] + 0.2]), atol=1e-14)
    assert np.array_equal(missed[:4], mechanism.work.rows.phi) and np.array_equal(missed[7:], standing.off(mechanism))
    assert bonds.worst() == np.abs(missed).max() and not bonds.large
    J = bonds.jacobian()
    R = rates_of_loops(mechanism, aims)
    assert [r.shape for r in R] == [(1, n), (2, n)] and np.array_equal(R[0], R[1][1:])
    free = np.ones(n, bool)
    free[[0, 4]] = False
    step = bonds.newton(free)
    assert not step[~free].any() and step.any()
    M = mechanism.inertia()[np.ix_(free, free)]
    assert np.allclose(step[free], least(J[:, free], M, -missed), atol=1e-12)
    for k in range(n):
        ends = []
        for side in (1e-6, -1e-6):
            near = at.copy()
            add_freedoms(mechanism.structure.tables.links, side * np.eye(n)[k], 1.0, near)
            mechanism.update(near, np.zeros(n))
            ends.append(bonds.open_by())
        assert np.allclose((ends[0] - ends[1])[4:] / 2e-6, J[4:, k], rtol=0.0, atol=0.15)  # nearly: it stands off
        assert np.allclose((ends[0] - ends[1])[4:7] / 2e-6, J[4:7, k], rtol=0.0, atol=0.15)


def test_freedoms_that_are_held_resist_without_end(loop: tuple[Mechanism, np.ndarray]) -> None:
    mechanism, _ = loop
    fixed = np.zeros(mechanism.structure.sizes.v, bool)
    fixed[[1, 7]] = True  # of the free body, of the ball joint
    tables = held(mechanism.structure.tables, fixed)
    assert np.isinf(tables.freedoms.armature).tolist() == fixed.tolist()
    assert tables.links.ball.tolist() == [-1] * 4
    assert mechanism.structure.tables.links.ball.tolist() == [-1, 3, 6, -1]
    assert np.isfinite(mechanism.structure.tables.freedoms.armature).all()


# --- which method stepped ---------------------------------------------------------------------------


def test_turns_of_methods_are_told() -> None:
    first = first_turn(0.0, "auto")
    assert (first.method, first.steps, str(first)) == ("dop853", 0, "dop853 from 0 s: nothing stiff has been met")
    assert str(first_turn(0.25, "rk4")) == "rk4 from 0.25 s: the scene says so"
    stiff = next_turn(0.5, 3, 40, 1.5e4, 2e-4, vain=False)
    back = next_turn(1.25, 0, 70, 30.0, 0.1, vain=True)
    unchanged = next_turn(1.5, 0, 90, 30.0, 0.1, vain=False)
    assert str(stiff) == (
        "radau from 0.5 s: stiff: stability holds the steps of dop853 at 2.0e-04 s, "
        "as motions join or part at 1.5e+04 1/s"
    )
    assert back.why == "implicit steps cost more than the explicit ones before (largest rate 3.0e+01 1/s)"
    assert unchanged.why == "no longer stiff (largest rate 3.0e+01 1/s)" and (unchanged.method, unchanged.steps) == (
        "dop853",
        90,
    )
    assert account([first, stiff, back], 2.0, 100) == [
        "dop853 from 0 to 0.5 s, 40 steps: nothing stiff has been met",
                f"radau from 0.5 to 1.25 s, 30 steps: {stiff.why}",
        f"dop853 from 1.25 to 2 s, 30 steps: {back.why}",
    ]  # fmt: skip
    many = [first, stiff, back, Turn(1.5, "radau", 80, "again"), Turn(1.75, "dop853", 85, "done")]
    assert account(many, 2.0, 100) == [
        "dop853 for 1 s, 65 steps; radau for 1 s, 35 steps; 4 changes", f"first {stiff}",
                "last dop853 from 1.75 s: done",
    ]  # fmt: skip
    assert len(account(many[:4], 2.0, 100)) == 4


def test_only_all_rows_of_a_large_mechanism_alone_are_left_to_the_elimination_of_a_run(
    loop: tuple[Mechanism, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism, q = loop
    monkeypatch.setattr("sim.assembly.loop_closure.LARGE", 10)
    hard, n = mechanism.hard(), mechanism.structure.sizes.v
    assert n == 11 and Bonds(mechanism, hard).large
    assert not Bonds(mechanism, np.zeros(len(hard), bool)).large  # others than those that a run keeps
    assert not Bonds(mechanism, hard, (Aim(mechanism.model.joint("tie"), np.zeros(1)),)).large
    assert not Bonds(mechanism, hard, (), standing_at(mechanism, q, [True])[0]).large
    monkeypatch.setattr("sim.assembly.loop_closure.LARGE", 11)
    assert not Bonds(mechanism, hard).large
