"""The oracle's rows against finite differences of the positions that they come from."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support import reference as ref
from tests.support.mechanisms import KINDS, random_inertia, random_link
from tests.support.reference_motion import place
from tests.support.rotations import matrix_from_quat, matrix_from_vector, quat_from_matrix, quat_product, random_quat

STEP = 1e-3  # s; five-point differences of functions of size 10: error about 1e-11
SEEDS = range(5)


def scattered(rng: np.random.Generator, kind: str, a: int) -> tuple[list[ref.Body], list[ref.Body], ref.Link]:
    """Return two bodies in a drawing, the same two moved anywhere, and a link drawn between a and body 1."""
    drawing = [
        ref.Body(
            mass=1.0, com_W=rng.normal(size=3), inertia_W=random_inertia(rng, 1.0),
            v_com_W=rng.normal(size=3), w_W=rng.normal(size=3),
        )
        for _ in range(2)
    ]  # fmt: skip
    now = place(drawing, rng.normal(0, 0.3, (2, 3)), rng.normal(0, 0.3, (2, 3)))
    return drawing, now, random_link(rng, kind, a, 1, rng.normal(size=3))


def after(bodies: list[ref.Body], time: float) -> list[ref.Body]:
    """Return the bodies moved on with constant velocities."""
    return place(bodies, time * np.array([b.v_com_W for b in bodies]), time * np.array([b.w_W for b in bodies]))


def slope(value, bodies: list[ref.Body]) -> np.ndarray:
    """Return the time derivative of value(bodies), by differences of fourth order."""
    near = value(after(bodies, STEP)) - value(after(bodies, -STEP))
    far = value(after(bodies, 2 * STEP)) - value(after(bodies, -2 * STEP))
    return (8 * near - far) / (12 * STEP)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("a", [0, -1])
@pytest.mark.parametrize("kind", KINDS)
def test_locked_rows_are_derivatives_of_the_residual(kind, a, seed):
    """Also far from a closed link: J is exact for any pose, not only on the constraint."""
    drawing, now, link = scattered(np.random.default_rng(seed), kind, a)

    def phi(bodies):
        return ref.residual(ref.carry(link, drawing, bodies))

    def rate(bodies):
        moved = ref.carry(link, drawing, bodies)
        return ref.dense(ref.locked_rows(moved, bodies), moved, 2) @ ref.speeds(bodies)

    rows = ref.locked_rows(ref.carry(link, drawing, now), now)
    assert len(phi(now)) == 6 - ref.FREEDOMS[kind] == len(rows)
    assert rate(now) == pytest.approx(slope(phi, now), abs=1e-9)
    assert np.array([row.drift for row in rows]) == pytest.approx(slope(rate, now), abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_free_rows_have_the_right_drift(kind, seed):
    drawing, now, link = scattered(np.random.default_rng(seed), kind, 0)

    def rate(bodies):
        return ref.rates(ref.carry(link, drawing, bodies), bodies)

    drift = np.array([row.drift for row in ref.free_rows(ref.carry(link, drawing, now), now)])
    assert len(drift) == ref.FREEDOMS[kind]
    assert drift == pytest.approx(slope(rate, now), abs=1e-9)


def test_rotations_round_trip():
    rng = np.random.default_rng(0)
    for _ in range(200):
        p, q = random_quat(rng), random_quat(rng)
        R = matrix_from_quat(q)
        assert np.max(np.abs(R @ R.T - np.eye(3))) < 1e-14
        assert matrix_from_quat(quat_from_matrix(R)) == pytest.approx(R, abs=1e-14)
        assert matrix_from_quat(quat_product(p, q)) == pytest.approx(matrix_from_quat(p) @ R, abs=1e-14)
        assert matrix_from_vector(ref.rotation_vector(R)) == pytest.approx(R, abs=1e-12)
