"""Which coefficients points have: what laws say of each, and which of two, at rest and in motion; by hand."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import numpy as np
import pytest

from sim.contact.contact_problem import Mode
from sim.contact.impact import Collision
from sim.contact.point_laws import PointLaws
from sim.contact.soft_points import SoftPoint
from sim.contact.stops import Bounded
from sim.contact.two_frictions import collide, giving_way
from sim.mechanism.touch import Touch

pytestmark = [pytest.mark.contact, pytest.mark.fast]

OPEN, STICK, SLIP = Mode.OPEN, Mode.STICK, Mode.SLIP


def touch(pair: int, rule: int) -> Touch:
    return Touch(pair, rule, Made(key=np.array([1, 2])))


class Model:
    """Two rules; the friction of a pair tells its numbers, and how often it was asked for."""

    def __init__(self) -> None:
        self.scene = Made(contacts=[Made(restitution=0.1, rest_speed=0.01), Made(restitution=0.2, rest_speed=0.02)])
        self.asked: list[tuple[int, int]] = []

    def friction(self, pair: int, rule: int) -> float:
        self.asked.append((pair, rule))
        return 0.1 * pair + rule

    def friction_at_rest(self, pair: int, rule: int) -> float:
        return 0.1 * pair + rule + 0.5


def test_laws_say_of_points_what_rules_stops_and_joints_do() -> None:
    model: Any = Model()
    laws = PointLaws(model)
    soft = SoftPoint(touch(5, 0), 1e3, 0.5, 0.75, pressing=8.0)
    law = [touch(2, 1), touch(3, 0), Bounded(4, 1, 1.0, 0.3, 0.03), Bounded(6, 0, 1.0, resistance=7.0), soft]
    assert laws.firmness == 1.0
    assert laws.of(law, "friction") == pytest.approx([1.2, 0.3, 0.0, 0.0, 0.0])
    assert laws.of(law, "friction_at_rest") == pytest.approx([1.7, 0.8, 0.0, 0.0, 0.0])
    assert laws.of(law[:4], "restitution").tolist() == [0.1 + 0.1, 0.1, 0.3, 0.0]
    assert laws.of(law[:4], "rest_speed").tolist() == [0.02, 0.01, 0.03, 0.0]
    assert laws.of(law, "resistance").tolist() == [0.0, 0.0, 0.0, 7.0, 4.0]
    assert laws.of(law, "resistance_at_rest").tolist() == [0.0, 0.0, 0.0, 7.0, 6.0]
    laws.begin(0.25)
    assert laws.of(law, "friction") == pytest.approx([0.3, 0.075, 0.0, 0.0, 0.0])
    assert laws.of(law, "friction_at_rest") == pytest.approx([0.425, 0.2, 0.0, 0.0, 0.0])
    assert laws.of(law, "resistance").tolist() == [0.0, 0.0, 0.0, 7.0, 4.0]
    assert laws.friction(law[0]) == pytest.approx((1.2, 1.7)) and model.asked == [(2, 1), (3, 0)]  # each once


def test_laws_are_found_once_for_a_decision_but_for_what_depth_says() -> None:
    model: Any = Model()
    laws, hard = PointLaws(model), [touch(2, 1), Bounded(6, 0, 1.0, resistance=7.0)]
    law = [*hard, SoftPoint(touch(5, 0), 1e3, 0.5, 0.75, pressing=8.0)]
    for what in ("friction", "friction_at_rest"):
        assert laws.of(law, what) is laws.of(law, what)
    found = laws.of(law, "resistance"), laws.of(law, "resistance_at_rest")
    law[2] = SoftPoint(touch(5, 0), 1e3, 0.5, 0.75, pressing=16.0)
    assert (found[0][2], laws.of(law, "resistance")[2]) == (4.0, 8.0)
    assert (found[1][2], laws.of(law, "resistance_at_rest")[2]) == (6.0, 12.0)
    assert laws.of(hard, "resistance") is laws.of(hard, "resistance")
    before = laws.of(hard, "friction")
    assert laws.of(list(hard), "friction") is not before  # another law
    before = laws.of(hard, "friction")
    laws.begin(1.0)
    assert laws.of(hard, "friction") is not before


def gives(
    rests: list[int], mode: list[int], leaving: list[int], bound: list[int], chosen: list[int], P: Any = None
) -> list:
    """Return which of the points give way; the last of them, of which no room is known, is friction in a joint."""
    n = len(mode) - 1
    centre: Any = Made(
        P=np.ones((n, 3)) if P is None else np.array(P, float), bound=np.array(bound[:n], bool),
        chosen=np.array(chosen[:n], bool),
    )  # fmt: skip
    answer: Any = Made(mode=np.array(mode))
    found = giving_way(np.array(rests, bool), answer, centre, np.array(leaving, bool))
    return found.astype(int).tolist()


def test_points_at_rest_give_way_where_they_slide_or_leave_their_cones() -> None:
    all_, none = [1, 1, 1, 1], [0, 0, 0, 0]
    assert gives(all_, [SLIP, STICK, OPEN, SLIP], none, none, none) == [1, 0, 0, 0]
    assert gives([0, 1, 1, 1], [SLIP, SLIP, STICK, SLIP], none, none, none) == [0, 1, 0, 0]
    sticks = [STICK, STICK, STICK, STICK]
    assert gives(all_, sticks, none, all_, all_) == none
    assert gives(all_, sticks, [0, 1, 0, 0], [0, 1, 1, 1], none) == [0, 1, 0, 0]
    assert gives(all_, sticks, [0, 1, 0, 0], [1, 0, 1, 1], all_) == none  # others hold with room
    assert gives(all_, sticks, [0, 1, 0, 0], [0, 1, 1, 1], all_) == [0, 1, 1, 0]  # and all that have none, with it
    assert gives(all_, [STICK, STICK, SLIP, STICK], [0, 1, 0, 0], all_, [0, 0, 0, 0]) == [0, 1, 1, 0]
    assert gives([1, 1, 0, 1], sticks, [0, 1, 0, 0], all_, all_) == [1, 1, 0, 0]
    assert gives(all_, sticks, [0, 0, 0, 1], all_, all_) == none
    for force, leaves in (([1, 0, 0], 0), ([1, 1e-9, 0], 1), ([1, 0, -1e-9], 1)):  # without friction it does not leave
        assert gives(all_, sticks, [0, 1, 0, 0], all_, none, [[1, 1, 1], force, [1, 1, 1]]) == [0, leaves, 0, 0]


def test_collisions_have_friction_at_rest_of_points_that_then_stick() -> None:
    """The first moves, the second holds with more than it has in motion, the third holds with no more."""
    asked: list[list[float]] = []

    def answers(*modes: list[int]) -> Any:
        left = list(modes)

        def solve(collision: Collision) -> Any:
            asked.append(collision.mu.tolist())
            return Made(last=Made(mode=np.array(left.pop(0))))

        return solve

    given = Collision(G=np.eye(9), u=-np.ones(9), mu=np.array([0.1, 0.2, 0.3]), e=np.zeros(3))
    resting, most = np.array([False, True, True]), np.array([0.9, 0.8, 0.3])
    found, answer = collide(given, resting, most, answers([SLIP, STICK, SLIP]))
    assert (
        asked == [[0.1, 0.8, 0.3]]
        and found.mu.tolist() == asked[0]
        and answer.last.mode.tolist() == [SLIP, STICK, SLIP]
    )
    asked.clear()
    found, answer = collide(given, resting, most, answers([STICK, SLIP, STICK], [SLIP, SLIP, SLIP]))
    assert asked == [[0.1, 0.8, 0.3], [0.1, 0.2, 0.3]] and found is given
    assert answer.last.mode.tolist() == [SLIP, SLIP, SLIP]
    asked.clear()
    most = np.array([0.9, 0.8, 0.7])
    found, _ = collide(
        given, np.ones(3, bool), most, answers([STICK, SLIP, STICK], [SLIP, SLIP, STICK], [SLIP] * 2 + [STICK])
    )
    assert asked == [[0.9, 0.8, 0.7], [0.9, 0.2, 0.7], [0.1, 0.2, 0.7]] and found.mu.tolist() == [0.1, 0.2, 0.7]
    assert (found.G == given.G).all() and found.e is given.e
    asked.clear()
    found, _ = collide(given, np.zeros(3, bool), most, answers([SLIP, SLIP, SLIP]))
    assert asked == [[0.1, 0.2, 0.3]] and found is given
