"""Which modes of contacts a linear model takes as given, and where it cannot: at their borders.

A mode is strict where a small change of the state does not change it: a point that sticks is inside its cone, one that
slides moves, both are pressed, and what is open is apart.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from sim.analysis.linear.equations import LinearError
from sim.assembly.loop_closure import close_positions, close_velocities
from sim.kernels.rows.touches import CLEAR
from sim.kernels.shapes import SLIP, SLOW_SLIP, SOFT, SOFT_SLIP, SOFT_STICK, STICK
from sim.kernels.stepper import AUTO, METHOD
from sim.mechanism.finding import closed_points
from sim.mechanism.mechanism import Mechanism
from sim.mechanism.methods import METHODS
from sim.mechanism.structure import build
from sim.mechanism.touch import Touch
from sim.simulation.contact_sentences import is_of_rope
from sim.simulation.flow import Flow
from sim.simulation.simulator import Simulator

BORDER = 1e-6  # share of what friction can give that a point which sticks has left
NOTHING = 1e-9  # of the weight of all, or of the largest force of a point: what presses a point that stays closed
NEAR = 1e-3  # of the size of the mechanism: how far from touching a time step may leave a point that presses
WORDS = {
    STICK: "stick", SLIP: "slide", SLOW_SLIP: "begin to slide", SOFT: "slide", SOFT_STICK: "stick", SOFT_SLIP: "slide",
}  # fmt: skip


def by_events(simulator: Simulator, q: np.ndarray, v: np.ndarray) -> Simulator:
    """Return another run at the same time, at q and v, with the modes that a decision of event mode finds there.

    Raises
    ------
    LinearError
        Where there are none, or bodies collide.
    """
    twin = Simulator(simulator.model, seed=simulator.seed)
    twin.restore(simulator.snapshot())
    flow = twin.flow
    flow.q[:], flow.v[:] = q, v
    if flow.time_stepping:
        _take_events(flow)
    found = twin.now.contact_modes.decide(flow)
    when = f"t = {flow.t:.9g} s"
    if found.failure:
        raise LinearError(f"{when}: {found.failure}")
    if found.struck:
        raise LinearError(f"{when}: bodies collide ({found.struck[0]}), which has no linear model")
    return twin


def _take_events(flow: Flow) -> None:
    """Let contacts be events from now on; what pressed in the last time step is brought to touch, and to rest there.

    A step keeps to that to first order only.
    """
    last, rules = flow.pressed(), dict(flow.structure.meetings)
    pairs = list(rules)
    pressed = {
        (pairs[point.meeting], *point.key.tolist()): STICK if _grips(point) else SLIP
        for point in last
        if point.meeting >= 0 and point.impulse[0] > 0.0 and point.soft == 0.0
    }
    flow.time_stepping = False
    flow.stepper.count[METHOD], flow.stepper.count[AUTO] = METHODS["dop853"], 0
    flow.have_steps_of(0.0)
    now = flow.instant()
    near, _ = closed_points(now.mechanism, rules, NEAR * flow.model.length)
    touches = [replace(touch, mode=pressed[touch.key]) for touch in near if touch.key in pressed]
    structure = build(now.model, now.frames, now.active, now.structure.carrier, touches, rules)
    mechanism, fixed = Mechanism.of(now.model, structure, flow.control, flow.t), np.zeros(len(now.v), bool)
    if touches and close_positions(mechanism, now.q, fixed):
        close_velocities(mechanism, now.q, now.v, fixed)
        flow.q[:], flow.v[:] = now.q, now.v


def _grips(point: Any) -> bool:
    """Tell whether a press of a time step was inside its cone."""
    return float(np.hypot(*point.impulse[1:])) < (1.0 - BORDER) * float(point.friction * point.impulse[0])


def refuse_borders(simulator: Simulator) -> None:
    """Refuse contacts that are at the border of their mode, where a run is now.

    Raises
    ------
    LinearError
        With the pair, and the quantity that is at its border.
    """
    flow = simulator.flow
    if flow.structure.meetings:
        flow.observe()
        _refuse_idle(simulator)
        for k, touch in enumerate(flow.structure.touches):
            why = _border(simulator, k, touch)
            if why:
                name = simulator.now.contact_modes.name(touch)
                raise LinearError(f"t = {flow.t:.9g} s: {name} {why}; a linear model needs modes that last")


def _refuse_idle(simulator: Simulator) -> None:
    """Refuse points that touch and are not pressed."""
    flow = simulator.flow
    pressed = {touch.key for touch in flow.structure.touches}
    for touch, gap in zip(*closed_points(flow.mechanism, dict(flow.structure.meetings)), strict=True):
        if touch.key not in pressed:
            name = simulator.now.contact_modes.name(touch)
            raise LinearError(
                f"t = {flow.t:.9g} s: {name} touch (gap {gap:.1e} m) and do not press each other, so that they are "
                "about to touch or to leave; a linear model needs modes that last"
            )


def _border(simulator: Simulator, k: int, touch: Touch) -> str:
    """Return what keeps the mode of closed point k from lasting, as last observed, or nothing."""
    flow = simulator.flow
    points, friction = flow.work.points, float(flow.structure.tables.touches.friction[k])
    pressing, holding = float(points.pressing[k]), float(points.holding[k])
    one, can = flow.structure.tables.one, friction * pressing
    weight = float(np.linalg.norm(one.gravity_W[0])) / float(one.mobility[0])
    if not pressing > NOTHING * max(weight, float(points.pressing.max())):
        return f"are about to leave each other: a force of {pressing:.4g} N presses them"
    if touch.mode in (STICK, SOFT_STICK):
        slips = friction > 0.0 and holding > (1.0 - BORDER) * can
        return f"are about to slip: friction holds {holding:.6g} N of the {can:.6g} N that it can" if slips else ""
    u, n = points.u[k], points.n[k]
    speed = float(np.linalg.norm(u - (u @ n) * n))
    if friction == 0.0 or (touch.mode in (SLIP, SOFT_SLIP) and speed > CLEAR):
        return ""
    return (
        f"slide at {speed:.2g} m/s with friction at its bound of {can:.6g} N, so that they only begin to slide or are "
        "about to stick"
    )


def same_modes(simulator: Simulator, found: Simulator) -> None:
    """Refuse a steady motion in which contacts are not in the modes that it was looked for with.

    Raises
    ------
    LinearError
    """
    before, after = ({touch.key: touch for touch in run.flow.structure.touches} for run in (simulator, found))
    for key in (*before, *after):
        if key not in before or key not in after or before[key].mode != after[key].mode:
            name = simulator.now.contact_modes.name((before | after)[key])
            does, did = (WORDS[run[key].mode] if key in run else "do not press each other" for run in (after, before))
            raise LinearError(
                f"no steady motion was found near the start with its contacts: in the one that the search ends at, "
                f"{name} {does}, and at the start they {did}"
            )


def told(simulator: Simulator) -> list[str]:
    """Return a line on each pair of bodies that touch, and in which mode."""
    flow, modes = simulator.flow, simulator.now.contact_modes
    counted = Counter(
        (modes.name(touch), touch.mode, is_of_rope(flow.model, touch)) for touch in flow.structure.touches
    )
    out = []
    for (name, mode, ties), count in counted.items():
        if ties:
            out.append(f"{name} is taut")
            continue
        points = f"{count} point{'s' if count > 1 else ''}"
        how = (
            "stick at {}, which do not slip"
            if mode in (STICK, SOFT_STICK)
            else "slide at {}, with friction against their slip"
        )
        out.append(f"{name} {how.format(points)}")
    if any(touch.mode in (SLIP, SOFT_SLIP) and not touch.determinate for touch in flow.structure.touches):
        out.append("points that slide share forces that could be shared otherwise: the motion is one choice among many")
    return out
