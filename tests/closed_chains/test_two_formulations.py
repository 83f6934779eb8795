"""The papers' generalised coordinates against the multipliers of the engine; each knows nothing of the other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sim
from sim.assembly.loop_closure import close_positions
from sim.closed_chains.generalised import choose, generalise
from sim.kernels.project import add_freedoms
from tests.closed_chains.papers import Both, both_ways
from tests.dynamics.engine import simulator_for, simulator_of
from tests.dynamics.test_against_reference import with_torques
from tests.support import reference as ref
from tests.support.mechanisms import add_loop, doubled, four_bar, random_mechanism, with_consistent_rates
from tests.support.scene_texts import scene_text

SCENES = Path(__file__).parents[2] / "scenes"
REAL = ("rotational", "translational", "cylindrical", "universal", "planar")  # coordinates are numbers
DRIVEN = {"slider_crank"}  # the papers prescribe no joint
SHIPPED = sorted({str(p.relative_to(SCENES).with_suffix("")) for p in SCENES.rglob("*.yaml")} - DRIVEN)
TOUCHING = {n for n in SHIPPED if "\ncontacts:" in (SCENES / f"{n}.yaml").read_text(encoding="utf-8")}


def shipped(name: str) -> sim.Simulator:
    return sim.Simulator(sim.compile(sim.load(SCENES / f"{name}.yaml")))


def random_simulator(seed: int, loops: int, redundant: bool) -> sim.Simulator:
    """Return a moving mechanism whose joints, in the tree and in loops, have springs, dampers, rotors and torques."""
    rng = np.random.default_rng(seed)
    mechanism = random_mechanism(rng, int(rng.integers(1 + loops, 8)), loops, driven=True)
    if redundant and loops:
        mechanism = doubled(mechanism)
    mechanism, torques = with_torques(rng, with_consistent_rates(rng, mechanism))
    return simulator_of(scene_text(mechanism, extra=torques))


def check_coordinates(both: Both) -> None:
    """m by rank is the loop joints' own columns and the rank of their rows; H and W map the present rates."""
    mechanism, g = both.mechanism, both.coordinates
    own = len(both.rates) - mechanism.structure.sizes.v
    hard = mechanism.jacobian()[mechanism.locked()]
    size = np.linalg.svd(hard, compute_uv=False) if hard.size else np.zeros(0)
    assert g.rank == own + int((size > 1e-7 * size.max(initial=0.0)).sum())
    free = both.rates[g.independent]
    largest = np.abs(both.rates).max(initial=1.0)
    allowed = 1e-9 * largest * max(1.0, g.condition / 1e4)
    np.testing.assert_allclose(g.W @ free, both.rates[: mechanism.structure.sizes.v], rtol=0, atol=allowed)
    np.testing.assert_allclose(g.H @ free, both.rates[g.dependent], rtol=0, atol=allowed)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_scenes_at_the_start(name: str) -> None:
    both = both_ways(shipped(name))
    assert both.error <= both.allowed
    check_coordinates(both)


# Points of contact are no joints of the papers: what touches is compared before it does.
@pytest.mark.parametrize(
    "name", [n for n in SHIPPED if not n.startswith(("figures/", "benchmarks/")) and n not in TOUCHING]
)
def test_shipped_scenes_after_a_second(name: str) -> None:
    simulator = shipped(name)
    simulator.advance(1.0)
    both = both_ways(simulator)
    assert np.abs(both.rates).max() > 0.0
    assert both.error <= both.allowed
    check_coordinates(both)


@pytest.mark.fast
@pytest.mark.parametrize("loops", range(5))
def test_random_mechanisms(loops: int) -> None:
    for seed in range(4):
        both = both_ways(random_simulator(100 * loops + seed, loops, redundant=False))
        assert both.error <= both.allowed
        check_coordinates(both)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32 - 1), loops=st.integers(0, 4), redundant=st.booleans())
def test_any_mechanism(seed: int, loops: int, redundant: bool) -> None:
    both = both_ways(random_simulator(seed, loops, redundant))
    assert both.error <= both.allowed
    check_coordinates(both)


@pytest.mark.fast
def test_a_loop_given_twice_adds_its_columns_but_no_rank_of_rows() -> None:
    rng = np.random.default_rng(7)
    once = with_consistent_rates(rng, random_mechanism(rng, 5, 1, kinds=("rotational", "universal", "spherical")))
    first, second = both_ways(simulator_for(once)), both_ways(simulator_for(doubled(once)))
    own = len(first.rates) - first.mechanism.structure.sizes.v
    assert second.coordinates.rank == first.coordinates.rank + own
    np.testing.assert_allclose(second.papers, first.papers, rtol=0, atol=1e-9 * np.abs(first.papers).max(initial=1.0))


@pytest.mark.fast
def test_a_planar_four_bar_has_one_generalised_coordinate() -> None:
    rng = np.random.default_rng(3)
    g = both_ways(simulator_for(with_consistent_rates(rng, four_bar(rng)))).coordinates
    assert (g.J_C.shape, g.rank, len(g.independent)) == ((6, 4), 3, 1)


@pytest.mark.parametrize("seed", range(6))
def test_H_is_the_slope_of_the_closed_mechanism(seed: int) -> None:
    """Eq. (18): theta_S' = H theta_G', by central differences of coordinates along closed poses."""
    rng = np.random.default_rng(seed)
    while True:
        drawn = add_loop(rng, random_mechanism(rng, 5, 0, kinds=REAL), kinds=REAL)
        if drawn is None:
            continue
        simulator = simulator_for(drawn)
        both, structure = both_ways(simulator), simulator.flow.structure
        mechanism, g = both.mechanism, both.coordinates
        if np.abs(g.H).max() > 0.1:  # the loop moves
            break
    theta_G = rng.normal(0, 1, len(g.independent))
    ends, step, still = [], 1e-5, np.zeros(structure.sizes.v)
    for side in (1.0, -1.0):
        q = simulator.flow.q.copy()
        add_freedoms(structure.tables.links, g.W @ theta_G, side * step, q)
        assert close_positions(mechanism, q, still > 0)
        mechanism.update(q, still)
        ends.append(mechanism.work.coordinate[both.chain.columns].copy())
    slope = (ends[0] - ends[1]) / (2 * step)
    # Closing moved the independent coordinates a little, too: H maps what they really did.
    error = np.abs(g.H @ slope[g.independent] - slope[g.dependent]).max()
    assert error <= 1e-7 * g.condition * np.abs(slope).max()
    assert np.abs(slope[g.dependent]).max() > 1e-3


@pytest.mark.fast
@pytest.mark.parametrize(("second", "taken"), [(0.5, 1), (0.11, 1), (0.09, 0)])
def test_columns_chosen_before_are_kept_within_a_tenth_of_the_best(second: float, taken: int) -> None:
    J_C = np.array([[1.0, second]])
    assert choose(J_C, np.ones(2))[0].tolist() == [0]
    assert choose(J_C, np.ones(2), np.array([1]))[0].tolist() == [taken]


def test_a_moving_linkage_keeps_its_coordinates_although_others_would_be_chosen_now() -> None:
    simulator = shipped("high_bar_planar")
    first = both_ways(simulator).coordinates.dependent
    kept = changed = 0
    for t in np.arange(0.1, 1.5, 0.1):
        simulator.advance(float(t))
        fresh, both = both_ways(simulator), both_ways(simulator, preferred=first)
        changed += set(fresh.coordinates.dependent) != set(first)
        kept += set(both.coordinates.dependent) == set(first)
        assert both.error <= both.allowed
        assert fresh.error <= fresh.allowed
    assert changed > 0
    assert kept == 14


@pytest.mark.fast
@pytest.mark.parametrize("what", ["stiffness", "armature", "torque"])
def test_what_acts_on_a_loop_joint_changes_the_motion_alike_in_both(what: str) -> None:
    rng = np.random.default_rng(11)
    drawn = four_bar(rng)
    *tree, loop = drawn.links
    values = {"stiffness": 30.0, "armature": 2.0, "torque": 5.0}
    drive = ref.drive("rotational", **{what: [values[what]], **({"rest": [0.4]} if what == "stiffness" else {})})
    driven = replace(drawn, links=(*tree, replace(loop, drive=drive)))
    extra = "controllers: {drive: {type: torque, torques: {loop0: '5.0'}}}" if what == "torque" else ""
    plain, both = (both_ways(simulator_of(text)) for text in (scene_text(drawn), scene_text(driven, extra=extra)))
    assert both.error <= both.allowed
    assert np.abs(both.engine - plain.engine).max() > 1e-2 * np.abs(plain.engine).max()


@pytest.mark.fast
def test_dependent_coordinates_are_chosen_by_their_pivots() -> None:
    """Columns of weight by their lengths; those that were dependent before are kept up to a tenth of the best pivot."""
    J = np.array([[3.0, 0.0, 1.0, 0.2], [0.0, 2.0, 0.0, 1.9]])
    one = np.ones(4)
    chosen, rank = choose(J, one)
    assert (chosen.tolist(), rank) == ([0, 1], 2)
    assert choose(J, np.array([0.1, 1.0, 1.0, 1.0]))[0].tolist() == [1, 2]
    assert choose(J, one, np.array([2, 3]))[0].tolist() == [3, 2]
    assert choose(J, np.array([1.0, 1.0, 0.09, 1.0]), np.array([2]))[0].tolist() == [0, 1]  # less than a tenth
    assert choose(np.vstack([J, J[:1] + J[1:]]), one)[1] == 2 and choose(np.zeros((3, 4)), one)[1] == 0
    assert choose(np.zeros((0, 4)), one)[0].tolist() == [] and choose(np.zeros((4, 0)), np.zeros(0))[1] == 0


@pytest.mark.fast
@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_what_counts_as_a_pivot_is_a_share_of_the_longest_column(size: float) -> None:
    """A hundred columns (1, 1) and one (1, 1 + d): what the first leaves of that one is half d, of its length."""
    for d, rank in ((2.2e-7, 2), (1.8e-7, 1), (-2.2e-7, 2), (0.0, 1)):
        J = np.ones((2, 101))
        J[1, 7] += d
        assert choose(size * J, np.ones(101))[1] == rank


@pytest.mark.fast
def test_dependent_rates_and_the_trees_follow_the_independent_ones() -> None:
    J = np.array([[3.0, 0.5, 1.0, 0.2], [0.4, 2.0, 0.7, 1.9]])
    g = generalise(J, np.array([1.0, 2.0]), np.ones(4), 3)
    assert g.rank == 2 and g.dependent.tolist() == [0, 1] and g.independent.tolist() == [2, 3]
    whole = np.zeros((4, 2))
    whole[g.dependent], whole[g.independent] = g.H, np.eye(2)
    assert np.allclose(J @ whole, 0.0, atol=1e-14) and np.array_equal(g.W, whole[:3])
    assert g.condition == pytest.approx(np.linalg.cond(J[:, :2])) and g.J_dot_v.tolist() == [1.0, 2.0]
    bare = generalise(np.zeros((0, 3)), np.zeros(0), np.ones(3), 2)
    assert (bare.rank, bare.condition, bare.H.shape) == (0, 1.0, (0, 3)) and np.array_equal(bare.W, np.eye(3)[:2])
