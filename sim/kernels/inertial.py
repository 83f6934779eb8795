"""What inertia does within a step of first order, v+ = v + h a, q+ = q (+) h v+.

That is structure-varying-1999, eq. (25)-(29).  Moments of inertia are squares of the rates.  Taken as they are at the
start they do work: w x I w is at right angles to the w before, not to the mean of the w before and after, and what that
adds to the energy, h^2 |dw/dt|^2 / 2 in each step, grows without bound.  So they are those of the rates in the middle,

    M (v+ - v) = h (tau - bias(q, m)),    m = (v+ + v + h k) / 2,

at the pose of the start, k being what presses are expected to add to the rates (`sim.kernels.integrators.kicks`), zero
without any; what acts besides is taken at the start.  Where turning does not change M (a lone body, one on
a ball) the energy is kept to roundoff, as by the midpoint rule (Hairer, Lubich and Wanner, Geometric Numerical
Integration, 2006, IV.2).  Else, seen from between its halves, the step is half of implicit Euler for v, a step of q and
half of explicit Euler for v: symmetric in time, so that the error of the energy stays of order h in reversible motion
(there, theorem XI.3.1).  Rows are kept likewise: half of their turn at the start, half by the way back at the end.

A free body that no loop holds moves about its centre of mass, wherever its origin is.
"""

from __future__ import annotations

import math

from sim.kernels.accelerations import respond
from sim.kernels.dynamics import answer_rows, rows_now
from sim.kernels.jit import driver, kernel, spliced
from sim.kernels.kinematics import velocities
from sim.kernels.project import add_freedoms
from sim.kernels.rows.constraints import block_frames
from sim.kernels.spatial import rotation_of
from sim.kernels.spinning import floats, is_lone, spin_on
from sim.kernels.status import Status
from sim.kernels.system import PLACE, ask, unpack
from sim.kernels.vectors import beyond, cross, dot, outward_axes, plus, three, times

# Rounds until v+ agrees with its middle, and what is left of it, in units of size: what energy a step may win.
ROUNDS, ENOUGH = 60, 1e-11
SURELY = 10.0  # of what a further round would change, by how the last ones shrank: what may be left


@driver
def turn_on(system, v, h, enough, v_out):
    """Bring v_out from v + h a to the step with inertia in its middle, as nearly as `enough`; needs `respond` at q, v.

    Leaves velocities those of v again.  Returns a status.
    """
    tables, _, work, _ = unpack(system)
    status = Status.OK
    spin_on(tables.links, tables.blocks, work.links, work.freedoms, v, h, v_out)
    if not all_lone(tables.links, tables.blocks):
        status = take_middle(system, tables, work, v, h, enough, v_out)
    leave_turning(tables.links, tables.blocks, work.links, work.freedoms, h, v, v_out)
    if tables.rows.block.size > 0:
        turn_half(system, h, v_out)
    return status


@kernel
def all_lone(links, blocks):
    """Tell whether nothing moves but bodies by themselves."""
    lone = True
    for b in range(1, links.parent.size):
        lone = lone and (links.nv[b] == 0 or is_lone(links, blocks, b))
    return lone


@kernel
def goes_by_centre(links, blocks, b):
    """Tell whether a free body moves about its centre of mass: one that no loop holds, nor any body of its tree.

    What rows hold moves by its origin, as they read it.
    """
    return floats(links, b) and (blocks.a.size == 0 or is_lone(links, blocks, b))


@kernel
def leave_turning(links, blocks, link_work, freedom_work, h, v, v_out):
    """Let rates of free bodies' origins be those at the start's pose, where their centres have the rates of the end.

    The acceleration of an origin has that of its turning about the centre, which `move_on` does itself.
    """
    for b in range(1, links.parent.size):
        if goes_by_centre(links, blocks, b):
            k = links.v[b] + 3
            w, c = (v[k], v[k + 1], v[k + 2]), three(links.com_K, b)
            if not is_lone(links, blocks, b):  # which `spin_on` takes at the start
                kick = (freedom_work.kick[k], freedom_work.kick[k + 1], freedom_work.kick[k + 2])
                w = times(0.5, plus(w, beyond((v_out[k], v_out[k + 1], v_out[k + 2]), h, kick)))
            round_centre = outward_axes(link_work.R, b, cross(w, cross(w, c)))
            for i in range(k - 3, k):
                v_out[i] += h * dot(three(freedom_work.axis, i), round_centre)


@spliced
def take_middle(system, tables, work, v, h, enough, v_out):
    """Iterate for v_out with inertia at the mean of v and v_out, to which presses add.  Returns a status."""
    before, share, status, kick = math.inf, 1.0, Status.OK, work.freedoms.kick
    for _ in range(ROUNDS):
        for k in range(v.size):
            work.moved[k] = 0.5 * (v[k] + v_out[k] + h * kick[k])
        look(system, tables, work, work.moved)
        hold_turning(tables.rows, work.rows)
        status = respond(system)
        change = close_in(
            tables.links, tables.blocks, tables.freedoms, tables.one.length[0], h, share, v, work.freedoms.vdot, v_out
        )  # fmt: skip
        if status != Status.OK or change <= enough or converges(before, change, enough, share):
            break
        if not change < before:  # gyroscopic terms turn what is left over, each round more: take less of it
            share *= 0.5
        before = change
    look(system, tables, work, v)
    return status


@kernel
def converges(before, change, enough, share):
    """Tell whether a further round would change no more than `enough`, whole ones shrinking as the last two did."""
    return share == 1.0 and change < before < math.inf and SURELY * change * change <= enough * before


@spliced
def look(system, tables, work, v):
    """Let links and rows move at rates v, where they are."""
    velocities(tables.links, tables.freedoms, v, work.links, work.freedoms)
    if tables.blocks.rows.size > 0:
        block_frames(tables.blocks, work.links, work.blocks)
    if tables.touches.mode.size > 0:
        ask(work.answers, PLACE, system, 0.0, work.moved, work.moved)
    if tables.rows.block.size > 0:
        rows_now(system, tables, work, 0)


@kernel
def close_in(links, blocks, freedoms, length, h, share, v, vdot, v_out):
    """Bring v_out by a share nearer to v + h vdot, lone bodies excepted; returns by how much, the share aside."""
    worst = 0.0
    for b in range(1, links.parent.size):
        if not is_lone(links, blocks, b):
            for k in range(links.v[b], links.v[b] + links.nv[b]):
                change = v[k] + h * vdot[k] - v_out[k]
                unit = (length if freedoms.linear[k] else 1.0) + abs(v[k])
                worst = max(worst, abs(change) / unit)
                v_out[k] += share * change
    return worst


@kernel
def hold_turning(rows, row_work):
    """Let hard rows ask for no turn: m, and what inertia does at it, is along them."""
    for r in range(row_work.gamma.size):
        if rows.compliance[r] == 0.0 and rows.motion[r] < 0:
            row_work.gamma[r] = 0.0


@spliced
def turn_half(system, h, v_out):
    """Add half of what rows do to v because they turn: J v_out = -h J' v / 2.

    The way back to the rows at the end of the step turns v by the other half.  With the whole, v would be longer by the
    square of the turn, and positions short of their circle.
    """
    tables, _, work, _ = unpack(system)
    rows, row_work = tables.rows, work.rows
    for r in range(row_work.rhs.size):
        free = rows.compliance[r] > 0.0 or rows.motion[r] >= 0
        row_work.rhs[r] = 0.0 if free else 0.5 * row_work.gamma[r]
    answer_rows(system)
    for i in range(v_out.size):
        v_out[i] += h * work.freedoms.vdot[i]


@kernel
def move_on(links, blocks, h, v_out, q_out):
    """q <- q (+) h v, free bodies about their centres of mass; the rates of their origins are those at the new pose."""
    qadr, vadr = links.q, links.v
    for sign in (1.0, -1.0):
        for b in range(1, qadr.size):
            if goes_by_centre(links, blocks, b):
                a, k = qadr[b], vadr[b]
                R = rotation_of(q_out[a + 3], q_out[a + 4], q_out[a + 5], q_out[a + 6])
                c = three(links.com_K, b)
                u = cross((v_out[k + 3], v_out[k + 4], v_out[k + 5]), c)
                for i in range(3):
                    q_out[a + i] += sign * (R[3 * i] * c[0] + R[3 * i + 1] * c[1] + R[3 * i + 2] * c[2])
                    v_out[k + i] += sign * (R[3 * i] * u[0] + R[3 * i + 1] * u[1] + R[3 * i + 2] * u[2])
        if sign > 0.0:
            add_freedoms(links, v_out, h, q_out)


__all__ = ["ENOUGH", "all_lone", "converges", "move_on", "turn_on"]
