"""The numbers of the papers and of design: freedoms of joints, rank, mobility, redundant rows."""

from pathlib import Path

import pytest

import sim

SCENES = Path(__file__).parents[2] / "scenes"

# scene, parameters, N_J, m, m nearby, N_F, rows of all loops
ROWS = [
    ("pendulum", {}, 1, 0, 0, 1, 0),
    ("double_pendulum", {}, 2, 0, 0, 2, 0),
    ("four_bar", {}, 4, 3, 3, 1, 6),
    ("two_bodies", {}, 12, 0, 0, 12, 0),
    ("monkey_swing", {}, 40, 12, 12, 28, 12),
    ("high_bar", {}, 24, 12, 12, 12, 12),
    ("high_bar", {"twist": 0.0}, 24, 11, 12, 13, 12),
    ("high_bar_planar", {}, 24, 11, 12, 13, 12),
    ("swing", {}, 44, 30, 30, 14, 30),
    ("swing_paper", {}, 42, 29, 30, 13, 30),
    ("rope_pullup", {}, 48, 12, 12, 36, 12),
    ("rope", {}, 80, 0, 0, 80, 0),
    ("newtons_cradle", {}, 5, 0, 0, 5, 0),
    ("stack", {}, 60, 0, 0, 60, 0),
    ("woodpecker", {}, 4, 0, 0, 4, 0),
    ("slider_crank_clearance", {}, 3, 0, 0, 3, 0),
    ("benchmarks/figure58", {}, 64, 12, 12, 52, 12),
    ("benchmarks/andrews", {}, 10, 9, 9, 1, 18),
    ("benchmarks/governor", {}, 4, 0, 0, 4, 0),
    ("benchmarks/bricard", {}, 6, 5, 5, 1, 6),
    ("benchmarks/four_bars", {}, 7, 6, 6, 1, 12),
    ("benchmarks/forest", {"figures": 1}, 28, 12, 12, 16, 12),
    ("benchmarks/forest", {"figures": 3}, 84, 36, 36, 48, 36),
    ("benchmarks/four_bars", {"windows": 10}, 31, 30, 30, 1, 60),
]


@pytest.mark.parametrize(("name", "parameters", "freedoms", "rank", "nearby", "mobility", "rows"), ROWS)
def test_counts(name, parameters, freedoms, rank, nearby, mobility, rows):
    info = sim.info(sim.load(SCENES / f"{name}.yaml", set=parameters))
    assert info["joint_coordinates"] == freedoms
    assert info["constraint_rank"] == rank
    assert info["rank_nearby"] == nearby
    assert info["mobility"] == mobility
    assert info["redundant_rows"] == rows - rank
    assert 6 * len(info["loops"]) == rows
    assert sum(loop["redundant"] for loop in info["loops"]) == rows - rank
    assert len(info["generalized_coordinates"]) == mobility
