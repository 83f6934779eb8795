"""Joints and their values: defaults, freedoms, conventions."""

import math

import pytest

from sim.joints import JOINT_TYPES
from sim.scene.load import load_text
from sim.scene.problem import SceneError
from tests.scene.examples import PENDULUM, by_name, scene_of

pytestmark = pytest.mark.fast

JOINTS = """\
world: {points: {hook: [0, 0, 3]}}
bodies:
  a: {mass: 1 kg, com: [0, 0, 1], points: {top: [0, 0, 2]}}
  b: {mass: 1 kg, com: [0, 0, 1], position: [0, 0, 4]}
joints:
  hang: {type: spherical, parent: world, child: a, parent_point: hook, child_point: top, limits: [0, 60 deg], damping: 2}
  tube:
    type: cylindrical
    parent: a
    child: b
    position: [0, 0, 2]
    axis: [0, 0, 2]
    stiffness: [3 N/m, 4 N m/rad]
    rest: [1 cm, 90 deg]
    damping: [5, 6]
    armature: [1 kg, 2 kg m^2]
    limits: {range: [[-1 cm, inf], [-inf, inf]], dissipation: 2}
  flat: {type: planar, parent: a, child: b, position: [0, 0, 2], axis: [2, 0, 0]}
  tilted: {type: planar, parent: a, child: b, position: [0, 0, 2], axis: [0, 0, 1], second_axis: [1, 1, 1], stiffness: 0}
  cross: {type: universal, parent: a, child: b, position: [0, 0, 2], axis: [0, 0, 1], second_axis: [0, 3, 0], limits: [[0, 1], [-1, 1]]}
  weld: {type: fixed, parent: a, child: b, position: [0, 0, 2], connected: false, tolerance: 2 mm}
  loose: {type: free, parent: world, child: b}
"""  # noqa: E501


@pytest.fixture(scope="module")
def joints():
    return by_name(scene_of(JOINTS).joints)


def test_every_freedom_has_its_number(joints):
    for joint in joints.values():
        for key in ("stiffness", "rest", "damping", "armature"):
            assert len(getattr(joint, key)) == JOINT_TYPES[joint.type].freedoms
    tube = joints["tube"]
    assert (tube.stiffness, tube.damping, tube.armature) == ((3, 4), (5, 6), (1, 2))
    assert tube.rest == (0.01, math.radians(90))
    assert joints["hang"].damping == (2, 2, 2)


def test_axes_are_unit_and_planes_have_a_first_direction(joints):
    assert joints["tube"].axis == (0, 0, 1)
    assert (joints["flat"].axis, joints["flat"].second_axis) == ((1, 0, 0), (0, 1, 0))
    assert joints["tilted"].second_axis == pytest.approx((math.sqrt(0.5), math.sqrt(0.5), 0))
    assert joints["cross"].second_axis == (0, 1, 0)
    assert (joints["hang"].axis, joints["weld"].axis) == (None, None)


def test_stops_have_ranges_and_the_defaults_of_their_kind(joints):
    hang, tube, cross = (joints[name].limits for name in ("hang", "tube", "cross"))
    assert hang.ranges == ((0, math.radians(60)),)
    assert (hang.stiffness, hang.dissipation) == (500, 0.5)
    assert tube.ranges == ((-0.01, math.inf), (-math.inf, math.inf))
    assert (tube.stiffness, tube.dissipation) == (5e4, 2)
    assert cross.ranges == ((0, 1), (-1, 1))
    assert joints["flat"].limits is None


def test_binding_and_tolerance(joints):
    assert (joints["hang"].connected, joints["hang"].binds, joints["hang"].tolerance) == (True, "drawing", 1e-6)
    assert (joints["weld"].connected, joints["weld"].binds, joints["weld"].tolerance) == (False, "drawing", 2e-3)
    assert (joints["hang"].parent, joints["hang"].parent_point, joints["hang"].position) == ("world", "hook", None)
    assert joints["loose"].position is None
    assert joints["tube"].places["axis"].line == 13


VALUES = """\
bodies:
  a: {mass: 1, com: [0, 0, 1]}
  b: {mass: 1, com: [0, 0, 1]}
  c: {mass: 1, com: [0, 0, 1]}
  d: {mass: 1, com: [0, 0, 1]}
  e: {mass: 1, com: [1, 0, 1]}
  f: {mass: 1, com: [0, 0, 1], position: [0, 0, 3]}
joints:
  hinge_a: {type: rotational, parent: world, child: a, position: [0, 0, 1], axis: [0, 0, 1]}
  hinge_b: {type: rotational, parent: world, child: b, position: [0, 0, 1], axis: [0, 0, 1]}
  tube: {type: cylindrical, parent: world, child: c, position: [0, 0, 1], axis: [0, 0, 1]}
  ball: {type: spherical, parent: world, child: d, position: [0, 0, 1]}
initial:
"""


@pytest.mark.parametrize(
    ("text", "joint", "coordinate", "rate"),
    [
        ("hinge_a: 30 deg", "hinge_a", (math.pi / 6,), None),
        ("hinge_a: {rate: 60 rpm}", "hinge_a", None, (2 * math.pi,)),
        ("hinge_a: {coordinate: 1, rate: -2 rad/s}", "hinge_a", (1,), (-2,)),
        ('"hinge_?": 2', "hinge_b", (2,), None),
        ('"hinge_?": 2\n  hinge_b: 3', "hinge_b", (3,), None),
        ('hinge_b: 3\n  "*_b": 2', "hinge_b", (3,), None),
        ("tube: [1 cm, 1]", "tube", (0.01, 1), None),
        ("tube: {rate: [1 cm/s, 1]}", "tube", None, (0.01, 1)),
        ("ball: {rpy: [0, 0, 180 deg]}", "ball", (0, 0, 0, 1), None),
        ("ball: {rotation: [0, 180 deg, 0]}", "ball", (0, 0, 1, 0), None),
        ("ball: {axis_angle: {axis: [0, 3, 0], angle: 180 deg}}", "ball", (0, 0, 1, 0), None),
        ("ball: {quat_wxyz: [0.6, 0.8, 0, 0]}", "ball", (0.6, 0.8, 0, 0), None),
        ("ball: {quat_xyzw: [0.8, 0, 0, 0.6]}", "ball", (0.6, 0.8, 0, 0), None),
        ("ball: {quat_wxyz: [0.6003, 0.8, 0, 0]}", "ball", (0.600192, 0.799856, 0, 0), None),
        ("ball: {coordinate: {rpy: [0, 0, 0]}, rate: [1, 2, 3]}", "ball", (1, 0, 0, 0), (1, 2, 3)),
        ("ball: {angular_velocity: [1, 2, 3]}", "ball", None, (1, 2, 3)),
        ("e: {position: [1, 2, 3], rpy: [180 deg, 0, 0]}", "e", (1, 2, 3, 0, 1, 0, 0), None),
        ("e: {position: [1, 2, 3]}", "e", (1, 2, 3, 1, 0, 0, 0), None),
        ("e: {rpy: [180 deg, 0, 0]}", "e", (1, 0, 1, 0, 1, 0, 0), None),
        ("f: {rpy: [180 deg, 0, 0]}", "f", (0, 0, 3, 0, 1, 0, 0), None),
        ("e: {velocity: [1, 2, 3]}", "e", None, (1, 2, 3, 0, 0, 0)),
        ("e: {angular_velocity: [1, 2, 3]}", "e", None, (0, 0, 0, 1, 2, 3)),
        ("e: {coordinate: {position: [1, 2, 3]}, rate: [1, 2, 3, 4, 5, 6]}", "e",
         (1, 2, 3, 1, 0, 0, 0), (1, 2, 3, 4, 5, 6)),
    ],
)  # fmt: skip
def test_values_in_every_form(text, joint, coordinate, rate):
    value = scene_of(f"{VALUES}  {text}\n").initial[joint]
    assert value.rate == rate
    assert value.coordinate == (None if coordinate is None else pytest.approx(coordinate, abs=1e-5))


def test_a_free_body_in_a_placed_file_starts_where_it_is_drawn(tmp_path):
    (tmp_path / "ball.yaml").write_text("schema: 1\nbodies: {ball: {mass: 1, com: [1, 0, 0]}}\n", encoding="utf-8")
    text = """\
include: {figure: ball.yaml, prefix: a, placement: {position: [0, 0, 5], orientation: {rpy: [0, 0, 90 deg]}}}
initial: {a.ball: {position: [7, 7, 7]}}
"""
    half = math.sqrt(0.5)
    assert scene_of(text, folder=tmp_path).initial["a.ball"].coordinate == pytest.approx((7, 7, 7, half, 0, 0, half))
    text = text.replace("position: [7, 7, 7]", "rpy: [0, 0, 0]")
    assert scene_of(text, folder=tmp_path).initial["a.ball"].coordinate == pytest.approx((0, 1, 5, 1, 0, 0, 0))


EVENTS = (
    PENDULUM.replace("\njoints:", "\n  ball: {mass: 1, com: [1, 0, 0], points: {end: [2, 0, 0]}}\njoints:")
    + """\
controllers: {hold: {type: pd, joints: hinge, kp: 5 N m/rad, enabled: false}}
events:
  a:
    at: 1 s
    key: go
    caption: now
    connect: [{grip: {type: spherical, parent: ball, child: bob, child_point: tip, tolerance: 1 cm}}, hinge]
    enable: hold
    set: {hinge: {rate: 2 rad/s}}
  b: {after: {a: 1 s}, cut: "*", stop: true}
  c: {when: t > 1 s, once: false, impulse: [{body: ball, linear: [1, 0, 0], point: end}, {body: bob, angular: [0, 1 N m s, 0]}]}
  d: {key: weld, connect: {weld: {type: fixed, parent: ball, child: bob}}}
"""  # noqa: E501
)


def test_events_have_triggers_and_actions_in_the_order_written():
    scene = scene_of(EVENTS)
    a, b, c, d = scene.events
    assert (a.at, a.key, a.caption, a.once, a.after, a.when) == (1.0, "go", "now", True, (), None)
    assert [(action.kind, action.targets) for action in a.actions] == [
        ("connect", ("grip", "hinge")), ("enable", ("hold",)), ("set", ("hinge",)),
    ]  # fmt: skip
    assert a.actions[2].values[0].rate == (2.0,)
    assert b.after == (("a", 1.0),)
    assert [(action.kind, action.targets) for action in b.actions] == [("cut", ("hinge", "grip", "weld")), ("stop", ())]
    assert not c.once
    assert c.actions[0].targets == ("ball", "bob")
    assert c.actions[0].values == (((1, 0, 0), (0, 0, 0), "end"), ((0, 0, 0), (0, 1, 0), None))
    assert d.actions[0].targets == ("weld",)


def test_joints_that_an_event_makes_bind_when_it_happens():
    joints = by_name(scene_of(EVENTS).joints)
    grip, weld = joints["grip"], joints["weld"]
    assert (grip.connected, grip.binds, grip.tolerance, grip.child_point) == (False, "event", 0.01, "tip")
    assert (weld.connected, weld.binds, weld.tolerance, weld.position) == (False, "event", math.inf, None)


@pytest.mark.parametrize("point", ["[1, 2, q]", "[1, 2]", "[1, 2, 3 kg]", "[1, 2, 1e400]", "[1, 2, 1e160]"])
def test_a_point_that_cannot_be_read_still_has_a_name_for_joints(point: str) -> None:
    """What is wrong with it is told once, where it stands, and nothing of the joint that is bound there."""
    text = f"""
schema: 1
world: {{points: {{hook: [0, 0, 3]}}}}
bodies:
  a: {{mass: 1, com: [0, 0, 0], inertia: [1, 1, 1], points: {{tip: {point}, good: [1, 0, 0]}}}}
joints:
  j: {{type: rotational, parent: world, child: a, parent_point: hook, child_point: tip, axis: [0, 0, 1]}}
simulate: {{duration: 1 s}}
"""
    with pytest.raises(SceneError) as caught:
        load_text(text)
    assert [problem.path.partition("[")[0] for problem in caught.value.problems] == ["bodies.a.points.tip"]
