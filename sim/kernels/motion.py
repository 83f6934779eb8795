"""What a mechanism answers when an integrator asks for its motion; see `sim.kernels.system`."""

from __future__ import annotations

import math

from sim.kernels.accelerations import act, forward_dynamics, respond
from sim.kernels.dynamics import apply_forces, columns, drive_power, factorise, follow, move, rows_now
from sim.kernels.forces import keep_friction
from sim.kernels.inertial import ENOUGH, move_on, turn_on
from sim.kernels.jit import driver, entry, kernel, spliced
from sim.kernels.kinematics import qdot
from sim.kernels.project import bring_near, project
from sim.kernels.rows.constraints import mismatch
from sim.kernels.scratch import MOVED, SETTLED
from sim.kernels.sleepers import keep_still, look_at_sleepers, rouse
from sim.kernels.status import Status
from sim.kernels.system import GO_ON, LEAP, NORM, SETTLE, SLOPE, START, TURNS, ask, unpack, vector
from sim.kernels.watched import ARMED, GUARD_FRICTION, HYSTERESIS, LEAST_HYSTERESIS, WAITING_TO_LEAVE

# Contradiction of a redundant row, relative to its terms, at which no motion exists.
CONTRADICTION = 1e-6
# Smallest singular value, relative to its best in this structure, below which stages are brought near the
# constraints.  Smaller: a tight tolerance loses the branch at a singular position.  Larger: three times the work where
# nothing is near (ordinary motion of the shipped figures stays above 0.2).
NEAR = 0.1
# Last steps until a singular position, below which stages are brought near, too, as the next may pass it; and beyond
# which they no longer are, where a value falls that once fell fast, as when other rows are chosen that repeat these.
AHEAD, LONG = 2.0, 50.0
SOON = 0.35  # below this, relative to its best, a falling singular value is extrapolated to zero
# A step that ends nearer than this to a singular position, having come from afar, is taken shorter, so that another
# one passes the position between its stages: there directions are only known to roundoff over its square.
LANDING, AFAR = 0.05, 0.3
# Weight of the gap between a driven rate and the wanted one against displacements, when a step is judged.  Smaller:
# a motion whose rate jumps is followed, and the books do not balance.  Larger: what a step is off by counts twice.
JUMP = 1e-3
# What the rate of a freedom that rubs has to come to, in units of what it is allowed at first, to be allowed no more.
CLEAR = 10.0


@entry
def motion(question, system, t, a, b):
    """Answer START, SLOPE, SETTLE, PROJECT, TURNS, NORM and LEAP.  Returns a status."""
    if question == SLOPE:
        return slope(system, t, a, b)
    tables, control, work, guards = unpack(system)
    moved = work.one.intact[0] == MOVED
    if question != TURNS and question != NORM:
        work.one.intact[0] = 0
    nq, nv = tables.one.nq[0], tables.one.nv[0]
    y = vector(a, nq + nv + 2)
    q, v = y[:nq], y[nq : nq + nv]
    if question == SETTLE:
        keep_rows(work)
        follow(system, t)
        return settle(system, tables, control, work, t, q, v, moved, vector(b, nq + nv + 2))
    if question == NORM:
        e = vector(b, nq + nv + 2)
        work.reply.error[0] = error_norm(tables.links, tables.freedoms, tables.one.length[0], y, e, nq)
        if tables.one.driven[0]:
            work.reply.error[0] = max(work.reply.error[0], work_norm(tables.one, y[nq + nv], e[nq + nv]))
        return Status.OK
    if question == LEAP:
        k = vector(b, 16 * y.size)
        return leap(system, t, work.reply.h[0], y, k[: y.size], k[y.size : 2 * y.size])
    if question == TURNS:
        if tables.blocks.rows.size > 0:
            columns(system, q, v)
            remember_turns(tables.blocks, work.coordinate, control.turn)
        arm_again(guards.table)
        return Status.OK
    follow(system, t)
    if question == START:
        if work.stepped.asleep[0] > 0:
            rouse(work, -1)
        move(system, q, v)
        status = factorise(system, 1)
        if status != Status.OK:
            return status
        keep_rows(work)
    status = project(system, tables, work, q, v)
    work.reply.moved[0] = moved_norm(tables.one.length[0], tables.freedoms, work.moved)
    if tables.one.driven[0]:
        work.reply.moved[0] = max(work.reply.moved[0], JUMP * work.one.jump[0])
    if status == Status.OK and lands_on_singular(work.one):
        work.reply.moved[0] = -1.0
    if status == Status.OK and tables.rows.block.size == 0 and tables.touches.mode.size == 0:
        work.one.intact[0] = MOVED
    return status


@driver
def slope(system, t, a, b):
    """dy/dt at a stage; near singular positions at the stage brought to the constraints.  Returns a status."""
    tables, control, work, _ = unpack(system)
    work.one.intact[0] = 0
    nq, nv = tables.one.nq[0], tables.one.nv[0]
    y, k_out = vector(a, nq + nv + 2), vector(b, nq + nv + 2)
    at, status = y, Status.OK
    follow(system, t)
    if work.one.near[0]:
        at = work.stage
        for i in range(y.size):
            at[i] = y[i]
        status = bring_near(system, tables, work, at[:nq], at[nq : nq + nv])
        if status != Status.OK:
            return status
    status = forward_dynamics(system, tables, work, t, at[:nq], at[nq : nq + nv])
    write_slope(tables, work, at[:nq], at[nq : nq + nv], k_out)
    if control.failed[0]:
        return Status.CALLBACK
    return status


@driver
def leap(system, t, h, y, slope, y_out):
    """One semi-implicit step of h from y with its slope, into y_out.  Returns a status."""
    tables, control, _, _ = unpack(system)
    nq, nv = tables.one.nq[0], tables.one.nv[0]
    q, v = y[:nq], y[nq : nq + nv]
    follow(system, t)
    move(system, q, v)
    apply_forces(system, t, q, v)
    status = factorise(system, 0)
    if status != Status.OK:
        return status
    if control.failed[0]:
        return Status.CALLBACK
    for i in range(nq):
        y_out[i] = q[i]
    for i in range(nq, y.size):
        y_out[i] = y[i] + h * slope[i]
    status = turn_on(system, v, h, ENOUGH, y_out[nq : nq + nv])
    move_on(tables.links, tables.blocks, h, y_out[nq : nq + nv], y_out[:nq])
    return status


@spliced
def write_slope(tables, work, q, v, k_out):
    """Fill k_out with dy/dt from work.freedoms.vdot and the powers in work.one."""
    nq, nv = q.size, v.size
    qdot(tables.links, q, v, k_out[:nq])
    for i in range(nv):
        k_out[nq + i] = work.freedoms.vdot[i]
    k_out[nq + nv] = work.one.put_in[0]
    k_out[nq + nv + 1] = work.one.dissipated[0]


@spliced
def keep_rows(work):
    """Let the rows that act now act until they are chosen anew."""
    work.one.kept_rank[0], work.one.scale[0] = work.one.rank[0], work.one.largest_pivot[0]
    for r in range(work.rows.order.size):
        work.keeps[r] = 0
    for s in range(work.one.rank[0]):
        work.keeps[work.rows.order[s]] = 1
    for r in range(work.rows.order.size):
        work.rows.kept[r], work.rows.kept_place[r] = work.rows.order[r], work.rows.place[r]
        work.rows.kept_weak[r] = work.rows.weak[r]


@spliced
def settle(system, tables, control, work, t, q, v, moved, k_out):
    """dy/dt at a state that `project` has left: positions are factorised, velocities may have changed if not `moved`.

    Finds whether a singular position draws near, and what the redundant rows say; reply: a first step
    that is short against the fastest freedom [s].  Returns a status.
    """
    if not moved:
        move(system, q, v)
    apply_forces(system, t, q, v)
    if tables.rows.block.size > 0:
        rows_now(system, tables, work, 1)
    if tables.touches.mode.size > 0:
        ask(work.answers, GO_ON, system, 0.0, work.moved, work.moved)
    keep_friction(tables.columns, work.rate, work.friction, control.friction)
    status = Status.OK
    if tables.late.size > 0:
        status = act(system, t, q, v)
    if status == Status.OK:
        status = respond(system)
    drive_power(tables.rows, work.keeps, work.rows, work.one)
    worst = 0.0
    if work.one.rank[0] < tables.rows.block.size:
        worst, row = mismatch(tables.blocks, tables.rows, work.links, work.blocks, work.rows)
        if row >= 0:
            work.one.worst[0] = row
    write_slope(tables, work, q, v, k_out)
    if work.stepped.asleep[0] > 0:
        keep_still(work.rest, k_out[q.size : q.size + v.size])
        look_at_sleepers(work)
    work.reply.ahead[0] = approach(work.one, t)
    work.reply.first_step[0] = first_step(tables.one.length[0], tables.freedoms, v, work.freedoms.vdot)
    work.one.intact[0] = SETTLED
    if control.failed[0]:
        return Status.CALLBACK
    if worst > CONTRADICTION:
        return Status.INCONSISTENT
    return status


@kernel
def lands_on_singular(one_work):
    """Tell whether a state just factorised is much nearer to a singular position than the last accepted one."""
    sigma = one_work.least[0]
    return sigma < LANDING * one_work.widest[0] and sigma < AFAR * one_work.sigma[0]


@kernel
def approach(one_work, t):
    """Note how near a singular position is; returns the time until it is reached, as far as can be told [s]."""
    sigma, before, span = one_work.least[0], one_work.sigma[0], t - one_work.settled[0]
    one_work.settled[0] = t
    one_work.widest[0] = max(one_work.widest[0], sigma)
    one_work.sigma[0] = sigma
    ahead = span * sigma / (before - sigma) if span > 0.0 and sigma < before else math.inf
    if sigma < before and (sigma < NEAR * one_work.widest[0] or ahead < AHEAD * span):
        one_work.near[0] = 1
    elif sigma > NEAR * one_work.widest[0] and (sigma >= before or ahead > LONG * span):
        one_work.near[0] = 0
    return ahead if sigma < SOON * one_work.widest[0] else math.inf


@kernel
def first_step(length, freedoms, v, vdot):
    """A step that is short against the fastest freedom [s]."""
    worst = 0.0
    for k in range(v.size):
        unit = length if freedoms.linear[k] else 1.0
        worst = max(worst, abs(v[k]) / unit, math.sqrt(abs(vdot[k]) / unit))
    return 0.05 / (worst + 1e-3)


@kernel
def remember_turns(blocks, coordinate, turn_out):
    """Keep the angles of loop joints, so that whole turns are counted."""
    for n in range(blocks.a.size):
        c = blocks.column[n]
        for i in range(c, c + blocks.freedoms[n]):
            turn_out[i] = coordinate[i]


@kernel
def arm_again(guards_out):
    """At the end of a step: arm guards that wait and whose values have fallen below zero by the hysteresis.

    Rates of freedoms that rub, and have come to move, are allowed nothing more: they stop where they are zero.
    """
    for g in range(guards_out.kind.size):
        if guards_out.kind[g] == GUARD_FRICTION and guards_out.value[g] < -CLEAR * guards_out.allowed[g]:
            guards_out.allowed[g] = 0.0
        if guards_out.armed[g] == WAITING_TO_LEAVE:
            guards_out.peak[g] = max(guards_out.peak[g], abs(guards_out.value[g]))
            if guards_out.value[g] < -max(HYSTERESIS * guards_out.peak[g], LEAST_HYSTERESIS):
                guards_out.armed[g] = ARMED


@kernel
def error_norm(links, freedoms, length, y_new, e, nq):
    """Mean square over joints of errors in units of size, whatever the origin and the axes.

    e: error of y_new.  Positions over length, rotations as angles, speeds over length/s + speed.
    """
    total, count = 0.0, 0
    linear, quaternion, qadr, vadr, nv = freedoms.linear, links.quaternion, links.q, links.v, links.nv
    for b in range(1, qadr.size):
        a, k, t = qadr[b], nq + vadr[b], quaternion[b]
        if t >= 0:
            if t > vadr[b]:  # three slides
                s = (e[a] ** 2 + e[a + 1] ** 2 + e[a + 2] ** 2) / length**2
                speed = length + math.sqrt(y_new[k] ** 2 + y_new[k + 1] ** 2 + y_new[k + 2] ** 2)
                total += s + (e[k] ** 2 + e[k + 1] ** 2 + e[k + 2] ** 2) / speed**2
                count += 6
                a, k = a + 3, k + 3
            w, x, y_, z = y_new[a], y_new[a + 1], y_new[a + 2], y_new[a + 3]
            e0, e1, e2, e3 = e[a], e[a + 1], e[a + 2], e[a + 3]
            n = w * w + x * x + y_ * y_ + z * z
            along = (w * e0 + x * e1 + y_ * e2 + z * e3) ** 2 / n
            total += 4.0 * (e0 * e0 + e1 * e1 + e2 * e2 + e3 * e3 - along) / n
            speed = 1.0 + math.sqrt(y_new[k] ** 2 + y_new[k + 1] ** 2 + y_new[k + 2] ** 2)
            total += (e[k] ** 2 + e[k + 1] ** 2 + e[k + 2] ** 2) / speed**2
            count += 6
        else:
            for i in range(nv[b]):
                unit = length if linear[vadr[b] + i] else 1.0
                total += (e[a + i] / unit) ** 2 + (e[k + i] / (unit + abs(y_new[k + i]))) ** 2
                count += 2
    return total / max(count, 1)


@kernel
def work_norm(one, done, e):
    """Square of the error e of the work put in, over that work and m (length/s)^2.

    What drives prescribe has hardly an error of its own; without this their steps would grow without end.
    """
    return (e / (abs(done) + one.length[0] ** 2 / one.mobility[0])) ** 2


@kernel
def moved_norm(length, freedoms, dq):
    """Root mean square of a displacement dq of freedoms, positions over length."""
    total, linear = 0.0, freedoms.linear
    for i in range(dq.size):
        total += (dq[i] / (length if linear[i] else 1.0)) ** 2
    return math.sqrt(total / max(dq.size, 1))
