"""What is asked of a span: motion first, coordinates only where formulas need them, and gaps at last."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from sim.kernels.guards import spans
from sim.kernels.status import Status
from sim.kernels.system import CLEAR_GAPS, CLEARANCE
from sim.kernels.tables import table
from sim.kernels.watched import (
    CLEAR,
    GUARD,
    GUARD_GAP,
    GUARD_PROGRAM,
    GUARD_STOP,
    SAMPLED,
    SPAN_AT,
    SPAN_HEADER,
    SPAN_SECONDS,
    WITHIN,
)
from tests.kernels.plain import plain

pytestmark = pytest.mark.fast

BEFORE = ["put_motion", "move", "spread_out"]
OF_FORMULAS = ["columns", "body_poses", "tree_ranges", "loop_ranges"]


MOVING = ("tree", "freedoms", "links", "of freedoms", "span_v", "span_off", "span_most", "spans", "path")


class Asked:
    """A span of 0.25 s, seen from 0.3 of it, of three coordinates and two rates."""

    def __init__(self, kinds: list[int], verdicts: list[float], meetings: int) -> None:
        self.log: list = []
        one = SimpleNamespace(nq=np.array([3]), nv=np.array([2]))
        self.tables = SimpleNamespace(one=one, links="tree", freedoms="freedoms", blocks="blocks", columns="of joints",
                                      meetings=SimpleNamespace(a=np.zeros(meetings)))  # fmt: skip
        self.guards = SimpleNamespace(table=table(GUARD, len(kinds)))
        self.guards.table.kind = kinds
        self.told = np.array([*np.zeros(SPAN_HEADER), *verdicts])
        self.told[SPAN_SECONDS], self.told[SPAN_AT] = 0.25, 0.3
        names = ("span_q", "span_v", "span_off", "span_most", "links", "spans", "bodies", "blocks", "coordinate",
                 "rate", "ranges", "rate_ranges", "path", "answers")  # fmt: skip
        self.work = SimpleNamespace(
            one=SimpleNamespace(intact=np.array([7])), freedoms="of freedoms", **{name: name for name in names}
        )

    def run(self) -> int:
        def note(name):
            return lambda *given: self.log.append((name, *given))

        def vector(a, n):
            assert n == {"a": 15 * 7, "b": len(self.told)}[a]
            return self.told if a == "b" else "span"

        def judge(tables, work, guards, g, t, stretch, told):
            assert tables is self.tables and work is self.work and guards is self.guards.table and told is self.told
            assert (t, *stretch) == (1.5, "span", 0.25, 0.3)
            self.log.append(("judge", g))
            return SAMPLED

        def ask(answers, question, system, t, a, b):
            assert b is self.told
            self.log.append(("ask", answers, question, system, t, a))
            return 5

        names = [*BEFORE, *OF_FORMULAS]
        return plain(
            spans.spans.function, unpack=lambda system: (self.tables, None, self.work, self.guards), vector=vector,
            judge=judge, ask=ask, **{name: note(name) for name in names},
        )(CLEARANCE, "system", 1.5, "a", "b")  # fmt: skip


def test_motion_is_looked_at_with_the_times_before_and_after_the_place() -> None:
    one = Asked([GUARD_STOP, GUARD_GAP], [WITHIN, WITHIN], 1)
    assert one.run() == 5 and one.work.one.intact[0] == 0
    close = pytest.approx
    assert one.log == [
        ("put_motion", "tree", "span", 7, 0.3, 0.25, "span_q", "span_v", "span_off", "span_most"),
        ("move", "system", "span_q", "span_v"),
        ("spread_out", "tree", "freedoms", "links", "span_v", "span_off", "span_most", close(0.175), "spans"),
        ("columns", "system", "span_q", "span_v"),
        ("body_poses", "tree", "links", "bodies"),
        ("tree_ranges", "tree", "span", 7, 3, 0.25, 0.3, "coordinate", "ranges", "rate_ranges"),
        ("loop_ranges", "blocks", "of joints", "blocks", "coordinate", "rate", close(0.075), close(0.175),
         MOVING, "ranges", "rate_ranges"),
        ("judge", 0), ("judge", 1), ("ask", "answers", CLEAR_GAPS, "system", 1.5, "span"),
    ]  # fmt: skip
    assert one.told[SPAN_HEADER:].tolist() == [SAMPLED, SAMPLED]


@pytest.mark.parametrize("place", range(3))
def test_coordinates_are_looked_at_where_a_formula_is_not_clear_yet(place: int) -> None:
    """Those of gaps need none, and what is clear already is not judged."""
    for kind, verdict, formulas in ((GUARD_PROGRAM, WITHIN, True), (GUARD_STOP, WITHIN, True),
                                    (GUARD_PROGRAM, CLEAR, False), (GUARD_STOP, SAMPLED, False),
                                    (GUARD_GAP, WITHIN, False)):  # fmt: skip
        kinds, verdicts = [GUARD_GAP] * 3, [float(CLEAR), float(SAMPLED), float(CLEAR)]
        kinds[place], verdicts[place] = kind, verdict
        one = Asked(kinds, verdicts, 0)
        assert one.run() == Status.OK
        judged = [("judge", place)] if verdict == WITHIN else []
        names = [x[0] for x in one.log if x[0] != "judge"]
        assert names == BEFORE + (OF_FORMULAS if formulas else []) and one.log[len(names) :] == judged
        verdicts[place] = float(SAMPLED) if judged else verdict
        assert one.told[SPAN_HEADER:].tolist() == verdicts
