"""The parts of closed chains, each called by itself: against differences, the engine, and numbers worked by hand."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import lsq_linear

import sim
from sim.closed_chains.actuation import Actuation, _inverse_root, actuation_of, bounds_of, share, weights_of
from sim.closed_chains.chain import Chain
from sim.closed_chains.generalised import all_joints, choose, generalise
from sim.closed_chains.inverse import _at_bounds
from sim.closed_chains.matrices import driven_columns, generalised, generalised_in_position, papers_matrix
from sim.scene.load import load_text
from tests.closed_chains.test_quantities import moved, near
from tests.dynamics.engine import simulator_for, simulator_of
from tests.support.mechanisms import LOOP_KINDS, add_loop, random_tree, with_consistent_rates

pytestmark = pytest.mark.fast

# --- loops that have moved from where they were drawn --------------------------------------------


@cache
def carried_on(kind: str) -> sim.Simulator:
    """Return a tree of several kinds of joints and a loop of this kind, all moving, a while after its start."""
    rng = np.random.default_rng([len(kind), 31])
    while True:
        tree = random_tree(rng, 3, ("free", "rotational", "spherical", "universal", "helical"), driven=True)
        closed = add_loop(rng, tree, (kind,), driven=True)
        if closed is not None:
            simulator = simulator_for(with_consistent_rates(rng, closed))
            simulator.advance(0.05)
            chain = sim.chain(simulator)
            slow = np.abs(chain.rates[len(chain.v) :]).min(initial=1.0)
            if min(slow, np.abs(chain.J_C_drift).max()) > 0.01:
                return simulator


EVERY = pytest.mark.parametrize("kind", [*LOOP_KINDS, "helical"])


@EVERY
def test_rows_of_a_loop_are_the_motion_of_its_frames(kind: str) -> None:
    """Velocity of M against the parent's matter there, and angular velocity times the length; less what is free."""
    chain = sim.chain(carried_on(kind))
    n, model, (joint,) = len(chain.v), chain.mechanism.model, chain.loop_joints
    a, b = (model.body_names[int(model.joints[side][model.joint(joint)])] for side in ("parent", "child"))
    at = chain.joint_position(joint, "child")
    R = {name: chain.mechanism.work.bodies.R_WB[model.body_names.index(name)].reshape(3, 3) for name in (a, b)}
    ours, theirs = (chain.jacobian(name, R[name].T @ (at - chain.position(name))) for name in (b, a))
    near(chain.J_C[:3, :n], (ours - theirs)[3:], 1e-12)
    near(chain.J_C[3:, :n], model.length * (ours - theirs)[:3], 1e-12)
    assert model.length != 1.0
    near(chain.J_C @ chain.rates, np.zeros(6), 1e-9)


@EVERY
def test_drifts_of_rows_are_slopes_of_their_matrix(kind: str) -> None:
    """J_C' theta_J' row by row: differences of J_C along the motion, at the rates of now."""
    chain, step = sim.chain(carried_on(kind)), 1e-5
    later, before = moved(chain, chain.v, step), moved(chain, chain.v, -step)
    near(chain.J_C_drift, (later.J_C - before.J_C) @ chain.rates / (2 * step), 1e-7)
    assert np.abs(chain.J_C_drift).max() > 1e-2


@EVERY
def test_frames_of_loop_joints_are_where_they_are_drawn_on_their_bodies(kind: str) -> None:
    """The frame of the parent stays with the parent also where the joint has slid."""
    simulator = carried_on(kind)
    chain, model = sim.chain(simulator), simulator.model
    start, (joint,) = sim.chain(sim.Simulator(model)), chain.loop_joints
    for side in ("parent", "child"):
        body = model.body_names[int(model.joints[side][model.joint(joint)])]
        places = []
        for one in (start, chain):
            R = one.mechanism.work.bodies.R_WB[model.body_names.index(body)].reshape(3, 3)
            places.append(R.T @ (one.joint_position(joint, side) - one.position(body)))
        near(places[1], places[0], 1e-10)
    apart = np.linalg.norm(chain.joint_position(joint, "parent") - chain.joint_position(joint, "child"))
    assert (apart > 1e-3) == (kind in ("translational", "cylindrical", "planar", "helical"))


@EVERY
def test_a_chain_of_a_run_moves_as_the_run(kind: str) -> None:
    """Accelerations of the papers' equations are the engine's, of the tree's joints and of the one that closes."""
    simulator = carried_on(kind)
    chain = sim.chain(simulator)
    found = chain.forward(np.zeros(len(chain.names)))
    near(found[: len(chain.v)], chain.acceleration, 1e-8)
    near(chain.J_C @ found, -chain.J_C_drift, 1e-8)
    assert len(chain.names) == len(chain.columns) == len(chain.rates)
    assert [simulator.model.column_names[c] for c in chain.columns] == list(chain.names)


# --- what acts by itself ---------------------------------------------------------------------------

PUSHED = """
schema: 1
name: pushed
world: {gravity: [0.5, 1, -9], points: {hook: [0.2, 0.9, 0.4]}}
bodies:
  base: {mass: 3, com: [0.1, 0, 0.2], gyration: [0.3, 0.4, 0.5], points: {top: [0.2, 0.1, 0.6]}}
  arm: {mass: 1, com: [0.6, 0.2, 0.3], gyration: [0.2, 0.1, 0.2], points: {end: [0.9, 0.3, 0.1]}}
  hand: {mass: 2, com: [1.1, 0.3, 0.2], gyration: [0.1, 0.15, 0.17], points: {tip: [1.2, 0.1, 0.5]}}
joints:
  turn: {type: rotational, parent: base, child: arm, position: [0.4, 0.1, 0.2], axis: [1, 2, 3], stiffness: 3 N m/rad,
    rest: 0.4, damping: 0.7}
  ball: {type: spherical, parent: arm, child: hand, position: [1, 0.2, 0.3]}
  tie: {type: cylindrical, parent: world, child: hand, position: [1, 0.5, 0.1], axis: [0, 1, 2],
    stiffness: [2 N/m, 4 N m/rad], damping: [0.2, 0.3], rest: [0.1, -0.3]}
forces:
  twist: {type: torsion_spring, joint: turn, stiffness: 5 N m/rad, rest: 40 deg, damping: 0.3}
  swing: {type: torsion_spring, joint: ball, stiffness: 2 N m/rad, damping: 0.2}
  pull: {type: spring, from: base.top, to: hand.tip, stiffness: 30 N/m, damping: 2, length: 0.4}
  hang: {type: spring, from: world.hook, to: arm.end, stiffness: 20 N/m, damping: 1, length: 0.2}
  push: {type: wrench, body: hand, point: tip, force: [1, -2, 3], torque: [0.4, 0.5, -0.6]}
  react: {type: wrench, body: base, point: top, force: [2, 1, -1], torque: [0.3, -0.2, 0.1], frame: body,
    reaction: arm}
  slow: {type: drag, body: arm, point: end, linear: 0.5, quadratic: 0.1}
initial: {turn: {rate: 2 rad/s}, ball: {angular_velocity: [1, -1, 0.5]}}
simulate: {duration: 1 s}
"""


def test_what_acts_by_itself_is_what_a_run_moves_under() -> None:
    """Springs at points and about joints, wrenches with and without a reaction, and drag, in a loop that has moved."""
    simulator = simulator_of(PUSHED)
    simulator.advance(0.1)
    chain = sim.chain(simulator)
    near(chain.forward(np.zeros(len(chain.names)))[: len(chain.v)], chain.acceleration, 1e-8)
    found = sim.inverse_dynamics(chain, chain.acceleration, [])
    near(found.residual, np.zeros(len(found.residual)), 1e-7)
    for name, wrench in found.wrenches.items():  # all that passes through joints, with their springs
        near(wrench, simulator.force[name], 1e-7)


def test_what_acts_by_itself_one_by_one() -> None:
    """On links and on freedoms, of the places and speeds of their ends."""
    simulator = simulator_of(PUSHED)
    simulator.advance(0.1)
    chain, links = sim.chain(simulator), simulator.flow.mechanism.structure.link_of
    names = simulator.model.body_names
    at = {name: chain.position(name) for name in ("base.top", "arm.end", "hand.tip", "world.hook")}
    base, arm, hand = (int(links[names.index(name)]) for name in ("base", "arm", "hand"))
    origin = chain.mechanism.work.links.x
    wrench = dict(zip(("twist", "swing", "pull", "hang", "push", "react", "slow"), chain._wrenches, strict=True))
    expected = np.zeros_like(chain.pushed)

    def act(link: int, point: str, force: np.ndarray, torque: Any = (0, 0, 0)) -> None:
        expected[link] += np.r_[np.asarray(torque) + np.cross(at[point] - origin[link], force), force]

    for name, ends, stiffness, damping, length in (
        ("pull", ((base, "base.top"), (hand, "hand.tip")), 30.0, 2.0, 0.4),
        ("hang", ((0, "world.hook"), (arm, "arm.end")), 20.0, 1.0, 0.2),
    ):
        (a, p), (b, q) = ends
        way = at[q] - at[p]
        along = way / np.linalg.norm(way)
        rate = along @ ((chain.jacobian(q) - chain.jacobian(p)) @ chain.v)[3:]
        force = -(stiffness * (np.linalg.norm(way) - length) + damping * rate) * along
        near(wrench[name][3:], force)
        act(b, q, force)
        act(a, p, -force)
    act(hand, "hand.tip", np.array([1.0, -2, 3]), [0.4, 0.5, -0.6])
    R = chain.mechanism.work.bodies.R_WB[names.index("base")].reshape(3, 3)
    force, torque = R @ [2.0, 1, -1], R @ [0.3, -0.2, 0.1]
    act(base, "base.top", force, torque)
    # The opposite acts at the same place on the other body, so that nothing is gained.
    expected[arm] -= np.r_[torque + np.cross(at["base.top"] - origin[arm], force), force]
    u = (chain.jacobian("arm.end") @ chain.v)[3:]
    act(arm, "arm.end", -(0.5 + 0.1 * np.linalg.norm(u)) * u)
    near(chain.pushed, expected)
    coordinate, n = chain.mechanism.work.coordinate[chain.columns], len(chain.v)
    by_hand = np.zeros(len(chain.names))
    turn, ball, tie = chain.places("turn")[0], chain.places("ball"), chain.places("tie")
    by_hand[turn] = -8.0 * coordinate[turn] + 3.0 * 0.4 + 5.0 * np.deg2rad(40) - 1.0 * chain.v[turn]
    by_hand[ball] = -2.0 * coordinate[ball] - 0.2 * chain.v[ball]
    by_hand[tie] = -np.array([2.0, 4.0]) * (coordinate[tie] - [0.1, -0.3]) - np.array([0.2, 0.3]) * chain.rates[tie]
    near(chain.passive_joints, by_hand)
    by_hand[:n] += chain.on_freedoms(expected)
    near(chain.passive, by_hand)
    near(Chain(chain.mechanism, chain.q, chain.v).passive, chain.passive_joints)  # of no run: without forces at points


# --- generalised coordinates ------------------------------------------------------------------------


def test_columns_are_chosen_by_the_largest_pivot_that_is_left() -> None:
    J = np.array([[3.0, 1.0, 0.0, 4.0], [0.0, 2.0, 0.0, 3.0], [0.0, 0.0, 0.0, 0.0]])
    columns, rank = choose(J, np.ones(4))
    assert (columns.tolist(), rank) == ([3, 0], 2)  # left of the others: (1.08, -1.44), (-0.6, 1.2), by their lengths
    columns, rank = choose(J, np.array([1.0, 10.0, 1.0, 1.0]))
    assert (columns.tolist(), rank) == ([1, 0], 2)
    assert choose(np.zeros((2, 3)), np.ones(3))[1] == 0
    assert choose(np.zeros((0, 3)), np.ones(3))[1] == 0
    empty, rank = choose(np.zeros((4, 0)), np.ones(0))
    assert empty.shape == (0,) and rank == 0


@pytest.mark.parametrize(("size", "taken"), [(1.1, 1), (1.0 / 9.0, 0), (9.0, 1), (11.0, 1), (1.0 / 11.0, 0)])
def test_what_was_dependent_stays_so_within_a_tenth_of_the_best(size: float, taken: int) -> None:
    J = np.array([[1.0, size]])
    assert choose(J, np.ones(2))[0].tolist() == [taken]
    for preferred in (0, 1):
        best = np.array([1.0, size]) * np.where(np.arange(2) == preferred, 10.0, 1.0)
        assert choose(J, np.ones(2), np.array([preferred]))[0].tolist() == [int(np.argmax(best))]


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_rank_is_relative_to_the_largest_column(scale: float) -> None:
    for small, rank in ((2e-7, 2), (1e-6, 2), (0.6e-7, 1), (1e-9, 1)):
        assert choose(scale * np.diag([1.0, small]), np.ones(2))[1] == rank
    assert choose(scale * np.diag([1.0, 1e-9]), np.array([1.0, 1e9]))[1] == 2  # and to what units weigh


def test_generalised_quantities_by_hand() -> None:
    """Two rows of four rates, three of the tree: theta_S' = -J_S^-1 J_G theta_G' in every place."""
    J, drift = np.array([[2.0, 0.0, 1.0, 0.5], [0.0, 4.0, -1.0, 1.0]]), np.array([6.0, -8.0])
    found = generalise(J, drift, np.ones(4), 3)
    assert (found.rank, found.dependent.tolist(), found.independent.tolist()) == (2, [1, 0], [2, 3])
    near(found.H, [[0.25, -0.25], [-0.5, -0.25]], 1e-14)
    near(found.all_joints, [[-0.5, -0.25], [0.25, -0.25], [1, 0], [0, 1]], 1e-14)
    near(found.W, found.all_joints[:3], 1e-14)
    near(found.drift, [-3.0, 2.0, 0.0, 0.0], 1e-14)
    assert found.condition == pytest.approx(2.0)
    near(all_joints(np.array([[7.0]]), np.array([0]), np.array([1])), [[7.0], [1.0]], 0.0)
    free = generalise(np.zeros((0, 2)), np.zeros(0), np.ones(2), 2)
    assert (free.rank, free.condition, free.H.shape) == (0, 1.0, (0, 2))
    near(free.W, np.eye(2), 0.0)
    near(free.drift, np.zeros(2), 0.0)


def test_columns_weigh_what_their_inertia_says_and_those_of_loops_the_median() -> None:
    chain = sim.chain(carried_on("cylindrical"))
    J, drift, weight = papers_matrix(chain.mechanism)
    n = len(chain.v)
    of_tree = 1.0 / np.sqrt(np.diag(chain.mechanism.inertia()))
    near(weight, [*of_tree, *[np.median(of_tree)] * 2], 1e-14)
    assert J.shape == (6, n + 2) and drift.shape == (6,)


DRIVEN = """
schema: 1
name: driven
bodies:
  crank: {mass: 1, com: [0, 0, 0.1], gyration: [0.1, 0.1, 0.1]}
  rod: {mass: 1, com: [0.2, 0, 0.25], gyration: [0.1, 0.1, 0.1]}
  rocker: {mass: 1, com: [0.4, 0, 0.2], gyration: [0.1, 0.1, 0.1]}
joints:
  crank_pin: {type: rotational, parent: world, child: crank, position: [0, 0, 0], axis: [0, 1, 0]%s}
  elbow: {type: rotational, parent: crank, child: rod, position: [0, 0, 0.2], axis: [0, 1, 0]}
  wrist: {type: rotational, parent: rod, child: rocker, position: [0.4, 0, 0.35], axis: [0, 1, 0]}
  rocker_pin: {type: rotational, parent: world, child: rocker, position: [0.45, 0, 0], axis: [0, 1, 0]%s}
simulate: {duration: 1 s}
"""


@pytest.mark.parametrize("joint", ["crank_pin", "rocker_pin", ""])
def test_driven_freedoms_become_generalised_coordinates(joint: str) -> None:
    """Of the tree and of loops; where nobody says what was dependent before, and only there."""
    motion = ", motion: 0.3 rad*sin(2*t/1 s)"
    text = DRIVEN % tuple(motion if joint == name else "" for name in ("crank_pin", "rocker_pin"))
    chain = sim.chain(load_text(text), at=0.1)
    mask = driven_columns(chain.mechanism)
    assert [name for name, driven in zip(chain.names, mask, strict=True) if driven] == [joint][: bool(joint)]
    if joint:
        assert generalised(chain.mechanism).independent.tolist() == chain.places(joint).tolist()
    other = chain.places("elbow")
    rest = np.setdiff1d(np.arange(4), other)
    assert generalised(chain.mechanism, rest).independent.tolist() == other.tolist()


def test_positions_are_free_where_only_rates_are_bound() -> None:
    """A knife edge of a sledge keeps it from sliding sideways: two rates and three positions are free."""
    chain = sim.chain("snake", at=0.1)
    speeds = chain.coordinates
    positions = generalised_in_position(chain.mechanism, speeds)
    wheels = len(chain.loop_joints)
    assert wheels > 1 and positions.rank == 0 and speeds.rank == wheels == len(chain.J_C)
    assert positions.independent.tolist() == list(range(len(chain.v)))
    loop = sim.chain("four_bar", at=0.1)
    for k in range(4):  # what was dependent remains so
        here = Chain(loop.mechanism, loop.q, loop.v, preferred=np.delete(np.arange(4), k)).coordinates
        same = generalised_in_position(loop.mechanism, here)
        assert same.independent.tolist() == here.independent.tolist() and len(same.J_C) == 6
        near(same.J_dot_v, loop.J_C_drift, 0.0)


def test_a_tree_has_no_rows_and_all_its_rates_are_generalised() -> None:
    chain = sim.chain("rocket")
    n = len(chain.v)
    assert chain.rank == 0 and chain.independent == chain.names and chain.dependent == () and chain.loop_joints == ()
    assert chain.independent_rows.shape == (0,) and chain.J_S.shape == (0, 0) and chain.J_G.shape == (0, n)
    assert chain.H.shape == (0, n) and chain.H_drift.shape == (0,) and chain.J_C_drift.shape == (0,)
    near(chain.A, chain.mass_matrix, 0.0)
    near(chain.b, chain.bias + chain.gravity, 1e-14)


# --- sharing ----------------------------------------------------------------------------------------


def actuators(S: Any, A: Any = None) -> Actuation:
    """Return actuators of a chain with nothing but S and A."""
    S = np.array(S, float)
    count, mobility = S.shape
    names = tuple(f"j{k}" for k in range(count)) + tuple(f"g{k}" for k in range(mobility))
    T = np.vstack([S, np.eye(mobility)])
    columns = SimpleNamespace(joint=np.arange(len(names)))
    model = SimpleNamespace(columns=columns, type_of=lambda joint: SimpleNamespace(name="rotational"))
    chain: Any = SimpleNamespace(
        names=names, T=T, A=np.eye(mobility) if A is None else np.array(A, float), columns=np.arange(len(names)),
        mechanism=SimpleNamespace(model=model), coordinates=SimpleNamespace(independent=np.arange(count, len(names))),
        places=lambda actuated: np.array([names.index(name) for name in actuated], int),
    )  # fmt: skip
    return actuation_of(chain, names[:count])


def test_the_inverse_root_of_inertia_is_one_and_gives_a_little_where_there_is_none() -> None:
    rng = np.random.default_rng(0)
    B = rng.normal(size=(4, 4))
    for A in (B @ B.T, np.diag([1e-6, 1.0, 1e6]), np.array([[1.0, 1.0 - 1e-10], [1.0 - 1e-10, 1.0]])):
        root = _inverse_root(A)
        near(root @ A @ root.T, np.eye(len(A)), 1e-4)
    near(np.abs(_inverse_root(np.diag([4.0, 0.0]))[[0, 1]]).sum(axis=0), [0.5, 1e6], 1e-9)


@pytest.mark.parametrize(
    ("S", "rank", "kind"),
    [
        ([[1, 0], [0, 1]], 2, "exactly"), ([[1, 2]], 1, "under"), ([[1, 2], [2, 4]], 1, "under"),
        ([[1, 0], [0, 1e-7]], 2, "exactly"), ([[1, 0], [0, 1e-9]], 1, "under"), ([[0, 0]], 0, "under"),
        ([[1e-12, 0], [0, 1e-12]], 2, "exactly"), ([[1, 0], [0, 1], [1, 1]], 2, "over"),
    ],
)  # fmt: skip
def test_ranks_of_actuators(S: Any, rank: int, kind: str) -> None:
    found = actuators(S)
    count, mobility = np.shape(S)
    assert (found.rank, found.kind) == (rank, kind)
    assert (found.mobility, found.lacking, found.redundant) == (mobility, mobility - rank, count - rank)
    assert found.names == tuple(f"j{k}" for k in range(count)) and found.places.tolist() == list(range(count))
    near(found.S, S, 0.0)
    assert found.directions.shape == (count + mobility, mobility - rank) and len(found.along) == mobility - rank
    near(found.directions[:count] / max(1e-12, np.abs(S).max()), np.zeros((count, mobility - rank)), 1e-6)
    said = f"{kind} actuated: {count} actuators of rank {rank} for {mobility} freedoms"
    said += f"; nothing drives {', '.join(found.along)}" if found.lacking else ""
    said += f"; {count - rank} combinations of torques move nothing" if count > rank else ""
    assert str(found) == said


def test_directions_without_power_move_one_of_their_columns_at_unit_rate() -> None:
    """In the metric of A the motion that nothing drives is the one that torques do not make, and is named by g1."""
    found = actuators([[3.0, 1.0]], [[2.0, 0.5], [0.5, 4.0]])
    assert found.along == ("g1",)  # the faster one of what is free of power: g0 goes at -1/3 of it
    near(found.directions[:, 0], [0.0, -1.0 / 3.0, 1.0])
    near(found.reaching @ found.reaching.T, found.inverse_root @ np.outer([3, 1], [3, 1]) @ found.inverse_root.T)
    none = actuators(np.zeros((0, 2)))
    assert (none.rank, none.kind, none.along) == (0, "under", ("g0", "g1"))
    assert share(none, np.array([1.0, 2.0])).shape == (0,)
    assert share(none, np.array([1.0, 2.0]), bounds=np.zeros((0, 2))).shape == (0,)


@pytest.mark.parametrize("seed", range(12))
def test_shares_are_the_least_of_those_that_come_nearest(seed: int) -> None:
    """With bounds and weights: optimality of what is found, and nearest accelerations by another solver."""
    rng = np.random.default_rng([seed, 33])
    count, mobility = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    B = rng.normal(size=(mobility, mobility))
    A = B @ B.T + 0.1 * np.eye(mobility)
    S = rng.normal(size=(count, mobility))
    own, weights = actuators(S, A), rng.uniform(0.2, 5.0, count)
    tau_G = rng.normal(0, 5, mobility)
    L = np.linalg.cholesky(A)
    reach, wanted = np.linalg.solve(L, S.T), np.linalg.solve(L, tau_G)
    free = share(own, tau_G, weights)
    scaled = reach / np.sqrt(weights)
    near(free, np.linalg.lstsq(scaled, wanted, rcond=None)[0] / np.sqrt(weights), 1e-9)
    for size in (0.5, 0.9, 2.0):
        top = size * np.abs(free).max()
        bounds = np.array([-0.7 * top, top]) * np.ones((count, 1))
        found = share(own, tau_G, weights, bounds)
        assert np.all((bounds[:, 0] <= found) & (found <= bounds[:, 1]))
        best = lsq_linear(reach, wanted, (bounds[:, 0], bounds[:, 1]), tol=1e-14, method="bvls")
        missed = np.linalg.norm(reach @ found - wanted)
        assert missed <= np.linalg.norm(reach @ best.x - wanted) + 1e-7 * np.linalg.norm(wanted)
        if missed < 1e-9 * np.linalg.norm(wanted):  # in reach: w tau is normal to what moves nothing, but at bounds
            inner = (bounds[:, 0] + 1e-7 * top < found) & (found < bounds[:, 1] - 1e-7 * top)
            still = np.linalg.svd(S.T[:, inner])[2][np.linalg.matrix_rank(S.T[:, inner]) :]
            near(still @ (weights * found)[inner], np.zeros(len(still)), 1e-6)


def test_bounds_are_kept_as_closely_as_the_motion() -> None:
    """A bound a hundred-millionth below the share of least norm: another gives what is lost by it."""
    own, tau_G = actuators([[1.0], [1.0]]), np.array([2.0])
    found = share(own, tau_G, bounds=np.array([[-5.0, 1.0 - 1e-8], [-5.0, 5.0]]))
    assert found == pytest.approx([1.0 - 1e-8, 1.0 + 1e-8], abs=1e-10)
    large = share(own, 1e6 * tau_G, bounds=1e6 * np.array([[-5.0, 0.5], [-5.0, 5.0]]))
    assert large == pytest.approx([5e5, 15e5], rel=1e-9)


def test_the_weight_of_the_norm_keeps_nothing_from_coming_near() -> None:
    """Out of reach by one freedom; the other is made as well as without any weight."""
    own = actuators([[1.0, 0.0], [0.0, 1.0]])
    found = share(own, np.array([5.0, 3.0]), bounds=np.array([[-1.0, 1.0], [-10.0, 10.0]]))
    assert found == pytest.approx([1.0, 3.0], abs=2e-9)
    twins = actuators([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    found = share(twins, np.array([5.0, 3.0]), bounds=np.array([[-1.0, 1.0], [-10.0, 10.0], [-10.0, 10.0]]))
    assert found == pytest.approx([1.0, 1.5, 1.5], abs=1e-6)


def test_bounds_that_are_not_met_change_nothing_to_the_bit() -> None:
    own, tau_G = actuators([[0.3, 0.1], [0.7, -0.2], [0.1, 0.9]]), np.array([3.7, -0.3])
    free = share(own, tau_G)
    for bounds in (np.stack([free - 1e-3, free + 1e-3], axis=1), np.stack([free, free], axis=1)):
        assert share(own, tau_G, bounds=bounds).tolist() == free.tolist()


def test_weights_and_bounds_as_callers_give_them() -> None:
    """By joint with all its columns, by column, in order or one for all; both ends are told from one number."""
    own = Actuation(("a", "b[0]", "b[1]"), np.arange(3), np.eye(3), 3, np.zeros((3, 0)), (), np.eye(3))
    assert weights_of(own, None) is None and bounds_of(own, None) is None
    for given, expected in (
        ({"b": 2.0}, [1, 2, 2]), ({"b[1]": 3.0, "a": 0.5}, [0.5, 1, 3]), (4.0, [4, 4, 4]), ([1, 2, 3], [1, 2, 3]),
    ):  # fmt: skip
        assert weights_of(own, given).tolist() == expected
    inf = float("inf")
    for given, expected in (
        ({"b": 2.0}, [[-inf, inf], [-2, 2], [-2, 2]]), ({"b[0]": (1, 4)}, [[-inf, inf], [1, 4], [-inf, inf]]),
        (3.0, [[-3, 3]] * 3), ([1, 2, 3], [[-1, 1], [-2, 2], [-3, 3]]), ((0.0, 0.0), [[0, 0]] * 3),
        ([(0, 1), (2, 3), (4, 5)], [[0, 1], [2, 3], [4, 5]]), ({"a": (2.0, 2.0)}, [[2, 2], [-inf, inf], [-inf, inf]]),
    ):  # fmt: skip
        assert bounds_of(own, given).tolist() == expected
    for wrong in (0.0, -1.0, [1, 1, 0], [1, np.inf, 1], [np.nan, 1, 1]):
        with pytest.raises(ValueError, match=r"weights: found .*; expected numbers above zero, one for each actuator"):
            weights_of(own, wrong)
    for wrong in ({"a": (2, 1)}, {"a": (np.nan, 1)}, {"b": (0, np.nan)}):
        with pytest.raises(ValueError, match=r"bounds: found .*; expected a least and a largest torque for each"):
            bounds_of(own, wrong)
    with pytest.raises(ValueError, match=r"bounds: found 'c' .*; expected actuators: a, b\[0\], b\[1\]"):
        bounds_of(own, {"c": 1.0})


def test_what_is_at_its_bound_is_named() -> None:
    own = Actuation(("a", "b", "c", "d"), np.arange(4), np.eye(4), 4, np.zeros((4, 0)), (), np.eye(4))
    torque = np.array([2.0, -3.0, 1.0, -100.0])
    bounds = np.array([[-2.0, 2.0], [-3.0, 5.0], [-1.0, 1.0 + 1e-6], [-200.0, 200.0]])
    assert _at_bounds(own, torque, bounds) == ("a", "b")
    bounds[2, 1] = 1.0 + 0.9e-7  # within a billionth of the largest torque
    assert _at_bounds(own, torque, bounds) == ("a", "b", "c")
    assert _at_bounds(own, torque, None) == ()
    assert _at_bounds(own, 1e-3 * torque, 1e-3 * bounds + np.array([0.0, 0.9e-9])) == ("a", "b", "c")
