"""A step of the variational method: RATTLE in the freedoms' own coordinates, behind an address of its own.

Let x be where all material points are: centre of mass c and rotation R of every link.  In x the kinetic energy
T = sum m |c'|^2 / 2 + tr(R' J_d R'^T) / 2 has constant coefficients (J_d = tr(J) / 2 - J), and joints and loops are
constraints.  With the discrete Lagrangian

    L_d(q0, q1) = h T((x(q1) - x(q0)) / h) - h (U(q0) + U(q1)) / 2

the discrete Euler-Lagrange equations in position-momentum form (J. E. Marsden, M. West, Acta Numerica 10, 2001,
sections 1.5, 3.2 and 3.4) are, with p = M v, S = dx/dq, J the rows of the loops,

    S(q0)^T P = p0 + h/2 Q(q0, v0, t0) + J(q0)^T f,         phi(q1, t1) = 0,
    p1 = S(q1)^T P + h/2 Q(q1, v1, t1) + J(q1)^T g,         J(q1) v1 = wanted rates,

where P are the momenta of the links from x(q0) to x(q1): m (c1 - c0) / h, and the axial vector of
(R1 J_d R0^T - R0 J_d R1^T) / h (J. Moser, A. P. Veselov, Comm. Math. Phys. 139, 1991).  In world axes they are the same
at both ends of the step, so what no outer force changes is conserved.  This is RATTLE (E. Hairer, C. Lubich,
G. Wanner, Geometric Numerical Integration, second edition, section VII.1.4, (1.26)) on the surface on which x
moves, with q as coordinates of it: symmetric, of order two, symplectic.  So without dissipation and input the
energy is within O(h^2) of the start for times that grow exponentially as h falls (there, theorem IX.8.1), in
chaotic motion, too.  Q is the force of springs, dampers and controllers; gravity is handled as a wrench.

Both systems are solved as J. Lee, C. K. Liu, F. C. Park, S. S. Srinivasa, A linear-time variational integrator for
multibody systems, WAFR 2016, have it: the residual by a pass over the links, a quasi-Newton step by forward
dynamics with impulses for forces.  Departures: the steps are improved by Broyden's method; rotations as above
instead of exponentials; loops by the multipliers of `sim.kernels.dynamics`, redundant rows and all; iteration to
roundoff, and what the last digit of q cannot hold of a step goes into P, so that roundoff of positions over h is no
noise of momenta.  Rotors (armatures) have discrete momenta, too.  Three rotors of different inertia about one ball
are no Lagrangian system, here as in the continuous equations (they have no gyroscopic moments), so of them only the
order is promised.

Asked VARIATIONAL with y and the rows k: k[0] is the slope at y; k[5] begins with the step and whether y is the end
of the last one (1).  k[1] is filled with the state at the end, without the works, k[2] with what the next guess
reads.  The end is left factorised, on the constraints, as PROJECT would leave it.  Reply: iterations, evaluations
of forces.
"""

from __future__ import annotations

import math

from sim.kernels.dynamics import apply_forces, columns, factorise, follow, go_inward, move, solve_loops
from sim.kernels.forces import loop_columns, tree_columns
from sim.kernels.jit import driver, entry, kernel, spliced
from sim.kernels.kinematics import poses
from sim.kernels.project import add_freedoms
from sim.kernels.rows.constraints import block_frames, residuals, slips
from sim.kernels.scratch import SETTLED
from sim.kernels.spatial import multiply, rotation_of
from sim.kernels.status import Status
from sim.kernels.system import unpack, vector
from sim.kernels.tables import UNIVERSAL_ROW

ITERATIONS = 60  # of either system; a few are enough where the step times the fastest rate is small
MEMORY = 20  # steps that Broyden's method remembers
ROUNDOFF = 4e-15  # of the unit: a correction that cannot be seen in positions or speeds
# Of the unit: a correction below this that is no longer halved is roundoff of a large coordinate or far place.
# Smaller: runs end where angles count many turns.  Larger: slow convergence is cut, which looks like dissipation.
STALL = 1e-11
GAP = 1e-6  # of the length: where a row that repeats others is open by more, there is no closure
LEAST = 0.02  # smallest divisor of a step: none is made longer than by fifty


@kernel
def momenta(link_work, half, P_out):
    """Momentum of every link about its origin, plus what acts on it for a time `half` [s]; moment, then force."""
    V, A, I, wrench = link_work.V, link_work.A, link_work.I, link_work.wrench  # noqa: E741
    g0, g1, g2 = -A[0, 3], -A[0, 4], -A[0, 5]
    for b in range(1, V.shape[0]):
        w0, w1, w2, u0, u1, u2 = V[b, 0], V[b, 1], V[b, 2], V[b, 3], V[b, 4], V[b, 5]
        m, hx, hy, hz = I[b, 0], I[b, 1], I[b, 2], I[b, 3]
        xx, yy, zz, xy, xz, yz = I[b, 4], I[b, 5], I[b, 6], I[b, 7], I[b, 8], I[b, 9]
        P_out[b, 0] = xx * w0 + xy * w1 + xz * w2 + hy * u2 - hz * u1 + half * (wrench[b, 0] + hy * g2 - hz * g1)
        P_out[b, 1] = xy * w0 + yy * w1 + yz * w2 + hz * u0 - hx * u2 + half * (wrench[b, 1] + hz * g0 - hx * g2)
        P_out[b, 2] = xz * w0 + yz * w1 + zz * w2 + hx * u1 - hy * u0 + half * (wrench[b, 2] + hx * g1 - hy * g0)
        P_out[b, 3] = m * u0 + w1 * hz - w2 * hy + half * (wrench[b, 3] + m * g0)
        P_out[b, 4] = m * u1 + w2 * hx - w0 * hz + half * (wrench[b, 4] + m * g1)
        P_out[b, 5] = m * u2 + w0 * hy - w1 * hx + half * (wrench[b, 5] + m * g2)


@kernel
def momenta_between(links, here, there, h, P_out):
    """Momentum of every link from the poses `here` to the poses `there`, about its origin here.

    Moser-Veselov for the turn: of R1 J_d R0^T only what R1 - R0 makes of it has an axial vector.
    """
    com, inertia, mass = links.com_K, links.inertia_K, links.mass
    R0, R1, x0, x1 = here.R, there.R, here.x, there.x
    for b in range(1, mass.size):
        D = (
            R1[b, 0] - R0[b, 0], R1[b, 1] - R0[b, 1], R1[b, 2] - R0[b, 2],
            R1[b, 3] - R0[b, 3], R1[b, 4] - R0[b, 4], R1[b, 5] - R0[b, 5],
            R1[b, 6] - R0[b, 6], R1[b, 7] - R0[b, 7], R1[b, 8] - R0[b, 8],
        )  # fmt: skip
        half = 0.5 * (inertia[b, 0] + inertia[b, 1] + inertia[b, 2])
        xy, xz, yz = -inertia[b, 3], -inertia[b, 4], -inertia[b, 5]
        E = multiply(D, (
            half - inertia[b, 0], xy, xz, xy, half - inertia[b, 1], yz, xz, yz, half - inertia[b, 2],
        ))  # fmt: skip
        B = multiply(E, (
            R0[b, 0], R0[b, 3], R0[b, 6], R0[b, 1], R0[b, 4], R0[b, 7], R0[b, 2], R0[b, 5], R0[b, 8],
        ))  # fmt: skip
        c0, c1, c2 = com[b, 0], com[b, 1], com[b, 2]
        s = mass[b] / h
        f0 = s * (x1[b, 0] - x0[b, 0] + D[0] * c0 + D[1] * c1 + D[2] * c2)
        f1 = s * (x1[b, 1] - x0[b, 1] + D[3] * c0 + D[4] * c1 + D[5] * c2)
        f2 = s * (x1[b, 2] - x0[b, 2] + D[6] * c0 + D[7] * c1 + D[8] * c2)
        r0 = R0[b, 0] * c0 + R0[b, 1] * c1 + R0[b, 2] * c2
        r1 = R0[b, 3] * c0 + R0[b, 4] * c1 + R0[b, 5] * c2
        r2 = R0[b, 6] * c0 + R0[b, 7] * c1 + R0[b, 8] * c2
        P_out[b, 0] = (B[7] - B[5]) / h + r1 * f2 - r2 * f1
        P_out[b, 1] = (B[2] - B[6]) / h + r2 * f0 - r0 * f2
        P_out[b, 2] = (B[3] - B[1]) / h + r0 * f1 - r1 * f0
        P_out[b, 3], P_out[b, 4], P_out[b, 5] = f0, f1, f2


@kernel
def complete(link_work, there, P_out):
    """Add to momenta what the correction B of the links' velocities makes of it, and move them to the origins there.

    A momentum from one place to another is along the way between them, so its moment about a fixed point stays.
    """
    B, I, x0, x1 = link_work.B, link_work.I, link_work.x, there.x  # noqa: E741
    for b in range(1, B.shape[0]):
        w0, w1, w2, u0, u1, u2 = B[b, 0], B[b, 1], B[b, 2], B[b, 3], B[b, 4], B[b, 5]
        m, hx, hy, hz = I[b, 0], I[b, 1], I[b, 2], I[b, 3]
        xx, yy, zz, xy, xz, yz = I[b, 4], I[b, 5], I[b, 6], I[b, 7], I[b, 8], I[b, 9]
        f0 = P_out[b, 3] + m * u0 + w1 * hz - w2 * hy
        f1 = P_out[b, 4] + m * u1 + w2 * hx - w0 * hz
        f2 = P_out[b, 5] + m * u2 + w0 * hy - w1 * hx
        d0, d1, d2 = x0[b, 0] - x1[b, 0], x0[b, 1] - x1[b, 1], x0[b, 2] - x1[b, 2]
        P_out[b, 0] += xx * w0 + xy * w1 + xz * w2 + hy * u2 - hz * u1 + d1 * f2 - d2 * f1
        P_out[b, 1] += xy * w0 + yy * w1 + yz * w2 + hz * u0 - hx * u2 + d2 * f0 - d0 * f2
        P_out[b, 2] += xz * w0 + yz * w1 + zz * w2 + hx * u1 - hy * u0 + d0 * f1 - d1 * f0
        P_out[b, 3], P_out[b, 4], P_out[b, 5] = f0, f1, f2


@kernel
def subtract(P, Q, F_out):
    """Let F_out be P less Q, link by link."""
    for b in range(1, F_out.shape[0]):
        for i in range(6):
            F_out[b, i] = P[b, i] - Q[b, i]


# --- rotors -----------------------------------------------------------------------------------------


@kernel
def turn_of(D):
    """Turn D about the child's axes, as its sine along the axis [rad]: the same in its axes before and after."""
    return 0.5 * (D[7] - D[5]), 0.5 * (D[2] - D[6]), 0.5 * (D[3] - D[1])


@kernel
def tree_rotors(links, armature, q0, q1, h, pushed_out):
    """Momenta of the armatures in the tree from q0 to q1, by freedom, into pushed_out.between."""
    for b in range(1, links.parent.size):
        a, k, end = links.q[b], links.v[b], links.v[b] + links.nv[b]
        if links.quaternion[b] >= 0:
            end = links.quaternion[b]
            a += end - k
            s0 = s1 = s2 = 0.0
            if armature[end] + armature[end + 1] + armature[end + 2] > 0.0:
                w, x, y, z = q0[a], -q0[a + 1], -q0[a + 2], -q0[a + 3]
                e, f, g, i = q1[a], q1[a + 1], q1[a + 2], q1[a + 3]
                s0, s1, s2 = turn_of(rotation_of(
                    w * e - x * f - y * g - z * i, w * f + x * e + y * i - z * g,
                    w * g - x * i + y * e + z * f, w * i + x * g - y * f + z * e,
                ))  # fmt: skip
            pushed_out.between[end] = armature[end] * s0 / h
            pushed_out.between[end + 1] = armature[end + 1] * s1 / h
            pushed_out.between[end + 2] = armature[end + 2] * s2 / h
            a -= end - k
        for n in range(k, end):
            pushed_out.between[n] = armature[n] * (q1[a + n - k] - q0[a + n - k]) / h


@kernel
def loop_turn(block_work, ahead_work, n):
    """How far block n turns from what `block_work` has to what `ahead_work` has: from M to M, as seen from F."""
    before, after = seen_from_joint(block_work, n), seen_from_joint(ahead_work, n)
    return multiply((
        before[0], before[3], before[6], before[1], before[4], before[7], before[2], before[5], before[8],
    ), after)  # fmt: skip


@kernel
def seen_from_joint(block_work, n):
    """Return R_FM of block n."""
    F, M = block_work.R_WF, block_work.R_WM
    return multiply(
        (F[n, 0], F[n, 3], F[n, 6], F[n, 1], F[n, 4], F[n, 7], F[n, 2], F[n, 5], F[n, 8]),
        (M[n, 0], M[n, 1], M[n, 2], M[n, 3], M[n, 4], M[n, 5], M[n, 6], M[n, 7], M[n, 8]),
    )


@kernel
def loop_rotors(blocks, rows, block_work, ahead_work, start, coordinate, h, rotors_out):
    """Momenta of the armatures on loops, over their rows' scales, into rotors_out.between.

    block_work, ahead_work : at both ends.  start, coordinate : (columns,) coordinates there.
    """
    for r in range(rows.block.size):
        if rows.compliance[r] == 0.0:
            continue
        n, c, code = rows.block[r], rows.column[r], rows.code[r]
        way = coordinate[c] - start[c]
        if code > UNIVERSAL_ROW and blocks.quaternion[n] >= 0:
            way = turn_of(loop_turn(block_work, ahead_work, n))[code - UNIVERSAL_ROW - 1]
        rotors_out.between[r] = rows.scale[r] * way / h


# --- iteration --------------------------------------------------------------------------------------


@kernel
def inner(freedoms, length, a, b):
    """Inner product of two changes of freedoms in units of size."""
    s = 0.0
    for k in range(a.size):
        s += a[k] * b[k] / (length**2 if freedoms.linear[k] else 1.0)
    return s


@kernel
def improve(freedoms, length, count, steps_out, change_out):
    """Turn a quasi-Newton step into one of Broyden's method, from the `count` steps before it, and remember it.

    C. T. Kelley, Iterative Methods for Linear and Nonlinear Equations, 1995, section 7.3.
    """
    for j in range(count - 1):
        s = inner(freedoms, length, steps_out[j], change_out) / inner(freedoms, length, steps_out[j], steps_out[j])
        for k in range(change_out.size):
            change_out[k] += s * steps_out[j + 1, k]
    if count > 0:
        last = steps_out[count - 1]
        s = 1.0 - inner(freedoms, length, last, change_out) / inner(freedoms, length, last, last)
        s = s if abs(s) > LEAST else LEAST
        for k in range(change_out.size):
            change_out[k] /= s
    for k in range(change_out.size):
        steps_out[count, k] = change_out[k]


# --- the step ---------------------------------------------------------------------------------------


@kernel
def largest_of(freedoms, length, change, v):
    """Largest change of a freedom in units of size, infinite where one is none; v: what it is compared with besides."""
    worst = 0.0
    for k in range(change.size):
        unit = (length if freedoms.linear[k] else 1.0) + abs(v[k])
        size = abs(change[k]) / unit
        worst = max(worst, size if math.isfinite(size) else math.inf)
    return worst


@spliced
def add_torques(tables, control, work, half):
    """Add what the joints' torques give in a time `half` [s] to work.pushed.end."""
    if tables.one.acts[0] or control.acts[0]:
        for b in range(1, tables.links.v.size):
            k, c = tables.links.v[b], tables.links.column[b]
            for i in range(tables.links.nv[b]):
                work.pushed.end[k + i] += half * work.torque[c + i]


@driver
def leave(system, t, h, q, v):
    """Note the momenta at the start with half a step's impulse: carried.end, pushed.end, rotors.end.

    Leaves `work` factorised there, as SETTLE may have left it.  Returns a status.
    """
    tables, control, work, _ = unpack(system)
    status = Status.OK
    if work.one.intact[0] != SETTLED:
        move(system, q, v)
        apply_forces(system, t, q, v)
        status = factorise(system, 0)
    work.one.intact[0] = 0
    momenta(work.links, 0.5 * h, work.carried.end)
    for k in range(v.size):
        work.pushed.end[k] = tables.freedoms.armature[k] * v[k]
    add_torques(tables, control, work, 0.5 * h)
    if tables.rows.block.size > 0:
        columns(system, q, v)
        for c in range(work.coordinate.size):
            work.start[c] = work.coordinate[c]
        for r in range(work.rows.slip.size):
            work.rotors.end[r] = work.rows.slip[r]
    return status


@driver
def look_ahead(system, h, q0, q1, v):
    """Find the momenta from q0 to q1, and how far the loops are open there."""
    tables, control, work, _ = unpack(system)
    poses(tables.links, tables.freedoms, q1, work.ahead_links, work.ahead_freedoms)
    momenta_between(tables.links, work.links, work.ahead_links, h, work.carried.between)
    tree_rotors(tables.links, tables.freedoms.armature, q0, q1, h, work.pushed)
    if tables.rows.block.size > 0:
        block_frames(tables.blocks, work.ahead_links, work.ahead_blocks)
        tree_columns(tables.links, q1, v, work.coordinate, work.rate)
        loop_columns(tables.blocks, tables.columns, work.ahead_blocks, control.turn, work.coordinate, work.rate)
        residuals(tables.blocks, tables.rows, work.coordinate, work.ahead_blocks, work.rows)
        loop_rotors(
            tables.blocks, tables.rows, work.blocks, work.ahead_blocks, work.start, work.coordinate, h, work.rotors
        )  # fmt: skip


@kernel
def closes(rows, length, row_work, one_work):
    """Tell whether the rows that do not act are closed, too.  Returns a status."""
    for r in range(rows.block.size):
        if abs(row_work.phi[r]) > GAP * length:
            one_work.worst[0] = r
            return Status.NO_CLOSURE
    return Status.OK


@driver
def go(system, h, q0, q1_out, v):
    """Iterate for the end of the step from the guess q1_out; needs `leave`, and what drives want at the end.

    Leaves the last correction, which is below roundoff, in work.links.B, vdot and row forces.
    Returns (status, iterations).
    """
    tables, _, work, _ = unpack(system)
    length, before = tables.one.length[0], math.inf
    for trial in range(ITERATIONS):
        look_ahead(system, h, q0, q1_out, v)
        subtract(work.carried.between, work.carried.end, work.links.F)
        for k in range(v.size):
            work.freedoms.y[k] = work.pushed.end[k] - work.pushed.between[k]
            work.moved[k] = 0.0
        for r in range(work.rows.rhs.size):
            soft = tables.rows.compliance[r] > 0.0
            work.rows.rhs[r] = work.rotors.end[r] - work.rotors.between[r] if soft else -work.rows.phi[r] / h
        go_inward(tables, work)
        solve_loops(system)
        size = h * largest_of(tables.freedoms, length, work.freedoms.vdot, work.moved)
        if size <= ROUNDOFF or (size < STALL and size > 0.5 * before):
            return closes(tables.rows, length, work.rows, work.one), trial
        if not size < 1e3:
            return Status.NOT_SOLVED, trial
        before = size
        improve(tables.freedoms, length, trial % MEMORY, work.steps, work.freedoms.vdot)
        add_freedoms(tables.links, work.freedoms.vdot, h, q1_out)
    return Status.NOT_SOLVED, ITERATIONS


@driver
def keep_momenta(system):
    """Let carried.between, pushed.end and rotors.end be the momenta that reach the end of the step."""
    tables, _, work, _ = unpack(system)
    complete(work.links, work.ahead_links, work.carried.between)
    for k in range(work.freedoms.vdot.size):
        work.pushed.end[k] = work.pushed.between[k] + tables.freedoms.armature[k] * work.freedoms.vdot[k]
    for r in range(work.rows.force.size):  # a rotor has taken up the opposite of its row's impulse
        work.rotors.end[r] -= work.rows.force[r]


@driver
def arrive(system, t, h, q, v_out):
    """Iterate for the speeds at the end from the guess v_out; needs `keep_momenta`.  Returns (status, iterations)."""
    tables, control, work, _ = unpack(system)
    length, before = tables.one.length[0], math.inf
    move(system, q, v_out)
    status = factorise(system, 1)
    if status != Status.OK:
        return status, 0
    acts = tables.one.acts[0] or control.acts[0]
    for k in range(v_out.size):
        work.pushed.between[k] = work.pushed.end[k]
    for trial in range(ITERATIONS):
        apply_forces(system, t, q, v_out)
        if control.failed[0]:
            return Status.CALLBACK, trial
        momenta(work.links, -0.5 * h, work.carried.end)
        subtract(work.carried.end, work.carried.between, work.links.F)
        for k in range(v_out.size):
            work.pushed.end[k] = work.pushed.between[k] - tables.freedoms.armature[k] * v_out[k]
        add_torques(tables, control, work, 0.5 * h)
        for k in range(v_out.size):
            work.freedoms.y[k] = work.pushed.end[k]
        for r in range(work.rows.rhs.size):
            soft = tables.rows.compliance[r] > 0.0
            work.rows.rhs[r] = (work.rotors.end[r] if soft else 0.0) - work.rows.slip[r]
        go_inward(tables, work)
        solve_loops(system)
        size = largest_of(tables.freedoms, length, work.freedoms.vdot, v_out)
        if not size < 1e6:
            return Status.NOT_SOLVED, trial + 1
        done = not acts or size <= ROUNDOFF or (size < STALL and size > 0.5 * before)
        if not done:
            improve(tables.freedoms, length, trial % MEMORY, work.steps, work.freedoms.vdot)
        for k in range(v_out.size):
            v_out[k] += work.freedoms.vdot[k]
        if done:
            return Status.OK, trial + 1
        before = size
        move(system, q, v_out)
        if tables.rows.block.size > 0:
            slips(tables.blocks, tables.rows, work.blocks, work.rows)
    return Status.NOT_SOLVED, ITERATIONS


@kernel
def guess(links, h, follows, y, vdot, before_out, q_out, v_out):
    """Guess the state at the end from speeds, accelerations and, after another step, their change since then.

    before_out: accelerations at the start of the step before and its length; filled with those of this one.
    """
    nq, nv = q_out.size, v_out.size
    share = h / before_out[nv] if follows else 0.0
    for i in range(nq):
        q_out[i] = y[i]
    for i in range(nv):
        v_out[i] = y[nq + i] + h * (vdot[i] / 2.0 + share * (vdot[i] - before_out[i]) / 6.0)
    add_freedoms(links, v_out, h, q_out)
    for i in range(nv):
        v_out[i] = y[nq + i] + h * (vdot[i] + share * (vdot[i] - before_out[i]) / 2.0)
        before_out[i] = vdot[i]
    before_out[nv] = h


@entry
def variational(question, system, t, a, b):
    """Answer VARIATIONAL.  Returns a status."""
    tables, control, work, _ = unpack(system)
    nq, nv = tables.one.nq[0], tables.one.nv[0]
    n = nq + nv + 2
    y, k = vector(a, n), vector(b, 16 * n)
    h, q1, v1 = work.reply.h[0], k[n : n + nq], k[n + nq : n + nq + nv]
    status = leave(system, t, h, y[:nq], y[nq : nq + nv])
    follow(system, t + h)
    guess(tables.links, h, work.reply.follows[0] == 1, y, k[nq : nq + nv], k[2 * n : 3 * n], q1, v1)
    passes = 0
    if status == Status.OK:
        status, passes = go(system, h, y[:nq], q1, v1)
    work.reply.iterations[0], passes = passes, 0
    if status == Status.OK:
        keep_momenta(system)
        status, passes = arrive(system, t + h, h, q1, v1)
    work.reply.evaluations[0] = 1 + passes
    if control.failed[0]:
        return Status.CALLBACK
    return status
