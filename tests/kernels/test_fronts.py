"""Loops eliminated along the tree, against dense least squares: four-bars, pinned chains, nets, forests."""

from __future__ import annotations

import numpy as np
import pytest

from sim.kernels.advance import answer
from sim.kernels.elimination import passes
from sim.kernels.rows import constraints
from sim.kernels.status import Status
from sim.kernels.system import SETTLE, START, address
from sim.mechanism import structure
from sim.simulation.flow import Flow
from tests.dynamics.engine import simulator_of
from tests.kernels.plain import plain


@pytest.fixture(autouse=True)
def along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structure, "cheaper_along", lambda *_: True)


def chain(count: int, pins: str, *, floating: bool = False) -> str:
    """Return a scene: rods of 1 m on spherical joints, zig-zag; `pins`, joints that hold each of them to the world."""
    rng = np.random.default_rng(count)
    points = np.zeros((count + 1, 3))
    for i in range(count):
        turn = rng.normal(0, 0.4)
        points[i + 1] = points[i] + [np.cos(turn), 0, np.sin(turn)]
    lines = ["schema: 1", "name: pinned", "bodies:"]
    for i in range(count):
        middle, mass = (points[i] + points[i + 1]) / 2, 0.5 + rng.random()
        lines.append(f"  rod_{i}: {{mass: {mass!r}, com: {middle.tolist()}, gyration: [0.3, 0.3, 0.3]}}")
    lines.append("joints:")
    for i in range(count):
        above = "world" if i == 0 else f"rod_{i - 1}"
        if i or not floating:
            place = f"position: {points[i].tolist()}"
            lines.append(f"  hinge_{i}: {{type: spherical, parent: {above}, child: rod_{i}, {place}}}")
        for n, pin in enumerate(pins.split(";")):
            far = f"position: {points[i + 1].tolist()}"
            lines.append(f"  pin_{n}_{i}: {{parent: world, child: rod_{i}, {far}, {pin.strip()}}}")
    return "\n".join(lines)


def net(side: int) -> str:
    """Return a scene: a net of rods, spherical joints at its knots, hung at two corners; loops everywhere."""
    lines, joints = ["schema: 1", "name: net", "bodies:"], ["joints:"]
    held: dict[tuple[int, int], str] = {(0, 0): "world", (side - 1, 0): "world"}
    knots = np.random.default_rng(side).normal(0, 0.2, (side, side, 3))  # slack: no straight line between the corners
    knots[..., 0] += np.arange(side)[:, None]
    knots[..., 2] -= np.arange(side)
    for i in range(side):
        for j in range(side):
            for di, dj in ((1, 0), (0, 1)):
                if i + di < side and j + dj < side:
                    name = f"rod_{i}_{j}_{di}"
                    a, b = knots[i, j], knots[i + di, j + dj]
                    ends = f"from: {a.tolist()}, to: {b.tolist()}"
                    lines.append(f"  {name}: {{mass: 1 kg, shapes: [{{capsule: {{{ends}, radius: 0.05}}}}]}}")
                    for knot, at in (((i, j), a), ((i + di, j + dj), b)):
                        if knot in held:
                            joints.append(
                                f"  tie_{len(joints)}: {{type: spherical, parent: {held[knot]}, child: {name}, "
                                f"position: {at.tolist()}}}"
                            )
                        else:
                            held[knot] = name
    return "\n".join([*lines, *joints])


FOUR_BARS = """
schema: 1
name: bars
repeat:
  - for: {i: {from: 0, to: N}}
    bodies: {"crank_${i}": {mass: 1 kg, com: [i + 0.1, 0, 0.5], gyration: [0.3, 0.3, 0.3]}}
    joints: {"pivot_${i}": {type: rotational, parent: world, child: "crank_${i}", position: [i, 0, 0], axis: [0, 1, 0]}}
  - for: {i: {from: 0, to: N - 1}}
    bodies: {"coupler_${i}": {mass: 2 kg, com: [i + 0.6, 0, 1], gyration: [0.3, 0.3, 0.3]}}
    joints:
      left_${i}:
        {type: rotational, parent: "crank_${i}", child: "coupler_${i}", position: [i + 0.2, 0, 1], axis: [0, 1, 0]}
      right_${i}:
        {type: rotational, parent: "crank_${i + 1}", child: "coupler_${i}", position: [i + 1.2, 0, 1], axis: [0, 1, 0]}
initial: {pivot_0: {rate: 1}}
"""


def four_bars(count: int, rise: float = 1.0, run: float = 0.2) -> str:
    """Return a scene: windows side by side, the upper pins `run` beside and `rise` above the lower ones [m]."""
    text = FOUR_BARS.replace("N", str(count))
    return text.replace("0.2, 0, 1]", f"{run}, 0, {rise}]").replace("1.2, 0, 1]", f"{1 + run}, 0, {rise}]")


SCENES = {
    "four-bars": four_bars(6),
    "chain in a plane": chain(9, "type: planar, axis: [0, 1, 0]"),
    "chain with rows that repeat others": chain(8, "type: planar, axis: [0, 1, 0]; type: planar, axis: [0, 1, 0]"),
    "floating chain in a plane": chain(12, "type: planar, axis: [0, 1, 0]", floating=True),
    "net": net(3),
    "larger net": net(4),
}


def settled(text: str) -> tuple[Flow, np.ndarray, np.ndarray]:
    """Return a flow at its start, moving at random as it may, its state and the slope there."""
    flow = simulator_of(text).flow
    v = np.random.default_rng(1).normal(size=flow.structure.sizes.v)
    flow.v[:] += v
    y, k = flow.stepper.y.copy(), np.zeros_like(flow.stepper.y)
    assert ask(flow, START, y, k) == Status.OK
    assert ask(flow, SETTLE, y, k) == Status.OK
    return flow, y, k


def ask(flow: Flow, question: int, y: np.ndarray, k: np.ndarray) -> int:
    return int(answer(flow.system.answers, question, address(flow.system.places), 0.0, y, k))


def dense(flow: Flow, y: np.ndarray) -> tuple[np.ndarray, int, np.ndarray]:
    """Return vdot by least squares over all rows, their rank, and J."""
    tables, sizes = flow.structure.tables, flow.structure.sizes
    q, v = y[: sizes.q], y[sizes.q : sizes.q + sizes.v]
    flow.mechanism.update(q, v)
    J, M, gamma = flow.mechanism.jacobian(), flow.mechanism.inertia(), flow.work.rows.gamma.copy()
    accelerations = flow.mechanism.link_jacobians()
    push = np.zeros(sizes.v)
    for b in range(1, sizes.links):
        wrench = inertial(flow, b)
        push -= accelerations[b].T @ wrench
    L = np.linalg.cholesky(M)
    Y = np.linalg.solve(L, J.T)
    free = np.linalg.solve(L, push)
    U, s, Vt = np.linalg.svd(Y, full_matrices=False)
    keep = s > 1e-8 * s[0]
    z = free + U[:, keep] @ ((Vt[keep] @ (gamma - Y.T @ free)) / s[keep])
    assert tables.one.along[0] == 1
    return np.linalg.solve(L.T, z), int(keep.sum()), J


def inertial(flow: Flow, b: int) -> np.ndarray:
    """Return (6,) moment about the link's origin and force that link b needs for zero vdot, weight included."""
    m, hx, hy, hz, xx, yy, zz, xy, xz, yz = flow.work.links.I[b]
    h, J = np.array([hx, hy, hz]), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    w = flow.work.links.V[b, :3]
    alpha, a = flow.work.links.A[b, :3], flow.work.links.A[b, 3:]
    force = m * a + np.cross(alpha, h) + np.cross(w, np.cross(w, h))
    return np.concatenate([J @ alpha + np.cross(w, J @ w) + np.cross(h, a), force])


@pytest.mark.fast
@pytest.mark.parametrize("name", SCENES)
def test_accelerations_and_rank_are_those_of_dense_least_squares(name: str) -> None:
    flow, y, k = settled(SCENES[name])
    rank = int(flow.work.one.rank[0])
    vdot, expected, J = dense(flow, y)
    assert rank == expected > 0
    nq = flow.structure.sizes.q
    assert len(J) > 0
    np.testing.assert_allclose(k[nq:-2], vdot, rtol=0, atol=1e-10 * np.abs(vdot).max())
    acting = np.flatnonzero(flow.work.rows.place >= 0)
    assert len(acting) == rank
    assert np.linalg.matrix_rank(J[acting], tol=1e-8) == rank


def test_few_rows_wait_however_many_loops_there_are() -> None:
    """What each link hands up stays as narrow in a long mechanism as in a short one."""
    for make in (four_bars, lambda n: chain(n, "type: planar, axis: [0, 1, 0]"),
                 lambda n: chain(n, "type: rotational, axis: [0, 1, 0]" )):  # fmt: skip
        widest = []
        for count in (8, 40):
            flow, _, _ = settled(make(count))
            widest.append(int(flow.work.fronts.pending.max()))
        assert 0 < widest[1] <= min(widest[0] + 1, 12)


@pytest.mark.fast
@pytest.mark.parametrize("name", ["four-bars", "floating chain in a plane", "net"])
def test_the_smallest_singular_value_is_that_of_the_rows_that_act(name: str) -> None:
    """Whatever the places where rows are eliminated, of which their pivots speak."""
    flow, y, k = settled(SCENES[name])
    for _ in range(30):  # inverse iteration goes on from state to state
        assert ask(flow, START, y, k) == Status.OK
        assert ask(flow, SETTLE, y, k) == Status.OK
    _, _, J = dense(flow, y)
    acting = J[flow.work.rows.place >= 0]
    L = np.linalg.cholesky(flow.mechanism.inertia())
    size = np.linalg.svd(np.linalg.solve(L, acting.T), compute_uv=False)
    assert len(size) > 2
    assert flow.work.one.least_pivot[0] == pytest.approx(size[-1] ** 2, rel=1e-2)
    assert size[0] > 2 * size[-1]


@pytest.mark.parametrize("patience", [6, 64])
def test_where_no_room_is_left_the_best_pivot_is_taken(patience: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nearly flat windows leave a weak row each, and all of them would wait for a better pivot."""
    monkeypatch.setattr(structure, "PATIENCE", patience)
    flow, y, k = settled(four_bars(30, rise=0.004, run=1.0))
    vdot, rank, _ = dense(flow, y)
    assert int(flow.work.one.rank[0]) == rank == 60
    at_the_end = int(flow.work.fronts.rim_end[0] - flow.work.fronts.rim_first[0])
    assert (at_the_end > 20) == (patience == 64)
    nq = flow.structure.sizes.q
    np.testing.assert_allclose(k[nq:-2], vdot, rtol=0, atol=1e-7 * np.abs(vdot).max())  # sigma^2 is 1e-6 there


@pytest.mark.fast
def test_a_row_that_contradicts_the_others_is_found() -> None:
    flow, _, _ = settled(SCENES["chain with rows that repeat others"])
    tables, work = flow.structure.tables, flow.work
    tell = constraints.mismatch
    args = (tables.blocks, tables.rows, work.links, work.blocks, work.rows)
    assert plain(tell)(*args)[0] < 1e-12
    cut = int(np.flatnonzero(work.rows.place < 0)[0])
    work.rows.gamma[cut] += 1.0
    worst, row = plain(tell)(*args)
    assert row == cut
    assert worst > 1e-3


@pytest.mark.parametrize("name", ["four-bars", "chain with rows that repeat others", "net"])
def test_a_run_is_that_of_rows_eliminated_all_at_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = []
    for choice in (True, False):
        monkeypatch.setattr(structure, "cheaper_along", lambda *_, choice=choice: choice)
        simulator = simulator_of(SCENES[name] + "\nsimulate: {rtol: 1e-11}")
        simulator.advance(0.3)
        assert simulator.flow.structure.tables.one.along[0] == choice
        ends.append((simulator.flow.q.copy(), simulator.flow.observe().copy()))
        assert simulator.flow.counts()["steps"] > 3
    np.testing.assert_allclose(ends[0][0], ends[1][0], rtol=0, atol=1e-8)
    layout = simulator.flow.rows.layout
    forces = slice(layout[2], layout[3])
    size = np.abs(ends[1][1][forces]).max()
    np.testing.assert_allclose(ends[0][1][forces], ends[1][1][forces], rtol=0, atol=1e-6 * size)


@pytest.mark.fast
def test_forces_of_rows_are_found_on_the_links_that_they_hold_alone() -> None:
    """Where nothing stands on other links, what these have is not even looked at."""
    pinned = chain(8, "type: planar, axis: [0, 1, 0]", floating=True).splitlines()
    flow, _, _ = settled("\n".join(line for line in pinned if not line.startswith("  pin_") or line[8] < "4"))
    tables, work, rng = flow.structure.tables, flow.work, np.random.default_rng(4)
    limit, links = tables.fronts.limit, (tables.links, tables.freedoms, work.links, work.freedoms)
    rest = (work.rows, work.fronts, work.ids, work.J, limit)
    assert 0 < np.count_nonzero(limit[1:]) < len(limit) - 1
    held = (limit > 0)[:, None]
    F, rhs, found = rng.normal(size=(len(limit), 6)) * held, rng.normal(size=len(tables.rows)), []
    for every in (1, 0):
        work.links.F[:] = F if every else np.where(held, F, np.nan)
        work.freedoms.y[:] = 0.0
        work.links.B[1:], work.rows.rhs[:], work.rows.force[:] = np.nan, rhs, 0.0
        plain(passes.inward_along)(*links, *rest, every)
        plain(passes.outward_along)(*links, *rest, every)
        found.append(work.rows.force.copy())
    assert np.abs(found[0]).max() > 0.1
    np.testing.assert_array_equal(found[1], found[0])
