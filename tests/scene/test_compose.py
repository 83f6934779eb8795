"""Parameters, includes, repeats and mirrors: what they make, in numbers."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.scene.load import load, load_text
from sim.scene.mirror import Mirror
from sim.scene.problem import SceneError
from sim.scene.rotation import from_axis_angle, from_rpy, from_vector, rotate, unit
from tests.scene.examples import PENDULUM, by_name, scene_of

pytestmark = pytest.mark.fast


def write(folder, **files):
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text("schema: 1\n" + text, encoding="utf-8")
    return folder


# ---- parameters ----

PARAMETERS = """\
parameters:
  height: {value: 120, unit: cm, range: [50, 250], about: height}
  half: height/2
  count: 3
bodies:
  bob: {mass: 1 kg, com: [0, half, 0.1*height]}
"""


def test_parameters_use_those_above_them():
    scene = scene_of(PARAMETERS)
    assert scene.parameters == {"height": 1.2, "half": 0.6, "count": 3.0}
    assert scene.bodies[0].com == pytest.approx((0, 0.6, 0.12))


@pytest.mark.parametrize(("value", "height"), [("2 m", 2.0), (200, 2.0), ("200", 2.0), ("1 m + 50 cm", 1.5)])
def test_set_overrides_a_parameter_and_bare_numbers_are_in_its_unit(value, height):
    assert scene_of(PARAMETERS, set={"height": value}).parameters["half"] == pytest.approx(height / 2)


@pytest.mark.parametrize(
    ("settings", "path", "what"),
    [
        ({"hight": 1}, "set['hight']", "no parameter named 'hight'"),
        ({"height": "2 kg"}, "set['height']", "expected a length (m), found a mass (kg)"),
        ({"height": "3 m"}, "set['height']", "3 m is outside the range 50 to 250 of the parameter"),
        ({"height": "2 mm m"}, "set['height']", "expected a length (m), found m^2"),
        ({"height": "1:30"}, "set['height']", "1:30 counts in sixties in YAML"),
        ({"height": "tall"}, "set['height']", "no parameter or unit named 'tall'"),
    ],
)
def test_set_is_checked(settings, path, what):
    with pytest.raises(SceneError) as caught:
        scene_of(PARAMETERS, set=settings)
    (problem,) = caught.value.problems
    assert (problem.where, problem.path, problem.what) == (None, path, what)


# ---- includes ----

ARM = """\
parameters: {length: 1 m}
world: {points: {hook: [0, 0, length]}, shapes: [{box: {center: [length, 0, 0], size: [1, 1, 1]}, color: red}]}
bodies:
  upper: {mass: 1 kg, com: [0, 0, length]}
  lower: {mass: 1 kg, com: [0, 0, 0], points: {tip: [0, 0, -length]}}
joints:
  elbow: {type: rotational, parent: upper, child: lower, position: [0, 0, length/2], axis: [0, 1, 0]}
  hang: {type: spherical, parent: world, child: upper, parent_point: hook, child_point: top, connected: false}
initial: {elbow: 10 deg, upper: {velocity: [1, 0, 0]}}
events:
  low: {when: "coordinate('elbow') > 3 rad and position('world.hook')[2] > length", disable: pull, cut: elbow}
  later: {after: {low: 1 s}, enable: "*"}
controllers:
  pull: {type: torque, torques: {elbow: "-5 N m/rad*coordinate('elbow')"}}
simulate: {duration: 77 s}
""".replace("com: [0, 0, length]}", "com: [0, 0, length], points: {top: [0, 0, length]}}", 1)


def test_an_included_file_comes_with_prefixed_names(tmp_path):
    write(tmp_path, arm=ARM)
    text = """\
include:
  - {figure: arm.yaml, prefix: left, placement: {position: [0, 2, 0], orientation: {rpy: [0, 0, 90 deg]}}}
  - {figure: arm.yaml, prefix: right, parameters: {length: 2 m}, pose: {elbow: 30 deg}}
initial: {right.elbow: 20 deg}
"""
    scene = scene_of(text, folder=tmp_path)
    bodies, joints = by_name(scene.bodies), by_name(scene.joints)
    assert list(bodies) == ["left.upper", "left.lower", "right.upper", "right.lower"]
    assert bodies["right.lower"].points["tip"] == (0, 0, -2)
    assert (bodies["left.upper"].part, bodies["right.upper"].part) == (1, 2)
    assert (joints["left.hang"].parent, joints["left.hang"].parent_point) == ("world", "left.hook")
    assert scene.world.points["left.hook"] == pytest.approx((0, 2, 1))
    assert scene.world.shapes[0].position == pytest.approx((0, 3, 0))
    assert scene.world.shapes[0].orientation == pytest.approx((math.sqrt(0.5), 0, 0, math.sqrt(0.5)))
    assert scene.simulate.duration == 10.0
    assert scene.parts[2].pose["right.elbow"].coordinate == pytest.approx((math.radians(30),))
    assert scene.initial["left.elbow"].coordinate == pytest.approx((math.radians(10),))
    assert scene.initial["right.elbow"].coordinate == pytest.approx((math.radians(20),))
    low, later = by_name(scene.events)["right.low"], by_name(scene.events)["left.later"]
    assert [action.targets for action in low.actions] == [("right.pull",), ("right.elbow",)]
    assert later.after == (("left.low", 1.0),)
    assert later.actions[0].targets == ("left.pull",)
    assert list(by_name(scene.controllers)["left.pull"].parameters["torques"]) == ["left.elbow"]


def test_placements_of_nested_includes_are_kept_apart(tmp_path):
    write(
        tmp_path,
        arm=ARM,
        body="include: {figure: arm.yaml, prefix: arm, placement: {position: [1, 0, 0]}}\n",
    )
    text = "include: {figure: body.yaml, prefix: doll, placement: {orientation: {rpy: [0, 0, 90 deg]}}}\n"
    scene = scene_of(text, folder=tmp_path)
    assert [(part.prefix, part.parent) for part in scene.parts] == [("", -1), ("doll", 0), ("doll.arm", 1)]
    assert scene.parts[2].position == (1, 0, 0)
    assert scene.world.points["doll.arm.hook"] == pytest.approx((0, 1, 1))
    assert [body.name for body in scene.bodies] == ["doll.arm.upper", "doll.arm.lower"]


def test_includes_are_found_beside_the_file_then_among_the_shipped(tmp_path):
    write(tmp_path, pendulum=PENDULUM)
    (tmp_path / "sub").mkdir()
    write(tmp_path / "sub", inner="include: {figure: ../pendulum.yaml, prefix: p}\n")
    scene = scene_of("include: [{figure: sub/inner.yaml, prefix: a}]\n", folder=tmp_path)
    assert [body.name for body in scene.bodies] == ["a.p.bob"]
    scene = scene_of("include: [{figure: figures/monkey16.yaml, prefix: monkey}]\n", folder=tmp_path)
    assert "monkey.torso" in by_name(scene.bodies)


def test_included_files_are_named_as_the_scene_was(tmp_path, monkeypatch):
    write(tmp_path, pendulum=PENDULUM, top="include: {figure: pendulum.yaml, prefix: p}\n")
    monkeypatch.chdir(tmp_path.parent)
    name = Path(tmp_path.name)
    scene = load(name / "top.yaml")
    assert list(scene.sources) == [str(name / "top.yaml"), str(name / "pendulum.yaml")]


# ---- repeats ----


def test_repeats_are_zipped_nested_and_stand_in_every_map_of_things():
    text = """\
parameters: {n: 3}
bodies:
  repeat:
    - for: {i: {from: 1, to: n}, j: {from: 0, to: n - 1}}
      link_${i}:
        mass: 1 kg
        com: [0, 0, 0.1*i]
        points: {repeat: {for: {e: [a, b], x: [-1 cm, 1 cm]}, "end_${e}": [x, 0, j]}}
repeat:
  - for: {s: [l, r], y: [1, -1]}
    repeat:
      - for: {k: [1, 2]}
        joints:
          pin_${s}_${k}: {type: spherical, parent: "link_${k}", child: "link_${k + 1}", position: [0, 0.1*y, k]}
    events:
      cut ${s}: {at: 1 s, cut: "pin_${s}_?"}
initial: {repeat: [{for: {s: [l, r], w: [1, 2]}, "pin_${s}_1": {angular_velocity: [w, 0, 0]}}]}
"""
    scene = scene_of(text)
    assert [body.name for body in scene.bodies] == ["link_1", "link_2", "link_3"]
    assert scene.bodies[2].points == {"end_a": (-0.01, 0, 2), "end_b": (0.01, 0, 2)}
    joints = by_name(scene.joints)
    assert list(joints) == ["pin_l_1", "pin_l_2", "pin_r_1", "pin_r_2"]
    assert (joints["pin_r_2"].parent, joints["pin_r_2"].child) == ("link_2", "link_3")
    assert joints["pin_r_2"].position == (0, -0.1, 2)
    assert by_name(scene.events)["cut r"].actions[0].targets == ("pin_r_1", "pin_r_2")
    assert scene.initial["pin_r_1"].rate == (2, 0, 0)


def test_values_of_loops_are_numbers_words_and_quoted_texts():
    text = """\
parameters: {big: 2 m}
repeat:
  - for: {n: [a, b], r: [big, 3 cm], c: ["#ff0000", blue]}
    bodies: {"ball_${n}": {density: 1, shapes: [{sphere: {radius: r}, color: "${c}"}]}}
"""
    shapes = [body.shapes[0] for body in scene_of(text).bodies]
    assert [shape.size[0] for shape in shapes] == [2.0, 0.03]
    assert shapes[0].color == (1, 0, 0, 1)


# ---- mirrors ----

SIDED = """\
bodies:
  trunk: {mass: 5 kg, com: [0, 0, 1], inertia: [1, 1, 1], points: {hip_l: [0, 0.2, 1], nose: [0.1, 0, 1.5]}}
  leg_l:
    mass: 2 kg
    com: [0.1, 0.2, 0.5]
    inertia: [1, 1.2, 1.4, 0.1, 0.2, 0.3]
    position: [0, 0.2, 1]
    points: {foot: [0, 0.3, 0], toe_l: [0.1, 0.3, 0]}
    shapes: [{box: {center: [0.1, 0.2, 0.5], size: [0.1, 0.2, 0.3], orientation: {rpy: [10 deg, 20 deg, 30 deg]}}}]
joints:
  hip_l: {type: rotational, parent: trunk, child: leg_l, parent_point: hip_l, child_point: toe_l, axis: [1, 2, 3]}
  slide_l: {type: translational, parent: trunk, child: leg_l, position: [1, 2, 3], axis: [1, 2, 3], limits: [-1, 2]}
  tube_l: {type: cylindrical, parent: trunk, child: leg_l, position: [1, 2, 3], axis: [1, 2, 3], rest: [1, 2],
           limits: [[-inf, inf], [-1, 3]]}
  ball_l: {type: spherical, parent: trunk, child: leg_l, position: [1, 2, 3], stiffness: 1}
  flat_l: {type: planar, parent: trunk, child: leg_l, position: [1, 2, 3], axis: [1, 2, 3]}
  cross_l: {type: universal, parent: world, child: leg_l, position: [1, 2, 3], axis: [0, 1, 1], second_axis: [1, 0, 0]}
  neck: {type: rotational, parent: world, child: trunk, position: [0, 0, 2], axis: [0, 1, 0]}
mirror: {l: r, plane: y}
"""


def test_a_mirror_makes_twins():
    scene = scene_of(SIDED)
    bodies, joints = by_name(scene.bodies), by_name(scene.joints)
    assert list(bodies) == ["trunk", "leg_l", "leg_r"]
    leg = bodies["leg_r"]
    assert (leg.mass, leg.com, leg.origin) == (2, (0.1, -0.2, 0.5), (0, -0.2, 1))
    assert leg.inertia == (1, 1.2, 1.4, -0.1, 0.2, -0.3)
    assert leg.points == {"foot": (0, -0.3, 0), "toe_r": (0.1, -0.3, 0)}
    assert bodies["trunk"].points["hip_r"] == (0, -0.2, 1)
    assert leg.shapes[0].orientation == pytest.approx(from_rpy(math.radians(-10), math.radians(20), math.radians(-30)))
    hip = joints["hip_r"]
    assert (hip.parent, hip.child, hip.parent_point, hip.child_point) == ("trunk", "leg_r", "hip_r", "toe_r")
    n = math.sqrt(14)
    assert hip.axis == pytest.approx((-1 / n, 2 / n, -3 / n))
    assert joints["slide_r"].axis == pytest.approx((1 / n, -2 / n, 3 / n))
    assert joints["slide_r"].limits.ranges == ((-1, 2),)
    assert joints["tube_r"].rest == (1, -2)
    assert joints["tube_r"].limits.ranges[1] == (-3, 1)
    assert joints["ball_r"].stiffness == (1, 1, 1)
    assert "neck" in joints and len(joints) == 13


vector = st.tuples(st.floats(-3, 3), st.floats(-3, 3), st.floats(-3, 3))
axes = vector.filter(lambda p: np.linalg.norm(p) > 0.1).map(unit)
mirrors = st.integers(0, 2).map(lambda axis: Mirror(axis, {"l": "r"}))


@given(mirrors, axes, st.floats(-3, 3), vector)
def test_equal_angles_about_mirrored_axes_are_mirror_images(mirror, axis, angle, p):
    turned = rotate(from_axis_angle(axis, angle), p)
    twin = rotate(from_axis_angle(mirror.axial(axis), angle), mirror.vector(p))
    assert twin == pytest.approx(mirror.vector(turned), abs=1e-12)


@given(mirrors, vector, vector)
def test_a_mirrored_rotation_vector_is_the_mirrored_rotation(mirror, rotation, p):
    turned = rotate(from_vector(rotation), p)
    assert rotate(from_vector(mirror.axial(rotation)), mirror.vector(p)) == pytest.approx(
        mirror.vector(turned), abs=1e-12
    )
    assert mirror.quaternion(from_vector(rotation)) == pytest.approx(from_vector(mirror.axial(rotation)))


@given(st.floats(-3, 3), st.floats(-3, 3), st.floats(-3, 3), vector)
def test_planar_twins_move_as_mirror_images(x, y, angle, p):
    joints = by_name(scene_of(SIDED).joints)
    mirror = Mirror(1, {"l": "r"})

    def moved(joint, point):
        e1, n, o = np.array(joint.second_axis), np.array(joint.axis), np.array(joint.position)
        turned = rotate(from_axis_angle(joint.axis, angle), tuple(np.array(point) - o))
        return o + np.array(turned) + x * e1 + y * np.cross(n, e1)

    image = mirror.vector(tuple(moved(joints["flat_l"], p)))
    assert moved(joints["flat_r"], mirror.vector(p)) == pytest.approx(image, abs=1e-9)


def test_a_mirror_leaves_the_prefix_alone(tmp_path):
    write(tmp_path, side="bodies: {arm_l: {mass: 1, com: [0, 1, 0]}}\nmirror: {l: r, plane: y}\n")
    scene = scene_of("include: {figure: side.yaml, prefix: l}\n", folder=tmp_path)
    assert [body.name for body in scene.bodies] == ["l.arm_l", "l.arm_r"]


def test_load_text_looks_for_includes_from_its_folder(tmp_path):
    write(tmp_path, pendulum=PENDULUM)
    scene = load_text("schema: 1\ninclude: {figure: pendulum}\n", "given", folder=tmp_path)
    assert (scene.file, scene.name, [body.name for body in scene.bodies]) == ("given", "given", ["bob"])
