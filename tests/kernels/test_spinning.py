"""Steps of first order of what spins: by themselves, about their centres, and together with what is jointed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.kernels import inertial, spinning
from sim.kernels.scratch import ROW_WORK
from sim.kernels.spinning import FAR, PARTS
from sim.kernels.tables import BLOCK, ROW, table
from tests.kernels.kinds import FIXED, FREE, NQ, ROTATIONAL, SPHERICAL, TRANSLATIONAL
from tests.kernels.plain import plain
from tests.kernels.trees import Tree

pytestmark = pytest.mark.fast

# Two lone bodies, one that something hangs on, one with a rotor, one in a loop, and joints between them.
PLACES = ((0, FREE), (0, FREE), (0, FREE), (3, ROTATIONAL), (0, FREE), (0, FREE), (4, TRANSLATIONAL), (0, SPHERICAL))
LONE = (1, 2)


def forest(seed: int = 1) -> tuple[Tree, np.ndarray]:
    """Return links with body 6 held by a loop to body 8, at their poses."""
    tree, blocks = Tree(seed, PLACES, rotors=(5,)), table(BLOCK, 2)
    blocks.a, blocks.b = [0, 8], [4, 6]
    tree.look(tree.q, tree.v)
    return tree, blocks


def matrix(tree: Tree, b: int) -> np.ndarray:
    return np.asarray(tree.links.inertia_K[b][[[0, 3, 4], [3, 1, 5], [4, 5, 2]]])


def test_lone_bodies_are_those_that_nothing_else_holds() -> None:
    tree, blocks = forest()
    found = [b for b in range(1, 9) if plain(spinning.is_lone)(tree.links, blocks, b)]
    assert found == list(LONE)
    none = blocks[:0]
    assert [b for b in range(1, 9) if plain(spinning.is_lone)(tree.links, none, b)] == [1, 2, 6]
    by_centre = [b for b in range(1, 9) if plain(inertial.goes_by_centre)(tree.links, blocks, b)]
    assert by_centre == list(LONE)
    assert [b for b in range(1, 9) if plain(inertial.goes_by_centre)(tree.links, none, b)] == [1, 2, 3, 5, 6]
    assert not plain(inertial.all_lone)(tree.links, blocks)
    alone = Tree(2, ((0, FREE), (0, FIXED), (0, FREE)), rotors=())
    assert plain(inertial.all_lone)(alone.links, none)
    held = table(BLOCK, 1)
    held.a, held.b = 3, 0
    assert not plain(inertial.all_lone)(alone.links, held)


def test_matrices_of_three_rows() -> None:
    tree, _ = forest()
    rng, a = np.random.default_rng(1), np.random.default_rng(2).normal(size=(3, 3))
    rows, v = tuple(map(tuple, a)), rng.normal(size=3)
    np.testing.assert_allclose(plain(spinning.product)(rows, tuple(v)), a @ v, rtol=1e-13)
    np.testing.assert_allclose(plain(spinning.solved)(rows, tuple(v)), np.linalg.solve(a, v), rtol=1e-12)
    np.testing.assert_array_equal(plain(spinning.inertia_of)(tree.links, 4), matrix(tree, 4))
    I, w = matrix(tree, 4), rng.normal(size=3)  # noqa: E741
    rate = np.linalg.solve(I, np.cross(I @ w, w))
    np.testing.assert_allclose(plain(spinning.free_rate)(tuple(map(tuple, I)), tuple(w)), rate, rtol=1e-12)


def test_the_slope_of_the_midpoint_rule_is_that_of_what_it_misses() -> None:
    """With respect to w after: I + h ([m] I - [I m]) / 2."""
    tree, _ = forest()
    I, (w, after), h = matrix(tree, 3), np.random.default_rng(3).normal(size=(2, 3)), 0.3  # noqa: E741

    def miss(after: np.ndarray) -> np.ndarray:
        m = (w + after) / 2
        return np.asarray(I @ (after - w) + h * np.cross(m, I @ m))

    expected = np.column_stack([(miss(after + 1e-5 * e) - miss(after - 1e-5 * e)) / 2e-5 for e in np.eye(3)])
    m = (w + after) / 2
    s = 0.5 * h
    found = plain(spinning.slope_of_miss)(tuple(map(tuple, I)), tuple(s * m), tuple(s * I @ m))
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("parts", [1, 3])
def test_each_part_of_a_spin_is_a_midpoint_step(parts: int) -> None:
    tree, _ = forest()
    I, h = matrix(tree, 2), 0.1  # noqa: E741
    w, driven = np.array([3.0, -2.0, 1.5]), np.array([0.2, 0.1, -0.3])
    rows = tuple(map(tuple, I))
    one = [w]
    for _ in range(parts):
        one.append(np.array(plain(spinning.spun)(rows, tuple(one[-1]), tuple(driven), h, 1)))
        m = (one[-2] + one[-1]) / 2
        np.testing.assert_allclose(I @ (one[-1] - one[-2] - driven), -h * np.cross(m, I @ m), atol=1e-13)
    np.testing.assert_allclose(plain(spinning.spun)(rows, tuple(w), tuple(driven), h, parts), one[-1], atol=1e-13)


@pytest.mark.parametrize("turn", [2e-7, 2e-6, 0.49, 0.51, 1.7, 70.0])
def test_lone_bodies_spin_on_by_the_midpoint_rule_in_parts_of_half_a_radian(turn: float) -> None:
    """Besides what drives them; their origins go round their centres; where they hardly turn nothing is changed."""
    tree, blocks = forest()
    h = 0.01
    for b in LONE:
        k = slice(int(tree.links.v[b]) + 3, int(tree.links.v[b]) + 6)
        tree.v[k] *= turn / h / np.linalg.norm(tree.v[k])
    begun = tree.v + h * np.linspace(-3.0, 5.0, len(tree.v))
    after = begun.copy()
    plain(spinning.spin_on)(tree.links, blocks, tree.work, tree.freedom_work, tree.v, h, after)
    for b in range(1, 9):
        first = int(tree.links.v[b])
        own, k = slice(first, first + int(tree.links.nv[b])), slice(first + 3, first + 6)
        if b not in LONE or turn < 1e-6:
            np.testing.assert_array_equal(after[own], begun[own])
            continue
        I, w = matrix(tree, b), tree.v[k]  # noqa: E741
        parts = min(int(np.ceil(turn / FAR)), PARTS)
        driven = begun[k] - w + h * np.linalg.solve(I, np.cross(w, I @ w))
        rows = tuple(map(tuple, I))
        spun = np.array(plain(spinning.spun)(rows, tuple(w), tuple(driven / parts), h / parts, parts))
        np.testing.assert_allclose(after[k], spun, rtol=1e-9)
        axes, R = tree.freedom_work.axis[first : first + 3], tree.work.R[b].reshape(3, 3)
        shift = axes @ R @ np.cross(begun[k] - spun, tree.links.com_K[b])
        np.testing.assert_allclose(after[first : first + 3], begun[first : first + 3] + shift, atol=1e-9 * turn / h)


def test_free_bodies_go_on_about_their_centres() -> None:
    """The centre goes straight; with the rates of the origin at the new pose it has the same velocity."""
    tree, blocks = forest()
    for loops, centred in ((blocks, LONE), (blocks[:0], (1, 2, 3, 5, 6))):
        h, q, v = 0.2, tree.q.copy(), tree.v.copy()
        plain(inertial.move_on)(tree.links, loops, h, v, q)
        straight, same = tree.q.copy(), tree.v.copy()
        plain(inertial.add_freedoms)(tree.links, same, h, straight)
        for b in range(1, 9):
            a, k = int(tree.links.q[b]), int(tree.links.v[b])
            if b not in centred:
                n = NQ[tree.kinds[b]]
                np.testing.assert_array_equal(q[a : a + n], straight[a : a + n])
                np.testing.assert_array_equal(v[k : k + tree.links.nv[b]], tree.v[k : k + tree.links.nv[b]])
                continue
            c, w = tree.links.com_K[b], tree.v[k + 3 : k + 6]
            R, turned = (Rotation.from_quat(np.roll(p[a + 3 : a + 7], -1)).as_matrix() for p in (tree.q, q))
            np.testing.assert_allclose(q[a + 3 : a + 7], straight[a + 3 : a + 7], rtol=1e-13)
            u = tree.v[k : k + 3] + R @ np.cross(w, c)
            np.testing.assert_allclose(q[a : a + 3] + turned @ c, tree.q[a : a + 3] + R @ c + h * u, atol=1e-13)
            np.testing.assert_allclose(v[k : k + 3] + turned @ np.cross(w, c), u, atol=1e-13)
            np.testing.assert_array_equal(v[k + 3 : k + 6], w)


def test_what_turns_about_its_centre_is_left_to_the_step_of_positions() -> None:
    """The origin's acceleration about the centre, at the rates of the start, or at the mean where others turn, too."""
    tree, blocks = forest()
    for loops, centred in ((blocks, LONE), (blocks[:0], (1, 2, 3, 5, 6))):
        h, begun = 0.2, np.linspace(-1.0, 2.0, len(tree.v))
        after = begun.copy()
        plain(inertial.leave_turning)(tree.links, loops, tree.work, tree.freedom_work, h, tree.v, after)
        expected = begun.copy()
        for b in centred:
            k = int(tree.links.v[b])
            w, c, R = tree.v[k + 3 : k + 6], tree.links.com_K[b], tree.work.R[b].reshape(3, 3)
            if b in (3, 5):
                w = (w + begun[k + 3 : k + 6]) / 2
            expected[k : k + 3] += h * tree.freedom_work.axis[k : k + 3] @ R @ np.cross(w, np.cross(w, c))
        np.testing.assert_allclose(after, expected, atol=1e-13)


def test_rates_of_what_is_not_lone_come_nearer_by_a_share() -> None:
    tree, blocks = forest()
    vdot = np.linspace(-4.0, 3.0, len(tree.v))
    begun = tree.rng.normal(size=len(tree.v))
    begun[:12] += 50.0  # lone bodies, whose change is none of its
    after, h, share, length = begun.copy(), 0.3, 0.25, 1.7
    worst = plain(inertial.close_in)(
        tree.links, blocks, tree.freedoms, length, h, share, tree.v, vdot, after
    )  # fmt: skip
    moves = ~np.isin(tree.freedoms.owner, LONE)
    change = tree.v + h * vdot - begun
    np.testing.assert_allclose(after, begun + np.where(moves, share * change, 0.0), atol=1e-14)
    size = np.where(tree.freedoms.linear == 1, length, 1.0) + np.abs(tree.v)
    assert worst == pytest.approx(np.max((np.abs(change) / size)[moves]), rel=1e-13)


def test_hard_rows_ask_for_no_turn_but_what_drives_want_and_rotors_feel_stays() -> None:
    rows, work = table(ROW, 3), table(ROW_WORK, 3)
    rows.compliance, rows.motion, work.gamma = [0.0, 0.5, 0.0], [-1, -1, 0], [1.0, 2.0, 3.0]
    plain(inertial.hold_turning)(rows, work)
    assert work.gamma.tolist() == [0.0, 2.0, 3.0]
