"""Turned by any rotation and moved anywhere, a scene with contacts moves the same."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.scene.spec import Scene
from tests.contact.engine import Run, shipped
from tests.dynamics.moved_scene import moved_scene
from tests.support.rotations import matrix_from_vector

pytestmark = pytest.mark.contact

# Of each scene: parameters, and times at which it is looked at.
LOOKED_AT = {
    "bouncing_ball": ({"restitution": 0.7}, (0.3, 0.9, 2.0, 2.4, 3.0)),
    "sliding_block": ({}, (0.1, 0.25, 0.5, 1.5)),
    "rocking_block": ({}, (0.2, 0.6, 1.2, 2.0)),
    "rolling_sphere": ({}, (0.1, 0.2, 1.0)),
    "newtons_cradle": ({"lift": 0.5}, (0.3, 0.5, 1.0)),
    "stack": ({}, (1.0,)),
    "table": ({}, (0.5,)),
    "woodpecker": ({}, (0.01, 0.09)),
    "slider_crank_clearance": ({"turn": -1.0, "friction": 0.3}, (0.01, 0.04)),
}
# Balls that hang side by side press each other with rounding alone: whether they leave or slide then tells nothing.
TOUCHING_IDLY = {"newtons_cradle"}
turns = st.builds(lambda *c: matrix_from_vector(np.array(c)), *[st.floats(-2.0, 2.0)] * 3)
shifts = st.builds(lambda *c: np.array(c), *[st.floats(-20.0, 20.0)] * 3)


def resting(scene: Scene) -> Scene:
    """Return the scene without events, which act in world axes, at a tolerance of which differences tell nothing."""
    return replace(scene, events=(), simulate=replace(scene.simulate, rtol=1e-10))


def poses(run: Run, times: tuple[float, ...]) -> np.ndarray:
    """Return (times, bodies, 3, 4) of origins and axes."""
    found = []
    for t in times:
        state = run.to(t).simulator.state
        names = [body.name for body in run.scene.bodies]
        found.append([np.column_stack([state.position[name], state.rotation[name]]) for name in names])
    return np.array(found)


@functools.cache
def here(name: str) -> tuple[Run, np.ndarray]:
    parameters, times = LOOKED_AT[name]
    run = Run(resting(shipped(name, impact="simultaneous", **parameters).scene))
    return run, poses(run, times)


@pytest.mark.parametrize("name", LOOKED_AT)
@settings(max_examples=4, derandomize=True, deadline=None)
@given(R=turns, shift=shifts)
def test_a_moved_scene_does_the_same(name: str, R: np.ndarray, shift: np.ndarray) -> None:
    one, expected = here(name)
    other = Run(moved_scene(one.scene, R, shift))
    found = poses(other, LOOKED_AT[name][1])
    found[..., 0] -= shift
    assert R.T @ found == pytest.approx(expected, abs=1e-8)
    for kind in ("impact",) if name in TOUCHING_IDLY else ("impact", "mode"):
        assert other.texts(kind) == one.texts(kind)
        assert other.times(kind) == pytest.approx(one.times(kind), abs=1e-8)
    assert len(one.told.events) > 0
    for pair, force in one.forces().items():
        assert R.T @ other.forces()[pair] == pytest.approx(force, abs=1e-6)
