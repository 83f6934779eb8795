"""Widths between supporting planes, their slopes and their peaks, held against numpy, differences and searches."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.kernels.collision import separation
from sim.kernels.shapes import BOX, CAPSULE, CYLINDER, ELLIPSOID, MESH, PLANE, SHAPE, SPHERE
from sim.kernels.tables import table
from tests.contact.solids import Solid, depth
from tests.kernels.plain import plain

pytestmark = [pytest.mark.contact, pytest.mark.fast]

SOLIDS = (BOX, CAPSULE, CYLINDER, ELLIPSOID, SPHERE)
PAIRS = list(itertools.product(SOLIDS, repeat=2))
ONCE = list(itertools.combinations_with_replacement(SOLIDS, 2))[::-1]
survey, width_across, ascend = (plain(getattr(separation, f)) for f in ("survey", "width_across", "ascend"))
crossing, best_crossing, climb_from = (
    plain(getattr(separation, f)) for f in ("crossing", "best_crossing", "climb_from")
)


def core_of(rng: np.random.Generator, kinds: tuple[int, int], away: float = 1.0) -> np.ndarray:
    """What `put_cores` documents, of two solids of random sizes and axes, the line of centres `away` long."""
    core = np.zeros((13, 3))
    way = rng.normal(size=3)
    core[0] = away * way / np.linalg.norm(way)
    for side, kind in enumerate(kinds):
        axes, size = Rotation.random(rng=rng).as_matrix().T, rng.uniform(0.2, 0.9, 3)
        halves = {BOX: (1, 1, 1), CAPSULE: (0, 0, 1), CYLINDER: (0, 0, 1)}.get(kind, (0, 0, 0))
        reach = {CYLINDER: (1, 1, 0), ELLIPSOID: (1, 1, 1)}.get(kind, (0, 0, 0))
        core[1 + 3 * side : 4 + 3 * side] = axes * (size * halves)[:, None]
        if kind == CYLINDER:
            size[1] = size[0]
        core[7 + 3 * side : 10 + 3 * side] = axes * (size * reach)[:, None]
    return core


def solids_of(core: np.ndarray, kinds: tuple[int, int]) -> list[Solid]:
    """The same cores as solids whose support functions are those of corners and radii; a sphere is a point."""
    made = []
    for side, kind in enumerate(kinds):
        e, a = core[1 + 3 * side : 4 + 3 * side], core[7 + 3 * side : 10 + 3 * side]
        h, r = np.linalg.norm(e, axis=1), np.linalg.norm(a, axis=1)
        z = e[2] if h[2] > 0 else a[2]
        axes = np.eye(3)
        if kind in (BOX, ELLIPSOID):
            axes = (e if kind == BOX else a).T / (h if kind == BOX else r)
        elif h[2] > 0:
            axes = Rotation.align_vectors([z], [[0, 0, 1]])[0].as_matrix()
        size = {BOX: 2 * h, ELLIPSOID: r, CYLINDER: np.array([r[0], r[0], 2 * h[2]])}.get(
            kind, np.array([0, 0, 2 * h[2]])
        )
        made.append(Solid(kind, size, core[0] * side, axes))
    return made


def naive(core: np.ndarray, n: np.ndarray, rounding: float = 0.0) -> float:
    """s(n) without balls: every segment, the half axes of a side as one, each thickened by its first row."""
    s = core[0] @ n
    for part in [*core[1:7, None], core[7:10], core[10:13]]:
        s -= np.hypot(np.linalg.norm(part @ n), rounding * np.linalg.norm(part[0]))
    return float(s)


def random_unit(rng: np.random.Generator) -> np.ndarray:
    n = rng.normal(size=3)
    return n / np.linalg.norm(n)


def numbered(kinds: tuple[int, int], seed: int = 0) -> np.random.Generator:
    return np.random.default_rng([seed, *kinds])


@pytest.mark.parametrize("kinds", PAIRS)
@pytest.mark.parametrize("rounding", [0.0, 0.03, 0.4, 1.0, 2.5])
def test_the_width_is_that_of_segments_discs_and_ellipsoids_one_by_one(kinds, rounding: float) -> None:
    rng = numbered(kinds)
    core, n = core_of(rng, kinds), random_unit(rng)
    assert width_across(core, tuple(n), rounding) == pytest.approx(naive(core, n, rounding), abs=1e-14)


def test_segments_of_any_length_are_wide_to_roundoff_where_nothing_is_rounded() -> None:
    core = np.zeros((13, 3))
    core[3] = [0, 0, 1e-180]
    assert width_across(core, (0.0, 0.0, 1.0), 0.0) == -1e-180
    core[5] = [0, 0, -3e-180]
    assert width_across(core, (0.0, 0.6, 0.8), 0.0) == pytest.approx(-3.2e-180)


def geodesic(n: np.ndarray, v: np.ndarray) -> np.ndarray:
    """n moved along the great circle that starts with v, as far as v is long."""
    angle = np.linalg.norm(v)
    return n if angle == 0 else math.cos(angle) * n + math.sin(angle) / angle * v


def differences(core: np.ndarray, n: np.ndarray, t: np.ndarray, u: np.ndarray, rounding: float) -> list[float]:
    """Slopes of s along t and u, and second derivatives with the sign changed, on the sphere; fourth order."""

    def first(v: np.ndarray, h: float = 1e-3) -> float:
        s = [naive(core, geodesic(n, k * h * v), rounding) for k in (-2, -1, 1, 2)]
        return (s[0] - 8 * s[1] + 8 * s[2] - s[3]) / (12 * h)

    def second(v: np.ndarray, h: float = 2e-3) -> float:
        s = [naive(core, geodesic(n, k * h * v), rounding) for k in (-2, -1, 0, 1, 2)]
        return (s[0] - 16 * s[1] + 30 * s[2] - 16 * s[3] + s[4]) / (12 * h * h)

    mixed = 0.25 * (second(t + u) - second(t - u))
    return [first(t), first(u), second(t), mixed, second(u)]


@pytest.mark.parametrize("kinds", PAIRS)
@pytest.mark.parametrize("rounding", [0.0, 0.3, 0.9])
def test_slopes_and_curvatures_are_what_differences_of_the_width_give(kinds, rounding: float) -> None:
    rng = numbered(kinds, 1)
    core = core_of(rng, kinds)
    while True:
        n = random_unit(rng)
        sines = [abs(e @ n) / np.linalg.norm(e) for e in core[1:7] if e.any()]
        if min(sines, default=1) > 0.1:  # no kink of s is in the way of the differences
            break
    t = np.cross(n, random_unit(rng))
    t /= np.linalg.norm(t)
    u = np.cross(n, t)
    found = survey(core, tuple(n), tuple(t), tuple(u), rounding)
    np.testing.assert_allclose(found, differences(core, n, t, u, rounding), rtol=0, atol=2e-7)


def test_slopes_of_thin_and_vanishing_features_stay_finite() -> None:
    """Segments straight across have none where nothing is rounded; one of 1e-120 m (its cube is 0) has no curvature."""
    n, t, u = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
    core = np.zeros((13, 3))
    core[0] = [0.3, -0.4, 2.0]
    assert survey(core, n, t, u, 0.0) == pytest.approx((0.3, -0.4, 2.0, 0.0, 2.0))
    assert survey(core, n, t, u, 0.3) == pytest.approx((0.3, -0.4, 2.0, 0.0, 2.0))
    core[2], core[6] = [0.7, 0.2, 0.0], [1e-120, 0.0, 2e-120]
    found = survey(core, n, t, u, 0.0)
    assert found == pytest.approx((0.3, -0.4, 2.0, 0.0, 2.0))
    core[7], core[8] = [0.5, 0.0, 0.0], [0.0, 0.6, 0.0]  # a disc whose axis n is
    assert survey(core, n, t, u, 0.0) == pytest.approx((0.3, -0.4, 2.0, 0.0, 2.0))
    core[12] = [0.0, 0.0, -0.25]  # a needle along n: flat there
    assert survey(core, n, t, u, 0.0) == pytest.approx((0.3, -0.4, 1.75, 0.0, 1.75))


def peak_of(core: np.ndarray, rounding: float) -> float:
    """Highest s anywhere by searching from dense directions: only of use where it has one peak."""
    rng = np.random.default_rng(5)
    best, height = random_unit(rng), -math.inf
    for width in (2.0, 0.5, 0.1, 0.02, 4e-3, 1e-3, 2e-4, 4e-5):
        for n in best + width * rng.normal(size=(150, 3)):
            value = naive(core, n / np.linalg.norm(n), rounding)
            if value > height:
                best, height = n / np.linalg.norm(n), value
    return height


@pytest.mark.parametrize("kinds", ONCE)
@pytest.mark.parametrize("rounding", [0.0, 0.3])
def test_climbing_ends_on_the_peak_of_cores_that_are_apart(kinds, rounding: float) -> None:
    if rounding == 0.0 and not {*kinds} <= {ELLIPSOID, SPHERE}:
        return  # with kinks it is never climbed so
    rng = numbered(kinds, 2)
    core = core_of(rng, kinds, 6.0)
    for start in (core[0] / 6.0, random_unit(rng), -core[0] / 6.0 + 0.1 * random_unit(rng)):
        n = ascend(core, tuple(start / np.linalg.norm(start)), rounding)
        assert np.linalg.norm(n) == pytest.approx(1, abs=1e-14)
        assert naive(core, np.array(n), rounding) == pytest.approx(peak_of(core, rounding), abs=3e-6)


def turn(n: np.ndarray, d: np.ndarray, angle: float) -> np.ndarray:
    return Rotation.from_rotvec(angle * d).apply(n)


@pytest.mark.parametrize("kinds", PAIRS)
def test_the_slope_on_a_circle_is_that_of_the_width_by_the_angle(kinds) -> None:
    rng = numbered(kinds, 3)
    while True:
        core, n, angle = core_of(rng, kinds), random_unit(rng), rng.uniform(-1, 1)
        d = np.cross(n, random_unit(rng))
        d /= np.linalg.norm(d)
        turned = turn(n, d, angle)
        if min((abs(e @ turned) / np.linalg.norm(e) for e in core[1:7] if e.any()), default=1) > 0.05:
            break
    found, slope, curvature = plain(separation.slope_on_circle)(core, tuple(n), tuple(d), angle)
    np.testing.assert_allclose(found, turned, rtol=0, atol=1e-14)
    h = 1e-3
    s = [naive(core, turn(n, d, angle + k * h)) for k in (-2, -1, 0, 1, 2)]
    assert slope == pytest.approx((s[0] - 8 * s[1] + 8 * s[3] - s[4]) / (12 * h), abs=1e-7)
    assert curvature == pytest.approx((s[0] - 16 * s[1] + 30 * s[2] - 16 * s[3] + s[4]) / (12 * h * h), abs=1e-5)


@pytest.mark.parametrize("kinds", ONCE)
@pytest.mark.parametrize("beside", [-0.4, 0.0, 1e-6, 0.7])
def test_climbing_on_a_kink_ends_on_the_peak_of_its_circle(kinds, beside: float) -> None:
    """Against a search along the circle, from both sides of the peak, near it and at it."""
    rng = numbered(kinds, 4)
    core, d = core_of(rng, kinds, 5.0), random_unit(rng)
    kinks = [e for e in core[1:7] if e.any()]
    if kinks:
        d = kinks[-1] / np.linalg.norm(kinks[-1])
    toward = core[0] - d * (d @ core[0])
    toward /= np.linalg.norm(toward)
    angles = np.linspace(-1.5, 1.5, 301)
    rough = angles[np.argmax([naive(core, turn(toward, d, a)) for a in angles])]
    low, high = rough - 0.01, rough + 0.01
    for _ in range(90):  # one peak: it is not in the third beside the lower of two places
        left, right = low + (high - low) / 3, high - (high - low) / 3
        higher = naive(core, turn(toward, d, left)) > naive(core, turn(toward, d, right))
        low, high = (low, right) if higher else (left, high)
    peak = naive(core, turn(toward, d, low))
    start = turn(toward, d, low + beside) + 1e-4 * d
    n, height = plain(separation.ascend_on_kink)(core, tuple(start), tuple(d))
    assert height == pytest.approx(peak, abs=1e-13)
    assert height == pytest.approx(naive(core, np.array(n)), abs=1e-14)
    assert abs(d @ n) < 1e-15
    assert np.linalg.norm(n) == pytest.approx(1, abs=1e-14)


def test_directions_face_from_a_to_b() -> None:
    core = np.zeros((13, 3))
    core[0] = [1.0, -2.0, 0.5]
    facing = plain(separation.facing)
    assert facing(core, (0.6, 0.0, 0.8)) == (0.6, 0.0, 0.8)
    assert facing(core, (0.0, 0.6, 0.8)) == (0.0, -0.6, -0.8)
    assert facing(core, (2.0, 1.0, 0.0)) == (2.0, 1.0, 0.0)  # straight across the line of centres it stays


@pytest.mark.parametrize(("i", "j"), [(1, 2), (3, 5), (2, 6), (7, 8), (10, 11)])
def test_the_direction_across_two_segments_is_perpendicular_to_both_unless_they_are_parallel(i: int, j: int) -> None:
    rng = np.random.default_rng(6)
    core = rng.normal(size=(13, 3))
    n = np.array(crossing(core, i, j))
    expected = np.cross(core[i], core[j])
    expected /= np.linalg.norm(expected) * np.sign(expected @ core[0])
    np.testing.assert_allclose(n, expected, rtol=0, atol=1e-14)
    across = np.cross(core[i], rng.normal(size=3))
    across *= np.linalg.norm(core[i]) / np.linalg.norm(across)
    for sine, there in ((0.9e-9, False), (1.2e-9, True), (-1.2e-9, True)):
        core[j] = -3.0 * (core[i] + sine * across)
        n = np.array(crossing(core, i, j))
        assert np.linalg.norm(n) == pytest.approx(float(there), abs=1e-14)
        assert abs(n @ core[i]) < 1e-6
        assert n @ core[0] >= 0.0
    core[j] = 0.0
    assert crossing(core, i, j) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("kinds", PAIRS)
def test_the_best_crossing_is_the_highest_of_all_crossings_and_axes_of_discs(kinds) -> None:
    for seed, away in ((7, 0.4), (8, 3.0)):
        core = core_of(numbered(kinds, seed), kinds, away)
        pairs = [*itertools.combinations(range(1, 7), 2)]
        pairs += [(7 + 3 * side, 8 + 3 * side) for side in range(2) if kinds[side] == CYLINDER]
        heights, ways = [-math.inf], [np.zeros(3)]
        for i, j in pairs:
            n = np.cross(core[i], core[j])
            if n.any():
                n /= np.linalg.norm(n) * (1 if n @ core[0] >= 0 else -1)
                heights, ways = [*heights, naive(core, n)], [*ways, n]
        best, height = best_crossing(core)
        assert height == pytest.approx(max(heights), abs=1e-14)
        if len(heights) > 1:
            assert height == pytest.approx(naive(core, np.array(best)), abs=1e-14)
            assert min(np.linalg.norm(ways[k] - best) for k in np.argsort(heights)[-2:]) < 1e-12
        else:
            assert tuple(best) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("kinds", PAIRS)
def test_what_a_core_has_of_kinks_discs_and_faces(kinds) -> None:
    core = core_of(numbered(kinds), kinds)
    for side, kind in enumerate(kinds):
        assert bool(plain(separation.is_disc)(core, side)) == (kind == CYLINDER)
        assert bool(plain(separation.is_solid)(core, side)) == (kind == BOX)
        assert bool(plain(separation.is_polytope)(core, side)) == (kind not in (CYLINDER, ELLIPSOID))
    assert bool(plain(separation.has_kinks)(core)) == bool({*kinds} & {BOX, CAPSULE, CYLINDER})


def test_each_segment_and_each_disc_alone_is_a_kink() -> None:
    for k in range(1, 7):
        core = np.zeros((13, 3))
        core[k] = [0.0, -0.2, 0.1]
        assert plain(separation.has_kinks)(core), k
    for side in range(2):
        core = np.zeros((13, 3))
        assert not plain(separation.has_kinks)(core)
        core[7 + 3 * side], core[8 + 3 * side] = [0.0, -0.2, 0.1], [0.3, 0.0, 0.0]
        assert plain(separation.has_kinks)(core), side
        core[9 + 3 * side] = [0.0, 0.1, 0.2]  # an ellipsoid is smooth
        assert not plain(separation.has_kinks)(core), side


@pytest.mark.parametrize("kinds", ONCE)
def test_climbing_from_a_direction_keeps_what_is_better(kinds) -> None:
    core = core_of(numbered(kinds, 9), kinds, 4.0)
    start = tuple(core[0] / 4.0)
    known = (0.48, 0.6, 0.64)
    assert climb_from(core, start, known, 100.0) == (known, 100.0)
    best, height = climb_from(core, start, known, -100.0)
    assert height == pytest.approx(naive(core, np.array(best)), abs=1e-14)
    a, b = solids_of(core, kinds)
    assert height == pytest.approx(depth(a, b, np.array(start)), abs=1e-9)


@pytest.mark.parametrize("away", [0.5, 0.0])
@pytest.mark.parametrize("kinds", [pair for pair in ONCE if SPHERE not in pair])
def test_the_signed_distance_is_the_highest_width_over_all_directions(kinds, away: float) -> None:
    """Overlapping deeply, and with one centre."""
    rng = numbered(kinds, 10)
    core = core_of(rng, kinds, away)
    a, b = solids_of(core, kinds)
    size = sum(max(np.linalg.norm(core[k], axis=1)) for k in (slice(1, 4), slice(4, 7), slice(7, 10), slice(10, 13)))
    height, best = plain(separation.signed_distance)(core, size)
    assert np.linalg.norm(best) == pytest.approx(1, abs=1e-14)
    assert height == pytest.approx(naive(core, np.array(best)), abs=1e-13)
    assert height == pytest.approx(depth(a, b, np.array(best)), abs=1e-9)


@pytest.mark.parametrize(
    "kinds", [(CYLINDER, ELLIPSOID), (ELLIPSOID, ELLIPSOID), (BOX, CYLINDER), (CAPSULE, ELLIPSOID)]
)
def test_the_nearest_way_out_is_found_from_axes_and_crossings_alone(kinds) -> None:
    core = core_of(numbered(kinds, 11), kinds, 0.1)
    a, b = solids_of(core, kinds)
    best, height = plain(separation.nearest_way_out)(core, (1.0, 0.0, 0.0), -math.inf)
    assert height == pytest.approx(naive(core, np.array(best)), abs=1e-13)
    assert height == pytest.approx(depth(a, b, np.array(best)), abs=1e-9)
    assert plain(separation.nearest_way_out)(core, (1.0, 0.0, 0.0), 5.0) == ((1.0, 0.0, 0.0), 5.0)


@pytest.mark.parametrize("scale", [0.01, 1.0])
@pytest.mark.parametrize(
    ("kinds", "seed"),
    [
        ((CYLINDER, SPHERE), 1003), ((CYLINDER, CYLINDER), 1016), ((CAPSULE, ELLIPSOID), 1219),
        ((ELLIPSOID, ELLIPSOID), 1249),
    ],
)  # fmt: skip
def test_of_several_ways_out_the_nearest_is_found_that_no_climb_from_the_centres_leads_to(
    kinds, seed: int, scale: float
) -> None:
    """Of overlaps of a third of the size, in which climbs from three directions end on lower peaks; of any size."""
    rng = numbered(kinds, seed)
    core = core_of(rng, kinds, rng.uniform(0.05, 1.4))
    a, b = solids_of(core, kinds)
    size = sum(max(np.linalg.norm(core[k], axis=1)) for k in (slice(1, 4), slice(4, 7), slice(7, 10), slice(10, 13)))
    start = tuple(core[0] / np.linalg.norm(core[0]))
    crossed, height = best_crossing(core)
    if height == -math.inf:
        crossed, height = start, naive(core, np.array(start))
    beside = np.array(start) + 0.3 * np.array(separation.ODD)
    for n in (start, crossed, tuple(beside / np.linalg.norm(beside))):
        height = max(height, climb_from(core, n, start, -math.inf)[1])
    found, best = plain(separation.signed_distance)(scale * core, scale * size)
    assert found == pytest.approx(scale * naive(core, np.array(best)), abs=1e-13)
    assert found / scale == pytest.approx(depth(a, b, np.array(best)), abs=1e-9)
    assert found / scale > height + 1e-3 * size


def test_solids_that_crossings_do_not_part_are_as_far_apart_as_their_nearest_points() -> None:
    """Segments in one plane, which their common perpendicular tells nothing of; and corners of boxes."""
    core = np.zeros((13, 3))
    core[0], core[3], core[6] = [2.0, 0.3, 0.0], [1.0, 0.0, 0.0], [0.0, 1.5, 0.0]
    height, best = plain(separation.signed_distance)(core, 2.5)
    assert height == pytest.approx(1.0, abs=1e-12) and best == pytest.approx((1.0, 0.0, 0.0), abs=1e-9)
    core[1:4], core[4:7] = np.diag([0.5, 0.4, 0.3]), np.diag([0.2, 0.3, 0.1])
    core[0] = [0.7 + 0.3, -(0.7 + 0.2), 0.4 + 0.6]
    height, best = plain(separation.signed_distance)(core, 1.0)
    assert height == pytest.approx(0.7, abs=1e-12) and best == pytest.approx((3 / 7, -2 / 7, 6 / 7), abs=1e-9)


# Of shapes: name, half segments, half axes and ball of dimensions (0.3, 0.7, 1.1).
PARTS = {
    PLANE: ((0, 0, 0), (0, 0, 0), 0), SPHERE: ((0, 0, 0), (0, 0, 0), 0.3), CAPSULE: ((0, 0, 0.55), (0, 0, 0), 0.3),
    BOX: ((0.15, 0.35, 0.55), (0, 0, 0), 0), CYLINDER: ((0, 0, 0.55), (0.3, 0.3, 0), 0),
    ELLIPSOID: ((0, 0, 0), (0.3, 0.7, 1.1), 0), MESH: ((0.15, 0.35, 0.55), (0, 0, 0), 0),
}  # fmt: skip


@pytest.mark.parametrize("kinds", list(itertools.product(PARTS, repeat=2)))
def test_cores_are_placed_with_their_axes_and_balls_are_told_apart(kinds) -> None:
    rng = numbered(kinds, 12)
    shapes, x, R = table(SHAPE, 4), rng.normal(size=(3, 3)), Rotation.random(3, rng=rng).as_matrix()
    pose, core = np.full((2, 12), np.nan), np.full((13, 3), np.nan)
    turns, shifts = Rotation.random(4, rng=rng).as_matrix(), rng.normal(size=(4, 3))
    shapes.kind, shapes.link, shapes.dimensions = [kinds[1], SPHERE, PLANE, kinds[0]], [2, 0, 0, 1], [0.3, 0.7, 1.1]
    shapes.R_KS, shapes.p_KS = turns.reshape(4, 9), shifts
    centres, axes = [], []
    for side, (i, link) in enumerate(((3, 1), (0, 2))):
        plain(separation.place_shape)(shapes, i, x, R.reshape(3, 9), side, pose)
        centres.append(x[link] + R[link] @ shifts[i])
        axes.append(R[link] @ turns[i])
        np.testing.assert_allclose(pose[side, :3], centres[-1], rtol=0, atol=1e-14)
        np.testing.assert_allclose(pose[side, 3:].reshape(3, 3), axes[-1], rtol=0, atol=1e-14)
        for k in range(3):
            np.testing.assert_allclose(plain(separation.axis_of)(pose, side, k), axes[-1][:, k], rtol=0, atol=1e-14)
        way = rng.normal(size=3)
        np.testing.assert_allclose(plain(separation.in_shape)(pose, side, way), axes[-1].T @ way, rtol=0, atol=1e-14)
    r, size = plain(separation.put_cores)(shapes, 3, 0, pose, core)
    assert r == pytest.approx(sum(PARTS[kind][2] for kind in kinds), abs=1e-15)
    assert size == pytest.approx(sum(max(PARTS[k][0]) + max(PARTS[k][1]) + PARTS[k][2] for k in kinds), abs=1e-15)
    np.testing.assert_allclose(core[0], centres[1] - centres[0], rtol=0, atol=1e-14)
    n = rng.normal(size=3)
    for side, kind in enumerate(kinds):
        halves, reach = np.diag(PARTS[kind][0]), np.diag(PARTS[kind][1])
        np.testing.assert_allclose(core[1 + 3 * side : 4 + 3 * side], halves @ axes[side].T, rtol=0, atol=1e-14)
        np.testing.assert_allclose(core[7 + 3 * side : 10 + 3 * side], reach @ axes[side].T, rtol=0, atol=1e-14)
        np.testing.assert_allclose(
            plain(separation.stretch)(core, side, n), reach @ axes[side].T @ n, rtol=0, atol=1e-14
        )
