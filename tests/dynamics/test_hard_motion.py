"""Hard mechanisms in motion by every method, against the motion of the dense oracle."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import sim
from tests.dynamics.engine import bodies_of, links_at, relative_error, simulator_of
from tests.dynamics.told import assert_told
from tests.support import reference as ref
from tests.support.hard import CASES, Hard, hard
from tests.support.reference_motion import trajectory

LATER = 0.05  # s
ALONG = [("planar", "tree"), ("cylindrical", "loop"), pytest.param("universal", "loop", marks=pytest.mark.fast)]
METHODS = {
    "method: dop853, rtol: 1e-10": 1e-8, "method: radau, rtol: 1e-9": 1e-6, "method: auto, rtol: 1e-9": 1e-6,
    "method: rk4, step: 1 ms": 1e-5, "method: semi_implicit, step: 1 ms": 3e-2, "method: variational, step: 1 ms": 1e-3,
    "contact: stepping, dt: 0.5 ms": 3e-2,
}  # fmt: skip


@functools.cache
def later(kind: str, place: str) -> list[ref.Body]:
    """Return the bodies of a hard mechanism as the oracle moves them, with springs that know no turns."""
    made = hard(kind, place)
    mechanism = made.mechanism
    simulator = simulator_of(made.text())
    bodies = bodies_of(simulator, mechanism)
    links = links_at(mechanism, bodies)

    def forces(_: float, now: Sequence[ref.Body]) -> list[ref.Wrench]:
        moved = [ref.carry(link, bodies, now) for link in links]
        out = []
        for link, plain in zip(made.acting(now, moved), moved, strict=True):
            if ref.FREEDOMS[link.kind] and link.drive is not None:
                rows = ref.free_rows(plain, now)
                push = link.drive.torque - link.drive.stiffness * (ref.coordinates(plain) - link.drive.rest)
                push = push - link.drive.damping * ref.rates(plain, now)
                for body, row in ((link.a, "row_a"), (link.b, "row_b")):
                    if body >= 0:
                        f = sum((p * getattr(r, row) for p, r in zip(push, rows, strict=True)), np.zeros(6))
                        out.append(ref.Wrench(body=body, force_W=f[:3], torque_W=f[3:], point_W=now[body].com_W))
        return out

    armatures = [
        replace(link, drive=ref.drive(link.kind, armature=link.drive.armature)) if link.drive is not None else link
        for link in links
    ]
    return trajectory(bodies, armatures, mechanism.gravity, [LATER], forces, rtol=1e-10)[0]


def run_by(made: Hard, simulate: str) -> sim.Simulator:
    """Return a mechanism that moves by a method, or in time steps."""
    text = made.text(simulate=f"{{{simulate}}}")
    if "stepping" in simulate:  # friction of another joint makes it a matter of time steps
        beside = "{type: rotational, parent: world, child: aside, position: [9, 0, 0], axis: [0, 1, 0], friction: 1}"
        text = text.replace("joints:\n", f"joints:\n  post: {beside}\n", 1)
        text = text.replace("bodies:\n", "bodies:\n  aside: {mass: 1, com: [9, 0, 0.5], inertia: [1, 1, 1]}\n", 1)
    return simulator_of(text)


SHORT = 2e-4  # s
STEPS = (
    "method: radau",
    "method: variational, step: 0.1 ms",
    "contact: stepping, dt: 0.1 ms",
    "method: rk4, step: 0.1 ms",
)


@pytest.mark.fast
@pytest.mark.parametrize("simulate", STEPS)
@pytest.mark.parametrize(("kind", "place"), CASES)
def test_a_short_while_of_every_method_goes_as_newton_says(kind: str, place: str, simulate: str) -> None:
    """Speeds grow by the oracle's accelerations times the time, to first order, places by the speeds."""
    made = hard(kind, place)
    simulator = run_by(made, simulate)
    before = bodies_of(simulator, made.mechanism)
    acting = made.acting(before, links_at(made.mechanism, before))
    a, alpha, _ = ref.accelerations(before, acting, made.mechanism.gravity)
    simulator.advance(SHORT)
    after = bodies_of(simulator, made.mechanism)
    for wanted, name in ((a, "v_com_W"), (alpha, "w_W")):
        grown = np.array([(getattr(b, name) - getattr(c, name)) / SHORT for b, c in zip(after, before, strict=True)])
        assert relative_error(grown, wanted) < 2e-2
    for b, c, acceleration in zip(after, before, a, strict=True):
        way = c.v_com_W * SHORT + 0.5 * acceleration * SHORT**2
        assert b.com_W - c.com_W == pytest.approx(way, abs=1e-8 * (1.0 + np.abs(a).max()))


@pytest.mark.parametrize("simulate", METHODS)
@pytest.mark.parametrize(("kind", "place"), ALONG)
def test_every_method_moves_as_the_oracle_does(kind: str, place: str, simulate: str) -> None:
    """Places and speeds after a while, to what the method promises; what is told there to roundoff; loops closed."""
    made = hard(kind, place)
    simulator, steps = run_by(made, simulate), "stepping" in simulate
    simulator.advance(LATER)
    found, wanted = bodies_of(simulator, made.mechanism), later(kind, place)
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.com_W == pytest.approx(theirs.com_W, abs=0.1 * METHODS[simulate])
        assert pytest.approx(theirs.R_WB, abs=METHODS[simulate]) == ours.R_WB
        assert ours.v_com_W == pytest.approx(theirs.v_com_W, abs=10 * METHODS[simulate])
        assert ours.w_W == pytest.approx(theirs.w_W, abs=30 * METHODS[simulate])
    if not steps:
        assert_told(simulator, made, [], 1e-8)
    assert simulator.flow.work.one.position_residual[0] < 1e-10
    assert abs(simulator.energy["balance"]) < METHODS[simulate] * max(1.0, simulator.energy["kinetic"])
