"""No array that the public API hands out changes what is simulated or recorded when it is written."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import sim
from sim.scene.load import load_text
from sim.simulation.named_state import Named

SCENE = """
schema: 1
name: all
world: {shapes: [{plane: {}}]}
bodies:
  arm: {mass: 1 kg, points: {tip: [0.5, 0, 2]}, shapes: [{capsule: {from: [0, 0, 2], to: [0.5, 0, 2], radius: 2 cm}}]}
  ball: {mass: 1 kg, shapes: [{sphere: {center: [2, 0, 0.1], radius: 0.1}}]}
joints:
  hinge: {type: rotational, parent: world, child: arm, position: [0, 0, 2], axis: [0, 1, 0], limits: [-3, 3]}
forces:
  strut: {type: spring, from: arm.tip, to: ball.com, stiffness: 1 N/m}
contacts: {ground: {between: ["*", world], friction: 0.3}}
events:
  then: {at: 5 ms, cut: hinge}
simulate: {duration: 10 ms, record: 1 kHz}
"""


def arrays(thing: Any, path: str = "", depth: int = 6) -> Iterator[tuple[str, np.ndarray]]:
    """Yield every array that public names lead to, and the way there."""
    if isinstance(thing, np.ndarray):
        yield path, thing
    elif isinstance(thing, Mapping):
        for name in thing:
            yield from arrays(thing[name], f"{path}[{name!r}]", depth - 1)
    elif isinstance(thing, (list, tuple)):
        for k, part in enumerate(thing):
            yield from arrays(part, f"{path}[{k}]", depth - 1)
    elif depth and getattr(type(thing), "__module__", "").split(".")[0] == "sim":
        for name in dir(thing):
            value = None if name.startswith("_") else getattr(thing, name)
            if not callable(value):
                yield from arrays(value, f"{path}.{name}", depth - 1)


def written(found: Iterator[tuple[str, np.ndarray]]) -> int:
    """Write into all arrays that let it; return how many there were."""
    count = 0
    for _, array in found:
        count += 1
        if array.flags.writeable:
            array.fill(np.zeros((), array.dtype)[()]) if array.dtype.names else array.fill(7)
    return count


@pytest.fixture(scope="module")
def recorded() -> sim.Recording:
    return sim.run(load_text(SCENE))


def test_a_model_is_read_only():
    model = sim.compile(load_text(SCENE))
    names = [field.name for field in dataclasses.fields(model) if field.name != "scene"]
    found = [item for name in names for item in arrays(getattr(model, name), name)]
    found += arrays([model.drawing.origins, vars(model.drawing.frames), model.drawing.poses], "drawing")
    assert len(found) > 30
    assert [path for path, array in found if array.flags.writeable] == []
    with pytest.raises(ValueError, match="read-only"):
        model.bodies.mass[1] = 5.0


def test_a_recording_stays_what_it_is(recorded):
    before = {path: array.copy() for path, array in arrays(recorded, "r")}
    assert written(arrays(recorded, "r")) == len(before) > 60
    for path, array in arrays(recorded, "r"):
        assert array.tobytes() == before[path].tobytes(), path


def test_states_by_name_are_copies():
    simulator = sim.Simulator(sim.compile(load_text(SCENE)))
    simulator.advance(0.002)
    beside = sim.Simulator(sim.compile(load_text(SCENE)))
    beside.advance(0.002)
    state = simulator.state
    names = [name for name, part in vars(Named).items() if isinstance(part, property)]
    assert written(arrays([getattr(state, name) for name in names])) > 20
    assert written(arrays([getattr(simulator, name) for name in (*names, "q", "v")])) > 20
    for one, other in ((simulator.state, beside.state), (state, beside.state)):
        for name in names:
            pairs = zip(arrays(getattr(one, name), name), arrays(getattr(other, name), name), strict=True)
            for (path, array), (_, expected) in pairs:
                assert array.tobytes() == expected.tobytes(), path
    simulator.advance(0.01)
    beside.advance(0.01)
    assert simulator.q.tobytes() == beside.q.tobytes()


def test_a_snapshot_stays_what_it_is():
    simulator = sim.Simulator(sim.compile(load_text(SCENE)))
    simulator.advance(0.002)
    kept = simulator.snapshot()
    written(arrays([kept.tables, kept.work, kept.stepper, kept.guards, kept.control]))
    simulator.advance(0.01)
    q = simulator.q
    simulator.restore(kept)
    simulator.advance(0.01)
    assert simulator.q.tobytes() == q.tobytes()
