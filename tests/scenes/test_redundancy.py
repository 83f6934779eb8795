"""What `sim check` says of loops whose rows repeat others, and of singular poses."""

from __future__ import annotations

import numpy as np
import pytest

import sim
from sim.analysis import report
from sim.assembly import redundancy
from sim.assembly.start import start
from sim.kernels.project import add_freedoms
from sim.mechanism.compiler import compile
from sim.mechanism.mechanism import Mechanism
from sim.scene import library
from sim.scene.load import load_text
from tests.support import reference as ref

CHOSEN = "the motion is unique, but forces that do the same are chosen (least norm)"
PLANAR = f"3 of its 5 rows repeat the others ({{}}); it is planar and written in space; {CHOSEN}"
ACROSS = "force along its axis and moments across its axis"
BRICARD = "loop hinge4 - hinge3 - hinge2 - hinge1 - hinge0 - hinge5: 1 of its 5 rows repeats the others"


def notes(name: str, **parameters: float) -> list[str]:
    return sim.check(sim.load(library.find(name), set=parameters)).notes


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("benchmarks/bricard", [f"{BRICARD}; the geometry makes it so, in nearby poses, too; {CHOSEN}"]),
        ("four_bar", [f"loop drive - pin - pivot - link: {PLANAR.format(f'link: {ACROSS}')}"]),
        ("benchmarks/four_bars", [
            f"loop pivot_1 - left_0 - pivot_0 - right_0: {PLANAR.format(f'right_0: {ACROSS}')}",
            f"loop pivot_2 - left_1 - pivot_1 - right_1: {PLANAR.format(f'right_1: {ACROSS}')}",
        ]),
        ("high_bar", []), ("swing", []), ("monkey_swing", []), ("benchmarks/rope_net", []),
    ],
)  # fmt: skip
def test_redundant_rows_are_explained(name, expected) -> None:
    assert notes(name) == expected


def test_a_slide_in_a_planar_loop_is_told_by_its_own_rows() -> None:
    """The guide of a slider crank: across its axis one force is in the plane, one is not; one moment is."""
    which = "guide: force across its axis, moment about its axis and moment across its axis"
    assert notes("slider_crank")[0] == f"loop small_end - big_end - crank - guide: {PLANAR.format(which)}"


HINGES = """
schema: 1
name: hinges
bodies:
  a: {{mass: 1, com: [0, 0.5, 0.1], inertia: [0.1, 0.1, 0.1]}}
  b: {{mass: 1, com: [1, 1.2, 0], inertia: [0.1, 0.1, 0.1]}}
  c: {{mass: 1, com: [2, 0.5, 0], inertia: [0.1, 0.1, 0.1]}}
joints:
  one: {{type: rotational, parent: world, child: a, position: [0, 0, 0], axis: [0, 0, 1]}}
  two: {{type: {two}, parent: a, child: b, position: [0.1, 1, 0.2], axis: [0, 0, 1]}}
  three: {{type: rotational, parent: b, child: c, position: [1.9, 1.4, -0.1], axis: [0, 0, 1]}}
  four: {{type: {four}, parent: world, child: c, position: [2, 0, 0], axis: {axis}}}
"""


@pytest.mark.fast
@pytest.mark.parametrize("two", ["rotational", "cylindrical"])
@pytest.mark.parametrize(
    ("four", "axis"),
    [
        ("rotational", (0, 0, 1)), ("cylindrical", (0, 0, -1)), ("cylindrical", (0, 1, 0)),
        ("translational", (1, 1, 0)), ("translational", (0, 0, 1)),
    ],
)  # fmt: skip
def test_a_loop_with_a_slide_along_its_hinges_is_not_planar(two: str, four: str, axis: tuple[int, int, int]) -> None:
    """In a plane three of six conditions of closing are void; how many rows repeat others, the oracle tells."""
    bodies = [
        ref.Body(mass=1.0, com_W=np.array(p), inertia_W=np.eye(3)) for p in ([0, 0.5, 0.1], [1, 1.2, 0], [2, 0.5, 0])
    ]
    places = ([0, 0, 0], [0.1, 1, 0.2], [1.9, 1.4, -0.1], [2, 0, 0])
    kinds, axes = ("rotational", two, "rotational", four), ((0, 0, 1), (0, 0, 1), (0, 0, 1), axis)
    links = [
        ref.draw_link(kind, a, b, p, e)
        for kind, (a, b), p, e in zip(kinds, ((-1, 0), (0, 1), (1, 2), (-1, 2)), places, axes, strict=True)
    ]
    rows = 6 - ref.FREEDOMS[four]
    repeat = rows - (ref.constraint_rank(bodies, links)[0] - ref.constraint_rank(bodies, links[:3])[0])
    (note,) = sim.check(load_text(HINGES.format(two=two, four=four, axis=list(axis)))).notes
    verb = "repeats" if repeat == 1 else "repeat"
    assert f"loop three - two - one - four: {repeat} of its {rows} rows {verb} the others" in note
    slides = [e for kind, e in zip(kinds, axes, strict=True) if kind in ("translational", "cylindrical")]
    turns = [e for kind, e in zip(kinds, axes, strict=True) if kind != "translational"]
    planar = all(e[2] == 0 for e in slides) and all(e[:2] == (0, 0) for e in turns)
    assert ("it is planar" in note) == planar == (repeat == 3)


def test_a_loop_given_twice_names_the_other() -> None:
    text = library.find("benchmarks/bricard").read_text(encoding="utf-8")
    again = "  again: {type: rotational, parent: world, child: rod5, position: [0, 0, 1], axis: [1, 0, 0]}\nsimulate:"
    found = sim.check(load_text(text.replace("simulate:", again))).notes
    assert found[0].startswith(BRICARD)
    assert found[1] == (
        "loop hinge4 - hinge3 - hinge2 - hinge1 - hinge0 - again: 5 of its 5 rows repeat the others; "
        f"again joins the same bodies as hinge5; {CHOSEN}"
    )


def test_axes_through_one_point_are_told() -> None:
    """A four-bar on a sphere: hinges whose axes meet at the origin."""
    text = """
schema: 1
name: on_a_sphere
bodies:
  a: {mass: 1, com: [1, 0.5, 0], gyration: [1, 1, 1]}
  b: {mass: 1, com: [0.7, 0.7, 0.5], gyration: [1, 1, 1]}
  c: {mass: 1, com: [0, 1, 0.5], gyration: [1, 1, 1]}
joints:
  one: {type: rotational, parent: world, child: a, position: [1, 0, 0], axis: [1, 0, 0]}
  two: {type: rotational, parent: a, child: b, position: [1, 0.6, 0.1], axis: [1, 0.6, 0.1]}
  three: {type: rotational, parent: b, child: c, position: [0.2, 1, 0.7], axis: [0.2, 1, 0.7]}
  four: {type: rotational, parent: world, child: c, position: [0, 1, 0], axis: [0, 1, 0]}
simulate: {duration: 1 s}
"""
    found = sim.check(load_text(text))
    assert found.counts == {"joint_coordinates": 4, "constraint_rank": 3, "mobility": 1}
    assert found.notes == [
        f"loop three - two - one - four: 3 of its 5 rows repeat the others; its axes meet in one point; {CHOSEN}"
    ]


def test_axes_through_one_point_are_told_where_a_universal_joint_closes_the_loop() -> None:
    """Two arms that turn about axes through the origin, and a universal joint there between them."""
    text = """
schema: 1
name: about_a_point
bodies:
  a: {mass: 1, com: [1, 0.5, 0], gyration: [1, 1, 1]}
  b: {mass: 1, com: [0.7, 0.7, 0.5], gyration: [1, 1, 1]}
joints:
  one: {type: rotational, parent: world, child: a, position: [1, 0, 0], axis: [1, 0, 0]}
  two: {type: rotational, parent: world, child: b, position: [1, 0.6, 0.1], axis: [1, 0.6, 0.1]}
  cross: {type: universal, parent: a, child: b, position: [0, 0, 0], axis: [0, 1, 0], second_axis: [0, 0, 1]}
simulate: {duration: 1 s}
"""
    [found] = sim.check(load_text(text)).notes
    assert "3 of its 4 rows repeat the others" in found and f"; its axes meet in one point; {CHOSEN}" in found


def test_many_loops_alike_are_told_in_one_line() -> None:
    found = notes("benchmarks/four_bars", windows=7)
    assert found == [
        f"7 loops, closed by right_0, right_1, right_2, ...: of each 3 of 5 rows repeat the others ({ACROSS}); "
        f"they are planar and written in space; {CHOSEN}"
    ]


@pytest.mark.parametrize(
    ("name", "ranks", "loop"),
    [
        ("swing_paper", "rank 29 here, 30 nearby", "beam_l - plate_l - monkey.hip_r - monkey.torso - slide_r"),
        ("high_bar_planar", "rank 11 here, 12 nearby", "monkey.elbow_r - monkey.shoulder_r - monkey.torso - grip_r"),
    ],
)
def test_a_singular_pose_is_not_called_redundant(name, ranks, loop) -> None:
    found = notes(name)
    assert found[0].startswith(f"singular pose: {ranks} (loop {loop}); forces grow and motion may branch close to it.")
    assert not any("repeat" in note for note in found)
    assert any(note.startswith("shaky freedom: ") for note in found)


# --- large mechanisms ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("benchmarks/four_bars", {"windows": 5}), ("benchmarks/chain_in_plane", {"links": 7}),
        ("benchmarks/rope_net", {"side": 2}), ("benchmarks/bricard", {}), ("benchmarks/andrews", {}), ("swing", {}),
    ],
)  # fmt: skip
def test_elimination_along_the_tree_counts_as_dense_matrices_do(name, parameters, monkeypatch) -> None:
    model = compile(sim.load(library.find(name), set=parameters))
    begun = start(model)
    mechanism = Mechanism.of(model, begun.structure)
    dense = redundancy.acting_by_loop(mechanism, begun.q)
    mechanism.update(begun.q, np.zeros(len(begun.v)))
    by_numpy = np.linalg.matrix_rank(mechanism.jacobian()[mechanism.locked()], tol=1e-8)
    monkeypatch.setattr(redundancy, "is_large", lambda _: True)
    along = redundancy.acting_by_loop(mechanism, begun.q)
    assert dense.sum() == along.sum() == by_numpy


def test_a_large_mechanism_is_checked_alike(monkeypatch) -> None:
    """Thirty windows by the elimination of a run, and by dense matrices: the same counts, the same loops."""
    scene = sim.load(library.find("benchmarks/four_bars"), set={"windows": 30})
    dense = sim.check(scene)
    for module in (redundancy, report):
        monkeypatch.setattr(module, "is_large", lambda _: True)
    large = sim.check(scene)
    assert large.counts == dense.counts == {"joint_coordinates": 91, "constraint_rank": 90, "mobility": 1}
    assert [note.replace(f" ({ACROSS})", "") for note in dense.notes] == large.notes


@pytest.mark.fast
def test_curvature_is_the_second_derivative_in_every_direction() -> None:
    """u . phi along N z is z Q z / 2 to second order, whatever z: the products between directions, too."""
    text = """
schema: 1
name: curved
bodies:
  a: {mass: 1, com: [0.5, 0, 0], inertia: [1, 1, 1]}
  b: {mass: 1, com: [1.5, 0, 0], inertia: [1, 1, 1]}
joints:
  one: {type: universal, parent: world, child: a, position: [0, 0, 0], axis: [0, 0.6, 0.8], second_axis: [0, -0.8, 0.6]}
  two: {type: spherical, parent: a, child: b, position: [1, 0, 0]}
  three: {type: spherical, parent: world, child: b, position: [2, 0, 0]}
"""
    model = compile(load_text(text))
    begun = start(model)
    mechanism = Mechanism.of(model, begun.structure)
    mechanism.update(begun.q, begun.v)
    hard, rng = mechanism.placed(), np.random.default_rng(2)
    _, _, Vt = np.linalg.svd(mechanism.jacobian()[hard])
    N, u = Vt[2:].T, np.array([1.0, 0.0, 0.0])
    u = np.linalg.svd(mechanism.jacobian()[hard])[0][:, 2]
    Q = report._curvature(mechanism, begun.q, N, u, hard)
    assert np.array_equal(Q, Q.T) and np.abs(Q - np.diag(np.diag(Q))).max() > 0.05
    for _ in range(3):
        z = rng.normal(size=N.shape[1])
        total = 0.0
        for side in (1e-4, -1e-4):
            near = begun.q.copy()
            add_freedoms(mechanism.structure.tables.links, N @ z, side, near)
            mechanism.update(near, begun.v)
            total += float(u @ mechanism.work.rows.phi[hard]) / 1e-8
        assert z @ Q @ z == pytest.approx(total, rel=1e-3, abs=1e-5)
