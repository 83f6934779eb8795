"""The engine on the ordinary path, text -> scene -> model -> simulator, and its state as the oracle takes it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import sim
from sim.scene.load import load_text
from tests.support import reference as ref
from tests.support.mechanisms import Mechanism
from tests.support.scene_texts import scene_text


def simulator_of(text: str, *, seed: int | None = None) -> sim.Simulator:
    """Return a simulator at the start of the scene that the text describes."""
    return sim.Simulator(sim.compile(load_text(text)), seed=seed)


def simulator_for(mechanism: Mechanism, **options: str) -> sim.Simulator:
    """Return a simulator of a mechanism; options as `scene_text` takes them."""
    return simulator_of(scene_text(mechanism, **options))


def bodies_of(simulator: sim.Simulator, mechanism: Mechanism) -> list[ref.Body]:
    """Return the bodies of a mechanism where the engine has them now."""
    state, found = simulator.state, []
    for name, drawn, origin in zip(mechanism.names, mechanism.bodies, mechanism.places, strict=True):
        R, w = state.rotation[name], state.angular_velocity[name]
        arm = R @ (drawn.com_W - origin)
        found.append(
            replace(
                drawn, com_W=state.position[name] + arm, v_com_W=state.velocity[name] + np.cross(w, arm), w_W=w,
                R_WB=R @ drawn.R_WB, inertia_W=R @ drawn.inertia_W @ R.T,
            )
        )  # fmt: skip
    return found


def accelerations_of(simulator: sim.Simulator, mechanism: Mechanism) -> tuple[np.ndarray, np.ndarray]:
    """Return (n, 3) m/s^2 of the centres of mass and (n, 3) rad/s^2, world axes, as the engine finds them."""
    state = simulator.state
    a, alpha = np.zeros((2, len(mechanism.names), 3))
    for i, (name, body) in enumerate(zip(mechanism.names, bodies_of(simulator, mechanism), strict=True)):
        arm = body.com_W - state.position[name]
        alpha[i] = state.angular_acceleration[name]
        a[i] = state.acceleration[name] + np.cross(alpha[i], arm) + np.cross(body.w_W, np.cross(body.w_W, arm))
    return a, alpha


def links_at(mechanism: Mechanism, bodies: list[ref.Body]) -> list[ref.Link]:
    """Return the links of the drawing carried along to the bodies."""
    return [ref.carry(link, mechanism.bodies, bodies) for link in mechanism.links]


def relative_error(found: np.ndarray, expected: np.ndarray) -> float:
    """Return the largest difference over the largest of the expected values, 1 at the least."""
    return float(np.max(np.abs(found - expected), initial=0.0) / max(np.max(np.abs(expected), initial=0.0), 1.0))
