"""Forces of contacts that are not unique, well inside their cones where any are: the analytic centre.

As `sim.contact.analytic_centre`, which says the same in plain Python, and what the numbers mean.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from sim.kernels.jit import driver, kernel
from sim.kernels.orthogonal import factorise_orthogonal, put_null_vector, put_range_vector, solve_least
from sim.kernels.unilateral.least_norm import CUT, FELT, ROUNDOFF, take_modes
from sim.kernels.unilateral.mode_law import (
    OPENED,
    SLIPPING,
    STUCK,
    across_of,
    choose_unknowns,
    entry_of,
    look_at_law,
    rates_of,
)
from sim.kernels.unilateral.relaxation import copy_points, largest

NORM = 10.0
REACHES, BORDER, TOUCHED, ENOUGH, LAWFUL = 8, 1e-6, 1e-9, 0.1, 1e-9
STEPS, NEAR, SHORTEST = 40, 1e-9, 1e-9


class Centre(NamedTuple):
    """What is found of k points, and room for it."""

    P_work: Any  # (k, 3) forces
    chosen_work: Any  # (k,) i8: the force is not unique
    room_work: Any  # (k,) N
    bound_work: Any  # (k,) i8: the point has no room
    told_work: Any  # (2,) 1: the forces are those of least norm; N, up to which forces without room are none
    mode_work: Any  # (k,) i8
    d_work: Any  # (k, 2)
    null_work: Any  # (3k, 3k) rows: unknowns, by place, that change no rate which the law fixes
    free_work: Any  # (3k, 3k) and of these, what leaves points without room as they are
    x_work: Any  # (k, 3) unknowns
    in_work: Any  # (k, 3)
    try_work: Any  # (k, 3)
    roomy_work: Any  # (k,) i8
    step_work: Any  # (3k,)


@driver
def find_centre(problem, P, modes, unknowns, centre):
    """Fill forces that keep the law as P (k, 3) do in modes of the centre, and have room in their cones if any have."""
    chosen_work, room_work, bound_work, told_work = (
        centre.chosen_work, centre.room_work, centre.bound_work, centre.told_work,
    )  # fmt: skip
    x_work, in_work, along = centre.x_work, centre.in_work, unknowns.along_work
    k, mode = problem.mu.size, centre.mode_work
    take_modes(mode, centre.d_work, modes)
    count = choose_unknowns(problem, modes, unknowns)
    size, nulls = largest(P), put_null_space(problem, count, unknowns, centre)
    copy_points(P, centre.P_work)
    for i in range(k):
        for c in range(3):
            x_work[i, c] = across_of(along, P, 3 * i + c) if unknowns.taken_work[3 * i + c] else 0.0
        chosen_work[i] = 0
        for n in range(nulls):
            for c in range(3):
                if abs(centre.null_work[n, 3 * i + c]) > FELT:
                    chosen_work[i] = 1
    told_work[0], told_work[1] = 1.0, 0.0
    if size == 0.0 or nulls == 0:
        for i in range(k):
            room_work[i] = room_of(problem.mu, mode, i, x_work) if mode[i] != OPENED else 0.0
            bound_work[i] = int(room_work[i] <= TOUCHED * size)
        return
    for i in range(k):
        for c in range(3):
            x_work[i, c] /= size
    find_room(problem.mu, nulls, unknowns.factors, centre)
    frees = free_the_others(nulls, unknowns.factors, centre)
    if frees > 0 and in_cones(problem.mu, mode, in_work, 0.0, centre.roomy_work):
        go_to_centre(problem.mu, 0.0, centre.roomy_work, centre.free_work, frees, unknowns.factors, centre)
    kept = keep_least_norm(problem.mu, frees, centre)
    put_forces(along, size, in_work, centre.P_work)
    rates_of(problem, centre.P_work, unknowns.z_work)
    if look_at_law(problem, centre.P_work, unknowns.z_work, modes) > LAWFUL:  # points that leave would be pressed
        copy_points(P, centre.P_work)
        copy_points(x_work, in_work)
        kept = False
    for i in range(k):
        room_work[i] = size * room_of(problem.mu, mode, i, in_work) if mode[i] != OPENED else 0.0
        if not chosen_work[i]:
            bound_work[i] = int(room_work[i] <= TOUCHED * size)
        elif bound_work[i]:
            kept = False
    told_work[0], told_work[1] = 1.0 if kept else 0.0, BORDER * size


@kernel
def put_forces(along, size, x, P_out):
    """Fill forces (k, 3) from unknowns in shares of `size`."""
    for k in range(P_out.shape[0]):
        for i in range(3):
            P_out[k, i] = size * (along[k, i, 0] * x[k, 0] + along[k, i, 1] * x[k, 1] + along[k, i, 2] * x[k, 2])


@driver
def put_null_space(problem, count, unknowns, centre):
    """Fill orthonormal unknowns that change no rate which the law fixes; returns their number."""
    place, factors, mode, null_work = unknowns.place_work, unknowns.factors, centre.mode_work, centre.null_work
    a_work, trace, fixed = factors.a_work, problem.trace, 0
    for row in range(3 * mode.size):
        k, i = row // 3, row % 3
        holds = mode[k] == STUCK or (mode[k] == SLIPPING and (i == 0 or (i == 1 and problem.given[k] == 0)))
        if holds:
            for c in range(count):
                entry = entry_of(problem.G, unknowns.across_work, unknowns.along_work, row, place[c])
                a_work[fixed, c] = entry / math.sqrt(trace[k] * trace[place[c] // 3])
            fixed += 1
    rank = factorise_orthogonal(fixed, count, CUT, factors)
    nulls = count - rank
    for n in range(nulls):
        put_null_vector(n, count, rank, factors, null_work)
    for n in range(nulls):
        for c in range(count):
            a_work[c, n] = null_work[n, c] / math.sqrt(trace[place[c] // 3])
    factorise_orthogonal(count, nulls, 0.0, factors)
    for n in range(nulls):
        put_range_vector(n, count, factors, centre.free_work)
        for j in range(3 * mode.size):
            null_work[n, j] = 0.0
        for c in range(count):
            null_work[n, place[c]] = centre.free_work[n, c]
    return nulls


@kernel
def room_of(mu, mode, k, x):
    """Return how far point k is inside its cone, negative outside; of one that slips its first unknown."""
    if mode[k] == SLIPPING:
        return x[k, 0]
    return mu[k] * x[k, 0] - math.sqrt(x[k, 1] * x[k, 1] + x[k, 2] * x[k, 2])


@kernel
def slack_of(mu, mode, k, x, reach):
    """Return what the logarithm is taken of at point k, whose cone reaches out; -1 outside."""
    n = x[k, 0] + reach
    if not n > 0.0:
        return -1.0
    if mode[k] == SLIPPING:
        return n
    return mu[k] * mu[k] * n * n - x[k, 1] * x[k, 1] - x[k, 2] * x[k, 2]


@kernel
def in_cones(mu, mode, x, reach, which):
    """Tell whether some points are inside their cones, which reach out so far."""
    outside = 0
    for k in range(mu.size):
        if which[k] and not slack_of(mu, mode, k, x, reach) > 0.0:
            outside += 1
    return outside == 0


@driver
def find_room(mu, nulls, factors, centre):
    """Go from x well inside the cones of points whose forces are not unique, and mark those without room."""
    x, in_work, bound_work, roomy_work, mode = (
        centre.x_work, centre.in_work, centre.bound_work, centre.roomy_work, centre.mode_work,
    )  # fmt: skip
    copy_points(x, in_work)
    inside = True
    for r in range(REACHES):
        reach = 0.1**r
        for _ in range(STEPS):
            inside = in_cones(mu, mode, in_work, reach, centre.chosen_work)
            if inside:
                break
            for k in range(mu.size):
                for i in range(3):
                    in_work[k, i] = 0.5 * (in_work[k, i] + x[k, i])
        if not inside:  # x is too far outside
            copy_points(x, in_work)
            break
        go_to_centre(mu, reach, centre.chosen_work, centre.null_work, nulls, factors, centre)
    for k in range(mu.size):
        bound_work[k] = int(centre.chosen_work[k] == 1 and room_of(mu, mode, k, in_work) < BORDER)
        roomy_work[k] = int(centre.chosen_work[k] == 1 and bound_work[k] == 0)


@kernel
def free_the_others(nulls, factors, centre):
    """Let points without room go back to where they were, and fill what leaves them there; returns the number of it."""
    null, free_work, x, in_work, bound = (
        centre.null_work, centre.free_work, centre.x_work, centre.in_work, centre.bound_work,
    )  # fmt: skip
    a_work, x_work, rows = factors.a_work, factors.x_work, 0
    for k in range(bound.size):
        if bound[k]:
            for i in range(3):
                for n in range(nulls):
                    a_work[rows, n] = null[n, 3 * k + i]
                x_work[rows] = x[k, i] - in_work[k, i]
                rows += 1
    if rows == 0:
        for n in range(nulls):
            for j in range(3 * bound.size):
                free_work[n, j] = null[n, j]
        return nulls
    rank = factorise_orthogonal(rows, nulls, CUT, factors)
    solve_least(rows, nulls, rank, factors)
    add_along(null, nulls, 1.0, x_work, in_work)
    step_work = centre.step_work
    for f in range(nulls - rank):
        put_null_vector(f, nulls, rank, factors, free_work)
        for n in range(nulls):
            step_work[n] = free_work[f, n]
        for j in range(3 * bound.size):
            s = 0.0
            for n in range(nulls):
                s += step_work[n] * null[n, j]
            free_work[f, j] = s
    return nulls - rank


@kernel
def add_along(basis, count, length, y, x_out):
    """x <- x + length * (basis^T y)."""
    for k in range(x_out.shape[0]):
        for i in range(3):
            for n in range(count):
                x_out[k, i] += length * basis[n, 3 * k + i] * y[n]


@driver
def go_to_centre(mu, reach, held, basis, count, factors, centre):
    """Let `in` be the point that keeps those that are held best inside cones that reach out, along a basis."""
    in_work, try_work, step_work, a_work, x_work = (
        centre.in_work, centre.try_work, centre.step_work, factors.a_work, factors.x_work,
    )  # fmt: skip
    mode = centre.mode_work
    now = barrier(mu, mode, in_work, reach, held)
    for _ in range(STEPS):
        put_newton(mu, mode, reach, held, basis, count, in_work, a_work, x_work)
        for n in range(count):
            x_work[n] = -x_work[n]
            step_work[n] = x_work[n]
        rank, fall = factorise_orthogonal(count, count, ROUNDOFF * count, factors), 0.0
        solve_least(count, count, rank, factors)
        for n in range(count):
            fall -= step_work[n] * x_work[n]
            step_work[n] = x_work[n]
        if -fall < NEAR:
            break
        length = 1.0
        while length > SHORTEST:
            copy_points(in_work, try_work)
            add_along(basis, count, length, step_work, try_work)
            if barrier(mu, mode, try_work, reach, held) <= now + 0.1 * length * fall:
                break
            length *= 0.5
        if length <= SHORTEST:
            break
        copy_points(try_work, in_work)
        now = barrier(mu, mode, in_work, reach, held)


@kernel
def barrier(mu, mode, x, reach, held):
    """Return NORM |x|^2 / 2 - sum log(slack)."""
    out = 0.0
    for k in range(mu.size):
        for i in range(3):
            out += 0.5 * NORM * x[k, i] * x[k, i]
        if held[k]:
            slack = slack_of(mu, mode, k, x, reach)
            if not slack > 0.0:
                return math.inf
            out -= math.log(slack)
    return out


@kernel
def put_newton(mu, mode, reach, held, basis, count, x, a_out, pull_out):
    """Fill the second derivatives of the barrier along a basis, and its first."""
    points = mu.size
    for n in range(count):
        s = 0.0
        for k in range(points):
            for i in range(3):
                s += basis[n, 3 * k + i] * x[k, i]
        pull_out[n] = NORM * s
        for m in range(count):
            s = 0.0
            for j in range(3 * points):
                s += basis[n, j] * basis[m, j]
            a_out[n, m] = NORM * s
    for k in range(points):
        if held[k]:
            add_barrier(k, mu[k], mode[k] == SLIPPING, reach, basis, count, x, a_out, pull_out)


@kernel
def add_barrier(k, mu, lone, reach, basis, count, x, a_out, pull_out):
    """Add what the logarithm of one point's slack gives."""
    c0, c1 = (0.0, 0.0) if lone else (2.0 * mu * mu, -2.0)
    x0, x1, x2 = x[k, 0] + reach, x[k, 1], x[k, 2]
    value = x0 if lone else 0.5 * (c0 * x0 * x0 + c1 * x1 * x1 + c1 * x2 * x2)
    s0, s1, s2 = (1.0 if lone else c0 * x0) / value, c1 * x1 / value, c1 * x2 / value
    for n in range(count):
        n0, n1, n2 = basis[n, 3 * k], basis[n, 3 * k + 1], basis[n, 3 * k + 2]
        along = s0 * n0 + s1 * n1 + s2 * n2
        pull_out[n] -= along
        for m in range(count):
            m0, m1, m2 = basis[m, 3 * k], basis[m, 3 * k + 1], basis[m, 3 * k + 2]
            other = s0 * m0 + s1 * m1 + s2 * m2
            a_out[n, m] += along * other - (c0 * n0 * m0 + c1 * n1 * m1 + c1 * n2 * m2) / value


@kernel
def keep_least_norm(mu, frees, centre):
    """Take the least norm where that leaves points enough of their room; tells whether it does."""
    free, in_work, try_work, step_work, mode = (
        centre.free_work, centre.in_work, centre.try_work, centre.step_work, centre.mode_work,
    )  # fmt: skip
    for n in range(frees):
        s = 0.0
        for k in range(mu.size):
            for i in range(3):
                s += free[n, 3 * k + i] * in_work[k, i]
        step_work[n] = s
    copy_points(in_work, try_work)
    add_along(free, frees, -1.0, step_work, try_work)
    for k in range(mu.size):
        if centre.roomy_work[k] and not (room_of(mu, mode, k, try_work) >= ENOUGH * room_of(mu, mode, k, in_work)):
            return False
    copy_points(try_work, in_work)
    return True
