"""Inverse dynamics of trees, closed chains and floating figures: forward after inverse, peers, and by hand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import sim
from sim.closed_chains.acting import joint_torques
from sim.closed_chains.chain import Chain
from sim.closed_chains.inverse import InverseDynamics
from sim.scene.load import load_text
from tests.dynamics.engine import simulator_for
from tests.support.mechanisms import (
    KINDS,
    Mechanism,
    doubled,
    four_bar,
    random_mechanism,
    random_tree,
    with_consistent_rates,
    with_coordinates,
)
from tests.support.peers import MujocoTree, PinocchioTree, needs, start_coordinates

MOVING = [kind for kind in KINDS if kind != "fixed"]
SCENES = Path(__file__).parents[2] / "scenes"
EACH = 29  # random mechanisms with each number of loops from 0 to 6: 203 in all


@dataclass
class Case:
    """A random mechanism in motion."""

    mechanism: Mechanism
    simulator: sim.Simulator
    chain: Chain
    rng: np.random.Generator


def drawn(seed: int, loops: int, **more: Any) -> Case:
    """Return a random mechanism with springs, dampers and rotors in the tree and in loops."""
    rng = np.random.default_rng([seed, loops, 21])
    mechanism = random_mechanism(rng, int(rng.integers(2 + loops, 6 + loops)), loops, driven=True, **more)
    mechanism = with_consistent_rates(rng, doubled(mechanism) if loops and seed % 5 == 0 else mechanism)
    simulator = simulator_for(mechanism)
    return Case(mechanism, simulator, sim.chain(simulator), rng)


def engine_under(case: Case, found: InverseDynamics) -> np.ndarray:
    """Return v' that the engine finds under the torques of actuators."""
    held = np.zeros(len(case.simulator.model.columns))
    held[case.chain.columns[found.actuation.places]] = found.torque
    case.simulator.hold(held)
    after = sim.chain(case.simulator).acceleration
    assert after is not None
    return after


def close(found: Any, expected: Any, tolerance: float = 1e-9) -> None:
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    assert np.abs(np.asarray(found) - expected).max(initial=0.0) <= tolerance * scale


def pick(case: Case, kind: str) -> list[str]:
    """Return names of actuated columns so that there are too few, just enough or too many of them."""
    chain, rng = case.chain, case.rng
    mobility, every = chain.T.shape[1], len(chain.names)
    if kind == "over":
        return [chain.names[k] for k in range(every)]
    order, chosen = rng.permutation(every), []
    count = mobility if kind == "exactly" else int(rng.integers(0, mobility))
    for k in order:  # as long as they are well apart from one another
        if len(chosen) < count and np.linalg.svd(chain.T[[*chosen, k]], compute_uv=False)[-1] > 0.01:
            chosen.append(k)
    short = kind == "exactly" and len(chosen) < count
    return list(chain.independent) if short else [chain.names[k] for k in chosen]


@pytest.mark.slow
@pytest.mark.parametrize("loops", range(7))
def test_forward_after_inverse_is_the_motion(loops: int) -> None:
    """On random closed mechanisms, by the papers' forward dynamics and the engine; loop joints are actuators, too."""
    seen, moving = set(), 0
    for seed in range(EACH):
        case = drawn(seed, loops)
        chain = case.chain
        allowed = 1e-9 * max(1.0, chain.coordinates.condition / 1e4)
        kind = ("exactly", "under", "over")[seed % 3]
        actuated = pick(case, kind)
        if kind == "under":  # what its own torques do is in reach
            torque = np.zeros(len(chain.names))
            torque[chain.places(actuated)] = case.rng.normal(0, 5, len(actuated))
            wanted = chain.forward(torque)
        else:
            wanted = chain.accelerations(case.rng.normal(0, 5, chain.T.shape[1]))
        found = sim.inverse_dynamics(chain, wanted[: len(chain.v)], actuated)
        assert found.opening < 1e-8 * max(1.0, np.abs(wanted).max())
        close(found.acceleration, wanted, allowed)
        close(found.residual, 0 * found.residual, 1e-9 * max(1.0, np.abs(found.tau_G).max(initial=0.0)))
        if kind == "under":
            close(found.torque, torque[chain.places(actuated)], 1e-7)
        acting = np.zeros(len(chain.names))
        acting[found.actuation.places] = found.torque
        close(chain.forward(acting), wanted, allowed)
        close(engine_under(case, found), wanted[: len(chain.v)], allowed)
        seen.add(found.actuation.kind)
        moving += chain.T.shape[1] > 0
    assert seen == {"exactly", "under", *(["over"] if loops else [])} and moving > EACH // 2


@needs("pinocchio")
@needs("mujoco")
@pytest.mark.parametrize("seed", range(8))
def test_trees_beside_the_peers_own(seed: int) -> None:
    """Every freedom is an actuator: the torques are those of `rnea` and of `mj_inverse`."""
    import pinocchio

    rng = np.random.default_rng([seed, 22])
    mechanism = with_coordinates(rng, random_tree(rng, 3 + seed, MOVING))
    chain = sim.chain(simulator_for(mechanism))
    acceleration = rng.normal(size=len(chain.v))
    found = sim.inverse_dynamics(chain, acceleration, chain.names)
    assert found.actuation.kind == "exactly"
    ours = {name: chain.places(name) for name in mechanism.joints}
    peer = MujocoTree(mechanism)
    for name, columns in peer.columns.items():
        peer.data.qacc[columns] = acceleration[ours[name]]
    peer.mujoco.mj_inverse(peer.model, peer.data)
    for name, columns in peer.columns.items():
        close(found.torque[ours[name]], peer.data.qfrc_inverse[columns])
    tree = PinocchioTree(mechanism)
    X, turning = tree.turned(start_coordinates(mechanism), ours), np.zeros(len(chain.v))
    for name, link in zip(mechanism.joints, mechanism.links, strict=True):
        if link.kind == "free":
            at = tree.columns[name]
            turning[at[:3]] = -np.cross(tree.v[at[3:]], tree.v[at[:3]])
    needed = pinocchio.rnea(tree.model, tree.data, tree.q, tree.v, X @ acceleration + turning)
    close(found.torque, X.T @ needed)


@pytest.mark.parametrize("loops", range(3))
@pytest.mark.parametrize("seed", range(4))
def test_wrenches_of_joints_are_those_of_the_engine(seed: int, loops: int) -> None:
    """Of loop joints and of the tree, where they are the only ones possible; by least norm where they are not."""
    case = drawn(seed, loops)
    wanted = case.chain.accelerations(case.rng.normal(0, 5, case.chain.T.shape[1]))
    found = sim.inverse_dynamics(case.chain, wanted[: len(case.chain.v)], pick(case, "exactly"))
    engine_under(case, found)
    model, work = case.simulator.model, case.simulator.flow.work
    force, compared = case.simulator.force, 0
    scale = max(1.0, *(float(np.abs(force[name]).max()) for name in found.wrenches))
    assert set(found.wrenches) == set(case.simulator.connected)
    for name, wrench in found.wrenches.items():
        sure = work.joints.components[model.joint(name), :6] == 1.0
        close(wrench[sure] / scale, force[name][sure] / scale, 1e-8)
        compared += int(sure.sum())
    assert compared > 0


FIVE_BAR = """
schema: 1
name: five_bar
bodies:
  left: {mass: 1e-9 kg, com: [0, 0, 0.1], gyration: [0.01, 0.01, 0.01]}
  right: {mass: 1e-9 kg, com: [0.3, 0, 0.1], gyration: [0.01, 0.01, 0.01]}
  upper_left: {mass: 2 kg, com: [0.18, 0, 0.45], inertia: [0, 0, 0], points: {tip: [0.18, 0, 0.45]}}
  upper_right: {mass: 1e-9 kg, com: [0.3, 0, 0.3], gyration: [0.01, 0.01, 0.01]}
joints:
  motor_l: {type: rotational, parent: world, child: left, position: [0, 0, 0], axis: [0, 1, 0]}
  motor_r: {type: rotational, parent: world, child: right, position: [0.3, 0, 0], axis: [0, 1, 0]}
  elbow_l: {type: rotational, parent: left, child: upper_left, position: [-0.05, 0, 0.2], axis: [0, 1, 0]}
  elbow_r: {type: rotational, parent: right, child: upper_right, position: [0.38, 0, 0.22], axis: [0, 1, 0]}
  wrist: {type: rotational, parent: upper_left, child: upper_right, position: [0.18, 0, 0.45], axis: [0, 1, 0]}
simulate: {duration: 1 s}
"""


@pytest.mark.fast
def test_a_five_bar_by_hand() -> None:
    """Rods without mass are pulled along themselves: two pulls accelerate the mass at the tip, and turn the motors."""
    chain = sim.chain(load_text(FIVE_BAR))
    motors = np.array([[0.0, 0, 0], [0.3, 0, 0]])
    elbows, tip = np.array([[-0.05, 0, 0.2], [0.38, 0, 0.22]]), np.array([0.18, 0, 0.45])
    along = (tip - elbows) / np.linalg.norm(tip - elbows, axis=1)[:, None]
    wanted, load = np.array([0.7, 0.0, -1.3]), np.array([5.0, 0.0, -3.0])  # of the tip, m/s^2; pull from outside, N
    need = 2.0 * (wanted - [0, 0, -9.81]) - load
    pulls = np.linalg.solve(along[:, [0, 2]].T, need[[0, 2]])
    arms = elbows - motors
    by_hand = [np.cross(arms[i], pulls[i] * along[i])[1] for i in range(2)]
    J = chain.jacobian("upper_left.tip")[3:] @ chain.W
    theta_G = np.linalg.solve(J[[0, 2]], wanted[[0, 2]])  # at rest
    motion = dict(zip(chain.independent, theta_G, strict=True))
    outside = {"upper_left.tip": np.r_[np.zeros(3), load]}
    found = sim.inverse_dynamics(chain, motion, ["motor_l", "motor_r"], external=outside)
    assert str(found.actuation) == "exactly actuated: 2 actuators of rank 2 for 2 freedoms"
    assert [found.torques[name] for name in ("motor_l", "motor_r")] == pytest.approx(by_hand, rel=1e-6)
    assert found.missing == {} and found.at_bounds == ()
    assert found.wrenches["wrist"][3:] == pytest.approx(-pulls[1] * along[1], abs=1e-6)  # on the rod, by the mass
    for i, name in enumerate(("elbow_l", "elbow_r")):  # the left rod carries the mass at its end
        assert found.wrenches[name][3:] == pytest.approx(pulls[i] * along[i], abs=1e-6)
        assert found.wrenches[name][:3] == pytest.approx(np.zeros(3), abs=1e-6)
    same = sim.inverse_dynamics(chain, chain.accelerations(theta_G)[: len(chain.v)], ["motor_l", "motor_r"])
    assert same.torque != pytest.approx(found.torque)  # without the pull from outside
    assert same.acceleration == pytest.approx(found.acceleration, rel=1e-12)


@pytest.mark.fast
def test_a_figure_that_nothing_holds_lacks_a_wrench() -> None:
    """Joints cannot move the whole: what is missing is the wrench on the free body, which the ground may give."""
    rng = np.random.default_rng(5)
    tree = random_tree(rng, 5, ("rotational", "spherical"))
    links = (*(link if link.a >= 0 else type(link)(**{**vars(link), "kind": "free"}) for link in tree.links),)
    roots = [name for name, link in zip(tree.joints, links, strict=True) if link.kind == "free"]
    chain = sim.chain(simulator_for(with_coordinates(rng, type(tree)(**{**vars(tree), "links": links}))))
    joints = [name for name in tree.joints if name not in roots]
    acceleration = rng.normal(size=len(chain.v))
    found = sim.inverse_dynamics(chain, acceleration, joints)
    said = found.actuation
    assert (said.kind, said.lacking, said.redundant) == ("under", 6 * len(roots), 0)
    assert sorted(found.missing) == sorted(f"{name}[{k}]" for name in roots for k in range(6))
    need = chain.torques_of_tree(acceleration)
    for name, value in found.missing.items():
        assert value == pytest.approx(float(need[chain.places(name)[0]]), abs=1e-10)
    assert found.torque != pytest.approx(need[said.places])  # they do what they can to come near
    outside = {}
    for name in roots:  # force in world axes, moment in those of the body
        body = tree.names[tree.joints.index(name)]
        R = chain.mechanism.work.bodies.R_WB[chain.mechanism.model.body_names.index(body)].reshape(3, 3)
        wrench = need[chain.places(name)]
        outside[body] = np.concatenate([R @ wrench[3:], wrench[:3]])
    held = sim.inverse_dynamics(chain, acceleration, joints, external=outside)
    assert np.abs(list(held.missing.values())).max() < 1e-9
    close(held.torque, need[said.places])


def four_bar_of_two_motors() -> tuple[Chain, np.ndarray]:
    rng = np.random.default_rng(6)
    chain = sim.chain(simulator_for(with_consistent_rates(rng, four_bar(rng))))
    return chain, chain.accelerations(np.array([2.0]))[: len(chain.v)]


@pytest.mark.fast
def test_torques_are_of_least_norm_by_weights_and_within_bounds() -> None:
    """Against the closed form of one equation s . tau = tau_G, and against a solver of another kind."""
    chain, wanted = four_bar_of_two_motors()
    plain = sim.inverse_dynamics(chain, wanted, chain.names)
    s, tau_G = plain.actuation.S[:, 0], float(plain.tau_G[0])
    assert str(plain.actuation) == (
        "over actuated: 4 actuators of rank 1 for 1 freedoms; 3 combinations of torques move nothing"
    )
    assert plain.torque == pytest.approx(s * tau_G / (s @ s), rel=1e-12)
    w = np.array([1.0, 4.0, 0.25, 2.0])
    for weights in (w, dict(zip(chain.names, w, strict=True))):
        weighed = sim.inverse_dynamics(chain, wanted, chain.names, weights=weights)
        assert weighed.torque == pytest.approx(s / w * tau_G / (s @ (s / w)), rel=1e-12)
    strongest = int(np.argmax(np.abs(weighed.torque)))
    most = 0.4 * abs(weighed.torque[strongest])
    bound = sim.inverse_dynamics(chain, wanted, chain.names, weights=w, bounds={chain.names[strongest]: most})
    others = minimize(
        lambda tau: w @ tau**2 / 2, plain.torque, jac=lambda tau: w * tau, method="SLSQP",
        constraints={"type": "eq", "fun": lambda tau: s @ tau - tau_G, "jac": lambda tau: s},
        bounds=[(-most, most) if k == strongest else (None, None) for k in range(4)], options={"ftol": 1e-14},
    )  # fmt: skip
    assert bound.torque == pytest.approx(others.x, abs=1e-6)
    assert bound.at_bounds == (chain.names[strongest],) and abs(bound.residual[0]) < 1e-12
    assert w @ bound.torque**2 > w @ weighed.torque**2


@pytest.mark.fast
def test_bounds_that_keep_a_motion_out_of_reach_leave_a_residual() -> None:
    chain, wanted = four_bar_of_two_motors()
    found = sim.inverse_dynamics(chain, wanted, chain.names, bounds=1e-3)
    s, tau_G = found.actuation.S[:, 0], float(found.tau_G[0])
    assert found.at_bounds == chain.names
    assert found.torque == pytest.approx(1e-3 * np.sign(s * tau_G))
    assert found.residual[0] == pytest.approx(tau_G - 1e-3 * np.abs(s).sum() * np.sign(tau_G))
    one_way = sim.inverse_dynamics(chain, wanted, chain.names, bounds=[(0, 50), (0, 50), (0, 50), (0, 50)])
    assert np.all(one_way.torque >= 0.0)


@pytest.mark.fast
@pytest.mark.parametrize("seed", range(5))
def test_a_motion_by_some_joints_is_the_whole_motion(seed: int) -> None:
    """Any joints that determine it, and v' of all; what does not fit the loops is told, and left out."""
    case = drawn(seed, 1)
    chain = case.chain
    wanted = chain.accelerations(case.rng.normal(0, 3, chain.T.shape[1]))
    by_all = sim.inverse_dynamics(chain, wanted[: len(chain.v)], pick(case, "exactly"))
    some = {name: wanted[chain.places(name)[0]] for name in pick(case, "exactly")}
    by_some = sim.inverse_dynamics(chain, some, by_all.actuation.names)
    close(by_some.torque, by_all.torque, 1e-8)
    close(by_some.acceleration, wanted, 1e-8)
    assert by_some.opening < 1e-9
    off = np.linalg.svd(chain.W)[0][:, -1] if chain.W.shape[0] > chain.W.shape[1] else None
    if off is not None:  # across what the loops allow
        opened = sim.inverse_dynamics(chain, wanted[: len(chain.v)] + 0.1 * off, by_all.actuation.names)
        assert opened.opening == pytest.approx(0.1 * np.abs(off).max(), rel=1e-6)
        close(opened.acceleration, wanted, 1e-8)


@pytest.mark.fast
@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"acceleration": np.zeros(2)}, "acceleration: found shape (2,); expected (3,)"),
        ({"acceleration": np.full(3, np.nan)}, "not finite"),
        ({"acceleration": {}}, "determines 0 of 1 freedoms"),
        ({"acceleration": {"j0": [1.0, 2.0]}}, "has 1 freedoms"),
        ({"acceleration": {"nothing": 1.0}}, "joints: found 'nothing'"),
        ({"actuated": ["j0", "j0"]}, "expected each of them once"),
        ({"actuated": "nothing"}, "joints: found 'nothing'"),
        ({"weights": {"nothing": 1.0}}, "weights: found 'nothing'"),
        ({"weights": -1.0}, "numbers above zero"),
        ({"bounds": {"j0": (2, 1)}}, "a least and a largest torque"),
        ({"external": {"nobody": np.zeros(6)}}, "external: found 'nobody'"),
        ({"external": {"crank": np.zeros(3)}}, "expected torque and force"),
        ({"external": {"j0": np.zeros(2)}}, "expected 1 finite torques"),
        ({"external": {"loop0": np.nan}}, "expected 1 finite torques"),
    ],
)
def test_what_cannot_be_meant_is_refused(more: dict[str, Any], says: str) -> None:
    chain, wanted = four_bar_of_two_motors()
    given = {"acceleration": wanted, "actuated": chain.names[:1]} | more
    with pytest.raises(ValueError) as refusal:
        sim.inverse_dynamics(chain, given.pop("acceleration"), given.pop("actuated"), **given)
    assert says in str(refusal.value)


GEARS = """
schema: 1
name: gears
bodies:
  base: {mass: 3 kg, com: [0, 0, -0.1], gyration: [0.2, 0.2, 0.2]}
  sun: {mass: 2 kg, com: [0.02, 0, 0.3], gyration: [0.1, 0.1, 0.1]}
  arm: {mass: 1 kg, com: [0.5, 0.1, 0], gyration: [0.2, 0.2, 0.2]}
  tip: {mass: 1 kg, com: [1.1, 0, 0.1], gyration: [0.1, 0.1, 0.1]}
joints:
  tilt: {type: universal, parent: world, child: base, position: [0, 0, -0.3], axis: [1, 0, 0], second_axis: [0, 1, 0]}
  spin: {type: rotational, parent: base, child: sun, position: [0, 0, 0.3], axis: [0, 0, 1]}
  swing: {type: rotational, parent: base, child: arm, position: [0, 0, 0], axis: [0, 1, 0]}
  reach: {type: rotational, parent: arm, child: tip, position: [1, 0, 0], axis: [0, 0, 1]}
constraints:
  mesh: {type: gear, joints: [spin, reach], ratio: -2}
initial: {spin: {rate: 2 rad/s}, reach: {rate: -1 rad/s}, swing: {rate: 1 rad/s}}
simulate: {duration: 1 s}
"""


@pytest.mark.parametrize("name", ["bicycle", "snake", "gears"])
def test_wheels_and_gears_carry_what_the_engine_says(name: str) -> None:
    """Wrenches of the tree's joints where rows of constraints act on links, too, and torques hold the motion."""
    model = sim.compile(load_text(GEARS) if name == "gears" else sim.load(SCENES / f"{name}.yaml"))
    simulator = sim.Simulator(model)
    simulator.advance(0.2)
    chain = sim.chain(simulator)
    rng = np.random.default_rng(10)
    now = chain.coordinates.independent
    wanted = chain.accelerations(rng.normal(size=len(now)))
    before = (simulator.flow.work.torque - joint_torques(chain.mechanism))[chain.columns]  # controllers, friction
    found = sim.inverse_dynamics(chain, wanted[: len(chain.v)], chain.names)
    assert found.multipliers
    held = np.zeros(len(model.columns))
    held[chain.columns[found.actuation.places]] = found.torque - before[found.actuation.places]
    simulator.hold(held)
    after = sim.chain(simulator)
    close(after.acceleration, wanted[: len(chain.v)], 1e-9)
    work, force, compared = simulator.flow.work, simulator.force, 0
    scale = max(1.0, *(float(np.abs(force[joint]).max()) for joint in found.wrenches))
    for joint, wrench in found.wrenches.items():
        sure = work.joints.components[model.joint(joint), :6] == 1.0
        close(wrench[sure] / scale, force[joint][sure] / scale, 1e-8)
        compared += int(sure.sum())
    assert compared > 0


@pytest.mark.fast
def test_one_number_is_no_acceleration_of_a_joint_of_two_freedoms() -> None:
    chain = sim.chain(sim.load("woodpecker"))
    with pytest.raises(ValueError, match=r"acceleration: 'sleeve' has 3 freedoms; found 1.0"):
        sim.inverse_dynamics(chain, {"sleeve": 1.0, "spring": 0.0}, ["sleeve", "spring"])
    found = sim.inverse_dynamics(chain, {"sleeve": [1.0, 2.0, 3.0], "spring": 4.0}, ["sleeve", "spring"])
    assert sorted(found.acceleration) == pytest.approx([1.0, 2.0, 3.0, 4.0])


@pytest.mark.fast
@pytest.mark.parametrize("which", ["q", "v"])
def test_a_state_with_one_number_that_is_not_finite_is_refused(which: str) -> None:
    with pytest.raises(ValueError, match=rf"^{which}: found shape \(3,\); expected \(3,\) finite numbers"):
        sim.chain(sim.load("four_bar"), **{which: [0.0, np.nan, 0.0]})


@pytest.mark.fast
def test_what_lacks_actuation_is_named_by_generalised_coordinates() -> None:
    """Whichever joint of a four-bar is theta_G, also where it turns more slowly than others."""
    run = sim.Simulator(sim.compile(sim.load("four_bar")))
    run.advance(0.3)
    speeds = np.abs(sim.chain(run).rates)
    named = set()
    for k in range(4):
        chain = sim.chain(run, preferred=np.delete(np.arange(4), k))
        (independent,) = chain.independent
        named.add(independent)
        none = sim.inverse_dynamics(chain, np.zeros(3), [])
        assert none.actuation.along == (independent,)
    assert len(named) > 1
    assert len(set(speeds.round(6))) > 1
