"""Structures that are written over in place are as if they were laid out anew, and what runs on them is the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sim
from sim.mechanism import kept_structures
from sim.mechanism.kept_structures import KeptStructures
from sim.mechanism.structure import Structure, build
from sim.scene.load import load_text
from sim.simulation import laid_out

pytestmark = pytest.mark.contact

# A block that bounces to rest on the floor beside a slide with friction between rigid stops, which it is tied to.
SCENE = """
schema: 1
name: changing
world: {shapes: [{plane: {}}]}
bodies:
  block:
    mass: 2 kg
    shapes: [{box: {center: [0, 0, 0.1], size: [0.4, 0.3, 0.2]}}]
  cart:
    mass: 1 kg
    com: [0, 2, 0.5]
    inertia: [0.01, 0.01, 0.01]
    shapes: [{sphere: {center: [0, 2, 0.5], radius: 5 cm}}]
joints:
  rail: {type: translational, parent: world, child: cart, position: [0, 2, 0.5], axis: [1, 0, 0], friction: 0.4,
    limits: {range: [-5 cm, 5 cm], stop: rigid, restitution: 0.5}}
initial:
  block: {velocity: [0.3, 0.1, 0], angular_velocity: [0, 0, 0.4]}
  rail: {coordinate: 0, rate: 0.5}
contacts: {floor: {between: [block, world], friction: 0.3}}
events:
  knock: {at: 0.35 s, impulse: {body: block, linear: [0.5, 0, 0.6]}}
simulate: {duration: 0.7 s, contact: event}
"""

# The same block dropped on an edge and knocked about: it comes down on one corner or edge after another.
ROCKING = SCENE.replace(
    "block: {velocity", "block: {position: [0, 0, 0.13], rpy: [0, -5 deg, 0], velocity"
).replace("linear: [0.5, 0, 0.6]", "linear: [0.5, 0, 0.6], angular: [0, 0.1, 0]")  # fmt: skip


def run(text: str) -> list[tuple[np.ndarray, np.ndarray]]:
    simulator = sim.Simulator(sim.compile(load_text(text)))
    out = []
    for t in np.linspace(0.0, 0.7, 29):
        simulator.advance(float(t))
        flow = simulator.flow
        out.append((flow.stepper.y.copy(), flow.stepper.count.copy()))
    return out


@pytest.mark.parametrize(("text", "shared"), [(SCENE, 1), (ROCKING, 3)], ids=["settling", "rocking"])
def test_what_is_written_over_is_what_would_be_laid_out_anew(
    text: str, shared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """shared : by so many sets of points, or more, that differ in their features alone, one structure was had"""
    asked: dict[int, tuple[Any, set[Any]]] = {}  # tables, which no others may follow in memory, and whose they were
    again, plain = list[bool](), KeptStructures.of

    def of(
        self: Any, joined: Any, touches: Any = (), rules: Any = None, bounds: Any = (), like: Any = None
    ) -> Structure:
        kept = plain(self, joined, touches, rules, bounds, like)
        fresh = build(joined.model, joined.frames, joined.active, joined.carrier, touches, rules, bounds)
        for name, wanted in fresh.tables._asdict().items():
            found = getattr(kept.tables, name)
            assert not found.flags.writeable, name
            if name != "touches":
                assert found.tobytes() == wanted.tobytes(), name
            else:
                assert all(found[field].tolist() == wanted[field].tolist() for field in found.dtype.names)
        assert (kept.sizes, kept.touches, kept.bounds) == (fresh.sizes, tuple(touches), tuple(bounds))
        again.append(id(kept.tables) in asked)
        asked.setdefault(id(kept.tables), (kept.tables, set()))[1].add(tuple(touch.key for touch in touches))
        return kept

    monkeypatch.setattr(KeptStructures, "of", of)
    run(text)
    assert sum(again) > 10 and len(asked) > 5
    assert max(len(points) for _, points in asked.values()) >= shared


@pytest.mark.parametrize("text", [SCENE, ROCKING], ids=["settling", "rocking"])
def test_a_run_is_the_same_to_the_bit_where_nothing_is_kept(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = run(text)
    for module in (kept_structures, laid_out):
        monkeypatch.setattr(module, "MOST", 0)
    for (y, count), (other, counted) in zip(kept, run(text), strict=True):
        assert y.tobytes() == other.tobytes() and count.tolist() == counted.tolist()
