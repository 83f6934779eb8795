"""Contacts, planes and named shapes of the world, as scenes say them."""

import numpy as np
import pytest

from sim.scene.problem import SceneError
from sim.scene.rotation import rotate
from tests.scene.examples import by_name, scene_of

pytestmark = [pytest.mark.fast, pytest.mark.contact]

FEET = """
name: feet
world:
  shapes:
    - {name: ground, plane: {}}
    - {name: step_1, box: {center: [1, 0, 0], size: [1, 1, 0.1]}}
    - {name: step_2, box: {center: [2, 0, 0], size: [1, 1, 0.2]}}
    - {sphere: {center: [0, 0, 9], radius: 0.1}}
bodies:
  repeat:
    for: {s: [l, r], y: [1, -1]}
    foot_${s}: {mass: 1 kg, shapes: [{box: {center: [0, 0.2*y, 1], size: [0.3, 0.1, 0.1]}}]}
  head: {mass: 1 kg, shapes: [{sphere: {center: [0, 0, 2], radius: 0.1}}]}
"""


def contacts_of(rules: str, events: str = "") -> dict:
    scene = scene_of(f"{FEET}\ncontacts: {{{rules}}}\nevents: {{{events}}}")
    return by_name(scene.contacts)


def test_a_rule_says_what_touches_and_how():
    rule = contacts_of(
        "soles: {between: ['foot_?', world.ground], friction: 0.8, restitution: 0.1, rest_speed: 1 mm/s, active: false}"
    )["soles"]
    assert rule.between == (("foot_l", "foot_r"), ("world.ground",))
    assert (rule.friction, rule.restitution, rule.rest_speed, rule.active) == (0.8, 0.1, 1e-3, False)


def test_what_a_rule_does_not_say():
    rule = contacts_of("all: {between: ['*', world]}")["all"]
    assert rule.between == (("foot_l", "foot_r", "head"), ("world",))
    assert (rule.friction, rule.restitution, rule.rest_speed, rule.active) == (None, 0.0, 0.0, True)


@pytest.mark.parametrize(
    ("between", "sides"),
    [
        ("[head, 'world.step_*']", (("head",), ("world.step_1", "world.step_2"))),
        ("[head, ['foot_?', world.ground]]", (("head",), ("foot_l", "foot_r", "world.ground"))),
        ("[['foot_l', 'foot_?'], head]", (("foot_l", "foot_r"), ("head",))),
        ("['*', '*']", (("foot_l", "foot_r", "head"),) * 2),
        ("[world, head]", (("world",), ("head",))),
    ],
)
def test_sides_are_names_patterns_and_lists_of_them(between, sides):
    assert contacts_of(f"rule: {{between: {between}}}")["rule"].between == sides


def test_except_leaves_bodies_out_on_both_sides():
    rule = contacts_of("rule: {between: ['*', ['*', world]], except: 'foot_?'}")["rule"]
    assert rule.between == (("head",), ("head", "world"))


def test_rules_may_be_repeated():
    rules = contacts_of("repeat: {for: {s: [l, r]}, 'sole_${s}': {between: ['foot_${s}', world]}}")
    assert {name: rule.between[0] for name, rule in rules.items()} == {"sole_l": ("foot_l",), "sole_r": ("foot_r",)}


def test_events_switch_rules_by_name_and_pattern():
    scene = scene_of(
        FEET
        + """
contacts:
  sole_l: {between: [foot_l, world]}
  sole_r: {between: [foot_r, world]}
events:
  lands: {at: 1 s, touch: sole_l}
  leaps: {at: 2 s, release: "sole_?"}
"""
    )
    actions = {event.name: [(a.kind, a.targets) for a in event.actions] for event in scene.events}
    assert actions == {"lands": [("touch", ("sole_l",))], "leaps": [("release", ("sole_l", "sole_r"))]}


# ---- planes ---------------------------------------------------------------------------------------------------------


def plane_of(text: str):
    return scene_of(
        f"name: a\nworld: {{shapes: [{{plane: {text}}}]}}\nbodies: {{b: {{mass: 1, com: [0, 0, 1]}}}}"
    ).world


def test_a_plane_is_level_ground_unless_said_otherwise():
    (shape,) = plane_of("{}").shapes
    assert (shape.kind, shape.name, shape.position, shape.size) == ("plane", "", (0, 0, 0), (10, 10, 0))
    assert rotate(shape.orientation, (0, 0, 1)) == (0, 0, 1)


@pytest.mark.parametrize("normal", [(1, 0, 1), (0, 0, 2), (-3, 4, 0.1), (0, 0, -5), (1e-3, 0, -1), (0, 0.01, 0)])
def test_the_normal_of_a_plane_may_have_any_length(normal):
    (shape,) = plane_of(f"{{normal: {list(normal)}, center: [1, 2, 3], edge: 2}}").shapes
    expected = np.array(normal) / np.linalg.norm(normal)
    assert rotate(shape.orientation, (0, 0, 1)) == pytest.approx(expected, abs=1e-15)
    assert (shape.position, shape.size) == ((1, 2, 3), (2, 2, 0))


# ---- figures bring theirs -------------------------------------------------------------------------------------------

LEG = """\
schema: 1
name: leg
world: {shapes: [{name: mat, plane: {center: [0, 0, -1]}}]}
bodies:
  foot: {mass: 1 kg, shapes: [{sphere: {center: [0, 0, 0], radius: 0.1}}]}
contacts:
  sole: {between: [foot, world.mat], friction: 0.7}
  all: {between: [foot, world]}
"""


def test_an_included_file_calls_its_own_things_by_their_own_names(tmp_path):
    (tmp_path / "leg.yaml").write_text(LEG, encoding="utf-8")
    scene = scene_of(
        """
        name: legs
        include:
          - {figure: leg.yaml, prefix: left, placement: {position: [0, 1, 5], orientation: {rpy: [90 deg, 0, 0]}}}
          - {figure: leg.yaml, prefix: right, placement: {position: [0, -1, 5]}}
        contacts: {feet: {between: [left.foot, right.foot]}}
        """,
        folder=tmp_path,
    )
    rules = by_name(scene.contacts)
    assert rules["left.sole"].between == (("left.foot",), ("world.left.mat",))
    assert rules["right.all"].between == (("right.foot",), ("world",))
    assert rules["feet"].between == (("left.foot",), ("right.foot",))
    left, right = scene.world.shapes
    assert (left.name, right.name) == ("left.mat", "right.mat")
    assert left.position == pytest.approx((0, 2, 5))
    assert rotate(left.orientation, (0, 0, 1)) == pytest.approx((0, -1, 0))
    assert right.position == (0, -1, 4)


def test_messages_name_the_nearest():
    """The whole list of messages is held by tests/bad_scenes; here, that a figure's own prefix is seen through."""
    with pytest.raises(SceneError) as caught:
        contacts_of("sole: {between: [left.foot_l, world.steps_1]}")
    body, shape = caught.value.problems
    assert (body.what, body.hint) == ("no body named 'left.foot_l'", "did you mean 'foot_l'?")
    assert (shape.what, shape.hint) == ("no world shape named 'world.steps_1'", "did you mean 'world.step_1'?")
