"""Rates after a connection: the paper's formulas in numpy against the oracle and the engine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from tests import reference as ref
from tests.dynamics.boundary_condition import (
    connect_one_chain,
    connect_two_chains,
    jacobian_by_differences,
    motion_of_new_joint,
)
from tests.mechanisms import Mechanism, hang, random_axes, with_coordinates
from tests.peers import MujocoTree, needs, start_rates

pytestmark = needs("mujoco")

FREEDOMS = {"fixed": 0, "rotational": 1, "spherical": 3}  # p of the new joint
SEEDS = range(4)
CHAIN = ("spherical", "rotational", "universal", "cylindrical", "spherical")
FLYING = ("free", "rotational", "spherical", "rotational")


@dataclass(frozen=True)
class Catch:
    """A moving mechanism and the joint that is about to connect bodies `a` and `b` of it."""

    mechanism: Mechanism
    a: int
    b: int
    kind: str
    point_W: np.ndarray
    axis_W: np.ndarray


def two_chains(seed: int, kind: str) -> Catch:
    """Return a chain that hangs from the world and one that flies; their last bodies catch each other."""
    rng = np.random.default_rng(seed)
    first = [(i - 1, joint) for i, joint in enumerate(CHAIN)]
    second = [(-1 if i == 0 else len(CHAIN) + i - 1, joint) for i, joint in enumerate(FLYING)]
    mechanism = with_coordinates(rng, hang(rng, [*first, *second]))
    return Catch(
        mechanism, len(CHAIN) - 1, len(CHAIN) + len(FLYING) - 1, kind, rng.normal(0, 0.5, 3), random_axes(rng)[0]
    )


def one_chain(seed: int, kind: str) -> Catch:
    """Return a chain whose last body catches its first."""
    rng = np.random.default_rng(seed)
    mechanism = with_coordinates(rng, hang(rng, [(i - 1, joint) for i, joint in enumerate(CHAIN)]))
    return Catch(mechanism, len(CHAIN) - 1, 0, kind, rng.normal(0, 0.5, 3), random_axes(rng)[0])


def changes_of_two_chains(tree: MujocoTree, catch: Catch, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the change of all rates (nv,) and F_1 (6,) by (11)-(19)."""
    columns = list(tree.columns.values())
    chains = (np.concatenate(columns[: len(CHAIN)]), np.concatenate(columns[len(CHAIN) :]))
    A = tree.mass_matrix()
    assert not A[np.ix_(*chains)].any()
    J = [jacobian_by_differences(tree, body, catch.point_W) for body in (catch.a, catch.b)]
    parts = connect_two_chains(
        (A[np.ix_(chains[0], chains[0])], A[np.ix_(chains[1], chains[1])]),
        (J[0][:, chains[0]], J[1][:, chains[1]]),
        motion_of_new_joint(catch.kind, catch.axis_W),
        (rates[chains[0]], rates[chains[1]]),
    )
    change = np.zeros(len(rates))
    change[chains[0]], change[chains[1]] = parts[0], parts[1]
    return change, parts[2]


def changes_of_one_chain(
    tree: MujocoTree, catch: Catch, rates: np.ndarray, as_printed: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the change of all rates (nv,) and F_1 (6,) by (20)-(24)."""
    J = (
        jacobian_by_differences(tree, catch.a, catch.point_W),
        jacobian_by_differences(tree, catch.b, catch.point_W),
    )
    J_n = motion_of_new_joint(catch.kind, catch.axis_W)
    return connect_one_chain(tree.mass_matrix(), J, J_n, rates, as_printed)


CASES = [
    pytest.param(two_chains, changes_of_two_chains, id="two_chains"),
    pytest.param(one_chain, changes_of_one_chain, id="one_chain"),
]


def rates_of(tree: MujocoTree) -> np.ndarray:
    return tree.data.qvel.copy()


def moving_with(tree: MujocoTree, rates: np.ndarray) -> list[ref.Body]:
    """Return the bodies at the tree's coordinates and these rates (nv,)."""
    before = rates_of(tree)
    tree.data.qvel[:] = rates
    bodies = tree.bodies()
    tree.data.qvel[:] = before
    return bodies


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", FREEDOMS)
@pytest.mark.parametrize(("build", "changes"), CASES)
def test_formulas_agree_with_the_oracle(build, changes, kind, seed):
    catch = build(seed, kind)
    tree = MujocoTree(catch.mechanism)
    before = tree.bodies()
    links = [ref.carry(link, catch.mechanism.bodies, before) for link in catch.mechanism.links]
    new = ref.draw_link(kind, catch.a, catch.b, catch.point_W, catch.axis_W)
    v, w, impulses, lost = ref.jump(before, links, [new])

    change, F_1 = changes(tree, catch, rates_of(tree))
    after = moving_with(tree, rates_of(tree) + change)
    assert np.array([b.v_com_W for b in after]) == pytest.approx(v, abs=1e-9)
    assert np.array([b.w_W for b in after]) == pytest.approx(w, abs=1e-9)
    assert impulses[-1] == pytest.approx(F_1, abs=1e-9)
    assert lost == pytest.approx(ref.kinetic_energy(before) - ref.kinetic_energy(after), abs=1e-9)
    assert lost > 1e-3  # something happened
    left = ref.rates(new, after)
    assert len(left) == FREEDOMS[kind]
    assert np.min(np.abs(left), initial=1.0) > 1e-6  # the freedoms of the new joint are not locked


@pytest.mark.parametrize("kind", FREEDOMS)
def test_equation_21_as_printed_creates_energy(kind):
    """Why (21) is corrected: with its J_1^T kinetic energy grows in some of these cases, and the loop stays open."""
    gains, gaps = [], []
    for seed in range(8):
        catch = one_chain(seed, kind)
        tree = MujocoTree(catch.mechanism)
        change, _ = changes_of_one_chain(tree, catch, rates_of(tree), as_printed=True)
        after = moving_with(tree, rates_of(tree) + change)
        gains.append(ref.kinetic_energy(after) - ref.kinetic_energy(tree.bodies()))
        new = ref.draw_link(kind, catch.a, catch.b, catch.point_W, catch.axis_W)
        gaps.append(np.max(np.abs(ref.dense(ref.locked_rows(new, after), new, len(after)) @ ref.speeds(after))))
    assert max(gains) > 1e-2
    assert min(gaps) > 1e-3


def test_rates_of_a_state_are_those_of_the_mechanism():
    catch = two_chains(0, "fixed")
    tree = MujocoTree(catch.mechanism)
    for name, rate in start_rates(catch.mechanism).items():
        assert rates_of(tree)[tree.columns[name]] == pytest.approx(rate, abs=0)
