"""Three numbers at a time, dense factors and turns between frames, against numpy and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.kernels import lu, spatial, vectors
from tests.kernels.plain import plain

pytestmark = pytest.mark.fast

A, B, K = np.array([0.3, -1.2, 0.7]), np.array([-0.9, 0.4, 1.6]), -1.7
UNIT = np.array([0.36, -0.48, 0.8])


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("dot", (A, B), A @ B), ("cross", (A, B), np.cross(A, B)), ("plus", (A, B), A + B), ("minus", (A, B), A - B),
        ("times", (K, A), K * A), ("beyond", (A, K, B), A + K * B), ("length", (A,), np.linalg.norm(A)),
        ("unit", (A,), A / np.linalg.norm(A)), ("unit", (1e-30 * A,), A / np.linalg.norm(A)),
        ("across", (A, UNIT), A - (A @ UNIT) * UNIT),
    ],
)  # fmt: skip
def test_vectors_are_those_of_numpy(name: str, arguments: tuple, expected: np.ndarray) -> None:
    numbers = [tuple(a) if isinstance(a, np.ndarray) else a for a in arguments]
    np.testing.assert_allclose(plain(getattr(vectors, name))(*numbers), expected, rtol=1e-14)


def test_rows_and_axes_of_tables() -> None:
    rng = np.random.default_rng(1)
    table, R = rng.normal(size=(3, 5)), Rotation.random(4, rng=1).as_matrix()
    assert plain(vectors.three)(table, 1) == tuple(table[1, :3])
    flat = R.reshape(4, 9)
    np.testing.assert_allclose(plain(vectors.outward_axes)(flat, 2, tuple(A)), R[2] @ A, rtol=1e-14)
    np.testing.assert_allclose(plain(vectors.inward_axes)(flat, 2, tuple(A)), R[2].T @ A, rtol=1e-14)


TURNS = [0.0, 1e-10, 1e-3, 1.0, 2.0, 2.09, 2.1, 3.0, np.pi - 1e-6, np.pi]


@pytest.mark.parametrize("angle", TURNS)
@pytest.mark.parametrize("axis", [UNIT, UNIT[[1, 2, 0]], UNIT[[2, 0, 1]], -UNIT])
def test_the_turn_of_one_frame_against_another(angle: float, axis: np.ndarray) -> None:
    F = Rotation.from_rotvec([0.4, -0.9, 0.7])
    M = F * Rotation.from_rotvec(angle * axis)
    found = np.array(plain(spatial.relative_rotation)(F.as_matrix().ravel(), M.as_matrix().ravel()))
    if angle > 3.1:  # the way round may be the other one
        found *= np.sign(found @ axis)
    np.testing.assert_allclose(found, angle * axis, atol=3e-9 if angle > 3.1 else 1e-13)
    assert np.linalg.norm(found) <= np.pi + 1e-12


@pytest.mark.parametrize("angle", TURNS)
@pytest.mark.parametrize("axis", [UNIT, UNIT[[1, 2, 0]], UNIT[[2, 0, 1]], -UNIT])
def test_quaternions_of_matrices_and_their_rotation_vectors(angle: float, axis: np.ndarray) -> None:
    R = Rotation.from_rotvec(angle * axis)
    q = np.array(spatial.quaternion_of(tuple(R.as_matrix().ravel())))
    expected = np.r_[np.cos(angle / 2), np.sin(angle / 2) * axis]
    np.testing.assert_allclose(q * np.sign(q @ expected), expected, atol=1e-12)
    assert angle > 2.09 or q[0] > 0.0
    for size in (1.0, -2.5):
        found = np.array(plain(spatial.rotation_vector)(*(size * expected)))
        if angle == np.pi:
            found *= np.sign(found @ axis)
        np.testing.assert_allclose(found, angle * axis, atol=1e-12)
        np.testing.assert_allclose(
            np.reshape(plain(spatial.rotation_of)(*(size * expected)), (3, 3)), R.as_matrix(), atol=1e-14
        )


@pytest.mark.parametrize("size", [0.0, 1e-12, 3e-9, 3e-8, 1e-3, 2.0, 5.0])
def test_a_quaternion_steps_in_its_own_axes(size: float) -> None:
    q = np.array([0.7, -0.2, 0.5, 1.1])
    found = np.array(plain(spatial.quaternion_step)(*q, *(size * UNIT)))
    turn = Rotation.from_quat(np.roll(q, -1)) * Rotation.from_rotvec(size * UNIT)
    expected = np.roll(turn.as_quat(), 1)
    np.testing.assert_allclose(found, expected * np.sign(expected @ found), atol=1e-14)
    if size < 2.0:
        assert found @ q > 0.0
    change = found - q / np.linalg.norm(q)  # to first order: half the product
    if 0.0 < size < 1e-3:
        half = np.roll((Rotation.from_quat(np.roll(q, -1)) * Rotation.from_quat([*UNIT, 0.0])).as_quat(), 1) / 2
        np.testing.assert_allclose(change / size, half * np.sign(half @ change), atol=2e-16 / size + size)


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_dense_systems_are_solved(n: int, complex_: bool) -> None:
    """With rows exchanged where the diagonal is nothing, and factors that are those of the exchanged rows."""
    rng = np.random.default_rng(n)
    for trial in range(4):
        a = rng.normal(size=(n, n)) + (1j * rng.normal(size=(n, n)) if complex_ else 0.0)
        if trial % 2 and n > 1:
            a[0, 0] = 0.0
            a[1, 0] = 2.0
        x = rng.normal(size=n) + (1j * rng.normal(size=n) if complex_ else 0.0)
        factors, order, out = a.copy(), np.full(n, -1), x.copy()
        assert plain(lu.factorise_lu)(factors, order)
        plain(lu.solve_lu)(factors, order, out)
        np.testing.assert_allclose(a @ out, x, atol=1e-12)
        exchanged = a.copy()
        for k, p in enumerate(order):
            assert p >= k
            exchanged[[k, p]] = exchanged[[p, k]]
        L, U = np.tril(factors, -1) + np.eye(n), np.triu(factors, 1) + np.diag(1.0 / np.diag(factors))
        np.testing.assert_allclose(L @ U, exchanged, atol=1e-13)
        assert np.abs(L).max() <= 1.0 + 1e-15  # the largest of each column is the pivot


@pytest.mark.parametrize("matrix", [[[0.0]], [[1.0, 2.0], [2.0, 4.0]], [[np.nan]], [[1e300]], [[np.inf, 1.0], [0, 1]]])
def test_what_has_no_inverse_is_refused(matrix: list) -> None:
    a = np.array(matrix, float)
    assert not plain(lu.factorise_lu)(a, np.zeros(len(a), np.int64))


def test_a_large_matrix_is_no_singular_one() -> None:
    a = np.array([[0.99e300]])
    assert plain(lu.factorise_lu)(a, np.zeros(1, np.int64))
    assert plain(lu.factorise_lu)(np.array([[1e-300]]), np.zeros(1, np.int64))
