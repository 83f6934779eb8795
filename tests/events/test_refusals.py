"""What a run refuses where it begins, `sim check` says before, in the same words."""

from __future__ import annotations

import pytest

import sim
from sim.scene.load import load_text

HEAD = "schema: 1\nname: refused\nsimulate: {duration: 1 s}\n"
ROD = "bodies: {a: {mass: 1 kg, com: [0, 0, 1], inertia: [1, 1, 1]}}\n"

AT_START = {
    "bodies that overlap": (
        "world: {shapes: [{name: g, plane: {}}]}\n"
        "bodies: {b: {mass: 1 kg, shapes: [{box: {center: [0, 0, 0.02], size: [0.2, 0.2, 0.2]}}]}}\n"
        "contacts: {c: {between: [b, world]}}\n",
        "g and b overlap by 0.08 m",
    ),
    "a joint that an event makes too far from its place": (
        ROD.replace("]}}", "], points: {tip: [0, 0, 1]}}}")
        + "joints: {pin: {type: spherical, parent: world, child: a, position: [0, 0, 0]},\n"
        "  tie: {type: spherical, parent: world, child: a, parent_point: hook, child_point: tip, connected: false}}\n"
        "world: {points: {hook: [0, 0, 3]}}\nevents: {catch: {at: 0, connect: tie}}\n",
        "mm apart",
    ),
    "a condition on a force that is not determined": (
        ROD
        + "joints: {one: {type: fixed, parent: world, child: a, position: [0, 0, 0]},\n"
        "  two: {type: fixed, parent: world, child: a, position: [0, 0, 1]}}\n"
        "events: {breaks: {when: \"norm(force('two')) > 100 N\", cut: two}}\n",
        "is not determined here",
    ),
    "a force that turns a point mass": (
        "bodies: {a: {mass: 1 kg, com: [0, 0, 0], points: {tip: [0, 0, 1]}}}\n"
        "forces: {push: {type: wrench, body: a, point: tip, force: [1 N, 0, 0]}}\n",
        "nothing resists the motion of body 'a'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", AT_START)
def test_check_says_what_a_run_refuses_where_it_begins(name):
    text, says = AT_START[name]
    scene = load_text(HEAD + text)
    report = sim.check(scene)
    assert not report.ok
    (problem,) = report.problems
    assert says in problem.what
    with pytest.raises(sim.SimulationError) as caught:
        sim.Simulator(sim.compile(scene)).advance(1e-3)
    assert problem.what.removeprefix("the run ends where it begins: ") in str(caught.value)


TIMED = """
bodies: {a: {}, b: {mass: 1 kg, com: [0, 0, 1], inertia: [1, 1, 1]}}
joints:
  pin: {type: rotational, parent: world, child: b, position: [0, 0, 0], axis: [0, 1, 0]}
  s: {type: fixed, parent: b, child: a, position: [0, 0, 0]}
events:
  first: {at: 0.1 s, cut: pin}
  away: {after: {first: 0.2 s}, cut: s}
"""


def test_check_says_what_a_run_refuses_at_a_timed_event():
    scene = load_text(HEAD + TIMED)
    (problem,) = sim.check(scene).problems
    assert problem.path == "events.away" and problem.where is not None and problem.where.line == 11
    assert "'a' is left without inertia: nothing that moves with joint 'a' has inertia along" in problem.what
    simulator = sim.Simulator(sim.compile(scene))
    with pytest.raises(sim.SimulationError, match=r"t = 0\.3 s: event 'away' .*'a' is left without inertia"):
        simulator.advance(1.0)


def test_a_condition_may_keep_what_has_no_mass_from_being_cut_off():
    """What is connected at a time is not known then, and check says nothing."""
    text = TIMED + "  first of all: {when: \"coordinate('pin') > 1\", cut: s}\n"
    assert sim.check(load_text(HEAD + text)).ok
