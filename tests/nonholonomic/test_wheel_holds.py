"""A wheel that joints keep in a plane, and that spins under too large a torque: against its solution piece by piece."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

import sim
from sim.scene.load import load_text
from tests.contact.engine import G0, Run

pytestmark = [pytest.mark.nonholonomic, pytest.mark.contact]

M, R, TORQUE, HOLD, END = 2.0, 0.3, 6.0, 10.0, 10.0  # kg, m, N m, N, s

WHEEL = """
schema: 1
world: {shapes: [{name: floor, plane: {}}]}
bodies:
  wheel: {mass: 2 kg, com: [0, 0, 0.3], inertia: [0.045, 0.09, 0.045]}
  MORE
joints:
  frame: {type: planar, parent: world, child: wheel, position: [0, 0, 0.3], axis: [0, 1, 0], second_axis: [1, 0, 0]}
constraints:
  rim: {type: rolling, body: wheel, axis: [0, 1, 0], radius: 0.3, ground: world.floor, holds: 10 N}
forces:
  motor: {type: wrench, body: wheel, torque: [0, "6 N m*sin(t/1 s)", 0]}
simulate: {duration: 10 s, record: 100 Hz, rtol: 1e-11}
"""
CART = "cart: {mass: 1 kg, com: [0, 0, 0.3], inertia: [0.1, 0.1, 0.1]}"
PLANAR = "  frame: {type: planar, parent: world, child: wheel, position: [0, 0, 0.3], axis: [0, 1, 0], second_axis: [1, 0, 0]}"  # noqa: E501
AXLE = "  axle: {type: rotational, parent: cart, child: wheel, position: [0, 0, 0.3], axis: [0, 1, 0]}"
RAIL = "  rail: {type: translational, parent: world, child: cart, position: [0, 0, 0], axis: [1, 0, 0]}"

# What keeps the wheel in its plane, and the mass that it takes along.
HELD = {
    "planar": (WHEEL.replace("  MORE\n", ""), M),
    "sphere": (WHEEL.replace("  MORE\n", "").replace("axis: [0, 1, 0], radius", "radius"), M),
    "ellipsoid": (WHEEL.replace("  MORE\n", "").replace("axis: [0, 1, 0], radius: 0.3", "radii: [0.3, 0.2, 0.3]"), M),
    # The axle's slide keeps the wheel up as well as along its axle.
    "slide": (
        WHEEL.replace("MORE", CART).replace(
            PLANAR,
            f"{AXLE}\n{RAIL}",
        ), M + 1.0,
    ),
    # The joint that keeps the plane closes a loop: the force across is one choice among many, and none of it the rim's.
    "loop": (
        WHEEL.replace("MORE", CART).replace(
            PLANAR, f"{PLANAR.replace('frame:', 'carries:').replace('child: wheel', 'child: cart')}\n{AXLE}\n{PLANAR}"
        ), M + 1.0,
    ),
}  # fmt: skip


class Solution:
    """Pieces in which the wheel rolls or slips, each from its time with rates v and w."""

    def __init__(self, mass: float):
        self.mass, self.about = mass, 0.5 * M * R**2
        self.pieces: list[tuple[float, float, float, int]] = [(0.0, 0.0, 0.0, 0)]  # time, v, w, sense of the slip
        self.told: list[tuple[str, float]] = []
        while True:
            begin, sense = self.pieces[-1][0], self.pieces[-1][3]
            end = self._first(self.slip if sense else self._beyond, begin, sense)
            if end is None:
                return
            v, w = self.rates(end)
            slips = abs(self.needed(end)) > HOLD * (1.0 - 1e-9)
            self.pieces.append((end, v, w, int(np.sign(self.needed(end))) if slips else 0))
            if bool(sense) != slips:
                self.told.append(("rim slips" if slips else "rim grips", end))

    def _first(self, value: Callable[[float], float], begin: float, sense: int) -> float | None:
        """Return when a slip of this sense ends, or a force leaves its bound."""
        times = np.linspace(begin + 1e-6, END, 20001)
        leaves = np.array([sense * value(t) <= 0.0 if sense else value(t) > 0.0 for t in times])
        k = int(np.argmax(leaves))
        if not leaves[k]:
            return None
        return float(brentq(value, times[max(k - 1, 0)], times[k], xtol=1e-14))

    def _beyond(self, t: float) -> float:
        return abs(self.needed(t)) - HOLD

    def needed(self, t: float) -> float:
        """Return the force on the ground that rolling takes: F r of T is what the wheel does not need to turn."""
        return TORQUE * math.sin(t) / R * self.mass * R**2 / (self.about + self.mass * R**2)

    def rates(self, t: float) -> tuple[float, float]:
        begin, v, w, sense = next(piece for piece in reversed(self.pieces) if piece[0] <= t)
        turned = TORQUE * (math.cos(begin) - math.cos(t))
        if not sense:
            w += turned / (self.about + self.mass * R**2)
            return w * R, w
        push = sense * HOLD
        return v + push / self.mass * (t - begin), w + (turned - push * R * (t - begin)) / self.about

    def slip(self, t: float) -> float:
        v, w = self.rates(t)
        return w * R - v

    def lost(self) -> float:
        """Return what friction has taken in the end, J."""
        ends = [*(piece[0] for piece in self.pieces[1:]), END]
        return sum(
            quad(lambda t: HOLD * abs(self.slip(t)), begin, end - 1e-12, epsabs=1e-12, limit=200)[0]
            for (begin, _, _, sense), end in zip(self.pieces, ends, strict=True)
            if sense
        )


@pytest.mark.parametrize("name", HELD)
def test_a_wheel_in_a_plane_rolls_spins_and_grips_again(name: str) -> None:
    text, mass = HELD[name]
    expected, run = Solution(mass), Run(text).to(END)
    told = [(event.text, event.time) for event in run.told.events if event.text.startswith("rim") and event.time]
    assert [text for text, _ in told] == [text for text, _ in expected.told] and len(told) >= 4
    assert [time for _, time in told] == pytest.approx([time for _, time in expected.told], abs=1e-8)
    v, w = run.simulator.velocity["wheel"], run.simulator.angular_velocity["wheel"]
    assert (v[0], w[1]) == pytest.approx(expected.rates(END), abs=1e-7)
    last = run.told.rows_[-1]
    assert last["energy/dissipated"] == pytest.approx(expected.lost(), abs=1e-6)
    rim = run.simulator.model.joint("rim")
    for row in run.told.rows_:
        force = row["joints/force"][rim, 3:]
        assert abs(force[1]) < 1e-9 and abs(force[0]) < HOLD + 1e-6
        if name not in ("slide",):
            assert force[2] == pytest.approx(mass * G0 if name != "loop" else force[2], abs=1e-7)
    assert run.balance() < 1e-8 * max(row["energy/kinetic"] for row in run.told.rows_)


@pytest.mark.fast
@pytest.mark.parametrize("name", HELD)
def test_a_check_warns_of_no_choice_where_there_is_none(name: str) -> None:
    report = sim.check(load_text(HELD[name][0]))
    assert not [problem for problem in report.problems if "holds" in problem.what]


@pytest.mark.fast
def test_two_wheels_of_one_axle_share_their_force_still() -> None:
    """No joint keeps the axle from sliding along itself, so either of the two may slip along it."""
    text = HELD["planar"][0].replace(
        PLANAR, "  frame: {type: free, parent: world, child: wheel, position: [0, 0, 0.3]}"
    )
    rim = next(line for line in text.splitlines() if "rim:" in line)
    twin = rim.replace("rim:", "twin:").replace("body: wheel", "body: wheel, position: [0, 0.4, 0.3]")
    with pytest.raises(sim.SimulationError, match=r"constraint '(rim|twin)' .* is not determined here"):
        Run(text.replace(rim, f"{rim}\n{twin}")).to(0.1)
    problems = sim.check(load_text(text.replace(rim, f"{rim}\n{twin}"))).problems
    warned = [problem.path for problem in problems if problem.path]  # the last one is what the run is refused for
    assert warned == ["constraints.rim", "constraints.twin"]


@pytest.mark.fast
def test_two_slips_share_what_their_constraint_holds() -> None:
    """Of a disc that rolls: the first of its two freedoms of slip has the most, the second one none of its own."""
    text = (Path(__file__).parents[2] / "scenes" / "rolling_disc.yaml").read_text()
    held = text.replace("ground: world.floor}", "ground: world.floor, holds: 12 N}", 1)
    assert held != text
    model = sim.compile(load_text(held))
    own = model.columns[[name.startswith("rim") for name in model.column_names]]
    assert own.friction.tolist() == [12.0, 0.0]
    assert own.linear.tolist() == [1, 1]
