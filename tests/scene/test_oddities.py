"""Warnings of what is legal and surely not meant: each by a scene, and none on what comes with the program."""

from __future__ import annotations

from pathlib import Path

import pytest

import sim
from sim.scene.load import load_text

HEAD = "schema: 1\nname: odd\nsimulate: {duration: 1 s}\n"
ARM = """
bodies:
  upper: {mass: 1 kg, shapes: [{capsule: {from: [0, 0, 0], to: [0.5, 0, 0], radius: RADIUS}}]}
  lower: {mass: 1 kg, shapes: [{capsule: {from: [0.5, 0, 0], to: [1, 0, 0], radius: 2 cm}}]}
joints:
  hinge: {type: rotational, parent: world, child: upper, position: [0, 0, 0], axis: [0, 1, 0]LIMITS}
  elbow: {type: KIND, parent: upper, child: lower, position: PLACE}
MORE
"""


def arm(*, radius="2 cm", limits="", kind="rotational", place="[0.5, 0, 0], axis: [0, 1, 0]", more="") -> str:
    text = ARM.replace("RADIUS", radius).replace("LIMITS", limits).replace("KIND", kind)
    return HEAD + text.replace("PLACE", place).replace("MORE", more)


def warnings(text: str) -> list[sim.Problem]:
    report = sim.check(load_text(text))
    assert report.ok
    return [problem for problem in report.problems if problem.severity == "warning"]


BALL = "[0.5, 0, 0]"
TURNED = "initial: {elbow: {rpy: [-179 deg, 0, 0]}}"
PD = "controllers: {hold: {type: pd, joints: elbow, kp: 5, target: TARGET}}"
TOUCHING = """
world: {shapes: [{name: ground, plane: {center: [0, 0, -3]}}]}
contacts: {blow: {between: [upper, world.ground]}}
"""
ODD = {
    "an angle without a unit": (
        arm(more="initial: {hinge: 90}"), "initial.hinge", "90 rad are 14.3 turns of 'hinge'",
    ),
    "an angle of more than a turn": (arm(more="initial: {elbow: 400 deg}"), "initial.elbow", "1.11 turns of 'elbow'"),
    "a target without a unit": (
        arm(more=PD.replace("TARGET", "45")), "controllers.hold.target", "45 rad are 7.16 turns of 'elbow'",
    ),
    "a spring's rest without a unit": (
        arm(limits=", stiffness: 2, rest: 30"), "joints.hinge.rest", "30 rad are 4.77 turns",
    ),
    "a value that an event sets": (
        arm(more="events: {turn: {at: 0.5 s, set: {hinge: 180}}}"), "events.turn.set.hinge", "180 rad are 28.6 turns",
    ),
    "limits in degrees": (
        arm(limits=", limits: [-90, 120]"), "joints.hinge.limits", "without a unit they are radians",
    ),
    "limits of a rotation in degrees": (
        arm(kind="spherical", place=BALL + ", limits: [0, 100]"), "joints.elbow.limits", "without a unit",
    ),
    "a radius in the wrong unit": (
        arm(radius="20 m"), "bodies.upper.shapes", "a capsule of 20 m, where all joints and centres of mass are within",
    ),
    "a joint in the axes of a body": (
        arm(place="[0, 0, 3], axis: [0, 1, 0]"), "joints.elbow.position", "it is 2.74 m from 'upper'",
    ),
    "a ball joint far from both": (arm(kind="spherical", place="[4, 0, 0]"), "joints.elbow.position", "it is 3."),
    "a target half a turn away": (
        arm(kind="spherical", place=BALL, more=PD.replace("TARGET", "{elbow: [0, 0, 175 deg]}")),
        "controllers.hold.target", "starts 175 deg from its target, about half a turn",
    ),
    "a start half a turn away": (
        arm(kind="spherical", place=BALL, more=PD.replace("TARGET", "0") + "\n" + TURNED),
        "controllers.hold.target", "starts 179 deg from its target",
    ),
    "a spring half a turn away": (
        arm(kind="spherical", place=BALL + ", stiffness: 3", more="initial: {elbow: {rpy: [0, 0, 170 deg]}}"),
        "joints.elbow.stiffness", "turned by 170 deg at the start",
    ),
    "a body that nothing holds": (
        arm().replace("joints:", "  ball: {mass: 1 kg, com: [0, 0, 2], inertia: [1, 1, 1]}\njoints:"), "bodies.ball",
        "nothing holds it, no contact names it and nothing pushes it: it only falls",
    ),
    "a rule for what a joint holds together": (
        arm(more=TOUCHING), "contacts.blow",
        "nothing touches by this rule: joint 'hinge' connects 'world' and 'upper', and what a joint connects does not "
        "touch",
    ),
    "bodies that nothing holds but one another": (
        arm().replace("parent: world, child: upper", "parent: post, child: upper").replace(
            "joints:", "  post: {mass: 1 kg, com: [0, 0, 0], inertia: [1, 1, 1]}\n"
            "  foot: {mass: 1 kg, com: [2, 0, 0], inertia: [1, 1, 1]}\njoints:\n"
            "  stand: {type: fixed, parent: world, child: foot, position: [2, 0, 0]}",
        ),
        "bodies.upper", "it only falls",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_what_is_surely_not_meant_is_told(name):
    text, path, says = ODD[name]
    (found,) = warnings(text)
    assert found.path == path
    assert says in found.what
    assert found.where is not None and found.source_line


MEANT = {
    "an arm": arm(),
    "a rule for what a joint holds until it is cut": arm(more=TOUCHING + "events: {falls: {at: 1 s, cut: hinge}}"),
    "a rule for what a free joint connects": HEAD + """
bodies: {upper: {mass: 1 kg, shapes: [{sphere: {radius: 0.1}}]}}
joints: {loose: {type: free, parent: world, child: upper, position: [0, 0, 0]}}
""" + TOUCHING,
    "a rule for what is beyond the joint, too": arm(more=TOUCHING.replace("upper", '"*"')),
    "a rule for what a joint holds that an event makes": arm(
        more=TOUCHING.replace("upper", "lower")
        + "events: {nails: {at: 1 s, connect: {nail: {type: fixed, parent: world, child: lower, position: [0, 0, 0]}}}}"
    ),
    "an angle within a turn": arm(more="initial: {hinge: 350 deg, elbow: -3}"),
    "limits of several turns, with their unit": arm(limits=", limits: [-720 deg, 720 deg]"),
    "limits of several turns, by pi": arm(limits=", limits: [-4*pi, 4*pi]"),
    "limits in radians": arm(limits=", limits: [-3.1, 3.1]"),
    "limits of a slide": arm(kind="translational", place="[0.5, 0, 0], axis: [1, 0, 0], limits: [-40, 40]"),
    "a target within half a turn": arm(kind="spherical", place=BALL, more=PD.replace("TARGET", "{elbow: [0, 2.5, 0]}")),
    "a target that is a formula": arm(more=PD.replace("TARGET", '"40 rad*t/1 s"')),
    "a slide far from both": arm(kind="translational", place="[0, 0, 30], axis: [0, 0, 1]"),
    "a hinge whose axis is near": arm(place="[0.5, 7, 0], axis: [0, 1, 0]"),
    "a ball on a long thread": HEAD + """
bodies: {bob: {mass: 1 kg, shapes: [{sphere: {center: [0, 0, -30], radius: 1 cm}}]}}
joints: {top: {type: spherical, parent: world, child: bob, position: [0, 0, 0]}}
""",
    "a ball that a rule lets touch": HEAD + """
world: {shapes: [{plane: {}}]}
bodies: {ball: {mass: 1 kg, shapes: [{sphere: {center: [0, 0, 2], radius: 1 cm}}]}}
contacts: {ground: {between: [ball, world]}}
""",
    "a ball that is thrown": arm(more="initial: {ball: {rate: [1, 0, 0, 0, 0, 0]}}").replace(
        "joints:", "  ball: {mass: 1 kg, com: [0, 0, 2], inertia: [1, 1, 1]}\njoints:"
    ),
    "a ball on a spring": arm(more="forces: {pull: {type: spring, from: upper, to: ball, stiffness: 3}}").replace(
        "joints:", "  ball: {mass: 1 kg, com: [0, 0, 2], inertia: [1, 1, 1]}\njoints:"
    ),
    "a ball that an event catches": arm(
        more="events: {catch: {at: 0.1 s, connect: {hold: {type: fixed, parent: lower, child: ball, "
        "position: [0, 0, 2]}}}}"
    ).replace("joints:", "  ball: {mass: 1 kg, com: [0, 0, 2], inertia: [1, 1, 1]}\njoints:"),
    "weightless bodies": arm() .replace("bodies:", "world: {gravity: [0, 0, 0]}\nbodies:", 1).replace(
        "joints:", "  ball: {mass: 1 kg, com: [0, 0, 2], inertia: [1, 1, 1]}\njoints:"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MEANT)
def test_what_may_be_meant_is_not_told(name):
    assert warnings(MEANT[name]) == []


SCENES = sorted((Path(__file__).parents[2] / "scenes").rglob("*.yaml"))


@pytest.mark.parametrize("path", SCENES, ids=lambda path: path.stem)
def test_no_scene_that_comes_with_the_program_is_odd(path, monkeypatch):
    monkeypatch.setattr("sim.analysis.report.refused", lambda model: [])  # other tests run them
    assert sim.check(path).problems == []


# --- one wrong unit is one problem --------------------------------------------------------------------

LADDER = """
schema: 1
name: ladder
parameters: {PARAMETERS}
repeat:
  - for: {i: [1, 2, 3]}
    bodies:
      rod_${i}: {mass: 1 kg, shapes: [{capsule: {from: [0, 0, i*L], to: [0, 0, (i+1)*L], radius: 0.1*half}}]}
    joints:
      j_${i}: {type: rotational, parent: world, child: "rod_${i}", position: [0, 0, i*L + 1 cm], axis: [0, 1, 0]}
events: {late: {when: "position('rod_1')[2] > 2*L", stop: true}}
simulate: {duration: 1 s}
"""


@pytest.mark.parametrize("parameters", ["L: 1 kg, half: L/2", "L: {value: 1 kg, about: a length}, half: {value: L/2}"])
def test_a_parameter_with_a_wrong_unit_is_one_problem_at_its_place(parameters):
    with pytest.raises(sim.SceneError) as caught:
        load_text(LADDER.replace("PARAMETERS", parameters))
    (problem,) = caught.value.problems
    assert problem.path == "parameters.L" and problem.where is not None and problem.where.line == 4
    assert problem.what.startswith("'L' is a mass (kg), and 5 places read it as a length (m), first bodies.rod_1")


def test_a_parameter_that_is_right_is_not_blamed_for_other_mistakes():
    wrong = LADDER.replace("PARAMETERS", "L: 1 m, half: L/2, weight: 1 kg").replace("mass: 1 kg", "mass: L")
    with pytest.raises(sim.SceneError) as caught:
        load_text(wrong.replace("i*L + 1 cm", "weight").replace("0.1*half", "3 s"))
    assert [problem.path for problem in caught.value.problems] == [
        "bodies.rod_1.mass", "bodies.rod_1.shapes[0].capsule.radius", "joints.j_1.position[2]",
    ]  # fmt: skip


def test_what_one_unit_does_not_explain_is_told_beside_it():
    with pytest.raises(sim.SceneError) as caught:
        load_text(LADDER.replace("PARAMETERS", "L: 1 kg, half: L/2").replace("mass: 1 kg", "mass: 3 s"))
    assert [problem.path for problem in caught.value.problems] == ["parameters.L", "bodies.rod_1.mass"]
