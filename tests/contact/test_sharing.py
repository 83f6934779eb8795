"""Forces that are not unique: of least norm, or central, against general optimisers over all that do the same.

Problems are made from their answer: lawful forces P and rates z of points in modes of all sorts give free = z - G P.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.linalg import null_space, orth
from scipy.optimize import minimize

from sim.contact import analytic_centre, not_unique
from sim.contact.active import Active, solve
from sim.contact.contact_problem import ContactProblem, Mode, acceleration, impact
from tests.contact.random_problems import rows
from tests.contact.set_ups import on_floor
from tests.contact.test_cone_projection import onto_cone
from tests.support.rotations import random_matrix

pytestmark = [pytest.mark.contact, pytest.mark.fast]

OPEN, STICK, SLIP = Mode.OPEN, Mode.STICK, Mode.SLIP
MODES = {
    "stick": [STICK] * 5,
    "slide": [SLIP] * 7,
    "both": [STICK, SLIP, STICK, STICK, SLIP, STICK],
    "some leave": [STICK, OPEN, STICK, SLIP, STICK, OPEN, STICK],
}


@dataclass
class Known:
    """A problem and lawful forces P (k, 3) of it, whose points are in these modes and slide along d (k, 2)."""

    problem: ContactProblem
    P: np.ndarray
    mode: np.ndarray
    d: np.ndarray

    def freedom(self, tested: np.ndarray) -> np.ndarray:
        """Return all changes (3k, m) of P along the rays of modes that leave these rows of rates (., 3k) alone."""
        k, out = len(self.mode), []
        for i, mode in enumerate(self.mode):
            own = np.zeros((3, 3 * k))
            own[:, 3 * i : 3 * i + 3] = np.eye(3)
            if mode == OPEN:
                out.append(own)
            elif mode == SLIP:
                mu = self.problem.mu[i]
                out.append(own[1:] + mu * self.d[i][:, None] * own[0])
        return null_space(np.vstack([tested @ self.problem.G / np.abs(self.problem.G).max(), *out]), rcond=1e-10)

    def fixed(self) -> np.ndarray:
        """Return the rows (., 3k) of rates that the law fixes, of points in their modes."""
        out = []
        for i, mode in enumerate(self.mode):
            own = np.zeros((3, 3 * len(self.mode)))
            own[:, 3 * i : 3 * i + 3] = np.eye(3)
            if mode == STICK:
                out.append(own)
            elif mode == SLIP:
                out.append(own[:1])
                if not self.problem.given[i]:
                    out.append(self.d[i, :1, None] * own[2:] - self.d[i, 1:, None] * own[1:2])
        return np.vstack(out)

    def slack(self, P: np.ndarray) -> np.ndarray:
        """Return what logarithms are taken of (k,), one where a point is open."""
        mu, P = self.problem.mu, P.reshape(-1, 3)
        cone = (mu * P[:, 0]) ** 2 - P[:, 1] ** 2 - P[:, 2] ** 2
        slides = np.sqrt(1.0 + mu**2) * P[:, 0]  # along the edge of the cone
        out = np.where(self.mode == STICK, cone, np.where(self.mode == SLIP, slides, 1.0))
        return np.where((P[:, 0] > 0.0) | (self.mode == OPEN), out, -1.0)

    def room(self, P: np.ndarray) -> np.ndarray:
        """Return mu P_n - |P_t| where a point sticks; where it slides, how far along its ray it is."""
        mu, size = self.problem.mu, np.hypot(P[:, 1], P[:, 2])
        along = np.sqrt(1.0 + mu**2) * P[:, 0]
        return np.where(self.mode == STICK, mu * P[:, 0] - size, np.where(self.mode == SLIP, along, 0.0))


def known(
    seed: int, modes: list[int], *, bodies: int = 1, given: bool = False, deep: float = 0.9, rough: float = 1.0
) -> Known:
    """Return points in random frames on one body, or two that press each other, too, of masses a hundred to one.

    given: directions of slip are; deep: share of the cone that friction of points which stick may take; rough: times mu
    """
    rng, k, mode = np.random.default_rng(seed), len(modes), np.array(modes)
    inverse = np.zeros((6 * bodies, 6 * bodies))
    for b in range(bodies):
        mass = 0.7 * 100.0**b
        inverse[6 * b : 6 * b + 3, 6 * b : 6 * b + 3] = np.eye(3) / mass
        R = random_matrix(rng)
        inverse[6 * b + 3 : 6 * b + 6, 6 * b + 3 : 6 * b + 6] = R @ np.diag(rng.uniform(2.0, 6.0, 3)) @ R.T / mass
    W = np.zeros((3 * k, 6 * bodies))
    for i in range(k):
        frame = random_matrix(rng)
        if frame[0, 2] < 0.0:  # more or less from below: their forces balance each other in part only
            frame = np.diag([-1.0, -1.0, 1.0]) @ frame
        b, point = i % bodies, rng.normal(size=3) * [0.5, 0.5, 0.2]
        W[3 * i : 3 * i + 3, 6 * b : 6 * b + 6] = rows(point, frame, np.zeros(3))
        if bodies > 1 and i % 3 == 2:
            W[3 * i : 3 * i + 3, 6 * (1 - b) : 6 * (1 - b) + 6] = -rows(point + 0.1, frame, np.zeros(3))
    mu, angle = rough * rng.uniform(0.3, 0.9, k), rng.uniform(-np.pi, np.pi, k)
    d = np.column_stack([np.cos(angle), np.sin(angle)]) * (mode == SLIP)[:, None]
    P = np.zeros((k, 3))
    P[:, 0] = rng.uniform(1.0, 4.0, k) * (mode != OPEN)
    turn = rng.uniform(-np.pi, np.pi, k)
    share = deep * rng.uniform(0.3, 1.0, k)
    P[:, 1:] = (mu * P[:, 0] * share)[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    P[mode == SLIP, 1:] = -(mu * P[:, 0])[mode == SLIP, None] * d[mode == SLIP]
    z = np.zeros((k, 3))
    z[:, 1:] = d * rng.uniform(0.5, 2.0, k)[:, None]
    z[mode == OPEN] = rng.uniform(0.5, 1.0, (int((mode == OPEN).sum()), 3))
    G = W @ inverse @ W.T
    G = 0.5 * (G + G.T)
    problem = ContactProblem(
        G=G, free=z.ravel() - G @ P.ravel(), mu=mu, shift=np.zeros(k), least=np.zeros(k), sliding=d if given else 0 * d,
        closed=np.ones(k, bool), patch=np.arange(k) % 2,
    )  # fmt: skip
    return Known(problem, P, mode, d)


# --- least norm ------------------------------------------------------------------------------------------------------


def nearest(made: Known, x: np.ndarray) -> np.ndarray:
    """Return the nearest lawful forces (k, 3), point by point, to any x."""
    out = np.zeros_like(x)
    for i, mode in enumerate(made.mode):
        mu = float(made.problem.mu[i])
        if mode == STICK:
            out[i] = onto_cone(x[i], mu)
        elif mode == SLIP:
            ray = np.array([1.0, *(-mu * made.d[i])]) / np.hypot(1.0, mu)
            out[i] = max(float(ray @ x[i]), 0.0) * ray
    return out


def least_of(made: Known) -> np.ndarray:
    """Return P (k, 3) of least norm with the rates of P, in its cones: the largest lower bound of that, and its P."""
    rows = orth(made.problem.G, rcond=1e-10).T
    wanted = rows @ made.P.ravel()

    def bound(y: np.ndarray) -> tuple[float, np.ndarray]:
        P = nearest(made, (rows.T @ y).reshape(-1, 3)).ravel()
        return 0.5 * float(P @ P) - float(wanted @ y), rows @ P - wanted

    found = minimize(bound, wanted, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 2000})
    return nearest(made, (rows.T @ found.x).reshape(-1, 3))


def check_least(made: Known) -> None:
    """Hold shared forces against those of least norm, and who has any to choose."""
    scale = np.abs(made.P).max()
    found = not_unique.share(made.problem, made.P, made.mode, made.d)
    assert made.problem.rates(found.P) == pytest.approx(made.problem.rates(made.P), abs=1e-10 * scale)
    slides = made.mode == SLIP
    assert found.P[slides, 1:] == pytest.approx(-(made.problem.mu * found.P[:, 0])[slides, None] * made.d[slides])
    assert not found.P[made.mode == OPEN].any()
    assert (made.room(found.P) >= -1e-12 * scale).all() and (found.P[:, 0] >= 0.0).all()
    wanted = least_of(made)
    assert pytest.approx(wanted, abs=1e-6 * scale) == found.P
    free = made.freedom(np.eye(made.P.size)).reshape(len(made.mode), -1)
    assert found.motion_unique
    assert found.chosen.tolist() == (np.abs(free).max(axis=1, initial=0.0) > 1e-6).tolist()


@pytest.mark.parametrize("bodies", [1, 2])
@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("seed", range(5))
def test_of_all_forces_that_do_the_same_those_of_least_norm_are_shared(seed: int, name: str, bodies: int) -> None:
    check_least(known(seed, MODES[name] * bodies, bodies=bodies))


@pytest.mark.parametrize(("name", "seed"), [
    ("stick", 2), ("stick", 7), ("stick", 8), ("both", 4), ("both", 20), ("some leave", 2), ("some leave", 8),
])  # fmt: skip
def test_forces_of_least_norm_are_found_where_whole_steps_lead_astray(name: str, seed: int) -> None:
    """On the borders of slender cones."""
    check_least(known(seed, MODES[name], deep=0.9999, rough=0.1))


def test_friction_of_its_own_leaves_forces_as_they_are() -> None:
    """Whichever point has it; who has forces that are not unique is told all the same."""
    made = known(1, MODES["stick"])
    for point in range(5):
        least = np.where(np.arange(5) == point, 0.7, 0.0)
        found = not_unique.share(replace(made.problem, least=least), made.P, made.mode, made.d)
        assert found.P is made.P and found.chosen.all() and found.motion_unique


@pytest.mark.parametrize("mass", [2.0, 2e7, 2e-7])
@pytest.mark.parametrize(("turn", "unique"), [(0.0, True), (0.7, False)])
def test_feet_that_slide_in_ways_of_their_own_share_their_load_and_so_their_motion(
    turn: float, unique: bool, mass: float
) -> None:
    """Four in a plane: a load on two opposite ones drags the table, unless all slide the same way."""
    feet = np.array([[0.5, 0.4, -1.0], [-0.5, 0.4, -1.0], [-0.5, -0.4, -1.0], [0.5, -0.4, -1.0]])
    body = on_floor(mass, mass * np.diag([0.25, 0.3, 0.2]), feet)
    angle = 0.3 + turn * np.arange(4)
    d, mu = np.column_stack([np.cos(angle), np.sin(angle)]), np.array([0.3, 0.4, 0.5, 0.6])
    if unique:
        mu[:] = 0.4
    P = np.column_stack([[4.0, 5.0, 6.0, 5.0]] * 3)
    P[:, 1:] = -mu[:, None] * P[:, :1] * d
    z = np.column_stack([np.zeros(4), d])
    made = acceleration(body.G, z.ravel() - body.G @ P.ravel(), mu, u_t=d)
    found = not_unique.share(made, P, np.full(4, SLIP), d)
    assert found.chosen.all() and found.motion_unique is unique
    wanted = P[:, 0].copy()  # 4 - 5 + 6 - 5 is nothing already
    assert found.P[:, 0] == pytest.approx(wanted, abs=1e-9)
    P[:, 0] += [0.5, -0.5, 0.5, -0.5]
    P[:, 1:] = -mu[:, None] * P[:, :1] * d
    found = not_unique.share(made, P, np.full(4, SLIP), d)
    assert found.P[:, 0] == pytest.approx(wanted if unique else P[:, 0], abs=1e-9)


# --- central ---------------------------------------------------------------------------------------------------------


def central(made: Known, P: np.ndarray, free: np.ndarray, held: np.ndarray, size: float) -> np.ndarray:
    """Return P + free y (k, 3) with 5 |x|^2 - sum log slack least, x in shares of a size, of the points held (k,)."""
    k = len(held)
    mu = made.problem.mu
    x0, own = P.ravel() / size, free.reshape(k, 3, -1)
    cone = np.column_stack([mu**2, 0 * mu - 1.0, 0 * mu - 1.0])

    def cost(y: np.ndarray) -> tuple[float, np.ndarray]:
        x = (x0 + free @ y).reshape(k, 3)
        slack = made.slack(x)
        if (slack[held] <= 0.0).any():
            return 1e30, np.zeros(len(y))
        slope = np.where((made.mode == STICK)[:, None], 2.0 * cone * x, np.outer(np.sqrt(1.0 + mu**2), [1.0, 0.0, 0.0]))
        part = np.einsum("ki,kim->m", (slope / slack[:, None])[held], own[held])
        return 5.0 * float((x * x).sum()) - float(np.log(slack[held]).sum()), 10.0 * free.T @ x.ravel() - part

    def bend(y: np.ndarray) -> np.ndarray:
        steps = 1e-6 * np.eye(len(y))
        return np.array([(cost(y + h)[1] - cost(y - h)[1]) / 2e-6 for h in steps])

    found = minimize(
        cost, np.zeros(free.shape[1]), jac=True, hess=bend, method="trust-exact",
        options={"gtol": 1e-7, "initial_trust_radius": 0.01, "max_trust_radius": 0.2, "maxiter": 500},
    )  # fmt: skip
    return np.asarray(size * (x0 + free @ found.x).reshape(k, 3))


def lawful(made: Known, P: np.ndarray) -> bool:
    """Tell whether rates with P are those of the modes: none where points stick, away, or on along the slip."""
    z = made.problem.rates(P)
    on = np.sum(z[:, 1:] * made.d, axis=1)
    return bool((z[made.mode == OPEN, 0] >= 0.0).all() and (on[made.mode == SLIP] >= 0.0).all())


def check_centre(made: Known) -> np.ndarray:
    """Hold what is chosen for forces that all have room, against the optimisers; return it."""
    problem, scale, k = made.problem, float(np.abs(made.P).max()), len(made.mode)
    found = analytic_centre.centred(problem, made.P, made.mode, made.d)
    free = made.freedom(made.fixed())
    chosen = np.abs(free).reshape(k, -1).max(axis=1, initial=0.0) > 1e-6
    assert found.chosen.tolist() == chosen.tolist()
    assert found.border == pytest.approx(1e-6 * scale if chosen.any() else 0.0)
    middle = central(made, made.P, free, chosen, scale)
    least = middle - (free @ (free.T @ middle.ravel())).reshape(k, 3)
    kept = bool((made.room(least)[chosen] >= 0.1 * made.room(middle)[chosen]).all())
    wanted = least if kept else middle
    if not lawful(made, wanted):
        wanted, kept = made.P, False
    assert pytest.approx(wanted, abs=1e-4 * scale) == found.P
    assert found.room == pytest.approx(made.room(found.P), abs=1e-9 * scale)
    assert found.bound.tolist() == (made.mode == OPEN).tolist() and found.least is kept
    return wanted


@pytest.mark.parametrize("bodies", [1, 2])
@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_forces_to_hold_with_are_of_least_norm_where_there_is_room_and_else_central(
    seed: int, given: bool, name: str, bodies: int
) -> None:
    deep, rough = ((0.3, 8.0), (0.3, 1.0), (0.6, 3.0), (0.97, 1.0), (0.99, 0.5))[seed]
    check_centre(known(20 + seed, MODES[name] * bodies, bodies=bodies, given=given, deep=deep, rough=rough))


@pytest.mark.parametrize(
    ("name", "seed"), [("stick", 26), ("both", 1), ("both", 43), ("some leave", 15), ("some leave", 58)]
)
def test_forces_from_which_whole_steps_would_leave_the_cones_become_central_too(name: str, seed: int) -> None:
    check_centre(known(seed, MODES[name]))


@pytest.mark.parametrize("aside", [0.5, -0.5])
def test_forces_under_which_points_that_leave_would_be_pressed_are_not_chosen(aside: float) -> None:
    """A table on four feet that slide in ways of their own, beside a wall that it just leaves: its load drags it."""
    feet = np.array([[0.5, 0.4, -1.0], [-0.5, 0.4, -1.0], [-0.5, -0.4, -1.0], [0.5, -0.4, -1.0]])
    table = on_floor(2.0, np.diag([0.5, 0.6, 0.4]), feet)
    wall = on_floor(2.0, np.diag([0.5, 0.6, 0.4]), np.array([[-0.6, 0.1, 0.0]]), np.eye(3))
    W, k = np.vstack([table.W, wall.W]), 5
    angle = np.array([0.3, 1.0, 1.7, 2.4])
    d, mu = np.zeros((k, 2)), np.array([0.3, 0.4, 0.5, 0.6, 0.5])
    d[:4] = np.column_stack([np.cos(angle), np.sin(angle)])
    P, z = np.zeros((k, 3)), np.zeros((k, 3))
    P[:4, 0] = np.array([4.0, 5.0, 6.0, 5.0]) + aside * np.array([1.0, -1.0, 1.0, -1.0])
    P[:4, 1:] = -mu[:4, None] * P[:4, :1] * d[:4]
    z[:, 1:], z[4] = d, [1e-3, 0.2, 0.1]
    G = W @ table.inverse @ W.T
    made = acceleration(G, z.ravel() - G @ P.ravel(), mu, u_t=d)
    before = Known(made, P, np.array([SLIP] * 4 + [OPEN]), d)
    assert (check_centre(before) is P) == (aside < 0.0)


@pytest.mark.parametrize("force", [1e-5, 1e7])
@pytest.mark.parametrize("name", ["stick", "both", "some leave"])
def test_small_and_large_forces_are_chosen_alike(name: str, force: float) -> None:
    made = known(5, MODES[name])
    large = replace(made.problem, free=force * made.problem.free)
    one, other = (
        analytic_centre.centred(problem, share * made.P, made.mode, made.d)
        for problem, share in ((made.problem, 1.0), (large, force))
    )
    assert other.P / force == pytest.approx(one.P, rel=1e-6)
    assert other.room / force == pytest.approx(one.room, rel=1e-6)
    assert (other.least, other.bound.tolist()) == (one.least, one.bound.tolist())
    least, most = (
        not_unique.share(problem, share * made.P, made.mode, made.d)
        for problem, share in ((made.problem, 1.0), (large, force))
    )
    assert most.P / force == pytest.approx(least.P, rel=1e-6) and most.motion_unique == least.motion_unique


def test_no_forces_at_all_are_shared_as_none() -> None:
    made = known(5, MODES["stick"])
    for choose in (not_unique.share, analytic_centre.centred):
        found = choose(replace(made.problem, free=0.0 * made.problem.free), 0.0 * made.P, made.mode, made.d)
        assert found.P.tolist() == (0.0 * made.P).tolist() and found.chosen.all()


def test_two_points_in_one_place_share_one_force() -> None:
    """All that they do is one number."""
    made = impact(np.kron(np.ones((2, 2)), np.diag([2.0, 0.0, 0.0])), np.tile([-8.0, 0.0, 0.0], 2), np.zeros(2))
    P = np.array([[3.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    found = not_unique.share(made, P, np.full(2, SLIP), np.zeros((2, 2)))
    assert pytest.approx(np.array([[2.0, 0.0, 0.0]] * 2), abs=1e-12) == found.P


LINE = np.array([[-0.5, 0.0, -1.0], [0.1, 0.0, -1.0], [0.6, 0.0, -1.0], [-0.3, 0.3, -1.0], [0.4, 0.25, -1.0]])


def on_a_line(mu: float, off: float = 0.0) -> Known:
    """Feet of which three in line carry all, the others, beside, together as much moment as the load is off, m."""
    body = on_floor(2.0, np.diag([0.5, 0.6, 0.4]), LINE)
    load = 20.0
    A = np.vstack([np.ones(5), LINE[:, 0], LINE[:, 1]])
    beside = np.array([0.0, 0.0, 0.0, 0.4 / 0.3, 0.6 / 0.25]) * load * off
    P = np.zeros((5, 3))
    P[:, 0] = beside
    P[:3, 0] += np.linalg.pinv(A[:2, :3]) @ ([load, 1.5] - A[:2] @ beside) + 0.9 * np.cross(*A[:2, :3])
    P[:3, 1:] = mu * P[:3, :1] * [[0.2, -0.3], [0.4, 0.1], [-0.3, 0.2]]
    made = impact(body.G, -body.G @ P.ravel(), np.full(5, mu))
    return Known(made, P, np.full(5, STICK if mu else SLIP), np.zeros((5, 2)))


@pytest.mark.parametrize("mu", [0.0, 0.3, 0.8])
def test_feet_that_nothing_can_press_stay_where_they_were_and_the_others_share(mu: float) -> None:
    made = on_a_line(mu)
    found = analytic_centre.centred(made.problem, made.P, made.mode, made.d)
    assert found.bound.tolist() == [False, False, False, True, True] and found.chosen.all() and not found.least
    assert found.P[3:] == pytest.approx(np.zeros((2, 3)), abs=1e-9)
    pressed = np.arange(5) < 3
    own = null_space(np.vstack([made.fixed() @ made.problem.G, np.eye(15)[9:], *(
        np.eye(15)[3 * i + 1 : 3 * i + 3] for i in range(5) if mu == 0.0)]), rcond=1e-10)  # fmt: skip
    scale = float(np.abs(made.P).max())
    middle = central(made, made.P, own, pressed, scale)
    least = middle - (own @ (own.T @ middle.ravel())).reshape(5, 3)
    kept = (made.room(least)[pressed] >= 0.1 * made.room(middle)[pressed]).all()
    assert pytest.approx(least if kept else middle, abs=1e-4 * scale) == found.P
    assert made.problem.rates(found.P) == pytest.approx(np.zeros((5, 3)), abs=1e-9)
    assert (found.room[:3] > 0.1).all() and found.room[3:] == pytest.approx([0.0, 0.0], abs=1e-8)


@pytest.mark.parametrize("mu", [0.0, 0.4])
@pytest.mark.parametrize(("off", "bound"), [(1e-9, True), (1e-4, False), (1e-2, False)])
def test_feet_that_hardly_anything_can_press_count_as_on_the_border(off: float, bound: bool, mu: float) -> None:
    """By a millionth of the largest force."""
    made = on_a_line(mu, off)
    found = analytic_centre.centred(made.problem, made.P, made.mode, made.d)
    assert found.bound.tolist() == [False] * 3 + [bound] * 2
    assert made.problem.rates(found.P) == pytest.approx(np.zeros((5, 3)), abs=1e-8)
    assert LINE[3:, 1] @ found.P[3:, 0] == pytest.approx(20.0 * off, abs=1e-8)
    assert (found.room[3:] > 0.1 * mu * 20.0 * off).all() or bound


@pytest.mark.parametrize(("name", "rough", "seed"), [
    ("stick", 1.5, 42), ("stick", 1.5, 47), ("stick", 1.5, 50), ("stick", 1.5, 51), ("slide", 1.5, 41),
    ("both", 2.0, 42), ("both", 2.0, 44), ("both", 2.0, 45), ("both", 2.0, 48), ("both", 2.0, 51),
])  # fmt: skip
def test_what_some_forces_hold_is_held_though_the_least_would_not(seed: int, rough: float, name: str) -> None:
    made = known(seed, MODES[name], given=True, deep=(0.1, 0.2, 0.3)[(seed - 40) % 3], rough=rough)
    begun = solve(made.problem, Active.first(made.problem), np.zeros_like(made.P))
    assert (made.room(begun) < 0.0).any()
    found = analytic_centre.fully_held(made.problem)
    assert found is not None
    scale = np.abs(found).max()
    z = made.problem.rates(found)
    assert z[made.mode == STICK] == pytest.approx(np.zeros((int((made.mode == STICK).sum()), 3)), abs=1e-9 * scale)
    assert z[:, 0] == pytest.approx(np.zeros(len(z)), abs=1e-9 * scale)
    assert (made.room(found) > 0.0).all()
    slides = made.mode == SLIP
    assert found[slides, 1:] == pytest.approx(-(made.problem.mu * found[:, 0])[slides, None] * made.d[slides])


def test_what_no_forces_hold_is_not_held() -> None:
    """A load beyond the feet, and one along the ground beyond their friction."""
    made = on_a_line(0.3)
    assert analytic_centre.fully_held(made.problem) is None  # two feet have no room, but none is beyond its cone
    for P in (made.P * [1.0, 6.0, 6.0], made.P + np.array([[0, 0, 0]] * 3 + [[-1.0, 0, 0]] * 2)):
        problem = replace(made.problem, free=-made.problem.G @ P.ravel())
        assert analytic_centre.fully_held(problem) is None
    above = known(3, MODES["stick"], deep=0.3)
    assert analytic_centre.fully_held(replace(above.problem, free=-above.problem.free)) is None


@pytest.mark.parametrize("name", MODES)
def test_forces_that_could_be_shared_are_not_left_as_they_were(name: str) -> None:
    """Where steps of the search are so short that roundoff hides what they gain, they are made all the same."""
    for seed in range(100):
        made = known(seed, MODES[name] * 2, bodies=2)
        found = not_unique.share(made.problem, made.P, made.mode, made.d)
        assert not found.chosen.any() or np.abs(found.P - made.P).max() > 1e-6, seed
