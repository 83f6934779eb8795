"""What is told of an instant, from the tables that hold it: energies, wrenches of joints, which are sure, guards."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.kernels import forces, observe
from sim.kernels.scratch import BLOCK_WORK, BODY_WORK, FORCE_WORK, JOINT_WORK, ONE_WORK, ROW_WORK, TOUCH_WORK
from sim.kernels.tables import ANGLE_ROW, BLOCK, COLUMN, FORCE, POINT, ROW, SPRING, STOP, TORSION, table
from sim.kernels.watched import (
    ARMED,
    DISARMED,
    GUARD,
    GUARD_FRICTION,
    GUARD_GAP,
    GUARD_HOLD,
    GUARD_PROGRAM,
    GUARD_STOP,
    WAITING_TO_LEAVE,
)
from tests.kernels.plain import plain
from tests.kernels.trees import Tree
from tests.support.rotations import random_matrix

pytestmark = pytest.mark.fast


def test_energies_are_those_of_links_rotors_springs_and_stops() -> None:
    tree, one = Tree(1), table(ONE_WORK, 1)
    tree.look(tree.q, tree.v)
    n = 9
    columns, stops, f, points = table(COLUMN, n), table(STOP, 3), table(FORCE, 2), table(POINT, 2)
    coordinate, rate = tree.rng.normal(size=(2, n))
    columns.armature, columns.rest = tree.rng.uniform(0.1, 1, (2, n))
    columns.stiffness[::2] = 2.5
    stops.column, stops.side, stops.stiffness = [1, 2, 3], [1.0, -1.0, -1.0], [7.0, 8.0, 9.0]
    stops.bound = coordinate[1:4] + np.array([-0.3, -0.4, 0.2])  # the second is free
    f.kind, f.a, f.b, f.column, f.turns = [SPRING, TORSION], [0, 0], [1, 0], [0, 4], 1
    f.stiffness, f.rest = [3.0, 5.0], [0.5, 0.25]
    points.body, points.p_B = [2, 0], tree.rng.normal(size=(2, 3))
    gravity = np.array([[0.4, -0.7, 0.9]])
    plain(observe.energies)(
        tree.links, columns, stops, f, points, gravity, coordinate, rate, tree.work, one
    )  # fmt: skip
    V = tree.work.V
    kinetic = 0.5 * np.einsum("bi,bij,bj->", V, tree.inertias(), V) + 0.5 * columns.armature @ rate**2
    R = tree.work.R.reshape(-1, 3, 3)
    com = tree.work.x + np.einsum("bij,bj->bi", R, tree.links.com_K)
    far = tree.work.x[2] + R[2] @ points.p_B[0] - tree.work.x[0] - R[0] @ points.p_B[1]
    potential = -(tree.links.mass[1:, None] * com[1:]).sum(axis=0) @ gravity[0]
    potential += 0.5 * columns.stiffness @ (coordinate - columns.rest) ** 2 + 3.5 * 0.3**2 + 4.5 * 0.2**2
    potential += 1.5 * (np.linalg.norm(far) - 0.5) ** 2 + 2.5 * (coordinate[4] - 0.25) ** 2
    np.testing.assert_allclose([one.kinetic[0], one.potential[0]], [kinetic, potential], rtol=1e-12)


def test_centres_of_mass_and_of_what_has_none_its_joint() -> None:
    tree, bodies = Tree(2), table(BODY_WORK, 11)
    tree.links.body, tree.links.mass[3] = [0, 5, 3, 1, 2, 4, 6, 10, 8, 9, 7], 0.0
    tree.look(tree.q, tree.v)
    plain(observe.centres)(tree.links, tree.work, bodies)
    for b in range(1, 11):
        arm = tree.work.R[b].reshape(3, 3) @ tree.links.com_K[b] if b != 3 else 0.0
        np.testing.assert_allclose(bodies.com[tree.links.body[b]], tree.work.x[b] + arm, atol=1e-13)


class Loops:
    """A tree with blocks between its links whose rows push at random; no rows of two joints, or some of a gear."""

    def __init__(self, seed: int, count: int = 6):
        self.tree = tree = Tree(seed)
        rng = self.rng = tree.rng
        tree.look(tree.q, tree.v)
        self.blocks, self.work = table(BLOCK, count), table(BLOCK_WORK, count)
        self.rows, self.row_work = table(ROW, 2 * count), table(ROW_WORK, 2 * count)
        self.blocks.a, self.blocks.b, self.blocks.fork = [4, 8, 0, 6, 10, 0], [8, 6, 3, 4, 9, 6], [1, 1, 0, 1, 9, 0]
        self.blocks.row, self.blocks.rows, self.blocks.touch, self.blocks.mate = 2 * np.arange(count), 2, -1, -1
        self.blocks.joint = 10 + np.arange(count)
        self.rows.block, self.rows.scale, self.row_work.acts = np.repeat(np.arange(count), 2), 1.0, 1
        self.work.p_WM, self.row_work.row = rng.normal(size=(count, 3)), rng.normal(size=(2 * count, 6))
        self.work.own, self.row_work.mate = rng.normal(size=(count, 6)), rng.normal(size=(2 * count, 6))
        for n in range(count):
            self.work.R_WF[n] = random_matrix(rng).ravel()
        self.row_work.force = rng.normal(size=2 * count)
        self.joints = table(JOINT_WORK, 10 + count)

    def wrench(self, n: int, force: np.ndarray) -> np.ndarray:
        """Return (6,) at M of what rows of block n push with."""
        rows = self.row_work.mate if self.blocks.second[n] else self.row_work.row
        r = int(self.blocks.row[n])
        return np.asarray(force[r : r + 2] @ rows[r : r + 2])

    def at(self, link: int, n: int, K: np.ndarray) -> np.ndarray:
        """Return a wrench at M of block n about a link's origin."""
        return np.r_[K[:3] + np.cross(self.work.p_WM[n] - self.tree.work.x[link], K[3:]), K[3:]]

    def on_links(self, force: np.ndarray) -> np.ndarray:
        """Return (links, 6) what rows do to links; motors of the tree push through their joints."""
        out = np.zeros((len(self.tree.links), 6))
        for n in range(len(self.blocks)):
            if not self.blocks.motor[n]:
                K = self.wrench(n, force)
                out[self.blocks.b[n]] += self.at(self.blocks.b[n], n, K)
                out[self.blocks.a[n]] -= self.at(self.blocks.a[n], n, K)
        return out

    def carried(self, F: np.ndarray) -> np.ndarray:
        """Return (links, 6) the sum over a link and all that hangs on it, about its origin."""
        out = F.copy()
        x = self.tree.work.x
        for b in range(len(F)):
            up = int(self.tree.links.parent[b])
            while b and up:
                out[up] += np.r_[F[b, :3] + np.cross(x[b] - x[up], F[b, 3:]), F[b, 3:]]
                up = int(self.tree.links.parent[up])
        return out


def test_row_forces_push_both_links_and_are_carried_to_the_root() -> None:
    loops = Loops(3)
    loops.blocks.motor[2], loops.blocks.second[4] = 1, 1
    begun = loops.rng.normal(size=(11, 6))
    wrench = begun.copy()
    plain(observe.row_wrenches)(
        loops.blocks, loops.row_work.force, loops.tree.work, loops.work, loops.row_work, wrench
    )  # fmt: skip
    np.testing.assert_allclose(wrench - begun, loops.on_links(loops.row_work.force), atol=1e-12)
    loops.tree.work.F = wrench
    plain(observe.carry)(loops.tree.links, loops.tree.work)
    np.testing.assert_allclose(loops.tree.work.F[1:], loops.carried(wrench)[1:], atol=1e-12)


@pytest.mark.parametrize("special", [False, True])
def test_joints_carry_what_moves_their_side_of_the_tree(special: bool) -> None:
    """special: a motor, a contact, a gear between two joints, and one between freedoms of the same."""
    loops = Loops(4)
    blocks, work, tree = loops.blocks, loops.tree.work, loops.tree
    if special:
        blocks.motor[0], blocks.touch[1], blocks.second[3], blocks.second[5] = 1, 0, 1, 2
        blocks.joint[5] = blocks.joint[4]
    tree.work.B, tree.work.wrench = loops.rng.normal(size=(2, 11, 6))
    A, begun = work.A.copy(), work.wrench.copy()
    loops.joints.force, loops.joints.p_WJ = 7.0, 8.0
    work.A += work.B
    work.wrench += loops.on_links(loops.row_work.force)
    plain(forces.link_forces)(work)
    expected = loops.carried(np.where(np.arange(11)[:, None] > 0, work.F, 0.0))
    work.A, work.wrench, work.F = A, begun, 3.0
    plain(observe.joint_forces)(tree.links, blocks, work, loops.work, loops.row_work, loops.joints)
    np.testing.assert_allclose(loops.joints.force[:10], expected[1:], atol=1e-11)
    np.testing.assert_allclose(loops.joints.p_WJ[:10], work.x[1:], atol=0)
    for n in range(6):
        K = loops.work.own[n] + loops.wrench(n, loops.row_work.force)
        if special and n in (0, 1, 3):
            assert np.all(loops.joints.force[10 + n] == 7.0) and np.all(loops.joints.p_WJ[10 + n] == 8.0)
        elif special and n == 4:
            K += loops.work.own[5] + loops.wrench(5, loops.row_work.force)
            np.testing.assert_allclose(loops.joints.force[14], K, atol=1e-12)
        elif not special or n != 5:
            np.testing.assert_allclose(loops.joints.force[10 + n], K, atol=1e-12)
            np.testing.assert_array_equal(loops.joints.p_WJ[10 + n], loops.work.p_WM[n])


def sure_of(loops: Loops, N: np.ndarray) -> np.ndarray:
    """Return (joints, 12) 1 where no row force that does nothing has a part, joint by joint."""
    tree, size = loops.tree, max(1.0, *loops.rows.scale[loops.rows.compliance == 0.0])
    out = np.ones((len(loops.joints), 12))

    def mark(joint: int, F: np.ndarray, K: np.ndarray) -> None:
        K = np.r_[K[:3] / size, K[3:]]
        out[joint, np.abs(np.r_[K, F.T @ K[:3], F.T @ K[3:]]) > 1e-7] = 0.0

    def axes(b: int) -> np.ndarray:
        up = int(tree.links.parent[b])
        return np.asarray(tree.work.R[up].reshape(3, 3) @ tree.links.R_PF[b].reshape(3, 3))

    def at_loop(n: int, K: np.ndarray) -> None:
        if not loops.blocks.motor[n] and loops.blocks.touch[n] < 0 and loops.blocks.second[n] != 1:
            mark(int(loops.blocks.joint[n]), loops.work.R_WF[n].reshape(3, 3), K)

    for force in N:
        carried = loops.carried(loops.on_links(force))
        for b in range(1, len(tree.links)):
            mark(int(tree.links.joint[b]), axes(b), carried[b])
        for n in range(len(loops.blocks)):
            at_loop(n, loops.wrench(n, force))
    for n in range(len(loops.blocks)):
        rows = loops.row_work.mate if loops.blocks.second[n] else loops.row_work.row
        for r in range(loops.blocks.row[n], loops.blocks.row[n] + 2):
            if loops.row_work.acts[r] < 0:
                at_loop(n, rows[r])
                for end in (int(loops.blocks.a[n]), int(loops.blocks.b[n])):
                    while end != loops.blocks.fork[n]:
                        mark(int(tree.links.joint[end]), axes(end), loops.at(end, n, rows[r]))
                        end = int(tree.links.parent[end])
    return out


@pytest.mark.parametrize("row", range(12))
def test_a_row_force_that_does_nothing_leaves_its_joints_unsure(row: int) -> None:
    """One row at a time, along or about one axis of the world or of F: only some of the components are in question."""
    loops = Loops(5)
    blocks, n, k = loops.blocks, row // 2, (row * 5) % 12
    blocks.second[3], blocks.motor[2], blocks.touch[5] = row % 3, int(row == 4), 0 if row == 10 else -1
    loops.rows.scale[(row + 1) % 12], loops.rows.scale[3], loops.rows.compliance[3] = 2.5, 9.0, 1.0
    K = np.zeros(6)
    K[k % 6] = 1.0
    if k >= 6:
        K = np.kron(np.eye(2), loops.work.R_WF[n].reshape(3, 3)) @ K
    loops.row_work.row[row] = loops.row_work.mate[row] = K
    loops.work.p_WM[n] = loops.tree.work.x[int(blocks.b[n])]  # no arm at its own link
    for lone in (False, True):
        N = np.zeros((3, 12))
        N[0, row] = 0.0 if lone else -1.0
        loops.row_work.acts = 1
        loops.row_work.acts[row] = -1 if lone else 0
        loops.joints.components, loops.joints.determinate = 0.5, 0.5
        plain(observe.determinacy)(
            loops.tree.links, blocks, loops.rows, N, 1, loops.tree.work, loops.work, loops.row_work, loops.joints
        )  # fmt: skip
        expected = sure_of(loops, N[:1])
        np.testing.assert_array_equal(loops.joints.components, expected)
        np.testing.assert_array_equal(loops.joints.determinate, expected[:, :6].min(axis=1))


def test_axes_of_a_trees_joint_are_carried_by_the_parent() -> None:
    loops = Loops(7)
    links, R = loops.tree.links, loops.tree.work.R
    for b in range(1, 11):
        expected = R[int(links.parent[b])].reshape(3, 3) @ links.R_PF[b].reshape(3, 3)
        found = plain(observe.axes_of)(links, loops.tree.work, b)
        np.testing.assert_allclose(np.reshape(found, (3, 3)), expected, atol=1e-14)


@pytest.mark.parametrize(("scales", "size"), [((0.2, 0.9), 1.0), ((2.5, 0.9), 2.5), ((0.3, 4.0), 4.0)])
def test_a_moment_is_small_beside_the_largest_scale_of_a_hard_row(scales: tuple, size: float) -> None:
    """Of a loop's joint: what is along one axis of F, and hardly along any of the world's, leaves the joint sure."""
    for share in (0.99, 1.01):
        loops = Loops(8)
        loops.rows.scale, loops.rows.scale[7:9], loops.rows.scale[11] = 0.1, scales, 9.0
        loops.rows.compliance[11], loops.row_work.row, loops.blocks.motor[:5] = 1.0, 0.0, 1
        axis = np.ones(3) / np.sqrt(3.0)
        F, _ = Rotation.align_vectors([axis], [[0.0, 1.0, 0.0]])
        loops.work.R_WF[5] = F.as_matrix().ravel()
        loops.row_work.row[10, :3] = share * 1e-7 * size * axis
        N = np.zeros((1, 12))
        N[0, 10] = 1.0
        plain(observe.determinacy)(
            loops.tree.links, loops.blocks, loops.rows, N, 1, loops.tree.work, loops.work, loops.row_work, loops.joints
        )  # fmt: skip
        expected = np.ones(12)
        expected[7] = float(share < 1.0)
        np.testing.assert_array_equal(loops.joints.components[15], expected)
        assert loops.joints.determinate[15] == 1.0


def test_components_that_are_roundoff_are_sure() -> None:
    """Of moments beside the largest scale of a hard row, of forces beside 1; in both kinds of axes."""
    R = Rotation.from_euler("z", 30, degrees=True).as_matrix()
    for size in (1.0, 4.0):
        for k in range(6):
            limit = 1e-7 * (size if k < 3 else 1.0)
            for share, marked in ((1.01, True), (0.99, False)):
                K = np.zeros(6)
                K[k] = -share * limit
                sure = np.ones((2, 12))
                plain(observe.mark)(1, tuple(R.ravel()), tuple(K), size, sure)
                local = np.r_[R.T @ K[:3] / size, R.T @ K[3:]]
                expected = np.ones(12)
                expected[k] = 0.0 if marked else 1.0
                expected[6:][np.abs(local) > 1e-7] = 0.0
                np.testing.assert_array_equal(sure, [np.ones(12), expected])


def test_drives_and_holds_give_torques_to_their_columns() -> None:
    """What a stop may have given it has; else friction; a drive is neither."""
    rows, work = table(ROW, 9), table(ROW_WORK, 9)
    rows.motion = [-1, 0, 1, 2, 3, 4, 5, 6, 7]
    rows.column, rows.code, rows.scale = [0, 1, 2, 3, 4, 5, 6, 7, 8], 2, 0.5
    rows.code[8] = ANGLE_ROW
    work.force = [9.0, 3.0, -4.0, 5.0, -6.0, 7.0, -8.0, 2.0, 1.5]
    no = math.inf
    ends = [(0, 0), (0, 0), (-no, 0), (-no, 0), (0, no), (0, no), (-5, 5), (-no, no), (0, no)]
    rows.low, rows.high = (np.array(e, float) for e in zip(*ends, strict=True))
    coordinate = np.linspace(2.0, 3.0, 11)
    coordinate[8:] = 0.48, 0.6, -0.64
    stopping, friction, torque = np.full(11, 0.1), np.full(11, 0.2), np.full(11, 0.3)
    plain(observe.drive_torques)(rows, coordinate, work, stopping, friction, torque)
    given = 0.5 * np.array([0, 3.0, -4, 5, -6, 7, -8, 2, 0, 0, 0])
    turn = 0.75 * coordinate
    turn[:8] = 0.0
    np.testing.assert_allclose(torque, 0.3 + given + turn, rtol=1e-13)
    stopped = np.isin(np.arange(11), [2, 5, 7])
    np.testing.assert_allclose(stopping, 0.1 + np.where(stopped, given, 0.0) + turn, rtol=1e-13)
    rubbed = np.isin(np.arange(11), [3, 4, 6])
    np.testing.assert_allclose(friction, 0.2 + np.where(rubbed, given, 0.0), rtol=1e-13)


def test_a_row_holds_every_number_in_its_place() -> None:
    rng = np.random.default_rng(6)
    bodies, joints, f, points, one = (
        table(BODY_WORK, 3), table(JOINT_WORK, 2), table(FORCE_WORK, 2), table(TOUCH_WORK, 2), table(ONE_WORK, 1),
    )  # fmt: skip
    for part in (bodies, joints, f, points, one):
        for name in part.dtype.names:
            if part[name].dtype == float:
                part[name] = rng.normal(size=part[name].shape)
    turns = Rotation.from_rotvec(rng.normal(size=(3, 3)))
    bodies.R_WB = turns.as_matrix().reshape(3, 9)
    columns = rng.normal(size=(5, 3))
    y = rng.normal(size=6)
    layout = np.array([1, 33, 48, 92, 100, 116, 120])
    row = np.full(139, 99.0)
    coordinate, rate, torque, stopping, friction = columns
    work = SimpleNamespace(
        bodies=bodies, joints=joints, forces=f, points=points, one=one, coordinate=coordinate, rate=rate, torque=torque,
        stopping=stopping, friction=friction,
    )  # fmt: skip
    plain(observe.write_sample)(work, layout, 0.4, y, row)
    expected = [0.4]
    for b in (1, 2):
        q = np.roll(turns[b].as_quat(), 1)
        q *= np.sign(q @ row[1 + 16 * (b - 1) + 3 :][:4])
        expected += [*bodies.p_WB[b], *q, *bodies.V_WB[b, 3:], *bodies.V_WB[b, :3], *bodies.com[b]]
    expected += [*columns.ravel()]
    for j in range(2):
        expected += [*joints.force[j], *joints.p_WJ[j], joints.determinate[j], *joints.components[j]]
    expected += [one.kinetic[0], one.potential[0], y[5], y[4]]
    expected += [one.position_residual[0], one.velocity_residual[0], one.singular_value[0], one.told_rank[0]]
    for k in range(2):
        expected += [f.length[k], f.tension[k], *f.wrench[k]]
    expected += [*y[:4]]
    for k in range(2):
        expected += [*points.p[k], *points.n[k], *points.force[k]]
    expected += [99.0] * (len(row) - len(expected))
    np.testing.assert_allclose(row, expected, rtol=1e-14, atol=1e-14)


def watched() -> tuple:
    """Guards of every kind, the first and the last asleep or waiting, with what they look at."""
    guards, stops, columns, rows, row_work = table(GUARD, 8), table(STOP, 2), table(COLUMN, 3), table(ROW, 3), table(
        ROW_WORK, 3
    )  # fmt: skip
    guards.kind = [
        GUARD_PROGRAM,
        GUARD_PROGRAM,
        GUARD_STOP,
        GUARD_FRICTION,
        GUARD_HOLD,
        GUARD_HOLD,
        GUARD_GAP,
        GUARD_STOP,
    ]
    guards.owner, guards.direction = [0, 1, 1, 2, 0, 1, 0, 0], [1, -1, -1, 1, -1, 1, 1, 1]
    guards.allowed = [9.0, 9.0, 0.1, 0.2, 0.3, 0.4, 9.0, 0.05]
    guards.armed = [DISARMED, ARMED, ARMED, ARMED, ARMED, ARMED, ARMED, WAITING_TO_LEAVE]
    stops.column, stops.side, stops.bound = [0, 1], [1.0, -1.0], [0.5, 0.6]
    rows.column, rows.scale, row_work.force = [0, 1, 2], [0.5, 2.0, 2.0], [3.0, -0.6, 0.8]
    columns.both[1] = 1
    tables = SimpleNamespace(
        stops=stops, columns=columns, rows=rows, programs=np.array([[0, 1], [1, 2]]), codes=np.array([[1, 0], [1, 0]]),
        constants=np.zeros(1), points=None,
    )  # fmt: skip
    work = SimpleNamespace(
        coordinate=np.array([0.7, 0.8, 0.9]), rate=np.array([1.0, 2.0, -3.0]), rows=row_work, stack=np.zeros(4),
        torque=None, links=None, bodies=None, joints=None, rules=None, one=None,
    )  # fmt: skip
    control = SimpleNamespace(friction=np.array([0.1, 0.2, -0.5]))
    expected = [-1.0, -0.25, 0.2 - 0.1, 3.0 - 0.2, -1.5 - 0.3, 2.0 - 0.4, math.nan, -1.0]
    return guards, tables, work, control, expected


def test_guards_are_positive_where_they_have_fired() -> None:
    guards, tables, work, control, expected = watched()
    values = np.full(8, 9.0)
    guards.value = 8.0
    plain(observe.guard_values)(tables, work, control, guards, 0.25, True, values)
    np.testing.assert_allclose(values, expected, rtol=1e-13)
    np.testing.assert_allclose(guards.value, [*expected[:-1], 0.2 - 0.05], rtol=1e-13)


def test_a_glance_looks_at_what_is_not_known_yet() -> None:
    guards, tables, work, control, expected = watched()
    values = np.full(8, math.nan)
    values[[1, 4, 7]] = 5.0
    guards.value = 8.0
    plain(observe.guard_values)(tables, work, control, guards, 0.25, False, values)
    known = np.array(expected)
    known[[1, 4, 7]] = 5.0
    np.testing.assert_allclose(values, known, rtol=1e-13)
    assert guards.value[[1, 4, 7]].tolist() == [8.0] * 3


def test_wrenches_that_are_anything_at_all() -> None:
    for k in np.eye(6):
        assert plain(observe.any_of)(tuple(-1e-200 * k))
    assert not plain(observe.any_of)((0.0,) * 6)
