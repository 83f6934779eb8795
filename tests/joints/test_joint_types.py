"""What the types of joints say, beside what is written here by hand, and beside the oracle's own description."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.analysis.verification import oracle_joints
from sim.joints import JOINT_TYPES
from sim.joints.joint_type import BALL, SKEW, JointType, X, Y, Z, ball, slide, turn
from sim.kernels.tables import UNIVERSAL_ROW
from sim.mechanism.frames import Pose
from sim.mechanism.joint_motion import coordinates, motion, open_by, rates
from sim.scene.vocabulary import definition

pytestmark = pytest.mark.fast

# What each leaves free: translations of F, turns about axes of F, and about those of M with a prime; h: with a pitch.
FREE = {
    "fixed": "", "rotational": "rz", "translational": "z", "cylindrical": "z rz", "universal": "rx rz'",
    "planar": "x y rz", "spherical": "rx' ry' rz'", "free": "x y z rx' ry' rz'", "helical": "hz",
}  # fmt: skip
WORDS = ["x", "y", "z", "rx", "ry", "rz", "", "rx'", "ry'", "rz'"]
PITCH = 0.07  # m/rad


@pytest.mark.parametrize("name", JOINT_TYPES)
def test_each_joint_locks_what_it_does_not_leave_free(name: str) -> None:
    """Translations x, y, z of F are 0-2, turns 3-5; of M's axes 7-9.  What is locked and what is free makes six."""
    kind, said = JOINT_TYPES[name], FREE[name].replace("h", "r").split()
    codes = [WORDS.index(word) for word in said]
    assert list(kind.free) == codes and kind.freedoms == len(codes)
    assert list(kind.linear) == [int("r" not in word) for word in said]
    assert kind.units == tuple("rad" if "r" in word else "m" for word in said)
    assert kind.coordinates == len(codes) + (name in ("spherical", "free")) == len(kind.zero)
    left = [k for k in range(6) if WORDS[k] not in [word.rstrip("'") for word in said]]
    assert list(kind.locked) == ([0, 1, 2, SKEW] if name == "universal" else left)
    assert kind.pitched == ("h" in FREE[name]) and SKEW == UNIVERSAL_ROW
    assert kind.ball == {"spherical": 0, "free": 3}.get(name, -1)
    axes = {"universal": ("axis", "second_axis"), "planar": ("axis",)}
    assert kind.needed == axes.get(name, () if name in ("fixed", "spherical", "free") else ("axis",))


def test_the_schema_has_the_types_of_the_room() -> None:
    assert definition("joint")["properties"]["type"]["enum"] == list(JOINT_TYPES)
    assert set(definition("joint")["properties"]["type"]["x-also"].values()) <= set(JOINT_TYPES)


@pytest.mark.parametrize("name", JOINT_TYPES)
def test_the_oracle_describes_the_same_joints(name: str) -> None:
    """It keeps its own description: what is locked and what is free, in its own words."""
    kind = JOINT_TYPES[name]
    follows = oracle_joints.FOLLOWS.get(name, ())
    locked = sorted((*oracle_joints.SLIDES[name], *follows, *(3 + k for k in oracle_joints.TURNS[name])))
    assert locked == [code for code in kind.locked if code != SKEW] and bool(follows) == kind.pitched
    said = [
        {("slide", "F"): 0, ("turn", "F"): 3, ("turn", "M"): 7}[what, frame] + axis
        for what, frame, axis in oracle_joints.FREEDOMS[name]
    ]
    assert said == list(kind.free)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", JOINT_TYPES)
def test_coordinates_are_read_back_from_the_frames_that_they_place(name: str, seed: int) -> None:
    kind, rng = JOINT_TYPES[name], np.random.default_rng(seed)
    q = rng.normal(size=kind.coordinates)
    if kind.ball >= 0:
        q[-4:] = Rotation.random(random_state=seed).as_quat(scalar_first=True, canonical=True)
    if kind.pitched:
        q += 2.0 * np.pi * (seed - 1) * 4  # which the slide tells
    X_FM = motion(kind, q, PITCH)
    found = coordinates(kind, X_FM, PITCH)
    assert found == pytest.approx(q, abs=1e-12)
    assert open_by(kind, X_FM, PITCH) == pytest.approx((0.0, 0.0), abs=2e-8)
    away = Pose(X_FM.p + np.array([0.003, -0.004, 0.0]), X_FM.R)
    missed = {"planar": 0.0, "free": 0.0}.get(name, 0.005)
    assert open_by(kind, away, PITCH)[0] == pytest.approx(missed, abs=1e-12)


@pytest.mark.parametrize("name", JOINT_TYPES)
def test_rates_are_those_of_the_frames(name: str) -> None:
    """By a difference of two poses, their motion told in world axes."""
    kind, rng, h = JOINT_TYPES[name], np.random.default_rng(5), 1e-5
    q, v = rng.normal(size=kind.coordinates), rng.normal(size=kind.freedoms)
    F = Rotation.random(random_state=1).as_matrix()
    if kind.ball >= 0:
        q[-4:] /= np.linalg.norm(q[-4:])

    def at(t: float) -> Pose:
        moved = q.copy()
        plain = kind.ball if kind.ball >= 0 else kind.freedoms
        moved[:plain] += t * v[:plain]
        if kind.ball >= 0:
            turned = Rotation.from_quat(q[-4:], scalar_first=True) * Rotation.from_rotvec(t * v[plain:])
            moved[-4:] = turned.as_quat(scalar_first=True)
        return motion(kind, moved, PITCH)

    ahead, back, now = at(h), at(-h), at(0.0)
    W = (ahead.R - back.R) @ now.R.T / (2.0 * h)
    w, u = F @ [W[2, 1], W[0, 2], W[1, 0]], F @ (ahead.p - back.p) / (2.0 * h)
    assert rates(kind, F, F @ now.R, w, u) == pytest.approx(v, abs=1e-9)


def test_what_directs_the_axes_is_asked_for_where_it_matters() -> None:
    needed = {name: kind.needed for name, kind in JOINT_TYPES.items() if kind.needed}
    both = ("axis", "second_axis")
    assert needed.pop("universal") == both and set(needed.values()) == {("axis",)}
    assert JOINT_TYPES["planar"].keys == both
    pin_in_slot = JointType(name="slot", motions=(slide(X), turn(Z)), z="axis", x="second_axis")
    assert pin_in_slot.needed == both and pin_in_slot.locked == (1, 2, 3, 4) and pin_in_slot.free == (0, 5)


def products() -> list[JointType]:
    """Return all types that slides, turns and a ball can make, and those of the room, made anew."""
    slides = [tuple(map(slide, axes)) for n in range(4) for axes in combinations((X, Y, Z), n)]
    odd = [(*some, *turns) for some in slides for turns in ((), (turn(Z),), (turn(X), turn(Z)))]
    odd += [(*some, ball()) for some in (slides[0], slides[-1])]
    made = [JointType(name="odd", motions=motions, z="axis", x="second_axis") for motions in odd]
    return [*made, *(replace(kind) for kind in JOINT_TYPES.values())]


def freedoms_of(kind: JointType, q: np.ndarray) -> np.ndarray:
    """Return (freedoms, 6) the motion of M for a unit rate of each, w and velocity of its origin, by differences."""
    out, h, R = [], 1e-6, motion(kind, q, PITCH).R
    for i in range(sum(3 if one.kind == BALL else 1 for one in kind.motions)):
        ends = []
        for side in (h, -h):
            moved, first = q.copy(), len(q) - 4
            if any(one.kind == BALL for one in kind.motions) and i >= first:
                turned = Rotation.from_rotvec(side * np.eye(3)[i - first])
                whole = Rotation.from_quat(q[-4:], scalar_first=True) * turned
                moved[-4:] = whole.as_quat(scalar_first=True)
            else:
                moved[i] += side
            ends.append(motion(kind, moved, PITCH))
        W = (ends[0].R - ends[1].R) @ R.T / (2.0 * h)
        out.append([W[2, 1], W[0, 2], W[1, 0], *(ends[0].p - ends[1].p) / (2.0 * h)])
    return np.array(out).reshape(-1, 6)


@pytest.mark.parametrize("kind", products(), ids=lambda kind: kind.name)
def test_what_a_type_says_of_itself_is_what_its_motion_does(kind: JointType) -> None:
    """Every product of motions, moved by differences at a pose without a pattern."""
    rng = np.random.default_rng(3)
    ball_first = next((i for i, one in enumerate(kind.motions) if one.kind == BALL), -1)
    zero = np.array([1.0 if i == ball_first else 0.0 for i in range(len(kind.motions) + 3 * (ball_first >= 0))])
    q = rng.uniform(0.3, 1.2, len(zero))
    q[-4:] = q[-4:] / np.linalg.norm(q[-4:]) if ball_first >= 0 else q[-4:]
    X_FM = motion(kind, q, PITCH)
    R, moves, first = X_FM.R, freedoms_of(kind, q), freedoms_of(kind, zero)
    w, v = moves[:, :3], moves[:, 3:]

    def close(a: np.ndarray, b: np.ndarray) -> bool:
        return bool(np.allclose(a, b, rtol=0.0, atol=1e-8))

    assert kind.zero == tuple(zero) and kind.coordinates == len(zero) and kind.freedoms == len(moves)
    assert kind.ball == ball_first
    turning = [not close(one, np.zeros(3)) for one in w]
    assert list(kind.linear) == [int(not turns) for turns in turning]
    assert list(kind.units) == ["rad" if turns else "m" for turns in turning]
    # The direction of each rate, and of its axis before all others have moved.
    axes = [R[:, code - 7] if code > 6 else np.eye(3)[:, code % 3] for code in kind.free]
    for i, (code, axis) in enumerate(zip(kind.free, axes, strict=True)):
        assert turning[i] == (code >= 3) and close(w[i] if turning[i] else v[i], axis)
        assert turning[i] is False or close(v[i], PITCH * axis if kind.pitched else np.zeros(3))
        assert close(first[i, :3] if turning[i] else first[i, 3:], np.eye(3)[kind.along[i]])
    # No work of what it locks, and nothing else is left.
    pitch = PITCH if kind.pitched else 0.0
    skew = np.cross(R[:, Z], np.eye(3)[X])
    for code in kind.locked:
        along = skew if code == SKEW else np.eye(3)[code % 3]
        assert close(v @ along - pitch * (w @ along) if code < 3 else w @ along, np.zeros(len(w)))
    assert len(set(kind.locked)) == 6 - np.linalg.matrix_rank(moves, tol=1e-6) and kind.freedoms + len(kind.locked) == 6
    assert kind.locks_all_turns == close(R, np.eye(3))
    # Slides that turns turn among themselves.
    slides = v[[not turns for turns in turning]].T
    turned = R @ slides
    inside = close(slides @ slides.T @ turned, turned)
    assert kind.rides == (bool(slides.size) and inside and not close(turned, slides))
    fixed_axes = [i for i in range(len(moves)) if kind.ball < 0]
    assert kind.bends == (not close(moves[fixed_axes], first[fixed_axes]))
    on_z = bool(len(moves)) and close(np.delete(moves, [2, 5], axis=1), np.zeros((len(moves), 4))) and kind.ball < 0
    assert kind.on_one_line == on_z
    assert kind.is_somewhere == (any(turning) and not kind.own_frames)
    assert kind.about_a_point == (bool(turning) and all(turning))
    assert kind.lists_coordinates == (bool(turning) and len(zero) == len(turning))
    # Coordinates from the frames; of what is no angle there is nothing to read.
    assert coordinates(kind, X_FM, PITCH) == pytest.approx(q, abs=1e-12)
    assert rates(kind, np.eye(3), R, w.sum(axis=0), v.sum(axis=0)) == pytest.approx(np.ones(len(moves)), abs=1e-8)
    angles = [i for i, turns in enumerate(turning) if turns and kind.ball < 0]
    assert list(kind.angles) == angles and len(kind.measured) == kind.freedoms
    assert {kind.measured[i] for i in range(len(moves)) if i not in angles} <= {((0, 0), (0, 0), 0)}
    # Frames may be turned about z where the joint lets as much move as before.
    spun = np.kron(np.eye(2), Rotation.from_rotvec([0.0, 0.0, 0.7]).as_matrix()) @ first.T
    same = np.linalg.matrix_rank(np.column_stack([first.T, spun]), tol=1e-6) == len(first)
    directed = {"axis": kind.z == "axis" or not same, "second_axis": kind.z == "second_axis" or not same}
    keys = [key for key in ("axis", "second_axis") if key in (kind.z, kind.x)]
    assert list(kind.keys) == keys and list(kind.needed) == [key for key in keys if directed[key]]


@pytest.mark.parametrize(
    ("motions", "why"),
    [
        ((turn(Z), slide(Z)), "slides come first"), ((ball(), slide(X)), "slides come first"),
        ((slide(X), ball()), "slides come first"), ((turn(Y),), "no rows"), ((turn(Z), turn(X)), "no rows"),
        ((turn(X), turn(Z, pitched=True)), "only the first"), ((turn(Z), ball()), "no rows"),
    ],
)  # fmt: skip
def test_products_that_nothing_can_close_a_loop_with_are_refused(motions: tuple, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        JointType(name="odd", motions=motions)
