"""A figure and a scene in the form of the language's first examples, to the last number."""

import math

import pytest

from sim.scene.load import load
from sim.scene.problem import SceneError
from tests.scene.examples import FIGURE, SWING, by_name

pytestmark = pytest.mark.fast


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "doll.yaml").write_text(FIGURE, encoding="utf-8")
    (tmp_path / "swing.yaml").write_text(SWING, encoding="utf-8")
    return tmp_path


def test_the_figure_has_its_bodies_joints_and_numbers(folder):
    scene = load(folder / "doll.yaml")
    bodies, joints = by_name(scene.bodies), by_name(scene.joints)
    assert list(bodies) == ["torso", "upper_arm_l", "forearm_l", "upper_arm_r", "forearm_r"]
    assert list(joints) == ["shoulder_l", "elbow_l", "shoulder_r", "elbow_r"]
    torso = bodies["torso"]
    assert torso.mass == pytest.approx(0.578 * 30, rel=1e-15)
    assert torso.com == (0, 0, pytest.approx(0.19 * 1.2, rel=1e-15))
    k = (0.145 * 1.2) ** 2 * torso.mass
    assert torso.inertia == pytest.approx((k, k, (0.06 * 1.2) ** 2 * torso.mass, 0, 0, 0), rel=1e-14)
    palm = bodies["forearm_r"].points["palm"]
    assert palm == pytest.approx((0, -0.129 * 1.2, -0.098 * 1.2), rel=1e-15)
    elbow = joints["elbow_r"]
    assert (elbow.type, elbow.parent, elbow.child) == ("rotational", "upper_arm_r", "forearm_r")
    assert elbow.axis == (0, -1, 0)
    assert elbow.position == pytest.approx((0, -0.1548, 0.1224), rel=1e-14)
    assert elbow.limits.ranges == ((0.0, pytest.approx(math.radians(150))),)
    assert (elbow.limits.stiffness, elbow.limits.dissipation) == (500.0, 0.5)


def test_the_scene_has_its_parts_and_names(folder):
    scene = load(folder / "swing.yaml")
    assert [(part.prefix, part.parent) for part in scene.parts] == [("", -1), ("doll", 0)]
    part = scene.parts[1]
    assert part.position == (-0.1, 0, 0.56)
    assert part.pose["doll.elbow_l"].coordinate == (pytest.approx(math.radians(70)),)
    half = math.sqrt(0.5)
    assert part.pose["doll.shoulder_l"].coordinate == pytest.approx((half, 0, -half, 0))
    joints = by_name(scene.joints)
    grip = joints["grip_r"]
    assert (grip.parent, grip.child, grip.parent_point, grip.child_point) == (
        "rope_r",
        "doll.forearm_r",
        "hold",
        "palm",
    )
    assert grip.position is None and grip.connected and grip.binds == "drawing"
    assert joints["slide"].second_axis == (1, 0, 0)
    assert by_name(scene.bodies)["rope_r"].points["hold"] == (0, -0.28, 0.95)
    assert set(scene.sources) == {str(folder / "swing.yaml"), str(folder / "doll.yaml")}


def test_the_scene_has_its_events_and_controllers(folder):
    scene = load(folder / "swing.yaml")
    tears, off, let_go = scene.events
    assert (tears.at, tears.caption, tears.actions[0].kind, tears.actions[0].targets) == (
        3.0, "the left rope tears", "cut", ("beam_l",),
    )  # fmt: skip
    assert off.when.text == "coordinate('slide')[0] > 16 cm"
    assert (let_go.key, let_go.actions[0].targets, let_go.once) == ("let go", ("grip_l", "grip_r"), True)
    pump, stops = scene.controllers
    assert pump.parameters["joints"] == ("doll.elbow_l", "doll.elbow_r")
    assert pump.parameters["amplitude"] == pytest.approx(math.radians(40))
    assert stops.parameters["joints"] == ("doll.shoulder_l", "doll.elbow_l", "doll.shoulder_r", "doll.elbow_r")


def test_settings_hold_every_key(folder):
    scene = load(folder / "swing.yaml")
    assert (scene.simulate.duration, scene.simulate.rtol, scene.simulate.record) == (6.0, 1e-8, 120.0)
    assert scene.render == {
        "size": [1280, 720], "fps": 30.0, "speed": 1.0, "ground": False, "background": None, "captions": True,
        "trails": [],
        "camera": {
            "follow": "doll.torso", "target": None, "distance": 4.0, "azimuth": pytest.approx(math.radians(60)),
            "elevation": pytest.approx(math.radians(10)), "fov": None,
        },
    }  # fmt: skip


def test_a_message_reads_as_the_language_shows_it(folder, monkeypatch):
    monkeypatch.chdir(folder)
    text = SWING.replace('child: "doll.forearm_${s}"', 'child: "doll.forarm_${s}"')
    (folder / "swing.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(SceneError) as caught:
        load("swing.yaml")
    line = '      grip_${s}: {type: spherical, parent: "rope_${s}", child: "doll.forarm_${s}",'
    column = line.index('"doll.forarm')
    assert str(caught.value) == "\n".join(
        [
            f"swing.yaml:22:{column + 1}: joints.grip_l.child: no body named 'doll.forarm_l'",
            f"  22 | {line}",
            f"     | {' ' * column}{'^' * len('doll.forarm_${s}' + '__')}",
            "  did you mean 'doll.forearm_l'?  (from repeat: s = l)",
        ]
    )
