"""What the types of joints say, beside what is written here by hand, and beside the oracle's own description."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.analysis.verification import oracle_joints
from sim.joints import JOINT_TYPES
from sim.joints.joint_type import SKEW, JointType, X, Y, Z, ball, slide, turn
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
