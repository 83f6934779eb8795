"""What rows that repeat others cost: Bricard's mechanism beside mechanisms of independent rows that move alike.

A mechanism of as many links, rows and freedoms of motion, but of rows that are independent, has one joint
coordinate more.  Giving one hinge a slide along its axis makes one: the six hinges leave one freedom without it,
so the slide never moves and the motion is the same, but all five rows act.  That coordinate costs, too, so ours is
held against what is less as well: a universal joint as the last one, the same tree with the repeated row left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from bench.forward_dynamics import Disagreement
from bench.measure import Result, interleave, result
from bench.ours import Engine, Run, load
from sim.scene import library
from sim.scene.load import load_text
from sim.scene.spec import Scene

SCENE, POINT, UNTIL = "benchmarks/bricard", "rod2.p3", 10.0
STATES, SPAN, TIMES = 16, 3.0, 400  # of its own motion, over so long [s]; times through all of them
ALIKE = 1e-6  # m: how far the mechanisms may be apart at the end
OURS, AS_MANY, LESS = "ours", "5 independent rows", "4 rows, the fifth left out"
INSTEAD = {
    AS_MANY: ("hinge3: {type: rotational,", "hinge3: {type: cylindrical,"),
    LESS: ("hinge5: {type: rotational,", "hinge5: {type: universal, second_axis: [0, 1, 0],"),
}


def scenes() -> dict[str, Scene]:
    """Return the mechanism, and those that it is held against, by what they are called."""
    text = library.find(SCENE).read_text(encoding="utf-8")
    found = {OURS: load(SCENE)}
    for name, (hinge, other) in INSTEAD.items():
        if text.count(hinge) != 1:
            raise ValueError(f"{SCENE} has no joint written {hinge!r}")
        found[name] = load_text(text.replace(hinge, other))
    return found


def measure(name: str, rounds: int) -> Iterator[Result]:
    """Check that all move alike, then yield one evaluation, and a run's time by its evaluations, beside each other."""
    mechanisms = scenes()
    runs = {which: Run(scene) for which, scene in mechanisms.items()}
    counted = _run_all(runs)
    timed: dict[str, Callable[[], int]] = {}
    for which, scene in mechanisms.items():
        engine = Engine(scene)
        timed[which] = partial(engine.repeat, engine.moving_states(STATES, SPAN), TIMES)
    samples = interleave(timed, rounds)
    for which in INSTEAD:
        yield result(
            name, "us", samples[OURS], scale=1e6, peer=which, value=samples[which], note="accelerations",
        )  # fmt: skip
    whole = interleave(
        {which: partial(_go, run) for which, run in runs.items()}, rounds,
        {which: run.rewind for which, run in runs.items()},
    )  # fmt: skip
    for which in INSTEAD:
        yield result(
            name, "us", whole[OURS], scale=1e6, peer=which, value=whole[which],
            note=f"a run of {UNTIL:g} s by its evaluations: {counted[OURS]}, beside {counted[which]}",
        )  # fmt: skip


def _go(run: Run) -> int:
    """Run to the end; return how many evaluations that took."""
    run(UNTIL)
    return run.evaluations


def _run_all(runs: dict[str, Run]) -> dict[str, int]:
    """Run all; return the evaluations of each.

    Raises
    ------
    Disagreement
        When they do not move alike.
    """
    counted = {which: _go(run) for which, run in runs.items()}
    ours = runs[OURS].positions([POINT])
    for which, run in runs.items():
        apart = float(np.abs(run.positions([POINT]) - ours).max())
        if not apart < ALIKE:
            raise Disagreement(f"after {UNTIL:g} s {POINT} is {apart:.1e} m from that of the one with {which}")
    return counted
