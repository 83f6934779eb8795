"""Rotations of bodies between two samples, against those of another library and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from render import rotation

RANDOM = np.random.default_rng(4)
VECTORS = RANDOM.normal(size=(2, 5, 3))
QUATS = Rotation.from_rotvec(VECTORS.reshape(-1, 3)).as_quat(scalar_first=True).reshape(2, 5, 4)


def test_matrices_of_quaternions_of_any_length():
    expected = Rotation.from_rotvec(VECTORS.reshape(-1, 3)).as_matrix().reshape(2, 5, 3, 3)
    assert rotation.matrix(QUATS) == pytest.approx(expected, abs=1e-15)
    assert rotation.matrix(-2.5 * QUATS[0, 0]) == pytest.approx(expected[0, 0], abs=1e-15)
    assert rotation.exponential(VECTORS) == pytest.approx(expected, abs=1e-15)
    assert np.array_equal(rotation.exponential(np.zeros(3)), np.eye(3))


def test_the_way_from_one_rotation_to_another_is_the_shorter_one():
    a, b = (Rotation.from_quat(q, scalar_first=True) for q in QUATS)
    expected = (a.inv() * b).as_rotvec()
    for sign in (1, -1):
        assert rotation.relative(QUATS[0], sign * QUATS[1]) == pytest.approx(expected, abs=1e-14)
    one = np.array([1.0, 0, 0, 0])
    assert rotation.relative(one, one).tolist() == [0, 0, 0]
    assert rotation.relative(one, -one).tolist() == [0, 0, 0]
    half = rotation.relative(one, np.array([0.0, 0.6, 0.0, 0.8]))
    assert half == pytest.approx(np.pi * np.array([0.6, 0, 0.8]), abs=1e-15)


@pytest.mark.parametrize("angle", [1.0e-13, 1e-9, 1e-5, 0.3, 3.1])
def test_small_rotations_keep_all_their_digits(angle):
    vector = angle * np.array([2.0, -3.0, 6.0]) / 7
    quat = np.array([np.cos(angle / 2), *(np.sin(angle / 2) * vector / angle)])
    assert rotation.relative(np.array([1.0, 0, 0, 0]), quat) == pytest.approx(vector, rel=1e-13)


AXIS = np.array([2.0, -3.0, 6.0]) / 7


@pytest.mark.parametrize(
    "between", [0.0, 0.7, -2.4, 2 * np.pi + 0.3, 4 * np.pi - 1.0, -6 * np.pi + 0.2, 2 * np.pi + 1e-8]
)
@pytest.mark.parametrize(("first", "last"), [(1.0, 1.0), (0.7, 1.25), (1.5, 0.4)])
def test_about_one_axis_the_angle_is_the_cubic_of_both_ends(between, first, last):
    """With its value and its rate at both ends, whole turns between them, too: the rates tell how many."""
    start = Rotation.from_rotvec([0.4, 1.1, -0.3])
    world = start.apply(AXIS)
    turned = [start, start * Rotation.from_rotvec(between * AXIS)]
    quat = np.array([[r.as_quat(scalar_first=True)] for r in turned])
    first, last = first * between, last * between
    turning = np.array([[first * world], [last * world]])
    cubic = np.linalg.solve([[0, 0, 0, 1], [1, 1, 1, 1], [0, 0, 1, 0], [3, 2, 1, 0]], [0, between, first, last])
    for part in (0.0, 0.125, 0.5, 0.8, 1.0):
        expected = (start * Rotation.from_rotvec(np.polyval(cubic, part) * AXIS)).as_matrix()
        assert rotation.turn(quat, turning, part)[0] == pytest.approx(expected, abs=1e-12)


def test_rates_at_both_ends_are_those_given_for_several_bodies_at_once():
    """By differences, of angular velocities in world axes that are not along the rotation."""
    quat = np.stack([QUATS[0], QUATS[1]])
    turning = 0.6 * RANDOM.normal(size=(2, 5, 3))
    h = 1e-5
    for end, (before, after) in ((0, (-h, h)), (1, (1 - h, 1 + h))):
        R = np.array([rotation.matrix(q) for q in quat[end]])
        rate = (rotation.turn(quat, turning, after) - rotation.turn(quat, turning, before)) / (2 * h)
        spin = rate @ R.transpose(0, 2, 1)
        vectors = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
        assert rotation.turn(quat, turning, float(end)) == pytest.approx(R, abs=1e-13)
        assert vectors == pytest.approx(turning[end], abs=1e-8)


@pytest.mark.parametrize(
    ("along", "aside", "expected", "turns"),
    [
        (0.5, 0.0, 0.7, 0),
        (0.5, 2.0, 3.5, 0),
        (0.5, 2.0, 3.8, 1),
        (-3.0, 0.5, 0.2, 1),
        (-2.5, 0.5, 0.2, 0),
        (0.0, 0.0, 0.0, 0),
        (1.0, 1.0, 12.0, 2),
        (0.0, 0.0, 12.0, 2),
    ],
)
def test_whole_turns_are_about_the_mean_rate(along, aside, expected, turns):
    across = np.array([3.0, 2.0, 0.0]) / np.sqrt(13)
    phi = np.stack([along * AXIS + aside * across, [0.1, 0.2, 0.3]])
    found = rotation._whole_turns(phi, np.stack([expected * AXIS, np.zeros(3)]))
    assert found == pytest.approx(np.stack([2 * np.pi * turns * AXIS, np.zeros(3)]), abs=1e-14)


@pytest.mark.parametrize("off", [0.0, 1e-15, 1e-12, 1e-9, 1e-6])
def test_near_whole_turns_the_path_is_smooth(off):
    """What is left of the rotation has no direction there, which the path must not take up."""
    start = Rotation.from_rotvec([0.4, 1.1, -0.3])
    end = start * Rotation.from_rotvec(off * np.array([0.6, 0.0, 0.8]))
    quat = np.array([[r.as_quat(scalar_first=True)] for r in (start, end)])
    turning = np.tile(2 * np.pi * start.apply(AXIS), (2, 1, 1))
    for part in np.linspace(0, 1, 11):
        expected = (start * Rotation.from_rotvec(2 * np.pi * part * AXIS)).as_matrix()
        assert rotation.turn(quat, turning, part)[0] == pytest.approx(expected, abs=10 * off + 1e-13)


@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-4, 0.5, 3.0, 5.5])
def test_the_rate_of_a_rotation_vector_undoes_the_jacobian(size):
    """J_r(phi) phi' = rate, with the series of J_r = sum (-[phi])^k / (k + 1)!."""
    phi, rate = size * AXIS, np.array([0.3, -1.2, 0.7])
    cross = np.array([[0, -phi[2], phi[1]], [phi[2], 0, -phi[0]], [-phi[1], phi[0], 0]])
    jacobian, term = np.zeros((3, 3)), np.eye(3)
    for k in range(60):
        jacobian += term
        term = term @ -cross / (k + 2)
    found = rotation._rate_of_vector(phi[None], rate[None])[0]
    assert jacobian @ found == pytest.approx(rate, abs=1e-11)
