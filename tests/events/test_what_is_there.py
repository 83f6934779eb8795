"""Events act on what is there: what they ask of the rest is nothing, and told once."""

from __future__ import annotations

import numpy as np
import pytest

import sim
from sim.scene.load import load_checked, load_text
from tests.dynamics.engine import simulator_of

# Two balls that fly along x at 1 m/s, welded: x is the time.
BALL = """
schema: 1
name: ball
world: {{gravity: [0, 0, 0]}}
bodies:
  ball: {{mass: 1, com: [0, 0, 0], inertia: [1, 1, 1], points: {{tip: [0.5, 0, 0]}}}}
  other: {{mass: 1, com: [0, 1, 0], inertia: [1, 1, 1]}}
joints:
  weld: {{type: fixed, parent: ball, child: other, position: [0, 1, 0]}}
  spare: {{type: fixed, parent: ball, child: other, position: [0, 1, 0], connected: false}}
initial: {{ball: {{velocity: [1, 0, 0]}}}}
events:
{events}
simulate: {{duration: {duration} s, record: 10 Hz, rtol: 1e-10}}
"""
PUSH = "impulse: {body: ball, linear: [0, 0, 1]}"  # an action that leaves x alone
LATER = "when: \"position('ball')[0] > 0.2\""


def text_of(events: str, duration: float = 0.5) -> str:
    lines = "\n".join(f"  {line}" for line in events.strip().splitlines())
    return BALL.format(events=lines, duration=duration)


def told(recording: sim.Recording) -> list[tuple[str, float, str]]:
    return [(event.name, round(event.time, 9), event.text) for event in recording.events]


# --- what is not there --------------------------------------------------------------------------


@pytest.mark.fast
@pytest.mark.parametrize("second", [LATER, "at: 0.2 s", "after: {first: 0.1 s}"])
def test_cutting_what_is_cut_is_nothing_and_told(second):
    """The rest of what the event does is done, and the run goes on."""
    events = f"first: {{at: 0.1 s, cut: weld}}\nsecond: {{{second}, cut: weld, {PUSH}}}"
    with sim.run(load_text(text_of(events))) as recording:
        assert told(recording) == [
            ("first", 0.1, ""), ("second", 0.2, "joint 'weld' is not connected, so it is not cut"),
        ]  # fmt: skip
        assert recording.events[1].kind == "scene"
        assert recording.velocity["ball"][-1] == pytest.approx([1, 0, 1], abs=1e-12)
        assert recording.velocity["other"][-1] == pytest.approx([1, 0, 0], abs=1e-12)
        assert [note["name"] for note in recording.summary["told"]] == ["second"]


def test_it_is_told_once():
    """The event happens each time that its condition comes true; what it does not find is told the first time."""
    events = 'wave: {when: "sin(20*pi*t/1 s) > 0.5", once: false, cut: [weld, spare], caption: wave}'
    with sim.run(load_text(text_of(events, 0.3))) as recording:
        texts = [event.text for event in recording.events]
        assert texts == [
            "joint 'spare' is not connected, so it is not cut", "joint 'weld' is not connected, so it is not cut", "",
        ]  # fmt: skip


def test_one_that_is_not_connected_leaves_the_others_to_be_cut():
    with sim.run(load_text(text_of(f"now: {{{LATER}, cut: [spare, weld]}}"))) as recording:
        assert recording.events[0].text == "joint 'spare' is not connected, so it is not cut"
        assert np.isnan(recording.force["weld"][-1, 0])


def test_connecting_what_is_connected_is_nothing_and_told_once():
    """No impulse, no new binding: it stays as it is."""
    joint = "{type: rotational, parent: world, child: ball, child_point: tip, axis: [0, 0, 1]}"
    events = f"one: {{at: 0.1 s, connect: {{pin: {joint}}}}}\ntwo: {{key: k, once: false, connect: pin}}"
    with sim.run(load_text(text_of(events, 0.6)), triggers=[("k", t) for t in (0.2, 0.3, 0.4)]) as recording:
        texts = [event.text for event in recording.events if event.name == "two"]
        assert texts == ["joint 'pin' is connected already", "", ""]
        assert all(event.impulse == 0.0 for event in recording.events if event.name == "two")
        assert [binding.joint for binding in recording.bindings] == ["weld", "pin"]
        assert recording.coordinate["pin"][-1] == pytest.approx(recording.rate["pin"][-1] * 0.5, abs=1e-9)


def test_cut_and_connected_at_one_instant_is_nothing_to_tell():
    """Of one that is connected, which stays as it is; and of one that is not, which is connected then."""
    events = f"one: {{{LATER}, cut: [weld, spare]}}\ntwo: {{{LATER}, connect: [weld, spare]}}"
    with sim.run(load_text(text_of(events))) as recording:
        assert [event.text for event in recording.events] == ["", ""]
        assert np.isfinite(recording.force["weld"][-1, 0])
        assert np.isfinite(recording.force["spare"][-1, 0])


def test_setting_what_is_not_connected_is_nothing_and_told():
    joint = "{type: translational, parent: world, child: other, position: [0, 1, 0], axis: [0, 0, 1], connected: false}"
    text = text_of(f"faster: {{{LATER}, set: {{slide: 3 cm, ball: {{velocity: [2, 0, 0]}}}}}}")
    text = text.replace("initial:", f"  slide: {joint}\ninitial:")
    with sim.run(load_text(text)) as recording:
        assert recording.events[0].text == "joint 'slide' is not connected, so it has no value to set"
        assert recording.velocity["ball"][-1] == pytest.approx([2, 0, 0], abs=1e-12)


def test_a_gear_is_not_put_on_a_joint_that_is_not_connected():
    """It is told; once the joint is connected again, the gear can be put on."""
    text = """
schema: 1
name: geared
world: {gravity: [0, 0, 0]}
bodies:
  a: {mass: 1, com: [0, 0, 0], inertia: [1, 1, 1]}
  b: {mass: 1, com: [1, 0, 0], inertia: [1, 1, 1]}
joints:
  one: {type: rotational, parent: world, child: a, position: [0, 0, 0], axis: [0, 0, 1]}
  two: {type: rotational, parent: world, child: b, position: [1, 0, 0], axis: [0, 0, 1]}
constraints: {pair: {type: gear, joints: [one, two], ratio: -2}}
initial: {one: {rate: 2}, two: {rate: -1}}
events:
  off it goes: {at: 0.1 s, cut: two}
  in vain: {key: now, once: false, enable: pair}
  back: {at: 0.3 s, connect: two}
  geared: {at: 0.4 s, enable: pair}
simulate: {duration: 0.5 s, rtol: 1e-10}
"""
    with sim.run(load_text(text), triggers=[("now", 0.15), ("now", 0.2)]) as recording:
        texts = [event.text for event in recording.events if event.name == "in vain"]
        assert texts == ["joint 'two' is not connected, so 'pair' does not tie it", ""]
        rows = recording.time > 0.4
        assert recording.rate["one"][rows] == pytest.approx(-2.0 * recording.rate["two"][rows], abs=1e-9)
        assert np.isfinite(recording.force["pair"][-1, 0])


def test_a_restored_run_does_not_tell_again():
    simulator = simulator_of(text_of(f"again: {{key: k, once: false, cut: spare, {PUSH}}}", 2))
    simulator.advance(0.1)
    simulator.trigger("k")
    kept = simulator.snapshot()
    simulator.restore(kept)
    assert simulator.now.schedule.told == {("again", "joint 'spare' is not connected, so it is not cut")}
    other = simulator_of(text_of(f"again: {{key: k, once: false, cut: spare, {PUSH}}}", 2))
    other.restore(kept)
    assert other.now.schedule.told == simulator.now.schedule.told


# --- cut: {either: [...]} -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cut", "text"),
    [
        ("{either: [weld, spare]}", ""),
        ("{either: [spare, weld]}", ""),
        ("[{either: [weld, spare]}]", ""),
        ('{either: "*"}', ""),
        ("[spare, {either: [weld]}]", "joint 'spare' is not connected, so it is not cut"),
    ],
)
def test_either_cuts_what_is_connected_and_says_nothing_of_the_others(cut, text):
    with sim.run(load_text(text_of(f"now: {{{LATER}, cut: {cut}}}"))) as recording:
        assert [event.text for event in recording.events] == [text]
        assert np.isnan(recording.force["weld"][-1, 0])


@pytest.mark.fast
def test_either_tells_once_that_none_is_connected():
    events = 'wave: {when: "sin(20*pi*t/1 s) > 0.5", once: false, cut: {either: [weld, spare]}}'
    with sim.run(load_text(text_of(events, 0.3))) as recording:
        texts = [event.text for event in recording.events]
        assert texts == ["", "none of 'weld', 'spare' is connected: nothing is cut", ""]


@pytest.mark.fast
def test_a_body_that_either_may_let_go_gets_a_free_joint():
    simulator = simulator_of(text_of("now: {at: 0.1 s, cut: {either: [weld]}}", 1))
    assert simulator.connected == ("weld", "ball")
    simulator.advance(0.2)
    assert simulator.connected == ("ball", "other")


# --- one joint in several events ----------------------------------------------------------------


@pytest.mark.fast
def test_several_events_make_the_same_joint():
    """Each binds it where it then is."""
    pin = "{type: rotational, parent: world, child: ball, child_point: tip, axis: [0, 0, 1], limits: [-2, 2]}"
    events = f"""
one: {{at: 0.1 s, connect: {{pin: {pin}}}}}
go: {{after: {{one: 0.1 s, two: 0.1 s}}, once: false, cut: pin}}
two: {{at: 0.4 s, connect: {{pin: {pin}}}}}
"""
    with sim.run(load_text(text_of(events, 0.6))) as recording:
        assert [event.name for event in recording.events] == ["one", "go", "two", "go"]
        first, second = (binding for binding in recording.bindings if binding.joint == "pin")
        tip = first.parent_position
        assert tip == pytest.approx([0.6, 0.0, 0.0], abs=1e-12)
        assert np.linalg.norm(np.subtract(second.parent_position, tip)) > 1e-3
        assert recording.coordinate["pin"][second.row] == pytest.approx(0.0, abs=1e-12)


# --- marks --------------------------------------------------------------------------------------


@pytest.mark.fast
def test_an_event_may_only_mark_an_instant():
    """It is recorded, others may follow it, and the motion goes on as it was."""
    events = f"apex: {{{LATER}}}\nlater: {{after: {{apex: 0.1 s}}, {PUSH}}}\nend: {{at: 0.45 s}}"
    with sim.run(load_text(text_of(events))) as recording:
        assert [(event.name, event.kind, event.text) for event in recording.events] == [
            ("apex", "scene", ""), ("later", "scene", ""), ("end", "scene", ""),
        ]  # fmt: skip
        apex, later, _ = recording.events
        assert (apex.time, later.time) == (pytest.approx(0.2, abs=1e-12), pytest.approx(0.3, abs=1e-12))
        for name in ("position", "quat_wxyz", "velocity", "joints/force", "energy/balance"):
            values = recording.array(name)
            assert np.array_equal(values[apex.row_before], values[apex.row_after], equal_nan=True)


SLIDING = """
schema: 1
name: sliding
world: {shapes: [{name: floor, plane: {}}]}
bodies: {box: {mass: 2, com: [0, 0, 0.1], shapes: [{box: {center: [0, 0, 0.1], size: [0.4, 0.4, 0.2]}}]}}
contacts: {all: {between: [box, world], friction: 0.2}}
initial: {box: {velocity: [1, 0.5, 0]}}
events: {mark: {when: "sin(60*pi*t/1 s) > 0.5", once: false}}
simulate: {duration: 0.4 s, rtol: 1e-10, max_step: 5 ms}
"""


def test_a_mark_is_no_decision_on_contacts():
    """A box that slides on: nothing is solved anew at the marks, and friction goes on as it was."""
    simulator = simulator_of(SLIDING)
    simulator.advance(0.0)
    decisions = len(simulator.now.contact_modes.state.decisions)
    simulator.advance(0.4)
    assert simulator.now.schedule.fired["mark"] == 12
    assert len(simulator.now.contact_modes.state.decisions) == decisions
    speed = np.hypot(1.0, 0.5)
    way = np.array([1.0, 0.5, 0.0]) / speed
    assert simulator.velocity["box"] == pytest.approx((speed - 0.2 * 9.81 * 0.4) * way, abs=1e-8)


# --- again and again ----------------------------------------------------------------------------

SWING = """
schema: 1
name: swing
world: {{gravity: [0, 0, 0]}}
bodies: {{ball: {{mass: 1, com: [0, 0, 0], inertia: [1, 1, 1]}}}}
joints:
  slide: {{type: translational, parent: world, child: ball, position: [0, 0, 0], axis: [1, 0, 0], stiffness: 4}}
initial: {{slide: {{coordinate: {x}, rate: {v}}}}}
events: {{it: {{when: "{when}", once: false{action}}}}}
simulate: {{duration: 8 s, record: 20 Hz{method}}}
"""


@pytest.mark.parametrize("method", [", rtol: 1e-11", ", method: rk4, step: 2 ms", ", method: radau, rtol: 1e-11"])
@pytest.mark.parametrize("action", ["", ", cut: slide_not_there"])
@pytest.mark.parametrize(
    ("x", "v", "when", "angles"),
    [
        (1.0, 0.0, "coordinate('slide') > 0.5", [0.0, 5 / 3, 11 / 3]),
        (0.5, -np.sqrt(3.0), "coordinate('slide') >= 0.5", [0.0, 4 / 3, 10 / 3]),
        (0.0, -2.0, "coordinate('slide') < 0", [0.0, 2.0, 4.0]),
        (1.0, 0.0, "rate('slide') < -0.5 or coordinate('slide') > 0.5", [0.0, 5 / 3, 11 / 3]),
    ],
)
def test_a_condition_that_begins_true_fires_there_and_each_time_it_comes_true_again(x, v, when, angles, action, method):
    """x = cos(2 t + phase): the times are known; also where the event cuts what is not there."""
    text = SWING.format(x=x, v=v, when=when, action="", method=method)
    if action:
        joint = "  slide_not_there: {type: fixed, parent: world, child: ball, position: [0, 0, 0], connected: false}"
        text = text.replace("stiffness: 4}", f"stiffness: 4}}\n{joint}")
        text = text.replace("once: false", "once: false, cut: slide_not_there")
    with sim.run(load_text(text)) as recording:
        times = [event.time for event in recording.events]
        expected = [angle * np.pi / 2.0 for angle in angles]
        expected = [t for t in expected if t < 8.0]
        assert times == pytest.approx(expected, abs=1e-8)
        assert times[0] == pytest.approx(0.0, abs=1e-15)


# --- before the run -----------------------------------------------------------------------------

CHANGES = """
first: {at: 1 s, cut: weld}
second: {at: 2 s, cut: [weld, spare], caption: nothing}
third: {at: 3 s, connect: weld}
fourth: {at: 4 s, connect: weld}
fifth: {after: {first: 0.5 s}, cut: {either: [weld, spare]}}
same instant: {at: 5 s, cut: weld, connect: weld}
"""


@pytest.mark.fast
def test_what_does_nothing_for_sure_is_warned_of_and_runs(tmp_path):
    """A joint that is not connected is no mistake that forbids to run; of `either` nothing is said."""
    path = tmp_path / "scene.yaml"
    path.write_text(text_of(CHANGES, 6))
    scene, warnings = load_checked(path)
    assert [(w.path, w.what, w.severity) for w in warnings] == [
        ("events.second.cut", "at t = 2 s joint 'weld' is cut already, since t = 1 s", "warning"),
        ("events.second.cut", "at t = 2 s joint 'spare' is not connected yet", "warning"),
        ("events.fourth.connect", "at t = 4 s joint 'weld' is connected already, since t = 3 s", "warning"),
    ]
    with sim.run(scene) as recording:
        assert [event.name for event in recording.events if event.text] == ["fifth", "second", "fourth"]


# --- the simplest walker ------------------------------------------------------------------------

WALKER = """
schema: 1
name: the simplest walker
parameters: {slope: 0.009, th: 0.200310900544287, thd: {value: -0.199832473004977 rad/s}, foot: {value: 1 mg}}
world: {gravity: [1*sin(slope), 0, -1*cos(slope)]}
bodies:
  hip: {mass: 1 kg, com: [-sin(th), 0, cos(th)]}
  a: {mass: foot, com: [0, 0, 0], points: {tip: [0, 0, 0]}}
  b: {mass: foot, com: [-2*sin(th), 0, 0], points: {tip: [-2*sin(th), 0, 0]}}
joints:
  stand: {type: rotational, parent: world, child: a, position: [0, 0, 0], axis: [0, 1, 0]}
  hip_a: {type: fixed, parent: a, child: hip, position: [-sin(th), 0, cos(th)]}
  hip_b: {type: rotational, parent: hip, child: b, position: [-sin(th), 0, cos(th)], axis: [0, 1, 0]}
initial: {stand: {rate: -thd}, hip_b: {rate: (1 - cos(2*th))*thd}}
events:
  heel b:
    when: "position('b.tip')[2] < 0 and position('b.tip')[0] - position('hip')[0] > 0.15"
    once: false
    connect: {stand_b: {type: rotational, parent: world, child: b, child_point: tip, axis: [0, 1, 0]}}
    cut: CUT
  heel a:
    when: "position('a.tip')[2] < 0 and position('a.tip')[0] - position('hip')[0] > 0.15BEGUN"
    once: false
    connect: {stand_a: {type: rotational, parent: world, child: a, child_point: tip, axis: [0, 1, 0]}}
    cut: stand_b
simulate: {duration: 47 s, rtol: 1e-10, record: 2 Hz}
"""
BEGIN = """  begin:
    at: 0 s
    cut: stand
    connect: {stand_a: {type: rotational, parent: world, child: a, child_point: tip, axis: [0, 1, 0]}}
"""


@pytest.mark.parametrize("way", ["[stand, stand_a]", "{either: [stand, stand_a]}", "begins"])
def test_the_simplest_walker_walks_its_known_gait(way):
    """Garcia, Chatterjee, Ruina and Coleman (1998): at a slope of 0.009 the long gait that is stable.

    Right after the feet change the new stance leg is at 0.2003109 rad, and the next change comes 3.88246 sqrt(l/g)
    later.  Feet of 1e-6 of the hip's mass change both by about as much; the last digits that are printed are the rest.
    """
    text = WALKER.replace("CUT", way).replace("BEGUN", "")
    if way == "begins":
        text = WALKER.replace("CUT", "stand_a").replace("BEGUN", " and t > 1").replace("events:\n", "events:\n" + BEGIN)
    with sim.run(load_text(text)) as recording:
        steps = [event for event in recording.events if event.name.startswith("heel") and event.time > 0.0]
        assert [event.name[-1] for event in steps] == ["b", "a"] * 6
        angles, places = [], []
        for event in steps:
            foot = recording.joint_position[f"stand_{event.name[-1]}"][event.row_after]
            leg = recording.com["hip"][event.row_after] - foot
            angles.append(np.arctan2(-leg[0], leg[2]))
            places.append(foot[0])
        assert angles == pytest.approx([0.2003109] * 12, abs=2e-6)
        assert angles[-6:] == pytest.approx([0.2003109] * 6, abs=5e-7)
        assert np.diff([event.time for event in steps])[-6:] == pytest.approx([3.88246] * 6, abs=1e-5)
        # Nothing is carried along: each foot stands a step ahead of the other, 2 sin(theta).
        assert np.diff(places) == pytest.approx([2.0 * np.sin(0.2003109)] * 11, abs=1e-5)
        assert np.abs(recording.energy.balance).max() < 1e-8
