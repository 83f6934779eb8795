"""Distance, points and normals of all pairs of solids, held against certificates, closed forms and slow searches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from sim.kernels.shapes import BOX, CAPSULE, CYLINDER, ELLIPSOID, PLANE, SPHERE
from tests.contact.solids import EYE, NAMES, PAIRS, Meeting, Solid, depth, meet, random_pair, random_solid, width
from tests.support.interpreted import times

pytestmark = [pytest.mark.contact, pytest.mark.fast]

pairs = pytest.mark.parametrize("kinds", PAIRS, ids=[f"{NAMES[a]}-{NAMES[b]}" for a, b in PAIRS])
once = pytest.mark.parametrize(
    "kinds", [(a, b) for a, b in PAIRS if a <= b], ids=[f"{NAMES[a]}-{NAMES[b]}" for a, b in PAIRS if a <= b]
)
seeds = st.integers(0, 2**32 - 1)
EVERYWHERE = 1e9  # m, a margin that leaves nothing out


def surfaces(meeting: Meeting) -> tuple[np.ndarray, np.ndarray]:
    """The contact points on both surfaces."""
    half = 0.5 * meeting.gap[:, None] * meeting.n
    return meeting.p - half, meeting.p + half


def check_certificate(meeting: Meeting, tolerance: float = 1e-12) -> None:
    """Two points of the solids are as far apart as two planes that have the solids outside of them."""
    a, b, nearest = meeting.a, meeting.b, int(np.argmin(meeting.gap))
    ya, yb = surfaces(meeting)
    assert a.outside(ya[nearest]) <= tolerance
    assert b.outside(yb[nearest]) <= tolerance
    assert np.linalg.norm(yb[nearest] - ya[nearest]) == pytest.approx(abs(meeting.distance), abs=tolerance)
    assert meeting.gap[nearest] == pytest.approx(meeting.distance, abs=tolerance)
    n = meeting.n[nearest]
    assert np.linalg.norm(n) == pytest.approx(1, abs=1e-14)
    if PLANE in (a.kind, b.kind):  # a support function of a plane is finite in one direction only
        normal = a.R[:, 2] if a.kind == PLANE else -b.R[:, 2]
        np.testing.assert_allclose(n, normal, rtol=0, atol=1e-14)
        n = normal
    assert width(a, b, n) == pytest.approx(meeting.distance, abs=tolerance)
    assert width(a, b, meeting.normal if PLANE not in (a.kind, b.kind) else n) == pytest.approx(
        meeting.distance, abs=tolerance
    )


@pairs
@settings(max_examples=times(60, 4), deadline=None, derandomize=True)
@given(seeds, st.floats(-9, 0.3), st.sampled_from([1.0, 4.0, 20.0]))
def test_solids_apart(kinds: tuple[int, int], seed: int, power: float, aspect: float) -> None:
    rng = np.random.default_rng(seed)
    a, b = random_pair(rng, kinds, 10**power, aspect)
    meeting = meet(a, b, EVERYWHERE, rng)
    assert meeting.distance >= 10**power * (1 - 1e-6) - 1e-14  # placed to roundoff
    assert 1 <= meeting.count <= 8
    check_certificate(meeting, 1e-12 * (1 + np.linalg.norm(b.x - a.x)))


@once
@pytest.mark.parametrize("seed", range(times(6, 1)))
def test_distance_is_what_minimisation_finds(kinds: tuple[int, int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = random_pair(rng, kinds, 0.3)
    if a.kind == PLANE:
        a, b = b, a

    def shift(y: np.ndarray) -> float:
        return float(np.sum((y[:3] - y[3:]) ** 2))

    found = minimize(
        shift, np.concatenate([a.x, b.x]), method="SLSQP", options={"maxiter": 500, "ftol": 1e-14},
        constraints=[
            {"type": "ineq", "fun": lambda y: inside(a, y[:3])}, {"type": "ineq", "fun": lambda y: inside(b, y[3:])},
        ],
    )  # fmt: skip
    assert meet(a, b, EVERYWHERE, rng).distance == pytest.approx(np.sqrt(found.fun), abs=2e-5)


def inside(solid: Solid, y: np.ndarray) -> np.ndarray:
    """Smooth functions of a place that are positive inside a solid."""
    v, (a, _, c) = solid.R.T @ (y - solid.x), solid.size
    if solid.kind == SPHERE:
        return np.array([a**2 - v @ v])
    if solid.kind == CAPSULE:
        beyond = v[2] - np.clip(v[2], -c / 2, c / 2)
        return np.array([a**2 - v[0] ** 2 - v[1] ** 2 - beyond**2])
    if solid.kind == BOX:
        return np.concatenate([solid.size / 2 - v, solid.size / 2 + v])
    if solid.kind == CYLINDER:
        return np.array([a**2 - v[0] ** 2 - v[1] ** 2, c / 2 - v[2], c / 2 + v[2]])
    if solid.kind == ELLIPSOID:
        return np.array([1 - np.sum((v / solid.size) ** 2)])
    return np.array([-v[2]])


@once
@pytest.mark.parametrize("seed", range(times(12, 2)))
def test_overlap_is_the_smallest_translation_that_parts(kinds: tuple[int, int], seed: int) -> None:
    """Shallow, and up to one half of the solids; the kernels may not miss a shorter way out, nor invent one."""
    rng = np.random.default_rng(seed)
    while True:
        a, b = random_pair(rng, kinds, -(10 ** rng.uniform(-6, -0.3)))
        meeting = meet(a, b, EVERYWHERE, rng)
        if meeting.distance < 0:
            break
    if PLANE in kinds:
        normal = a.R[:, 2] if a.kind == PLANE else -b.R[:, 2]
        assert meeting.distance == pytest.approx(float(width(a, b, normal)), abs=1e-13)
        assert meeting.gap.min() == pytest.approx(meeting.distance, abs=1e-12)
        return
    assert meeting.distance == pytest.approx(depth(a, b, meeting.normal), abs=1e-9)
    assert width(a, b, meeting.normal) == pytest.approx(meeting.distance, abs=1e-13)
    if meeting.distance > -1e-3:  # where it is deep, other points may be deeper in another direction
        assert meeting.gap.min() == pytest.approx(meeting.distance, abs=1e-9)


@pairs
@settings(max_examples=times(40, 3), deadline=None, derandomize=True)
@given(seeds, st.floats(-0.2, 0.2))
def test_exchanging_the_solids_exchanges_the_answer(kinds: tuple[int, int], seed: int, gap: float) -> None:
    a, b = random_pair(np.random.default_rng(seed), kinds, gap)
    one, other = meet(a, b, EVERYWHERE), meet(b, a, EVERYWHERE)
    assert one.distance == pytest.approx(other.distance, abs=1e-12)
    assert one.gap.min() == pytest.approx(other.gap.min(), abs=1e-12)
    if gap > 1e-3:
        k, m = int(np.argmin(one.gap)), int(np.argmin(other.gap))
        np.testing.assert_allclose(one.p[k], other.p[m], rtol=0, atol=1e-7)
        np.testing.assert_allclose(one.n[k], -other.n[m], rtol=0, atol=1e-7)


@pairs
@settings(max_examples=times(40, 3), deadline=None, derandomize=True)
@given(seeds, st.floats(-0.2, 0.2))
def test_a_common_motion_carries_the_answer_along(kinds: tuple[int, int], seed: int, gap: float) -> None:
    rng = np.random.default_rng(seed)
    a, b = random_pair(rng, kinds, gap)
    x, R = rng.normal(size=3), Rotation.random(rng=rng).as_matrix()
    here, there = meet(a, b, EVERYWHERE), meet(a.moved(x, R), b.moved(x, R), EVERYWHERE, rng)
    assert here.count == there.count
    assert here.distance == pytest.approx(there.distance, abs=1e-12)
    k, m = int(np.argmin(here.gap)), int(np.argmin(there.gap))
    assert here.gap[k] == pytest.approx(there.gap[m], abs=1e-12)
    if gap > 1e-3:
        np.testing.assert_allclose(x + R @ here.p[k], there.p[m], rtol=0, atol=1e-7)
        np.testing.assert_allclose(R @ here.n[k], there.n[m], rtol=0, atol=1e-7)


@once
@pytest.mark.parametrize("seed", range(times(4, 1)))
def test_distance_is_continuous(kinds: tuple[int, int], seed: int) -> None:
    """Along a path from apart to half through each other no step is longer than the fastest point moves."""
    rng = np.random.default_rng(seed)
    a, b = random_pair(rng, kinds, 0.1)
    start, turn, count = meet(a, b, EVERYWHERE), 0.2 * rng.normal(size=3), times(100, 12)
    step = 0.5 / count
    b.x = b.x - (start.distance - 0.1) * start.normal
    reach, found = np.linalg.norm(b.size) + b.size.max(), []
    for k in range(count):
        turned = Rotation.from_rotvec(k * step * turn).as_matrix() @ b.R
        found.append(meet(a, Solid(b.kind, b.size, b.x - k * step * start.normal, turned), 0.0).distance)
    assert np.abs(np.diff(found)).max() <= step * (1 + np.linalg.norm(turn) * reach)
    assert found[0] == pytest.approx(0.1, abs=1e-12)
    assert min(found) < -0.1


def test_distances_of_spheres_capsules_and_planes_are_the_closed_forms() -> None:
    turn = Rotation.from_rotvec([0.3, -0.4, 0.2]).as_matrix()
    floor = Solid(PLANE, np.zeros(3), np.array([0, 0, 0.2]), EYE)
    ball = Solid(SPHERE, np.full(3, 0.5), np.array([1.0, 2.0, 1.0]), turn)
    rod = Solid(CAPSULE, np.array([0.1, 0.1, 2.0]), np.array([1.0, 2.0, 3.0]), EYE)
    cross = Solid(
        CAPSULE, np.array([0.2, 0.2, 2.0]), np.array([1.0, 2.7, 3.4]), Rotation.from_euler("y", 0.8).as_matrix()
    )
    meeting = meet(floor, ball, 1.0)
    assert meeting.count == 1
    assert meeting.gap[0] == meeting.distance == pytest.approx(0.3, abs=1e-15)
    np.testing.assert_allclose(meeting.p[0], [1, 2, 0.35], rtol=0, atol=1e-15)
    assert meet(ball, rod, 1.0).distance == pytest.approx(1 - 0.6, abs=1e-15)
    assert meet(rod, cross, 1.0).distance == pytest.approx(0.7 - 0.3, abs=1e-15)
    assert meet(cross, rod, 0.4001).n.tolist() == [pytest.approx([0, -1, 0], abs=1e-15)]


def test_an_ellipsoid_over_a_plane_has_its_support_function() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        egg = random_solid(rng, ELLIPSOID, 20)
        floor = Solid(PLANE, np.zeros(3), rng.normal(size=3), Rotation.random(rng=rng).as_matrix())
        m = floor.R[:, 2]
        expected = m @ (egg.x - floor.x) - np.sqrt(m @ egg.R @ np.diag(egg.size**2) @ egg.R.T @ m)
        assert meet(floor, egg, EVERYWHERE).distance == pytest.approx(expected, abs=1e-13)


def test_a_point_far_from_an_ellipsoid_keeps_the_condition_of_lagrange() -> None:
    """Nearest point y of an ellipsoid D^-2 y . y = 1 to c: c - y = t D^-2 y with one t (Eberly)."""
    egg = Solid(ELLIPSOID, np.array([2.0, 0.1, 1.0]), np.zeros(3), EYE)
    ball = Solid(SPHERE, np.full(3, 0.25), np.array([1.5, 0.6, -0.7]), EYE)
    meeting = meet(egg, ball, EVERYWHERE)
    y, c = surfaces(meeting)[0][0], ball.x
    t = (c - y) / (y / egg.size**2)
    assert t == pytest.approx(t[0], rel=1e-11)
    assert np.sum((y / egg.size) ** 2) == pytest.approx(1, abs=1e-14)
    assert meeting.distance == pytest.approx(np.linalg.norm(c - y) - 0.25, abs=1e-14)


@pytest.mark.parametrize("kind", [SPHERE, CAPSULE, BOX, CYLINDER, ELLIPSOID], ids=NAMES.get)
def test_solids_with_the_same_centre_have_an_answer(kind: int) -> None:
    size = np.array([0.4, 0.4, 0.7])
    a, b = Solid(kind, size, np.zeros(3), EYE), Solid(kind, size / 2, np.zeros(3), EYE)
    meeting = meet(a, b, 0.0)
    assert meeting.distance == pytest.approx(depth(a, b, EYE[2]), abs=1e-9)
    assert meeting.count >= 1


@pytest.mark.parametrize("kind", [SPHERE, CAPSULE, BOX, CYLINDER, ELLIPSOID], ids=NAMES.get)
def test_the_two_descriptions_of_a_solid_agree(kind: int) -> None:
    """Points of its surface lie below its supporting planes, and come near to each of them."""
    rng = np.random.default_rng(kind)
    solid = random_solid(rng, kind)
    rays = rng.normal(size=(1000, 3))
    rays /= np.linalg.norm(rays, axis=1)[:, None]
    low, high = np.zeros(len(rays)), np.full(len(rays), 10.0)
    for _ in range(40):
        middle = (low + high) / 2
        out = np.array([solid.outside(solid.x + r * t) > 0 for r, t in zip(rays, middle, strict=True)])
        low, high = np.where(out, low, middle), np.where(out, middle, high)
    surface = solid.x + rays * low[:, None]
    for n in rays[:50]:
        highest = (surface @ n).max()
        assert highest <= solid.support(n) + 1e-9
        assert highest >= solid.support(n) - 0.3
