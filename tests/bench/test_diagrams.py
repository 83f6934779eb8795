"""Work-precision diagrams and thresholds: what is chosen, what dominates, what is written and drawn."""

import json
import math
import time
from functools import partial

import numpy as np
import pytest

from bench import __main__ as command
from bench import catalogue, memory, report
from bench.measure import Result, interleave

NOTHING = type(None)


def point(error, times, setting="a setting"):
    from bench.work_precision import Point

    return Point(setting, NOTHING, NOTHING, NOTHING, error, times)


def rows_of(theirs, ours=((1e-2, 1.0), (1e-4, 2.0), (1e-4, 1.9), (1e-8, 4.0))):
    """Return what is said of a peer's points (error, time) beside ours."""
    from bench.work_precision import PROBLEMS, Curve, _results

    mine = Curve("ours", "", iter(()), [point(error, [t, t, t], f"t {t}") for error, t in ours])
    peer = Curve("peer way", "peer", iter(()), [point(error, [t]) for error, t in theirs])
    return list(_results("precision.A02", PROBLEMS["A02"], [mine, peer], "a note", {"": 10.0, "peer": 20.0}))[
        len(ours) :
    ]


def test_fastest_of_ours_that_is_as_accurate_is_compared():
    (found,) = rows_of([(2e-4, 3.8)])
    assert (found.ours, found.value, found.ratio) == (1.9, 3.8, 0.5)
    assert (found.more["our_error"], found.more["error"], found.more["our_setting"]) == (1e-4, 2e-4, "t 1.9")
    assert (found.memory, found.value_memory, found.peer) == (10.0, 20.0, "peer way")


@pytest.mark.parametrize(
    ("error", "time", "dominated"),
    [
        (2e-4, 2.1, True), (2e-4, 1.8, False), (5e-5, 3.9, False), (5e-5, 4.1, True), (1e-9, 1e9, False),
        (2e-3, 0.1, None),
    ],
)  # fmt: skip
def test_dominated(error, time, dominated):
    (found,) = rows_of([(error, time)])
    assert found.more["dominated"] is dominated
    assert json.loads(found.line())["dominated"] is dominated
    assert (found.ours is None) == (error < 1e-8)


def test_tables_show_the_worst_point_that_counts_or_else_the_most_exact():
    shown = [row for row in rows_of([(5e-1, 0.01), (5e-4, 9.5), (4e-4, 2.0), (3e-4, 7.0)]) if not row.detail]
    assert [row.value for row in shown] == [2.0]
    assert shown[0].note.startswith("dominated at 3 of its 3 points of 0.001 or better; here 4e-04")
    shown = [row for row in rows_of([(5e-1, 0.01), (2e-3, 9.5)]) if not row.detail]
    assert [row.value for row in shown] == [9.5]
    assert shown[0].note.startswith("does not reach 0.001 within 0.5 s: 2e-03")


def test_exploring_stops_at_the_budget_and_leaves_out_what_did_not_arrive():
    from bench.peer_exudyn import Diverged
    from bench.work_precision import Curve, Point

    def diverge():
        raise Diverged("it left")

    runs = {"diverges": diverge, "nan": NOTHING, "good": NOTHING, "slow": partial(time.sleep, 0.3), "never": NOTHING}
    states = {"nan": math.nan}
    curve = Curve("c", "p", (Point(k, run, NOTHING, partial(states.get, k, 0.5)) for k, run in runs.items()))
    curve.explore(float, 0.2)
    assert [(p.setting, p.error) for p in curve.points] == [("good", 0.5)]
    assert curve.lost == ["diverges"]
    assert next(curve.candidates).setting == "never"


def test_coarsest_setting_that_reaches_and_whose_next_does():
    from bench.iftomm import PROBLEMS, Contender, coarsest

    def errors(*found, wall=0.0):
        return lambda k: Contender(f"setting {k}", NOTHING, NOTHING, found[k], wall)

    problem = PROBLEMS["A04"]  # 1e-3 J
    find = partial(coarsest, problem, range(4))
    assert find(errors(1e-2, 5e-4, 2e-3, 5e-4), 1.0).about == "setting 3"  # the second had luck
    assert find(errors(1e-2, 9e-4, 8e-4, 0.0), 1.0).about == "setting 1"
    assert find(errors(1.0, 1e-5, 9e-4, 8e-4), 1.0).about == "setting 2"  # far away: one is left out
    assert find(errors(math.inf, 1.0, 1.0, 1.0), 1.0) is None
    assert find(errors(1e-2, 1e-5, 1e-5, 1e-5, wall=2.0), 1.0) is None


@pytest.mark.parametrize("name", ["A02", "A03", "A05"])
def test_our_tightest_run_meets_what_is_published(name):
    from bench import work_precision

    reference, scale = work_precision._reference(name, work_precision.PROBLEMS[name])
    assert reference.shape == (len(work_precision.PROBLEMS[name].points), 6)
    assert scale[0] == work_precision.PROBLEMS[name].size
    wrong = work_precision.replace(work_precision.PROBLEMS[name], until=0.95 * work_precision.PROBLEMS[name].until)
    with pytest.raises(work_precision.Disagreement, match="away from what is published"):
        work_precision._reference(name, wrong)


def test_watched_energy_is_that_of_the_same_run():
    """A pendulum's imbalance at a loose tolerance: larger during the run than at its end, and its steps are not cut."""
    from bench.ours import Run, load

    run = Run(load("benchmarks/point_pendulum", 1e-4))
    run(10.0)
    end, steps = abs(run.simulator.energy["balance"]), run.simulator.flow.counts()["steps"]
    worst = run.worst_balance(10.0, 100)
    assert 1e-3 < end <= worst < 1e-1
    assert steps < 50
    run.rewind()
    run(10.0)
    assert abs(run.simulator.energy["balance"]) == end


def test_what_precedes_is_called_and_not_timed():
    calls = []
    samples = interleave({"a": lambda: calls.append("a") or 1}, 2, {"a": lambda: calls.append("before")})
    assert calls == ["before", "a"] * 3
    assert len(samples["a"]) == 2


def test_peak_memory_is_that_of_another_process():
    here = np.ones(30_000_000)  # 240 MB that the other process has not
    small, large = memory.peak(np.ones, 10), memory.peak(np.ones, 20_000_000)
    assert 5 < small < 120
    assert 130 < large - small < 180
    assert here.any()
    with pytest.raises(RuntimeError, match=r"numpy\.ones: ValueError: negative dimensions"):
        memory.peak(np.ones, -1)


@pytest.fixture
def drawn(monkeypatch):
    """Replace all benchmarks by one diagram without any measurement."""

    def fake(name, rounds):
        from bench.work_precision import PROBLEMS, Curve, _results

        mine = Curve("ours", "", iter(()), [point(1e-4, [1.0]), point(1e-8, [2.0])])
        peer = Curve("peer way", "peer", iter(()), [point(1e-2, [0.5]), point(5e-4, [0.7]), point(1e-5, [9.0])])
        yield from _results("precision.A02", PROBLEMS["A02"], [mine, peer], "a note", {})

    items = {"precision.A02": catalogue.Benchmark("a diagram", fake, 1), "other": catalogue.Benchmark("none", _none, 1)}
    monkeypatch.setattr(catalogue, "BENCHMARKS", items)
    monkeypatch.setattr(command, "BENCHMARKS", items)


def _none(name, rounds):
    yield Result(name, 1.0, "s", 1, 0.0)


def test_plots_are_drawn_and_equal_runs_draw_equal_files(drawn, tmp_path, capsys):
    assert command.main(["precision", "--plots", str(tmp_path / "new")]) == 0
    out, err = capsys.readouterr()
    file = tmp_path / "new" / "precision_A02.png"
    assert err == f"{file}\n"
    assert len(out.splitlines()) == 2  # details are left out of tables
    first = file.read_bytes()
    assert first.startswith(b"\x89PNG")
    command.main(["precision", "--plots", str(tmp_path / "new")])
    assert file.read_bytes() == first


def test_plots_without_a_diagram_or_a_folder(drawn, tmp_path, capsys):
    assert command.main(["other", "--plots", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "--plots: only precision.* and snake.* have something to draw\n"
    (tmp_path / "file").write_text("")
    assert command.main(["precision", "--plots", str(tmp_path / "file")]) == 1
    assert "--plots: " in capsys.readouterr().err


def test_page_gets_pictures_and_says_where_peers_are_better(drawn, tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text(f"{report.BEGIN}\n{report.END}\n")
    monkeypatch.setattr(command, "PICTURES", tmp_path / "pictures")
    monkeypatch.setattr(command, "write_page", partial(report.write_page, page=page))
    assert command.main(["precision", "--markdown"]) == 0
    text = page.read_text()
    assert "![precision A02](pictures/precision_A02.png)" in text
    assert (tmp_path / "pictures" / "precision_A02.png").exists()
    better = text.partition("### Where peers are better")[2]
    assert "- precision.A02: peer way 0.7 s, ours 1 s at an error of 5e-04" in better
    assert "- precision.A02: 1 of 1 points of peers at larger errors" in better
    assert "9 s" not in better
    assert report.slower(list(_none("other", 1))) == "In nothing that was measured here."
