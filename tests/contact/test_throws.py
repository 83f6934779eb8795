"""No crossing is missed: throws of all shapes at all speeds, short conditions, and plain scenes that fell through.

Of throws a few of each kind; `python -m tests.contact.throws --count 10000 --seed 1` is all of it.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from tests.contact.engine import G0, Run
from tests.contact.passing import Thing, first_below, gap, still, top
from tests.contact.throws import ENDED, FALSE, KINDS, MISSED, UNDECIDED, first_event, judge, make

pytestmark = pytest.mark.contact

EACH = 8  # throws of a kind
WRONG = (MISSED, FALSE, ENDED, UNDECIDED)


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_crossing_is_told_when_it_is(kind: str) -> None:
    found = {k: judge(make(kind, 0, k)) for k in range(EACH)}
    assert not {k: outcome for k, outcome in found.items() if outcome.what in WRONG}


STRAIGHT = (
    "sphere-sphere",
    "sphere-plate",
    "place window",
    "either window",
    "place and time",
    "time window",
    "distance",
)


@pytest.mark.parametrize(
    "method",
    ["radau", "auto", "rk4, step: 20 ms", "semi_implicit, step: 20 ms"],
)
def test_none_is_missed_by_any_method(method: str) -> None:
    """Without gravity, so that every method goes exactly straight."""
    wrong, tried = {}, 0
    for kind in STRAIGHT:
        for k in range(8):
            throw = make(kind, 3, k)
            if str(-G0) not in throw.text:
                outcome, tried = judge(throw, f"method: {method}"), tried + 1
                wrong |= {(kind, k): outcome} if outcome.what in WRONG else {}
    assert tried > 15
    assert not wrong


# --- plain scenes -----------------------------------------------------------------------------------------------------

DROP = """
schema: 1
name: drop
world: {{shapes: [{{box: {{center: [0, 0, {low}], size: [2, 2, {thick}]}}}}]}}
bodies: {{ball: {{mass: 1, shapes: [{{sphere: {{center: [0, 0, {high}], radius: 2 cm}}}}]}}}}
contacts: {{c: {{between: [ball, world], restitution: 0.5}}}}
simulate: {{duration: {duration}}}
"""


@pytest.mark.parametrize("duration", np.linspace(1.05, 5.05, 9))
@pytest.mark.parametrize("thick", [0.01, 0.05])
def test_a_ball_lands_on_a_plate_whatever_the_duration_of_the_run(thick: float, duration: float) -> None:
    for h in np.linspace(0.3, 5.0, 11):
        text = DROP.format(low=-0.5 * thick, thick=thick, high=h + 0.02, duration=duration)
        assert first_event(text, duration) == pytest.approx(np.sqrt(2.0 * h / G0), abs=1e-12), h


TWO_BALLS = """
schema: 1
name: two_balls
about: two balls of 57 mm fly at each other, in line
world: {gravity: [0, 0, 0]}
bodies:
  a: {mass: 0.17 kg, shapes: [{sphere: {center: [0, 0, 1], radius: 28.5 mm}}]}
  b: {mass: 0.17 kg, shapes: [{sphere: {center: [4, 0, 1], radius: 28.5 mm}}]}
initial: {a: {velocity: [3, 0, 0]}}
contacts: {c: {between: [a, b], friction: 0, restitution: 1}}
simulate: {duration: 4 s}
"""


def test_two_balls_meet() -> None:
    run = Run(TWO_BALLS).to(4.0)
    assert run.times() == pytest.approx([(4.0 - 0.057) / 3.0], abs=1e-12)
    assert run.simulator.velocity["b"] == pytest.approx([3.0, 0.0, 0.0], abs=1e-12)


CUBE = """
schema: 1
name: cube
world: {{shapes: [{{name: top, box: {{center: [0, 0, {low}], size: [2, 2, {thick}]}}}}]}}
bodies:
  cube: {{mass: 0.5 kg, shapes: [{{box: {{center: [0, 0, {high}], size: [0.04, 0.04, 0.04]}}}}]}}
contacts: {{d: {{between: [cube, world], friction: 0.5}}}}
simulate: {{duration: 4 s}}
"""


@pytest.mark.parametrize(("drop", "thick"), [(5.0, 1e-3), (60.0, 1.0), (1.0, 1e-3)])
def test_a_cube_lands_on_a_table(drop: float, thick: float) -> None:
    run = Run(CUBE.format(low=-0.5 * thick, thick=thick, high=drop + 0.02)).to(4.0)
    assert run.times()[0] == pytest.approx(np.sqrt(2.0 * drop / G0), abs=1e-12)
    assert run.simulator.position["cube"][2] == pytest.approx(0.02, abs=1e-9)


GATE = """
schema: 1
name: gate
about: a body flies by; a condition is true for 15 ms
world: {gravity: [0, 0, 0]}
bodies:
  a: {mass: 1 kg, shapes: [{sphere: {center: [0, 0, 1], radius: 20 mm}}]}
initial: {a: {velocity: [3, 0, 0]}}
events:
  gate: {when: "position('a')[0] > 4 and position('a')[0] < 4 + 4.5 cm", stop: true}
simulate: {duration: 6 s}
"""


def test_a_condition_that_is_true_for_a_moment_fires() -> None:
    run = Run(GATE).to(6.0)
    assert run.times("scene") == pytest.approx([4.0 / 3.0], abs=1e-12)


# --- what the throws are held against ---------------------------------------------------------------------------------


def test_the_search_finds_what_is_there_for_a_moment_and_nothing_else() -> None:
    def dip(t: np.ndarray) -> np.ndarray:
        return np.asarray(np.minimum(1.0, 1e3 * np.abs(t - 0.7123)) - 1e-5)  # below zero for 20 ns

    def steep(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        return np.full(len(low), 1e3)

    assert first_below(dip, steep, 0.0, 3.0, 0.0) == pytest.approx(0.7123 - 1e-8, abs=1e-11)
    assert first_below(dip, steep, 0.0, 3.0, -1.1e-5) == np.inf


@pytest.mark.parametrize("kinds", [("round", "round"), ("round", "box"), ("box", "box")], ids="-".join)
def test_gaps_are_those_of_a_slow_search(kinds: tuple[str, str]) -> None:
    rng = np.random.default_rng(0)

    def solid(kind: str) -> Thing:
        size = (rng.uniform(0.0, 0.2), rng.uniform(0.02, 0.1)) if kind == "round" else tuple(rng.uniform(0.02, 0.2, 3))
        return still(kind, size, rng.uniform(-0.4, 0.4, 3), Rotation.random(rng=rng).as_matrix())

    def inside(thing: Thing, u: np.ndarray) -> np.ndarray:
        """A point of a box, or of the middle of a round."""
        half = np.array([0.0, 0.0, thing.size[0]]) if thing.kind == "round" else np.array(thing.size)
        return np.asarray(thing.place + thing.turn @ (u * half))

    for _ in range(20):
        a, b = solid(kinds[0]), solid(kinds[1])
        found = [
            minimize(
                lambda u, a=a, b=b: float(np.sum((inside(a, u[:3]) - inside(b, u[3:])) ** 2)), rng.uniform(-1, 1, 6),
                bounds=[(-1.0, 1.0)] * 6, options={"ftol": 1e-16, "gtol": 1e-12},
            ).fun
            for _ in range(4)
        ]  # fmt: skip
        apart = float(np.sqrt(min(found))) - sum(thing.size[1] for thing in (a, b) if thing.kind == "round")
        told = float(gap(a, b)(np.zeros(1))[0])
        if kinds == ("box", "box"):
            assert told <= apart + 1e-6
            assert (told > 0.0) == (apart > 1e-6)
        else:
            assert told == pytest.approx(apart, abs=1e-6)


def test_a_symmetric_top_turns_as_euler_says() -> None:
    """The closed form against the integrated equations, of a top that is symmetric but for the last bits."""
    R, w, moments = (
        Rotation.from_rotvec([0.3, -0.4, 0.5]).as_matrix(),
        np.array([3.0, -2.0, 5.0]),
        np.array([2.0, 2, 1]),
    )
    t = np.linspace(0.0, 3.0, 7)
    nearly = top(R, w, moments * [1.0 + 1e-15, 1.0, 1.0], 3.0)
    assert top(R, w, moments, 3.0)(t) == pytest.approx(nearly(t), abs=1e-9)
