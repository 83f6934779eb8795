"""What a change of the structure is refused for, and what it brings together: around tables that are made by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sim.scene.spec import Value
from sim.simulation import structure_changes as changes
from sim.simulation.structure_changes import ChangeError, Instant

pytestmark = pytest.mark.fast

LENGTH = 3.0  # m, of the whole


def spec(tolerance: float = np.inf) -> Any:
    return SimpleNamespace(name="grip", tolerance=tolerance)


def connected(phi: list[float], specs: list[Any], **more: Any) -> Any:
    """An instant with joints 0, 1 ..., a row for each, which are as far open as phi says."""
    n = len(phi)
    energies = iter((5.0, 7.5))
    tables = SimpleNamespace(
        blocks=SimpleNamespace(joint=np.arange(n)),
        rows=SimpleNamespace(block=np.arange(n), scale=np.full(n, 2.0), column=np.arange(n)),
    )  # fmt: skip
    model: Any = SimpleNamespace(joint_specs=specs, length=LENGTH, joint_names=[f"j{k}" for k in range(n)], **more)
    updated: list[Any] = []
    mechanism: Any = SimpleNamespace(
        model=model, structure=SimpleNamespace(tables=tables), energy=lambda: next(energies), updated=updated,
        work=SimpleNamespace(rows=SimpleNamespace(phi=np.array(phi))), update=lambda q, v: updated.append(q.copy()),
        driven=lambda: np.ones(n, bool),
    )  # fmt: skip
    structure: Any = SimpleNamespace(tables=tables)
    return Instant(model, structure, None, frozenset(), np.zeros(2), np.ones(3), mechanism)  # type: ignore[arg-type]


@pytest.mark.parametrize(("phi", "fresh", "moves"), [
    ([0.0, 2.9e-10], [0, 1], False), ([0.0, 3.1e-10], [0, 1], True), ([-3.1e-10, 0.0], [0, 1], True),
    ([0.0, 3.1e-10], [0], False), ([0.0, 0.0, 1.0], [0, 2], False), ([1e-3, 2e-3, 0.0], [0, 1], True),
])  # fmt: skip
def test_what_is_connected_is_brought_together_where_it_is_not(
    phi: list[float], fresh: list[int], moves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond a share of 1e-10 of the length; only of what has just been connected, and of joints that a scene has."""
    monkeypatch.setattr(changes, "SHUT", 1e-10)
    monkeypatch.setattr(changes, "gap_of", lambda *asked: (0.0, 0.0))
    closed: list[np.ndarray] = []

    def close(mechanism: Any, q: np.ndarray, fixed: np.ndarray) -> bool:
        closed.append(fixed)
        q += 4.0
        return True

    monkeypatch.setattr(changes, "close_positions", close)
    after = connected(phi, [spec(), spec(), None])
    found = changes._brought_together(after, fresh, ())
    if not moves:
        assert found is after and not closed
        return
    assert found.q.tolist() == [4.0, 4.0] and after.q.tolist() == [0.0, 0.0]
    assert found.given == 2.5 and found.notes == () and [fixed.tolist() for fixed in closed] == [[False] * 3]
    assert [q.tolist() for q in after.mechanism.updated] == [[4.0, 4.0]]  # type: ignore[attr-defined]


def test_what_was_further_apart_than_is_usual_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = changes.DEFAULT_TOLERANCE
    gaps = [(0.9 * usual, 0.9 * usual), (2.0 * usual, 0.0), (0.0, 3.0 * usual)]
    monkeypatch.setattr(changes, "gap_of", lambda model, frames, joint, poses: gaps[joint])
    monkeypatch.setattr(changes, "close_positions", lambda *asked: True)
    said = [
        f"j1 brings together what was {2e3 * usual:.4g} mm apart and turned by 0 degrees",
        f"j2 brings together what was 0 mm apart and turned by {np.degrees(3.0 * usual):.3g} degrees",
    ]
    found = changes._brought_together(connected([1.0] * 3, [spec()] * 3), [0, 1, 2], ())
    assert found.notes == tuple(said)
    monkeypatch.setattr(changes, "close_positions", lambda *asked: False)
    where = "; ".join(text.replace(" brings together what was", ":") for text in said)
    with pytest.raises(ChangeError) as refused:
        changes._brought_together(connected([1.0] * 3, [spec()] * 3), [0, 1, 2], ())
    assert str(refused.value) == f"the loops cannot close with 'j0', 'j1', 'j2' connected here ({where})"
    with pytest.raises(ChangeError, match=r"the loops cannot close with 'j0' connected here$"):
        changes._brought_together(connected([1.0], [spec()]), [0], ())


@pytest.mark.parametrize(("off", "tolerance", "refused"), [
    (0.09, 0.05, False), (-0.11, 0.05, True), (0.11, 0.05, True), (np.nan, 0.05, True),
    (1.9 * changes.DEFAULT_TOLERANCE, np.inf, False), (2.1 * changes.DEFAULT_TOLERANCE, np.inf, True),
])  # fmt: skip
def test_a_joint_that_is_driven_is_connected_where_its_motion_is(off: float, tolerance: float, refused: bool) -> None:
    """Its row is in units of 2."""
    made = connected([off], [spec(tolerance)], columns=SimpleNamespace(joint=np.array([0])), column_names=["grip"])
    mechanism: Any = made.mechanism
    mechanism.work.coordinate, mechanism.work.rows.want = np.array([0.25]), np.array([[0.5, 9.0]])
    changes._check_motions(mechanism, [])  # only what has just been connected
    mechanism.model.joint_specs[0] = None
    changes._check_motions(mechanism, [0])
    mechanism.model.joint_specs[0] = spec(tolerance)
    if not refused:
        changes._check_motions(mechanism, [0])
        return
    with pytest.raises(ChangeError, match=r"joint 'grip' stands at 0\.25 and its motion is at 0\.5 at this time"):
        changes._check_motions(mechanism, [0])


def test_what_rolls_is_bound_where_it_is_on_its_ground() -> None:
    usual = changes.DEFAULT_TOLERANCE
    wheel = SimpleNamespace(body="wheel", name="roll")
    for off, where in ((0.9 * usual, ""), (-1.1 * usual, "below"), (1.1 * usual, "above")):
        made = connected([9.0, off, 9.0], [None] * 3, constraints={1: wheel, 2: wheel})
        if where:
            with pytest.raises(ChangeError) as refused:
                changes._check_ground(made.mechanism, [0, 1])
            size = f"{abs(off) * 1e3:.4g} mm {where}"
            assert str(refused.value) == f"'wheel' is {size} what it rolls on: 'roll' cannot bind it"
        else:
            changes._check_ground(made.mechanism, [0, 1])


@pytest.mark.parametrize(("gap", "turn", "tolerance", "refused"), [
    (0.9e-3, 0.9e-3, 1e-3, False), (1.1e-3, 0.0, 1e-3, True), (0.0, 1.1e-3, 1e-3, True), (1.0, 1.0, np.inf, False),
    (0.0, 0.9e-9, 0.0, False), (0.0, 1.1e-9, 0.0, True), (1e-12, 0.0, 0.0, True),
])  # fmt: skip
def test_a_joint_is_connected_where_its_frames_are_within_its_tolerance(
    gap: float, turn: float, tolerance: float, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A turn of a billionth is roundoff in any case."""
    monkeypatch.setattr(changes, "gap_of", lambda *asked: (gap, turn))
    model: Any = SimpleNamespace(
        joint_specs=[spec(tolerance), None], body_names=["world", "a", "b"],
        joints=SimpleNamespace(parent=np.array([1]), child=np.array([2])),
    )  # fmt: skip
    changes._check_gap(model, None, 1, ())  # type: ignore[arg-type]
    if not refused:
        changes._check_gap(model, None, 0, ())  # type: ignore[arg-type]
        return
    with pytest.raises(ChangeError) as error:
        changes._check_gap(model, None, 0, ())  # type: ignore[arg-type]
    assert str(error.value) == (
        f"'a' and 'b' are {gap * 1e3:.4g} mm apart and turned by {np.degrees(turn):.3g} degrees where joint 'grip' "
        f"would hold them; its tolerance is {tolerance:.3g} (m, rad)"
    )


class Setting:
    """A mechanism that is brought to values, in steps that are written down.

    at : what they are refused with, and where: "placed", "brought" or "rates"
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, hard: bool = True, refused: str = ""):
        self.log: list[Any] = []
        problem = SimpleNamespace(path="initial.hinge", what="it is off", hint="set it elsewhere")

        def step(name: str) -> Any:
            def noted(*asked: Any) -> list[Any]:
                self.log.append(name)
                return [problem] if refused == name else []

            return noted

        monkeypatch.setattr(changes, "joint_named", lambda model, name: int(name))
        monkeypatch.setattr(changes, "standing_at", lambda *asked: self.log.append(("stands", asked[2])) or ("here",))
        monkeypatch.setattr(changes, "unplaceable", step("placed"))
        monkeypatch.setattr(changes, "bring_to", step("brought"))
        monkeypatch.setattr(changes, "set_rates", lambda *asked: ("fixed", "rates"))
        monkeypatch.setattr(changes, "close_velocities", lambda *asked: self.log.append(("closed", *asked[3:])))
        monkeypatch.setattr(changes, "unkept_rates", step("rates"))
        self.turn = np.array([1.0, 2.0])
        self.mechanism: Any = SimpleNamespace(
            model=None, hard=lambda: np.array([False, hard]), control=SimpleNamespace(turn=self.turn),
            update=lambda q, v: self.log.append("updated"),
        )  # fmt: skip

    def __call__(self, **values: Value) -> list[Any]:
        named = {name.removeprefix("_"): value for name, value in values.items()}
        changes.set_values(self.mechanism, np.zeros(2), np.zeros(2), named, (True,))
        return self.log


HERE: Any = None
PLACE = Value(coordinate=(0.5,), rate=None, place=HERE)
GUESS, RATE = replace(PLACE, coordinate=None, near=(0.5,)), replace(PLACE, coordinate=None, rate=(2.0,))


@pytest.mark.parametrize(("values", "brings"), [
    ({"_0": PLACE}, True), ({"_0": GUESS}, True), ({"_0": RATE}, False), ({"_0": RATE, "_1": PLACE}, True),
    ({"_0": GUESS, "_1": RATE}, True),
])  # fmt: skip
def test_coordinates_are_set_before_rates_and_where_there_are_none_bodies_stay(
    values: dict[str, Value], brings: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Setting(monkeypatch)(**values)
    closed = ("closed", "fixed", "rates", ("here",))
    assert log == [("stands", (True,)), "placed", *["brought"] * brings, closed, "rates", "updated"]
    tree = Setting(monkeypatch, hard=False)(**values)  # without loops there is one branch
    assert tree == [
        "placed",
        *["brought"] * brings,
        ("closed", "fixed", "rates", (changes.NOWHERE,)),
        "rates",
        "updated",
    ]


@pytest.mark.parametrize(("refused", "done"), [
    ("placed", ["placed"]), ("brought", ["placed", "brought"]), ("rates", ["placed", "brought", "closed", "rates"]),
])  # fmt: skip
def test_a_value_that_loops_do_not_allow_is_refused_and_turns_are_counted_as_before(
    refused: str, done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = Setting(monkeypatch, refused=refused)
    bring = changes.bring_to

    def turns(*asked: Any) -> Any:
        setting.turn += 6.0
        return bring(*asked)

    monkeypatch.setattr(changes, "bring_to", turns)
    with pytest.raises(ChangeError, match="'hinge' cannot be set: it is off; set it elsewhere"):
        setting(_0=PLACE)
    assert [one if isinstance(one, str) else one[0] for one in setting.log] == ["stands", *done]
    assert setting.turn.tolist() == [1.0, 2.0]
