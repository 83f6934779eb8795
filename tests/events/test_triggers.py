"""When events happen: at times, after others, by condition, by key; once or again; and in which order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sim
from sim.scene.load import load_text
from tests.dynamics.engine import simulator_of

SCENES = Path(__file__).parents[2] / "scenes"

pytestmark = pytest.mark.fast

# A ball of 1 kg that flies along x at 1 m/s: its x is the time.
BALL = """
schema: 1
name: ball
world: {{gravity: [0, 0, 0]}}
bodies:
  ball: {{mass: 1, com: [0, 0, 0], inertia: [1, 1, 1]}}
  other: {{mass: 1, com: [0, 1, 0], inertia: [1, 1, 1]}}
joints:
  weld: {{type: fixed, parent: ball, child: other, position: [0, 1, 0]}}
initial: {{ball: {{velocity: [1, 0, 0]}}}}
events:
{events}
simulate: {{duration: {duration} s, record: 50 Hz, rtol: 1e-10}}
"""

PUSH = "impulse: {body: ball, linear: [0, 0, 1]}"  # an action that leaves x alone


def run(events: str, duration: float = 0.5, **options):
    lines = "\n".join(f"  {line}" for line in events.strip().splitlines())
    return sim.run(load_text(BALL.format(events=lines, duration=duration)), **options)


def times(recording: sim.Recording) -> list[tuple[str, float]]:
    return [(event.name, pytest.approx(event.time, abs=1e-12)) for event in recording.events]


def test_a_time_that_is_zero_fires():
    with run(f"now: {{at: 0, {PUSH}}}") as recording:
        (event,) = recording.events
        assert (event.time, event.row_before, event.row_after) == (0.0, 0, 1)
        assert recording.time[:3] == pytest.approx([0, 0, 0.02], abs=0)
        assert recording.velocity["ball"][0] == pytest.approx([1, 0, 0], abs=0)
        assert recording.velocity["ball"][1][2] > 0.1


def test_a_condition_that_holds_at_the_start_fires_there():
    with run(f"holds: {{when: \"velocity('ball')[0] > 0.5\", {PUSH}}}") as recording:
        assert [(event.name, event.time) for event in recording.events] == [("holds", 0.0)]


def test_a_condition_that_does_not_hold_waits_until_it_does():
    with run(f"later: {{when: \"position('ball')[0] > 0.123\", {PUSH}}}") as recording:
        assert times(recording) == [("later", 0.123)]
        (event,) = recording.events
        assert recording.time[event.row_before] == recording.time[event.row_after] == event.time
        assert recording.position["ball"][event.row_before][0] == pytest.approx(0.123, abs=1e-12)
        assert np.all(np.diff(recording.time) >= 0)


@pytest.mark.parametrize(("once", "count"), [("true", 1), ("false", 3)])
def test_conditions_fire_once_or_whenever_they_become_true(once, count):
    with run(f'wave: {{when: "sin(20*pi*t/1 s) > 0.5", once: {once}, {PUSH}}}', duration=0.3) as recording:
        expected = [(1 / 6 + 2 * k) / 20 for k in range(count)]
        assert [event.time for event in recording.events] == pytest.approx(expected, abs=1e-12)


def test_a_thin_pulse_is_not_missed():
    """The ball alone would be flown through in one step of half a second."""
    with run(f'pulse: {{when: "abs(t - 0.31) < 0.06", {PUSH}}}') as recording:
        assert times(recording) == [("pulse", 0.25)]


def test_and_or_not():
    events = f"""
both: {{when: "t > 0.1 and position('ball')[0] > 0.2", {PUSH}}}
either: {{when: "t > 0.3 or position('ball')[0] > 0.15", {PUSH}}}
neither: {{when: "not (t < 0.25 or t < 0.05)", {PUSH}}}
"""
    with run(events) as recording:
        assert times(recording) == [("either", 0.15), ("both", 0.2), ("neither", 0.25)]


def test_after_another_event():
    events = f"""
last: {{after: {{second: 0.05 s}}, {PUSH}}}
second: {{after: {{first: 0.1 s}}, {PUSH}}}
first: {{when: "position('ball')[0] > 0.2", {PUSH}}}
"""
    with run(events) as recording:
        assert times(recording) == [("first", 0.2), ("second", 0.3), ("last", 0.35)]


def test_after_with_no_delay_is_the_same_instant():
    with run(f"first: {{at: 0.2 s, {PUSH}}}\nsecond: {{after: {{first: 0 s}}, {PUSH}}}") as recording:
        assert times(recording) == [("first", 0.2), ("second", 0.2)]


@pytest.mark.parametrize("begins", ["at: 0.1 s", "when: 't > 0.1 s'"])
def test_events_that_follow_each_other_in_turn(begins):
    """Once one of them is begun they go round; with once: true each happens once."""
    events = f"""
on it: {{{begins}, after: {{off it: 0.1 s}}, once: false, {PUSH}}}
off it: {{after: {{on it: 0.05 s}}, once: false, {PUSH}}}
"""
    with run(events) as recording:
        expected = [
            ("on it", 0.1),
            ("off it", 0.15),
            ("on it", 0.25),
            ("off it", 0.3),
            ("on it", 0.4),
            ("off it", 0.45),
        ]
        assert times(recording) == expected
    with run(events.replace("once: false, ", "")) as recording:
        assert times(recording) == [("on it", 0.1), ("off it", 0.15)]


def test_several_triggers_and_any_fires():
    with run(f'any: {{at: 0.3 s, when: "t > 0.1", {PUSH}}}') as recording:
        assert times(recording) == [("any", 0.1)]


def test_keys():
    events = f"go: {{key: let go, {PUSH}}}"
    with run(events, triggers=[("let go", 0.25)]) as recording:
        assert [(event.name, event.kind, event.time) for event in recording.events] == [("go", "key", 0.25)]
    with run(events) as recording:
        assert recording.events == []


def test_key_from_a_caller():
    simulator = simulator_of(BALL.format(events=f"  go: {{key: let go, {PUSH}}}", duration=1))
    simulator.advance(0.2)
    simulator.trigger("let go")
    assert simulator.velocity["ball"][2] > 0.1
    simulator.trigger("let go")  # once: nothing more
    assert simulator.velocity["ball"][2] == pytest.approx(simulator.velocity["ball"][2], abs=0)
    simulator.advance(0.4)
    assert simulator.position["ball"][0] > 0.3
    with pytest.raises(
        sim.SimulationError, match="no event waits for the key 'let it go'; keys of this scene: 'let go'"
    ):
        simulator.trigger("let it go")


def test_conditions_that_come_true_together():
    events = f"""
b: {{when: "position('ball')[0] > 0.2", {PUSH}}}
a: {{when: "2*position('ball')[0] > 0.4", {PUSH}}}
c: {{at: 0.2 s, {PUSH}}}
"""
    with run(events) as recording:
        assert times(recording) == [("b", 0.2), ("a", 0.2), ("c", 0.2)]


def test_an_event_whose_condition_another_makes_true():
    """The push of the first makes the second true at the same instant."""
    events = f"""
second: {{when: "velocity('ball')[2] > 0.1", impulse: {{body: ball, linear: [0, 1, 0]}}}}
first: {{at: 0.2 s, {PUSH}}}
"""
    with run(events) as recording:
        assert times(recording) == [("first", 0.2), ("second", 0.2)]
        first, second = recording.events
        assert second.row_before > first.row_before


def test_events_that_set_each_other_off_end_in_a_sentence():
    events = """
up: {when: "velocity('ball')[2] > 0.1", once: false, impulse: {body: ball, linear: [0, 0, -8]}}
down: {when: "velocity('ball')[2] < -0.1", once: false, impulse: {body: ball, linear: [0, 0, 8]}}
start: {at: 0.2 s, impulse: {body: ball, linear: [0, 0, 4]}}
"""
    with pytest.raises(sim.SimulationError, match=r"0\.2 s: events .* set each other off without end"):
        run(events)


def test_a_condition_that_may_fire_again_has_to_be_clearly_false_before():
    """Put back by a hair each time, it would fire again and again; by more than a hair, it does."""
    back = "set: {{slide: {{coordinate: 0.2 - {hair}}}}}"
    for hair, expected in (("1e-13", 1), ("0.01", 4)):
        text = f"""
schema: 1
name: hair
world: {{gravity: [0, 0, 0]}}
bodies: {{ball: {{mass: 1, com: [0, 0, 0], inertia: [1, 1, 1]}}}}
joints: {{slide: {{type: translational, parent: world, child: ball, position: [0, 0, 0], axis: [1, 0, 0]}}}}
initial: {{slide: {{rate: 1}}}}
events: {{again: {{when: "coordinate('slide') > 0.2", once: false, {back.format(hair=hair)}}}}}
simulate: {{duration: 0.235 s}}
"""
        with sim.run(load_text(text)) as recording:
            assert len(times(recording)) == expected
            assert times(recording)[0] == ("again", pytest.approx(0.2, abs=1e-12))


def test_a_condition_on_a_force_that_is_not_determined_is_refused():
    """The pins of a planar four-bar in space share the force across the plane in many ways."""
    text = (SCENES / "four_bar.yaml").read_text()
    event = '\nevents: {{strong: {{when: "{what} > 1e9", caption: strong}}}}'
    simulator_of(text + event.format(what="coordinate('link')")).advance(0.1)
    with pytest.raises(sim.SimulationError) as caught:
        simulator_of(text + event.format(what="norm(force('link'))")).advance(0.1)
    for part in ("'strong'", "force('link') is not determined", "one choice among many"):
        assert part in str(caught.value)


@pytest.mark.parametrize(("part", "read"), [("[0]", True), ("[2]", True), ("[1]", False)])
def test_a_condition_may_read_the_components_of_a_force_that_are_determined(part, read):
    """Four-bars that lie in x and z: those in their plane are, the one across is not."""
    text = (SCENES / "four_bar.yaml").read_text()
    simulator = simulator_of(text + f"\nevents: {{strong: {{when: \"force('link'){part} > 1e9 N\", caption: strong}}}}")
    if read:
        simulator.advance(0.1)
        assert simulator.t == 0.1
        return
    with pytest.raises(sim.SimulationError) as caught:
        simulator.advance(0.1)
    for said in ("force('link') is not determined here along y", "Those along x and z are determined"):
        assert said in str(caught.value)


def test_an_event_belongs_to_the_interval_that_ends_with_it():
    text = BALL.format(events=f"  push: {{at: 0.2 s, {PUSH}}}", duration=1)
    simulator = simulator_of(text)
    simulator.advance(0.2)
    speed = simulator.velocity["ball"][2]
    assert speed > 0.1
    simulator.advance(0.2)
    simulator.advance(0.3)
    assert simulator.now.schedule.fired == {"push": 1}
    early = simulator_of(text)
    early.advance(np.nextafter(0.2, 0))
    assert early.velocity["ball"][2] == 0.0


def test_reset_returns_to_the_same_bits():
    text = BALL.format(events=f'  push: {{at: 0.1 s, {PUSH}}}\n  cut: {{when: "t > 0.2", cut: weld}}', duration=1)
    simulator = simulator_of(text)
    simulator.advance(0.4)
    first = {name: simulator.position[name] for name in ("ball", "other")}, simulator.t, simulator.energy
    assert simulator.connected == ("ball", "other")
    simulator.reset()
    assert simulator.t == 0.0
    assert simulator.connected == ("weld", "ball")
    assert simulator.velocity["ball"].tolist() == [1, 0, 0]
    simulator.advance(0.4)
    again = {name: simulator.position[name] for name in ("ball", "other")}, simulator.t, simulator.energy
    for name in ("ball", "other"):
        assert np.array_equal(first[0][name], again[0][name])
    assert first[1:] == again[1:]
