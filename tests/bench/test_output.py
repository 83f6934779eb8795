"""The form of what `python -m bench` prints and writes."""

import json
from functools import partial

import pytest

from bench import __main__ as command
from bench import catalogue, report
from bench.measure import interleave, less, result, spread

KEYS = ["name", "ours", "unit", "peer", "value", "ratio", "rounds"]
pytestmark = pytest.mark.fast


def fake(name, rounds, fail=False):
    if fail:
        raise RuntimeError("it broke")
    yield result(name, "us", [2e-6, 1e-6, 3e-6][:rounds], scale=1e6, peer="other", value=[4e-6] * rounds, note="a note")
    yield result(name, "us", [2e-6] * rounds, scale=1e6)


@pytest.fixture
def fakes(monkeypatch):
    items = {
        "a.one": catalogue.Benchmark("the first", fake, 3),
        "a.two": catalogue.Benchmark("the second", fake, 3, slow=True),
        "broken": catalogue.Benchmark("fails", partial(fake, fail=True), 3),
    }
    monkeypatch.setattr(catalogue, "BENCHMARKS", items)
    monkeypatch.setattr(command, "BENCHMARKS", items)


def test_median_spread_and_ratio():
    found = result("n", "ms", [0.001, 0.002, 0.004], scale=1e3, peer="p", value=[0.004, 0.004, 0.008])
    assert found.ours == pytest.approx(2.0)
    assert found.value == pytest.approx(4.0)
    assert found.ratio == pytest.approx(0.5)
    assert found.rounds == 3
    assert found.spread == pytest.approx(0.75)
    assert spread([1.0]) == 0.0
    assert less([3.0, 5.0], [1.0, 2.0]) == [2.0, 3.0]


def test_rounds_are_interleaved():
    calls = []

    def work(name):
        calls.append(name)
        return 10

    samples = interleave({"a": partial(work, "a"), "b": partial(work, "b")}, 3)
    assert calls == ["a", "b"] * 4
    assert {name: len(times) for name, times in samples.items()} == {"a": 3, "b": 3}
    assert all(t > 0 for times in samples.values() for t in times)


def test_json_is_one_object_a_line(fakes, capsys):
    assert command.main(["a.one", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [list(line)[: len(KEYS)] for line in lines] == [KEYS, KEYS]
    first, second = lines
    assert (first["name"], first["unit"], first["peer"], first["rounds"]) == ("a.one", "us", "other", 3)
    assert first["ratio"] == first["ours"] / first["value"] == pytest.approx(0.5)
    assert (second["peer"], second["value"], second["ratio"]) == (None, None, None)


def test_table(fakes, capsys):
    assert command.main(["a.one"]) == 0
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["name", "ours", "peer"]
    assert first.split()[:7] == ["a.one", "2", "us", "other", "4", "us", "0.500"]
    assert second.split()[:3] == ["a.one", "2", "us"]


def test_slow_ones_only_when_named(fakes):
    assert catalogue.choose([]) == ["a.one", "broken"]
    assert catalogue.choose(["a"]) == catalogue.choose(["a.*"]) == ["a.one", "a.two"]
    assert catalogue.choose(["broken", "a.two"]) == ["a.two", "broken"]


def test_unknown_name_and_rounds(fakes, capsys):
    assert command.main(["a.three"]) == 2
    assert capsys.readouterr().err == "there is no benchmark 'a.three'; --list says what there is\n"
    assert command.main(["--rounds", "0"]) == 2
    assert capsys.readouterr().err == "--rounds is at least 1\n"


def test_failure_is_a_sentence_and_the_others_go_on(fakes, capsys):
    assert command.main(["broken", "a.one", "--rounds", "1"]) == 1
    out, err = capsys.readouterr()
    assert err == "broken: it broke\n"
    assert "a.one" in out


def test_list_names_everything(capsys):
    assert command.main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(catalogue.BENCHMARKS)
    assert {
        "forward_dynamics.figure58.no_loops", "forward_dynamics.figure58.two_loops", "startup.check", "startup.run",
        "startup.first_run", "realtime.monkey_swing", "realtime.swing",
    } <= set(catalogue.BENCHMARKS)  # fmt: skip
    assert [line.split()[0] for line in lines if "slow" in line] == [
        "inverse.formulations", "long_runs.monkey_swing", "startup.first_run",
    ]  # fmt: skip


def test_page_keeps_its_text_and_gets_the_table(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    report.write_page(list(fake("a.one", 3)), ["a.*"], page)
    text = page.read_text()
    assert text.startswith(f"before\n{report.BEGIN}\n")
    assert text.endswith(f"\n{report.END}\nafter\n")
    assert "old" not in text
    assert "`python -m bench --markdown 'a.*'` on " in text
    assert "| a.one | 2 us | other | 4 us | 0.500 | 3 |" in text
    page.write_text("no marks")
    with pytest.raises(ValueError, match="has no marks"):
        report.write_page([], [], page)


def test_page_of_the_documentation_has_its_marks():
    text = report.PAGE.read_text()
    assert text.count(report.BEGIN) == text.count(report.END) == 1
