"""Formulas that act, differentiated: against the same formulas in Python, and what their points do in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import sim
from sim.scene.load import load_text
from tests.support.scene_texts import number

Q, W, T, I = 0.37, -1.3, 0.8, 0.6  # rad, rad/s, s, kg m^2  # noqa: E741
POINT, COM = np.array([0.4, -0.25, 0.7]), np.array([0.1, 0.3, -0.2])  # in the drawing, the hinge at the origin
OTHER = np.array([2.0, -1.0, 0.5])  # centre of mass of a second body, which slides along y

SCENE = f"""
schema: 1
name: formulas
world: {{gravity: [0, 0, 0], points: {{post: [0.3, -0.8, 0.6]}}}}
bodies:
  disc: {{mass: 2, com: {COM.tolist()}, inertia: [1, 1, {I - 2 * (COM[0] ** 2 + COM[1] ** 2)}],
          position: [0.05, -0.1, 0.2], points: {{tip: {POINT.tolist()}}}}}
  block: {{mass: 3, com: {OTHER.tolist()}, inertia: [1, 1, 1]}}
joints:
  pin: {{type: rotational, parent: world, child: disc, position: [0, 0, 0], axis: [0, 0, 1]}}
  rail: {{type: translational, parent: world, child: block, position: [0, 0, 0], axis: [0, 1, 0]}}
initial: {{pin: {{coordinate: {Q}, rate: {W}}}, rail: {{coordinate: 0.2, rate: 0.9}}}}
simulate: {{duration: 1 s}}
controllers: {{push: {{type: torque, torques: {{pin: "FORMULA"}}}}}}
"""


def about_z(q: float) -> np.ndarray:
    return np.array([[math.cos(q), -math.sin(q), 0.0], [math.sin(q), math.cos(q), 0.0], [0.0, 0.0, 1.0]])


def row(formula: str) -> tuple[np.ndarray, float]:
    """Return the row of A of the hinge's acceleration, in its own state and that of the rail, and that acceleration."""
    simulator = sim.Simulator(sim.compile(load_text(SCENE.replace("FORMULA", formula))))
    model = sim.linearize(simulator)
    assert model.states == ("pin", "rail", "rate(pin)", "rate(rail)") and model.inputs == ("pin", "rail")
    assert model.trust["engine"] < 1e-14 and model.notes == ()
    return model.A[2], float(simulator.state.angular_acceleration["disc"][2])


def gradient(f: Callable[..., float], at: tuple[float, ...], h: float = 1e-4) -> np.ndarray:
    """Return the derivatives of f by differences, extrapolated."""
    out = []
    for k in range(len(at)):
        slopes = []
        for step in (h, h / 2):
            ends = [f(*(x + side * step * (i == k) for i, x in enumerate(at))) for side in (1.0, -1.0)]
            slopes.append((ends[0] - ends[1]) / (2 * step))
        out.append((4 * slopes[1] - slopes[0]) / 3)
    return np.array(out)


NUMBERS: dict[str, Callable[[float, float], float]] = {
    "-q*3+w": lambda q, w: -q * 3 + w,
    "2-q-w/4": lambda q, w: 2 - q - w / 4,
    "q*w/(1.5+q)": lambda q, w: q * w / (1.5 + q),
    "w^3-q^2": lambda q, w: w**3 - q**2,
    "w^-2": lambda q, w: w**-2,
    "q^1.7": lambda q, w: q**1.7,
    "(1+q)^(2+w)": lambda q, w: (1 + q) ** (2 + w),
    "sqrt(q+1)": lambda q, w: math.sqrt(q + 1),
    "sin(3*q)+cos(w)": lambda q, w: math.sin(3 * q) + math.cos(w),
    "tan(q)*exp(w)": lambda q, w: math.tan(q) * math.exp(w),
    "asin(q)+acos(w/10)": lambda q, w: math.asin(q) + math.acos(w / 10),
    "atan(5*w)+log(q)": lambda q, w: math.atan(5 * w) + math.log(q),
    "abs(w)*abs(q)": lambda q, w: abs(w) * abs(q),
    "atan2(w,q)": lambda q, w: math.atan2(w, q),
    "atan2(q,w)": lambda q, w: math.atan2(q, w),
    "min(q,w,3*q)": min,
    "max(q,w,w+2*q)": lambda q, w: max(q, w, w + 2 * q),
    "max(q,2*q)+min(w,2*w)": lambda q, w: 2 * q + 2 * w,
    "clip(w,-2,q)": lambda q, w: w,
    "dot([q,w,2],[w,3,q])": lambda q, w: q * w + 3 * w + 2 * q,
    "norm([q,w,0.5])": lambda q, w: math.sqrt(q * q + w * w + 0.25),
    "cross([q,w,2],[w,3,q])[1]": lambda q, w: 2 * w - q * q,
}


@pytest.mark.parametrize("text", NUMBERS)
def test_every_operation_has_the_derivative_of_its_function(text: str) -> None:
    said = text.replace("q", "Q").replace("w", "W").replace("sQrt", "sqrt")
    said = said.replace("Q", "(coordinate('pin'))").replace("poW", "pow").replace("W", "(rate('pin')*1 s)")
    found, acceleration = row(f"({said})*1 N*m" if "[" not in said.split("]")[-1] else said)
    f = NUMBERS[text]
    assert acceleration * I == pytest.approx(f(Q, W), rel=1e-12)
    expected = gradient(f, (Q, W)) / I
    assert found == pytest.approx([expected[0], 0.0, expected[1], 0.0], abs=1e-9)


POINTS: dict[str, Callable[[float, float], float]] = {
    **{f"position('disc.tip')[{i}]": lambda q, w, i=i: (about_z(q) @ POINT)[i] for i in range(3)},
    **{
        f"velocity('disc.tip')[{i}]*1 s": lambda q, w, i=i: w * np.cross([0, 0, 1], about_z(q) @ POINT)[i]
        for i in range(3)
    },
    **{
        f"com()[{i}]": lambda q, w, i=i: (2 * (about_z(q) @ COM) + 3 * (OTHER + np.array([0, 0.2, 0])))[i] / 5
        for i in range(3)
    },
    "position('disc')[1]": lambda q, w: (about_z(q) @ [0.05, -0.1, 0.2])[1],
    "com('disc')[0]": lambda q, w: (about_z(q) @ COM)[0],
    "position('world.post')[0]*coordinate('pin')": lambda q, w: 0.3 * q,
    "orientation('disc')[2]*1 m": lambda q, w: q,
    "local('world.post','disc')[1]": lambda q, w: (
        about_z(q).T @ (np.array([0.3, -0.8, 0.6]) - about_z(q) @ [0.05, -0.1, 0.2])
    )[1],
    "distance('disc.tip','world.post')": lambda q, w: float(np.linalg.norm(about_z(q) @ POINT - [0.3, -0.8, 0.6])),
}


@pytest.mark.parametrize("text", POINTS)
def test_every_place_has_the_derivative_of_the_turned_one(text: str) -> None:
    found, acceleration = row(f"({text})*2 N")
    f = POINTS[text]
    assert acceleration * I == pytest.approx(2 * f(Q, W), rel=1e-12)
    slides = 2 * 3 / 5 if text == "com()[1]" else 0.0
    expected = 2 * gradient(f, (Q, W)) / I
    assert found == pytest.approx([expected[0], slides / I, expected[1], 0.0], abs=1e-9)


def test_time_and_the_other_joint_are_read() -> None:
    found, acceleration = row("3 N*coordinate('rail')-2 N*s*rate('rail')+1 N*m*(t/1 s+0.25)")
    assert acceleration * I == pytest.approx(3 * 0.2 - 2 * 0.9 + 0.25, rel=1e-12)
    assert found == pytest.approx([0.0, 3 / I, 0.0, -2 / I], abs=1e-12)
    text = SCENE.replace("FORMULA", "1 N*m*coordinate('pin')*t/1 s")
    later = sim.linearize(load_text(text), at=T)
    assert later.t == T and later.A[2, 0] == pytest.approx(T / I, rel=1e-12)


@pytest.mark.parametrize("what", ["force('rail')[1]*1 m", "torque('pin')", "energy()"])
def test_what_follows_from_the_answer_is_refused(what: str) -> None:
    said = what.partition("(")[0]
    with pytest.raises(sim.LinearError, match=f"reads a {said}, which has no linear model here; disable it"):
        row(f"0.1*{what}")


def test_a_formula_that_is_disabled_does_not_act_and_others_do() -> None:
    push = 'controllers: {push: {type: torque, torques: {pin: "FORMULA"}}}'
    both = (
        "controllers: {push: {type: torque, enabled: false, torques: {pin: \"7 N*m*coordinate('pin')\"}}, "
        "pull: {type: torque, torques: {pin: \"-4 N*m*coordinate('pin')\", rail: \"5 N*coordinate('pin')\"}}}"
    )
    model = sim.linearize(load_text(SCENE.replace(push, both)))
    assert model.A[2, 0] == pytest.approx(-4 / I) and model.A[3, 0] == pytest.approx(5 / 3)
    assert model.trust["engine"] < 1e-14


def test_digits_of_a_number_are_kept() -> None:
    found, _ = row(f"{number(math.pi)}*1 N*m*coordinate('pin')")
    assert found[0] == pytest.approx(math.pi / I, rel=1e-14)


def test_a_formula_near_the_edge_of_its_values_has_a_linear_model() -> None:
    """At rates 1 rad/s off, where symmetries are looked for, it has none."""
    found, acceleration = row("(acos(rate('pin')/1.305*1 s)+sqrt(coordinate('pin')-0.3699))*1 N*m")
    slope = 1.0 / math.sqrt(1.305**2 - W * W)
    assert acceleration * I == pytest.approx(math.acos(W / 1.305) + math.sqrt(1e-4), rel=1e-12)
    assert found == pytest.approx([0.5 / math.sqrt(1e-4) / I, 0.0, -slope / I, 0.0], rel=1e-9)
