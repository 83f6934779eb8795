"""What is called clear within a span is so: random mechanisms and shapes, their guards sampled closely inside."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import BPoly

import sim
from sim.kernels.advance import answer
from sim.kernels.programs import CONSTANT
from sim.kernels.status import Status
from sim.kernels.stepper import STEP, T
from sim.kernels.system import CLEARANCE, WATCH, address
from sim.kernels.watched import CLEAR, FAR, GUARD_GAP, SPAN_AT, SPAN_HEADER, SPAN_SECONDS, WITHIN
from tests.dynamics.engine import simulator_of
from tests.support import mechanisms
from tests.support.interpreted import times
from tests.support.scene_texts import scene_text

SAMPLES = np.linspace(0.0, 1.0, 40)
SHALLOW = 1e-8  # of conditions: what they may exceed zero by though they are called clear, and roundoff
GRAZING = 6e-7  # m
READS = ("coordinate", "rate")


class Spans:
    """The last step of a flow, looked at in spans."""

    def __init__(self, simulator: sim.Simulator):
        self.flow = simulator.flow
        s = self.flow.stepper
        self.t, self.h, self.n = float(s.clock[T] - s.clock[STEP]), float(s.clock[STEP]), len(s.y)
        self.path = BPoly(s.curve[: 8 * self.n].reshape(8, 1, self.n).copy(), [0.0, 1.0])

    def span(self, low: float, high: float) -> np.ndarray:
        """Coefficients of the part of the path, found anew from eight places on it."""
        at = 0.5 - 0.5 * np.cos(np.pi * np.arange(8) / 7.0)
        basis = np.array([[BPoly(np.eye(8)[:, [k]], [0.0, 1.0])(x) for k in range(8)] for x in at])
        state = np.linalg.solve(basis, self.path(low + at * (high - low)))
        return np.concatenate([state.ravel(), (7.0 * np.diff(state, axis=0) / ((high - low) * self.h)).ravel()])

    def verdicts(self, low: float, high: float, at: float) -> np.ndarray:
        told = np.full(SPAN_HEADER + len(self.flow.guards.table), float(WITHIN))
        told[SPAN_SECONDS], told[SPAN_AT] = (high - low) * self.h, at
        self._ask(CLEARANCE, low, self.span(low, high), told)
        return told[SPAN_HEADER:]

    def values(self, theta: float) -> np.ndarray:
        values = np.zeros(len(self.flow.guards.table))
        self._ask(WATCH, theta, np.ascontiguousarray(self.path(theta)), values)
        return values

    def _ask(self, question: int, theta: float, a: np.ndarray, b: np.ndarray) -> None:
        system = self.flow.system
        status = answer(system.answers, question, address(system.places), self.t + theta * self.h, a, b)
        assert status == Status.OK


def check(simulator: sim.Simulator, rng: np.random.Generator, spans: int, narrowest: float = -4.0) -> tuple[int, int]:
    """Check random spans of the last step; returns how many verdicts were clear, and how many were not."""
    looked, clear = Spans(simulator), 0
    gap = looked.flow.guards.table.kind == GUARD_GAP
    for _ in range(spans):
        width = 10.0 ** rng.uniform(narrowest, 0.0)
        low = rng.uniform(0.0, 1.0 - width)
        verdicts = looked.verdicts(low, low + width, float(rng.choice([0.0, 0.5, 1.0, rng.uniform()])))
        values = np.array([looked.values(low + share * width) for share in SAMPLES])
        sound = np.isin(verdicts, (CLEAR, FAR))
        clear += int(sound.sum())
        assert np.all(values[:, verdicts == FAR] < 0.0)
        assert np.all(values[:, gap & sound] < GRAZING)
        for g in np.flatnonzero(sound & ~gap):
            signs = np.sign(values[np.abs(values[:, g]) > SHALLOW, g])
            assert np.count_nonzero(np.diff(signs)) <= 1, (g, values[:, g])
    return clear, spans * len(gap) - clear


def formulas(mechanism: mechanisms.Mechanism, rng: np.random.Generator) -> list[str]:
    """Return what conditions read."""
    from tests.support import reference as ref

    found = []
    for name, link in zip(mechanism.joints, mechanism.links, strict=True):
        count = ref.FREEDOMS[link.kind]
        for read in READS:
            found += [f"{read}('{name}')" + (f"[{i}]" if count > 1 else "") for i in range(count)]
    a, b = rng.choice(mechanism.names, 2, replace=False)
    found += [f"position('{a}')[{k}]" for k in range(3)] + [f"velocity('{b}.com')[{k}]" for k in range(3)]
    found.append(f"distance('{a}.com', '{b}')")
    found += [f"local('{a}', '{b}')[0]", f"orientation('{a}')[2]", "com()[0]", "sin(t*3 rad/s)*cos(t*2 rad/s)"]
    return found


@pytest.mark.parametrize("loops", [0, 1])
@pytest.mark.parametrize("seed", [pytest.param(k, marks=pytest.mark.fast) if k < 2 else k for k in range(8)])
def test_conditions_that_are_clear_change_sign_once_at_most(seed: int, loops: int) -> None:
    rng = np.random.default_rng(1000 * loops + seed)
    mechanism = mechanisms.random_mechanism(rng, 3, loops)
    if not loops:
        mechanism = mechanisms.with_coordinates(rng, mechanism)
        mechanism = mechanisms.with_loose_rates(rng, mechanism, 5.0)
    texts = formulas(mechanism, rng)
    events = "\n".join(f'  e{i}: {{when: "{text} > 0", impulse: {{body: {mechanism.names[0]}, linear: [0, 0, 0]}}}}'
                       for i, text in enumerate(texts))  # fmt: skip
    simulator = simulator_of(scene_text(mechanism, extra=f"events:\n{events}", simulate="{duration: 1 s}"))
    flow = simulator.flow
    while flow.t < 0.2:
        status, _ = flow.advance(0.2, 100)
        assert status in (Status.REACHED, Status.PAUSE, Status.GUARD)
        if status == Status.GUARD:  # rates that are zero but for roundoff
            flow.wait_to_leave(flow.crossed()[0])
    flow.advance(1.0, 1)
    # Each threshold is met within the last step, and twice where a value has a peak there.
    tables, looked = flow.structure.tables, Spans(simulator)
    seen = np.array([looked.values(share) for share in np.linspace(0.0, 1.0, 30)])
    peak, ends = seen.max(axis=0), np.maximum(seen[0], seen[-1])
    values = np.where(peak > ends, rng.uniform(ends, np.maximum(peak, ends)), seen[rng.integers(30)])
    tables.constants.flags.writeable = True
    for g, condition in enumerate(flow.conditions):
        first, end = tables.programs[condition.program]
        zero = [int(argument) for code, argument in tables.codes[first:end] if code == CONSTANT][-2]
        tables.constants[zero] = values[g]  # the last constant is what `>` asks for beyond equality
    tables.constants.flags.writeable = False
    clear, within = check(simulator, rng, times(40, 8), narrowest=-1.5)
    assert clear > 0
    assert within > 0


FLOATING = """
schema: 1
name: floating
world: {{gravity: [0, 0, -9.81], shapes: [{{name: plate, box: {{center: [0, 0, -0.15], size: [1, 1, {thin}]}}}},
  {{name: floor, plane: {{center: [0, 0, -0.4], normal: [0.1, 0, 1]}}}}]}}
bodies:
  a: {{mass: 1 kg, shapes: [{{capsule: {{from: [0, 0, 0], to: [0.2, 0, 0.1], radius: 5 cm}}}}]}}
  b: {{mass: 0.5 kg, shapes: [{{box: {{center: [0.4, 0, 0.1], size: [0.2, 0.1, 0.05]}}}}]}}
  c: {{mass: 0.3 kg, shapes: [{{cylinder: {{from: [0.5, 0.2, 0.1], to: [0.6, 0.3, 0.1], radius: 4 cm}}}}]}}
  d: {{mass: 0.2 kg, shapes: [{{ellipsoid: {{center: [-0.2, 0, 0.1], radii: [0.05, 0.1, 0.08]}}}}]}}
joints:
  hang: {{type: {first}, parent: {parent}, child: a, position: [0, 0, 0]{axis}}}
  elbow: {{type: rotational, parent: a, child: b, position: [0.25, 0, 0.1], axis: [0.2, 1, 0.3]}}
  slide: {{type: {second}, parent: b, child: c, position: [0.4, 0.2, 0.1], axis: [1, 0.4, 0]}}
initial:
  elbow: {{rate: {w}}}
  slide: {{rate: {s}}}
  d: {{velocity: [{v}, 0.5, -1], angular_velocity: [{w}, 2, -3]}}
contacts: {{all: {{between: ["*", [world, a, b, c, d]]}}}}
simulate: {{duration: 1 s}}
"""


@pytest.mark.contact
@pytest.mark.parametrize("seed", [pytest.param(0, marks=pytest.mark.fast), *range(1, 10)])
def test_shapes_that_are_clear_keep_apart(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first = ("rotational", "spherical", "universal", "cylindrical", "translational")[seed % 5]
    axis = {"spherical": "", "universal": ", axis: [0, 1, 0], second_axis: [0, 0, 1]"}.get(first, ", axis: [0.3, 1, 0]")
    text = FLOATING.format(
        thin=10.0 ** rng.uniform(-3.0, -1.0), first=first, parent="world", axis=axis,
        second=("translational", "rotational")[seed % 2], w=rng.uniform(-8.0, 8.0), s=rng.uniform(-2.0, 2.0),
        v=rng.uniform(0.1, 6.0),
    )  # fmt: skip
    simulator = simulator_of(text)
    simulator.advance(0.02)  # which begins to watch shapes, and lengthens the steps
    clear, within = 0, 0
    for _ in range(6):
        status, _ = simulator.flow.advance(0.5, 1)
        assert status in (Status.PAUSE, Status.GUARD), status
        found = check(simulator, rng, times(8, 3))
        clear, within = clear + found[0], within + found[1]
    assert clear > 0
    assert within > 0
