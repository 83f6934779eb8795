"""What assembly says of drives and of freedoms without inertia: from tables that are made by hand."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import numpy as np
import pytest

from sim.assembly import drives, unresisted

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
            columns_of=lambda j: slice(first[j], first[j] + 1 + (j == 1)), programs=Made(sources={}),
        )  # fmt: skip
        rows = Made(
            column=np.array([0, 3, 0, 2, 1, 1]), locked=np.zeros(6, int), scale=np.full(6, 2.0), motion=np.zeros(6, int)
        )
        want = np.array([[k + 0.25, k + 0.5, k + 0.75] for k in range(6)])
        structure = Made(tables=Made(rows=rows), loops=(*range(3, 3 + constraints), *[2] * loops))
        work = Made(
            rows=Made(want=want, phi=np.zeros(6), slip=np.zeros(6)), coordinate=np.zeros(4), rate=np.zeros(4)
        )  # fmt: skip
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
    missed = made.work.rows.phi if what == "coordinate" else made.work.rows.slip
    assert drives.unfollowed(made, what) == []
    wanted = made.work.rows.want[1, i]
    for off, told in ((0.9e-9, 0), (-0.9e-9, 0), (1.1e-9, 1), (-1.1e-9, 1), (np.nan, 1)):
        found = wanted + off * (1.0 + wanted)
        missed[1] = 2.0 * off * (1.0 + wanted)  # in rows of twice the size
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
        model=Made(scene=Made(simulate=Made(method=method)), one_sided=one_sided), update=lambda q, v: None,
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
