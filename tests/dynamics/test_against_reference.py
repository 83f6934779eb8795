"""Forward dynamics of the engine against the oracle, MuJoCo and Pinocchio: accelerations and joint forces."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import sim
from sim.mechanism import structure
from tests.dynamics.engine import accelerations_of, bodies_of, links_at, relative_error, simulator_for
from tests.support import reference as ref
from tests.support.mechanisms import (
    KINDS,
    LOOP_KINDS,
    Mechanism,
    doubled,
    four_bar,
    hang,
    mechanisms,
    random_link,
    random_mechanism,
    random_tree,
    with_consistent_rates,
    with_coordinates,
)
from tests.support.peers import MujocoTree, PinocchioTree, needs
from tests.support.scene_texts import number


@pytest.fixture(autouse=True, params=["together", "along"])
def elimination(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run everything with loops eliminated all at once, and along the tree."""
    monkeypatch.setattr(structure, "cheaper_along", lambda *_: request.param == "along")


TOLERANCE = 1e-9  # relative to the largest; the engine alone is within 1e-13 where masses are alike


def with_torques(rng: np.random.Generator, mechanism: Mechanism) -> tuple[Mechanism, str]:
    """Return the mechanism with a constant torque on every driven freedom, and the controller that applies it."""
    links, lines = [], ["controllers:", "  drives:", "    type: torque", "    torques:"]
    for name, link in zip(mechanism.joints, mechanism.links, strict=True):
        if link.drive is not None:
            torque = rng.normal(0, 3, ref.FREEDOMS[link.kind])
            link = replace(link, drive=replace(link.drive, torque=torque))
            values = ", ".join(f'"{number(value)}"' for value in torque)
            lines.append(f"      {name}: {values}" if len(torque) == 1 else f"      {name}: [{values}]")
        links.append(link)
    acts = any(link.drive for link in links)
    return replace(mechanism, links=tuple(links)), "\n".join(lines) if acts else ""


def drive_wrench(link: ref.Link, bodies: Sequence[ref.Body], x: np.ndarray) -> np.ndarray:
    """Return (6,) moment about the link's point on b and force that its drive puts on b; x: accelerations (6 n,)."""
    if link.drive is None or not ref.FREEDOMS[link.kind]:
        return np.zeros(6)
    d, rows = link.drive, ref.free_rows(link, bodies)
    j = ref.dense(rows, link, len(bodies))
    speed = j @ ref.speeds(bodies)
    second = j @ x + np.array([row.drift for row in rows])
    push = d.torque - d.stiffness * (ref.coordinates(link) - d.rest) - d.damping * speed - d.armature * second
    total = sum(p * row.row_b for p, row in zip(push, rows, strict=True))
    force, moment = total[:3], total[3:]
    return np.concatenate([moment - np.cross(link.p_b - bodies[link.b].com_W, force), force])


def determinate_links(bodies: Sequence[ref.Body], links: Sequence[ref.Link]) -> np.ndarray:
    """Tell for each link whether its force is the only one possible: no null vector of J^T touches its rows."""
    J, _ = ref.constraint_rows(bodies, links)
    rank, _ = ref.constraint_rank(bodies, links)
    null = np.linalg.svd(J)[0][:, rank:]
    counts = np.cumsum([0] + [6 - ref.FREEDOMS[link.kind] for link in links])
    return np.array([np.max(np.abs(null[a:b]), initial=0.0) < 1e-7 for a, b in itertools.pairwise(counts)])


def determinate_components(
    bodies: Sequence[ref.Body], links: Sequence[ref.Link], axes: Sequence[np.ndarray]
) -> np.ndarray:
    """Tell (links, 12) of moment and force of each link, in world axes and in those given: no null vector has any."""
    J, _ = ref.constraint_rows(bodies, links)
    rank, _ = ref.constraint_rank(bodies, links)
    null = np.linalg.svd(J)[0][:, rank:]
    chosen = np.zeros((len(links), 12))
    for vector in null.T:
        world = ref.link_wrenches(bodies, links, vector)
        own = [(wrench.reshape(2, 3) @ R).ravel() for wrench, R in zip(world, axes, strict=True)]
        chosen = np.maximum(chosen, np.abs(np.hstack([world, np.reshape(own, (-1, 6))])))
    assert not np.any((chosen > 1e-9) & (chosen < 1e-5))  # there is no doubt about any of them
    return chosen < 1e-7


def assert_agrees(mechanism: Mechanism, tolerance: float = TOLERANCE, controllers: str = "") -> sim.Simulator:
    """Hold accelerations of all bodies and forces of all determinate joints against the oracle."""
    simulator = simulator_for(mechanism, extra=controllers)
    bodies = bodies_of(simulator, mechanism)
    links = links_at(mechanism, bodies)
    a, alpha, wrenches = ref.accelerations(bodies, links, mechanism.gravity)
    found_a, found_alpha = accelerations_of(simulator, mechanism)
    assert relative_error(found_a, a) < tolerance
    assert relative_error(found_alpha, alpha) < tolerance

    x = np.hstack([a, alpha]).ravel()
    wrenches = wrenches + [drive_wrench(link, bodies, x) for link in links]
    forces = np.array([simulator.state.force[name] for name in mechanism.joints])
    determinate = determinate_links(bodies, links)
    flags = simulator.flow.work.joints.determinate[[simulator.model.joint_names.index(n) for n in mechanism.joints]]
    assert flags.astype(bool).tolist() == determinate.tolist()
    drawn = simulator.flow.frames.R_PF  # on parents' axes
    axes = [
        (np.eye(3) if link.a < 0 else bodies[link.a].R_WB) @ drawn[simulator.model.joint(name)]
        for link, name in zip(links, mechanism.joints, strict=True)
    ]
    sure = simulator.flow.work.joints.components[[simulator.model.joint_names.index(n) for n in mechanism.joints]]
    assert sure.astype(bool).tolist() == determinate_components(bodies, links, axes).tolist()
    scale = max(np.max(np.abs(wrenches)), 1.0)
    assert np.max(np.abs(forces - wrenches)[sure[:, :6] == 1.0], initial=0.0) < tolerance * scale
    assert np.max(np.abs(forces - wrenches)[determinate], initial=0.0) < tolerance * scale
    assert_forces_carry_the_motion(mechanism, bodies, links, forces, (found_a, found_alpha), tolerance * scale)
    return simulator


def assert_forces_carry_the_motion(
    mechanism: Mechanism, bodies: Sequence[ref.Body], links: Sequence[ref.Link], forces: np.ndarray,
    accelerations: tuple[np.ndarray, np.ndarray], bound: float,
) -> None:  # fmt: skip
    """Newton and Euler of every body, with the joint forces of the engine: chosen ones must do it too."""
    for i, body in enumerate(bodies):
        force = body.mass * (accelerations[0][i] - mechanism.gravity)
        moment = body.inertia_W @ accelerations[1][i] + np.cross(body.w_W, body.inertia_W @ body.w_W)
        for link, wrench in zip(links, forces, strict=True):
            sign = (link.b == i) - (link.a == i)
            force = force - sign * wrench[3:]
            moment = moment - sign * (wrench[:3] + np.cross(link.p_b - body.com_W, wrench[3:]))
        assert np.max(np.abs(force)) < bound
        assert np.max(np.abs(moment)) < bound


@settings(derandomize=True, deadline=None, max_examples=12, suppress_health_check=list(HealthCheck))
@given(mechanisms(max_bodies=9, max_loops=4))
def test_random_mechanisms(mechanism):
    assert_agrees(mechanism, 1e-9)


@pytest.mark.parametrize("loops", range(5))
@pytest.mark.parametrize("seed", range(2))
def test_springs_dampers_armatures_and_torques(seed, loops):
    rng = np.random.default_rng([seed, loops])
    mechanism = random_mechanism(rng, 4 + loops, loops, driven=True)
    mechanism, controllers = with_torques(rng, with_consistent_rates(rng, mechanism))
    assert any(link.drive for link in mechanism.links)
    assert_agrees(mechanism, controllers=controllers)


@pytest.mark.fast
@pytest.mark.parametrize("on", [-1, 0])
@pytest.mark.parametrize("kind", LOOP_KINDS)
def test_every_joint_as_a_loop(kind, on):
    """The end of a chain of seven freedoms is held by the world, or by a body that moves, and driven there."""
    rng = np.random.default_rng(len(kind))
    chain = hang(rng, [(-1, "spherical"), (0, "universal"), (1, "rotational"), (2, "rotational")])
    if on >= 0:
        chain = hang(rng, [(-1, "universal"), (0, "spherical"), (1, "cylindrical"), (2, "universal")])
    loop = random_link(rng, kind, on, 3, chain.bodies[3].com_W + rng.normal(0, 0.2, 3), driven=True)
    mechanism = replace(chain, links=(*chain.links, loop), joints=(*chain.joints, "loop0"))
    mechanism, controllers = with_torques(rng, with_consistent_rates(rng, mechanism))
    simulator = assert_agrees(mechanism, controllers=controllers)
    loops = [simulator.model.joint_names[j] for j in simulator.flow.structure.loops]
    assert loops == ["loop0"]
    links = links_at(mechanism, bodies_of(simulator, mechanism))
    expected = ref.rates(links[-1], bodies_of(simulator, mechanism))
    assert np.atleast_1d(simulator.rate["loop0"]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_redundant_four_bar(seed):
    rng = np.random.default_rng(seed)
    mechanism = with_consistent_rates(rng, four_bar(rng))
    simulator = assert_agrees(mechanism)
    assert simulator.flow.work.one.rank[0] == 2  # five rows of the hinge, three of them redundant
    assert not simulator.flow.work.joints.determinate.any()


@pytest.mark.parametrize("seed", range(4))
def test_loop_joint_given_twice(seed):
    rng = np.random.default_rng([seed, 1])
    mechanism = with_consistent_rates(rng, random_mechanism(rng, 6, 2))
    once, twice = simulator_for(mechanism), assert_agrees(doubled(mechanism))
    for found, expected in zip(accelerations_of(twice, mechanism), accelerations_of(once, mechanism), strict=True):
        assert relative_error(found, expected) < TOLERANCE
    assert twice.flow.work.one.rank[0] == once.flow.work.one.rank[0]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(
    "peer", [pytest.param(MujocoTree, marks=needs("mujoco")), pytest.param(PinocchioTree, marks=needs("pinocchio"))]
)
def test_random_trees_against_peers(peer, seed):
    rng = np.random.default_rng([seed, 2])
    kinds = [kind for kind in KINDS if kind != "fixed"]
    mechanism = with_coordinates(rng, random_tree(rng, 3 + seed, kinds))
    tree, simulator = peer(mechanism), simulator_for(mechanism)
    for ours, theirs in zip(bodies_of(simulator, mechanism), tree.bodies(), strict=True):
        assert ours.com_W == pytest.approx(theirs.com_W, abs=1e-12)
        assert ours.v_com_W == pytest.approx(theirs.v_com_W, abs=1e-11)
    for found, expected in zip(accelerations_of(simulator, mechanism), tree.accelerations(), strict=True):
        assert relative_error(found, expected) < TOLERANCE
