"""`sim.soles`: where a run touches what stands still, as inverse dynamics takes it."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from sim.closed_chains.soles import Sole
from sim.simulation.simulator import Simulator


def soles(run: Simulator) -> list[Sole]:
    """Return a sole for each body and each face of the world that it touches now, with that contact's friction at rest.

    Raises
    ------
    ValueError
        Where bodies touch one another: what one gives the other is no ground.
    """
    flow, model = run.flow, run.model
    flow.observe()
    structure, work = flow.structure, flow.work
    blocks = structure.tables.blocks
    found: dict[tuple[int, tuple[float, ...], float], list[np.ndarray]] = defaultdict(list)
    for n in np.flatnonzero(blocks.touch >= 0):
        touch, a, b = structure.touches[int(blocks.touch[n])], int(blocks.a[n]), int(blocks.b[n])
        if a and b:
            names = [model.body_names[int(np.flatnonzero(structure.link_of == link)[0])] for link in (a, b)]
            raise ValueError(f"soles: {names[0]!r} touches {names[1]!r}; expected touches of the world alone")
        normal = work.blocks.R_WF[n].reshape(3, 3)[:, 2] * (1.0 if b else -1.0)  # from the world to the body
        friction = float(model.friction_at_rest(touch.pair, touch.rule))
        found[max(a, b), tuple(np.round(normal, 12).tolist()), friction].append(work.blocks.p_WM[n].copy())
    out = []
    for (link, normal_W, friction), points in found.items():
        body = int(np.flatnonzero(structure.link_of == link)[0])
        p_WB, R_WB = work.bodies.p_WB[body], work.bodies.R_WB[body].reshape(3, 3)
        out.append(Sole(model.body_names[body], (np.array(points) - p_WB) @ R_WB, friction, normal_W))
    return out
