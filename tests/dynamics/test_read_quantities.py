"""Every quantity that a formula may name, in every place where a formula may stand, by every method.

One scene whose motion is known in closed form: a sled slides up and down in a foot that stands on the ground, as a
drive says, a wheel spins, and dials of large inertia take what formulas give, so that they disturb nothing.  A cell of
the table is the value of closed form, or a sentence that refuses it with its place.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from typing import Any

import h5py
import numpy as np
import pytest

import sim
from render.signals import Signals
from sim.scene.load import load_text
from sim.scene.problem import SceneError

pytestmark = [pytest.mark.contact]

G0, FOOT, SLED, WHEEL, DIAL, SPIN = 9.81, 5.0, 2.0, 1.0, 1e6, 1.5
SIZE, PACE = 0.05, 4.0  # m, rad/s: of the sled's motion
STIFF, DAMP, REST = 30.0, 2.0, 0.25  # of the spring between foot and sled
HEIGHT, SIDE = 0.5, 0.2  # m: of the sled in the drawing; of the dials


def z(t: Any) -> Any:
    return SIZE * np.sin(PACE * t)


def dz(t: Any) -> Any:
    return SIZE * PACE * np.cos(PACE * t)


def ddz(t: Any) -> Any:
    return -SIZE * PACE**2 * np.sin(PACE * t)


def length(t: Any) -> Any:
    return HEIGHT + z(t) - 0.1


def tension(t: Any) -> Any:
    return STIFF * (length(t) - REST) + DAMP * dz(t)


def drive(t: Any) -> Any:  # of the sled along its joint, beside the spring, which pulls it down
    return SLED * (G0 + ddz(t)) + tension(t)


def energy(t: Any, dials: Any) -> Any:  # dials: their number
    kinetic = 0.5 * SLED * dz(t) ** 2 + 0.5 * 0.1 * SPIN**2
    potential = G0 * (FOOT * 0.05 + SLED * (HEIGHT + z(t)) + WHEEL * 2.0 + dials * 1.0 * 3.0)
    return kinetic + potential + 0.5 * STIFF * (length(t) - REST) ** 2


WEAK = 1e-3  # of what is read, in N m: so little that dials do not turn
# Name: (formula, factor that makes N m of it, value at t with so many dials)
QUANTITIES: dict[str, tuple[str, str, Callable[[Any, int], Any]]] = {
    "time": ("t", "1 N m/s", lambda t, n: t),
    "coordinate": ("coordinate('slide')", "1 N", lambda t, n: z(t)),
    "rate": ("rate('slide')", "1 N s", lambda t, n: dz(t)),
    "position": ("position('sled')[2]", "1 N", lambda t, n: HEIGHT + z(t)),
    "velocity": ("velocity('sled.top')[2]", "1 N s", lambda t, n: dz(t)),
    "orientation": ("orientation('wheel')[2]", "1 N m", lambda t, n: SPIN * t),
    "distance": ("distance('sled', 'foot')", "1 N", lambda t, n: HEIGHT + z(t) - 0.05),
    "local": ("local('sled', 'wheel')[1]", "1 N", lambda t, n: -2.0 * np.sin(SPIN * t)),
    "com of all": ("com()[2]", "1 N", lambda t, n: (
        (FOOT * 0.05 + SLED * (HEIGHT + z(t)) + WHEEL * 2.0 + n * 3.0) / (FOOT + SLED + WHEEL + n)
    )),
    "com of a body": ("com('sled')[2]", "1 N", lambda t, n: HEIGHT + z(t)),
    "length": ("length('strut')", "1 N", lambda t, n: length(t)),
    "tension": ("tension('strut')", "1 m", lambda t, n: tension(t)),
    "energy": ("energy()", "1", energy),
    "force of a joint": ("force('slide')[2]", "1 m", lambda t, n: drive(t)),
    "force of a contact": ("force('sole')[2]", "1 m", lambda t, n: FOOT * G0 + SLED * (G0 + ddz(t))),
    "torque of a joint": ("torque('slide')", "1 m", lambda t, n: drive(t)),
}  # fmt: skip
FORCES = ("force of a joint", "force of a contact", "torque of a joint")
ENDS, DT = 0.3, 5e-4
# How a scene is simulated, and how far values may be off: of forces in time steps by what they change in two steps.
MODES = {
    "dop853": ("method: dop853, rtol: 1e-10", 1e-8), "radau": ("method: radau, rtol: 1e-8", 1e-6),
    "auto": ("method: auto, rtol: 1e-10", 1e-8), "rk4": (f"method: rk4, step: {DT}", 1e-8),
    "semi_implicit": (f"method: semi_implicit, step: {DT}", 1e-8),
    "variational": (f"method: variational, step: {DT}", DT**2),
    "stepping": (f"contact: stepping, dt: {DT}", 2.0 * DT * SLED * SIZE * PACE**3),
}  # fmt: skip
PLACES = ("torque", "wrench", "condition")


def instant(n: int) -> float:
    """Return when the condition of cell n comes true [s]."""
    return 0.6 * ENDS + 1.37e-4 * n


def scene(cells: list[tuple[str, str]], mode: str) -> str:
    """Return a scene in which a dial, or an event, reads each quantity in its place."""
    stands = "" if mode != "variational" else "weld: {type: fixed, parent: world, child: foot, position: [0, 0, 0.05]}"
    text = f"""
schema: 1
world: {{shapes: [{{plane: {{}}}}]}}
bodies:
  foot:
    mass: {FOOT}
    shapes: [{{box: {{center: [0, 0, 0.05], size: [0.4, 0.4, 0.1]}}}}]
    points: {{top: [0, 0, 0.1]}}
  sled:
    mass: {SLED}
    com: [0, 0, {HEIGHT}]
    inertia: [0.1, 0.1, 0.1]
    points: {{top: [0, 0, {HEIGHT + 0.1}]}}
  wheel: {{mass: {WHEEL}, com: [-2, 0, 2], inertia: [0.1, 0.1, 0.1]}}
"""
    dials = [n for n, (place, _) in enumerate(cells) if place in ("torque", "wrench")]
    for n in dials:
        text += f"  dial{n}: {{mass: 1, com: [{n + 1}, 5, 3], inertia: [{DIAL}, {DIAL}, {DIAL}]}}\n"
    text += f"""joints:
  slide:
    type: translational
    parent: foot
    child: sled
    position: [0, 0, {HEIGHT}]
    axis: [0, 0, 1]
    motion: "{SIZE} m*sin({PACE}*t/1 s)"
  spin: {{type: rotational, parent: world, child: wheel, position: [-2, 0, 2], axis: [0, 0, 1]}}
  {stands}
"""
    for n in dials:
        text += f"  turn{n}: {{type: rotational, parent: world, child: dial{n}, position: [{n + 1}, 5, 3], axis: [0, 0, 1]}}\n"  # noqa: E501
    text += f"initial: {{spin: {{rate: {SPIN}}}}}\n"
    text += f"forces:\n  strut: {{type: spring, from: foot.top, to: sled.com, stiffness: {STIFF}, damping: {DAMP}, length: {REST}}}\n"  # noqa: E501
    for n, (place, name) in enumerate(cells):
        formula, factor, _ = QUANTITIES[name]
        if place == "wrench":
            text += f'  push{n}: {{type: wrench, body: dial{n}, torque: [0, 0, "{WEAK}*{factor}*{formula}"]}}\n'
    text += "controllers:\n  none: {type: torque, torques: {spin: 0 N m}}\n"
    for n, (place, name) in enumerate(cells):
        formula, factor, _ = QUANTITIES[name]
        if place == "torque":
            text += f'  turns{n}: {{type: torque, torques: {{turn{n}: "{WEAK}*{factor}*{formula}"}}}}\n'
    if mode != "variational":
        text += "contacts: {sole: {between: [foot, world], friction: 1}}\n"
    events = [(n, name) for n, (place, name) in enumerate(cells) if place == "condition"]
    text += "events:\n  last: {at: 10 ms, caption: none}\n"
    for n, name in events:
        formula, factor, value = QUANTITIES[name]
        now, later = (float(value(t, len(dials))) for t in (instant(n), instant(n) + 1e-4))
        text += f'  reads{n}: {{when: "{factor}*{formula} {">" if later > now else "<"} {now!r} N m", caption: hi}}\n'
    return text + f"simulate: {{duration: {ENDS}, record: 200, {MODES[mode][0]}}}\n"


def refused(place: str, name: str, mode: str) -> str:
    """Return what refuses a cell; empty where it has a value."""
    if mode == "variational" and name == "force of a contact":
        return "no joint, contact or constraint named 'sole'"
    if mode == "variational" and name in FORCES and place != "condition":
        return "steps of the variational method know no forces that a formula could read"
    return ""


CELLS = list(itertools.product(PLACES, QUANTITIES))


@pytest.mark.parametrize("mode", MODES)
def test_formulas_read_what_is_there(mode: str) -> None:
    cells = [cell for cell in CELLS if not refused(*cell, mode)]
    dials = [n for n, (place, _) in enumerate(cells) if place != "condition"]
    with sim.run(load_text(scene(cells, mode))) as run, h5py.File(run.path) as file:
        rows = run.time > 0.0
        t, off = run.time[rows], MODES[mode][1]
        forces = [name.decode() if isinstance(name, bytes) else name for name in file["forces/name"][:]]
        fired = {event.name: event.time for event in run.events}
        found = {}
        for n, (place, name) in enumerate(cells):
            value = QUANTITIES[name][2]
            if place == "torque":
                worst = run.torque[f"turn{n}"][rows] / WEAK - value(t, len(dials))
            elif place == "wrench":
                worst = file["forces/wrench"][:][rows, forces.index(f"push{n}"), 2] / WEAK - value(t, len(dials))
            else:
                steep = abs(float(value(instant(n) + 1e-4, len(dials)) - value(instant(n), len(dials)))) / 1e-4
                worst = np.array([(fired.get(f"reads{n}", math.inf) - instant(n)) * steep])
            found[place, name] = float(np.max(np.abs(worst)))
    size = {cell: max(1.0, abs(float(QUANTITIES[cell[1]][2](0.1, len(dials))))) for cell in found}
    assert {cell: worst for cell, worst in found.items() if not worst <= off * size[cell]} == {}


@pytest.mark.parametrize(
    ("place", "name", "mode"),
    [(*cell, mode) for cell in CELLS for mode in MODES if refused(*cell, mode)],
)
def test_what_no_formula_can_read_is_refused_with_its_place(place: str, name: str, mode: str) -> None:
    with pytest.raises(SceneError) as error:
        load_text(scene([(place, name)], mode))
    assert [re.search(refused(place, name, mode), str(problem)) for problem in error.value.problems] != [None]
    assert all(problem.where is not None for problem in error.value.problems)


@pytest.mark.parametrize("name", QUANTITIES)
def test_motions_read_time_alone(name: str) -> None:
    formula = QUANTITIES[name][0]
    text = scene([], "dop853").replace(f'"{SIZE} m*sin({PACE}*t/1 s)"', f'"1 m*sin({formula})"')
    if name == "time":
        load_text(text.replace("sin(t)", "sin(t/1 s)"))
        return
    with pytest.raises(SceneError, match=r"a motion is a function of time alone") as error:
        load_text(text)
    assert all(problem.where is not None for problem in error.value.problems)


@pytest.mark.parametrize("key", ["initial", "set"])
@pytest.mark.parametrize("name", QUANTITIES)
def test_values_of_one_instant_read_nothing(name: str, key: str) -> None:
    formula = QUANTITIES[name][0]
    text = scene([], "dop853")
    if key == "initial":
        text = text.replace(f"initial: {{spin: {{rate: {SPIN}}}}}", f'initial: {{spin: "{formula}"}}')
    else:
        text = text.replace("caption: none", f'set: {{spin: "{formula}"}}')
    with pytest.raises(SceneError, match=r"no function named|no parameter or unit named") as error:
        load_text(text)
    assert all(problem.where is not None for problem in error.value.problems)


# What plots call otherwise, or read of bodies alone.
OTHERWISE = {"force of a contact": "contact('foot', 'world')[2]", "velocity": "velocity('sled')[2]"}


@pytest.mark.parametrize("mode", ["dop853", "stepping"])
def test_plots_read_what_is_there(mode: str) -> None:
    off = MODES[mode][1]
    with sim.run(load_text(scene([], mode))) as run, h5py.File(run.path) as file:
        signals, rows = Signals(file), run.time > 0.0
        for name, (formula, _, value) in QUANTITIES.items():
            found = signals.evaluate(OTHERWISE.get(name, formula)).values[rows]
            np.testing.assert_allclose(found, value(run.time[rows], 0), rtol=off, atol=off, err_msg=name)
