"""The classical step where rows bind rates: in the axes of the child, and with each stage brought to the rows."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.kernels.integrators import classical
from sim.kernels.status import Status
from sim.kernels.stepper import REPLY
from sim.kernels.system import CLASSICAL
from sim.kernels.tables import LINK, table
from tests.kernels.kinds import FREE, PLANAR, ROTATIONAL, UNIVERSAL, lay_out
from tests.kernels.plain import plain

pytestmark = pytest.mark.fast

KINDS, NQ, NV = (ROTATIONAL, PLANAR, FREE, PLANAR, ROTATIONAL), (1, 3, 7, 3, 1), (1, 3, 6, 3, 1)
Q, V = sum(NQ), sum(NV)


def links(kinds: tuple[str, ...] = KINDS) -> tuple[np.recarray, np.recarray]:
    """Return links of these joints, and their freedoms."""
    out = table(LINK, len(kinds) + 1)
    return out, lay_out(out, kinds)


def random_q(seed: int) -> np.ndarray:
    q = np.random.default_rng(seed).normal(size=Q)
    q[7:11] = Rotation.random(random_state=seed).as_quat(scalar_first=True)
    return q


def turns(q: np.ndarray) -> list[tuple[int, int, np.ndarray, list[int]]]:
    """Return of each such joint its first rate, how many are linear, the matrix of its turn, and what turns."""

    def about_z(angle: float) -> np.ndarray:
        return Rotation.from_rotvec([0.0, 0.0, angle]).as_matrix()

    ball = q[7:11] / np.linalg.norm(q[7:11])
    return [
        (1, 2, about_z(q[3]), [3]), (4, 3, Rotation.from_quat(ball, scalar_first=True).as_matrix(), [7, 8, 9]),
        (10, 2, about_z(q[13]), [12]),
    ]  # fmt: skip


def in_child(q: np.ndarray, v: np.ndarray, back: bool = False) -> np.ndarray:
    out = v.copy()
    for k, n, R, _ in turns(q):
        out[k : k + n] = (R if back else R.T)[:n, :n] @ v[k : k + n]
    return out


def slopes_in_child(q: np.ndarray, v: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """u' = R^T v' - w x u."""
    out, u = in_child(q, slope), in_child(q, v)
    for k, n, _, turning in turns(q):
        w = np.r_[np.zeros(3 - len(turning)), v[turning]]
        out[k : k + n] -= np.cross(w, np.r_[u[k : k + n], np.zeros(3 - n)])[:n]
    return out


@pytest.mark.parametrize("seed", range(3))
def test_linear_rates_are_taken_along_the_axes_of_the_child_and_back(seed: int) -> None:
    q, v = random_q(seed), np.random.default_rng(seed + 9).normal(size=V)
    found = v.copy()
    plain(classical.into_child)(*links(), q, found)
    np.testing.assert_allclose(found, in_child(q, v), rtol=1e-13, atol=1e-14)
    plain(classical.out_of_child)(*links(), q, found)
    np.testing.assert_allclose(found, v, rtol=1e-13, atol=1e-14)
    slope = np.random.default_rng(seed + 19).normal(size=V)
    expected = slopes_in_child(q, v, slope)
    plain(classical.slopes_into_child)(*links(), q, v, slope)
    np.testing.assert_allclose(slope, expected, rtol=1e-13, atol=1e-14)


def test_what_is_linear_and_what_turns() -> None:
    v, axes = np.arange(10.0) + 1.0, np.eye(3)
    free, planar = (links((UNIVERSAL, kind, ROTATIONAL)) for kind in (FREE, PLANAR))
    assert plain(classical.linear_part)(*free, v, 2) == (3.0, 4.0, 5.0)
    assert plain(classical.linear_part)(*planar, v, 2) == (3.0, 4.0, 0.0)
    assert plain(classical.angular_part)(*free, v, 2, axes) == (6.0, 7.0, 8.0)
    assert plain(classical.angular_part)(*planar, v, 2, axes) == (0.0, 0.0, 5.0)
    for kind, expected in ((free, [9.0, 8.0, 7.0]), (planar, [9.0, 8.0, 5.0])):
        out = v.copy()
        plain(classical.put_linear)(*kind, (9.0, 8.0, 7.0), 2, out)
        np.testing.assert_array_equal(out, [1.0, 2.0, *expected, 6.0, 7.0, 8.0, 9.0, 10.0])


def rate_of(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Some slope of (q, v, works) along the axes of F."""
    mix = np.cos(np.arange(V)[:, None] * 0.7 + np.arange(V)) / 3.0
    qdot = np.sin(t + q) * 0.3 + np.resize(v, Q) * 0.2
    qdot[7:11] = 0.0  # within stages quaternions lose their unit length, and what turns by them is no rotation
    return np.r_[qdot, mix @ v - 0.2 * np.resize(q, V) + np.cos(t), v[0] * t, v @ v]


def problem(near: int = 0) -> tuple:
    n = Q + V + 2
    one = SimpleNamespace(nq=[Q], nv=[V])
    work = SimpleNamespace(
        one=SimpleNamespace(intact=np.ones(1, int), near=[near]), own=np.full((5, n), 9.0), stage=np.full(n, 9.0),
        rows="row work", keeps="keeps", reply=table(REPLY, 1),
    )  # fmt: skip
    of_links, freedoms = links()
    return (
        SimpleNamespace(one=one, links=of_links, freedoms=freedoms, rows="rows"),
        SimpleNamespace(failed=[0]),
        work,
        None,
    )


def run(system: tuple, t: float, y: np.ndarray, h: float, stage_slope) -> tuple[int, np.ndarray]:
    n = len(y)
    rows = np.full(16 * n, 7.0)
    rows[:n], system[2].reply.h = rate_of(t, y[:Q], y[Q:-2]), h
    take = getattr(classical.classical, "function", classical.classical)
    step = plain(take, unpack=lambda system: system, vector=lambda at, size: at[:size], stage_slope=stage_slope)
    before = y.copy()
    status = step(CLASSICAL, system, t, y, rows)
    np.testing.assert_array_equal(y, before)
    return int(status), rows[n : 2 * n]


@pytest.mark.parametrize("h", [0.02, 0.3])
def test_a_step_is_the_classical_one_of_rates_along_the_axes_of_the_child(h: float) -> None:
    t, y = 0.7, np.r_[random_q(3), np.random.default_rng(4).normal(size=V), 0.4, -1.5]

    def inside(t: float, z: np.ndarray) -> np.ndarray:
        q, v = z[:Q], in_child(z[:Q], z[Q:-2], back=True)
        slope = rate_of(t, q, v)
        return np.r_[slope[:Q], slopes_in_child(q, v, slope[Q:-2]), slope[-2:]]

    def stage_slope(system, t, y_out, slope_out):
        slope = rate_of(t, y_out[:Q], y_out[Q:-2])
        slope_out[:] = np.r_[slope[:Q], slopes_in_child(y_out[:Q], y_out[Q:-2], slope[Q:-2]), slope[-2:]]
        return Status.OK

    z = np.r_[y[:Q], in_child(y[:Q], y[Q:-2]), y[-2:]]
    k1 = inside(t, z)
    k2 = inside(t + h / 2, z + h / 2 * k1)
    k3 = inside(t + h / 2, z + h / 2 * k2)
    k4 = inside(t + h, z + h * k3)
    end = z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    system = problem()
    status, found = run(system, t, y, h, stage_slope)
    assert status == Status.OK and system[2].one.intact[0] == 0
    expected = np.r_[end[:Q], in_child(end[:Q], end[Q:-2], back=True), end[-2:]]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("last", [1, 2, 3])
def test_a_stage_that_fails_ends_the_step(last: int) -> None:
    asked: list[float] = []

    def stage_slope(system, t, y_out, slope_out):
        asked.append(t)
        slope_out[:] = 0.0
        return Status.NO_CLOSURE if len(asked) == last else Status.OK

    y = np.r_[random_q(3), np.ones(V), 0.4, -1.5]
    assert run(problem(), 0.7, y, 0.2, stage_slope)[0] == Status.NO_CLOSURE
    assert asked == pytest.approx([0.8, 0.8, 0.9][:last])


@pytest.mark.parametrize("near", [0, 1])
@pytest.mark.parametrize("failing", [None, "bring", "act", "respond", "law"])
def test_a_stage_is_brought_to_the_rows_before_its_slope_is_taken(near: int, failing: str | None) -> None:
    """Near a singular position its coordinates, too."""
    system, calls = problem(near), []
    tables, control, work, _ = system
    y, slope = np.r_[random_q(3), np.ones(V), 0.4, -1.5], np.full(Q + V + 2, 5.0)
    answers = {failing: Status.NO_CLOSURE} if failing else {}
    control.failed[0] = int(failing == "law")

    def made(name: str, answer: str = ""):
        def make(*arguments):
            calls.append(name)
            if name in ("bring_near", "bring_rates"):
                assert arguments[:3] == (system, tables, work)
                arguments[3][0] += 0.5
                arguments[4][:] *= 2.0
            elif name == "write_slope":
                np.testing.assert_array_equal(arguments[3], y[Q:-2])
                arguments[4][:] = np.arange(Q + V + 2) + 1.0
            elif name == "follow":
                assert arguments == (system, 0.7)
            elif name == "rows_now":
                assert arguments == (system, tables, work, 0)
            elif name == "act":
                assert arguments[:2] == (system, 0.7)
                np.testing.assert_array_equal(np.r_[arguments[2], arguments[3]], y[:-2])
            elif name == "drive_power":
                assert arguments == (tables.rows, work.keeps, work.rows, work.one)
            return answers.get(answer, Status.OK)

        return make

    names = {"bring_near": "bring", "bring_rates": "bring", "act": "act", "respond": "respond"}
    others = ("follow", "rows_now", "drive_power", "write_slope")
    stage = plain(
        classical.stage_slope, unpack=lambda system: system, **{name: made(name, answer) for name,
            answer in names.items()},
        **{name: made(name) for name in others},
    )  # fmt: skip
    status = stage(system, 0.7, y, slope)
    brought = ["follow", "bring_near" if near else "bring_rates"]
    if failing == "bring":
        assert status == Status.NO_CLOSURE and calls == brought and np.all(slope == 5.0)
        return
    respond = [] if failing == "act" else ["respond"]
    assert calls == [*brought, "rows_now", "act", *respond, "drive_power", "write_slope"]
    assert status == {"act": Status.NO_CLOSURE, "respond": Status.NO_CLOSURE,
        "law": Status.CALLBACK}.get(failing or "", Status.OK)  # fmt: skip
    told = np.arange(Q + V + 2) + 1.0
    told[Q:-2] = slopes_in_child(y[:Q], y[Q:-2], told[Q:-2])
    np.testing.assert_allclose(slope, told, rtol=1e-12, atol=1e-13)
