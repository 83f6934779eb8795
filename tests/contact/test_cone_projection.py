"""Projection onto the cone of friction: its slope against differences of the closed form."""

from __future__ import annotations

import numpy as np
import pytest

from sim.contact.not_unique import _slope

pytestmark = [pytest.mark.contact, pytest.mark.fast]


def onto_cone(x: np.ndarray, mu: float) -> np.ndarray:
    """The nearest point to x of {(n, t): |t| <= mu n}: itself, the apex, or one on the edge."""
    size = float(np.linalg.norm(x[1:]))
    if size <= mu * x[0]:
        return x
    if mu * size <= -x[0]:
        return np.zeros(3)
    edge = np.array([1.0, *(mu * x[1:] / size)])
    return edge * (x @ edge) / (edge @ edge)


@pytest.mark.parametrize("mu", [0.2, 1.5])
def test_the_slope_is_that_of_the_projection(mu: float) -> None:
    rng, kinds = np.random.default_rng(4), set()
    x = rng.normal(size=(40, 3)) * [1.0, 0.6, 0.6] + [0.2, 0.0, 0.0]
    k, h = len(x), 1e-6
    found = _slope(np.full(k, mu), np.zeros(k, bool), x, np.ones(3 * k, bool))
    for i in range(k):
        steps = h * np.eye(3)
        expected = np.column_stack([(onto_cone(x[i] + s, mu) - onto_cone(x[i] - s, mu)) / (2.0 * h) for s in steps])
        own = slice(3 * i, 3 * i + 3)
        assert found[own, own] == pytest.approx(expected, abs=1e-7)
        kinds.add(np.linalg.matrix_rank(expected, tol=1e-6))
        found[own, own] = 0.0
    assert not found.any()  # points do not meet
    assert kinds == {0, 2, 3}  # outside, on the edge, inside
