"""What rows of loops and constraints bind, repeat and leave free: of rows that are made by hand."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import numpy as np
import pytest

from sim.assembly import constraint_diagnostics as diagnostics
from sim.assembly import redundancy
from sim.assembly.loop_closure import null
from sim.assembly.redundancy import Loop
from sim.kernels.tables import UNIVERSAL_ROW

pytestmark = pytest.mark.fast


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


@pytest.mark.parametrize("large", [True, False])
def test_each_loop_is_told_with_what_repeats_here_and_nearby(large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops 0 and 1 are closed by joints, 2 and 3 by constraints; rows act here, most of them in the second pose."""
    block = np.array([0] * 5 + [1] * 4 + [2] * 2 + [3] * 3 + [0])
    model = Made(constraints={22: Made(type="gear"), 23: Made(type="rolling")})
    made: Any = Made(
        structure=Made(tables=Made(rows=Made(block=block), blocks=range(4)), loops=(20, 21, 22, 23)), model=model,
        locked=lambda: np.arange(15) < 14, around=lambda n: [f"a{n}", f"b{n}"],
    )  # fmt: skip
    monkeypatch.setattr(redundancy, "is_large", lambda mechanism: large)
    monkeypatch.setattr(redundancy, "repeated", lambda mechanism, n: (f"what {n}", ("other",)))
    monkeypatch.setattr(redundancy, "_taking_part", lambda mechanism: "parts")
    reasons = {0: ("planar", "x"), 1: ("", "y")}
    monkeypatch.setattr(redundancy, "_reason", lambda mechanism, n: reasons[n])
    monkeypatch.setattr(redundancy, "_in_words", lambda mechanism, n, parts: f"{parts} of {n}")

    def told(here: list[int], *nearby: list[int]) -> list[Loop]:
        return redundancy.loops_of(made, np.array(here), [np.array(one) for one in nearby])

    gear = Loop(("a2", "b2"), 2, 1, 1, "", "", "" if large else "what 2", "gear", () if large else ("other",))
    rolls = Loop(("a3", "b3"), 3, 2, 0, "", "", "", "rolling", ())
    first = Loop(("a0", "b0"), 5, 3, 1, "planar", "x", "parts of 0")
    second = Loop(("a1", "b1"), 4, 2, 1, "geometry", "y", "parts of 1")
    assert told([2, 2, 1, 1], [2, 3, 1, 1], [4, 3, 1, 3], [2, 2, 1, 1]) == [first, second, gear, rolls]
    plain = Loop(("a0", "b0"), 5, 1, 0)
    assert told([4, 4, 2, 3], [5, 4, 2, 3])[:2] == [plain, Loop(("a1", "b1"), 4, 0, 0)]
    # Fewer nearby say nothing; of none the reason is not known.
    assert told([3, 2, 2, 3], [1, 1, 1, 1])[1] == Loop(("a1", "b1"), 4, 2, 2, "geometry", "y", "parts of 1")
    assert told([3, 2, 2, 3])[1] == Loop(("a1", "b1"), 4, 2, 2, "", "y", "parts of 1")


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
        locked=lambda: np.array([True, False]), model=Made(length=2.0, constraints=constraints), update=look,
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


# --- what constraints bind --------------------------------------------------------------------------


def bound(kind: str, rows: int = 2, **more: Any) -> Any:
    """Return a mechanism whose joint 7 is a constraint of a type, on a ground whose axes are slanted."""
    spec = Made(type=kind, components=("x", "rz"), keeps=False, axis=(0, 1, 0))
    spec.__dict__.update(more)
    Q = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    M = np.full((3, 3), 9.0)
    M[:, 1] = Q @ [3.0, -4.0, 12.0]  # the axle: 0.6, -0.8 in the ground
    blocks = Made(rows=np.array([5, rows]))
    return Made(
        model=Made(constraints={7: spec}), structure=Made(loops=(4, 7), tables=Made(blocks=blocks)),
        loop_frames=lambda n: {1: (Q, M)}[n],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (bound("same_velocity"), [("along x", [1, 0]), ("about z", [0, 1])]),
        (bound("gear"), [("of its two freedoms", [1])]),
        (bound("knife_edge"), [("across its edge", [1])]), (bound("rolling", rows=1), [("along the normal", [1])]),
        (bound("rolling", axis=None), [("along the ground", [1, 0]), ("along the ground", [0, 1])]),
        (bound("rolling"), [("along its axle", [0.6, -0.8]), ("the way it rolls", [0.8, 0.6])]),
        (bound("rolling", rows=3, keeps=True),
         [("along its axle", [0.6, -0.8, 0]), ("the way it rolls", [0.8, 0.6, 0]), ("along the normal", [0, 0, 1])]),
    ],
)  # fmt: skip
def test_rows_of_a_constraint_bind_in_directions_that_have_names(made: Any, said: list) -> None:
    found = diagnostics.directions(made, 1)
    assert [word for word, _ in found] == [word for word, _ in said]
    assert np.array([e for _, e in found]) == pytest.approx(np.array([e for _, e in said], float), abs=1e-12)


class Rows:
    """Rows of joints (block 0), of three constraints (1 to 3, two rows each) and of a drive, of which the last is free.

    J : of each block, given by those that it repeats and how
    """

    def __init__(self, *repeats: tuple[int, int]):
        rng = np.random.default_rng(9)
        self.J = rng.normal(size=(9, 12))
        self.block = np.array([0, 0, 1, 1, 2, 2, 3, 3, 3])
        for row, of in repeats:  # rows beyond those of joints are mixed with what another block has
            self.J[row] = 2.0 * self.J[of] - 0.5 * self.J[0]
        specs = {10 + k: Made(name=f"k{k}") for k in (1, 2, 3)}
        self.model = Made(constraints=specs)
        self.structure = Made(loops=(10, 11, 12, 13), tables=Made(rows=Made(block=self.block)))

    def jacobian(self) -> np.ndarray:
        return self.J

    def locked(self) -> np.ndarray:
        return np.arange(9) < 8


@pytest.mark.parametrize(
    ("repeats", "words", "names"),
    [
        ([(6, 1)], "one", ()), ([(7, 1)], "two", ()), ([(6, 1), (7, 1)], "one and two", ()), ([], "", ()),
        ([(6, 2)], "one", ("k1",)), ([(7, 4)], "two", ("k2",)), ([(6, 2), (7, 4)], "one and two", ("k1", "k2")),
        ([(6, 4), (7, 1)], "one and two", ("k2",)), ([(4, 2), (6, 2)], "one", ("k1",)),
    ],
)  # fmt: skip
def test_what_a_constraint_repeats_is_told_with_those_that_do_the_same(
    repeats: list, words: str, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: Any = Rows(*repeats)
    monkeypatch.setattr(diagnostics, "directions", lambda m, n: [("one", np.eye(2)[0]), ("two", np.eye(2)[1])])
    assert diagnostics.repeated(made, 3) == (words, names)


@pytest.mark.parametrize("size", [1e-3, 1.0, -1.0, 1e3])
@pytest.mark.parametrize(
    ("other", "held", "chosen"),
    [([1.0, 0.0, 0.0], False, True), ([0.0, 1.0, 0.0], False, False), ([1.0, 0.0, 0.0], True, False)],
)
def test_a_force_that_others_could_give_is_a_choice_unless_joints_keep_the_slip(
    other: list, held: bool, chosen: bool, size: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows: one of a joint, two of constraint 1 (one may slip), one of constraint 2, one of a point of contact."""
    monkeypatch.setattr(diagnostics, "slips_of", lambda spec: 1)
    joint = [1.0, 0.0, 0.0] if held else [0.0, 0.0, 0.0]
    J = size * np.array([joint, [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], other, [1.0, 0.0, 0.0]])
    rows = Made(block=np.array([0, 1, 1, 2, 3]), low=np.full(5, -np.inf), high=np.full(5, np.inf))
    rows.low[[0, 4]] = rows.high[[0, 4]] = np.inf
    tables = Made(rows=rows, blocks=Made(touch=np.array([-1, -1, -1, 0])))
    specs = {11: Made(name="k1"), 12: Made(name="k2")}
    made: Any = Made(
        jacobian=lambda: J, hard=lambda: np.array([True, True, True, True, chosen]), model=Made(constraints=specs),
        structure=Made(loops=(10, 11, 12, 13), tables=tables),
    )  # fmt: skip
    assert diagnostics.slips_by_choice(made, 1) == chosen
