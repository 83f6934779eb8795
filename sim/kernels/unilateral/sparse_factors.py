"""Sparse factors of the matrix of a contact problem, whose pattern is symmetric, though its numbers are not.

A press joins all places that it reaches: their square is filled.  Eliminating place j fills the square of what column j
holds below it, which is handed on to the first place there (George and Liu, Computer Solution of Large Sparse Positive
Definite Systems, 1981; the squares of presses are what elements are there).  What column j holds, and row j, is kept as
runs of places that follow each other; where there would be too many, or they stand near, runs are made one, with zeros
between them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sim.kernels.jit import inlined, kernel

RUNS, GAP = 12, 3  # runs of a column at most; places between two that are made one
LEAST_PIVOT = 1e-6  # beside 1


class Pattern(NamedTuple):
    """What columns hold; m places at most.

    runs : (m, 2 RUNS) first and one-past-last places
    count, press, child, sibling, mark : (m,) runs of a column; a press whose first place that is, or -1; a column that
        hands on to it, or -1; the next of those that hand on to the same; by which column a place was marked last
    next : (room,) the next press with the same first place, or -1
    """

    runs: Any
    count: Any
    press: Any
    child: Any
    sibling: Any
    mark: Any
    next: Any


@kernel
def shape_pattern(pattern_work, chosen, count, reaches, at, size):
    """Find what each of `size` columns holds.

    chosen: `count` presses; reaches: (room,) how many places each has; at: (room, width) these.  Returns the operations
    of factorising.
    """
    for j in range(size):
        pattern_work.press[j] = pattern_work.child[j] = pattern_work.mark[j] = -1
    for n in range(count):
        k = chosen[n]
        if reaches[k] > 0:
            least = at[k, 0]
            for i in range(1, reaches[k]):
                least = min(least, at[k, i])
            pattern_work.next[k] = pattern_work.press[least]
            pattern_work.press[least] = k
    cost = 0.0
    for j in range(size):
        last = mark_column(pattern_work, reaches, at, j)
        held = 0
        runs = 0
        for p in range(j + 1, last + 1):
            if pattern_work.mark[p] == j:
                if runs > 0 and (p - pattern_work.runs[j, 2 * runs - 1] <= GAP or runs == RUNS):
                    held += p + 1 - pattern_work.runs[j, 2 * runs - 1]
                else:
                    pattern_work.runs[j, 2 * runs] = p
                    runs += 1
                    held += 1
                pattern_work.runs[j, 2 * runs - 1] = p + 1
        pattern_work.count[j] = runs
        if runs > 0:
            above = pattern_work.runs[j, 0]
            pattern_work.sibling[j] = pattern_work.child[above]
            pattern_work.child[above] = j
        cost += 2.0 * held * held
    return cost


@inlined
def mark_column(pattern_work, reaches, at, j):
    """Mark what column j holds; returns the last of it."""
    last, k, c = j, pattern_work.press[j], pattern_work.child[j]
    while k >= 0:
        for i in range(reaches[k]):
            pattern_work.mark[at[k, i]] = j
            last = max(last, at[k, i])
        k = pattern_work.next[k]
    while c >= 0:
        for r in range(pattern_work.count[c]):
            for p in range(pattern_work.runs[c, 2 * r], pattern_work.runs[c, 2 * r + 1]):
                pattern_work.mark[p] = j
            last = max(last, pattern_work.runs[c, 2 * r + 1] - 1)
        c = pattern_work.sibling[c]
    return last


@kernel
def clear_pattern(size, runs, count, matrix_out):
    """Put zeros wherever factors may stand."""
    for j in range(size):
        for r in range(count[j]):
            for m in range(runs[j, 2 * r], runs[j, 2 * r + 1]):
                matrix_out[j * size + m] = matrix_out[m * size + j] = 0.0


@kernel
def factorise_sparse(size, runs, count, matrix_out):
    """L U in place, rows of `size`, L with a unit diagonal, no exchanges; of U's diagonal the reciprocals.

    False for a bad pivot.
    """
    for j in range(size):
        row = j * size
        if not abs(matrix_out[row + j]) > LEAST_PIVOT:  # friction makes it unsymmetric: a pivot may be negative
            return False
        matrix_out[row + j] = 1.0 / matrix_out[row + j]
        for r in range(count[j]):
            for i in range(runs[j, 2 * r], runs[j, 2 * r + 1]):
                below = i * size
                f = matrix_out[below + j] * matrix_out[row + j]
                matrix_out[below + j] = f
                if f != 0.0:
                    for q in range(count[j]):
                        for m in range(runs[j, 2 * q], runs[j, 2 * q + 1]):
                            matrix_out[below + m] -= f * matrix_out[row + m]
    return True


@kernel
def solve_sparse(size, first, runs, count, matrix, x_out):
    """x_out <- (L U)^-1 x_out; first: (size,) where each row begins."""
    for i in range(size):
        s, row = x_out[i], i * size
        for m in range(first[i], i):
            s -= matrix[row + m] * x_out[m]
        x_out[i] = s
    for j in range(size - 1, -1, -1):
        s, row = x_out[j], j * size
        for r in range(count[j]):
            for m in range(runs[j, 2 * r], runs[j, 2 * r + 1]):
                s -= matrix[row + m] * x_out[m]
        x_out[j] = s * matrix[row + j]


__all__ = ["RUNS", "Pattern", "clear_pattern", "factorise_sparse", "shape_pattern", "solve_sparse"]
