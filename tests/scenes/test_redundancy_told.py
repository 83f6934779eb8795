"""Sentences on rows that repeat others, whole; lines that are parallel or meet; rows that act, by plain ranks."""

from __future__ import annotations

import numpy as np
import pytest

from sim.assembly.redundancy import (
    Loop,
    _chain,
    _meet,
    _parallel,
    acting_by_loop,
    acting_nearby,
    is_large,
    loops_of,
    redundancy_notes,
    singular_note,
)
from sim.assembly.start import start
from sim.mechanism.compiler import compile
from sim.mechanism.mechanism import Mechanism
from sim.scene.load import load_text
from tests.assembly.test_branches import PARALLELOGRAM
from tests.support.mechanisms import random_mechanism
from tests.support.scene_texts import scene_text

pytestmark = pytest.mark.fast

UNIQUE = "the motion is unique, but forces that do the same are chosen (least norm)"


def loop(name: str = "d", **said: object) -> Loop:
    return Loop(("a", "b", name), **{"rows": 5, "redundant": 2, "always": 2, **said})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (loop(), "loop a - b - d: 2 of its 5 rows repeat the others"),
        (loop(always=1), "loop a - b - d: 1 of its 5 rows repeats the others"),
        (
            loop(why="planar", which="force along its axis"),
            "loop a - b - d: 2 of its 5 rows repeat the others (d: force along its axis); it is planar and written in "
            "space",
        ),
        (loop(why="one point"), "loop a - b - d: 2 of its 5 rows repeat the others; its axes meet in one point"),
        (
            loop(why="same bodies", other="b"),
            "loop a - b - d: 2 of its 5 rows repeat the others; d joins the same bodies as b",
        ),
        (
            loop(why="geometry"),
            "loop a - b - d: 2 of its 5 rows repeat the others; the geometry makes it so, in nearby poses, too",
        ),
        (loop(constraint="gear", rows=1, redundant=1, always=1), "constraint d (gear): its row repeats what the joints "
         "hold"),
        (
            loop(constraint="rolling", rows=3, always=1, beside=("x", "y"), which="along its axle"),
            "constraint d (rolling): 1 of its 3 rows repeats x, y (along its axle)",
        ),
        (
            loop(constraint="rolling", rows=3, beside=("x",)),
            "constraint d (rolling): 2 of its 3 rows repeat x",
        ),
    ],
)  # fmt: skip
def test_each_loop_is_told_with_its_reason(found: Loop, said: str) -> None:
    assert redundancy_notes([found]) == [f"{said}; {UNIQUE}"]


def test_what_repeats_here_only_or_nowhere_is_not_told() -> None:
    assert redundancy_notes([loop(redundant=2, always=0), loop(redundant=0, always=1)]) == []
    assert redundancy_notes([loop(redundant=2, always=0, constraint="gear")]) == []


@pytest.mark.parametrize(
    ("why", "each"),
    [
        ("planar", "; they are planar and written in space"), ("one point", "; the axes of each meet in one point"),
        ("same bodies", "; each joins bodies that another joint joins already"), ("", ""),
        ("geometry", "; the geometry makes it so, in nearby poses, too"),
    ],
)  # fmt: skip
def test_many_loops_alike_are_told_at_once(why: str, each: str) -> None:
    three = [loop(f"d{k}", why=why) for k in range(3)]
    assert len(redundancy_notes(three)) == 3
    four = [*three, loop("d3", why=why)]
    assert redundancy_notes(four) == [
        f"4 loops, closed by d0, d1, d2, ...: of each 2 of 5 rows repeat the others{each}; {UNIQUE}"
    ]
    other = [loop(f"e{k}", why=why, which="force along its axis", always=1) for k in range(5)]
    assert redundancy_notes([*four, *other])[1] == (
        "5 loops, closed by e0, e1, e2, ...: of each 1 of 5 rows repeats the others (force along its axis)"
        f"{each}; {UNIQUE}"
    )
    mixed = [*three, loop("x", why=why, rows=4), loop("y", why=why, always=1), loop("z", why=why, which="w")]
    assert len(redundancy_notes(mixed)) == 6


def test_of_many_constraints_the_first_are_told() -> None:
    some = [loop(f"c{k}", constraint="rolling", rows=3) for k in range(12)]
    assert len(redundancy_notes(some)) == 12
    more = redundancy_notes([*some, loop("c12", constraint="rolling"), loop("c13", constraint="gear")])
    assert len(more) == 13 and more[-1] == "so do 2 more constraints, the last of them c13"


def test_a_singular_pose_is_told_with_the_loop_if_it_is_one() -> None:
    rest = "; forces grow and motion may branch close to it. While such a pose is kept, forces that do the same are "
    rest += "chosen (least norm)"
    here, always = loop(redundant=2, always=1), loop("e", redundant=1, always=1)
    assert singular_note([here, always], 7, 7) == "" and singular_note([here], 7, 6) == ""
    assert singular_note([here, always], 7, 8) == f"singular pose: rank 7 here, 8 nearby (loop a - b - d){rest}"
    assert singular_note([here, here], 7, 9) == f"singular pose: rank 7 here, 9 nearby{rest}"
    assert singular_note([always], 7, 9) == f"singular pose: rank 7 here, 9 nearby{rest}"
    gear = loop(redundant=2, always=1, constraint="gear")
    assert "nearby (constraint d);" in singular_note([gear], 1, 2)


def test_the_middle_of_a_long_loop_is_left_out() -> None:
    names = [f"j{k}" for k in range(9)]
    assert _chain(names[:8]) == " - ".join(names[:8])
    assert _chain(names) == "j0 - j1 - j2 - ... - j7 - j8 (9 joints)"


def test_axes_are_parallel_or_meet_to_a_billionth() -> None:
    a = np.array([0.6, 0.0, 0.8])
    b, across = np.array([0.0, 1.0, 0.0]), np.array([-0.8, 0.0, 0.6])
    # The largest part of the product of a and b is 0.8.
    assert _parallel(np.array([a, -a, a])) and _parallel(np.array([a, a + 1.2e-9 * b]))
    assert not _parallel(np.array([a, a + 1.3e-9 * b])) and not _parallel(np.array([a, a, b]))
    p = np.array([1.0, -2.0, 0.5])
    axes = np.array([a, b, across])
    places = p + np.array([[3.0], [-2.0], [0.7]]) * axes
    assert _meet(axes, places, 2.0)
    # Two lines at a distance of d: the point half way is off by d / 2, by 0.8 of that along x.
    for share, meets in ((2.45, True), (2.55, False)):
        off = places[:2] + np.array([np.zeros(3), share * 2.0 * 1e-9 * across])
        assert _meet(axes[:2], off, 2.0) == meets


@pytest.mark.parametrize("seed", range(5))
def test_rows_act_as_far_as_they_raise_the_rank(seed: int) -> None:
    rng = np.random.default_rng([61, seed])
    model = compile(load_text(scene_text(random_mechanism(rng, 6, 3))))
    begun = start(model)
    mechanism = Mechanism.of(model, begun.structure)
    here = acting_by_loop(mechanism, begun.q)
    J, block = mechanism.jacobian(), np.asarray(begun.structure.tables.rows.block)
    locked = mechanism.locked()
    ranks = [0] + [np.linalg.matrix_rank(J[(block <= n) & locked], tol=1e-7) for n in range(len(here))]
    assert here.tolist() == np.diff(ranks).tolist()
    assert not is_large(mechanism)
    found = loops_of(mechanism, here, acting_nearby(mechanism, begun.q))
    for n, one in enumerate(found):
        rows = int(np.sum((block == n) & locked))
        assert (one.rows, one.redundant, one.joints) == (rows, rows - here[n], tuple(mechanism.around(n)))
        assert one.always <= one.redundant


def test_a_row_acts_beyond_a_ten_millionth_of_the_strongest() -> None:
    """A parallelogram near to where its bars are in line: what acts along them falls with the angle between them."""
    model = compile(load_text(PARALLELOGRAM))
    mechanism = Mechanism.of(model, start(model).structure)
    for angle in (1e-4, 4e-7, 2e-7, 0.0):
        count = acting_by_loop(mechanism, np.array([1.0, 1.0, -1.0]) * (np.pi / 2.0 - angle))
        sizes = np.linalg.svd(mechanism.jacobian()[mechanism.locked()], compute_uv=False)
        assert count.tolist() == [int((sizes > 1e-7 * sizes[0]).sum())] == [2 if angle > 3e-7 else 1]


def test_rows_that_repeat_in_this_pose_alone_have_no_reason() -> None:
    """A crank and a rod on two balls, in line: the row along the line does nothing here, and acts nearby."""
    text = """
schema: 1
name: flat
bodies:
  crank: {mass: 2, com: [0.3, 0, 0.1], inertia: [0.2, 0.3, 0.4]}
  rod: {mass: 1, com: [1.1, 0, 0.1], inertia: [0.2, 0.3, 0.4]}
joints:
  a: {type: rotational, parent: world, child: crank, position: [0, 0, 0], axis: [0, 1, 0]}
  b: {type: spherical, parent: crank, child: rod, position: [0.8, 0, 0]}
  c: {type: spherical, parent: world, child: rod, position: [2, 0, 0]}
"""
    model = compile(load_text(text))
    begun = start(model)
    mechanism = Mechanism.of(model, begun.structure)
    here, nearby = acting_by_loop(mechanism, begun.q), acting_nearby(mechanism, begun.q)
    assert here.tolist() == [2] and [there.tolist() for there in nearby] == [[3]] * len(nearby) and nearby
    (found,) = loops_of(mechanism, here, nearby)
    assert found == Loop(found.joints, 3, 1, 0)
