"""Impulses of contacts that are not unique: who has them, and of all that move the same, those of least norm.

As `sim.contact.not_unique`, which says the same in plain Python.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from sim.kernels.jit import driver, kernel
from sim.kernels.orthogonal import factorise_orthogonal, put_null_vector, put_range_vector, solve_least
from sim.kernels.unilateral.mode_law import (
    OPENED,
    SLIPPING,
    across_of,
    choose_unknowns,
    entry_of,
    look_at_law,
    rates_of,
)
from sim.kernels.unilateral.relaxation import SOLVED, copy_points, name_modes

# Singular values below this share of the largest count as none, and components of null vectors below FELT.
CUT, FELT = 1e-10, 1e-8
# Newton's iteration for the nearest point of the cones: steps, what is left, the regularisation at most.
STEPS, NEAR, STIFFER = 60, 1e-14, 1e-3
ROUNDOFF = 2.2e-16
LOST = 1e-15  # of a value: what roundoff hides of its fall, where steps are short


class Answer(NamedTuple):
    """What is found of k points, and room for it."""

    P_work: Any  # (k, 3) impulses
    z_work: Any  # (k, 3) rates with the shift
    mode_work: Any  # (k,) i8
    d_work: Any  # (k, 2)
    chosen_work: Any  # (k,) i8: the impulse is not unique
    trust_work: Any  # (2,) the residual; 1: no other sharing moves differently
    basis_work: Any  # (3k, 3k) rows: null vectors, or those that columns are made of
    C_work: Any  # (3k, 3k) scratch
    x_work: Any  # (k, 3)
    y_work: Any  # (4, 3k)
    slope_work: Any  # (k, 3, 3)


@driver
def conclude(problem, P, merit, modes, unknowns, answer):
    """Name the modes of impulses (k, 3) with a residual, share what is redundant, and measure."""
    P_work, z_work, trust_work = answer.P_work, answer.z_work, answer.trust_work
    copy_points(P, P_work)
    rates_of(problem, P_work, z_work)
    name_modes(problem, P_work, z_work, answer.mode_work, answer.d_work)
    trust_work[0] = look_at_law(problem, P_work, z_work, modes)
    if share_least(problem, modes, unknowns, answer):
        rates_of(problem, answer.x_work, z_work)
        shared = look_at_law(problem, answer.x_work, z_work, modes)
        if shared <= max(SOLVED, merit):
            copy_points(answer.x_work, P_work)
            trust_work[0] = shared
        rates_of(problem, P_work, z_work)  # they are those of impulses that are not taken, or the same once more


@driver
def share_least(problem, modes, unknowns, answer):
    """Fill x_work with the impulses of least norm of the same rates, where they are not unique; tells whether."""
    G, along, place = problem.G, unknowns.along_work, unknowns.place_work
    chosen_work, basis_work, trust_work, factors = (
        answer.chosen_work, answer.basis_work, answer.trust_work, unknowns.factors,
    )  # fmt: skip
    trust_work[1] = 1.0
    for k in range(chosen_work.size):
        chosen_work[k] = 0
    take_modes(answer.mode_work, answer.d_work, modes)
    count = choose_unknowns(problem, modes, unknowns)
    for r in range(count):
        for c in range(count):
            factors.a_work[r, c] = entry_of(G, unknowns.across_work, along, place[r], place[c])
    rank = factorise_orthogonal(count, count, CUT, factors)
    nulls = count - rank
    if nulls == 0:
        return False
    for n in range(nulls):
        put_null_vector(n, count, rank, factors, basis_work)
        for c in range(count):
            if abs(basis_work[n, c]) > FELT:
                chosen_work[place[c] // 3] = 1
    rows = put_columns(G, along, place, count, answer.C_work)
    trust_work[1] = 1.0 if moves_nothing(answer.C_work, basis_work, rows, count, nulls) else 0.0
    for k in range(problem.least.size):
        if problem.least[k] != 0.0:
            return False
    return nearest_on_cones(problem, unknowns, count, rows, answer)


@kernel
def take_modes(mode, d, modes):
    """Take the modes of an answer, whose directions of slip are fixed."""
    closed_work, slips_work, d_work = modes.closed_work, modes.slips_work, modes.d_work
    resistance_work = modes.resistance_work
    for k in range(mode.size):
        closed_work[k], slips_work[k] = int(mode[k] != OPENED), int(mode[k] == SLIPPING)
        d_work[k, 0], d_work[k, 1], resistance_work[k] = d[k, 0], d[k, 1], math.inf


@kernel
def put_columns(G, along, place, count, C_out):
    """Put what each unknown does to all rates into a column of C; returns how many rows there are."""
    rows = G.shape[0]
    for c in range(count):
        m, j = place[c] // 3, place[c] % 3
        for r in range(rows):
            C_out[r, c] = (
                G[r, 3 * m] * along[m, 0, j] + G[r, 3 * m + 1] * along[m, 1, j] + G[r, 3 * m + 2] * along[m, 2, j]
            )
    return rows


@kernel
def moves_nothing(C, basis, rows, count, nulls):
    """Tell whether no null vector changes any rate."""
    most = largest = 0.0
    for r in range(rows):
        for n in range(nulls):
            s = 0.0
            for c in range(count):
                s += C[r, c] * basis[n, c]
            most = max(most, abs(s))
        for c in range(count):
            largest = max(largest, abs(C[r, c]))
    return most <= FELT * largest


@driver
def nearest_on_cones(problem, unknowns, count, rows, answer):
    """Minimise |c|^2 / 2 over c in the cones with columns c = columns c0, into x_work; tells whether that was found.

    By Newton's method on the multipliers y of the latter: c = Proj(B^T y), B an orthonormal basis of the rows of the
    columns, with B c = B c0.
    """
    B_work, y_work, x_work, factors = answer.basis_work, answer.y_work, answer.x_work, unknowns.factors
    along, place, slips = unknowns.along_work, unknowns.place_work, answer.mode_work
    size = 0.0
    for c in range(count):
        y_work[0, c] = across_of(along, answer.P_work, place[c])
        size = max(size, abs(y_work[0, c]))
    if size == 0.0:
        return False
    for r in range(rows):
        for c in range(count):
            factors.a_work[c, r] = answer.C_work[r, c]
    rank = factorise_orthogonal(count, rows, CUT, factors)
    for n in range(rank):
        put_range_vector(n, count, factors, B_work)
    for n in range(rank):
        b = 0.0
        for c in range(count):
            b += B_work[n, c] * y_work[0, c] / size
        y_work[1, n] = y_work[2, n] = b  # b, and y
    off = miss(problem.mu, slips, place, count, rank, y_work[2], answer)
    for _ in range(STEPS):
        if off <= NEAR:
            break
        step_nearer(problem.mu, slips, place, count, rank, min(STIFFER, STIFFER * off), factors, answer)
        off = miss(problem.mu, slips, place, count, rank, y_work[2], answer)
    if not off <= 1e3 * NEAR:
        return False
    spread = answer.C_work
    for c in range(count):
        spread[0, c] = x_work[place[c] // 3, place[c] % 3] * size
    for k in range(x_work.shape[0]):
        for i in range(3):
            x_work[k, i] = 0.0
    for c in range(count):
        k, j = place[c] // 3, place[c] % 3
        for i in range(3):
            x_work[k, i] += along[k, i, j] * spread[0, c]
    return True


@kernel
def miss(mu, mode, place, count, rank, y, answer):
    """Fill x_work with Proj(B^T y) and row 0 of y_work with B x - b; returns the largest of it."""
    B, x_work, y_work, slope_work = answer.basis_work, answer.x_work, answer.y_work, answer.slope_work
    for k in range(x_work.shape[0]):
        for i in range(3):
            x_work[k, i] = 0.0
    for c in range(count):
        s = 0.0
        for n in range(rank):
            s += B[n, c] * y[n]
        x_work[place[c] // 3, place[c] % 3] = s
    for k in range(x_work.shape[0]):
        project_on_cone(k, mode[k] == SLIPPING, mu[k], x_work, slope_work)
    worst = 0.0
    for n in range(rank):
        s = -y_work[1, n]
        for c in range(count):
            s += B[n, c] * x_work[place[c] // 3, place[c] % 3]
        y_work[0, n] = s
        worst = max(worst, abs(s))
    return worst


@kernel
def project_on_cone(k, slips, mu, x_out, slope_out):
    """Project x of point k on its cone, of one that slips on positive numbers, and fill the derivative."""
    n, x, y = x_out[k, 0], x_out[k, 1], x_out[k, 2]
    for i in range(3):
        for j in range(3):
            slope_out[k, i, j] = 0.0
    if slips:
        for i in range(3):
            if x_out[k, i] > 0.0:
                slope_out[k, i, i] = 1.0
            else:
                x_out[k, i] = 0.0
        return
    size = math.sqrt(x * x + y * y)
    if size <= mu * n:
        for i in range(3):
            slope_out[k, i, i] = 1.0
        return
    if mu * size <= -n:
        for i in range(3):
            x_out[k, i] = 0.0
        return
    ex, ey = x / size, y / size
    height = (n + mu * size) / (1.0 + mu * mu)
    bend, flat = mu * height / size, 1.0 + mu * mu
    slope_out[k, 0, 0] = 1.0 / flat
    slope_out[k, 0, 1] = slope_out[k, 1, 0] = mu * ex / flat
    slope_out[k, 0, 2] = slope_out[k, 2, 0] = mu * ey / flat
    slope_out[k, 1, 1] = mu * mu * ex * ex / flat + bend * ey * ey
    slope_out[k, 1, 2] = slope_out[k, 2, 1] = mu * mu * ex * ey / flat - bend * ex * ey
    slope_out[k, 2, 2] = mu * mu * ey * ey / flat + bend * ex * ex
    x_out[k, 0], x_out[k, 1], x_out[k, 2] = height, mu * height * ex, mu * height * ey


@driver
def step_nearer(mu, mode, place, count, rank, stiffer, factors, answer):
    """Make a step of Newton's method for y, which stands in row 2 of y_work, as long as it leads down."""
    B, slope, y_work = answer.basis_work, answer.slope_work, answer.y_work
    a_work, x_work = factors.a_work, factors.x_work
    for n in range(rank):
        for m in range(rank):
            s = stiffer if n == m else 0.0
            for c in range(count):
                k, i = place[c] // 3, place[c] % 3
                for e in range(max(0, c - 2), min(count, c + 3)):
                    if place[e] // 3 == k:
                        s += B[n, c] * slope[k, i, place[e] % 3] * B[m, e]
            a_work[n, m] = s
        x_work[n] = -y_work[0, n]
    fallen = factorise_orthogonal(rank, rank, ROUNDOFF * rank, factors)
    solve_least(rank, rank, fallen, factors)
    before, fall = lagrangian(rank, y_work[2], answer), 0.0
    for n in range(rank):
        fall += y_work[0, n] * x_work[n]
        y_work[3, n], answer.C_work[1, n] = x_work[n], y_work[2, n]
    length, bar = 1.0, before + LOST * abs(before)
    while True:
        for n in range(rank):
            y_work[2, n] = answer.C_work[1, n] + length * y_work[3, n]
        miss(mu, mode, place, count, rank, y_work[2], answer)
        if not (length > 1e-6 and lagrangian(rank, y_work[2], answer) > bar + 1e-4 * length * fall):
            break
        length *= 0.5


@kernel
def lagrangian(rank, y, answer):
    """Return |c|^2 / 2 - b y of the c that `miss` has left."""
    x, b, out = answer.x_work, answer.y_work[1], 0.0
    for k in range(x.shape[0]):
        for i in range(3):
            out += 0.5 * x[k, i] * x[k, i]
    for n in range(rank):
        out -= b[n] * y[n]
    return out
