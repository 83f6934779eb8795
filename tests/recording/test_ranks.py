"""Which rank the rows have and when it changes: as data, as a sentence, and in runs."""

from __future__ import annotations

import numpy as np
import pytest

import sim
from sim.cli.running import describe
from sim.recording.ranks import ranks_sentence, stretches
from sim.scene import library
from sim.scene.load import load_text

# A parallelogram whose crank is driven at a constant rate: it lies flat at 1 s, which is a recorded instant.
FLAT = """
schema: 1
name: flat
world: {gravity: [0, -9.81, 0]}
bodies:
  crank_0: {mass: 1 kg, com: [0.5, 0, 0], inertia: [0, 1/12, 1/12]}
  crank_1: {mass: 1 kg, com: [2.5, 0, 0], inertia: [0, 1/12, 1/12]}
  coupler: {mass: 1 kg, com: [2, 0, 0], inertia: [0, 1/3, 1/3]}
joints:
  pivot_0:
    {type: rotational, parent: world, child: crank_0, position: [0, 0, 0], axis: [0, 0, 1], motion: 90 deg/s*(t - 1 s)}
  pivot_1: {type: rotational, parent: world, child: crank_1, position: [2, 0, 0], axis: [0, 0, 1]}
  left: {type: rotational, parent: crank_0, child: coupler, position: [1, 0, 0], axis: [0, 0, 1]}
  right: {type: rotational, parent: crank_1, child: coupler, position: [3, 0, 0], axis: [0, 0, 1]}
initial: {pivot_1: {coordinate: -90 deg, rate: 90 deg/s}, left: {coordinate: 90 deg, rate: -90 deg/s}}
simulate: {duration: 2 s, record: 100 Hz}
"""


def test_stretches_begin_where_rows_or_rank_change() -> None:
    time = np.array([0.0, 0.1, 0.2, 0.2, 0.3, 0.4])
    rank, rows = np.array([5, 5, 6, 4, 4, 4]), np.array([6, 6, 6, 4, 4, 5])
    assert stretches(time, rank, rows) == [
        {"from": 0.0, "to": 0.1, "rows": 6, "rank": 5}, {"from": 0.2, "to": 0.2, "rows": 6, "rank": 6},
        {"from": 0.2, "to": 0.3, "rows": 4, "rank": 4}, {"from": 0.4, "to": 0.4, "rows": 5, "rank": 4},
    ]  # fmt: skip
    assert stretches(time[:0], rank[:0], rows[:0]) == []


@pytest.mark.parametrize(
    ("times", "rows", "ranks", "text"),
    [
        ([0, 1, 2], [0, 0, 0], [0, 0, 0], ""),
        ([0, 1, 2], [-1, -1, -1], [4, 4, 4], "rank 4"),
        ([0, 1, 2], [1, 1, 1], [1, 1, 1], "1 row, rank 1"),
        ([0, 1, 1.2034, 2], [6] * 4, [5, 5, 6, 6], "6 rows, rank 5 until 1.2034 s; then rank 6"),
        ([0, 1, 2, 3], [6] * 4, [6, 6, 5, 6], "6 rows, rank 6 until 2 s; rank 5 at 2 s; then rank 6"),
        ([0, 1, 1, 2], [0, 0, 9, 9], [0, 0, 8, 8], "no rows until 1 s; then 9 rows, rank 8"),
        ([0, 1, 1, 1, 2], [9, 9, 6, 3, 3], [9, 9, 6, 3, 3], "9 rows, rank 9 until 1 s; then 3 rows, rank 3"),
        ([0, 1, 1, 1, 2], [9, 9, 6, 9, 9], [9, 9, 6, 9, 9], "9 rows, rank 9"),
        (
            [0, 1, 2, 3, 4, 5, 6, 7], [9] * 8, [9, 8] * 4,
            "9 rows, rank 8 to 9, 7 changes, the first at 1 s, the last at 7 s",
        ),
    ],
)  # fmt: skip
def test_ranks_are_a_sentence(times, rows, ranks, text) -> None:
    assert ranks_sentence(stretches(np.array(times, float), np.array(ranks), np.array(rows))) == text


def test_a_loop_that_passes_a_singular_position_tells_when() -> None:
    """The rank at each recorded instant is that of the planar closure and the drive, by hand."""
    with sim.run(load_text(FLAT)) as recording:
        turn = np.pi / 2 * (recording.time - 1.0)
        flat = np.abs(turn) < 1e-12
        assert flat.sum() == 1
        # Crank 0 and the coupler, crank 1: velocity of the point `right`, then the drive of crank 0.
        by_hand = []
        for a in turn:
            across, along = np.array([-np.sin(a), np.cos(a)]), np.array([0.0, 2.0])
            J = np.array([[*(across + along)[:1], along[0], -across[0]], [(across + along)[1], along[1], -across[1]]])
            by_hand.append(np.linalg.matrix_rank(np.vstack([J, [1.0, 0.0, 0.0]]), tol=1e-9))
        assert recording.trust.rank.tolist() == by_hand
        assert set(recording.trust.rows.tolist()) == {6}
        text = describe(dict(recording.summary, recording="x.h5"))
    assert "constraints       6 rows, rank 3 until 1 s; rank 2 at 1 s; then rank 3\n" in text


def test_cut_loops_tell_what_is_left() -> None:
    """The swing as the paper has it: of 19 rows 18 act while both thighs are on the plate."""
    with sim.run(sim.load(library.find("swing_paper"), set={"push": 3.0}), duration=4.0) as recording:
        off = [event for event in recording.events if event.name.endswith("thigh off")]
        found = recording.summary["trust"]["ranks"]
        assert len(off) == 2
        assert [s["from"] for s in found[1:]] == sorted(event.time for event in off)
        assert [(s["rows"], s["rank"]) for s in found] == [(19, 18), (14, 14), (9, 9)]
        sentence = f"19 rows, rank 18 until {off[0].time:.6g} s; then 9 rows, rank 9"
        assert sentence in describe(dict(recording.summary, recording="x.h5"))
