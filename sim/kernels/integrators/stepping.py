"""Time stepping with contacts: impulses of a whole step at once, under the laws of impacts.

    v* = v + h vdot,   v+ = v* + M^-1 W^T P,   q+ = q (+) h v+     (structure-varying-1999, eq. (25)-(29))

At each point, with u = W v+ and Coulomb's cone:

    0 <= P_n  _|_  u_n + gap / h >= 0          (dynamics-filter-1999, "Collisions and Contacts", for a step)

so that an open gap closes within the step at most, and u_n >= 0 where bodies touch.  A point that comes with speed is
open for the share s = gap / (h |u_n*|) of the step, and slides freely for it: friction then is asked of u_t - s u_t*.
One that would close faster than its rest speed gets Newton's restitution of its speed before the step instead.
Overlaps are taken back by moving the bodies, not by speeds: no energy comes from them.  Joints at rigid stops press
like frictionless points; soft stops and friction of joints are rows of the same problem, see
`sim.kernels.unilateral.constraint_collection`.
Loops and constraints hold throughout: they answer impulses, and turn the velocity in two halves.
"""

from __future__ import annotations

import math

from sim.kernels.collision.features import place_touch
from sim.kernels.dynamics import apply_forces, columns, factorise, follow, move
from sim.kernels.elimination.articulated import outward
from sim.kernels.forces import tree_rates
from sim.kernels.inertial import ENOUGH as TURNED
from sim.kernels.inertial import all_lone, move_on, turn_on
from sim.kernels.integrators.end_forces import acts_at_end, let_go, take_at_end
from sim.kernels.integrators.half_way import look_half_way, shift_half_way, take_middle_again, touches_on
from sim.kernels.integrators.kicks import expect_kick, keep_kick, was_otherwise
from sim.kernels.integrators.resting import let_rest, rouse_marked, rouse_near
from sim.kernels.integrators.step_ledger import OWN, SLIDES, book_ends, comes, lost_in, note_struck, rolls_on
from sim.kernels.integrators.whirling import WHIRL, fly, turns_at_most
from sim.kernels.jit import driver, entry, inlined, kernel, spliced
from sim.kernels.kinematics import poses, velocities
from sim.kernels.project import add_freedoms
from sim.kernels.rows.constraints import block_frames
from sim.kernels.scratch import SETTLED
from sim.kernels.sleepers import leave_out, look_at_sleepers
from sim.kernels.status import Status
from sim.kernels.system import PUSH, SETTLE, TELL, ask, unpack, vector
from sim.kernels.unilateral.augmented_lagrangian import bound_beside, bounded
from sim.kernels.unilateral.constraint_collection import (
    add_stop,
    block_of,
    collect_contacts,
    collect_reached,
    goes_on,
    is_reached,
    rate_of,
    remember_poses,
)
from sim.kernels.unilateral.contact_solver import (
    add_push,
    answer_of,
    choose_all,
    choose_off,
    contact_rows,
    let_sleep,
    problem_of,
    solve_presses,
    wake,
)
from sim.kernels.unilateral.rest_friction import choose_friction, note_grips
from sim.kernels.unilateral.unbounded import add_unbounded, first_spring, is_unbounded, shift_unbounded
from sim.kernels.vectors import dot, three

# Distance from the law at which sweeps end, as share of the largest speed without impulses.
ENOUGH = 1e-7
# Of the mechanism's length: how far a point of contact may have moved since the last step to begin with its forces.
SAME_POINT = 0.5
# Of an overlap: how much is taken back in a step, and what is left [m], and in how many sweeps that is found.
# Less left: gaps of bodies at rest come and go with what sweeps leave, and ask for other forces each time.
TAKEN_BACK, LEFT, MOVING_SWEEPS = 0.2, 1e-7, 10
# Of the mobility of a point: of its normal, below which that is roundoff and nothing moves the bodies apart.
UNMOVED = 1e-12
SAME_WAY = 0.5  # cosine of how far a normal may turn within a step
# Of the turn from which a step is flown in parts: from where it surely is, and how near inertia is then to its middle,
# which only tells what presses; in units of size.
SURELY, FLOWN = 1.5, 1e-10
ROUNDS = 8  # of solving a step again with what it takes bodies and joints beyond


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
    return step_pressed(system, t, work.reply.h[0], vector(a, n), rows[:n], rows[n : 2 * n])


@driver
def step_pressed(system, t, h, y, slope_out, y_out):
    """One step of h from y with its slope, into y_out; where something wakes, that is another.  Returns a status."""
    tables, control, work, _ = unpack(system)
    nq, nv = tables.one.nq[0], tables.one.nv[0]
    q, v, acted = y[:nq], y[nq : nq + nv], control.acts[0] + control.acts[1] > 0
    status = stand(system, tables, control, work, t, q, v)
    if status == Status.OK and work.stepped.asleep[0] > 0:
        if rouse_near(tables, work, h):
            status = stand_again(system, tables, control, work, t, y, slope_out)
        leave_out(work, h)
    while status == Status.OK:
        for i in range(nq):
            y_out[i] = q[i]
        for i in range(nq, y.size):
            y_out[i] = y[i] + h * slope_out[i]
        status = change_rates(system, t, h, q, v, y_out)
        if status != Status.WOKEN:
            break
        let_go(work.freedoms)
        rouse_marked(work)
        status = stand_again(system, tables, control, work, t, y, slope_out)
        leave_out(work, h)
    if status == Status.OK:
        remember_poses(work.links.x, work.links.R, work.posed)
        status = go_through(system, tables, h, y_out[:nq], y_out[nq : nq + nv])
    let_go(work.freedoms)
    if status != Status.OK:
        look_at_sleepers(work)
        return status
    points = work.stepped.points[0]
    note_struck(work, points)
    if points > 0:
        move_apart(system, points, h, y_out[:nq])
    remember(work, points, h)
    let_rest(tables, work, acted, h, y_out)
    return Status.OK


@spliced
def stand_again(system, tables, control, work, t, y, slope_out):
    """Find all that holds at the start of the step anew, as something woke, and its slope.  Returns a status."""
    look_at_sleepers(work)
    status = stand(system, tables, control, work, t, y[: tables.one.nq[0]], y[tables.one.nq[0] : y.size - 2])
    if status == Status.OK:
        status = ask(work.answers, SETTLE, system, t, y, slope_out)
    if status == Status.OK:
        status = stand(system, tables, control, work, t, y[: tables.one.nq[0]], y[tables.one.nq[0] : y.size - 2])
    return status


@spliced
def stand(system, tables, control, work, t, q, v):
    """Bring `work` to the start of the step, unless it stands there.  Returns a status."""
    status = Status.OK
    if work.one.intact[0] != SETTLED:
        follow(system, t)
        move(system, q, v)
        apply_forces(system, t, q, v)
        status = factorise(system, 0)
    work.one.intact[0] = 0
    if status == Status.OK and not (tables.one.acts[0] or control.acts[0]):  # else forces have them
        columns(system, q, v)
    return status


@spliced
def go_through(system, tables, h, q_out, v_out):
    """Go through the step at the rates v_out.  Returns a status."""
    status, turn = Status.OK, turns_at_most(tables.links, tables.blocks, tables.freedoms, h, v_out)
    if turn > WHIRL:
        status = fly(system, turn, h, q_out, v_out)
    else:
        move_on(tables.links, tables.blocks, h, v_out, q_out)
    return status


@spliced
def change_rates(system, t, h, q, v, y_out):
    """Bring the rates in y_out, v + h vdot, to those of the step, and its works to what was given and taken.

    Returns a status.
    """
    tables, _, work, _ = unpack(system)
    v_out, at_end = y_out[q.size : q.size + v.size], acts_at_end(tables)
    expect_kick(work.stepped.before[0] > 0, work.freedoms)
    if at_end:
        status = take_at_end(system, t, q, v, h, v_out)
        if status != Status.OK:
            return status
    status = collect_contacts(tables, work, h)
    if status == Status.OK and at_end and not add_unbounded(tables, work, h):
        status = Status.CROWDED
    if status == Status.OK:
        whirls = turns_at_most(tables.links, tables.blocks, tables.freedoms, h, v_out) > SURELY * WHIRL
        status = turn_on(system, v, h, FLOWN if whirls else TURNED, v_out)
    if status == Status.OK:
        keep_middle(v, v_out, h, work.freedoms, work.end_freedoms)
        status = step_contacts(system, q, v, h, v_out)
    if status != Status.OK:
        return status
    points = work.stepped.points[0]
    if points > 0:
        y_out[y_out.size - 1] += lost_in(tables, points, h, work.contacts, work.contact_P, work.contact_z)
    if at_end:
        book_ends(system, q, v_out, h, y_out)
    return status


@driver
def step_contacts(system, q, v, h, v_out):
    """Add to v_out what all presses change; what is reached by that change only presses, too.  Returns a status."""
    tables, _, work, _ = unpack(system)
    known, v_new, turn, collided = 0, work.moved, 0.0, False
    for i in range(v.size):
        v_new[i] = v_out[i]
    for _ in range(ROUNDS):
        points = work.stepped.points[0]
        if points > known:
            contact_rows(system, known)
            half = known == 0 and touches_on(
                points, h, work.stepped.before[0], work.last_contacts, work.contacts, work.links.V
            )
            if half:
                look_half_way(tables, work, q, v, h)
            turn = max(turn, state_targets(tables, work, known, half, v, v_out, h))
            choose_friction(work.laws, work.last_contacts, work.stepped.before[0], known, points, work.contacts)
            start_warm(tables, work, known, h)
            solve_contacts(system, points)
            respond_to_push(system)
            known = points
            for i in range(v.size):
                v_new[i] = v_out[i] + work.freedoms.vdot[i]
        if goes_on(v, v_new, h, tables.one.length[0]):
            break
        status = add_overrun(system, q, v, v_new, h)
        if status != Status.OK:
            return status
        if work.stepped.points[0] == known:
            break
    collided = known > 0 and collides(work, known)
    # What flies in parts has its inertia from there.
    done = collided or turns_at_most(tables.links, tables.blocks, tables.freedoms, h, v_new) > WHIRL
    lone, length = all_lone(tables.links, tables.blocks), tables.one.length[0]
    if not done and was_otherwise(turn, lone, length, h, tables.freedoms, work.freedoms, v_out, v_new):
        status = step_again(system, q, v, h, v_out)
        if status != Status.OK:
            return status
    keep_kick(collided, h, v_out, v_new, work.freedoms)
    for i in range(v.size):
        v_out[i] = v_new[i]
    return Status.OK


@driver
def step_again(system, q, v, h, v_out):
    """Bring v_out, rates without impulses, and work.moved, those with them, to what points and inertia half way ask.

    Needs an answer, v_out with what impulses change.  Returns a status.
    """
    tables, _, work, _ = unpack(system)
    points, v_end = work.stepped.points[0], work.stage[q.size : q.size + v.size]
    for i in range(v.size):
        v_end[i] = v_out[i] + work.freedoms.vdot[i]
    status = take_middle_again(system, v, v_end, h, v_out)
    if status != Status.OK:
        return status
    keep_middle(v, v_end, 0.0, work.freedoms, work.end_freedoms)
    look_half_way(tables, work, q, v_end, h)
    state_targets(tables, work, 0, True, v_end, v_out, h)
    solve_contacts(system, points)
    respond_to_push(system)
    for i in range(v.size):
        work.moved[i] = v_out[i] + work.freedoms.vdot[i]
    return status


@kernel
def keep_middle(v, v_end, h, freedom_work, end_freedoms_out):
    """Keep the rates that inertia was taken at: between v and v_end, to which presses add within h."""
    for i in range(v.size):
        end_freedoms_out.vdot[i] = 0.5 * (v[i] + v_end[i] + h * freedom_work.kick[i])


@spliced
def collides(work, points):
    """Tell whether bodies come together in this step."""
    found = False
    for k in range(points):
        if work.contact_P[k, 0] > 0.0 and comes(work.contacts, k):
            found = found or not rolls_on(work.last_contacts, work.stepped.before[0], work.contacts, k)
    return found


@driver
def add_overrun(system, q, v, v_new, h):
    """Add what v_new takes bodies and joints beyond and does not press yet; then velocities are those of v again.

    Returns a status.
    """
    tables, _, work, _ = unpack(system)
    stops, points = tables.stops, work.stepped.points[0]
    velocities(tables.links, tables.freedoms, v_new, work.links, work.freedoms)
    if tables.meetings.a.size > 0:
        status = collect_reached(tables, work, h)
        if status != Status.OK:
            return status
    if stops.joint.size > 0:
        if tables.blocks.rows.size > 0:
            block_frames(tables.blocks, work.links, work.blocks)
            columns(system, q, v_new)
        else:
            tree_rates(tables.links, v_new, work.rate)
    for s in range(stops.joint.size):
        reached = is_reached(stops, work.stop_depth[s], work.coordinate, work.rate, s, h)
        if reached and not is_pressed(work.contacts, points, s) and not add_stop(tables, work, s, h):
            return Status.CROWDED
    if work.stepped.points[0] > points:
        velocities(tables.links, tables.freedoms, v, work.links, work.freedoms)
    return Status.OK


@kernel
def is_pressed(contact, points, s):
    """Tell whether stop s is among the first presses."""
    found = False
    for k in range(points):
        found = found or (contact.meeting[k] < 0 and contact.key[k, 0] == s)
    return found


@spliced
def state_targets(tables, work, first, half, v_half, v_free, h):
    """Rates of presses from `first` on before the step and without impulses, and from these what the laws speak of.

    half: whether bodies stand half way; v_half: rates with which they went.  Returns how far bodies turn at most of a
    point that was asked there [rad].
    """
    points, contact = work.stepped.points[0], work.contacts
    for k in range(first, points):
        for r in range(3):
            contact.before[k, r] = rate_of(contact, k, r, work.links.V)
    if half:
        velocities(tables.links, tables.freedoms, v_half, work.links, work.freedoms)
        for k in range(points):
            for r in range(3):
                work.contact_p[k, r] = rate_of(contact, k, r, work.links.V)
    velocities(tables.links, tables.freedoms, v_free, work.links, work.freedoms)
    for k in range(first, points):
        for r in range(3):
            contact.free[k, r] = rate_of(contact, k, r, work.links.V)
        if is_unbounded(contact, k):
            shift_unbounded(tables, work.ends, contact, work.contact_G, k, h)
        elif contact.soft[k] == 0.0:
            shift_open(contact, k, h)
    turn = 0.0
    if half:
        turn = shift_half_way(points, h, work.stepped.before[0], work.last_contacts, work)
    for k in range(first, points):
        for r in range(3):
            contact.free[k, r] += contact.shift[k, r]
    return turn


@kernel
def shift_open(contact_out, k, h):
    """Say what the law asks of the rates of press k, whose gap closes within the step at most.

    One that comes with speed slides for the share of the step that is over by then: its friction stops the rest.
    """
    gap, free, before, shift = (
        max(contact_out.gap[k], 0.0),
        contact_out.free[k, 0],
        contact_out.before[k, 0],
        contact_out.shift,
    )
    closes = contact_out.gap[k] + h * free < 0.0
    shift[k, 0] = gap / h
    share = gap / (h * -free) if closes and before < OWN * free else 0.0
    shift[k, 1], shift[k, 2] = -share * contact_out.free[k, 1], -share * contact_out.free[k, 2]
    if closes and contact_out.restitution[k] > 0.0 and before < -contact_out.rest_speed[k]:
        shift[k, 0], shift[k, 1], shift[k, 2] = contact_out.restitution[k] * before, 0.0, 0.0


@spliced
def start_warm(tables, work, known, h):
    """Begin with the forces of the last step, or of what was known to press in this one."""
    stepped, P = work.stepped, work.contact_P
    for k in range(known, stepped.points[0]):
        P[k, 0] = P[k, 1] = P[k, 2] = 0.0
    if known == 0:
        warm(stepped.before[0], stepped.points[0], work.last_contacts, h, tables.one.length[0], work.contacts, P)


@kernel
def warm(before, points, last_contacts_out, h, length, contact, P_out):
    """Begin with the forces that the nearest point of the same pair had in the last step; each gives them once."""
    first = 0
    for k in range(points):
        if contact.kept[k] >= 0:
            for r in range(contact.rows[k]):
                P_out[k, r] = contact.impulse[k, r] * h / contact.h[k]
            continue
        nearest, best = (SAME_POINT * length) ** 2, -1
        while (
            first < before and 0 <= last_contacts_out.meeting[first] < contact.meeting[k]
        ):  # joints, of -1, stay ahead
            first += 1
        for j in range(first, before):
            if last_contacts_out.meeting[j] != contact.meeting[k]:
                if contact.meeting[k] >= 0:
                    break
                continue
            if contact.meeting[k] < 0 and last_contacts_out.key[j, 0] != contact.key[k, 0]:
                continue
            if contact.of[k] > 0 and last_contacts_out.key[j, 1] != contact.key[k, 1]:
                continue
            away = 0.0
            for i in range(3):
                away += (last_contacts_out.p[j, i] - contact.p[k, i]) ** 2
            if contact.meeting[k] < 0:
                away = 0.0
            if away < nearest and last_contacts_out.count[j] > 0:
                nearest, best = away, j
        if best >= 0:
            for r in range(contact.rows[k]):
                for s in range(last_contacts_out.rows[best]):
                    for i in range(3):
                        share = contact.axes[k, 3 * r + i] * last_contacts_out.axes[best, 3 * s + i]
                        P_out[k, r] += share * last_contacts_out.impulse[best, s] * h / last_contacts_out.h[best]
            keep_in_law(contact, P_out, k)
            last_contacts_out.count[best] = 0


@kernel
def keep_in_law(contact, P_out, k):
    """Let impulse k be within its bounds, with the friction that this allows."""
    P_out[k, 0] = bounded(contact, k, P_out[k, 0])
    size, most = math.sqrt(P_out[k, 1] ** 2 + P_out[k, 2] ** 2), contact.friction[k] * P_out[k, 0]
    most += bound_beside(contact, P_out, k)
    if size > most:
        P_out[k, 1], P_out[k, 2] = P_out[k, 1] * most / size, P_out[k, 2] * most / size


@spliced
def solve_contacts(system, points):
    """Find the impulses of all presses, and what they do together."""
    tables, _, work, _ = unpack(system)
    looped = tables.rows.block.size > 0
    contacts, P, stepped = work.contacts, work.contact_P, work.stepped
    for i in range(work.push.size):
        work.push[i] = 0.0
    fastest = 0.0
    for k in range(points):
        add_push(looped, k, P[k, 0], P[k, 1], P[k, 2], contacts, work.contact_support, work.contact_U, work.contact_R,
                 work.push)  # fmt: skip
        for r in range(3):
            asked = contacts.shift[k, r] if is_unbounded(contacts, k) else 0.0  # which is no speed
            fastest = max(fastest, abs(contacts.free[k, r] - asked))
    made, worst = solve_presses(system, points, ENOUGH * fastest)
    stepped.sweeps[0] += made
    if fastest > 0.0:
        stepped.residual[0] = max(stepped.residual[0], worst / fastest)


@spliced
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


@spliced
def move_apart(system, points, h, q_out):
    """Take back overlaps by moving the bodies, normal impulses without speeds.

    A share of those that were there before the step, and all that the step adds to them: it asks where points go
    straight on, and bodies turn.
    """
    tables, _, work, _ = unpack(system)
    looped, problem_work = tables.rows.block.size > 0, problem_of(work)
    poses(tables.links, tables.freedoms, q_out, work.end_links, work.end_freedoms)
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
            worst = max(worst, move_one(looped, work.contact_chosen[n], work.contacts, work))
        if worst <= 0.1 * LEFT:
            break
    respond_to_push(system)
    add_freedoms(tables.links, work.freedoms.vdot, 1.0, q_out)


@kernel
def overlaps(step_work, points, h):
    """Fill before[k, 0]: what is to become of each gap, negative: it is to grow by that, and contact_off, the opposite.

    What is soft, and friction, has no gap to keep.

    Returns the deepest overlap of shapes at the start of the step [m], and the most that is to be taken back.
    """
    contacts, deepest, worst = step_work.contacts, 0.0, 0.0
    for k in range(points):
        if contacts.meeting[k] >= 0 and contacts.soft[k] == 0.0:
            deepest = max(deepest, -contacts.gap[k])
        there = (1.0 - TAKEN_BACK) * min(contacts.gap[k] + LEFT, 0.0)
        gives = contacts.soft[k] > 0.0 or contacts.low[k] < 0.0 or contacts.of[k] > 0
        contacts.before[k, 0] = math.inf if gives else gap_at_end(step_work, k, h) + LEFT - there
        step_work.contact_off[k], step_work.contact_d[k, 0] = -contacts.before[k, 0], 0.0
        worst = max(worst, step_work.contact_off[k])
    return deepest, worst


@inlined
def gap_at_end(work, k, h):
    """Gap of press k at the end of the step, of the same features; by its rate where bodies rest."""
    contacts, touches, end = work.contacts, work.contact_touch, work.end_links
    if contacts.meeting[k] >= 0 and contacts.kept[k] < 0:
        status, gap, m, _, _ = place_touch(touches, k, end.x, end.R)
        side = 1.0 if touches.kind[k, 0] <= touches.kind[k, 1] else -1.0
        if status == Status.OK and side * dot(m, three(contacts.axes, k)) > SAME_WAY:
            return gap
    return contacts.gap[k] + h * (work.contact_z[k, 0] - contacts.shift[k, 0])


@kernel
def move_one(looped, k, contacts, step_work):
    """Visit one press; contact_d[k, 0]: its impulse.  Returns by how much its gap was too small [m]."""
    own = step_work.contact_G[k]
    if not own[0, 0] > UNMOVED * (own[0, 0] + own[1, 1] + own[2, 2]):
        return 0.0
    old = step_work.contact_d[k, 0]
    gap = contacts.before[k, 0] + answer_of(k, contacts, step_work.contact_support, step_work.contact_U, step_work.push)
    new = max(old - gap / step_work.contact_G[k, 0, 0], 0.0)
    if new != old:
        add_push(
            looped,
            k,
            new - old,
            0.0,
            0.0,
            contacts,
            step_work.contact_support,
            step_work.contact_U,
            step_work.contact_R,
            step_work.push,
        )
        step_work.contact_d[k, 0] = new
    return -gap


@spliced
def remember(work, points, h):
    """Keep what pressed, for the next step and for what is recorded of this one."""
    stepped, before, now = work.stepped, work.last_contacts, work.contacts
    stepped.before[0] = points
    stepped.most[0] = max(stepped.most[0], points)
    stepped.steps[0] += 1
    note_grips(points, work.contact_P, work.contact_z, work.contact_G, now)
    for k in range(points):
        for i in range(3):
            now.impulse[k, i] = work.contact_P[k, i]
        now.h[k] = h
        before[k] = now[k]


@spliced
def push_links(tables, work):
    """Add the forces of the last step's presses to wrenches of links and rules; those of joints to torques."""
    push_with(tables, work, work.last_contacts, work.stepped.before[0])
    if work.stepped.parked[0] > 0:
        push_with(tables, work, work.parked, work.stepped.parked[0])


@spliced
def push_with(tables, work, last_contacts, count):
    """Do so with `count` presses."""
    meetings, contact_out = tables.meetings, work.rules
    for k in range(count):
        a, b = last_contacts.link[k, 0], last_contacts.link[k, 1]
        joint = last_contacts.meeting[k] < 0 and last_contacts.of[k] == 0
        if joint and last_contacts.key[k, 0] >= first_spring(tables):
            continue  # springs and controllers, whose forces are those of the state
        if joint and push_joint(tables, work, last_contacts, k):
            continue
        for r in range(last_contacts.rows[k]):
            f = last_contacts.impulse[k, r] / last_contacts.h[k]
            for i in range(6):
                work.links.wrench[b, i] += f * last_contacts.K[k, r, i]
                work.links.wrench[a, i] += f * last_contacts.K[k, r, 6 + i]
            m = last_contacts.meeting[k]
            if m >= 0:
                sign = 1.0 if b == meetings.named[m] else -1.0
                for i in range(3):
                    contact_out.force[meetings.rule[m], i] += sign * f * last_contacts.axes[k, 3 * r + i]


@kernel
def push_joint(tables, step_work, last_contacts, k):
    """Add the force of press k, a stop or friction, to the torques of its columns; tells whether that is all."""
    stops = tables.stops
    s, f = last_contacts.key[k, 0], last_contacts.impulse[k, 0] / last_contacts.h[k]
    stopped = s < stops.joint.size
    c = stops.column[s] if stopped else s - stops.joint.size
    angle = stopped and stops.angle[s] != 0
    for i in range(3 if angle else 1):
        torque = f * last_contacts.axes[k, 3 + i]
        step_work.torque[c + i] += torque
        if stopped:
            step_work.stopping[c + i] += torque
        else:
            step_work.friction[c + i] += torque
    block = block_of(tables.blocks, tables.columns.joint[c])
    first = 3 if tables.columns.linear[c] == 1 and not angle else 0
    for i in range(3 if block >= 0 else 0):
        step_work.blocks.own[block, first + i] += f * last_contacts.axes[k, i]
    return block < 0


@spliced
def tell(work, t):
    """Keep the points that pressed in the last step for a row of time t."""
    tell_of(work.last_contacts, work.stepped.before[0], t, work.told, work.stepped)
    if work.stepped.parked[0] > 0:
        tell_of(work.parked, work.stepped.parked[0], t, work.told, work.stepped)


@kernel
def tell_of(last_contacts, count, t, told_out, stepped_out):
    """Keep those of `count` presses that pressed for a row of time t."""
    for k in range(count):
        i = stepped_out.told[0]
        if last_contacts.meeting[k] >= 0 and last_contacts.impulse[k, 0] > 0.0 and i < told_out.t.size:
            put_told(last_contacts, k, t, told_out, i)
            put_moment(last_contacts, count, k, told_out, i)
            stepped_out.told[0] += 1


@kernel
def put_told(last_contacts, k, t, told_out, i):
    """Write press k as point i of what rows tell."""
    told_out.meeting[i], told_out.side[i], told_out.t[i] = last_contacts.meeting[k], last_contacts.link[k, 1], t
    told_out.key[i, 0], told_out.key[i, 1] = last_contacts.key[k, 0], last_contacts.key[k, 1]
    P = three(last_contacts.impulse, k)
    told_out.slides[i] = math.sqrt(P[1] ** 2 + P[2] ** 2) >= (1.0 - SLIDES) * last_contacts.friction[k] * P[0]
    for j in range(3):
        told_out.p[i, j], told_out.n[i, j] = last_contacts.p[k, j], last_contacts.axes[k, j]
        along = (
            P[0] * last_contacts.axes[k, j] + P[1] * last_contacts.axes[k, 3 + j] + P[2] * last_contacts.axes[k, 6 + j]
        )
        told_out.force[i, j] = along / last_contacts.h[k]


@kernel
def put_moment(last_contacts, before, k, told_out, i):
    """Write what friction against turning of press k gives as moment of point i."""
    for j in range(3):
        told_out.moment[i, j] = 0.0
    for m in range(before):
        if last_contacts.of[m] == k + 1:
            for r in range(1, 3):
                for j in range(3):
                    told_out.moment[i, j] += last_contacts.impulse[m, r] * last_contacts.K[m, r, j] / last_contacts.h[m]


__all__ = ["stepping"]
