"""The structures that a decision on contacts asks for, and which of them a run goes on with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sim.assembly.constraint_diagnostics import slips_by_choice
from sim.contact.slip_directions import straighten_slow_slip
from sim.contact.stops import Bounded, active_bounds, eased, friction_of_moving
from sim.kernels.shapes import SLOW_SLIP
from sim.mechanism.active_bound import ActiveBound
from sim.mechanism.finding import meetings
from sim.mechanism.kept_structures import Joined, KeptStructures
from sim.mechanism.mechanism import Mechanism
from sim.mechanism.structure import build
from sim.mechanism.touch import Touch
from sim.mechanism.tree import Tree
from sim.simulation.structure_changes import Instant

if TYPE_CHECKING:
    from sim.mechanism.model import Model
    from sim.simulation.flow import Flow

TURNS = 5  # of ways on which points begin to creep, at one instant; what is not straight by then slides


class ContactStructures:
    """Structures with these closed points and freedoms that are held, those that were asked for before among them."""

    def __init__(self, model: Model):
        self.model, self.kept = model, KeptStructures()
        self._met: tuple[Tree, tuple[bool, ...], dict[int, int]] | None = None

    @cached_property
    def _asks_where(self) -> bool:
        return bounds_something(self.model)

    def meetings(self, now: Instant, active: Sequence[bool]) -> dict[int, int]:
        """Return the pairs that may touch now, each with its rule: the same while joints and rules are."""
        tree, rules = now.structure.tree, tuple(active)
        if self._met is None or self._met[0] is not tree or self._met[1] != rules:
            self._met = tree, rules, meetings(now.mechanism, rules)
        return self._met[2]

    def of(
        self, now: Instant, touches: tuple[Touch, ...], rules: Mapping[int, int], bounds: tuple[ActiveBound, ...] = ()
    ) -> Instant:  # fmt: skip
        """Return an instant with these closed points, pairs that may touch and freedoms that are held, not looked at.

        Its tables are those of an older structure with the same rows, which nothing may be asked of any more.
        """
        joined = Joined(now.model, now.frames, now.active, now.structure.carrier)
        structure = self.kept.of(joined, touches, rules, bounds, now.structure)
        return Instant(now.model, structure, now.frames, now.active, now.q, now.v, now.mechanism)

    def without(self, flow: Flow, now: Instant, rules: Mapping[int, int]) -> Instant:
        """Let the flow take over the structure in which nothing touches or is held, and return it as it is now."""
        bare = self.of(now, (), rules)
        flow.take(bare, bare.v)
        return self.looked_at(flow, bare)

    def looked_at(self, flow: Flow, now: Instant) -> Instant:
        """Return an instant that the flow has taken over, with its mechanism as it is."""
        mechanism = flow.mechanism
        if self._asks_where:
            work = mechanism.work._replace(coordinate=mechanism.work.coordinate.copy())  # which structures share
            mechanism = Mechanism(now.model, now.structure, work, flow.control, flow.t)
        return replace(now, mechanism=mechanism)

    def take(
        self, flow: Flow, bare: Instant, closed: list[Touch], bounded: list[Bounded], rules: Mapping[int, int],
        v: np.ndarray, rounds: int,
    ) -> str:  # fmt: skip
        """Let the run go on with these closed points and freedoms at their bounds, slow slips along straight ways.

        Freedoms that are held beyond what their friction resists move.  Returns why it cannot go on, or nothing.
        """
        for _ in range(rounds):
            bounds, friction = active_bounds(bare.mechanism, bounded), friction_of_moving(self.model, bounded)
            crooked, turn = None, 0
            while closed is not crooked:
                flow.take(self.of(bare, tuple(closed), rules, bounds), v)
                flow.rub(friction)
                if any(touch.mode == SLOW_SLIP for touch in closed):
                    flow.observe()
                straight = straighten_slow_slip(flow.work.points, closed, last=turn >= TURNS)
                crooked, closed, turn = closed, straight, turn + 1
            beyond = flow.torques_beyond()
            chosen = chosen_grip(flow)
            if chosen:
                return chosen
            held_before, bounded = bounded, eased(bounded, beyond)
            if bounded == held_before:
                break
        return ""


def bounds_something(model: Model) -> bool:
    """Tell whether freedoms have stops or friction: then decisions ask where they are."""
    return len(model.stops) > 0 or bool(np.any(model.columns.friction))


def chosen_grip(flow: Flow) -> str:
    """Return which threshold of a constraint is of a force that is not determined, as last observed, or nothing."""
    for hold in flow.structure.bounds:
        joint = int(flow.model.columns.joint[hold.column])
        if joint not in flow.model.constraints or flow.work.joints.determinate[joint] == 1.0:
            continue
        if slips_by_choice(flow.mechanism, flow.structure.loops.index(joint)):
            spec = flow.model.constraints[joint]
            return (
                f"constraint {spec.name!r} ({spec.place}) lets go beyond a force (holds) that is not determined "
                "here: other rows repeat its own, so its force is one choice among many. Leave out 'holds', or "
                "what holds the same again"
            )
    return ""


def rebuilt(
    now: Instant, touches: tuple[Touch, ...], rules: Mapping[int, int], bounds: tuple[ActiveBound, ...] = ()
) -> Instant:  # fmt: skip
    """Return an instant with these closed points, pairs that may touch and their rules, and freedoms that are held.

    Its structure is its own, and it is looked at.
    """
    then = now.structure
    structure = build(now.model, now.frames, now.active, then.carrier, touches, rules, bounds, like=then)
    mechanism = Mechanism.of(now.model, structure, now.mechanism.control, now.mechanism.t)
    mechanism.update(now.q, now.v)
    return replace(now, structure=structure, mechanism=mechanism)


__all__ = ["ContactStructures", "bounds_something", "rebuilt"]
