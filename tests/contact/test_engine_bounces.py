"""Collisions of whole scenes: bouncing balls and their end, head-on spheres, a cradle."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.contact.engine import G0, Run, shipped

pytestmark = pytest.mark.contact

FIRST = np.sqrt(2.0 / G0)  # s: a fall of 1 m

# Times of the first impacts of a fall from 1 m, and of the last: benchmark notes 3.1.
PUBLISHED = {
    0.5: ([0.451523641, 0.903047282, 1.128809103, 1.241690013, 1.298130468], 1.354570922957),
    0.9: ([0.451523641, 1.264266195, 1.995734493, 2.654055962, 3.246545283, 3.779785673], 8.578949178729),
}


def ends(run: Run) -> list[float]:
    """Return when bodies come to rest, as told, s."""
    return [float(re.search(r"comes to rest at (\S+) s", text)[1]) for text in run.texts("annotation")]


@pytest.mark.benchmark
@pytest.mark.parametrize("e", PUBLISHED)
def test_a_ball_bounces_when_the_series_says_and_then_rests(e: float) -> None:
    first, end = PUBLISHED[e]
    run = shipped("bouncing_ball", restitution=e).to(10.0)
    times = run.times()
    assert times[: len(first)] == pytest.approx(first, abs=1e-9)
    k = np.arange(len(times))
    assert times == pytest.approx(FIRST * (1 + 2 * np.cumsum(np.where(k > 0, e**k, 0.0))), abs=1e-9)
    assert ends(run) == pytest.approx([end], abs=1e-6)
    assert end - 1e-2 < times[-1] < end
    assert run.texts()[-1] == "ground and ball sticks"
    assert run.simulator.position["ball"] == pytest.approx([0, 0, 0.1], abs=1e-12)
    assert run.forces()["ground and ball"] == pytest.approx([0, 0, G0], abs=1e-12)


@pytest.mark.parametrize("e", PUBLISHED)
def test_speeds_and_losses_of_a_bouncing_ball(e: float) -> None:
    run = shipped("bouncing_ball", restitution=e).to(10.0)
    impacts = [i for i, event in enumerate(run.told.events) if event.kind == "impact"][:6]
    assert len(impacts) == 6
    for n, i in enumerate(impacts):
        before, after = (row["velocity"][0, 2] for row in run.told.around[i])
        assert before == pytest.approx(-G0 * FIRST * e**n, rel=1e-8)
        assert after == pytest.approx(-e * before, rel=1e-12)
        assert run.told.events[i].lost == pytest.approx(0.5 * (before**2 - after**2), rel=1e-12)
    assert run.simulator.energy["impact"] == pytest.approx(G0, rel=1e-6)  # all of m g h, before it rests
    assert run.balance() < 1e-9


@pytest.mark.fast
def test_without_restitution_a_ball_stays_where_it_lands() -> None:
    run = shipped("bouncing_ball", restitution=0.0).to(1.0)
    assert run.times() == pytest.approx([FIRST], abs=1e-9)
    assert run.simulator.position["ball"] == pytest.approx([0, 0, 0.1], abs=1e-12)
    assert run.simulator.velocity["ball"] == pytest.approx([0, 0, 0], abs=1e-12)


def test_an_elastic_ball_keeps_its_energy_for_twenty_seconds() -> None:
    run = shipped("bouncing_ball", restitution=1.0).to(20.0)
    n = np.arange(len(run.times()))
    assert len(n) == 22
    assert run.times() == pytest.approx(FIRST * (2 * n + 1), abs=1e-8)
    assert run.simulator.energy["impact"] == pytest.approx(0.0, abs=1e-12)
    assert run.balance() < 1e-9


HEAD_ON = """
schema: 1
name: head_on
world: {{gravity: [0, 0, 0]}}
bodies:
  a: {{mass: {m1}, shapes: [{{sphere: {{center: [0, 0, 0], radius: 0.1}}}}]}}
  b: {{mass: {m2}, shapes: [{{sphere: {{center: [1, 0, 0], radius: 0.1}}}}]}}
initial: {{a: {{velocity: [2, 0, 0]}}}}
contacts: {{c: {{between: [a, b], restitution: {e}, friction: {mu}}}}}
"""


@pytest.mark.fast
@pytest.mark.benchmark
@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_spheres_head_on(mu: float) -> None:
    """Benchmark notes 3.2: masses 1 and 3, speeds 2 and 0, e = 0.8."""
    run = Run(HEAD_ON.format(m1=1, m2=3, e=0.8, mu=mu)).to(1.0)
    assert run.times() == pytest.approx([0.4], abs=1e-12)
    assert run.simulator.velocity["a"] == pytest.approx([-0.7, 0, 0], abs=1e-12)
    assert run.simulator.velocity["b"] == pytest.approx([0.9, 0, 0], abs=1e-12)
    assert run.told.events[0].lost == pytest.approx(2.0 - 0.5 * 0.49 - 1.5 * 0.81, abs=1e-12)


@pytest.mark.fast
@pytest.mark.parametrize("e", [0.0, 0.3, 1.0])
def test_equal_spheres_share_their_speeds(e: float) -> None:
    run = Run(HEAD_ON.format(m1=2, m2=2, e=e, mu=0.3)).to(1.0)
    assert run.simulator.velocity["a"][0] == pytest.approx(1 - e, abs=1e-12)
    assert run.simulator.velocity["b"][0] == pytest.approx(1 + e, abs=1e-12)


# ---- friction of a collision: benchmark notes 3.2 -------------------------------------------------------------------

SKEW = """
schema: 1
name: skew
world: {{shapes: [{{name: ground, plane: {{}}}}]}}
bodies: {{ball: {{mass: 1, shapes: [{{sphere: {{center: [0, 0, 1.1], radius: 0.1}}}}]}}}}
initial: {{ball: {{velocity: [{vx}, 0, 0]}}}}
contacts: {{c: {{between: [ball, world], restitution: {e}, friction: {mu}}}}}
"""


@pytest.mark.fast
@pytest.mark.parametrize("share", [0.5, 0.999, 1.001, 3.0])
def test_a_ball_that_lands_askew_grips_where_friction_reaches(share: float) -> None:
    """It sticks if mu (1 + e) |v_n| >= 2/7 |v_t|, and leaves with 5/7 of v_t; else friction is mu P_n."""
    e, vx, v_n = 0.6, 3.0, G0 * FIRST
    mu = share * 2 / 7 * vx / ((1 + e) * v_n)
    run = Run(SKEW.format(vx=vx, e=e, mu=mu)).to(0.6)
    expected = 5 / 7 * vx if share > 1 else vx - mu * (1 + e) * v_n
    assert run.simulator.velocity["ball"][0] == pytest.approx(expected, abs=1e-9)
    spin = 2.5 / 0.1 * (vx - expected)  # of m (vx - v) r = I w
    assert run.simulator.angular_velocity["ball"] == pytest.approx([0, spin, 0], abs=1e-8)


@pytest.mark.parametrize(("sign", "way"), [(1.0, 0.0), (-1.0, 0.0), pytest.param(-1.0, 2.5, marks=pytest.mark.fast)])
def test_a_ball_that_slides_through_all_its_bounces_slides_on_where_they_end(sign: float, way: float) -> None:
    """Friction is mu P_n in each of them: together mu times all the momentum that the ground gave, also at the end."""
    e, mu, vx, t = 0.2, 0.1, 3.0 * sign, 0.75
    text = SKEW.replace("{vx}, 0, 0", "{vx}, {vy}, 0").format(vx=vx * np.cos(way), vy=vx * np.sin(way), e=e, mu=mu)
    run = Run(text).to(t)
    assert len(ends(run)) == 1
    last = FIRST * (1 + 2 * e / (1 - e))
    assert ends(run) == pytest.approx([last], abs=1e-6)
    assert run.texts()[-1] == "ground and ball slides"
    given = G0 * t  # per kg: all its weight, as it neither rises nor falls any longer
    left = (abs(vx) - mu * given) * np.sign(vx)
    found = run.simulator.velocity["ball"]
    # The last hops are cut short.
    assert found == pytest.approx([left * np.cos(way), left * np.sin(way), 0.0], abs=2e-5)
    spin = 2.5 / 0.1 * (vx - left)  # of m (vx - v) r = I w
    w = run.simulator.angular_velocity["ball"]
    assert w == pytest.approx([-spin * np.sin(way), spin * np.cos(way), 0.0], abs=25 * 2e-5)
    assert run.balance() < 1e-9


# ---- a cradle, all contacts at once and in turn ----------------------------------------------------------------------


def test_the_cradle_answers_each_contact_alone() -> None:
    """With e = 1, and only the first contact closing, v2 - v1 = v and all others stay: v1 = -3/5 v, the rest 2/5 v."""
    assert_blow(shipped("newtons_cradle", impact="simultaneous"), [-0.6, 0.4, 0.4, 0.4, 0.4])


def test_the_blow_runs_through_the_cradle_where_balls_collide_in_turn() -> None:
    assert_blow(shipped("newtons_cradle"), [0.0, 0.0, 0.0, 0.0, 1.0])


def assert_blow(run: Run, shares: list[float]) -> None:
    """Assert what share of the first ball's rate each has after the first blow."""
    run.to(0.5)
    assert len(run.times()) == 1
    before, after = run.told.around[[event.kind for event in run.told.events].index("impact")]
    v = before["joints/rate"][0]
    assert abs(v) > 2.0
    assert before["joints/rate"][1:] == pytest.approx(np.zeros(4), abs=1e-9)
    assert after["joints/rate"] == pytest.approx(np.multiply(shares, v), abs=1e-9)


def test_the_cradle_keeps_energy_and_angular_momentum_at_each_blow() -> None:
    run = shipped("newtons_cradle", impact="simultaneous").to(6.0)
    blows = [around for event, around in zip(run.told.events, run.told.around, strict=True) if event.kind == "impact"]
    assert len(blows) == 8
    for before, after in blows:
        assert after["joints/rate"].sum() == pytest.approx(before["joints/rate"].sum(), abs=1e-9)
        assert after["energy/kinetic"] == pytest.approx(before["energy/kinetic"], abs=1e-12)
    assert run.balance() < 1e-6


# ---- a rod that lands on its end: Newton's law and Poisson's --------------------------------------------------------

# A rod of mass 2 kg without the weight of its shape, leaning; its lower end is a ball.
ROD = """
schema: 1
name: rod
world: {{shapes: [{{name: ground, plane: {{}}}}]}}
bodies:
  rod:
    mass: 2
    com: [0, 0, 0]
    inertia: [0.1, 0.1, 0.1]
    shapes: [{{sphere: {{center: [-0.3, 0, -0.5], radius: 0.1}}}}]
initial: {{rod: {{position: [0, 0, 0.8], velocity: [{v[0]!r}, 0, {v[1]!r}]}}}}
contacts: {{end: {{between: [rod, world], friction: {mu}, restitution: 0.5}}}}
simulate: {{restitution: {law}, rtol: 1e-10}}
"""
ARM = np.array([-0.3, -0.6])  # m, x and z from the centre of mass to where it touches


def landed(law: str, mu: float, v: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Return velocities x, z and the angular velocity about -y before and after the rod's first impact."""
    run = Run(ROD.format(law=law, mu=mu, v=v)).to(0.12)
    impacts = [i for i, event in enumerate(run.told.events) if event.kind == "impact"]
    before, after = run.told.around[impacts[0]]
    for row in (before, after):
        assert [row["velocity"][0][1], *row["angular_velocity"][0][[0, 2]]] == pytest.approx([0, 0, 0], abs=1e-12)
    assert run.balance() < 1e-7
    return tuple(np.array([*row["velocity"][0][[0, 2]], -row["angular_velocity"][0][1]]) for row in (before, after))


def after_impulse(before: np.ndarray, P: np.ndarray) -> np.ndarray:
    """Return what impulses P (x, z) [N s] at the rod's end leave: about -y, z goes with x and x against z."""
    return before + np.array([P[0] / 2, P[1] / 2, (ARM[0] * P[1] - ARM[1] * P[0]) / 0.1])


@pytest.mark.parametrize("law", ["newton", "poisson"])
def test_a_rod_that_sticks_with_its_end_comes_back_as_its_law_says(law: str) -> None:
    """Of speeds, half of u_z comes back after Newton.

    After Poisson half of the normal impulse of compression does, in which u_x, too, is brought to nothing: that is more
    where friction has pressed the rod down.
    """
    before, after = landed(law, 5.0, (-1.0, -4.0))
    x, z = ARM
    G = np.array([[1 / 2 + z * z / 0.1, -x * z / 0.1], [-x * z / 0.1, 1 / 2 + x * x / 0.1]])
    u = np.array([before[0] - z * before[2], before[1] + x * before[2]])
    compression = np.linalg.solve(G, -u)
    if law == "newton":
        P = np.linalg.solve(G, [-u[0], -1.5 * u[1]])
    else:  # what comes back along the normal, with the friction that keeps the end where it is
        back = 0.5 * compression[1]
        P = compression + np.array([-G[0, 1] / G[0, 0] * back, back])
    assert after == pytest.approx(after_impulse(before, P), abs=1e-8)
    u_after = u + G @ P
    assert u_after[0] == pytest.approx(0.0, abs=1e-12)
    more = -u[1] + G[0, 1] / G[0, 0] * u[0]
    assert u_after[1] == pytest.approx(0.5 * (more if law == "poisson" else -u[1]), rel=1e-12)
    assert abs(more / u[1] + 1.0) > 0.05  # the two laws differ


def test_a_rod_that_slides_throughout_comes_back_alike_after_both_laws() -> None:
    """Friction is mu P_n then, and all impulses 1 + e times those of compression."""
    found = []
    for law in ("newton", "poisson"):
        before, after = landed(law, 0.1, (6.0, -2.0))
        x, z = ARM
        along = before[1] + x * before[2]
        P_n = -1.5 * along / (1 / 2 + x * x / 0.1 + 0.1 * x * z / 0.1)  # friction points to -x
        assert after == pytest.approx(after_impulse(before, np.array([-0.1 * P_n, P_n])), abs=1e-8)
        assert after[0] - z * after[2] > 0.0
        found.append(after)
    assert found[0] == pytest.approx(found[1], abs=1e-9)
