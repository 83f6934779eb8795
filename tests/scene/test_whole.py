"""One scene with everything in it, field by field; its numbers are all different, its figure is included, put aside
and turned."""

from __future__ import annotations

import ast
import math
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from sim.scene.load import load, load_text
from sim.scene.problem import SceneError
from sim.scene.spec import Drag, Scene, Spring, TorsionSpring, Wrench

pytestmark = pytest.mark.fast

FIGURE = """
schema: 1
name: figure
parameters: {size: 2 m, half: 0.5*size}
world:
  gravity: [1, 1, 1]
  points: {hook: [1, 2, 3]}
  shapes: [{name: step, box: {center: [1, 0, 0], size: [1, 2, 3]}}]
bodies:
  trunk: {mass: 4 kg, com: [0, 0, half], inertia: [3, 4, 5, 0.1, 0.2, 0.3], points: {top: [0, 0, size]}}
  leg_l: {mass: 1 kg, com: [0.1, 0.2, 0.3], inertia: [0.3, 0.4, 0.5, 0.01, 0.02, 0.03],
          points: {sole_l: [0.1, 0.2, 0.0]}}
joints:
  hip_l: {type: rotational, parent: trunk, child: leg_l, position: [0.1, 0.2, 0.9], axis: [0.6, 0.8, 0]}
mirror: {l: r, plane: y}
"""
SCENE = """
schema: 1
name: everything
about: All that there is.
parameters: {gap: 20 cm, rate: {value: 3, unit: rad/s, range: [1, 5]}}
include:
  - figure: figure.yaml
    prefix: doll
    parameters: {size: 3}
    placement: {position: [10, 20, 30], orientation: {axis_angle: {axis: [0, 0, 2], angle: 90 deg}}}
    pose: {hip_l: 15 deg}
world:
  gravity: [0.1, 0.2, -9]
  points: {peg: [1, 0.5, gap]}
  shapes:
    - {name: floor, friction: 0.7, color: "#102030", plane: {center: [1, 2, 3], normal: [0, 3, 4], edge: 7}}
    - {name: ball, sphere: {center: [4, 5, 6], radius: 0.25}}
bodies:
  block:
    density: 500 kg/m^3
    position: [0.5, 0.25, 0.125]
    color: teal
    points: {corner: [0.1, 0.2, 0.3]}
    shapes:
      - {density: 100 kg/m^3, box: {center: [1, 2, 3], size: [0.1, 0.2, 0.3]}}
      - friction: 0.4
        color: [0.1, 0.2, 0.3, 0.4]
        ellipsoid: {center: [3, 2, 1], radii: [0.1, 0.2, 0.3], orientation: {quat_wxyz: [0.6, 0, 0.8, 0]}}
  rod: {mass: 2 kg, points: {end: [0, 3, 5]}, shapes: [{capsule: {from: [0, 0, 1], to: [0, 3, 5], radius: 5 cm}}]}
  tin:
    mass: 3 kg
    shapes: [{cylinder: {center: [1, 1, 1], length: 40 cm, radius: 10 cm, orientation: {rpy: [90 deg, 0, 0]}}}]
  disc: {mass: 1 kg, com: [7, 7, 7], gyration: [0.1, 0.2, 0.18]}
joints:
  pin:
    type: rotational
    parent: world
    child: block
    position: [1, 2, 3]
    axis: [0, 3, 4]
    limits: {range: [-30 deg, 45 deg], stop: rigid, restitution: 0.25, rest_speed: 2 deg/s}
    stiffness: 5 N m/rad
    rest: 10 deg
    damping: 0.5 N m s/rad
    armature: 0.25 kg m^2
    friction: 0.75 N m
  sleeve:
    type: cylindrical
    parent: block
    child: rod
    parent_point: corner
    child_point: end
    axis: [1, 0, 0]
    limits: {range: [[-0.1, 0.2], [-inf, inf]], stiffness: 300 N/m, dissipation: 0.5 s/m}
    damping: [1 N s/m, 2 N m s/rad]
    motion: [free, "rate*t*1 s/s"]
    tolerance: 1 mm
  table: {type: planar, parent: rod, child: tin, position: [0.1, 0.2, 0.3],
          axis: [0, 0, 2], second_axis: [1, 1, 5], connected: false}
  cross: {type: universal, parent: tin, child: disc, position: [3, 3, 3], axis: [0, 1, 0], second_axis: [1, 0, 0]}
initial:
  pin: {coordinate: 20 deg, rate: 0.5}
  sleeve: {near: [0.05, 0.1]}
  tin: {position: [1, 2, 3], rpy: [0, 0, 90 deg], velocity: [0.1, 0.2, 0.3], angular_velocity: [0.4, 0.5, 0.6]}
forces:
  cord: {type: spring, from: block.corner, to: world.peg, stiffness: 80 N/m, damping: 2 N s/m, length: 1.5 m}
  coil: {type: torsion_spring, joint: sleeve, stiffness: 4 N m/rad, damping: 0.3 N m s/rad, rest: 15 deg}
  push: {type: wrench, body: rod, point: com, force: ["2 N*t/1 s", 0, gap*3 N/m],
         torque: "[1 N m, 0, t*2 N m/s]", frame: body, reaction: tin}
  air: {type: drag, body: block, point: corner, linear: 0.1, quadratic: 0.2,
        turning_linear: 0.3, turning_quadratic: 0.4}
contacts:
  rub: {between: ["tin", world.floor], friction: 0.3, restitution: 0.4, rest_speed: 1 cm/s}
  later: {between: [[block, rod], "*"], except: disc, friction: {combine: max}, from: 1 s, until: 2 s,
          soft: {stiffness: 2 kN/m, dissipation: 0.3 s/m}}
constraints:
  wheel: {type: rolling, body: disc, axis: [0, 2, 0], radius: 0.5, ground: world,
          normal: [0, 0, 5], level: [0, 0, 6.5], holds: 90 N}
  blade: {type: knife_edge, body: tin, along: [3, 4, 0], point: com, ground: world, active: false}
  thread: {type: screw, joint: sleeve, pitch: 3 mm}
events:
  first: {at: 0.5 s, cut: cross, caption: it breaks}
  second:
    after: {first: 0.25 s}
    connect: {weld: {type: fixed, parent: block, child: disc}}
    impulse: {body: rod, linear: [1, 2, 3], angular: [4, 5, 6], point: com}
  third: {when: "coordinate('pin') > 30 deg", once: false, set: {pin: {rate: -1}}, disable: wheel, touch: rub}
  fourth: {key: go, stop: true}
controllers:
  hold: {type: pd, joints: [pin], target: 5 deg, kp: 3 N m/rad, kd: 0.25 N m s/rad}
simulate: {duration: 3 s, method: radau, rtol: 1e-7, record: 50 Hz, max_step: 20 ms, seed: 5}
render: {size: [640, 480], fps: 25, trails: [block.corner], background: [0.1, 0.2, 0.3],
         camera: {follow: rod, distance: 3 m, fov: 35 deg}}
"""


@pytest.fixture(scope="module")
def scene(tmp_path_factory) -> Scene:
    folder = tmp_path_factory.mktemp("everything")
    (folder / "figure.yaml").write_text(FIGURE)
    (folder / "scene.yaml").write_text(SCENE)
    return load(folder / "scene.yaml")


def plain(thing: Any) -> Any:
    """Fields as they are, without places; formulas as their folded text."""
    if hasattr(thing, "tree"):
        return ast.unparse(thing.tree)
    if hasattr(thing, "__dataclass_fields__"):
        return {
            field.name: plain(getattr(thing, field.name))
            for field in fields(thing)
            if field.name not in ("place", "places")
        }
    if isinstance(thing, tuple):
        return tuple(plain(one) for one in thing)
    return thing


def close(found: Any, expected: Any) -> bool:
    """Whether all is the same, numbers to roundoff."""
    if isinstance(expected, dict):
        return set(found) == set(expected) and all(close(found[key], expected[key]) for key in expected)
    if isinstance(expected, tuple):
        return isinstance(found, tuple) and len(found) == len(expected) and all(map(close, found, expected))
    if isinstance(expected, float):
        return found == pytest.approx(expected, rel=1e-13, abs=1e-15, nan_ok=True)
    return type(found) is type(expected) and found == expected


def held(things: Any, name: str, **expected: Any) -> None:
    """Every field of the thing of a name is what was expected."""
    (found,) = [plain(thing) for thing in things if thing.name == name]
    assert set(found) == {"name", *expected}
    for key, value in expected.items():
        assert close(found[key], value), (name, key, found[key], value)


TEAL = (0.0, 128 / 255, 128 / 255, 1.0)
NAN4 = (math.nan,) * 4
D = math.pi / 180
NOTHING: dict[str, Any] = {
    "part": 0,
    "pitch": 0.0,
    "axis": None,
    "second_axis": None,
    "parent_point": None,
    "child_point": None,
    "limits": None,
    "friction": (),
    "motion": (),
    "connected": True,
    "binds": "drawing",
    "tolerance": 1e-6,
    "position": None,
}


def test_what_stands_still_is_placed_with_its_file(scene):
    """A quarter of a turn about z, then (10, 20, 30)."""
    assert scene.world.gravity == (0.1, 0.2, -9.0)
    assert scene.world.points == {"peg": (1.0, 0.5, 0.2), "doll.hook": pytest.approx((8, 21, 33))}
    floor, ball, step = sorted(scene.world.shapes, key=lambda shape: ("floor", "ball", "doll.step").index(shape.name))
    assert (floor.kind, floor.position, floor.size, floor.friction) == ("plane", (1.0, 2.0, 3.0), (7.0, 7.0, 0.0), 0.7)
    assert floor.orientation == pytest.approx(np.array([9, -3, 0, 0]) / math.sqrt(90))
    assert floor.color == pytest.approx((16 / 255, 32 / 255, 48 / 255, 1.0))
    assert (ball.kind, ball.position, ball.size, ball.friction, ball.density) == (
        "sphere",
        (4.0, 5.0, 6.0),
        (0.25,) * 3,
        None,
        None,
    )
    assert np.isnan(ball.color).all()
    assert step.position == pytest.approx((10, 21, 30)) and step.orientation == pytest.approx(
        (math.sqrt(0.5), 0, 0, math.sqrt(0.5))
    )


def test_files_are_parts_with_a_place_and_a_pose(scene):
    own, doll = scene.parts
    assert (own.prefix, own.parent, own.position, own.orientation, own.pose) == ("", -1, (0.0,) * 3, (1.0, 0, 0, 0), {})
    assert (doll.prefix, doll.parent, doll.position) == ("doll", 0, (10.0, 20.0, 30.0))
    assert doll.orientation == pytest.approx((math.sqrt(0.5), 0, 0, math.sqrt(0.5)))
    ((name, value),) = doll.pose.items()
    assert name == "doll.hip_l" and value.coordinate == pytest.approx((15 * D,)) and value.rate is value.near is None
    assert (scene.name, scene.about) == ("everything", "All that there is.")
    assert scene.parameters == {"gap": pytest.approx(0.2), "rate": 3.0}
    assert [file.rpartition("/")[2] for file in scene.sources] == ["scene.yaml", "figure.yaml"] and scene.text == SCENE


def test_bodies_have_their_masses_shapes_and_points(scene):
    names = [body.name for body in scene.bodies]
    assert sorted(names) == sorted(["block", "rod", "tin", "disc", "doll.trunk", "doll.leg_l", "doll.leg_r"])
    of = {body.name: body for body in scene.bodies}
    block = of["block"]
    box, egg = block.shapes
    small, large = 100 * 0.006, 500 * 4 / 3 * math.pi * 0.006
    assert block.mass == pytest.approx(small + large) and block.origin == (0.5, 0.25, 0.125) and block.part == 0
    assert block.com == pytest.approx((np.array([1, 2, 3]) * small + np.array([3, 2, 1]) * large) / (small + large))
    assert block.points == {"corner": (0.1, 0.2, 0.3)}
    assert (box.kind, box.position, box.size, box.density, box.friction) == (
        "box",
        (1, 2, 3),
        (0.1, 0.2, 0.3),
        100.0,
        None,
    )
    assert box.color == pytest.approx(TEAL) and box.orientation == (1, 0, 0, 0) and egg.color == (0.1, 0.2, 0.3, 0.4)
    assert (egg.kind, egg.position, egg.size, egg.density, egg.friction) == (
        "ellipsoid",
        (3, 2, 1),
        (0.1, 0.2, 0.3),
        None,
        0.4,
    )
    assert egg.orientation == pytest.approx((0.6, 0, 0.8, 0))
    (capsule,), (cylinder,) = of["rod"].shapes, of["tin"].shapes
    assert (capsule.kind, capsule.position) == (
        "capsule",
        pytest.approx((0, 1.5, 3)),
    ) and capsule.size == pytest.approx((0.05, 0.05, 5))
    assert capsule.orientation == pytest.approx(np.array([1.8, -0.6, 0, 0]) / math.hypot(1.8, 0.6))
    assert (cylinder.kind, cylinder.size) == ("cylinder", pytest.approx((0.1, 0.1, 0.4)))
    assert cylinder.orientation == pytest.approx((math.sqrt(0.5), math.sqrt(0.5), 0, 0))
    assert of["rod"].com == pytest.approx((0, 1.5, 3)) and of["rod"].mass == 2.0 and of["rod"].origin is None
    across, along = 3 * (0.01 / 4 + 0.16 / 12), 3 * 0.01 / 2
    assert of["tin"].inertia == pytest.approx((across, along, across, 0, 0, 0), abs=1e-16)
    assert of["disc"].inertia == pytest.approx((0.01, 0.04, 0.0324, 0, 0, 0)) and of["disc"].com == (7, 7, 7)
    trunk, left, right = of["doll.trunk"], of["doll.leg_l"], of["doll.leg_r"]
    assert (
        trunk.com == (0, 0, 1.5) and trunk.points == {"top": (0, 0, 3)} and trunk.part == left.part == right.part == 1
    )
    assert trunk.inertia == (3, 4, 5, 0.1, 0.2, 0.3)
    assert left.com == (0.1, 0.2, 0.3) and right.com == (0.1, -0.2, 0.3)
    assert right.inertia == pytest.approx((0.3, 0.4, 0.5, -0.01, 0.02, -0.03))
    assert left.points == {"sole_l": (0.1, 0.2, 0)} and right.points == {"sole_r": (0.1, -0.2, 0)}


def test_joints_have_their_axes_stops_and_drives(scene):
    assert [joint.name for joint in scene.joints if joint.part == 0] == ["pin", "sleeve", "table", "cross", "weld"]
    held(
        scene.joints,
        "pin",
        **NOTHING
        | {
            "type": "rotational",
            "parent": "world",
            "child": "block",
            "position": (1.0, 2.0, 3.0),
            "axis": (0.0, 0.6, 0.8),
            "stiffness": (5.0,),
            "rest": (10 * D,),
            "damping": (0.5,),
            "armature": (0.25,),
            "friction": (0.75,),
            "limits": {
                "ranges": ((-30 * D, 45 * D),),
                "cone": math.inf,
                "twist": (-math.inf, math.inf),
                "about": 2,
                "stop": "rigid",
                "restitution": 0.25,
                "rest_speed": 2 * D,
                "stiffness": 500.0,
                "dissipation": 0.5,
            },
        },
    )
    held(
        scene.joints,
        "sleeve",
        **NOTHING
        | {
            "type": "cylindrical",
            "parent": "block",
            "child": "rod",
            "parent_point": "corner",
            "child_point": "end",
            "axis": (1.0, 0.0, 0.0),
            "stiffness": (0.0, 0.0),
            "rest": (0.0, 0.0),
            "damping": (1.0, 2.0),
            "armature": (0.0, 0.0),
            "motion": (None, "3.0 * t * 1.0"),
            "tolerance": 1e-3,
            "limits": {
                "ranges": ((-0.1, 0.2), (-math.inf, math.inf)),
                "cone": math.inf,
                "twist": (-math.inf, math.inf),
                "about": 2,
                "stop": "soft",
                "restitution": 0.0,
                "rest_speed": 0.0,
                "stiffness": 300.0,
                "dissipation": 0.5,
            },
        },
    )
    three = {"stiffness": (0.0,) * 3, "rest": (0.0,) * 3, "damping": (0.0,) * 3, "armature": (0.0,) * 3}
    held(
        scene.joints, "table", **NOTHING | three | {
            "type": "planar", "parent": "rod", "child": "tin", "position": (0.1, 0.2, 0.3), "axis": (0.0, 0.0, 1.0),
            "second_axis": (math.sqrt(0.5), math.sqrt(0.5), 0.0), "connected": False,
        },
    )  # fmt: skip
    two = {"stiffness": (0.0,) * 2, "rest": (0.0,) * 2, "damping": (0.0,) * 2, "armature": (0.0,) * 2}
    held(
        scene.joints, "cross", **NOTHING | two | {
            "type": "universal", "parent": "tin", "child": "disc", "position": (3.0, 3.0, 3.0), "axis": (0.0, 1.0, 0.0),
            "second_axis": (1.0, 0.0, 0.0),
        },
    )  # fmt: skip
    none = {"stiffness": (), "rest": (), "damping": (), "armature": ()}
    held(
        scene.joints,
        "weld",
        **NOTHING
        | none
        | {
            "type": "fixed",
            "parent": "block",
            "child": "disc",
            "connected": False,
            "binds": "event",
            "tolerance": math.inf,
        },
    )
    left, right = (joint for joint in scene.joints if joint.part == 1)
    assert (left.name, right.name, right.parent, right.child) == (
        "doll.hip_l",
        "doll.hip_r",
        "doll.trunk",
        "doll.leg_r",
    )
    assert left.axis == pytest.approx((0.6, 0.8, 0)) and right.axis == pytest.approx((-0.6, 0.8, 0))
    assert right.position == (0.1, -0.2, 0.9)


def test_the_start_is_what_is_written(scene):
    start = {name: plain(value) for name, value in scene.initial.items()}
    assert set(start) == {"pin", "sleeve", "tin"}
    none = {"coordinate": None, "rate": None, "near": None, "only": ""}
    assert close(start["pin"], none | {"coordinate": (20 * D,), "rate": (0.5,)})
    assert close(start["sleeve"], none | {"near": (0.05, 0.1)})
    h = math.sqrt(0.5)
    assert close(
        start["tin"], none | {"coordinate": (1.0, 2.0, 3.0, h, 0.0, 0.0, h), "rate": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)}
    )


def test_forces_have_their_numbers_and_formulas(scene):
    assert [type(force) for force in scene.forces] == [Spring, TorsionSpring, Wrench, Drag]
    held(scene.forces, "cord", ends=("block.corner", "world.peg"), stiffness=80.0, damping=2.0, length=1.5)
    held(scene.forces, "coil", joint="sleeve", freedom=1, turns=1, stiffness=4.0, damping=0.3, rest=15 * D)
    held(
        scene.forces, "push", body="rod", point="com", force=("2.0 * t / 1.0", "0.0", "0.6000000000000001"),
        torque="[1.0, 0.0, t * 2.0]", frame="body", reaction="tin",
    )  # fmt: skip
    held(
        scene.forces,
        "air",
        body="block",
        point="corner",
        linear=0.1,
        quadratic=0.2,
        turning_linear=0.3,
        turning_quadratic=0.4,
    )


def test_contacts_have_their_sides_and_laws(scene):
    held(
        scene.contacts,
        "rub",
        between=(("tin",), ("world.floor",)),
        rope=None,
        length=None,
        friction=0.3,
        rest=None,
        combine="geometric",
        restitution=0.4,
        rest_speed=0.01,
        soft=None,
        patch_radius=0.0,
        rolling_radius=0.0,
        active=True,
    )
    everybody = tuple(body.name for body in scene.bodies if body.name != "disc")
    held(
        scene.contacts,
        "later",
        between=(("block", "rod"), everybody),
        rope=None,
        length=None,
        friction=None,
        rest=None,
        combine="max",
        restitution=0.0,
        rest_speed=0.0,
        soft={"stiffness": 2000.0, "dissipation": 0.3},
        patch_radius=0.0,
        rolling_radius=0.0,
        active=False,
    )


def test_friction_against_turning_is_of_time_steps() -> None:
    """Contacts as events do not know it, so that it has a scene of its own."""
    text = """
schema: 1
world: {shapes: [{plane: {}}]}
bodies: {ball: {mass: 1 kg, shapes: [{sphere: {center: [0, 0, 1], radius: 1}}]}}
contacts: {turf: {between: [ball, world], friction: 0.5, patch_radius: 2 cm, rolling_radius: 3 mm}}
simulate: {contact: stepping}
"""
    (turf,) = load_text(text).contacts
    assert (turf.patch_radius, turf.rolling_radius) == (pytest.approx(0.02), pytest.approx(0.003))
    assert turf.soft is None and turf.friction == 0.5


OPEN = {
    "part": 0,
    "position": None,
    "axis": None,
    "normal": (0.0, 0.0, 1.0),
    "level": (0.0, 0.0, 0.0),
    "bend": 0.0,
    "along": None,
    "radius": 0.0,
    "tube": 0.0,
    "radii": None,
    "orientation": None,
    "components": (),
    "joints": (),
    "freedoms": (),
    "ratio": 0.0,
    "keeps": False,
    "holds": math.inf,
    "active": True,
    "body": "",
    "on": "",
    "point": "",
}


def test_constraints_have_their_grounds_and_numbers(scene):
    held(
        scene.constraints,
        "wheel",
        **OPEN
        | {
            "type": "rolling",
            "body": "disc",
            "on": "world",
            "point": "disc.com",
            "axis": (0.0, 1.0, 0.0),
            "level": (0.0, 0.0, 6.5),
            "radius": 0.5,
            "keeps": True,
            "holds": 90.0,
        },
    )
    held(
        scene.constraints,
        "blade",
        **OPEN
        | {
            "type": "knife_edge",
            "body": "tin",
            "on": "world",
            "point": "tin.com",
            "axis": (0.6, 0.8, 0.0),
            "active": False,
        },
    )
    held(scene.constraints, "thread", **OPEN | {"type": "screw", "joints": ("sleeve",), "ratio": 0.003 / (2 * math.pi)})


def test_events_have_their_triggers_and_actions(scene):
    names = ["first", "second", "third", "fourth", "later begins", "later ends"]
    assert [event.name for event in scene.events] == names
    none = {"at": None, "after": (), "when": None, "key": None, "once": True, "caption": ""}

    def act(kind: str, *targets: str, values: tuple = ()) -> dict[str, Any]:
        return {"kind": kind, "targets": targets, "values": values, "either": False}

    held(scene.events, "first", **none | {"at": 0.5, "caption": "it breaks", "actions": (act("cut", "cross"),)})
    blow = ((1.0, 2.0, 3.0), (4.0, 5.0, 6.0), None)
    held(scene.events, "second", **none | {
        "after": (("first", 0.25),), "actions": (act("connect", "weld"), act("impulse", "rod", values=(blow,))),
    })  # fmt: skip
    rate = {"coordinate": None, "rate": (-1.0,), "near": None, "only": ""}
    held(scene.events, "third", **none | {
        "when": "coordinate('pin') > 0.5235987755982988", "once": False,
        "actions": (act("set", "pin", values=(rate,)), act("disable", "wheel"), act("touch", "rub")),
    })  # fmt: skip
    held(scene.events, "fourth", **none | {"key": "go", "actions": (act("stop"),)})
    held(scene.events, "later begins", **none | {"at": 1.0, "actions": (act("touch", "later"),)})
    held(scene.events, "later ends", **none | {"at": 2.0, "actions": (act("release", "later"),)})


def test_controllers_have_their_parameters_in_si(scene):
    (use,) = scene.controllers
    assert (use.name, use.type, use.enabled) == ("hold", "pd", True)
    assert use.parameters["joints"] == ("pin",) and use.parameters["target"] == pytest.approx(5 * D)
    assert (use.parameters["kp"], use.parameters["kd"]) == (3.0, 0.25)


def test_how_it_is_run_and_filmed(scene):
    assert plain(scene.simulate) == {
        "duration": 3.0,
        "method": "radau",
        "rtol": 1e-7,
        "step": 0.001,
        "contact": "event",
        "dt": 0.001,
        "impact": "simultaneous",
        "restitution": "newton",
        "max_step": 0.02,
        "record": 50.0,
        "seed": 5,
    }
    assert plain(load_text("schema: 1\n").simulate) == {
        "duration": 10.0,
        "method": "dop853",
        "rtol": 1e-8,
        "step": 0.001,
        "contact": "event",
        "dt": 0.001,
        "impact": "simultaneous",
        "restitution": "newton",
        "max_step": 1e9,
        "record": 120.0,
        "seed": 0,
    }
    assert scene.render["camera"] == {
        "follow": "rod",
        "target": None,
        "distance": 3.0,
        "azimuth": None,
        "elevation": None,
        "fov": pytest.approx(35 * D),
    }
    assert (scene.render["size"], scene.render["fps"], scene.render["trails"]) == ([640, 480], 25.0, ["block.corner"])
    assert scene.render["background"] == [0.1, 0.2, 0.3]


HELD = """
schema: 1
bodies: {b: {mass: 1 kg, com: [0, 0, 0], inertia: [1, 1, 1]}}
joints: {j: {parent: world, child: b, position: [0, 0, 0], %s}}
"""


@pytest.mark.parametrize(
    ("joint", "what"),
    [
        ("type: rotational, axis: [0, 1, 0], limits: [2, 1]", "the lowest, 2, is larger than the highest, 1"),
        (
            "type: rotational, axis: [0, 1, 0], limits: [[0, 1], [0, 1]]",
            "expected 1 range for a rotational joint, found 2",
        ),
        ("type: planar, axis: [0, 1, 0], limits: [0, 1]", "expected 3 ranges for a planar joint, found 1"),
        (
            "type: cylindrical, axis: [0, 1, 0], limits: [[0, 1], [0, 1]]",
            "stops for slides and turns of one cylindrical joint cannot be given together",
        ),
        (
            "type: spherical, limits: [10 deg, 90 deg]",
            "the angle of a spherical joint has no lower stop, found one at 10 deg",
        ),
        (
            "type: spherical, limits: {range: [0, 180 deg], stop: rigid}",
            "a rigid stop of a spherical joint is at an angle between 0 deg and 180 deg",
        ),
        (
            "type: spherical, limits: {range: [0, 0], stop: rigid}",
            "a rigid stop of a spherical joint is at an angle between 0 deg and 180 deg",
        ),
        (
            "type: rotational, axis: [0, 1, 0], limits: {range: [0, 1], stop: rigid, stiffness: 3}",
            "a rigid stop has no 'stiffness'",
        ),
        (
            "type: rotational, axis: [0, 1, 0], limits: {range: [0, 1], restitution: 0.5}",
            "a soft stop has no 'restitution'",
        ),
        ("type: fixed, limits: [0, 1]", "a fixed joint has no limits"),
        ("type: fixed, axis: [0, 1, 0]", "a fixed joint has no 'axis'"),
        ("type: spherical, second_axis: [0, 1, 0]", "a spherical joint has no 'second_axis'"),
        ("type: planar", "a planar joint needs key 'axis'"),
        ("type: universal, axis: [0, 1, 0]", "a universal joint needs key 'second_axis'"),
        (
            "type: universal, axis: [0, 1, 0], second_axis: [1, 1, 0]",
            "the two axes stand at 45 degrees; expected a right angle",
        ),
        ("type: planar, axis: [0, 1, 0], second_axis: [0, -2, 0]", "'second_axis' is parallel to 'axis'"),
        ("type: rotational, axis: [0, 0, 0]", "a zero vector has no direction"),
        ("type: fixed, damping: 1", "a fixed joint has no 'damping'"),
        (
            "type: planar, axis: [0, 1, 0], damping: [1, 2]",
            "expected one number or 3, one for each freedom of a planar joint, found 2",
        ),
        (
            "type: cylindrical, axis: [0, 1, 0], damping: 1 N s/m",
            "one number for slides and turns of a cylindrical joint",
        ),
        (
            "type: cylindrical, axis: [0, 1, 0], damping: 0 N s/m",
            "one number for slides and turns of a cylindrical joint",
        ),
        (
            "type: spherical, stiffness: [1, 2, 1]",
            "the turns of a spherical joint have one spring, free where the joint is zero",
        ),
        (
            "type: spherical, stiffness: 1, rest: [0, 0.1, 0]",
            "the turns of a spherical joint have one spring, free where the joint is zero",
        ),
        ("type: spherical, friction: 1", "a spherical joint has no friction: its turns are no list of coordinates"),
        (
            "type: rotational, axis: [0, 1, 0], motion: t/1 s, friction: 1",
            "a driven freedom has no friction: its drive gives what the motion takes",
        ),
        (
            "type: rotational, axis: [0, 1, 0], motion: t/1 s, limits: {range: [0, inf], stop: rigid}",
            "a driven freedom has no rigid stop: its motion says where it is",
        ),
        *(
            (
                f"type: spherical, motion: [t/1 s, 0, 0], limits: {{{limit}, stop: rigid}}",
                "a driven freedom has no rigid stop: its motion says where it is",
            )
            for limit in ("range: [0 deg, 60 deg]", "cone: 60 deg", "twist: [-30 deg, 30 deg]")
        ),
        (
            "type: spherical, motion: t/1 s",
            "expected 3 formulas, one for each freedom of a spherical joint, found one",
        ),
        (
            "type: spherical, motion: [t/1 s, free, 0]",
            "the turns of a spherical joint are one rotation vector: all three are driven, or none",
        ),
        (
            "type: cylindrical, axis: [0, 1, 0], motion: t/1 s",
            "expected 2 formulas, one for each freedom of a cylindrical joint, found one",
        ),
        (
            "type: rotational, axis: [0, 1, 0], motion: [t/1 s, free]",
            "expected one formula of a rotational joint, found a list of 2",
        ),
        ("type: rotational, axis: [0, 1, 0], motion: free", "no freedom of this joint is driven"),
        ("type: rotational, axis: [0, 1, 0], damping: -1", "expected at least 0, found -1 N m s/rad"),
    ],
)
def test_what_a_joint_cannot_have_is_told(joint, what):
    text = HELD % joint
    with pytest.raises(SceneError) as caught:
        load_text(text)
    assert [problem.what for problem in caught.value.problems] == [what]


@pytest.mark.parametrize(
    "joint",
    [
        "type: rotational, axis: [0, 1, 0], limits: [1, 1]",
        "type: spherical, limits: {range: [0, 179.9 deg], stop: rigid}",
        "type: spherical, limits: {range: [0, inf], stop: rigid}",
        "type: spherical, limits: {range: [0, 0.01 deg], stop: rigid}",
        "type: universal, axis: [0, 1, 0], second_axis: [1, 0.9e-6, 0]",
        "type: planar, axis: [0, 1, 0], second_axis: [1e-4, 1, 0]",
        "type: cylindrical, axis: [0, 1, 0], limits: [[-inf, inf], [0, 1]]",
        "type: cylindrical, axis: [0, 1, 0], damping: 2",
        "type: spherical, stiffness: 3, rest: 0",
        "type: rotational, axis: [1e-11, 0, 0]",
        "type: rotational, axis: [0, 1, 0], motion: t/1 s, limits: {range: [-inf, inf], stop: rigid}",
        "type: cylindrical, axis: [0, 1, 0], motion: [free, t/1 s], friction: [1, 0]",
    ],
)
def test_what_a_joint_just_can_have_is_read(joint):
    text = HELD % joint
    (found,) = load_text(text).joints
    if found.second_axis is not None:
        assert np.dot(found.axis, found.second_axis) == pytest.approx(0.0, abs=1e-15) and np.linalg.norm(
            found.second_axis
        ) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("axis", "second"), [((1.0, 0, 0), (0, 1.0, 0)), ((0.6, 0.8, 0), (0.8, -0.6, 0)), ((0, 0, 1.0), (1.0, 0, 0))]
)
def test_a_plane_has_a_first_direction_if_none_is_written(axis, second):
    (found,) = load_text(HELD % f"type: planar, axis: {list(axis)}").joints
    assert found.second_axis == pytest.approx(second)
