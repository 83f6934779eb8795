"""What controllers do that they may not: written views, indices beyond, exceptions and prints, at every stage."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import sim
from sim.cli.main import main
from sim.scene import controllers as finding
from sim.scene.authored import aside
from tests.plugins.written import CLASS, PLACE, line_of, loaded, with_law, with_method, write

VIEWS = ("coordinate", "rate", "p_WB", "R_WB", "V_WB")
WAYS = {"torque": "def torque(self, t, state, torque):", "sample": "def sample(self, t, state, torque, memory):"}
STAGES = {
    "import": "{}\n" + CLASS + "    pass\n",
    "construct": with_method("def __post_init__(self):\n    {}"),
    "start": with_method("def start(self, view):\n    {}"),
    "expressions": with_method("def expressions(self, view):\n    {}\n    return {{}}"),
    "constants": with_law("pass").replace("        return np", "        {}\n        return np"),
    "torque": with_method(WAYS["torque"] + "\n    {}"),
    "sample": with_method(WAYS["sample"] + "\n    {}"),
}
BEFORE = ("import", "construct", "start", "expressions", "constants")


def ran(folder, text):
    """Run a scene with a controller; return what it failed with."""
    with pytest.raises((sim.SceneError, sim.SimulationError)) as caught:
        sim.run(loaded(folder, text))
    return str(caught.value)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("view", VIEWS)
def test_the_state_cannot_be_written(tmp_path, way, view):
    text = with_method(f"{WAYS[way]}\n    state.{view}[:] = 5.0  # HERE")
    assert (
        f"controller 'mine' ({PLACE}): ValueError: assignment destination is read-only (mine.py:{line_of(text)})"
    ) in ran(tmp_path, text).replace(f"{tmp_path}/", "")


@pytest.mark.parametrize("view", VIEWS)
def test_the_state_cannot_be_made_writable(tmp_path, view):
    text = with_method(f"{WAYS['sample']}\n    state.{view}.flags.writeable = True")
    assert "cannot set WRITEABLE flag" in ran(tmp_path, text)


def test_what_a_controller_knows_of_the_model_cannot_be_written(tmp_path):
    for change in ("view.limits[:] = 1", "view.start[:] = 1", "view.columns['hinge'] = 1", "view.types.clear()"):
        assert PLACE in ran(tmp_path, with_method(f"def start(self, view):\n    {change}")).replace(f"{tmp_path}/", "")


@pytest.mark.fast
def test_a_law_that_reaches_beyond_is_found_before_the_run(tmp_path):
    for body in ("torque[7] += 1.0  # HERE", "torque[0] += coordinate[1]  # HERE", "x = constants[2]  # HERE"):
        text = with_law(body)
        said = ran(tmp_path, text).replace(f"{tmp_path}/", "")
        assert f"{PLACE}: controllers.mine.law: its law reads or writes beyond an array: index" in said
        assert f"(mine.py:{line_of(text)})" in said


@pytest.mark.fast
def test_a_law_that_reaches_beyond_later_ends_the_run(tmp_path):
    text = with_law("if t > 0.15:\n    torque[7] += 1.0  # HERE")
    scene, output = loaded(tmp_path, text), tmp_path / "r.h5"
    with pytest.raises(sim.SimulationError, match=r"t = 0\.15\d* s: controller 'mine'.*IndexError.*mine\.py:7"):
        sim.run(scene, output=output)
    with sim.load_recording(output) as recording:
        assert recording.rows > 5 and np.all(np.isfinite(recording.coordinate["hinge"]))


def test_a_helper_of_a_law_is_looked_at_too(tmp_path):
    helper = "import numba\n\n@numba.njit\ndef helper(u, t):\n    if t > 0.15:\n        u[9] += 1.0\n\n"
    said = ran(tmp_path, helper + with_law("helper(torque, t)  # HERE"))
    assert "IndexError" in said and "controller 'mine'" in said


@pytest.mark.parametrize("array", ["coordinate", "rate", "constants"])
def test_a_law_writes_torques_only(tmp_path, array):
    said = ran(tmp_path, with_law(f"{array}[0] = 5.0")).replace(f"{tmp_path}/", "")
    assert said == (
        f"{PLACE}: controllers.mine.law: its law writes into an array that it may only read: assignment destination "
        "is read-only (mine.py:6)"
    )


@pytest.mark.fast
def test_a_law_that_writes_later_is_refused_when_it_is_compiled(tmp_path):
    said = ran(tmp_path, with_law("if t > 0.15:\n    coordinate[0] = 5.0"))
    assert "read" in said and "only" in said and "mine.py:7" in said


@pytest.mark.fast
def test_what_a_law_raises_ends_the_run(tmp_path):
    """Machine code raises nothing, and prints an exception at most: it used to go on without a torque."""
    text = with_law("if t > 0.15:\n    raise ValueError('no more')  # HERE")
    said = ran(tmp_path, text).replace(f"{tmp_path}/", "")
    assert f"controller 'mine' ({PLACE}): ValueError: no more (mine.py:{line_of(text)})" in said


@pytest.mark.parametrize("error", ["ValueError('wrong')", "KeyError('wrong')", "SystemExit('wrong')"])
@pytest.mark.parametrize("stage", STAGES)
def test_what_is_raised_is_told_with_both_lines(tmp_path, stage, error):
    text = STAGES[stage].format(f"raise {error}  # HERE")
    with pytest.raises((sim.SceneError, sim.SimulationError)) as caught:
        sim.run(loaded(tmp_path, text))
    said = str(caught.value).replace(f"{tmp_path}/", "")
    assert isinstance(caught.value, sim.SceneError) == (stage in BEFORE)
    assert "scene.yaml:8:" in said and "wrong" in said and f"(mine.py:{line_of(text)})" in said


def test_what_an_installed_one_raises_is_told_with_both_lines(tmp_path, monkeypatch):
    for stage, text in STAGES.items():
        (tmp_path / f"plug_{stage}.py").write_text(
            "import dataclasses\nimport numpy as np\n"
            "from sim.plugin import Controller, parameter\n\n" + text.format("raise KeyError('wrong')  # HERE")
        )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(finding, "installed", lambda: {f"own_{stage}": f"plug_{stage}:Mine" for stage in STAGES})
    for stage, text in STAGES.items():
        path = write(tmp_path, "")
        path.write_text(path.read_text().replace("./mine.py:Mine", f"own_{stage}"))
        with pytest.raises((sim.SceneError, sim.SimulationError)) as caught:
            sim.run(path)
        said = str(caught.value).replace(f"{tmp_path}/", "")
        line = line_of(text.format("HERE"))
        assert "scene.yaml:8:" in said and f"KeyError: 'wrong' (plug_{stage}.py:{line})" in said


def test_a_syntax_error_has_its_line(tmp_path):
    with pytest.raises(sim.SceneError, match=r"scene\.yaml:8:\d+.*SyntaxError.*mine\.py:6"):
        loaded(tmp_path, "\ndef f(:\n")


@pytest.mark.parametrize("stage", STAGES)
def test_what_is_printed_goes_to_standard_error(tmp_path, capsys, stage):
    sim.run(loaded(tmp_path, STAGES[stage].format("print('said')"))).close()
    out, err = capsys.readouterr()
    assert out == "" and "said" in err


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ValueError])
def test_standard_output_comes_back(error, capsys):
    def fails() -> None:
        print("inner")
        raise error

    def outer() -> None:
        with pytest.raises(error):
            aside(fails)
        print("outer")
        raise error

    before = sys.stdout
    with pytest.raises(error):
        aside(outer)
    assert sys.stdout is before
    print("after")
    assert capsys.readouterr() == ("after\n", "inner\nouter\n")


def test_what_a_law_prints_leaves_json_whole(tmp_path, capsys):
    scene = write(tmp_path, with_law("if t < 1e-3:\n    print(t)"))
    assert main(["run", str(scene), "--trust", "--json", "-o", str(tmp_path / "a.h5"), "--duration", "0.01"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["complete"] and "0.0" in err


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("rate = -5.0\ndef sample(self, t, state, torque, memory):\n    pass", "sampled at -5.0 Hz"),
        ("rate = 0\ndef sample(self, t, state, torque, memory):\n    pass", "sampled at 0 Hz"),
        ("def expressions(self, view):\n    return {7: 1.0}", "expressions() gives 7: float"),
        ("def expressions(self, view):\n    return {0: 1.0}", "expressions() gives 0: float"),
        ("def expressions(self, view):\n    return {'hinge': 1.0}", "expressions() gives 'hinge': float"),
        ("def expressions(self, view):\n    return 3", "TypeError"),
    ],
)
def test_what_a_controller_answers_is_looked_at(tmp_path, body, says):
    assert says in ran(tmp_path, with_method(body))


def test_after_a_fault_a_run_goes_back_and_on(tmp_path):
    """A controller that raised is asked again after `restore`: it used to be left out of what followed."""
    text = CLASS + "    def torque(self, t, state, torque):\n        torque[0] = 1.0\n"
    text += "        if t > 0.2 and not self.well:\n            raise ValueError('ill')\n    well = False\n"
    scene = loaded(tmp_path, text)
    simulator = sim.Simulator(sim.compile(scene))
    simulator.advance(0.1)
    kept = simulator.snapshot()
    with pytest.raises(sim.SimulationError, match="ill"):
        simulator.advance(0.3)
    with pytest.raises(sim.SimulationError, match="ill"):
        simulator.advance(0.3)
    simulator.restore(kept)
    type(_controller(simulator)).well = True
    simulator.advance(0.3)
    alone = sim.Simulator(sim.compile(scene))
    type(_controller(alone)).well = True
    alone.advance(0.1)
    alone.advance(0.3)
    assert simulator.q == pytest.approx(alone.q, abs=0.0)


def _controller(simulator):
    return simulator.now.controllers.laws[0][1].args[1]


def test_controllers_do_not_see_each_others_torques(tmp_path):
    text = CLASS + "    def torque(self, t, state, torque):\n        assert not torque.any()\n        torque[0] = 2.0\n"
    path = write(tmp_path, text)
    path.write_text(path.read_text().replace("controllers:\n", 'controllers:\n  other: {type: "./mine.py:Mine"}\n'))
    simulator = sim.Simulator(sim.compile(sim.load(path, trust=True)))
    simulator.advance(0.01)
    assert simulator.torque["hinge"] == 4.0
