"""The oracle against MuJoCo and Pinocchio on random trees, and against what physics says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from tests.support import reference as ref
from tests.support.mechanisms import (
    KINDS,
    Mechanism,
    doubled,
    four_bar,
    mechanisms,
    moved,
    random_mechanism,
    random_tree,
    with_consistent_rates,
    with_coordinates,
    with_loose_rates,
)
from tests.support.peers import MujocoTree, PinocchioTree, needs
from tests.support.reference_motion import place
from tests.support.rotations import random_matrix

PEERS = [
    pytest.param(MujocoTree, marks=needs("mujoco"), id="mujoco"),
    pytest.param(PinocchioTree, marks=needs("pinocchio"), id="pinocchio"),
]
SEEDS = range(24)


def tree(seed: int) -> Mechanism:
    """Return a tree of 1 to 12 bodies, masses over 1, 10 or 10 000, away from its drawing."""
    rng = np.random.default_rng(seed)
    return with_coordinates(rng, random_tree(rng, 1 + seed % 12, mass_ratio=(1.0, 10.0, 1e4)[seed % 3]))


def size_of(*accelerations: np.ndarray) -> float:
    return max(1.0, *(float(np.max(np.abs(a))) for a in accelerations))


def test_the_trees_hold_every_kind_of_joint():
    kinds = {link.kind for seed in SEEDS for link in tree(seed).links}
    assert kinds == set(KINDS)


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("seed", SEEDS)
def test_accelerations_of_trees(peer, seed):
    mechanism = tree(seed)
    other = peer(mechanism)
    bodies = other.bodies()
    links = [ref.carry(link, mechanism.bodies, bodies) for link in mechanism.links]
    a, alpha, _ = ref.accelerations(bodies, links, mechanism.gravity)
    a_peer, alpha_peer = other.accelerations()
    assert a == pytest.approx(a_peer, abs=1e-9 * size_of(a, alpha))
    assert alpha == pytest.approx(alpha_peer, abs=1e-9 * size_of(a, alpha))


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("seed", SEEDS)
def test_coordinates_and_rates_mean_the_same(peer, seed):
    mechanism = tree(seed)
    bodies = peer(mechanism).bodies()
    for name, drawn in zip(mechanism.joints, mechanism.links, strict=True):
        link = ref.carry(drawn, mechanism.bodies, bodies)
        assert ref.residual(link) == pytest.approx(np.zeros(6 - ref.FREEDOMS[link.kind]), abs=1e-12)
        if link.kind in ("spherical", "free"):
            quat = mechanism.coordinates[name][-4:]
            turned = ref.rotation_vector(link.axes_a.T @ link.axes_b)
            angle = 2 * np.arctan2(np.linalg.norm(quat[1:]), abs(quat[0]))
            assert np.linalg.norm(turned) == pytest.approx(angle, abs=1e-12)
        elif link.kind != "fixed":
            assert ref.coordinates(link) == pytest.approx(mechanism.coordinates[name], abs=1e-12)
        expected = mechanism.rates.get(name, np.zeros(0))
        assert ref.rates(link, bodies) == pytest.approx(expected, abs=1e-11)


@needs("mujoco")
@pytest.mark.parametrize("seed", range(6))
def test_mass_matrix_is_the_bodies_inertia_seen_through_the_jacobian(seed):
    peer = MujocoTree(tree(seed))
    J = np.vstack([np.vstack(peer.jacobian(i)) for i in range(len(peer.ids))])
    expected = J.T @ ref.inertia_matrix(peer.bodies()) @ J
    assert peer.mass_matrix() == pytest.approx(expected, abs=1e-12 * np.max(np.abs(expected), initial=1))


def looped(seed: int, driven: bool = False) -> Mechanism:
    rng = np.random.default_rng(seed)
    loops = seed % 5
    count = int(rng.integers(1 + loops, 13))
    return with_consistent_rates(rng, random_mechanism(rng, count, loops, driven=driven))


@pytest.mark.parametrize("seed", range(20))
def test_power_equals_the_rate_of_energy(seed):
    """Links do no work; weight and springs keep energy, dampers take rate^2 of it."""
    mechanism = looped(seed, driven=True)
    bodies, links = mechanism.bodies, mechanism.links
    a, alpha, _ = ref.accelerations(bodies, links, mechanism.gravity)
    step = 1e-4

    def energy(time: float) -> float:
        v, w = (np.array([getattr(b, name) for b in bodies]) for name in ("v_com_W", "w_W"))
        # Orientation to second order: w dt + alpha dt^2 / 2, both in world axes.
        there = place(bodies, v * time + a * time**2 / 2, w * time + alpha * time**2 / 2)
        there = ref.with_speeds(there, v + a * time, w + alpha * time)
        carried = [ref.carry(link, bodies, there) for link in links]
        return ref.kinetic_energy(there, carried) + ref.potential_energy(there, carried, mechanism.gravity)

    lost = sum(link.drive.damping @ ref.rates(link, bodies) ** 2 for link in links if link.drive)
    assert (energy(step) - energy(-step)) / (2 * step) == pytest.approx(
        -lost, abs=1e-5 * max(1.0, size_of(a, alpha) ** 2)
    )


@pytest.mark.parametrize("seed", range(20))
def test_wrenches_and_accelerations_satisfy_newton_and_euler(seed):
    """The returned wrenches alone, with weight, give each body its acceleration."""
    mechanism = looped(seed)
    bodies, links = mechanism.bodies, mechanism.links
    a, alpha, wrenches = ref.accelerations(bodies, links, mechanism.gravity)
    force = np.array([body.mass * mechanism.gravity for body in bodies])
    moment = np.array([-np.cross(body.w_W, body.inertia_W @ body.w_W) for body in bodies])
    for link, wrench in zip(links, wrenches, strict=True):
        for index, sign in ((link.b, 1), (link.a, -1)):
            if index >= 0:
                force[index] += sign * wrench[3:]
                moment[index] += sign * (wrench[:3] + np.cross(link.p_b - bodies[index].com_W, wrench[3:]))
    tolerance = 1e-11 * size_of(a, alpha, wrenches)
    assert force == pytest.approx(np.array([b.mass * x for b, x in zip(bodies, a, strict=True)]), abs=tolerance)
    assert moment == pytest.approx(
        np.array([b.inertia_W @ x for b, x in zip(bodies, alpha, strict=True)]), abs=tolerance
    )


@pytest.mark.parametrize("seed", range(10))
def test_a_moved_scene_moves_the_same(seed):
    rng = np.random.default_rng(seed)
    mechanism = looped(seed, driven=True)
    R = random_matrix(rng)
    other = moved(mechanism, R, rng.normal(0, 10, 3))
    a, alpha, _ = ref.accelerations(mechanism.bodies, mechanism.links, mechanism.gravity)
    a_other, alpha_other, _ = ref.accelerations(other.bodies, other.links, other.gravity)
    assert a_other @ R == pytest.approx(a, abs=1e-9 * size_of(a, alpha))
    assert alpha_other @ R == pytest.approx(alpha, abs=1e-9 * size_of(a, alpha))


@needs("pinocchio")
@pytest.mark.parametrize("seed", range(12))
def test_a_moved_tree_has_moved_coordinates(seed):
    rng = np.random.default_rng(seed)
    mechanism, R, shift = tree(seed), random_matrix(rng), rng.normal(0, 10, 3)
    for here, there in zip(
        PinocchioTree(mechanism).bodies(), PinocchioTree(moved(mechanism, R, shift)).bodies(), strict=True
    ):
        assert there.com_W == pytest.approx(R @ here.com_W + shift, abs=1e-12)
        assert there.v_com_W == pytest.approx(R @ here.v_com_W, abs=1e-12 * (1 + np.linalg.norm(here.v_com_W)))
        assert there.w_W == pytest.approx(R @ here.w_W, abs=1e-12 * (1 + np.linalg.norm(here.w_W)))


@settings(deadline=None, derandomize=True, max_examples=40)
@given(mechanisms(max_bodies=8, max_loops=3))
def test_a_jump_of_speeds_that_satisfy_the_links_changes_nothing(mechanism):
    v, w, impulses, lost = ref.jump(mechanism.bodies, mechanism.links, [])
    scale = size_of(ref.speeds(mechanism.bodies))
    assert v == pytest.approx(np.array([b.v_com_W for b in mechanism.bodies]), abs=1e-11 * scale)
    assert w == pytest.approx(np.array([b.w_W for b in mechanism.bodies]), abs=1e-11 * scale)
    assert impulses == pytest.approx(np.zeros((len(mechanism.links), 6)), abs=1e-11 * scale)
    assert lost == pytest.approx(0, abs=1e-11)
    for name, rate in mechanism.rates.items():
        link = mechanism.links[mechanism.joints.index(name)]
        assert ref.rates(link, mechanism.bodies) == pytest.approx(rate, abs=1e-12 * scale)


@pytest.mark.parametrize("seed", range(5))
def test_redundant_rows_change_no_motion(seed):
    rng = np.random.default_rng(seed)
    single = with_consistent_rates(rng, four_bar(rng))
    assert single.mobility == 1 and doubled(single).mobility == 1
    a, alpha, once = ref.accelerations(single.bodies, single.links, single.gravity)
    twin = doubled(single)
    a_twin, alpha_twin, twice = ref.accelerations(twin.bodies, twin.links, twin.gravity)
    assert a_twin == pytest.approx(a, abs=1e-12 * size_of(a, alpha))
    assert alpha_twin == pytest.approx(alpha, abs=1e-12 * size_of(a, alpha))
    # The shortest multipliers share the load evenly between a joint and its copy.
    assert twice[-1] == pytest.approx(twice[-2], abs=1e-10 * size_of(once))


def test_contradicting_speeds_are_refused():
    rng = np.random.default_rng(0)
    mechanism = doubled(four_bar(rng))
    wild = ref.with_speeds(mechanism.bodies, rng.normal(size=(3, 3)), rng.normal(size=(3, 3)))
    with pytest.raises(ValueError, match="contradict"):
        ref.accelerations(wild, mechanism.links, mechanism.gravity)


@pytest.mark.parametrize("loops", range(5))
def test_random_mechanisms_have_the_loops_and_the_freedom_asked_for(loops):
    rng = np.random.default_rng(loops)
    for _ in range(4):
        count = int(rng.integers(1 + loops, 13))
        mechanism = random_mechanism(rng, count, loops)
        assert (len(mechanism.bodies), mechanism.loops) == (count, loops)
        assert mechanism.mobility >= 1
        named = with_loose_rates(rng, mechanism).rates
        assert sum(len(rate) for rate in named.values()) <= mechanism.mobility
