"""The biped paper's properties, and its two formulations against each other and the engine."""

from __future__ import annotations

import numpy as np
import pytest

from sim.analysis.biped import virtual_decomposition as newton_euler
from sim.analysis.biped.double_support import (
    accelerations,
    least_norm,
    multipliers,
    reduce,
    reduced_matrices,
)
from sim.analysis.biped.euler_lagrange import equations
from sim.analysis.biped.over_actuation import PROCEDURES, best_share, front_reaction, share
from tests.biped.walkers import LEGS, WITH_ARMS, Moving, moving, on_two_feet, random_tree, simulator_of

TREES = [LEGS, WITH_ARMS, *(random_tree(n, n) for n in range(1, 6))]
STEP = 1e-6


def size(*arrays: np.ndarray) -> float:
    """Return the largest magnitude."""
    return max(float(np.abs(a).max(initial=0.0)) for a in arrays)


@pytest.mark.parametrize("parent", TREES, ids=str)
def test_lagranges_matrices_are_what_the_paper_says(parent: tuple[int, ...]) -> None:
    """Properties 1 to 3: M is symmetric and positive definite, M' - 2 C skew, all linear in the parameters."""
    for seed in range(5):
        one = moving(parent, seed, rubs=True)
        told = equations(one.walker, one.friction)
        M, C = told.mass_matrix(one.q), told.coriolis(one.q, one.rates)
        assert pytest.approx(M.T, abs=1e-12 * size(M)) == M and np.linalg.eigvalsh(M)[0] > 0.0
        # By complex steps: exact to roundoff.
        slope = np.array(told.functions[0](one.q + 1e-30j * one.rates, *told._numbers())).imag / 1e-30
        N = slope - 2.0 * C
        assert np.abs(N + N.T).max() <= 1e-10 * size(C)
        # The mass of the first link by itself, whose hinge does not move, does nothing.
        Y, alpha = told.regressor(one.q, one.rates, one.changes), told.parameters()
        left = told.left(one.q, one.rates, one.changes)
        assert Y @ alpha == pytest.approx(left, abs=1e-11 * size(left))
        assert Y.shape == (len(parent), 9 * len(parent)) and (np.abs(Y).max(axis=0) > 0.0)[1:].all()


@pytest.mark.parametrize("parent", TREES, ids=str)
def test_both_formulations_and_the_engine_agree_on_one_foot(parent: tuple[int, ...]) -> None:
    for seed in range(5):
        one = moving(parent, seed, rubs=True)
        by_lagrange = equations(one.walker, one.friction).torques(one.q, one.rates, one.changes)
        by_links = newton_euler.torques(one.walker, one.q, one.rates, one.changes, one.friction)
        assert by_links == pytest.approx(by_lagrange, abs=1e-9 * size(by_lagrange))
        assert engine_accelerations(one, by_lagrange) == pytest.approx(
            one.changes, abs=1e-9 * size(one.changes, by_lagrange)
        )


def engine_accelerations(one: Moving, torques: np.ndarray, tip: object = None) -> np.ndarray:
    """Return the rates of the absolute angles' rates that the engine finds under torques of motors, less friction."""
    simulator = simulator_of(one, tip)  # type: ignore[arg-type]
    hold(simulator, torques - one.friction.torque(one.walker.turns(one.rates)))
    flow = simulator.flow
    flow.observe()
    turned = np.array([flow.work.freedoms.vdot[flow.structure.v_of(flow.model, joint(simulator, k))][0]
                       for k in range(one.walker.links)])  # fmt: skip
    return np.linalg.solve(one.walker.actuation.T, turned)


def joint(simulator: object, k: int) -> int:
    """Return the joint of a hinge."""
    return int(simulator.flow.model.joint_names.index(f"hinge_{k}"))  # type: ignore[attr-defined]


def hold(simulator: object, torques: np.ndarray) -> None:
    """Let motors of hinges hold torques."""
    model = simulator.flow.model  # type: ignore[attr-defined]
    held = np.zeros(len(model.columns))
    for k, torque in enumerate(torques):
        held[model.columns_of(joint(simulator, k))] = torque
    simulator.hold(held)  # type: ignore[attr-defined]
    simulator.advance(0.0)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("parent", "link"), [(LEGS, 5), (WITH_ARMS, 6), (WITH_ARMS, 7)], ids=str)
def test_what_the_standing_tip_leaves(parent: tuple[int, ...], link: int) -> None:
    """J F = 0 (15), N of property 4 skew, by partition and by QR; and back from independent rates."""
    for seed in range(5):
        one, tip = on_two_feet(parent, seed, link)
        told = equations(one.walker)
        for method in ("partition", "qr"):
            here = reduce(one.walker, tip, one.q, one.rates, method)  # type: ignore[arg-type]
            assert np.abs(here.J @ here.F).max() <= 1e-12 * size(here.F)
            assert here.J @ here.drift == pytest.approx(-tip.drift(one.walker, one.q, one.rates), abs=1e-10)
            assert pytest.approx(np.eye(2), abs=1e-10 * size(here.pushes)) == here.pushes.T @ here.J.T
        fixed = tuple(
            int(k) for k in np.flatnonzero((reduce(one.walker, tip, one.q, one.rates).pushes == 0.0).all(axis=1))
        )
        sides = [
            reduce(one.walker, tip, one.q + way * one.rates, one.rates, independent=fixed) for way in (STEP, -STEP)
        ]
        F_rate = (sides[0].F - sides[1].F) / (2 * STEP)
        here = reduce(one.walker, tip, one.q, one.rates, independent=fixed)
        _, H = reduced_matrices(told, here, F_rate, one.q, one.rates)
        D = [
            reduced_matrices(told, side, F_rate, one.q + way * one.rates, one.rates)[0]
            for side, way in zip(sides, (STEP, -STEP), strict=True)
        ]
        N = (D[0] - D[1]) / (2 * STEP) - 2.0 * H
        assert np.abs(N + N.T).max() <= 1e-6 * size(*D, H) * max(1.0, size(here.F)) ** 3
        assert F_rate @ one.rates[list(fixed)] == pytest.approx(
            here.drift, abs=1e-6 * size(here.F) ** 2 * size(one.rates) ** 2
        )


@pytest.mark.parametrize("procedure", PROCEDURES)
@pytest.mark.parametrize(("parent", "link"), [(LEGS, 5), (WITH_ARMS, 6)], ids=str)
def test_torques_of_two_feet_move_all_formulations_alike(procedure: str, parent: tuple[int, ...], link: int) -> None:
    """Under any procedure's: accelerations by (21), those of the engine, multipliers (20), the foot's force (71)."""
    for seed in range(5):
        one, tip = on_two_feet(parent, seed, link, rubs=True)
        told = equations(one.walker, one.friction)
        shared = share(one.walker, 2, tip, one.q, one.rates, one.changes, one.friction)
        wanted = front_reaction(one.walker, one.q, one.rates, one.changes, 0.3)
        f_T1 = PROCEDURES[procedure](shared, wanted, np.eye(len(parent)))
        torques, foot = shared.torques(f_T1), shared.foot(f_T1)
        assert abs(foot[2]) <= 1e-9 * size(foot, torques, f_T1)
        here = reduce(one.walker, tip, one.q, one.rates)
        allowed = 1e-9 * size(torques, one.changes, foot) * max(1.0, np.linalg.cond(here.J))
        assert accelerations(told, here, one.q, one.rates, torques) == pytest.approx(one.changes, abs=allowed)
        assert multipliers(told, here, one.q, one.rates, one.changes, torques) == pytest.approx(foot[:2], abs=allowed)
        assert engine_accelerations(one, torques, tip) == pytest.approx(one.changes, abs=allowed)
        assert engine_force(one, torques, tip) == pytest.approx(foot[:2], abs=allowed)
        if "reactions" in procedure:
            assert foot[:2] == pytest.approx(wanted, abs=allowed)


def engine_force(one: Moving, torques: np.ndarray, tip: object) -> np.ndarray:
    """Return the force of the ground on the tip that the engine finds (x, z)."""
    simulator = simulator_of(one, tip)  # type: ignore[arg-type]
    hold(simulator, torques - one.friction.torque(one.walker.turns(one.rates)))
    simulator.flow.observe()
    model = simulator.flow.model
    return np.array(simulator.flow.work.joints.force[model.joint_names.index("tip")])[[3, 5]]


def test_the_first_two_procedures_find_the_least_torques() -> None:
    """They are one: any sigma is made good by eta.  No neighbour without a moment at the tip has smaller ones."""
    one, tip = on_two_feet(LEGS, 3, 5)
    shared = share(one.walker, 2, tip, one.q, one.rates, one.changes)
    rng, W = np.random.default_rng(4), np.diag([1.0, 2.0, 3.0, 1.0, 2.0, 3.0])
    found = PROCEDURES["trunk_wrench"](shared, np.zeros(2), W)
    assert PROCEDURES["internal_forces"](shared, np.zeros(2), W) == pytest.approx(found, abs=1e-9 * size(found))
    least = shared.torques(found) @ W @ shared.torques(found)
    for _ in range(20):
        other = rng.normal(size=3)
        other -= (
            shared.foot_matrix[2] * (shared.foot_matrix[2] @ other) / (shared.foot_matrix[2] @ shared.foot_matrix[2])
        )
        beside = shared.torques(found + other)
        assert beside @ W @ beside > least


def test_sigma_is_kept_between_none_and_all() -> None:
    """Eq. (74); eta then still lets the foot carry what is wanted."""
    one, tip = on_two_feet(LEGS, 1, 5)
    shared = share(one.walker, 2, tip, one.q, one.rates, one.changes)
    seen = set()
    for scale in np.linspace(-50.0, 50.0, 41):
        wanted = scale * np.array([1.0, -0.5]) * np.abs(shared.trunk).max()
        sigma = best_share(shared, wanted)
        assert 0.0 <= sigma <= 1.0
        seen.add(0.0 if sigma == 0.0 else 1.0 if sigma == 1.0 else 0.5)
        f_T1 = PROCEDURES["reactions_and_internal_forces"](shared, wanted, np.eye(6))
        assert shared.foot(f_T1) == pytest.approx([*wanted, 0.0], abs=1e-9 * size(wanted, shared.trunk))
    assert seen == {0.0, 0.5, 1.0}


def test_the_pseudo_inverse_gives_the_smallest_torques_and_reactions() -> None:
    """Eq. (27), which jumps where feet come and go."""
    one, tip = on_two_feet(LEGS, 2, 5, rubs=True)
    told, here = equations(one.walker, one.friction), reduce(one.walker, tip, one.q, one.rates)
    torques, force = least_norm(told, here.J, one.q, one.rates, one.changes)
    assert multipliers(told, here, one.q, one.rates, one.changes, torques) == pytest.approx(
        force, abs=1e-9 * size(force)
    )
    assert accelerations(told, here, one.q, one.rates, torques) == pytest.approx(
        one.changes, abs=1e-9 * size(one.changes)
    )
    shared = share(one.walker, 2, tip, one.q, one.rates, one.changes, one.friction)
    other = shared.torques(PROCEDURES["reactions"](shared, np.array([3.0, 50.0]), np.eye(6)))
    assert torques @ torques + force @ force < other @ other + 9.0 + 2500.0


def test_a_leg_that_is_straight_is_refused() -> None:
    one, _ = on_two_feet((-1, 0), 1, 1)
    from sim.analysis.biped.double_support import Tip

    along = one.walker.hinge[1]
    straight = np.array([0.3, 0.3])
    with pytest.raises(ValueError, match="cannot move both ways"):
        reduce(one.walker, Tip(1, along), straight, np.zeros(2))
