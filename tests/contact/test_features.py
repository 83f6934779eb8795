"""How contact points move with their links, against differences; tangents of a normal."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.kernels.collision import features, narrow
from sim.kernels.scratch import TOUCH_WORK
from sim.kernels.shapes import BALL, BOX, CAPSULE, CYLINDER, FACE, LINE, ROUND, SPHERE
from sim.kernels.status import Status
from sim.kernels.tables import table
from tests.contact.solids import EYE, NAMES, PAIRS, Solid, evaluate, links_at, meet, random_pair
from tests.kernels.plain import plain
from tests.support.interpreted import times

pytestmark = [pytest.mark.contact, pytest.mark.fast]

pairs = pytest.mark.parametrize("kinds", PAIRS, ids=[f"{NAMES[a]}-{NAMES[b]}" for a, b in PAIRS])


def turned(R: np.ndarray, V: np.ndarray, h: float) -> np.ndarray:
    """Poses after the time h at constant angular velocities."""
    return np.array(
        [(Rotation.from_rotvec(h * w).as_matrix() @ r.reshape(3, 3)).ravel() for w, r in zip(V[:, :3], R, strict=True)]
    )


@pairs
@pytest.mark.parametrize("gap", [0.1, 1e-6, -1e-6, -0.05])
def test_rates_are_what_differences_give(kinds: tuple[int, int], gap: float) -> None:
    seen = set()
    for seed in range(times(12, 3)):
        rng = np.random.default_rng(seed)
        a, b = random_pair(rng, kinds, gap)
        meeting = meet(a, b, 10.0, rng)
        x, R, V = meeting.x, meeting.R, rng.normal(size=(3, 6))
        V[0] = 0
        exact, h = evaluate(meeting, x, R, V), 1e-5
        p, n, count = exact.p[: meeting.count], exact.n[: meeting.count], meeting.count
        np.testing.assert_allclose(exact.gap[:count], meeting.gap, rtol=0, atol=1e-12)
        near = [evaluate(meeting, x + k * h * V[:, 3:], turned(R, V, k * h), V) for k in (-2, -1, 1, 2)]
        for name in ("gap", "p", "n", "t1", "t2"):
            v = [point[name][:count] for point in near]
            difference = (v[0] - 8 * v[1] + 8 * v[2] - v[3]) / (12 * h)
            rate = exact[name + "_dot"][:count]
            # roundoff 1e-16 / h, more where a point is poorly conditioned and its rate large
            np.testing.assert_allclose(
                rate, difference, rtol=1e-6, atol=1e-7 * max(1, np.abs(rate).max()), err_msg=name
            )
        apart = V[2, 3:] + np.cross(V[2, :3], p - x[2]) - V[1, 3:] - np.cross(V[1, :3], p - x[1])
        np.testing.assert_allclose(exact.gap_dot[:count], np.sum(n * apart, axis=1), rtol=0, atol=1e-11)
        seen |= {tuple(sorted(k)) for k in meeting.touches.kind[:count].tolist()}
    assert seen


RIM = np.array([1.0, 0.0, 0.0])  # a point of the rim of a disc of radius 1, whose upper cap is z = 0


def over_the_rim(kind: int, tilt: float) -> tuple[Solid, Solid]:
    """Return a disc, and a solid that touches its rim in RIM, across the rim but for 0.4 rad.

    The normal stands upright but for the tilt, outward where that is positive: with none the solid is about to come
    down to the cap.
    """
    disc = Solid(CYLINDER, np.array([1.0, 1.0, 0.2]), np.array([0.0, 0.0, -0.1]), EYE)
    n = np.array([np.sin(tilt), 0.0, np.cos(tilt)])
    inward = np.cross([0.0, 1.0, 0.0], n) * -np.cos(0.4) + np.array([0.0, np.sin(0.4), 0.0])
    frame = np.column_stack([np.cross(inward, n), n, inward])  # n is perpendicular to both edges
    if kind == SPHERE:
        return disc, Solid(kind, np.full(3, 0.3), RIM + 0.3 * n, EYE)
    if kind == CAPSULE:
        return disc, Solid(kind, np.array([0.1, 0.1, 1.0]), RIM + 0.1 * n + 0.1 * inward, frame)
    lean = frame @ Rotation.from_euler("z", 0.3).as_matrix()
    if kind == CYLINDER:  # its rim goes along `inward` there
        return disc, Solid(kind, np.array([0.5, 0.5, 0.4]), RIM + lean @ [0.2, 0.5, 0.0], lean[:, [1, 2, 0]])
    square = lean @ Rotation.from_euler("z", np.pi / 4).as_matrix()
    return disc, Solid(kind, np.ones(3), RIM + square @ [0.5, 0.5, 0.3], square)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("kind", [SPHERE, CAPSULE, CYLINDER, BOX])
def test_what_comes_down_from_a_rim_to_its_cap_does_so_smoothly(kind: int, first: int) -> None:
    """Seen along the axis of a rim, its normals do not tell where on it they are, and beyond they tell another side.

    first : whether the disc or the other is; the normal that iterations start with turns with the first.
    """
    both = over_the_rim(kind, 0.02)
    meeting = meet(both[first], both[1 - first], 1e-3)
    assert meeting.count == 1
    kinds = sorted(meeting.touches.kind[0].tolist())
    assert kinds == [{SPHERE: BALL, CAPSULE: LINE, CYLINDER: ROUND, BOX: LINE}[kind], ROUND]
    for tilt in (0.02, 1e-6, 0.0, -1e-6, -0.02):
        n = np.array([np.sin(tilt), 0.0, np.cos(tilt)])
        _, b = over_the_rim(kind, tilt)
        x, R, V = meeting.x.copy(), meeting.R.copy(), np.random.default_rng(3).normal(size=(3, 6))
        x[2 - first], R[2 - first], V[0] = b.x, b.R.ravel(), 0.0
        found, h = evaluate(meeting, x, R, V), 1e-5
        np.testing.assert_allclose(found.gap[0], 0.0, atol=1e-14)
        np.testing.assert_allclose(found.p[0], RIM, rtol=0, atol=1e-13)
        np.testing.assert_allclose(found.n[0], n * [1, -1][first], rtol=0, atol=1e-13)
        near = [evaluate(meeting, x + k * h * V[:, 3:], turned(R, V, k * h), V) for k in (-2, -1, 1, 2)]
        for name in ("gap", "p", "n", "t1", "t2"):
            v = [point[name][0] for point in near]
            difference = (v[0] - 8 * v[1] + 8 * v[2] - v[3]) / (12 * h)
            np.testing.assert_allclose(found[name + "_dot"][0], difference, rtol=1e-7, atol=1e-7, err_msg=name)


def test_all_pairs_of_features_occur() -> None:
    """What the test above has differentiated."""
    seen = set()
    for kinds in PAIRS:
        for seed in range(times(12, 3)):
            rng = np.random.default_rng(seed)
            meeting = meet(*random_pair(rng, kinds, 1e-6), 10.0, rng)
            seen |= {tuple(sorted(k)) for k in meeting.touches.kind[: meeting.count].tolist()}
    assert seen == {
        (FACE, BALL), (FACE, ROUND), (LINE, LINE), (LINE, BALL), (LINE, ROUND),
        (BALL, BALL), (BALL, ROUND), (ROUND, ROUND),
    }  # fmt: skip


def test_tangents_are_a_right_handed_frame_that_turns_with_the_normal() -> None:
    tangents, rates = plain(features.tangents_of), plain(features.tangent_rates)
    rng = np.random.default_rng(0)
    for n in rng.normal(size=(200, 3)):
        n = n / np.linalg.norm(n)
        n_dot = np.cross(rng.normal(size=3), n)
        t1, t2 = map(np.array, tangents(n))
        np.testing.assert_allclose(np.array([t1, t2, n]) @ np.array([t1, t2, n]).T, np.eye(3), rtol=0, atol=1e-13)
        np.testing.assert_allclose(np.cross(t1, t2), n, rtol=0, atol=1e-13)
        h = 1e-5
        ahead, behind = ((n + s * h * n_dot) / np.linalg.norm(n + s * h * n_dot) for s in (1, -1))
        found = np.array(rates(n, n_dot, t1))
        expected = (np.array(tangents(ahead)) - np.array(tangents(behind))) / (2 * h)
        distance = np.linalg.norm(n + features.M)  # from the pole
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * (1 + distance**-3))


def test_tangents_of_a_floor_are_the_axes_of_the_world() -> None:
    t1, t2 = plain(features.tangents_of)((0.0, 0.0, 1.0))
    np.testing.assert_allclose([t1, t2], np.eye(3)[:2], rtol=0, atol=1e-15)


def test_the_pole_is_far_from_axes_and_diagonals() -> None:
    usual = np.array([[i, j, k] for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1) if (i, j, k) != (0, 0, 0)])
    angles = np.arccos(usual / np.linalg.norm(usual, axis=1)[:, None] @ -np.array(features.M))
    assert np.degrees(angles.min()) > 15


def test_lines_that_have_become_parallel_are_told() -> None:
    rod = np.array([0.1, 0.1, 1.0])
    turned = Rotation.from_euler("x", 1.0).as_matrix()
    meeting = meet(Solid(CAPSULE, rod, np.zeros(3), EYE), Solid(CAPSULE, rod, np.array([0.2, 0, 0]), turned), 1e-3)
    assert meeting.touches.kind[0].tolist() == [LINE, LINE]
    evaluate(meeting, meeting.x, meeting.R, np.zeros((3, 6)))
    meeting.R[2] = meeting.R[1]
    points = table(TOUCH_WORK, narrow.ROOM)
    at = links_at(meeting.x, meeting.R)
    status = features.contact_points(meeting.touches, at.x, at.R, at.V, 1, points)
    assert status == Status.NOT_SOLVED


def test_a_corner_that_has_reached_an_edge_is_told() -> None:
    """A sharp edge and a sharp corner have a normal between them only while they are apart."""
    turned = Rotation.align_vectors([[0, 0, -1]], [[1, 1, 1]])[0].as_matrix()
    edge = Solid(BOX, np.ones(3), np.zeros(3), Rotation.from_euler("x", np.pi / 4).as_matrix())
    corner = Solid(BOX, np.ones(3), np.array([0.1, 0, np.sqrt(0.5) + np.sqrt(0.75) + 1e-3]), turned)
    meeting = meet(edge, corner, 1e-2)
    assert meeting.touches.kind[: meeting.count].tolist() == [[LINE, BALL]]
    points = evaluate(meeting, meeting.x, meeting.R, np.zeros((3, 6)))
    assert points.gap[0] == pytest.approx(1e-3, abs=1e-14)
    meeting.touches.p[0] = 0
    meeting.x[:] = 0
    at = links_at(meeting.x, meeting.R)
    status = features.contact_points(meeting.touches, at.x, at.R, at.V, 1, points)
    assert status == Status.NOT_SOLVED


def test_remembered_normals_and_places_on_rims_are_in_their_links() -> None:
    rng = np.random.default_rng(2)
    meeting = meet(*random_pair(rng, (CYLINDER, CYLINDER), 1e-3), 10.0, rng)
    x, R = meeting.x, meeting.R
    touches, count = meeting.touches, meeting.count
    rims = touches.kind[:count] == ROUND
    assert rims.any()
    touches.n[:] = touches.d[:count][rims] = 0
    at = links_at(x, R)
    features.remember_starts(at.x, at.R, meeting.points, count, touches)
    np.testing.assert_allclose(touches.n[:count] @ R[1].reshape(3, 3).T, meeting.n, rtol=0, atol=1e-15)
    apart = 0.5 * np.abs(meeting.gap).max() + 1e-12
    for k, side in np.argwhere(rims):
        solid, axes = (meeting.a, meeting.b)[side], R[1 + side].reshape(3, 3)
        height = solid.size[2] / 2 * np.sign((meeting.p[k] - solid.x) @ solid.R[:, 2])
        on_rim = solid.x + height * solid.R[:, 2] + solid.size[0] * axes @ touches.d[k, side]
        np.testing.assert_allclose(on_rim, meeting.p[k], rtol=0, atol=apart)
