"""When trees fall asleep in time steps, and what wakes them before it touches them.

A tree rests if for WINDOW no point of it went further than WAY of the mechanism's length, and the sum of what presses
on it changed by no more than STEADY: that is how far bodies may go until their points of contact are looked for again.
A creep of 5e-6 lengths a second is seen.

What may touch within a step belongs together: trees whose boxes meet, or that press on each other.  Of these all fall
asleep, or none.  The energy of their last rates is booked as taken by contacts.  They wake together as soon as
something that moves comes so near that it may touch within the step, and that step is made with them; they wake, too,
where an event, a caller or a structure begins anew, and stay awake beside what is not told from their state:
controllers, formulas, forces between points.
"""

from __future__ import annotations

from sim.kernels.collision.broad import boxes_meet, can_meet, place_all
from sim.kernels.jit import driver, inlined, kernel
from sim.kernels.kinematics import velocities
from sim.kernels.sleepers import forget_rows, is_asleep, rouse
from sim.kernels.spinning import inertia_of, product
from sim.kernels.unilateral.constraint_collection import MARGIN, has_solids, list_pairs, reaches
from sim.kernels.vectors import cross, dot, inward_axes, plus, three

# s; share of the mechanism's length; share of the sum of forces [1].
WINDOW, WAY, STEADY = 0.2, 1e-6, 1e-3


@driver
def rouse_near(tables, work, h):
    """Wake what something that moves may touch within h [s]; needs `move`.  Tells whether anything woke."""
    shapes, meetings, links, rest = tables.shapes, tables.meetings, work.links, work.rest
    margin, woke = MARGIN * tables.one.length[0], False
    if not has_solids(shapes, meetings):
        return False
    place_all(shapes, links.x, links.R, work.placed)
    reaches(shapes, work.placed, links.x, links.V, h, margin, work.reach)
    list_pairs(shapes, meetings, work, margin, h, work.reach)
    for n in range(work.near_count[0]):
        i, j = meetings.a[work.near_pairs[n]], meetings.b[work.near_pairs[n]]
        if is_between(rest, shapes.link[i], shapes.link[j]) and can_meet(
            shapes, i, j, links.x, links.R, links.V, work.boxes, margin, h, work.near_poses
        ):
            sleeper = shapes.link[i] if rest.asleep[shapes.link[i]] == 1 else shapes.link[j]
            rouse(work, rest.island[rest.root[sleeper]])
            woke = True
    return woke


@inlined
def is_between(rest, a, b):
    """Tell whether one of two links is asleep and the other moves."""
    return a > 0 and b > 0 and rest.asleep[a] != rest.asleep[b]


@kernel
def rouse_marked(step_work):
    """Wake what the step has found to be reached."""
    rest = step_work.rest
    for b in range(1, rest.asleep.size):
        if rest.roused[b] == 1:
            rest.roused[b] = 0
            if rest.asleep[b] == 1:
                rouse(step_work, rest.island[rest.root[b]])


@driver
def let_rest(tables, work, acted, h, y_out):
    """Note how long trees rest at the end of a step, and let those fall asleep that did so long enough.

    acted: whether a caller or a controller acts now.  y_out: the state that the step comes to, and its works.
    """
    nq, nv = tables.one.nq[0], tables.one.nv[0]
    v_out = y_out[nq : nq + nv]
    drowsy = note_rest(tables.links, tables.freedoms, tables.one.length[0], acted, h, v_out, work)
    if drowsy > 0 and join_near(tables.shapes, tables.meetings, work) > 0:
        velocities(tables.links, tables.freedoms, v_out, work.links, work.freedoms)
        lost = fall_asleep(tables.links, v_out, work)
        y_out[y_out.size - 1] += lost
        work.stepped.taken[0] += lost


@kernel
def note_rest(links, freedoms, length, acted, h, v, step_work):
    """Note since when trees rest; returns how many do so long enough to sleep."""
    rest, last = step_work.rest, step_work.last_contacts
    for b in range(rest.asleep.size):
        rest.pressing[b] = 0.0
    for k in range(step_work.stepped.before[0]):
        force = 0.0
        for r in range(3):
            force += abs(last.impulse[k, r]) / last.h[k]
        for side in range(2):
            rest.pressing[rest.root[last.link[k, side]]] += force
            if last.soft[k] > 0.0 and not settles(last, k):
                rest.way[rest.root[last.link[k, side]]] = length
    for b in range(1, rest.asleep.size):
        for i in range(rest.first[b], rest.end[b]):
            rest.way[rest.root[b]] += h * abs(v[i]) * (1.0 if freedoms.linear[i] else length)
    drowsy = 0
    for b in range(1, rest.asleep.size):
        if rest.root[b] == b and rest.asleep[b] == 0:
            changed = abs(rest.pressing[b] - rest.force[b]) > STEADY * max(rest.pressing[b], rest.force[b])
            if acted or rest.wakeful[b] == 1 or changed or not rest.way[b] <= WAY * length:
                rest.time[b] = rest.way[b] = 0.0
                rest.force[b] = rest.pressing[b]
            else:
                rest.time[b] += h
                drowsy += 1 if rest.time[b] >= WINDOW else 0
    return drowsy


@inlined
def settles(last, k):
    """Tell whether press k, which is soft, gives way so soon that what goes on after WINDOW is less than what went on.

    1 / (h k soft) is its T of `sim.kernels.unilateral.constraint_collection`, by whose power it comes to rest.
    """
    return last.h[k] * last.stiffness[k] * last.soft[k] * WINDOW >= 1.0


@inlined
def stands_for(rest, b):
    """Return the root of all that are joined to the tree of root b."""
    while rest.island[b] != b:
        b = rest.island[b]
    return b


@inlined
def join_trees(rest_out, a, b):
    """Join the trees of links a and b; the world joins nothing."""
    if a > 0 and b > 0 and rest_out.asleep[a] == 0 and rest_out.asleep[b] == 0:
        one, other = stands_for(rest_out, rest_out.root[a]), stands_for(rest_out, rest_out.root[b])
        rest_out.island[max(one, other)] = min(one, other)


@kernel
def join_near(shapes, meetings, step_work):
    """Join what may touch, or presses on each other; mark what is to fall asleep; returns how many links that are."""
    rest, last = step_work.rest, step_work.last_contacts
    for b in range(1, rest.asleep.size):
        if rest.asleep[b] == 0:
            rest.island[b], rest.sleepy[b] = b, 1
    for n in range(step_work.near_count[0]):
        i, j = meetings.a[step_work.near_pairs[n]], meetings.b[step_work.near_pairs[n]]
        if shapes.link[i] > 0 and shapes.link[j] > 0 and boxes_meet(step_work.boxes, i, j):
            join_trees(rest, shapes.link[i], shapes.link[j])
    for k in range(step_work.stepped.before[0]):
        join_trees(rest, last.link[k, 0], last.link[k, 1])
    for b in range(1, rest.asleep.size):
        if rest.root[b] == b and rest.asleep[b] == 0 and rest.time[b] < WINDOW:
            rest.sleepy[stands_for(rest, b)] = 0
    count = 0
    for b in range(1, rest.asleep.size):
        if rest.asleep[b] == 0:
            rest.island[b] = stands_for(rest, rest.root[b])
            rest.sleepy[b] = rest.sleepy[rest.island[b]]
            count += rest.sleepy[b]
    room = step_work.parked.h.size - step_work.stepped.parked[0]
    return count if step_work.stepped.before[0] <= room else 0


@kernel
def fall_asleep(links, v_out, step_work):
    """Let what was marked fall asleep, without rates, its presses parked; returns the energy of these rates [J]."""
    rest, last, stepped, lost = step_work.rest, step_work.last_contacts, step_work.stepped, 0.0
    for b in range(1, rest.asleep.size):
        if rest.asleep[b] == 0 and rest.sleepy[b] == 1:
            lost += kinetic_of(links, step_work.links, b)
            rest.asleep[b] = 1
            stepped.asleep[0] += 1
            for i in range(rest.first[b], rest.end[b]):
                v_out[i] = 0.0
    left = 0
    for k in range(stepped.before[0]):
        if is_asleep(rest, last, k):
            step_work.parked[stepped.parked[0]] = last[k]
            stepped.parked[0] += 1
        else:
            if left < k:
                last[left] = last[k]
            left += 1
    stepped.before[0] = left
    forget_rows(step_work.rooted)
    return lost


@kernel
def kinetic_of(links, link_work, b):
    """Kinetic energy of link b [J]."""
    V = link_work.V
    w = inward_axes(link_work.R, b, (V[b, 0], V[b, 1], V[b, 2]))
    u = plus(inward_axes(link_work.R, b, (V[b, 3], V[b, 4], V[b, 5])), cross(w, three(links.com_K, b)))
    return 0.5 * (links.mass[b] * dot(u, u) + dot(w, product(inertia_of(links, b), w)))


__all__ = ["let_rest", "rouse_marked", "rouse_near"]
