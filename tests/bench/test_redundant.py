"""Rows that repeat others cost no steps: counted beside mechanisms of independent rows with the same motion."""

from __future__ import annotations

import pytest

from bench import redundant
from bench.forward_dynamics import Disagreement
from bench.ours import Run
from sim.scene import library
from sim.scene.load import load_text

TWICE = "  hinge5_again: {type: rotational, parent: world, child: rod5, position: [0, 0, 1], axis: [1, 0, 0]}\n"


@pytest.fixture(scope="module")
def runs():
    """Run Bricard's mechanism, those that it is held against, and it with a loop given twice."""
    text = library.find(redundant.SCENE).read_text(encoding="utf-8")
    twice = load_text(text.replace("simulate:", f"{TWICE}simulate:"))
    out = {name: Run(scene) for name, scene in {**redundant.scenes(), "twice": twice}.items()}
    for run in out.values():
        run(redundant.UNTIL)
    return out


@pytest.mark.parametrize(
    ("name", "rows", "rank"),
    [(redundant.OURS, 5, 4), (redundant.AS_MANY, 5, 5), (redundant.LESS, 4, 4), ("twice", 10, 4)],
)
def test_rows_and_rank_are_those_meant(runs, name, rows, rank):
    flow = runs[name].simulator.flow
    assert flow.structure.sizes.rows == rows
    assert int(flow.work.one.rank[0]) == rank


@pytest.mark.parametrize("name", [redundant.OURS, "twice"])
@pytest.mark.parametrize("beside", [redundant.AS_MANY, redundant.LESS])
def test_redundancy_takes_no_more_work(runs, name, beside):
    """Where the motion is the same, so are the steps; control of errors may differ by roundoff in a few of them."""
    ours, theirs = (runs[which].simulator.flow.counts() for which in (name, beside))
    for what in ("steps", "evaluations"):
        assert ours[what] <= 1.05 * theirs[what], what
    assert ours["rejected"] <= theirs["rejected"] + 2


def test_mechanisms_that_move_differently_are_not_timed(runs):
    other = Run(load_text(library.find(redundant.SCENE).read_text(encoding="utf-8").replace("-9.81", "-9.8")))
    with pytest.raises(Disagreement, match=r"rod2\.p3 is .* m from"):
        redundant._run_all({redundant.OURS: runs[redundant.OURS], "less gravity": other})
