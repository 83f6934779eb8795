"""The oracle of `sim verify`, against closed forms, the tests' own reference and recordings of the engine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sim
from sim.analysis.verification import oracle
from sim.analysis.verification import oracle_joints as jn
from sim.scene.load import load_text
from tests.support import reference as ref
from tests.support.mechanisms import KINDS, doubled, four_bar, random_mechanism, with_consistent_rates
from tests.support.scene_texts import scene_text

pytestmark = pytest.mark.fast

STILL = np.zeros(3)
WORLD = jn.Side(STILL, np.eye(3), STILL, STILL)
G = np.array([0.0, 0.0, -9.81])


def rod(angle: float, rate: float, torque: float, armature: float) -> tuple[list[oracle.Body], list[oracle.Joint]]:
    """A rod of 2 kg and 1 m turning about y through the world's origin, `angle` from hanging."""
    s, c = np.sin(angle), np.cos(angle)
    R = np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]])  # about -y
    w = np.array([0.0, -rate, 0.0])
    inertia = R @ np.diag([1 / 6, 1 / 6, 0.0]) @ R.T
    body = oracle.Body(2.0, R @ [0, 0, -0.5], inertia, w)
    axes = np.column_stack([[1, 0, 0], [0, 0, 1], [0, -1, 0]]).astype(float)  # z along -y
    at = jn.pair(WORLD, jn.Side(STILL, R, STILL, w), jn.Frame(STILL, axes), jn.Frame(STILL, axes))
    return [body], [oracle.Joint("hinge", "rotational", -1, 0, at, np.array([torque]), np.array([armature]))]


def test_a_physical_pendulum_obeys_its_equation():
    """(m l^2 / 3 + a) angle'' = tau - m g l/2 sin(angle); the hinge carries the weight and the centripetal force."""
    bodies, joints = rod(angle=0.7, rate=1.3, torque=0.4, armature=0.25)
    answer = oracle.solve(bodies, joints, G, np.zeros((1, 6)))
    second = (0.4 - 2 * 9.81 * 0.5 * np.sin(0.7)) / (2 / 3 + 0.25)
    assert answer.acceleration[0, 3:] == pytest.approx([0, -second, 0], abs=1e-12)
    along, across = np.array([np.sin(0.7), 0, -np.cos(0.7)]), np.array([np.cos(0.7), 0, np.sin(0.7)])
    expected = 0.5 * second * across - 0.5 * 1.3**2 * along
    assert answer.acceleration[0, :3] == pytest.approx(expected, abs=1e-12)
    assert (answer.rank, answer.nullity) == (5, 0) and answer.determinate.all()
    force = 2.0 * (answer.acceleration[0, :3] - G)
    wrench = np.concatenate([[0, -(0.4 - 0.25 * second), 0], force])  # at the hinge
    left, size = oracle.balance_of_bodies(bodies, joints, wrench[None], np.zeros((1, 3)), answer.acceleration, G,
                                          np.zeros((1, 6)))  # fmt: skip
    assert np.max(np.abs(left)) < 1e-12 and size > 10.0
    off = oracle.along_freedoms(bodies, joints[0], wrench, STILL, answer.acceleration)
    assert off == pytest.approx([0.0], abs=1e-12)
    wrench[4] += 1e-3
    left, _ = oracle.balance_of_bodies(bodies, joints, wrench[None], np.zeros((1, 3)), answer.acceleration, G,
                                       np.zeros((1, 6)))  # fmt: skip
    assert np.max(np.abs(left)) == pytest.approx(1e-3, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_gaps_have_the_rates_that_are_said(kind):
    """Moving both bodies for an instant changes what is locked at `gap_rates`, and rows at second order."""
    rng = np.random.default_rng(3)
    a, b = (jn.Side(rng.normal(size=3), _rotation(rng), rng.normal(size=3), rng.normal(size=3)) for _ in range(2))
    M = jn.Frame(rng.normal(size=3), np.eye(3))
    F = jn.Frame(a.R.T @ (b.p + b.R @ M.p - a.p), a.R.T @ b.R)  # closed here
    h = 1e-6
    after, before = (jn.gaps(kind, jn.pair(_moved(a, s), _moved(b, s), F, M)) for s in (h, -h))
    rates = jn.gap_rates(kind, jn.pair(a, b, F, M))
    assert len(rates) == 6 - len(jn.FREEDOMS[kind])
    found = (after - before) / (2 * h)
    # tilts are components of M's axis in F: turned by a quarter against the rates about F's axes
    order = {"rotational": (0, 1, 2, 4, 3), "cylindrical": (0, 1, 3, 2), "planar": (0, 2, 1)}.get(kind)
    order = list(range(len(rates))) if order is None else list(order)
    assert np.abs(found) == pytest.approx(np.abs(rates[order]), abs=1e-8)


def _rotation(rng: np.random.Generator) -> np.ndarray:
    return jn.rotation_of(rng.normal(size=4))


def _moved(side: jn.Side, h: float) -> jn.Side:
    turned = jn.rotation_of(np.concatenate([[1.0], 0.5 * h * side.w]))
    return jn.Side(side.p + h * side.v, turned @ side.R, side.v, side.w)


@pytest.mark.parametrize("seed", range(8))
def test_every_joint_type_agrees_with_the_engine(seed):
    """Random trees and loops with springs, dampers and armatures: at random instants of a short run."""
    rng = np.random.default_rng(100 + seed)
    mechanism = random_mechanism(rng, 6, loops=seed % 3, driven=True)
    text = scene_text(with_consistent_rates(rng, mechanism), simulate="{duration: 0.05 s, record: 400 Hz}")
    with sim.run(load_text(text)) as recording:
        verdict = sim.verify(recording, instants=4)
        assert not [problem for problem in verdict.problems if "oracle" in problem or "residual" in problem]
        assert len(verdict.instants) == 4
        assert max(instant.acceleration for instant in verdict.instants) < 1e-8
        rank = ref.constraint_rank(mechanism.bodies, mechanism.links)[0]
        tree = sum(6 - ref.FREEDOMS[link.kind] for link in mechanism.links[: mechanism.tree])
        soft = sum(int((link.drive.armature > 0).sum()) for link in mechanism.links[mechanism.tree :] if link.drive)
        assert verdict.instants[0].oracle_rank == rank - tree + soft


def test_every_kind_of_joint_was_among_them():
    kinds = set()
    for seed in range(8):
        rng = np.random.default_rng(100 + seed)
        kinds |= {link.kind for link in random_mechanism(rng, 6, loops=seed % 3, driven=True).links}
    assert kinds == set(KINDS)


def test_redundant_loops_have_chosen_forces():
    rng = np.random.default_rng(1)
    mechanism = with_consistent_rates(rng, four_bar(rng))
    with sim.run(load_text(scene_text(mechanism, simulate="{duration: 0.05 s}"))) as recording:
        verdict = sim.verify(recording)
        assert verdict.ok and len(verdict.instants) > 3
        assert set(verdict.chosen) == {"j0", "j1", "j2", "loop0"}
    twice = doubled(random_mechanism(rng, 5, loops=1))
    with sim.run(load_text(scene_text(twice, simulate="{duration: 0.02 s}"))) as recording:
        verdict = sim.verify(recording, instants=2)
        assert not [problem for problem in verdict.problems if "determinate" in problem]
        assert {"loop0", "twin"} <= set(verdict.chosen)


# --- a tree of joints, body by body, against everything at once -----------------------------------------------------


def asked(recording: sim.Recording, monkeypatch: pytest.MonkeyPatch, instants: int) -> list[tuple]:
    """Verify; return what the oracle was asked, and its answers."""
    out, solve = [], oracle.solve

    def kept(*arguments):
        answer = solve(*arguments)
        out.append((arguments, answer))
        return answer

    monkeypatch.setattr(oracle, "solve", kept)
    sim.verify(recording, instants=instants)
    return out


@pytest.mark.parametrize("seed", range(6))
def test_the_tree_gives_what_all_rows_at_once_give(seed, monkeypatch):
    """Accelerations, rank and which forces are determinate, of random loops; of half of them every loop is doubled."""
    rng = np.random.default_rng(300 + seed)
    mechanism = random_mechanism(rng, 6, loops=1 + seed % 3)
    mechanism = with_consistent_rates(rng, doubled(mechanism) if seed % 2 else mechanism)
    with sim.run(load_text(scene_text(mechanism, simulate="{duration: 0.02 s}"))) as recording:
        found = asked(recording, monkeypatch, 1)
    ((bodies, joints, gravity, applied), answer) = found[0]
    coms = [body.com for body in bodies]
    J, b = (
        np.concatenate(part) for part in zip(*(oracle.locked_rows(j, coms, len(coms)) for j in joints), strict=True)
    )
    assert np.array_equal(J, answer.J) and np.array_equal(b, answer.b)
    U, s, Vt = np.linalg.svd(J)
    rank = int(np.sum(s > 1e-9 * s[0]))
    assert (answer.rank, answer.nullity) == (rank, len(J) - rank)
    assert np.abs(J @ answer.acceleration.ravel() - b).max() < 1e-9 * max(np.abs(b).max(), 1.0)
    # what the bodies' inertia and the applied forces leave over is along no motion that the rows allow
    M, f = np.zeros((len(Vt), len(Vt))), applied.ravel().copy()
    for i, body in enumerate(bodies):
        at = slice(6 * i, 6 * i + 3), slice(6 * i + 3, 6 * i + 6)
        M[at[0], at[0]], M[at[1], at[1]] = body.mass * np.eye(3), body.inertia
        f[at[0]] += body.mass * gravity
        f[at[1]] -= np.cross(body.w, body.inertia @ body.w)
    for joint in joints:
        E, drift = oracle.free_rows(joint, coms, len(coms))
        f += E.T @ (joint.torque + joint.armature * drift)
        M += E.T @ (joint.armature[:, None] * E)
    left = Vt[rank:] @ (f - M @ answer.acceleration.ravel())
    assert np.abs(left).max(initial=0.0) < 1e-9 * max(np.abs(f).max(), 1.0)
    owner = np.repeat(np.arange(len(joints)), [6 - len(jn.FREEDOMS[joint.kind]) for joint in joints])
    moved = [np.abs(U[owner == k, rank:]).max(initial=0.0) for k in range(len(joints))]
    assert answer.determinate.tolist() == [size < 1e-6 for size in moved]


def test_many_loops_cost_what_their_own_rows_cost(monkeypatch):
    """Of twelve four-bars 12 loops of 5 rows in the freedoms of 25 joints, and not all 185 rows of 37 joints."""
    sizes, pivoted = [], oracle._pivoted

    def seen(a):
        sizes.append(a.shape)
        return pivoted(a)

    scene = sim.load(Path(__file__).parents[2] / "scenes" / "benchmarks" / "four_bars.yaml", set={"windows": 12})
    with sim.run(scene, duration=0.2) as recording:
        monkeypatch.setattr(oracle, "_pivoted", seen)
        found = asked(recording, monkeypatch, 2)
    assert len(found) == 2 and {len(answer.J) for _, answer in found} == {185}
    assert set(sizes) == {(60, 25)}


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_all_masses_and_forces_together_change_no_acceleration(scale: float) -> None:
    bodies, joints = rod(angle=0.7, rate=1.3, torque=0.4, armature=0.25)
    expected = oracle.solve(bodies, joints, G, np.zeros((1, 6)))
    small = [replace(body, mass=scale * body.mass, inertia=scale * body.inertia) for body in bodies]
    hinges = [replace(one, torque=scale * one.torque, armature=scale * one.armature) for one in joints]
    found = oracle.solve(small, hinges, G, np.zeros((1, 6)))
    np.testing.assert_allclose(found.acceleration, expected.acceleration, rtol=0.0, atol=1e-10)
    assert (found.rank, found.nullity) == (expected.rank, expected.nullity)
