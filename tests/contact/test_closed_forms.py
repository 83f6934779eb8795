"""Contacts whose answers are known: in closed form, or from the published tables of the benchmark notes."""

from __future__ import annotations

import numpy as np
import pytest

from sim.contact.contact_problem import Mode, acceleration, impact
from sim.contact.impact import Collision, jam, newton, poisson, resolve, resolve_in_turn
from sim.contact.solution import ContactStatus
from sim.contact.solve import solve_contacts
from tests.contact.random_problems import Bodies, random_bodies
from tests.contact.set_ups import G0, UP, box_inertia, corners, on_floor, rod, row_of_balls

pytestmark = [pytest.mark.contact, pytest.mark.fast]

LAWS = pytest.mark.parametrize("law", [newton, poisson])


def after(body: Bodies, P: np.ndarray) -> np.ndarray:
    """Return velocities (6n,) after impulses."""
    return body.v + body.inverse @ body.W.T @ P.ravel()


def ball(v: tuple[float, ...], w: tuple[float, ...] = (0.0, 0.0, 0.0)) -> Bodies:
    body = on_floor(2.0, 0.4 * 2.0 * 0.3**2 * np.eye(3), np.array([[0.0, 0.0, -0.3]]))
    body.v[:] = [*v, *w]
    return body


def collide(body: Bodies, mu: float, e: float, law=newton):
    k = len(body.pairs)
    return resolve(
        Collision(G=body.G, u=body.u, mu=np.full(k, mu), e=np.full(k, e), patch=body.patch, kinetic=body.kinetic), law
    )


# ---- one ball -------------------------------------------------------------------------------------------------------


@LAWS
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_a_ball_bounces_with_e(e: float, law) -> None:
    hit = collide(ball((0.0, 0.0, -3.0)), 0.4, e, law)
    assert hit.u[0] == pytest.approx([3.0 * e, 0.0, 0.0], abs=1e-14)
    assert hit.P[0] == pytest.approx([2.0 * 3.0 * (1 + e), 0.0, 0.0], abs=1e-14)
    assert hit.energy == pytest.approx(-0.5 * 2.0 * 9.0 * (1 - e**2), abs=1e-13)


def test_below_the_rest_speed_a_ball_stays() -> None:
    body = ball((0.0, 0.0, -1e-3))
    fast = Collision(G=body.G, u=body.u, mu=np.zeros(1), e=np.ones(1), rest=0.9e-3)
    slow = Collision(G=body.G, u=body.u, mu=np.zeros(1), e=np.ones(1), rest=1.1e-3)
    assert resolve(fast).u[0, 0] == pytest.approx(1e-3, rel=1e-14)
    assert resolve(slow).u[0, 0] == pytest.approx(0.0, abs=1e-17)


@LAWS
@pytest.mark.parametrize("share", [0.5, 0.999, 1.001, 3.0])
def test_a_spinning_ball_sticks_if_its_friction_reaches(share: float, law) -> None:
    """Sticks iff mu (1 + e) |v_n| >= 2/7 |u_t|, along any direction; then the slip ends, else friction is mu P_n."""
    e, v_n = 0.6, 2.0
    body = ball((1.5, -0.8, -v_n), (0.7, 2.0, -4.0))
    u_t = body.u[1:]
    mu = share * 2 / 7 * np.hypot(*u_t) / ((1 + e) * v_n)
    hit = collide(body, mu, e, law)
    left = max(0.0, 1.0 - share)
    assert hit.u[0] == pytest.approx([e * v_n, *(left * u_t)], abs=1e-13)
    if law is newton:  # after Poisson's a point that comes back is open
        assert hit.last.mode[0] == (Mode.SLIP if share < 1 else Mode.STICK)


def test_a_ball_that_sticks_rolls_on_with_five_sevenths() -> None:
    body = ball((1.0, 0.0, -1.0))
    assert after(body, collide(body, 1.0, 0.0).P)[0] == pytest.approx(5 / 7, abs=1e-14)


# ---- a block on a slope ---------------------------------------------------------------------------------------------


def on_slope(angle: float) -> tuple[Bodies, np.ndarray]:
    """Return a flat box, and its free acceleration at the corners, in the frame of the slope (t1 downhill)."""
    body = on_floor(3.0, box_inertia(3.0, np.array([0.4, 0.3, 0.1])), corners(0.2, 0.15, -0.05))
    pull = np.array([G0 * np.sin(angle), 0.0, -G0 * np.cos(angle), 0.0, 0.0, 0.0])
    return body, pull


@pytest.mark.parametrize("angle", [10.0, 30.0, 40.0])
@pytest.mark.parametrize("over", [-1e-6, 1e-6])
def test_a_block_sticks_on_a_slope_if_mu_reaches_the_tangent(angle: float, over: float) -> None:
    body, pull = on_slope(np.deg2rad(angle))
    mu = np.tan(np.deg2rad(angle)) * (1 + over)
    found = solve_contacts(acceleration(body.G, body.W @ pull, np.full(4, mu)))
    assert found.status == ContactStatus.SOLVED
    assert set(found.mode) == {Mode.STICK if over > 0 else Mode.SLIP}
    a = pull + body.inverse @ body.W.T @ found.P.ravel()
    downhill = 0.0 if over > 0 else G0 * (np.sin(np.deg2rad(angle)) - mu * np.cos(np.deg2rad(angle)))
    assert a == pytest.approx([downhill, 0, 0, 0, 0, 0], abs=1e-11)


@pytest.mark.parametrize(("speed", "a"), [(0.0, 2.356287236662), (2.0, 2.356287236662), (-2.0, 7.453712763338)])
def test_a_block_slides_as_published(speed: float, a: float) -> None:
    body, pull = on_slope(np.deg2rad(30.0))
    u_t = np.tile([speed, 0.0], (4, 1))
    found = solve_contacts(acceleration(body.G, body.W @ pull, np.full(4, 0.3), u_t=u_t))
    assert (pull + body.inverse @ body.W.T @ found.P.ravel())[0] == pytest.approx(a, abs=1e-11)
    assert (found.mode == Mode.SLIP).all() and found.indeterminate.all()


def test_a_block_that_turns_has_no_unique_motion() -> None:
    """Friction of a turning block depends on how its corners share the weight, which nothing says."""
    body, pull = on_slope(0.0)
    u_t = np.cross([0.0, 0.0, 1.0], corners(0.2, 0.15, 0.0))[:, :2] + [0.1, 0.0]
    found = solve_contacts(acceleration(body.G, body.W @ pull, np.full(4, 0.3), u_t=u_t))
    assert found.status == ContactStatus.SOLVED
    assert found.indeterminate.all() and not found.motion_unique
    straight = solve_contacts(acceleration(body.G, body.W @ pull, np.full(4, 0.3), u_t=np.tile([1.0, 0.0], (4, 1))))
    assert straight.indeterminate.all() and straight.motion_unique


# ---- rocking block --------------------------------------------------------------------------------------------------


@pytest.mark.benchmark
@pytest.mark.parametrize(
    ("width", "height", "ratio"), [(1.0, 1.5, 0.538461538462), (0.2, 1.0, 0.942307692308)]
)  # fmt: skip
@pytest.mark.parametrize("points", [2, 4])
def test_a_rocking_block_turns_on_with_housners_ratio(width: float, height: float, ratio: float, points: int) -> None:
    """It turned about one edge, lands on the other: w+/w- = 1 - 1.5 sin^2 alpha, and the first edge opens."""
    b, h = width / 2, height / 2
    alpha = np.arctan2(b, h)
    y = 0.0 if points == 2 else 0.3
    feet = corners(b, y, -h)[[0, 1]] if points == 2 else corners(b, y, -h)
    body = on_floor(2.0, box_inertia(2.0, np.array([width, 0.6, height])), feet)
    w = np.array([0.0, 1.3, 0.0])  # about y: turns toward +x, about the right edge
    body.v[:3], body.v[3:] = -np.cross(w, [-b, 0.0, -h]), w
    body.v[:3] = -np.cross(w, [-b, 0.0, -h])
    hit = collide(body, 5.0, 0.0)
    new = after(body, hit.P)
    assert new[4] / 1.3 == pytest.approx(1 - 1.5 * np.sin(alpha) ** 2, abs=1e-12)
    assert new[4] / 1.3 == pytest.approx(ratio, abs=1e-12)
    assert new[[3, 5]] == pytest.approx([0.0, 0.0], abs=1e-13)
    left = feet[:, 0] < 0
    assert (hit.last.mode[left] == Mode.OPEN).all() and (hit.last.mode[~left] == Mode.STICK).all()


# ---- tables and stacks ----------------------------------------------------------------------------------------------


def test_four_legs_carry_a_quarter_each() -> None:
    body = on_floor(7.0, box_inertia(7.0, np.array([1.0, 0.6, 0.1])), corners(0.5, 0.3, -0.7))
    found = solve_contacts(acceleration(body.G, body.W @ [0, 0, -G0, 0, 0, 0], np.full(4, 0.5)))
    assert found.P[:, 0] == pytest.approx(np.full(4, 7.0 * G0 / 4), abs=1e-12)
    assert found.P[:, 0].sum() == pytest.approx(7.0 * G0, abs=1e-12)
    assert found.P[:, 1:] == pytest.approx(0.0, abs=1e-12)
    assert found.chosen.all() and not found.indeterminate.any() and found.motion_unique


@pytest.mark.parametrize("x", [0.1, 0.3, 0.45])
def test_legs_under_a_load_off_the_middle_share_it_with_least_norm(x: float) -> None:
    """Without friction the least norm is linear in place, as long as no leg would pull."""
    feet = corners(0.5, 0.3, -0.7) - [x, 0.0, 0.0]
    body = on_floor(7.0, box_inertia(7.0, np.array([1.0, 0.6, 0.1])), feet)
    found = solve_contacts(acceleration(body.G, body.W @ [0, 0, -G0, 0, 0, 0], np.zeros(4)))
    near, far = 7.0 * G0 / 4 * (1 + 2 * x), 7.0 * G0 / 4 * (1 - 2 * x)
    assert found.P[:, 0] == pytest.approx([near, far, far, near], abs=1e-10)
    assert found.chosen.all()


def test_three_legs_are_determinate_without_friction() -> None:
    feet = np.array([[0.5, 0.0, -0.7], [-0.4, 0.3, -0.7], [-0.3, -0.5, -0.7]])
    body = on_floor(7.0, box_inertia(7.0, np.array([1.0, 0.6, 0.1])), feet)
    found = solve_contacts(acceleration(body.G, body.W @ [0, 0, -G0, 0, 0, 0], np.zeros(3)))
    expected = np.linalg.solve(np.vstack([np.ones(3), feet[:, :2].T]), [7.0 * G0, 0, 0])
    assert found.P[:, 0] == pytest.approx(expected, abs=1e-11)
    assert not found.chosen.any()


def test_a_body_over_the_edge_of_its_feet_tips() -> None:
    """Weight outside the feet: the far ones open, and the body turns about the near ones as about a hinge."""
    feet = corners(0.5, 0.3, -0.7) - [0.6, 0.0, 0.0]
    body = on_floor(7.0, box_inertia(7.0, np.array([1.0, 0.6, 0.1])), feet)
    found = solve_contacts(acceleration(body.G, body.W @ [0, 0, -G0, 0, 0, 0], np.full(4, 5.0)))
    assert list(found.mode) == [Mode.STICK, Mode.OPEN, Mode.OPEN, Mode.STICK]
    inertia = box_inertia(7.0, np.array([1.0, 0.6, 0.1]))[1, 1] + 7.0 * (0.1**2 + 0.7**2)
    turn = (body.inverse @ body.W.T @ found.P.ravel())[4]
    assert turn == pytest.approx(7.0 * G0 * 0.1 / inertia, abs=1e-11)
    assert found.iterations <= 4  # the paper's count


@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_a_stack_of_ten_carries_what_is_above(mu: float) -> None:
    """Force and torque under box i are those of the weight of the boxes from i on."""
    n, side = 10, 0.1
    inverse, W, pairs = np.zeros((6 * n, 6 * n)), [], []
    for b in range(n):
        one = on_floor(1.0, box_inertia(1.0, np.full(3, side)), corners(side / 2, side / 2, -side / 2))
        top = on_floor(1.0, np.eye(3), corners(side / 2, side / 2, side / 2))
        inverse[6 * b : 6 * b + 6, 6 * b : 6 * b + 6] = one.inverse
        J = np.zeros((12, 6 * n))
        J[:, 6 * b : 6 * b + 6] = one.W
        if b:
            J[:, 6 * b - 6 : 6 * b] = -top.W
        W.append(J)
        pairs += [[b - 1, b]] * 4
    stack = Bodies(np.vstack(W), inverse, np.zeros(6 * n), np.array(pairs))
    found = solve_contacts(
        acceleration(stack.G, stack.W @ np.tile([0, 0, -G0, 0, 0, 0], n), np.full(4 * n, mu), patch=stack.patch)
    )
    assert found.status == ContactStatus.SOLVED
    under = found.P.reshape(n, 4, 3)
    assert under[:, :, 0].sum(axis=1) == pytest.approx((n - np.arange(n)) * 9.81, abs=1e-10)
    assert under[0, :, 0].sum() == pytest.approx(98.1, abs=1e-10)
    arms = corners(side / 2, side / 2, 0.0)[:, :2]
    assert np.einsum("bc,ci->bi", under[:, :, 0], arms) == pytest.approx(0.0, abs=1e-11)
    assert found.z == pytest.approx(0.0, abs=1e-11) and found.chosen.all()


# ---- balls in a row -------------------------------------------------------------------------------------------------


@LAWS
def test_two_spheres_head_on(law) -> None:
    body = row_of_balls([1.0, 3.0], [2.0, 0.0])
    assert after(body, collide(body, 0.0, 0.8, law).P)[::6] == pytest.approx([-0.7, 0.9], abs=1e-14)


def cradle(e: float) -> tuple[Bodies, Collision]:
    body = row_of_balls([1.0] * 5, [1.0, 0.0, 0.0, 0.0, 0.0])
    return body, Collision(G=body.G, u=body.u, mu=np.zeros(4), e=np.full(4, e), patch=body.patch)


def test_a_cradle_passes_the_impact_on_in_turn() -> None:
    body, collision = cradle(1.0)
    hit = resolve_in_turn(collision)
    assert after(body, hit.P)[::6] == pytest.approx([0, 0, 0, 0, 1.0], abs=1e-14)
    assert hit.rounds == (0, 1, 2, 3)
    assert hit.energy == pytest.approx(0.0, abs=1e-14)


def test_a_cradle_in_turn_with_loss_ends_without_closing() -> None:
    body, collision = cradle(0.5)
    hit = resolve_in_turn(collision)
    assert hit.u[:, 0].min() >= -1e-12
    assert hit.rounds[:4] == (0, 1, 2, 3) and max(hit.rounds.count(p) for p in range(4)) <= 10
    # Each ball hands on (1 + e) / 2 of its speed; the last one leaves with the product.
    assert after(body, hit.P)[24] == pytest.approx(0.75**4, abs=1e-14)
    assert after(body, hit.P)[::6].sum() == pytest.approx(1.0, abs=1e-14)


def test_without_restitution_a_cradle_in_turn_ends_as_one() -> None:
    """Ten impacts a patch are not enough then; what is left is solved all at once."""
    body, collision = cradle(0.0)
    hit = resolve_in_turn(collision)
    assert after(body, hit.P)[::6] == pytest.approx(np.full(5, 0.2), abs=1e-12)
    assert hit.rounds[-1] == -1


def test_a_cradle_all_at_once_lets_the_struck_ones_go_together() -> None:
    """Only the first contact closes; the others keep theirs: v = (1 - 4 e) / 5 and (1 + e) / 5."""
    for e in (0.5, 1.0):
        body, collision = cradle(e)
        assert after(body, resolve(collision).P)[::6] == pytest.approx([(1 - 4 * e) / 5, *[(1 + e) / 5] * 4], abs=1e-13)


def test_a_ball_in_a_tight_gap_stays_in_it() -> None:
    """Two walls without room between: no restitution is possible, and none is made up."""
    body = on_floor(1.0, np.eye(3), np.zeros((2, 3)))
    body.W[3:] *= -1.0
    body.v[2] = -1.0
    hit = resolve(Collision(G=body.G, u=body.u, mu=np.zeros(2), e=np.array([0.5, 0.0])))
    assert hit.s == 0.0 and hit.status == ContactStatus.SOLVED
    assert hit.u[:, 0] == pytest.approx(0.0, abs=1e-15)


# ---- Painleve's rod -------------------------------------------------------------------------------------------------


def gain(theta: float, mu: float, d: float) -> float:
    body = rod(theta)
    return float(body.G[0, 0] - mu * d * body.G[0, 1])


def test_the_rod_has_painleves_coefficient() -> None:
    """A = 1 + 3 cos^2 - 3 mu sin cos, at mass 1 and length 2, when it slides the way that digs it in."""
    for theta in np.linspace(0.1, 1.5, 15):
        s, c = np.sin(theta), np.cos(theta)
        assert gain(theta, 1.5, -1.0) == pytest.approx(1 + 3 * c * c + 3 * 1.5 * s * c, abs=1e-13)
        assert gain(theta, 1.5, 1.0) == pytest.approx(1 + 3 * c * c - 3 * 1.5 * s * c, abs=1e-13)


def slide(theta: float, mu: float, d: float = 1.0):
    body = rod(theta)
    return solve_contacts(
        acceleration(body.G, body.W @ [0, 0, -G0, 0, 0, 0], np.array([mu]), u_t=np.array([[d * 0.5, 0.0]]))
    )


@pytest.mark.benchmark
def test_the_paradox_begins_at_four_thirds() -> None:
    steep = np.arctan(2.0)
    assert np.rad2deg(steep) == pytest.approx(63.4349488, abs=1e-7)
    assert slide(steep, 4 / 3 - 1e-6).status == ContactStatus.SOLVED
    found = slide(steep, 4 / 3 + 1e-6)
    assert found.status == ContactStatus.PAINLEVE and found.painleve.all()
    for theta in np.linspace(0.05, 1.52, 40):
        assert slide(theta, 4 / 3 - 1e-6).status == ContactStatus.SOLVED
        assert slide(theta, 3.0, -1.0).status == ContactStatus.SOLVED  # the other way it never digs in


@pytest.mark.benchmark
@pytest.mark.parametrize(("degrees", "status"), [(50.64, 0), (50.65, 2), (63.0, 2), (73.04, 2), (73.06, 0)])
def test_the_interval_of_the_paradox(degrees: float, status: int) -> None:
    """mu = 1.5: tan theta from 1.21922 to 3.28078, theta from 50.642 to 73.048 degrees."""
    assert slide(np.deg2rad(degrees), 1.5).status == status


def jammed(body: Bodies, mu: float):
    collision = Collision(G=body.G, u=body.u, mu=np.array([mu]), e=np.zeros(1))
    return jam(collision, body.W @ [0, 0, -G0, 0, 0, 0])


@pytest.mark.parametrize("degrees", [51.0, 60.0, 63.4, 70.0, 73.0])
def test_a_rod_that_digs_in_jams(degrees: float) -> None:
    """The impulse ends the slip and the rod rises: P = -G^-1 u in the plane, inside the cone, taking energy."""
    body = rod(np.deg2rad(degrees))
    w = 0.4
    arm = np.array([np.cos(np.deg2rad(degrees)), 0.0, -np.sin(np.deg2rad(degrees))])
    body.v[4] = w
    body.v[:3] = [0.8, 0.0, 0.0] - np.cross([0.0, w, 0.0], arm)
    assert body.u == pytest.approx([0.0, 0.8, 0.0], abs=1e-15)
    hit = jammed(body, 1.5)
    assert hit.status == ContactStatus.SOLVED
    expected = -np.linalg.solve(body.G[:2, :2], body.u[:2])
    assert hit.P[0, :2] == pytest.approx(expected, abs=1e-12) and hit.P[0, 0] > 0
    assert hit.u[0] == pytest.approx(0.0, abs=1e-12)
    assert hit.energy < 0
    new = after(body, hit.P)
    kinetic = 0.5 * (new[:3] @ new[:3] + new[4] ** 2 / 3)
    assert kinetic - 0.5 * (body.v[:3] @ body.v[:3] + w * w / 3) == pytest.approx(hit.energy, abs=1e-13)
    # Accelerations have an answer now: the rod sticks or lifts.
    again = solve_contacts(acceleration(body.G, body.W @ [0, 0, -G0, 0, 0, 0], np.array([1.5]), u_t=hit.u[:, 1:]))
    assert again.status == ContactStatus.SOLVED


def test_frames_are_right_handed() -> None:
    assert np.cross(UP[1], UP[2]) == pytest.approx(UP[0])


def test_nothing_closing_needs_no_impulse() -> None:
    body = ball((1.0, 0.0, 0.0))
    found = solve_contacts(impact(body.G, body.u, np.array([0.5])))
    assert not found.P.any() and found.iterations == 0


def test_the_scale_of_a_collision_is_its_largest_speed_however_small() -> None:
    body = random_bodies(3, 2)
    for size in (1e-5, 3.0):
        u = size * np.array([-0.5, 0.2, 0.1, 0.3, -1.0, 0.4])
        one = Collision(G=body.G, u=u, mu=np.full(2, 0.3), e=np.zeros(2))
        assert one.problem(0.1 * u).rate == pytest.approx(size, rel=1e-12)
