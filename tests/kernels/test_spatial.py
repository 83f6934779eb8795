"""Rotations of the kernels against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from sim.kernels import spatial
from tests.kernels.plain import plain

pytestmark = pytest.mark.fast

angles = st.floats(-3.1, 3.1)
numbers = st.floats(-2.0, 2.0)
quats = st.tuples(numbers, numbers, numbers, numbers).filter(lambda q: np.linalg.norm(q) > 1e-3)
# As long as a rotation vector is unique; tiny ones too, where series take over.
vectors = st.tuples(angles, angles, angles, st.sampled_from([1.0, 1e-4, 1e-8, 1e-9, 1e-12, 0.0])).map(
    lambda t: t[3] * np.array(t[:3])
)


def scipy(q: Any) -> Rotation:
    return Rotation.from_quat(np.roll(np.asarray(q, float), -1))


def same_turn(q: Any, R: Rotation) -> float:
    """Return the angle between two rotations [rad]."""
    return float((scipy(q) * R.inv()).magnitude())


@given(quats)
def test_matrix_of_a_quaternion_of_any_length(q: tuple[float, ...]) -> None:
    R = np.array(plain(spatial.rotation_of)(*q)).reshape(3, 3)
    np.testing.assert_allclose(R, scipy(q).as_matrix(), atol=1e-14)


@given(quats)
def test_quaternion_of_a_matrix(q: tuple[float, ...]) -> None:
    found = spatial.quaternion_of(tuple(scipy(q).as_matrix().ravel()))
    assert np.linalg.norm(found) == pytest.approx(1.0, abs=1e-14)
    assert same_turn(found, scipy(q)) <= 1e-14 * 20


@pytest.mark.parametrize("axis", np.vstack([np.eye(3), -np.eye(3)]).tolist())
def test_quaternion_of_half_turns(axis: list[float]) -> None:
    R = Rotation.from_rotvec(np.pi * np.array(axis))
    assert same_turn(spatial.quaternion_of(tuple(R.as_matrix().ravel())), R) <= 1e-14


@given(quats, quats)
def test_product_of_matrices(p: tuple[float, ...], q: tuple[float, ...]) -> None:
    A, B = scipy(p).as_matrix(), scipy(q).as_matrix()
    found = plain(spatial.multiply)(tuple(A.ravel()), tuple(B.ravel()))
    np.testing.assert_allclose(np.array(found).reshape(3, 3), A @ B, atol=1e-15 * 4)


@given(quats, angles)
def test_turns_about_z_and_x(q: tuple[float, ...], angle: float) -> None:
    F, s, c = scipy(q), np.sin(angle), np.cos(angle)
    for turn, axis in ((spatial.turn_z, "z"), (spatial.turn_x, "x")):
        found = np.array(plain(turn)(tuple(F.as_matrix().ravel()), s, c)).reshape(3, 3)
        np.testing.assert_allclose(found, (F * Rotation.from_euler(axis, angle)).as_matrix(), atol=1e-14)


@given(quats)
def test_rotation_vector(q: tuple[float, ...]) -> None:
    found = np.array(plain(spatial.rotation_vector)(*q))
    assert np.linalg.norm(found) <= np.pi + 1e-12
    assert float((Rotation.from_rotvec(found) * scipy(q).inv()).magnitude()) <= 1e-13


@given(vectors)
def test_rotation_vector_undoes_a_step(r: np.ndarray) -> None:
    R = Rotation.from_rotvec(r)
    found = np.array(plain(spatial.rotation_vector)(*plain(spatial.quaternion_step)(1.0, 0.0, 0.0, 0.0, *r)))
    assert float((Rotation.from_rotvec(found) * R.inv()).magnitude()) <= 1e-14 * 10
    if np.linalg.norm(r) < 3.1:
        np.testing.assert_allclose(found, r, rtol=1e-13, atol=1e-300 if np.abs(r).max() < 1e-3 else 1e-13)


@settings(max_examples=200)
@given(quats, vectors)
def test_step_turns_in_the_quaternions_own_axes(q: tuple[float, ...], r: np.ndarray) -> None:
    found = plain(spatial.quaternion_step)(*q, *r)
    assert np.linalg.norm(found) == pytest.approx(1.0, abs=1e-14)
    assert same_turn(found, scipy(q) * Rotation.from_rotvec(r)) <= 1e-14 * 20
