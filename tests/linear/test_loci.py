"""Roots that are given as functions of a parameter: where they cross, which way, of which kind, and how they go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

import sim
from sim.analysis.linear.equations import LinearError, independent_rows, null_space
from sim.analysis.linear.stability import Crossing, crossings
from sim.analysis.linear.steady import _dependent
from sim.analysis.linear.study import _branches, feeding_back
from sim.analysis.linear.symmetry import symmetries, turns
from sim.scene.load import load_text

pytestmark = pytest.mark.fast


@dataclass
class Model:
    roots: np.ndarray
    spread: np.ndarray


def found(
    f: Callable[[float], list[complex]], values: list[float], noise: float = 1e-12
) -> tuple[tuple[Crossing, ...], tuple[float, ...]]:
    """Return the crossings of a family of roots, and its leaps."""

    def at(p: float) -> Model:
        roots = np.array(f(p), complex)
        return Model(roots, np.full(len(roots), noise))

    return crossings(at, values, [at(p) for p in values])


def pair(real: float, imag: float) -> list[complex]:
    return [real + 1j * imag, real - 1j * imag]


FAR = [-5 + 0j, *pair(-4.0, 3.0)]  # roots that never grow


@pytest.mark.parametrize("values", [[0.0, 1.0, 2.0, 3.0], [0.1, 2.9], [-4.0, 1.25, 6.0]])
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_a_real_root_buckles(values: list[float], way: float) -> None:
    (one,), leaps = found(lambda p: [way * (p - 1.3) * (p + 9.0), *FAR], values)
    assert (one.kind, one.rising, one.modes, one.eigenvalue) == ("buckling", way > 0, 1, 0j)
    assert one.value == pytest.approx(1.3, abs=1e-11) and leaps == ()


@pytest.mark.parametrize("values", [[0.0, 1.0, 2.0], [-1.0, 3.0]])
@pytest.mark.parametrize("way", [1.0, -1.0])
@pytest.mark.parametrize("count", [1, 2])
def test_pairs_pass_the_axis(values: list[float], way: float, count: int) -> None:
    def roots(p: float) -> list[complex]:
        out = pair(way * (p - 0.7), 2.0 + 0.5 * p)
        return [*out, *(pair(way * (p - 0.7), 7.0) if count == 2 else []), *FAR]

    (one,), leaps = found(roots, values)
    assert (one.kind, one.rising, one.modes) == ("Hopf", way > 0, count) and leaps == ()
    assert one.value == pytest.approx(0.7, abs=1e-11)
    assert one.eigenvalue.real == 0.0 and min(abs(one.eigenvalue.imag - w) for w in (2.35, 7.0)) < 1e-9


@pytest.mark.parametrize("values", [[0.0, 1.0, 2.0], [0.2, 2.4]])
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_oscillations_meet_and_part(values: list[float], way: float) -> None:
    def roots(p: float) -> list[complex]:
        d = np.emath.sqrt(way * (p - 1.1))  # real beyond: to both sides of the axis
        middle = 3.0 + 0.25 * p
        return [d + 1j * middle, -d + 1j * middle, np.conj(d) - 1j * middle, -np.conj(d) - 1j * middle, 9j, -9j]

    (one,), leaps = found(roots, values)
    assert (one.kind, one.rising, one.modes) == ("flutter", way > 0, 1) and leaps == ()
    assert one.value == pytest.approx(1.1, abs=1e-10) and one.eigenvalue.imag == pytest.approx(3.275, abs=1e-5)


def test_a_pair_of_mirror_images_meets_at_zero_beside_roots_that_rest_there() -> None:
    def roots(p: float) -> list[complex]:
        d = np.emath.sqrt(2.0 * (p - 0.6))
        return [d, -d, 0j, 0j, 4j, -4j]

    (one,), leaps = found(roots, [0.0, 0.5, 1.0])
    assert (one.kind, one.rising, one.modes, one.eigenvalue) == ("buckling", True, 1, 0j) and leaps == ()
    assert one.value == pytest.approx(0.6, abs=1e-12)


def test_crossings_are_found_in_their_order() -> None:
    """Three roots: one begins to grow, another ceases to, a third begins."""

    def roots(p: float) -> list[complex]:
        return [p - 0.2, 0.45 - p, *pair(p - 0.9, 6.0), *FAR]

    seen, leaps = found(roots, [0.0, 0.3, 1.0])
    assert leaps == ()
    assert [(c.kind, c.rising, round(c.value, 9)) for c in seen] == [
        ("buckling", True, 0.2), ("buckling", False, 0.45), ("Hopf", True, 0.9),
    ]  # fmt: skip


def test_a_root_that_another_relieves_of_growing_is_seen_between_two_values() -> None:
    """One ceases to grow while another, elsewhere, begins to: their number is the same at both ends."""
    seen, _ = found(lambda p: [*pair(0.3 - p, 2.0), *pair(p - 0.7, 9.0), *FAR], [0.0, 1.0])
    assert [(c.kind, c.rising, round(c.value, 9)) for c in seen] == [("Hopf", False, 0.3), ("Hopf", True, 0.7)]


def test_what_touches_zero_at_a_value_is_no_crossing_and_what_stays_is() -> None:
    assert found(lambda p: [-((p - 1.0) ** 2), *FAR], [0.0, 1.0, 2.0], 1e-9) == ((), ())
    up, _ = found(lambda p: [(p - 1.0) ** 2 + 1e-3, *FAR], [0.0, 1.0, 2.0])
    assert up == ()
    (one,), _ = found(lambda p: [p - 1.0, *FAR], [0.0, 1.0, 2.0])
    assert one.value == pytest.approx(1.0, abs=1e-9)


def test_where_there_is_no_model_the_motions_leap() -> None:
    def roots(p: float) -> list[complex]:
        if 1.0 < p < 2.0:
            raise LinearError("nothing there")
        return [p - 1.5, *FAR]

    assert found(roots, [0.0, 1.0, 2.0, 3.0]) == ((), (1.5,))


def test_roots_of_another_family_leap() -> None:
    seen, leaps = found(lambda p: [0.5 if p > 1.23 else -0.5, *FAR], [0.0, 1.0, 2.0])
    assert seen == () and len(leaps) == 1 and leaps[0] == pytest.approx(1.23, rel=1e-7)


def test_a_jump_too_small_to_tell_families_apart_is_a_crossing_where_it_is() -> None:
    (one,), leaps = found(lambda p: [1e-3 if p > 1.23 else -1e-3, *FAR], [0.0, 1.0, 2.0])
    assert leaps == () and one.value == pytest.approx(1.23, rel=1e-10) and one.rising and one.kind == "buckling"


def test_branches_go_straight_on_where_they_cross() -> None:
    """In unequal order, over steps in which each comes nearer to the other than to where it was."""
    p = np.linspace(0.0, 1.0, 7)
    lines = [2.0 - 4.0 * p, -1.0 + 3.0 * p, np.full(7, 9.0)]
    rng = np.random.default_rng(5)
    out = _branches([rng.permutation([line[k] for line in lines]).astype(complex) for k in range(7)])
    assert out.shape == (7, 3)
    for line in lines:
        assert min(np.abs(out[:, k] - line).max() for k in range(3)) == 0.0
    fewer = _branches([np.array([1.0 + 0j, 5.0]), np.array([5.1 + 0j]), np.array([1.2 + 0j, 5.2])])
    column = int(np.argmin(np.abs(fewer[0] - 5.0)))
    assert fewer[:, column].tolist() == [5.0, 5.1, 5.2]
    assert fewer[0, 1 - column] == 1.0 and np.isnan(fewer[1, 1 - column]) and fewer[2, 1 - column] == 1.2
    assert _branches([]).shape == (0, 0)


def test_states_on_which_nothing_depends_are_left_out_one_after_the_other() -> None:
    """x feeds on y, y on z, z on itself; w on nothing; what changes the motion stays."""
    A = np.zeros((5, 5))
    A[0, 1], A[1, 2], A[2, 2], A[3, 0] = 3.0, 2.0, -1.0, 1e-13
    nothing = np.zeros(5, bool)
    assert feeding_back(A, nothing).tolist() == [2]
    assert feeding_back(A, np.array([False, True, False, False, True])).tolist() == [1, 2, 4]
    A[3, 0] = 1e-11
    assert feeding_back(A, np.array([False, False, False, True, False])).tolist() == [0, 1, 2, 3]
    assert feeding_back(np.zeros((2, 2)), nothing[:2]).tolist() == []


def test_rows_and_columns_are_chosen_by_their_pivots() -> None:
    J = np.array([[1.0, 0, 0, 2], [2, 0, 0, 4], [0, 3, 0, 0], [1, 3, 0, 2], [0, 0, 1e-9, 0]])
    kept = independent_rows(J)
    assert kept.tolist() == [1, 2] and np.linalg.matrix_rank(J[kept]) == np.linalg.matrix_rank(J[:4]) == 2
    N = null_space(J[:4], np.array([0, 2]))
    assert np.allclose(J[:4] @ N, 0.0, atol=1e-14) and N[[0, 2]].tolist() == np.eye(2).tolist()
    assert np.array_equal(null_space(J[:4], np.arange(4)), np.eye(4))
    assert independent_rows(np.zeros((0, 4))).tolist() == [] and independent_rows(np.zeros((2, 4))).tolist() == []
    J = np.array([[1.0, 0.01, 2.0, 0.0], [0.0, 0.5, 0.0, 3.0]])
    one = np.ones(4)
    assert _dependent(J, one, [[0, 1], [2, 3]]) == [0, 1]
    assert _dependent(J, one, [[1], [0, 2, 3]]) == [1, 2]  # two is all that there are
    assert _dependent(J, one, [[3], [0, 2, 1]]) == [3, 2]
    assert _dependent(J, one, [[0, 1, 2, 3]], [1]) == [1, 2]
    assert _dependent(np.array([[1.0, 0.01]]), np.ones(2), [[1], [0]]) == [0]  # what hardly follows comes last
    assert _dependent(np.array([[1.0, 0.01]]), np.array([0.001, 1.0]), [[0, 1]]) == [1]


def test_combinations_without_effect_are_symmetries_whatever_their_size() -> None:
    broken = np.array([[1.0, -2.0, 0.0], [3e3, -6e3, 0.0], [0.0, 0.0, 1e-5]])
    basis = symmetries(broken)
    assert basis.shape == (3, 1) or basis.shape == (3, 2)
    free = symmetries(np.array([[1.0, -2.0, 0.0], [0.0, 0.0, 3.0]]))
    assert free.shape == (3, 1) and np.abs(free[:, 0]) == pytest.approx([2 / sqrt(5), 1 / sqrt(5), 0.0])
    assert symmetries(np.zeros((2, 3))).tolist() == np.eye(3).tolist()
    assert symmetries(np.eye(3)).shape == (3, 0)


def test_turns_are_about_the_axes_of_the_parents_side() -> None:
    text = """
schema: 1
name: turns
world: {gravity: [0, 0, -9.81]}
bodies:
  disc: {mass: 1, com: [0, 0, 0], inertia: [1, 1, 2]}
  ball: {mass: 1, com: [0.4, 0, 0], inertia: [1, 1, 1]}
  stone: {mass: 1, com: [3, 0, 0], inertia: [1, 1, 1]}
joints:
  bed: {type: planar, parent: world, child: disc, position: [0, 0, 0], axis: [0, 0, 1], second_axis: [1, 0, 0]}
  neck: {type: spherical, parent: disc, child: ball, position: [0.4, 0, 0]}
"""
    from sim.analysis.linear.study import _looker

    simulator = sim.Simulator(sim.compile(load_text(text)))
    looker, _ = _looker(simulator)
    joint = [simulator.model.joint_names[int(j)] for j in simulator.flow.structure.tables.links.joint[1:]]
    expected = {"bed": [2], "neck": [0, 1, 2], "stone": [0, 1, 2]}
    assert turns(looker.equations) == [(b, i) for b, name in enumerate(joint, start=1) for i in expected[name]]


def test_the_steady_pose_against_a_soft_stop_is_found_from_beside_it() -> None:
    """A pendulum that a constant torque presses: free it would stand at 0.5235.. rad, its stop begins at 0.4 rad."""
    torque, k = 0.5 * 9.81 * 0.5, 3.0
    text = f"""
schema: 1
name: pressed
world: {{gravity: [0, 0, -9.81]}}
bodies: {{rod: {{mass: 1, com: [0, 0, -0.5], inertia: [0.1, 0.1, 0.1]}}}}
joints: {{pin: {{type: rotational, parent: world, child: rod, position: [0, 0, 0], axis: [0, 1, 0],
                limits: {{range: [-1, 0.4], stiffness: {k}, dissipation: 0.5}}}}}}
controllers: {{push: {{type: torque, torques: {{pin: {torque}}}}}}}
initial: {{pin: START}}
"""
    ends = []
    for start in ("0.2", "0.45"):
        model = sim.linearize(load_text(text.replace("START", start)), at="steady")
        q = float(model.q[0])
        assert model.steady and q > 0.4
        assert torque - 0.5 * 9.81 * np.sin(q) - k * (q - 0.4) == pytest.approx(0.0, abs=1e-9)
        ends.append(q)
    assert ends[0] == pytest.approx(ends[1], abs=1e-9)


def test_all_is_told_as_plain_data(tmp_path: Path) -> None:
    text = """
schema: 1
name: data
world: {gravity: [0, 0, -9.81]}
bodies: {rod: {mass: 1, com: [0, 0, -0.5], inertia: [0.1, 0.1, 0.1]}, cart: {mass: 2, com: [3, 0, 0], inertia: [1, 1,
        1]}}
joints:
  pin: {type: rotational, parent: world, child: rod, position: [0, 0, 0], axis: [0, 1, 0], stiffness: K}
  rail: {type: translational, parent: world, child: cart, position: [3, 0, 0], axis: [1, 0, 0]}
initial: {rail: {rate: 0.3}}
"""
    model = sim.linearize(load_text(text.replace("K", "2")), states=["rail"], inputs=["rail"])
    data = model.as_data()
    w = sqrt((2 + 0.5 * 9.81) / 0.35)
    assert {key: data[key] for key in ("time", "states", "inputs", "ignored", "steady", "remark", "follows",
            "notes")} == {
        "time": 0.0, "states": ["pin", "rail", "rate(pin)", "rate(rail)"], "inputs": ["rail"],
        "ignored": ["rail", "rate(rail)"], "steady": True, "remark": "", "follows": {"rail": pytest.approx(0.3)},
                "notes": [],
    }  # fmt: skip
    assert np.allclose(data["A"], [[0, 0, 1, 0], [0, 0, 0, 1], [-w * w, 0, 0, 0], [0, 0, 0, 0]], atol=1e-14)
    assert np.allclose(data["B"], [[0.0], [0.0], [0.0], [0.5]], rtol=1e-15, atol=0.0)
    assert np.allclose(data["eigenvalues"], [[0, w], [0, -w], [0, 0], [0, 0]], atol=1e-12)
    assert data["q"] == [0.0, 0.0] and data["v"] == [0.0, 0.3] and data["pose"] == {"pin": 0.0, "rail": 0.0}
    modes = np.array(data["modes"])
    assert modes.shape == (4, 2, 2) and not modes[[1, 3]].any()
    vectors = modes[..., 0] + 1j * modes[..., 1]
    assert np.allclose(np.array(data["A"]) @ vectors, vectors * [1j * w, -1j * w], atol=1e-12)
    assert data["spread"] == model.spread.tolist() and data["trust"] == model.trust
    assert model.reduced()[0].shape == (2, 2) and model.reduced()[1].tolist() == [[0.0], [0.0]]
    assert model.ignored.tolist() == [1, 3] and model.fed.tolist() == [0, 2]
    blurred = replace(model, spread=np.array([0.1, 100.0]))
    assert blurred.rounded.tolist() == [pytest.approx(1j * w), 0j]
    assert replace(model, spread=np.abs(model.roots.imag)).rounded.tolist() == [0j, 0j]  # not beyond it
    shifted = replace(model, eigenvalues=model.eigenvalues + 0.25)
    assert shifted.rounded[0] == pytest.approx(0.25 + 1j * w)
    larger = model.sized(1e3 * model.size)
    assert larger.spread == pytest.approx(1e3 * model.spread, rel=0.2) and larger.A is model.A
    locus = sim.root_locus(lambda k: load_text(text.replace("K", repr(k))), [1.0, 2.0], parameter="k").as_data()
    assert locus["parameter"] == "k" and locus["values"] == [1.0, 2.0] and locus["crossings"] == locus["leaps"] == []
    assert np.allclose(sorted(b[1] for b in locus["branches"][1]), [-w, w]) and len(locus["models"]) == 2
    assert locus["models"][1]["states"] == ["pin", "rail", "rate(pin)", "rate(rail)"]
    upright = text.replace("com: [0, 0, -0.5]", "com: [0, 0, 0.5]")
    fallen = sim.root_locus(lambda k: load_text(upright.replace("K", repr(k))), [4.0, 6.0], parameter="k").as_data()
    (one,) = fallen["crossings"]
    assert one == {
        "value": pytest.approx(0.5 * 9.81), "eigenvalue": [0.0, 0.0], "rising": False, "kind": "buckling", "modes": 1,
    }  # fmt: skip
