"""What may happen within a span of time: bounds of all motion between its ends, and which guards they clear.

Samples of a guard miss whatever crosses twice between two of them.  Here every coordinate and its rate lie between
bounds that hold through the whole span (`sim.kernels.guards.curves`), and so does what follows from them: at one
instant of
the span, the *place of reference*, poses and velocities are known, and each link's motion differs from that by no more
than grows outward along the tree (Mirtich 1996; Zhang, Redon, Lee & Kim 2007, for articulated bodies).  Deviations of
velocities shrink with the span, so that bounds of positions close in with its square.

A guard is *clear* where it keeps its sign through the span, or changes it once at most, which its values at both ends
tell; otherwise the span is to be halved.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from sim.kernels.dynamics import body_poses, columns, move
from sim.kernels.guards.curves import on_curve, range_on_curve, rate_between, rate_on_curve, rates_on_curve, shares_at
from sim.kernels.guards.intervals import interval_of_one, interval_of_two
from sim.kernels.jit import entry, kernel, spliced
from sim.kernels.programs import (
    COM,
    CONSTANT,
    COORDINATE,
    MAX,
    POSITION,
    RATE,
    ROTATION,
    TIME,
    VELOCITY,
    binary,
    point_component,
    point_velocity,
    total_com,
    unary,
)
from sim.kernels.spatial import swing_of, twist_of
from sim.kernels.status import Status
from sim.kernels.system import CLEAR_GAPS, ask, unpack, vector
from sim.kernels.tables import ANGLE, TWIST
from sim.kernels.vectors import length, minus, three
from sim.kernels.watched import (
    ARMED,
    CLEAR,
    DISARMED,
    GUARD_GAP,
    GUARD_PROGRAM,
    GUARD_STOP,
    HYSTERESIS,
    LEAST_HYSTERESIS,
    SAMPLED,
    SPAN_ARMED,
    SPAN_AT,
    SPAN_HEADER,
    SPAN_SECONDS,
    WAITING_TO_LEAVE,
    WITHIN,
)

# How far beyond zero, in its own unit, a condition or a stop may go and come back between two looks.  Smaller:
# roundoff of what stays at zero is halved without end.  Larger: shorter pulses are missed.
SHALLOW = 1e-9
# Largest rate of a rotation vector for an angular velocity of one, within half a turn.
TURNED = 0.5 * math.pi
# Cosine of half a swing below which nothing is said of twist: there it may be anything.
STEEP = 1e-3
# rad/s: bound of an angular velocity where its quaternion may pass zero within the span, as an interpolant of several
# turns does.  Not infinite: an arm of no length would make not-a-number of it, which clears whatever it meets.
ENDLESS = 1e30


class Stretch(NamedTuple):
    """A span of time, and the place of reference in it."""

    curve: Any  # (15 n,) Bernstein coefficients of the state within it, see `curves.curve_of`
    seconds: Any  # s
    at: Any  # fraction of it


class Moving(NamedTuple):
    """The tree as it moves at the place of reference, and how far it may depart from that within the span."""

    links: Any
    freedoms: Any
    link_work: Any
    freedom_work: Any
    v: Any  # (nv,) rates there
    off: Any  # (nv,) how far rates depart from these
    most: Any  # (nv,) their largest magnitudes
    span_work: Any  # (links,) SPAN
    path_work: Any  # (links,) from one link to another it hangs on


@spliced
def moving_of(tables, work):
    """Return what `spans` has found of a motion."""
    return Moving(
        tables.links, tables.freedoms, work.links, work.freedoms, work.span_v, work.span_off, work.span_most,
        work.spans, work.path,
    )  # fmt: skip


@entry
def spans(question, system, t, a, b):
    """Answer CLEARANCE: tell of each guard whether it is clear within a span; see `sim.kernels.system`.

    t: start of the span [s].  a: (15 n,) Bernstein coefficients of the state within it, see `curves.curve_of`.
    b: SPAN_HEADER numbers, then the verdict on each guard, of which only those that are WITHIN are looked at.
    Returns a status.
    """
    tables, _, work, guards = unpack(system)
    nq, nv = tables.one.nq[0], tables.one.nv[0]
    n = nq + nv + 2
    span, told = vector(a, 15 * n), vector(b, SPAN_HEADER + guards.table.kind.size)
    seconds, at = told[SPAN_SECONDS], told[SPAN_AT]
    before, after = at * seconds, (1.0 - at) * seconds
    ahead = max(before, after)
    work.one.intact[0] = 0
    put_motion(tables.links, span, n, at, seconds, work.span_q, work.span_v, work.span_off, work.span_most)
    move(system, work.span_q, work.span_v)
    spread_out(tables.links, tables.freedoms, work.links, work.span_v, work.span_off, work.span_most, ahead, work.spans)
    formulas, verdict = False, told[SPAN_HEADER:]
    for g in range(verdict.size):
        formulas = formulas or (verdict[g] == WITHIN and guards.table.kind[g] != GUARD_GAP)
    if formulas:
        columns(system, work.span_q, work.span_v)
        body_poses(tables.links, work.links, work.bodies)
        tree_ranges(tables.links, span, n, nq, seconds, at, work.coordinate, work.ranges, work.rate_ranges)
        loop_ranges(
            tables.blocks, tables.columns, work.blocks, work.coordinate, work.rate, before, after,
            moving_of(tables, work), work.ranges, work.rate_ranges,
        )  # fmt: skip
    for g in range(verdict.size):
        if verdict[g] == WITHIN:
            verdict[g] = judge(tables, work, guards.table, g, t, Stretch(span, seconds, at), told)
    if tables.meetings.a.size > 0:
        return ask(work.answers, CLEAR_GAPS, system, t, span, told)
    return Status.OK


# --- the motion of links within a span --------------------------------------------------------------


@kernel
def put_motion(links, span, n, at, seconds, q_out, v_out, off_out, most_out):
    """Coordinates and rates at the place of reference; how far rates depart from these, and their largest magnitudes.

    off_out, most_out: (nv,); of three turning freedoms the first has those of the angular velocity's magnitude.
    """
    quaternion, qadr, vadr, nv = links.quaternion, links.q, links.v, links.nv
    ahead = seconds * max(at, 1.0 - at)
    of_state, of_rate = shares_at(at)
    for b in range(1, qadr.size):
        a, k, turning = qadr[b], vadr[b], quaternion[b] >= 0
        count = quaternion[b] - k if turning else nv[b]
        for i in range(count):
            q_out[a + i], v_out[k + i] = on_curve(span, n, a + i, of_state), rate_on_curve(span, n, a + i, of_rate)
            low, high = rates_on_curve(span, n, a + i)
            off_out[k + i], most_out[k + i] = max(high - v_out[k + i], v_out[k + i] - low), max(abs(low), abs(high))
        if turning:
            put_turning(span, n, a + count, k + count, of_state, of_rate, ahead, q_out, v_out, off_out, most_out)


@kernel
def put_turning(span, n, a, k, of_state, of_rate, ahead, q_out, v_out, off_out, most_out):
    """Do that for a quaternion q[a:a + 4] and its angular velocity v[k:k + 3], in the child's axes.

    w = 2 q' conj(q) / |q|^2, and |q / |q|^2 - p / |p|^2| = |q - p| / (|q| |p|).
    """
    w, x = on_curve(span, n, a, of_state), on_curve(span, n, a + 1, of_state)
    y, z = on_curve(span, n, a + 2, of_state), on_curve(span, n, a + 3, of_state)
    q_out[a], q_out[a + 1], q_out[a + 2], q_out[a + 3] = w, x, y, z
    dw, dx = rate_on_curve(span, n, a, of_rate), rate_on_curve(span, n, a + 1, of_rate)
    dy, dz = rate_on_curve(span, n, a + 2, of_rate), rate_on_curve(span, n, a + 3, of_rate)
    most = off = 0.0
    for m in range(7):
        rw, rx = rate_between(span, n, a, m), rate_between(span, n, a + 1, m)
        ry, rz = rate_between(span, n, a + 2, m), rate_between(span, n, a + 3, m)
        most = max(most, rw * rw + rx * rx + ry * ry + rz * rz)
        off = max(off, (rw - dw) ** 2 + (rx - dx) ** 2 + (ry - dy) ** 2 + (rz - dz) ** 2)
    most, off = math.sqrt(most), math.sqrt(off)
    square = w * w + x * x + y * y + z * z
    v_out[k] = 2.0 * (w * dx - x * dw - y * dz + z * dy) / square
    v_out[k + 1] = 2.0 * (w * dy - y * dw - z * dx + x * dz) / square
    v_out[k + 2] = 2.0 * (w * dz - z * dw - x * dy + y * dx) / square
    size = math.sqrt(square)
    least = max(size - ahead * most, 0.0)
    off_out[k], most_out[k] = ENDLESS, ENDLESS
    if least > 0.0:
        rate = math.sqrt(dw * dw + dx * dx + dy * dy + dz * dz)
        off_out[k] = 2.0 * (off / least + rate * ahead * most / (least * size))
        most_out[k] = 2.0 * most / least
    off_out[k + 1] = off_out[k + 2] = most_out[k + 1] = most_out[k + 2] = 0.0


@kernel
def own_rates(links, freedoms, b, off, most, ahead):
    """How far a joint's own angular velocity, and its own sliding, depart; their largest magnitudes.  In its F axes."""
    turn_off = turn_most = slide_off = slide_most = 0.0
    first = links.v[b]
    for i in range(links.nv[b]):
        along = 1.0 if freedoms.linear[first + i] else freedoms.pitch[first + i]
        if along != 0.0:
            slide_off = math.hypot(slide_off, along * off[first + i])
            slide_most = math.hypot(slide_most, along * most[first + i])
        if not freedoms.linear[first + i]:
            turn_off, turn_most = math.hypot(turn_off, off[first + i]), math.hypot(turn_most, most[first + i])
    if links.bends[b]:  # the second of its two axes turns about the first
        turn_off += most[first + 1] * min(ahead * most[first], 2.0)
    return turn_off, turn_most, slide_off, slide_most


@kernel
def spread_out(links, freedoms, link_work, v, off, most, ahead, span_work):
    """Carry what rates may depart by outward: see SPAN.

    The sliding of a link that hangs on the world is kept out of `off`: its axes stand still, and along a direction its
    bounds are those of a polynomial.
    """
    x, V, d = link_work.x, link_work.V, link_work.d
    spin_off, spin, turn, off_out = span_work.spin_off, span_work.spin, span_work.turn, span_work.off
    root, speed = span_work.root, span_work.speed
    spin_off[0] = spin[0] = turn[0] = off_out[0] = speed[0] = span_work.slide_off[0] = 0.0
    root[0] = 0
    for b in range(1, x.shape[0]):
        p = links.parent[b]
        turn_off, turn_most, slide_off, slide_most = own_rates(links, freedoms, b, off, most, ahead)
        swing = min(turn[p], 2.0)
        arm = math.sqrt(d[b, 0] ** 2 + d[b, 1] ** 2 + d[b, 2] ** 2)
        moved = min(turn[p], 2.0) * arm + ahead * slide_most
        spin_off[b] = spin_off[p] + turn_off + turn_most * swing
        spin[b] = math.sqrt(V[b, 0] ** 2 + V[b, 1] ** 2 + V[b, 2] ** 2) + spin_off[b]
        turn[b] = ahead * spin[b]
        root[b] = root[p] if p > 0 else b
        off_out[b] = off_out[p] + spin_off[p] * (arm + moved) + spin[p] * moved
        span_work.slide_off[b] = span_work.slide_off[p]
        if p > 0:
            off_out[b] += slide_off + slide_most * swing
        else:
            span_work.slide_off[b] = slide_off
        speed[b] = math.sqrt(V[b, 3] ** 2 + V[b, 4] ** 2 + V[b, 5] ** 2) + off_out[b] + span_work.slide_off[b]


@kernel
def departs(span_work, b, arm):
    """How far the velocity of a point of link b departs, the sliding of its root excepted; arm: from b's origin [m]."""
    return span_work.off[b] + arm * (span_work.spin_off[b] + span_work.spin[b] * min(span_work.turn[b], 2.0))


@kernel
def common_link(links, a, b):
    """Lowest link on which both hang; one of them where the other hangs on it."""
    while a != b:
        if a > b:
            a = links.parent[a]
        else:
            b = links.parent[b]
    return a


@kernel
def path_departs(c, b, meet, ahead, moving):
    """How far velocity of a point, and angular velocity, of link b depart, as seen from a link it hangs on.

    Also its largest angular velocity.  See `spread_out`; the sliding of roots is left out here, too.
    """
    links, freedoms, link_work, span = moving.links, moving.freedoms, moving.link_work, moving.span_work
    path_work = moving.path_work
    arm = length(minus(c, three(link_work.x, b)))
    if meet == 0:
        return departs(span, b, arm), span.spin_off[b], span.spin[b]
    count = 0
    while b != meet:
        path_work[count] = b
        count, b = count + 1, links.parent[b]
    spin_off = spin = turn = depart = 0.0
    w = three(link_work.V, meet)
    for k in range(count - 1, -1, -1):
        at = path_work[k]
        turn_off, turn_most, slide_off, slide_most = own_rates(links, freedoms, at, moving.off, moving.most, ahead)
        swing = min(turn, 2.0)
        d = length(three(link_work.d, at)) if links.parent[at] != meet else 0.0  # the first joint's place stands still
        if links.parent[at] == meet:
            depart = slide_off
        else:
            moved = swing * d + ahead * slide_most
            depart += spin_off * (d + moved) + spin * moved + slide_off + slide_most * swing
        spin_off += turn_off + turn_most * swing
        spin = length(minus(three(link_work.V, at), w)) + spin_off
        turn = ahead * spin
    return depart + arm * (spin_off + spin * min(turn, 2.0)), spin_off, spin


@kernel
def root_slides(moving, curve, a, b, along):
    """Bounds of how fast the root of link b slides past that of a along a direction; see `spread`.  a, b: roots."""
    links, freedoms, axis, (n0, n1, n2) = moving.links, moving.freedoms, moving.freedom_work.axis, along
    n = curve.size // 15
    low, high = math.inf, -math.inf
    for k in range(7):
        rate = 0.0
        for side in range(2):
            r = b if side == 0 else a
            for i in range(links.nv[r] if r > 0 else 0):
                c = links.v[r] + i
                if freedoms.linear[c] or freedoms.pitch[c] != 0.0:
                    share = axis[c, 0] * n0 + axis[c, 1] * n1 + axis[c, 2] * n2
                    if not freedoms.linear[c]:
                        share *= freedoms.pitch[c]
                    rate += (1.0 - 2.0 * side) * share * rate_between(curve, n, links.q[r] + i, k)
        low, high = min(low, rate), max(high, rate)
    return low, high


@kernel
def root_slides_now(moving, b, along):
    """How fast root b slides along a direction at the place of reference."""
    links, freedoms, axis, v, (n0, n1, n2) = moving.links, moving.freedoms, moving.freedom_work.axis, moving.v, along
    rate = 0.0
    for i in range(links.nv[b] if b > 0 else 0):
        c = links.v[b] + i
        if freedoms.linear[c] or freedoms.pitch[c] != 0.0:
            share = axis[c, 0] * n0 + axis[c, 1] * n1 + axis[c, 2] * n2
            rate += v[c] * (share if freedoms.linear[c] else freedoms.pitch[c] * share)
    return rate


@kernel
def reach_of(value, r0, r1, before, after):
    """Bounds of what has a value at the place of reference and a rate between r0 and r1."""
    low = value + min(0.0, -before * r1, after * r0)
    return low, value + max(0.0, -before * r0, after * r1)


# --- coordinates of joints --------------------------------------------------------------------------


@kernel
def tree_ranges(links, span, n, nq, seconds, at, coordinate, range_out, rate_range_out):
    """Intervals of coordinates and rates of tree joints; see `sim.kernels.guards.intervals`."""
    of_state, _ = shares_at(at)
    for b in range(1, links.parent.size):
        a, k, c = links.q[b], links.v[b], links.column[b]
        plain = links.quaternion[b] - k if links.quaternion[b] >= 0 else links.nv[b]
        most = 0.0
        for i in range(links.nv[b]):
            low, high = range_on_curve(span, n, nq + k + i)
            d0, d1 = rates_on_curve(span, n, nq + k + i)
            rate_range_out[c + i, 0], rate_range_out[c + i, 1] = low, high
            rate_range_out[c + i, 2], rate_range_out[c + i, 3] = d0, d1
            rate_range_out[c + i, 4] = on_curve(span, n, nq + k + i, of_state)
            if i >= plain:
                most = math.hypot(most, max(abs(low), abs(high)))
        for i in range(plain):
            range_out[c + i, 0], range_out[c + i, 1] = range_on_curve(span, n, a + i)
            range_out[c + i, 2], range_out[c + i, 3] = rates_on_curve(span, n, a + i)
            range_out[c + i, 4] = coordinate[c + i]
        if plain < links.nv[b]:
            put_rotation_vector(c + plain, coordinate, most, seconds * max(at, 1.0 - at), range_out)


@kernel
def put_rotation_vector(c, coordinate, spin, ahead, range_out):
    """Intervals of a rotation vector, from its value and the largest angular velocity."""
    fastest = TURNED * spin
    angle = math.sqrt(coordinate[c] ** 2 + coordinate[c + 1] ** 2 + coordinate[c + 2] ** 2)
    jumps = angle + fastest * ahead >= math.pi  # it may come out at the other side of half a turn
    for i in range(c, c + 3):
        range_out[i, 0], range_out[i, 1] = coordinate[i] - fastest * ahead, coordinate[i] + fastest * ahead
        range_out[i, 2], range_out[i, 3], range_out[i, 4] = -fastest, fastest, coordinate[i]
        if jumps:
            range_out[i, 0], range_out[i, 1], range_out[i, 2], range_out[i, 3] = -math.pi, math.pi, -math.inf, math.inf


@kernel
def loop_ranges(
    blocks, columns, block_work, coordinate, rate, before, after, moving, range_out, rate_range_out
):  # fmt: skip
    """Intervals of coordinates and rates of loop joints; not-a-number where there is no bound."""
    ahead, span = max(before, after), moving.span_work
    for n in range(blocks.a.size):
        if blocks.freedoms[n] == 0:
            continue
        c, a, b = blocks.column[n], blocks.a[n], blocks.b[n]
        place, w, u = three(block_work.p_WM, n), length(three(block_work.w_FM, n)), length(three(block_work.u, n))
        meet = common_link(moving.links, a, b)
        slide_a, off_a, spin_a = path_departs(place, a, meet, ahead, moving)
        slide_b, off_b, _ = path_departs(place, b, meet, ahead, moving)
        slide_off = slide_a + slide_b
        if meet == 0:
            slide_off += span.slide_off[a] + span.slide_off[b]
        # The place moves past a by what b slides there, and a turns on under it.
        slide_off += (off_a + spin_a * min(ahead * spin_a, 2.0)) * ahead * (u + slide_off)
        swing = min(ahead * spin_a, 2.0)
        turn_off = off_a + off_b + (w + off_a + off_b) * swing
        slide_off += (u + slide_off) * swing
        spin = w + off_a + off_b
        for i in range(blocks.freedoms[n]):
            within = math.nan
            if blocks.on_line[n]:
                within = slide_off if columns.linear[c + i] else turn_off
            rate_range_out[c + i, 0], rate_range_out[c + i, 1] = rate[c + i] - within, rate[c + i] + within
            rate_range_out[c + i, 2], rate_range_out[c + i, 3] = -math.inf, math.inf
            rate_range_out[c + i, 4], range_out[c + i, 4] = rate[c + i], coordinate[c + i]
            low, high = reach_of(coordinate[c + i], rate[c + i] - within, rate[c + i] + within, before, after)
            range_out[c + i, 2], range_out[c + i, 3] = rate[c + i] - within, rate[c + i] + within
            range_out[c + i, 0], range_out[c + i, 1] = (low, high) if within >= 0.0 else (math.nan, math.nan)
        if blocks.quaternion[n] == 0:
            put_rotation_vector(c, coordinate, spin, ahead, range_out)


# --- verdicts ---------------------------------------------------------------------------------------


@spliced
def judge(tables, work, guards_out, g, t, stretch, told_out):
    """Verdict on a guard; on gaps it is left to who knows shapes.  One that waits is armed where it has left."""
    kind = guards_out.kind[g]
    if guards_out.armed[g] == DISARMED:
        return CLEAR
    if kind == GUARD_GAP:
        return WITHIN
    if kind == GUARD_STOP:
        value = depth_interval(tables.stops, guards_out, g, work.coordinate, work.ranges, stretch.seconds, stretch.at)
    elif kind == GUARD_PROGRAM:
        value = run_on_span(tables, work, guards_out.owner[g], t, stretch)
    else:
        return SAMPLED
    if math.isnan(value[0]) or math.isnan(value[1]):
        return SAMPLED
    if guards_out.armed[g] != WAITING_TO_LEAVE:
        return verdict_of(value)
    left = -max(HYSTERESIS * guards_out.peak[g], LEAST_HYSTERESIS, SHALLOW)
    if value[1] < left:
        guards_out.armed[g] = ARMED
        told_out[SPAN_ARMED] += 1.0
        return CLEAR
    # Elsewhere it is clear where it cannot both leave and come back.
    return CLEAR if value[1] < 0.0 or value[0] > left or value[3] <= 0.0 else WITHIN


@kernel
def verdict_of(value):
    """Verdict on what has the interval `value`: clear where it keeps its sign, or does nothing but rise or fall."""
    low, high, d0, d1 = value
    return CLEAR if high < SHALLOW or low > -SHALLOW or d0 >= 0.0 or d1 <= 0.0 else WITHIN


@kernel
def depth_interval(stops, guards, g, coordinate, ranges, seconds, at):
    """Interval of a stop's guard; of one of a ball by the largest rate of the rotation vector."""
    s = guards.owner[g]
    c = stops.column[s]
    low, high, d0, d1 = ranges[c, 0], ranges[c, 1], ranges[c, 2], ranges[c, 3]
    if stops.angle[s]:
        x, y, z = coordinate[c], coordinate[c + 1], coordinate[c + 2]
        reach = d1 * seconds * max(at, 1.0 - at)
        angle, least = math.sqrt(x * x + y * y + z * z), 0.0
        if stops.angle[s] > ANGLE:
            angle = swing_of(x, y, z, stops.about[s])
        if stops.angle[s] == TWIST:  # whose rate is w / cos(swing / 2) at most, and which jumps at half a turn
            steepest = math.cos(0.5 * min(angle + reach, math.pi))
            reach, d1 = (reach / steepest, d1 / steepest) if steepest > STEEP else (math.inf, math.inf)
            angle, least = twist_of(x, y, z, stops.about[s]), -math.pi
            if not abs(angle) + reach < math.pi:
                reach = math.inf
        low, high = max(angle - reach, least), min(angle + reach, math.pi)
        d0, d1 = (-d1, d1) if reach < math.inf else (-math.inf, math.inf)
        if reach == math.inf:
            low, high = least, math.pi
    f = guards.direction[g] * stops.side[s]
    low, high = f * (low - stops.bound[s]), f * (high - stops.bound[s])
    d0, d1 = f * d0, f * d1
    return min(low, high) - guards.allowed[g], max(low, high) - guards.allowed[g], min(d0, d1), max(d0, d1)


@spliced
def run_on_span(tables, work, program, t, stretch):
    """Interval of a formula; not-a-number where it reads what has no bound.

    With every interval goes the value at the place of reference, from which it departs by no more than its rate allows:
    what two large numbers have in common cancels in that.
    """
    codes, stack, top, moving = tables.codes, work.bounds, 0, moving_of(tables, work)
    before, after = stretch.at * stretch.seconds, (1.0 - stretch.at) * stretch.seconds
    for n in range(tables.programs[program, 0], tables.programs[program, 1]):
        operation = codes[n, 0]
        if operation <= COM:
            value, here = load_interval(
                tables.constants, tables.points, operation, codes[n, 1], t, stretch, work.ranges, work.rate_ranges,
                work.bodies, moving,
            )  # fmt: skip
            top += 1
        elif operation <= MAX:
            top -= 1
            value = interval_of_two(operation, interval_at(stack, top - 1), interval_at(stack, top))
            here = binary(operation, stack[top - 1, 4], stack[top, 4])
        else:
            value = interval_of_one(operation, interval_at(stack, top - 1))
            here = unary(operation, stack[top - 1, 4])
        keep_interval(value, here, before, after, top - 1, stack)
    return interval_at(stack, 0)


@kernel
def interval_at(stack, k):
    """Interval k of a stack."""
    return stack[k, 0], stack[k, 1], stack[k, 2], stack[k, 3]


@kernel
def keep_interval(value, here, before, after, k, stack_out):
    """Put an interval on a stack, closed in on its value at the place of reference."""
    low, high, d0, d1 = value
    if math.isfinite(here) and math.isfinite(d0) and math.isfinite(d1):
        least, most = reach_of(here, d0, d1, before, after)
        low, high = max(low, least), min(high, most)
    stack_out[k, 0], stack_out[k, 1], stack_out[k, 2], stack_out[k, 3] = low, high, d0, d1
    stack_out[k, 4] = here


@kernel
def load_interval(constants, points, operation, argument, t, stretch, ranges, rate_ranges, body_work, moving):
    """Interval of an instruction that reads the state, and its value at the place of reference.

    Not-a-number for energies, forces and torques.
    """
    seconds, at = stretch.seconds, stretch.at
    if operation == CONSTANT:
        return (constants[argument], constants[argument], 0.0, 0.0), constants[argument]
    if operation == TIME:
        return (t, t + seconds, 1.0, 1.0), t + at * seconds
    if operation == COORDINATE:
        return interval_at(ranges, argument), ranges[argument, 4]
    if operation == RATE:
        return interval_at(rate_ranges, argument), rate_ranges[argument, 4]
    if operation == POSITION or operation == VELOCITY:
        value, r0, r1 = point_rates(points, argument, stretch.curve, moving)
        if operation == VELOCITY:
            return (r0, r1, -math.inf, math.inf), 0.5 * (r0 + r1)
        low, high = reach_of(value, r0, r1, at * seconds, (1.0 - at) * seconds)
        return (low, high, r0, r1), value
    ahead = seconds * max(at, 1.0 - at)
    if operation == ROTATION:
        value = turned_entry(moving.links, argument, ahead, body_work, moving.span_work)
        return value, body_work.R_WB[argument // 9, argument % 9]
    if operation == COM:
        fastest, value = com_speed(moving.link_work, moving.span_work), total_com(moving.link_work, argument)
        return (value - fastest * ahead, value + fastest * ahead, -fastest, fastest), value
    return (math.nan, math.nan, math.nan, math.nan), math.nan


@kernel
def point_rates(points, argument, curve, moving):
    """World coordinate of a point at the place of reference, and bounds of its rate."""
    link_work, span = moving.link_work, moving.span_work
    i, k = argument // 3, argument % 3
    b = points.body[i]
    value, rate = point_component(points, link_work, i, k), point_velocity(points, link_work, i, k)
    p = points.p_B
    off = departs(span, b, math.sqrt(p[i, 0] ** 2 + p[i, 1] ** 2 + p[i, 2] ** 2))
    e = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
    root = span.root[b]
    rate -= root_slides_now(moving, root, e)
    low, high = root_slides(moving, curve, 0, root, e)
    return value, rate - off + low, rate + off + high


@kernel
def turned_entry(links, argument, ahead, body_work, span_work):
    """Interval of an entry of a body's rotation matrix: no unit vector goes further than its link turns."""
    turn = spin = 0.0
    for b in range(1, links.body.size):
        if links.body[b] == argument // 9:
            turn, spin = span_work.turn[b], span_work.spin[b]
    value = body_work.R_WB[argument // 9, argument % 9]
    return max(value - turn, -1.0), min(value + turn, 1.0), -spin, spin


@kernel
def com_speed(link_work, span_work):
    """Largest speed of the centre of mass of all bodies [m/s]."""
    x, I = link_work.x, link_work.I  # noqa: E741
    mass = moment = 0.0
    for b in range(1, x.shape[0]):
        arm = math.sqrt(I[b, 1] ** 2 + I[b, 2] ** 2 + I[b, 3] ** 2)
        mass += I[b, 0]
        moment += I[b, 0] * span_work.speed[b] + arm * span_work.spin[b]
    return moment / mass
