"""How trees whose limbs whirl move through a step: inertia alone, in parts, symmetric in time.

A step of first order takes rates from one pose to the next as they are.  Where limbs turn by w h within it the inertia
that they are of changes, and so does the energy, by the share w h of it: half of it too soon, which the next step takes
back unless something collides in between.  One that a collision throws, to 150 rad/s in steps of 1 ms, has for some
steps twice the energy that there is.

So where something turns by more than WHIRL the step is a kick, by forces and impulses as ever, and a flight without
forces, whose energy is kept (Hairer, Lubich and Wanner, Geometric Numerical Integration, II.5): of inertia, what the
step has taken of it at its start, in the middle m of its rates, is given back, and flown in parts of hp instead,

    q' = q (+) hp v / 2,   v+ = v - hp M(q')^-1 bias(q', (v + v+) / 2),   q+ = q' (+) hp v+ / 2.
"""

from __future__ import annotations

import math

from sim.kernels.accelerations import respond
from sim.kernels.elimination.articulated import articulate
from sim.kernels.inertia import link_inertias
from sim.kernels.inertial import converges, move_on
from sim.kernels.integrators.end_forces import let_go
from sim.kernels.integrators.half_way import leave_centres
from sim.kernels.jit import driver, kernel, spliced
from sim.kernels.kinematics import poses, velocities
from sim.kernels.project import add_freedoms
from sim.kernels.spinning import is_lone
from sim.kernels.status import Status
from sim.kernels.system import unpack

# rad: turn of a joint in a step from which it is flown in parts, and in a part; parts at most.
WHIRL, PART, MOST = 0.015, 0.03, 64
ROUNDS, ENOUGH = 12, 1e-11  # of the middle of a part, and what is left of it [of the rates]


@kernel
def turns_at_most(links, blocks, freedoms, h, v):
    """How far a joint of a tree turns in the step [rad]; 0 where loops, or lone bodies, are all there is."""
    most = 0.0
    for b in range(1, links.parent.size):
        if blocks.a.size == 0 and not is_lone(links, blocks, b):
            square = 0.0
            for k in range(links.v[b], links.v[b] + links.nv[b]):
                square += v[k] ** 2 if not freedoms.linear[k] else 0.0
            most = max(most, h * math.sqrt(square))
    return most


@driver
def fly(system, turn, h, q_out, v_out):
    """Move q_out through the step at v_out; needs its factors, and its middle rates in work.end_freedoms.vdot.

    Returns a status.
    """
    tables, _, work, _ = unpack(system)
    links, freedoms, middle = tables.links, tables.freedoms, work.end_freedoms.vdot
    drop_forces(work)
    velocities(links, freedoms, middle, work.links, work.freedoms)
    status = respond(system)
    for i in range(v_out.size):
        work.end_freedoms.y[i] = work.freedoms.vdot[i]
    leave_centres(links, tables.blocks, work.links, middle, work.freedoms)
    lone_q, lone_v = work.stage[: q_out.size], work.push
    for i in range(q_out.size):
        lone_q[i] = q_out[i]
    for i in range(v_out.size):
        lone_v[i] = v_out[i]
        v_out[i] -= h * work.freedoms.vdot[i]
    move_on(links, tables.blocks, h, lone_v, lone_q)
    let_go(work.freedoms)
    parts = min(math.ceil(turn / PART), MOST)
    for _ in range(parts):
        if status == Status.OK:
            status = fly_part(system, tables, work, h / parts, q_out, v_out)
    bring_lone(links, tables.blocks, lone_q, lone_v, q_out, v_out)
    return status


@kernel
def drop_forces(step_work):
    """Let nothing act, gravity neither."""
    for i in range(6):
        step_work.links.A[0, i] = 0.0
    for b in range(step_work.links.wrench.shape[0]):
        for i in range(6):
            step_work.links.wrench[b, i] = 0.0
    for c in range(step_work.torque.size):
        step_work.torque[c] = 0.0


@spliced
def fly_part(system, tables, work, h, q_out, v_out):
    """Fly one part of h.  Returns a status.

    It begins with the accelerations of the part before, in work.end_freedoms.y, and leaves its own.
    """
    links, freedoms, middle, known = tables.links, tables.freedoms, work.moved, work.end_freedoms.y
    add_freedoms(links, v_out, 0.5 * h, q_out)
    poses(links, freedoms, q_out, work.links, work.freedoms)
    link_inertias(links, work.links)
    status = Status.OK
    if articulate(links, freedoms, work.links, work.freedoms) >= 0:
        status = Status.MASS_SINGULAR
    for i in range(v_out.size):
        middle[i] = v_out[i] + 0.5 * h * known[i]
    before = math.inf
    for _ in range(ROUNDS):
        if status != Status.OK:
            break
        velocities(links, freedoms, middle, work.links, work.freedoms)
        status = respond(system)
        change = largest = 0.0
        for i in range(v_out.size):
            known[i] = work.freedoms.vdot[i]
            new = v_out[i] + 0.5 * h * known[i]
            change, largest = max(change, abs(new - middle[i])), max(largest, abs(new))
            middle[i] = new
        if change <= ENOUGH * largest or converges(before, change, ENOUGH * largest, 1.0):
            break
        before = change
    for i in range(v_out.size):
        v_out[i] = 2.0 * middle[i] - v_out[i]
    add_freedoms(links, v_out, 0.5 * h, q_out)
    return status


@kernel
def bring_lone(links, blocks, q, v, q_out, v_out):
    """Let bodies by themselves be where their own steps take them."""
    for b in range(1, links.parent.size):
        if is_lone(links, blocks, b):
            for i in range(links.q[b], links.q[b] + links.nv[b] + 1):
                q_out[i] = q[i]
            for i in range(links.v[b], links.v[b] + links.nv[b]):
                v_out[i] = v[i]


__all__ = ["WHIRL", "fly", "turns_at_most"]
