"""What a kernel's status means, in the names of the scene."""

from __future__ import annotations

import numpy as np

from sim.kernels.status import Status
from sim.simulation.flow import Flow
from sim.simulation.simulation_error import entangled


def _loops(flow: Flow) -> str:
    """Return what restrains now, as the subject of a sentence."""
    model, loops = flow.model, flow.structure.loops
    bound = [model.joint_names[j] for j in loops if j in model.constraints]
    closing = [model.joint_names[j] for j in loops if j not in model.constraints]
    said = [("the loops through", closing), ("the constraints", bound)]
    return " and ".join(f"{what} {_listed(names)}" for what, names in said if names)


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:6])) + (" ..." if len(names) > 6 else "")


def _constraint_of_row(flow: Flow, row: int) -> str:
    """Return the constraint that a row belongs to; empty where it is of something else."""
    tables = flow.structure.tables
    joint = int(tables.blocks.joint[int(tables.rows.block[row])]) if 0 <= row < len(tables.rows) else -1
    return repr(flow.model.joint_names[joint]) if joint in flow.model.constraints else ""


def _joint_of_row(flow: Flow, row: int) -> str:
    rows = flow.structure.tables.rows
    if not 0 <= row < len(rows):
        return ""
    block = flow.structure.tables.blocks[int(rows.block[row])]
    if block.touch >= 0:
        pair = flow.model.pairs[flow.structure.touches[int(block.touch)].pair]
        return "of the contact of " + " and ".join(
            repr(flow.model.body_names[flow.model.solids[n].body]) for n in (pair.first, pair.second)
        )
    return repr(flow.model.joint_names[int(block.joint)])


def _driven(flow: Flow) -> str:
    """Return the driven joints of now, shortly; empty without any."""
    rows = flow.structure.tables.rows
    joints = flow.model.columns.joint[np.asarray(rows.column)[np.asarray(rows.motion) >= 0]]
    return _listed(list(dict.fromkeys(flow.model.joint_names[int(j)] for j in joints)))


def _pose(flow: Flow) -> str:
    """Return a sentence of the coordinates of joints, those around loops first; empty where none has few."""
    flow.update()
    model = flow.model
    parts: list[str] = []
    for joint in [*flow.structure.loops, *flow.structure.carrier[1:]]:
        c = model.columns_of(int(joint))
        if 0 < c.stop - c.start <= 3 and len(parts) < 8:
            values = ", ".join(f"{x:.4g}" for x in flow.work.coordinate[c])
            parts.append(f"{model.joint_names[joint]} {values}")
    return f" Pose: {'; '.join(parts)}." if parts else ""


def _near(flow: Flow) -> str:
    """Return how near the loops are to a singular position; empty without loops."""
    if not flow.structure.loops:
        return ""
    largest, smallest = float(flow.work.one.largest_pivot[0]), float(flow.work.one.least_pivot[0])
    sigma = (smallest / largest) ** 0.5 if largest > 0 else 0.0
    return f"; {_loops(flow)} are at {sigma:.1e} of singular there"


def _fastest(flow: Flow) -> str:
    """Return the joint whose rate changes fastest."""
    vdot = np.abs(flow.work.freedoms.vdot)
    if not len(vdot):
        return ""
    link = int(flow.structure.tables.freedoms.owner[int(np.argmax(np.nan_to_num(vdot, nan=np.inf)))])
    return repr(flow.model.joint_names[flow.structure.carrier[flow.structure.tables.links.body[link]]])


def sentence(status: int, index: int, flow: Flow) -> str:
    """Return why a run ended, in one paragraph."""
    when = f"t = {flow.t:.9g} s: "
    if status == Status.MASS_SINGULAR and not np.isfinite(flow.work.links.I).all():
        status = Status.NOT_FINITE  # of which no inertia is above zero
    driven = _driven(flow)
    if status == Status.INCONSISTENT:
        joint, constraint = _joint_of_row(flow, index), _constraint_of_row(flow, index)
        if driven:
            ties = "constraints" if constraint else "loops"
            at = f"constraint {constraint}" if constraint else f"joint {joint}"
            return (
                f"{when}the motions of {driven} and the {ties} contradict each other in {at}: no motion has "
                f"all of these accelerations.{_pose(flow)} Drive fewer freedoms, or with motions that fit "
                "together"
            )
        if constraint:
            return (
                f"{when}constraint {constraint} cannot be kept here: it binds what others bind, but not the same "
                f"accelerations, so no motion continues this one.{_pose(flow)} Leave it out, or avoid the pose"
            )
        return (
            f"{when}the loop through joint {joint} moves along a freedom that is only infinitesimal here: its "
            f"redundant rows contradict each other, so no motion continues this one.{_pose(flow)} "
            "Give the loop real play, or start without that motion"
        )
    if status == Status.NOT_SOLVED and flow.method == "variational":
        step = flow.model.scene.simulate.step
        return (
            f"{when}the equations of a variational step of {step:.3g} s could not be solved, so the motion cannot be "
            f"followed with it; fastest is joint {_fastest(flow)}{_near(flow)}.{_pose(flow)} Take a shorter "
            "`simulate.step` (bodies should turn by less than a radian in one, and dampers slow down no faster), avoid "
            "the pose, or take `method: dop853`"
        )
    if status in (Status.STEP_TOO_SMALL, Status.NOT_SOLVED):
        near = _near(flow)
        if driven and float(flow.work.one.jump[0]) > 1e-6:
            near += f"; a driven rate was off by {float(flow.work.one.jump[0]):.1e} of its size there"
        if driven:
            near += f"; a motion whose value or rate jumps cannot be followed (driven: {driven})"
        return (
            f"{when}the step fell to {flow.next_step:.1e} s, so the motion cannot be followed; fastest is joint "
            f"{_fastest(flow)}{near}.{_pose(flow)} "
            "Soften what is stiff there, take `method: auto`, raise `simulate.rtol`, or avoid the pose"
        )
    if status == Status.NO_CLOSURE and driven:
        return (
            f"{when}joint {_joint_of_row(flow, index)} cannot be held any more: the loops do not reach where the "
            f"motions of {driven} lead.{_pose(flow)}"
        )
    if status == Status.NO_CLOSURE:
        constraint = _constraint_of_row(flow, index)
        if constraint:
            return f"{when}constraint {constraint} cannot be met any more.{_pose(flow)}"
        return f"{when}the loop through joint {_joint_of_row(flow, index)} cannot be closed any more.{_pose(flow)}"
    if status == Status.NOT_FINITE:
        return f"{when}a coordinate is no longer a finite number; fastest is joint {_fastest(flow)}.{_pose(flow)}"
    if status == Status.MASS_SINGULAR:
        link = int(flow.structure.tables.freedoms.owner[index])
        body = flow.model.body_names[flow.structure.tables.links.body[link]]
        return (
            f"{when}nothing resists the motion of body {body!r} in this pose: "
            "give it mass and inertia, or its joint an armature"
        )
    if status == Status.JAMMED:
        return f"{when}friction and normal forces of sliding points drive each other up without end"
    if status == Status.ENTANGLED:
        return entangled(flow.t, flow.model)
    return f"{when}the run ended with status {Status(status).name}"
