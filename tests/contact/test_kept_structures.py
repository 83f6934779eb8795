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


def run() -> list[tuple[np.ndarray, np.ndarray]]:
    simulator = sim.Simulator(sim.compile(load_text(SCENE)))
    out = []
    for t in np.linspace(0.0, 0.7, 29):
        simulator.advance(float(t))
        flow = simulator.flow
        out.append((flow.stepper.y.copy(), flow.stepper.count.copy()))
    return out


def test_what_is_written_over_is_what_would_be_laid_out_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, again, plain = set[int](), [], KeptStructures.of

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
        asked.add(id(kept.tables))
        return kept

    monkeypatch.setattr(KeptStructures, "of", of)
    run()
    assert sum(again) > 10 and len(asked) > 5


def test_a_run_is_the_same_to_the_bit_where_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = run()
    for module in (kept_structures, laid_out):
        monkeypatch.setattr(module, "MOST", 0)
    for (y, count), (other, counted) in zip(kept, run(), strict=True):
        assert y.tobytes() == other.tobytes() and count.tolist() == counted.tolist()
