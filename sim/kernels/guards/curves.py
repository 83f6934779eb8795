"""The path of the state through a step, as polynomials in Bernstein form.

A polynomial lies between the least and the largest of its Bernstein coefficients, and so does its derivative, whose
coefficients are differences of those: bounds over a span that need no samples (Farin, Curves and Surfaces for CAGD,
chapters 4 and 5).  The dense output of every method is of degree seven at most.
"""

from __future__ import annotations

import math

from sim.kernels.jit import kernel

DEGREE = 7
# Coefficient i of 1/C(7, i): terms t^p (1 - t)^r of the nested form are raised to degree seven.
CHOOSE_7 = (1.0, 7.0, 21.0, 35.0, 35.0, 21.0, 7.0, 1.0)
CHOOSE = (
    (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), (1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0), (1.0, 2.0, 1.0, 0.0, 0.0, 0.0, 0.0),
    (1.0, 3.0, 3.0, 1.0, 0.0, 0.0, 0.0), (1.0, 4.0, 6.0, 4.0, 1.0, 0.0, 0.0), (1.0, 5.0, 10.0, 10.0, 5.0, 1.0, 0.0),
    (1.0, 6.0, 15.0, 20.0, 15.0, 6.0, 1.0),
)  # fmt: skip


@kernel
def curve_of(y, dense, h, curve_out):
    """Bernstein coefficients of the state through a step of h [s], from its dense output, and of its rates.

    y: (n,) state at the start.  dense: (7, n), see `integrate.interpolate`.  curve_out: (15 n,): n numbers for each of
    the eight coefficients, then for each of the seven of the time derivative.
    """
    n = y.size
    for i in range(n):
        for k in range(DEGREE + 1):
            curve_out[k * n + i] = y[i]
    for m in range(DEGREE):
        p, rest = (m + 2) // 2, DEGREE - 1 - m  # the term is dense[m] t^p (1 - t)^(m + 1 - p)
        for j in range(rest + 1):
            weight = CHOOSE[rest][j] / CHOOSE_7[p + j]
            for i in range(n):
                curve_out[(p + j) * n + i] += weight * dense[m, i]
    for k in range(DEGREE * n):
        curve_out[(DEGREE + 1) * n + k] = DEGREE * (curve_out[n + k] - curve_out[k]) / h


@kernel
def restrict(curve, low, high, span_out):
    """Coefficients of the part between two fractions of the step, of the state and of its rates.

    Rates are cut as the state is, not found from its cut coefficients: in short spans their differences are roundoff.
    """
    n = curve.size // (2 * DEGREE + 1)
    for i in range(curve.size):
        span_out[i] = curve[i]
    cut(low, high, DEGREE, 0, n, span_out)
    cut(low, high, DEGREE - 1, (DEGREE + 1) * n, n, span_out)


@kernel
def cut(low, high, degree, first, n, span_out):
    """Cut n polynomials, whose coefficients begin at `first`, by de Casteljau's algorithm.

    Both ends are cut off by convex combinations, so that bounds stay bounds.
    """
    for r in range(1, degree + 1 if high < 1.0 else 0):
        for k in range(degree, r - 1, -1):
            for i in range(first + k * n, first + (k + 1) * n):
                span_out[i] = (1.0 - high) * span_out[i - n] + high * span_out[i]
    # Coefficients are now those of the part before `high`: what is left is to cut off what comes before `low`.
    u = low / high
    for r in range(1, degree + 1 if low > 0.0 else 0):
        for k in range(degree + 1 - r):
            for i in range(first + k * n, first + (k + 1) * n):
                span_out[i] = (1.0 - u) * span_out[i] + u * span_out[i + n]


@kernel
def shares_at(at):
    """Return how much each coefficient counts at a fraction of the span: of the state (8), and of its rates (7)."""
    c = 1.0 - at
    a2, c2 = at * at, c * c
    a3, c3 = at * a2, c * c2
    a4, c4 = a2 * a2, c2 * c2
    a5, c5, a6, c6 = at * a4, c * c4, a3 * a3, c3 * c3
    of_state = (
        c * c6, 7.0 * at * c6, 21.0 * a2 * c5, 35.0 * a3 * c4, 35.0 * a4 * c3, 21.0 * a5 * c2, 7.0 * a6 * c, at * a6
    )  # fmt: skip
    return of_state, (c6, 6.0 * at * c5, 15.0 * a2 * c4, 20.0 * a3 * c3, 15.0 * a4 * c2, 6.0 * a5 * c, a6)


@kernel
def on_curve(span, n, i, of_state):
    """Value of component i, of n, at a fraction of the span; see `shares_at`."""
    s = 0.0
    for k in range(DEGREE + 1):
        s += of_state[k] * span[k * n + i]
    return s


@kernel
def rate_between(span, n, i, k):
    """Coefficient k of the time derivative of component i, of n."""
    return span[(DEGREE + 1 + k) * n + i]


@kernel
def rate_on_curve(span, n, i, of_rate):
    """Time derivative of component i, of n, at a fraction of the span; see `shares_at`."""
    s = 0.0
    for k in range(DEGREE):
        s += of_rate[k] * rate_between(span, n, i, k)
    return s


@kernel
def range_on_curve(span, n, i):
    """Least and largest coefficient of component i, of n, between which it stays."""
    low, high = math.inf, -math.inf
    for k in range(DEGREE + 1):
        low, high = min(low, span[k * n + i]), max(high, span[k * n + i])
    return low, high


@kernel
def rates_on_curve(span, n, i):
    """Bounds of the time derivative of component i, of n."""
    low, high = math.inf, -math.inf
    for k in range(DEGREE):
        rate = rate_between(span, n, i, k)
        low, high = min(low, rate), max(high, rate)
    return low, high
