"""Functions over complex numbers: their values beside scipy's and math's, their derivatives beside differences."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.analysis.linear import complex_step
from sim.analysis.linear.roots import matched, roots, spread

pytestmark = pytest.mark.fast
STEP = 1e-30


def slope(f: Callable[..., np.ndarray], *ways: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return the derivative of f along directions by a complex step; ways: an argument and its direction each."""
    return np.imag(f(*(x + 1j * STEP * d for x, d in ways))) / STEP


def difference(f: Callable[..., np.ndarray], *ways: tuple[np.ndarray, np.ndarray], h: float = 1e-5) -> np.ndarray:
    ends = [f(*(x + side * h * d for x, d in ways)) for side in (1.0, -1.0)]
    return (ends[0] - ends[1]) / (2.0 * h)


def quaternions(rng: np.random.Generator, count: int = 7) -> np.ndarray:
    p = rng.normal(size=(count, 4))
    return p / np.linalg.norm(p, axis=1)[:, None]


def of_scipy(p: np.ndarray) -> Rotation:
    return Rotation.from_quat(p[..., [1, 2, 3, 0]])


def test_products_and_lengths() -> None:
    a, b = np.array([[1 + 2j, 0.5, -3.0]]), np.array([[0.25j, 4.0, 1 - 1j]])
    assert complex_step.dot(a, b) == pytest.approx([(1 + 2j) * 0.25j + 2.0 - 3.0 * (1 - 1j)])
    x, d = np.array([[3.0, -4.0, 12.0], [0.0, 0.0, 0.0]]), np.array([[0.3, 0.2, -0.7], [1.0, 2.0, 3.0]])
    assert complex_step.length(x).tolist() == [13.0, 0.0]
    assert slope(complex_step.length, (x, d)) == pytest.approx([(0.9 - 0.8 - 8.4) / 13.0, 0.0])
    assert np.array_equal(complex_step.crossed(x, d), np.cross(x, d))


def test_magnitudes_change_sides_by_the_real_part() -> None:
    a = np.array([2.0 + 3j, -2.0 + 3j, 0.0 - 1j, -0.5])
    assert complex_step.magnitude(a).tolist() == [2 + 3j, 2 - 3j, 0 - 1j, 0.5]


@pytest.mark.parametrize(("y", "x"), [(0.3, 2.0), (0.7, -0.2), (-0.4, -1.5), (-2.0, 0.6), (0.0, -1.0), (1.5, 0.0)])
def test_angles_in_every_quadrant(y: float, x: float) -> None:
    at = np.array([y]), np.array([x])
    assert complex_step.angle(*at) == pytest.approx([math.atan2(y, x)], abs=1e-15)
    dy, dx = 0.8, -1.7
    expected = (x * dy - y * dx) / (x * x + y * y)
    both = slope(complex_step.angle, (at[0], np.array([dy])), (at[1], np.array([dx])))
    assert both == pytest.approx([expected], rel=1e-14)
    beside = np.imag(complex_step.angle(at[0] + 1j * STEP * dy, at[1])) / STEP
    assert beside == pytest.approx([x * dy / (x * x + y * y)], rel=1e-14)
    beside = np.imag(complex_step.angle(at[0], at[1] + 1j * STEP * dx)) / STEP
    assert beside == pytest.approx([-y * dx / (x * x + y * y)], rel=1e-14)
    assert np.iscomplexobj(complex_step.angle(at[0] + 0j, at[1])) and not np.iscomplexobj(complex_step.angle(*at))


def test_an_angle_of_nothing_is_zero() -> None:
    zero = np.zeros(1)
    assert complex_step.angle(zero + 1j * STEP, zero)[0].real == 0.0
    assert np.isfinite(complex_step.angle(zero + 1j * STEP, zero + 1j * STEP)).all()


def test_matrices_of_quaternions_of_any_length() -> None:
    rng = np.random.default_rng(1)
    p = quaternions(rng) * rng.uniform(0.5, 2.0, (7, 1))
    assert np.allclose(complex_step.matrix_of(p), of_scipy(p).as_matrix(), rtol=0.0, atol=1e-15)
    d = rng.normal(size=p.shape)
    assert np.allclose(
        slope(complex_step.matrix_of, (p, d)), difference(complex_step.matrix_of, (p, d)), rtol=0.0, atol=1e-8
    )


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_matrices_about_axes(axis: int) -> None:
    a = np.array([0.3, -2.5, 1.9])
    assert np.allclose(
        complex_step.turned_about(axis, a),
        Rotation.from_euler("xyz"[axis], a[:, None]).as_matrix(),
        rtol=0.0,
        atol=1e-15,
    )
    d = np.array([1.3, 0.4, -0.6])

    def turned(a: np.ndarray) -> np.ndarray:
        return complex_step.turned_about(axis, a)

    assert np.allclose(slope(turned, (a, d)), difference(turned, (a, d)), rtol=0.0, atol=1e-9)


def test_quaternions_turn_by_small_vectors_in_their_own_axes() -> None:
    rng = np.random.default_rng(2)
    p, r = quaternions(rng), rng.normal(size=(7, 3))
    moved = complex_step.turned_by(p + 0j, 1j * STEP * r)
    assert np.array_equal(moved.real, p)

    def product(h: float) -> np.ndarray:
        q = (of_scipy(p) * Rotation.from_rotvec(h * r)).as_quat()[:, [3, 0, 1, 2]]
        return q * np.sign(np.sum(q * p, axis=1))[:, None]

    assert np.allclose(moved.imag / STEP, (product(1e-5) - product(-1e-5)) / 2e-5, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("angle", [0.7, 2.9, math.pi, 3e-4, 1.9e-4, 1e-4, 1e-7, 0.0])
def test_rotation_vectors_of_either_sign_are_the_short_ones(angle: float, sign: float) -> None:
    u = np.array([0.48, -0.6, 0.64])
    p = sign * np.array([[math.cos(angle / 2), *(math.sin(angle / 2) * u)]])
    found = complex_step.rotation_vector(p)
    short = u if angle < 3.0 or p[0, 0] > 0.0 else math.copysign(1.0, found[0] @ u) * u
    assert np.allclose(found, [angle * short], rtol=1e-14, atol=0.0)
    r = np.array([[0.3, 1.1, -0.4]])

    def turned(r: np.ndarray) -> np.ndarray:
        q = (of_scipy(p) * Rotation.from_rotvec(r)).as_quat()[:, [3, 0, 1, 2]]
        return Rotation.from_quat(q[:, [1, 2, 3, 0]]).as_rotvec()

    if angle < 3.0:
        complex_slope = np.imag(complex_step.rotation_vector(complex_step.turned_by(p + 0j, 1j * STEP * r))) / STEP
        h = 1e-4
        ends = [turned(side * h * r) for side in (1.0, -1.0)]
        assert np.allclose(complex_slope, (ends[0] - ends[1]) / (2 * h), rtol=0.0, atol=1e-7)


@pytest.mark.parametrize("largest", range(4))
def test_quaternions_of_matrices_whichever_part_is_largest(largest: int) -> None:
    """Of several matrices with one real part: the imaginary parts are derivatives, each its own."""
    rng = np.random.default_rng(3)
    p = np.array([0.2, -0.3, 0.25, 0.35])
    p[largest] = 0.9 * (-1.0) ** largest
    p /= np.linalg.norm(p)
    R, ways = of_scipy(p).as_matrix(), rng.normal(size=(3, 3))
    moved = np.array([R @ (np.eye(3) + 1j * STEP * np.cross(np.eye(3), -w).T) for w in ways])
    found = complex_step.quaternion_of(moved)
    sign = np.sign(found[0].real @ p)
    assert np.allclose(sign * found.real, p, rtol=0.0, atol=1e-15)
    assert found.real[0, largest] > 0.0
    expected = complex_step.turned_by(np.repeat(p[None], 3, axis=0) + 0j, 1j * STEP * ways).imag / STEP
    turned = np.abs(sign * found.imag / STEP - expected).max()
    other = np.abs(sign * found.imag / STEP + expected).max()
    assert min(turned, other) < 1e-14


# --- roots ------------------------------------------------------------------------------------------


def test_roots_come_by_real_part_and_with_their_vectors() -> None:
    D = np.zeros((6, 6))
    D[0:2, 0:2], D[2:4, 2:4] = [[-0.5, 3.0], [-3.0, -0.5]], [[-0.5, 1.0], [-1.0, -0.5]]
    D[4, 4], D[5, 5] = 0.25, -2.0
    T = np.random.default_rng(4).normal(size=(6, 6))
    A = T @ D @ np.linalg.inv(T)
    values, vectors = roots(A)
    assert np.allclose(values, [-2.0, -0.5 + 3j, -0.5 + 1j, -0.5 - 1j, -0.5 - 3j, 0.25], rtol=0.0, atol=1e-12)
    assert np.allclose(A @ vectors, vectors * values, rtol=0.0, atol=1e-12)
    assert values.dtype == vectors.dtype == complex


def test_each_root_finds_its_own_even_where_another_is_nearer() -> None:
    assert matched(np.array([0.0, 1.0]), np.array([1.1, 0.9, -5.0])).tolist() == [1, 0]
    assert matched(np.array([2.0 + 1j, -1.0]), np.array([-1.2, 7.0, 2.0 + 0.5j])).tolist() == [2, 0]


def test_a_repeated_root_spreads_by_the_root_of_the_error() -> None:
    """A Jordan block with an error e at its corner has roots +-sqrt(e); single ones move by e."""
    A = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, -3.0]])
    size, error = np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 5.0]]), 1e-10
    found = spread(A, np.linalg.eigvals(A), size, error)
    assert found[:2] == pytest.approx([4.0 * math.sqrt(2e-10)] * 2, rel=1e-3)
    assert found[2] == pytest.approx(4.0 * 5e-10, rel=1e-3)
    assert spread(A, np.linalg.eigvals(A), size)[2] == pytest.approx(4.0 * 5e-13, rel=1e-2)
