"""Block Gauss-Seidel over Coulomb cones: one point exactly, many points to the law, blocks as a dense matrix."""

from __future__ import annotations

import numpy as np
import pytest

from sim.kernels.unilateral import cones
from tests.contact.random_problems import random_bodies
from tests.kernels.plain import plain

pytestmark = [pytest.mark.contact, pytest.mark.fast]


class Sweeping:
    """Arrays of a dense problem as the kernel wants them, and what it answered."""

    def __init__(
        self, G: np.ndarray, b: np.ndarray, mu: np.ndarray, least: np.ndarray | None = None, near: object = None
    ):
        k = len(mu)
        self.G, self.b, self.mu = G, b, mu
        self.least = np.zeros(k) if least is None else least
        near = np.ones((k, k), bool) if near is None else near
        rows, self.partner = np.nonzero(near)
        self.first = np.searchsorted(rows, np.arange(k + 1))
        self.own = np.flatnonzero(rows == self.partner)
        self.blocks = np.ascontiguousarray(G.reshape(k, 3, k, 3).transpose(0, 2, 1, 3)[near])
        self.known, self.d = np.zeros(k, np.int64), np.zeros((k, 2))
        self.P = np.zeros((k, 3))
        self.reply = np.full(2, np.nan)

    def run(self, sweeps: int, enough: float = 1e-13, kernel: object = None) -> int:
        self.z = (self.G @ self.P.ravel() + self.b).reshape(-1, 3)
        return (kernel or cones.sweep_cones)(
            cones.Answers(self.first, self.partner, self.own, self.blocks),
            cones.Laws(self.mu, self.least, self.known, self.d), self.P, self.z, self.reply, sweeps, enough,
            np.abs(self.b).max(),
        )  # fmt: skip


def block(rng: np.random.Generator, stretch: float) -> np.ndarray:
    a = rng.normal(size=(3, 3)) * stretch ** rng.uniform(-1, 1, 3)
    return a @ a.T


def lawful(G: np.ndarray, b: np.ndarray, mu: float, least: float, P: np.ndarray) -> None:
    """One point: signs, cone, and friction against slip, in units of its own size."""
    z = G @ P + b
    rate, size = np.abs(b).max(), max(np.abs(P).max(), np.abs(b).max() / np.trace(G))
    radius, friction, slip = least + mu * P[0], np.hypot(P[1], P[2]), np.hypot(z[1], z[2])
    assert P[0] >= 0 and z[0] >= -1e-11 * rate and P[0] * z[0] <= 1e-11 * rate * size
    assert friction <= radius + 1e-12 * size
    if slip > 1e-9 * rate:
        assert friction == pytest.approx(radius, abs=1e-12 * size)
        assert P[1:] @ z[1:] == pytest.approx(-friction * slip, abs=1e-9 * size * slip)


@pytest.mark.parametrize("seed", range(150))
@pytest.mark.parametrize("given", [0.0, 0.3])
def test_one_point_is_solved_in_one_visit(seed: int, given: float) -> None:
    """Blocks of condition up to 1e6, strong coupling of normal and tangent, friction to 2, and of given size beside."""
    rng = np.random.default_rng(seed)
    G, b, mu = block(rng, 5.0), rng.normal(size=3), rng.uniform(0, 2)
    b[0] = -abs(b[0])
    one = Sweeping(G, b, np.array([mu]), np.array([given]))
    assert one.run(1, 0.0) == 1
    assert one.reply[0] < 1e-10 and one.reply[1] == 0.0
    lawful(G, b, mu, given, one.P[0])


def test_one_point_slides_in_the_direction_found_by_scanning() -> None:
    """Independent of the kernel's polynomial: the direction of least |z_t x d| over a million angles."""
    G = np.array([[2.0, 0.4, -0.3], [0.4, 3.0, 0.8], [-0.3, 0.8, 1.5]])
    b, mu = np.array([-1.0, 2.0, -1.5]), 0.4
    one = Sweeping(G, b, np.array([mu]))
    one.run(1)
    phi = np.linspace(-np.pi, np.pi, 1_000_001)
    d = np.column_stack([np.cos(phi), np.sin(phi)])
    P_n = -b[0] / (G[0, 0] - mu * d @ G[0, 1:])
    z_t = b[1:] + P_n[:, None] * (G[1:, 0] - mu * d @ G[1:, 1:])
    off = np.where((z_t * d).sum(axis=1) > 0, np.abs(d[:, 0] * z_t[:, 1] - d[:, 1] * z_t[:, 0]), np.inf)
    best = int(np.argmin(off))
    assert one.P[0, 0] == pytest.approx(P_n[best], abs=1e-5)
    assert one.P[0, 1:] == pytest.approx(-mu * P_n[best] * d[best], abs=1e-5)


def test_a_point_that_moves_along_one_line_only_has_an_answer() -> None:
    """A block of rank one: as of a pendulum's end."""
    w = np.array([0.5, -0.7, 0.2])
    one = Sweeping(np.outer(w, w), -0.8 * w, np.array([2.0]))
    one.run(3)
    assert one.reply[0] < 1e-9 and one.P[0, 0] > 0
    assert np.hypot(*one.P[0, 1:]) <= 2.0 * one.P[0, 0] * (1 + 1e-9)


def test_a_known_direction_is_kept_whatever_z_does() -> None:
    G = np.array([[2.0, 0.5, 0.1], [0.5, 3.0, 0.2], [0.1, 0.2, 2.0]])
    one = Sweeping(G, np.array([-1.0, -4.0, 0.3]), np.array([0.5]))
    one.known[0], one.d[0] = 1, [0.6, 0.8]
    one.run(1)
    assert one.P[0, 0] == pytest.approx(1.0 / (2.0 - 0.5 * (0.6 * 0.5 + 0.8 * 0.1)), rel=1e-14)
    assert one.P[0, 1:] == pytest.approx(-0.5 * one.P[0, 0] * np.array([0.6, 0.8]), rel=1e-14)


@pytest.mark.parametrize("known", [0, 1])
@pytest.mark.parametrize("seed", range(8))
def test_how_far_a_point_is_from_its_law(seed: int, known: int) -> None:
    """Zero where the law is kept, whatever its direction; else the way back to the cone, times the point's mobility."""
    rng = np.random.default_rng(seed)
    G, mu, least = block(rng, 2.0), 0.4, 0.1 * rng.random()
    angle = rng.uniform(-np.pi, np.pi)
    d, off = np.array([np.cos(angle), np.sin(angle)]), rng.normal(0, 0.1, 3)
    P = np.array([1.3, 0.0, 0.0])
    P[1:] = -(least + mu * P[0]) * d
    for miss in (np.zeros(3), off * [0, 1, 1], [-0.2, 0, 0]):
        one = Sweeping(G, -G @ P, np.array([mu]), np.array([least]))
        one.known[0], one.d[0] = known, d
        one.P[0] = P
        one.z = np.array([[0.0, 3.0 * d[0], 3.0 * d[1]]])  # it slides along d, or would where it sticks
        one.P[0] += miss
        found = plain(cones.off_law)(one.blocks, 0, mu, least, known, one.d, one.P, one.z, 0)
        r = least + mu * one.P[0, 0]
        wanted = one.P[0, 1:] + r * d
        if not known:
            tried = one.P[0, 1:] - one.z[0, 1:] / np.trace(G)
            wanted = one.P[0, 1:] - tried * min(1.0, r / np.hypot(*tried))
        assert found == pytest.approx(np.trace(G) * np.hypot(*wanted), rel=1e-9, abs=1e-12)
        if not np.any(miss):
            assert found == pytest.approx(0.0, abs=1e-12 * np.trace(G))


def test_a_direction_that_digs_in_is_reported() -> None:
    G = np.array([[1.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    one = Sweeping(G, np.array([-1.0, 1.0, 0.0]), np.array([1.5]))
    one.known[0], one.d[0] = 1, [1.0, 0.0]
    one.run(4)
    assert one.reply[1] == 1.0 and one.reply[0] > 0.1


@pytest.mark.parametrize("seed", range(20))
def test_many_points_come_to_the_law(seed: int) -> None:
    body = random_bodies(seed, 6, spread=10.0)
    many = Sweeping(body.G, body.u, np.full(6, 0.3))
    many.run(20000, 1e-11)
    assert many.reply[0] <= 1e-11
    z = (body.G @ many.P.ravel() + body.u).reshape(-1, 3)
    assert z == pytest.approx(many.z, abs=1e-10 * np.abs(body.u).max())
    assert z[:, 0].min() >= -1e-10 * np.abs(body.u).max() and many.P[:, 0].min() >= 0.0
    assert (np.hypot(many.P[:, 1], many.P[:, 2]) <= 0.3 * many.P[:, 0] * (1 + 1e-12)).all()


def test_block_rows_of_partners_are_the_dense_matrix() -> None:
    """Two pairs of bodies that do not touch each other: the empty blocks left out change no bit."""
    one, other = random_bodies(3, 3, spread=10.0), random_bodies(4, 4, spread=10.0)
    G = np.zeros((21, 21))
    G[:9, :9], G[9:, 9:] = one.G, other.G
    near = np.zeros((7, 7), bool)
    near[:3, :3] = near[3:, 3:] = True
    b = np.append(one.u, other.u)
    dense, sparse = Sweeping(G, b, np.full(7, 0.4)), Sweeping(G, b, np.full(7, 0.4), near=near)
    assert len(sparse.blocks) == 25 and len(dense.blocks) == 49
    assert dense.run(50, 1e-12) == sparse.run(50, 1e-12)
    assert dense.P.tobytes() == sparse.P.tobytes()


def test_a_warm_start_takes_fewer_sweeps_and_sweeps_are_bounded() -> None:
    body = random_bodies(8, 8, spread=10.0)
    many = Sweeping(body.G, body.u, np.full(8, 0.2))
    assert many.run(3, 0.0) == 3
    cold = Sweeping(body.G, body.u, np.full(8, 0.2))
    taken = cold.run(20000, 1e-10)
    assert 3 < taken < 20000
    cold.b = cold.b * (1 + 1e-9)
    assert cold.run(20000, 1e-7) == 0


def test_compiled_and_plain_agree() -> None:
    for seed in range(4):
        body = random_bodies(seed, 4, spread=10.0)
        one, other = (Sweeping(body.G, body.u, np.full(4, 0.5)) for _ in range(2))
        assert one.run(5) == other.run(5, kernel=plain(cones.sweep_cones))
        assert np.abs(one.P - other.P).max() <= 1e-9 * np.abs(other.P).max()
