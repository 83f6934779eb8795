"""The bench of the snake paper: its lines, its pictures, and methods that join."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest

from bench import __main__ as command
from bench import snake
from bench.diagram import draw
from bench.snake import Contender
from sim.analysis.snake.fixed_steps import METHODS

pytestmark = pytest.mark.nonholonomic


@pytest.fixture
def short(monkeypatch):
    for name, value in {"SIZES": (2, 3, 4), "FITTED": 2, "RUNS": (3,), "DRAWN": 3, "UNTIL": 0.2}.items():
        monkeypatch.setattr(snake, name, value)


def test_table_one_stands_beside_what_is_counted(capsys):
    assert command.main(["snake.operations", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    totals = [(line["unit"][0], line["value"]) for line in lines if " links, all: " in line["note"]]
    assert totals[:6] == [("m", 192), ("a", 72), ("m", 1641), ("a", 693), ("m", 3949), ("a", 1653)]
    assert len(totals) == 18
    stages = [line for line in lines if " links, all: " not in line["note"]]
    assert len(stages) == 2 * (8 + 5 + 5)
    for line in stages:
        assert (line["ours"] == line["value"]) == ("counted just so" in line["note"]), line


def test_pictures_of_the_paper(short, tmp_path):
    found = [line for which in (snake.times, snake.precision, snake.energy) for line in which("snake", 1)]
    files = draw(found, tmp_path)
    assert [file.name for file in files] == [f"snake_figure_{k}.png" for k in (2, 3, 4, 5, 6)]
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)
    pairs = [line for line in found if line.peer]
    assert {line.peer for line in pairs} == {"Lagrange", "Newton-Euler"}
    assert len(pairs) == 2 * (3 + 1 + 2)
    exponents = [line for line in found if line.unit == "exponent"]
    assert len(exponents) == len(METHODS)
    assert len([line for line in found if line.unit == "links"]) == 2


def test_below_how_many_links_a_method_wins():
    sizes = (2, 4, 8, 16)
    ratio = [9 / n for n in sizes]
    assert snake.crossover(sizes, ratio) == pytest.approx(9)  # a power of the size is met exactly
    assert snake.crossover(sizes, [3, 2, 1, 0.5]) == pytest.approx(8)
    assert snake.crossover(sizes, [9, 8, 7, 6]) == np.inf
    assert snake.crossover(sizes, [0.9, 0.8, 2, 3]) == 0


def test_times_tell_who_wins(short, monkeypatch):
    """On a clock of our own, that a method moves forward by what an evaluation of it is to take."""
    now = [0.0]
    monkeypatch.setattr(snake.time, "process_time", lambda: now[0])
    u_dot = np.array([1.0, 2.0])

    def takes(seconds):
        def prepare(n):
            def evaluate(times):
                now[0] += times * seconds(n)
                return times

            return evaluate, u_dot

        return Contender(prepare)

    made_up = {"Kane": takes(lambda n: 1e-6 * n**2), "engine": takes(lambda n: 3e-6 * n), "slow": takes(lambda n: 1.0)}
    monkeypatch.setattr(snake, "contenders", lambda **further: made_up)
    found = list(snake.times("snake", 3))
    engine, slow = (line for line in found if line.unit == "links")
    assert engine.ours == pytest.approx(3) and "less time than engine" in engine.note
    assert slow.ours is None and slow.note == "Kane's method takes less time than slow always, of 2 to 4 links"
    assert [line.ours for line in found if line.unit == "exponent"] == pytest.approx([2, 1, 0], abs=1e-6)
    monkeypatch.setitem(made_up, "engine", takes(lambda n: 1e-7))
    engine, _ = (line for line in snake.times("snake", 3) if line.unit == "links")
    assert engine.ours is None and "than engine never, of 2 to 4 links" in engine.note


def test_further_methods_join_and_wrong_ones_are_refused(short):
    kane = snake.contenders()["Kane"]
    also = {"also": Contender(kane.prepare, kane.run)}
    for which, lines in ((snake.times, 3), (snake.precision, 1), (snake.energy, 2)):
        assert len([line for line in which("snake", 1, **also) if line.peer == "also"]) == lines
    assert not [line for line in snake.energy("snake", 1, silent=Contender(kane.prepare)) if line.peer == "silent"]

    def wrong(n):
        evaluate, u_dot = kane.prepare(n)
        return evaluate, u_dot * (1 + 1e-8)

    with pytest.raises(ValueError, match="wrong and Kane differ by 1e-08 for 2 links"):
        list(snake.times("snake", 1, wrong=Contender(wrong)))


def test_the_engine_joins_in_double_precision(short):
    found = {which.__name__: [line for line in which("snake", 1, engine=snake.engine()) if line.peer == "engine"]
             for which in (snake.times, snake.precision, snake.energy)}  # fmt: skip
    assert {name: len(lines) for name, lines in found.items()} == {"times": 3, "precision": 0, "energy": 1}
    assert found["energy"][0].value < 1e-8 and "slip" in found["energy"][0].note


def test_the_engines_run_is_kanes() -> None:
    """In steps of the same method, and with the same S, which a torque's work at the wrong joint would not give."""
    ours, kane = (one.run(5, 1e-3, 400, float) for one in (snake.engine(), snake.contenders()["Kane"]))
    np.testing.assert_allclose(ours.time, kane.time, atol=1e-12)
    np.testing.assert_allclose(ours.q, kane.q, atol=1e-10)
    np.testing.assert_allclose(ours.V_1, kane.V_1, atol=1e-10)
    assert np.abs(ours.S).max() < 1e-10 and ours.slip.max() < 1e-13


def test_an_error_of_the_energy_function_is_seen(short):
    kane = snake.contenders()["Kane"]

    def leaks(n, step, steps, number):
        run = partial(kane.run, n, step, steps, number)()
        return type(run)(**{**vars(run), "S": run.S + np.linspace(0, 0.5, len(run.S))})

    lines = snake.energy("snake", 1, leaks=Contender(kane.prepare, leaks))
    assert [line.value for line in lines if line.peer == "leaks"] == pytest.approx([0.5, 0.5], abs=1e-3)
