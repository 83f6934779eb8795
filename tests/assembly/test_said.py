"""What assembly says of drives, of freedoms without inertia and of constraints: from tables that are made by hand."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import numpy as np
import pytest

from sim.assembly import constraint_diagnostics as diagnostics
from sim.assembly import drives, redundancy, unresisted
from sim.assembly import start as starts
from sim.assembly.continuation import Reached
from sim.assembly.loop_closure import Aim, null
from sim.kernels.tables import UNIVERSAL_ROW
from sim.scene.problem import Place, Problem

pytestmark = pytest.mark.fast


# --- drives -----------------------------------------------------------------------------------------


class Columns(Made):
    """Joints a (one freedom), b (two), c (one) and as many constraints as are named; columns 0 to 3, rows 0 to 5.

    Rows 1, 2, 3, 5 drive columns 3, 0, 2, 1, to (value, rate, acceleration) of `want`.
    """

    def __init__(self, constraints: int = 0, loops: int = 1, specs: bool = True):
        names = ["a", "b", "c", *(f"k{n}" for n in range(constraints))]
        places = {"motion": "there"}
        spec = [Made(place="here", places={}), Made(place="here", places=places), Made(place="here", places=places)]
        first = [0, 1, 3]
        model = Made(
            joint_names=names, column_names=["a", "b[0]", "b[1]", "c"],
            constraints={3 + n: n for n in range(constraints)},
            columns=Made(joint=np.array([0, 1, 1, 2])), joint_specs=spec if specs else [None] * 3,
            columns_of=lambda j: slice(first[j], first[j] + 1 + (j == 1)),
        )  # fmt: skip
        rows = Made(column=np.array([0, 3, 0, 2, 1, 1]))
        want = np.array([[k + 0.25, k + 0.5, k + 0.75] for k in range(6)])
        structure = Made(tables=Made(rows=rows), loops=(*range(3, 3 + constraints), *[2] * loops))
        work = Made(rows=Made(want=want), coordinate=np.zeros(4), rate=np.zeros(4))
        for r in (1, 2, 3, 5):
            work.coordinate[rows.column[r]], work.rate[rows.column[r]] = want[r, :2]
        super().__init__(model=model, structure=structure, work=work, mask=np.array([0, 1, 1, 1, 0, 1], bool))

    def driven(self) -> np.ndarray:
        return self.mask


def test_driven_joints_are_named_once_in_the_order_of_their_rows() -> None:
    made: Any = Columns()
    assert drives.driven_joints(made) == ["c", "a", "b"]
    aims = [(aim.joint, aim.first, aim.value.tolist(), aim.driven) for aim in drives.of_motions(made)]
    assert aims == [(2, 0, [1.25], True), (0, 0, [2.25], True), (1, 1, [3.25], True), (1, 0, [5.25], True)]
    assert [aim.value.tolist() for aim in drives.of_motions(made, 1)] == [[1.5], [2.5], [3.5], [5.5]]
    made.model.constraints[2] = "a motor between two freedoms"
    assert [aim.joint for aim in drives.of_motions(made)] == [0, 1, 1]


@pytest.mark.parametrize(
    ("constraints", "loops", "driven", "said"),
    [
        (0, 0, "", "the loops do not allow"), (0, 2, "", "the loops do not allow"),
        (1, 0, "", "the constraint 'k0' does not allow"), (2, 0, "", "the constraints 'k0', 'k1' do not allow"),
        (1, 1, "", "the loops and the constraint 'k0' do not allow"),
        (6, 0, "", "the constraints 'k0', 'k1', 'k2', 'k3', 'k4', 'k5' do not allow"),
        (7, 0, "", "the constraints 'k0', 'k1', 'k2', 'k3', 'k4', 'k5' ... do not allow"),
        (0, 1, "cab", "the loops and the motion of 'c', 'a', 'b' do not allow"),
        (1, 0, "a", "the constraint 'k0' and the motion of 'a' do not allow"),
    ],
)  # fmt: skip
def test_what_does_not_allow_a_value_is_named(constraints: int, loops: int, driven: str, said: str) -> None:
    made: Any = Columns(constraints, loops)
    made.mask[[1, 2, 3, 5]] = [name in driven for name in "cabb"]
    assert drives.not_allowed_by(made) == said
    if driven == "cab":
        assert drives.not_allowed_by(made, 0) == "the loops and the motion of 'c', 'b' do not allow"


@pytest.mark.parametrize("specs", [True, False])
def test_motions_that_begin_with_no_number_are_told_once_each(specs: bool) -> None:
    made: Any = Columns(specs=specs)
    assert drives.motions_without_value(made) == []
    for row, at in ((1, 2), (2, 0), (2, 1), (5, 1)):
        made.work.rows.want[row, at] = np.nan if row != 2 else np.inf
    found = [(one.path, one.what, one.where) for one in drives.motions_without_value(made)]
    places = ("there", "here", "there") if specs else (None, None, None)
    assert found == [
        (f"joints.{name}.motion", f"the {what} of this motion is not a finite number at the start", place)
        for name, what, place in zip("cab", ("acceleration", "value", "rate"), places, strict=True)
    ]


@pytest.mark.parametrize("specs", [True, False])
def test_values_that_are_written_against_a_motion_are_told(specs: bool) -> None:
    made: Any = Columns(specs=specs)
    place = "there" if specs else None
    for off, told in ((4.2e-9, 0), (-4.2e-9, 0), (4.6e-9, 1), (-4.6e-9, 1), (np.nan, 1)):
        for name, first, start in (("coordinate", 5.25, 3.25), ("rate", 5.5, 3.5)):
            said = {"coordinate": None, "rate": None, "place": "place", name: [first, start + off]}
            found = drives.against_motions(made, {1: Made(**said)})
            sentence = f"joint 'b[1]' is driven, and its motion ({place}) starts with the {name} {start:.6g}"
            assert [(one.path, one.where, one.what) for one in found] == [("initial.b", "place", sentence)] * told


@pytest.mark.parametrize(("what", "i"), [("coordinate", 0), ("rate", 1)])
def test_driven_freedoms_that_are_not_where_their_motions_are_are_told(what: str, i: int) -> None:
    made: Any = Columns()
    values = made.work.coordinate if what == "coordinate" else made.work.rate
    assert drives.unfollowed(made, what) == []
    wanted = made.work.rows.want[1, i]
    for off, told in ((0.9e-9, 0), (-0.9e-9, 0), (1.1e-9, 1), (-1.1e-9, 1), (np.nan, 1)):
        values[3] = found = wanted + off * (1.0 + wanted)
        text = f"the loops and the motion of 'a', 'b' do not allow its {what} at the start, {wanted:.6g}; "
        problems = [(one.path, one.what) for one in drives.unfollowed(made, what)]
        assert problems == [("joints.c.motion", f"{text}the nearest is {found:.6g}")] * told
    made.mask[[2, 3, 5]] = False
    assert drives.unfollowed(made, what)[0].what.startswith(f"the loops do not allow its {what}")


def test_numbers_are_listed_with_six_digits() -> None:
    assert drives.numbers(np.array([1.23456789, -2.0])) == "1.23457, -2" and drives.numbers(np.array(0.5)) == "0.5"


# --- without inertia --------------------------------------------------------------------------------


def test_the_freedom_that_is_named_is_of_a_body_without_mass_if_one_takes_part() -> None:
    links = Made(mass=np.array([0.0, 2.0, 0.0, 0.0, 1.0]), body=np.array([0, 1, 2, 3, 4]))
    freedoms = Made(owner=np.array([1, 1, 2, 3, 4]))
    made: Any = Made(
        structure=Made(tables=Made(links=links, freedoms=freedoms)), model=Made(body_names=["world", *"ABCD"])
    )
    for u, k, body in (
        ([1.0, -2.0, 0.5, 0.25, 0.0], 2, "B"), ([1.0, -2.0, 0.25, -0.5, 0.0], 3, "C"),
        ([1.0, -2.0, 1e-3, 1e-3, 2.5], 4, "D"), ([4.0, -2.0, 0.0, 0.0, 3.0], 0, "A"),
        ([1.0, -2.0, 0.0, 3e-3, 2.5], 3, "C"), ([-1e-9, 2e-9, 0.0, 1e-9, 0.0], 3, "C"),
    ):  # fmt: skip
        assert unresisted._freedom(made, np.array(u)) == (k, body)


def test_bodies_that_are_fixed_to_one_another_are_one_body() -> None:
    """Links 2 and 3 are fixed to 1, link 6 to 4, link 5 to the world; only what is without mass as a whole counts."""
    links = np.zeros(7, [("parent", int), ("nv", int), ("mass", float)]).view(np.recarray)
    links.parent, links.nv = [-1, 0, 1, 2, 1, 0, 4], [0, 1, 0, 0, 2, 0, 0]
    links.mass = [9.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0]
    twists = np.zeros((7, 6))
    made: Any = Made(structure=Made(tables=Made(links=links)), twists=lambda u: twists)
    whole = unresisted._wholes(made)
    assert whole.tolist() == [np.inf, 3.0, 3.0, 3.0, 0.0, 0.0, 0.0]
    assert links.mass.tolist() == [9.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0]
    links.mass[6] = 2.0
    assert unresisted._wholes(made).tolist() == [np.inf, 3.0, 3.0, 3.0, 2.0, 0.0, 2.0]
    for moved, size, nothing in (
        ((1, 2, 3), 1.0, False),
        ((4,), -1.0, True),
        ((4,), 2e-7, True),
        ((6,), 0.5e-7, False),
    ):
        twists[:] = 0.0
        twists[1, 4] = 1.0
        for link in moved:
            twists[link, 2] = size
        assert unresisted._moves_nothing(made, np.zeros(3), whole) == nothing


A, B = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])


@pytest.mark.parametrize(
    ("freedoms", "help_", "bare", "lent", "rows", "weightless", "method", "one_sided", "found"),
    [
        (0, True, [A], [A], None, [], "dop853", False, None), (3, False, [A], [A], None, [], "dop853", False, None),
        (3, True, [B, A], [A], None, [], "dop853", False, ("infinite", B)),
        (3, True, [], [], None, [0.0], "variational", False, None),
        (3, True, [], [A, B], None, [0.0, 1.0], "dop853", False, ("infinite", A)),
        (3, True, [], [A, B], [[1.0, 0.0, 0.0]], [0.0], "dop853", False, ("infinite", B)),
        (3, True, [], [A, B], None, [2.0], "dop853", False, None),
        (3, True, [], [A, B], None, [2.0], "variational", False, ("variational steps (`method: variational`)", A)),
        (3, True, [], [A, B], None, [2.0], "variational", True, None),
        (
            3, True, [], [A, B], [[0.0, 1.0, 0.0]], [2.0], "dop853", True,
            ("contacts, rigid stops and friction of joints", A),
        ),
        (3, True, [], [A, B], [[0.0, 1.0, 0.0]], [2.0], "dop853", False, None),
        (3, True, [], [A, B], [[0.0, 0.0, 1.0]], [2.0], "dop853", True, None),
    ],
)  # fmt: skip
def test_what_nothing_resists_is_refused(
    freedoms: int, help_: bool, bare: list, lent: list, rows: Any, weightless: list, method: str, one_sided: bool,
    found: Any, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Of rates without inertia: those that move bodies without mass, where rows let them, and what cannot help."""
    made: Any = Made(
        structure=Made(sizes=Made(v=freedoms), tables=Made(links="links", freedoms=Made(lent=np.full(3, 0.5)))),
        model=Made(scene=Made(simulate=Made(method=method)), one_sided=one_sided), look=lambda q, v: None,
        inertia=lambda: np.eye(3), work=Made(links=None, freedoms=None),
        hard=lambda: np.array([rows is not None, False]), jacobian=lambda: np.array([*(rows or [A]), [9.0, 9.0, 9.0]]),
    )  # fmt: skip
    answers = {1.0: bare, 0.5: lent}
    monkeypatch.setattr(unresisted, "needs_help", lambda links: help_)
    monkeypatch.setattr(unresisted, "terms_of", lambda *of: None)
    monkeypatch.setattr(unresisted, "still", lambda M, terms: np.array(answers[M[0, 0]]).reshape(-1, 3).T)
    monkeypatch.setattr(unresisted, "_wholes", lambda mechanism: np.array(weightless))
    monkeypatch.setattr(unresisted, "_moves_nothing", lambda mechanism, u, whole: True)
    monkeypatch.setattr(unresisted, "_infinite", lambda mechanism, u: ("infinite", np.abs(u).tolist()))
    monkeypatch.setattr(unresisted, "_not_by", lambda mechanism, u, who: (who, u.tolist()))
    told = unresisted.massless(made, np.zeros(3))
    assert told == ([] if found is None else [(found[0], found[1].tolist())])


# --- constraints: what rows make, and what they leave free ------------------------------------------

SCALES = [1e-9, 1.0, 1e9]


@pytest.mark.parametrize("size", SCALES)
def test_what_rows_do_not_move_is_all_but_their_rank(size: float) -> None:
    rng = np.random.default_rng(4)
    rows = np.vstack([A := rng.normal(size=(3, 7)), A[0] - 2.0 * A[2]])
    free = null(size * rows)
    assert free.shape == (7, 4) and np.allclose(free.T @ free, np.eye(4), atol=1e-14)
    assert np.allclose(rows @ free, 0.0, atol=1e-14)
    turned = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    for least, count in ((1.5e-7, 0), (0.7e-7, 1)):
        assert null(size * np.diag([1.0, 1e-3, least]) @ turned).shape == (3, count)
    assert np.allclose(np.abs(null(np.zeros((2, 3)))), np.eye(3)) and null(np.zeros((0, 3))).shape == (3, 3)


@pytest.mark.parametrize("size", SCALES)
def test_what_other_rows_make_as_well_is_without_effect(size: float) -> None:
    rng = np.random.default_rng(5)
    before, new = size * rng.normal(size=(3, 8)), size * rng.normal(size=(2, 8))
    mix = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    own = mix @ np.vstack([before[:2], new])
    parts = diagnostics._without_effect(own, before)
    assert parts.shape == (2, 4) and np.allclose(parts @ parts.T, np.eye(2), atol=1e-12)
    assert np.allclose(parts @ mix[:, 2:], 0.0, atol=1e-9)  # nothing of the new rows is in them
    assert diagnostics._without_effect(new, before).shape == (0, 2)
    assert diagnostics._without_effect(before, np.zeros((0, 8))).shape == (0, 3)
    assert diagnostics._without_effect(np.vstack([new, new[:1]]), np.zeros((0, 8))).shape == (1, 3)
    assert diagnostics._without_effect(np.zeros((2, 0)), np.zeros((3, 0))).shape == (2, 2)
    for off, count in ((3e-7, 0), (0.3e-7, 1)):
        far = before[:1] + off * np.linalg.norm(before, 2) * _beside(before, new)
        assert len(diagnostics._without_effect(far, before)) == count


def _beside(rows: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return a unit vector (1, n) across all rows."""
    Q = np.linalg.qr(np.vstack([rows, other]).T)[0]
    return Q[:, len(rows)][None]


@pytest.mark.parametrize("size", SCALES)
def test_rows_make_what_their_combinations_are(size: float) -> None:
    rng = np.random.default_rng(6)
    rows = size * rng.normal(size=(3, 6))
    target = rng.normal(size=(2, 3)) @ rows
    largest = max(np.abs(rows).max(), np.abs(target).max())
    across = _beside(rows, rng.normal(size=(1, 6)))[0]
    assert diagnostics._spans(rows, target) and not diagnostics._spans(rows[:2], target)
    assert not diagnostics._spans(rows[:0], target) and diagnostics._spans(rows[:0], target * 0.0)
    assert diagnostics._spans(rows, target * 0.0) and diagnostics._spans(rows, target[:0])
    for off, spans in ((0.8e-6, True), (1.2e-6, False)):
        assert diagnostics._spans(rows, target + off * largest / np.abs(across).max() * across) == spans
        for free in ([[off, 0.0], [0.0, 0.0]], [[0.0, -off], [0.0, off]]):
            assert diagnostics._moves(size * np.array([[2.0, 0.0], [0.0, -0.5]]), np.array(free)) != spans
    assert not diagnostics._moves(np.zeros((1, 2)), np.eye(2)) and not diagnostics._moves(np.eye(2), np.zeros((2, 0)))


def test_those_that_are_needed_are_left_when_the_last_are_tried_first() -> None:
    asked = []

    def enough(some: list[int]) -> bool:
        asked.append(list(some))
        return {1, 4} <= set(some) or {2, 4, 5} <= set(some)

    assert diagnostics._needed([1, 2, 4, 5], enough) == [1, 4]
    assert asked == [[1, 2, 4], [1, 2], [1, 4], [4]]
    assert diagnostics._needed([2, 4, 5], enough) == [2, 4, 5]


def test_words_are_listed() -> None:
    said = [diagnostics._and(list(words)) for words in ("", "a", "ab", "abc")]
    assert said == ["", "a", "a and b", "a, b and c"]


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
        look=lambda q, v: looked.append((q, v)),
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
        look=lambda q, v: looked.append((q, v.tolist())),
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


# --- loops whose rows repeat others -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ("2", "force along its screw"), ("0", "force across its screw"), ("1", "force across its screw"),
        ("01", "forces across its screw"), ("5", "moment about its screw"), ("3", "moment across its screw"),
        ("34", "moments across its screw"), ("24", "force along its screw and moment across its screw"),
        ("12345", "force along its screw, force across its screw, moment about its screw and moments across its screw"),
        ("", ""), ("012345", ""),
    ],
)  # fmt: skip
def test_rows_that_repeat_are_told_as_forces_and_moments(parts: str, said: str) -> None:
    """Rows 1 to 6 of loop 1, in another order; row 0 is of another loop, row 7 drives."""
    code = np.array([2, 5, 4, 3, 2, 1, 0, 2])
    rows = Made(block=np.array([0, *[1] * 7]), code=code)
    made: Any = Made(
        structure=Made(tables=Made(rows=rows), loops=(8, 9)), locked=lambda: np.arange(8) < 7,
        model=Made(constraints={}, type_of=lambda joint: Made(line={9: "screw"}[joint])),
    )  # fmt: skip
    mask = np.array([True, *(str(c) in parts for c in code[1:7]), True])
    assert redundancy._in_words(made, 1, mask) == said
    if parts == "24":
        made.model.constraints[9] = "of any kind"
        assert redundancy._in_words(made, 1, mask) == "force along its z axis and moment across its z axis"
        code[3] = UNIVERSAL_ROW
        assert redundancy._in_words(made, 1, mask) == "force along its z axis and moment across its z axis"
        mask[3] = True
        assert redundancy._in_words(made, 1, mask) == ""


Z, X = [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("turns", "slides", "places", "why"),
    [
        ([Z, [0, 0, -1], Z], [], [[0, 0, 0], [1, 0, 0], [0, 1, 5]], "planar"),
        ([Z], [X, [0, 1, 0]], [[0, 0, 0]], "planar"),
        ([Z], [X, [0, 1e-8, 1]], [[0, 0, 0]], ""), ([Z, Z], [Z], [[0, 0, 0], [1, 0, 0]], ""), ([], [X, Z], [], ""),
        ([Z, X, [0, 1, 0]], [], [[1, 2, 9], [7, 2, 3], [1, 8, 3]], "one point"),
        ([Z, X, [0, 1, 0]], [X], [[1, 2, 9], [7, 2, 3], [1, 8, 3]], ""),
        ([Z, X, [0, 1, 0]], [], [[1, 2, 9], [7, 2, 3], [1, 8, 3.1]], ""),
    ],
)  # fmt: skip
def test_why_rows_of_a_loop_repeat_others(
    turns: list, slides: list, places: list, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loop 2 is closed by joint 5 between bodies 1 and 2, which joints 0 and 1 hold; 3 and 4 close loops before it."""
    found = tuple(np.array(one, float).reshape(-1, 3) for one in (turns, slides, places))
    monkeypatch.setattr(redundancy, "_motions", lambda mechanism, n: found if n == 2 else None)
    blocks = np.zeros(3, [("mate", int), ("a", int), ("b", int)]).view(np.recarray)
    blocks.mate, blocks.a, blocks.b = -1, [1, 0, 1], [3, 2, 2]
    joints = Made(parent=np.array([0, 0, 3, 1, 0, 1]), child=np.array([1, 2, 3, 3, 2, 2]))
    made: Any = Made(
        model=Made(joints=joints, length=2.0, joint_names=[*"abcdef"]),
        structure=Made(
            loops=(3, 4, 5), tables=Made(blocks=blocks), carrier=np.array([-1, 0, 1, 2]), link_of=np.array([0, 1, 2, 3])
        ),
    )  # fmt: skip
    assert redundancy._reason(made, 2) == (why, "")
    for a, b, other in ((1, 2, "e"), (2, 1, "e"), (1, 1, None), (2, 2, None), (1, 0, None)):
        blocks.a[1], blocks.b[1] = a, b  # of joint 4
        assert redundancy._reason(made, 2) == (("same bodies", other) if other else (why, ""))
    blocks.a[0], blocks.b[0] = 2, 1
    blocks.a[1], blocks.b[1] = 1, 2
    assert redundancy._reason(made, 2) == ("same bodies", "d")  # the first of them
    joints.parent[1] = 1
    assert redundancy._reason(made, 2) == ("same bodies", "b")  # that of the tree before those of loops
    joints.parent[1], joints.child[1] = 2, 1
    assert redundancy._reason(made, 2) == ("same bodies", "b")
    blocks.mate[2] = 0  # a gear
    assert redundancy._reason(made, 2) == ("", "")


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
            look=self._look, work=Made(coordinate=self.coordinate), control=Made(turn="turn"), structure="structure"
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
        structure=Made(sizes=Made(v=3)), look=lambda q, v: None, locked=lambda: "locked",
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


# --- poses nearby, and what stands ------------------------------------------------------------------


@pytest.mark.parametrize("constraints", [{}, {5: "wheel"}])
def test_poses_nearby_are_a_tenth_of_a_radian_or_of_the_size_away(
    constraints: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Freedom 1 slides, 2 is driven; of three poses one does not close."""
    steps, kept, looked = [], [], []
    monkeypatch.setattr(redundancy, "add_freedoms", lambda links, v, h, q: (steps.append(v.copy()), q.__iadd__(h * v)))
    monkeypatch.setattr(
        redundancy, "close_positions", lambda m, q, fixed, drives: kept.append((fixed.tolist(), drives))
    )
    monkeypatch.setattr(redundancy, "acting_by_loop", lambda m, q, least: (least, (q - 1.0).tolist()))
    open_by = iter([1.9e-9, -2.1e-9, -1.9e-9])

    def look(q: np.ndarray, v: np.ndarray) -> None:
        looked.append(q.tolist())
        made.work.rows.phi[:] = [next(open_by, 0.0), 1.0]

    made: Any = Made(
        structure=Made(sizes=Made(v=3), tables=Made(freedoms=Made(linear=np.array([0, 1, 0])), links=None)),
        locked=lambda: np.array([True, False]), model=Made(length=2.0, constraints=constraints), look=look,
        driven_freedoms=lambda: np.array([False, False, True]), work=Made(rows=Made(phi=np.zeros(2))),
    )  # fmt: skip
    found = redundancy.acting_nearby(made, np.ones(3))
    steps_taken = np.array(steps) / [1.0, 2.0, 1.0]
    assert np.abs(steps_taken).max(axis=1) == pytest.approx([0.1] * 3) and (np.abs(steps_taken) > 0.0)[:, :2].all()
    assert np.array_equal(steps_taken[:, 2] == 0.0, [bool(constraints)] * 3)
    assert found == [(1e-10, pytest.approx(steps[k].tolist())) for k in (0, 2)]
    assert kept == [([False, False, bool(constraints)], False)] * 3 and looked[-1] == [1.0] * 3


def test_what_stands_is_asked_where_any_rule_is_active(monkeypatch: pytest.MonkeyPatch) -> None:
    from sim.assembly.standing import NOWHERE, standing_at

    class Asked(Exception):
        pass

    def meetings(mechanism: Any, active: Any) -> None:
        raise Asked

    monkeypatch.setattr("sim.mechanism.finding.meetings", meetings)
    none: Any = Made(model=Made(pairs=()))
    some: Any = Made(model=Made(pairs=(1,)))
    for made, active in ((none, [True]), (some, []), (some, [False, False])):
        assert standing_at(made, np.zeros(1), active) == (NOWHERE,)
    for active in ([True], [False, True]):
        with pytest.raises(Asked):
            standing_at(some, np.zeros(1), active)


def test_small_rows_are_made_to_a_millionth_of_the_largest_of_either_sign() -> None:
    for sign in (1.0, -1.0):
        rows = sign * np.array([[1.0, 0.0, 0.0]])
        assert diagnostics._spans(rows, np.array([[0.0, 0.9e-6, 0.0]])) and diagnostics._spans(rows, -1e-3 * rows)
        assert not diagnostics._spans(rows, np.array([[0.0, -1.1e-6, 0.0]]))
        assert not diagnostics._spans(rows, np.array([[0.0, 1.1e-6, 0.0]]))
        assert diagnostics._spans(1e-3 * rows, sign * np.array([[-1.0, 0.9e-6, 0.0]]))
