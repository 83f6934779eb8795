"""A contact problem as it is stated: what all solvers ask of it, found once; and in which direction points slide on."""

from __future__ import annotations

import math

from sim.kernels.jit import kernel, python_kernel
from sim.kernels.rows.touches import CLEAR, FAST, STILL

# m/s: slip that goes on; below it, roundoff would tell.
FORWARD = 5e-9
# Stands for a rate where nothing moves at all.
SMALLEST = 1e-300


@python_kernel
def state_problem(numbers, sliding, scale, free3_out, trace_out, given_out):
    """Fill z without impulses, mobilities and which directions are given; see `sim.contact.contact_problem`.

    numbers: G (3k, 3k), free (3k,), shift, mu and least (k,).  Returns what rates are measured by, -1: some of these
    are not finite, or negative where they may not be.
    """
    G, free, shift, mu, least = numbers
    largest = 0.0
    for k in range(mu.size):
        if not (is_allowed(mu[k]) and is_allowed(least[k]) and math.isfinite(shift[k])):
            return -1.0
        trace = 0.0
        for i in range(3):
            if not (math.isfinite(free[3 * k + i]) and is_finite_row(G, 3 * k + i)):
                return -1.0
            trace += G[3 * k + i, 3 * k + i]
            free3_out[k, i] = free[3 * k + i] + (shift[k] if i == 0 else 0.0)
            largest = max(largest, abs(free3_out[k, i]))
        largest = max(largest, abs(shift[k]))
        trace_out[k] = trace if trace > 0.0 else 1.0
        given_out[k] = int(sliding[k, 0] * sliding[k, 0] + sliding[k, 1] * sliding[k, 1] > 0.5)
    return max(scale if scale != 0.0 else largest, SMALLEST)


@kernel
def is_allowed(x):
    """Tell whether a number is finite and not negative."""
    return math.isfinite(x) and x >= 0.0


@kernel
def is_finite_row(G, r):
    """Tell whether all numbers of a row are finite."""
    finite = True
    for c in range(G.shape[1]):
        finite = finite and math.isfinite(G[r, c])
    return finite


@python_kernel
def slide_on(u, start, crept, way_out, creeps_out):
    """Fill the directions (k, 2) of points that slide on as they did, zero of others, and which of them creep on.

    u: (3k,) rates; start: (k, 2) directions in which they slid, zero of others; crept: (k,) 1 where they crept.
    """
    for k in range(crept.size):
        x, y, s0, s1 = u[3 * k + 1], u[3 * k + 2], start[k, 0], start[k, 1]
        speed, forward = math.sqrt(x * x + y * y), s0 * x + s1 * y > FORWARD
        creeps_out[k] = int(crept[k] == 1 and forward and speed < FAST)
        way_out[k, 0] = way_out[k, 1] = 0.0
        if creeps_out[k]:
            x, y = s0, s1
        else:  # as `sim.kernels.rows.touches` has it
            still = STILL * max(1.0 - speed / CLEAR, 0.0) ** 2
            x, y = x + still * s0, y + still * s1
        if forward:
            size = math.sqrt(x * x + y * y)
            way_out[k, 0], way_out[k, 1] = x / size, y / size
