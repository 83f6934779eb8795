"""What time steps are told of contacts: which pairs may touch, and how."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sim.contact.stops import at_stops
from sim.mechanism.finding import closed_points
from sim.simulation.contact_sentences import overlap
from sim.simulation.contact_structures import rebuilt
from sim.simulation.structure_changes import Instant

if TYPE_CHECKING:
    from sim.simulation.flow import Flow


def begin_steps(flow: Flow, now: Instant, rules: dict[int, int]) -> str:
    """Let time steps know which pairs may touch, and how; stops and friction of joints they find themselves.

    Returns which bodies are inside one another that may touch from now on, or which joint starts beyond its limits; or
    nothing.
    """
    begin = {pair: rule for pair, rule in rules.items() if pair not in now.structure.meetings}
    bare = rebuilt(now, (), begin)
    contacts = flow.model.scene.contacts
    law, gaps = closed_points(bare.mechanism, {n: rule for n, rule in begin.items() if contacts[rule].soft is None})
    stops, more = at_stops(bare.mechanism) if flow.t == 0.0 else ([], [])
    inside = overlap(flow.model, [*law, *stops], [*gaps, *more])
    if inside:
        return inside
    if not flow.model.step:
        flow.have_steps_of(flow.model.scene.simulate.dt)
        flow.take(rebuilt(flow.instant(), (), rules), now.v)
        flow.rub(np.zeros(len(flow.model.columns)))
        flow.foresee()
    return ""


__all__ = ["begin_steps"]
