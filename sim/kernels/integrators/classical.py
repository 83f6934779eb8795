"""A step of the classical Runge-Kutta method where rows bind rates only: wheels, blades, what rolls.

Stages leave such rows by the square of the step, and slopes there do work that they should not.  So every stage is
brought to them before its slope is taken, in the metric of kinetic energy; positions stay what they are.  This is the
same method on an extension of the equations that agrees with them on the constraints: of order four.

Rates along the axes of F turn as fast as the body does, which the method follows only as well as its steps.  So within
the step linear rates of joints PLANAR and FREE are taken along the axes of M, the child's own, as the speeds of Kane's
method are: u = R^T v and u' = R^T v' - w x u, with R = R_FM and w the rate of turning, both in M's axes.

Asked CLASSICAL with y and the rows k: k[0] is the slope at y, k[5] begins with the step.  k[1] is filled with the state
at the end, off the constraints by the error of the step.
"""

from __future__ import annotations

import math

from sim.kernels.accelerations import act, respond
from sim.kernels.dynamics import drive_power, follow, rows_now
from sim.kernels.jit import chapter, entry, kernel
from sim.kernels.motion import write_slope
from sim.kernels.project import bring_near, bring_rates
from sim.kernels.spatial import rotation_of
from sim.kernels.spinning import product
from sim.kernels.system import unpack, vector
from sim.kernels.tables import FREE, PLANAR, Status
from sim.kernels.vectors import beyond, cross, minus, times


@kernel
def child_axes(kind, q, a):
    """Return x_M, y_M and z_M in F's axes of a joint PLANAR or FREE whose coordinates begin at q[a]."""
    if kind == FREE:
        R = rotation_of(q[a + 3], q[a + 4], q[a + 5], q[a + 6])
        return (R[0], R[3], R[6]), (R[1], R[4], R[7]), (R[2], R[5], R[8])
    s, c = math.sin(q[a + 2]), math.cos(q[a + 2])
    return (c, s, 0.0), (-s, c, 0.0), (0.0, 0.0, 1.0)


@kernel
def linear_part(kind, v, k):
    """Return the linear rates of such a joint whose rates begin at v[k]."""
    return v[k], v[k + 1], v[k + 2] if kind == FREE else 0.0


@kernel
def angular_part(kind, v, k):
    """Return its rates of turning, in M's axes."""
    if kind == FREE:
        return v[k + 3], v[k + 4], v[k + 5]
    return 0.0, 0.0, v[k + 2]


@kernel
def put_linear(kind, u, k, v_out):
    """Put its linear rates down."""
    v_out[k], v_out[k + 1] = u[0], u[1]
    if kind == FREE:
        v_out[k + 2] = u[2]


@kernel
def into_child(links, q, v_out):
    """Linear rates along F's axes become those along M's."""
    kind, qadr, vadr = links.kind, links.q, links.v
    for b in range(1, kind.size):
        if kind[b] == PLANAR or kind[b] == FREE:
            axes = child_axes(kind[b], q, qadr[b])
            put_linear(kind[b], product(axes, linear_part(kind[b], v_out, vadr[b])), vadr[b], v_out)


@kernel
def out_of_child(links, q, v_out):
    """Linear rates along M's axes become those along F's."""
    kind, qadr, vadr = links.kind, links.q, links.v
    for b in range(1, kind.size):
        if kind[b] == PLANAR or kind[b] == FREE:
            x, y, z = child_axes(kind[b], q, qadr[b])
            u = linear_part(kind[b], v_out, vadr[b])
            put_linear(kind[b], beyond(beyond(times(u[0], x), u[1], y), u[2], z), vadr[b], v_out)


@kernel
def slopes_into_child(links, q, v, slope_out):
    """Slopes of linear rates along F's axes, where rates are v, become those along M's: u' = R^T v' - w x u."""
    kind, qadr, vadr = links.kind, links.q, links.v
    for b in range(1, kind.size):
        if kind[b] == PLANAR or kind[b] == FREE:
            k, axes = vadr[b], child_axes(kind[b], q, qadr[b])
            u, w = product(axes, linear_part(kind[b], v, k)), angular_part(kind[b], v, k)
            along = product(axes, linear_part(kind[b], slope_out, k))
            put_linear(kind[b], minus(along, cross(w, u)), k, slope_out)


@chapter
def stage_slope(system, t, y_out, slope_out):
    """Slope at a stage, whose rates are brought to the constraints first.  Returns a status."""
    tables, control, work, _ = unpack(system)
    nq, nv = tables.one.nq[0], tables.one.nv[0]
    q, v = y_out[:nq], y_out[nq : nq + nv]
    follow(system, t)
    if work.one.near[0]:
        status = bring_near(system, tables, work, q, v)
    else:
        status = bring_rates(system, tables, work, q, v)
    if status != Status.OK:
        return status
    rows_now(system, tables, work, 0)
    status = act(system, t, q, v)
    if status == Status.OK:
        status = respond(system)
    drive_power(tables.rows, work.keeps, work.rows, work.one)
    write_slope(tables, work, q, v, slope_out)
    slopes_into_child(tables.links, q, v, slope_out[nq : nq + nv])
    if control.failed[0]:
        return Status.CALLBACK
    return status


@entry
def classical(question, system, t, a, b):
    """Answer CLASSICAL.  Returns a status."""
    tables, _, work, _ = unpack(system)
    work.one.intact[0] = 0
    links, nq, nv = tables.links, tables.one.nq[0], tables.one.nv[0]
    n = nq + nv + 2
    y, k, own, at = vector(a, n), vector(b, 16 * n), work.own, work.stage
    h, y_new = work.reply.h[0], k[n : 2 * n]
    for i in range(n):
        own[0, i], own[1, i] = y[i], k[i]
    into_child(links, y[:nq], own[0, nq : nq + nv])
    slopes_into_child(links, y[:nq], y[nq : nq + nv], own[1, nq : nq + nv])
    for s in range(1, 4):
        ahead = h if s == 3 else 0.5 * h
        for i in range(n):
            at[i] = own[0, i] + ahead * own[s, i]
        out_of_child(links, at[:nq], at[nq : nq + nv])
        status = stage_slope(system, t + ahead, at, own[s + 1])
        if status != Status.OK:
            return status
    for i in range(n):
        y_new[i] = own[0, i] + h / 6.0 * (own[1, i] + 2.0 * own[2, i] + 2.0 * own[3, i] + own[4, i])
    out_of_child(links, y_new[:nq], y_new[nq : nq + nv])
    return Status.OK


__all__ = ["classical"]
