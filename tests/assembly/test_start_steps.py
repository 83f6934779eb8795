"""How a start is found, step by step, and what it says: around parts that are made by hand."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import numpy as np
import pytest

from sim.assembly import start as starts
from sim.assembly.continuation import Reached
from sim.assembly.loop_closure import Aim
from sim.scene.problem import Place, Problem

pytestmark = pytest.mark.fast


# --- the start --------------------------------------------------------------------------------------

NOTHING: Any = None


def test_rotations_of_loop_joints_cannot_be_aimed_at() -> None:
    model = Made(joint_names=["a", "b", "c", "d"], joints=Made(nv=np.array([3, 3, 2, 3])))
    made: Any = Made(model=model, structure=Made(loops=(1, 2, 3)))
    four, two = Made(coordinate=(1.0, 0.0, 0.0, 0.0), place="four"), Made(coordinate=(0.5, 0.5), place="two")
    values: Any = {0: four, 1: four, 2: two, 3: Made(coordinate=None, place="none")}
    assert [(one.path, one.where) for one in starts.unplaceable(made, values)] == [("initial.b", "four")]


def test_rates_that_loops_do_not_keep_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starts, "not_allowed_by", lambda mechanism: "they do not allow")
    looked = []
    columns = {0: slice(0, 2), 1: slice(2, 3), 2: slice(3, 4)}
    made: Any = Made(
        model=Made(joint_names=["a", "b", "c"], columns_of=columns.get), work=Made(rate=np.zeros(4)),
        update=lambda q, v: looked.append((q, v)),
    )  # fmt: skip
    said: Any = {
        0: Made(rate=(1.0, -3.0), place="here"), 1: Made(rate=None, place="none"), 2: Made(rate=(0.0,), place="there"),
    }  # fmt: skip
    for off, told in ((3.9e-6, 0), (-3.9e-6, 0), (4.1e-6, 1), (-4.1e-6, 1)):
        for k in (0, 1):
            made.work.rate[:] = 1.0, -3.0, 7.0, off / 4.0
            made.work.rate[k] += off
            found = [(one.path, one.where, one.what) for one in starts.unkept_rates(made, "q", "v", said)]  # type: ignore[arg-type]
            got = ", ".join(f"{x:.6g}" for x in made.work.rate[:2])
            end = "they do not allow this rate; the nearest motion has"
            expected = [("initial.a", "here", f"{end} {got}"), ("initial.c", "there", f"{end} {off / 4.0:.6g}")]
            assert found == expected * told
    assert looked[-1] == ("q", "v")


def test_loops_that_stay_open_are_told_by_gap_and_turn() -> None:
    """Rows 0 to 4 of joint 3 (three lengths, two angles), 5 of joint 1 (a length), 6 of joint 4 (an angle), 7 of k."""
    rows = Made(block=np.array([0, 0, 0, 0, 0, 1, 2, 3]), code=np.array([0, 1, 2, 3, 4, 2, 5, 2]))
    constraint = Made(name="k", place="floor", body="ball", joints=("x",), type="rolling")
    model = Made(
        length=2.0, joint_specs=[None, Made(place="one"), None, Made(place="three"), None, None],
        joint_names=["", "b", "", "d", "e", ""], constraints={5: constraint}, body_names=["world", "p", "q"],
        joints=Made(parent=np.array([0, 0, 0, 1, 2, 0]), child=np.array([0, 1, 0, 2, 0, 0])),
    )  # fmt: skip
    scale = np.array([1.0, 1.0, 1.0, 2.0, 2.0, 1.0, 2.0, 0.5])
    made: Any = Made(
        model=model, structure=Made(loops=(3, 1, 4, 5), tables=Made(rows=rows)), scale=lambda: scale,
        work=Made(rows=Made(phi=np.zeros(8))),
    )  # fmt: skip

    def told(*phi: float) -> list[tuple]:
        made.work.rows.phi[:] = np.array(phi) * scale
        return [(one.path, one.where, one.what) for one in starts.open_loops(made, "the drawing")]

    begin = "this joint cannot close at the drawing:"
    assert told(0, 0, 0, 0, 0, 0, 0, 0) == []
    assert told(1.1e-12, 1.1e-12, 1.1e-12, 1e-11, 1e-11, 1.9e-12, -1.7e-11, 1.9e-12) == []
    assert told(3e-3, 0, -4e-3, 0.03, 0.04, 0, 0, 0) == [
        ("joints.d", "three", f"{begin} 'p' and 'q' stay 5 mm apart, turned by {np.degrees(0.05):.4g} degrees")
    ]
    assert told(0, 0, 0, 0, 0, -2.5e-3, 0.02, -3e-3) == [
        ("joints.b", "one", f"{begin} 'world' and 'p' stay 2.5 mm apart"),
        ("joints.e", None, f"{begin} 'q' and 'world' stay turned by {np.degrees(0.02):.4g} degrees"),
        ("constraints.k", "floor", "this constraint cannot be met at the drawing: 'ball' stays 3 mm off its ground"),
    ]
    constraint.body, constraint.type = "", "gear"
    assert told(0, 0, 0, 0, 0, 2.1e-12, 1.8e-11, 2.1e-12)[1:] == [
        ("joints.e", None, f"{begin} 'q' and 'world' stay turned by {np.degrees(1.8e-11):.4g} degrees"),
        ("constraints.k", "floor", "this constraint cannot be met at the drawing: 'x' stays 2.1e-09 mm off"),
    ]


def test_problems_are_shown_with_the_line_that_they_point_at() -> None:
    def problem(file: str, line: int) -> Problem:
        return Problem(where=Place(file, line, 1), path="p", what="w", source_line="old")

    scene: Any = Made(sources={"a": "first\nsecond\n"})
    asked = [problem("a", 1), problem("a", 2), problem("a", 3), problem("b", 1), Problem(where=None, path="", what="")]
    found = [one.source_line for one in starts.shown(asked, scene)]
    assert found == ["first", "second", "old", "old", asked[-1].source_line]


def test_what_was_not_reached_is_told_beside_what_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starts, "not_allowed_by", lambda mechanism, beside=-1: f"{beside} do not allow")
    monkeypatch.setattr(starts, "in_words", lambda mechanism, aim, x: "" if aim.joint == 1 else f"{float(x[0]):g} m")
    spec = Made(place="d", places={"motion": "formula"})
    names = [f"j{k}" for k in range(9)]
    made: Any = Made(model=Made(joint_names=names, joint_specs=[None] * 3 + [spec, Made(place="e", places={})]))
    aims = [Aim(k, np.array([10.0 + k]), driven=k > 2) for k in range(5)]
    values: Any = {k: Made(place=f"at {k}") for k in range(9)}
    found = Reached(tuple((aims[k], np.array([k + 0.5])) for k in (0, 1, 3, 4)), 0.125)
    told = [(one.path, one.where, one.what) for one in starts.unreached(made, found, aims, values, "the drawing")]
    on = "on the branch of the drawing, with 'j2' as written,"
    assert told == [
        ("initial.j0", "at 0", f"-1 do not allow this coordinate: {on} 'j0' comes to 0.5 m, not to 10 m"),
        ("initial.j1", "at 1", f"-1 do not allow this coordinate: {on} 'j1' comes to 12.5 % of the way"),
        ("joints.j3.motion", "formula",
         f"3 do not allow its coordinate at the start: {on} 'j3' comes to 3.5 m, not to 13 m"),
        ("joints.j4.motion", "e", f"4 do not allow its coordinate at the start: {on} 'j4' comes to 4.5 m, not to 14 m"),
    ]  # fmt: skip
    lone = Reached(((aims[1], np.array([0.0])),), -1.0)
    assert "'j1' comes to 0 % of the way" in starts.unreached(made, lone, aims[1:2], values, "x")[0].what
    assert starts._with(made, []) == "" and starts._with(made, [aims[2], aims[2]]) == ", with 'j2' as written,"
    six, seven = ([Aim(k, np.zeros(1)) for k in range(n)] for n in (6, 7))
    assert starts._with(made, six) == ", with 'j0', 'j1', 'j2', 'j3', 'j4', 'j5' as written,"
    assert starts._with(made, seven) == ", with 'j0', 'j1', 'j2', 'j3', 'j4', 'j5' ... as written,"


@pytest.mark.parametrize(
    ("count", "missed", "guesses", "fits", "near", "told"),
    [
        (1, 0, 0, False, False, []), (2, 0, 0, False, False, []), (1, 1, 0, True, False, ["unreached"]),
        (2, 1, 0, True, False, []), (2, 1, 0, False, False, ["unreached"]), (1, 1, 1, False, True, []),
        (2, 0, 1, False, False, ["initial.j5"]), (0, 0, 1, False, False, ["initial.j5"]),
    ],
)  # fmt: skip
def test_a_pose_is_followed_to_or_looked_for_near_guesses_or_fitted(
    count: int, missed: int, guesses: int, fits: bool, near: bool, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drives of loop joints do not count their turns meanwhile; whatever comes of it, the pose is looked at."""
    aims, looked = [Aim(k, np.zeros(1)) for k in range(count)], []
    model = Made(joint_names=[f"j{k}" for k in range(6)])
    made: Any = Made(
        model=model, structure=Made(tables=Made(links="links"), sizes=Made(v=2)), counts=True,
        update=lambda q, v: looked.append((q, v.tolist())),
    )  # fmt: skip

    def asked(answer: Any) -> Any:
        def answered(*of: Any) -> Any:
            assert of[0] is made and not made.counts
            return answer

        return answered

    some = [Aim(5, np.zeros(1))] * guesses
    monkeypatch.setattr(starts, "written", lambda mechanism, values, what="": some if what == "near" else aims[:1])
    monkeypatch.setattr(starts, "of_motions", lambda mechanism: aims[1:])
    monkeypatch.setattr(starts, "reach", asked(Reached(((Aim(0, np.zeros(1)), np.zeros(1)),) * missed)))
    monkeypatch.setattr(starts, "nearest_branch", asked(near))
    monkeypatch.setattr(starts, "fitting_pose", asked(fits))
    monkeypatch.setattr(starts, "normalise", lambda links, q: looked.append(links))
    monkeypatch.setattr(starts, "unreached", lambda m, found, *of: [Made(path="unreached")] * len(found.missed))
    values: Any = {5: Made(place="here")}
    found = starts.bring_to(made, "q", values, (), "the drawing")  # type: ignore[arg-type]
    assert [one.path for one in found] == told
    assert made.counts and looked == ["links", ("q", [0.0, 0.0])]
    if told == ["initial.j5"]:
        names = ["", "", ", with 'j0', 'j1' as written,"][count]
        assert found[0].what == f"no pose was found near this guess{names} in which the loops are closed"


def test_joints_and_free_bodies_are_found_by_name_and_what_is_written_by_halves() -> None:
    model: Any = Made(joint_names=["a", "b"], body_names=["world", "b", "c"], free_joint=np.array([-1, 7, 8]))
    assert [starts.joint_named(model, name) for name in "abc"] == [0, 1, 8]
    pose = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)
    whole = {"near": None, "rate": (9.0,) * 6}
    values: Any = {
        4: Made(coordinate=pose, only="", **whole), 5: Made(coordinate=pose, only="position", **whole),
        6: Made(coordinate=pose, only="orientation", **whole), 7: Made(coordinate=None, only="", **whole),
    }  # fmt: skip
    found = [(aim.joint, aim.first, aim.value.tolist()) for aim in starts.written(NOTHING, values)]
    assert found == [(4, 0, list(pose)), (5, 0, [1.0, 2.0, 3.0]), (6, 3, [4.0, 5.0, 6.0, 7.0])]
    assert [(aim.first, aim.value.size) for aim in starts.written(NOTHING, values, "rate")] == [(0, 6)] * 4
    parts = [Made(pose={}, parent=-1), Made(pose={}, parent=0), Made(pose={"x": 1}, parent=0), Made(pose={}, parent=2)]
    scene: Any = Made(parts=parts)
    assert [starts._is_posed(scene, k) for k in range(4)] == [False, False, True, True]
    parts[0].pose["x"] = 1  # of the scene itself there is none
    assert not starts._is_posed(scene, 1)


# --- the start, step by step ------------------------------------------------------------------------


VALUES = ["unplaceable", "motions_without_value", "against_motions"]


class Started:
    """A start whose steps are listed as they are taken; `problem` is the one that finds a problem."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, problem: str = "", closes: bool = True):
        self.steps: list[str] = []
        names = ["a", "b", "c", "d"]
        columns = [slice(0, 1), slice(1, 3), slice(3, 4), slice(4, 5)]
        values = {"a": "written", "d": "rate"}
        self.model: Any = Made(
            frames="frames", poses="poses", bodies=[0, 0, 0], scene=Made(initial=values), joint_names=names,
            columns_of=lambda joint: columns[joint],
        )  # fmt: skip
        self.coordinate = np.arange(5.0)
        mechanism: Any = Made(
            update=self._look, work=Made(coordinate=self.coordinate), control=Made(turn="turn"), structure="structure"
        )
        structure = Made(carrier=np.array([-1, 0, 1, 2]))
        monkeypatch.setattr(starts, "first_structure", lambda model: structure)
        monkeypatch.setattr(starts, "Mechanism", Made(of=lambda model, structure: mechanism))
        monkeypatch.setattr(starts, "state_from_bodies", lambda *of: (np.zeros(2), np.zeros(1)))
        monkeypatch.setattr(
            starts, "close_drawing", lambda m, q: self.steps.append("close") or (("set",) if closes else None)
        )
        monkeypatch.setattr(starts, "joint_named", lambda model, name: names.index(name))
        monkeypatch.setattr(starts, "off_ground", lambda m: {"one": 1.0, "both": 1.0})
        monkeypatch.setattr(starts, "_off_ground_as_written", lambda m, q, values: {"two": 2.0, "both": 2.0})
        monkeypatch.setattr(starts, "set_rates", lambda m, v, values: ("fixed", "aims"))
        monkeypatch.setattr(starts, "close_velocities", lambda m, *of: self.steps.append(str(of[2:])))
        monkeypatch.setattr(starts, "written", lambda m, values: [Made(joint=0)])
        monkeypatch.setattr(starts, "of_motions", lambda m: [Made(joint=1)])
        for name in ("pose_figures", "open_loops", *VALUES, "bring_to", "unkept_rates", "unfollowed"):
            monkeypatch.setattr(starts, name, self._asked(name, problem))

    def _look(self, q: np.ndarray, v: np.ndarray) -> None:
        self.steps.append("look")
        if len(self.steps) > 2:
            self.coordinate[:] = [9.0, 9.0, 9.0, 3.0 + self.moved, 9.0]

    moved = 0.0

    def _asked(self, name: str, problem: str) -> Any:
        def ask(mechanism: Any, *of: Any) -> list:
            self.steps.append(name)
            return [name] if name == problem or name == "open_loops" else []

        return ask


BEGIN = ["look", "pose_figures", "close"]
RATES = ["bring_to", "('fixed', 'aims', ('set',))", "unkept_rates", "unfollowed", "look"]


@pytest.mark.parametrize(
    ("problem", "steps"),
    [
        ("", [*BEGIN, *VALUES, *RATES]), ("pose_figures", BEGIN[:2]), ("open_loops", [*BEGIN, "open_loops"]),
        *((name, [*BEGIN, *VALUES]) for name in VALUES), ("bring_to", [*BEGIN, *VALUES, "bring_to"]),
        ("unkept_rates", [*BEGIN, *VALUES, *RATES]), ("unfollowed", [*BEGIN, *VALUES, *RATES]),
    ],
)  # fmt: skip
def test_a_start_is_found_step_by_step_and_ends_at_the_first_that_fails(
    problem: str, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Started(monkeypatch, problem, problem != "open_loops")
    out = starts.start(made.model)
    assert made.steps == steps and out.problems == ([problem] if problem else [])
    whole = {"one": 1.0, "two": 2.0, "both": 2.0} if "bring_to" in steps else {"one": 1.0, "both": 1.0}
    assert out.off_ground == whole and (out.frames, out.turn) == ("frames", "turn")


@pytest.mark.parametrize(("moved", "told"), [(0.9e-9, False), (-0.9e-9, False), (1.1e-9, True), (-1.1e-9, True)])
def test_what_nobody_wrote_and_assembly_moved_is_told(
    moved: float, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Joint 0 is written, 1 driven, 3 not in the tree."""
    made = Started(monkeypatch)
    made.moved = moved
    out = starts.start(made.model)
    assert {name: (was.tolist(), now.tolist()) for name, (was, now) in out.moved.items()} == (
        {"c": ([3.0], [3.0 + moved])} if told else {}
    )


@pytest.mark.parametrize(
    ("hard", "apart", "initial", "driven", "asked"),
    [
        (True, True, False, False, True), (True, False, True, False, True), (True, False, False, True, True),
        (True, False, False, False, False), (False, True, True, True, False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("closes", [0, 1, 2])
def test_a_drawing_is_closed_with_what_stands_where_it_has_to_move(
    hard: bool, apart: bool, initial: bool, driven: bool, asked: bool, closes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried, looked = [], []

    def close(mechanism: Any, q: np.ndarray, fixed: np.ndarray, drives: bool, standing: str) -> bool:
        assert q.tolist() == [1.0, 2.0] and not fixed.any() and not drives
        q += 1.0
        tried.append(standing)
        return len(tried) == closes

    worst = 2.0 * starts.SHUT * (1.1 if apart else 0.9)
    monkeypatch.setattr(starts, "Bonds", lambda mechanism, rows: Made(worst=lambda: worst if rows == "locked" else 0.0))
    monkeypatch.setattr(
        starts, "standing_at", lambda mechanism, q, active: looked.append(list(active)) or ("one", "two")
    )
    monkeypatch.setattr(starts, "close_positions", close)
    rules = [Made(active=True), Made(active=False)]
    made: Any = Made(
        model=Made(length=2.0, scene=Made(initial={"a": 1} if initial else {}, contacts=rules)),
        structure=Made(sizes=Made(v=3)), update=lambda q, v: None, locked=lambda: "locked",
        hard=lambda: np.array([False, hard]), driven=lambda: np.array([driven, False]),
    )  # fmt: skip
    found = starts.close_drawing(made, np.array([1.0, 2.0]))
    assert found == (("one", "two") if closes else None) and tried == ["one", "two"][: closes or 2]
    assert looked == [[True, False] if asked else []]


def test_rates_that_are_written_stay_and_those_of_motions_are_a_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Joint 0 is driven in its second freedom, 2 closes a loop."""
    rates = [Aim(0, np.array([4.0]), 1), Aim(2, np.array([5.0]))]
    said = [Aim(1, np.array([6.0, 7.0])), Aim(2, np.array([8.0]))]
    monkeypatch.setattr(starts, "of_motions", lambda mechanism, derivative: rates if derivative == 1 else [])
    monkeypatch.setattr(starts, "written", lambda mechanism, values, what: said if what == "rate" else [])
    places = [slice(0, 2), slice(2, 4)]
    structure = Made(sizes=Made(v=5), loops=(2,), v_of=lambda model, joint: places[joint])
    made: Any = Made(model=None, structure=structure)
    v = np.zeros(5)
    fixed, aims = starts.set_rates(made, v, {})
    assert v.tolist() == [0.0, 4.0, 6.0, 7.0, 0.0] and fixed.tolist() == [False, False, True, True, False]
    assert aims == said[1:]
