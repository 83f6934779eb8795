"""What is told of how well the law of contacts is kept, of impulses that do not keep it: point by point, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sim.contact.contact_problem import Mode, impact
from sim.contact.solution import residuals
from tests.contact.random_problems import random_bodies

pytestmark = [pytest.mark.contact, pytest.mark.fast]


@pytest.mark.parametrize("size", [1.0, 1e-4])
@pytest.mark.parametrize("seed", range(6))
def test_residuals_of_impulses_that_break_the_law(seed: int, size: float) -> None:
    rng, k = np.random.default_rng(seed), 5
    made = random_bodies(seed, k)
    least = rng.uniform(0.0, 0.1, k)
    problem = impact(made.G, made.u, np.full(k, 0.4), least=least, patch=made.patch)
    P, z = rng.normal(size=(k, 3)), size * rng.normal(size=(k, 3))
    mode = np.array([Mode.STICK, Mode.SLIP, Mode.SLIP, Mode.STICK, Mode.OPEN])
    d = np.zeros((k, 2))
    d[1], d[2] = (0.6, 0.8), (-1.0, 0.0)
    told = residuals(problem, P, z, mode, d, 0.25, 0.5)

    impulse = rate = complementarity = cone = slip = stick = 0.0
    for i in range(k):
        trace = made.G[3 * i : 3 * i + 3, 3 * i : 3 * i + 3].trace()
        n, t1, t2 = P[i] * trace / problem.rate
        y, radius = z[i] / problem.rate, least[i] * trace / problem.rate + 0.4 * n
        impulse, rate = min(impulse, n), min(rate, y[0])
        complementarity = max(complementarity, abs(n * y[0]))
        cone = max(cone, math.hypot(t1, t2) - radius)
        if mode[i] == Mode.SLIP:
            slip = max(slip, math.hypot(t1 + radius * d[i, 0], t2 + radius * d[i, 1]))
        if mode[i] == Mode.STICK:
            stick = max(stick, math.hypot(y[1], y[2]))
    found = (told.impulse, told.rate, told.complementarity, told.cone, told.slip, told.stick)
    assert found == pytest.approx((impulse, rate, complementarity, cone, slip, stick), rel=1e-12)
    assert impulse < 0.0 < min(cone, slip, stick) and rate < 0.0
    assert (told.merit, told.de_saxce) == (0.25, 0.5)
