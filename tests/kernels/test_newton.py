"""What Newton's iteration of Radau IIA takes of quaternions, against dense matrices and differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.kernels.integrators import newton
from sim.kernels.tables import LINK, table
from tests.kernels.kinds import FREE, ROTATIONAL, SPHERICAL, lay_out
from tests.kernels.plain import plain

pytestmark = pytest.mark.fast

KINDS = (ROTATIONAL, FREE, SPHERICAL, ROTATIONAL)  # of links 1, 2, 3, 4
NQ, NV = (1, 7, 4, 1), (1, 6, 3, 1)
BALLS = ((1 + 3, 1 + 3), (8, 7))  # where quaternions begin in q, and what they turn in v
Q, V = sum(NQ), sum(NV)


def links():
    out = table(LINK, 5)
    lay_out(out, KINDS)
    return out


def cross(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def random_state(seed):
    """Coordinates, whose quaternions need not be of unit length, and rates."""
    rng = np.random.default_rng(seed)
    return rng, rng.normal(size=Q) * 1.3, rng.normal(size=V)


@pytest.mark.parametrize("seed", range(4))
def test_a_change_of_coordinates_has_the_rates_of_the_rotation(seed):
    """Those by which the rotation turns in its own axes, by differences; lengthening a quaternion has none."""
    rng, q, _ = random_state(seed)
    rate, found, h = rng.normal(size=Q), np.zeros(V), 1e-6
    plain(newton.tangent)(links(), q, rate, found)
    expected = np.concatenate([rate[:1], rate[1:4], np.zeros(3), np.zeros(3), rate[12:]])
    for a, k in BALLS:
        now, ahead, back = (
            Rotation.from_quat(x[a : a + 4], scalar_first=True) for x in (q, q + h * rate, q - h * rate)
        )
        expected[k : k + 3] = ((now.inv() * ahead).as_rotvec() - (now.inv() * back).as_rotvec()) / (2.0 * h)
    assert found == pytest.approx(expected, abs=1e-8)
    longer = np.zeros(Q)
    for a, _ in BALLS:
        longer[a : a + 4] = 0.3 * q[a : a + 4]
    plain(newton.tangent)(links(), q, longer, found)
    assert found == pytest.approx(np.zeros(V), abs=1e-15)
    sizes = [0.3, 0.3]  # d|p| / |p|, as an angle twice that
    assert plain(newton.lengthwise)(links(), q, longer) == pytest.approx(sum((2.0 * s) ** 2 for s in sizes), rel=1e-12)


def turning(s, w):
    """Return P(s) (V, V): 1/s, and (s + [w]x)^-1 where a quaternion turns."""
    P = np.eye(V) / s
    for _, k in BALLS:
        P[k : k + 3, k : k + 3] = np.linalg.inv(s * np.eye(3) + cross(w[k : k + 3]))
    return P


@pytest.mark.parametrize("s", [3.0, -2.0, 2.0 + 1.5j])
@pytest.mark.parametrize("seed", range(2))
def test_the_newton_matrix_is_that_of_the_stages(seed, s):
    rng, _, w = random_state(seed)
    by_q, by_v = rng.normal(size=(V, V)), rng.normal(size=(V, V))
    found, P = np.zeros((V, V), type(s)), turning(s, w)
    plain(newton.newton_matrix)(links(), s, w, by_q, by_v, found)
    assert found == pytest.approx(s * np.eye(V) - by_v - by_q @ P, abs=1e-12)
    x = rng.normal(size=V).astype(type(s))
    expected = P @ x
    plain(newton.turn_back)(links(), s, w, x)
    assert x == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_spectral_radius_is_that_of_the_whole_jacobian(seed):
    """[[-[w]x, 1], [A_q, A_v]]; with one eigenvalue well beyond the others, from any start."""
    rng, _, w = random_state(seed)
    by_q, by_v = rng.normal(size=(V, V)), rng.normal(size=(V, V))
    u = rng.normal(size=V)
    by_v -= 300.0 * np.outer(u, u) / (u @ u)
    whole = np.zeros((2 * V, 2 * V))
    whole[:V, V:], whole[V:, :V], whole[V:, V:] = np.eye(V), by_q, by_v
    for _, k in BALLS:
        whole[k : k + 3, k : k + 3] = -cross(w[k : k + 3])
    x, y = rng.normal(size=2 * V), np.zeros(2 * V)
    for _ in range(2):
        found = plain(newton.spectral_radius)(links(), w, by_q, by_v, x, y)
    eigenvalues, vectors = np.linalg.eig(whole)
    largest = int(np.argmax(np.abs(eigenvalues)))
    assert found == pytest.approx(abs(eigenvalues[largest]), rel=1e-9)
    assert abs(x @ vectors[:, largest].real) == pytest.approx(np.linalg.norm(x), rel=1e-6)
    for none in (np.zeros(2 * V), np.full(2 * V, np.nan)):
        x = none.copy()
        assert plain(newton.spectral_radius)(links(), w, by_q, by_v, x, y) == 0.0
        np.testing.assert_allclose(x, 1.0 + 0.01 * np.arange(2 * V))  # begins anew, along no axis
