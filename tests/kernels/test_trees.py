"""Passes over a tree with joints of every kind: poses, velocities, inertias, elimination; against dense numpy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.kernels import forces, kinematics, project
from sim.kernels.elimination import articulated
from tests.kernels.kinds import FREE, NQ, PLANAR, ROTATIONAL, SCREW, SPHERICAL, TRANSLATIONAL, UNIVERSAL
from tests.kernels.moving import derivative, vee
from tests.kernels.plain import plain
from tests.kernels.trees import EVERY_KIND, Tree, joint_pose, moved

pytestmark = pytest.mark.fast


def test_links_stand_where_their_joints_put_them() -> None:
    tree = Tree(1)
    tree.work.x[0], tree.work.R[0] = (0.3, -0.2, 0.5), Rotation.from_rotvec([0.2, 0.5, -0.4]).as_matrix().ravel()
    tree.look(tree.q, tree.v)
    for b in range(1, len(tree.links)):
        link, up = tree.links[b], int(tree.links.parent[b])
        p, R = joint_pose(tree.kinds[b], tree.q[link.q :][: NQ[tree.kinds[b]]])
        x, A = tree.work.x[up], tree.work.R[up].reshape(3, 3)
        F = A @ link.R_PF.reshape(3, 3)
        np.testing.assert_allclose(tree.work.d[b], A @ link.p_PF + F @ p, atol=1e-13)
        np.testing.assert_allclose(tree.work.x[b], x + tree.work.d[b], atol=1e-13)
        np.testing.assert_allclose(tree.work.R[b].reshape(3, 3), F @ R, atol=1e-13)


def path(tree: Tree, vdot: np.ndarray, t: float) -> np.ndarray:
    """Return coordinates a short time after tree.q, with rates tree.v and a constant vdot along the freedoms."""
    steps = 4
    q = tree.q
    for k in range(steps):  # Magnus, fourth order: the rates between are linear in time
        a, h = t * k / steps, t / steps
        middle = tree.v + vdot * (a + h / 2)
        turn = h * middle
        for link in tree.links[1:]:
            if link.quaternion >= 0:
                k3 = slice(link.v + link.nv - 3, link.v + link.nv)
                turn[k3] += np.cross(middle[k3], vdot[k3]) * h**3 / 12
        q = moved(tree, q, turn)
    return q


@pytest.mark.parametrize("seed", range(2))
def test_velocities_and_accelerations_are_those_of_the_poses(seed: int) -> None:
    """What `velocities` fills are accelerations with zero vdot, on top of the world's."""
    tree = Tree(seed)
    still = np.zeros(len(tree.v))
    tree.work.A[0, 3:] = 0.4, -0.7, 0.2

    def pose(t: float) -> np.ndarray:
        tree.look(path(tree, still, t), tree.v)
        return np.column_stack([tree.work.x, tree.work.R])

    def velocity(t: float) -> np.ndarray:
        tree.look(path(tree, still, t), tree.v)
        return tree.work.V.copy()

    rates, change = derivative(pose), derivative(velocity)
    tree.look(tree.q, tree.v)
    np.testing.assert_allclose(tree.work.V[:, 3:], rates[:, :3], atol=1e-8)
    for b, R in enumerate(tree.work.R):
        np.testing.assert_allclose(tree.work.V[b, :3], vee(rates[b, 3:].reshape(3, 3) @ R.reshape(3, 3).T), atol=1e-8)
    change[:, 3:] += tree.work.A[0, 3:]
    np.testing.assert_allclose(tree.work.A, change, atol=1e-7)


def test_a_world_that_turns_carries_its_tree() -> None:
    """Angular velocity and acceleration of the first row reach every link, as those of any parent."""
    tree = Tree(3, [(0, ROTATIONAL), (1, UNIVERSAL)], rotors=())
    tree.look(tree.q, 0 * tree.v)
    tree.work.A[0] = tree.rng.normal(size=6)
    tree.look(tree.q, 0 * tree.v)
    alpha, a = tree.work.A[0, :3], tree.work.A[0, 3:]
    for b in (1, 2):
        np.testing.assert_allclose(tree.work.A[b, :3], alpha, atol=1e-13)
        np.testing.assert_allclose(tree.work.A[b, 3:], a + np.cross(alpha, tree.work.x[b]), atol=1e-13)


def test_rates_of_coordinates_are_those_of_the_freedoms() -> None:
    tree = Tree(4)
    for link in tree.links[1:]:  # quaternions as integrators have them, about a unit
        if link.quaternion >= 0:
            at = slice(link.q + link.nv - 3, link.q + link.nv + 1)
            tree.q[at] *= 1.2 / np.linalg.norm(tree.q[at])
    found = np.full(len(tree.q), 9.0)
    plain(kinematics.qdot)(tree.links, tree.q, tree.v, found)
    still = np.zeros(len(tree.v))
    expected = derivative(lambda t: path(tree, still, t) if t else tree.q)
    for link in tree.links[1:]:
        if link.quaternion >= 0:  # `moved` has them at unit length, as near as can be
            at = slice(link.q + link.nv - 3, link.q + link.nv + 1)
            expected[at] *= 1.2 * np.sign(tree.q[at] @ path(tree, still, 1e-9)[at])
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_displacements_are_in_the_freedoms_own_axes() -> None:
    tree = Tree(5)
    dq = tree.rng.normal(size=len(tree.v))
    q = tree.q.copy()
    plain(project.add_freedoms)(tree.links, dq, 0.7, q)
    expected = moved(tree, tree.q, 0.7 * dq)
    for link in tree.links[1:]:
        a, n = int(link.q), int(link.nv + (link.quaternion >= 0))
        if link.quaternion >= 0:
            at = slice(a + n - 4, a + n)
            expected[at] *= np.sign(expected[at] @ q[at])
        np.testing.assert_allclose(q[a : a + n], expected[a : a + n], atol=1e-13)


def test_quaternions_get_unit_length_and_nothing_else_changes() -> None:
    tree = Tree(6)
    q = tree.q.copy()
    plain(project.normalise)(tree.links, q)
    for link in tree.links[1:]:
        a, n = int(link.q), int(link.nv + (link.quaternion >= 0))
        expected = tree.q[a : a + n].copy()
        if link.quaternion >= 0:
            expected[-4:] /= np.linalg.norm(expected[-4:])
        np.testing.assert_allclose(q[a : a + n], expected, rtol=1e-14)


def test_columns_of_the_tree_are_coordinates_and_rotation_vectors() -> None:
    tree = Tree(7)
    n = len(tree.v)
    tree.links.column[1:] = tree.links.v[1:] + 2
    coordinate, rate = np.full(n + 2, 9.0), np.full(n + 2, 9.0)
    plain(forces.tree_columns)(tree.links, tree.q, tree.v, coordinate, rate)
    np.testing.assert_array_equal(rate, [9.0, 9.0, *tree.v])
    plain(forces.tree_rates)(tree.links, 2.0 * tree.v, rate)
    np.testing.assert_array_equal(rate, [9.0, 9.0, *(2.0 * tree.v)])
    assert coordinate[:2].tolist() == [9.0, 9.0]
    for link in tree.links[1:]:
        own = tree.q[link.q :][: int(link.nv + (link.quaternion >= 0))]
        if link.quaternion >= 0:
            turn = Rotation.from_quat(np.roll(own[-4:], -1)).as_rotvec()
            own = np.r_[own[:-4], turn]
        np.testing.assert_allclose(coordinate[link.column :][: len(own)], own, atol=1e-13)


def test_inertias_of_links_are_about_their_origins() -> None:
    tree = Tree(8)
    tree.look(tree.q, tree.v)
    for b, expected in enumerate(tree.inertias()[1:], 1):
        m, hx, hy, hz, xx, yy, zz, xy, xz, yz = tree.work.I[b]
        found = [[xx, xy, xz, 0, -hz, hy], [xy, yy, yz, hz, 0, -hx], [xz, yz, zz, -hy, hx, 0]]
        np.testing.assert_allclose(found, expected[:3], atol=1e-13)
        assert m == tree.links.mass[b]


def bias(tree: Tree, J: np.ndarray) -> np.ndarray:
    """Return (nv,) the torques of zero acceleration, less what wrenches on links give."""
    out = np.zeros(len(tree.v))
    for b, inertia in enumerate(tree.inertias()):
        w = tree.work.V[b, :3]
        spin = inertia[:, :3] @ w
        out += J[b].T @ (inertia @ tree.work.A[b] + np.r_[np.cross(w, spin[:3]), np.cross(w, spin[3:])]
                         - tree.work.wrench[b])  # fmt: skip
    return out


TREES = {
    "every kind": (EVERY_KIND, (2, 4, 8)),
    "no rotors": (EVERY_KIND, ()),
    "balls alone": (((0, SPHERICAL), (1, SPHERICAL), (1, FREE), (3, SPHERICAL), (3, SPHERICAL), (5, PLANAR)), ()),
    "rotors about balls": (((0, SPHERICAL), (1, SPHERICAL), (2, TRANSLATIONAL), (2, SPHERICAL)), (1, 2, 3, 4)),
}


@pytest.mark.parametrize("name", TREES)
def test_elimination_solves_for_accelerations(name: str) -> None:
    tree = Tree(len(name), *TREES[name])
    tree.work.A[0, 3:] = 0.4, -0.7, 0.2
    M, J = tree.mass_matrix(tree.q), tree.jacobians(tree.q)
    tree.look(tree.q, tree.v)
    tree.work.wrench = tree.rng.normal(size=tree.work.wrench.shape)
    expected = bias(tree, J)
    for name in ("P", "F", "B"):
        tree.work[name][1:] = 3.0
    tree.freedom_work.g, tree.freedom_work.root = 5.0, 6.0
    assert plain(articulated.articulate)(*tree.tree) == -1
    tau = tree.rng.normal(size=len(M))
    tree.freedom_work.y = tau
    plain(forces.link_forces)(tree.work)
    plain(articulated.inward)(*tree.tree)
    vdot = np.linalg.solve(M, tau - expected)
    y = np.array(tree.freedom_work.y)
    assert y @ y == pytest.approx((tau - expected) @ vdot, rel=1e-10)
    plain(articulated.outward)(*tree.tree)
    np.testing.assert_allclose(tree.freedom_work.vdot, vdot, atol=1e-11 * np.abs(vdot).max())
    np.testing.assert_allclose(tree.work.B, J @ vdot, atol=1e-11 * np.abs(vdot).max())


@pytest.mark.parametrize("name", TREES)
def test_a_wrench_that_climbs_gives_what_the_pass_inward_gives(name: str) -> None:
    tree = Tree(len(name), *TREES[name])
    M, J = tree.mass_matrix(tree.q), tree.jacobians(tree.q)
    tree.look(tree.q, tree.v)
    assert plain(articulated.articulate)(*tree.tree) == -1
    b = len(tree.links) - 1 if name != "every kind" else 8
    K, path, step = tree.rng.normal(size=6), [], 3
    top = b
    while top:
        path += range(int(tree.links.v[top] + tree.links.nv[top]) - 1, int(tree.links.v[top]) - 1, -1)
        top = int(tree.links.parent[top])
    out = np.full(2 + step * len(path), 9.0)
    _, at = plain(articulated.climb)(*tree.tree, b, 0, tuple(K), 2, step, out)
    assert at == 2 + step * len(path)
    y = np.zeros(len(M))
    y[path] = out[2::step]
    assert np.all(out[:2] == 9.0) and np.all(out[3::step] == 9.0)
    tau = J[b].T @ K
    assert y @ y == pytest.approx(tau @ np.linalg.solve(M, tau), rel=1e-10)
    tree.freedom_work.y = y
    tree.work.B[0] = 0.0
    plain(articulated.outward)(*tree.tree)
    np.testing.assert_allclose(tree.freedom_work.vdot, np.linalg.solve(M, tau), atol=1e-10)


@pytest.mark.parametrize("kind", [ROTATIONAL, TRANSLATIONAL, UNIVERSAL, PLANAR, SPHERICAL, FREE, SCREW])
def test_the_freedom_without_inertia_is_told(kind: str) -> None:
    """The last one of a body without mass; of a rod about its own axis the one that turns about it."""
    tree = Tree(9, [(0, ROTATIONAL), (1, kind), (0, UNIVERSAL)], rotors=())
    tree.links.mass[2], tree.links.inertia_K[2] = 0.0, 0.0
    tree.look(tree.q, tree.v)
    bad = plain(articulated.articulate)(*tree.tree)
    first = int(tree.links.v[2])
    assert bad == (first + (3 if kind == FREE else 0) if kind in (SPHERICAL, FREE) else first + tree.links.nv[2] - 1)


@pytest.mark.parametrize(("still", "bad"), [((0.0, 0.0, 0.0), 0), ((2.0, 0.0, 0.0), 1), ((2.0, 3.0, 0.0), 2)])
def test_a_ball_tells_about_which_of_the_worlds_axes_it_has_no_inertia(still: tuple, bad: int) -> None:
    tree = Tree(10, [(0, ROTATIONAL), (0, SPHERICAL)], rotors=())
    tree.look(tree.q, tree.v)
    tree.work.I[2] = [1.0, 0, 0, 0, *still, 0, 0, 0]
    assert plain(articulated.articulate)(*tree.tree) == 1 + bad
