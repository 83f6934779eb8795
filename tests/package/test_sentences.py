"""What a sentence about a stopped run says: of the loops' position, and of each status as a whole."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import numpy as np
import pytest

import sim
from sim.kernels.status import Status
from sim.kernels.stepper import H
from sim.scene.load import load_text
from sim.simulation import messages

pytestmark = pytest.mark.fast


def flow(loops: tuple[int, ...], smallest: float, largest: float) -> Made:
    one = Made(least_pivot=np.array([smallest]), largest_pivot=np.array([largest]))
    return Made(structure=Made(loops=loops), work=Made(one=one))


def test_how_near_loops_are_to_a_singular_position_is_a_ratio_of_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pivots are squares: their ratio's root is the ratio of singular values."""
    monkeypatch.setattr(messages, "_loops", lambda one: "the loops of 'a'")
    near = messages._near
    assert near(flow((3,), 4e-8, 1e-2)) == "; the loops of 'a' are at 2.0e-03 of singular there"  # type: ignore[arg-type]
    assert near(flow((3,), 0.0, 0.0)) == "; the loops of 'a' are at 0.0e+00 of singular there"  # type: ignore[arg-type]
    assert near(flow((), 1.0, 1.0)) == ""  # type: ignore[arg-type]


def test_a_pose_is_told_by_eight_joints_that_have_few_coordinates_those_of_loops_first() -> None:
    """Two of the twelve have none or more than three."""
    counts = [1, 1, 0, 4, 3, 1, 1, 1, 1, 1, 1, 1]
    first = np.concatenate([[0], np.cumsum(counts)]).tolist()
    joints = list(range(12))
    made: Any = Made(
        update=lambda: None, structure=Made(loops=(11,), carrier=np.array([-1, *joints[:11]])),
        work=Made(coordinate=0.5 + np.arange(float(sum(counts)))),
        model=Made(joint_names=[f"j{j}" for j in joints], columns_of=lambda j: slice(first[j], first[j + 1])),
    )  # fmt: skip
    told = [f"j{j} {', '.join(str(x + 0.5) for x in range(first[j], first[j + 1]))}" for j in (11, 0, 1, 4, 5, 6, 7, 8)]
    assert messages._pose(made) == f" Pose: {'; '.join(told)}."
    made.structure = Made(loops=(), carrier=np.array([-1, 2, 3]))
    assert messages._pose(made) == ""


# --- every status, of a mechanism with a loop, a constraint and a drive ---------------------------------------------

PLAIN = """
schema: 1
name: told
world: {gravity: [0, 0, 0]}
bodies:
  crank: {mass: 1, com: [0.1, 0, 0], inertia: [1, 1, 1]}
  rod: {mass: 1, com: [0.5, 0, 0.3], inertia: [1, 1, 1]}
  rocker: {mass: 1, com: [0.9, 0, 0.4], inertia: [1, 1, 1]}
  sled: {mass: 1, com: [0, 5, 0], inertia: [1, 1, 1]}
  ball: {mass: 1, com: [0, 7, 0], inertia: [1, 1, 1]}
joints:
  drive: {type: rotational, parent: world, child: crank, position: [0, 0, 0], axis: [0, 1, 0]MOTION}
  pin: {type: rotational, parent: crank, child: rod, position: [0.2, 0, 0.1], axis: [0, 1, 0]}
  pivot: {type: rotational, parent: world, child: rocker, position: [1, 0, 0], axis: [0, 1, 0]}
  link: {type: rotational, parent: rod, child: rocker, position: [0.8, 0, 0.6], axis: [0, 1, 0]}
  float: {type: planar, parent: world, child: sled, position: [0, 5, 0], axis: [0, 0, 1], second_axis: [1, 0, 0]}
  hang: {type: spherical, parent: world, child: ball, position: [0, 7, 1]}
MORE
simulate: {method: METHOD, step: 2 ms}
"""
BLADE = """constraints:
  blade: {type: knife_edge, body: sled, along: [1, 0, 0], point: com}
"""
POSE = "drive 0; pin 0; pivot 0; float 0.25, -1.5, 0; hang 0, 0, 0"


def told_by(status: Status, index: int, *, driven: bool = False, blade: bool = False, method: str = "dop853") -> str:
    text = PLAIN.replace("MOTION", ', motion: "0.5*(t/1 s)^2"' if driven else "").replace("METHOD", method)
    more = (BLADE if blade else "") + "initial: {float: [0.25, -1.5, 0]}"
    simulator = sim.Simulator(sim.compile(load_text(text.replace("MORE", more))))
    simulator.advance(0.0)
    flow = simulator.flow
    flow.work.freedoms.vdot[:] = 0.0
    flow.work.freedoms.vdot[flow.structure.v_of(flow.model, flow.model.joint("pivot"))] = -7.0
    flow.work.freedoms.vdot[flow.structure.v_of(flow.model, flow.model.joint("float"))] = 6.0
    flow.work.one.least_pivot[0], flow.work.one.largest_pivot[0] = 9e-8, 1e-2
    flow.work.one.jump[0] = 3e-6 if driven else 0.0
    flow.stepper.clock[H] = 2.5e-12
    rows = flow.structure.tables.rows
    names = [flow.model.joint_names[flow.structure.tables.blocks.joint[n]] for n in rows.block]
    return messages.sentence(status, names.index("blade") if index < 0 else index, flow)


LOOPS, BOTH = "the loops through 'link'", "the loops through 'link' and the constraints 'blade'"
SOFTEN = "Soften what is stiff there, take `method: auto`, raise `simulate.rtol`, or avoid the pose"
WHOLE = [
    (
        Status.INCONSISTENT, 0, {},
        "the loop through joint 'link' moves along a freedom that is only infinitesimal here: its redundant rows "
        f"contradict each other, so no motion continues this one. Pose: link 0; {POSE}. Give the loop real play, or "
        "start without that motion",
    ),
    (
        Status.INCONSISTENT, -1, {"blade": True},
        "constraint 'blade' cannot be kept here: it binds what others bind, but not the same accelerations, so no "
        f"motion continues this one. Pose: link 0; {POSE}. Leave it out, or avoid the pose",
    ),
    (
        Status.INCONSISTENT, 0, {"driven": True},
        "the motions of 'drive' and the loops contradict each other in joint 'link': no motion has all of these "
        f"accelerations. Pose: link 0; {POSE}. Drive fewer freedoms, or with motions that fit together",
    ),
    (
        Status.INCONSISTENT, -1, {"driven": True, "blade": True},
        "the motions of 'drive' and the constraints contradict each other in constraint 'blade': no motion has all of "
        f"these accelerations. Pose: link 0; {POSE}. Drive fewer freedoms, or with motions that fit together",
    ),
    (
        Status.NOT_SOLVED, 0, {"method": "variational"},
        "the equations of a variational step of 0.002 s could not be solved, so the motion cannot be followed with it; "
        f"fastest is joint 'pivot'; {LOOPS} are at 3.0e-03 of singular there. Pose: link 0; {POSE}. Take a shorter "
        "`simulate.step` (bodies should turn by less than a radian in one, and dampers slow down no faster), avoid "
        "the pose, or take `method: dop853`",
    ),
    *(
        (
            status, 0, {"blade": True},
            "the step fell to 2.5e-12 s, so the motion cannot be followed; fastest is joint 'pivot'; "
            f"{BOTH} are at 3.0e-03 of singular there. Pose: link 0; {POSE}. {SOFTEN}",
        )
        for status in (Status.STEP_TOO_SMALL, Status.NOT_SOLVED)
    ),
    (
        Status.STEP_TOO_SMALL, 0, {"driven": True},
        f"the step fell to 2.5e-12 s, so the motion cannot be followed; fastest is joint 'pivot'; {LOOPS} are at "
        "3.0e-03 of singular there; a driven rate was off by 3.0e-06 of its size there; a motion whose value or rate "
        f"jumps cannot be followed (driven: 'drive'). Pose: link 0; {POSE}. {SOFTEN}",
    ),
    (
        Status.NO_CLOSURE, 0, {"driven": True},
        "joint 'link' cannot be held any more: the loops do not reach where the motions of 'drive' lead. Pose: link 0; "
        f"{POSE}.",
    ),
    (Status.NO_CLOSURE, -1, {"blade": True}, f"constraint 'blade' cannot be met any more. Pose: link 0; {POSE}."),
    (Status.NO_CLOSURE, 0, {}, f"the loop through joint 'link' cannot be closed any more. Pose: link 0; {POSE}."),
    (
        Status.NOT_FINITE, 0, {},
        f"a coordinate is no longer a finite number; fastest is joint 'pivot'. Pose: link 0; {POSE}.",
    ),
    (
        Status.MASS_SINGULAR, 1, {},
        "nothing resists the motion of body 'rod' in this pose: give it mass and inertia, or its joint an armature",
    ),
    (Status.JAMMED, 0, {}, "friction and normal forces of sliding points drive each other up without end"),
    (Status.CROWDED, 0, {}, "the run ended with status CROWDED"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "index", "how", "said"), WHOLE)
def test_why_a_run_ended_is_told_whole(status: Status, index: int, how: dict[str, Any], said: str) -> None:
    assert told_by(status, index, **how) == f"t = 0 s: {said}"


def test_lists_in_sentences_are_short() -> None:
    names = [f"n{k}" for k in range(7)]
    assert messages._listed(names[:1]) == "'n0'"
    assert messages._listed(names[:6]) == "'n0', 'n1', 'n2', 'n3', 'n4', 'n5'"
    assert messages._listed(names) == "'n0', 'n1', 'n2', 'n3', 'n4', 'n5' ..."
