"""Frames, rows and residuals of what closes loops, against differences of the motion of two links."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.kernels.rows import constraints
from sim.kernels.shapes import CYLINDER, PLANE, SPHERE
from sim.kernels.tables import ANGLE_ROW, AXLE_ROW, EDGE_ROW, LOCKED, RATES_ONLY, UNIVERSAL_ROW
from tests.kernels.moving import Pair, derivative, vee
from tests.kernels.plain import plain
from tests.support.interpreted import times

pytestmark = pytest.mark.fast

CODES = range(19)
SEEDS = range(times(3, 2))


def one_row_each(seed: int) -> Pair:
    """Return a row of every code, each in a block of its own."""
    pair = Pair(seed, len(CODES), len(CODES))
    pair.rows.code[:], pair.rows.block[:] = CODES, np.roll(CODES, 1)
    return pair


@pytest.mark.parametrize("seed", SEEDS)
def test_frames_move_with_their_links(seed: int) -> None:
    pair = Pair(seed, 6, 0)
    pair.go(0.2)
    for n in range(6):
        p_F, F, p_M, M = pair.frames(n, 0.2)
        frame = pair.work[n]
        np.testing.assert_allclose(frame.p_WM, p_M, atol=1e-13)
        np.testing.assert_allclose(frame.R_WF.reshape(3, 3), F, atol=1e-13)
        np.testing.assert_allclose(frame.R_WM.reshape(3, 3), M, atol=1e-13)
        np.testing.assert_allclose(frame.p_FM, p_M - p_F, atol=1e-13)
        turning = [vee(derivative(lambda t, n=n, k=k: pair.frames(n, t)[k], 0.2) @ R.T) for k, R in ((1, F), (3, M))]
        np.testing.assert_allclose(frame.w_FM, turning[1] - turning[0], atol=1e-9)

        def seen_from_F(t: float, n: int = n) -> np.ndarray:
            p_F, F, p_M, _ = pair.frames(n, t)
            return np.asarray(F.T @ (p_M - p_F))

        np.testing.assert_allclose(F.T @ frame.u, derivative(seen_from_F, 0.2), atol=1e-9)


def rate_of(pair: Pair, n: int, code: int, t: float) -> float:
    """Return the rate along a row of block n, from the motion of its two frames."""
    _, F, p_M, M = pair.frames(n, t)

    def turn(t: float) -> np.ndarray:
        _, F, _, M = pair.frames(n, t)
        return np.asarray(F.T @ M)

    a, b = int(pair.blocks.a[n]), int(pair.blocks.b[n])
    gap = pair.material(b, p_M, t) - pair.material(a, p_M, t)
    if code < 3:
        return float(F[:, code] @ gap)
    if code < 6:
        return float(vee(derivative(turn, t) @ turn(t).T)[code - 3])
    if code == UNIVERSAL_ROW:
        return float(derivative(lambda t: pair.frames(n, t)[1][:, 0] @ pair.frames(n, t)[3][:, 2], t))
    if code < 10:
        return float(vee(turn(t).T @ derivative(turn, t))[code - 7])
    if code == AXLE_ROW:
        axle = M[:, 1] - (M[:, 1] @ F[:, 2]) * F[:, 2]
        return float(axle @ gap / np.linalg.norm(axle))
    if code == EDGE_ROW:
        across = np.cross(F[:, 2], M[:, 0])
        return float(across @ gap / np.linalg.norm(across))
    if code == ANGLE_ROW:
        return float(derivative(lambda t: Rotation.from_matrix(turn(t)).magnitude(), t))
    return float(derivative(lambda t: swing_and_twist(turn(t), (code - 1) % 3)[(code - 13) // 3], t))


def swing_and_twist(R: np.ndarray, k: int) -> tuple[float, float]:
    """Return how far axis k of M is tilted, and how far M is turned about it once the shortest way back is taken."""
    mine = R[:, k]
    across = np.cross(np.eye(3)[k], mine)
    swing = float(np.arctan2(np.linalg.norm(across), mine[k]))
    back = Rotation.from_rotvec(-swing * across / np.linalg.norm(across)).as_matrix() @ R
    i, j = (k + 1) % 3, (k + 2) % 3
    return swing, float(np.arctan2(back[j, i], back[i, i]))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_row_binds_the_rate_of_its_residual(seed: int) -> None:
    """And asks for the acceleration with which this rate does not change."""
    pair = one_row_each(seed)
    pair.build(0.1)
    found, asked = pair.row_work.slip.copy(), pair.row_work.gamma.copy()
    for r in range(len(CODES)):
        expected = pair.rows.scale[r] * rate_of(pair, int(pair.rows.block[r]), int(pair.rows.code[r]), 0.1)
        assert found[r] == pytest.approx(expected, abs=1e-9), r

    def rates(t: float) -> np.ndarray:
        pair.build(t)
        return np.array(pair.row_work.slip)

    np.testing.assert_allclose(asked, -derivative(rates, 0.1), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("pitch", [0.4, -0.03])
def test_a_slide_that_follows_a_turn_binds_both_their_rates(seed: int, pitch: float) -> None:
    """Less the pitch times the rate of turning about the same axis; its residual counts whole turns."""
    pair = Pair(seed, 3, 3)
    pair.rows.code, pair.rows.block, pair.rows.pitch, pair.rows.column = (0, 1, 2), (2, 0, 1), pitch, (3, 1, 0)
    pair.build(0.1)
    found, asked = pair.row_work.slip.copy(), pair.row_work.gamma.copy()
    for r in range(3):
        n, code = int(pair.rows.block[r]), int(pair.rows.code[r])
        expected = rate_of(pair, n, code, 0.1) - pitch * rate_of(pair, n, code + 3, 0.1)
        assert found[r] == pytest.approx(pair.rows.scale[r] * expected, abs=1e-9), r
    plain(constraints.slips)(pair.blocks, pair.rows, pair.work, pair.row_work)
    np.testing.assert_allclose(pair.row_work.slip, found, atol=1e-13)

    def rates(t: float) -> np.ndarray:
        pair.build(t)
        return np.array(pair.row_work.slip)

    np.testing.assert_allclose(asked, -derivative(rates, 0.1), rtol=1e-8, atol=1e-8)
    pair.build(0.1)
    coordinate = np.array([40.0, -3.0, 99.0, 0.5])
    plain(constraints.residuals)(pair.blocks, pair.rows, coordinate, pair.work, pair.row_work)
    for r in range(3):
        p_F, F, p_M, _ = pair.frames(int(pair.rows.block[r]), 0.1)
        along = F[:, pair.rows.code[r]] @ (p_M - p_F)
        expected = pair.rows.scale[r] * (along - pitch * coordinate[pair.rows.column[r]])
        assert pair.row_work.phi[r] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_unit_wrenches_do_the_work_of_their_rates(seed: int) -> None:
    pair = one_row_each(seed)
    pair.build(0.1)
    for r, code in enumerate(pair.rows.code):
        other = slice(0, 3) if code < 3 or code in (AXLE_ROW, EDGE_ROW) else slice(3, 6)
        assert np.all(pair.row_work.row[r, other] == 0.0)
    found = pair.row_work.slip.copy()
    pair.row_work.slip = 7.0
    plain(constraints.slips)(pair.blocks, pair.rows, pair.work, pair.row_work)
    np.testing.assert_allclose(pair.row_work.slip, found, atol=1e-13)


def test_driven_rows_want_a_rate_and_an_acceleration() -> None:
    pair = one_row_each(0)
    pair.build(0.1)
    slip, gamma = pair.row_work.slip.copy(), pair.row_work.gamma.copy()
    pair.rows.motion[::2] = 0
    pair.row_work.want = pair.rng.normal(size=pair.row_work.want.shape)
    pair.build(0.1)
    driven = np.arange(len(CODES)) % 2 == 0
    wanted = np.where(driven, pair.rows.scale, 0.0)[:, None] * pair.row_work.want
    np.testing.assert_allclose(pair.row_work.slip, slip - wanted[:, 1], atol=1e-13)
    np.testing.assert_allclose(pair.row_work.gamma, gamma + wanted[:, 2], atol=1e-13)
    kept = pair.row_work.slip.copy()
    plain(constraints.slips)(pair.blocks, pair.rows, pair.work, pair.row_work)
    np.testing.assert_allclose(pair.row_work.slip, kept, atol=1e-13)


def test_rows_that_are_not_kept_or_are_of_contacts_are_left_alone() -> None:
    pair = one_row_each(1)
    pair.build(0.1)
    whole = pair.row_work.copy()
    pair.keeps[:] = np.arange(len(CODES)) % 3 != 0
    pair.blocks.touch[pair.rows.block[4]], pair.blocks.touch[pair.rows.block[5]] = 0, 3
    for every in (0, 1):
        for name in ("row", "slip", "gamma"):
            pair.row_work[name] = 5.0
        pair.build(0.1, every)
        for r in range(len(CODES)):
            left = r in (4, 5) or (not every and r % 3 == 0)
            for name in ("row", "slip", "gamma"):
                expected = 5.0 if left else whole[name][r]
                np.testing.assert_array_equal(pair.row_work[name][r], expected, err_msg=f"{r} {name}")


@pytest.mark.parametrize("codes", [(5, 9), (2, 5), (0, 7)])
def test_a_gear_binds_the_sum_of_two_rates(codes: tuple[int, int]) -> None:
    pair = Pair(4, 5, 2)
    pair.rows.block[:], pair.rows.code[:] = [1, 3], codes[0]
    pair.rows.code[0] = 1  # no gear
    pair.blocks.mate[3], pair.blocks.code[4], pair.blocks.factor[4] = 4, codes[1], -1.7
    pair.row_work.mate = 9.0

    def rates(t: float) -> np.ndarray:
        pair.build(t)
        return np.array(pair.row_work.slip)

    found, s = rates(0.1), pair.rows.scale[1]
    own, other = rate_of(pair, 3, codes[0], 0.1), rate_of(pair, 4, codes[1], 0.1)
    assert found[1] == pytest.approx(s * (own - 1.7 * other), abs=1e-9)
    asked = pair.row_work.gamma.copy()
    np.testing.assert_allclose(asked, -derivative(rates, 0.1), atol=1e-8)
    pair.build(0.1)
    plain(constraints.slips)(pair.blocks, pair.rows, pair.work, pair.row_work)
    np.testing.assert_allclose(pair.row_work.slip, found, atol=1e-13)
    assert np.all(pair.row_work.mate[0] == 9.0)
    pair.blocks.factor[3], pair.blocks.of[3], pair.blocks.of[4], pair.blocks.offset[3] = 1.0, 2, 5, 0.4
    coordinate = pair.rng.normal(size=7)
    plain(constraints.residuals)(pair.blocks, pair.rows, coordinate, pair.work, pair.row_work)
    assert pair.row_work.phi[1] == pytest.approx(s * (coordinate[2] - 1.7 * coordinate[5] - 0.4), abs=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
def test_residuals_are_how_far_the_frames_are_apart(seed: int) -> None:
    pair = one_row_each(seed)
    pair.rows.locked = LOCKED
    pair.row_work.want[:, 0] = 0.35
    pair.go(0.1)
    coordinate = np.zeros(0)
    plain(constraints.residuals)(pair.blocks, pair.rows, coordinate, pair.work, pair.row_work)
    for r, code in enumerate(pair.rows.code):
        p_F, F, p_M, M = pair.frames(int(pair.rows.block[r]), 0.1)
        turn = Rotation.from_matrix(F.T @ M).as_rotvec()
        expected = {
            **dict(enumerate(F.T @ (p_M - p_F))), **dict(enumerate(turn, 3)), UNIVERSAL_ROW: F[:, 0] @ M[:, 2],
            ANGLE_ROW: np.linalg.norm(turn) - 0.35,
            **{13 + k: swing_and_twist(F.T @ M, k)[0] - 0.35 for k in range(3)},
            **{16 + k: swing_and_twist(F.T @ M, k)[1] - 0.35 for k in range(3)},
        }  # fmt: skip
        if code in expected:
            assert pair.row_work.phi[r] == pytest.approx(pair.rows.scale[r] * expected[code], abs=1e-7), code
    pair.rows.locked = 0
    plain(constraints.residuals)(pair.blocks, pair.rows, coordinate, pair.work, pair.row_work)
    for r in (3, 4):
        _, F, _, M = pair.frames(int(pair.rows.block[r]), 0.1)
        expected = F[:, r - 3] @ np.cross(F[:, 2], M[:, 2])
        assert pair.row_work.phi[r] == pytest.approx(pair.rows.scale[r] * expected, abs=1e-13)


def test_what_binds_rates_alone_has_no_residual_and_a_drive_that_of_its_coordinate() -> None:
    pair = Pair(3, 4, 4)
    pair.rows.block[:], pair.rows.code[:] = range(4), (0, 1, 2, 5)
    pair.rows.compliance[1], pair.rows.locked[2], pair.rows.motion[3], pair.rows.column[3] = 0.2, RATES_ONLY, 0, 2
    pair.row_work.want[3, 0], pair.row_work.phi = 0.8, 3.0
    pair.go(0.0)
    plain(constraints.residuals)(pair.blocks, pair.rows, np.array([5.0, 6.0, 0.3]), pair.work, pair.row_work)
    p_F, F, p_M, _ = pair.frames(0, 0.0)
    expected = [pair.rows.scale[0] * (F.T @ (p_M - p_F))[0], 0.0, 0.0, -0.5 * pair.rows.scale[3]]
    np.testing.assert_allclose(pair.row_work.phi, expected, atol=1e-13)


@pytest.mark.parametrize("angle", [1e-9, 1e-3, 0.2, 0.4, 0.46, 1.5, 3.0, np.pi - 1e-4])
def test_locked_rotations_are_measured_by_the_rotation_vector(angle: float) -> None:
    """By a series where the angle is small."""
    pair = Pair(5, 1, 3)
    pair.rows.code[:], pair.rows.locked = range(3, 6), LOCKED
    way = np.array([0.36, -0.48, 0.8])
    pair.blocks.a[0], pair.blocks.b[0] = 0, 0
    F = pair.blocks.R_aF[0].reshape(3, 3)
    pair.blocks.R_bM[0] = (F @ Rotation.from_rotvec(angle * way).as_matrix()).ravel()
    pair.go(0.0)
    plain(constraints.residuals)(pair.blocks, pair.rows, np.zeros(0), pair.work, pair.row_work)
    np.testing.assert_allclose(pair.row_work.phi / pair.rows.scale, angle * way, rtol=2e-7, atol=1e-13)


def test_half_a_turn_and_frames_beyond_roundoff_have_finite_residuals() -> None:
    pair = Pair(6, 2, 2)
    pair.blocks.a, pair.blocks.b = 0, 0
    pair.rows.block[:], pair.rows.code, pair.rows.locked = range(2), 5, LOCKED
    for n, R in enumerate((np.diag([-1.0, -1.0, 1.0]), np.eye(3) * (1 + 1e-14))):
        pair.blocks.R_aF[n], pair.blocks.R_bM[n] = np.eye(3).ravel(), (R * (1 + 1e-14)).ravel()
    pair.go(0.0)
    plain(constraints.residuals)(pair.blocks, pair.rows, np.zeros(0), pair.work, pair.row_work)
    np.testing.assert_allclose(pair.row_work.phi, 0.0, atol=1e-8)


ROLLERS = {"disc": (0.8, 0.0, False), "torus": (0.7, 0.15, False), "sphere": (0.0, 0.5, False),
           "ellipsoid": (0.0, 0.0, True)}  # fmt: skip
GROUNDS = {"plane": (PLANE, 0.0), "cylinder": (CYLINDER, 1.3), "trough": (CYLINDER, -2.6), "sphere": (SPHERE, 0.9),
           "bowl": (SPHERE, -3.1)}  # fmt: skip


def rolling(seed: int, roller: str, ground: str) -> Pair:
    """Return three rows in a block that rolls, the second of two."""
    pair = Pair(seed, 2, 3)
    pair.rows.block, pair.rows.code[:] = 1, range(3)
    pair.blocks.a[1], pair.blocks.b[1], pair.blocks.rolls[1] = 3, 1, 1
    pair.blocks.ring[1], pair.blocks.tube[1], egg = ROLLERS[roller]
    pair.blocks.radii[1] = (0.5, 0.3, 0.8) if egg else 0.0
    pair.blocks.ground[1], pair.blocks.bend[1] = GROUNDS[ground]
    return pair


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("roller", ROLLERS)
def test_what_rolls_touches_with_its_lowest_point(roller: str, ground: str) -> None:
    """M is on its surface where that faces the ground, F on the ground beneath, and rows bind the material there."""
    pair = rolling(len(roller + ground), roller, ground)
    pair.go(0.1)
    origin, drawn, C, M = pair.frames(1, 0.1)
    frame, (kind, bend) = pair.work[1], GROUNDS[ground]
    p, F = frame.p_WM, frame.R_WF.reshape(3, 3)
    np.testing.assert_allclose(F.T @ F, np.eye(3), atol=1e-13)
    assert np.linalg.det(F) > 0.5
    z, foot = F[:, 2], p - frame.p_FM
    if kind == PLANE:
        np.testing.assert_allclose(F, drawn, atol=1e-13)
        np.testing.assert_allclose(foot, origin, atol=1e-13)
    elif kind == CYLINDER:
        np.testing.assert_allclose(F[:, 1], drawn[:, 1], atol=1e-13)
        out = C - origin - ((C - origin) @ drawn[:, 1]) * drawn[:, 1]
        np.testing.assert_allclose(z * np.sign(bend) * np.linalg.norm(out), out, atol=1e-13)
        np.testing.assert_allclose(foot, origin + bend * z, atol=1e-13)  # or anywhere along y_F: rows look along z_F
    else:
        np.testing.assert_allclose(z * np.sign(bend) * np.linalg.norm(C - origin), C - origin, atol=1e-13)
        np.testing.assert_allclose(foot, origin + bend * z, atol=1e-13)
        shortest, _ = Rotation.align_vectors(z[None], drawn[:, 2][None])
        np.testing.assert_allclose(F, shortest.as_matrix() @ drawn, atol=1e-7)
    arm, (ring, tube, egg) = M.T @ (p - C), ROLLERS[roller]
    if egg:
        radii = pair.blocks.radii[1]
        assert arm**2 @ radii**-2.0 == pytest.approx(1.0, abs=1e-13)
        normal = M @ (arm / radii**2)
        np.testing.assert_allclose(normal / np.linalg.norm(normal), -z, atol=1e-12)
    else:
        middle = M.T @ (p + tube * z - C)  # of the tube
        assert middle[1] == pytest.approx(0.0, abs=1e-13)
        assert np.linalg.norm(middle) == pytest.approx(ring, abs=1e-13)
        if ring:
            across = np.cross(M[:, 1], M @ middle)
            assert across @ z == pytest.approx(0.0, abs=1e-13)
            assert (M @ middle) @ z < 0.0
    gap = pair.material(1, p, 0.1) - pair.material(3, p, 0.1)
    np.testing.assert_allclose(frame.u, gap, atol=1e-12)


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("roller", ROLLERS)
def test_rows_of_what_rolls_ask_that_their_rates_stay(roller: str, ground: str) -> None:
    pair = rolling(len(roller + ground), roller, ground)
    pair.build(0.1)
    asked, F = pair.row_work.gamma.copy(), pair.work.R_WF[1].reshape(3, 3).copy()
    own = pair.work.w_aF[1].copy()

    def rates(t: float) -> np.ndarray:
        pair.build(t)
        return np.array(pair.row_work.slip)

    np.testing.assert_allclose(asked, -derivative(rates, 0.1), rtol=1e-7, atol=1e-7)

    def axes(t: float) -> np.ndarray:
        pair.go(t)
        return np.array(pair.work.R_WF[1].reshape(3, 3))

    turning = vee(derivative(axes, 0.1) @ F.T) - pair.moving[2].velocity(0.1)[:3]
    np.testing.assert_allclose(own, turning, atol=1e-8)


@pytest.mark.parametrize("gear", [False, True])
def test_the_worst_contradiction_is_told_beside_the_largest_term(gear: bool) -> None:
    """Of hard rows: what links do along them, less what is asked; beside all that they could do whatever the way."""
    for seed in range(4):
        pair = one_row_each(seed)
        if gear:
            pair.blocks.mate[pair.rows.block[3]] = 4
        pair.build(0.1)
        size = 10.0 ** -(2 * seed)
        pair.links.B = size * pair.rng.normal(size=pair.links.B.shape)
        pair.links.B[0] = 0.0
        pair.links.A *= size
        pair.row_work.mate = pair.rng.normal(size=pair.row_work.mate.shape)
        pair.row_work.gamma *= size
        pair.rows.compliance[[2, 9]] = 0.5
        pair.row_work.gamma[[2, 9]] = 1e3
        off, largest = np.zeros(len(CODES)), 1e-3

        def answered(n: int, K: np.ndarray, pair: Pair = pair) -> tuple[float, float]:
            pulls, sizes = [], []
            for link in (int(pair.blocks.b[n]), int(pair.blocks.a[n])):
                arm = pair.work.p_WM[n] - pair.links.x[link]
                about = np.r_[K[:3] + np.cross(arm, K[3:]), K[3:]]
                pulls.append(about @ pair.links.B[link])
                moment, force = np.linalg.norm(about[:3]), np.linalg.norm(about[3:])
                for a in (pair.links.A[link], pair.links.B[link]):
                    sizes.append(moment * np.linalg.norm(a[:3]) + force * np.linalg.norm(a[3:]))
            return float(pulls[0] - pulls[1]), max(sizes)

        for r in np.flatnonzero(pair.rows.compliance == 0.0):
            n = int(pair.rows.block[r])
            pull, most = answered(n, pair.row_work.row[r])
            if pair.blocks.mate[n] >= 0:
                more, other = answered(4, pair.row_work.mate[r])
                pull, most = pull + more, max(most, other)
            off[r], largest = abs(pull - pair.row_work.gamma[r]), max(largest, most, abs(pair.row_work.gamma[r]))
        worst, row = plain(constraints.mismatch)(pair.blocks, pair.rows, pair.links, pair.work, pair.row_work)
        assert worst == pytest.approx(off.max() / largest, rel=1e-11)
        assert row == np.argmax(off)
