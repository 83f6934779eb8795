"""Constraints as scenes say them: wheels, blades, what rolls, gears and screws."""

import math

import numpy as np
import pytest

from sim.joints import JOINT_TYPES
from sim.mechanism.frames import frame_along
from sim.mechanism.joint_motion import motion
from sim.scene.problem import SceneError
from tests.scene.examples import by_name, scene_of

pytestmark = pytest.mark.fast

SHED = """
name: shed
world:
  shapes:
    - {name: floor, plane: {center: [0, 0, -1]}}
    - {name: slope, plane: {center: [1, 2, 3], normal: [-3, 0, 4]}}
    - {name: dome, sphere: {center: [1, 2, 3], radius: 2}}
    - {name: pipe, capsule: {from: [1, 0, 0], to: [1, 6, 8], radius: 2}}
bodies:
  link: {mass: 1 kg, com: [0, 0, 1], points: {axle: [0.2, 0, 0]}}
  coin: {mass: 1 kg, com: [1, 0, 0.1]}
  table: {mass: 1 kg, com: [0, 0, -1]}
  crank: {mass: 1 kg, com: [3, 0, 0]}
  rack: {mass: 1 kg, com: [4, 0, 0]}
  nut: {mass: 1 kg, com: [5, 0, 0]}
joints:
  turn: {type: rotational, parent: world, child: crank, position: [3, 0, 0], axis: [0, 1, 0]}
  slide: {type: translational, parent: world, child: rack, position: [4, 0, 0], axis: [1, 0, 0]}
  thread: {type: cylindrical, parent: world, child: nut, position: [5, 0, 0], axis: [0, 0, 1]}
"""


def constraint_of(text, **sections):
    more = "\n".join(f"{key}: {value}" for key, value in sections.items())
    (constraint,) = scene_of(f"{SHED}\nconstraints: {{it: {{{text}}}}}\n{more}").constraints
    return constraint


def test_a_wheel_has_an_axle_and_a_point_on_a_level_ground():
    wheel = constraint_of("type: no_side_slip, body: link, point: axle, axis: [0, -2, 0]")
    assert (wheel.name, wheel.part, wheel.type) == ("it", 0, "no_side_slip")
    assert (wheel.body, wheel.point, wheel.position, wheel.axis) == ("link", "link.axle", None, (0, -1, 0))
    assert (wheel.on, wheel.normal, wheel.level) == ("world", (0, 0, 1), (0, 0, 0))
    assert (wheel.keeps, wheel.holds, wheel.active) == (False, math.inf, True)
    assert (wheel.joints, wheel.components, wheel.radius) == ((), (), 0.0)


def test_a_blade_is_said_by_its_edge_and_may_let_go():
    said = "type: knife_edge, body: link, position: [1 cm, 0, 0], along: [3, 4, 0], normal: [0, 0, 5]"
    blade = constraint_of(f"{said}, holds: 2 kN, active: false")
    assert (blade.point, blade.position) == ("", (0.01, 0, 0))
    assert blade.axis == pytest.approx((0.6, 0.8, 0))
    assert (blade.normal, blade.holds, blade.active) == ((0, 0, 1), 2000.0, False)


def test_planes_of_the_world_are_grounds():
    coin = constraint_of("type: rolling, body: coin, axis: [0, 1, 0], radius: 10 cm, tube: 5 mm, ground: world.slope")
    assert coin.on == "world"
    assert coin.normal == pytest.approx((-0.6, 0, 0.8), abs=1e-15)
    assert coin.level == (1, 2, 3)
    assert (coin.point, coin.axis, coin.radius, coin.tube, coin.keeps) == ("coin.com", (0, 1, 0), 0.1, 0.005, True)


def test_spheres_and_cylinders_of_the_world_are_grounds_of_what_rolls():
    dome = constraint_of("type: rolling, body: coin, radius: 10 cm, ground: world.dome")
    assert (dome.on, dome.level, dome.bend, dome.along) == ("world", (1, 2, 3), 2.0, None)
    pipe = constraint_of("type: rolling, body: coin, radius: 10 cm, ground: world.pipe, inside: true")
    assert (pipe.level, pipe.bend, pipe.keeps) == ((1, 3, 4), -2.0, True)
    assert pipe.along == pytest.approx((0, 0.6, 0.8), abs=1e-15)


def test_a_ground_that_a_body_carries_may_be_round():
    ball = constraint_of("type: rolling, body: coin, radius: 10 cm, ground: table, bend: 50 cm, level: [0, 0, 1]")
    assert (ball.on, ball.level, ball.bend, ball.along) == ("table", (0, 0, 1), 0.5, None)
    drum = "type: rolling, body: coin, radius: 0.1, ground: table, bend: 0.5, level: [0, 0, 1], along: [0, 2, 0]"
    assert (constraint_of(drum).along, constraint_of(f"{drum}, inside: true").bend) == ((0, 1, 0), -0.5)


def test_a_sphere_rolls_on_a_body():
    ground = "ground: table, normal: [0, 0, 2], level: [0, 0, 10 cm]"
    ball = constraint_of(f"type: rolling, body: coin, radius: 0.2, {ground}, keeps: false")
    assert (ball.on, ball.normal, ball.level) == ("table", (0, 0, 1), (0, 0, 0.1))
    assert (ball.axis, ball.tube, ball.keeps) == (None, 0.0, False)


def test_velocities_may_be_the_same_in_some_components():
    same = constraint_of("type: same_velocity, bodies: [link, table], point: axle, components: [rz, x, y]")
    assert (same.body, same.on, same.point, same.components) == ("link", "table", "link.axle", ("rz", "x", "y"))
    alone = constraint_of("type: same_velocity, bodies: [link, world], components: [rx], holds: 3 N m")
    assert (alone.on, alone.point, alone.holds) == ("world", "link.com", 3.0)


@pytest.mark.parametrize(
    ("text", "joints", "freedoms", "ratio"),
    [
        ("joints: [turn, turn_2], ratio: -2", ("turn", "turn_2"), (0, 0), -2.0),
        ("joints: [slide, turn], ratio: 3 cm", ("slide", "turn"), (0, 0), 0.03),
        ("joints: [turn, slide], ratio: 1/(4 cm)", ("turn", "slide"), (0, 0), 25.0),
        ("joints: [thread, slide], freedoms: [0, 0], ratio: 0.5", ("thread", "slide"), (0, 0), 0.5),
        ("joints: [thread, slide], freedoms: [1, 0], ratio: -2 rad/m", ("thread", "slide"), (1, 0), -2.0),
    ],
)
def test_gears_bind_a_freedom_of_each_joint(text, joints, freedoms, ratio):
    second = "turn_2: {type: rotational, parent: world, child: link, position: [0, 0, 0], axis: [0, 0, 1]}"
    scene = scene_of(f"{SHED}  {second}\nconstraints: {{pair: {{type: gear, {text}}}}}")
    (gear,) = scene.constraints
    assert (gear.joints, gear.freedoms, gear.body, gear.on) == (joints, freedoms, "", "")
    assert gear.ratio == pytest.approx(ratio)


def test_a_screw_moves_its_pitch_in_a_turn():
    screw = constraint_of("type: screw, joint: thread, pitch: -2 mm, holds: 5 N")
    assert screw.joints == ("thread",)
    assert 2 * math.pi * screw.ratio == pytest.approx(-0.002)
    assert screw.holds == 5.0


def test_repeats_make_wheels_and_events_switch_them():
    scene = scene_of(
        """
        name: snake
        bodies:
          repeat: {for: {i: {from: 1, to: 3}}, "link_${i}": {mass: 1 kg, com: [i, 0, 0]}}
        constraints:
          repeat:
            for: {i: {from: 1, to: 3}}
            wheel_${i}: {type: no_side_slip, body: "link_${i}", point: com, axis: [0, 1, 0], active: false}
        repeat:
          for: {s: [front, rear], x: [1, 3]}
          constraints: {"${s}": {type: knife_edge, body: "link_${x}", position: [x, 0, 0], along: [1, 0, 0]}}
        controllers: {pull: {type: torque, torques: {link_1: [0, 0, 0, 0, 0, 1 N m]}}}
        events:
          grips: {at: 1 s, enable: ["wheel_?", pull]}
          slips: {when: "norm(force('wheel_2')) > 5 N", disable: wheel_2}
          glides: {when: "force('wheel_2')[1] < 0 and t > 2 s", disable: ["*ar"]}
        """
    )
    constraints = by_name(scene.constraints)
    assert set(constraints) == {"wheel_1", "wheel_2", "wheel_3", "front", "rear"}
    assert constraints["rear"].position == (3, 0, 0)
    targets = {event.name: event.actions[0].targets for event in scene.events}
    assert targets["grips"] == ("wheel_1", "wheel_2", "wheel_3", "pull")
    assert targets["slips"] == ("wheel_2",)
    assert targets["glides"] == ("rear",)


# ---- figures bring theirs -------------------------------------------------------------------------------------------

CART = """\
schema: 1
name: cart
world: {shapes: [{name: road, plane: {center: [0, 0, 0.5], normal: [0, 1, 2]}}]}
bodies:
  frame: {mass: 1 kg, com: [0, 0, 1], points: {hub: [1, 0, 1]}}
constraints:
  wheel: {type: no_side_slip, body: frame, point: hub, axis: [0, 1, 0], ground: world.road}
  skid: {type: knife_edge, body: frame, position: [1, 2, 3], along: [1, 0, 0]}
"""


def test_an_included_file_keeps_its_coordinates_and_names(tmp_path):
    (tmp_path / "cart.yaml").write_text(CART, encoding="utf-8")
    scene = scene_of(
        """
        name: carts
        include:
          figure: cart.yaml
          prefix: a
          placement: {position: [7, 8, 9], orientation: {rpy: [20 deg, 30 deg, 40 deg]}}
        constraints:
          tie: {type: same_velocity, bodies: [a.frame, world], point: hub, components: [x]}
          road: {type: rolling, body: a.frame, radius: 1 m, ground: world.a.road}
        """,
        folder=tmp_path,
    )
    found = by_name(scene.constraints)
    wheel, skid = found["a.wheel"], found["a.skid"]
    assert (wheel.part, wheel.body, wheel.point, wheel.on) == (1, "a.frame", "a.frame.hub", "world")
    assert (skid.part, skid.position, skid.normal) == (1, (1, 2, 3), (0, 0, 1))
    assert wheel.normal == pytest.approx(np.array([0, 1, 2]) / math.sqrt(5), abs=1e-15)
    assert wheel.level == pytest.approx((0, 0, 0.5), abs=1e-14)
    assert (found["tie"].part, found["tie"].point) == (0, "a.frame.hub")
    # The scene sees the road where the placement put it: R (0, 0, 0.5) + p, by rpy about fixed axes.
    x, y, z = (math.radians(angle) for angle in (20, 30, 40))
    about = (
        np.array([[1, 0, 0], [0, math.cos(x), -math.sin(x)], [0, math.sin(x), math.cos(x)]]),
        np.array([[math.cos(y), 0, math.sin(y)], [0, 1, 0], [-math.sin(y), 0, math.cos(y)]]),
        np.array([[math.cos(z), -math.sin(z), 0], [math.sin(z), math.cos(z), 0], [0, 0, 1]]),
    )
    R = about[2] @ about[1] @ about[0]
    assert found["road"].level == pytest.approx(R @ (0, 0, 0.5) + (7, 8, 9))
    assert found["road"].normal == pytest.approx(R @ np.array([0, 1, 2]) / math.sqrt(5))


# ---- mirrors --------------------------------------------------------------------------------------------------------


SIDES = """
name: sides
world: {shapes: [{name: bank, plane: {center: [0, 1, 0], normal: [0, 1, 5]}}]}
bodies:
  hull: {mass: 1 kg, com: [0, 0, 1], points: {hub_l: [0, 1, 0]}}
  foot_l: {mass: 1 kg, com: [0, 1, 0]}
  rod_l: {mass: 1 kg, com: [0, 2, 0]}
joints:
  trunk: {type: rotational, parent: world, child: hull, position: [0, 0, 1], axis: [0, 1, 0]}
  hip_l: {type: rotational, parent: hull, child: foot_l, position: [0, 1, 1], axis: [1, 2, 3]}
  bolt_l: {type: cylindrical, parent: hull, child: rod_l, position: [0, 2, 0], axis: [1, 0, 1]}
mirror: {l: r, plane: y}
"""


def twins_of(text):
    found = by_name(scene_of(f"{SIDES}\nconstraints: {{it_l: {{{text}}}}}").constraints)
    assert list(found) == ["it_l", "it_r"]
    return found["it_l"], found["it_r"]


def test_a_mirror_reflects_places_and_directions():
    said = "type: knife_edge, body: foot_l, position: [1, 2, 3], along: [3, 4, 0], normal: [0, 1, 1]"
    _, twin = twins_of(said)
    assert (twin.body, twin.position, twin.axis) == ("foot_r", (1, -2, 3), pytest.approx((0.6, -0.8, 0)))
    assert twin.normal == pytest.approx((0, -math.sqrt(0.5), math.sqrt(0.5)))
    _, wheel = twins_of("type: no_side_slip, body: hull, point: hub_l, axis: [0, 1, 0]")
    assert (wheel.body, wheel.point, wheel.normal) == ("hull", "hull.hub_r", (0, 0, 1))


def test_a_mirror_reflects_the_axis_of_a_cylinder_that_is_written():
    said = "type: rolling, body: foot_l, radius: 0.1, ground: world, bend: 1, level: [1, 2, 3], along: [3, 4, 0]"
    _, twin = twins_of(said)
    assert (twin.level, twin.bend, twin.along) == ((1, -2, 3), 1.0, pytest.approx((0.6, -0.8, 0)))


def test_a_mirror_leaves_planes_of_the_world_where_they_are():
    foot, twin = twins_of("type: rolling, body: foot_l, radius: 0.1, ground: world.bank")
    assert (twin.normal, twin.level, twin.point) == (foot.normal, foot.level, "foot_r.com")


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("type: screw, joint: bolt_l, pitch: 1 mm", -1),  # a right-handed thread has a left-handed image
        ("type: gear, joints: [hip_l, bolt_l], freedoms: [0, 0], ratio: 2 rad/m", 1),
        ("type: gear, joints: [hip_l, bolt_l], freedoms: [0, 1], ratio: 2", -1),
        ("type: gear, joints: [hip_l, trunk], ratio: 2", 1),
    ],
)
def test_gears_and_screws_of_twins_move_as_mirror_images(text, sign):
    written, twin = twins_of(text)
    assert twin.ratio == sign * written.ratio
    assert twin.joints == tuple(name.replace("_l", "_r") for name in written.joints)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (("axis: [0, 1, 0]", "axis: [1, 0, 0]"), -1),
        (("axis: [0, 1, 0]", "axis: [1, 1, 0]"), "its mirror image 'it_r' is no gear of the same freedoms"),
    ],
)
def test_a_joint_of_both_sides_is_its_own_twin(change, what):
    text = SIDES.replace(*change) + "\nconstraints: {it_l: {type: gear, joints: [hip_l, trunk], ratio: 2}}"
    if isinstance(what, str):
        with pytest.raises(SceneError) as caught:
            scene_of(text)
        assert [problem.what for problem in caught.value.problems] == [what]
    else:
        written, twin = scene_of(text).constraints
        assert twin.ratio == what * written.ratio


def test_nothing_is_said_of_a_twin_whose_joint_cannot_be_read():
    """The right hip is written by hand, without an axis: that is told, and nothing of the gear that it would be in."""
    wrong = "joints:\n  hip_r: {type: rotational, parent: hull, child: foot_r, axis: [1, q, 3]}\n"
    text = SIDES.replace("joints:\n", wrong)
    with pytest.raises(SceneError) as caught:
        scene_of(text + "\nconstraints: {it_l: {type: gear, joints: [hip_l, trunk], ratio: 2}}")
    told = [problem.path.partition("[")[0] for problem in caught.value.problems]
    assert told == ["joints.hip_r", "joints.hip_r.axis", "joints.hip_l"]  # there twice, and not to be read


FREEDOMS = [
    ("rotational", "axis: [0, 1, 0]", 0),
    ("rotational", "axis: [3, 0, 4]", 0),
    ("translational", "axis: [0, 1, 0]", 0),
    ("translational", "axis: [3, 0, 4]", 0),
    ("cylindrical", "axis: [0, 1, 0]", 0),
    ("cylindrical", "axis: [0, 1, 0]", 1),
    ("cylindrical", "axis: [1, 0, 0]", 1),
    ("universal", "axis: [0, 1, 0], second_axis: [0, 0, 1]", 0),
    ("universal", "axis: [0, 1, 0], second_axis: [0, 0, 1]", 1),
    ("universal", "axis: [0, 0, 1], second_axis: [0, 1, 0]", 1),
    ("planar", "axis: [0, 1, 0], second_axis: [1, 0, 0]", 0),
    ("planar", "axis: [0, 1, 0], second_axis: [1, 0, 0]", 1),
    ("planar", "axis: [0, 1, 0], second_axis: [1, 0, 0]", 2),
    ("planar", "axis: [0, 0, 1], second_axis: [1, 0, 0]", 1),
    ("planar", "axis: [0, 0, 1], second_axis: [0, 1, 0]", 0),
    ("planar", "axis: [0, 0, 1], second_axis: [0, 1, 0]", 2),
]


@pytest.mark.parametrize(("kind", "axes", "freedom"), FREEDOMS)
def test_the_sign_of_a_twin_is_that_of_its_mirror_image(kind, axes, freedom):
    """The sides share the joint: its motion, by its own transform, is reflected and looked for among its own."""
    text = SIDES.replace("type: rotational, parent: world, child: hull", f"type: {kind}, parent: world, child: hull")
    text = text.replace("axis: [0, 1, 0]", axes, 1)
    for sliding in ("2", "2/m"):
        said = f"type: gear, joints: [hip_l, trunk], freedoms: [0, {freedom}], ratio: {sliding}"
        try:
            scene = scene_of(f"{text}\nconstraints: {{it_l: {{{said}}}}}")
            break
        except SceneError:
            continue
    written, twin = scene.constraints
    joint = by_name(scene.joints)["trunk"]
    first = joint.axis if joint.type != "universal" else joint.second_axis
    R = frame_along(first, joint.second_axis if joint.type != "universal" else joint.axis)

    def moved(rate, p):
        q = np.zeros(len(joint.rest))
        q[freedom] = rate
        X = motion(JOINT_TYPES[joint.type], q)
        return R @ (X.p + X.R @ R.T @ p)

    reflect = np.diag([1.0, -1.0, 1.0])
    p = np.array([0.3, 0.5, 0.7])
    image = reflect @ moved(0.1, reflect @ p)
    signs = [sign for sign in (1, -1) if moved(0.1 * sign, p) == pytest.approx(image, abs=1e-12)]
    assert [twin.ratio / written.ratio] == signs


def test_what_a_twin_needs_is_missed(tmp_path):
    (tmp_path / "leg.yaml").write_text("schema: 1\nbodies: {foot_l: {mass: 1, com: [0, 1, 0]}}\n", encoding="utf-8")
    text = """
        include: {figure: leg.yaml, prefix: leg}
        bodies: {arm_l: {mass: 1, com: [0, 2, 0]}}
        mirror: {l: r, plane: y}
        constraints:
          skid_l: {type: knife_edge, body: leg.foot_l, point: com, along: [1, 0, 0]}
          tie_l: {type: same_velocity, bodies: [arm_l, world], components: [x]}
          tie_r: {type: same_velocity, bodies: [arm_r, world], components: [x]}
        """
    with pytest.raises(SceneError) as caught:
        scene_of(text, folder=tmp_path)
    skid, tie = caught.value.problems
    assert (skid.what, skid.hint) == (
        "its mirror image 'skid_r' needs a body named 'leg.foot_r'", "did you mean 'leg.foot_l'?",
    )  # fmt: skip
    assert tie.what == "its mirror image 'tie_r' is there already"


# ---- names of two kinds ---------------------------------------------------------------------------------------------


def test_a_formula_tells_which_of_two_things_it_means():
    text = f"{SHED}\nconstraints: {{turn: {{type: no_side_slip, body: link, point: axle, axis: [0, 1, 0]}}}}"
    scene_of(text)
    with pytest.raises(SceneError) as caught:
        scene_of(text + "\nevents: {ends: {when: \"force('turn')[0] > 1\", stop: true}}")
    (problem,) = caught.value.problems
    assert problem.what == "'turn' is a joint and a constraint"
