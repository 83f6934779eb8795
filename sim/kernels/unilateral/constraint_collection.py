"""What may press within a time step: points of shapes that can meet, joints that can reach a stop, and their friction.

A point is taken in while it is still open, where the speeds of the two bodies let it close within the step.  Its
impulse then keeps the gap from becoming negative, and is zero if it does not close.

A joint presses with one row, along its freedom.  A soft stop, or a soft point, presses as it does at the end of the
step, linear in the depth d there and in the rate u of depth: P = h k (d + c max(d0, 0) u) with d = d0 + h u, where that
is positive, so

    u = P / (h k T) - d0 / T,    T = h + c max(d0, 0),

and no step of any length gains energy by it.  Friction is an impulse of either sign, of h times its bound at most.
"""

from __future__ import annotations

import math

from sim.kernels.collision.broad import ball_about, boxes_meet, height_over, place_all, sweep_boxes, way_to_plane
from sim.kernels.collision.features import speed_at, tangents_of
from sim.kernels.collision.narrow import points_within
from sim.kernels.collision.near_pairs import list_all, list_near
from sim.kernels.forces import closing_rate, deepening, stop_depth
from sim.kernels.jit import driver, inlined, kernel, spliced
from sim.kernels.rows.constraints import direction
from sim.kernels.shapes import PLANE
from sim.kernels.status import Status
from sim.kernels.tables import TWIST
from sim.kernels.unilateral.turning_friction import add_turning
from sim.kernels.vectors import beyond, cross, dot, inward_axes, length, minus, outward_axes, plus, three, times

# Share of the mechanism's length that speeds may change within a step beside what they are, times the step.
MARGIN = 1e-4
# Of that length: how far a link may go until its points are looked for again, and what counts as a step of none.
# Larger: points, normals and arms are off by more of it.  Gaps follow the motion, and err by its square.
WANDERED, TINY = 1e-6, 1e-12
RESTING = 3.0  # margins that two shapes may reach, beside 2 where they do not move, and keep their points


@driver
def collect_contacts(tables, work, h):
    """Fill work.contacts with what may press within h [s]; needs `move` and coordinates.  Returns a status."""
    shapes, meetings, links = tables.shapes, tables.meetings, work.links
    length = tables.one.length[0]
    margin = MARGIN * length
    place_all(shapes, links.x, links.R, work.placed)
    reaches(shapes, work.placed, links.x, links.V, h, margin, work.reach)
    list_pairs(shapes, meetings, work, margin, h, work.reach)
    drift(links.x, links.R, length, work.posed, work.drifted)
    find_unchanged(tables.links, work.freedoms.root, work.drifted, work.rooted, work.unchanged)
    count, before, known = 0, 0, work.stepped.before[0]
    for n in range(work.near_count[0]):
        m = work.near_pairs[n]
        i, j = meetings.a[m], meetings.b[m]
        if links.asleep[shapes.link[i]] + links.asleep[shapes.link[j]] > 0:
            continue
        while before < known and work.last_contacts.meeting[before] < m:
            before += 1
        reach = work.reach[i] + work.reach[j]
        if known > 0 and reach < RESTING * margin and rests(work.drifted, shapes.link[i], shapes.link[j]):
            while before < known and work.last_contacts.meeting[before] == m:
                if count == work.contact_P.shape[0]:
                    return Status.CROWDED
                keep_press(work.last_contacts, before, links.x, links.R, work.posed, work.contacts, count)
                soften_point(work.laws, h, work.contacts, count)
                count, before = count + 1, before + 1
            continue
        if not may_close(shapes, work, i, j, reach, margin, h):
            continue
        found = points_within(
            shapes, tables.hulls, i, j, links.x, links.R, reach, work.near, work.near_points, work.near_poses,
            work.near_cores,
        )  # fmt: skip
        if count + found > work.contact_P.shape[0]:
            return Status.CROWDED
        for f in range(found):
            if work.near_points.gap[f] <= reach:
                put_press(work.near, work.near_points, f, m, work.laws, links.x, work.contacts, count)
                soften_point(work.laws, h, work.contacts, count)
                work.contact_touch[count] = work.near[f]
                count += 1
    work.stepped.points[0] = count
    if not add_turning(tables, work, 0):
        return Status.CROWDED
    for s in range(tables.stops.joint.size):
        depth = work.stop_depth[s] = stop_depth(tables.stops, work.coordinate, s)
        near = is_reached(tables.stops, depth + MARGIN, work.coordinate, work.rate, s, 2.0 * h)  # speeds may double
        if near and not add_stop(tables, work, s, h):
            return Status.CROWDED
    for c in range(tables.columns.friction.size):
        if tables.columns.friction[c] > 0.0 and not add_friction(tables, work, c, h):
            return Status.CROWDED
    return Status.OK


@driver
def collect_reached(tables, work, h):
    """Add points that the links' velocities close within h, which are not those they were gathered for.

    A limb that is struck, or thrown by a stop, goes further in the step than its speed before told.  Returns a status:
    WOKEN where it comes to what is asleep, which is marked.
    """
    shapes, meetings, links = tables.shapes, tables.meetings, work.links
    margin, contacts = MARGIN * tables.one.length[0], work.contacts
    reaches(shapes, work.placed, links.x, links.V, h, margin, work.reached)
    spare = margin + h * h * length(three(tables.one.gravity_W, 0))
    if not further(work.reach, work.reached, spare):
        return Status.OK
    list_pairs(shapes, meetings, work, margin, h, work.reached)
    known, woken = work.stepped.points[0], 0
    for n in range(work.near_count[0]):
        m = work.near_pairs[n]
        i, j = meetings.a[m], meetings.b[m]
        if links.asleep[shapes.link[i]] + links.asleep[shapes.link[j]] == 2:
            continue
        reach = work.reached[i] + work.reached[j]
        if reach <= work.reach[i] + work.reach[j] + spare:
            continue
        if not may_close(shapes, work, i, j, reach, margin, h):
            continue
        if links.asleep[shapes.link[i]] + links.asleep[shapes.link[j]] == 1:
            if shapes.link[i] > 0 and shapes.link[j] > 0:
                work.rest.roused[shapes.link[i]] = work.rest.roused[shapes.link[j]] = woken = 1
            continue
        found = points_within(
            shapes, tables.hulls, i, j, links.x, links.R, reach, work.near, work.near_points, work.near_poses,
            work.near_cores,
        )  # fmt: skip
        for f in range(found):
            k = work.stepped.points[0]
            if k == work.contact_P.shape[0]:
                return Status.CROWDED
            if is_known(contacts, known, m, work.near.key, f):
                continue
            put_press(work.near, work.near_points, f, m, work.laws, links.x, contacts, k)
            soften_point(work.laws, h, contacts, k)
            if contacts.gap[k] + h * rate_of(contacts, k, 0, links.V) < 0.0:
                work.contact_touch[k] = work.near[f]
                work.stepped.points[0] += 1
    if woken:
        return Status.WOKEN
    if not add_turning(tables, work, known):
        return Status.CROWDED
    for i in range(work.reach.size):
        work.reach[i] = max(work.reach[i], work.reached[i])
    return Status.OK


@kernel
def has_solids(shapes, meetings):
    """Tell whether shapes may meet of which none is a plane of the world: a body's own may come to what sleeps."""
    for m in range(meetings.a.size):
        i, j = meetings.a[m], meetings.b[m]
        still = (shapes.kind[i] == PLANE and shapes.link[i] == 0) or (shapes.kind[j] == PLANE and shapes.link[j] == 0)
        if not still:
            return True
    return False


@spliced
def list_pairs(shapes, meetings, work, margin, h, reach):
    """Fill work.near_pairs with pairs that can meet within h, and work.boxes where not only planes are met."""
    if has_solids(shapes, meetings):
        sweep_boxes(shapes, work.links.x, work.links.R, work.links.V, margin, h, work.boxes, work.near_poses)
        list_near(meetings, work.boxes, reach, work.wide_boxes, work.near_pairs, work.near_count)
    else:
        list_all(work.near_pairs, work.near_count)


@spliced
def may_close(shapes, work, i, j, reach, margin, h):
    """Tell whether two shapes may touch within h, of which points may go so far; needs `place_all`, and boxes."""
    links, placed = work.links, work.placed
    if shapes.kind[i] != PLANE and shapes.kind[j] != PLANE:
        return boxes_meet(work.boxes, i, j)
    plane, other = (i, j) if shapes.kind[i] == PLANE else (j, i)
    gap = height_over(shapes, plane, other, placed)
    return gap <= reach and gap <= way_to_plane(shapes, plane, other, placed, links.x, links.V, margin, h)


@kernel
def goes_on(v, v_new, h, length):
    """Tell whether rates hardly change: by what no point of a mechanism of less than a hundred metres shows."""
    total = 0.0
    for i in range(v.size):
        total += abs(v_new[i] - v[i])
    return h * total < WANDERED * length


@kernel
def further(reach, reached, spare):
    """Tell whether a shape reaches further than before by more than what may be."""
    found = False
    for i in range(reach.size):
        found = found or reached[i] > reach[i] + 0.5 * spare
    return found


@kernel
def is_known(contact, count, m, key, f):
    """Tell whether point f of meeting m, of these features, is among the first presses."""
    for k in range(count):
        if contact.meeting[k] == m and contact.key[k, 0] == key[f, 0] and contact.key[k, 1] == key[f, 1]:
            return True
    return False


@kernel
def rate_of(contact, k, r, V):
    """Rate of row r of press k at the links' velocities V."""
    if r >= contact.rows[k]:
        return 0.0
    a, b, K, s = contact.link[k, 0], contact.link[k, 1], contact.K, 0.0
    for i in range(6):
        s += K[k, r, i] * V[b, i] + K[k, r, 6 + i] * V[a, i]
    return s


@kernel
def drift(x, R, length, posed, wandered_out):
    """How far each link has gone since its points were last looked for [m]; 0: they are looked for now."""
    for b in range(x.shape[0]):
        step = TINY * length
        for i in range(3):
            step += abs(x[b, i] - posed.x[b, i])
        for i in range(9):
            step += length * abs(R[b, i] - posed.R[b, i])
        wandered_out[b] = wandered_out[b] + step if b > 0 else step
        if wandered_out[b] > WANDERED * length:
            wandered_out[b] = 0.0


@kernel
def find_unchanged(links, root, drifted, rooted_out, unchanged_out):
    """Find the trees that answer as they did: no link's points are looked for now, and no inertia has changed.

    rooted_out: the roots of the inertias that freedoms met when their tree was last not so.
    """
    unchanged_out[0] = 1
    for b in range(1, drifted.size):
        unchanged_out[b] = 1 if drifted[b] > 0.0 else 0
        for i in range(links.v[b], links.v[b] + links.nv[b]):
            if not abs(root[i] - rooted_out[i]) <= WANDERED * root[i]:
                unchanged_out[b] = 0
    for b in range(drifted.size - 1, 0, -1):
        if links.parent[b] > 0 and not unchanged_out[b]:
            unchanged_out[links.parent[b]] = 0
    for b in range(1, drifted.size):
        if links.parent[b] > 0:
            unchanged_out[b] = unchanged_out[links.parent[b]]
        if not unchanged_out[b]:
            for i in range(links.v[b], links.v[b] + links.nv[b]):
                rooted_out[i] = root[i]


@inlined
def rests(drifted, a, b):
    """Tell whether two links have not gone far enough to look for their points again."""
    return drifted[a] > 0.0 and drifted[b] > 0.0


@kernel
def remember_poses(x, R, posed_out):
    """Keep the poses of links for the next step."""
    for b in range(x.shape[0]):
        for i in range(3):
            posed_out.x[b, i] = x[b, i]
        for i in range(9):
            posed_out.R[b, i] = R[b, i]


@kernel
def keep_press(last_contacts, i, x, R, posed, contact_out, k):
    """Take press i of the last step as press k, moved with its links, which hardly moved."""
    contact_out[k] = last_contacts[i]
    a, b = last_contacts.link[i, 0], last_contacts.link[i, 1]
    p, n = three(last_contacts.p, i), three(last_contacts.axes, i)
    on_a, on_b = carried(p, x, R, posed, a), carried(p, x, R, posed, b)
    contact_out.gap[k] += dot(n, minus(on_b, on_a))
    for m in range(3):
        contact_out.p[k, m] = 0.5 * (on_a[m] + on_b[m])
    contact_out.kept[k] = i


@kernel
def carried(p, x, R, posed, link):
    """Where the point p of a link has gone since the last step."""
    own = inward_axes(posed.R, link, minus(p, three(posed.x, link)))
    return plus(three(x, link), outward_axes(R, link, own))


@spliced
def reaches(shapes, placed, x, V, h, margin, reach_out):
    """How far any point of each shape may move within h, from its speeds."""
    for i in range(shapes.kind.size):
        link = shapes.link[i]
        w = length((V[link, 0], V[link, 1], V[link, 2]))
        ball = ball_about(shapes, i) if shapes.kind[i] != PLANE else 0.0
        reach_out[i] = h * (length(speed_at(V, x, link, three(placed, i))) + w * ball) + margin


@kernel
def put_press(near, near_point, f, m, laws, x, contact_out, k):
    """Write point f of meeting m as press k."""
    contact_out.meeting[k], contact_out.gap[k], contact_out.kept[k], contact_out.of[k] = m, near_point.gap[f], -1, 0
    contact_out.key[k, 0], contact_out.key[k, 1] = near.key[f, 0], near.key[f, 1]
    a, b = near.link[f, 0], near.link[f, 1]
    contact_out.link[k, 0], contact_out.link[k, 1] = a, b
    contact_out.friction[k], contact_out.restitution[k], contact_out.rest_speed[k] = laws[m, 0], laws[m, 1], laws[m, 2]
    contact_out.rows[k] = 3 if laws[m, 0] > 0.0 else 1
    contact_out.low[k], contact_out.high[k] = 0.0, math.inf
    contact_out.soft[k], contact_out.stiffness[k] = 0.0, laws[m, 4]
    p, n = three(near_point.p, f), three(near_point.n, f)
    t1, t2 = tangents_of(n)
    put_axis(contact_out, k, 0, n)
    put_axis(contact_out, k, 1, t1)
    put_axis(contact_out, k, 2, t2)
    for i in range(3):
        contact_out.p[k, i] = p[i]
    to_b, to_a = minus(p, three(x, b)), minus(p, three(x, a))
    put_wrench(contact_out, k, 0, cross(to_b, n), n, times(-1.0, cross(to_a, n)), times(-1.0, n))
    put_wrench(contact_out, k, 1, cross(to_b, t1), t1, times(-1.0, cross(to_a, t1)), times(-1.0, t1))
    put_wrench(contact_out, k, 2, cross(to_b, t2), t2, times(-1.0, cross(to_a, t2)), times(-1.0, t2))


@kernel
def soften_point(laws, h, contact_out, k):
    """Let press k of shapes give way as a soft stop does, where its rule says so."""
    if contact_out.stiffness[k] > 0.0:
        soften(h, contact_out.stiffness[k], laws[contact_out.meeting[k], 5], contact_out, k)
        contact_out.shift[k, 1] = contact_out.shift[k, 2] = 0.0


@kernel
def soften(h, stiffness, dissipation, contact_out, k):
    """Let press k, whose gap is as it was at the step's start, give way: see above."""
    depth = -contact_out.gap[k]
    span = h + dissipation * max(depth, 0.0)
    contact_out.stiffness[k] = stiffness
    contact_out.soft[k], contact_out.shift[k, 0] = 1.0 / (h * stiffness * span), -depth / span


@kernel
def put_axis(contact_out, k, r, e):
    """Write axis r of press k."""
    for i in range(3):
        contact_out.axes[k, 3 * r + i] = e[i]


@kernel
def put_wrench(contact_out, k, r, moment_b, force_b, moment_a, force_a):
    """Write the unit wrenches of row r of press k on its two links, each about the link's origin."""
    for i in range(3):
        contact_out.K[k, r, i], contact_out.K[k, r, 3 + i] = moment_b[i], force_b[i]
        contact_out.K[k, r, 6 + i], contact_out.K[k, r, 9 + i] = moment_a[i], force_a[i]


@kernel
def link_of(links, joint):
    """Return the link that a joint of the tree carries, or -1."""
    for b in range(1, links.joint.size):
        if links.joint[b] == joint:
            return b
    return -1


@kernel
def block_of(blocks, joint):
    """Return the block of a joint that closes a loop, or -1."""
    for n in range(blocks.joint.size):
        if blocks.joint[n] == joint and not blocks.motor[n]:
            return n
    return -1


@kernel
def is_reached(stops, depth, coordinate, rate, s, h):
    """Tell whether stop s, so deep, is pressed within h if its depth grows as it does.

    Depth grows no faster than the joint turns or slides, but of a twist.
    """
    c = stops.column[s]
    fastest = abs(rate[c])
    if stops.angle[s] != 0:
        fastest = math.inf if stops.angle[s] == TWIST else length((rate[c], rate[c + 1], rate[c + 2]))
    if not depth + h * fastest > 0.0:
        return False
    return depth + h * max(closing_rate(stops, coordinate, rate, s), 0.0) > 0.0


@spliced
def add_stop(tables, work, s, h):
    """Add stop s to what presses within h, if its joint is there.  Tells whether there was room."""
    stops, contact, k = tables.stops, work.contacts, work.stepped.points[0]
    if k == work.contact_P.shape[0]:
        return False
    inward = times(-1.0, deepening(stops, work.coordinate, s))
    if put_joint(tables, work, stops.joint[s], stops.column[s], stops.angle[s], inward, k):
        depth = stop_depth(stops, work.coordinate, s)
        contact.key[k, 0], contact.gap[k], contact.low[k], contact.high[k] = s, -depth, 0.0, math.inf
        contact.restitution[k], contact.rest_speed[k], contact.soft[k] = stops.restitution[s], stops.rest_speed[s], 0.0
        contact.stiffness[k], contact.of[k] = 0.0, 0
        if not stops.rigid[s]:
            soften(h, stops.stiffness[s], stops.dissipation[s], contact, k)
        work.stepped.points[0] += 1
    return True


@spliced
def add_friction(tables, work, c, h):
    """Add the friction of column c to what presses within h, if its joint is there.  Tells whether there was room."""
    columns, contact, k = tables.columns, work.contacts, work.stepped.points[0]
    if k == work.contact_P.shape[0]:
        return False
    if put_joint(tables, work, columns.joint[c], c, 0, (1.0, 0.0, 0.0), k):
        most = h * columns.friction[c]
        contact.key[k, 0], contact.gap[k], contact.low[k], contact.high[k] = (
            tables.stops.joint.size + c,
            0.0,
            -most,
            most,
        )
        contact.restitution[k], contact.rest_speed[k], contact.soft[k] = 0.0, 0.0, 0.0
        contact.stiffness[k], contact.of[k] = 0.0, 0
        work.stepped.points[0] += 1
    return True


@spliced
def put_joint(tables, work, joint, c, angle, n, k):
    """Write a joint as press k of one row: of column c, or where `angle` is not 0 of the turn along n; tells if it is.

    n: what columns get of the impulse.
    """
    links, blocks, contact = tables.links, tables.blocks, work.contacts
    b, block, e = link_of(links, joint), block_of(blocks, joint), (0.0, 0.0, 0.0)
    if b > 0 and work.links.asleep[b] == 1:
        return False
    if b > 0:
        a, at, i = links.parent[b], three(work.links.x, b), links.v[b] + c - links.column[b]
        slides = tables.freedoms.linear[i] == 1 and not angle
        for j in range(3 if angle else 1):
            e = beyond(e, n[j], three(work.freedoms.axis, i + j))
    elif block >= 0:
        a, b, at = blocks.a[block], blocks.b[block], three(work.blocks.p_WM, block)
        slides = tables.columns.linear[c] == 1 and not angle
        for j in range(3 if angle else 1):
            e = beyond(e, n[j], direction(tables.columns.code[c + j], work.blocks, block))
    else:
        return False
    contact.meeting[k], contact.kept[k], contact.key[k, 1] = -1, -1, 0
    contact.link[k, 0], contact.link[k, 1], contact.rows[k], contact.friction[k] = a, b, 1, 0.0
    contact.shift[k, 1] = contact.shift[k, 2] = 0.0
    put_axis(contact, k, 0, e)
    put_axis(contact, k, 1, n)
    for i in range(3):
        contact.p[k, i] = at[i]
    to_b, to_a = minus(at, three(work.links.x, b)), minus(at, three(work.links.x, a))
    if slides:
        put_wrench(contact, k, 0, cross(to_b, e), e, times(-1.0, cross(to_a, e)), times(-1.0, e))
    else:
        put_wrench(contact, k, 0, e, (0.0, 0.0, 0.0), times(-1.0, e), (0.0, 0.0, 0.0))
    return True


__all__ = [
    "add_stop",
    "block_of",
    "collect_contacts",
    "collect_reached",
    "goes_on",
    "is_reached",
    "put_axis",
    "put_joint",
    "put_wrench",
    "rate_of",
    "reaches",
    "remember_poses",
]  # fmt: skip
