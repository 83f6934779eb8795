"""A step of the classical Runge-Kutta method where rows bind rates only: wheels, blades, what rolls.

Stages leave such rows by the square of the step, and slopes there do work that they should not.  So every stage is
brought to them before its slope is taken, in the metric of kinetic energy; positions stay what they are.  This is the
same method on an extension of the equations that agrees with them on the constraints: of order four.

Rates along the axes of F turn as fast as the body does, which the method follows only as well as its steps.  So within
the step linear rates of joints whose turns turn their slides, of planar and free ones, are taken along the axes of M,
the child's own, as the speeds of Kane's method are: u = R^T v and u' = R^T v' - w x u, with R = R_FM and w the rate of
turning, both in M's axes.

Asked CLASSICAL with y and the rows k: k[0] is the slope at y, k[5] begins with the step.  k[1] is filled with the state
at the end, off the constraints by the error of the step.
"""

from __future__ import annotations

import math

from sim.kernels.accelerations import act, respond
from sim.kernels.dynamics import drive_power, follow, rows_now
from sim.kernels.jit import entry, kernel, spliced
from sim.kernels.motion import write_slope
from sim.kernels.project import bring_near, bring_rates
from sim.kernels.spatial import rotation_of, turn_x, turn_z
from sim.kernels.spinning import product
from sim.kernels.status import Status
from sim.kernels.system import unpack, vector
from sim.kernels.vectors import beyond, cross, minus, times


@kernel
def child_axes(links, freedoms, q, b):
    """Return x_M, y_M and z_M in F's axes of the joint of link b."""
    a, k, t = links.q[b], links.v[b], links.quaternion[b]
    R = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    for i in range(k, t if t >= 0 else k + links.nv[b]):
        if not freedoms.linear[i]:
            s, c = math.sin(q[a + i - k]), math.cos(q[a + i - k])
            R = turn_z(R, s, c) if freedoms.along[i] == 2 else turn_x(R, s, c)
    if t >= 0:
        a += t - k
        R = rotation_of(q[a], q[a + 1], q[a + 2], q[a + 3])
    return (R[0], R[3], R[6]), (R[1], R[4], R[7]), (R[2], R[5], R[8])


@kernel
def linear_part(links, freedoms, v, b):
    """Return the linear rates of the joint of link b, along the axes of F or M."""
    x = y = z = 0.0
    for i in range(links.v[b], links.v[b] + links.nv[b]):
        if freedoms.linear[i]:
            if freedoms.along[i] == 0:
                x += v[i]
            elif freedoms.along[i] == 1:
                y += v[i]
            else:
                z += v[i]
    return x, y, z


@kernel
def angular_part(links, freedoms, v, b, axes):
    """Return its rates of turning, in M's axes, which are `axes` in F's: a ball's as they are, else of one turn."""
    t, w = links.quaternion[b], (0.0, 0.0, 0.0)
    if t >= 0:
        return v[t], v[t + 1], v[t + 2]
    for i in range(links.v[b], links.v[b] + links.nv[b]):
        if not freedoms.linear[i]:
            e = (1.0 if freedoms.along[i] == 0 else 0.0, 0.0, 1.0 if freedoms.along[i] == 2 else 0.0)
            w = product(axes, times(v[i], e))
    return w


@kernel
def put_linear(links, freedoms, u, b, v_out):
    """Put its linear rates down."""
    for i in range(links.v[b], links.v[b] + links.nv[b]):
        if freedoms.linear[i]:
            v_out[i] = u[freedoms.along[i]]


@kernel
def into_child(links, freedoms, q, v_out):
    """Linear rates along F's axes become those along M's."""
    for b in range(1, links.rides.size):
        if links.rides[b]:
            axes = child_axes(links, freedoms, q, b)
            put_linear(links, freedoms, product(axes, linear_part(links, freedoms, v_out, b)), b, v_out)


@kernel
def out_of_child(links, freedoms, q, v_out):
    """Linear rates along M's axes become those along F's."""
    for b in range(1, links.rides.size):
        if links.rides[b]:
            x, y, z = child_axes(links, freedoms, q, b)
            u = linear_part(links, freedoms, v_out, b)
            put_linear(links, freedoms, beyond(beyond(times(u[0], x), u[1], y), u[2], z), b, v_out)


@kernel
def slopes_into_child(links, freedoms, q, v, slope_out):
    """Slopes of linear rates along F's axes, where rates are v, become those along M's: u' = R^T v' - w x u."""
    for b in range(1, links.rides.size):
        if links.rides[b]:
            axes = child_axes(links, freedoms, q, b)
            u, w = product(axes, linear_part(links, freedoms, v, b)), angular_part(links, freedoms, v, b, axes)
            along = product(axes, linear_part(links, freedoms, slope_out, b))
            put_linear(links, freedoms, minus(along, cross(w, u)), b, slope_out)


@spliced
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
    slopes_into_child(tables.links, tables.freedoms, q, v, slope_out[nq : nq + nv])
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
    into_child(links, tables.freedoms, y[:nq], own[0, nq : nq + nv])
    slopes_into_child(links, tables.freedoms, y[:nq], y[nq : nq + nv], own[1, nq : nq + nv])
    for s in range(1, 4):
        ahead = h if s == 3 else 0.5 * h
        for i in range(n):
            at[i] = own[0, i] + ahead * own[s, i]
        out_of_child(links, tables.freedoms, at[:nq], at[nq : nq + nv])
        status = stage_slope(system, t + ahead, at, own[s + 1])
        if status != Status.OK:
            return status
    for i in range(n):
        y_new[i] = own[0, i] + h / 6.0 * (own[1, i] + 2.0 * own[2, i] + 2.0 * own[3, i] + own[4, i])
    out_of_child(links, tables.freedoms, y_new[:nq], y_new[nq : nq + nv])
    return Status.OK


__all__ = ["classical"]
