"""`sim linearize`: every word that it prints of models made by hand, its options, and the values of a parameter."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import sim
from sim.analysis.linear.stability import Crossing
from sim.analysis.linear.study import Linearization, RootLocus
from sim.cli import linearizing
from sim.cli.linearizing import parameter_values
from sim.cli.main import main
from sim.cli.outcome import Refusal

pytestmark = pytest.mark.fast
STATES = ("hip", "knee", "rate(hip)", "rate(knee)", "way")


def model(roots, **changes) -> Linearization:
    """Return a model of as many states as roots, and one more on which nothing depends."""
    n = len(roots)
    values = {
        "t": 1.25, "states": (*STATES[:n], STATES[4]), "A": np.arange(1.0, (n + 1) ** 2 + 1).reshape(n + 1, n + 1) / 7,
        "B": -np.arange(1.0, 2 * n + 3).reshape(n + 1, 2) / 3, "inputs": ("hip", "knee"),
        "eigenvalues": np.array([*roots, 0.0], complex), "spread": np.full(n, 1e-9), "modes": np.eye(n + 1, n),
        "fed": np.arange(n), "q": np.zeros(n), "v": np.zeros(n), "pose": {"hip": 0.5, "knee": -0.25, "way": 1e-12},
        "steady": True, "remark": "", "follows": {}, "notes": (), "trust": {"engine": 4e-12, "differences": 3e-9},
        "size": np.ones((n + 1, n + 1)), "error": 0.0,
    }  # fmt: skip
    return Linearization(**{**values, **changes})


ROOTS = (0.125, -0.3 + 0.4j, -0.3 - 0.4j, -1e-10 + 2.0j)
ALONE = """\
mime: linear model at t = 1.25 s about a steady motion
  pose: hip 0.5, knee -0.25, way 0
  nothing depends on: way

real part [1/s]  +- imaginary [rad/s]  damping ratio  mostly in
0.1250000000                                          rate(hip), hip
-0.3000000000    0.4000000000          0.6            rate(knee), knee
0.0000000000     2.0000000000          0              rate(knee), knee

d/dt of     hip          knee         rate(hip)    rate(knee)   torque hip    torque knee
hip         0.142857143  0.285714286  0.428571429  0.571428571  -0.333333333  -0.666666667
knee        0.857142857  1            1.14285714   1.28571429   -1            -1.33333333
rate(hip)   1.57142857   1.71428571   1.85714286   2            -1.66666667   -2
rate(knee)  2.28571429   2.42857143   2.57142857   2.71428571   -2.33333333   -2.66666667

accelerations agree with those of the engine to 4e-12, their derivatives to 3e-09
"""
LOOSE = """\
mime: linear model at t = 0.123457 s about a motion that is not steady (it falls)
  pose: a 0, b 1, c 2, d 3, e 4, f 5, and 2 more (--json has them)
  runs on: way at 0.333333333
  runs on: turn at -2
  the floor was held still
  a jump was left out
  nothing depends on: knee

real part [1/s]  +- imaginary [rad/s]  damping ratio  mostly in
-0.2500000000                                         hip, knee

d/dt of  hip          torque hip    torque knee
hip      0.142857143  -0.333333333  -0.666666667

accelerations agree with those of the engine to 4e-12, their derivatives to 3e-09
"""


def lines(capsys) -> str:
    return "".join(line.rstrip() + "\n" for line in capsys.readouterr().out.splitlines())


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")


def test_a_model_is_printed_whole(capsys):
    modes = np.array(
        [[0.5, 0, 0, 0], [0, 0.5, 0.5, 0.5], [-0.8j, 0, 0, 0.2], [0, 0.8, 0.8, -0.6], [0, 0, 0, 0]], complex
    )
    linearizing._print_model("mime", model(ROOTS, modes=modes, eigenvalues=np.array([*ROOTS, 0.0])))
    assert lines(capsys) == ALONE


def test_a_motion_that_is_not_steady_says_why(capsys):
    pose = dict(zip("abcdefgh", range(8), strict=True))
    found = model(
        (-0.25,), steady=False, remark="it falls", pose=pose, follows={"way": 1 / 3, "turn": -2.0}, t=0.1234567,
        notes=("the floor was held still", "a jump was left out"), states=("hip", "knee"),
        A=np.array([[1 / 7, 0], [0, 0]]), B=-np.array([[1, 2], [0, 0]]) / 3, modes=np.array([[1.0], [0.5]]),
    )  # fmt: skip
    linearizing._print_model("mime", found)
    assert lines(capsys) == LOOSE


def test_what_cannot_deviate_is_said(capsys):
    nothing = model((), states=("way",), A=np.zeros((1, 1)), B=np.zeros((1, 2)), modes=np.zeros((1, 0)))
    linearizing._print_model("mime", nothing)
    assert lines(capsys).splitlines()[2:] == [
        "  nothing depends on: way", "",
        "nothing in it can deviate and grow: every freedom is driven, held, or runs on by itself",
    ]  # fmt: skip
    whole = model((-1.0,), states=("hip",), A=np.eye(1), B=np.zeros((1, 0)), modes=np.eye(1), inputs=())
    linearizing._print_model("mime", whole)
    assert "nothing depends on" not in lines(capsys)


@pytest.mark.parametrize(("size", "shown"), [(1, True), (12, True), (13, False)])
def test_matrices_are_printed_of_a_dozen_states(capsys, size, shown):
    names = tuple(f"s{k}" for k in range(size))
    many = model(
        -np.arange(1.0, size + 1), states=names, A=np.eye(size), B=np.zeros((size, 0)), inputs=(), modes=np.eye(size),
        spread=np.full(size, 1e-9), fed=np.arange(size),
    )  # fmt: skip
    linearizing._print_model("mime", many)
    out = lines(capsys)
    assert out.count("\n-") == size and ("d/dt of" in out) == shown


def test_a_locus_is_printed_whole(capsys):
    """Coordinates that move have columns; poses that stay are told once."""
    poses = [
        {"hip": 0.5 + 0.1 * k, "knee": -0.25, "way": 1e-7 * k, **({"toe": 0.125} if k != 2 else {})} for k in range(3)
    ]
    made = [
        model((-1.0, -0.5 + 2j, -0.5 - 2j), pose=poses[0]),
        model((0.5, -0.25), pose=poses[1], steady=False, remark="it slides"),
        model((0.75 + 1j, 0.75 - 1j), pose={**poses[2], "heel": 0.0}, steady=False, remark="it falls"),
    ]
    crossings = (
        Crossing(1.25, 0.0, True, "buckling"), Crossing(1e-17, 3.25j, False, "Hopf", 2),
        Crossing(2.0, -1.5j, True, "flutter", 1),
    )  # fmt: skip
    found = RootLocus("v", np.array([0.0, 1.0, 2.0]), tuple(made), np.zeros((3, 3)), crossings, (1.5, 1 / 3))
    linearizing._print_locus("mime", found)
    assert lines(capsys) == LOCUS


LOCUS = """\
mime: eigenvalues [1/s] over v
  pose: knee -0.25, way 0, toe 0.125
v              heel  hip  eigenvalues
0                    0.5  -1.0000000000, -0.5000000000 +- 2.0000000000i
1  not steady        0.6  0.5000000000, -0.2500000000
2  not steady  0     0.7  0.7500000000 +- 1.0000000000i
v = 1.25: buckling: a root passes zero; a mode becomes unstable
v = 0: Hopf: the damping of an oscillation at 3.25 rad/s passes zero; 2 modes become stable
v = 2: flutter: two oscillations meet at 1.5 rad/s; a mode becomes unstable
v = 1.5: the motions found on both sides do not go on into one another
v = 0.333333333: the motions found on both sides do not go on into one another
2 of 3 motions are not steady; at 1 it slides
"""


def test_a_pose_that_stays_is_told_of_all_values(capsys):
    made = [model((-1.0,)), model((-2.0,))]
    linearizing._print_locus("mime", RootLocus("v", np.array([1.0, 2.0]), tuple(made), np.zeros((2, 1))))
    assert lines(capsys).splitlines()[1:] == [
        "  pose: hip 0.5, knee -0.25, way 0, at all values", "v    eigenvalues", "1    -1.0000000000",
        "2    -2.0000000000",
    ]  # fmt: skip


@pytest.mark.parametrize(("apart", "moves"), [(0.9e-6, False), (1.1e-6, True), (-1.1e-6, True)])
def test_poses_within_a_micrometre_are_one(capsys, apart, moves):
    made = [model((-1.0,), pose={"hip": 0.5}), model((-2.0,), pose={"hip": 0.5 + apart})]
    linearizing._print_locus("mime", RootLocus("v", np.array([1.0, 2.0]), tuple(made), np.zeros((2, 1))))
    assert ("pose: hip 0.5, at all values" not in lines(capsys)) == moves


def test_a_value_near_zero_is_zero_of_its_range():
    values = np.array([-4.0, 0.0, 2.0])
    for value, text in ((4e-14, "0"), (-4e-14, "0"), (4.1e-14, "4.1e-14"), (1 / 3, "0.333333333333"), (-4.0, "-4")):
        assert linearizing._value(value, values) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" v = 0:10:2.5 ", [0, 2.5, 5, 7.5, 10]), ("v=1:1:3", [1]), ("v=-2:0.9:1", [-2, -1, 0]),
        ("v=0:0.3:0.1", [0, 0.1, 0.2, 0.3]),
        ("v=5 cm : 0.11 m : 30 mm", [0.05, 0.08, 0.11]), ("v=0:1 - 1e-7:0.5", [0, 0.5]), ("v=2*3:8:1", [6, 7, 8]),
    ],
)  # fmt: skip
def test_values_go_from_one_end_to_the_other(text, expected):
    name, values = parameter_values(text)
    assert name == "v" and [value.value for value in values] == pytest.approx(expected, rel=1e-14, abs=1e-15)


def test_values_keep_their_unit_and_that_they_have_none():
    (_, plain), (_, lengths) = parameter_values("v=0:1:1"), parameter_values("v=1 m:2 m:1 m")
    assert plain[1].bare and not lengths[1].bare and lengths[0].dimension == lengths[1].dimension != plain[0].dimension


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("v", "--param: 'v' is not of the form NAME=FROM:TO:STEP, as in v=0:10:0.1"),
        ("=0:1:1", "--param: '=0:1:1' is not of the form NAME=FROM:TO:STEP, as in v=0:10:0.1"),
        ("v=0:1", "--param: 'v=0:1' is not of the form NAME=FROM:TO:STEP, as in v=0:10:0.1"),
        ("v=0:1:1:1", "--param: 'v=0:1:1:1' is not of the form NAME=FROM:TO:STEP, as in v=0:10:0.1"),
        ("v 0:1:1", "--param: 'v 0:1:1' is not of the form NAME=FROM:TO:STEP, as in v=0:10:0.1"),
        (
            "v=0 m:1 m:1 s",
            "--param: 'v=0 m:1 m:1 s' mixes a length (m) and a time (s); from, to and step have one unit",
        ),
        (
            "v=0 m:1 s:1 m",
            "--param: 'v=0 m:1 s:1 m' mixes a length (m) and a time (s); from, to and step have one unit",
        ),
        ("v=0:1: -1", "--param: the step -1 is not above zero"),
        ("v=0:1:0", "--param: the step 0 is not above zero"),
        ("v= 2 : 1 :1", "--param: the range 2 to 1 is empty; the smaller value first"),
        ("v=0:10000:1", "--param: 10001 values are too many; take a longer step"),
    ],
)
def test_a_parameter_that_is_none_is_told_in_a_sentence(text, sentence):
    with pytest.raises(Refusal) as caught:
        parameter_values(text)
    assert str(caught.value) == sentence


def test_ten_thousand_values_may_be():
    assert len(parameter_values("v=1:10000:1")[1]) == 10000


# --- the command ------------------------------------------------------------------------------------


@pytest.fixture
def called(monkeypatch, tmp_path):
    """Note what the command asks of the engine and of the plot."""
    from render import locus

    monkeypatch.chdir(tmp_path)
    found = SimpleNamespace(loaded=[], asked=None, drawn=None, announced=None, values=None, waited=[])

    def load(path, *, set, trust):
        found.loaded.append((path, set, trust))
        return SimpleNamespace(name="mime")

    def linearize(scene, **asked):
        found.asked = asked
        return model(ROOTS)

    def root_locus(make, values, **asked):
        found.asked, found.values = asked, values
        make(values[-1])
        crossings = (Crossing(1.5, 2j, True, "Hopf"),)
        return RootLocus("v", np.array(values), (model((-1.0,)),) * len(values), np.ones((len(values), 1)), crossings)

    monkeypatch.setitem(vars(sim), "load", load)
    monkeypatch.setitem(vars(sim), "linearize", linearize)
    monkeypatch.setitem(vars(sim), "root_locus", root_locus)
    monkeypatch.setattr("sim.cli.running.announce_compiling", lambda quiet: setattr(found, "announced", quiet))
    monkeypatch.setattr(
        "sim.cli.linearizing.waiting", lambda quiet, what: found.waited.append((quiet, what)) or nullcontext()
    )
    monkeypatch.setattr(locus, "draw", lambda *given: setattr(found, "drawn", given))
    return found


def test_every_option_arrives(called, capsys):
    options = ["--set", "n=3", "--trust", "--at", "1500 ms", "--state", "hip", "--state", "knee", "--input", "toe"]
    assert main(["linearize", "a.yaml", *options, "-o", "b.svg", "--size", "640x480"]) == 0
    assert called.loaded == [("a.yaml", {"n": "3"}, True)] and called.announced is False
    assert called.waited == [(False, "linearising")]
    assert called.asked == {"at": 1.5, "inputs": ("toe",), "states": ("hip", "knee")}
    out, err = capsys.readouterr()
    assert out.startswith("mime: linear model at t = 1.25 s") and err == "written: b.svg\n"
    values, branches, crossings, parameter, output, title, size = called.drawn
    assert (values.tolist(), crossings, parameter, output, title, size) == (
        [0.0], [], "", Path("b.svg"), "mime", (640, 480)
    )  # fmt: skip
    assert branches.tolist() == [list(ROOTS)]


@pytest.mark.parametrize("at", [None, "steady"])
def test_without_options_the_start_and_all_inputs(called, capsys, at):
    assert main(["linearize", "a.yaml", *(["--at", at] if at else []), "--quiet"]) == 0
    assert called.asked == {"at": at, "inputs": None, "states": ()} and called.announced is True
    assert called.loaded == [("a.yaml", {}, False)] and called.drawn is None
    assert called.waited == [(True, "linearising")]
    assert capsys.readouterr() == ("", "")


def test_json_is_all_that_is_printed(called, capsys):
    assert main(["linearize", "a.yaml", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == json.loads(json.dumps({"ok": True, "scene": "mime", **model(ROOTS).as_data()}))
    assert err == "" and called.announced is True and called.waited == [(True, "linearising")]


def test_a_parameter_goes_through_its_values(called, capsys):
    options = ["--set", "n=3", "--trust", "--at", "steady", "--input", "toe", "--state", "hip"]
    assert main(["linearize", "d/a.yaml", "--param", "v=1:2:0.5", *options]) == 0
    (_, first, _), (_, last, _) = called.loaded
    assert first["n"] == last["n"] == "3" and (first["v"].value, last["v"].value) == (1.0, 2.0)
    assert [(path, trust) for path, _, trust in called.loaded] == [("d/a.yaml", True)] * 2
    assert called.values == [1.0, 1.5, 2.0]
    assert called.asked == {"parameter": "v", "at": "steady", "inputs": ("toe",), "states": ("hip",)}
    values, _, crossings, parameter, output, title, size = called.drawn
    assert (values.tolist(), crossings, parameter, output, title, size) == (
        [1.0, 1.5, 2.0], [(1.5, 2j)], "v", Path("a_v.png"), "mime", None
    )  # fmt: skip
    out, err = capsys.readouterr()
    assert out.startswith("mime: eigenvalues [1/s] over v\n") and err == "written: a_v.png\n"
    assert main(["linearize", "a.yaml", "--param", "v=1:2:1", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["ok"], data["scene"], data["parameter"], data["values"]) == (True, "mime", "v", [1.0, 2.0])
    assert main(["linearize", "a.yaml", "--param", "v=3:3:1", "--quiet", "-o", "one.png"]) == 0
    assert called.values == [3.0] and called.loaded[-1][1]["v"].value == 3.0
    capsys.readouterr()
    assert main(["linearize", "a.yaml", "--param", "v=1:2:1", "--set", "v=2"]) == 2
    assert capsys.readouterr().err == "--param: 'v' is given by --set, too\n"


def test_nothing_is_overwritten_unasked(called, capsys):
    Path("b.png").touch()
    assert main(["linearize", "a.yaml", "-o", "b.png"]) == 2
    assert capsys.readouterr().err == "-o: 'b.png' exists; choose another name or add --overwrite\n"
    assert main(["linearize", "a.yaml", "-o", "b.png", "--overwrite", "--quiet"]) == 0
    assert main(["linearize", "a.yaml", "-o", "b.gif"]) == 2
    assert "-o: 'b.gif' should end in .png or .svg or .pdf\n" in capsys.readouterr().err


def test_what_is_not_wished_is_as_the_command_has_it(called, capsys):
    """Whoever calls the verb from Python and says only what has to be said."""
    assert linearizing.linearize(linearizing.LinearizeOptions(scene="a.yaml")) == 0
    assert called.asked == {"at": None, "inputs": None, "states": ()} and called.loaded == [("a.yaml", {}, False)]
    assert capsys.readouterr().out.startswith("mime: linear model") and called.drawn is None
    Path("a.png").touch()
    with pytest.raises(Refusal, match=r"'a.png' exists"):
        linearizing.linearize(linearizing.LinearizeOptions(scene="a.yaml", output=Path("a.png")))
