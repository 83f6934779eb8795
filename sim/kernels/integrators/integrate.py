"""One step of an integrator: stages, error, dense output.

The state vector is y = (q, v, work put in, work dissipated).  Methods: Dormand-Prince 8(5,3), the
classical Runge-Kutta method, the papers' semi-implicit Euler step with eq. (25), Radau IIA of order five
and the variational RATTLE, both of which are solved behind addresses, as is the classical method where rows bind rates
only.  What moves is asked through `sim.kernels.system`.
"""

from __future__ import annotations

import math

from sim.kernels.integrators.dop853 import E3, E5, A, B, C, D
from sim.kernels.jit import kernel, spliced
from sim.kernels.status import Status
from sim.kernels.stepper import FOLLOWS, RTOL, T
from sim.kernels.system import LEAP, NORM, RADAU, SLOPE, VARIATIONAL, ask

DOP853, RK4, SEMI_IMPLICIT, RADAU_IIA, RATTLE, PRESSED = range(6)
# Nodes of Radau IIA and the real eigenvalue of the inverse of its matrix; see `sim.kernels.integrators.radau`.
RADAU_1, RADAU_2 = (4.0 - math.sqrt(6.0)) / 10.0, (4.0 + math.sqrt(6.0)) / 10.0
RADAU_GAMMA = 3.6378342527444957


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


@spliced
def dop853_step(answers, system, t, h, stepper):
    """Stages 1 to 11 and the step into y_new; k[0] is the slope at the start.  Returns a status."""
    y, k, y_new = stepper.y, stepper.k, stepper.y_new
    for s in range(1, 12):
        combine(y, h, A[s], s, k, y_new)
        status = ask(answers, SLOPE, system, t + C[s] * h, y_new, k[s])
        if status != Status.OK:
            return status
    combine(y, h, B, 12, k, y_new)
    return Status.OK


@kernel
def weigh(weights, count, k, e_out):
    """e_out = sum weights k."""
    for i in range(e_out.size):
        s = 0.0
        for j in range(count):
            s += weights[j] * k[j, i]
        e_out[i] = s


@spliced
def dop853_error(answers, system, reply, h, stepper):
    """Error in units of size: the third- and fifth-order estimates combined, of a step without its end slope."""
    weigh(E5, 12, stepper.k, stepper.error)
    ask(answers, NORM, system, 0.0, stepper.y_new, stepper.error)
    five = reply.error[0]
    weigh(E3, 12, stepper.k, stepper.error)
    ask(answers, NORM, system, 0.0, stepper.y_new, stepper.error)
    three = reply.error[0]
    if five == 0.0 and three == 0.0:
        return 0.0
    return abs(h) * five / math.sqrt(five + 0.01 * three)


@spliced
def dop853_dense(answers, system, t, h, stepper):
    """Three more stages, then the coefficients of the interpolant; k[12] is the slope at the end."""
    y, k, dense = stepper.y, stepper.k, stepper.dense
    for s in range(13, 16):
        combine(y, h, A[s], s, k, stepper.y_work)
        status = ask(answers, SLOPE, system, t + C[s] * h, stepper.y_work, k[s])
        if status != Status.OK:
            return status
    hermite(h, y, stepper.y_new, k, dense)
    for m in range(4):
        weigh(D[m], 16, k, dense[3 + m])
        for i in range(y.size):
            dense[3 + m, i] *= h
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
        if theta >= 0.5:
            s += dense[7, i]
        y_out[i] = y[i] + s


@spliced
def rk4_step(answers, system, t, h, stepper):
    """Classical Runge-Kutta step into y_new; k[0] is the slope at the start.  Returns a status."""
    y, k, y_new = stepper.y, stepper.k, stepper.y_new
    n = y.size
    for s in range(1, 4):
        a = 1.0 if s == 3 else 0.5
        for i in range(n):
            stepper.y_work[i] = y[i] + a * h * k[s - 1, i]
        status = ask(answers, SLOPE, system, t + a * h, stepper.y_work, k[s])
        if status != Status.OK:
            return status
    for i in range(n):
        y_new[i] = y[i] + h / 6.0 * (k[0, i] + 2.0 * k[1, i] + 2.0 * k[2, i] + k[3, i])
    return Status.OK


@spliced
def asked_step(answers, question, system, reply_out, t, h, stepper):
    """Ask for a step of a method that is solved behind an address, into y_new; k[0] is the slope at the start.

    CLASSICAL, LEAP or STEPPING.  Returns a status.
    """
    reply_out.h[0] = h
    status = ask(answers, question, system, t, stepper.y, stepper.rows)
    for i in range(stepper.y.size):
        stepper.y_new[i] = stepper.k[1, i]
    return status


@spliced
def semi_implicit_step(answers, system, reply_out, h, stepper):
    """v+ = v + h a, then q+ = q (+) h v+ (structure-varying-1999, eq. (25)-(29)); see `inertial`."""
    return asked_step(answers, LEAP, system, reply_out, stepper.clock[T], h, stepper)


@spliced
def rattle_step(answers, system, reply_out, t, h, stepper):
    """Solve a variational step into y_new; k[0] is the slope at the start.  Returns a status."""
    n = stepper.y.size
    reply_out.h[0], reply_out.follows[0] = h, stepper.count[FOLLOWS]
    status = ask(answers, VARIATIONAL, system, t, stepper.y, stepper.rows)
    for i in range(n - 2):
        stepper.y_new[i] = stepper.k[1, i]
    for i in range(n - 2, n):
        stepper.y_new[i] = stepper.y[i]
    return status


@kernel
def straight(y, y_new, struck, dense_out):
    """Interpolate linearly within a time step with contacts; where bodies came together, the nearer end holds.

    Speeds before and after a collision have no mean that the bodies ever have, nor its energy.
    """
    for i in range(y.size):
        for m in range(8):
            dense_out[m, i] = 0.0
        dense_out[7 if struck else 0, i] = y_new[i] - y[i]


@kernel
def trapezoid(h, y, k, y_out):
    """Add the works of a step from their powers at both ends, k[0] and k[12]."""
    for i in range(y.size - 2, y.size):
        y_out[i] = y[i] + 0.5 * h * (k[0, i] + k[12, i])


@spliced
def radau_step(answers, system, reply_out, t, h, stepper):
    """Solve the stages, and make the step into y_new.  Returns (status, error in units of size)."""
    reply_out.h[0], reply_out.follows[0], reply_out.rtol[0] = h, stepper.count[FOLLOWS], stepper.clock[RTOL]
    status = ask(answers, RADAU, system, t, stepper.y, stepper.rows)
    stepper.count[FOLLOWS] = 0
    for i in range(stepper.y.size):
        stepper.y_new[i] = stepper.y[i] + stepper.k[3, i]
    return status, math.sqrt(reply_out.error[0])


@kernel
def radau_dense(y, y_new, k, dense_out):
    """Collocation polynomial, corrected to order four.

    Its slope at the start differs from the true one by the leading term of the error, whose shape inside
    the step is the integral of (x - c1)(x - c2)(x - 1); k[4] is that difference, filtered.
    """
    for i in range(y.size):
        d = y_new[i] - y[i]
        g1 = (k[1, i] / RADAU_1 - d) / (1.0 - RADAU_1)
        g2 = (k[2, i] / RADAU_2 - d) / (1.0 - RADAU_2)
        slope = (g2 - g1) / (RADAU_2 - RADAU_1)
        missing = -10.0 * RADAU_GAMMA * k[4, i]
        dense_out[0, i] = d
        dense_out[1, i] = g1 - RADAU_1 * slope - 0.1 * missing
        dense_out[2, i] = slope + 0.1 * missing
        dense_out[3, i] = 0.25 * missing
        dense_out[4, i] = dense_out[5, i] = dense_out[6, i] = 0.0
