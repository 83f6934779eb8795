"""What a check tells, sentence by sentence, and what it rests on: ranks, curvatures, and who is held how."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import sim.analysis.report
from sim.analysis.report import (
    Report,
    _bent,
    _curvature,
    _list,
    _note_drives,
    _pose_yaml,
    _rank,
    shaky_freedoms,
)
from sim.assembly.start import start
from sim.closed_chains.matrices import papers_matrix
from sim.joints import JOINT_TYPES
from sim.kernels.project import add_freedoms
from sim.mechanism.compiler import compile
from sim.mechanism.mechanism import Mechanism
from sim.scene.load import load_text
from tests.support.mechanisms import random_mechanism
from tests.support.scene_texts import scene_text

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("driven", "rows", "mobility", "notes"),
    [
        (0, 0, 4, []), (1, 1, 2, ["driven: 'pin', 'hub' takes 1 freedom of 3; 2 left"]),
        (2, 2, 0, ["driven: 'pin', 'hub' take 2 freedoms of 2; none is left to move by itself"]),
        (2, 5, 1, [
            "driven: 'pin', 'hub' take 2 freedoms of 3; 1 left",
            "3 of 5 driven freedoms repeat what loops or other motions prescribe already: their formulas have to fit "
            "together at all times, and the forces are chosen (least norm)",
        ]),
        (0, 1, 3, [
            "driven: 'pin', 'hub' take 0 freedoms of 3; 3 left",
            "1 of 1 driven freedoms repeat what loops or other motions prescribe already: their formulas have to fit "
            "together at all times, and the forces are chosen (least norm)",
        ]),
    ],
)  # fmt: skip
def test_what_motions_take_is_told(
    driven: int, rows: int, mobility: int, notes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sim.analysis.report, "driven_joints", lambda mechanism: ["'pin'", "'hub'"])
    report = Report()
    _note_drives(None, {"driven": driven, "driven_rows": rows, "mobility": mobility}, report)  # type: ignore[arg-type]
    assert report.notes == notes


def test_poses_are_told_as_they_can_be_written() -> None:
    one, two, three = np.array([0.123456789]), np.array([1.0, -2.5]), np.array([0.1, 0.2, 0.3])
    moved = {"pin": (np.zeros(1), one), "tube": (np.zeros(2), two), "ball": (np.zeros(3), three)}
    assert _pose_yaml(moved) == (
        "initial:\n  pin: 0.123456789\n  tube: [1.0, -2.5]\n  # ball: [0.1, 0.2, 0.3]  (columns)\n"
    )
    assert _list(one) == "0.123457" and _list(two) == "1, -2.5" and _list(np.float64(3.25)) == "3.25"


def test_ranks_count_singular_values_above_a_share_of_the_largest() -> None:
    Q, _ = np.linalg.qr(np.random.default_rng(4).normal(size=(5, 5)))
    A = Q @ np.diag([40.0, 3.0, 41e-7, 39e-7, 0.0]) @ Q.T
    assert [_rank(A), _rank(A, 0.1), _rank(A, 1e-9), _rank(np.zeros((3, 2))), _rank(np.zeros((0, 4)))] == [
        3,
        1,
        4,
        0,
        0,
    ]


FLAT = """
schema: 1
name: flat
world: {gravity: [0, 0, 0]}
bodies:
  crank: {mass: 2, com: [0.3, 0, 0.1], inertia: [0.2, 0.3, 0.4]}
  rod: {mass: 1, com: [1.1, 0, 0.1], inertia: [0.2, 0.3, 0.4]}
  flag: {mass: 1, com: [0, 4.2, 1], inertia: [0.2, 0.3, 0.4]}
joints:
  a: {type: rotational, parent: world, child: crank, position: [0, 0, 0], axis: [0, 1, 0]}
  b: {type: rotational, parent: crank, child: rod, position: [0.8, 0, 0], axis: [0, 1, 0]}
  c: {type: rotational, parent: world, child: rod, position: [2, 0, 0], axis: [0, 1, 0]}
  mast: {type: rotational, parent: world, child: flag, position: [0, 4, 1], axis: [0, 0, 1]}
"""
P, R = 0.8, 1.2  # m: from pin to pin


@pytest.fixture
def flat() -> tuple[Mechanism, np.ndarray]:
    model = compile(load_text(FLAT))
    begun = start(model)
    mechanism = Mechanism.of(model, begun.structure)
    mechanism.update(begun.q, begun.v)
    return mechanism, begun.q


def test_what_moves_infinitesimally_alone_is_found_by_the_curvature_of_the_loop(
    flat: tuple[Mechanism, np.ndarray],
) -> None:
    """Pins in line: crank by z, rod by w: the end is off along the line by p z^2 / 2 + r (z + w)^2 / 2."""
    mechanism, q = flat
    names = [mechanism.model.joint_names[int(j)] for j in mechanism.structure.carrier[1:]]
    assert sorted(names) == ["a", "b", "mast"]
    order = [
        mechanism.structure.v_of(mechanism.model, mechanism.model.joint(name)).start for name in ("a", "b", "mast")
    ]
    hard = mechanism.placed()
    J = mechanism.jacobian()[hard]
    U, s, _ = np.linalg.svd(J)
    rank = int((s > 1e-9 * s[0]).sum())
    assert rank == 1  # the rows across the line; all others move nothing at first
    N = np.zeros((3, 3))
    N[order, :] = np.array([[1.0, 0.5, 0.0], [-(P + R) / R, -0.5 * (P + R) / R, 0.0], [0.0, 0.0, 1.0]])
    assert np.allclose(J @ N, 0.0, atol=1e-12)
    bent = _bent(mechanism, q, N, U[:, rank:].T, hard)
    assert 1 <= len(bent) <= len(U) - rank
    size = P + R * (1.0 - (P + R) / R) ** 2  # of the second derivative along the first column
    expected = size * np.array([[1.0, 0.5, 0.0], [0.5, 0.25, 0.0], [0.0, 0.0, 0.0]])
    total = np.zeros((3, 3))
    for u in U[:, rank:].T:
        Q = _curvature(mechanism, q, N, u, hard)
        assert np.allclose(Q, Q.T) and np.allclose(Q[2], 0.0, atol=1e-6)
        total += Q * np.sign(Q[0, 0] or 1.0) * abs(Q[0, 0])
    assert math.sqrt(abs(total[0, 0])) == pytest.approx(size, rel=1e-5)  # shared by unit combinations of rows
    assert np.allclose(total / total[0, 0] * size, expected, atol=1e-4)
    (found,) = shaky_freedoms(mechanism, q)
    assert found[order] / found[order[0]] == pytest.approx([1.0, -(P + R) / R, 0.0], abs=1e-6)
    assert np.abs(found).max() == pytest.approx(1.0)


@pytest.mark.parametrize("unit", ["mm", "km"])
def test_it_is_found_whatever_the_size(unit: str) -> None:
    text = re.sub(
        r"(com|position): \[([-.0-9]+), ([-.0-9]+), ([-.0-9]+)\]", rf"\1: [\2 {unit}, \3 {unit}, \4 {unit}]", FLAT
    )
    assert text != FLAT
    model = compile(load_text(text))
    begun = start(model)
    (found,) = shaky_freedoms(Mechanism.of(model, begun.structure), begun.q)
    assert sorted(abs(found)) == pytest.approx([0.0, R / (P + R), 1.0], abs=1e-5)


def test_a_loop_that_is_not_in_line_has_no_such_freedom() -> None:
    text = FLAT.replace("position: [0.8, 0, 0]", "position: [0.8, 0, 0.3]")
    model = compile(load_text(text))
    begun = start(model)
    assert shaky_freedoms(Mechanism.of(model, begun.structure), begun.q) == []
    notes = sim.analysis.report.check(load_text(FLAT)).notes
    assert [note for note in notes if note.startswith("shaky")] == [
        "shaky freedom: b, a can move together only infinitesimally; a motion along it ends the run"
    ]


def closed_by_random_joints(seed: int) -> tuple[Mechanism, np.ndarray]:
    rng = np.random.default_rng([81, seed])
    model = compile(load_text(scene_text(random_mechanism(rng, 5, 2))))
    begun = start(model)
    mechanism = Mechanism.of(model, begun.structure)
    mechanism.update(begun.q, begun.v)
    return mechanism, begun.q


@pytest.mark.parametrize("seed", range(6))
def test_the_matrix_of_the_papers_and_its_drift_are_those_of_the_motion(seed: int) -> None:
    """Six rows a loop: what the child's frame moves against the parent, less what the joint allows; and its rate."""
    mechanism, q = closed_by_random_joints(seed)
    model, structure = mechanism.model, mechanism.structure
    nv, rng = structure.sizes.v, np.random.default_rng([82, seed])
    v = rng.normal(size=nv)
    mechanism.update(q, v)
    J, drift, weight = papers_matrix(mechanism)
    own = [np.arange(*model.columns_of(joint).indices(999)) for joint in structure.loops]
    rates = mechanism.work.rate[np.concatenate(own)].copy()
    whole = np.concatenate([v, rates])
    assert J.shape == (6 * len(structure.loops), len(whole)) and len(weight) == len(whole)
    assert weight[:nv] == pytest.approx(1.0 / np.sqrt(np.diag(mechanism.inertia())))
    assert weight[nv:] == pytest.approx(np.median(weight[:nv]))
    for n, joint in enumerate(structure.loops):
        rows = slice(6 * n, 6 * n + 6)
        links = structure.tables.blocks[n]
        turning = mechanism.work.links.V[int(links.b), :3] - mechanism.work.links.V[int(links.a), :3]
        motion = np.concatenate([mechanism.work.blocks.u[n], model.length * turning])
        assert np.allclose(J[rows, :nv] @ v, motion, atol=1e-12)
        of = JOINT_TYPES[model.joint_specs[joint].type]
        left = J[rows] @ whole
        columns = nv + sum(len(part) for part in own[:n]) + np.arange(len(own[n]))
        assert not np.any(np.delete(J[rows, nv:], columns - nv, axis=1))
        A = J[rows][:, columns] / np.where(np.array(of.linear) == 1, 1.0, model.length)
        assert of.pitched or np.allclose(np.linalg.norm(A, axis=0), 1.0)
        assert of.bends or np.allclose(A.T @ left, 0.0, atol=1e-11)  # whose axes are not square to each other
    ends = []
    for side in (1e-6, -1e-6):
        near = q.copy()
        add_freedoms(structure.tables.links, v, side, near)
        mechanism.update(near, v)
        ends.append(papers_matrix(mechanism)[0] @ whole)
    assert np.allclose((ends[0] - ends[1]) / 2e-6, drift, rtol=0.0, atol=1e-6 * max(1.0, np.abs(drift).max()))
