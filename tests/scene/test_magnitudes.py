"""Numbers that floats do not tell finely enough for a motion are refused, with their place."""

from __future__ import annotations

import math

import pytest

import sim
from sim.scene.load import load_text
from sim.scene.problem import SceneError

pytestmark = pytest.mark.fast

SCENE = """
schema: 1
bodies:
  arm: {{mass: 1 kg, shapes: [{{capsule: {{from: [0, 0, 0], to: [0, 0, -1], radius: 2 cm}}}}]}}
  ball: {{mass: 1 kg, shapes: [{{sphere: {{center: [{x}, 0, 0], radius: {radius}}}}}]}}
joints:
  hinge: {{type: rotational, parent: world, child: arm, position: [0, 0, 0], axis: [0, 1, 0]}}
initial:
  hinge: {{coordinate: {angle}, rate: {rate}}}
  ball: {{position: {at}, velocity: [{speed}, 0, 0]}}
events: {{later: {{at: {when}, caption: late}}}}
simulate: {{duration: {duration}, record: {record}}}
"""
PLAIN = {
    "x": "3 m", "radius": "1 m", "angle": "1 rad", "rate": "1 rad/s", "speed": "1 m/s", "at": "[3 m, 0, 0]",
    "when": "0.5 s", "duration": "1 s", "record": "100 Hz",
}  # fmt: skip


def scene(**other: str) -> str:
    return SCENE.format(**PLAIN | other)


@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize(
    ("key", "value", "path"),
    [
        ("angle", "1e15 rad", "initial.hinge.coordinate"), ("angle", "1e10 deg", "initial.hinge.coordinate"),
        ("rate", "1e15 rad/s", "initial.hinge.rate"), ("speed", "1e9 m/s", "initial.ball.velocity[0]"),
        ("x", "1e12 m", "bodies.ball.shapes[0].sphere.center[0]"),
    ],
)  # fmt: skip
def test_what_floats_do_not_tell_is_refused_with_its_place(key: str, value: str, path: str, sign: str) -> None:
    with pytest.raises(SceneError, match=r"numbers of this size are told to .* only; expected at most 1e\+08") as error:
        load_text(scene(**{key: sign + value}))
    (problem,) = error.value.problems
    assert problem.path == path
    assert problem.where is not None and problem.where.line > 3


@pytest.mark.parametrize(("key", "path"), [("when", "events.later.at"), ("duration", "simulate.duration")])
def test_so_are_times(key: str, path: str) -> None:
    with pytest.raises(SceneError, match=r"found .*1e\+12 s|found 1000000000000 s") as error:
        load_text(scene(**{key: "1e12 s"}))
    assert path in [problem.path for problem in error.value.problems]


@pytest.mark.parametrize(("duration", "record", "fine"), [("1e7 s", "10 Hz", True), ("1e7 s", "1000 Hz", False)])
def test_a_run_is_no_longer_than_its_samples_can_be_told_apart(duration: str, record: str, fine: bool) -> None:
    text = scene(duration=duration, record=record)
    assert (math.ulp(1e7) < 1e-6 / float(record.split()[0])) == fine
    if fine:
        load_text(text)
        return
    with pytest.raises(SceneError, match=r"times of 1e\+07 s are told to 2e-09 s only, and samples are 0\.001 s apart"):
        load_text(text)


@pytest.mark.parametrize(
    ("other", "path"),
    [
        ({"x": "3e7 m", "at": "[3 m, 0, 0]"}, "bodies.ball"),
        ({"at": "[0, 3e7 m, 0]"}, "initial.ball"),
        ({"at": "[0, 3e5 m, 0]", "radius": "1 mm"}, ""),  # the arm is larger
    ],
)
def test_bodies_stand_where_places_are_told_finely_enough_for_them(other: dict[str, str], path: str) -> None:
    loaded = load_text(scene(**other))
    if not path:
        sim.compile(loaded)
        return
    with pytest.raises(SceneError, match=r"from the origin, where places are told to .* only: too coarse") as error:
        sim.compile(loaded)
    assert [problem.path for problem in error.value.problems] == [path]


def test_large_numbers_of_other_kinds_are_none_of_this() -> None:
    load_text(scene().replace("axis: [0, 1, 0]", "axis: [0, 1, 0], stiffness: 1e12 N m/rad, limits: [-inf, 1]"))
