"""Time stepping with contacts: impulses of a whole step at once, under the laws of impacts.

    v* = v + h vdot,   v+ = v* + M^-1 W^T P,   q+ = q (+) h v+     (structure-varying-1999, eq. (25)-(29))

At each point, with u = W v+ and Coulomb's cone:

    0 <= P_n  _|_  u_n + gap / h >= 0          (dynamics-filter-1999, "Collisions and Contacts", for a step)

so that an open gap closes within the step at most, and u_n >= 0 where bodies touch.  A point that would close faster
than its rest speed gets Newton's restitution of its speed before the step instead.  Overlaps are taken back by moving
the bodies, not by speeds: no energy comes from them.  Joints at their stops press like frictionless points.
"""

from __future__ import annotations

import math

from sim.kernels.articulated import outward
from sim.kernels.dynamics import columns, factorise, move
from sim.kernels.features import place_touch
from sim.kernels.gathering import gather_presses
from sim.kernels.jit import chapter, entry, kernel, part, story
from sim.kernels.kinematics import poses, velocities
from sim.kernels.pressing import (
    add_push,
    answer_of,
    choose_all,
    choose_off,
    let_sleep,
    press_rows,
    problem_of,
    solve_presses,
    wake,
)
from sim.kernels.project import add_freedoms
from sim.kernels.spinning import spin_on
from sim.kernels.system import PUSH, TELL, unpack, vector
from sim.kernels.vectors import dot, three
from sim.model import Status

# Distance from the law at which sweeps end, as share of the largest speed without impulses.
ENOUGH = 1e-7
# Of the mechanism's length: how far a point of contact may have moved since the last step to begin with its forces.
SAME_POINT = 0.5
# Of an overlap: how much is taken back in a step, and what is left [m], and in how many sweeps that is found.
# Less left: gaps of bodies at rest come and go with what sweeps leave, and ask for other forces each time.
TAKEN_BACK, LEFT, MOVING_SWEEPS = 0.2, 1e-7, 10
SAME_WAY = 0.5  # cosine of how far a normal may turn within a step


@entry
def stepping(question, system, t, a, b):
    """Answer STEPPING, PUSH and TELL.  Returns a status."""
    tables, _, work, _ = unpack(system)
    if question == PUSH:
        push_links(tables, work)
        return Status.OK
    if question == TELL:
        tell(work, t)
        return Status.OK
    n = tables.one.nq[0] + tables.one.nv[0] + 2
    rows = vector(b, 16 * n)
    return step_pressed(system, t, rows[5 * n], vector(a, n), rows[:n], rows[n : 2 * n])


@story
def step_pressed(system, t, h, y, slope, y_out):
    """One step of h from y with its slope, into y_out.  Returns a status."""
    tables, _, work, _ = unpack(system)
    nq, nv = tables.one.nq[0], tables.one.nv[0]
    q, v = y[:nq], y[nq : nq + nv]
    if not work.one.intact[0]:
        move(system, q, v)
        status = factorise(system, 0)
        if status != Status.OK:
            return status
    work.one.intact[0] = 0
    columns(system, q, v)
    status = gather_presses(tables, work, h)
    if status != Status.OK:
        return status
    for i in range(nq):
        y_out[i] = q[i]
    for i in range(nq, y.size):
        y_out[i] = y[i] + h * slope[i]
    v_out = y_out[nq : nq + nv]
    spin_on(tables.links, tables.blocks, work.links, work.freedoms, v, h, v_out)
    points = work.stepped.points[0]
    if points > 0:
        press_rows(system)
        state_targets(tables, work, v_out, h)
        start_warm(work.stepped.before[0], points, work.pressed, h, tables.one.length[0], work.presses, work.press_P)
        press(system, points)
        respond_to_push(system)
        for i in range(nv):
            v_out[i] += work.freedoms.vdot[i]
        y_out[nq + nv + 1] += lost_in(points, work.presses, work.press_P, work.press_z)
    add_freedoms(tables.links, v_out, h, y_out[:nq])
    if points > 0:
        move_apart(system, points, h, y_out[:nq])
    remember(work, points, h)
    return Status.OK


@chapter
def state_targets(tables, work, v_free, h):
    """Rates of all presses before the step and without impulses, and from these what the laws speak of."""
    points, press = work.stepped.points[0], work.presses
    for k in range(points):
        for r in range(3):
            press.before[k, r] = rate_of(press, k, r, work.links.V)
    velocities(tables.links, tables.freedoms, v_free, work.links, work.freedoms)
    for k in range(points):
        for r in range(3):
            press.free[k, r] = rate_of(press, k, r, work.links.V)
        closes = press.gap[k] + h * press.free[k, 0] < 0.0
        press.shift[k] = max(press.gap[k], 0.0) / h
        if closes and press.restitution[k] > 0.0 and press.before[k, 0] < -press.rest_speed[k]:
            press.shift[k] = press.restitution[k] * press.before[k, 0]
        press.free[k, 0] += press.shift[k]


@kernel
def rate_of(press, k, r, V):
    """Rate of row r of press k at the links' velocities V."""
    if r >= press.rows[k]:
        return 0.0
    a, b, K, s = press.link[k, 0], press.link[k, 1], press.K, 0.0
    for i in range(6):
        s += K[k, r, i] * V[b, i] + K[k, r, 6 + i] * V[a, i]
    return s


@kernel
def start_warm(before, points, pressed_out, h, length, press, P_out):
    """Begin with the forces that the nearest point of the same pair had in the last step; each gives them once."""
    first = 0
    for k in range(points):
        P_out[k, 0] = P_out[k, 1] = P_out[k, 2] = 0.0
        if press.kept[k] >= 0:
            for r in range(press.rows[k]):
                P_out[k, r] = press.impulse[k, r] * h / press.h[k]
            continue
        nearest, best = (SAME_POINT * length) ** 2, -1
        while first < before and pressed_out.meeting[first] < press.meeting[k] and press.meeting[k] >= 0:
            first += 1
        for j in range(first, before):
            if pressed_out.meeting[j] != press.meeting[k]:
                if press.meeting[k] >= 0:
                    break
                continue
            if press.meeting[k] < 0 and pressed_out.key[j, 0] != press.key[k, 0]:
                continue
            away = 0.0
            for i in range(3):
                away += (pressed_out.p[j, i] - press.p[k, i]) ** 2
            if press.meeting[k] < 0:
                away = 0.0
            if away < nearest and pressed_out.rows[j] > 0:
                nearest, best = away, j
        if best >= 0:
            for r in range(press.rows[k]):
                for s in range(pressed_out.rows[best]):
                    for i in range(3):
                        share = press.axes[k, 3 * r + i] * pressed_out.axes[best, 3 * s + i]
                        P_out[k, r] += share * pressed_out.impulse[best, s] * h / pressed_out.h[best]
            keep_in_cone(press.friction[k], P_out, k)
            pressed_out.rows[best] = 0


@kernel
def keep_in_cone(friction, P_out, k):
    """Let impulse k press, with the friction that this allows."""
    P_out[k, 0] = max(P_out[k, 0], 0.0)
    size, most = math.sqrt(P_out[k, 1] ** 2 + P_out[k, 2] ** 2), friction * P_out[k, 0]
    if size > most:
        P_out[k, 1], P_out[k, 2] = P_out[k, 1] * most / size, P_out[k, 2] * most / size


@chapter
def press(system, points):
    """Find the impulses of all presses, and what they do together."""
    tables, _, work, _ = unpack(system)
    looped = tables.rows.block.size > 0
    presses, P, stepped = work.presses, work.press_P, work.stepped
    for i in range(work.push.size):
        work.push[i] = 0.0
    fastest = 0.0
    for k in range(points):
        add_push(looped, k, P[k, 0], P[k, 1], P[k, 2], presses, work.press_support, work.press_U, work.press_R,
                 work.push)  # fmt: skip
        for r in range(3):
            fastest = max(fastest, abs(presses.free[k, r]))
    made, worst = solve_presses(system, points, ENOUGH * fastest)
    stepped.sweeps[0] += made
    if fastest > 0.0:
        stepped.residual[0] = max(stepped.residual[0], worst / fastest)


@chapter
def respond_to_push(system):
    """vdot: the change of v by the impulses in work.push."""
    tables, _, work, _ = unpack(system)
    if tables.rows.block.size > 0:
        for i in range(work.push.size):
            work.freedoms.vdot[i] = work.push[i]
        return
    for i in range(work.push.size):
        work.freedoms.y[i] = work.push[i]
    outward(tables.links, tables.freedoms, work.links, work.freedoms)


@kernel
def lost_in(points, press, P, z):
    """Energy that presses take [J]: impulses times the mean of speeds before and after; z holds the shift, too."""
    lost = 0.0
    for k in range(points):
        lost += 0.5 * P[k, 0] * press.shift[k]
        for r in range(press.rows[k]):
            lost -= 0.5 * P[k, r] * (press.before[k, r] + z[k, r])
    return lost


@chapter
def move_apart(system, points, h, q_out):
    """Take back overlaps by moving the bodies, normal impulses without speeds.

    A share of those that were there before the step, and all that the step adds to them: it asks where points go
    straight on, and bodies turn.
    """
    tables, _, work, _ = unpack(system)
    looped, problem_work = tables.rows.block.size > 0, problem_of(work)
    poses(tables.links, q_out, work.end_links, work.end_freedoms)
    deepest, worst = overlaps(work, points, h)
    work.stepped.overlap[0] = max(work.stepped.overlap[0], deepest)
    if worst <= LEFT:
        return
    for i in range(work.push.size):
        work.push[i] = 0.0
    if looped:
        choose_all(problem_work, points)
        count = points
    else:
        let_sleep(problem_work)
        wake(problem_work, points, LEFT)
        count, _ = choose_off(problem_work, points)
    for _ in range(MOVING_SWEEPS):
        worst = 0.0
        for n in range(count):
            worst = max(worst, move_one(looped, work.press_chosen[n], work.presses, work))
        if worst <= 0.1 * LEFT:
            break
    respond_to_push(system)
    add_freedoms(tables.links, work.freedoms.vdot, 1.0, q_out)


@kernel
def overlaps(step_work, points, h):
    """Fill before[k, 0]: what is to become of each gap, negative: it is to grow by that, and press_off, the opposite.

    Returns the deepest overlap of shapes at the start of the step [m], and the most that is to be taken back.
    """
    presses, deepest, worst = step_work.presses, 0.0, 0.0
    for k in range(points):
        if presses.meeting[k] >= 0:
            deepest = max(deepest, -presses.gap[k])
        there = (1.0 - TAKEN_BACK) * min(presses.gap[k] + LEFT, 0.0)
        presses.before[k, 0] = gap_at_end(step_work, k, h) + LEFT - there
        step_work.press_off[k], step_work.press_d[k, 0] = -presses.before[k, 0], 0.0
        worst = max(worst, step_work.press_off[k])
    return deepest, worst


@part
def gap_at_end(work, k, h):
    """Gap of press k at the end of the step, of the same features; by its rate where bodies rest."""
    presses, touches, end = work.presses, work.press_touch, work.end_links
    if presses.meeting[k] >= 0 and presses.kept[k] < 0:
        status, gap, m, _, _ = place_touch(touches, k, end.x, end.R)
        side = 1.0 if touches.kind[k, 0] <= touches.kind[k, 1] else -1.0
        if status == Status.OK and side * dot(m, three(presses.axes, k)) > SAME_WAY:
            return gap
    return presses.gap[k] + h * (work.press_z[k, 0] - presses.shift[k])


@kernel
def move_one(looped, k, presses, step_work):
    """Visit one press; press_d[k, 0]: its impulse.  Returns by how much its gap was too small [m]."""
    if not step_work.press_G[k, 0, 0] > 0.0:
        return 0.0
    old = step_work.press_d[k, 0]
    gap = presses.before[k, 0] + answer_of(k, presses, step_work.press_support, step_work.press_U, step_work.push)
    new = max(old - gap / step_work.press_G[k, 0, 0], 0.0)
    if new != old:
        add_push(
            looped,
            k,
            new - old,
            0.0,
            0.0,
            presses,
            step_work.press_support,
            step_work.press_U,
            step_work.press_R,
            step_work.push,
        )
        step_work.press_d[k, 0] = new
    return -gap


@chapter
def remember(work, points, h):
    """Keep what pressed, for the next step and for what is recorded of this one."""
    stepped, before, now = work.stepped, work.pressed, work.presses
    stepped.before[0] = points
    stepped.most[0] = max(stepped.most[0], points)
    stepped.steps[0] += 1
    for k in range(points):
        for i in range(3):
            now.impulse[k, i] = work.press_P[k, i]
        now.h[k] = h
        before[k] = now[k]


@chapter
def push_links(tables, work):
    """Add the forces of the last step's presses to the links' wrenches, and to those of their rules."""
    pressed, meetings, contact_out = work.pressed, tables.meetings, work.contacts
    for k in range(work.stepped.before[0]):
        a, b = pressed.link[k, 0], pressed.link[k, 1]
        for r in range(pressed.rows[k]):
            f = pressed.impulse[k, r] / pressed.h[k]
            for i in range(6):
                work.links.wrench[b, i] += f * pressed.K[k, r, i]
                work.links.wrench[a, i] += f * pressed.K[k, r, 6 + i]
            m = pressed.meeting[k]
            if m >= 0:
                sign = 1.0 if b == meetings.named[m] else -1.0
                for i in range(3):
                    contact_out.force[meetings.rule[m], i] += sign * f * pressed.axes[k, 3 * r + i]


@chapter
def tell(work, t):
    """Keep the points that pressed in the last step for a row of time t."""
    stepped, pressed, told = work.stepped, work.pressed, work.told
    for k in range(stepped.before[0]):
        if pressed.meeting[k] >= 0 and pressed.impulse[k, 0] > 0.0 and stepped.told[0] < told.h.size:
            told[stepped.told[0]] = pressed[k]
            told.t[stepped.told[0]] = t
            stepped.told[0] += 1


__all__ = ["stepping"]
