"""Two runs beside each other: differences that were put in are told as large as they are, where and when they are."""

from __future__ import annotations

import numpy as np
import pytest

from sim.analysis.verification.comparing import (
    LOST,
    ROUNDOFF,
    Output,
    common_rows,
    error_bar,
    growth,
    outputs,
    picked,
    pose_difference,
    state_difference,
)
from sim.recording import ColumnEntry

pytestmark = pytest.mark.fast

COLUMNS = tuple(
    ColumnEntry(name=name, joint=name[0], unit=unit, rate_unit=rate, torque_unit=torque)
    for name, unit, rate, torque in (
        ("a[0]", "m", "m/s", "N"), ("a[1]", "rad", "rad/s", "N m"), ("b", "m", "m/s", "N"), ("c", "1", "rad/s", "N m"),
    )
)  # fmt: skip


def test_the_outputs_of_a_recording_are_these():
    found = [(o.name, o.unit, o.dataset, o.names, None if o.pick is None else o.pick.tolist(), o.part, o.angle)
             for o in outputs(["x", "y"], ["a", "b", "c"], COLUMNS)]  # fmt: skip
    bodies, both, joints = ("x", "y"), (0, 3), ("a", "b", "c")
    lengths, angles = ("a[0]", "b"), ("a[1]", "c")
    assert found == [
        ("position", "m", "position", bodies, None, both, False),
        ("rotation", "rad", "quat_wxyz", bodies, None, both, True),
        ("velocity", "m/s", "velocity", bodies, None, both, False),
        ("angular velocity", "rad/s", "angular_velocity", bodies, None, both, False),
        ("coordinate", "m", "joints/coordinate", lengths, [0, 2], both, False),
        ("coordinate", "rad", "joints/coordinate", ("a[1]",), [1], both, False),
        ("coordinate", "1", "joints/coordinate", ("c",), [3], both, False),
        ("rate", "m/s", "joints/rate", lengths, [0, 2], both, False),
        ("rate", "rad/s", "joints/rate", angles, [1, 3], both, False),
        ("torque", "N", "joints/torque", lengths, [0, 2], both, False),
        ("torque", "N m", "joints/torque", angles, [1, 3], both, False),
        ("force of joints", "N", "joints/force", joints, None, (3, 6), False),
        ("moment of joints", "N m", "joints/force", joints, None, both, False),
        *((f"energy {name}", "J", f"energy/{name}", (name,), None, both, False)
          for name in ("kinetic", "potential", "dissipated", "impact", "input", "balance")),
    ]  # fmt: skip
    assert [o.name for o in outputs(["x"], [], ())][4:] == [f"energy {name}" for name in (
        "kinetic", "potential", "dissipated", "impact", "input", "balance")]  # fmt: skip


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_difference_is_the_size_of_what_was_changed(sign):
    rng = np.random.default_rng(2)
    one = {
        "joints/force": rng.normal(size=(5, 3, 6)),
        "joints/rate": rng.normal(size=(5, 4)),
        "energy/input": rng.normal(size=5),
    }
    other = {name: values.copy() for name, values in one.items()}
    other["joints/force"][2, 1] += sign * np.array([3.0, 0, 4.0, 5.0, 12.0, 0])
    other["joints/rate"][3] += sign * np.array([0.25, 0.5, 0.75, 1.0])
    other["energy/input"][4] += sign * 2.0
    named = {(o.name, o.unit): o for o in outputs(["x"], ["a", "b", "c"], COLUMNS)}
    for key, size, place in (
        (("moment of joints", "N m"), 5.0, (2, 1)), (("force of joints", "N"), 13.0, (2, 1)),
        (("energy input", "J"), 2.0, (4, 0)),
    ):  # fmt: skip
        expected = np.zeros_like(named[key].difference(one, one))
        expected[place] = size
        assert named[key].difference(one, other) == pytest.approx(expected, abs=1e-14)
    assert named["rate", "rad/s"].difference(one, other)[3] == pytest.approx([0.5, 1.0])
    assert named["rate", "m/s"].difference(one, other)[3] == pytest.approx([0.25, 0.75])
    assert named["rate", "m/s"].largest({"joints/rate": np.array([[-3.0, 9, 2, 9], [np.nan, 9, 1, 9]])}) == 3.0
    assert named["rotation", "rad"].largest({}) == np.pi
    assert named["energy input", "J"].largest({"energy/input": np.full(3, np.nan)}) == 0.0


def test_poses_and_states_differ_by_their_largest_part():
    """In sizes of the mechanism, radians, and these in a second."""
    zero = {name: np.zeros((4, 2, 3)) for name in ("position", "velocity", "angular_velocity")}
    zero["quat_wxyz"] = np.tile([1.0, 0, 0, 0], (4, 2, 1))
    other = {name: values.copy() for name, values in zero.items()}
    other["position"][0, 1], other["quat_wxyz"][1, 0] = (0, 3.0, 4.0), (np.cos(0.35), 0, np.sin(0.35), 0)
    other["velocity"][2, 1], other["angular_velocity"][3, 0] = (6.0, 8.0, 0), (0, 0, -1.5)
    assert pose_difference(zero, other, 2.0) == pytest.approx([2.5, 0.7, 0, 0])
    assert state_difference(zero, other, 2.0) == pytest.approx([2.5, 0.7, 5.0, 1.5])
    none = {name: values[:, :0] for name, values in zero.items()}
    assert pose_difference(none, none, 2.0).tolist() == state_difference(none, none, 2.0).tolist() == [0.0] * 4


def test_rows_at_the_same_instants_are_the_second_ones_of_events():
    one = np.array([0.0, 1.0, 1.0, 2.0, 3.0, 5.0, 5.0])
    other = np.array([0.0, 0.5, 1.0, 2.5, 3.0, 3.0, 3.0, 5.0])
    i, j = common_rows(one, other)
    assert (i.tolist(), j.tolist()) == ([0, 2, 4, 6], [0, 2, 6, 7])
    assert {k: v.tolist() for k, v in picked({"a": one, "b": 2 * one}, i).items()} == {
        "a": [0, 1, 3, 5], "b": [0, 2, 6, 10]}  # fmt: skip


def bar_of(values, until, names=("p", "q", "r")):
    output = Output("rate", "m/s", "joints/rate", names, pick=np.arange(len(names)))
    time = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    one = {"joints/rate": np.tile(np.arange(1.0, len(names) + 1), (5, 1))}
    return error_bar(output, time, one, {"joints/rate": one["joints/rate"] + values}, until)


def test_an_error_bar_is_five_quarters_of_the_largest_difference_until_it_is_lost():
    off = np.array([[0, 0, 0], [0.5, -1.0, 0], [np.nan, 2.0, -3.0], [0, -4.0, 1.0], [8.0, 0, 0]])
    found = bar_of(off, 3.0)
    assert (found.name, found.unit, found.largest) == ("rate", "m/s", 3.0)
    assert (found.bar, found.where, found.time, found.at_end) == (5.0, "q", 3.0, 10.0)
    assert found.by_name == {"p": 0.625, "q": 5.0, "r": 3.75}
    assert found.over_time.tolist() == [0.0, 1.25, 3.75, 5.0, 10.0]
    earlier = bar_of(off, 2.5)
    assert (earlier.bar, earlier.where, earlier.time, earlier.at_end) == (3.75, "r", 2.0, 10.0)
    none = bar_of(off, -1.0)
    assert (none.bar, none.where, none.time, none.at_end) == (0.0, "p", 0.0, 10.0)
    nobody = bar_of(np.zeros((5, 0)), 9.0, names=())
    assert (nobody.bar, nobody.where, nobody.time, nobody.by_name) == (0.0, "", 0.0, {})
    assert nobody.over_time.tolist() == [0.0] * 5
    output, never = Output("energy input", "J", "energy/input", ("input",)), {"energy/input": np.zeros(0)}
    found = error_bar(output, np.zeros(0), never, never, 1.0)
    assert (found.bar, found.at_end, found.largest, found.where, found.time) == (0.0, 0.0, 0.0, "input", 0.0)


T = np.linspace(2.0, 12.0, 1001)  # does not begin at zero
S = T - 2.0


@pytest.mark.parametrize(
    ("power", "law"), [(0.5, "power"), (1.2, "power"), (1.499, "power"), (1.501, "exponential"), (3.0, "exponential")]
)
def test_a_growth_by_a_power_of_time_is_regular_up_to_three_halves(power, law):
    found = growth(T, S**power, np.zeros_like(T), 1e-9)
    assert found.law == law and np.array_equal(found.time, T) and np.array_equal(found.factor, S**power)
    if law == "power":
        assert found.exponent == pytest.approx(power, rel=1e-9)
        # A difference in the last bit grows on by the same law.
        assert found.lost_by_roundoff == pytest.approx(2.0 + (LOST / ROUNDOFF) ** (1 / power), rel=1e-9)
    else:  # the line through log(factor) over time, from a tenth of the run on
        later = S > 1.0
        assert found.exponent == pytest.approx(np.polyfit(S[later], power * np.log(S[later]), 1)[0], rel=1e-9)


@pytest.mark.parametrize("rate", [0.5, 1.0, 2.0])
def test_an_exponential_growth_is_carried_on_from_where_it_was_last_measured(rate):
    factor, error = np.exp(rate * S), 1e-12 * np.exp(rate * S)
    found = growth(T, factor, error, 1e-12)
    assert found.law == "exponential" and found.exponent == pytest.approx(rate, rel=1e-9)
    when = 2.0 + np.log(LOST / 1e-12) / rate
    assert found.lost == pytest.approx(when, rel=1e-9 if when > 12 else 1e-2)
    assert found.lost_by_roundoff == pytest.approx(2.0 + np.log(LOST / ROUNDOFF) / rate, rel=1e-9)


def test_what_grows_and_falls_counts_as_its_largest_up_to_then():
    up_and_down = np.exp(S) * (1 - 0.5 * (np.arange(1001) % 2))
    found = growth(T, up_and_down, np.zeros_like(T), 1e-9)
    assert np.array_equal(found.factor, np.maximum.accumulate(up_and_down))
    error = np.where(T < 7.0, 0.9e-3, 0.1e-3)
    # The largest error counts, too: it lasts to the end.
    power = growth(T, S, error, 1e-9)
    assert power.lost == pytest.approx(2.0 + 10.0 * LOST / 0.9e-3, rel=1e-9)


def test_a_trajectory_is_lost_in_the_first_row_beyond_the_bound():
    error = np.full(1001, 1e-3)
    assert growth(T, S, error, 1e-9).lost == pytest.approx(12.0)  # as large as may be
    error[400:] = 1.001e-3
    assert growth(T, S, error, 1e-9).lost == T[400]


def test_what_does_not_grow_is_never_lost():
    for factor, error in ((np.ones(1001), np.full(1001, 1e-9)), (S, np.zeros(1001))):
        assert growth(T, factor, error, 1e-9).lost == np.inf
    one = growth(T[:1], np.ones(1), np.full(1, 1e-9), 1e-9)
    assert (one.law, one.exponent, one.lost, one.lost_by_roundoff) == ("power", 0.0, np.inf, np.inf)
    # Slowly growing: no number is too large to be told.
    slow = growth(T, S**0.01, np.full(1001, 1e-9), 1e-9)
    assert slow.lost == pytest.approx(2.0 + 10.0 * np.exp(700.0), rel=1e-6)


def test_a_law_takes_four_instants_behind_the_first_tenth():
    time = np.array([0.0, 1.0, 4.0, 6.0, 8.0, 10.0])
    assert growth(time, time, np.zeros(6), 1e-9).exponent == pytest.approx(1.0)
    bent = np.array([0.0, 7.0, 4.0, 6.0, 8.0, 10.0])  # the second is at a tenth
    assert growth(time, np.array([0.0, 1.0, 4.0, 6.0, 8.0, 10.0]), bent * 0, 1e-9).exponent == pytest.approx(1.0)
    early = growth(time, np.array([0.0, 3.0, 4.0, 6.0, 8.0, 10.0]), bent * 0, 1e-9)
    assert early.exponent == pytest.approx(1.0)  # ... and is not fitted
    # Of a difference that is as large as it will be nothing is fitted: three instants are left.
    stuck = growth(time, time, np.zeros(6), 1e-2 / 10.0)
    assert (stuck.exponent, stuck.lost_by_roundoff) == (0.0, np.inf)
    assert growth(time, time, np.zeros(6), 0.99e-2 / 10.0).exponent == pytest.approx(1.0)


def test_roundoff_is_carried_on_from_the_last_row_that_was_not_saturated():
    """From 1e-2 on the difference stays: its factor there says nothing of what a smaller one does."""
    factor = np.minimum(np.exp(2.0 * S), np.exp(12.0))
    size = 1.0001e-2 / np.exp(12.0)
    found = growth(T, factor, np.zeros(1001), size)
    assert found.exponent == pytest.approx(2.0, rel=1e-6)
    assert found.lost_by_roundoff == pytest.approx(2.0 + np.log(LOST / ROUNDOFF) / 2.0, rel=1e-6)
