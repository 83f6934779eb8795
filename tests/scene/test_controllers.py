"""Controllers: classes found, parameters read by kind and unit, files run only when trusted."""

import math

import pytest

from sim.scene.load import load_text
from sim.scene.problem import SceneError
from tests.scene.examples import PENDULUM, scene_of

pytestmark = pytest.mark.fast

OWN = '''\
"""A controller of the scene's own."""

import dataclasses

from sim import Controller, parameter


@dataclasses.dataclass(kw_only=True)
class Own(Controller):
    """Does nothing."""

    gain: float = parameter(kind="number", unit="N m/rad", minimum=0.0, about="a gain")
    many: list[float] = parameter([1.0], kind="numbers", unit="m", about="lengths")
    count: int = parameter(3, kind="integer", about="a count")
    word: str = parameter("slow", kind="text", choices=("slow", "fast"), about="a word")
    really: bool = parameter(False, kind="flag", about="a flag")
    joint: str = parameter("", kind="joint", about="a joint")
    by: dict[str, float] = parameter({}, kind="by_joint", unit="auto", about="numbers")
    firm: dict[str, float] = parameter({}, kind="by_joint", unit="N m/rad", minimum=2.0, about="bounded numbers")
    laws: dict[str, object] = parameter({}, kind="expressions", unit="N m", about="formulas")


class Other:
    """No controller."""


if False:
    raise SystemExit
'''


def scene_with(block, folder, trust=True):
    tube = "{type: cylindrical, parent: bob, child: ball, position: [0, 0, 0], axis: [0, 0, 1]}"
    text = f"schema: 1\n{PENDULUM}  tube: {tube}\n"
    text = text.replace("joints:\n", "  ball: {mass: 1 kg, com: [0, 0, 0]}\njoints:\n", 1)
    return load_text(f"{text}controllers:\n  own: {block}\n", folder=folder, trust=trust)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    return tmp_path


def parameters(block, folder):
    return scene_with(block, folder).controllers[0].parameters


def test_parameters_are_read_by_kind_and_unit(folder):
    found = parameters(
        "{type: ./own.py:Own, gain: 5 N m/deg, many: [1 cm, 2], count: 4, word: fast, really: true, joint: hinge, "
        "by: {'h*': 30 deg, tube: [1 cm, 2]}, laws: {hinge: 2 N m*sin(t/1 s), tube: [1 N, '3']}}",
        folder,
    )
    assert found["gain"] == pytest.approx(5 * 180 / math.pi)
    assert (found["many"], found["count"], found["word"], found["really"]) == ((0.01, 2.0), 4, "fast", True)
    assert found["joint"] == "hinge"
    assert found["by"] == {"hinge": pytest.approx(math.pi / 6), "tube": (0.01, 2.0)}
    assert found["laws"]["hinge"].text == "2 N m*sin(t/1 s)"
    assert [law.text for law in found["laws"]["tube"]] == ["1 N", "3"]


def test_defaults_are_filled_in(folder):
    scene = scene_with("{type: ./own.py:Own, gain: 5, enabled: false}", folder)
    use = scene.controllers[0]
    assert not use.enabled
    assert dict(use.parameters) == {
        "gain": 5.0, "many": [1.0], "count": 3, "word": "slow", "really": False, "joint": "", "by": {}, "firm": {},
        "laws": {},
    }  # fmt: skip
    assert use.places["gain"].column > 1


@pytest.mark.parametrize(
    ("block", "path", "what", "hint"),
    [
        ("Own", "", "parameter 'gain' is missing", "gain: a gain"),
        ("Own, gain: 5 N", ".gain", "expected a stiffness (N m/rad), found a force (N)", ""),
        ("Own, gain: -5", ".gain", "expected at least 0, found -5 N m/rad", ""),
        ("Own, gain: 5, gian: 5", ".gian", "controller type './own.py:Own' has no parameter 'gian'",
         "did you mean 'gain'?"),
        ("Own, gain: 5, count: 1.5", ".count", "expected a whole number, found 1.5", ""),
        ("Own, gain: 5, word: fat", ".word", "'fat' is not among the choices", "did you mean 'fast'?"),
        ("Own, gain: 5, really: on", ".really", "expected true or false, found 'on'", "write true"),
        ("Own, gain: 5, joint: '*'", ".joint", "2 joints match; expected one", "hinge, tube"),
        ("Own, gain: 5, by: {hinge: 1 m}", ".by.hinge", "expected an angle (rad), found a length (m)", ""),
        ("Own, gain: 5, by: {tube: [1 m]}", ".by.tube", "expected 2 numbers, one for each freedom of 'tube', found 1",
         ""),
        ("Own, gain: 5, by: [1, 2]", ".by", "expected joint names and their values", "{knee_l: ..., knee_r: ...}"),
        ("Owm, gain: 5", ".type", "'./own.py' has no class 'Owm'", "did you mean 'Own'?"),
        ("Other", ".type", "'./own.py:Other' is not a controller", "a controller is a subclass of sim.Controller"),
    ],
)  # fmt: skip
def test_mistakes_in_parameters_are_problems(folder, block, path, what, hint):
    with pytest.raises(SceneError) as caught:
        scene_with(f"{{type: ./own.py:{block}}}", folder)
    (problem,) = caught.value.problems
    assert (problem.path, problem.what, problem.hint) == (f"controllers.own{path}", what, hint)


@pytest.mark.parametrize(
    ("kind", "what", "hint"),
    [
        ("./own.py", "'./own.py' names a file but no class", "write ./own.py:MyController"),
        ("./none.py:Own", "there is no file './none.py' beside the scene", ""),
        ("swingpump", "no controller type named 'swingpump'", "did you mean 'swing_pump'?"),
    ],
)
def test_types_that_are_not_there_are_problems(folder, kind, what, hint):
    with pytest.raises(SceneError) as caught:
        scene_with(f"{{type: {kind}}}", folder)
    (problem,) = caught.value.problems
    assert (problem.path, problem.what, problem.hint) == ("controllers.own.type", what, hint)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            "import no_such_module\n",
            "'./own.py' fails: ModuleNotFoundError: No module named 'no_such_module' (own.py:1)",
        ),
        ("x = (\n", "'./own.py' fails: SyntaxError: '(' was never closed (own.py:1)"),
        ("1/0\n", "'./own.py' fails: ZeroDivisionError: division by zero (own.py:1)"),
        ("raise ValueError('no\\nmore')\n", "'./own.py' fails: ValueError: no more (own.py:1)"),
        ("raise SystemExit(3)\n", "'./own.py' fails: SystemExit: 3 (own.py:1)"),
    ],
)
def test_a_file_that_fails_is_a_problem(folder, text, what):
    (folder / "own.py").write_text(text, encoding="utf-8")
    with pytest.raises(SceneError) as caught:
        scene_with("{type: ./own.py:Own, gain: 5}", folder)
    (problem,) = caught.value.problems
    assert problem.what == what


def test_a_file_is_run_only_when_trusted(folder):
    (folder / "own.py").write_text("raise RuntimeError('it ran')\n", encoding="utf-8")
    with pytest.raises(SceneError) as caught:
        scene_with("{type: ./own.py:Own, gain: 5}", folder, trust=False)
    (problem,) = caught.value.problems
    assert "trust=True" in problem.hint
    assert "it ran" not in problem.what


def test_one_value_serves_slides_and_turns():
    scene = scene_of(PENDULUM + "controllers: {hold: {type: pd, joints: hinge, kp: 5 N/m, kd: {hinge: 2 N m s/rad}}}\n")
    assert scene.controllers[0].parameters["kp"] == 5.0
    assert scene.controllers[0].parameters["kd"] == {"hinge": 2.0}


@pytest.mark.parametrize("value", ["{hinge: %s}", "%s", "{hinge: %s, tube: [3 N/m, 4 N m/rad]}", "{tube: [%s, 2]}"])
def test_a_least_value_is_that_of_each_joint_however_it_is_given(folder, value):
    block = "{type: ./own.py:Own, gain: 5, firm: FIRM}"
    for number, right in (("2", True), ("1.99", False), ("-3", False)):
        if right:
            assert scene_with(block.replace("FIRM", value % number), folder).controllers
            continue
        with pytest.raises(SceneError) as caught:
            scene_with(block.replace("FIRM", value % number), folder)
        (problem,) = caught.value.problems
        assert problem.what.startswith(f"expected at least 2, found {number}") and problem.path.startswith(
            "controllers.own.firm"
        )
