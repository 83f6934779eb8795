"""What a mechanism answers to its integrator, question by question, against dense least squares."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from sim.kernels import motion
from sim.kernels.advance import answer
from sim.kernels.motion import JUMP
from sim.kernels.scratch import MOVED, SETTLED
from sim.kernels.status import Status
from sim.kernels.system import LEAP, NORM, PROJECT, SETTLE, SLOPE, START, TURNS, address
from sim.mechanism import structure
from sim.simulation.flow import Flow
from tests.dynamics.engine import simulator_of
from tests.kernels.plain import plain
from tests.kernels.test_fronts import SCENES, four_bars, inertial

pytestmark = pytest.mark.fast

# A four-bar out of its plane by offsets, with a driven crank of its own beside it and a body that flies.
LINKAGE = """
schema: 1
name: linkage
world: {gravity: [0.7, -0.4, -9.0]}
bodies:
  crank: {mass: 1.3, com: [0.1, 0.2, 0.4], inertia: [0.2, 0.3, 0.25, 0.01, 0.02, 0.03]}
  coupler: {mass: 0.8, com: [0.6, 0.1, 1.1], inertia: [0.1, 0.2, 0.25]}
  rocker: {mass: 1.1, com: [1.2, -0.1, 0.6], inertia: [0.3, 0.2, 0.2]}
  wheel: {mass: 0.5, com: [3.1, 0, 0.2], inertia: [0.05, 0.06, 0.07]}
  bird: {mass: 0.4, com: [5, 1, 1], inertia: [0.02, 0.03, 0.04]}
joints:
  pin: {type: rotational, parent: world, child: crank, position: [0, 0, 0], axis: [0, 1, 0], damping: 0.3}
  elbow: {type: rotational, parent: crank, child: coupler, position: [0.2, 0, 1], axis: [0, 1, 0]}
  knee: {type: rotational, parent: coupler, child: rocker, position: [1.1, 0, 1.2], axis: [0, 1, 0]}
  foot: {type: rotational, parent: world, child: rocker, position: [1.3, 0, 0], axis: [0, 1, 0]}
  axle: {type: rotational, parent: world, child: wheel, position: [3, 0, 0], axis: [1, 2, 2], MOTION}
initial: {pin: {rate: 0.8}}
simulate: {rtol: 1e-9}
""".replace("MOTION", 'motion: "0.3 rad + 0.7 rad/s * t + 0.4 rad/s^2 * t^2"')


def flow_of(text: str, along: bool, monkeypatch: pytest.MonkeyPatch) -> Flow:
    monkeypatch.setattr(structure, "cheaper_along", lambda *_: along)
    flow = simulator_of(text).flow
    assert bool(flow.structure.tables.one.along[0]) == along
    return flow


FREE_WHEEL = LINKAGE.replace(', motion: "0.3 rad + 0.7 rad/s * t + 0.4 rad/s^2 * t^2"', "")
TWIN = LINKAGE.replace(
    "initial:",
    "  twin: {type: rotational, parent: world, child: wheel, position: [3, 0, 0], axis: [1, 2, 2], "
    'motion: "0.3 rad + 0.7 rad/s * t + 0.4 rad/s^2 * t^2"}\ninitial:',
)


def ask(flow: Flow, question: int, y: np.ndarray, b: np.ndarray, t: float = 0.0) -> int:
    return int(answer(flow.system.answers, question, address(flow.system.places), t, y, b))


def begun(
    text: str, along: bool, monkeypatch: pytest.MonkeyPatch, t: float = 0.0
) -> tuple[Flow, np.ndarray, np.ndarray]:
    """Return a flow whose rows are chosen, its state, and the slope there."""
    flow = flow_of(text, along, monkeypatch)
    y, k = flow.stepper.y.copy(), np.zeros_like(flow.stepper.y)
    assert ask(flow, START, y, k, t) == Status.OK
    assert ask(flow, SETTLE, y, k, t) == Status.OK
    return flow, y, k


def parts(flow: Flow, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    sizes = flow.structure.sizes
    return y[: sizes.q], y[sizes.q : sizes.q + sizes.v]


def dense(flow: Flow, y: np.ndarray, t: float = 0.0) -> SimpleNamespace:
    """Return M, J, rows' gamma and residuals, and vdot by least squares, all at a state."""
    q, v = parts(flow, y)
    mechanism = flow.mechanism
    mechanism.t = t
    mechanism.update(q, v)
    J, M = mechanism.jacobian(), mechanism.inertia()
    gamma, phi, slip = (flow.work.rows[name].copy() for name in ("gamma", "phi", "slip"))
    push, jacobians = np.zeros(len(v)), mechanism.link_jacobians()
    for b in range(1, flow.structure.sizes.links):
        push -= jacobians[b].T @ inertial(flow, b)
    columns, links = flow.model.columns, flow.structure.tables.links
    for link in links[1:]:
        own = slice(link.v, link.v + link.nv)
        push[own] -= columns.damping[link.column : link.column + link.nv] * v[own]
    L = np.linalg.cholesky(M)
    Y = np.linalg.solve(L, J.T)
    free = np.linalg.solve(L, push)
    vdot = np.linalg.solve(L.T, free + np.linalg.pinv(Y.T, rcond=1e-9) @ (gamma - Y.T @ free))
    back = np.linalg.solve(L.T, np.linalg.pinv(Y.T, rcond=1e-9))  # of least kinetic energy
    return SimpleNamespace(M=M, J=J, gamma=gamma, phi=phi, slip=slip, vdot=vdot, back=back)


@pytest.fixture(params=[False, True], ids=["together", "along"])
def along(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_slopes_are_those_of_the_rows_that_act(along: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they were chosen, and at a stage away from there."""
    flow, y, k = begun(LINKAGE, along, monkeypatch)
    nq, n = flow.structure.sizes.q, flow.structure.sizes.v
    for stage in (False, True):
        if stage:
            y = y.copy()
            y[nq : nq + n] += 0.1 * np.arange(n)
            assert ask(flow, SLOPE, y, k, 0.2) == Status.OK
            assert flow.work.one.intact[0] == 0
        found = k.copy()
        known = dense(flow, y, 0.2 if stage else 0.0)
        np.testing.assert_allclose(found[nq : nq + n], known.vdot, atol=1e-9 * np.abs(known.vdot).max())
        damped = 0.3 * y[nq] ** 2
        assert found[-1] == pytest.approx(damped, rel=1e-12)
    assert flow.work.one.rank[0] == 2 + 1


def test_torques_that_are_held_act_from_when_they_are_told_to(along: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing else acts, and no wrench."""
    flow, y, k = begun(FREE_WHEEL.replace(", damping: 0.3", ""), along, monkeypatch)
    assert flow.structure.tables.one.acts[0] == 0
    nq, n = flow.structure.sizes.q, flow.structure.sizes.v
    wheel = int(np.flatnonzero(flow.structure.tables.links.joint == 4)[0])
    at, before = int(flow.structure.tables.links.v[wheel]), k.copy()
    flow.control.held[flow.structure.tables.links.column[wheel]] = 0.8
    for acts in ((0, 0, 0), (1, 0, 0)):
        flow.control.acts[:] = acts
        assert ask(flow, SLOPE, y, k) == Status.OK
        known = dense(flow, y)
        change = np.zeros(n)
        change[at] = acts[0] * 0.8 / known.M[at, at]
        np.testing.assert_allclose(k[nq : nq + n] - before[nq : nq + n], change, atol=1e-9)
        assert k[-2] == pytest.approx(acts[0] * 0.8 * y[nq + at], abs=1e-12)


def test_one_row_alone_has_its_own_singular_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """Along the tree, where inverse iteration finds it."""
    text = "\n".join(line for line in LINKAGE.splitlines() if line.split(":")[0].strip() in
                     ("schema", "bodies", "wheel", "joints", "axle"))  # fmt: skip
    flow, y, _ = begun(text, True, monkeypatch)
    known, work, one = dense(flow, y), flow.work, flow.structure.tables.one
    assert (work.one.rank[0], len(known.J)) == (1, 1)
    own = (known.J @ np.linalg.solve(known.M, known.J.T))[0, 0]
    assert work.one.least_pivot[0] == pytest.approx(own, rel=1e-12)
    assert work.one.least[0] == pytest.approx(np.sqrt(own / one.mobility[0]), rel=1e-12)
    assert own != pytest.approx(one.mobility[0], rel=0.1)


def test_a_stage_near_a_singular_position_is_brought_to_the_constraints(
    along: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    flow, y, k = begun(LINKAGE, along, monkeypatch)
    q, _ = parts(flow, y)
    off = y.copy()
    off[:2] += 1e-4
    off[len(q)] += 0.3
    given = off.copy()
    flow.work.one.near = 1
    assert ask(flow, SLOPE, off, k, 0.0) == Status.OK
    np.testing.assert_array_equal(off, given)
    at = flow.work.stage.copy()
    known = dense(flow, at)
    assert np.abs(known.phi).max() < 1e-7
    assert np.abs(known.slip).max() < 1e-12
    np.testing.assert_allclose(k[len(q) : -2], known.vdot, atol=1e-8 * np.abs(known.vdot).max())
    assert np.abs(at - off).max() > 1e-5
    flow.work.one.near = 0
    other = np.zeros_like(k)
    assert ask(flow, SLOPE, off, other, 0.0) == Status.OK
    assert np.abs(other - k).max() > 1e-4


def test_positions_and_rates_are_brought_back_the_shortest_way(along: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the kinetic energy; the reply is how far positions were moved, or how far rates of drives were off."""
    flow, y, k = begun(LINKAGE, along, monkeypatch)
    nq, n = flow.structure.sizes.q, flow.structure.sizes.v
    freedoms, length = flow.structure.tables.freedoms, flow.structure.tables.one.length[0]
    rng = np.random.default_rng(1)
    off = y.copy()
    bird = [int(x) for x in np.flatnonzero(flow.structure.tables.links.nv == 6)]
    still = int(flow.structure.tables.links.q[bird[0]])
    off[:nq][np.arange(nq) < still] += 1e-6 * rng.normal(size=still)
    off[nq : nq + n] += rng.normal(size=n)
    known = dense(flow, off)
    moved = off.copy()
    assert ask(flow, PROJECT, moved, k) == Status.OK
    assert flow.work.one.intact[0] == 0
    change = -known.back @ known.phi
    size = np.where(freedoms.linear == 1, length, 1.0)
    np.testing.assert_allclose(flow.work.moved, change, atol=1e-9)
    wheel = int(flow.structure.tables.links.v[int(np.flatnonzero(flow.structure.tables.links.joint == 4)[0])])
    gap = abs(off[nq + wheel] - 0.7) / (1.0 + 0.7)
    assert flow.work.one.jump[0] == pytest.approx(gap, rel=1e-6)
    expected = max(np.sqrt(np.mean((change / size) ** 2)), JUMP * gap)
    assert flow.work.reply.moved[0] == pytest.approx(expected, rel=1e-5)
    at = dense(flow, moved)
    assert np.abs(at.phi).max() < 1e-13 * max(length, 1.0)
    assert np.abs(at.slip).max() < 1e-12
    v = off[nq : nq + n]
    np.testing.assert_allclose(moved[nq : nq + n], v - at.back @ (at.J @ v - _wanted(flow)), atol=1e-6)


def _wanted(flow: Flow) -> np.ndarray:
    rows = flow.structure.tables.rows
    return np.where(rows.motion >= 0, rows.scale * flow.work.rows.want[:, 1], 0.0)


def test_a_step_may_not_end_where_the_constraints_have_just_become_singular(
    along: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    flow, y, k = begun(LINKAGE, along, monkeypatch)
    least = float(flow.work.one.least[0])
    for widest, before, ends in ((30 * least, 30 * least, False), (10 * least, 30 * least, True),
                                 (30 * least, 2 * least, True)):  # fmt: skip
        flow.work.one.widest, flow.work.one.sigma = widest, before
        assert ask(flow, PROJECT, y.copy(), k) == Status.OK
        assert (flow.work.reply.moved[0] >= 0.0) == ends
        if not ends:
            assert flow.work.reply.moved[0] == -1.0


def test_without_rows_what_was_moved_and_factorised_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """SETTLE goes on from there: a state that was not brought there by PROJECT is looked at anew."""
    text = "schema: 1\nbodies: {bird: {mass: 0.4, com: [5, 1, 1], inertia: [0.02, 0.03, 0.04]}}\n"
    flow, y, k = begun(text, False, monkeypatch)
    y[3:7] *= 2.0
    assert ask(flow, PROJECT, y, k) == Status.OK
    assert np.linalg.norm(y[3:7]) == pytest.approx(1.0, rel=1e-14)
    assert flow.work.one.intact[0] == MOVED
    assert ask(flow, SETTLE, y, k) == Status.OK
    assert flow.work.one.intact[0] == SETTLED
    assert ask(flow, NORM, y, np.zeros_like(y)) == Status.OK
    assert ask(flow, TURNS, y, k) == Status.OK
    assert flow.work.one.intact[0] == SETTLED
    y[7:10] = 1.0, 2.0, 3.0
    assert ask(flow, SETTLE, y, k) == Status.OK
    assert k[:3].tolist() == [1.0, 2.0, 3.0]
    np.testing.assert_allclose(k[7:10], [0.0, 0.0, -9.81], atol=1e-12)


def test_contradictions_of_rows_end_a_run(along: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two drives about one axis, of which the one asks for another acceleration; rows that repeat others agree."""
    head, _, tail = TWIN.rpartition("0.4 rad/s^2")
    twin = f"{head}0.9 rad/s^2{tail}"
    for text, status in ((TWIN, Status.OK), (twin, Status.INCONSISTENT)):
        flow = flow_of(text, along, monkeypatch)
        y, k = flow.stepper.y.copy(), np.zeros_like(flow.stepper.y)
        assert ask(flow, START, y, k) == Status.OK
        rows, work = flow.structure.tables.rows, flow.work
        assert (len(rows), work.one.rank[0]) == (12, 3)
        assert ask(flow, SETTLE, y, k) == status
        if status != Status.OK:
            named = int(work.one.worst[0])
            assert rows.motion[named] >= 0 and not work.keeps[named]


def test_errors_of_states_count_the_work_of_drives(along: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    flow, y, _ = begun(LINKAGE, along, monkeypatch)
    nq, n = flow.structure.sizes.q, flow.structure.sizes.v
    tables = flow.structure.tables
    y[nq + n] = 3.0
    for e_q, e_w in ((1e-3, 0.0), (0.0, 2e-3), (1e-3, 4.0)):
        e = np.zeros_like(y)
        e[0], e[nq + n], e[-1] = e_q, e_w, 9.0
        assert ask(flow, NORM, y, e) == Status.OK
        own = plain(motion.error_norm)(tables.links, tables.freedoms, tables.one.length[0], y, e, nq)
        energy = tables.one.length[0] ** 2 / tables.one.mobility[0]
        assert flow.work.reply.error[0] == pytest.approx(max(own, (e_w / (3.0 + energy)) ** 2), rel=1e-12)
        assert flow.work.reply.error[0] > 0.0


def test_turns_of_loops_are_remembered_at_the_end_of_a_step(along: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    flow, y, k = begun(LINKAGE, along, monkeypatch)
    loop = int(np.flatnonzero(flow.structure.tables.blocks.motor == 0)[0])
    column = int(flow.structure.tables.blocks.column[loop])
    flow.control.turn[column] = 2 * np.pi + 0.1
    assert ask(flow, TURNS, y, k) == Status.OK
    assert flow.control.turn[column] == pytest.approx(2 * np.pi, abs=1e-9)


def test_a_leap_brings_velocities_first(along: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """v + h vdot, without half of what the turn of rows asks for; with it q; work is added up as its slope says."""
    flow, y, k = begun(FREE_WHEEL, along, monkeypatch)
    nq, n = flow.structure.sizes.q, flow.structure.sizes.v
    known, off = dense(flow, y), []
    first = k[nq : nq + n] - 0.5 * known.back @ known.gamma
    for h in (1e-3, 5e-4):
        slopes = np.zeros(16 * len(y))
        slopes[: len(y)] = k
        flow.work.reply.h = h
        assert ask(flow, LEAP, y, slopes) == Status.OK
        out = slopes[len(y) : 2 * len(y)]
        off.append(np.abs(out[nq : nq + n] - y[nq : nq + n] - h * first).max())
        np.testing.assert_allclose(out[-2:], y[-2:] + h * k[-2:], atol=1e-15)
        q = y[:nq].copy()
        plain(motion.move_on)(flow.structure.tables.links, flow.structure.tables.blocks, h, out[nq : nq + n].copy(), q)
        assert np.abs(q - out[:nq]).max() < 20 * h**2
    assert off[0] == pytest.approx(4.0 * off[1], rel=0.05)
    assert off[0] < 1e-4


def test_a_freedom_without_inertia_is_named(along: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the status of whoever asks for factors."""
    flow, y, k = begun(LINKAGE, along, monkeypatch)
    links = flow.structure.tables.links
    lightened = links.copy()
    leaf = int(np.flatnonzero(links.leaf)[0])
    lightened.mass[leaf], lightened.inertia_K[leaf] = 0.0, 0.0
    whole = flow.system.places
    if not isinstance(whole, tuple):
        pytest.skip("tables are handed on by their addresses")
    places = (whole[0]._replace(links=lightened), *whole[1:])
    for question in (START, SLOPE, PROJECT):
        flow.work.one.worst = -3
        status = answer(flow.system.answers, question, address(places), 0.0, y.copy(), k)
        assert status == Status.MASS_SINGULAR
        assert flow.structure.tables.freedoms.owner[flow.work.one.worst[0]] == leaf


@pytest.mark.parametrize("patience", [1, 2])
def test_where_no_room_is_left_the_best_pivot_goes_first(patience: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nearly flat windows leave a weak row each, and all of them would wait for a better pivot."""
    monkeypatch.setattr(structure, "PATIENCE", patience)
    flow, y, k = begun(four_bars(5, rise=0.004, run=1.0), True, monkeypatch)
    known = dense(flow, y)
    assert flow.work.one.rank[0] == 10
    nq = flow.structure.sizes.q
    np.testing.assert_allclose(k[nq:-2], known.vdot, rtol=0, atol=1e-7 * np.abs(known.vdot).max())


@pytest.mark.parametrize("name", ["four-bars", "chain with rows that repeat others", "floating chain in a plane"])
def test_stages_follow_the_places_that_were_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    flow, y, k = begun(SCENES[name], True, monkeypatch)
    kept = flow.work.rows.kept.copy()
    y = y.copy()
    nq, n = flow.structure.sizes.q, flow.structure.sizes.v
    y[nq : nq + n] *= 1.3
    assert ask(flow, SLOPE, y, k) == Status.OK
    rank = int(flow.work.one.rank[0])
    np.testing.assert_array_equal(flow.work.rows.order[:rank], kept[:rank])
    known = dense(flow, y)
    np.testing.assert_allclose(k[nq : nq + n], known.vdot, rtol=0, atol=1e-9 * max(np.abs(known.vdot).max(), 1.0))


BRANCHES = """
schema: 1
name: branches
world: {gravity: [0.7, -0.4, -9.0]}
bodies:
  trunk: {mass: 1.3, com: [0.1, 0.2, 0.4], inertia: [0.2, 0.3, 0.25, 0.01, 0.02, 0.03]}
  left: {mass: 0.8, com: [-0.6, 0.1, 1.1], inertia: [0.1, 0.2, 0.25]}
  twig: {mass: 0.3, com: [-0.9, 0.3, 1.6], inertia: [0.03, 0.02, 0.02]}
  right: {mass: 1.1, com: [0.5, -0.1, 1.2], inertia: [0.3, 0.2, 0.2]}
joints:
  root: {type: universal, parent: world, child: trunk, position: [0, 0, 0], axis: [0, 1, 0], second_axis: [1, 0, 0]}
  shoulder: {type: rotational, parent: trunk, child: left, position: [-0.2, 0, 1], axis: [0, 1, 0], motion: "0.5 rad/s * t"}
  elbow: {type: rotational, parent: left, child: twig, position: [-0.7, 0.2, 1.3], axis: [2, 1, 2]}
  hip: {type: rotational, parent: trunk, child: right, position: [0.2, 0, 1], axis: [1, 2, 2], motion: "0.4 rad/s^2 * t^2"}
initial: {elbow: {rate: 0.8}, root: {rate: [0.3, -0.6]}}
"""  # noqa: E501


def test_one_row_that_waits_at_the_end_of_a_branch_is_handed_to_the_trunk(
    along: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    flow, y, k = begun(BRANCHES, along, monkeypatch)
    nq, n = flow.structure.sizes.q, flow.structure.sizes.v
    assert flow.work.one.rank[0] == 2
    known = dense(flow, y)
    np.testing.assert_allclose(k[nq : nq + n], known.vdot, atol=1e-10 * np.abs(known.vdot).max())
    rows, work = flow.structure.tables.rows, flow.work
    forces = np.linalg.lstsq(known.J.T, known.M @ known.vdot - _free(flow), rcond=None)[0]
    power = forces * rows.scale * work.rows.want[:, 1]
    assert k[-2] == pytest.approx(power.sum(), rel=1e-9)
    assert abs(k[-2]) > 0.01


def _free(flow: Flow) -> np.ndarray:
    """Return (nv,) what pushes the freedoms where nothing accelerates and no row acts."""
    jacobians = flow.mechanism.link_jacobians()
    return -sum(jacobians[b].T @ inertial(flow, b) for b in range(1, len(jacobians)))
