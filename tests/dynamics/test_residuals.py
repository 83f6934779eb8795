"""Residuals of the engine and of verify, in metres and radians, and their rates, by joints of each type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sim
from sim.analysis.verification.seen import Seen
from sim.kernels.project import add_freedoms
from sim.mechanism.frames import Frames
from sim.scene.load import load_text
from tests.dynamics.engine import bodies_of, links_at, simulator_of
from tests.support import reference as ref
from tests.support.hard import hard
from tests.support.mechanisms import LOOP_KINDS

RESIDUALS = [(kind, sign) for kind in LOOP_KINDS for sign in (1, -1)]


def off(links: Sequence[ref.Link], bodies: Sequence[ref.Body], frames: Frames, joints: Sequence[int]) -> np.ndarray:
    """Return how far joints are open and open up (2,): the largest along their axes, m or rad, m/s or rad/s.

    By the oracle's rows in frames with other axes across: those of the engine, which tells the largest along its own.
    """
    worst = np.zeros(2)
    for link, joint in zip(links, joints, strict=True):
        F = (np.eye(3) if link.a < 0 else bodies[link.a].R_WB) @ frames.R_PF[joint]
        M = bodies[link.b].R_WB @ frames.R_CM[joint]
        first = [0, 1, 2] if link.kind == "universal" else [2, 0, 1]  # the axis is x of F there, elsewhere z
        turned = replace(link, axes_a=F[:, first], axes_b=M[:, [2, 0, 1]])
        J = ref.dense(ref.locked_rows(turned, bodies), turned, len(bodies))
        now = ref.residual(turned), J @ ref.speeds(bodies)
        worst = np.maximum(worst, [np.abs(a).max(initial=0.0) for a in now])
    return worst


@pytest.mark.fast
@pytest.mark.parametrize(("kind", "sign"), RESIDUALS)
def test_residuals_are_told_in_metres_and_radians(kind: str, sign: int) -> None:
    """States off the loop, by little and either way, of a mechanism whose size is far from 1 m."""
    made = hard(kind, "loop")
    simulator = simulator_of(made.text())
    flow = simulator.flow
    rng = np.random.default_rng(len(kind))
    move = rng.normal(0, 1e-2, flow.structure.sizes.v) * sign
    q, v = flow.q.copy(), flow.v + move
    add_freedoms(flow.structure.tables.links, move, 1e-4, q)
    flow._put(q, v)
    flow.observe()
    bodies = bodies_of(simulator, made.mechanism)
    links = links_at(made.mechanism, bodies)[-1:]
    wanted = off(links, bodies, flow.frames, [simulator.model.joint("loop0")])
    one = flow.work.one
    assert (one.position_residual[0], one.velocity_residual[0]) == pytest.approx(wanted, rel=1e-3)


@pytest.mark.fast
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("kind", ["rotational", "universal", "cylindrical"])
def test_what_verify_finds_open_is_in_metres_and_radians(kind: str, sign: int, tmp_path: Path) -> None:
    """Poses and speeds of a recording, moved off the joints of tree and loop by little and either way."""
    made = hard(kind, "loop")
    scene = load_text(made.text(simulate="{duration: 0.002 s, record: 1000 Hz}"))
    model = sim.compile(scene)
    simulator = simulator_of(made.text())
    with sim.run(scene, output=tmp_path / "r.h5") as recording:
        seen = Seen(recording, model)
        assert max(np.max(values) for values in seen.residuals[:2]) < 1e-10
        rng, m = np.random.default_rng(len(kind)), made.mechanism
        dp, dv, dw = sign * rng.normal(0, 1e-2, (3, len(m.names), 3))
        del seen.residuals
        seen.p, seen.v, seen.w = seen.p + 1e-4 * dp, seen.v + dv, seen.w + dw
        found = [values[0] for values in seen.residuals[:2]]
        order = [[body.name for body in recording.bodies].index(name) for name in m.names]
    bodies = [
        replace(body, com_W=body.com_W + 1e-4 * dp[k], w_W=body.w_W + dw[k], v_com_W=body.v_com_W + dv[k] + np.cross(
            dw[k], body.com_W - simulator.position[name]
        ))
        for k, name, body in zip(order, m.names, bodies_of(simulator, m), strict=True)
    ]  # fmt: skip
    links = links_at(m, bodies)
    joints = [model.joint(name) for name in m.joints]
    assert found == pytest.approx(off(links, bodies, model.frames, joints).tolist(), rel=1e-3)
