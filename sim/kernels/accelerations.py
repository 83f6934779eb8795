"""What a mechanism answers to all that acts on it: accelerations, forces of rows, friction that follows from them."""

from __future__ import annotations

from sim.kernels.dynamics import apply_forces, drive_power, factorise, free_response, move, solve_loops
from sim.kernels.jit import driver, kernel, spliced
from sim.kernels.status import Status
from sim.kernels.system import FEED, RUB, ask, unpack

# Where freedoms are lent inertia: of all forces, what may be left over; passes after which nothing is held to resist.
ROUNDOFF, PASSES = 1e-12, 100


@spliced
def forward_dynamics(system, tables, work, t, q, v):
    """work.freedoms.vdot and work.rows.force (multipliers) at a state.  Returns a status.

    closed-chains-1999, section 3.2, by multipliers instead of unit vectors; the papers' way is in
    `sim.closed_chains.generalised` and both are tested against each other.
    """
    move(system, q, v)
    status = factorise(system, 0)
    if status == Status.OK:
        status = act(system, t, q, v)
    if status != Status.OK:
        return status
    status = respond(system)
    drive_power(tables.rows, work.keeps, work.rows, work.one)
    return status


@spliced
def act(system, t, q, v):
    """Apply all forces; needs `factorise` where formulas read forces.  Returns a status."""
    tables, control, work, _ = unpack(system)
    status = Status.OK
    if tables.late.size > 0 and control.acts[2] == 0:
        status = ask(work.answers, FEED, system, t, q, v)
    apply_forces(system, t, q, v)
    return status


@spliced
def respond(system):
    """Multipliers and vdot to what was applied; needs `factorise`.  Returns a status."""
    tables, _, work, _ = unpack(system)
    if tables.one.sliding[0] > 0:
        return ask(work.answers, RUB, system, 0.0, work.moved, work.moved)
    if tables.one.lends[0]:
        return respond_and_take_back(system)
    free_response(system)
    solve_loops(system)
    return Status.OK


@driver
def respond_and_take_back(system):
    """`respond` where freedoms are lent inertia E: with what E took given back, until that changes no more.

    x_{n+1} of (M + E) x_{n+1} = tau + E x_n + J^T lambda; see `sim.mechanism.lending`.  Returns a status.
    """
    tables, control, work, _ = unpack(system)
    freedoms, own = tables.freedoms, work.freedoms
    acts = tables.one.acts[0] or control.acts[0]
    least = ROUNDOFF * forces_that_act(tables.one, tables.columns, acts, work.links, work.torque)
    status = Status.MASS_SINGULAR
    for k in range(own.back.size):
        own.back[k] = 0.0
    for _ in range(PASSES):
        free_response(system)
        solve_loops(system)
        most = give_back(freedoms, tables.one, own, work.one)
        if most <= least:
            status = Status.OK
            break
    for k in range(own.back.size):
        own.back[k] = 0.0
    return status


@kernel
def give_back(freedoms, one, freedom_work, one_work):
    """Fill what the inertia that is lent takes at vdot; returns by how much that changed at most [N]."""
    most = 0.0
    for k in range(freedoms.lent.size):
        if freedoms.lent[k] > 0.0:
            took = freedoms.lent[k] * freedom_work.vdot[k]
            change = abs(took - freedom_work.back[k]) * (1.0 if freedoms.linear[k] else 1.0 / one.length[0])
            if not change <= most:
                most = change
                one_work.worst[0] = k
            freedom_work.back[k] = took
    return most


@kernel
def forces_that_act(one, columns, acts, link_work, torque):
    """Return the size of all forces at a state [N]: gravity and what turning asks for, what is applied, of joints."""
    length, wrench, A = one.length[0], link_work.wrench, link_work.A
    fastest = size = 0.0
    for b in range(A.shape[0]):
        turning = linear = moment = force = 0.0
        for i in range(3):
            turning, linear = turning + abs(A[b, i]), linear + abs(A[b, 3 + i])
            moment, force = moment + abs(wrench[b, i]), force + abs(wrench[b, 3 + i])
        fastest = max(fastest, linear + length * turning)
        size += force + moment / length
    if acts:
        for c in range(torque.size):
            size += abs(torque[c]) * (1.0 if columns.linear[c] else 1.0 / length)
    return size + fastest / one.mobility[0]
