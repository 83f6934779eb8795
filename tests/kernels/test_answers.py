"""What is lent and given back, what drives put in, how far rates are off: passes over rows and freedoms."""

from __future__ import annotations

import numpy as np
import pytest

from sim.kernels import accelerations, dynamics, project
from sim.kernels.scratch import BODY_WORK, FREEDOM_WORK, LINK_WORK, ONE_WORK, ROW_WORK
from sim.kernels.tables import COLUMN, FREEDOM, ONE, ROW, table
from tests.kernels.plain import plain
from tests.kernels.trees import Tree

pytestmark = pytest.mark.fast

LENGTH = 1.7


def test_what_lent_inertia_takes_is_given_back() -> None:
    freedoms, work, one, told = table(FREEDOM, 5), table(FREEDOM_WORK, 5), table(ONE, 1), table(ONE_WORK, 1)
    freedoms.lent, freedoms.linear, one.length = [0.0, 0.5, 2.0, 0.1, 0.0], [1, 1, 0, 0, 0], LENGTH
    work.vdot, work.back = [9.0, -2.0, 3.0, -4.0, 8.0], [7.0, 0.25, 2.0, 0.6, 6.0]
    changes = [0.0, abs(-1.0 - 0.25), abs(6.0 - 2.0) / LENGTH, abs(-0.4 - 0.6) / LENGTH, 0.0]
    most = plain(accelerations.give_back)(freedoms, one, work, told)
    assert most == pytest.approx(max(changes), rel=1e-13)
    assert told.worst[0] == 2
    np.testing.assert_allclose(work.back, [7.0, -1.0, 6.0, -0.4, 6.0], rtol=1e-13)
    assert plain(accelerations.give_back)(freedoms, one, work, told) == pytest.approx(0.0, abs=1e-15)
    work.vdot = np.nan
    assert np.isnan(plain(accelerations.give_back)(freedoms, one, work, told))


@pytest.mark.parametrize("acts", [0, 1])
def test_the_size_of_all_forces_is_that_of_wrenches_torques_and_accelerations(acts: int) -> None:
    one, columns, links = table(ONE, 1), table(COLUMN, 3), table(LINK_WORK, 4)
    one.length, one.mobility, columns.linear = LENGTH, 0.4, [1, 0, 1]
    links.A, links.wrench = np.random.default_rng(1).normal(size=(2, 4, 6))
    torque = np.array([-0.7, 1.2, 0.4])
    found = plain(accelerations.forces_that_act)(one, columns, acts, links, torque)
    A, K = np.abs(links.A), np.abs(links.wrench)
    expected = K[:, 3:].sum() + K[:, :3].sum() / LENGTH
    expected += np.max(A[:, 3:].sum(axis=1) + LENGTH * A[:, :3].sum(axis=1)) / 0.4
    if acts:
        expected += 0.7 + 1.2 / LENGTH + 0.4
    assert found == pytest.approx(expected, rel=1e-13)


def test_drives_put_in_their_forces_times_the_wanted_rates() -> None:
    rows, work, one = table(ROW, 4), table(ROW_WORK, 4), table(ONE_WORK, 1)
    rows.motion, rows.scale = [0, -1, 2, 3], [0.5, 9.0, 2.0, 9.0]
    work.force, work.want[:, 1] = [3.0, 9.0, -4.0, 9.0], [0.7, 9.0, 0.6, 9.0]
    one.put_in, one.dissipated = 0.3, 0.7
    plain(dynamics.drive_power)(rows, np.array([1, 1, 1, 0]), work, one)
    np.testing.assert_allclose([one.put_in[0], one.dissipated[0]], [0.3 + 1.05 - 4.8, 0.7], rtol=1e-13)


def test_rates_of_drives_are_off_in_units_of_length_and_of_the_wanted_rate() -> None:
    rows, work = table(ROW, 5), table(ROW_WORK, 5)
    rows.motion, rows.scale, rows.code = [0, 1, -1, 2, 3], [1.0, 2.0, 1.0, 0.5, 1.0], [2, 5, 2, 3, 0]
    work.want[:, 1] = [3.0, -1.0, 0.0, 0.5, 0.0]
    off = np.array([4.0, -6.0, 99.0, 0.2, 0.1])
    size = np.array([LENGTH + 3.0, 1.0 + 1.0, 1.0, 1.0 + 0.5, LENGTH])
    for r in (0, 1, 3, 4):
        work.slip = 0.0
        work.slip[2], work.slip[r] = 99.0, off[r]
        expected = abs(off[r]) / rows.scale[r] / size[r]
        assert plain(project.rate_gap)(rows, LENGTH, work) == pytest.approx(expected, rel=1e-13)
    work.slip = off
    assert plain(project.rate_gap)(rows, LENGTH, work) == pytest.approx(1.5, rel=1e-13)


def test_a_combination_of_rows_is_brought_to_unit_length() -> None:
    work, vector = table(ROW_WORK, 3), np.array([2.0, -3.0, 6.0])
    assert plain(dynamics.turn_weak)(vector, work) == pytest.approx(7.0, rel=1e-14)
    np.testing.assert_allclose(work.weak, vector / 7.0, rtol=1e-14)
    np.testing.assert_array_equal(work.rhs, work.weak)


def test_frames_of_bodies_stand_on_their_links() -> None:
    """In the rows of the bodies, whose order is another one."""
    tree, bodies = Tree(1), table(BODY_WORK, 11)
    tree.links.body = [0, 5, 3, 1, 2, 4, 6, 10, 8, 9, 7]
    tree.look(tree.q, tree.v)
    bodies.p_WB[0] = 7.0
    plain(dynamics.body_poses)(tree.links, tree.work, bodies)
    for b in range(1, 11):
        n, R = tree.links.body[b], tree.work.R[b].reshape(3, 3)
        arm = R @ tree.links.p_KB[b]
        np.testing.assert_allclose(bodies.p_WB[n], tree.work.x[b] + arm, atol=1e-13)
        np.testing.assert_allclose(bodies.R_WB[n].reshape(3, 3), R @ tree.links.R_KB[b].reshape(3, 3), atol=1e-13)
        w, u = tree.work.V[b, :3], tree.work.V[b, 3:]
        np.testing.assert_allclose(bodies.V_WB[n], [*w, *(u + np.cross(w, arm))], atol=1e-13)
    assert np.all(bodies.p_WB[0] == 7.0)
