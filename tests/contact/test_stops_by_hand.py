"""Freedoms at rigid stops and with friction: how they are found, named, held and let go, from tables made by hand."""

from __future__ import annotations

from dataclasses import astuple
from types import SimpleNamespace as Made
from typing import Any

import numpy as np
import pytest

from sim.contact import stops
from sim.contact.soft_points import SoftPoint
from sim.contact.stops import Bounded
from sim.kernels.shapes import OPEN, SLIP, STICK
from sim.mechanism.active_bound import ActiveBound
from sim.mechanism.finding import CLOSED
from sim.mechanism.joint_motion import ball_value
from sim.mechanism.touch import Touch

pytestmark = [pytest.mark.contact, pytest.mark.fast]

VECTOR = np.array([0.3, -0.5, 0.7])  # of the ball, whose columns are 2 to 4


def made(about: int | None = 0) -> Any:
    """Return a plate (columns 0, 1: a slide and a turn), a ball (2 to 4), a wheel that may slip (5, 6), a bolt (7)."""
    kinds = {0: Made(limits="each"), 1: Made(limits="ball"), 3: Made(limits="each")}
    columns = np.zeros(8, [("joint", int), ("linear", int), ("friction", float), ("both", int)]).view(np.recarray)
    columns.joint, columns.linear = [0, 0, 1, 1, 1, 2, 2, 3], [1, 0, 0, 0, 0, 1, 1, 1]
    columns.friction, columns.both = [3.0, 8.0, 0, 0, 0, 5.0, 0, 7.0], [0, 0, 0, 0, 0, 1, 0, 0]
    kind = [("place", int), ("side", int), ("bound", float), ("rigid", bool), ("joint", int), ("restitution", float),
            ("rest_speed", float)]  # fmt: skip
    table = np.array(
        [(0, 1, 5.0, 1, 0, 0.25, 0.5), (0, -1, -5.0, 1, 0, 0.1, 0.2), (1, 1, 2.0, 1, 0, 0.5, 0.75),
         (1, 1, 2.0, 0, 0, 0.0, 0.0), (3, 1, 1.2, 1, 1, 0.0, 0.0), (7, 1, 0.0, 1, 3, 0.0, 0.0)], kind,
    ).view(np.recarray)  # fmt: skip
    spec = Made(limits=None if about is None else Made(about=about))
    model = Made(
        columns=columns, constraints={2: "wheel"}, type_of=kinds.__getitem__, stops=table, length=4.0,
        joint_names=["plate", "ball", "wheel", "bolt"], column_names=[f"column {k}" for k in range(8)],
        joints=Made(column=np.array([0, 2, 5, 7])), joint_specs=[None, spec, None, None],
    )  # fmt: skip
    coordinate = np.array([1.0, 1.5, *VECTOR, 6.0, 7.0, 0.0])
    rows = np.zeros(6, [("column", int), ("low", float), ("high", float)]).view(np.recarray)
    rows.column, rows.low, rows.high = [0, 3, 1, 6, 5, 0], [-1, -1, -1, -1, -1, 0], [1, 1, 1, 1, 1, 0]
    tables = Made(rows=rows, blocks=Made(row=np.array([5, 1, 3])), touches=Made(block=np.array([2, 1])))
    touches = tuple(Touch(pair, 0, Made(key=np.array([4, pair]))) for pair in (6, 7))
    structure = Made(carrier=np.array([3, 0, 1]), loops=(2,), tables=tables, touches=touches)
    return Made(model=model, work=Made(coordinate=coordinate), structure=structure)


def test_each_is_named_with_its_stop_and_what_it_does() -> None:
    model = made().model
    for column, side, name, which in (
        (0, 1, "column 0", "upper stop"), (1, -1, "column 1", "lower stop"), (2, 1, "ball", "upper stop"),
        (3, 1, "ball", "cone"), (4, 1, "ball", "upper stop of its twist"), (4, -1, "ball", "lower stop of its twist"),
    ):  # fmt: skip
        one = Bounded(column, side, 1.0)
        assert one.name(model) == f"{name} at its {which}"
        unit = "m" if column == 0 else "rad"
        assert one.beyond(model, 0.12345) == f"{name} is 0.123 {unit} beyond its {which}, which is rigid"
        assert one.told(model, OPEN) == f"{name} leaves its {which}"
        assert one.told(model, STICK) == one.told(model, SLIP) == f"{name} rests at its {which}"
    for column, name, words in ((1, "column 1", ("sticks", "slides")), (5, "wheel", ("grips", "slips"))):
        one = Bounded(column, 0, 1.0)
        assert one.name(model) == name
        assert [one.told(model, mode) for mode in (STICK, SLIP)] == [f"{name} {word}" for word in words]
    both = Bounded(5, 0, 1.0, both=True, force=2.0, beside=3.0)
    assert (both.columns, both.forces) == ((5, 6), (2.0, 3.0)) and both.pair == both.key[0]
    assert astuple(Bounded(5, 1, 2.0)) == (5, 1, 2.0, 0.0, 0.0, 0.0, OPEN, 0.0, False, 0.0)
    alone = Bounded(5, 0, 1.0, force=2.0, beside=3.0)
    assert (alone.columns, alone.forces, alone.key) == ((5,), (2.0,), both.key)


@pytest.mark.parametrize("about", [0, 1, None])
def test_columns_of_a_ball_are_its_angle_its_swing_and_its_twist(about: int | None) -> None:
    mechanism = made(about)
    found = [stops._value(mechanism, k) for k in range(8)]
    axis = 2 if about is None else about
    ball = [ball_value(1 + k, axis, VECTOR) for k in range(3)]
    assert ball[0] == pytest.approx(np.linalg.norm(VECTOR)) and len({round(x, 6) for x in ball}) == 3
    assert found == [1.0, 1.5, *ball, 6.0, 7.0, 0.0]
    mechanism.model.joint_specs[1] = None
    assert stops._value(mechanism, 3) == ball_value(2, 2, VECTOR)


def test_freedoms_at_rigid_stops_are_found_with_what_is_left_of_their_way() -> None:
    """Not those of joints that are not there, of soft stops, or away from them; turns count in lengths."""
    mechanism = made()
    coordinate = mechanism.work.coordinate
    assert stops.at_stops(mechanism) == ([], [])
    coordinate[:2] = 5.0 - 0.5 * CLOSED, 2.0 + 1e-3
    found, gaps = stops.at_stops(mechanism)
    assert found == [Bounded(0, 1, 1.0, 0.25, 0.5), Bounded(1, 1, 4.0, 0.5, 3.0)]
    assert gaps == pytest.approx([0.5 * CLOSED, -1e-3], rel=1e-6)
    coordinate[:2] = -5.0 - 0.25, 2.0 - 2.0 * CLOSED
    assert stops.at_stops(mechanism) == ([Bounded(0, -1, 1.0, 0.1, 0.2)], [-0.25])
    coordinate[0], coordinate[2:5] = 0.0, [0.0, 1.3, 0.0]
    found, gaps = stops.at_stops(mechanism)
    assert found == [Bounded(3, 1, 4.0)] and gaps == pytest.approx([-0.1])
    mechanism.structure.carrier = np.array([0, 1, 3])  # the first is the world's
    assert [one.column for one in stops.at_stops(mechanism)[0]] == [3, 7]


def test_friction_is_that_of_joints_that_are_there() -> None:
    assert stops.with_friction(made()) == [
        Bounded(0, 0, 1.0, resistance=3.0), Bounded(1, 0, 4.0, resistance=2.0),
        Bounded(5, 0, 1.0, resistance=5.0, both=True),
    ]  # fmt: skip


def test_rows_of_a_problem_are_those_that_hold_its_freedoms() -> None:
    mechanism = made()
    bounded = [Bounded(1, 1, 4.0), Bounded(0, -1, 1.0), Bounded(5, 0, 1.0, both=True), Bounded(0, 0, 1.0)]
    held = stops.everywhere(mechanism, bounded)
    assert held == tuple(ActiveBound(c, float(mechanism.work.coordinate[c]), -np.inf, np.inf) for c in (1, 0, 5, 6))
    expected = np.zeros((12, 6))
    # Away from stops: down from an upper one; friction along both of its freedoms.  Row 5 is no hold.
    expected[0, 2], expected[3, 0], expected[7, 4], expected[8, 3], expected[10, 0] = -1.0, 1.0, 1.0, 1.0, 1.0
    assert np.array_equal(stops.rows_of(mechanism, bounded), expected)
    # Soft points among them, in an order of their own: the first two rows of their blocks, along the surface alone.
    soft = [SoftPoint(touch.but(), 1e3, 0.5, 0.6) for touch in mechanism.structure.touches]
    expected = np.vstack([np.zeros((3, 6)), expected[:3], np.zeros((3, 6))])
    expected[1, 1], expected[2, 2], expected[7, 3], expected[8, 4] = 1.0, 1.0, 1.0, 1.0
    assert np.array_equal(stops.rows_of(mechanism, [soft[1], bounded[0], soft[0]]), expected)
    assert stops.rows_of(mechanism, []).shape == (0, 6)
    modes = stops.against(bounded[:2], np.array([[3.0, 9.0, 9.0], [4.0, 9.0, 9.0]]), np.array([STICK, OPEN]))
    assert modes == [Bounded(1, 1, 4.0, mode=STICK, force=3.0), Bounded(0, -1, 1.0, mode=OPEN, force=4.0)]


@pytest.mark.parametrize("share", [1.0 - 0.9e-8, 1.0 - 1.1e-8, 0.5])
@pytest.mark.parametrize("leaving", [True, False])
@pytest.mark.parametrize("chosen", [True, False])
def test_friction_holds_slides_or_begins_to_slide(share: float, leaving: bool, chosen: bool) -> None:
    """The first of four points is no friction.  One sticks, one slides back, one slides along two freedoms."""
    sticks, back = Bounded(1, 0, 4.0, resistance=2.0), Bounded(0, 0, 1.0, resistance=3.0)
    both = Bounded(5, 0, 1.0, resistance=5.0, both=True)
    P = np.array([[9.0, 9.0, 9.0], [0.0, -2.0 * share, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    d = np.array([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.6, -0.8]])
    answer: Any = Made(
        P=P, d=d, mode=np.array([STICK, STICK, SLIP, SLIP]), chosen=np.array([not chosen, chosen, False, False])
    )
    found = stops.frictions([sticks, back, both], answer, frozenset({sticks.key} if leaving else ()))
    begins = leaving and (chosen or share > 1.0 - 1e-8)
    assert (found[0].mode, found[0].force) == (
        (SLIP, pytest.approx(-2.0, rel=1e-12)) if begins else (STICK, pytest.approx(-2.0 * share, rel=1e-12))
    )
    assert (found[1].mode, found[1].force, found[1].beside) == (SLIP, 3.0, 0.0)
    assert (found[2].mode, found[2].force, found[2].beside) == (SLIP, pytest.approx(-3.0), pytest.approx(4.0))
    d[2] = 1.0, 0.0
    assert stops.frictions([sticks, back, both], answer, frozenset())[1].force == -3.0


def test_friction_gives_what_it_can_where_others_hold_the_rest() -> None:
    """Of those that stick, and would need more: along what they would need."""
    one, both = (
        Bounded(1, 0, 4.0, resistance=2.0, mode=STICK),
        Bounded(5, 0, 1.0, resistance=5.0, both=True, mode=STICK),
    )
    stop, slides = Bounded(0, 1, 1.0, mode=STICK), Bounded(7, 0, 1.0, resistance=1.0, mode=SLIP)
    given = [one, both, stop, slides]
    assert stops.eased(given, {}) == given
    found = stops.eased(given, {1: -7.0, 2: 50.0, 5: 6.0, 6: -8.0, 0: 9.0, 7: 9.0})
    assert found[2:] == [stop, slides] and [each.mode for each in found[:2]] == [SLIP, SLIP]
    assert (found[0].force, found[0].beside) == (-2.0, 0.0)
    assert (found[1].force, found[1].beside) == (pytest.approx(3.0), pytest.approx(-4.0))


def test_what_holds_a_freedom_at_its_stop_and_by_friction_adds_up() -> None:
    mechanism = made()
    upper, lower = Bounded(1, 1, 4.0, mode=STICK, force=3.0), Bounded(0, -1, 1.0, mode=STICK, force=2.0)
    grips = Bounded(1, 0, 4.0, resistance=2.0, mode=STICK, force=-0.5)
    both = Bounded(5, 0, 1.0, resistance=5.0, both=True, mode=STICK, force=1.0, beside=-2.0)
    away = [Bounded(0, 1, 1.0, mode=OPEN, force=7.0), Bounded(7, 0, 1.0, resistance=1.0, mode=SLIP, force=7.0)]
    assert stops.active_bounds(mechanism, away) == ()
    for order in ([upper, grips], [grips, upper]):
        assert stops.active_bounds(mechanism, order) == (ActiveBound(1, 2.0, -np.inf, 8.0, -14.0),)
    assert stops.active_bounds(mechanism, [grips]) == (ActiveBound(1, 1.5, -8.0, 8.0, -2.0),)
    assert stops.active_bounds(mechanism, [lower, both]) == (
        ActiveBound(0, -5.0, 0.0, np.inf, 2.0), ActiveBound(5, 6.0, -5.0, 5.0, 1.0), ActiveBound(6, 7.0, -5.0, 5.0,
        -2.0),
    )  # fmt: skip


def test_friction_of_what_slides_is_told_by_columns() -> None:
    slides = [
        Bounded(1, 0, 4.0, mode=SLIP, force=-0.5), Bounded(5, 0, 2.0, both=True, mode=SLIP, force=1.0, beside=3.0),
        Bounded(0, 0, 1.0, mode=STICK, force=9.0), Bounded(7, 1, 1.0, mode=SLIP, force=9.0),
    ]  # fmt: skip
    assert stops.friction_of_moving(made().model, slides).tolist() == [0.0, -2.0, 0.0, 0.0, 0.0, 2.0, 6.0, 0.0]
