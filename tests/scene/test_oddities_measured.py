"""What warnings of oddities measure: turns of every joint, angles of rotations, lengths; and where each begins."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import sim
from sim.oddities import _angle_between, _angles, _distance, _reach, _text_at
from sim.scene.load import load_text
from sim.scene.problem import Place
from tests.scene.test_oddities import BALL, HEAD, PD, arm, warnings

pytestmark = pytest.mark.fast


def told(text: str) -> list[tuple[str, str]]:
    return [(found.path, found.what) for found in warnings(text)]


@pytest.mark.parametrize(
    ("kind", "axes", "value", "turns"),
    [
        ("rotational", "axis: [0, 1, 0]", "7", ["7"]), ("translational", "axis: [0, 1, 0]", "7", []),
        ("cylindrical", "axis: [0, 1, 0]", "[7, 8]", ["8"]), ("planar", "axis: [0, 1, 0]", "[7, 8, -9]", ["-9"]),
        ("universal", "axis: [0, 1, 0], second_axis: [0, 0, 1]", "[-7, 8]", ["-7", "8"]),
        ("universal", "axis: [0, 1, 0], second_axis: [0, 0, 1]", "[1, 8]", ["8"]),
    ],
)  # fmt: skip
def test_freedoms_that_turn_are_told_beyond_a_turn(kind: str, axes: str, value: str, turns: list[str]) -> None:
    text = arm(kind=kind, place=f"[0.5, 0, 0], {axes}", more=f"initial: {{elbow: {value}}}")
    wanted = [f"{turn} rad are {abs(float(turn)) / (2 * math.pi):.3g} turns of 'elbow'" for turn in turns]
    found = told(text)
    assert [what for _, what in found] == wanted and {path for path, _ in found} <= {"initial.elbow"}


def test_a_turn_is_no_more_than_a_turn() -> None:
    for value, count in (("360 deg", 0), ("-360 deg", 0), ("360.001 deg", 1), ("-360.001 deg", 1), ("6.2832", 1)):
        assert len(told(arm(more=f"initial: {{hinge: {value}}}"))) == count
        assert len(told(arm(more=f"events: {{go: {{at: 1 s, set: {{hinge: {value}}}}}}}"))) == count
        assert len(told(arm(more=PD.replace("TARGET", value)))) == count
        assert len(told(arm(limits=f", stiffness: 2, rest: {value}"))) == count
        assert told(arm(limits=f", rest: {value}")) == []  # of no spring
    for limits, count in (("[-6.283, 6.283]", 0), ("[-6.284, 6]", 1), ("[-6, 6.284]", 1), ("[-inf, 6]", 0)):
        assert len(told(arm(limits=f", limits: {limits}"))) == count


def test_all_angles_that_a_scene_gives_are_looked_at() -> None:
    text = arm(
        limits=", stiffness: 2, rest: 0.25",
        more="initial: {hinge: 0.5, elbow: {rate: 3}}\n"
        "events: {go: {at: 1 s, set: {elbow: 0.75, hinge: {rate: 1}}}, more: {at: 0.9 s, set: {hinge: 1}}}\n"
        "controllers:\n"
        "  one: {type: pd, joints: [hinge, elbow], kp: 5, target: 1.25}\n"
        "  two: {type: pd, joints: [elbow, hinge], kp: 5, target: {elbow: 1.5, hinge: '1 rad/s*t'}}\n"
        "  three: {type: pd, joints: elbow, kp: 5}\n"
        "  four: {type: torque, torques: {elbow: 1 N m}}\n",
    )
    scene = load_text(text)
    found = list(_angles(scene))
    assert [one[1:] for one in found] == [
        ("initial.hinge", "hinge", (0.5,)), ("events.go.set.elbow", "elbow", (0.75,)),
        ("events.more.set.hinge", "hinge", (1.0,)), ("joints.hinge.rest", "hinge", (0.25,)),
        ("controllers.one.target", "hinge", (1.25,)), ("controllers.one.target", "elbow", (1.25,)),
        ("controllers.two.target", "elbow", (1.5,)),
    ]  # fmt: skip
    lines = text.splitlines()
    where = [lines[one[0].line - 1][one[0].column - 1 :] for one in found if one[0] is not None]
    begin = ["0.5", "0.75", "1}", "0.25", "1.25}", "1.25}", "{elbow: 1.5"]
    assert len(where) == 7 and all(text.startswith(start) for text, start in zip(where, begin, strict=True))


@pytest.mark.parametrize("seed", range(5))
def test_the_angle_between_two_rotations_is_that_of_the_one_that_is_left(seed: int) -> None:
    a, b = np.random.default_rng(seed).normal(0.0, 1.5, (2, 3))
    expected = (Rotation.from_rotvec(a).inv() * Rotation.from_rotvec(b)).magnitude()
    assert _angle_between(a, b) == pytest.approx(expected, abs=1e-7)
    assert _angle_between(a, a) == pytest.approx(0.0, abs=1e-7)
    assert _angle_between(np.zeros(3), np.array([0.0, 1.2, 1.6])) == pytest.approx(2.0, abs=1e-12)
    assert _angle_between(np.zeros(3), np.array([0.0, 3.0, 4.0])) == pytest.approx(2 * math.pi - 5.0, abs=1e-12)


def test_half_a_turn_is_near_from_160_degrees_on() -> None:
    for angle, count in ((159.9, 0), (160.1, 1), (-160.1, 1), (200.1, 0)):
        spring = f"initial: {{elbow: {{axis_angle: {{axis: [0.6, 0, 0.8], angle: {angle} deg}}}}}}"
        assert len(told(arm(kind="spherical", place=BALL + ", stiffness: 3", more=spring))) == count
        assert told(arm(kind="spherical", place=BALL, more=spring)) == []
        held = PD.replace("TARGET", f"{{elbow: [0, {angle} deg, 0]}}")
        assert len(told(arm(kind="spherical", place=BALL, more=held))) == count
    both = PD.replace("TARGET", "{elbow: [0, 1.5, 0]}") + "\ninitial: {elbow: {rpy: [0, -80 deg, 0]}}"
    (found,) = told(arm(kind="spherical", place=BALL, more=both))
    assert found == (
        "controllers.hold.target", f"'elbow' starts {80 + math.degrees(1.5):.4g} deg from its target, about half a turn"
    )  # fmt: skip


def shape(kind: str, *size: float) -> Any:
    return SimpleNamespace(kind=kind, size=size)


def test_shapes_reach_as_far_as_a_ball_about_them() -> None:
    assert _reach(shape("sphere", 0.3, 0.3, 0.3)) == 0.3
    assert _reach(shape("ellipsoid", 0.3, 0.7, 0.2)) == 0.7
    assert _reach(shape("capsule", 0.3, 0.3, 0.8)) == pytest.approx(0.7)
    assert _reach(shape("cylinder", 0.3, 0.3, 0.8)) == pytest.approx(0.5)
    assert _reach(shape("box", 0.4, 0.6, 1.2)) == pytest.approx(0.7)


def test_a_body_is_as_far_and_as_large_as_what_it_consists_of() -> None:
    parts = [
        ("", np.array([4.0, 3.0, 0.0]), 0.0), ("own", np.zeros(3), 0.0), ("", np.array([8.0, 6.0, 1.0]), 2.0),
        ("other", np.array([3.0, 9.0, 2.0]), 0.0),
    ]  # fmt: skip
    p = np.array([1.0, -1.0, 0.0])
    near, size = _distance(parts, p, None, "own")
    centre = np.array([5.0, 6.0, 1.0])
    assert near == pytest.approx(5.0)
    assert size == pytest.approx(2.0 * (3.0 + 2.0)) and np.linalg.norm(np.array([3.0, 9.0, 2.0]) - centre) < 5.0
    near, _ = _distance(parts, p, np.array([0.6, 0.8, 0.0]), "own")  # from a line: arms less what is along it
    arms = [np.array([3.0, 4.0, 0.0]), np.array([7.0, 7.0, 1.0]), np.array([2.0, 10.0, 2.0])]
    across = [np.linalg.norm(np.cross(arm, [0.6, 0.8, 0.0])) for arm in arms]
    assert near == pytest.approx(max(min(across[0], across[1] - 2.0, across[2]), 0.0), abs=1e-12)
    assert _distance(parts, np.array([8.0, 7.0, 1.0]), None, "own")[0] == 0.0  # inside
    assert _distance(parts, np.zeros(3), None, "none")[0] == 0.0  # with its own joint


@pytest.mark.parametrize(
    ("shape", "size", "most"),
    [
        ("sphere: {radius: SIZE}", 1.0, 1.0), ("ellipsoid: {radii: [2*SIZE, SIZE, 3*SIZE]}", 1.0, 1.0),
        ("box: {size: [2*SIZE, 3*SIZE, SIZE]}", 1.0, 1.0),
        ("cylinder: {from: [0, 0, 0], to: [0, 0, 1 mm], radius: SIZE}", 1.0, 1.0),
        ("capsule: {from: [0, 0, 0], to: [0, 0, 90 m], radius: SIZE}", 1.0, 1.0),
    ],
)  # fmt: skip
def test_a_shape_is_huge_beyond_ten_times_the_scene(shape: str, size: float, most: float) -> None:
    """Joints and centres of mass are within a diagonal of 0.7 m."""
    text = (
        HEAD
        + """
bodies:
  a: {mass: 1 kg, com: [0.2, 0.3, 0.6], inertia: [1, 1, 1], shapes: [{SHAPE}]}
joints: {hinge: {type: rotational, parent: world, child: a, position: [0, 0, 0], axis: [0, 1, 0]}}
"""
    )
    for radius, count in ((6.99, 0), (7.01, 1)):
        found = told(text.replace("SHAPE", shape.replace("SIZE", f"{radius} m")))
        assert len(found) == count, found
    kind = shape.partition(":")[0]
    assert found == [("bodies.a.shapes", f"a {kind} of 7.01 m, where all joints and centres of mass are within 0.7 m")]


def test_a_joint_is_far_beyond_twice_the_size_of_both_bodies() -> None:
    """Each body is 0.54 m large from its centre of mass and its other joint on; the elbow is taken away from both."""
    text = (
        HEAD
        + """
bodies:
  a: {mass: 1 kg, com: [0, 0, 0], inertia: [1, 1, 1], points: {p: [1, 0, 0]}}
  b: {mass: 1 kg, com: [1, 0, 0], inertia: [1, 1, 1], points: {q: [1, 2, 0]}}
joints:
  elbow: {type: spherical, parent: a, child: b, position: [0.5, Y, 0]}
"""
    )
    size = 2.0  # of b, the larger
    for y, count in ((-3.96, 0), (-3.98, 1)):
        found = told(text.replace("Y", str(y)))
        distance = math.hypot(0.5, y)
        assert (distance > 2 * size) == bool(count) and len(found) == count, (y, found)
    assert found == [
        ("joints.elbow.position", f"it is {distance:.3g} m from 'a' and {distance:.3g} m from 'b', which are 2 m large")
    ]


def test_the_text_at_a_place_ends_with_its_list_or_line() -> None:
    lines = "one: [1,\n  2 deg]\nthree: 4 # five\n"
    scene: Any = SimpleNamespace(sources={"f": lines})
    assert _text_at(scene, Place("f", 1, 6)) == "[1,\n  2 deg]"
    assert _text_at(scene, Place("f", 3, 8)) == "4 # five"
    assert _text_at(scene, Place("g", 3, 8)) == ""


def test_what_is_said_of_one_of_a_group_is_said_of_all() -> None:
    bodies = "".join(
        f"  {name}: {{mass: 1 kg, com: [{k}, 0, 2], inertia: [1, 1, 1]}}\n" for k, name in enumerate("pqr")
    )
    text = arm().replace("joints:", bodies + "joints:\n  pq: {type: spherical, parent: p, child: q, position: BALL}", 1)
    text = text.replace("position: BALL", "position: [0.5, 0, 2]")
    alone = [path for path, _ in told(text)]
    assert alone == ["bodies.p", "bodies.r"]
    for more in (
        "initial: {p: {rate: [1, 0, 0, 0, 0, 0]}}", "forces: {f: {type: wrench, body: q, force: [1, 0, 0]}}",
        "forces: {f: {type: drag, body: q, linear: 1}}",
        "events: {e: {at: 1 s, impulse: {body: q, linear: [1, 0, 0]}}}",
        "forces: {f: {type: spring, from: q.com, to: upper.com, stiffness: 1}}",
    ):  # fmt: skip
        try:
            found = told(text + more + "\n")
        except sim.SceneError as error:
            raise AssertionError(more) from error
        assert [path for path, _ in found] == ["bodies.r"], more
