"""How one point slips: each part of its exact solution, and the nearest of several answers, all found anew."""

from __future__ import annotations

import numpy as np
import pytest

from sim.kernels.unilateral import cones
from tests.kernels.plain import plain
from tests.kernels.test_cones import Sweeping, block, lawful

pytestmark = [pytest.mark.contact, pytest.mark.fast]


class Point:
    """A block, a rate without impulse, and friction, of numbers without symmetry."""

    def __init__(self, seed: int, mu: float | None = None, least: float = 0.0, pull: float = 1.0):
        rng = np.random.default_rng(seed)
        self.G, self.b = block(rng, 3.0), rng.normal(size=3)
        self.b[0] = -pull * abs(self.b[0])
        self.mu, self.least = rng.uniform(0.1, 1.5) if mu is None else mu, least

    @property
    def alone(self) -> cones.Alone:
        """Numbers as the kernels want them."""
        G, b = self.G, self.b
        return cones.Alone(G[0, 0], G[0, 1], G[0, 2], G[1, 1], G[1, 2], G[2, 2], *b, self.mu, self.least)

    def slipping(self, phi: float) -> tuple[float, np.ndarray, np.ndarray]:
        """A = G_nn - mu g.d, the impulse that keeps z_n = 0 while it slips along d, and z then."""
        d = np.array([np.cos(phi), np.sin(phi)])
        gain = self.G[0, 0] - self.mu * self.G[0, 1:] @ d
        normal = (self.least * self.G[0, 1:] @ d - self.b[0]) / gain
        P = np.array([normal, *(-(self.least + self.mu * normal) * d)])
        return gain, P, self.G @ P + self.b

    def cross(self, phi: float) -> float:
        """A times what is left of z_t across the direction of slip."""
        gain, _, z = self.slipping(phi)
        return float(gain * (np.cos(phi) * z[2] - np.sin(phi) * z[1]))

    def slips(self) -> list[np.ndarray]:
        """All impulses with which it slips by its law: every change of sign over all angles, halved."""
        angles, found = np.linspace(0.0, 2.0 * np.pi, 4001), []
        values = [self.cross(phi) for phi in angles]
        for k in range(4000):
            low, high, at_low = angles[k], angles[k + 1], values[k]
            if at_low * values[k + 1] > 0.0:
                continue
            for _ in range(60):
                middle = 0.5 * (low + high)
                if at_low * self.cross(middle) > 0.0:
                    low = middle
                else:
                    high = middle
            gain, P, z = self.slipping(high)
            if gain > 0.0 and P[0] >= 0.0 and z[1:] @ [np.cos(high), np.sin(high)] >= 0.0:
                found.append(P)
        return found

    def answers(self) -> list[np.ndarray]:
        """All impulses of the law, where no other friction is given."""
        assert self.least == 0.0
        found = self.slips()
        if self.b[0] >= 0.0:
            found.append(np.zeros(3))
        stick = -np.linalg.solve(self.G, self.b)
        if stick[0] >= 0.0 and np.hypot(*stick[1:]) <= self.mu * stick[0]:
            found.append(stick)
        return found

    def solve(self, P: np.ndarray) -> tuple[float, np.ndarray]:
        one = Sweeping(self.G, self.b, np.array([self.mu]), np.array([self.least]))
        one.P[0] = P
        z = (self.G @ one.P[0] + self.b)[None]
        none = plain(cones.solve_point)(one.blocks, 0, self.mu, self.least, 0, one.d, one.P, z, 0)
        return none, one.P[0]


# Of some of these seeds a point may leave, stick and slip at once, of 26 there are three answers.
SEVERAL = (*range(6), 10, 15, 18, 26)
ANGLES = np.linspace(-3.0, 3.1, 11)


@pytest.mark.parametrize("least", [0.0, 0.7])
@pytest.mark.parametrize("seed", range(4))
def test_the_form_of_slip_is_what_slipping_leaves_across_it(seed: int, least: float) -> None:
    at = Point(seed, least=least)
    form = plain(cones.slip_form)(at.alone)
    assert len(form) == 6
    K = np.array([[form[2], form[3]], [form[4], form[5]]])
    for phi in ANGLES:
        gain, _, z = at.slipping(phi)
        d = np.array([np.cos(phi), np.sin(phi)])
        size = np.abs(K).max() + np.abs(form[:2]).max()
        assert form[:2] + K @ d == pytest.approx(gain * z[1:], abs=1e-12 * size)
        assert plain(cones.off_way)(*form, *d) == pytest.approx(at.cross(phi), abs=1e-12 * size)
        step = 1e-5
        slope = (at.cross(phi + step) - at.cross(phi - step)) / (2.0 * step)
        assert plain(cones.off_way_slope)(*form, *d) == pytest.approx(slope, abs=1e-8 * size)


@pytest.mark.parametrize("least", [0.0, 0.4])
@pytest.mark.parametrize("seed", SEVERAL)
def test_of_several_slips_the_nearest_is_taken(seed: int, least: float) -> None:
    """Of those within the distance that is asked for; the impulse stays as it was where there is none."""
    at, rng = Point(seed, mu=3.0, least=least), np.random.default_rng(1000 + seed)
    slips = at.slips()
    for _ in range(3):
        last = np.array([rng.uniform(0, 2), *rng.normal(size=2)])
        away = sorted((float(np.sum((P - last) ** 2)), i) for i, P in enumerate(slips))
        for far, found in ((np.inf, bool(away)), (away[0][0] * 1.001, True) if away else (5.0, False),
                           (away[0][0] * 0.999, False) if away else (5.0, False)):  # fmt: skip
            P = np.array([[9.0, 9.0, 9.0], last])
            none = plain(cones.slip)(at.alone, far, P, 1)
            assert none == (0.0 if found else 1.0)
            wanted = slips[away[0][1]] if found else last
            assert P[1] == pytest.approx(wanted, rel=1e-8, abs=1e-9)
            assert (P[0] == 9.0).all()


@pytest.mark.parametrize("pull", [1.0, -1.0])
@pytest.mark.parametrize("seed", SEVERAL)
def test_of_several_answers_the_nearest_to_the_last_one_is_taken(seed: int, pull: float) -> None:
    """Where friction overcomes the normal it may leave, stick and slip at once, or have no answer."""
    at, rng = Point(seed, mu=4.0, pull=pull), np.random.default_rng(500 + seed)
    answers = at.answers()
    for last in (np.zeros(3), *(np.array([rng.uniform(0, 3), *rng.normal(0, 2, 2)]) for _ in range(2)), *answers):
        none, P = at.solve(last)
        if not answers:
            assert none == 1.0
            continue
        assert none == 0.0
        nearest = min(answers, key=lambda answer: np.sum((answer - last) ** 2))
        assert pytest.approx(nearest, rel=1e-7, abs=1e-8) == P


@pytest.mark.parametrize("pull", [1.0, -1.0])
@pytest.mark.parametrize("least", [0.3, 3.0])
@pytest.mark.parametrize("mu", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(6))
def test_friction_that_is_given_is_there_with_or_without_friction_of_the_normal(
    seed: int, mu: float, least: float, pull: float
) -> None:
    """Points that touch and points that leave, which slide or stick by the given friction alone."""
    at = Point(seed, mu, least, pull)
    for last in (np.zeros(3), np.array([0.7, 0.2, -0.1])):
        none, P = at.solve(last)
        assert none == 0.0
        lawful(at.G, at.b, mu, least, P)
        assert np.abs(P[1:]).max() > 1e-3


@pytest.mark.parametrize("seed", range(4))
def test_without_any_friction_only_the_normal_answers(seed: int) -> None:
    for pull in (1.0, -1.0):
        at = Point(seed, 0.0, 0.0, pull)
        none, P = at.solve(np.array([0.3, 0.2, -0.4]))
        assert none == 0.0
        assert pytest.approx([max(-at.b[0] / at.G[0, 0], 0.0), 0.0, 0.0], rel=1e-13) == P


def test_a_point_that_nothing_moves_takes_no_impulse() -> None:
    P, z = np.full((2, 3), 4.0), np.full((2, 3), -1.0)
    assert plain(cones.solve_point)(np.zeros((2, 3, 3)), 1, 0.5, 0.2, 0, np.zeros((2, 2)), P, z, 1) == 0.0
    assert P.tolist() == [[4.0] * 3, [0.0] * 3]
    assert plain(cones.off_law)(np.zeros((2, 3, 3)), 1, 0.5, 0.2, 0, np.zeros((2, 2)), P, z, 1) == 0.0


@pytest.mark.parametrize("least", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(20))
def test_newton_from_the_last_direction_finds_the_only_slip(seed: int, least: float) -> None:
    """Where friction does not overcome the normal; it leaves all as it was where it does not get there."""
    at = Point(seed, least=least)
    at.mu = 0.5 * at.G[0, 0] / np.hypot(*at.G[0, 1:])
    stick = -np.linalg.solve(at.G, at.b)
    sticks = stick[0] >= 0.0 and np.hypot(*stick[1:]) <= least + at.mu * stick[0]
    slips = at.slips()
    for last in (np.zeros(3), np.array([0.3, 0.4, -0.2]), *(P + 0.05 for P in slips)):
        P = np.array([[9.0, 9.0, 9.0], last])
        found = plain(cones.slip_nearby)(at.alone, P, 1)
        assert (P[0] == 9.0).all()
        if not found:
            assert (P[1] == last).all()
        else:
            assert any(P[1] == pytest.approx(slip, rel=1e-7, abs=1e-9) for slip in slips)
    if slips and not sticks:
        start = np.array([[0.0] * 3, slips[0] * [1.0, 1.02, 0.97]])
        assert plain(cones.slip_nearby)(at.alone, start, 1)
        assert start[1] == pytest.approx(slips[0], rel=1e-9, abs=1e-10)


def test_newton_gives_up_where_there_is_no_direction() -> None:
    P = np.zeros((1, 3))
    assert not plain(cones.slip_nearby)(cones.Alone(2.0, 0.0, 0.0, 1.0, 0.0, 1.0, -1.0, 0.0, 0.0, 0.5, 0.0), P, 0)
    assert not P.any()


@pytest.mark.parametrize(("gain_mu", "need"), [(0.5, 1.3), (0.5, -1.3), (2.5, 1.3), (2.5, -1.3)])
@pytest.mark.parametrize("least", [0.0, 0.6])
def test_a_known_slide_presses_unless_pressing_drives_it_in(gain_mu: float, need: float, least: float) -> None:
    """z_n = 0 along d; a wedge whose friction feeds it is jammed; what leaves keeps the given friction alone."""
    G, d = np.array([1.5, 0.9, 0.4]), np.array([0.8, 0.6])
    bn = least * G[1:] @ d - need
    P = np.full((2, 3), 9.0)
    jammed = plain(cones.slide)(cones.Alone(*G, 0.0, 0.0, 0.0, bn, 0.0, 0.0, gain_mu, least), *d, P, 1)
    gain = 1.5 - gain_mu * 0.96
    assert jammed == (1.0 if need > 0.0 and gain < 0.0 else 0.0)
    normal = need / gain if need > 0.0 and gain > 0.0 else 0.0
    assert P[1] == pytest.approx([normal, *(-(least + gain_mu * normal) * d)], rel=1e-13)
    if normal > 0.0:
        assert G @ P[1] + bn == pytest.approx(0.0, abs=1e-13)
    assert (P[0] == 9.0).all()


@pytest.mark.parametrize("turn", [0.3, 1.2, 2.0])
@pytest.mark.parametrize("small", [0.9e-3, 1.1e-3])
def test_a_block_is_singular_where_a_pivot_is_below_the_floor(turn: float, small: float) -> None:
    """Pivots with complete choice among the two tangents: of known ones, 4, the larger and the smaller."""
    for swap in (False, True):
        L = np.array([[2.0, 0, 0], [0.7, 1.0, 0], [-0.4, 0.5 * np.cos(turn), 1.0]])
        D = np.diag([1.0, 3.0, small])
        G = L @ D @ L.T
        if swap:
            G = G[np.ix_([0, 2, 1], [0, 2, 1])]
        S = G[1:, 1:] - np.outer(G[1:, 0], G[0, 1:]) / G[0, 0]
        first = max(S[0, 0], S[1, 1])
        pivot = np.linalg.det(S) / first
        found = plain(cones.singular)(*(G[i, j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))), 1e-3)
        assert bool(found) is bool(pivot < 1e-3)
        assert first > 1e-3
    assert plain(cones.singular)(1.0, 0.0, 0.0, 5e-4, 0.0, 4e-4, 1e-3)


def form(*roots: float) -> tuple[float, ...]:
    """w and K of sin(phi - r0) sin(phi - r1) (one pair of roots, each twice round the circle), less a lift.

    off_way = c wy - s wx + (kyy - kxx) s c + kyx c^2 - kxy s^2; and sin(p - a) sin(p - b) =
    s^2 cos a cos b - s c sin(a + b) + c^2 sin a sin b.
    """
    a, b = roots
    return 0.0, 0.0, 0.4, -np.cos(a) * np.cos(b), np.sin(a) * np.sin(b), 0.4 - np.sin(a + b)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_where_it_turns_between_two_angles(sign: float) -> None:
    """sin(phi - a) sin(phi - b) is nearest to the other side amid a and b; between other looks there is no turn."""
    a, b = 0.85, 1.1
    wx, wy, kxx, kxy, kyx, kyy = (sign * x for x in form(a, b))
    looks = np.linspace(0.0, 2.0 * np.pi, cones.LOOKS + 1)
    for i in range(1, cones.LOOKS + 1):
        low, high = looks[i - 1], looks[i]
        value = sign * np.sin(low - a) * np.sin(low - b)
        at_low = plain(cones.off_way)(wx, wy, kxx, kxy, kyx, kyy, np.cos(low), np.sin(low))
        assert at_low == pytest.approx(value, abs=1e-14)
        found = plain(cones.turn_between)(kxx, kxy, kyx, kyy, wx, wy, i, value)
        turns = [t for t in (0.975, 0.975 + np.pi) if low < t < high]
        assert found == pytest.approx(turns[0] if turns else high, abs=1e-12)
    assert plain(cones.turn_between)(kxx, kxy, kyx, kyy, wx, wy, 3, -sign * 0.01) == looks[3]  # turns away from zero


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("low", "high", "root"), [(0.8, 1.2, 1.0), (0.3, 1.25, 1.0), (1.05, 1.9, 1.3), (1.2, 2.5, 1.3),
                                                   (1.0 - 1e-9, 1.2, 1.0)])  # fmt: skip
def test_roots_between_two_angles(sign: float, low: float, high: float, root: float) -> None:
    numbers = [sign * x for x in form(1.0, 1.3)]
    at_low = plain(cones.off_way)(*numbers, np.cos(low), np.sin(low))
    assert plain(cones.root_between)(*numbers, low, high, at_low) == pytest.approx(root, abs=4e-15)
    assert plain(cones.root_between)(*numbers, low, high, 0.0) == low


def test_the_residual_is_that_of_the_worst_point_in_units_of_the_rate() -> None:
    rng = np.random.default_rng(2)
    G = np.array([block(rng, 2.0) for _ in range(3)])
    mu, least, known = np.array([0.3, 0.5, 0.7]), np.array([0.1, 0.0, 0.2]), np.zeros(3, np.int64)
    P, z, d = rng.uniform(0.5, 1.0, (3, 3)), rng.normal(size=(3, 3)), np.zeros((3, 2))
    own = np.array([2, 0, 1])
    each = [plain(cones.off_law)(G, own[k], mu[k], least[k], 0, d, P, z, k) for k in range(3)]
    for k in range(3):
        trace, r = np.trace(G[own[k]]), least[k] + mu[k] * P[k, 0]
        tried = P[k] - z[k] / trace
        wanted = np.array([max(tried[0], 0.0), *(tried[1:] * min(1.0, r / np.hypot(*tried[1:])))])
        assert each[k] == pytest.approx(trace * np.linalg.norm(P[k] - wanted), rel=1e-12)
    found = plain(cones.residual_of)(cones.Answers(None, None, own, G), cones.Laws(mu, least, known, d), P, z, 2.5)
    assert found == pytest.approx(max(each) / 2.5, rel=1e-14)
