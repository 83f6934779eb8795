"""Impulses of large mechanisms, along the tree, are those of dense matrices."""

from __future__ import annotations

import numpy as np
import pytest

import sim
from sim.assembly.start import start
from sim.mechanism.compiler import compile
from sim.mechanism.mechanism import Mechanism
from sim.scene import library
from sim.scene.load import load_text
from sim.simulation import structure_changes
from sim.simulation.joint_impulses import joint_impulses
from sim.simulation.structure_changes import ImpulseSolution, impulse_solve

pytestmark = pytest.mark.fast

NAMES = [
    ("benchmarks/four_bars", {"windows": 3}), ("benchmarks/chain_in_plane", {"links": 5}), ("benchmarks/bricard", {}),
    ("benchmarks/rope_net", {"side": 2}), ("swing", {}), ("benchmarks/chain", {"links": 6}), ("rope", {}),
]  # fmt: skip


def both(
    monkeypatch: pytest.MonkeyPatch, mechanism: Mechanism, q: np.ndarray, *rest: np.ndarray
) -> list[ImpulseSolution]:
    """Solve by dense matrices, and along the tree; the latter may not fall back to the former."""
    out = [impulse_solve(mechanism, q, *rest)]
    monkeypatch.setattr(structure_changes, "LARGE", -1)
    monkeypatch.setattr(Mechanism, "inertia", None)
    out.append(impulse_solve(mechanism, q, *rest))
    monkeypatch.undo()
    return out


@pytest.mark.parametrize(("name", "parameters"), NAMES)
def test_momentum_is_inertia_times_rates(name, parameters) -> None:
    model = compile(sim.load(library.find(name), set=parameters))
    begun = start(model)
    mechanism, v = Mechanism.of(model, begun.structure), np.random.default_rng(1).normal(size=len(begun.v))
    mechanism.update(begun.q, v)
    by_matrix = mechanism.inertia() @ v
    np.testing.assert_allclose(mechanism.momentum(v), by_matrix, rtol=0, atol=1e-12 * np.abs(by_matrix).max())
    np.testing.assert_allclose(mechanism.twists(v), mechanism.link_jacobians() @ v, rtol=0, atol=1e-11)


@pytest.mark.parametrize("pushed", [False, True], ids=["closing", "struck"])
@pytest.mark.parametrize(("name", "parameters"), NAMES)
def test_impulses_are_those_of_dense_matrices(name, parameters, pushed, monkeypatch) -> None:
    """From random velocities that open the loops, with and without a blow from outside."""
    model = compile(sim.load(library.find(name), set=parameters))
    begun = start(model)
    rng, n = np.random.default_rng(7), len(begun.v)
    v, push = begun.v + rng.normal(size=n), rng.normal(size=n) if pushed else None
    mechanism = Mechanism.of(model, begun.structure)
    mechanism.update(begun.q, v)
    dense, along = both(monkeypatch, mechanism, begun.q, v, *([push] if pushed else []))
    size = max(np.abs(dense.v).max(), 1.0)
    mechanism.update(begun.q, v)
    roundoff = np.finfo(float).eps * np.linalg.cond(mechanism.inertia())  # what dense matrices are worth
    np.testing.assert_allclose(along.v, dense.v, rtol=0, atol=max(1e-10, roundoff) * size)
    np.testing.assert_allclose(along.impulse, dense.impulse, rtol=0, atol=1e-9 * np.abs(dense.impulse).max(initial=1.0))
    assert along.lost == pytest.approx(dense.lost, rel=1e-9, abs=1e-9)
    assert along.given == pytest.approx(dense.given, rel=1e-9, abs=1e-9)
    mechanism.update(begun.q, v)
    through = [joint_impulses(mechanism, blow.v - v, blow.impulse) for blow in (dense, along)]
    np.testing.assert_allclose(*through, rtol=0, atol=1e-8 * max(np.abs(through[0]).max(), 1.0))


def test_a_loop_cut_and_connected_again_is_the_same_both_ways(monkeypatch) -> None:
    """Four windows, the middle one opened at 0.2 s and closed by its points' own motion at 0.2001 s."""
    text = library.find("benchmarks/four_bars").read_text(encoding="utf-8").replace("{value: 2,", "{value: 4,")
    events = "events:\n  open: {at: 0.2 s, cut: right_2}\n  shut: {at: 0.2001 s, connect: right_2}\nsimulate:"
    scene = load_text(text.replace("simulate:", events))
    found = []
    for large in (300, -1):
        monkeypatch.setattr(structure_changes, "LARGE", large)
        with sim.run(scene, duration=0.4) as recording:
            found.append(
                (recording.position["crank_4"][-1].copy(), recording.energy.balance[-1], recording.impulse.array)
            )
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=0, atol=1e-10)
    assert abs(found[1][1]) < 1e-5
    np.testing.assert_allclose(found[0][2], found[1][2], rtol=0, atol=1e-9)
