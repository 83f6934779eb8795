"""Soft points in decisions: what presses them, what friction gives, and how they slide, from numbers made by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace as Made
from typing import Any

import numpy as np
import pytest

from sim.contact import soft_points
from sim.contact.slip_directions import NOWHERE, SlipDirections, along, slide_on_softly
from sim.contact.soft_points import SoftPoint
from sim.contact.stops import Bounded
from sim.kernels.shapes import OPEN, SLIP, SLOW_SLIP, SOFT, SOFT_SLIP, SOFT_STICK, STICK
from sim.mechanism.finding import CLOSED
from sim.mechanism.touch import Touch

pytestmark = [pytest.mark.contact, pytest.mark.fast]


def touch(pair: int, **more: Any) -> Touch:
    return Touch(pair, 3, Made(key=np.array([4, pair + 5])), **more)


def soft(pair: int = 0, **more: Any) -> SoftPoint:
    return SoftPoint(touch(pair), 2e4, 0.5, 0.75, **more)


def test_friction_follows_what_presses_a_point_and_a_billionth_of_a_metre_at_least() -> None:
    point = soft(pressing=6.0)
    assert (point.resistance, point.resistance_at_rest) == (3.0, 4.5)
    for little in (0.0, 1.9e-5):
        point = soft(pressing=little)
        assert (point.resistance, point.resistance_at_rest) == (pytest.approx(1e-5), pytest.approx(1.5e-5))
    assert soft(pressing=2.1e-5).resistance == pytest.approx(1.05e-5)
    assert (point.key, point.pair, point.rubs) == ((0, 4, 5), 0, True)
    assert not replace(point, friction=0.0).rubs and replace(point, friction=1e-9).rubs


@pytest.mark.parametrize(("mode", "held"), [(OPEN, SOFT), (STICK, SOFT_STICK), (SLIP, SOFT_SLIP)])
def test_a_structure_holds_a_point_in_its_mode_with_its_friction(mode: int, held: int) -> None:
    point = soft(mode=mode, way_W=(0.6, 0.0, 0.8), force=(3.0, -4.0))
    assert (point.held.mode, point.held.slip_W, point.held.share) == (held, (0.6, 0.0, 0.8), (3.0, -4.0, 0.0))
    assert point.held.key == point.key and replace(point, friction=0.0).held.mode == SOFT
    assert point.as_(SLIP).mode == SLIP and point.as_(SLIP).share == (0.0, 0.0, 0.0) and point.as_(SLIP).rule == 3
    assert (soft().mode, soft().rests, soft().start_W, soft().force, soft().pressing) == (OPEN, False, None, (0, 0), 0)


def test_a_point_touches_that_is_in_or_about_to_be() -> None:
    for gap, rate, touches in (
        (-1.1 * CLOSED, 5.0, True), (-0.9 * CLOSED, 5.0, False), (0.9 * CLOSED, 0.0, True), (0.9 * CLOSED, -1.0, True),
        (0.9 * CLOSED, 1e-12, False), (1.1 * CLOSED, -1.0, False), (-1e-3, 5.0, True),
    ):  # fmt: skip
        assert soft_points.touches_now(gap, rate) is touches


def test_what_presses_points_is_their_depth_and_what_they_dissipate() -> None:
    """They are the last of a structure: 2e4 N/m times the depth times one less dissipation times the gap's rate."""
    touches = np.zeros(4, [("mode", int), ("stiffness", float), ("dissipation", float)]).view(np.recarray)
    touches.dissipation, touches.stiffness = [9.0, 0.5, 0.5, 0.5], [9.0, 1e3, 2e3, 4e3]
    points: Any = Made(gap=np.array([-9.0, -1e-3, -2e-3, 3e-3]), gap_dot=np.array([9.0, -0.4, 2.5, -0.4]))
    given = [soft(0), soft(1), soft(2)]
    found = soft_points.pressed(given, touches, points)
    assert [one.pressing for one in found] == [pytest.approx(20.0 * 1.2), 0.0, 0.0]
    assert [one.key for one in found] == [one.key for one in given] and found[0].stiffness == 2e4
    points.gap_dot[2] = 1.5
    assert soft_points.pressed(given, touches, points)[1].pressing == pytest.approx(40.0 * 0.25)
    assert soft_points.pressed([], touches, points) == []
    touches.mode = [STICK, SOFT, SOFT_STICK, SOFT_SLIP]
    assert soft_points.stored(touches, points) == pytest.approx(0.5 * 1e3 * 1e-6 + 0.5 * 2e3 * 4e-6)
    touches.mode[2] = OPEN
    assert soft_points.stored(touches, points) == pytest.approx(0.5 * 1e3 * 1e-6)


def test_soft_points_stand_together_in_a_law() -> None:
    law: list[object] = [touch(0), Bounded(2, 1, 1.0), soft(1), soft(2), Bounded(3, 0, 1.0)]
    assert soft_points.soft_of(law) == [law[2], law[3]] and soft_points.first_soft(law) == 2
    assert soft_points.first_soft(law[:2]) == 2 and soft_points.first_soft([]) == 0
    assert soft_points.first_soft(law[3:]) == 0


def answer_of(P: Any, mode: Any, d: Any = None, chosen: Any = None) -> Any:
    k = len(mode)
    return Made(
        P=np.column_stack([np.full(k, 99.0), P]), mode=np.array(mode), d=np.zeros((k, 2)) if d is None else np.array(d),
        chosen=np.zeros(k, bool) if chosen is None else np.array(chosen),
    )  # fmt: skip


@pytest.mark.parametrize("share", [1.0 - 0.9e-8, 1.0 - 1.1e-8, 0.5, 0.0])
@pytest.mark.parametrize("rests", [True, False])
@pytest.mark.parametrize("leaving", [True, False])
@pytest.mark.parametrize("chosen", [True, False])
def test_a_point_that_leaves_its_cone_begins_to_slide_against_its_friction(
    share: float, rests: bool, leaving: bool, chosen: bool
) -> None:
    """Where that is all that it can give, at rest or in motion, or others may hold; it is the third of three points."""
    most, t1, t2 = (6.0 if rests else 4.0), np.array([0.0, 0.6, 0.8]), np.array([0.0, -0.8, 0.6])
    point = soft(pressing=8.0, rests=rests)
    answer = answer_of(
        [[9.0, 9.0]] * 2 + [[0.6 * share * most, -0.8 * share * most]], [STICK] * 3, chosen=[not chosen] * 2 + [chosen]
    )
    (found,) = soft_points.softly(
        [point], answer, 2, frozenset([point.key if leaving else (7, 7, 7)]), (t1[None], t2[None])
    )
    slides = leaving and share > 0.0 and (share > 1.0 - 1e-8 or chosen)
    assert found.mode == (SLIP if slides else STICK)
    assert found.force == (pytest.approx(0.6 * share * most), pytest.approx(-0.8 * share * most))
    assert found.way_W == pytest.approx(-0.6 * t1 + 0.8 * t2 if slides else NOWHERE, abs=1e-15)
    mask = soft_points.giving([point], np.array([rests] * 3), answer, 2, np.array([leaving] * 3))
    at_rest = np.hypot(*answer.P[2, 1:]) >= (1.0 - 1e-8) * 6.0
    assert mask.tolist() == [False, False, rests and leaving and bool(at_rest or chosen)]
    answer.mode[2] = SLIP
    mask = soft_points.giving([point], np.array([rests] * 3), answer, 2, np.array([leaving] * 3))
    assert mask.tolist() == [False, False, rests]


def test_points_that_slide_do_so_along_the_answer_or_on_as_they_did() -> None:
    t1, t2 = np.eye(3)[[0, 1]], np.eye(3)[[1, 2]]
    given = [soft(0, pressing=8.0), soft(1, pressing=8.0, start_W=(0.0, 0.6, 0.8))]
    answer = answer_of([[9.0, 9.0], [1.0, 2.0], [3.0, 4.0]], [STICK, SLIP, SLIP], [[0, 1], [0.6, -0.8], [1.0, 0.0]])
    found = soft_points.softly(given, answer, 1, frozenset(one.key for one in given), (t1, t2))
    assert [one.mode for one in found] == [SLIP, SLIP]
    assert [one.force for one in found] == [(1.0, 2.0), (3.0, 4.0)]
    assert found[0].way_W == pytest.approx((0.6, -0.8, 0.0)) and found[1].way_W == (0.0, 0.6, 0.8)


# --- in which direction they slide on --------------------------------------------------------------------------------


def kinetics_of(count: int, closed: tuple[int, ...]) -> Any:
    """Points of a structure in frames of their own, of which some are closed points of contact; soft ones come next."""
    turns = [np.linalg.qr(np.random.default_rng(n).normal(size=(3, 3)))[0] for n in range(count)]
    points = Made(t1=np.array([R[:, 0] for R in turns]), t2=np.array([R[:, 1] for R in turns]))
    return Made(points=np.array(closed, int), mechanism=Made(work=Made(points=points)))


def test_directions_are_told_in_the_frames_of_points_of_contact() -> None:
    kinetics = kinetics_of(4, (1, 3))
    points = kinetics.mechanism.work.points
    ways = [tuple(0.6 * points.t1[k] - 0.8 * points.t2[k]) for k in (1, 3)] + [(1.0, 1.0, 1.0)]
    assert along(kinetics, ways) == pytest.approx(np.array([[0.6, -0.8], [0.6, -0.8], [0.0, 0.0]]), abs=1e-15)
    assert along(kinetics_of(2, ()), ways).tolist() == [[0.0, 0.0]] * 3
    assert SlipDirections().starts(kinetics, [soft(0), soft(1)]).tolist() == [[0.0, 0.0]] * 2
    known = SlipDirections(started={soft(1).key: np.array(ways[1])})
    assert known.starts(kinetics, [soft(0), soft(1)]) == pytest.approx(np.array([[0, 0], [0.6, -0.8]]), abs=1e-15)


@pytest.mark.parametrize(("speed", "fast"), [(1.1e-6, True), (0.9e-6, False), (0.3, True), (0.0, False)])
@pytest.mark.parametrize("ahead", [True, False])
def test_friction_of_a_soft_point_goes_on_where_it_slides_ahead(speed: float, fast: bool, ahead: bool) -> None:
    key, start, friction = soft().key, np.array([0.6, 0.8, 0.0]), np.array([0.8, 0.6, 0.0])
    known = SlipDirections(started={key: start}, softly={key: friction})
    u = speed * np.array([1.0, 0.0, 0.0]) * (1.0 if ahead else -1.0)
    found = known.soft_go_on(key, u)
    assert found is friction if fast and ahead else found is None
    assert known.soft_go_on((9, 9, 9), u) is None


def test_soft_points_have_the_rates_of_their_friction_or_none_where_they_are_slow() -> None:
    """Behind one point of contact and a stop: one goes on, one is turned back, one is still, one is new and fast."""
    kinetics = kinetics_of(5, (0,))
    points = kinetics.mechanism.work.points
    law: list[Any] = [touch(9), Bounded(2, 1, 1.0), *(soft(k, start_W=(1.0, 0.0, 0.0)) for k in range(4))]
    way, friction = points.t1[1:5], 0.8 * points.t1[1:5] + 0.6 * points.t2[1:5]
    known = SlipDirections(
        started={law[2 + k].key: way[k] for k in range(2)}, softly={law[2 + k].key: friction[k] for k in range(2)}
    )
    u = np.array([[7.0, 8.0, 9.0], [1.0, 2.0, 3.0], [0.5, 1e-3, 1e-3], [0.5, -1e-3, 0.0], [0.5, 1.2e-5, -1.59e-5],
                  [0.5, 1.3e-5, 1.6e-5]])  # fmt: skip
    before = u.copy()
    slide_on_softly(kinetics, law, u, known)
    assert (u[:2] == before[:2]).all() and (u[:, 0] == before[:, 0]).all()
    assert u[2, 1:] == pytest.approx([0.8, 0.6], abs=1e-15)
    assert u[3, 1:].tolist() == [-1e-3, 0.0] and u[4, 1:].tolist() == [0.0, 0.0] and u[5].tolist() == before[5].tolist()
    assert law[2].start_W == tuple(way[0]) and [one.start_W for one in law[3:]] == [None] * 3


def test_what_slides_is_noted_with_its_directions() -> None:
    """Of points that creep that of their friction, of others that of the step's start, of soft ones both."""
    touches = [
        touch(k, mode=mode) for k, mode in enumerate((OPEN, STICK, SLIP, SLOW_SLIP, SOFT, SOFT_STICK, SOFT_SLIP, SLIP))
    ]
    points: Any = Made(slip=np.arange(24.0).reshape(8, 3), start=-1.0 - np.arange(24.0).reshape(8, 3))
    points.start[7] = [1e-6, 0.0, 0.0]  # eased: in grease it has no direction to go on in
    known = SlipDirections(started={(9, 9, 9): np.ones(3)}, slipping_slowly={(9, 9, 9)}, softly={(9, 9, 9): np.ones(3)})
    known.note(touches, points)
    keys = [one.key for one in touches]
    assert (
        known.slipping_slowly == {keys[3]}
        and set(known.softly) == {keys[6]}
        and set(known.started) == {keys[k] for k in (2, 3, 6)}
    )
    assert known.softly[keys[6]].tolist() == [18.0, 19.0, 20.0] and known.started[keys[6]].tolist() == [
        -19.0,
        -20.0,
        -21.0,
    ]
    assert known.started[keys[2]].tolist() == [-7.0, -8.0, -9.0] and known.started[keys[3]].tolist() == [
        9.0,
        10.0,
        11.0,
    ]
    points.slip[:], points.start[:] = 0.0, 0.0
    assert known.started[keys[3]].tolist() == [9.0, 10.0, 11.0] and known.softly[keys[6]][0] == 18.0  # values of then
