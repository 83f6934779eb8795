"""One step of an integrator: stages, error, dense output.

The state vector is y = (q, v, work put in, work dissipated).  Methods: Dormand-Prince 8(5,3), the
classical Runge-Kutta method, and the papers' semi-implicit Euler step with eq. (25).
"""

from __future__ import annotations

import math

from sim.kernels.dop853 import E3, E5, A, B, C, D
from sim.kernels.dynamics import forward_dynamics
from sim.kernels.jit import chapter, kernel
from sim.kernels.kinematics import qdot
from sim.kernels.project import add_freedoms
from sim.model import FREE, SPHERICAL, Status

DOP853, RK4, SEMI_IMPLICIT = range(3)


@chapter
def slope(tables, work, nq, nv, y, k_out):
    """Fill k_out with dy/dt from work.freedoms.vdot and work.one.power at y."""
    qdot(tables.links, y[:nq], y[nq : nq + nv], k_out[:nq])
    for i in range(nv):
        k_out[nq + i] = work.freedoms.vdot[i]
    k_out[nq + nv] = work.one.power[0, 0]
    k_out[nq + nv + 1] = work.one.power[0, 1]


@kernel
def derivative(tables, control, work, t, nq, nv, y, k_out):
    """dy/dt.  Returns a status."""
    status = forward_dynamics(tables, control, work, t, y[:nq], y[nq : nq + nv])
    slope(tables, work, nq, nv, y, k_out)
    if control.failed[0]:
        return Status.CALLBACK
    return status


@kernel
def combine(y, h, weights, count, k, y_out):
    """y_out = y + h sum weights k."""
    n = y.size
    for i in range(n):
        y_out[i] = 0.0
    for j in range(count):
        a = weights[j]
        if a != 0.0:
            for i in range(n):
                y_out[i] += a * k[j, i]
    for i in range(n):
        y_out[i] = y[i] + h * y_out[i]


@kernel
def error_norm(links, length, y, y_new, e, nq):
    """Sum over joints of squared errors in units of size, whatever the origin and the axes, and their count.

    e: error of y.  Positions over length, rotations as angles, speeds over length/s + speed.
    """
    total, count = 0.0, 0
    kind, qadr, vadr, nv = links.kind, links.q, links.v, links.nv
    for b in range(1, kind.size):
        a, k = qadr[b], nq + vadr[b]
        turning = kind[b] == SPHERICAL or kind[b] == FREE
        if turning:
            if kind[b] == FREE:
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
                unit = length if translation(kind[b], i) else 1.0
                total += (e[a + i] / unit) ** 2 + (e[k + i] / (unit + abs(y_new[k + i]))) ** 2
                count += 2
    return total, max(count, 1)


@kernel
def translation(kind, i):
    """Tell whether freedom i of a joint with real coordinates is a length."""
    return (kind == 2) or (kind == 3 and i == 0) or (kind == 5 and i < 2)


@kernel
def moved_norm(links, length, linear, dq):
    """Root mean square of a displacement dq of freedoms, positions over length."""
    total = 0.0
    for i in range(dq.size):
        total += (dq[i] / (length if linear[i] else 1.0)) ** 2
    return math.sqrt(total / max(dq.size, 1))


@chapter
def dop853_step(tables, control, work, t, h, nq, nv, y, k_work, y_out, error_work):
    """Stages 1 to 11 and the step; k_work[0] is the slope at the start.  Returns a status."""
    for s in range(1, 12):
        combine(y, h, A[s], s, k_work, y_out)
        status = derivative(tables, control, work, t + C[s] * h, nq, nv, y_out, k_work[s])
        if status != Status.OK:
            return status
    combine(y, h, B, 12, k_work, y_out)
    return Status.OK


@chapter
def dop853_error(tables, h, nq, y, k, y_new, error_work):
    """Error in units of size: the third- and fifth-order estimates combined, of a step without its end slope."""
    n = y.size
    for i in range(n):
        s = 0.0
        for j in range(12):
            s += E5[j] * k[j, i]
        error_work[i] = s
    five, count = error_norm(tables.links, tables.one.length[0], y, y_new, error_work, nq)
    for i in range(n):
        s = 0.0
        for j in range(12):
            s += E3[j] * k[j, i]
        error_work[i] = s
    three, count = error_norm(tables.links, tables.one.length[0], y, y_new, error_work, nq)
    if five == 0.0 and three == 0.0:
        return 0.0
    return abs(h) * five / math.sqrt((five + 0.01 * three) * count)


@chapter
def dop853_dense(tables, control, work, t, h, nq, nv, y, y_new, k_work, dense_out, y_work):
    """Three more stages, then the coefficients of the interpolant; k_work[12] is the slope at the end."""
    for s in range(13, 16):
        combine(y, h, A[s], s, k_work, y_work)
        status = derivative(tables, control, work, t + C[s] * h, nq, nv, y_work, k_work[s])
        if status != Status.OK:
            return status
    hermite(h, y, y_new, k_work, dense_out)
    for m in range(4):
        for i in range(y.size):
            s = 0.0
            for j in range(16):
                s += D[m, j] * k_work[j, i]
            dense_out[3 + m, i] = h * s
    return Status.OK


@kernel
def hermite(h, y, y_new, k, dense_out):
    """Cubic interpolant from the slopes k[0] and k[12], in the nested form of the dense output."""
    for i in range(y.size):
        d = y_new[i] - y[i]
        dense_out[0, i] = d
        dense_out[1, i] = h * k[0, i] - d
        dense_out[2, i] = 2.0 * d - h * (k[12, i] + k[0, i])
        dense_out[3, i] = dense_out[4, i] = dense_out[5, i] = dense_out[6, i] = 0.0


@kernel
def interpolate(y, dense, theta, y_out):
    """State at the fraction theta of the step."""
    for i in range(y.size):
        s = 0.0
        for m in range(6, -1, -1):
            s = (s + dense[m, i]) * (theta if m % 2 == 0 else 1.0 - theta)
        y_out[i] = y[i] + s


@chapter
def rk4_step(tables, control, work, t, h, nq, nv, y, k_work, y_out, y_work):
    """Classical Runge-Kutta step; k_work[0] is the slope at the start."""
    n = y.size
    for s in range(1, 4):
        a = 1.0 if s == 3 else 0.5
        for i in range(n):
            y_work[i] = y[i] + a * h * k_work[s - 1, i]
        status = derivative(tables, control, work, t + a * h, nq, nv, y_work, k_work[s])
        if status != Status.OK:
            return status
    for i in range(n):
        y_out[i] = y[i] + h / 6.0 * (k_work[0, i] + 2.0 * k_work[1, i] + 2.0 * k_work[2, i] + k_work[3, i])
    return Status.OK


@chapter
def semi_implicit_step(tables, h, nq, nv, y, k, y_out):
    """v+ = v + h a, then q+ = q (+) h v+ (structure-varying-1999, eq. (25)-(29))."""
    for i in range(y.size):
        y_out[i] = y[i]
    for i in range(nq, y.size):
        y_out[i] += h * k[0, i]
    add_freedoms(tables.links, y_out[nq : nq + nv], h, y_out[:nq])
    return Status.OK
