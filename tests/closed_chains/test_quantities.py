"""The papers' quantities by name: against peers, differences, conservation, and what they are made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sim
from sim.closed_chains.chain import Chain
from sim.kernels.project import add_freedoms
from sim.scene.load import load_text
from tests.dynamics.engine import simulator_for
from tests.support.mechanisms import KINDS, Mechanism, random_mechanism, random_tree, with_consistent_rates
from tests.support.mechanisms import with_coordinates as with_any_state
from tests.support.peers import MujocoTree, PinocchioTree, needs, start_coordinates

SCENES = Path(__file__).parents[2] / "scenes"
MOVING = [kind for kind in KINDS if kind != "fixed"]


def drawn_tree(seed: int) -> Mechanism:
    rng = np.random.default_rng([seed, 19])
    return with_any_state(rng, random_tree(rng, 3 + seed, MOVING))


def drawn_loops(seed: int, loops: int = 2) -> sim.Simulator:
    rng = np.random.default_rng([seed, 20])
    return simulator_for(with_consistent_rates(rng, random_mechanism(rng, 4 + loops, loops)))


def places_of(chain: Chain, mechanism: Mechanism) -> dict[str, np.ndarray]:
    """Return where the rates of each joint stand in our v."""
    return {name: chain.places(name) for name in mechanism.joints}


def near(found: Any, expected: Any, tolerance: float = 1e-10) -> None:
    """Hold arrays together, relative to the largest number."""
    expected = np.asarray(expected)
    assert np.shape(found) == expected.shape
    assert np.abs(found - expected).max(initial=0.0) <= tolerance * max(1.0, np.abs(expected).max(initial=0.0))


def moved(chain: Chain, direction: np.ndarray, step: float) -> Chain:
    """Return the chain a step along a direction of the freedoms, at the same rates."""
    q = chain.q.copy()
    add_freedoms(chain.mechanism.structure.tables.links, direction, step, q)
    return Chain(chain.mechanism, q, chain.v)


@needs("mujoco")
@pytest.mark.parametrize("seed", range(8))
def test_trees_beside_mujoco(seed: int) -> None:
    mechanism = drawn_tree(seed)
    peer, chain = MujocoTree(mechanism), sim.chain(simulator_for(mechanism))
    ours = places_of(chain, mechanism)
    theirs = np.zeros(len(chain.v), int)  # their column of each of ours
    for name, columns in peer.columns.items():
        theirs[ours[name]] = columns
    model, data, mujoco = peer.model, peer.data, peer.mujoco
    near(chain.mass_matrix, peer.mass_matrix()[np.ix_(theirs, theirs)])
    near(chain.bias + chain.gravity, data.qfrc_bias[theirs])
    for i, name in enumerate(mechanism.names):
        R = data.xmat[peer.ids[i]].reshape(3, 3)
        p_B = np.array([0.3, -0.2, 0.5])  # both have the axes of the drawing
        point = chain.position(name, p_B)
        arm = R.T @ (point - data.xpos[peer.ids[i]])
        assert np.abs(arm - p_B).max() < 1e-12
        J, drift = np.zeros((2, 3, model.nv)), np.zeros((2, 3, model.nv))
        mujoco.mj_jac(model, data, J[1], J[0], point, peer.ids[i])
        mujoco.mj_jacDot(model, data, drift[1], drift[0], point, peer.ids[i])
        near(chain.jacobian(name, p_B), J.reshape(6, -1)[:, theirs])
        near(chain.jacobian_drift(name, p_B), (drift @ data.qvel).ravel())
    mujoco.mj_subtreeVel(model, data)
    near(chain.centre_of_mass, data.subtree_com[0])
    near(chain.com_jacobian @ chain.v, data.subtree_linvel[0])
    near(chain.momentum[:3], data.subtree_angmom[0])
    about = np.zeros((3, model.nv))
    mujoco.mj_angmomMat(model, data, about, 0)
    near(chain.momentum_matrix[:3], about[:, theirs])


@needs("pinocchio")
@pytest.mark.parametrize("seed", range(8))
def test_trees_beside_pinocchio(seed: int) -> None:
    import pinocchio as pin

    mechanism = drawn_tree(seed)
    peer, chain = PinocchioTree(mechanism), sim.chain(simulator_for(mechanism))
    ours, free = places_of(chain, mechanism), [link.kind == "free" for link in mechanism.links]
    X = peer.turned(start_coordinates(mechanism), ours)
    near(X @ chain.v, peer.v, 1e-12)
    turning = np.zeros(len(chain.v))  # X' v
    for name, is_free in zip(mechanism.joints, free, strict=True):
        if is_free:
            at = peer.columns[name]
            turning[at[:3]] = -np.cross(peer.v[at[3:]], peer.v[at[:3]])
    model, data, q, v = peer.model, peer.data, peer.q, peer.v
    gravity, still = pin.computeGeneralizedGravity(model, data, q).copy(), np.zeros(len(v))
    # Its crba and ccrba take joints to be in depth-first order, which these are not: columns one by one.
    M = np.array([pin.rnea(model, data, q, still, unit) - gravity for unit in np.eye(len(v))])
    near(chain.mass_matrix, X.T @ M @ X)
    near(chain.gravity, X.T @ gravity)
    near(chain.bias + chain.gravity, X.T @ pin.rnea(model, data, q, v, turning))
    acceleration = np.random.default_rng(seed).normal(size=len(v))
    needed = pin.rnea(model, data, q, v, X @ acceleration + turning)
    near(chain.torques_of_tree(acceleration), X.T @ needed)
    for k, unit in enumerate(np.eye(len(v))):
        pin.computeCentroidalMomentum(model, data, q, X @ unit)
        near(chain.momentum_matrix[:, k], np.r_[data.hg.angular, data.hg.linear])
    pin.computeCentroidalMomentumTimeVariation(model, data, q, v, X @ acceleration + turning)
    near(chain.momentum_rate(acceleration), np.r_[data.dhg.angular, data.dhg.linear])
    near(chain.centre_of_mass, data.com[0])


@pytest.mark.parametrize("seed", range(4))
def test_jacobians_of_points_and_joints_are_slopes(seed: int) -> None:
    """Of places along any direction, and their drifts of rates along the motion; of both frames of every joint."""
    chain = sim.chain(drawn_loops(seed))
    model, rng, step = chain.mechanism.model, np.random.default_rng(seed), 1e-6
    direction = rng.normal(size=len(chain.v))
    ahead, behind = moved(chain, direction, step), moved(chain, direction, -step)
    later, before = moved(chain, chain.v, step), moved(chain, chain.v, -step)
    p_B = np.array([0.1, 0.2, -0.3])
    for name in model.body_names[1:]:
        slope = (ahead.position(name, p_B) - behind.position(name, p_B)) / (2 * step)
        near((chain.jacobian(name, p_B) @ direction)[3:], slope, 1e-8)
        rates = (later.jacobian(name, p_B) - before.jacobian(name, p_B)) @ chain.v / (2 * step)
        near(chain.jacobian_drift(name, p_B), rates, 1e-7)
    joints = [model.joint_names[j] for j in (*chain.mechanism.structure.carrier[1:], *chain.mechanism.structure.loops)]
    assert len(joints) == 8
    for joint in joints:
        for side in ("child", "parent"):
            body = model.body_names[int(model.joints[side][model.joint(joint)])]
            at, R = chain.joint_position(joint, side), chain.mechanism.work.bodies.R_WB[model.body_names.index(body)]
            p_B = R.reshape(3, 3).T @ (at - chain.position(body))
            near(chain.joint_jacobian(joint, side), chain.jacobian(body, p_B), 1e-12)
            near(chain.joint_jacobian_drift(joint, side), chain.jacobian_drift(body, p_B), 1e-12)
            if joint not in chain.loop_joints:  # places of loop joints' frames are bound to their bodies
                drawn = model.frames.p_PF if side == "parent" else None
                assert drawn is None or np.allclose(p_B, drawn[model.joint(joint)], atol=1e-12)


@pytest.mark.fast
@pytest.mark.parametrize("seed", range(4))
def test_bias_keeps_the_energy_and_gravity_is_a_slope(seed: int) -> None:
    """v . bias is the rate of v M v / 2 at v' = 0, as M' - 2 C is skew; gravity is the gradient of potential energy."""
    chain = sim.chain(drawn_loops(seed))
    step, later, before = 1e-6, moved(chain, chain.v, 1e-6), moved(chain, chain.v, -1e-6)
    slope = chain.v @ (later.mass_matrix - before.mass_matrix) @ chain.v / (4 * step)
    assert chain.v @ chain.bias == pytest.approx(slope, rel=1e-7, abs=1e-7)
    for k in range(len(chain.v)):
        ahead, behind = (moved(chain, np.eye(len(chain.v))[k], side * step) for side in (1.0, -1.0))
        raised = [float(one.mechanism.work.one.potential[0]) for one in (ahead, behind)]
        assert chain.gravity[k] == pytest.approx((raised[0] - raised[1]) / (2 * step), rel=1e-7, abs=1e-6)


@pytest.mark.fast
@pytest.mark.parametrize("seed", range(4))
def test_momentum_changes_by_what_acts_from_outside(seed: int) -> None:
    """Gravity, and the wrenches of joints to the world, at the engine's accelerations."""
    simulator = drawn_loops(seed, 1)
    chain, model = sim.chain(simulator), simulator.model
    outside = np.concatenate([np.zeros(3), chain.mass * model.gravity_W])
    held = 0
    for joint in simulator.connected:
        j = model.joint(joint)
        for side, sign in (("parent", 1.0), ("child", -1.0)):
            if model.joints[side][j] == 0:
                force = sign * simulator.force[joint]
                arm = chain.joint_position(joint, "child") - chain.centre_of_mass
                outside += np.concatenate([force[:3] + np.cross(arm, force[3:]), force[3:]])
                held += 1
    assert held > 0
    near(chain.momentum_rate(), outside, 1e-9)
    assert chain.v @ chain.mass_matrix @ chain.v / 2 == pytest.approx(simulator.energy["kinetic"], rel=1e-12)


@pytest.mark.parametrize("name", ["four_bar", "swing", "benchmarks/figure58", "bicycle"])
def test_generalised_quantities_belong_together(name: str) -> None:
    """Eqs. (4), (11)-(18), (22) and (23), at a state in motion."""
    chain = sim.chain(SCENES / f"{name}.yaml", at=0.2)
    scale = max(1.0, float(np.abs(chain.rates).max()))
    assert np.abs(chain.J_C @ chain.rates).max() < 1e-9 * scale and np.abs(chain.J_C @ chain.T).max() < 1e-9
    assert (
        chain.rank == np.linalg.matrix_rank(chain.J_C, tol=1e-7) and chain.T.shape[1] == len(chain.names) - chain.rank
    )
    assert chain.J_S.shape == (chain.rank, chain.rank)
    near(chain.H, -np.linalg.solve(chain.J_S, chain.J_G), 1e-9)
    near(chain.W @ chain.rates[chain.coordinates.independent], chain.v, 1e-9)
    near(chain.S(chain.independent), np.eye(len(chain.independent)), 1e-12)
    near(chain.S(chain.dependent), chain.H, 1e-12)
    near(chain.J_C @ chain.drift, -chain.J_C_drift, 1e-9)
    near(chain.H_drift, -np.linalg.solve(chain.J_S, chain.J_C_drift[chain.independent_rows]), 1e-8)
    assert np.linalg.eigvalsh(chain.A).min() > 0.0
    for i, unit in enumerate(np.eye(len(chain.independent))):  # step (3) of section 3.2
        near(chain.A[:, i], chain.generalised_force(unit) - chain.b, 1e-9)
    assert set(chain.independent) | set(chain.dependent) == set(chain.names)


def test_the_drift_of_dependent_joints_is_what_differences_give() -> None:
    """Eq. (22) along a closed motion: theta_S'' = H theta_G'' + H' theta_G' from rates of a run."""
    simulator = sim.Simulator(sim.compile(sim.load(SCENES / "four_bar.yaml")))
    simulator.advance(0.3)
    chain, step = sim.chain(simulator), 1e-5
    rates = []
    for t in (0.3 - step, 0.3 + step):
        rates.append(sim.chain(simulator.model, at=t, preferred=chain.coordinates.dependent).rates)
    found = (rates[1] - rates[0]) / (2 * step)
    near(chain.accelerations(found[chain.coordinates.independent]), found, 1e-6)
    assert np.abs(chain.H_drift).max() > 0.1


@pytest.mark.fast
def test_the_mass_matrix_has_armatures_and_nothing_that_elimination_is_lent() -> None:
    """A point mass that flies has no inertia against turning, which the engine lends it; a pendulum has a rotor."""
    chain = sim.chain(
        load_text("""
schema: 1
name: bare
bodies:
  point: {mass: 2 kg, com: [0, 0, 1], inertia: [0, 0, 0]}
  bob: {mass: 3 kg, com: [0, 0, -1], inertia: [0, 0, 0]}
joints:
  pin: {type: rotational, parent: world, child: bob, position: [0, 0, 0], axis: [0, 1, 0], armature: 0.5 kg*m^2}
simulate: {duration: 1 s}
""")
    )
    assert chain.mechanism.structure.tables.freedoms.lent.any()
    near(chain.mass_matrix[np.ix_(chain.places("pin"), chain.places("pin"))], [[3.5]])
    flies = chain.places("point")
    near(chain.mass_matrix[np.ix_(flies, flies)], np.diag([2.0, 2.0, 2.0, 0.0, 0.0, 0.0]))
    near(chain.armature, [0.5 if name == "pin" else 0.0 for name in chain.names])


@pytest.mark.fast
def test_a_chain_is_a_value_of_a_run_a_state_or_a_pose() -> None:
    model = sim.compile(sim.load(SCENES / "four_bar.yaml"))
    simulator, other = sim.Simulator(model), sim.Simulator(model)
    simulator.advance(0.1)
    other.advance(0.1)
    first, state = sim.chain(simulator), simulator.snapshot()
    M = first.mass_matrix.copy()
    simulator.advance(0.2)
    other.advance(0.2)
    assert np.array_equal(simulator.q, other.q) and np.array_equal(simulator.v, other.v)  # looking changes nothing
    for same in (sim.chain(model, state), sim.chain(simulator, state), sim.chain(model, q=first.q, v=first.v)):
        assert np.array_equal(same.mass_matrix, M) and np.array_equal(same.bias, first.bias)
        assert same.acceleration == pytest.approx(first.acceleration, rel=1e-12)
    assert not np.array_equal(sim.chain(simulator).mass_matrix, M) and np.array_equal(first.mass_matrix, M)


@pytest.mark.fast
@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda chain: chain.S("cranky"), "joints: found 'cranky'"),
        (lambda chain: chain.jacobian("nobody"), "body: found 'nobody'"),
        (lambda chain: chain.jacobian("crank", [0, 1]), "point: found"),
        (lambda chain: chain.joint_jacobian("nothing"), "joint: found 'nothing'"),
        (lambda chain: chain.joint_jacobian("crank_pivot", "left"), "'child' or 'parent'"),
        (lambda chain: chain.forward(np.zeros(2)), "torque: found shape"),
        (lambda chain: Chain(chain.mechanism, chain.q[:-1], chain.v), "q: found shape"),
        (lambda chain: Chain(chain.mechanism, chain.q, chain.v * np.nan), "finite"),
        (lambda chain: Chain(chain.mechanism, chain.q, chain.v).momentum_rate(), "not taken of a run"),
        (lambda chain: sim.chain(7), "scene: found 7"),
    ],
)
def test_what_cannot_be_meant_is_refused(ask: Any, says: str) -> None:
    chain = sim.chain(SCENES / "four_bar.yaml")
    with pytest.raises(ValueError) as refusal:
        ask(chain)
    assert says in str(refusal.value)


def test_information_tells_quantities_by_name() -> None:
    chain = sim.chain(SCENES / "four_bar.yaml", at=0.2)
    told = sim.info(SCENES / "four_bar.yaml", at=0.2, matrices=True)
    assert told["columns"] == list(chain.names)
    found = {one["quantity"]: one for one in told["dynamics"]}
    assert len(found) == 20 and found["H"]["equation"] == "(18)" and found["J_C"]["shape"] == [6, 4]
    for name, one in found.items():
        if name != "passive":  # a run has more of it
            assert np.array_equal(np.array(one["value"]).reshape(one["shape"]), getattr(chain, name)), name
    short = sim.info(SCENES / "four_bar.yaml", at=0.2)
    assert "columns" not in short
    assert [{k: v for k, v in one.items() if k != "value"} for one in told["dynamics"]] == short["dynamics"]
